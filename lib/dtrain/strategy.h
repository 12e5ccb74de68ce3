/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strategy defines which devices compute and how many replicas there are; scope, run, reduce and
 * gather work in the same way with all strategies. A variable remembers the strategy in whose scope
 * it was created.
 */
#ifndef DTRAIN_STRATEGY_H
#define DTRAIN_STRATEGY_H

#include "topology.h"

DT_BEGIN_C

/* ---- strategies ---- */

typedef struct dt_strategy dt_strategy;
typedef struct dt_resolver dt_resolver;

/* Creating a mirrored, one-device, default or TPU strategy fails (NotImplementedError) in a process
 * that mpirun, srun, torchrun or TF_CONFIG describes as one of several, because each process would
 * train the whole job by itself. */

/* MirroredStrategy with one replica on each of devices[n], such as "CPU:0" and "CPU:1". CPU devices
 * are virtual, so you can name any number of them. NULL: one per core. NotFoundError: a device that
 * this machine does not have. */
DT_API dt_status *dt_mirrored_strategy(dt_strategy **out, const char *const *devices,
                                       int n) DT_CHECKED;
/* OneDeviceStrategy: one replica on one named device, such as "CPU:0". */
DT_API dt_status *dt_one_device_strategy(dt_strategy **out, const char *device) DT_CHECKED;
/* The strategy that is current outside all scopes: one replica, nothing is distributed, no named
 * devices. */
DT_API dt_status *dt_default_strategy(dt_strategy **out) DT_CHECKED;

/* MultiWorkerMirroredStrategy. All workers have the same devices; replicas are numbered worker by
 * worker. Unlike a mirrored strategy with the same number of replicas, each worker reads its own
 * part of the data (auto-sharding). If mpirun, srun, torchrun or TF_CONFIG describe this process as
 * one of several, these are the workers: each runs the same program, computes for its own replicas,
 * and gets the values of all. Otherwise workers are virtual, in this process. */
typedef struct dt_multi_worker_options {
    int workers;            /* number of workers; 0: one, or as many as were started */
    int devices_per_worker; /* devices of each worker; 0: the number of named devices, or one */
    /* [n_devices] names of the devices of each worker ("CPU:0", "CPU:1"); NULL: the first
     * devices_per_worker CPU devices */
    const char *const *devices;
    int n_devices;
} dt_multi_worker_options;
/* options NULL: all fields 0. */
DT_API dt_status *
dt_multi_worker_mirrored_strategy(dt_strategy **out,
                                  const dt_multi_worker_options *options) DT_CHECKED;

/* TPUClusterResolver: finds a slice by name. "sim:v3-8" is a simulated slice; "" is the slice of
 * this machine's own TPU, as in TensorFlow, or a simulated v3-8 if it has none. The job of its
 * devices is "worker". "local" is the same as "", with the job "localhost". */
DT_API dt_status *dt_tpu_resolver(dt_resolver **out, const char *tpu) DT_CHECKED;
/* A resolver for a topology that you provide; job NULL: "localhost". ValueError: an invalid job
 * name. */
DT_API dt_status *dt_tpu_resolver_of_topology(dt_resolver **out, const char *job,
                                              const dt_topology *topology) DT_CHECKED;
DT_API void dt_resolver_unref(dt_resolver *r);
/* experimental_connect_to_cluster, initialize_tpu_system, shutdown_tpu_system. Initializing returns
 * the topology, lent by the resolver. With a simulated slice, connecting and shutting down do
 * nothing. ValueError: no resolver, or a resolver without a TPU system. */
DT_API dt_status *dt_tpu_connect(dt_resolver *r) DT_CHECKED;
DT_API dt_status *dt_tpu_initialize(dt_resolver *r, const dt_topology **topology) DT_CHECKED;
DT_API dt_status *dt_tpu_shutdown(dt_resolver *r) DT_CHECKED;
/* name of the slice, such as "v3-8"; "": it has no slice; lent */
DT_API const char *dt_resolver_master(const dt_resolver *r);
/* the job in the names of its devices: "worker", "localhost"; lent */
DT_API const char *dt_resolver_task_type(const dt_resolver *r);
/* the number of this process's task: 0, except in workers that are separate processes */
DT_API int dt_resolver_task_id(const dt_resolver *r);
DT_API int dt_resolver_tasks(const dt_resolver *r); /* the number of tasks of that job */
/* the number of TPU devices per task (num_accelerators) */
DT_API int dt_resolver_accelerators(const dt_resolver *r);
DT_API bool dt_resolver_simulated(const dt_resolver *r);

typedef struct dt_tpu_options {
    /* experimental_spmd_xla_partitioning: values are split or replicated over logical devices,
     * never assigned to one */
    bool spmd;
    /* experimental_device_assignment, of which the strategy keeps a reference; NULL: one replica on
     * each core */
    const dt_device_assignment *device_assignment;
} dt_tpu_options;
/* TPUStrategy. r NULL: the topology of the assignment, or this machine's own TPU, as with "local".
 * options may be NULL. ValueError: the assignment has no replicas, or was built for a different
 * topology than the resolver's. */
DT_API dt_status *dt_tpu_strategy(dt_strategy **out, dt_resolver *r,
                                  const dt_tpu_options *options) DT_CHECKED;
/* tf.distribute.experimental.TPUStrategy, the older form without SPMD. device_assignment may be
 * NULL. */
DT_API dt_status *
dt_experimental_tpu_strategy(dt_strategy **out, dt_resolver *r,
                             const dt_device_assignment *device_assignment) DT_CHECKED;

/* Chooses the back end that computes. Call it before the first step. backend: "pjrt" for devices
 * that a PJRT plug-in drives (GPUs, TPUs, XLA on the CPU), or the strategy's own, which is "sim"
 * for a TPU strategy and "cpu" for others. plugin: its path; NULL: that of the environment variable
 * DTRAIN_PJRT_PLUGIN. If DTRAIN_PJRT_PLUGIN is set, strategies on named devices such as "GPU:0" use
 * pjrt without this call. Replicas are divided evenly among the plug-in's devices. Each worker that
 * is a separate process has its own devices; the coordinator of a parameter server computes on the
 * CPU. UnavailableError, by the first step: the plug-in cannot be used. */
DT_API dt_status *dt_strategy_set_backend(dt_strategy *s, const char *backend,
                                          const char *plugin) DT_CHECKED;

DT_API void dt_strategy_unref(dt_strategy *s);
DT_API const char *dt_strategy_type(const dt_strategy *s); /* kind: "mirrored", "tpu", ... */
DT_API int dt_strategy_replicas(const dt_strategy *s);     /* TensorFlow's num_replicas_in_sync */
/* the device of a replica, as in worker_devices; lent; NULL: no such replica, or the default
 * strategy */
DT_API const char *dt_strategy_device(const dt_strategy *s, int replica);
/* The number of input workers: the hosts that feed replicas, in the order of the first replica that
 * each feeds. */
DT_API int dt_strategy_input_workers(const dt_strategy *s);
/* the full name of CPU:0 of an input worker, lent; NULL: no such worker */
DT_API const char *dt_strategy_input_host(const dt_strategy *s, int worker);
/* the worker that feeds a replica; -1: no such replica */
DT_API int dt_strategy_input_worker(const dt_strategy *s, int replica);
/* The resolver (cluster_resolver) of a TPU or multi-worker strategy; lent. NULL for other
 * strategies. */
DT_API const dt_resolver *dt_strategy_cluster_resolver(const dt_strategy *s);
/* The number of devices of one replica: 1, or the number that the device assignment gives it. */
DT_API int dt_strategy_logical_devices(const dt_strategy *s);
/* The full name of a replica's logical device; lent. Negative numbers count from the end, as in
 * Python. RuntimeError: the default strategy has no devices. ValueError: no such logical device.
 * IndexError: no such replica, or a negative number before the first device. */
DT_API dt_status *dt_strategy_logical_device(const dt_strategy *s, int replica, int logical,
                                             const char **name) DT_CHECKED;
/* the device assignment, lent; NULL: none was given */
DT_API const dt_device_assignment *dt_strategy_device_assignment(const dt_strategy *s);
DT_API bool dt_strategy_spmd(const dt_strategy *s);
/* the number of hosts of the replicas; for a TPU strategy without a device assignment, of the
 * slice */
DT_API int dt_strategy_num_hosts(const dt_strategy *s);
/* num_replicas_per_host; 0 if a replica has more devices than a host */
DT_API int dt_strategy_replicas_per_host(const dt_strategy *s);
/* the host of replica 0, where reduce and gather put results; lent */
DT_API const char *dt_strategy_host_device(const dt_strategy *s);
DT_API dt_strategy *dt_get_strategy(void); /* the current strategy; lent */
DT_API bool dt_has_strategy(void); /* whether a strategy other than the default one is current */
/* In a step function: whether this code is in a function called by dt_merge_call. Elsewhere:
 * whether a scope is open, or dt_set_strategy has set a strategy. */
DT_API bool dt_in_cross_replica_context(void);
/* The context of code that does not run in cross-replica context. */
typedef struct dt_replica_context {
    const dt_strategy *strategy; /* lent */
    /* the trace of the step function that is running; NULL: outside of step functions, in the
     * default context */
    struct dt_trace *trace;
    int num_replicas_in_sync;
    /* 0 in the default context; -1 in a step function, which is recorded for all replicas: use
     * dt_replica_id */
    int replica_id_in_sync_group;
} dt_replica_context;
/* get_replica_context: the context in which this code runs. In cross-replica context returns false
 * and leaves *out unchanged. */
DT_API bool dt_get_replica_context(dt_replica_context *out);
/* experimental_set_strategy: makes a strategy current in this thread, outside of scopes, from now
 * on. NULL or the default strategy undoes this. It is an error to call it in a scope or a step
 * function. */
DT_API dt_status *dt_set_strategy(dt_strategy *s) DT_CHECKED;

/* scope(), as DT_SCOPE(strategy) { ... }: in the block, `strategy` is current and variables are
 * distributed. The scope is left however the block ends, including by goto. If entering fails, for
 * example because another strategy's scope is open, the next call in the block that can fail
 * returns the error. */
typedef struct dt_scope {
    dt_strategy *entered;
} dt_scope;
DT_API dt_scope dt_scope_enter(dt_strategy *strategy);
DT_API void dt_scope_leave(dt_scope *scope);
#define DT_JOIN_(a, b) a##b
#define DT_SCOPE_(strategy, id)                                                                    \
    for (dt_scope DT_JOIN_(dt_scope_, id)                                                          \
             __attribute__((cleanup(dt_scope_leave))) = dt_scope_enter(strategy),                  \
             *DT_JOIN_(dt_once_, id) = &DT_JOIN_(dt_scope_, id);                                   \
         DT_JOIN_(dt_once_, id); DT_JOIN_(dt_once_, id) = NULL)
#define DT_SCOPE(strategy) DT_SCOPE_(strategy, __LINE__)

typedef enum dt_reduce_op { DT_SUM, DT_MEAN } dt_reduce_op;
#define DT_NO_AXIS INT32_MIN /* an axis that means: reduce over replicas only */

/* The operation called `name`: "sum" or "mean", in upper or lower case. */
DT_API dt_status *dt_reduce_op_named(const char *name, dt_reduce_op *op) DT_CHECKED;
/* reduce(op, values[name], axis): combines the replicas' tensors into one on CPU:0. With an axis
 * other than DT_NO_AXIS it also reduces along that axis; a mean then divides by the total number of
 * values along the axis on all replicas; the tensors may have different sizes along it. Without an
 * axis, the sum of a single tensor that several replicas share is an error, unless it is a constant
 * that each replica returned. */
DT_API dt_status *dt_strategy_reduce(dt_strategy *s, dt_reduce_op op, const dt_values *values,
                                     const char *name, int axis, dt_tensor **out) DT_CHECKED;
/* Reduces over replicas and along several axes at once: (dt_axes){ 2, { 0, 1 } }. axes NULL: over
 * replicas only. Negative axes count from the end. */
typedef struct dt_axes {
    int n;
    int axis[8];
} dt_axes;
DT_API dt_status *dt_strategy_reduce_axes(dt_strategy *s, dt_reduce_op op, const dt_values *values,
                                          const char *name, const dt_axes *axes,
                                          dt_tensor **out) DT_CHECKED;
/* gather(values[name], axis): the replicas' tensors concatenated along an axis, on CPU:0. Their
 * sizes may differ along that axis only. The tensors may have any dtype, but must not be
 * scalars. */
DT_API dt_status *dt_strategy_gather(dt_strategy *s, const dt_values *values, const char *name,
                                     int axis, dt_tensor **out) DT_CHECKED;

/* distribute_values_from_function: calls `fn` once per replica. fn sets the replica's values as
 * single entries of its `out`, with the same names for all replicas; the result has an entry per
 * name with a value per replica. An error from fn is returned. Strategies that distribute nothing
 * call fn once. */
typedef struct dt_value_context {
    int replica_id_in_sync_group, num_replicas_in_sync;
} dt_value_context;
typedef dt_status *(*dt_value_fn)(const dt_value_context *context, dt_values *out, void *user);
DT_API dt_status *dt_strategy_values_from_function(dt_strategy *s, dt_value_fn fn, void *user,
                                                   dt_values **out) DT_CHECKED;

/* ---- variables ---- */

/*
 * State that outlives a step. A variable created in a strategy's scope (or in a step function) has
 * a copy on each replica. It is a MirroredVariable, whose copies stay equal unless a step with
 * DT_AGGREGATE_NONE or dt_variable_set_from gives them different values, or with DT_SYNC_ON_READ a
 * SyncOnReadVariable: each replica changes its own copy, and the copies are combined when the
 * variable is read in cross-replica context. A variable created while the current strategy
 * distributes nothing, such as the default strategy, is plain. A variable remembers its strategy,
 * so you can read and assign it outside of the scope, as long as no other strategy's scope is open.
 */
typedef enum dt_synchronization {
    DT_SYNC_AUTO,
    DT_SYNC_NONE,
    DT_SYNC_ON_WRITE,
    DT_SYNC_ON_READ
} dt_synchronization;
/* How the replicas' values are combined: when they are assigned (ON_WRITE), or when the variable is
 * read in cross-replica context (ON_READ). */
typedef enum dt_aggregation {
    DT_AGGREGATE_NONE,
    DT_AGGREGATE_SUM,
    DT_AGGREGATE_MEAN,
    DT_AGGREGATE_ONLY_FIRST_REPLICA
} dt_aggregation;
/* whether an optimizer may train a variable; DEFAULT: yes, unless its synchronization is ON_READ */
typedef enum dt_trainable { DT_TRAINABLE_DEFAULT, DT_TRAINABLE_YES, DT_TRAINABLE_NO } dt_trainable;
typedef struct dt_variable_options {
    const char *name; /* name of the variable; NULL: "Variable" */
    /* AUTO means ON_WRITE; NONE is an error in a strategy that distributes variables */
    dt_synchronization synchronization;
    dt_aggregation aggregation;
    dt_trainable trainable;
    /* For a variable without an initial value: dtype, shape[rank], and the initializer,
     * "glorot_uniform" or "RandomNormal: {stddev: 0.1}"; NULL: zeros. */
    dt_dtype dtype;
    int rank;
    const int64_t *shape;
    const char *initializer;
    uint64_t seed;
} dt_variable_options;
/* Creates a variable in the current scope. `initial` is copied and sets dtype and shape; if it is
 * NULL, `options` must give them. Otherwise `options` may be NULL. */
DT_API dt_status *dt_variable_create(dt_variable **out, const dt_tensor *initial,
                                     const dt_variable_options *options) DT_CHECKED;
DT_API void dt_variable_unref(dt_variable *v);
/* the kind of variable: "MirroredVariable", "SyncOnReadVariable", "Variable" */
DT_API const char *dt_variable_kind(const dt_variable *v);
/* the name of a replica's copy: "v:0", "v/replica_1:0"; the caller frees it */
DT_API char *dt_variable_name(const dt_variable *v, int replica);
/* the variable as tf.distribute prints it, with the name and value of each copy; the caller frees
 * it */
DT_API char *dt_variable_text(const dt_variable *v);
DT_API dt_dtype dt_variable_dtype(const dt_variable *v);
DT_API int dt_variable_rank(const dt_variable *v);
DT_API int64_t dt_variable_dim(const dt_variable *v, int axis); /* -1: no such axis */
DT_API bool dt_variable_trainable(const dt_variable *v);
/* the number of copies: the replicas of its strategy; 1 if it is plain */
DT_API int dt_variable_copies(const dt_variable *v);

/* The functions below are for use outside of step functions; step.h has those for step
 * functions. */
typedef enum dt_write { DT_ASSIGN, DT_ASSIGN_ADD, DT_ASSIGN_SUB } dt_write;
/* The variable's value. The copies of a SyncOnReadVariable are combined by its aggregation; for
 * other variables it is the copy of replica 0. */
DT_API dt_status *dt_variable_value(dt_variable *v, dt_tensor **out) DT_CHECKED;
/* One replica's copy, on that replica's device; for a plain variable, on the host. */
DT_API dt_status *dt_variable_local(dt_variable *v, int replica, dt_tensor **out) DT_CHECKED;
/* Assigns to every copy, or adds to it, or subtracts from it. With ON_READ and SUM, the assigned
 * value is divided evenly among the copies, and adding or subtracting is an error. */
DT_API dt_status *dt_variable_set(dt_variable *v, dt_write how, dt_tensor *value) DT_CHECKED;
/* Like dt_variable_set, with an entry of `values`. If the entry has a value per replica, the i-th
 * value is assigned to copy i, or added to it, or subtracted from it. With ON_READ and SUM, each
 * value is divided by the number of copies first. */
DT_API dt_status *dt_variable_set_from(dt_variable *v, dt_write how, const dt_values *values,
                                       const char *name) DT_CHECKED;
/* Changes rows of a plain variable, or of every copy of a MirroredVariable with aggregation NONE or
 * ONLY_FIRST_REPLICA: row index[i] of the first dimension is combined with updates[i], element by
 * element. */
typedef enum dt_scatter {
    DT_SCATTER_UPDATE,
    DT_SCATTER_ADD,
    DT_SCATTER_SUB,
    DT_SCATTER_MUL,
    DT_SCATTER_DIV,
    DT_SCATTER_MIN,
    DT_SCATTER_MAX
} dt_scatter;
DT_API dt_status *dt_variable_scatter(dt_variable *v, dt_scatter how, const dt_tensor *index,
                                      const dt_tensor *updates) DT_CHECKED;

DT_END_C

#endif
