/* SPDX-License-Identifier: Apache-2.0 */
/* Names of data files: shell patterns, sets of shards, which must be complete, and the contents of
 * folders. */
#include <dirent.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "file/records.h"

void dt_paths_release(dt_paths *paths) {
    for (int i = 0; i < paths->n; i++) free(paths->v[i]);
    free(paths->v);
    *paths = (dt_paths){0};
}

void dt_paths_add(dt_paths *paths, const char *path) {
    DT_GROW(paths->v, paths->cap, paths->n + 1);
    paths->v[paths->n++] = dt_strdup(path);
}

/* ---- shards ---- */

/* Finds numbers such as "00002-of-00004" in the last part of a path. Returns the position of the
 * first digit and sets both numbers, or returns NULL if there are none. */
static const char *find_shard(const char *path, int64_t *index, int64_t *count) {
    const char *name = strrchr(path, '/');
    const char *of = strstr(name ? name : path, "-of-");
    char digits[16];
    while (of &&
           (of - path < 5 || strspn(of + 4, "0123456789") < 5 || strspn(of - 5, "0123456789") != 5))
        of = strstr(of + 1, "-of-"); /* skips the "-of-" in "bag-of-words-00000-of-00002" */
    if (!of) return NULL;
    snprintf(digits, sizeof digits, "%.5s", of - 5);
    *index = strtoll(digits, NULL, 10);
    snprintf(digits, sizeof digits, "%.*s",
             (int)strspn(of + 4, "0123456789") < 10 ? (int)strspn(of + 4, "0123456789") : 10,
             of + 4);
    *count = strtoll(digits, NULL, 10);
    return of - 5;
}

/* Reports the first shard that is missing among the paths. All shards of a set have the same text
 * as `path` before the number. */
static dt_status *missing_shard(const dt_paths *paths, int first, const char *path, const char *at,
                                int64_t count) {
    int64_t present = 0, absent = -1, index, n;
    for (int64_t k = 0; k < count; k++) {
        bool found = false;
        for (int i = first; i < paths->n && !found; i++) {
            const char *digits = find_shard(paths->v[i], &index, &n);
            found = digits && index == k && n == count && digits - paths->v[i] == at - path &&
                    memcmp(paths->v[i], path, (size_t)(at - path)) == 0;
        }
        present += found;
        if (!found && absent < 0) absent = k;
    }
    if (absent < 0) return NULL;
    return dt_fail(DT_E_NO_INPUT, NULL, "%.*s%05lld%s: missing; %lld of %lld shards present",
                   (int)(at - path), path, (long long)absent, at + 5, (long long)present,
                   (long long)count);
}

enum { MOST_SHARDS = 4096 }; /* missing shards of larger sets are not reported */

/* Reports two sets of shards with the same name but different numbers of shards. The older set was
 * probably forgotten, and its examples would be read as well. */
static dt_status *check_one_set(const dt_paths *paths, int first, const char *pattern) {
    const char *path = NULL, *at = NULL;
    int64_t index, count, whole = 0;
    for (int i = first; i < paths->n; i++) {
        const char *digits = find_shard(paths->v[i], &index, &count);
        if (digits && path && count != whole && digits - paths->v[i] == at - path &&
            memcmp(paths->v[i], path, (size_t)(at - path)) == 0)
            return dt_fail(DT_E_RECORD, NULL, "%s: two sets of shards match, of %lld and of %lld",
                           pattern, (long long)whole, (long long)count);
        if (digits) {
            path = paths->v[i];
            at = digits;
            whole = count;
        }
    }
    return NULL;
}

static dt_status *check_shards(const dt_paths *paths, int first, const char *pattern) {
    DT_TRY(check_one_set(paths, first, pattern));
    for (int i = first; i < paths->n; i++) {
        int64_t index, count;
        const char *at = find_shard(paths->v[i], &index, &count);
        bool first_of_set = at && (i == first || index == 0);
        if (first_of_set && count > 0 && count <= MOST_SHARDS)
            DT_TRY(missing_shard(paths, first, paths->v[i], at, count));
    }
    return NULL;
}

/* ---- patterns ---- */

#define WILDCARDS "*?["

bool dt_path_is_pattern(const char *path) {
    return strpbrk(path, WILDCARDS) && access(path, F_OK) != 0;
}

/* Joins folder and pattern. Wildcards in the folder's name are escaped, since they are meant
 * literally. */
static char *escaped_join(const char *folder, const char *pattern) {
    dt_local_str escaped = {0};
    for (; folder && *folder; folder++) {
        if (strchr("*?[]\\", *folder)) dt_str_putc(&escaped, '\\');
        dt_str_putc(&escaped, *folder);
    }
    return dt_path_join(dt_str_text(&escaped), pattern);
}

static dt_status *match(dt_paths *paths, const char *folder, const char *pattern,
                        const char *shown) {
    glob_t found;
    char *path = escaped_join(folder, pattern);
    int r = glob(path, 0, NULL, &found);
    free(path);
    if (r == GLOB_NOSPACE)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for the files that match '%s'", shown);
    if (r != 0) return dt_fail(DT_E_NO_INPUT, NULL, "no file matches '%s'", shown);
    for (size_t i = 0; i < found.gl_pathc; i++) dt_paths_add(paths, found.gl_pathv[i]);
    globfree(&found);
    return NULL;
}

/* Adds the files that match a pattern. A name without wildcards, or of an existing file, is only
 * joined to the directory; if the file is missing, opening it reports the system's error. */
dt_status *dt_paths_match(dt_paths *paths, const char *directory, const char *pattern) {
    int first = paths->n;
    DT_LOCAL char *path = dt_path_join(directory, pattern);
    dt_status *s = NULL;
    if (strpbrk(pattern, WILDCARDS) && access(path, F_OK) != 0) {
        s = match(paths, directory, pattern, path);
        if (!s) s = check_shards(paths, first, path);
    } else {
        dt_paths_add(paths, path);
    }
    return s;
}

/* ---- folders ---- */

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

dt_status *dt_paths_list(dt_paths *paths, const char *folder) {
    int first = paths->n;
    DIR *d = opendir(folder);
    if (!d) return dt_fail_errno(DT_E_NOT_REGULAR, folder);
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        DT_LOCAL char *path = dt_path_join(folder, e->d_name);
        if (e->d_name[0] != '.') dt_paths_add(paths, path);
    }
    closedir(d);
    if (paths->n > first)
        qsort(paths->v + first, (size_t)(paths->n - first), sizeof *paths->v, compare);
    return NULL;
}

bool dt_path_is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- folders below a folder ---- */

/* Adds entries of a folder: if `folders` is set, the folders but no links to folders, else the
 * files. */
static dt_status *add_entries(const char *folder, bool folders, dt_paths *out) {
    dt_paths all = {0};
    struct stat st;
    dt_status *s = dt_paths_list(&all, folder);
    for (int i = 0; i < all.n && !s; i++)
        if (folders ? lstat(all.v[i], &st) == 0 && S_ISDIR(st.st_mode)
                    : !dt_path_is_folder(all.v[i]))
            dt_paths_add(out, all.v[i]);
    dt_paths_release(&all);
    return s;
}

dt_status *dt_paths_list_below(dt_paths *paths, const char *folder) {
    dt_paths folders = {0};
    dt_status *s = NULL;
    dt_paths_add(&folders, folder);
    for (int i = 0; i < folders.n && !s; i++) s = add_entries(folders.v[i], true, &folders);
    qsort(folders.v, (size_t)folders.n, sizeof *folders.v, compare);
    for (int i = 0; i < folders.n && !s; i++) s = add_entries(folders.v[i], false, paths);
    dt_paths_release(&folders);
    return s;
}
