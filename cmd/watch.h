/* SPDX-License-Identifier: Apache-2.0 */
/* Watching a run: stores the values for the last lines, and reports events as lines for people
 * (watch_text.c) or JSON lines for programs (watch_json.c). */
#ifndef CMD_WATCH_H
#define CMD_WATCH_H

#include <time.h>

#include "out.h"

/* The last value of a metric. */
struct last_value {
    char *name; /* owned */
    double value;
};

struct watch {
    struct out *out;
    bool json, every_step;
    bool training;    /* fit, not evaluate */
    bool silent;      /* another worker reports the events */
    const char *path; /* path of the job as written */

    /* metrics seen so far */
    struct last_value *last;
    int n_last;
    char *checkpoint;          /* the newest; owned */
    char weights[80];          /* SHA-256 in hexadecimal, of `checkpoint` or the end */
    char *explained;           /* Markdown of what evaluate found out; owned; NULL: nothing */
    int64_t step, epoch_steps; /* the newest one; in an epoch */
    double virtual_s;          /* simulated seconds of all steps */
    struct {
        /* staleness of updates: their sum, and the greatest one */
        int64_t updates, sum, most, lost, again;
    } workers; /* workers of a parameter server; updates 0: there is none */
    bool trained, ended;
    bool stopping, saved_after_stop;
    bool reported; /* `checkpoint` was reported as saved */

    /* the bar */
    struct timespec shown, epoch_began;
    int64_t epoch_first; /* the epoch's step at epoch_began; 0: no step yet */

    /* lines about steps in a log */
    struct timespec began, printed_line; /* the first step; the last line about steps */
    int64_t step_before;                 /* done before `began` */
};

/* dt_run_options.event, with the watch as its user. */
void watch_event(const dt_event *e, void *user);
/* Reports an error in the format of the run (JSON: on standard output as well), frees it, and
 * returns its exit code; NULL: 0. */
int watch_error(const struct watch *w, dt_status *s);
/* The last value of the metric whose name has these bytes; NaN if there is none. */
double watch_value(const struct watch *w, const char *name, size_t bytes);
/* Reports the end of the run, after everything else. */
void watch_end(struct watch *w, int code);
void watch_release(struct watch *w);

/* watch_text.c, watch_json.c */
void watch_text(struct watch *w, const dt_event *e);
void watch_json(struct watch *w, const dt_event *e);
void watch_json_error(const struct watch *w, const dt_status *s);
void watch_json_end(const struct watch *w, int code);
/* Is it time to show a step again? At most every `seconds`. */
bool watch_is_due(struct watch *w, double seconds);
double watch_seconds_since(struct timespec from);
double seconds_between(struct timespec from, struct timespec to);

#endif
