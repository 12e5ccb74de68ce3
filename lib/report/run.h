/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as its directory tells it, for the sections of a report:
 *
 *     record.jsonl     what happened, attempt by attempt (train/record.h): steps, times, memory,
 *                      machine, warnings
 *     history.jsonl    the metrics of each epoch
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
    double x, y; /* y not finite: a gap, and a mark where it is */
} dt_point;

/* Values under one name, x rising. Of a long one dt_thin leaves the points that a screen can
 * show. */
typedef struct dt_series {
    const char *name;
    int n, cap;
    dt_point *p;
    int n_mean; /* of a thinned one: means of stretches, which a smoothed curve is drawn from */
    dt_point *mean;
    int of; /* points before it was thinned; 0: these are all */
} dt_series;

typedef struct dt_series_list {
    int n, cap;
    dt_series *v;
    bool passed_over; /* there were more names than are kept */
} dt_series_list;
/* NULL: none of that name. */
const dt_series *dt_series_find(const dt_series_list *l, const char *name);
/* The series of that name, made where there is none; good until the next one is made. NULL: there
 * are too many. */
dt_series *dt_series_of(dt_series_list *l, const char *name);
/* A point behind the others; one at the same x takes the place of the last. It takes NULL, too. */
void dt_series_add(dt_series *s, double x, double y);
/* Points beyond x go. */
void dt_series_cut(dt_series_list *l, double x);
/* The sum of its finite values; 0 where there is no such series. */
double dt_series_sum(const dt_series_list *l, const char *name);
void dt_series_release(dt_series_list *l);

/* downsample.c: curves of one chart, which keep their points where one of them has its least or
 * greatest value in a stretch of x; `most` points of a curve, about. Shorter ones stay whole. A
 * band is as wide in a stretch as anywhere in it. */
void dt_thin(dt_series *const *curve, int n, int most);
void dt_thin_band(dt_series *least, dt_series *greatest, int most);

/* From a start to its end. */
typedef struct dt_attempt {
    /* "2026-11-22T11:03:10Z"; ended NULL: it was killed, or is not over */
    const char *began, *ended;
    int64_t from, to; /* steps */
    double seconds;   /* to the last line of it */
    int exit;
    const char *error;
    bool resumed, finished, stopped_early;
} dt_attempt;

enum { DT_REPORT_PARTS = 3 }; /* train, validation, test */
extern const char *const dt_report_parts[DT_REPORT_PARTS];

/* What a record says of a parameter server's workers, its attempts added up. */
enum { DT_REPORT_STALENESS = 65 };
typedef struct dt_report_workers {
    int64_t n, lost, again, dropped; /* n: at the end */
    /* updates by their staleness; the last one counts all that are staler */
    int64_t staleness[DT_REPORT_STALENESS];
} dt_report_workers;

typedef struct dt_report_run {
    dt_arena *arena;
    const char *path, *label; /* label: its name, told apart from the others' */
    /* in place of path: output.dir as the job writes it, where that names variables of the
     * environment; else path */
    const char *shown;
    dt_series_list by_epoch; /* history's metrics; x: epochs */
    /* of the steps up to each x: loss, loss_min, loss_max, learning_rate, virtual_ms; val_... */
    dt_series_list by_step;
    dt_series_list work; /* of the same steps: n, examples, seconds, waited_s, which are summed */
    dt_series_list of_epochs; /* epoch, wall_s, examples, waited_s; x: steps */
    dt_listing checkpoints;
    json_t *start;                    /* the last line of this kind; NULL: none */
    json_t *data[DT_REPORT_PARTS];    /* the last lines about each part's files; NULL: none */
    bool other_data[DT_REPORT_PARTS]; /* an attempt before the last one had other files */
    json_t *job;                      /* as it was resolved; NULL: not known */
    const char *weights_sha256, *job_sha256; /* NULL: not known */
    int64_t generation;
    bool has_workers;
    /* before: of the attempts before the last one, added up */
    dt_report_workers workers, workers_before;
    double peak_rss; /* bytes; 0: not known */
    bool running;    /* somebody holds its lock */
    int64_t as_of_s; /* when its record was last written; 0: not known */
    int n_attempts, cap_attempts;
    dt_attempt *attempt;
    dt_messages messages;
    int n_remarks, cap_remarks;
    const char **remark;
} dt_report_run;

/* A text with the run's path as it may be shown. */
const char *dt_report_shown(const dt_report_run *r, const char *text);
/* NO_INPUT: no such directory, or no run's. */
dt_status *dt_report_run_read(dt_report_run *r, const char *path) DT_MUST_USE;
/* A readable checkpoint of the training that the record tells of, not of one that was given up for
 * it. */
bool dt_report_is_own(const dt_report_run *r, const dt_listed *c);
void dt_report_run_release(dt_report_run *r); /* takes a zeroed one */
void dt_report_remark(dt_report_run *r, const char *format, ...) DT_PRINTF(2, 3);

/* read_record.c: a line each; false: not a line of a record. */
bool dt_report_record_line(dt_report_run *r, json_t *line);
bool dt_report_history_line(dt_report_run *r, json_t *line);

/* Members of a line: of another type, or absent, they are NULL, 0. */
const char *dt_report_text(const json_t *object, const char *key);
int64_t dt_report_int(const json_t *object, const char *key);

/* How it ended, in a word for a badge ("completed", "stopped early", "diverged", "stopped",
 * "failed", "running", "interrupted", "not recorded"), and a sentence about it. */
typedef struct dt_outcome {
    const char *word, *tone; /* tone: "good", "fair", "bad", "plain" */
} dt_outcome;
dt_outcome dt_report_outcome(const dt_report_run *r);
void dt_report_explain(const dt_report_run *r, dt_str *out);

/* Of a metric: its last value, and the best one in the direction that the record names, where it
 * names one. */
typedef struct dt_figure {
    double last, best;
    bool has_best;
    int64_t epoch; /* of the best */
    bool has_kept; /* the run ended with the weights of an earlier epoch */
    double kept;   /* the metric in that epoch */
    int64_t kept_epoch;
} dt_figure;
dt_figure dt_report_figure(const dt_report_run *r, const dt_series *s);
const char *dt_report_base(const char *metric); /* "val_loss": loss */

#endif
