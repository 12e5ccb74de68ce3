/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests runs for a path without one: see contents.h. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "format/contents.h"

enum { MOST_SEEN = 1000, MOST_NAMED = 4 };

static bool is_checkpoint(const char *path) {
    DT_LOCAL char *state = dt_path_join(path, DT_STATE_FILE);
    return access(state, F_OK) == 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the runs and checkpoints in a folder, sorted by name. Returns their number. */
static int list(dt_arena *arena, const char *folder, const char **name) {
    int n = 0;
    DIR *dir = opendir(*folder ? folder : ".");
    if (!dir) return 0;
    for (const struct dirent *e = readdir(dir); e && n < MOST_SEEN; e = readdir(dir)) {
        DT_LOCAL char *path = dt_path_join(folder, e->d_name);
        if (*e->d_name != '.' && (dt_is_run(path) || is_checkpoint(path)))
            name[n++] = dt_arena_strdup(arena, e->d_name);
    }
    closedir(dir);
    if (n > 1) qsort(name, (size_t)n, sizeof *name, by_name);
    return n;
}

static dt_status *name_some(dt_status *s, const char *folder, const char *const *name, int n) {
    dt_local_str all = {0};
    for (int i = 0; i < n && i < MOST_NAMED; i++) {
        DT_LOCAL char *path = dt_path_join(folder, name[i]);
        dt_str_printf(&all, "%s%.200s", i ? ", " : "", path);
    }
    if (n > MOST_NAMED) dt_str_printf(&all, " and %d more", n - MOST_NAMED);
    return dt_suggest(s, "name one of these: %s", dt_str_text(&all));
}

static dt_status *suggest_one(dt_status *s, const char *folder, const char *name) {
    DT_LOCAL char *path = dt_path_join(folder, name);
    return dt_suggest(s, "did you mean '%.200s'?", path);
}

static dt_status *suggest_runs(dt_status *s, dt_arena *arena, const char *path) {
    struct stat st;
    const char **name = dt_arena_array(arena, const char *, MOST_SEEN), *nearest = NULL;
    const bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    DT_LOCAL char *above = dt_path_dir(path);
    const char *folder = is_folder ? path : above, *slash = strrchr(path, '/');
    const int n = list(arena, folder, name);
    if (n == 1) nearest = name[0];
    else if (!is_folder) nearest = dt_nearest(slash ? slash + 1 : path, name, n);
    if (is_folder && *above && dt_is_run(above)) s = dt_suggest(s, "did you mean '%.200s'?", above);
    else if (nearest) s = suggest_one(s, folder, nearest);
    else if (n > 0) s = name_some(s, folder, name, n);
    else if (is_folder)
        s = dt_suggest(s,
                       "name a run, which is its job's output.dir, or a checkpoint in its ckpt/");
    return s;
}

dt_status *dt_no_run(const char *path, const char *fault) {
    dt_local_arena arena = dt_arena_create();
    dt_status *s = access(path, F_OK) != 0 ? dt_fail_errno(DT_E_NO_INPUT, path)
                                           : dt_fail(DT_E_NO_INPUT, NULL, "%s: is %s", path, fault);
    return suggest_runs(s, arena, dt_path_trimmed(arena, path));
}
