/* SPDX-License-Identifier: Apache-2.0 */
/* How a run ended, taken from its last attempt or, without a record, from its newest checkpoint.
 * Also its metrics. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "report/run.h"

enum { DIVERGED = 79, STOPPED = 75 };

static bool is_finished(const dt_report_run *r) {
    for (int i = r->checkpoints.n - 1; i >= 0; i--)
        if (!r->checkpoints.item[i].damage) return r->checkpoints.item[i].state.finished;
    return false;
}

dt_run_outcome dt_report_outcome(const dt_report_run *r) {
    const dt_attempt *a = r->n_attempts > 0 ? &r->attempt[r->n_attempts - 1] : NULL;
    if (r->running) return (dt_run_outcome){"running", "fair"};
    if (!a)
        return is_finished(r) ? (dt_run_outcome){"completed", "good"}
                              : (dt_run_outcome){"not recorded", "plain"};
    if (!a->ended) return (dt_run_outcome){"interrupted", "bad"};
    if (a->exit == DIVERGED) return (dt_run_outcome){"diverged", "bad"};
    if (a->exit == STOPPED) return (dt_run_outcome){"stopped", "fair"};
    if (a->exit != 0) return (dt_run_outcome){"failed", "bad"};
    return a->stopped_early ? (dt_run_outcome){"stopped early", "good"}
                            : (dt_run_outcome){"completed", "good"};
}

static int times_resumed(const dt_report_run *r) {
    int n = 0;
    for (int i = 0; i < r->n_attempts; i++)
        n += r->attempt[i].resumed && r->attempt[i].to > r->attempt[i].from;
    return n;
}

static void put_steps(const char *before, int64_t n, dt_str *out) {
    dt_str_puts(out, before);
    dt_str_grouped(out, n);
}

/* Writes a sentence about a run that has not ended. Its record is incomplete: lines are written
 * about once a second, and each may stand for several steps. */
static void explain_running(const dt_report_run *r, const dt_attempt *a, dt_str *out) {
    int64_t steps = r->start ? dt_report_int(r->start, "steps") : 0;
    dt_str_puts(out, "still training");
    char text[64];
    struct tm utc;
    time_t s = (time_t)r->as_of_s;
    if (s > 0 && gmtime_r(&s, &utc) &&
        strftime(text, sizeof text, " as of %Y-%m-%d %H:%M:%S UTC", &utc) > 0)
        dt_str_puts(out, text);
    if (a && steps > 0) put_steps(": step ", a->to, out);
    if (a && steps > 0) put_steps(" of ", steps, out);
}

static void explain_killed(const dt_attempt *a, dt_str *out) {
    put_steps("killed, or the machine stopped, after step ", a->to, out);
    dt_str_puts(out, "; run the same command again to resume from the newest checkpoint");
}

void dt_report_explain(const dt_report_run *r, dt_str *out) {
    const dt_attempt *a = r->n_attempts > 0 ? &r->attempt[r->n_attempts - 1] : NULL;
    int resumed = times_resumed(r);
    if (a && a->error && !r->running) dt_str_puts(out, a->error);
    else if (r->running) explain_running(r, a, out);
    else if (a && !a->ended) explain_killed(a, out);
    else if (a && a->stopped_early) put_steps("stopped by a callback after step ", a->to, out);
    if (resumed > 0)
        dt_str_printf(out, "%sresumed %d time%s", out->size ? "; " : "", resumed,
                      resumed == 1 ? "" : "s");
}

const char *dt_report_base(const char *metric) {
    return strncmp(metric, "val_", 4) == 0 ? metric + 4 : metric;
}

/* Whether a metric should be small, judging by its name. Used if the run's record has no lists of
 * metrics by direction. */
static bool is_cost(const char *name) {
    static const char *const words[] = {"loss",       "error",      "crossentropy", "perplexity",
                                        "Perplexity", "divergence", "hinge",        "poisson",
                                        "logcosh",    "log_cosh"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (dt_ends_with(name, words[i])) return true;
    return false;
}

static bool is_listed(const json_t *names, const char *name) {
    size_t i;
    json_t *x;
    json_array_foreach(names, i, x) if (json_is_string(x) &&
                                        strcmp(json_string_value(x), name) == 0) return true;
    return false;
}

/* Returns 1 if larger values of the metric are better, -1 if smaller ones are; 0: the record lists
 * the directions of metrics, but not of this one. If the record has no such lists, is_cost decides
 * between 1 and -1. */
static int way_of(const dt_report_run *r, const char *name) {
    const json_t *less = json_object_get(r->start, "less_is_better"),
                 *more = json_object_get(r->start, "more_is_better");
    if (!less && !more) return is_cost(name) ? -1 : 1;
    return is_listed(more, dt_report_base(name)) - is_listed(less, dt_report_base(name));
}

/* Returns the epoch whose weights a callback restored into the newest checkpoint; 0: none was
 * restored, or the callback names its step and not its epoch. */
static int64_t kept_epoch(const dt_report_run *r) {
    const dt_listed *newest = NULL;
    for (int i = 0; i < r->checkpoints.n; i++)
        if (dt_report_is_own(r, &r->checkpoints.item[i])) newest = &r->checkpoints.item[i];
    return newest ? dt_listed_kept(newest).epoch : 0;
}

DT_API dt_status *dt_run_metric(const char *path, const char *name, double *value) {
    dt_report_run run;
    DT_REQUIRE({path, "run"}, {name, "name"}, {value, "place for the value"});
    *value = (double)NAN;
    DT_TRY(dt_report_run_read(&run, path));
    const dt_series *series = dt_series_find(&run.by_epoch, name);
    if (series && series->n > 0) {
        const dt_figure f = dt_report_figure(&run, series);
        *value = f.has_kept ? f.kept : f.last;
    }
    dt_report_run_release(&run);
    return NULL;
}

dt_figure dt_report_figure(const dt_report_run *r, const dt_series *s) {
    const int way = way_of(r, s->name);
    dt_figure f = {.last = s->p[s->n - 1].y, .kept_epoch = kept_epoch(r), .way = way};
    for (int i = 0; i < s->n; i++) {
        const double y = s->p[i].y;
        const int64_t epoch = (int64_t)ceil(s->p[i].x); /* a point within epoch 3 is at 2.4 */
        if (epoch == f.kept_epoch && i < s->n - 1) {
            f.has_kept = true;
            f.kept = y;
        }
        if (!way || !isfinite(y) || (f.has_best && way * y <= way * f.best)) continue;
        f.has_best = true;
        f.best = y;
        f.epoch = epoch;
    }
    return f;
}
