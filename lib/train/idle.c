/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long steps stood still for data, and what that waiting consisted of. Threads that read ahead tell what they spent on each batch (read, decode,
 * map); the waiting is divided as their work is, since with them always behind, each second of their work is one that the step waits for.
 */
#include "train/run.h"

void dt_idle_add(run *r, const dt_batch *batch, double seconds)
{
    r->data_wait.all_s += seconds;
    r->data_wait.waited_s += batch->waited_s;
    for (int i = 0; i < DT_SPENT_KINDS; i++)
        r->data_wait.spent_s[i] += batch->spent_s[i];
}

void dt_idle_tell(run *r, dt_event *e)
{
    const data_wait *x = &r->data_wait;
    const double *s = x->spent_s, spent = s[DT_SPENT_READING] + s[DT_SPENT_DECODING] + s[DT_SPENT_MAP];

    e->idle = e->virtual_s > 0 ? dt_virtual_idle(r) : x->all_s > 0 ? x->waited_s / x->all_s : 0;
    e->waited_s = x->waited_s;
    if (spent > 0) {
        e->idle_reading = e->idle * s[DT_SPENT_READING] / spent;
        e->idle_decoding = e->idle * s[DT_SPENT_DECODING] / spent;
        e->idle_map = e->idle * s[DT_SPENT_MAP] / spent;
    }
    r->data_wait = (data_wait){ 0 };
}
