/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a simulated slice. A batch travels from its host to the chip while the step before computes, so a step takes the longer of the two.
 * That is modelled, and the same in every run. What a host needs to prepare a batch is measured: it is what reading threads took here, divided
 * among the hosts of the slice, each of which prepares its own replicas' rows. So it tells how long devices would wait for data, and is no part of
 * the clock.
 */
#include "train/run.h"

#include <math.h>

static double device_seconds(const run *r)
{
    return r->virtual_time.n_slow > 0 ? r->virtual_time.slow_s : dt_trainer_price(r->q->trainer)->seconds;
}

double dt_virtual_step_s(const run *r)
{
    return fmax(device_seconds(r), dt_trainer_price(r->q->trainer)->infeed_s);
}

static double prepared_s(const dt_batch *batch)
{
    double all = 0;
    for (int i = 0; i < DT_SPENT_KINDS; i++)
        all += batch->spent_s[i];
    return all;
}

void dt_virtual_step(run *r, const dt_batch *batch)
{
    const dt_resolver *resolver = r->strategy->resolver;
    double step = dt_virtual_step_s(r);

    if (step == 0)
        return;
    r->virtual_time.all_s += step;
    r->virtual_time.device_s += device_seconds(r);
    r->virtual_time.data_s += fmax(step, prepared_s(batch) / resolver->topology->tasks);
}

double dt_virtual_idle(run *r)
{
    virtual_time *v = &r->virtual_time;
    double idle = v->data_s > 0 ? 1 - v->device_s / v->data_s : 0;

    v->device_s = v->data_s = 0;
    return idle;
}
