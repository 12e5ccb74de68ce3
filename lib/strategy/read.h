/* SPDX-License-Identifier: Apache-2.0 */
/* Shared functions of this room's rows for reading their part of a job's `strategy` mapping. */
#ifndef DT_STRATEGY_READ_H
#define DT_STRATEGY_READ_H

#include "strategy/place.h"

/* Reads a device's name, or a list of them, into the spec. Malformed and repeated names are
 * reported first (78). Only if there are none, devices that this machine does not have are reported
 * (69). */
dt_status *dt_strategy_devices(dt_arena *arena, const dt_tree *devices,
                               dt_strategy_spec *out) DT_MUST_USE;

/* A cluster_resolver of processes that are started one by one. LAUNCH. */
extern const dt_field dt_resolver_fields[];
dt_status *dt_resolver_read(dt_arena *arena, const dt_tree *t, const dt_rank_option *own,
                            dt_launch *out) DT_MUST_USE;

#endif
