/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.jsonl is appended to, so a killed run may leave half a line, and one that is resumed from
 * an older checkpoint trains epochs again whose lines are there. Both go before the first new line;
 * the file is replaced whole, and only if something has to go.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file/json_read.h"
#include "format/format.h"

/* Whether it is a line of ours, of no step past `step`. */
static bool is_kept(const char *line, size_t n, int64_t step) {
    json_t *root;
    int64_t of;
    dt_json_text text = {"history.jsonl", "a line", "key", line, n, DT_E_CHECKPOINT};
    dt_status *s = dt_json_parse(&text, &root);
    bool kept = !s && dt_json_get_int(root, "step", &of) && of <= step;
    json_decref(root);
    dt_status_free(s); /* torn, not worth a word */
    return kept;
}

static void filter(const dt_str *all, int64_t step, dt_str *kept) {
    const char *line = dt_str_text(all), *end = line + all->size;
    for (const char *newline; line < end && (newline = memchr(line, '\n', (size_t)(end - line)));
         line = newline + 1)
        if (is_kept(line, (size_t)(newline - line), step))
            dt_str_add(kept, line, (size_t)(newline + 1 - line));
}

/* A link is refused before what it leads to is read. */
static dt_status *check_kind(const char *path, bool *there) {
    struct stat st;
    *there = lstat(path, &st) == 0;
    if (!*there) return errno == ENOENT ? NULL : dt_fail_errno(DT_E_IO, path);
    if (!S_ISREG(st.st_mode))
        return dt_fail(DT_E_CANT_CREATE, NULL, "%s: exists and is not a regular file", path);
    return NULL;
}

/* The lines of history.jsonl that stay; *same: all of them do. */
static dt_status *read_kept(const char *path, int64_t step, dt_str *kept, bool *same) {
    bool there;
    dt_str all = {0};
    *same = true;
    DT_TRY(check_kind(path, &there));
    if (!there) return NULL;
    dt_status *s = dt_file_read(path, DT_HISTORY_LARGEST, &all);
    if (!s) {
        filter(&all, step, kept);
        *same = kept->size == all.size;
    }
    dt_str_release(&all);
    return s;
}

static char *name_of(const dt_run_dir *r, int64_t generation) {
    dt_str name = {0};
    dt_str_printf(&name, "history.%lld.jsonl", (long long)generation);
    char *path = dt_path_join(r->path, dt_str_text(&name));
    dt_str_release(&name);
    return path;
}

/* What killed runs left beside it: this run's own lines are taken, those of a later one, which has
 * no checkpoint, go. */
static dt_status *settle(const dt_run_dir *r, const char *path, int64_t generation) {
    char *own = name_of(r, generation), *later = name_of(r, generation + 1);
    bool there;
    dt_status *s = check_kind(own, &there);
    if (!s && there) s = dt_rename(own, path);
    if (!s) s = dt_file_remove(later);
    free(own);
    free(later);
    return s;
}

static dt_status *open_as(dt_writer *w, const char *from, const char *to, int64_t step) {
    dt_str kept = {0};
    bool same;
    dt_status *s = read_kept(from, step, &kept, &same);
    if (!s && (!same || strcmp(from, to) != 0))
        s = dt_file_commit(to, dt_str_text(&kept), kept.size);
    if (!s) s = dt_writer_append(w, to);
    dt_str_release(&kept);
    return s;
}

dt_status *dt_history_open(dt_writer *w, const dt_run_dir *r, const dt_history_from *from) {
    *w = (dt_writer){.fd = -1};
    char *path = dt_path_join(r->path, "history.jsonl"), *beside = name_of(r, from->generation);
    dt_status *s = from->aside ? NULL : settle(r, path, from->generation);
    if (!s) s = open_as(w, path, from->aside ? beside : path, from->step);
    free(path);
    free(beside);
    return s;
}

dt_status *dt_history_adopt(dt_writer *w, const dt_run_dir *r, int64_t generation) {
    char *path = dt_path_join(r->path, "history.jsonl"), *before = name_of(r, generation - 1);
    dt_status *s = dt_rename(w->path, path);
    if (!s) s = dt_file_remove(before); /* of a run that was killed where this one is now */
    free(before);
    if (!s) s = dt_dir_sync(r->path);
    free(w->path);
    w->path = path;
    return s;
}
