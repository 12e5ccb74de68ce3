/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that write, and what they did; see shim.c. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#undef open64 /* where headers make macros of them */
#undef lseek64

static _Atomic bool is_output[MOST_FILES]; /* by descriptor */

static const char *path_of(int fd, char *buffer, size_t size) {
    char name[40];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, buffer, size - 1);
    buffer[n > 0 ? n : 0] = '\0';
    return buffer;
}

static bool descriptor_fails(const char *call, int fd, size_t *n) {
    char path[1000];
    if (fd < 0 || fd >= MOST_FILES || !is_output[fd]) return false;
    return shim_write_fails(call, shim_logs() ? path_of(fd, path, sizeof path) : "", n);
}

/* ---- what was done ---- */

/* Absolute. */
static const char *whole_path(const char *path, char *buffer, size_t size) {
    char here[1000] = "";
    if (*path != '/' && getcwd(here, sizeof here - 1)) strcat(here, "/");
    snprintf(buffer, size, "%s%s", here, path);
    return buffer;
}

/* "WHAT PLACE N PATH", a line, and N bytes behind it. */
static void record(const char *what, long long place, const char *path, const void *bytes,
                   size_t n) {
    char whole[2100], line[2200];
    if (!shim_records()) return;
    snprintf(line, sizeof line, "%s %lld %zu %s\n", what, place, n,
             whole_path(path, whole, sizeof whole));
    shim_record(line, bytes, n);
}

static void record_descriptor(const char *what, long long place, int fd, const void *bytes,
                              size_t n) {
    char path[1000];
    if (shim_records() && fd >= 0 && fd < MOST_FILES && is_output[fd])
        record(what, place, path_of(fd, path, sizeof path), bytes, n);
}

/* The new name stands where bytes do. */
static int record_rename(int failed, const char *what, const char *from, const char *to) {
    char whole[2100];
    if (!failed) {
        whole_path(to, whole, sizeof whole);
        record(what, 0, from, whole, strlen(whole));
    }
    return failed;
}

static int record_name(int failed, const char *what, const char *path) {
    if (!failed) record(what, 0, path, NULL, 0);
    return failed;
}

/* ---- in the place of the C library's functions ---- */

static bool is_for_output(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY || flags & O_DIRECTORY;
}

/* A device has nothing to lose: /dev/null in the place of a closed standard stream. */
static int open_counted(const char *path, int flags, mode_t mode) {
    bool counted = shim_counts() && is_for_output(flags) && strncmp(path, "/dev/", 5) != 0;
    if (counted && shim_write_fails("open", path, NULL)) return -1;
    int fd = NEXT(open)(path, flags, mode);
    if (fd >= 0 && fd < MOST_FILES) is_output[fd] = counted;
    if (counted && fd >= 0 && flags & O_CREAT) record("create", 0, path, NULL, 0);
    return fd;
}

static mode_t mode_argument(int flags, va_list args) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_argument(flags, args);
    va_end(args);
    return open_counted(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_argument(flags, args);
    va_end(args);
    return open_counted(path, flags, mode);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    ssize_t put = descriptor_fails("write", fd, &n) ? -1 : NEXT(write)(fd, bytes, n);
    if (put > 0 && shim_records())
        record_descriptor("write", (long long)(NEXT(lseek)(fd, 0, SEEK_CUR) - put), fd, bytes,
                          (size_t)put);
    return put;
}

int ftruncate(int fd, off_t size) {
    int failed = descriptor_fails("ftruncate", fd, NULL) ? -1 : NEXT(ftruncate)(fd, size);
    if (!failed) record_descriptor("truncate", (long long)size, fd, NULL, 0);
    return failed;
}

off_t lseek(int fd, off_t to, int from) {
    return descriptor_fails("lseek", fd, NULL) ? -1 : NEXT(lseek)(fd, to, from);
}

int fsync(int fd) {
    int failed = descriptor_fails("fsync", fd, NULL) ? -1 : NEXT(fsync)(fd);
    if (!failed) record_descriptor("sync", 0, fd, NULL, 0);
    return failed;
}

/* The descriptor is gone even so, as on Linux. A closing directory has nothing to lose. */
int close(int fd) {
    struct stat st;
    bool file =
        fd >= 0 && fd < MOST_FILES && is_output[fd] && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode);
    bool fails = file && descriptor_fails("close", fd, NULL);
    int number = errno;
    if (fd >= 0 && fd < MOST_FILES) is_output[fd] = false;
    int failed = NEXT(close)(fd);
    if (fails) errno = number;
    return fails ? -1 : failed;
}

int rename(const char *from, const char *to) {
    return record_rename(shim_write_fails("rename", to, NULL) ? -1 : NEXT(rename)(from, to),
                         "rename", from, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
    int failed = shim_write_fails("renameat2", to, NULL)
                     ? -1
                     : NEXT(renameat2)(from_dir, from, to_dir, to, flags);
    return record_rename(failed, flags & RENAME_EXCHANGE ? "exchange" : "rename", from, to);
}

int mkdir(const char *path, mode_t mode) {
    return record_name(shim_write_fails("mkdir", path, NULL) ? -1 : NEXT(mkdir)(path, mode),
                       "mkdir", path);
}

int unlink(const char *path) {
    return record_name(shim_write_fails("unlink", path, NULL) ? -1 : NEXT(unlink)(path), "remove",
                       path);
}

int unlinkat(int dir, const char *path, int flags) {
    char folder[1000], whole[2048];
    int failed = shim_write_fails("unlinkat", path, NULL) ? -1 : NEXT(unlinkat)(dir, path, flags);
    if (dir == AT_FDCWD || *path == '/') return record_name(failed, "remove", path);
    snprintf(whole, sizeof whole, "%s/%s", path_of(dir, folder, sizeof folder), path);
    return record_name(failed, "remove", whole);
}

int rmdir(const char *path) {
    return record_name(shim_write_fails("rmdir", path, NULL) ? -1 : NEXT(rmdir)(path), "remove",
                       path);
}
