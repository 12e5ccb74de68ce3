/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LearningRateScheduler: sets the learning rate at the start of each epoch. Keras takes a Python
 * function of the epoch. A job file names a schedule instead, which counts epochs here, not steps:
 *
 *     LearningRateScheduler: {schedule: {ExponentialDecay: {initial_learning_rate: 0.1,
 *                             decay_steps: 10, decay_rate: 0.5, staircase: true}}}
 */
#include "train/hook.h"

struct scheduler {
    dt_named schedule;
    int64_t verbose;
};

static const dt_field fields[] = {
    DT_FIELD(ONE_OF, struct scheduler, schedule, .required = true,
             .forms = DT_FORMS(DT_NAMED_BY("schedule", dt_rate_read)),
             .help = "a learning rate schedule, evaluated once per epoch"),
    DT_INT(struct scheduler, verbose, .max = 2,
           .help = "accepted for compatibility; callbacks always report what they do"),
    DT_END};

static dt_status *begin_epoch(run *r, dt_hook *h) {
    const struct scheduler *x = h->named->args;
    double rate;
    if (r->at.epoch_step > 0) return NULL;
    DT_TRY(dt_rate_value(&x->schedule, r->at.epoch, &rate));
    dt_run_set_rate(r, rate);
    return NULL;
}

static dt_status *end_epoch(run *r, dt_hook *h, dt_logs *logs) {
    double rate;
    (void)h;
    DT_TRY(dt_run_rate(r, &rate));
    dt_logs_put(logs, "learning_rate", rate);
    return NULL;
}

const dt_hook_row dt_callback_learning_rate_scheduler = {
    .kind = {"LearningRateScheduler", "sets the learning rate of each epoch", fields,
             sizeof(struct scheduler), NULL},
    .varies_rate = true,
    .step_begin = begin_epoch,
    .epoch_end = end_epoch,
};
