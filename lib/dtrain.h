/*
 * libdtrain: train models on one core or on a simulated pod, with the contract of tf.distribute, from C.
 *
 * A program makes a strategy, creates models and optimizers in its scope, and either calls dt_model_fit or writes its own
 * loop around dt_strategy_run. Two whole programs: examples/mirrored_mlp.c and examples/tpu_loop.c.
 *
 * Conventions
 *
 *   Errors     Functions that can fail return `dt_status *`; NULL is success. DT_GO(s, call) leaves to the label `out` on
 *              failure; dt_report prints, frees and gives the exit code.
 *   Handles    are opaque and counted. Out-parameters follow getline(3): pass the address of NULL or of a handle of your own,
 *              which is replaced. dt_x_unref takes NULL. Handles keep alive what they need. `const` returns are lent.
 *   Tracing    dt_strategy_run records the step function once per input signature; there is no second, eager path. Calls on
 *              dt_value never fail at once: the trace keeps its first error and dt_strategy_run returns it.
 *   Fragments  Layers, losses, optimizers, data sets are written as in the job file; `format` arguments are printf's.
 *   Threads    A handle may be used by one thread at a time. The current strategy is per thread.
 *
 * Shapes are written (B, 784): B is the batch dimension, whose size differs between the batches of one trace.
 */
#ifndef DTRAIN_H
#define DTRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DT_API __attribute__((visibility("default")))
#define DT_CHECKED __attribute__((warn_unused_result))
#define DT_FORMAT(at, first) __attribute__((format(printf, at, first)))

/* The library's version, "0.1.0". */
DT_API const char *dt_version(void);

/* ---- status ------------------------------------------------------------------------------------------------------- */

typedef struct dt_status dt_status;

/* Leaves to the label `out` when `expression` fails; s holds the status. */
#define DT_GO(s, expression)                 \
    do {                                     \
        if (((s) = (expression)) != NULL)    \
            goto out;                        \
    } while (0)

DT_API int dt_status_code(const dt_status *s);            /* exit code (sysexits numbers), 0 for NULL */
DT_API int dt_status_number(const dt_status *s);          /* 17 for DT017 */
DT_API const char *dt_status_kind(const dt_status *s);    /* "ValueError", "RuntimeError", ...: tf.distribute's kinds */
DT_API const char *dt_status_text(const dt_status *s);    /* the message without place, number and notes */
DT_API const char *dt_status_file(const dt_status *s);    /* NULL when there is no place */
DT_API int dt_status_line(const dt_status *s);            /* from 1; 0: none */
DT_API int dt_status_column(const dt_status *s);          /* from 1, in characters; 0: none */
DT_API const char *dt_status_suggestion(const dt_status *s); /* NULL when there is none */
DT_API const dt_status *dt_status_next(const dt_status *s);  /* a job file's faults come all at once */
DT_API int dt_status_count(const dt_status *s);
DT_API char *dt_status_format(const dt_status *s); /* as dt_report prints it; free it */
DT_API void dt_status_free(dt_status *s);          /* takes NULL; frees the whole list */
/* An error of the caller's own, with a number of the catalogue (`dtrain explain`); any other number is 70, an internal error. */
DT_API dt_status *dt_status_create(int number, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
/* Prints to stderr, frees, returns the exit code. dt_report(NULL) is 0. */
DT_API int dt_report(dt_status *s);
/* The long text for an error number, or NULL: what it means, an example, what helps. */
DT_API const char *dt_explain(int number);
/* The entry of names[n] nearest to `name` by edit distance (letter case is ignored), or NULL if none is near: "did you mean". */
DT_API const char *dt_nearest(const char *name, const char *const *names, int n);

/* ---- tensors and distributed values ------------------------------------------------------------------------------- */

typedef enum dt_dtype {
    DT_BOOL, DT_UINT8, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_FLOAT32, DT_FLOAT64,
    DT_UINT16, DT_UINT32, DT_UINT64, DT_FLOAT16 /* held, reduced and gathered; models compute in the others */
} dt_dtype;

/* A concrete array in row-major order. */
typedef struct dt_tensor dt_tensor;
/* data is copied; NULL: zeros. */
DT_API dt_status *dt_tensor_create(dt_tensor **out, dt_dtype dtype, int rank, const int64_t *shape, const void *data) DT_CHECKED;
DT_API void dt_tensor_unref(dt_tensor *t);
DT_API dt_dtype dt_tensor_dtype(const dt_tensor *t);
DT_API int dt_tensor_rank(const dt_tensor *t);
DT_API int64_t dt_tensor_dim(const dt_tensor *t, int axis);
DT_API int64_t dt_tensor_elements(const dt_tensor *t);
DT_API const void *dt_tensor_data(const dt_tensor *t); /* lent */
/* The value of a tensor with one element, as a double; NaN for any other. */
DT_API double dt_tensor_item(const dt_tensor *t);
/* Writes an NPY file, which numpy.load reads; an older one is replaced when the new one is whole. */
DT_API dt_status *dt_tensor_save(const dt_tensor *t, const char *path) DT_CHECKED;
/* As TensorFlow prints it: "<tf.Tensor: shape=(2,), dtype=int64, numpy=array([0, 2])>", of large ones the ends alone; free it. */
DT_API char *dt_tensor_text(const dt_tensor *t);
/* The full name of the device it lies on: "/job:localhost/replica:0/task:0/device:CPU:0". */
DT_API const char *dt_tensor_device(const dt_tensor *t);

typedef struct dt_variable dt_variable; /* see "variables" below */

/* A named list; each entry is a single tensor or one tensor per replica. Paths ("a", "b/0") carry nests. */
typedef struct dt_values dt_values;
DT_API dt_status *dt_values_create(dt_values **out) DT_CHECKED;
DT_API void dt_values_unref(dt_values *v);
DT_API int dt_values_count(const dt_values *v);
DT_API const char *dt_values_name(const dt_values *v, int i);
/* Adds (or replaces) a single tensor, or one per replica (n tensors, in replica order). Tensors are kept by reference. */
DT_API dt_status *dt_values_set(dt_values *v, const char *name, dt_tensor *t) DT_CHECKED;
DT_API dt_status *dt_values_set_per_replica(dt_values *v, const char *name, dt_tensor *const *t, int n) DT_CHECKED;
/* The copies of a variable, as experimental_local_results of it: of their values now. */
DT_API dt_status *dt_values_set_variable(dt_values *v, const char *name, dt_variable *variable) DT_CHECKED;
/* What an entry is in tf.distribute's words: "Tensor" (single), "PerReplica", "MirroredVariable", ...; NULL: there is no such entry. */
DT_API const char *dt_values_kind(const dt_values *v, const char *name);
/* Tensors in an entry: 1, or the number of replicas; 0 when there is no such entry (experimental_local_results). */
DT_API int dt_values_locals(const dt_values *v, const char *name);
DT_API bool dt_values_is_per_replica(const dt_values *v, const char *name);
DT_API const dt_tensor *dt_values_local(const dt_values *v, const char *name, int replica); /* lent; NULL: none */
/* As TensorFlow prints it: the tensor, or "PerReplica:{...}" with one tensor a line; NULL when there is no such entry; free it. */
DT_API char *dt_values_text(const dt_values *v, const char *name);

/* ---- strategies --------------------------------------------------------------------------------------------------- */

typedef struct dt_strategy dt_strategy;
typedef struct dt_resolver dt_resolver;
typedef struct dt_topology dt_topology;

/* MirroredStrategy over `devices` ("CPU:0", ... : virtual CPU devices, as many as named); NULL: one per core. */
DT_API dt_status *dt_mirrored_strategy(dt_strategy **out, const char *const *devices, int n) DT_CHECKED;
DT_API dt_status *dt_one_device_strategy(dt_strategy **out, const char *device) DT_CHECKED;
/* The strategy in force outside all scopes: one replica, nothing distributed. */
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

typedef struct dt_device_assignment dt_device_assignment;
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
DT_API const char *dt_strategy_device(const dt_strategy *s, int replica); /* worker_devices[replica], lent */
/* Input workers: the hosts that feed replicas, in the order in which replicas meet them. One for strategies of one machine. */
DT_API int dt_strategy_input_workers(const dt_strategy *s);
DT_API const char *dt_strategy_input_host(const dt_strategy *s, int worker); /* the full name of its CPU:0, lent; NULL: no such worker */
DT_API int dt_strategy_input_worker(const dt_strategy *s, int replica);      /* the one that feeds a replica; -1: no such replica */
/* What the strategy was made for (cluster_resolver), lent; NULL where there is no cluster. */
DT_API const dt_resolver *dt_strategy_cluster_resolver(const dt_strategy *s);
/* Devices of one replica: 1, or as many as the device assignment gives it. */
DT_API int dt_strategy_logical_devices(const dt_strategy *s);
/* The full name of a replica's logical device; negative numbers count from the last (worker_devices in experimental_logical_device).
 * Lent. ValueError: no such logical device. IndexError: no such replica, or counted back beyond the first device. */
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

/* ---- topologies and device assignments ---------------------------------------------------------------------------- */

/* tf.tpu.experimental.Topology: which device of which task (host) lies where in the mesh of a slice. Coordinates are (x, y, z, core).
 * Topologies and assignments are counted and never change. */
typedef struct dt_topology_options {
    const int64_t *mesh_shape;         /* mesh_rank sizes: x, y, z, core; each at least 1 */
    int mesh_rank;                     /* 4 */
    const int64_t *device_coordinates; /* (tasks, devices of a task, 4), row-major; of devices at one place the last counts */
    const int64_t *coordinates_shape;  /* coordinates_rank sizes: tasks, devices of a task, 4 */
    int coordinates_rank;              /* 3 */
} dt_topology_options;
/* ValueError: a shape of another form. IndexError: coordinates outside the mesh. */
DT_API dt_status *dt_topology_create(dt_topology **out, const dt_topology_options *options) DT_CHECKED;
/* From TopologyProto bytes. DecodeError: no such message; ValueError: what it says is no topology. */
DT_API dt_status *dt_topology_parse(dt_topology **out, const void *serialized, size_t size) DT_CHECKED;
DT_API void dt_topology_unref(dt_topology *t);
/* As TopologyProto bytes, lent: those it was parsed from, or new ones. */
DT_API const void *dt_topology_serialized(const dt_topology *t, size_t *size);
DT_API void dt_topology_mesh_shape(const dt_topology *t, int shape[4]); /* zeros for NULL */
DT_API int dt_topology_tasks(const dt_topology *t);          /* num_tasks */
DT_API int dt_topology_tpus_per_task(const dt_topology *t);  /* num_tpus_per_task */
/* The i-th place of the mesh, counted row-major, that has no device; false: there are no more. */
DT_API bool dt_topology_missing_device(const dt_topology *t, int i, int coordinates[4]);
/* device_coordinates[task][device]; false: no such device. */
DT_API bool dt_topology_device_coordinates(const dt_topology *t, int task, int device, int coordinates[4]);
/* At coordinates: IndexError outside the mesh and where a device is missing. */
DT_API dt_status *dt_topology_task_ordinal(const dt_topology *t, const int coordinates[4], int *task) DT_CHECKED;
DT_API dt_status *dt_topology_tpu_ordinal(const dt_topology *t, const int coordinates[4], int *device) DT_CHECKED; /* within its task */
/* "/job:worker/task:0/device:TPU:3", and "/job:worker/task:0/device:CPU:0" of its host; job NULL: "/task:0/...". The caller frees *name. */
DT_API dt_status *dt_topology_tpu_device(const dt_topology *t, const int coordinates[4], const char *job, char **name) DT_CHECKED;
DT_API dt_status *dt_topology_cpu_device(const dt_topology *t, const int coordinates[4], const char *job, char **name) DT_CHECKED;

/* tf.tpu.experimental.DeviceAssignment: where the logical devices of each replica lie. How replicas and their logical devices follow each other: round rings of neighbours where these are possible, rings or an error, or in
 * the order of coordinates. */
typedef enum dt_device_order { DT_ORDER_AUTO, DT_ORDER_RING, DT_ORDER_MESH } dt_device_order;
typedef struct dt_device_assignment_options {
    const int64_t *computation_shape;  /* shape_rank sizes, the block of cores of a replica: x, y, z, core; NULL: ones */
    int shape_rank;                    /* 4 */
    const int64_t *computation_stride; /* stride_rank steps between them; NULL: ones */
    int stride_rank;                   /* 4 */
    int64_t num_replicas;              /* 0: none, an empty assignment */
    dt_device_order device_order_mode;
} dt_device_assignment_options;
/* DeviceAssignment.build; options NULL: one replica of one core. ValueError: lists that are not 4 numbers of at least 1, a block that does
 * not fit the mesh, more replicas than fit, rings that are not possible. AssertionError: devices are missing where all are needed. */
DT_API dt_status *dt_device_assignment_build(dt_device_assignment **out, const dt_topology *topology,
                                             const dt_device_assignment_options *options) DT_CHECKED;
/* Core by core: core_assignment is (replicas, logical devices, 4), row-major; `shape` has these `rank` (3) sizes. ValueError: another shape.
 * IndexError: no core there. */
DT_API dt_status *dt_device_assignment_create(dt_device_assignment **out, const dt_topology *topology, const int64_t *core_assignment,
                                              const int64_t *shape, int rank) DT_CHECKED;
DT_API void dt_device_assignment_unref(dt_device_assignment *a);
DT_API const dt_topology *dt_device_assignment_topology(const dt_device_assignment *a); /* lent */
DT_API int dt_device_assignment_replicas(const dt_device_assignment *a);        /* num_replicas */
DT_API int dt_device_assignment_logical_devices(const dt_device_assignment *a); /* num_cores_per_replica */
/* Of a replica's logical device. IndexError: no such replica or logical device. */
DT_API dt_status *dt_device_assignment_coordinates(const dt_device_assignment *a, int replica, int logical, int coordinates[4]) DT_CHECKED;
DT_API dt_status *dt_device_assignment_tpu_ordinal(const dt_device_assignment *a, int replica, int logical, int *device) DT_CHECKED;
/* Names as dt_topology_tpu_device has them; the caller frees *name. */
DT_API dt_status *dt_device_assignment_tpu_device(const dt_device_assignment *a, int replica, int logical, const char *job,
                                                  char **name) DT_CHECKED;
DT_API dt_status *dt_device_assignment_host_device(const dt_device_assignment *a, int replica, int logical, const char *job,
                                                   char **name) DT_CHECKED;
/* The replicas whose logical device lies in the task, ascending: *n of them, in replicas, which has room for all replicas. ValueError: none. */
DT_API dt_status *dt_device_assignment_lookup_replicas(const dt_device_assignment *a, int task, int logical, int *replicas, int *n) DT_CHECKED;

/* ---- models ------------------------------------------------------------------------------------------------------- */

typedef struct dt_model dt_model;
typedef struct dt_optimizer dt_optimizer;
typedef struct dt_loss dt_loss;
typedef struct dt_history dt_history;
typedef struct dt_dataset dt_dataset;

/* A model from a job file's `model`, {type: functional, layers: [...]}, or from the list of layers alone, which is a sequential one. Variables are created at once, in the current scope, which the
 * model captures: compile, fit, evaluate enter it by themselves. Initial values depend on the seed (0 unless dt_model_seed). */
DT_API dt_status *dt_model_create(dt_model **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
DT_API void dt_model_unref(dt_model *m);
/* Draws all weights anew from `seed`. */
DT_API dt_status *dt_model_seed(dt_model *m, uint64_t seed) DT_CHECKED;
/* "{optimizer: Adam, loss: CategoricalCrossentropy, metrics: [accuracy]}" */
DT_API dt_status *dt_model_compile(dt_model *m, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
/* "{epochs: 5}", keys as in the job file's `fit`, plus `seed` of the shuffle. history may be NULL. */
DT_API dt_status *dt_model_fit(dt_model *m, dt_dataset *data, dt_history **history, const char *format, ...) DT_CHECKED DT_FORMAT(4, 5);
/* Loss and metrics over the validation part of `data`, or over all of it when it has none; history with one row. */
DT_API dt_status *dt_model_evaluate(dt_model *m, dt_dataset *data, dt_history **history) DT_CHECKED;
/* The outputs for the same examples as evaluate, in their order whatever the shuffle: (examples, ...), on the host. Needs no compile; of the
 * data set only the element of the Input's name is looked at. */
DT_API dt_status *dt_model_predict(dt_model *m, dt_dataset *data, dt_tensor **out) DT_CHECKED;
/* Layers, weights and, when compiled, the compile settings and the optimizer's state, as the directory `path`: a checkpoint like those of
 * runs. Written aside and renamed; an older one of that name is replaced, anything else is not. */
DT_API dt_status *dt_model_save(dt_model *m, const char *path) DT_CHECKED;
/* A model from what dt_model_save or a run has written, made in the current scope: training goes on where it was. */
DT_API dt_status *dt_model_load(dt_model **out, const char *path) DT_CHECKED;
DT_API int64_t dt_model_parameters(const dt_model *m);
/* SHA-256 of all weights: per variable, sorted by path: path, dtype, shape, little-endian data. */
DT_API const char *dt_model_weights_sha256(dt_model *m); /* lent until the next call */
/* Copies a weight ("dense/kernel") out, or in. */
DT_API dt_status *dt_model_get_weight(dt_model *m, const char *path, dt_tensor **out) DT_CHECKED;
DT_API dt_status *dt_model_set_weight(dt_model *m, const char *path, const dt_tensor *value) DT_CHECKED;

DT_API dt_status *dt_optimizer_create(dt_optimizer **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
DT_API void dt_optimizer_unref(dt_optimizer *o);
DT_API dt_status *dt_loss_create(dt_loss **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
DT_API void dt_loss_unref(dt_loss *l);

DT_API void dt_history_unref(dt_history *h);
DT_API int dt_history_epochs(const dt_history *h);
/* Keras' history keys: "loss", "accuracy", "val_loss", ...; NaN when there is no such key or epoch. */
DT_API double dt_history_at(const dt_history *h, const char *key, int epoch);
DT_API double dt_history_last(const dt_history *h, const char *key);

/* ---- data --------------------------------------------------------------------------------------------------------- */

/* "{format: npy, train: {image: x.npy, label: y.npy}, global_batch_size: 64}", keys as in the job file's `dataset`. */
DT_API dt_status *dt_dataset_open(dt_dataset **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
/* The same for examples in memory: single tensors (examples, ...), which are copied. "{global_batch_size: 64, shuffle: true}", keys as above
 * without `format` and the parts; validation_split divides. InvalidArgumentError where the numbers of examples differ. */
DT_API dt_status *dt_dataset_from_values(dt_dataset **out, const dt_values *examples, const char *format, ...) DT_CHECKED DT_FORMAT(3, 4);
DT_API void dt_dataset_unref(dt_dataset *d);
DT_API int64_t dt_dataset_examples(const dt_dataset *d); /* of the training part */
DT_API int64_t dt_dataset_batch_size(const dt_dataset *d); /* global */

typedef struct dt_dist_dataset dt_dist_dataset;
typedef struct dt_iterator dt_iterator;

/* How workers share what is read. AUTO: FILE where files are read, else DATA. */
typedef enum dt_auto_shard_policy {
    DT_AUTO_SHARD_AUTO, DT_AUTO_SHARD_FILE, DT_AUTO_SHARD_DATA, DT_AUTO_SHARD_OFF, DT_AUTO_SHARD_HINT
} dt_auto_shard_policy;
/*
 * How batches are cut. GLOBAL: by the global batch size, each replica's part as large as in a full batch until the rows are used up (6
 * rows of 8 on 2 replicas: 4 and 2), as documented. EVEN: under AUTO and DATA each batch into equal parts (3 and 3), as the original does.
 */
typedef enum dt_rebatch { DT_REBATCH_GLOBAL, DT_REBATCH_EVEN } dt_rebatch;
typedef enum dt_replication_mode { DT_PER_WORKER, DT_PER_REPLICA } dt_replication_mode;
/* tf.distribute.InputOptions and the auto-shard options; all 0 is the default. */
typedef struct dt_input_options {
    dt_auto_shard_policy auto_shard_policy;
    dt_rebatch rebatch;
    dt_replication_mode replication_mode; /* DT_PER_REPLICA: of dt_strategy_distribute_datasets_from_function only */
    int workers;      /* virtual workers that the replicas are divided among, evenly; 0: as many as the strategy has */
    bool no_fallback; /* AUTO with fewer files than workers is an error, as FILE is; else it becomes DATA */
} dt_input_options;
/*
 * Batches of a data set, cut for the replicas. Each step takes a piece for every replica from its worker's share; a replica for which
 * there is none gets no rows, except where all shapes are known or the data is endless: then only full steps are given. An element
 * without batch dimension is an error on more than one replica. What comes out is no data set: transformations stand before the
 * distribution. Options may be NULL. A job's data set (dt_dataset_open) is cut by GLOBAL on one worker.
 */
DT_API dt_status *dt_strategy_distribute_dataset(dt_strategy *s, dt_dataset *data, const dt_input_options *options,
                                                 dt_dist_dataset **out) DT_CHECKED;
/* Which input pipeline a function makes. */
typedef struct dt_input_context {
    int num_input_pipelines, input_pipeline_id; /* workers (or replicas), counted from 0 */
    int num_replicas_in_sync;
} dt_input_context;
/* global / num_replicas_in_sync; an error when that leaves a rest. */
DT_API dt_status *dt_input_context_per_replica_batch_size(const dt_input_context *c, int64_t global_batch_size, int64_t *out) DT_CHECKED;
/* "tf.distribute.InputContext(input pipeline id 0, total: 1)" into text[size]; returns text. */
DT_API char *dt_input_context_text(const dt_input_context *c, char *text, size_t size);
/*
 * Calls fn once per worker (per replica with DT_PER_REPLICA) for a data set of its own, batched per replica and sharded by fn: nothing
 * is cut or shared. Each step takes one element per replica. *out of fn is NULL at first; the data set becomes the library's.
 */
typedef dt_status *(*dt_dataset_fn)(const dt_input_context *c, void *user, dt_dataset **out);
DT_API dt_status *dt_strategy_distribute_datasets_from_function(dt_strategy *s, dt_dataset_fn fn, void *user,
                                                                const dt_input_options *options, dt_dist_dataset **out) DT_CHECKED;
DT_API void dt_dist_dataset_unref(dt_dist_dataset *d);
/* What was decided: "data: 1 file for 2 workers, so each reads all of it and keeps its part"; lent. */
DT_API const char *dt_dist_dataset_sharding(const dt_dist_dataset *d);
/* Each iterator made from a data set is one epoch further (the shuffle differs, as with reshuffle_each_iteration). */
DT_API dt_status *dt_iterator_create(dt_iterator **out, dt_dist_dataset *data) DT_CHECKED;
/* The next batch, one value per replica and element; *batch becomes NULL at the end, which is no error. Not within a step function. */
DT_API dt_status *dt_iterator_next(dt_iterator *it, dt_values **batch) DT_CHECKED;
DT_API void dt_iterator_unref(dt_iterator *it);

/* ---- pipelines ---------------------------------------------------------------------------------------------------- */

/*
 * Data sets in tf.data's words: each function describes a transformation of another data set and reads nothing yet. Descriptions are
 * never changed; they may be built upon and iterated any number of times. The new handle replaces *out, which may be the input's own:
 *
 *     DT_GO(s, dt_dataset_range(&d, 0, 8, 1));
 *     DT_GO(s, dt_dataset_batch(&d, d, 4, false));
 *
 * An element has named components, each a tensor: "value" where there is one without a name, "0", "1", ... in tuples.
 */

/* What is known of a component of all elements. */
typedef struct dt_spec {
    const char *name;  /* lent by the data set */
    dt_dtype dtype;
    int rank;
    int64_t shape[8];  /* -1: unknown, or not the same in all elements */
} dt_spec;
DT_API int dt_dataset_components(const dt_dataset *d);
/* element_spec: component i, false when there is none. Of a distributed data set: what each replica gets. */
DT_API bool dt_dataset_element_spec(const dt_dataset *d, int i, dt_spec *out);
DT_API int dt_dist_dataset_components(const dt_dist_dataset *d);
DT_API bool dt_dist_dataset_element_spec(const dt_dist_dataset *d, int i, dt_spec *out);
#define DT_INFINITE_CARDINALITY (-1)
#define DT_UNKNOWN_CARDINALITY (-2)
DT_API int64_t dt_dataset_cardinality(const dt_dataset *d);
/* Rows of each element as far as they are known without reading: -1 when not; an error when elements are scalars. */
DT_API dt_status *dt_dataset_static_batch_size(const dt_dataset *d, int64_t *size) DT_CHECKED;
/* Elements of the data set itself, each component one tensor. */
DT_API dt_status *dt_dataset_iterate(dt_iterator **out, dt_dataset *d) DT_CHECKED;

/* Sources. */
DT_API dt_status *dt_dataset_range(dt_dataset **out, int64_t start, int64_t stop, int64_t step) DT_CHECKED; /* int64 scalars */
DT_API dt_status *dt_dataset_from_tensors(dt_dataset **out, const dt_values *v) DT_CHECKED;        /* one element */
DT_API dt_status *dt_dataset_from_tensor_slices(dt_dataset **out, const dt_values *v) DT_CHECKED;  /* one per row */
/* Names of files, sorted: names and patterns of the shell; one that matches nothing is an error, an incomplete set of shards too. */
DT_API dt_status *dt_dataset_list_files(dt_dataset **out, const char *const *patterns, int n) DT_CHECKED;
/* Records of the files that `names` gives, each a vector of bytes (uint8). TFRecords are checked, and may be compressed by gzip or zlib. */
typedef enum dt_file_kind { DT_TFRECORD, DT_TEXT_LINES, DT_FIXED_LENGTH } dt_file_kind;
typedef struct dt_file_options {
    dt_file_kind kind;
    int64_t record_bytes, header_bytes, footer_bytes; /* DT_FIXED_LENGTH */
    int64_t cycle_length, block_length;               /* files read in turn, records of each; 0: 1 */
} dt_file_options;
DT_API dt_status *dt_dataset_read_files(dt_dataset **out, const dt_dataset *names, const dt_file_options *options) DT_CHECKED;
/* list_files and read_files in one. */
DT_API dt_status *dt_dataset_tfrecord(dt_dataset **out, const char *const *files, int n) DT_CHECKED;
DT_API dt_status *dt_dataset_text_lines(dt_dataset **out, const char *const *files, int n) DT_CHECKED;

/* Records that are tf.Examples: the named features' values. int64_list goes with integer dtypes, float_list with floats, bytes_list (one
 * string) with uint8; a shape (-1) takes as many values as come. */
DT_API dt_status *dt_dataset_parse_example(dt_dataset **out, const dt_dataset *in, const dt_spec *features, int n) DT_CHECKED;

/* Batches. */
DT_API dt_status *dt_dataset_batch(dt_dataset **out, const dt_dataset *in, int64_t size, bool drop_remainder) DT_CHECKED;
/* Elements of different sizes are filled up with zeros to the largest of the batch. */
DT_API dt_status *dt_dataset_padded_batch(dt_dataset **out, const dt_dataset *in, int64_t size, bool drop_remainder) DT_CHECKED;
DT_API dt_status *dt_dataset_unbatch(dt_dataset **out, const dt_dataset *in) DT_CHECKED;
/* The rows of all elements cut anew by sizes[n] in turn; or each element into n parts, the first ones ceil(rows / n) long. */
DT_API dt_status *dt_dataset_rebatch(dt_dataset **out, const dt_dataset *in, const int64_t *sizes, int n, bool drop_remainder) DT_CHECKED;
DT_API dt_status *dt_dataset_rebatch_even(dt_dataset **out, const dt_dataset *in, int64_t n) DT_CHECKED;

/* Which elements, in which order. A count of -1: for ever, all. */
DT_API dt_status *dt_dataset_repeat(dt_dataset **out, const dt_dataset *in, int64_t count) DT_CHECKED;
DT_API dt_status *dt_dataset_take(dt_dataset **out, const dt_dataset *in, int64_t count) DT_CHECKED;
DT_API dt_status *dt_dataset_skip(dt_dataset **out, const dt_dataset *in, int64_t count) DT_CHECKED;
/* Draws from a buffer of buffer_size elements, by (seed, iteration) alone. */
DT_API dt_status *dt_dataset_shuffle(dt_dataset **out, const dt_dataset *in, int64_t buffer_size, uint64_t seed,
                                     bool reshuffle_each_iteration) DT_CHECKED;
/* num_shards: where the auto-shard policy HINT puts the worker's share. */
#define DT_SHARD_HINT (-1)
DT_API dt_status *dt_dataset_shard(dt_dataset **out, const dt_dataset *in, int64_t num_shards, int64_t index) DT_CHECKED;
DT_API dt_status *dt_dataset_concatenate(dt_dataset **out, const dt_dataset *first, const dt_dataset *second) DT_CHECKED;
/* Side by side, as long as all last; components "0", "1", ..., or "0/name". enumerate: "0" counts. */
DT_API dt_status *dt_dataset_zip(dt_dataset **out, const dt_dataset *const *in, int n) DT_CHECKED;
DT_API dt_status *dt_dataset_enumerate(dt_dataset **out, const dt_dataset *in, int64_t start) DT_CHECKED;
DT_API dt_status *dt_dataset_prefetch(dt_dataset **out, const dt_dataset *in, int64_t buffer_size) DT_CHECKED;

/* C functions of the caller's; `user` must outlive the data set and its iterators. The first error ends the iteration. */
typedef dt_status *(*dt_filter_fn)(const dt_values *element, void *user, bool *keep);
DT_API dt_status *dt_dataset_filter(dt_dataset **out, const dt_dataset *in, dt_filter_fn fn, void *user) DT_CHECKED;
/* fn sets the components of `result`, which is empty at first. */
typedef dt_status *(*dt_map_fn)(const dt_values *element, void *user, dt_values *result);
typedef struct dt_map_options {
    dt_map_fn fn;
    void *user;
    const dt_spec *spec; /* (n_spec) of the results; NULL: as the input's */
    int n_spec;
} dt_map_options;
DT_API dt_status *dt_dataset_map(dt_dataset **out, const dt_dataset *in, const dt_map_options *options) DT_CHECKED;
/* fn makes a data set of each element; their elements follow each other, cycle_length of them open at a time. */
typedef dt_status *(*dt_expand_fn)(const dt_values *element, void *user, dt_dataset **result);
typedef struct dt_interleave_options {
    dt_expand_fn fn;
    void *user;
    const dt_spec *spec; /* (n_spec) of the elements of those data sets */
    int n_spec;
    int64_t cycle_length, block_length; /* 0: 1, which is flat_map */
} dt_interleave_options;
DT_API dt_status *dt_dataset_interleave(dt_dataset **out, const dt_dataset *in, const dt_interleave_options *options) DT_CHECKED;

/*
 * The rows of all elements of a pipeline, read once into memory: a data set for dt_model_fit, evaluate and predict, which cut and shuffle it
 * themselves. Keys as in dt_dataset_from_values: "{global_batch_size: 64, shuffle: true}".
 */
DT_API dt_status *dt_dataset_collect(dt_dataset **out, dt_dataset *in, const char *format, ...) DT_CHECKED DT_FORMAT(3, 4);

/* One worker's share, as distribution makes it. */
typedef struct dt_input_share {
    int workers, replicas, worker; /* replicas: of each worker; worker: which, from 0 */
    dt_input_options options;      /* auto_shard_policy, rebatch, no_fallback */
} dt_input_share;
/* Only shared (replicas is not looked at); or also cut for the replicas. */
DT_API dt_status *dt_dataset_auto_shard(dt_dataset **out, const dt_dataset *in, const dt_input_share *share) DT_CHECKED;
DT_API dt_status *dt_dataset_for_worker(dt_dataset **out, const dt_dataset *in, const dt_input_share *share) DT_CHECKED;
/* sizes[workers * replicas]: the rows of its pieces in turn, for a global batch. */
DT_API dt_status *dt_batch_sizes_for_worker(int64_t global_batch_size, const dt_input_share *share, int64_t *sizes) DT_CHECKED;

/* ---- step functions ----------------------------------------------------------------------------------------------- */

typedef struct dt_trace dt_trace;
typedef struct dt_function dt_function;
/* A value while tracing: a node of the trace. Pass it by value; it lives as long as the trace. */
typedef struct dt_value {
    dt_trace *trace; /* NULL: the value of a failed call */
    int node;
    unsigned generation; /* of the trace: a value that outlives it is found out */
} dt_value;
/* A list of variables: the trainable ones of a model, in creation order, or the caller's own. */
typedef struct dt_variables dt_variables;
/* Gradients of a loss, one per variable, within a trace. */
typedef struct dt_gradients {
    const dt_variables *variables;
    const dt_value *value; /* variables' count of them; trace NULL where the loss does not depend on the variable */
    dt_trace *trace;       /* of the loss */
} dt_gradients;

/* `user` is burnt into the trace and must outlive the function. */
DT_API dt_status *dt_function_create(dt_function **out, void (*step)(dt_trace *t, void *user), void *user) DT_CHECKED;
DT_API void dt_function_unref(dt_function *f);
/* run(): `step` on every replica, each with its own entry of `args` (NULL: none). Results become entries of *results (may be NULL). */
DT_API dt_status *dt_strategy_run(dt_strategy *s, dt_function *f, const dt_values *args, dt_values **results) DT_CHECKED;
/* RunOptions. fixed_batch_size (the opposite of experimental_enable_dynamic_batch_size): the function is recorded for the sizes at hand, so that the first
 * dimension of arguments is a number; all replicas must have equal shapes. Otherwise that happens by itself where a step needs it. */
typedef struct dt_step_options {
    bool fixed_batch_size;
} dt_step_options;
DT_API dt_status *dt_strategy_run_with(dt_strategy *s, dt_function *f, const dt_values *args, const dt_step_options *options, dt_values **results) DT_CHECKED;

/* In a step function. */
#define DT_TRAINING true
#define DT_INFERENCE false
DT_API dt_value dt_arg(dt_trace *t, const char *name);               /* the argument of that name */
DT_API dt_value dt_arg_at(dt_trace *t, int i);                       /* the argument at that position */
DT_API void dt_return(dt_trace *t, const char *name, dt_value value); /* names a result */
DT_API dt_value dt_model_call(dt_model *m, dt_value input, bool training);
/* The same of a model with n Inputs, in the order of its layers. */
DT_API dt_value dt_model_call_inputs(dt_model *m, const dt_value *inputs, int n, bool training);
/* A scalar: the mean over this replica's examples (or what the loss's `reduction` says), times 1/num_replicas in replica context, as in Keras. */
DT_API dt_value dt_loss_call(dt_loss *l, dt_value target, dt_value prediction);
DT_API const dt_variables *dt_model_trainable(const dt_model *m);
/* A loss that is no scalar counts as its sum, here and below, as with GradientTape. */
DT_API dt_gradients dt_gradient(dt_value loss, const dt_variables *variables);
/* The same with respect to any n values of the loss's trace: out[i], trace NULL where the loss does not depend on of[i]. */
DT_API void dt_gradient_values(dt_value loss, const dt_value *of, int n, dt_value *out);
DT_API int dt_variables_count(const dt_variables *v);
DT_API const char *dt_variables_path(const dt_variables *v, int i); /* "dense/kernel"; NULL: there is no such variable */
/* A weight's value in a step function, trainable or not, by path; NotFoundError in the trace when there is none. */
DT_API dt_value dt_model_weight(dt_trace *t, dt_model *m, const char *path);
/* Sums the gradients over replicas and updates the variables; those without a gradient are left alone. ValueError (in the trace) when none has one. */
DT_API void dt_optimizer_apply(dt_optimizer *o, dt_gradients gradients);

DT_API dt_value dt_constant(dt_trace *t, double value); /* float32 scalar */
DT_API dt_value dt_scalar(dt_trace *t, dt_dtype dtype, double value);
DT_API dt_value dt_convert(dt_value x, dt_dtype dtype); /* x itself when it has that dtype */
DT_API dt_value dt_add(dt_value a, dt_value b);         /* element-wise; shapes broadcast as in NumPy */
DT_API dt_value dt_subtract(dt_value a, dt_value b);
DT_API dt_value dt_multiply(dt_value a, dt_value b);
DT_API dt_value dt_divide(dt_value a, dt_value b);
DT_API dt_value dt_matmul(dt_value a, dt_value b);      /* (..., m, k), (k, n) */
DT_API dt_value dt_reduce_sum(dt_value x, int axis);    /* DT_NO_AXIS: over all */
DT_API dt_value dt_reduce_mean(dt_value x, int axis);
DT_API dt_value dt_all_reduce(dt_reduce_op op, dt_value x); /* over replicas */
DT_API dt_value dt_all_reduce_named(const char *op, dt_value x); /* "sum", "MEAN", as dt_reduce_op_named */
DT_API dt_value dt_all_gather(dt_value x, int axis);    /* the replicas' values joined along an axis; they may differ in rows along axis 0 */
DT_API dt_value dt_replica_id(dt_trace *t);             /* replica_id_in_sync_group: int32 scalar */
DT_API dt_value dt_num_replicas(dt_trace *t);           /* num_replicas_in_sync: int32 scalar */
/* The step fails with an error of its own, which run returns; the first one counts. s is the trace's. */
DT_API void dt_trace_fail(dt_trace *t, dt_status *s);
/*
 * merge_call: `fn` runs in cross-replica context, once for all replicas, with their values: in[i] is what each of them gave as values[i]. There
 * dt_merge_reduce stands for reduce, and dt_variable_read and dt_variable_assign are those of cross-replica context. It sets out[0 .. n_out - 1],
 * which every replica gets back.
 */
typedef struct dt_merge {
    dt_trace *trace;
    int n_in, n_out;
    const dt_value *in;
    dt_value *out;
    void *user;
} dt_merge;
DT_API void dt_merge_call(const dt_merge *merge, void (*fn)(const dt_merge *m));
/* One value for all replicas: their sum or mean; with an axis (or DT_NO_AXIS) also along it. */
DT_API dt_value dt_merge_reduce(dt_reduce_op op, dt_value x, int axis);
DT_API int64_t dt_dim(dt_value x, int axis);            /* -1: the batch dimension, see dt_dim_value */
DT_API dt_value dt_dim_value(dt_value x, int axis);     /* int32 scalar: the size, known when the step runs */

/*
 * In step functions. What replicas assign to a MirroredVariable is aggregated first; with DT_AGGREGATE_NONE each copy gets its own
 * replica's value, and is its own from then on. A SyncOnReadVariable's copies are never aggregated here. A plain variable is changed by one replica
 * after the other. The result is the value after the assignment.
 */
DT_API dt_value dt_variable_read(dt_trace *t, dt_variable *v);
DT_API dt_value dt_variable_assign(dt_trace *t, dt_variable *v, dt_value value);
DT_API dt_value dt_variable_assign_add(dt_trace *t, dt_variable *v, dt_value value);
DT_API dt_value dt_variable_assign_sub(dt_trace *t, dt_variable *v, dt_value value);
/* A number that is the same for all replicas: it cannot be summed over them, and needs no averaging. */
DT_API dt_value dt_variable_write_number(dt_trace *t, dt_variable *v, dt_write how, double number);
/* A list of variables for dt_gradient and dt_optimizer_apply; keeps them. */
DT_API dt_status *dt_variables_create(dt_variables **out, dt_variable *const *v, int n) DT_CHECKED;
DT_API void dt_variables_unref(dt_variables *list);
DT_API dt_variable *dt_variables_at(const dt_variables *list, int i); /* lent; NULL: none */

/* ---- logical devices ---------------------------------------------------------------------------------------------- */

/*
 * In step functions of a TPU strategy whose device assignment gives a replica several logical devices: how a value lies on them. The value
 * returned is x; use it instead. ValueErrors, in this order, are the trace's, and run returns them. Outside of step functions there is nothing
 * to annotate: that is a ValueError of the next public call.
 */
/* Cut into tiles, parts[d] of dimension d, tile i on logical device i (the last dimension fastest). One number for each dimension; sizes that
 * are known divisible by them; their product the number of logical devices. */
DT_API dt_value dt_strategy_split_to_logical_devices(dt_strategy *s, dt_value x, const int64_t *partition_dimensions, int n);
/* Whole, on each of them. */
DT_API dt_value dt_strategy_replicate_to_logical_devices(dt_strategy *s, dt_value x);
/* Whole, on one of them; never with SPMD partitioning. */
DT_API dt_value dt_strategy_assign_to_logical_device(dt_strategy *s, dt_value x, int logical_device_id);

/*
 * The same said of a variable, once and outside of step functions: every step of the strategy that reads it from now on has it lie like that. What
 * an optimizer keeps of it follows. The variable is the strategy's, or a plain one, as the weights of models are; the last word counts.
 */
DT_API dt_status *dt_strategy_split_variable(dt_strategy *s, dt_variable *v, const int64_t *partition_dimensions, int n) DT_CHECKED;
DT_API dt_status *dt_strategy_replicate_variable(dt_strategy *s, dt_variable *v) DT_CHECKED;
DT_API dt_status *dt_strategy_assign_variable(dt_strategy *s, dt_variable *v, int logical_device_id) DT_CHECKED;

/* What was recorded, in the words of XLA's OpSharding. */
typedef enum dt_sharding_kind { DT_SHARDING_NONE, DT_SHARDING_OTHER, DT_SHARDING_MAXIMAL, DT_SHARDING_REPLICATED } dt_sharding_kind;
typedef struct dt_sharding {
    dt_sharding_kind kind;
    int rank;
    int64_t tile_dimensions[8]; /* rank numbers: parts of each dimension; of MAXIMAL: 1 */
    int n_devices, first_device; /* that hold tiles: n_devices from this one on; none for REPLICATED, which is on all */
} dt_sharding;
/* Of a value that one of the calls above returned; false, and NONE: of any other. */
DT_API bool dt_sharding_of(dt_value x, dt_sharding *out);
/* The part of such a value that lies on a logical device, per dimension its first index and its size (-1 for both: not known before the step
 * runs); false: no part lies there. */
DT_API bool dt_tile_of(dt_value x, int logical_device, int64_t begin[8], int64_t size[8]);

/* ---- jobs --------------------------------------------------------------------------------------------------------- */

/* A job file, read and checked: types, shapes, placement. Data is not opened yet. */
typedef struct dt_job dt_job;
/* What a job is opened for says which sections it must have: evaluate needs no `fit`, predict and topology no `compile` either. */
/* What a job is opened for: other sections are required, and a plan takes words that cannot be run yet. */
typedef enum dt_purpose { DT_FOR_FIT, DT_FOR_PLAN, DT_FOR_EVALUATE, DT_FOR_PREDICT, DT_FOR_TOPOLOGY } dt_purpose;
typedef struct dt_job_source {
    const char *path;               /* "-": standard input */
    const char *directory;          /* -C: output.dir is relative to it; NULL: "." */
    const char *const *overrides;   /* "key.path=value" */
    int n_overrides;
    dt_purpose purpose;
} dt_job_source;
DT_API dt_status *dt_job_open(dt_job **out, const dt_job_source *source) DT_CHECKED;
DT_API void dt_job_unref(dt_job *j);
DT_API const char *dt_job_name(const dt_job *j);
/* The i-th metric that fit reports: "loss", "accuracy", ..., then with validation data "val_loss", ...; NULL past the last. */
DT_API const char *dt_job_metric(const dt_job *j, int i);
/* Opens the data as well and checks it against the model. */
DT_API dt_status *dt_job_check_data(dt_job *j) DT_CHECKED;
/* What each logical device has of images that `partition` cuts by rows and columns, layer by layer, and what it gets from its neighbours; "" where
 * no images are cut. Free it. */
DT_API dt_status *dt_job_partition_text(dt_job *j, char **text) DT_CHECKED;

typedef enum dt_kernels { DT_KERNELS_AUTO, DT_KERNELS_OPENBLAS, DT_KERNELS_ONEDNN } dt_kernels;
typedef enum dt_resume { DT_RESUME_JOB, DT_RESUME_AUTO, DT_RESUME_NEVER, DT_RESUME_MUST, DT_RESUME_PATH } dt_resume;

/* What happened, told while it happens. Fields that an event does not have are 0 or NULL. */
typedef enum dt_event_kind { DT_EVENT_START, DT_EVENT_STEP, DT_EVENT_EPOCH, DT_EVENT_EVAL, DT_EVENT_CHECKPOINT, DT_EVENT_WARNING, DT_EVENT_END,
    DT_EVENT_TEXT, DT_EVENT_FAULT } dt_event_kind;
typedef struct dt_metric {
    const char *name; /* "loss", "val_accuracy" */
    double value;
} dt_metric;
typedef struct dt_event {
    dt_event_kind kind;
    const char *job, *job_sha256, *backend; /* start */
    const char *device;                     /* start: "sim:v3-8", "2 x CPU" */
    uint64_t seed;                          /* start */
    int replicas, logical_devices, threads; /* start */
    int64_t steps_per_epoch, parameters, peak_bytes;   /* start; peak_bytes: the planned arena of a training step */
    int64_t train_examples, validation_examples, global_batch, last_batch; /* start */
    int64_t epochs;                         /* start, step, epoch: in all */
    int64_t step, steps;                    /* global step, counted from 1; in all */
    int64_t epoch;                          /* counted from 1 */
    int64_t epoch_step;                     /* step within the epoch, from 1; epoch: all of it */
    int64_t examples;                       /* step, epoch, eval */
    double wall_s, examples_per_s;          /* step: of this step; epoch: of its training part */
    double virtual_s;                       /* step, epoch: simulated seconds of a step; end: of all steps of this run; 0: no virtual clock */
    double idle;                            /* epoch: part of simulated time in which devices wait for data, as fast as it was prepared here */
    /* step, epoch, eval; end: of the last epoch, also when it was trained before. A step's loss is that of its batch, its other metrics are those
     * of the epoch so far. */
    const dt_metric *metrics;
    int n_metrics;
    const char *checkpoint, *weights_sha256; /* checkpoint, end */
    const char *split;                      /* eval from evaluate: "validation" */
    const char *text;                       /* warning; text: what GenerateText made, the prompt first; fault: the one that comes, as written */
    bool resumed;                           /* start: goes on from `step` of `checkpoint` */
} dt_event;

typedef struct dt_run_options {
    int threads;               /* lanes; 0: one per core */
    dt_kernels kernels;
    dt_resume resume;
    const char *resume_path;   /* with DT_RESUME_PATH */
    int64_t max_steps;         /* --steps: stop after this many global steps; 0: the job's own */
    bool dry_run;              /* compile, report start, write nothing */
    bool every_step;           /* step events are not rate-limited */
    void (*event)(const dt_event *e, void *user); /* may be NULL */
    void *user;
    const volatile int *stop;  /* set by signal handlers: 1 save and stop, 2 stop at once; NULL: none */
    volatile int *save;        /* set by a signal handler: save and go on; cleared by fit */
    const char *const *inject; /* fit: faults to rehearse, "kill:core=5@step=120", "slow-link:x=1,y=2@step=50*4", "nan@step=7", "hbm=8GiB" */
    int n_inject;
} dt_run_options;

/* Trains as the job says; options NULL: all 0. TEMPFAIL (75) when stopped after saving, or before the first step. */
DT_API dt_status *dt_job_fit(dt_job *j, const dt_run_options *options) DT_CHECKED;
/* Exact metrics of a checkpoint over a split ("validation", "test", "train"); checkpoint NULL: the newest of output.dir. */
DT_API dt_status *dt_job_evaluate(dt_job *j, const char *checkpoint, const char *split, const dt_run_options *options) DT_CHECKED;
typedef struct dt_predict_request {
    const char *checkpoint; /* a run's or a saved model; NULL: the newest of output.dir */
    const char *input;      /* an NPY file in place of the job's data, through the `map` of the model's input; NULL: none */
    const char *split;      /* of the job's data: "validation", "test", "train" */
} dt_predict_request;
/* The model's outputs (examples, ...), in the order of the data. */
DT_API dt_status *dt_job_predict(dt_job *j, const dt_predict_request *request, const dt_run_options *options, dt_tensor **out) DT_CHECKED;
/* What the compiler made of the job: graph, gradient, folded, program, executable. The caller frees *text. */
DT_API dt_status *dt_job_lower(dt_job *j, const char *stage, const dt_run_options *options, char **text) DT_CHECKED;

/* ---- numerics: activations, losses, metrics, optimizers, schedules, initialisers by themselves ------------------- */

/* Keras' activations, named as there with their arguments: "relu", "leaky_relu: {negative_slope: 0.1}", "softmax: {axis: 1}". x is of floats
 * and keeps its shape (glu halves an axis); ValueError for an unknown name or argument. */
DT_API dt_value dt_activation_call(dt_value x, const char *format, ...) DT_FORMAT(2, 3);

/* The loss with a weight for each sample: (B), or as the losses of samples are. The loss's `reduction` says what comes of them: "none" keeps their
 * shape, "mean_with_sample_weight" divides by the sum of weights, "sum_over_batch_size" by the number of samples, also of those of weight 0. */
DT_API dt_value dt_loss_call_weighted(dt_loss *l, dt_value target, dt_value prediction, dt_value weight);

/*
 * A metric by itself, as in `metrics` ("AUC: {curve: PR}", "TopKCategoricalAccuracy: {k: 3}", "Mean"): sums over all it has seen, in double.
 * Mean and Sum take values as they come: as the prediction, without a target.
 */
typedef struct dt_meter dt_meter;
DT_API dt_status *dt_meter_create(dt_meter **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
DT_API void dt_meter_unref(dt_meter *m);
/* Adds examples; weight: (B) or as the outputs are, NULL: all 1. */
DT_API dt_status *dt_meter_update(dt_meter *m, const dt_tensor *target, const dt_tensor *prediction, const dt_tensor *weight) DT_CHECKED;
/* float32: a scalar, or one number per threshold or class; 0 before the first update. */
DT_API dt_status *dt_meter_result(const dt_meter *m, dt_tensor **out) DT_CHECKED;
DT_API dt_status *dt_meter_reset(dt_meter *m) DT_CHECKED;

/* Learning-rate schedules, as in an optimizer's `learning_rate`: "CosineDecay: {initial_learning_rate: 0.1, decay_steps: 1000}". */
typedef struct dt_rate_schedule dt_rate_schedule;
DT_API dt_status *dt_rate_schedule_create(dt_rate_schedule **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
DT_API void dt_rate_schedule_unref(dt_rate_schedule *r);
/* The rate at a step, from 0; computed in float32, as in training. */
DT_API dt_status *dt_rate_schedule_at(const dt_rate_schedule *r, int64_t step, double *rate) DT_CHECKED;
/* The same in a step function; step: int64 scalar; the rate: float32 scalar. */
DT_API dt_value dt_rate_schedule_call(const dt_rate_schedule *r, dt_value step);
/* Its arguments as JSON, in Keras' words; free it. */
DT_API dt_status *dt_rate_schedule_config(const dt_rate_schedule *r, char **json) DT_CHECKED;

/* An optimizer's arguments as JSON, in Keras' words, learning_rate included; free it. */
DT_API dt_status *dt_optimizer_config(const dt_optimizer *o, char **json) DT_CHECKED;
/* Its state: "iteration", and per variable "dense/kernel/momentum", ...; there is none before its first step is recorded. */
DT_API int dt_optimizer_slots(const dt_optimizer *o);
DT_API const char *dt_optimizer_slot_name(const dt_optimizer *o, int i); /* lent; NULL: there is no such slot */
/* The value of a slot, or the current "learning_rate"; NotFoundError for another name. */
DT_API dt_status *dt_optimizer_get_slot(const dt_optimizer *o, const char *name, dt_tensor **out) DT_CHECKED;
/* With use_ema, the variables become their running means (finalize_variable_values); nothing else. */
DT_API dt_status *dt_optimizer_finalize(dt_optimizer *o, const dt_variables *variables) DT_CHECKED;

/* Initial values, as in `kernel_initializer`: "GlorotUniform", "RandomNormal: {stddev: 0.1}". */
typedef struct dt_drawing {
    uint64_t seed;
    dt_dtype dtype; /* DT_FLOAT32 or DT_FLOAT64 */
    int rank;
    const int64_t *shape;
} dt_drawing;
/* Draws a tensor; the same seed and shape give the same values. */
DT_API dt_status *dt_initializer_draw(dt_tensor **out, const dt_drawing *what, const char *format, ...) DT_CHECKED DT_FORMAT(3, 4);
/* {"fan_in", "fan_out", ...} for that shape, as JSON: of scaled ones also "mode", "scale", "distribution", and "limit" (uniform), "target_stddev",
 * "underlying_stddev" and "cut_at" (normal, cut at 2 deviations); free it. */
DT_API dt_status *dt_initializer_facts(char **json, const dt_drawing *what, const char *format, ...) DT_CHECKED DT_FORMAT(3, 4);
/* Its arguments as JSON, in Keras' words; free it. */
DT_API dt_status *dt_initializer_config(char **json, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);

/* ---- looking around ----------------------------------------------------------------------------------------------- */

typedef struct dt_topology_request {
    const char *tpu;        /* "v3-8", "" for this machine's, NULL: the job's */
    const dt_job *job;      /* its replicas are drawn; may be NULL */
    bool json, utf8;
    int columns;            /* of the page; 0: it is none: 80 for chips, lines of words are not broken */
    int64_t cores_per_chip; /* devices that a chip shows; 0: what it usually does */
    const char *fit;        /* "1,2,2,2": list where that computation_shape fits instead of drawing; NULL: draw */
    const char *svg;        /* "FILE": draw an SVG file, *text stays empty; "-": *text is the SVG; NULL: no SVG */
} dt_topology_request;
/* The slice, drawn in text, as JSON or SVG. The caller frees *text. */
DT_API dt_status *dt_topology_text(const dt_topology_request *request, char **text) DT_CHECKED;

typedef enum dt_plan_form {
    DT_PLAN_TEXT,  /* tables; the jobs side by side */
    DT_PLAN_JSON,  /* one object; what-ifs are a list in it */
    DT_PLAN_SVG,   /* a picture of the first job: memory, the step's time line, layers */
    DT_PLAN_TRACE, /* one virtual step of the first job as a Trace Event file, for Perfetto or chrome://tracing */
} dt_plan_form;
typedef struct dt_plan_request {
    dt_job *const *jobs;       /* the job as it is, then as it would be; opened for training, with slices */
    const char *const *labels; /* [n_jobs]: what each is called */
    int n_jobs;
    dt_plan_form form;
    int64_t budget;            /* bytes of a device that may be used; 0: all that the chip has */
    bool verbose;              /* every layer */
    int threads;               /* that fit would compute with on this machine, as dt_run_options has them: bytes of its arena depend on them */
    dt_kernels kernels;        /* likewise */
    const char *compiler;      /* path of a PJRT plug-in, libtpu.so: it compiles the first job's step, and what it says stands beside; NULL: none */
} dt_plan_request;
/* What jobs need of their slices: bytes of a device by kind, the time of a step and its parts, traffic; and of this machine's memory, were they run on it
 * (null where that is too large to be compiled in passing, or cannot be run yet). Nothing is allocated, nothing runs. *fits
 * (may be NULL) tells whether every program of the first job fits the devices' memory. The caller frees *text. NO_SLICE;
 * with a compiler PLUGIN, COMPILER, NO_STABLEHLO. */
DT_API dt_status *dt_plan_text(const dt_plan_request *request, char **text, bool *fits) DT_CHECKED;

typedef struct dt_search_request {
    const dt_job_source *source;
    int64_t budget;            /* as above */
    bool json;
} dt_search_request;
/* The job over replicas x logical devices x batch x rematerialisation x over_replicas, each planned, the most examples per second first. *fits
 * (may be NULL) tells whether any shape fits the devices' memory. The caller frees *text. NO_SLICE. */
DT_API dt_status *dt_plan_search(const dt_search_request *request, char **text, bool *fits) DT_CHECKED;

/* Back ends, devices and kernel libraries found on this machine, and why others were not. The caller frees *text. */
DT_API dt_status *dt_devices_text(bool json, char **text) DT_CHECKED;

typedef struct dt_bench_request {
    const char *rows;     /* the file */
    const char *configs;  /* where the jobs of published models are; NULL: "configs/published" */
    bool json;
} dt_bench_request;
/* Predicts the rows of a file of published numbers, and compares: tables, or as JSON one line a row. NotFoundError: no such file;
 * InvalidArgumentError: not of its form. What a row lacks to be predicted is said in its line. The caller frees *text. */
DT_API dt_status *dt_bench_simulator(const dt_bench_request *request, char **text) DT_CHECKED;

/* Draws sample data: kind "digits". Writes into `directory`, which is created. */
DT_API dt_status *dt_data_synth(const char *kind, const char *directory, uint64_t seed) DT_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
