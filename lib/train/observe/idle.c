/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that steps wait for data, and what it is spent on. Threads that read ahead report what
 * they spent on each batch (reading, decoding, map). The waiting is divided in the same
 * proportions: if they are always behind, each second of their work is a second that the step
 * waits.
 */
#include "train/hook.h"

static dt_status *step_end(run *r, dt_hook *h, const dt_step_done *done) {
    (void)h;
    r->data_wait.all_s += done->seconds;
    r->data_wait.waited_s += done->batch->waited_s;
    for (int i = 0; i < DT_SPENT_KINDS; i++) r->data_wait.spent_s[i] += done->batch->spent_s[i];
    return NULL;
}

const dt_hook_row dt_hook_idle = {.step_end = step_end};

void dt_idle_tell(run *r, dt_event *e) {
    const data_wait *x = &r->data_wait;
    const double *s = x->spent_s,
                 spent = s[DT_SPENT_READING] + s[DT_SPENT_DECODING] + s[DT_SPENT_MAP];

    e->idle = e->virtual_s > 0 ? dt_virtual_idle(r) : x->all_s > 0 ? x->waited_s / x->all_s : 0;
    e->waited_s = x->waited_s;
    if (spent > 0) {
        e->idle_reading = e->idle * s[DT_SPENT_READING] / spent;
        e->idle_decoding = e->idle * s[DT_SPENT_DECODING] / spent;
        e->idle_map = e->idle * s[DT_SPENT_MAP] / spent;
    }
    r->data_wait = (data_wait){0};
}
