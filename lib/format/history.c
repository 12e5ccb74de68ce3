/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines are appended to history.jsonl, so a killed run may leave an incomplete line, and a run that
 * resumes from an older checkpoint trains epochs again that have lines already. These lines are
 * removed before the first new line: if there are any, the file is replaced as a whole. If the
 * history is kept aside (dt_history_from), a copy without them is written instead.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/events.h"
#include "file/json_read.h"
#include "file/records.h"
#include "format/format.h"

/* ---- checks of lines ---- */

/* The texts in a line before and after the eight digits of its check. */
#define BEFORE ", \"" DT_HISTORY_CHECK "\": \""
#define BEHIND "\"}"
enum { DIGITS = 8, TAIL = sizeof BEFORE - 1 + DIGITS + sizeof BEHIND - 1 };

bool dt_history_is_metric(const char *key) {
    const dt_json_member *m = dt_history_members;
    while ((m->key || m->put) && !(m->key && strcmp(m->key, key) == 0)) m++;
    return !m->key && strcmp(key, DT_HISTORY_CHECK) != 0;
}

static uint32_t continue_with(const dt_history_lines *h, const char *line, size_t n) {
    char before[DIGITS + 1];
    snprintf(before, sizeof before, "%08x", (unsigned)h->check);
    return dt_crc32c_more(h->begun ? dt_crc32c(before, DIGITS) : 0, line, n);
}

/* Reads the check at the end of a line. False: the line does not end with a check. */
static bool read_check(const char *line, size_t n, uint32_t *check) {
    const char *tail = line + n - TAIL;
    if (n < TAIL || memcmp(tail, BEFORE, sizeof BEFORE - 1) != 0 ||
        memcmp(line + n - (sizeof BEHIND - 1), BEHIND, sizeof BEHIND - 1) != 0)
        return false;
    *check = 0;
    for (int i = 0; i < DIGITS; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = memchr(digits, tail[sizeof BEFORE - 1 + i], sizeof digits - 1);
        if (!digit) return false;
        *check = *check << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

/* Whether a line may be of an earlier version, whose lines end with a number or null. */
static bool can_be_old(const char *line, size_t n) {
    return n < 2 || memcmp(line + n - 2, BEHIND, 2) != 0;
}

void dt_history_take(dt_history_lines *h, const char *line, size_t n, bool is_json) {
    uint32_t stated = 0;
    const bool has_check = is_json && read_check(line, n, &stated);
    const uint32_t right = continue_with(h, line, has_check ? n - TAIL : n);
    const bool is_old = is_json && !h->has_checks && can_be_old(line, n);
    const bool fits = has_check ? stated == right || h->is_lost : is_old;
    h->n++;
    if (!fits && h->damaged++ == 0) h->first = h->n;
    h->has_checks |= has_check;
    h->is_lost = !has_check && !is_old;
    /* Continues with the check that the line states, even if it is wrong, so that later lines are
     * not reported as well. */
    h->check = has_check ? stated : right;
    h->begun = true;
}

void dt_history_take_all(dt_history_lines *h, const dt_str *text) {
    const char *line = dt_str_text(text), *end = line + text->size;
    for (const char *newline; line < end && (newline = memchr(line, '\n', (size_t)(end - line)));
         line = newline + 1) {
        const dt_json_text t = {"history.jsonl",          "a line",       "key", line,
                                (size_t)(newline - line), DT_E_CHECKPOINT};
        json_t *root = NULL;
        /* The parser's message is dropped; dt_history_damage names the first damaged line. */
        dt_status_free(dt_json_parse(&t, &root));
        dt_history_take(h, line, (size_t)(newline - line), root != NULL);
        json_decref(root);
    }
}

void dt_history_seal(dt_history_lines *h, dt_str *line) {
    const size_t n = line->size - 2; /* length of the line without the final "}" and newline */
    h->check = continue_with(h, line->data, n);
    h->begun = h->has_checks = true;
    h->is_lost = false;
    h->n++;
    line->size = n;
    dt_str_printf(line, BEFORE "%08x" BEHIND "\n", (unsigned)h->check);
}

char *dt_history_damage(const dt_history_lines *h, const char *path) {
    dt_str text = {0};
    if (h->damaged == 0) return NULL;
    dt_str_printf(&text,
                  "%s:%lld: damaged: the line cannot be read or does not fit its check; it or the "
                  "line before it was changed, removed or added",
                  path, (long long)h->first);
    if (h->damaged > 1)
        dt_str_printf(&text, "; in all, %lld lines do not fit", (long long)h->damaged);
    return dt_str_take(&text);
}

/* ---- the file ---- */

/* The lines to keep in the file, and what is known about them. */
typedef struct keeping {
    int64_t step;
    dt_str kept;
    /* all: the state of checking after all lines; last: the state after the last line that
     * remains */
    dt_history_lines all, last;
    int64_t epoch; /* number of the epoch in the last line that remains */
    bool same;     /* whether all lines remain */
} keeping;

/* Takes a line into account. It remains if it is JSON with a step of at most k->step. */
static void take_line(keeping *k, const char *line, size_t n) {
    json_t *root = NULL;
    int64_t step = 0, epoch = 0;
    dt_json_text text = {"history.jsonl", "a line", "key", line, n, DT_E_CHECKPOINT};
    /* The parser's message is dropped; dt_history_damage names the first damaged line. */
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

/* Sets *there to whether the path exists, and refuses anything but a regular file, so that a link
 * is refused before the file that it leads to is read. */
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
 * adopted; those of the next generation, which has no checkpoint, are removed. */
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
    /* A run of the previous generation that was killed before it replaced history.jsonl may have
     * left this file. */
    if (!s) s = dt_file_remove(before);
    free(before);
    if (!s) s = dt_dir_sync(r->path);
    free(w->path);
    w->path = path;
    return s;
}
