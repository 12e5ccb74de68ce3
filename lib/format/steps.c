/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints are found by their names and ordered by the generation in state.json. Both are
 * needed: a fresh run in a used directory is newer, but has fewer steps than the checkpoints there.
 */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "format/state.h"

#define PREFIX "step-"
#define TEMPORARY ".tmp"
enum {
    FEWEST_DIGITS = 8,
    MOST_DIGITS = 18, /* a number with so many digits always fits into an int64_t */
};

/* ---- names ---- */

bool dt_step_parse(const char *name, int64_t *step) {
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) return false;
    const char *digits = name + strlen(PREFIX);
    size_t n = strspn(digits, "0123456789");
    if (digits[n] || n < FEWEST_DIGITS || n > MOST_DIGITS || (n > FEWEST_DIGITS && *digits == '0'))
        return false;
    *step = 0;
    for (size_t i = 0; i < n; i++) *step = *step * 10 + (digits[i] - '0');
    return true;
}

char *dt_step_format(dt_arena *arena, int64_t step) {
    return dt_arena_printf(arena, PREFIX "%0*" PRId64, FEWEST_DIGITS, step);
}

bool dt_step_of_path(const char *path, int64_t *step) {
    char name[sizeof PREFIX + MOST_DIGITS];
    size_t end = strlen(path), begin;
    while (end > 0 && path[end - 1] == '/') end--;
    for (begin = end; begin > 0 && path[begin - 1] != '/';) begin--;
    if (end - begin >= sizeof name) return false;
    memcpy(name, path + begin, end - begin);
    name[end - begin] = '\0';
    return dt_step_parse(name, step);
}

dt_status *dt_step_match(const char *path, int64_t step) {
    int64_t named;
    if (!dt_step_of_path(path, &named) || named == step) return NULL;
    return dt_fail(DT_E_CHECKPOINT, NULL, "%s: holds step %" PRId64 ", not that of its name", path,
                   step);
}

/* Returns the length of the name without its suffix .tmp; 0: the name does not have the suffix. */
static size_t without_suffix(const char *name) {
    size_t n = strlen(name), suffix = strlen(TEMPORARY);
    return n > suffix && strcmp(name + n - suffix, TEMPORARY) == 0 ? n - suffix : 0;
}

static bool is_temporary(dt_arena *arena, const char *name, int64_t *step) {
    size_t n = without_suffix(name);
    return n > 0 && dt_step_parse(dt_arena_printf(arena, "%.*s", (int)n, name), step);
}

/* ---- listing ---- */

/* Opens the directory; *out is NULL, without an error, if it does not exist. */
static dt_status *open_directory(const char *ckpt, DIR **out) {
    int fd = dt_dir_open(ckpt, false);
    *out = fd < 0 ? NULL : fdopendir(fd);
    if (*out || (fd < 0 && errno == ENOENT)) return NULL;
    if (fd >= 0) close(fd);
    else if (errno == ELOOP || errno == ENOTDIR)
        return dt_fail(DT_E_CHECKPOINT, NULL, "%s: is not a directory, or a symbolic link; refused",
                       ckpt);
    return dt_fail_errno(DT_E_IO, ckpt);
}

static void add(dt_arena *arena, dt_step_list *list, int *cap, const char *name, int64_t step) {
    if (list->n == *cap) {
        dt_step_name *larger = dt_arena_array(arena, dt_step_name, *cap = *cap ? 2 * *cap : 8);
        if (list->n > 0) memcpy(larger, list->item, sizeof *larger * (size_t)list->n);
        list->item = larger;
    }
    list->item[list->n++] = (dt_step_name){.name = dt_arena_strdup(arena, name), .step = step};
}

static int by_rank(const void *pa, const void *pb) {
    const dt_step_name *a = pa, *b = pb;
    if (a->generation != b->generation) return a->generation < b->generation ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

static void sort(dt_step_list *list) {
    if (list->n > 1) qsort(list->item, (size_t)list->n, sizeof *list->item, by_rank);
}

dt_status *dt_steps_list(dt_arena *arena, const char *ckpt, bool temporary, dt_step_list *out,
                         dt_status **strange) {
    DIR *dir;
    int cap = 0;
    *out = (dt_step_list){0};
    DT_TRY(open_directory(ckpt, &dir));
    if (!dir) return NULL;
    errno = 0;
    for (struct dirent *e; (e = readdir(dir)); errno = 0) {
        int64_t step;
        const char *name = e->d_name;
        bool known = temporary ? is_temporary(arena, name, &step) : dt_step_parse(name, &step);
        if (known) add(arena, out, &cap, name, step);
        else if (strange && *name != '.' && !without_suffix(name))
            dt_status_append(strange,
                             dt_fail(DT_E_CHECKPOINT, NULL,
                                     "%s/%s: not the name of a checkpoint; ignored", ckpt, name));
    }
    dt_status *s = errno ? dt_fail_errno(DT_E_IO, ckpt) : NULL;
    closedir(dir);
    sort(out);
    return s;
}

/* ---- ranking ---- */

static dt_status *read_generation(const char *ckpt, dt_step_name *item) {
    dt_state_read r = {.arena = dt_arena_create()};
    r.path = dt_arena_printf(r.arena, "%s/%s", ckpt, item->name);
    dt_status *s = dt_state_load(&r);
    item->generation = r.state.generation;
    if (!s) s = dt_step_match(r.path, r.state.step);
    if (s) item->generation = -1;
    dt_arena_destroy(r.arena);
    return s;
}

dt_status *dt_steps_rank(const char *ckpt, dt_step_list *list, dt_status **warnings) {
    for (int i = 0; i < list->n; i++) {
        dt_status *s = read_generation(ckpt, &list->item[i]);
        if (s && !dt_state_is_damage(s)) return s;
        if (warnings) dt_status_append(warnings, s);
        else dt_status_free(s);
    }
    sort(list);
    return NULL;
}
