/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ParameterServerStrategy: a coordinator, or tasks of type ps, have the weights. Each worker
 * computes the gradients of one batch at a time. A worker is one replica, so the global batch is
 * the batch of one closure. Evaluation and everything else happen
 * in the coordinator's process, so the strategy has one replica.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/thread.h"
#include "strategy/closures.h"
#include "strategy/place.h"

enum { MOST_WORKERS = 64, MOST_SERVERS = 16, DEFAULT_STALENESS = 8 };

struct partitioner {
    struct fixed {
        int64_t num_shards;
    } FixedShards;
    struct size {
        int64_t min_shard_bytes, max_shards;
    } MinSize;
    struct most {
        int64_t max_shard_bytes, max_shards;
    } MaxSize;
    bool given, has_fixed, has_min, has_max;
    dt_location at;
};

struct parameter_server {
    int64_t workers, parameter_servers, max_staleness;
    int schedule;
    struct partitioner variable_partitioner;
    dt_addresses cluster_resolver;
    bool elastic, has_staleness, has_workers;
    double timeout, start_timeout;
};

enum { ASYNCHRONOUS, VIRTUAL };
static const char *const schedules[] = {
    [ASYNCHRONOUS] = "asynchronous", [VIRTUAL] = "virtual", NULL};

static const dt_field fixed_fields[] = {
    DT_INT(struct fixed, num_shards, .min = 1, .max = 65536, .required = true,
           .help = "shards of each variable, at most its first dimension"),
    DT_END};
static const dt_field min_fields[] = {
    DT_INT(struct size, min_shard_bytes, .min = 1, .max = 1e15, .preset = "262144",
           .help = "a shard has at least so many bytes"),
    DT_INT(struct size, max_shards, .min = 1, .max = 65536, .preset = "1",
           .help = "shards of a variable, at most"),
    DT_END};
static const dt_field max_fields[] = {
    DT_INT(struct most, max_shard_bytes, .min = 1, .max = 1e15, .required = true,
           .help = "a shard has at most so many bytes, if one row fits"),
    DT_INT(struct most, max_shards, .min = 1, .max = 65536, .preset = "65536",
           .help = "shards of a variable, at most"),
    DT_END};
static const dt_field partitioner_fields[] = {
    DT_TABLE(struct partitioner, FixedShards, fixed_fields,
             .set = 1 + offsetof(struct partitioner, has_fixed),
             .help = "the same number of shards for each variable"),
    DT_TABLE(struct partitioner, MinSize, min_fields,
             .set = 1 + offsetof(struct partitioner, has_min),
             .help = "as many shards as have a least size"),
    DT_TABLE(struct partitioner, MaxSize, max_fields,
             .set = 1 + offsetof(struct partitioner, has_max),
             .help = "as few shards as keep below a size"),
    DT_END};
static const dt_field fields[] = {
    DT_INT(struct parameter_server, workers, .min = 1, .max = MOST_WORKERS, .preset = "1",
           .set = 1 + offsetof(struct parameter_server, has_workers),
           .help = "number of worker processes; dtrain starts them on this machine, unless a "
                   "launcher or cluster_resolver places them"),
    DT_INT(struct parameter_server, parameter_servers, .min = 1, .max = MOST_SERVERS, .preset = "1",
           .help = "threads of the coordinator that send weights and receive gradients, each for "
                   "its shards of the variables"),
    DT_INT(struct parameter_server, max_staleness, .min = 0, .max = 1 << 20,
           .set = 1 + offsetof(struct parameter_server, has_staleness),
           .help = "most updates of other workers between a worker's pull of the weights and the "
                   "update by its gradients; default: no limit, with schedule: virtual 8"),
    DT_ENUM(struct parameter_server, schedule, schedules,
            .help = "asynchronous: gradients are applied as they come; virtual: in the order of "
                    "batches, always max_staleness updates after the pull, so that the result "
                    "is the same for any number of workers"),
    DT_ONE_OF(variable_partitioner,
              DT_FORMS(DT_TABLE(struct parameter_server, variable_partitioner, partitioner_fields)),
              .as = DT_TREE_MAP, DT_SET(struct parameter_server, variable_partitioner.given),
              DT_AT(struct parameter_server, variable_partitioner.at),
              .help =
                  "how variables are divided among parameter_servers, or tasks ps: FixedShards, "
                  "MinSize or MaxSize; default: each is one shard"),
    DT_FLAG(struct parameter_server, elastic,
            .help =
                "start a worker again when it is lost; otherwise the others train on without it"),
    DT_REAL(
        struct parameter_server, timeout, .min = 1, .preset = "60",
        .help =
            "seconds to wait for an unresponsive worker before giving its batch to another one"),
    DT_REAL(struct parameter_server, start_timeout, .min = 1, .preset = "300",
            .help = "seconds to wait for workers of other machines that have not started"),
    DT_ADDRESSES(struct parameter_server,
                 .help =
                     "addresses, when you start processes yourself with --rank: the coordinator's, "
                     "then its workers'"),
    DT_END};

static dt_status *find_partitioner(const struct partitioner *x, dt_partitioner *out) {
    const int given = x->has_fixed + x->has_min + x->has_max;
    if (!x->given) return NULL;
    if (given != 1)
        return dt_fail(
            DT_E_WRONG_TYPE, &x->at,
            "variable_partitioner: expected one of FixedShards, MinSize and MaxSize, got %d",
            given);
    if (x->has_fixed)
        *out = (dt_partitioner){DT_PARTITION_FIXED, .shards = x->FixedShards.num_shards};
    else if (x->has_min)
        *out = (dt_partitioner){DT_PARTITION_MIN_SIZE, .shards = x->MinSize.max_shards,
                                .bytes = x->MinSize.min_shard_bytes};
    else
        *out = (dt_partitioner){DT_PARTITION_MAX_SIZE, .shards = x->MaxSize.max_shards,
                                .bytes = x->MaxSize.max_shard_bytes};
    return NULL;
}

/* Fills in the launch of this process, a worker that the coordinator of the same job has
 * started. */
static void take_inherited(dt_launch *l, const dt_inherited *x) {
    *l = (dt_launch){.workers = x->workers + 1,
                     .rank = x->worker + 1,
                     .by = DT_POOL_VARIABLE,
                     .launcher = "the coordinator",
                     .inherited = *x};
}

/* Finds the processes that a launcher has started or the job lists. The first of them is the
 * coordinator. */
static dt_status *read_launch(const struct parameter_server *x, const dt_tree *t,
                              dt_strategy_spec *out) {
    dt_launch *l = &out->launch;
    dt_inherited inherited;
    DT_TRY(dt_inherited_read(&inherited));
    if (inherited.workers) {
        take_inherited(l, &inherited);
        out->servers.workers = inherited.workers;
        return NULL;
    }
    DT_TRY(dt_launch_find(l, &out->rank));
    DT_TRY(dt_addresses_launch(&x->cluster_resolver, &out->rank, l));
    if (!l->workers) return NULL;
    if (!l->start)
        return dt_suggest(dt_fail(DT_E_LAUNCH, t ? &t->at : NULL,
                                  "%s has started %d processes, and ends them all when one is "
                                  "lost; a parameter server does without those that are lost",
                                  l->launcher, l->workers),
                          "start the processes one by one, by TF_CONFIG or cluster_resolver and "
                          "--rank, or let one process start its workers: workers: 4");
    if (l->task == DT_TASK_EVALUATOR)
        return dt_suggest(dt_fail(DT_E_LAUNCH, NULL,
                                  "TF_CONFIG: the coordinator evaluates by itself, so an evaluator "
                                  "has nothing to do"),
                          "run 'dtrain evaluate' for a checkpoint of your choice");
    if (l->by && strcmp(l->by, "TF_CONFIG") == 0 && !l->has_chief)
        return dt_fail(DT_E_LAUNCH, NULL,
                       "TF_CONFIG: a cluster with parameter servers has a chief, the coordinator: "
                       "{\"cluster\": {\"chief\": [\"HOST:PORT\"], ...}}");
    if (l->workers < 2 || l->workers - 1 > MOST_WORKERS)
        return dt_fail(DT_E_LAUNCH, NULL,
                       "%s has a coordinator and %d workers; there must be 1 to %d", l->by,
                       l->workers - 1, MOST_WORKERS);
    if (x->has_workers && x->workers != l->workers - 1)
        return dt_fail(DT_E_LAUNCH, dt_tree_value_at(t, "workers"),
                       "the job has %lld workers, but %s has %d beside the coordinator; leave "
                       "workers out of the job",
                       (long long)x->workers, l->by, l->workers - 1);
    out->servers.workers = l->workers - 1;
    return NULL;
}

static dt_status *read(dt_arena *arena, const void *args, const dt_tree *t, dt_strategy_spec *out) {
    const struct parameter_server *x = args;
    (void)arena;
    out->replicas = 1;
    out->servers = (dt_servers_spec){.workers = (int)x->workers,
                                     .servers = (int)x->parameter_servers,
                                     .input = -1,
                                     .in_order = x->schedule == VIRTUAL,
                                     .elastic = x->elastic,
                                     .timeout = x->timeout,
                                     .staleness = x->has_staleness         ? x->max_staleness
                                                  : x->schedule == VIRTUAL ? DEFAULT_STALENESS
                                                                           : DT_ANY_STALENESS};
    out->start_timeout = x->start_timeout;
    DT_TRY(read_launch(x, t, out));
    return find_partitioner(&x->variable_partitioner, &out->servers.partitioner);
}

static dt_status *place(dt_strategy *s, const dt_strategy_spec *spec) {
    dt_str what = {0};
    DT_TRY(dt_place_cpus(s, spec));
    s->servers = spec->servers;
    /* This copies the struct but not the strings, which stay lent. */
    s->servers.launch = spec->launch;
    s->servers.start_timeout = spec->start_timeout;
    dt_str_printf(&what, "%d worker%s, %d parameter server%s", s->servers.workers,
                  s->servers.workers == 1 ? "" : "s", s->servers.servers,
                  s->servers.servers == 1 ? "" : "s");
    if (spec->launch.workers)
        dt_str_printf(&what, ", processes that meet as %s says (%s)", spec->launch.launcher,
                      spec->launch.by);
    free(s->what);
    s->what = dt_str_take(&what);
    return NULL;
}

/* ---- threads, and the row ---- */

static size_t host_length(const char *address) {
    const char *colon = strrchr(address, ':');
    return colon ? (size_t)(colon - address) : strlen(address);
}

static bool same_host(const char *a, const char *b) {
    const size_t n = host_length(a);
    return n == host_length(b) && strncasecmp(a, b, n) == 0;
}

/* Returns the number of workers on this machine. Without addresses, as when the coordinator starts
 * its workers, all are counted. Otherwise counts those whose address has the same host as this
 * process's. The result is 0 if only the coordinator's address is known, since workers may then be
 * anywhere. */
static int count_here(const dt_servers_spec *q) {
    const dt_launch *l = &q->launch;
    int n = 0;
    if (!l->address) return q->workers;
    for (int i = 1; l->rank < l->addresses && i < l->addresses; i++)
        n += same_host(l->address[i], l->address[l->rank]);
    return n;
}

int dt_servers_threads(const dt_servers_spec *q, int asked) {
    if (!q->workers || !q->fingerprint) return asked;
    if (!q->program && !q->launch.workers) return 1;
    if (asked) return asked;
    const int here = count_here(q), cores = dt_cores();
    return here > cores ? 1 : cores / (here ? here : 1);
}

const dt_strategy_row dt_strategy_parameter_server = {
    .kind = {.name = "parameter_server",
             .about =
                 "workers that do not wait for each other, and a coordinator that has the weights",
             .fields = fields,
             .size = sizeof(struct parameter_server)},
    .read = read,
    .place = place,
    .backend = "cpu",
    .plain = true,
};

/* ---- the C API ---- */

static dt_status *out_of_range(const char *what, double got, const char *range) {
    return dt_fail(DT_E_RANGE, NULL, "%s must be %s, got %g", what, range, got);
}

static dt_status *check_options(const dt_parameter_server_options *o) {
    if (o->workers < 0 || o->workers > MOST_WORKERS)
        return out_of_range("workers", o->workers, "in [0, 64]");
    if (o->parameter_servers < 0 || o->parameter_servers > MOST_SERVERS)
        return out_of_range("parameter_servers", o->parameter_servers, "in [0, 16]");
    if ((unsigned)o->partitioner > DT_PARTITION_MAX_SIZE)
        return out_of_range("partitioner", o->partitioner, "a dt_partitioner_kind");
    if (o->shards < (o->partitioner == DT_PARTITION_FIXED) || o->shards > 65536)
        return out_of_range("shards", (double)o->shards,
                            o->partitioner == DT_PARTITION_FIXED ? "in [1, 65536]"
                                                                 : "in [0, 65536]");
    if (o->shard_bytes < (o->partitioner == DT_PARTITION_MAX_SIZE))
        return out_of_range("shard_bytes", (double)o->shard_bytes,
                            o->partitioner == DT_PARTITION_MAX_SIZE ? "at least 1" : "at least 0");
    if (o->limit_staleness && o->max_staleness < 0)
        return out_of_range("max_staleness", (double)o->max_staleness, "at least 0");
    if (!(o->timeout >= 0)) return out_of_range("timeout", o->timeout, "at least 0");
    if (!(o->start_timeout >= 0))
        return out_of_range("start_timeout", o->start_timeout, "at least 0");
    return NULL;
}

static dt_partitioner partitioner_of(const dt_parameter_server_options *o) {
    dt_partitioner p = {o->partitioner, .shards = o->shards, .bytes = o->shard_bytes};
    if (p.kind == DT_PARTITION_MIN_SIZE) {
        p.shards = p.shards ? p.shards : 1;
        p.bytes = p.bytes ? p.bytes : 262144;
    }
    return p;
}

/* Copies the addresses of the tasks of type ps that the program lists. */
static void list_tasks(const char *const *ps, dt_launch *out) {
    dt_launch_release(out);
    *out = (dt_launch){.by = "ps", .launcher = "the program"};
    while (ps[out->ps]) out->ps++;
    out->ps_address = dt_alloc((size_t)(out->ps + 1) * sizeof *out->ps_address);
    for (int i = 0; i < out->ps; i++) out->ps_address[i] = dt_strdup(ps[i]);
}

/* Checks that this process may be the coordinator: it is alone, or the chief of TF_CONFIG's cluster
 * with tasks of type ps. */
static dt_status *check_task(const dt_launch *l) {
    if (!l->ps) return dt_launched_alone();
    if (l->task == DT_TASK_WORKER && l->rank == 0 && l->has_chief) return NULL;
    return dt_suggest(
        dt_fail(DT_E_LAUNCH, NULL,
                "TF_CONFIG: only the chief, the coordinator, makes a parameter server "
                "strategy"),
        l->task == DT_TASK_PS ? "call dt_server_join in this process"
                              : "do not start tasks of type worker: the coordinator "
                                "starts its workers itself");
}

static dt_status *find_tasks(const dt_parameter_server_options *o, dt_launch *out) {
    DT_TRY(dt_launch_find(out, &(dt_rank_option){0}));
    dt_status *s = NULL;
    if (o->ps) list_tasks(o->ps, out);
    else s = check_task(out);
    if (!s) s = dt_launch_check_addresses(out, NULL, out->by);
    if (s) dt_launch_release(out);
    return s;
}

/* Opens the strategy. It takes ownership of the launch. */
static dt_status *open_with(dt_strategy **out, const dt_parameter_server_options *o, dt_launch *l) {
    const int listed = l->ps && l->workers > 1 ? l->workers - 1 : 1;
    dt_status *s = dt_strategy_open(
        out, &(dt_strategy_spec){
                 .row = &dt_strategy_parameter_server,
                 .replicas = 1,
                 .start_timeout = o->start_timeout > 0 ? o->start_timeout : 300,
                 .servers = {.workers = o->workers ? o->workers : listed,
                             .servers = o->parameter_servers ? o->parameter_servers : 1,
                             .staleness = o->limit_staleness ? o->max_staleness : DT_ANY_STALENESS,
                             .elastic = o->elastic,
                             .timeout = o->timeout > 0 ? o->timeout : 60,
                             .partitioner = partitioner_of(o)}});
    if (s) {
        dt_launch_release(l);
        return s;
    }
    l->workers = 0; /* The coordinator starts the workers itself. */
    (*out)->servers.launch = *l;
    (*out)->servers.owns_launch = true;
    /* The coordinator has one thread, because a process with several threads cannot be forked. */
    dt_strategy_set_engine(*out, 1, (*out)->kernels);
    return NULL;
}

dt_status *dt_parameter_server_strategy(dt_strategy **out,
                                        const dt_parameter_server_options *options) {
    static const dt_parameter_server_options none;
    const dt_parameter_server_options *o = options ? options : &none;
    dt_launch l;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_parameter_server_strategy", "handle to fill"));
    DT_TRY(check_options(o));
    DT_TRY(find_tasks(o, &l));
    return open_with(out, o, &l);
}

int dt_strategy_shards(const dt_strategy *s, const dt_variable *v, int64_t *rows, int n) {
    DT_LIVE(s);
    DT_LIVE(v);
    if (!s || !v || !s->servers.workers) return 0;
    const int64_t all = v->type.rank > 0 && v->type.dim[0] > 0 ? v->type.dim[0] : 1;
    const int shards =
        (int)dt_partitioner_shards(&s->servers.partitioner, all, dt_type_bytes(&v->type) / all);
    for (int i = 0; rows && i < n && i < shards; i++) rows[i] = all / shards + (i < all % shards);
    return shards;
}
