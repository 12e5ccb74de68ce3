/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the workers of a parameter server, and how old their gradients were: after each
 * epoch. */
#include "train/coordinator.h"
#include "train/hook.h"

static dt_status *settled(run *r, dt_hook *h) {
    (void)h;
    if (r->coordinator && r->at.epoch_step == 0) dt_coordinated_tell(r);
    return NULL;
}

const dt_hook_row dt_hook_workers = {.settled = settled};
