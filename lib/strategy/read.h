/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that several strategies use to read their part of a job's `strategy` mapping. */
#ifndef DT_STRATEGY_READ_H
#define DT_STRATEGY_READ_H

#include "strategy/place.h"

/* Reads one device name, or a list of them, into the spec. First reports malformed names and
 * names that are listed twice (exit code 78). Only if there are none, reports devices that this
 * machine does not have (exit code 69). */
dt_status *dt_strategy_devices(dt_arena *arena, const dt_tree *devices,
                               dt_strategy_spec *out) DT_MUST_USE;

/* Reads a cluster_resolver, for processes that the user starts one by one. Fails with LAUNCH if
 * it contradicts the environment. */
extern const dt_field dt_resolver_fields[];
dt_status *dt_resolver_read(dt_arena *arena, const dt_tree *t, const dt_rank_option *own,
                            dt_launch *out) DT_MUST_USE;

#endif
