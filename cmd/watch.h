/* SPDX-License-Identifier: Apache-2.0 */
/* Watching a run: stores its results and reports events as lines for people (watch_text.c) or JSON
 * lines for programs. */
#ifndef CMD_WATCH_H
#define CMD_WATCH_H

#include <time.h>

#include "base/str.h"
#include "dtrain.h"
#include "out.h"

/* The last value of a metric. */
struct last_value {
    char *name; /* name of the metric; owned */
    double value;
};

struct watch {
    struct out *out;
    bool json, every_step;
    bool training; /* whether the verb is `fit` */
    /* whether the first worker reports the events, so that this process prints only its waits, and
     * those errors that the first one does not report */
    bool silent;
    const char *path; /* the job's path as written on the command line */

    /* [n_last] the last value of each metric that epochs, evaluations and the end have reported */
    struct last_value *last;
    int n_last;
    char *checkpoint; /* path of the checkpoint that was reported last; owned */
    /* The SHA-256 in hexadecimal of the weights in `checkpoint` or, at the end, of the final
     * weights. */
    char weights[80];
    /* The tables in which `evaluate` explains a model's outputs, as Markdown; owned; NULL: none. */
    char *explained;
    /* step: the newest step; epoch_steps: the number of steps of an epoch */
    int64_t step, epoch_steps;
    double virtual_s; /* simulated seconds of all steps, known at the end */
    struct {
        /* Numbers of a parameter server: its updates, the sum and the largest of their staleness,
         * lost workers, and batches that were computed again. */
        int64_t updates, sum, most, lost, again;
    } workers; /* `updates` is 0 if the run has no parameter server */
    bool trained, ended;
    bool stopping, saved_after_stop;
    bool reported; /* whether a line about `checkpoint` has been printed */

    /* shown: when a step or the progress of an evaluation was last shown (watch_is_due);
     * epoch_began: when the first step of this epoch was reported */
    struct timespec shown, epoch_began;
    /* the number, within its epoch, of the first step of this epoch that was reported; 0: no step
     * was reported yet */
    int64_t epoch_first;

    /* For lines about progress in a log. began: when the run started; printed_line: when a line
     * about steps, epochs or evaluations was last printed or, before the first, when the run
     * started. */
    struct timespec began, printed_line;
    int64_t step_before; /* number of steps that were done before `began` */
};

/* Handles an event. To be passed as dt_run_options.event, with the watch as its user. */
void watch_event(const dt_event *e, void *user);
/* Reports an error in the format of the run; with JSON on standard output as well. A silent watch
 * drops an error that the first worker reports. Frees it and returns its exit code, 0 for NULL. */
int watch_error(const struct watch *w, dt_status *s);
/* Returns the last value of the metric with this name, which has `bytes` bytes; NaN: there is
 * none. */
double watch_value(const struct watch *w, const char *name, size_t bytes);
/* With JSON, prints the end of the run, after everything else. */
void watch_end(struct watch *w, int code);
void watch_release(struct watch *w);

/* watch_text.c: prints an event for people. */
void watch_text(struct watch *w, const dt_event *e);
/* Whether it is time to show progress again, which happens at most once in `seconds`. If so, takes
 * note of the time. */
bool watch_is_due(struct watch *w, double seconds);
double watch_seconds_since(struct timespec from);
double seconds_between(struct timespec from, struct timespec to);

/* explained.c: writes tables, for people, of what evaluate found out about a model's outputs, as
 * text for a terminal or as Markdown. */
void explained_put(dt_str *to, const dt_evaluation *e, bool markdown);

#endif
