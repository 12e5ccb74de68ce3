/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MultiWorkerMirroredStrategy: one replica on each device of several workers, all with the same weights. Workers
 * are processes where a launcher has started several, or the job says where they meet; each computes the rows of its replicas, and their sums
 * are added (pass/workers.h). In a single process they are virtual: it computes for all of them, so the numbers
 * equal those of a mirrored strategy with the same number of replicas.
 */
#include "strategy/cluster.h"
#include "strategy/read.h"

struct multi_worker {
    const dt_tree *cluster_resolver;
    const dt_tree *devices;
    int64_t workers, replicas;
    double timeout, start_timeout;
    bool has_replicas, has_workers;
};

static const dt_field fields[] = {
    DT_INT(struct multi_worker, workers, .min = 1, .max = DT_MAX_REPLICAS, .preset = "1", .set = 1 + offsetof(struct multi_worker, has_workers),
           .help = "number of workers; a launcher (mpirun, srun) says it where it starts them, otherwise they are virtual, in this process"),
    DT_TREE(struct multi_worker, devices, .forms = dt_devices_forms, .as = DT_TREE_LIST, .help = "devices of each worker: [\"CPU:0\", \"CPU:1\"]"),
    DT_INT(struct multi_worker, replicas, .min = 1, .max = DT_MAX_REPLICAS, .set = 1 + offsetof(struct multi_worker, has_replicas),
           .help = "number of CPU devices on each worker, instead of devices"),
    DT_REAL(struct multi_worker, timeout, .min = 1, .preset = "60", .help = "seconds after which a worker that does not answer is given up"),
    DT_REAL(struct multi_worker, start_timeout, .min = 1, .preset = "300", .help = "seconds to wait for workers that have not started"),
    DT_TREE(struct multi_worker, cluster_resolver, .forms = dt_resolver_forms, .as = DT_TREE_MAP,
            .help = "addresses of workers that are started one by one, with --rank; a launcher says them otherwise"),
    DT_INSTEAD("communication", "workers in separate processes are connected by MPI or ZeroMQ, as they were started; virtual workers share memory"),
    DT_END
};

static dt_status *read(dt_arena *arena, const void *args, const dt_tree *t, dt_strategy_spec *out)
{
    const struct multi_worker *x = args;
    int listed = x->devices ? x->devices->n : 0;

    DT_TRY(dt_launch_find(&out->launch));
    if (out->launch.task != DT_TASK_WORKER)
        return dt_suggest(dt_fail(DT_E_LAUNCH, NULL, "TF_CONFIG: this task has no part in strategy: {type: multi_worker_mirrored}, whose tasks are chief and worker"),
                          "evaluate checkpoints with 'dtrain evaluate'; parameter servers belong to strategy: {type: parameter_server}");
    if (x->cluster_resolver)
        DT_TRY(dt_resolver_read(arena, x->cluster_resolver, &out->launch));
    out->launch_timeout = x->timeout;
    out->start_timeout = x->start_timeout;
    if (out->launch.workers && x->has_workers && x->workers != out->launch.workers)
        return dt_fail(DT_E_LAUNCH, dt_value_place(t, "workers"), "the job has %lld workers, but %s says %d; leave workers out of a job that a launcher starts",
                       (long long)x->workers, out->launch.by, out->launch.workers);
    if (x->devices && x->has_replicas && x->replicas != listed)
        return dt_fail(DT_E_REPLICAS, dt_value_place(t, "replicas"), "%d device%s on each worker, but replicas: %lld", listed,
                       listed == 1 ? "" : "s", (long long)x->replicas);
    out->workers = out->launch.workers ? out->launch.workers : x->workers;
    out->replicas = x->has_replicas ? x->replicas : 1;
    return x->devices ? dt_strategy_devices(arena, x->devices, out) : NULL;
}

const dt_strategy_row dt_strategy_multi_worker_mirrored = {
    .kind = { .name = "multi_worker_mirrored", .about = "one replica on each device of several workers, with the same weights",
              .fields = fields, .size = sizeof(struct multi_worker) },
    .read = read,
    .place = dt_place_workers,
    .backend = "cpu",
};
