/* SPDX-License-Identifier: Apache-2.0 */
/* Reads regular files only, and returns at most as many bytes as the caller allows. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

static dt_status *check_regular(int fd, const char *path, int64_t *size) {
    struct stat st;
    if (fstat(fd, &st) != 0) return dt_fail_errno(DT_E_IO, path);
    if (S_ISDIR(st.st_mode)) return dt_fail(DT_E_NOT_REGULAR, NULL, "%s: is a directory", path);
    if (!S_ISREG(st.st_mode))
        return dt_fail(DT_E_NOT_REGULAR, NULL, "%s: not a regular file", path);
    *size = st.st_size;
    return NULL;
}

/* Without O_NONBLOCK, opening a FIFO would wait for a writer before its type can be refused. */
dt_status *dt_file_open(const char *path, int *fd, int64_t *size) {
    do *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    while (*fd < 0 && errno == EINTR);
    if (*fd < 0) return dt_fail_errno(DT_E_NOT_REGULAR, path);
    dt_status *s = check_regular(*fd, path, size);
    if (s) {
        close(*fd);
        *fd = -1;
    }
    return s;
}

/* Reads until the end of the file or until `room` bytes were read. Returns the number of bytes, or
 * -1. */
static ssize_t read_fully(int fd, char *buffer, size_t room) {
    size_t n = 0;
    while (n < room) {
        ssize_t got = read(fd, buffer + n, room - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

/* Reads until the end of the file. The size that fstat reports only serves to refuse large files
 * early: files below /proc have size 0, and others grow. */
static dt_status *read_open(int fd, const char *path, int64_t size, size_t limit, dt_str *out) {
    enum { CHUNK = 1 << 16 };
    char *chunk =
        /* The buffer is not on the stack, which is small in some threads. */
        dt_alloc(CHUNK);
    dt_status *s = NULL;
    ssize_t got = 1;
    bool large = (uint64_t)size > limit;
    while (!large && got > 0) {
        got = read_fully(fd, chunk, CHUNK);
        large = got > 0 && (size_t)got > limit - out->size;
        if (!large && got > 0) dt_str_add(out, chunk, (size_t)got);
    }
    if (large)
        s = dt_fail(DT_E_TOO_LARGE, NULL, "%s: larger than the limit of %s", path,
                    dt_text_of_bytes((double)limit).s);
    else if (got < 0) s = dt_fail_errno(DT_E_IO, path);
    free(chunk);
    return s;
}

dt_status *dt_file_read(const char *path, size_t limit, dt_str *out) {
    int fd;
    int64_t size;
    dt_str_clear(out);
    DT_TRY(dt_file_open(path, &fd, &size));
    dt_status *s = read_open(fd, path, size, limit, out);
    close(fd);
    return s;
}

dt_status *dt_file_pread(int fd, const char *path, void *buffer, size_t n, int64_t offset) {
    size_t have = 0;
    while (have < n) {
        ssize_t got = pread(fd, (char *)buffer + have, n - have, offset + (int64_t)have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return dt_fail_errno(DT_E_IO, path);
        if (got == 0)
            return dt_fail(DT_E_FILE_CHANGED, NULL,
                           "%s: ends at byte %lld, %zu bytes short: changed while in use", path,
                           (long long)offset + (long long)have, n - have);
        have += (size_t)got;
    }
    return NULL;
}
