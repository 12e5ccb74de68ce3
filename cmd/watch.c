/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what watch.h declares. */
#include "watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/events.h"
#include "print.h"
#include "stop.h"
#include "verb.h"

/*
 * Prints a run as JSON Lines: one object for each event, with the schema version `v` first. The
 * event `end` comes last. The event `step` comes about twice a second, or for every step with
 * --every-step.
 */

#define STEP_SECONDS 0.5

/* Prints the line "explained" that follows the event `eval` of evaluate. Writing its text fails
 * only for lack of memory, which the library's next call reports. */
static void print_explained(struct watch *w, const dt_event *e) {
    struct json j;
    DT_LOCAL char *text = NULL;
    dt_status *s = dt_evaluation_json(e->evaluation, &text);
    json_open_event(&j, "explained");
    dt_json_int(&j.to, "step", e->step);
    if (!s) dt_json_raw(&j.to, "outputs", text);
    json_print(&j, w->out);
    dt_status_free(s);
}

/* Prints an event as a JSON line. DT_EVENT_END is left out, because it is printed when the exit
 * code is known, and so are events that have no JSON form, and steps that come too soon after
 * another one. */
static void watch_json(struct watch *w, const dt_event *e) {
    struct json j;
    const dt_event_row *row = &dt_event_rows[e->kind];
    if (!row->shown || e->kind == DT_EVENT_END) return;
    if (e->kind == DT_EVENT_STEP && !w->every_step && !watch_is_due(w, STEP_SECONDS)) return;
    json_open_event(&j, row->name);
    dt_json_members(&j.to, row->shown, e);
    json_print(&j, w->out);
    if (e->evaluation) print_explained(w, e);
}

static void watch_json_error(const struct watch *w, const dt_status *s) {
    for (; s; s = dt_status_next(s)) {
        struct json j;
        json_open_event(&j, "error");
        json_error(&j.to, s);
        json_print(&j, w->out);
    }
}

/* Prints the event `end`. The members weights_sha256 and checkpoint are null, unless the run has
 * ended (even if an expectation was not met), or was stopped (exit code 75) after it had saved a
 * checkpoint. */
static void watch_json_end(const struct watch *w, int code) {
    const bool result = w->ended || (code == EXIT_STOPPED && w->checkpoint);
    const dt_event_row *row = &dt_event_rows[DT_EVENT_END];
    struct json j;
    json_open_event(&j, row->name);
    dt_json_members(
        &j.to, row->shown,
        &(dt_event_line){.event.weights_sha256 = result && *w->weights ? w->weights : NULL,
                         .event.checkpoint = result ? w->checkpoint : NULL,
                         .event.virtual_s = w->virtual_s,
                         .exit = code});
    json_print(&j, w->out);
}

static void keep_metric(struct watch *w, const dt_metric *m) {
    int i = 0;
    while (i < w->n_last && strcmp(w->last[i].name, m->name) != 0) i++;
    if (i == w->n_last) {
        w->last = dt_realloc(w->last, (size_t)++w->n_last * sizeof *w->last);
        w->last[i].name = dt_strdup(m->name);
    }
    w->last[i].value = m->value;
}

static void keep_checkpoint(struct watch *w, const dt_event *e) {
    if (e->checkpoint && (!w->checkpoint || strcmp(e->checkpoint, w->checkpoint) != 0)) {
        w->reported = false;
        free(w->checkpoint);
        w->checkpoint = dt_strdup(e->checkpoint);
    }
    if (e->weights_sha256) snprintf(w->weights, sizeof w->weights, "%s", e->weights_sha256);
}

static void keep_workers(struct watch *w, const dt_event *e) {
    w->workers.updates = w->workers.sum = w->workers.most = 0;
    for (int i = 0; i < e->n_staleness; i++) {
        w->workers.updates += e->staleness[i];
        w->workers.sum += i * e->staleness[i];
        w->workers.most = e->staleness[i] ? i : w->workers.most;
    }
    w->workers.lost = e->workers_lost;
    w->workers.again = e->batches_again;
}

static void keep_explained(struct watch *w, const dt_event *e) {
    dt_str t = {0};
    explained_put(&t, e->evaluation, true);
    free(w->explained);
    w->explained = dt_str_take(&t);
}

/* Remembers the values of an event as the latest results. Metrics are taken from epochs,
 * evaluations and the end of the run only, because the loss of a step covers a single batch. */
static void remember(struct watch *w, const dt_event *e) {
    if (e->kind == DT_EVENT_EPOCH || e->kind == DT_EVENT_EVAL || e->kind == DT_EVENT_END)
        for (int i = 0; i < e->n_metrics; i++) keep_metric(w, &e->metrics[i]);
    if (e->kind == DT_EVENT_CHECKPOINT || e->kind == DT_EVENT_END) keep_checkpoint(w, e);
    if (e->kind == DT_EVENT_STEP || e->kind == DT_EVENT_EPOCH) w->trained = true;
    if (e->kind == DT_EVENT_CHECKPOINT && *stop_flag()) w->saved_after_stop = true;
    if (e->kind == DT_EVENT_START) {
        w->epoch_steps = e->steps_per_epoch;
        w->step_before = e->step;
        clock_gettime(CLOCK_MONOTONIC, &w->began);
    }
    if (e->kind == DT_EVENT_START || e->kind == DT_EVENT_EPOCH || e->kind == DT_EVENT_EVAL)
        clock_gettime(CLOCK_MONOTONIC, &w->printed_line);
    if (e->kind == DT_EVENT_WORKERS) keep_workers(w, e);
    if (e->evaluation) keep_explained(w, e);
    if (e->kind == DT_EVENT_END) w->virtual_s = e->virtual_s;
    w->step = e->step ? e->step : w->step;
    w->ended = w->ended || e->kind == DT_EVENT_END;
}

double watch_value(const struct watch *w, const char *name, size_t bytes) {
    for (int i = 0; i < w->n_last; i++)
        if (strlen(w->last[i].name) == bytes && memcmp(w->last[i].name, name, bytes) == 0)
            return w->last[i].value;
    return NAN;
}

static void report_stopping(struct watch *w) {
    if (w->stopping || !*stop_flag() || w->ended) return;
    w->stopping = true;
    out_note(w->out, "stopping after step %lld (press Ctrl-C again to stop now) %s",
             (long long)w->step, out_ellipsis(w->out));
}

void watch_event(const dt_event *e, void *user) {
    struct watch *w = user;
    if (e->kind == DT_EVENT_START) stop_steps_begin();
    if (!w->printed_line.tv_sec) clock_gettime(CLOCK_MONOTONIC, &w->printed_line);
    remember(w, e);
    /* Each worker reports its own waits, because workers may run on different machines. */
    if (e->kind == DT_EVENT_WAITING) out_note(w->out, "%s", e->text);
    if (w->silent) return;
    if (e->kind == DT_EVENT_STEP || e->kind == DT_EVENT_CHECKPOINT ||
        (e->kind == DT_EVENT_EVALUATING && w->training))
        report_stopping(w);
    if (e->kind == DT_EVENT_WARNING) out_warn(w->out, "%s", e->text);
    if (w->json) watch_json(w, e);
    else watch_text(w, e);
}

/* Whether the first worker reports the error for all workers, because they have the same job. An
 * error about something that only this worker was given (DT187) or lacks (DT192) is reported by
 * this worker. */
static bool is_reported_by_first(const dt_status *s) {
    const int number = dt_status_number(s);
    return dt_status_code(s) == EXIT_JOB && number != 187 && number != 192;
}

int watch_error(const struct watch *w, dt_status *s) {
    if (s && w->silent && is_reported_by_first(s)) {
        /* mpirun ends all processes when one fails. So this worker waits a second before it fails,
         * which gives the first worker time to report the error. A signal ends the wait early. */
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        dt_status_free(s);
        return EXIT_JOB;
    }
    if (w->json && s && !w->silent) watch_json_error(w, s);
    return out_error(w->out, s);
}

void watch_end(struct watch *w, int code) {
    if (w->json && !w->silent) watch_json_end(w, code);
}

void watch_release(struct watch *w) {
    for (int i = 0; i < w->n_last; i++) free(w->last[i].name);
    free(w->last);
    free(w->checkpoint);
    free(w->explained);
}

double seconds_between(struct timespec from, struct timespec to) {
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

double watch_seconds_since(struct timespec from) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return seconds_between(from, now);
}

bool watch_is_due(struct watch *w, double seconds) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (w->shown.tv_sec && seconds_between(w->shown, now) < seconds) return false;
    w->shown = now;
    return true;
}
