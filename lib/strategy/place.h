/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the replicas, devices and hosts of strategies, and reads keys that several of them
 * share. */
#ifndef DT_STRATEGY_PLACE_H
#define DT_STRATEGY_PLACE_H

#include "strategy/strategy.h"

#define DT_STRATEGY_ROW(name) extern const dt_strategy_row dt_strategy_##name;
#include "strategy/strategies.h"
#undef DT_STRATEGY_ROW

/* Returns a device's full name, such as "/job:localhost/replica:0/task:0/device:CPU:0". The caller
 * frees it. */
char *dt_full_name(const dt_device_name *d);
/* Places replicas on devices: the named ones, or `replicas` of them. If neither is given, uses one
 * device or, if the strategy's row has every_device, all that there are: the plug-in's devices, or
 * a virtual CPU device for each core. */
dt_status *dt_place_cpus(dt_strategy *s, const dt_strategy_spec *spec) DT_MUST_USE;
/* Places replicas on devices of spec->workers workers (0: of one worker); the devices have the same
 * names on each. Replicas are numbered worker by worker. If spec->launch.workers is 0, the workers
 * are virtual; else each is a process that a launcher or the user has started. */
dt_status *dt_place_workers(dt_strategy *s, const dt_strategy_spec *spec) DT_MUST_USE;
/* Finds the hosts that feed the replicas, by the names of the replicas' devices. */
void dt_place_hosts(dt_strategy *s);

/* ---- reading a strategy's part of a job's `strategy` mapping ---- */

/* The key `devices` of a struct with the members `dt_texts devices`, `dt_location devices_at`. */
#define DT_DEVICES(type, ...)                                                                      \
    DT_ONE_OF(devices, DT_FORMS(DT_PLAIN(TEXTS, type, devices)), .as = DT_TREE_LIST,               \
              DT_AT(type, devices_at), __VA_ARGS__)
/* Parses names of devices, which were written at `at`, into the spec. First reports malformed names
 * and names that are listed twice (exit code 78). Only if there are none, reports devices that this
 * machine does not have (exit code 69). */
dt_status *dt_strategy_devices(dt_arena *arena, const dt_texts *devices, const dt_location *at,
                               dt_strategy_spec *out) DT_MUST_USE;

/* The key `cluster_resolver`: the addresses of processes that the user starts one by one. */
typedef struct dt_addresses {
    bool given;
    dt_location at;
    dt_texts workers;
    const char *secret_file;
} dt_addresses;
extern const dt_field dt_addresses_fields[];
#define DT_ADDRESSES(type, ...)                                                                    \
    DT_ONE_OF(cluster_resolver, DT_FORMS(DT_TABLE(type, cluster_resolver, dt_addresses_fields)),   \
              .as = DT_TREE_MAP, DT_SET(type, cluster_resolver.given),                             \
              DT_AT(type, cluster_resolver.at), __VA_ARGS__)
/* Sets the launch by the addresses, if they are given. Fails with LAUNCH if there is only one, or
 * they contradict the environment. */
dt_status *dt_addresses_launch(const dt_addresses *a, const dt_rank_option *own,
                               dt_launch *out) DT_MUST_USE;

#endif
