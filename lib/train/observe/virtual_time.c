/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a simulated slice. A batch travels from its host to the chip while the step before
 * computes, so a step takes the longer of the two. That is modelled, and the same in every run. The
 * time a host needs to prepare a batch is measured: it is what reading threads took here, divided
 * among the hosts of the slice, each of which prepares its own replicas' rows. It shows how long
 * devices would wait for data, and is not part of the clock.
 */
#include "train/hook.h"

#include <math.h>

static double device_seconds(const run *r) {
    return r->virtual_time.n_slow > 0 ? r->virtual_time.slow_s
                                      : dt_trainer_price(r->q->trainer)->seconds;
}

double dt_virtual_step_s(const run *r) {
    return fmax(device_seconds(r), dt_trainer_price(r->q->trainer)->infeed_s);
}

static double prepared_s(const dt_batch *batch) {
    double all = 0;
    for (int i = 0; i < DT_SPENT_KINDS; i++) all += batch->spent_s[i];
    return all;
}

static dt_status *step_end(run *r, dt_hook *h, const dt_step_done *done) {
    const dt_resolver *resolver = r->strategy->resolver;
    double seconds = dt_virtual_step_s(r);

    (void)h;
    if (seconds == 0) return NULL;
    r->virtual_time.all_s += seconds;
    r->virtual_time.device_s += device_seconds(r);
    r->virtual_time.data_s += fmax(seconds, prepared_s(done->batch) / resolver->topology->tasks);
    return NULL;
}

const dt_hook_row dt_hook_virtual_time = {.step_end = step_end};

double dt_virtual_idle(run *r) {
    virtual_time *v = &r->virtual_time;
    double idle = v->data_s > 0 ? 1 - v->device_s / v->data_s : 0;

    v->device_s = v->data_s = 0;
    return idle;
}
