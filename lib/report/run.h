/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as its directory tells it, for the sections of a report:
 *
 *     record.jsonl     what happened, attempt by attempt (train/record.h): steps, times, memory,
 *                      machine, warnings
 *     history.jsonl    the metrics of each epoch
 *     evaluation.PART.json    what `evaluate` found out last (job/keep_evaluation.c)
 *     ckpt/            checkpoints, whose newest has the job and the weights' hash
 *
 * Any of them may be missing, cut or torn: what cannot be read is named in `remark`, the rest is
 * shown.
 */
#ifndef DT_REPORT_RUN_H
#define DT_REPORT_RUN_H

#include <jansson.h>
#include <math.h>

#include "base/arena.h"
#include "format/contents.h"
#include "report/messages.h"

typedef struct dt_point {
    double x, y; /* y not finite: a gap in the curve, with a mark */
} dt_point;

/* The values of one name, by rising x. dt_thin reduces a long series to the points that a screen
 * can show. */
typedef struct dt_series {
    const char *name;
    int n, cap;
    dt_point *p;
    int n_mean; /* after dt_thin: means of intervals, for smoothed curves */
    dt_point *mean;
    int of; /* points before dt_thin; 0: all points are there */
} dt_series;

typedef struct dt_series_list {
    int n, cap;
    dt_series *v;
    bool passed_over; /* there were too many names */
} dt_series_list;
/* NULL: there is no series of that name. */
const dt_series *dt_series_find(const dt_series_list *l, const char *name);
/* Finds or adds the series of that name. Valid until the next call that adds one. NULL: there
 * are too many. */
dt_series *dt_series_of(dt_series_list *l, const char *name);
/* Adds a point, which replaces those at the same or larger x. s may be NULL. */
void dt_series_add(dt_series *s, double x, double y);
/* Removes the points beyond x. */
void dt_series_cut(dt_series_list *l, double x);
/* The sum of the finite values; 0 without such a series. */
double dt_series_sum(const dt_series_list *l, const char *name);
void dt_series_release(dt_series_list *l);

/* Reduces the curves of one chart to about `most` points each: in every interval of x all curves
 * keep the points where one of them has its smallest or largest value. If no curve is longer, all
 * stay whole. dt_thin_band keeps the largest width of a band in each interval. */
void dt_thin(dt_series *const *curve, int n, int most);
void dt_thin_band(dt_series *least, dt_series *greatest, int most);

/* One attempt: from a start of the run to its end. */
typedef struct dt_attempt {
    /* "2026-11-22T11:03:10Z"; ended NULL: killed, or still running */
    const char *began, *ended;
    int64_t from, to; /* steps */
    double seconds;   /* up to its last line */
    int exit;
    const char *error;
    bool resumed, finished, stopped_early;
} dt_attempt;

enum { DT_REPORT_PARTS = 3 }; /* train, validation, test */
extern const char *const dt_report_parts[DT_REPORT_PARTS];

/* The workers of a parameter server, summed over attempts. */
typedef struct dt_report_workers {
    int64_t n, lost, again, dropped; /* n: workers at the end */
    /* updates by their staleness; the last one counts all that are staler */
    int64_t staleness[DT_STALENESS_BINS];
} dt_report_workers;

typedef struct dt_report_run {
    dt_arena *arena;
    const char *path, *label; /* label: a name that differs from other runs' */
    /* shown in place of path: output.dir as the job writes it, with ${VARIABLE} */
    const char *shown;
    dt_series_list by_epoch; /* history's metrics; x: epochs */
    /* of the steps up to each x: loss, loss_min, loss_max, learning_rate, virtual_ms; val_... */
    dt_series_list by_step;
    dt_series_list work; /* of the same steps: n, examples, seconds, waited_s, which are summed */
    dt_series_list of_epochs; /* epoch, wall_s, examples, waited_s; x: steps */
    dt_listing checkpoints;
    json_t *start;                 /* the last line of this kind in the record; NULL: none */
    json_t *data[DT_REPORT_PARTS]; /* the last lines about each part's files; NULL: none */
    /* evaluation.PART.json; NULL: there is none for this training */
    json_t *evaluation[DT_REPORT_PARTS];
    bool other_data[DT_REPORT_PARTS];        /* an earlier attempt had other files */
    json_t *job;                             /* resolved; NULL: unknown */
    const char *weights_sha256, *job_sha256; /* NULL: unknown */
    int64_t generation;
    bool has_workers;
    /* workers_before: sums of all attempts but the last */
    dt_report_workers workers, workers_before;
    double peak_rss; /* bytes; 0: unknown */
    bool running;    /* a process holds its lock */
    int64_t as_of_s; /* time of the record's last line; 0: unknown */
    int n_attempts, cap_attempts;
    dt_attempt *attempt;
    dt_messages messages;
    int n_remarks, cap_remarks;
    const char **remark;
} dt_report_run;

/* The text with `shown` in place of the run's path. */
const char *dt_report_shown(const dt_report_run *r, const char *text);
/* NO_INPUT: there is no such directory, or it has no run. */
dt_status *dt_report_run_read(dt_report_run *r, const char *path) DT_MUST_USE;
/* Whether a checkpoint is readable and belongs to the recorded training, not to an older one in
 * the same directory. */
bool dt_report_is_own(const dt_report_run *r, const dt_listed *c);
void dt_report_run_release(dt_report_run *r); /* takes a zeroed one */
void dt_report_remark(dt_report_run *r, const char *format, ...) DT_PRINTF(2, 3);

/* read_record.c: take one line each. False: it is not a line of such a file. */
bool dt_report_record_line(dt_report_run *r, json_t *line);
bool dt_report_history_line(dt_report_run *r, json_t *line);

/* Members of a line; NULL or 0 if they are missing or have another type. */
const char *dt_report_text(const json_t *object, const char *key);
int64_t dt_report_int(const json_t *object, const char *key);

/* How the run ended, as a word for a badge ("completed", "stopped early", "diverged", "stopped",
 * "failed", "running", "interrupted", "not recorded"); dt_report_explain prints a sentence about
 * it. */
typedef struct dt_run_outcome {
    const char *word, *tone; /* tone: "good", "fair", "bad", "plain" */
} dt_run_outcome;
dt_run_outcome dt_report_outcome(const dt_report_run *r);
void dt_report_explain(const dt_report_run *r, dt_str *out);

/* A metric's last value, and its best one if the record tells which direction is better. */
typedef struct dt_figure {
    int way; /* 1: larger is better, -1: smaller is, 0: unknown */
    double last, best;
    bool has_best;
    int64_t epoch; /* epoch of the best value */
    bool has_kept; /* the run ended with the weights of an earlier epoch */
    double kept;   /* the metric in that epoch */
    int64_t kept_epoch;
} dt_figure;
dt_figure dt_report_figure(const dt_report_run *r, const dt_series *s);
const char *dt_report_base(const char *metric); /* "loss" of "val_loss" */

#endif
