/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `ckpt verify --replay N`: repeats the steps that led to the newest checkpoint, in a scratch
 * directory, and compares the result with the checkpoint, bit by bit. This finds a processor that
 * sometimes computes wrong results, data that changed, and another kernel library. The strategy and
 * the number of threads may differ from those of the run if they do not change results.
 *
 *     begin (a checkpoint N steps or more before, or nothing) ── fit ──▶ scratch/ckpt/step-B
 *                                                          scratch/ckpt/step-B = run/ckpt/step-B ?
 */
#define _XOPEN_SOURCE 700 /* for nftw and mkdtemp */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/json.h"
#include "format/contents.h"
#include "job/job.h"

typedef struct replay {
    dt_job *job;
    const dt_run_options *options;
    bool json;
    dt_saved end;  /* the checkpoint that replaying must reproduce */
    char *begin;   /* the checkpoint to start from; NULL: the start of training */
    int64_t first; /* number of the first step to replay, the one after checkpoint `begin` */
    int64_t steps; /* number of steps of the whole run, by the job as it is now */
    char *scratch;
    char *saved; /* the checkpoint with which the repeated steps ended; NULL: there is none */
    int64_t saved_step;
} replay;

/* ---- choosing the checkpoints ---- */

/* Whether a checkpoint is newer than another one. Compares their names, .../step-00000120, since
 * the step cannot be read from a damaged checkpoint. */
static bool is_newer(const char *path, const char *than) {
    size_t n = strlen(path), m = strlen(than);
    return n > m || (n == m && strcmp(path, than) > 0);
}

/* Fails if a checkpoint is damaged that is newer than the one to be verified. */
static dt_status *check_newer(const replay *r, const char *run) {
    dt_listing l = {0};
    dt_status *s = dt_listing_read(&l, run);
    for (int i = 0; !s && i < l.n; i++)
        if (is_newer(l.item[i].path, r->end.path)) {
            dt_saved c = {0};
            s = dt_saved_open(&c, l.item[i].path);
            dt_saved_release(&c);
        }
    dt_listing_release(&l);
    return s;
}

static dt_status *find_end(replay *r, const char *run) {
    dt_status *warnings = NULL;
    dt_status *s = dt_saved_newest(&r->end, run, &warnings);
    for (const dt_status *w = warnings; w && r->options->event; w = dt_status_next(w))
        r->options->event(&(dt_event){.kind = DT_EVENT_WARNING, .text = dt_status_text(w)},
                          r->options->user);
    dt_status_free(warnings);
    if (!s && !r->end.path)
        s = dt_suggest(dt_fail(DT_E_NO_INPUT, NULL, "there is no checkpoint below %s", run),
                       "'dtrain fit' writes one");
    return s ? s : check_newer(r, run);
}

/* Finds the last checkpoint of the same training that is at least `steps` steps before the end.
 * Sets r->begin (NULL: there is none, so the start of training) and r->first. */
static dt_status *find_begin(replay *r, const char *run, int64_t steps) {
    dt_listing l = {0};
    const dt_listed *best = NULL;
    DT_TRY(dt_listing_read(&l, run));
    for (int i = 0; i < l.n; i++) {
        const dt_state_file *s = &l.item[i].state;
        if (!l.item[i].damage && s->generation == r->end.state.generation &&
            s->step <= r->end.state.step - steps && (!best || s->step > best->state.step))
            best = &l.item[i];
    }
    r->begin = best ? dt_strdup(best->path) : NULL;
    r->first = best ? best->state.step + 1 : 1;
    dt_listing_release(&l);
    return NULL;
}

static dt_status *find(replay *r, int64_t steps) {
    DT_LOCAL char *run = dt_path_join(r->job->work_directory, r->job->run_dir);
    DT_TRY(find_end(r, run));
    return find_begin(r, run, steps);
}

/* ---- the scratch directory ---- */

static dt_status *make_scratch(replay *r) {
    const char *temporary = dt_environment("TMPDIR");
    dt_str path = {0};
    dt_str_printf(&path, "%s/dtrain-replay-XXXXXX", temporary ? temporary : "/tmp");
    char *name = dt_str_take(&path);
    if (!mkdtemp(name)) {
        dt_status *s = dt_note(dt_fail_errno(DT_E_CANT_CREATE, name),
                               "TMPDIR says where such directories are made");
        free(name);
        return s;
    }
    r->scratch = name;
    return NULL;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static dt_status *remove_scratch(const replay *r) {
    enum { MOST_OPEN = 8 };
    if (!r->scratch || nftw(r->scratch, remove_one, MOST_OPEN, FTW_DEPTH | FTW_PHYS) == 0)
        return NULL;
    return dt_note(dt_fail_errno(DT_E_IO, r->scratch), "removing it");
}

/* ---- repeating the steps ---- */

static void listen(const dt_event *e, void *user) {
    replay *r = user;
    if (e->kind == DT_EVENT_END) {
        free(r->saved);
        r->saved = e->checkpoint ? dt_strdup(e->checkpoint) : NULL;
        r->saved_step = e->step;
    } else if (r->options->event) {
        r->options->event(e, r->options->user);
    }
}

static dt_status *interrupted(dt_status *s) {
    if (dt_status_number(s) != DT_E_STOPPED && dt_status_number(s) != DT_E_STOPPED_AT_ONCE)
        return s;
    dt_status_free(s);
    return dt_fail(
        DT_E_REPLAY_STOPPED, NULL,
        "stopped before all steps were replayed: the checkpoint is neither confirmed nor refuted");
}

static dt_status *other_end(const replay *r) {
    return dt_suggest(dt_fail(DT_E_OTHER_JOB, NULL,
                              "the job ends before step %" PRId64 ", that of checkpoint %s",
                              r->end.state.step, r->end.path),
                      "use the `fit` section that it was trained with");
}

static void note_steps(const dt_event *e, void *user) {
    if (e->kind == DT_EVENT_START) ((replay *)user)->steps = e->steps;
}

/* Sets r->steps to the number of steps of the whole job, without training. Fails if they are fewer
 * than those of the checkpoint. */
static dt_status *measure(replay *r) {
    dt_run_options o = *r->options;
    o.resume = DT_RESUME_NEVER;
    o.max_steps = o.max_epochs = 0;
    o.dry_run = true;
    o.event = note_steps;
    o.user = r;
    DT_TRY(dt_job_fit(r->job, &o));
    return r->steps < r->end.state.step ? other_end(r) : NULL;
}

/* Repeats the steps. A training that ends with its last step also takes averages and calls the end
 * of callbacks. So the number of steps is limited only if the recorded run ended before that. */
static dt_status *do_again(replay *r) {
    dt_run_options o = *r->options;
    /* writes into the scratch directory, and no other checkpoint, recording or report than the last
     * checkpoint, since only that checkpoint is compared */
    dt_job *j = r->job;
    j->run_dir = r->scratch;
    j->checkpoint.every_epoch = false;
    j->checkpoint.every_steps = 0;
    j->checkpoint.every_seconds = 0;
    j->checkpoint.resume = DT_RESUME_AUTO;
    j->trace = (dt_steps_recorded){0};
    j->report = false;
    DT_TRY(measure(r));
    o.resume = r->begin ? DT_RESUME_PATH : DT_RESUME_NEVER;
    o.resume_path = r->begin;
    o.max_steps = r->steps > r->end.state.step ? r->end.state.step : 0;
    o.event = listen;
    o.user = r;
    DT_TRY(interrupted(dt_job_fit(r->job, &o)));
    return r->saved && r->saved_step == r->end.state.step ? NULL : other_end(r);
}

/* ---- comparison, and the whole replay ---- */

static dt_status *differ(const replay *r) {
    dt_saved again = {0};
    dt_status *s =
        dt_fail(DT_E_CHECKPOINTS_DIFFER, NULL,
                "%s: steps %" PRId64 " to %" PRId64 " give other bits when they are replayed",
                r->end.path, r->first, r->end.state.step);
    dt_status *bad = dt_saved_open(&again, r->saved);
    if (!bad && again.state.kernels && r->end.state.kernels &&
        strcmp(again.state.kernels, r->end.state.kernels) != 0)
        s = dt_suggest(s,
                       "it was computed with '%s', and here with '%s', which may round "
                       "differently; see --kernels",
                       r->end.state.kernels, again.state.kernels);
    else if (r->steps > r->end.state.step && r->end.state.finished)
        s = dt_suggest(s,
                       "the job now runs to step %" PRId64
                       ": use the `fit` section that the checkpoint was trained with",
                       r->steps);
    dt_status_free(bad);
    dt_saved_release(&again);
    return s;
}

static void print_result(const replay *r, dt_str *out) {
    const dt_state_file *s = &r->end.state;
    dt_json j = {.out = out};
    if (!r->json) {
        dt_str_printf(out,
                      "ok       %s, steps %" PRId64 " to %" PRId64
                      " replayed%s: the same bits, weights sha %.12s\n",
                      r->end.path, r->first, s->step, r->begin ? "" : " from the beginning",
                      s->weights_sha256 ? s->weights_sha256 : "?");
        return;
    }
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "path", r->end.path);
    dt_json_bool(&j, "ok", true);
    dt_json_string(&j, "from", r->begin);
    dt_json_int(&j, "first_step", r->first);
    dt_json_int(&j, "step", s->step);
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

static dt_status *compare(const replay *r, dt_str *out) {
    bool differs = false;
    char *table = NULL;
    DT_TRY(dt_checkpoint_diff(r->end.path, r->saved, 0, r->json, &table, &differs));
    if (differs) dt_str_puts(out, table);
    else print_result(r, out);
    free(table);
    return differs ? differ(r) : NULL;
}

static dt_status *replay_all(replay *r, int64_t steps, dt_str *out) {
    DT_TRY(find(r, steps));
    DT_TRY(make_scratch(r));
    DT_TRY(do_again(r));
    return compare(r, out);
}

/* Refuses a job that computes with a plug-in which the command line does not name: such a plug-in
 * is not opened, and the bits of another back end would differ. */
static dt_status *check_may_compute(const dt_job *j) {
    if (!j->sealed || !dt_backend_takes_plugin(j->backend)) return NULL;
    return dt_suggest(dt_fail(DT_E_BACKEND, j->backend_at.source ? &j->backend_at : NULL,
                              "a replay of this job needs --plugin: it computes with a plug-in, "
                              "which is code, and opens only one that the command line names"),
                      "add --plugin PATH, the plug-in that the run was trained with");
}

DT_API dt_status *dt_job_replay(dt_job *j, int64_t steps, bool json, const dt_run_options *options,
                                char **text) {
    static const dt_run_options none = {0};
    dt_str out = {0};
    DT_REQUIRE({DT_LIVE(j), "job"}, {text, "place for the text"});
    DT_TRY(check_may_compute(j));
    replay r = {.job = j, .options = options ? options : &none, .json = json};
    dt_status *s = replay_all(&r, steps, &out);
    dt_status *left = remove_scratch(&r);
    if (s) dt_status_free(left);
    *text = dt_str_take(&out);
    j->run_dir = "";
    dt_saved_release(&r.end);
    free(r.begin);
    free(r.saved);
    free(r.scratch);
    return s ? s : left;
}
