/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the workers of a parameter server, and how old their gradients were: after each
 * epoch. */
#include "train/coordinator.h"
#include "train/observer.h"

static dt_status *settled(run *r) {
    if (r->coordinator && r->at.epoch_step == 0) dt_coordinated_tell(r);
    return NULL;
}

const dt_observer dt_observer_workers = {.settled = settled};
