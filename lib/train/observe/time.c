/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of steps goes.
 *
 * Measured: the time that steps wait for data. Threads that read ahead report what they spent on
 * each batch (reading, decoding, map), and the waiting is divided in the same proportions.
 *
 * Modelled: the clock of a simulated slice. A batch travels from its host to the chip while the
 * step before computes, so a step takes the longer of the two; this is the same in every run. How
 * long a host needs to prepare a batch is measured: it is what reading threads took here, divided
 * among the hosts of the slice, each of which prepares the rows of its own replicas. This shows how
 * long devices would wait for data. The clock does not include it.
 */
#include "train/hook.h"

#include <math.h>

static double device_seconds(const run *r, int64_t rows) {
    const dt_price *full = dt_trainer_price(r->q->trainer, 0),
                   *price = dt_trainer_price(r->q->trainer, rows);
    return r->virtual_time.n_slow > 0 ? r->virtual_time.slow_s[price != full] : price->seconds;
}

double dt_virtual_step_s(const run *r, int64_t rows) {
    return fmax(device_seconds(r, rows), dt_trainer_price(r->q->trainer, rows)->infeed_s);
}

static double prepared_s(const dt_example *batch) {
    double all = 0;
    for (int i = 0; i < DT_SPENT_KINDS; i++) all += batch->spent_s[i];
    return all;
}

static dt_status *step_end(run *r, dt_hook *h, const dt_step_done *done) {
    const dt_example *batch = done->batch;
    const double seconds = dt_virtual_step_s(r, batch->rows);
    (void)h;
    r->data_wait.all_s += done->seconds;
    r->data_wait.waited_s += batch->waited_s;
    for (int i = 0; i < DT_SPENT_KINDS; i++) r->data_wait.spent_s[i] += batch->spent_s[i];
    if (seconds == 0) return NULL;
    r->virtual_time.all_s += seconds;
    r->virtual_time.device_s += device_seconds(r, batch->rows);
    r->virtual_time.data_s +=
        fmax(seconds, prepared_s(batch) / r->strategy->resolver->topology->tasks);
    return NULL;
}

const dt_hook_row dt_hook_time = {.step_end = step_end};

/* Returns the fraction of the epoch in which devices wait for data, on the clock of a simulated
 * slice: 1 - device_s / data_s. Resets the times for the next epoch. */
static double virtual_idle(virtual_time *v) {
    const double idle = v->data_s > 0 ? 1 - v->device_s / v->data_s : 0;
    v->device_s = v->data_s = 0;
    return idle;
}

void dt_run_report_waiting(run *r, dt_event *e) {
    const data_wait *x = &r->data_wait;
    const double *s = x->spent_s,
                 spent = s[DT_SPENT_READING] + s[DT_SPENT_DECODING] + s[DT_SPENT_MAP];

    e->idle = e->virtual_s > 0 ? virtual_idle(&r->virtual_time)
              : x->all_s > 0   ? x->waited_s / x->all_s
                               : 0;
    e->waited_s = x->waited_s;
    if (spent > 0) {
        e->idle_reading = e->idle * s[DT_SPENT_READING] / spent;
        e->idle_decoding = e->idle * s[DT_SPENT_DECODING] / spent;
        e->idle_map = e->idle * s[DT_SPENT_MAP] / spent;
    }
    r->data_wait = (data_wait){0};
}
