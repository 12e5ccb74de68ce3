/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files and directories. Tests can make the system calls that change files fail
 * (fault.h). */
#define _GNU_SOURCE       /* makes the headers declare renameat2 */
#define _XOPEN_SOURCE 700 /* makes the headers declare lstat and readlink */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fault.h"
#include "base/file.h"

/* ---- system calls that tests can make fail ---- */

static int try_open(const char *path, int flags) {
    int fd;
    do
        fd = dt_fault(NULL)
                 ? -1
                 : open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static ssize_t try_write(int fd, const void *bytes, size_t n) {
    return dt_fault(&n) ? -1 : write(fd, bytes, n);
}

static int try_truncate(int fd) { return dt_fault(NULL) ? -1 : ftruncate(fd, 0); }

static int try_sync(int fd) { return dt_fault(NULL) ? -1 : fsync(fd); }

/* Closes a descriptor. On Linux it is closed whatever close returns, so EINTR means nothing and
 * close must not be repeated. */
static int try_close(int fd) {
    bool fault = dt_fault(NULL);
    int number = errno;
    int failed = close(fd);
    if (fault) {
        errno = number;
        failed = -1;
    }
    return failed && errno != EINTR ? -1 : 0;
}

static int try_rename(const char *from, const char *to) {
    return dt_fault(NULL) ? -1 : rename(from, to);
}

static int try_mkdir(const char *path) { return dt_fault(NULL) ? -1 : mkdir(path, 0755); }

static int try_unlink(int dir, const char *name, int flags) {
    int failed;
    do failed = dt_fault(NULL) ? -1 : unlinkat(dir, name, flags);
    while (failed && errno == EINTR);
    return failed;
}

/* ---- one file ---- */

static dt_status *create_failed(const char *path) {
    return dt_note(dt_fail_errno(DT_E_CANT_CREATE, path), "creating it");
}

static dt_status *open_failed(const char *path) {
    if (errno == ELOOP)
        return dt_fail(DT_E_CANT_CREATE, NULL,
                       "%s: is a symbolic link; output is not written through links", path);
    if (errno == ENXIO)
        return dt_fail(DT_E_CANT_CREATE, NULL, "%s: exists and is not a regular file", path);
    return create_failed(path);
}

static dt_status *prepare(int fd, const char *path, bool truncate) {
    struct stat st;
    if (fstat(fd, &st) != 0) return dt_fail_errno(DT_E_IO, path);
    if (!S_ISREG(st.st_mode))
        return dt_fail(DT_E_CANT_CREATE, NULL, "%s: exists and is not a regular file", path);
    if (truncate && st.st_size > 0)
        while (try_truncate(fd) != 0)
            if (errno != EINTR) return dt_fail_errno(DT_E_IO, path);
    return NULL;
}

/* Opens a file for writing. The file is truncated after its type was checked, not by open, so that
 * a device or a FIFO is not changed. */
static dt_status *open_writer(dt_writer *w, const char *path, bool append) {
    *w = (dt_writer){.fd = -1};
    int fd = try_open(path, O_WRONLY | O_CREAT | (append ? O_APPEND : 0));
    if (fd < 0) return open_failed(path);
    dt_status *s = prepare(fd, path, !append);
    if (s) {
        close(fd);
        return s;
    }
    *w = (dt_writer){.fd = fd, .path = dt_strdup(path), .keep = append};
    return NULL;
}

dt_status *dt_writer_open(dt_writer *w, const char *path) { return open_writer(w, path, false); }

dt_status *dt_writer_append(dt_writer *w, const char *path) { return open_writer(w, path, true); }

dt_status *dt_writer_seek(dt_writer *w, int64_t at) {
    while (dt_fault(NULL) || lseek(w->fd, at, SEEK_SET) < 0)
        if (errno != EINTR) return dt_fail_errno(DT_E_IO, w->path);
    return NULL;
}

dt_status *dt_writer_put(dt_writer *w, const void *bytes, size_t n) {
    const char *p = bytes;
    while (n > 0) {
        ssize_t put = try_write(w->fd, p, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return dt_fail_errno(DT_E_IO, w->path);
        p += put;
        n -= (size_t)put;
    }
    return NULL;
}

/* Syncs a file or directory. fsync is repeated only after EINTR: after another failure the kernel
 * may have marked the lost pages as clean, and a second call would report success. EINVAL counts as
 * success: file systems that cannot sync a directory return it. */
static dt_status *sync_fd(int fd, const char *path) {
    while (try_sync(fd) != 0) {
        if (errno == EINVAL) return NULL;
        if (errno != EINTR)
            return dt_note(dt_fail_errno(DT_E_IO, path),
                           "fsync failed: what was written is not known to be on the disk");
    }
    return NULL;
}

dt_status *dt_writer_sync(dt_writer *w) { return sync_fd(w->fd, w->path); }

dt_status *dt_writer_close(dt_writer *w) {
    int failed = try_close(w->fd);
    w->fd = -1;
    /* The path stays set, so that dt_writer_abandon can remove the file. */
    if (failed) return dt_fail_errno(DT_E_IO, w->path);
    free(w->path);
    w->path = NULL;
    return NULL;
}

void dt_writer_abandon(dt_writer *w) {
    if (w->fd >= 0) close(w->fd);
    if (w->path && !w->keep) unlink(w->path);
    free(w->path);
    *w = (dt_writer){.fd = -1};
}

static dt_status *write_whole(dt_writer *w, const char *path, const void *bytes, size_t n) {
    DT_TRY(dt_writer_open(w, path));
    DT_TRY(dt_writer_put(w, bytes, n));
    DT_TRY(dt_writer_sync(w));
    return dt_writer_close(w);
}

static dt_status *rename_synced(const char *from, const char *to) {
    dt_status *renamed = dt_rename(from, to);
    if (renamed) {
        unlink(from);
        return renamed;
    }
    DT_LOCAL char *dir = dt_path_dir(to);
    return dt_dir_sync(dir);
}

/* Fails with CANT_CREATE if the path is empty, or if a rename to it would replace a device, a FIFO
 * or a directory; otherwise fails as dt_path_check does. A rename replaces a symbolic link itself,
 * not its target. */
static dt_status *file_check_target(const char *path) {
    struct stat st;
    if (!*path) return dt_fail(DT_E_CANT_CREATE, NULL, "the name of the output file is empty");
    DT_TRY(dt_path_check(path));
    if (lstat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) return NULL;
    return dt_fail(DT_E_CANT_CREATE, NULL, "%s: exists and is not a regular file", path);
}

dt_status *dt_file_commit(const char *path, const void *bytes, size_t n) {
    dt_local_str temporary = {0};
    dt_writer w = {.fd = -1};
    DT_TRY(file_check_target(path));
    dt_str_printf(&temporary, "%s.tmp", path);
    dt_status *s = write_whole(&w, temporary.data, bytes, n);
    if (s) dt_writer_abandon(&w);
    else s = rename_synced(temporary.data, path);
    return s;
}

dt_status *dt_file_adopt(const char *temporary, const char *path) {
    dt_status *s = rename_synced(temporary, path);
    if (s) dt_status_free(dt_file_remove(temporary));
    return s;
}

/* ---- directories, names and links ---- */

static dt_status *make_one(const char *path) {
    struct stat st;
    while (try_mkdir(path) != 0) {
        if (errno == EINTR) continue;
        int number = errno;
        if (stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode)) return NULL;
            return dt_fail(DT_E_CANT_CREATE, NULL, "%s: exists and is not a directory", path);
        }
        errno = number;
        return create_failed(path);
    }
    return NULL;
}

dt_status *dt_dir_make(const char *path) {
    DT_TRY(dt_path_check(path));
    DT_LOCAL char *parent = dt_path_dir(path);
    dt_status *s = NULL;
    if (*parent && access(parent, F_OK) != 0) s = dt_dir_make(parent);
    return s ? s : make_one(path);
}

int dt_dir_open(const char *path, bool follow) {
    int fd;
    do fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
    while (fd < 0 && errno == EINTR);
    return fd;
}

dt_status *dt_dir_sync(const char *path) {
    const char *name = *path ? path : ".";
    int fd = dt_dir_open(name, true);
    if (fd < 0) return dt_fail_errno(DT_E_IO, name);
    dt_status *s = sync_fd(fd, name);
    close(fd);
    return s;
}

dt_status *dt_rename(const char *from, const char *to) {
    while (try_rename(from, to) != 0)
        if (errno != EINTR)
            return dt_note(dt_fail_errno(DT_E_IO, to), "renaming it from '%s'", from);
    return NULL;
}

static dt_status *remove_entries(DIR *dir, const char *path) {
    errno = 0;
    for (struct dirent *e; (e = readdir(dir)); errno = 0) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (try_unlink(dirfd(dir), e->d_name, 0) != 0)
            return dt_note(dt_fail_errno(DT_E_IO, path), "removing '%s' in it", e->d_name);
    }
    return errno ? dt_fail_errno(DT_E_IO, path) : NULL;
}

dt_status *dt_dir_remove(const char *path) {
    int fd = dt_dir_open(path, false);
    if (fd < 0 && errno == ENOENT) return NULL;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        dt_status *s = dt_fail_errno(DT_E_IO, path);
        if (fd >= 0) close(fd);
        return s;
    }
    dt_status *s = remove_entries(dir, path);
    closedir(dir);
    if (!s && try_unlink(AT_FDCWD, path, AT_REMOVEDIR) != 0) s = dt_fail_errno(DT_E_IO, path);
    return s;
}

char *dt_path_join(const char *dir, const char *name) {
    if (!dir || !*dir || *name == '/') return dt_strdup(name);
    dt_str s = {0};
    dt_str_puts(&s, dir);
    if (s.data[s.size - 1] != '/') dt_str_putc(&s, '/');
    dt_str_puts(&s, name);
    return dt_str_take(&s);
}

/* Trailing slashes are ignored, and repeated slashes count as one. */
char *dt_path_dir(const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    while (n > 0 && path[n - 1] != '/') n--;
    while (n > 1 && path[n - 1] == '/') n--;
    dt_str s = {0};
    dt_str_add(&s, path, n);
    return dt_str_take(&s);
}

dt_status *dt_file_remove(const char *path) {
    while (dt_fault(NULL) || unlink(path) != 0) {
        if (errno == ENOENT) return NULL;
        if (errno != EINTR) return dt_note(dt_fail_errno(DT_E_IO, path), "removing it");
    }
    return NULL;
}

/* Whether this number of errno says that the file system or the kernel lacks the operation. */
static bool is_unsupported(int number) {
    return number == EINVAL || number == ENOSYS || number == EOPNOTSUPP;
}

dt_status *dt_file_swap(const char *a, const char *b, bool *done) {
    *done = true;
    while (dt_fault(NULL) || renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) != 0) {
        if (errno == EINTR) continue;
        *done = false;
        return is_unsupported(errno)
                   ? NULL
                   : dt_note(dt_fail_errno(DT_E_IO, b), "replacing it by '%s'", a);
    }
    return NULL;
}

/*
 * Files that users name for output. Like redirection and cp, dtrain writes to the target of a link:
 * the new file is committed where the link ends, under that name, and the link stays.
 * dt_writer_open and dt_writer_append refuse a name that is itself a link.
 *
 *     -o latest.csv ──▶ latest.csv -> day/3.csv          day/3.csv.tmp, renamed to day/3.csv
 */

/* MOST_LINKS: the most links that are followed, as many as the Linux kernel follows; LONGEST: room
 * for the text of a link, in bytes */
enum { MOST_LINKS = 40, LONGEST = 4096 };

static bool is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Returns the target of a link as a path that is valid from the working directory; NULL, with
 * errno, if the link cannot be read. The caller frees it. */
static char *read_link(const char *path) {
    char text[LONGEST];
    ssize_t n = readlink(path, text, sizeof text - 1);
    if (n < 0) return NULL;
    text[n] = '\0';
    char *dir = dt_path_dir(path), *to = dt_path_join(dir, text);
    free(dir);
    return to;
}

/* Fails unless `path`, which was found by following the links of `named` here, is the regular file
 * that the kernel finds at `named`, or the kernel finds no file there. The kernel refuses cycles,
 * and links that another user has put into a directory open to all. The link /dev/stdout contains a
 * text that only looks like a path, so the two results are compared. */
static dt_status *check_followed(const char *named, const char *path) {
    struct stat from, to;
    if (stat(named, &from) != 0)
        return errno == ENOENT ? NULL : dt_fail_errno(DT_E_CANT_CREATE, named);
    if (!S_ISREG(from.st_mode) || stat(path, &to) != 0 || from.st_dev != to.st_dev ||
        from.st_ino != to.st_ino)
        return dt_fail(DT_E_CANT_CREATE, NULL, "%s: links to something that is not a regular file",
                       named);
    return NULL;
}

static dt_status *follow(const char *named, char **path) {
    for (int i = 0; is_link(*path); i++) {
        char *to = i < MOST_LINKS ? read_link(*path) : NULL;
        if (i == MOST_LINKS) errno = ELOOP;
        if (!to) return dt_fail_errno(DT_E_CANT_CREATE, named);
        free(*path);
        *path = to;
    }
    return check_followed(named, *path);
}

dt_status *dt_file_target(const char *named, char **path) {
    *path = dt_strdup(named);
    dt_status *s = is_link(named) ? follow(named, path) : NULL;
    if (!s) s = file_check_target(*path);
    if (s) {
        free(*path);
        *path = NULL;
    }
    return s;
}

dt_status *dt_file_output(const char *named, const void *bytes, size_t n) {
    char *path;
    DT_TRY(dt_file_target(named, &path));
    dt_status *s = dt_file_commit(path, bytes, n);
    free(path);
    return s;
}
