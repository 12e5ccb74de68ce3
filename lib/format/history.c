/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines are appended to history.jsonl, so a killed run may leave an incomplete line, and a run
 * that resumes from an older checkpoint trains epochs again that have lines already. These lines
 * are removed before the first new line; the file is replaced as a whole, and only if lines must
 * be removed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file/json_read.h"
#include "format/format.h"
#include "format/history.h"

/* The lines to keep, and what is known about them. */
typedef struct keeping {
    int64_t step;
    dt_str kept;
    /* all: the check after all lines; last: the check after the last line that remains. */
    dt_history_lines all, last;
    int64_t epoch; /* epoch of the last line that remains */
    bool same;     /* whether all lines remain */
} keeping;

/* Takes a line into account. It remains if dtrain wrote it and its step is at most `step`. */
static void take_line(keeping *k, const char *line, size_t n) {
    json_t *root = NULL;
    int64_t step = 0, epoch = 0;
    dt_json_text text = {"history.jsonl", "a line", "key", line, n, DT_E_CHECKPOINT};
    /* The parser's message is dropped; damaged lines are reported by number. */
    dt_status_free(dt_json_parse(&text, &root));
    const bool is_kept = root && dt_json_get_int(root, "step", &step) && step <= k->step;
    dt_history_take(&k->all, line, n, root != NULL);
    if (is_kept) {
        dt_str_add(&k->kept, line, n + 1);
        k->last = k->all;
        if (dt_json_get_int(root, "epoch", &epoch)) k->epoch = epoch;
    }
    json_decref(root);
}

static void filter(keeping *k, const dt_str *all) {
    const char *line = dt_str_text(all), *end = line + all->size;
    for (const char *newline; line < end && (newline = memchr(line, '\n', (size_t)(end - line)));
         line = newline + 1)
        take_line(k, line, (size_t)(newline - line));
    k->same = k->kept.size == all->size;
}

/* Refuses a link before the file that it leads to is read. */
static dt_status *check_kind(const char *path, bool *there) {
    struct stat st;
    *there = lstat(path, &st) == 0;
    if (!*there) return errno == ENOENT ? NULL : dt_fail_errno(DT_E_IO, path);
    if (!S_ISREG(st.st_mode))
        return dt_fail(DT_E_CANT_CREATE, NULL, "%s: exists and is not a regular file", path);
    return NULL;
}

static dt_status *read_kept(const char *path, keeping *k) {
    bool there;
    dt_local_str all = {0};
    k->same = true;
    DT_TRY(check_kind(path, &there));
    if (!there) return NULL;
    dt_status *s = dt_file_read(path, DT_HISTORY_LARGEST, &all);
    if (!s) filter(k, &all);
    return s;
}

static char *name_of(const dt_run_dir *r, int64_t generation) {
    dt_local_str name = {0};
    dt_str_printf(&name, "history.%lld.jsonl", (long long)generation);
    return dt_path_join(r->path, dt_str_text(&name));
}

/* Handles files that killed runs left beside history.jsonl: lines of this run's generation are
 * adopted; those of a later generation, which has no checkpoint, are removed. */
static dt_status *recover_files(const dt_run_dir *r, const char *path, int64_t generation) {
    char *own = name_of(r, generation), *later = name_of(r, generation + 1);
    bool there;
    dt_status *s = check_kind(own, &there);
    if (!s && there) s = dt_rename(own, path);
    if (!s) s = dt_file_remove(later);
    free(own);
    free(later);
    return s;
}

typedef struct names {
    const char *from, *to;
} names;

static dt_status *open_as(dt_writer *w, names at, int64_t step, dt_history_kept *out) {
    keeping k = {.step = step};
    dt_status *s = read_kept(at.from, &k);
    if (!s && (!k.same || strcmp(at.from, at.to) != 0))
        s = dt_file_commit(at.to, dt_str_text(&k.kept), k.kept.size);
    if (!s) s = dt_writer_append(w, at.to);
    dt_str_release(&k.kept);
    *out = (dt_history_kept){k.last, k.epoch, s ? NULL : dt_history_damage(&k.all, at.from)};
    return s;
}

dt_status *dt_history_open(dt_writer *w, const dt_run_dir *r, const dt_history_from *from,
                           dt_history_kept *kept) {
    *w = (dt_writer){.fd = -1};
    *kept = (dt_history_kept){0};
    char *path = dt_path_join(r->path, "history.jsonl"), *beside = name_of(r, from->generation);
    dt_status *s = from->aside ? NULL : recover_files(r, path, from->generation);
    if (!s) s = open_as(w, (names){path, from->aside ? beside : path}, from->step, kept);
    free(path);
    free(beside);
    return s;
}

dt_status *dt_history_adopt(dt_writer *w, const dt_run_dir *r, int64_t generation) {
    char *path = dt_path_join(r->path, "history.jsonl"), *before = name_of(r, generation - 1);
    dt_status *s = dt_rename(w->path, path);
    if (!s) /* This file was left by a run that was killed before it replaced history.jsonl. */
        s = dt_file_remove(before);
    free(before);
    if (!s) s = dt_dir_sync(r->path);
    free(w->path);
    w->path = path;
    return s;
}
