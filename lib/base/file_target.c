/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that users name for output. Like redirection and cp, dtrain writes to the target of a link:
 * the new file is committed where the link ends, under that name, and the link stays. A run follows
 * no links below its own directory (file_write.c).
 *
 *     -o latest.csv ──▶ latest.csv -> day/3.csv          day/3.csv.tmp, renamed to day/3.csv
 */
#define _XOPEN_SOURCE 700 /* lstat, readlink */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

enum { MOST_LINKS = 40, LONGEST = 4096 }; /* as in the Linux kernel */

static bool is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* The target of the link, relative to the working directory. NULL with errno. */
static char *read_link(const char *path) {
    char text[LONGEST];
    ssize_t n = readlink(path, text, sizeof text - 1);
    if (n < 0) return NULL;
    text[n] = '\0';
    char *dir = dt_path_dir(path), *to = dt_path_join(dir, text);
    free(dir);
    return to;
}

/* Lets the kernel follow the links first: it refuses cycles, and links that another user put into a
 * directory open to all. Then the target that was found here is compared with the kernel's, since
 * the link /dev/stdout contains a text that only looks like a path. */
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
    if (!s) s = dt_file_check_target(*path);
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
