/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MirroredStrategy: one replica on each of several devices of this machine, all with the same
 * weights. CPU devices are virtual, so `replicas: 4` is short for CPU:0 to CPU:3. Without
 * `replicas` and `devices` there is one replica for each core or, with the back end pjrt, for each
 * device of the plug-in.
 */
#include "strategy/place.h"

struct mirrored {
    dt_texts devices;
    dt_location devices_at;
    int64_t replicas;
    bool has_replicas;
    int cross_device_ops;
};

/* TensorFlow's names of ways to sum over replicas. All have the same effect here: replicas in one
 * process are always summed in the same order. */
static const char *const ways_to_sum[] = {"ReductionToOneDevice", "HierarchicalCopyAllReduce",
                                          "NcclAllReduce", NULL};

static const dt_field fields[] = {
    DT_DEVICES(struct mirrored, .help = "virtual CPU devices: [\"CPU:0\", \"CPU:1\"]"),
    DT_INT(struct mirrored, replicas, .min = 1, .max = DT_MAX_REPLICAS,
           .set = 1 + offsetof(struct mirrored, has_replicas),
           .help = "number of virtual CPU devices, instead of devices"),
    DT_ENUM(struct mirrored, cross_device_ops, ways_to_sum,
            .help = "accepted but ignored, since replicas in one process are always summed in the "
                    "same order"),
    DT_END};

static dt_status *read(dt_arena *arena, const void *args, const dt_tree *t, dt_strategy_spec *out) {
    const struct mirrored *x = args;
    const int listed = x->devices.n;

    if (x->devices.v && x->has_replicas && x->replicas != listed)
        return dt_fail(DT_E_REPLICAS, dt_tree_value_at(t, "replicas"),
                       "%d device%s, but replicas: %lld", listed, listed == 1 ? "" : "s",
                       (long long)x->replicas);
    out->replicas = x->has_replicas ? x->replicas : 0;
    return x->devices.v ? dt_strategy_devices(arena, &x->devices, &x->devices_at, out) : NULL;
}

const dt_strategy_row dt_strategy_mirrored = {
    .kind = {.name = "mirrored",
             .about = "one replica on each device of this machine, with the same weights",
             .fields = fields,
             .size = sizeof(struct mirrored)},
    .read = read,
    .place = dt_place_cpus,
    .backend = "cpu",
    .every_device = true,
};
