/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a run's directory. */
#define _GNU_SOURCE /* makes the headers declare F_OFD_GETLK */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "file/json_read.h"
#include "report/run.h"
#include "train/record.h"

#define LARGEST ((int64_t)1 << 30)

enum { PIECE = 1 << 20, LONGEST_LINE = 16 << 20, LARGEST_EVALUATION = 4 << 20 };

static void remark(dt_report_run *r, const char *format, ...) DT_PRINTF(2, 3);
static void remark(dt_report_run *r, const char *format, ...) {
    DT_FORMATTED(text, format);
    DT_GROW(r->remark, r->cap_remarks, r->n_remarks + 1);
    r->remark[r->n_remarks++] = dt_arena_take(r->arena, &text);
}

/* ---- the record and the history ---- */

typedef bool take_line(dt_report_run *r, json_t *line);

/* A file that is read in blocks, line by line. */
typedef struct reading {
    dt_report_run *r;
    const char *name;
    take_line *take;
    dt_str line;
    bool skips; /* whether the rest of the current line is skipped, because the line is too long */
    int64_t bad;
    dt_history_lines checks; /* checks the checksums of a history's lines */
} reading;

static void end_line(reading *f) {
    const dt_json_text t = {f->name,      "a line",       "key", dt_str_text(&f->line),
                            f->line.size, DT_E_CHECKPOINT};
    json_t *line = NULL;
    if (f->line.size > 0 && !f->skips)
        /* The error is freed, and the line is counted for a remark. */
        dt_status_free(dt_json_parse(&t, &line));
    dt_history_take(&f->checks, dt_str_text(&f->line), f->line.size, line != NULL);
    f->bad += f->skips || (f->line.size > 0 && !(line && f->take(f->r, line)));
    json_decref(line);
    f->skips = false;
    dt_str_clear(&f->line);
}

static void read_piece(reading *f, const char *at, const char *end) {
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((newline ? newline : end) - at);
        f->skips |= f->line.size + n > LONGEST_LINE;
        if (!f->skips) dt_str_add(&f->line, at, n);
        if (newline) end_line(f);
        at += n + (newline != NULL);
    }
}

static void report_checks(const reading *f) {
    char *damage =
        f->take == dt_report_history_line ? dt_history_damage(&f->checks, f->name) : NULL;
    if (damage) remark(f->r, "%s", damage);
    free(damage);
}

static dt_status *read_lines(dt_report_run *r, const char *name, const char *path,
                             take_line *take) {
    reading f = {.r = r, .name = name, .take = take};
    int64_t size;
    int fd;
    DT_TRY(dt_file_open(path, &fd, &size));
    DT_LOCAL char *piece = dt_alloc(PIECE);
    dt_status *s = NULL;
    for (int64_t at = 0; !s && at < size && at < LARGEST; at += PIECE) {
        const size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
        s = dt_file_pread(fd, path, piece, n, at);
        if (!s) read_piece(&f, piece, piece + n);
    }
    if (!s) report_checks(&f); /* The last line is not checked if it is incomplete. */
    if (!s && size > LARGEST) {
        remark(r, "%s has %lld bytes; only the first %lld were read", name, (long long)size,
               (long long)LARGEST);
    } else if (!s && (f.line.size > 0 || f.skips)) {
        remark(r, "%s ends in the middle of a line: the run was killed while writing it", name);
        end_line(&f);
    }
    if (!s && f.bad > 0)
        remark(r, "%s: %lld line%s could not be read and %s left out", name, (long long)f.bad,
               f.bad == 1 ? "" : "s", f.bad == 1 ? "is" : "are");
    close(fd);
    dt_str_release(&f.line);
    return s;
}

/* Reads the file `name` of the run's directory line by line. Sets *there to whether the file
 * exists; if it does not, no error is returned. */
static dt_status *read_file(dt_report_run *r, const char *name, take_line *take, bool *there) {
    DT_LOCAL char *path = dt_path_join(r->path, name);
    dt_status *s = read_lines(r, name, path, take);
    *there = !s || dt_status_code(s) != 66;
    if (!*there) {
        dt_status_free(s);
        s = NULL;
    }
    return s;
}

bool dt_report_is_own(const dt_report_run *r, const dt_listed *c) {
    return !c->damage && (!r->start || c->state.generation == r->generation);
}

/* Whether history.jsonl belongs to this run: the run has a checkpoint of its own, or the directory
 * has no readable checkpoint. Until its first checkpoint, a run that replaces an older one leaves
 * the older one's checkpoints and history in the directory. */
static bool has_own_state(const dt_report_run *r) {
    bool older = false;
    for (int i = 0; i < r->checkpoints.n; i++) {
        if (dt_report_is_own(r, &r->checkpoints.item[i])) return true;
        older |= !r->checkpoints.item[i].damage;
    }
    return !older;
}

/* Reads the history, and sets *there to whether the run has one. Until its first checkpoint, a run
 * that replaces an older one keeps its history in history.GENERATION.jsonl. */
static dt_status *read_history(dt_report_run *r, bool *there) {
    const char *beside = dt_arena_printf(r->arena, "history.%lld.jsonl", (long long)r->generation);
    *there = false;
    if (r->start) DT_TRY(read_file(r, beside, dt_report_history_line, there));
    return *there || !has_own_state(r)
               ? NULL
               : read_file(r, "history.jsonl", dt_report_history_line, there);
}

/* ---- checkpoints, lock, job, names ---- */

static void report_damage(dt_report_run *r) {
    for (int i = 0; i < r->checkpoints.n; i++)
        if (r->checkpoints.item[i].damage)
            remark(r, "damaged checkpoint: %s", dt_status_text(r->checkpoints.item[i].damage));
}

/* Reads the history and the checkpoints. A directory that has neither, nor a record, is not a
 * run. */
static dt_status *read_history_and_checkpoints(dt_report_run *r, bool record) {
    bool history;
    dt_status *none = dt_listing_read(&r->checkpoints, r->path);
    if (none && dt_status_code(none) != 66) return none;
    dt_status *s = read_history(r, &history);
    if (s || record || history) {
        dt_status_free(none);
        none = NULL;
    }
    report_damage(r);
    return s ? s : none;
}

static bool is_locked(const char *directory) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    DT_LOCAL char *path = dt_path_join(directory, ".lock");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool held = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0) close(fd);
    return held;
}

/* Sets as_of_s to the time when the record was last written, which is shown if the run has not
 * ended. */
static void take_time(dt_report_run *r) {
    struct stat st;
    DT_LOCAL char *path = dt_path_join(r->path, DT_RECORD_FILE);
    if (stat(path, &st) == 0) r->as_of_s = st.st_mtime;
}

static const dt_listed *newest(const dt_report_run *r) {
    const dt_listed *found = NULL;
    for (int i = 0; i < r->checkpoints.n; i++)
        if (dt_report_is_own(r, &r->checkpoints.item[i])) found = &r->checkpoints.item[i];
    return found;
}

static void take_job(dt_report_run *r) {
    const dt_listed *c = newest(r);
    const char *text = r->start ? dt_report_text(r->start, "job") : c ? c->state.job : NULL;
    const dt_json_text t = {r->path,        "the job", "key", text, text ? strlen(text) : 0,
                            DT_E_CHECKPOINT};
    dt_status *s = text ? dt_json_parse(&t, &r->job) : NULL;
    if (s) remark(r, "the recorded job cannot be read: %s", dt_status_text(s));
    dt_status_free(s);
    r->job_sha256 = r->start ? dt_report_text(r->start, "job_sha256")
                    : c      ? c->state.job_sha256
                             : NULL;
    if (!r->weights_sha256 && c) r->weights_sha256 = c->state.weights_sha256;
}

/* Sets `shown`, the text to show for the run's directory: its path or, if the job's output.dir
 * contains "${", output.dir as written. A report must not contain values of environment variables,
 * and the path does. */
static void take_shown(dt_report_run *r) {
    const json_t *output = r->job ? json_object_get(r->job, "output") : NULL;
    const char *dir = json_is_object(output) ? dt_report_text(output, "dir") : NULL;
    r->shown = dir && strstr(dir, "${") ? dt_arena_strdup(r->arena, dir) : r->path;
}

const char *dt_report_shown(const dt_report_run *r, const char *text) {
    dt_str shown = {0};
    const size_t n = strlen(r->path);
    if (r->shown == r->path || n == 0) return text;
    for (const char *found; (found = strstr(text, r->path)); text = found + n) {
        dt_str_add(&shown, text, (size_t)(found - text));
        dt_str_puts(&shown, r->shown);
    }
    dt_str_puts(&shown, text);
    return dt_arena_take(r->arena, &shown);
}

static void take_label(dt_report_run *r) {
    const char *name = r->start ? dt_report_text(r->start, "name")
                       : r->job ? dt_report_text(r->job, "name")
                                : NULL;
    const char *whole = dt_path_trimmed(r->arena, r->path), *slash = strrchr(whole, '/');
    r->label = name && *name       ? dt_arena_strdup(r->arena, name)
               : slash && slash[1] ? slash + 1
                                   : whole;
}

/* ---- evaluations ---- */

static dt_status *parse_evaluation(dt_report_run *r, int part, const char *name, const char *path) {
    dt_local_str text = {0};
    json_t *found = NULL;
    dt_status *s = dt_file_read(path, LARGEST_EVALUATION, &text);
    const dt_json_text t = {name,      "the evaluation", "key", dt_str_text(&text),
                            text.size, DT_E_CHECKPOINT};
    if (!s) s = dt_json_parse(&t, &found);
    if (!s && (!r->start || dt_report_int(found, "generation") == r->generation))
        r->evaluation[part] = json_incref(found);
    json_decref(found);
    return s;
}

/* Reads the evaluations in the run's directory. An evaluation of an older training is left out. */
static void read_evaluations(dt_report_run *r) {
    for (int i = 0; i < DT_REPORT_PARTS; i++) {
        const char *name = dt_arena_printf(r->arena, "evaluation.%s.json", dt_report_parts[i]);
        DT_LOCAL char *path = dt_path_join(r->path, name);
        dt_status *s = access(path, F_OK) == 0 ? parse_evaluation(r, i, name, path) : NULL;
        if (s) remark(r, "%s cannot be read: %s", name, dt_status_text(s));
        dt_status_free(s);
    }
}

/* ---- the whole run ---- */

static dt_status *read_all(dt_report_run *r) {
    bool record;
    if (access(r->path, F_OK) != 0) return dt_no_run(r->path, "not a run");
    DT_TRY(read_file(r, DT_RECORD_FILE, dt_report_record_line, &record));
    DT_TRY(read_history_and_checkpoints(r, record));
    if (r->by_epoch.passed_over || r->by_step.passed_over)
        remark(r, "too many metrics to show; only the first ones are listed");
    for (int i = 0; i < DT_REPORT_PARTS; i++)
        if (r->other_data[i])
            remark(r,
                   "the files of dataset.%s changed between attempts: the run resumed "
                   "with different data",
                   dt_report_parts[i]);
    read_evaluations(r);
    r->running = is_locked(r->path);
    take_time(r);
    take_job(r);
    take_shown(r);
    take_label(r);
    if (!record)
        remark(r, "no " DT_RECORD_FILE ": times, memory, machine and warnings are unknown");
    return NULL;
}

dt_status *dt_report_run_read(dt_report_run *r, const char *path) {
    *r = (dt_report_run){.arena = dt_arena_create()};
    r->path = dt_arena_strdup(r->arena, path);
    dt_status *s = read_all(r);
    if (s) dt_report_run_release(r);
    return s;
}

void dt_report_run_release(dt_report_run *r) {
    dt_series_release(&r->by_epoch);
    dt_series_release(&r->by_step);
    dt_series_release(&r->work);
    dt_series_release(&r->of_epochs);
    dt_listing_release(&r->checkpoints);
    json_decref(r->start);
    for (int i = 0; i < DT_REPORT_PARTS; i++) {
        json_decref(r->data[i]);
        json_decref(r->evaluation[i]);
    }
    json_decref(r->job);
    free(r->attempt);
    dt_messages_clear(&r->messages);
    free(r->remark);
    if (r->arena) dt_arena_destroy(r->arena);
    *r = (dt_report_run){0};
}
