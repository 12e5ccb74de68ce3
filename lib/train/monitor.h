/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors a metric for EarlyStopping, ReduceLROnPlateau and ModelCheckpoint: which metric,
 * which direction is better, and whether a value is better than another by min_delta. Values are
 * compared in float32, as in Keras. */
#ifndef DT_TRAIN_MONITOR_H
#define DT_TRAIN_MONITOR_H

#include "train/hook.h"

/* The first members of the arguments of a callback that monitors a metric. The callback's struct
 * begins with `dt_monitor_head head`, and its table of fields with DT_MONITOR_FIELDS. */
typedef struct dt_monitor_head {
    const char *monitor;
    int mode;
    double min_delta;
    int64_t verbose;
} dt_monitor_head;
extern const char *const dt_monitor_modes[]; /* the words of `mode`: "auto", "min" and "max" */
/* Returns the direction in which the metric with this key of the history is better. */
dt_better dt_metric_better(const dt_compile_spec *c, const char *key);
#define DT_MONITOR_FIELDS(type)                                                                    \
    DT_HEAD_FIELD(TEXT, type, monitor, .min = 1, .max = 1000, .preset = "val_loss",                \
                  .help = "metric to monitor, by its key in the history"),                         \
        DT_HEAD_FIELD(ENUM, type, mode, .choices = dt_monitor_modes,                               \
                      .help = "whether lower or higher is better; auto: depends on the metric"),   \
        DT_HEAD_FIELD(INT, type, verbose, .max = 2,                                                \
                      .help = "accepted for compatibility; callbacks always report what they do")
#define DT_MIN_DELTA_FIELD(type, preset_)                                                          \
    DT_HEAD_FIELD(REAL, type, min_delta, .preset = (preset_),                                      \
                  .help = "smallest change that counts as an improvement")

typedef struct dt_monitor {
    const char *name;
    bool more; /* whether larger values are better */
    double min_delta;
    /* whether there is a best value: one was seen, or the job has a threshold; false: the next
     * value becomes the best one */
    bool has_best;
    double best;
} dt_monitor;

/* Refuses a metric that the job does not have (UNKNOWN_NAME), or would have only with validation
 * data (CALLBACK). With mode: auto, refuses a metric whose better direction is unknown (CALLBACK).
 * The error is located at the callback's argument. */
dt_status *dt_monitor_check(const dt_callback_job *job, const dt_named *named) DT_MUST_USE;
/* Whether the logs of the job's runs may contain the metric. job->compile must be set. */
bool dt_monitor_has(const dt_callback_job *job, const char *name);
dt_monitor dt_monitor_open(const run *r, const dt_monitor_head *head);
bool dt_monitor_exceeds(const dt_monitor *m, double value, double reference);
/* Whether the value is better than the best one so far. If so, the value becomes the best one. */
bool dt_monitor_improves(dt_monitor *m, double value);
/* Whether the metric is computed in validation, which may run every few steps. Other metrics are
 * known at the end of an epoch. */
bool dt_monitor_is_of_validation(const dt_monitor *m);
/* Whether the metric's value, if these logs have one, is new: they are those of a whole epoch or,
 * for a metric of validation, of a validation by steps. */
bool dt_monitor_is_due(const run *r, const dt_monitor *m, const dt_logs *logs);
void dt_monitor_save(const dt_monitor *m, dt_json *j);
void dt_monitor_restore(dt_monitor *m, const json_t *kept);

#endif
