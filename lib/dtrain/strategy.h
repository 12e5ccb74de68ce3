/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies say which devices compute and how many replicas there are; scope, run, reduce and gather are the same for all.
 * Variables remember the strategy in whose scope they were made.
 */
#ifndef DTRAIN_STRATEGY_H
#define DTRAIN_STRATEGY_H

#include "topology.h"

DT_BEGIN_C

/* ---- strategies --------------------------------------------------------------------------------------------------- */

typedef struct dt_strategy dt_strategy;
typedef struct dt_resolver dt_resolver;

/* Making a strategy fails in a process that mpirun, srun, torchrun or TF_CONFIG started as one of several (NotImplementedError): each would
 * train everything by itself. */

/* MirroredStrategy over `devices` ("CPU:0", ... : virtual CPU devices, as many as named); NULL: one per core. Other devices of the names
 * that this machine does not have are a NotFoundError. */
DT_API dt_status *dt_mirrored_strategy(dt_strategy **out, const char *const *devices, int n) DT_CHECKED;
DT_API dt_status *dt_one_device_strategy(dt_strategy **out, const char *device) DT_CHECKED;
/* The strategy in force outside all scopes: one replica, nothing distributed, no device that could be named. */
DT_API dt_status *dt_default_strategy(dt_strategy **out) DT_CHECKED;

/* MultiWorkerMirroredStrategy with virtual workers in this process: the same devices on each, replicas numbered worker by worker. Each
 * worker reads its own part of the data (auto-sharding), which is what sets it apart from a mirrored strategy with as many replicas. */
typedef struct dt_multi_worker_options {
    int workers;                /* 0: one */
    int devices_per_worker;     /* 0: one, or as many as are named */
    const char *const *devices; /* of each worker ("CPU:0", "CPU:1"); NULL: the first devices_per_worker */
    int n_devices;
} dt_multi_worker_options;
/* options NULL: one worker with one device. */
DT_API dt_status *dt_multi_worker_mirrored_strategy(dt_strategy **out, const dt_multi_worker_options *options) DT_CHECKED;

/* TPUClusterResolver: "sim:v3-8" is a simulated slice, "" the machine's own TPU as in TensorFlow, a simulated v3-8 if it has none; the
 * job of its devices is "worker". "local" is the same with the job "localhost". */
DT_API dt_status *dt_tpu_resolver(dt_resolver **out, const char *tpu) DT_CHECKED;
/* Over a topology of one's own; job NULL: "localhost". ValueError: a job that no device can have. */
DT_API dt_status *dt_tpu_resolver_of_topology(dt_resolver **out, const char *job, const dt_topology *topology) DT_CHECKED;
DT_API void dt_resolver_unref(dt_resolver *r);
/* experimental_connect_to_cluster, initialize_tpu_system, shutdown_tpu_system. Initializing gives the topology, lent by the resolver; a
 * slice that is simulated has nothing to connect to or to shut down. ValueError: no resolver, or one without a TPU system. */
DT_API dt_status *dt_tpu_connect(dt_resolver *r) DT_CHECKED;
DT_API dt_status *dt_tpu_initialize(dt_resolver *r, const dt_topology **topology) DT_CHECKED;
DT_API dt_status *dt_tpu_shutdown(dt_resolver *r) DT_CHECKED;
DT_API const char *dt_resolver_master(const dt_resolver *r);    /* "v3-8"; "" where there is none; lent */
DT_API const char *dt_resolver_task_type(const dt_resolver *r); /* the job of its devices: "worker", "localhost"; lent */
DT_API int dt_resolver_task_id(const dt_resolver *r);           /* of this process: 0 */
DT_API int dt_resolver_tasks(const dt_resolver *r);             /* tasks of that job */
DT_API int dt_resolver_accelerators(const dt_resolver *r);      /* TPU devices of a task (num_accelerators) */
DT_API bool dt_resolver_simulated(const dt_resolver *r);

typedef struct dt_tpu_options {
    bool spmd; /* experimental_spmd_xla_partitioning: values are split or replicated over logical devices, never assigned to one */
    const dt_device_assignment *device_assignment; /* experimental_device_assignment; kept; NULL: one replica on each core */
} dt_tpu_options;
/* TPUStrategy. r NULL: the topology of the assignment, or this machine's own TPU, as "local"; options may be NULL. ValueError: an assignment
 * without replicas, or over another topology than the resolver's. */
DT_API dt_status *dt_tpu_strategy(dt_strategy **out, dt_resolver *r, const dt_tpu_options *options) DT_CHECKED;
/* The older form, tf.distribute.experimental.TPUStrategy: no SPMD. device_assignment may be NULL. */
DT_API dt_status *dt_experimental_tpu_strategy(dt_strategy **out, dt_resolver *r, const dt_device_assignment *device_assignment) DT_CHECKED;

DT_API void dt_strategy_unref(dt_strategy *s);
DT_API const char *dt_strategy_type(const dt_strategy *s); /* "mirrored", "tpu", ... */
DT_API int dt_strategy_replicas(const dt_strategy *s);     /* num_replicas_in_sync */
DT_API const char *dt_strategy_device(const dt_strategy *s, int replica); /* worker_devices[replica], lent; NULL: no such replica, or the default strategy */
/* Input workers: the hosts that feed replicas, in the order in which replicas meet them. One for strategies of one machine. */
DT_API int dt_strategy_input_workers(const dt_strategy *s);
DT_API const char *dt_strategy_input_host(const dt_strategy *s, int worker); /* the full name of its CPU:0, lent; NULL: no such worker */
DT_API int dt_strategy_input_worker(const dt_strategy *s, int replica);      /* the one that feeds a replica; -1: no such replica */
/* What the strategy was made for (cluster_resolver), lent; NULL where there is no cluster. */
DT_API const dt_resolver *dt_strategy_cluster_resolver(const dt_strategy *s);
/* Devices of one replica: 1, or as many as the device assignment gives it. */
DT_API int dt_strategy_logical_devices(const dt_strategy *s);
/* The full name of a replica's logical device; negative numbers count from the last (worker_devices in experimental_logical_device).
 * Lent. RuntimeError: the default strategy has none. ValueError: no such logical device. IndexError: no such replica, or counted back beyond the first device. */
DT_API dt_status *dt_strategy_logical_device(const dt_strategy *s, int replica, int logical, const char **name) DT_CHECKED;
DT_API const dt_device_assignment *dt_strategy_device_assignment(const dt_strategy *s); /* lent; NULL: none was given */
DT_API bool dt_strategy_spmd(const dt_strategy *s);
DT_API int dt_strategy_num_hosts(const dt_strategy *s);             /* hosts of the replicas; without an assignment, of the cluster */
DT_API int dt_strategy_replicas_per_host(const dt_strategy *s);     /* num_replicas_per_host; 0 where one replica spans hosts */
DT_API const char *dt_strategy_host_device(const dt_strategy *s);   /* host of replica 0: where reduce and gather put results; lent */
DT_API dt_strategy *dt_get_strategy(void); /* the current one, lent */
DT_API bool dt_has_strategy(void);         /* another one than the default strategy is current */
/* In a scope, and in a function called by dt_merge_call; not in a step function, nor outside of all scopes. */
DT_API bool dt_in_cross_replica_context(void);
/* Where code runs when it is not in cross-replica context. */
typedef struct dt_replica_context {
    const dt_strategy *strategy;        /* lent */
    struct dt_trace *trace;             /* of the step function that runs; NULL: outside, the default context */
    int num_replicas_in_sync;
    int replica_id_in_sync_group;       /* 0 in the default context; -1 in a step function, which is recorded for all: dt_replica_id */
} dt_replica_context;
/* get_replica_context: false in cross-replica context. */
DT_API bool dt_get_replica_context(dt_replica_context *out);
/* experimental_set_strategy: current in this thread outside of scopes from now on, as if its scope were never left. NULL, or the default strategy: none.
 * An error within a scope or a step function. */
DT_API dt_status *dt_set_strategy(dt_strategy *s) DT_CHECKED;

/* scope(): in the block, `strategy` is current and variables are created distributed. Left on every way out, goto too. An error on
 * entering (another strategy's scope is open) is returned by the next call in the block that can fail. */
typedef struct dt_scope {
    dt_strategy *entered;
} dt_scope;
DT_API dt_scope dt_scope_enter(dt_strategy *strategy);
DT_API void dt_scope_leave(dt_scope *scope);
#define DT_JOIN_(a, b) a##b
#define DT_SCOPE_(strategy, id)                                                                             \
    for (dt_scope DT_JOIN_(dt_scope_, id) __attribute__((cleanup(dt_scope_leave))) = dt_scope_enter(strategy), \
        *DT_JOIN_(dt_once_, id) = &DT_JOIN_(dt_scope_, id);                                                 \
        DT_JOIN_(dt_once_, id); DT_JOIN_(dt_once_, id) = NULL)
#define DT_SCOPE(strategy) DT_SCOPE_(strategy, __LINE__)

typedef enum dt_reduce_op { DT_SUM, DT_MEAN } dt_reduce_op;
#define DT_NO_AXIS INT32_MIN /* reduce over replicas only */

/* The operation of that name, "sum" or "MEAN" in any letter case. */
DT_API dt_status *dt_reduce_op_named(const char *name, dt_reduce_op *op) DT_CHECKED;
/* reduce(op, values[name], axis): a tensor on CPU:0. With an axis, also along it, with the right denominator for uneven parts. */
DT_API dt_status *dt_strategy_reduce(dt_strategy *s, dt_reduce_op op, const dt_values *values, const char *name, int axis,
                                     dt_tensor **out) DT_CHECKED;
/* The same along several axes at once: (dt_axes){ 2, { 0, 1 } }; NULL: over replicas only. Negative ones count from the end. */
typedef struct dt_axes {
    int n;
    int axis[8];
} dt_axes;
DT_API dt_status *dt_strategy_reduce_axes(dt_strategy *s, dt_reduce_op op, const dt_values *values, const char *name, const dt_axes *axes,
                                          dt_tensor **out) DT_CHECKED;
/* gather(values[name], axis): the replicas' tensors joined along an axis, on CPU:0. They may differ in size along it; any dtype, no scalars. */
DT_API dt_status *dt_strategy_gather(dt_strategy *s, const dt_values *values, const char *name, int axis, dt_tensor **out) DT_CHECKED;

/* distribute_values_from_function: `fn` is called for each replica and sets its values, as single entries of `out`; all replicas must set the same
 * names, which become entries with a value per replica. An error that it returns is returned. Strategies that distribute nothing call it once. */
typedef struct dt_value_context {
    int replica_id_in_sync_group, num_replicas_in_sync;
} dt_value_context;
typedef dt_status *(*dt_value_fn)(const dt_value_context *context, dt_values *out, void *user);
DT_API dt_status *dt_strategy_values_from_function(dt_strategy *s, dt_value_fn fn, void *user, dt_values **out) DT_CHECKED;

/* ---- variables ---------------------------------------------------------------------------------------------------- */

/*
 * State that outlives a step. Made in a strategy's scope (or in a step function), a variable has a copy on each replica: a
 * MirroredVariable, whose copies stay equal, or with DT_SYNC_ON_READ a SyncOnReadVariable, whose copies are the replicas' own until
 * somebody reads it from outside. Made outside of all scopes, or in one of a strategy that distributes nothing, it is plain. It
 * remembers its strategy: reading and assigning it needs no scope, only that no other strategy's is open.
 */
typedef enum dt_synchronization { DT_SYNC_AUTO, DT_SYNC_NONE, DT_SYNC_ON_WRITE, DT_SYNC_ON_READ } dt_synchronization;
/* How the replicas' values become one: when they assign (ON_WRITE), or when it is read from outside (ON_READ). */
typedef enum dt_aggregation { DT_AGGREGATE_NONE, DT_AGGREGATE_SUM, DT_AGGREGATE_MEAN, DT_AGGREGATE_ONLY_FIRST_REPLICA } dt_aggregation;
typedef enum dt_trainable { DT_TRAINABLE_DEFAULT, DT_TRAINABLE_YES, DT_TRAINABLE_NO } dt_trainable; /* default: yes, unless ON_READ */
typedef struct dt_variable_options {
    const char *name;                   /* NULL: "Variable" */
    dt_synchronization synchronization; /* AUTO is ON_WRITE; NONE is refused where there is something to synchronize */
    dt_aggregation aggregation;
    dt_trainable trainable;
    /* Without an initial value: of this dtype and shape, drawn as `initializer` says ("glorot_uniform", "RandomNormal: {stddev: 0.1}"; NULL: zeros). */
    dt_dtype dtype;
    int rank;
    const int64_t *shape;
    const char *initializer;
    uint64_t seed;
} dt_variable_options;
/* `initial` is copied, and gives dtype and shape; NULL: as the options say, which otherwise may be NULL. */
DT_API dt_status *dt_variable_create(dt_variable **out, const dt_tensor *initial, const dt_variable_options *options) DT_CHECKED;
DT_API void dt_variable_unref(dt_variable *v);
DT_API const char *dt_variable_kind(const dt_variable *v);         /* "MirroredVariable", "SyncOnReadVariable", "Variable" */
DT_API char *dt_variable_name(const dt_variable *v, int replica);  /* "v:0", "v/replica_1:0"; free it */
DT_API char *dt_variable_text(const dt_variable *v);               /* as tf.distribute prints it: each copy, its name and value; free it */
DT_API dt_dtype dt_variable_dtype(const dt_variable *v);
DT_API int dt_variable_rank(const dt_variable *v);
DT_API int64_t dt_variable_dim(const dt_variable *v, int axis);    /* -1: no such axis */
DT_API bool dt_variable_trainable(const dt_variable *v);
DT_API int dt_variable_copies(const dt_variable *v);               /* replicas of its strategy; 1 when it is plain */

/* From outside of step functions. */
typedef enum dt_write { DT_ASSIGN, DT_ASSIGN_ADD, DT_ASSIGN_SUB } dt_write;
/* The value: of a SyncOnReadVariable as its aggregation says, else that of replica 0. */
DT_API dt_status *dt_variable_value(dt_variable *v, dt_tensor **out) DT_CHECKED;
/* One copy, on its replica's device. */
DT_API dt_status *dt_variable_local(dt_variable *v, int replica, dt_tensor **out) DT_CHECKED;
/* Assigns to every copy, or adds, or subtracts. ON_READ with SUM: copies get their share of what is assigned, and nothing can be added. */
DT_API dt_status *dt_variable_set(dt_variable *v, dt_write how, dt_tensor *value) DT_CHECKED;
/* The same with an entry of `values`: of a distributed one, copy i gets the i-th. */
DT_API dt_status *dt_variable_set_from(dt_variable *v, dt_write how, const dt_values *values, const char *name) DT_CHECKED;
/* Changes rows of a plain variable, or of every copy of a MirroredVariable with aggregation NONE or ONLY_FIRST_REPLICA: row index[i] of the first
 * dimension by updates[i]. DT_SCATTER_MUL and the others act on each element. */
typedef enum dt_scatter { DT_SCATTER_UPDATE, DT_SCATTER_ADD, DT_SCATTER_SUB, DT_SCATTER_MUL, DT_SCATTER_DIV, DT_SCATTER_MIN, DT_SCATTER_MAX } dt_scatter;
DT_API dt_status *dt_variable_scatter(dt_variable *v, dt_scatter how, const dt_tensor *index, const dt_tensor *updates) DT_CHECKED;

DT_END_C

#endif
