/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run's directory contains, as the sections of a report need it:
 *
 *     record.jsonl     what happened, attempt by attempt (train/record.h): steps, times, memory,
 *                      machine, warnings
 *     history.jsonl    the metrics of each epoch
 *     evaluation.PART.json    the last result of `evaluate` (job/run.c)
 *     ckpt/            checkpoints, whose newest has the job and the weights' hash
 *
 * Any of these may be missing or incomplete. `remark` names what cannot be read, and the rest is
 * shown.
 */
#ifndef DT_REPORT_RUN_H
#define DT_REPORT_RUN_H

#include <jansson.h>
#include <math.h>

#include "base/arena.h"
#include "format/contents.h"

/*
 * The messages of a run: warnings, actions of callbacks, injected faults, generated texts. A run
 * may repeat a message half a million times, so only the first and the last messages of each kind
 * are kept, with their number. Long texts are cut.
 */
enum { DT_MESSAGE_KINDS = 4, DT_MESSAGE_ENDS = 50 };

typedef struct dt_message_line {
    /* who: the callback that reported the message; NULL: the run did; text: the message */
    const char *who, *text;
    int kind;
    int64_t step, epoch; /* the step and the epoch of the message; 0: unknown */
    int64_t order;       /* number of this message among the messages of all kinds */
    int64_t left_out;    /* number of bytes at the end of the text that were left out */
} dt_message_line;

typedef struct dt_messages {
    int64_t n; /* number of messages of all kinds, including those that are not kept */
    int64_t of[DT_MESSAGE_KINDS];
    /* [2 * DT_MESSAGE_ENDS] for each kind: the messages that are kept; NULL: none. */
    dt_message_line *line[DT_MESSAGE_KINDS];
} dt_messages;
/* Writes the kept messages to all[DT_MESSAGE_KINDS * 2 * DT_MESSAGE_ENDS], in their order.
 * Returns their number. */
int dt_messages_list(const dt_messages *s, const dt_message_line **all);
/* dt_message_kind returns the word for a kind: "warning", "callback", "fault", "text".
 * dt_messages_left_out returns how many messages of a kind are not kept. */
const char *dt_message_kind(int kind);
int64_t dt_messages_left_out(const dt_messages *s, int kind);
void dt_messages_clear(dt_messages *s);

typedef struct dt_point {
    double x, y; /* a point of a curve; if y is not finite, the curve has a gap with a mark there */
} dt_point;

/* The values of one name, in the order of increasing x. dt_thin reduces a long series to the points
 * that a screen can show. */
typedef struct dt_series {
    const char *name;
    int n, cap;
    dt_point *p;
    /* number of means of intervals, from which smoothed curves are drawn; dt_thin sets it */
    int n_mean;
    dt_point *mean;
    int of; /* number of points before dt_thin; 0: dt_thin did not change the curves of the chart */
} dt_series;

typedef struct dt_series_list {
    int n, cap;
    dt_series *v;
    bool passed_over; /* whether some series were left out, because there were too many names */
} dt_series_list;
/* Returns the series of that name; NULL: there is none. */
const dt_series *dt_series_find(const dt_series_list *l, const char *name);
/* Returns the series of that name, which is added if it does not exist. Valid until the next call
 * that adds one. Returns NULL if there are too many. */
dt_series *dt_series_of(dt_series_list *l, const char *name);
/* Adds a point, and removes points at the same or a larger x. s may be NULL. */
void dt_series_add(dt_series *s, double x, double y);
/* Removes all points whose x is larger than the given one. */
void dt_series_cut(dt_series_list *l, double x);
/* Returns the sum of a series' finite values. Returns 0 if there is no such series. */
double dt_series_sum(const dt_series_list *l, const char *name);
void dt_series_release(dt_series_list *l);

/* Reduces the curves of one chart to about `most` points each: each curve is divided into stretches
 * of about equal numbers of points, and all curves keep the points at each x where one of them
 * begins or ends, has the smallest or largest value of a stretch, or has the stretch's first value
 * that is not finite. If no curve has more than `most` points, none is changed. dt_thin_band
 * reduces the two curves that bound a band to at most `most` points each: each stretch becomes one
 * point with its last x and its minimum (`least`) or maximum (`greatest`). Either may be NULL. */
void dt_thin(dt_series *const *curve, int n, int most);
void dt_thin_band(dt_series *least, dt_series *greatest, int most);

/* One attempt to train: from a start of the run to its end. */
typedef struct dt_attempt {
    /* Times such as "2026-11-22T11:03:10Z". ended is NULL if the attempt was killed or has not
     * ended. */
    const char *began, *ended;
    /* from: number of the step at which the attempt began; to: the last step that it recorded */
    int64_t from, to;
    double seconds; /* seconds from the attempt's start to its last line */
    int exit;
    const char *error;
    bool resumed, finished, stopped_early;
} dt_attempt;

enum { DT_REPORT_PARTS = 3 }; /* train, validation and test */
extern const char *const dt_report_parts[DT_REPORT_PARTS];

/* The counts of a parameter server's workers, of one attempt or summed over several. */
typedef struct dt_report_workers {
    /* n: number of workers at the end; lost, again, dropped: the numbers of workers that were lost,
     * of batches that were computed again, and of updates that were dropped */
    int64_t n, lost, again, dropped;
    /* [i] number of updates with staleness i; the last entry counts all larger values */
    int64_t staleness[DT_STALENESS_BINS];
} dt_report_workers;

typedef struct dt_report_run {
    dt_arena *arena;
    const char *path, *label; /* label: name of the run in the report */
    /* text to show in place of the path: output.dir as written in the job if that has a
     * ${VARIABLE}, else the path */
    const char *shown;
    /* the metrics of the history, where x is the number of epochs done: a fraction for a validation
     * within an epoch, unless the number of steps per epoch is unknown */
    dt_series_list by_epoch;
    /* Values from the record, where x is the step: loss, loss_min, loss_max, learning_rate and
     * virtual_ms of the steps that a line stands for, and val_... of validations. */
    dt_series_list by_step;
    /* sums over the steps that a line stands for: their number n, examples, seconds, waited_s */
    dt_series_list work;
    /* Values of each epoch, where x is the step: epoch, wall_s, examples, waited_s. */
    dt_series_list of_epochs;
    dt_listing checkpoints;
    json_t *start; /* the last line of the record about a start; NULL: the record has none */
    /* for each part, the last line of the record about its files in this generation; NULL: none */
    json_t *data[DT_REPORT_PARTS];
    /* For each part, the contents of evaluation.PART.json; NULL: there is no evaluation of this
     * training. */
    json_t *evaluation[DT_REPORT_PARTS];
    /* whether the data of the part changed between attempts of this generation */
    bool other_data[DT_REPORT_PARTS];
    json_t *job; /* the job with all values resolved; NULL: it is unknown */
    /* The hashes of the weights and of the job; NULL: unknown. */
    const char *weights_sha256, *job_sha256;
    int64_t generation;
    bool has_workers;
    /* workers: counts of the last attempt; workers_before: sums over earlier attempts of this
     * generation */
    dt_report_workers workers, workers_before;
    double peak_rss; /* the most memory that a process of the run has used, in bytes; 0: unknown */
    /* whether a process holds the lock of the directory, so that the run has not ended */
    bool running;
    int64_t as_of_s; /* when the record was last written, in seconds since 1970; 0: unknown */
    int n_attempts, cap_attempts;
    dt_attempt *attempt;
    dt_messages messages;
    int n_remarks, cap_remarks;
    const char **remark;
} dt_report_run;

/* Returns the text with the run's path replaced by `shown`. */
const char *dt_report_shown(const dt_report_run *r, const char *text);
/* Reads the run in the directory `path`. Fails with NO_INPUT if the directory does not exist, or
 * has no run. */
dt_status *dt_report_run_read(dt_report_run *r, const char *path) DT_MUST_USE;
/* Whether a checkpoint is readable and belongs to the recorded training, not to an older one in the
 * same directory. Without a record, each readable one does. */
bool dt_report_is_own(const dt_report_run *r, const dt_listed *c);
void dt_report_run_release(dt_report_run *r); /* frees what a run owns; r may be all zeros */

/* Take one line of record.jsonl or of history.jsonl (read_record.c). Return false if it is not a
 * line of that file. */
bool dt_report_record_line(dt_report_run *r, json_t *line);
bool dt_report_history_line(dt_report_run *r, json_t *line);

/* Return a member of a line, an integer limited as dt_json_count does. Return NULL or 0 if the
 * member is missing or has another type. */
const char *dt_report_text(const json_t *object, const char *key);
int64_t dt_report_int(const json_t *object, const char *key);

/* How the run ended, as a word for a badge ("completed", "stopped early", "diverged", "stopped",
 * "failed", "running", "interrupted", "not recorded"). dt_report_explain appends an explanation to
 * *out if there is one. */
typedef struct dt_run_outcome {
    /* word: the text of the badge; tone: "good", "fair", "bad" or "plain" */
    const char *word, *tone;
} dt_run_outcome;
dt_run_outcome dt_report_outcome(const dt_report_run *r);
void dt_report_explain(const dt_report_run *r, dt_str *out);

/* The last value of a metric and, if its direction is known, its best one. */
typedef struct dt_figure {
    int way; /* 1: larger values are better, -1: smaller values are, 0: unknown */
    double last, best;
    bool has_best;
    int64_t epoch; /* number of epochs completed when the metric had its best value */
    /* whether the run ended with the weights of an earlier epoch, whose value is `kept` */
    bool has_kept;
    double kept; /* the metric's value in the epoch whose weights were kept */
    int64_t kept_epoch;
} dt_figure;
dt_figure dt_report_figure(const dt_report_run *r, const dt_series *s);
/* Returns the name without the prefix "val_": "loss" for "val_loss". */
const char *dt_report_base(const char *metric);

#endif
