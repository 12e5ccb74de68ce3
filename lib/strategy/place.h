/* How rows find their replicas and devices. */
#ifndef DT_STRATEGY_PLACE_H
#define DT_STRATEGY_PLACE_H

#include "strategy/strategy.h"

#define DT_STRATEGY_ROW(name) extern const dt_strategy_row dt_strategy_##name;
#include "strategy/strategies.h"
#undef DT_STRATEGY_ROW

/* Virtual CPU devices: those named, or `replicas` of them, or one; mirrored without either: one per core. */
dt_status *dt_place_cpus(dt_strategy *s, const dt_strategy_spec *spec) DT_MUST_USE;
/* The same devices on each of `workers` virtual workers of this process; replicas are numbered worker by worker. */
dt_status *dt_place_workers(dt_strategy *s, const dt_strategy_spec *spec) DT_MUST_USE;
/* Which hosts feed the replicas, from the names of their devices. */
void dt_place_hosts(dt_strategy *s);
/* One replica per core of the resolver's slice, or `replicas` of them. */
dt_status *dt_place_slice(dt_strategy *s, const dt_strategy_spec *spec) DT_MUST_USE;

#endif
