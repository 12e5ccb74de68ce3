/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MultiWorkerMirroredStrategy: one replica on each device of several workers, all with the same
 * weights. Workers are processes if a launcher has started several, or the job contains their
 * addresses; each computes the rows of its replicas, and their sums are added
 * (pass/workers_split.h). In a single process the workers are virtual: this process computes for
 * all of them. For the same batches, the results equal those of a mirrored strategy with as many
 * replicas.
 */
#include "strategy/cluster.h"
#include "strategy/place.h"

struct links {
    double inside, between, latency;
};

struct cluster {
    double flops, memory, memory_bandwidth, price_per_hour;
    struct links links;
    bool given;
    dt_location links_at; /* the source location of the key `links` or, without it, of `cluster` */
};

struct multi_worker {
    dt_addresses cluster_resolver;
    dt_texts devices;
    dt_location devices_at;
    struct cluster cluster;
    int64_t workers, replicas;
    double timeout, start_timeout;
    bool has_replicas, has_workers;
};

static const dt_field link_fields[] = {
    DT_REAL(struct links, inside, .min = 1, .max = 1e18,
            .help = "bytes per second that a device sends to others of its host"),
    DT_REAL(struct links, between, .min = 1, .max = 1e18,
            .help = "bytes per second that a host sends to others"),
    DT_REAL(struct links, latency, .min = 0, .max = 3600, .preset = "0.0000125",
            .help = "seconds that a message between hosts takes before its first byte"),
    DT_END};

static const dt_field cluster_fields[] = {
    DT_REAL(struct cluster, flops, .min = 1, .max = 1e21, .required = true,
            .help = "FLOP per second that products reach on a device"),
    DT_REAL(struct cluster, memory, .min = 1, .max = 1e15, .required = true,
            .help = "bytes of a device that programs get"),
    DT_REAL(struct cluster, memory_bandwidth, .min = 1, .max = 1e18, .required = true,
            .help = "bytes per second of a device's memory"),
    DT_TABLE(struct cluster, links, link_fields, DT_AT(struct cluster, links_at),
             .help = "inside a host and between hosts"),
    DT_REAL(struct cluster, price_per_hour, .min = 0, .max = 1e9, .help = "US dollars of a host"),
    DT_END};

/* Refuses a cluster without the rate of a kind of link (`key`) if n, the number of `what` that such
 * links connect, is more than 1. */
static dt_status *want_link(const struct cluster *c, const char *key, double rate, int64_t n,
                            const char *what) {
    if (n == 1 || rate > 0) return NULL;
    return dt_fail(DT_E_MISSING_KEY, &c->links_at,
                   "required key '%s' is missing in cluster.links: there are %lld %s", key,
                   (long long)n, what);
}

static dt_status *find_cluster(const struct cluster *c, dt_strategy_spec *out) {
    if (!c->given) return NULL;
    const int64_t hosts = out->workers ? out->workers : 1,
                  devices = out->n_devices ? out->n_devices : out->replicas;
    DT_TRY(want_link(c, "between", c->links.between, hosts, "workers"));
    DT_TRY(want_link(c, "inside", c->links.inside, devices, "devices on each"));
    if (devices > DT_MAX_REPLICAS || hosts > DT_MAX_REPLICAS / devices)
        return NULL; /* There are too many replicas; dt_place_workers reports that. */
    out->cluster = dt_topology_of_cluster(&(dt_cluster_facts){.hosts = (int)hosts,
                                                              .devices = (int)devices,
                                                              .flops = c->flops,
                                                              .memory = (int64_t)c->memory,
                                                              .memory_Bps = c->memory_bandwidth,
                                                              .inside_Bps = c->links.inside,
                                                              .between_Bps = c->links.between,
                                                              .latency_s = c->links.latency,
                                                              .usd_hour = c->price_per_hour});
    return NULL;
}

static const dt_field fields[] = {
    DT_INT(struct multi_worker, workers, .min = 1, .max = DT_MAX_REPLICAS, .preset = "1",
           .set = 1 + offsetof(struct multi_worker, has_workers),
           .help = "number of workers; set by the launcher (mpirun, srun), if any; otherwise all "
                   "workers are simulated in this process"),
    DT_DEVICES(struct multi_worker, .help = "devices of each worker: [\"CPU:0\", \"CPU:1\"]"),
    DT_INT(struct multi_worker, replicas, .min = 1, .max = DT_MAX_REPLICAS,
           .set = 1 + offsetof(struct multi_worker, has_replicas),
           .help = "number of CPU devices on each worker, instead of devices"),
    DT_REAL(struct multi_worker, timeout, .min = 1, .preset = "60",
            .help = "seconds to wait for an unresponsive worker before treating it as lost"),
    DT_REAL(struct multi_worker, start_timeout, .min = 1, .preset = "300",
            .help = "seconds to wait for workers that have not started"),
    DT_ADDRESSES(struct multi_worker,
                 .help = "worker addresses, when you start workers yourself with --rank; launchers "
                         "provide them"),
    DT_ONE_OF(cluster, DT_FORMS(DT_TABLE(struct multi_worker, cluster, cluster_fields)),
              .as = DT_TREE_MAP, DT_SET(struct multi_worker, cluster.given),
              .help = "the hosts of the workers and their devices, for plan and topology"),
    DT_INSTEAD("communication", "workers in separate processes are connected by MPI or ZeroMQ, as "
                                "they were started; virtual workers share memory"),
    DT_END};

static dt_status *read(dt_arena *arena, const void *args, const dt_tree *t, dt_strategy_spec *out) {
    const struct multi_worker *x = args;
    const int listed = x->devices.n;

    DT_TRY(dt_launch_find(&out->launch, &out->rank));
    if (out->launch.task != DT_TASK_WORKER)
        return dt_suggest(dt_fail(DT_E_LAUNCH, NULL,
                                  "TF_CONFIG: this task has no part in strategy: {type: "
                                  "multi_worker_mirrored}, whose tasks are chief and worker"),
                          "evaluate checkpoints with 'dtrain evaluate'; parameter servers belong "
                          "to strategy: {type: parameter_server}");
    DT_TRY(dt_addresses_launch(&x->cluster_resolver, &out->rank, &out->launch));
    out->launch_timeout = x->timeout;
    out->start_timeout = x->start_timeout;
    if (out->launch.workers && x->has_workers && x->workers != out->launch.workers)
        return dt_fail(DT_E_LAUNCH, dt_tree_value_at(t, "workers"),
                       "the job has %lld workers, but %s says %d; leave workers out of a job that "
                       "a launcher starts",
                       (long long)x->workers, out->launch.by, out->launch.workers);
    if (x->devices.v && x->has_replicas && x->replicas != listed)
        return dt_fail(DT_E_REPLICAS, dt_tree_value_at(t, "replicas"),
                       "%d device%s on each worker, but replicas: %lld", listed,
                       listed == 1 ? "" : "s", (long long)x->replicas);
    out->workers = out->launch.workers ? out->launch.workers : x->workers;
    out->replicas = x->has_replicas ? x->replicas : 1;
    if (x->devices.v) DT_TRY(dt_strategy_devices(arena, &x->devices, &x->devices_at, out));
    return find_cluster(&x->cluster, out);
}

const dt_strategy_row dt_strategy_multi_worker_mirrored = {
    .kind = {.name = "multi_worker_mirrored",
             .about = "one replica on each device of several workers, with the same weights",
             .fields = fields,
             .size = sizeof(struct multi_worker)},
    .read = read,
    .place = dt_place_workers,
    .backend = "cpu",
    .is_launched = true,
};
