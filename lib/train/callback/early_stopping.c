/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EarlyStopping, as in Keras: training ends when a metric has not improved for `patience` epochs
 * or, if validation runs by steps, validations. The checkpoint records that the run was stopped, so
 * the same command trains no further; with more patience it resumes.
 *
 * The best weights, if they are to be restored, are stored next to the model's in checkpoints. They
 * are put back when the job is done, by its last step or because a callback stopped it. A run that
 * is killed after its last epoch, before the weights are put back, puts them back when it is
 * started again.
 */
#include <string.h>

#include "train/monitor.h"

struct early_stopping {
    dt_monitor_head head;
    int64_t patience, start_from_epoch;
    double baseline;
    bool restore_best_weights, has_baseline;
};

static const dt_field fields[] = {
    DT_MONITOR_FIELDS(struct early_stopping),
    DT_MIN_DELTA_FIELD(struct early_stopping, "0"),
    DT_INT(struct early_stopping, patience, .max = INT32_MAX,
           .help =
               "number of epochs (or step validations) without improvement before training stops"),
    DT_REAL(struct early_stopping, baseline,
            .set = 1 + offsetof(struct early_stopping, has_baseline),
            .help = "value that the metric must beat to count as an improvement"),
    DT_FLAG(struct early_stopping, restore_best_weights,
            .help = "restore the weights of the best epoch (or validation) at the end"),
    DT_INT(struct early_stopping, start_from_epoch, .max = INT32_MAX,
           .help = "number of epochs to wait before monitoring starts"),
    DT_END};

typedef struct stopper {
    const struct early_stopping *x;
    dt_monitor monitor;
    /* wait: number of values since one that was better than the best and, if set, the baseline;
     * best_epoch: number of the best epoch, from 0 */
    int64_t wait, best_epoch;
    int64_t best_step; /* the step of the best value if validation runs by steps, else 0 */
    bool has_weights, stopped, restored;
    /* model: the model's weights; best: copies of the best weights under the same names; both n 0
     * without restore_best_weights */
    dt_arrays model, best;
} stopper;

static dt_status *open_stopper(run *r, dt_hook *h) {
    stopper *s = dt_arena_new(r->arena, stopper);
    *s = (stopper){.x = h->named->args};
    s->monitor = dt_monitor_open(r, &s->x->head);
    h->state = s;
    if (!s->x->restore_best_weights) return NULL;
    DT_TRY(dt_model_arrays(r->model, r->arena, &s->model));
    dt_named_view *best =
        dt_arena_copy(r->arena, s->model.array, (size_t)s->model.n * sizeof *best);
    for (int i = 0; i < s->model.n; i++)
        best[i].data = dt_arena_alloc(r->arena, (size_t)dt_type_bytes(&best[i].type));
    s->best = (dt_arrays){s->model.n, best};
    return NULL;
}

static void copy(const dt_arrays *from, const dt_arrays *to) {
    for (int i = 0; i < to->n; i++)
        memcpy(to->array[i].data, from->array[i].data, (size_t)dt_type_bytes(&to->array[i].type));
}

static dt_status *keep_weights(const run *r, stopper *s) {
    DT_TRY(dt_variables_fetch(r->model->weight, s->best.n));
    s->best_epoch = r->at.epoch;
    s->best_step = dt_run_validates_by_steps(r) ? r->at.step : 0;
    s->has_weights = s->x->restore_best_weights;
    copy(&s->model, &s->best);
    return NULL;
}

/* Compares a value with the best one so far. With restore_best_weights, keeps the weights if it is
 * better or the first. `wait` counts the values; a better value sets it to 0, but with a baseline
 * only if it is better than the baseline, too. A value that is not better stops the run when `wait`
 * has reached the patience. */
static dt_status *compare_with_best(run *r, dt_hook *h, double current) {
    stopper *s = h->state;
    if (s->x->restore_best_weights && !s->has_weights) DT_TRY(keep_weights(r, s));
    s->wait++;
    if (dt_monitor_improves(&s->monitor, current)) {
        DT_TRY(keep_weights(r, s));
        if (!s->x->has_baseline || dt_monitor_exceeds(&s->monitor, current, s->x->baseline))
            s->wait = 0;
        return NULL;
    }
    s->stopped = s->wait >= s->x->patience;
    if (s->stopped) {
        r->stop_training = true;
        dt_callback_report(r, h, "early stopping");
    }
    return NULL;
}

static dt_status *end_epoch(run *r, dt_hook *h, dt_logs *logs) {
    stopper *s = h->state;
    const double *current = dt_logs_find(logs, s->x->head.monitor);
    s->restored = false;
    if (!current || !dt_monitor_is_due(r, &s->monitor, logs)) return NULL;
    return r->at.epoch >= s->x->start_from_epoch ? compare_with_best(r, h, *current) : NULL;
}

/* Stops the run at once if this callback had stopped it before the checkpoint, unless the job has
 * more patience now. */
static dt_status *begin(run *r, dt_hook *h) {
    stopper *s = h->state;
    s->stopped &= s->wait >= s->x->patience;
    r->stop_training |= s->stopped;
    return NULL;
}

/* Reports the restored weights, with their monitored value if there is one. */
static void report_restored(run *r, dt_hook *h) {
    const stopper *s = h->state;
    const char *what = s->best_step ? "step" : "epoch";
    long long number = (long long)(s->best_step ? s->best_step : s->best_epoch + 1);
    if (s->monitor.has_best)
        dt_callback_report(r, h, "restoring the weights of %s %lld: %s %.4f", what, number,
                           s->monitor.name, s->monitor.best);
    else dt_callback_report(r, h, "restoring the weights of %s %lld", what, number);
}

static dt_status *put_back(run *r, dt_hook *h) {
    stopper *s = h->state;
    if (!s->has_weights || !dt_run_is_done(r)) return NULL;
    r->replaced = true;
    if (s->restored && !r->averaged) return NULL;
    for (int i = 0; i < s->best.n; i++)
        memcpy(dt_host_edit(r->model->weight[i]), s->best.array[i].data,
               (size_t)dt_type_bytes(&s->best.array[i].type));
    /* An earlier run, which this one continues, has reported the restored weights. */
    if (s->restored) return NULL;
    s->restored = true;
    /* The weights have changed since the last checkpoint, so the run must write another one. */
    r->out.saved_step = -1;
    report_restored(r, h);
    return NULL;
}

static dt_status *save(run *r, dt_hook *h, dt_json *j) {
    const stopper *s = h->state;
    (void)r;
    dt_monitor_save(&s->monitor, j);
    dt_json_int(j, "wait", s->wait);
    dt_json_int(j, "best_epoch", s->best_epoch);
    if (s->best_step) dt_json_int(j, "best_step", s->best_step);
    dt_json_bool(j, "stopped", s->stopped);
    dt_json_bool(j, "weights", s->has_weights);
    dt_json_bool(j, "restored", s->restored);
    return NULL;
}

static void restore(run *r, dt_hook *h, const json_t *kept) {
    stopper *s = h->state;
    (void)r;
    dt_monitor_restore(&s->monitor, kept);
    dt_kept_count(kept, "wait", &s->wait);
    dt_kept_count(kept, "best_epoch", &s->best_epoch);
    dt_kept_count(kept, "best_step", &s->best_step);
    s->stopped = json_is_true(json_object_get(kept, "stopped"));
    s->restored = json_is_true(json_object_get(kept, "restored"));
    s->has_weights = s->x->restore_best_weights && json_is_true(json_object_get(kept, "weights"));
}

static dt_arrays arrays(const dt_hook *h) {
    const stopper *s = h->state;
    return s->has_weights ? s->best : (dt_arrays){0};
}

const dt_hook_row dt_callback_early_stopping = {
    .kind = {"EarlyStopping", "ends training when a metric no longer becomes better", fields,
             sizeof(struct early_stopping), NULL},
    .check = dt_monitor_check,
    .open = open_stopper,
    .save = save,
    .restore = restore,
    .arrays = arrays,
    .begin = begin,
    .epoch_end = end_epoch,
    .train_end = put_back,
};
