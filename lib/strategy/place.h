/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the replicas and devices of each strategy row. */
#ifndef DT_STRATEGY_PLACE_H
#define DT_STRATEGY_PLACE_H

#include "strategy/strategy.h"

#define DT_STRATEGY_ROW(name) extern const dt_strategy_row dt_strategy_##name;
#include "strategy/strategies.h"
#undef DT_STRATEGY_ROW

/* Returns "/job:localhost/replica:0/task:0/device:CPU:0". The caller frees it. */
char *dt_full_name(const dt_device_name *d);
/* Places replicas on virtual CPU devices: the named ones, or `replicas` of them. If neither is
 * given, uses one device; or one device per core, if the strategy's row has every_device. */
dt_status *dt_place_cpus(dt_strategy *s, const dt_strategy_spec *spec) DT_MUST_USE;
/* Places replicas on the same devices of each of `workers` workers. Replicas are numbered worker
 * by worker. The workers are virtual unless a launcher has started processes. */
dt_status *dt_place_workers(dt_strategy *s, const dt_strategy_spec *spec) DT_MUST_USE;
/* Finds the hosts that feed the replicas, by the names of the replicas' devices. */
void dt_place_hosts(dt_strategy *s);

/* ---- reading a strategy's part of a job's `strategy` mapping ---- */

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
