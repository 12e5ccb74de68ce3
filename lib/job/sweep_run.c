/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of trials, and which one is next. trials.jsonl in the sweep's folder has a line for
 * each finished rung of a trial:
 *
 *     {"v": 1, "trial": 3, "rung": 1, "exit": 0, "score": 0.31, "weights_sha256": "...", ...}
 *
 * With successive halving, all trials of a rung train for an equal part of the job. Then the best
 * of them (one of every `halving` trials) resume in the next rung. In the last rung they train to
 * the job's end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/handle.h"
#include "file/json_read.h"
#include "job/sweep.h"
#include "report/run.h"

/* Exit codes that a second attempt with the same settings would return again, so that the trial
 * counts as finished. */
enum { OK = 0, BAD_JOB = 78, DIVERGED = 79 };

static bool is_lasting(int code) { return code == OK || code == BAD_JOB || code == DIVERGED; }

/* Whether the exit code means that the trial was stopped (75) or killed by a signal (> 128), or
 * that the system refused something: a resource (71), the run directory (73), reading or writing
 * (74) or permission (77). Another attempt may then succeed. */
static bool is_interruption(int code) {
    return code == 71 || code == 73 || code == 74 || code == 75 || code == 77 || code > 128;
}

/* ---- results ---- */

typedef struct result {
    /* index of the trial; index of its rung; exit code of its process */
    int trial, rung, exit_code;
    double score;
    const char *sha256, *error;
} result;

static void store_result(dt_sweep *s, const result *r) {
    dt_sweep_entry *t = &s->trial[r->trial];
    t->rung = r->rung;
    t->exit_code = r->exit_code;
    t->error = r->error ? dt_arena_strdup(s->arena, r->error) : NULL;
    t->sha256 = r->sha256 ? dt_arena_strdup(s->arena, r->sha256) : NULL;
    t->state = r->exit_code == OK              ? DT_TRIAL_COMPLETED
               : is_interruption(r->exit_code) ? DT_TRIAL_INTERRUPTED
                                               : DT_TRIAL_FAILED;
    if (r->exit_code != OK) return;
    t->scored[r->rung] = true;
    t->score[r->rung] = r->score;
}

static bool read_result(const dt_sweep *s, const json_t *line, result *r) {
    int64_t trial, rung, code;
    const json_t *score = json_object_get(line, "score");
    if (!dt_json_get_int(line, "trial", &trial) || !dt_json_get_int(line, "rung", &rung) ||
        !dt_json_get_int(line, "exit", &code))
        return false;
    if (trial < 1 || trial > s->n || rung < 1 || rung > s->rungs || !is_lasting((int)code))
        return false;
    *r = (result){.trial = (int)trial - 1,
                  .rung = (int)rung - 1,
                  .exit_code = (int)code,
                  .score = json_is_number(score) ? json_number_value(score) : (double)NAN,
                  .sha256 = dt_report_text(line, "weights_sha256"),
                  .error = dt_report_text(line, "error")};
    return true;
}

/* Reads a line of results. A line that is incomplete or has another form is ignored, and its trial
 * is trained again. */
static void read_line(dt_sweep *s, const char *path, const char *at, size_t n) {
    json_t *line = NULL;
    result r;
    dt_status_free(
        dt_json_parse(&(dt_json_text){path, "a line", "key", at, n, DT_E_CHECKPOINT}, &line));
    if (line && read_result(s, line, &r)) store_result(s, &r);
    json_decref(line);
}

dt_status *dt_sweep_read_results(dt_sweep *s) {
    enum { MOST = 1 << 28 };
    dt_local_str text = {0};
    DT_LOCAL char *path = dt_path_join(s->directory, DT_SWEEP_RESULTS);
    dt_status *bad = dt_file_read(path, MOST, &text);
    if (bad && dt_status_code(bad) == 66) {
        dt_status_free(bad);
        bad = NULL;
    }
    /* the text may contain zero bytes, which a power cut can leave behind, so its end is computed
     * from its size */
    const char *at = dt_str_text(&text), *const all = at + text.size;
    for (const char *end; !bad && (end = memchr(at, '\n', (size_t)(all - at))); at = end + 1)
        if (end > at) read_line(s, path, at, (size_t)(end - at));
    s->torn = at < all;
    return bad;
}

/* Writes a result. If the last line may be incomplete, a line feed comes first. */
static dt_status *write_result(dt_sweep *s, const result *r) {
    dt_local_str line = {0};
    dt_writer w;
    dt_json j = {.out = &line};
    if (s->torn) dt_str_putc(&line, '\n');
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    dt_json_int(&j, "trial", r->trial + 1);
    dt_json_int(&j, "rung", r->rung + 1);
    dt_json_int(&j, "exit", r->exit_code);
    dt_json_double(&j, "score", r->score);
    dt_json_string(&j, "weights_sha256", r->sha256);
    dt_json_string(&j, "error", r->error);
    dt_json_close(&j, '}');
    dt_str_putc(&line, '\n');
    DT_LOCAL char *path = dt_path_join(s->directory, DT_SWEEP_RESULTS);
    dt_status *bad = dt_writer_append(&w, path);
    if (!bad) bad = dt_writer_put(&w, line.data, line.size);
    if (!bad) bad = dt_writer_sync(&w);
    if (!bad) bad = dt_writer_close(&w);
    if (bad) dt_writer_abandon(&w);
    s->torn = bad != NULL;
    return bad;
}

/* Sets r->score to the metric for the weights that the trial keeps or, if its run does not have
 * that, to the last value of the metric; unchanged if there is none. Sets r->sha256 to the hash of
 * these weights; NULL: unknown. */
static dt_status *read_run(const dt_sweep *s, const dt_sweep_entry *t, result *r) {
    dt_report_run run;
    DT_TRY(dt_report_run_read(&run, t->directory));
    const dt_series *series = dt_series_find(&run.by_epoch, s->metric);
    if (series && series->n > 0) {
        const dt_figure f = dt_report_figure(&run, series);
        r->score = f.has_kept ? f.kept : f.last;
    }
    r->sha256 = run.weights_sha256 ? dt_arena_strdup(s->arena, run.weights_sha256) : NULL;
    dt_report_run_release(&run);
    return NULL;
}

/* ---- rank ---- */

int dt_trial_scored(const dt_sweep *s, const dt_sweep_entry *t) {
    int rung = t->state == DT_TRIAL_FAILED ? -1 : s->rungs - 1;
    while (rung >= 0 && !t->scored[rung]) rung--;
    return rung;
}

typedef struct standing {
    const dt_sweep_entry *trial;
    int rung;
    double score; /* the metric, negated if higher is better; INFINITY: it has no finite value */
} standing;

static int by_standing(const void *a, const void *b) {
    const standing *x = a, *y = b;
    if (x->rung != y->rung) return x->rung > y->rung ? -1 : 1;
    if (x->score != y->score) return x->score < y->score ? -1 : 1;
    return x->trial < y->trial ? -1 : x->trial > y->trial;
}

static standing standing_of(const dt_sweep *s, const dt_sweep_entry *t, int rung) {
    const double score = rung < 0 ? (double)NAN : t->score[rung];
    return (standing){t, rung, isfinite(score) ? s->less ? score : -score : (double)INFINITY};
}

int dt_sweep_rank(const dt_sweep *s, const dt_sweep_entry **order) {
    DT_LOCAL standing *all = dt_alloc((size_t)s->n * sizeof *all);
    int ranked = 0;
    for (int i = 0; i < s->n; i++) {
        all[i] = standing_of(s, &s->trial[i], dt_trial_scored(s, &s->trial[i]));
        if (!isfinite(all[i].score))
            /* trials without a score are ranked last, however long they were trained */
            all[i].rung = -1;
    }
    qsort(all, (size_t)s->n, sizeof *all, by_standing);
    for (int i = 0; i < s->n; i++) {
        order[i] = all[i].trial;
        ranked += all[i].rung >= 0;
    }
    return ranked;
}

/* ---- the next trial ---- */

/* Sets in[i] to whether trial i takes part in a rung. In the first rung all trials do. Of the m
 * trials of a rung, the best m / halving (rounded down, at least 1) that have a finite score take
 * part in the next one. Returns how many trials take part. */
static int promoted(const dt_sweep *s, int rung, bool *in) {
    int members = s->n;
    for (int i = 0; i < s->n; i++) in[i] = true;
    DT_LOCAL standing *all = dt_alloc((size_t)s->n * sizeof *all);
    for (int r = 1; r <= rung; r++) {
        int n = 0, kept = (int)(members / s->halving);
        for (int i = 0; i < s->n; i++)
            if (in[i] && s->trial[i].scored[r - 1] && isfinite(s->trial[i].score[r - 1]))
                all[n++] = standing_of(s, &s->trial[i], r - 1);
        qsort(all, (size_t)n, sizeof *all, by_standing);
        memset(in, 0, (size_t)s->n * sizeof *in);
        kept = kept < 1 ? 1 : kept;
        members = n < kept ? n : kept;
        for (int i = 0; i < members; i++) in[all[i].trial - s->trial] = true;
    }
    return members;
}

/* Whether the trial is finished in this rung. A failed trial is; an interrupted one is not, so the
 * rung stays open. */
static bool is_over(const dt_sweep_entry *t, int rung) {
    return t->scored[rung] || t->state == DT_TRIAL_FAILED;
}

/* Returns the first trial that waits in the current rung; NULL: none does. Sets *open to whether
 * any trial of the rung is unfinished. */
static dt_sweep_entry *find_waiting(dt_sweep *s, const bool *in, bool *open) {
    *open = false;
    for (int i = 0; i < s->n; i++) {
        dt_sweep_entry *t = &s->trial[i];
        if (!in[i] || is_over(t, s->rung)) continue;
        *open = true;
        if (t->state == DT_TRIAL_WAITING || t->state == DT_TRIAL_COMPLETED) return t;
    }
    return NULL;
}

static dt_sweep_entry *find_next(dt_sweep *s) {
    bool *in = dt_alloc((size_t)s->n * sizeof *in), open = false;
    dt_sweep_entry *found = NULL;
    while (!s->halted_code) {
        const int members = promoted(s, s->rung, in);
        found = find_waiting(s, in, &open);
        if (found || open || members == 0 || s->rung + 1 == s->rungs) break;
        s->rung++;
    }
    free(in);
    return found;
}

DT_API dt_status *dt_sweep_next(dt_sweep *s, dt_sweep_trial *trial) {
    DT_REQUIRE({DT_LIVE(s), "sweep"}, {trial, "place for the trial"});
    *trial = (dt_sweep_trial){0};
    dt_sweep_entry *t = s->dry_run ? NULL : find_next(s);
    if (!t) return NULL;
    const dt_fit_spec *fit = &s->job->fit;
    const bool last = s->rung + 1 == s->rungs;
    t->state = DT_TRIAL_RUNNING;
    t->rung = s->rung;
    *trial = (dt_sweep_trial){
        .number = (int)(t - s->trial) + 1,
        .rung = s->rung + 1,
        .settings = t->settings,
        .overrides = t->overrides,
        .n_overrides = s->n_overrides,
        .max_epochs = last || !fit->epochs ? 0 : dt_sweep_budget(s, s->rung, fit->epochs),
        .max_steps = last || fit->epochs ? 0 : dt_sweep_budget(s, s->rung, fit->steps),
        .directory = t->directory};
    return NULL;
}

/* ---- the end of a trial ---- */

static char *line_about(const dt_sweep *s, const dt_sweep_entry *t) {
    const char *error = t->error ? t->error : "";
    dt_str line = {0};
    dt_str_printf(&line, "%s %d", s->folds ? "fold" : "trial", (int)(t - s->trial) + 1);
    if (s->rungs > 1) dt_str_printf(&line, ", rung %d of %d", t->rung + 1, s->rungs);
    if (t->state == DT_TRIAL_COMPLETED && isfinite(t->score[t->rung]))
        dt_str_printf(&line, "  %s %.4f", s->metric, t->score[t->rung]);
    else if (t->state == DT_TRIAL_COMPLETED) dt_str_printf(&line, "  %s has no value", s->metric);
    else if (t->exit_code > 128)
        dt_str_printf(&line, "  interrupted: ended by signal %d", t->exit_code - 128);
    else if (t->exit_code == 75) dt_str_puts(&line, "  interrupted: stopped, its state is saved");
    else
        dt_str_printf(&line, "  %s, exit code %d%s%.300s",
                      t->state == DT_TRIAL_FAILED ? "failed" : "interrupted", t->exit_code,
                      *error ? ": " : "", error);
    if (!s->folds) dt_str_printf(&line, "  %s", t->settings);
    return dt_str_take(&line);
}

static void note_halt(dt_sweep *s, int code) {
    if (!s->halted_code && (code == 73 || code == 74 || code == 77)) s->halted_code = code;
}

DT_API dt_status *dt_sweep_ended(dt_sweep *s, int number, int exit_code, const char *error,
                                 char **text) {
    DT_REQUIRE({DT_LIVE(s), "sweep"});
    if (number < 1 || number > s->n || s->trial[number - 1].state != DT_TRIAL_RUNNING)
        return dt_fail(DT_E_MISUSE, NULL, "dt_sweep_ended got trial %d, which is not running",
                       number);
    dt_sweep_entry *t = &s->trial[number - 1];
    result r = {.trial = number - 1,
                .rung = t->rung,
                .exit_code = exit_code,
                .score = (double)NAN,
                .error = error && *error ? error : NULL};
    dt_status *bad = exit_code == OK ? read_run(s, t, &r) : NULL;
    if (!bad && is_lasting(exit_code)) bad = write_result(s, &r);
    if (bad) {
        /* a trial whose result cannot be read or written is not completed */
        r.exit_code = dt_status_code(bad);
        note_halt(s, r.exit_code == 66 ? 74 : r.exit_code);
    }
    store_result(s, &r);
    note_halt(s, exit_code);
    if (text) *text = line_about(s, t);
    return bad;
}

DT_API dt_sweep_counts dt_sweep_count(const dt_sweep *s) {
    if (!DT_LIVE(s)) return (dt_sweep_counts){0};
    dt_sweep_counts c = {.trials = s->n, .halted_code = s->halted_code};
    DT_LOCAL bool *in = dt_alloc((size_t)s->n * sizeof *in);
    const dt_sweep_entry **order = dt_alloc((size_t)s->n * sizeof *order);
    promoted(s, s->rung, in);
    for (int i = 0; i < s->n; i++) {
        const dt_sweep_entry *t = &s->trial[i];
        const bool waits = in[i] && !is_over(t, s->rung);
        c.completed += !waits && t->state == DT_TRIAL_COMPLETED;
        c.failed += t->state == DT_TRIAL_FAILED;
        c.interrupted += t->state == DT_TRIAL_INTERRUPTED || t->state == DT_TRIAL_RUNNING;
        c.waiting += waits && (t->state == DT_TRIAL_WAITING || t->state == DT_TRIAL_COMPLETED);
        if (t->state == DT_TRIAL_FAILED && !c.failed_code) c.failed_code = t->exit_code;
    }
    if (dt_sweep_rank(s, order) > 0) c.best = (int)(order[0] - s->trial) + 1;
    free((void *)(uintptr_t)order);
    return c;
}
