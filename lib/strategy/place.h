/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the replicas and devices of each strategy row. */
#ifndef DT_STRATEGY_PLACE_H
#define DT_STRATEGY_PLACE_H

#include "strategy/strategy.h"

#define DT_STRATEGY_ROW(name) extern const dt_strategy_row dt_strategy_##name;
#include "strategy/strategies.h"
#undef DT_STRATEGY_ROW

/* "/job:localhost/replica:0/task:0/device:CPU:0"; the caller frees it. */
char *dt_full_name(const dt_device_name *d);
/* Virtual CPU devices: the named ones, or `replicas` of them, or one; one per core for a row with
 * every_device. */
dt_status *dt_place_cpus(dt_strategy *s, const dt_strategy_spec *spec) DT_MUST_USE;
/* The same devices on each of `workers` virtual workers of this process; replicas are numbered
 * worker by worker. */
dt_status *dt_place_workers(dt_strategy *s, const dt_strategy_spec *spec) DT_MUST_USE;
/* Which hosts feed the replicas, from the names of their devices. */
void dt_place_hosts(dt_strategy *s);
/* Places one replica on each core of the resolver's slice, or follows the assignment. */
dt_status *dt_place_slice(dt_strategy *s, const dt_strategy_spec *spec) DT_MUST_USE;

#endif
