/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies: the number of replicas, their devices, and the back end that computes. Each strategy
 * is a row in strategies.h. All strategies share everything else (scope, run, reduce,
 * distribute_dataset).
 *
 *     row                    replicas                     devices             back end
 *     default                1                            CPU:0               cpu
 *     one_device             1                            as given            cpu
 *     mirrored               one per device               virtual CPUs        cpu
 *     multi_worker_mirrored  devices of all workers       virtual CPUs        cpu
 *     parameter_server       1, in each worker            virtual CPUs        cpu
 *     tpu                    one per core of the slice    TPU:0 ...           sim
 */
#ifndef DT_STRATEGY_STRATEGY_H
#define DT_STRATEGY_STRATEGY_H

#include "backend/backend.h"
#include "conf/conf.h"
#include "data/data.h"
#include "pass/spmd.h"
#include "strategy/cluster.h"
#include "topo/topo.h"

#define DT_MAX_REPLICAS 65536

typedef struct dt_strategy_row dt_strategy_row;

/*
 * Variable partitioners of tf.distribute: how many shards a variable is divided into, along its
 * first dimension. Shards are assigned to parameter servers in turn.
 */
typedef struct dt_partitioner {
    dt_partitioner_kind kind;
    /* FIXED: the number of shards. MIN_SIZE and MAX_SIZE: the largest number of shards; 0: no
     * limit. */
    int64_t shards;
    /* MIN_SIZE: the fewest bytes that shards of a variable have on average, unless it has only one;
     * MAX_SIZE: the most bytes of a shard, unless one row has more or `shards` forbids more */
    int64_t bytes;
} dt_partitioner;

/* Returns the number of shards of a variable with `rows` rows of row_bytes bytes: at least 1, and
 * at most the number of rows. A scalar has one row. */
int64_t dt_partitioner_shards(const dt_partitioner *p, int64_t rows, int64_t row_bytes);

/* A parameter server and its workers, each of which is one replica. */
typedef struct dt_servers_spec {
    int workers; /* number of workers; 0: the strategy has no parameter server */
    int servers; /* number of server threads in the coordinator */
    /* the most updates between a closure's pull and its update; DT_ANY_STALENESS (closures.h):
     * no limit */
    int64_t staleness;
    /* whether the schedule is virtual: closures are applied in the order of their numbers */
    bool in_order;
    /* whether a lost worker is replaced: the coordinator starts another one, or waits for one that
     * is started separately */
    bool elastic;
    /* Seconds after which a worker that has not answered loses its closure to another one. */
    double timeout;
    dt_partitioner partitioner;
    /* How the processes were started. In the coordinator, workers 0 means that it starts its
     * workers, any other number that they are started separately. Rank 0 is the coordinator.
     * launch.ps counts the tasks of type ps, which own the variables for either kind of workers. */
    dt_launch launch;
    /* owns_launch: the strategy frees `launch`; reached: tasks of type ps are connected and must be
     * informed when the strategy ends */
    bool owns_launch, reached;
    bool lent; /* whether a coordinator has moved variables to the tasks of type ps */
    /* seconds to wait until workers are connected and can compute, and for tasks of type ps */
    double start_timeout;
    /* One line of text, with version and job, that must be the same in the coordinator and its
     * workers. Lent. NULL, in a C program: only the version must be the same. */
    const char *fingerprint;
    /* The command by which the coordinator starts workers, and their standard input, as in
     * dt_worker_launcher_spec. */
    const char *const *program;
    int input;
} dt_servers_spec;

/* parameter_links.c: tells tasks of type ps that this strategy ends, and frees what it owns. */
void dt_servers_release(dt_servers_spec *q);

/* Returns the number of threads for a process that computes for this strategy. asked: what the
 * caller wants; 0: the default. Returns `asked` for a strategy without a parameter server, and in a
 * C program. Returns 1 for a process that forks its workers. Otherwise the default is the number of
 * cores of this machine divided by the number of workers that are known to be on it, at least 1. */
int dt_servers_threads(const dt_servers_spec *q, int asked);

/* A job's `strategy`, or the arguments of a constructor of the C API. */
typedef struct dt_strategy_spec {
    const dt_strategy_row *row;
    dt_location at;
    int n_devices;
    /* The names of devices as the user wrote them. NULL: `replicas`, or the machine, determines the
     * devices. */
    const char *const *devices;
    /* Number of replicas; for multi_worker_mirrored of each worker. 0: the number is not given. */
    int64_t replicas;
    int64_t workers; /* multi_worker_mirrored: number of workers; 0: one */
    /* For tpu: the slice; lent by the caller, or created by dt_strategy_read. */
    const dt_resolver *resolver;
    /* For tpu: on which cores the replicas are, lent or created like `resolver`. NULL: each core
     * has one replica. */
    const dt_device_assignment *assignment;
    bool spmd;
    /* For multi_worker_mirrored: the hosts that a plan is made for; a counted reference. NULL: the
     * job does not describe them. */
    dt_topology *cluster;
    /* For multi_worker_mirrored and parameter_server: the processes that were started.
     * launch.workers 0: the workers of multi_worker_mirrored are virtual, and a coordinator starts
     * its own. */
    dt_launch launch;
    dt_rank_option rank;     /* rank of this process as given on the command line */
    double launch_timeout;   /* seconds after which a worker that does not answer counts as lost */
    double start_timeout;    /* seconds within which all workers must have started */
    dt_servers_spec servers; /* settings of parameter_server */
    bool verify_replicas;    /* whether to compare the weights of workers during training */
    int64_t slices;          /* tpu: number of slices, joined by a network; 0: one */
    /* not used: dt_strategy_open describes the strategy in dt_strategy.what */
    const char *what;
    /* The name of the back end. NULL: that of the strategy's row, or pjrt if the devices are not
     * CPUs. */
    const char *backend;
    const char *plugin; /* for pjrt: the path of the plug-in; NULL: the environment gives it */
    const dt_pjrt_settings *settings; /* for pjrt: settings from the job; NULL: the defaults */
    /* Whether to open no plug-in: the back end of the row computes, and a plug-in's devices are not
     * counted. */
    bool sealed;
} dt_strategy_spec;

struct dt_strategy_row {
    /* The name and the keys of the strategy. The argument `args` of `read` is the struct that its
     * fields describe. */
    dt_kind kind;
    /* Converts args to a spec, and checks them. */
    dt_status *(*read)(dt_arena *arena, const void *args, const dt_tree *t, dt_strategy_spec *out);
    /* Finds the replicas and their devices: fills s->replicas, s->device_name, s->what and other
     * members that such strategies have. */
    dt_status *(*place)(dt_strategy *s, const dt_strategy_spec *spec);
    const char *backend;
    /* Whether a spec without devices and replicas means one replica on each device of the plug-in
     * or, without a plug-in, one for each core of this machine. */
    bool every_device;
    /* whether DT_PER_REPLICA is refused: functions that make data sets are not called for each
     * replica */
    bool feeds_by_host;
    /* whether several processes that a launcher (srun, mpirun) has started share each batch; not so
     * for the processes of a parameter-server job */
    bool is_launched;
    bool is_default; /* whether this is the default strategy, which is current if no other one is */
    /* whether nothing is distributed: variables are plain variables, and values are single
     * tensors */
    bool plain;
};

struct dt_strategy { /* the type behind the public handle dt_strategy */
    /* An atomic count of references, because results keep their strategy alive and may be freed in
     * another thread. */
    _Atomic int refs;
    const dt_strategy_row *row;
    int replicas;
    char **device_name; /* [replicas] full name of each replica's device */
    /* The number of hosts that feed replicas (input workers). Hosts are numbered in the order in
     * which replicas first use them. */
    int hosts;
    char **host_name; /* [hosts] full name of device CPU:0 of each host */
    int *host_of;     /* [replicas] index of the replica's host */
    char *what;       /* a short description for people, such as "sim:v3-8" or "2 x CPU" */
    /* for tpu: the slice; for multi_worker_mirrored: the cluster of its workers; a counted
     * reference */
    dt_resolver *resolver;
    /* for tpu: on which cores of the slice the replicas are; a counted reference */
    dt_assignment *assignment;
    bool assigned; /* whether the caller gave the assignment; if not, each core has one replica */
    int logical;   /* number of logical devices of a replica */
    /* [replicas][logical] full names of the devices; NULL: device_name has them */
    char **logical_name;
    bool spmd;
    bool verify_replicas;
    bool sealed; /* whether to open no plug-in, as in dt_strategy_spec */
    /* Whether `sealed` has made replicas 1, although the plug-in, if it were open, would give one
     * for each of its devices. */
    bool uncounted;
    /* Number of threads of the engine, which is opened when it is first needed; 0: the default. */
    int threads;
    dt_kernels kernels;
    /* The limit on a simulated device's memory in bytes; 0: the memory of the chip. */
    int64_t hbm;
    char *backend; /* the name of the back end; NULL: that of the strategy's row */
    char *plugin;  /* for pjrt: the path of the plug-in; NULL: the environment gives it */
    dt_pjrt_settings *settings; /* for pjrt: settings from the job; NULL: the defaults */
    /* The numbers of the plug-in's devices that this process uses, if the user named them. NULL:
     * the first ones. */
    int n_ordinals, *ordinal;
    dt_device *device;
    /* In a forked worker whose back end takes a plug-in: the coordinator's device, which the worker
     * must not use. In other processes NULL. */
    dt_device *inherited;
    /* whether this process is a worker of a parameter server and has its own devices */
    bool serves;
    /* the parameter server; servers.workers is 0 if the strategy has none */
    dt_servers_spec servers;
    /* The workers in separate processes, one of which is this one (cluster.h). NULL: this
     * process computes alone. */
    struct dt_cluster *cluster;
    bool owns_cluster; /* whether the cluster is closed with the strategy; if not, it is lent */
};

/* Returns the slice or cluster to estimate programs for. Lent. NULL: unknown. */
const dt_topology *dt_strategy_spec_topology(const dt_strategy_spec *spec);
/* Reads a job's `strategy` mapping. The caller must set out->backend, plugin, settings, sealed and
 * rank before. *out holds references, so release it with dt_strategy_spec_release. */
dt_status *dt_strategy_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                            dt_strategy_spec *out) DT_MUST_USE;
/* Returns the row of a strategy for a job that names no type. t: its `strategy` mapping; NULL: the
 * job has none. */
const dt_strategy_row *dt_strategy_unnamed(const dt_tree *t);
/* Return the keys that all strategies share, and the table of strategies, for lists of all keys. */
const dt_field *dt_strategy_fields(void);
const dt_strategy_row *const *dt_strategy_rows(int *n);
/* launch.c: fails with NOT_YET if mpirun, srun, torchrun, TF_CONFIG or --workers describe this
 * process as one of several. */
dt_status *dt_launched_alone(void) DT_MUST_USE;
void dt_strategy_spec_release(dt_strategy_spec *spec);
dt_status *dt_strategy_open(dt_strategy **out, const dt_strategy_spec *spec) DT_MUST_USE;
dt_strategy *dt_strategy_ref(dt_strategy *s);
/* Sets the number of threads (0: the default) and the kernels with which the device will be opened.
 * No effect after it was opened. */
void dt_strategy_set_engine(dt_strategy *s, int threads, dt_kernels kernels);
/* Sets the limit on a simulated device's memory. No effect after the device was opened. */
void dt_strategy_set_hbm(dt_strategy *s, int64_t bytes);
/* Returns the name of the strategy's back end: the row's, unless another one was chosen. If the
 * strategy is sealed, or in a parameter server's coordinator, the row's back end computes
 * nonetheless. */
const char *dt_strategy_backend(const dt_strategy *s);
/* Whether the strategy has devices. False for the default strategy and for NULL. */
bool dt_strategy_has_devices(const dt_strategy *s);
dt_status *dt_strategy_device_of(dt_strategy *s, dt_device **out) DT_MUST_USE;
/* Makes this process a worker of the strategy's parameter server. Steps that were compiled
 * before must be dropped by dt_compiled_forget. */
void dt_strategy_serve(dt_strategy *s);
/* Whether this thread is in a step function, or in a function called by dt_merge_call. In a step
 * function no scope can be entered, so nothing can be run or reduced. */
typedef enum dt_context { DT_OUTSIDE, DT_IN_REPLICA, DT_IN_MERGE } dt_context;
dt_context dt_context_now(void);
/* Sets the context, and returns the previous one. */
dt_context dt_context_enter(dt_context c);
/* Sets the trace of the step function that runs (NULL: none runs), and returns the previous one. */
dt_trace *dt_context_trace(dt_trace *t);
/* If the scope of a strategy other than `s` is open, or dt_set_strategy has set one, returns an
 * error, since nothing of `s` may be used then; else NULL. The default strategy's scope does not
 * count. */
dt_status *dt_scope_fits(const dt_strategy *s) DT_MUST_USE;

/* ---- compiled steps ---- */

/*
 * A recorded step, compiled for a strategy. It is folded once (made one graph for all replicas),
 * and then compiled for each batch size that occurs (full, last, evaluation).
 */
typedef struct dt_compiled dt_compiled;
typedef struct dt_compile_options {
    /* [arguments] whether the argument has a value per replica; NULL: all have */
    const bool *distributed;
    dt_compute_spec how;
    /* The graph whose cost is estimated in place of the step's. dt_compiled_create takes ownership.
     * NULL: the step itself. */
    dt_graph *priced;
    /* layers whose values are computed again instead of kept; NULL: no layers */
    const dt_layer_units *units;
    bool alone; /* whether each worker computes the whole batch by itself */
    /* number of other threads that are busy beside the step's; lent; NULL: unknown */
    const _Atomic uint32_t *beside;
    /* Whether a worker computes the rows of its own replicas, and results are collected from all
     * workers. */
    bool by_replica;
} dt_compile_options;
/* Compiles a step. Takes ownership of the graph. A step that cannot be made one graph for all
 * replicas runs replica by replica, which is slow but correct. If its batch must be divided into
 * shards or among workers, this fails with CANNOT_FOLD or NOT_YET instead. */
dt_status *dt_compiled_create(dt_compiled **out, dt_strategy *s, dt_graph *step,
                              const dt_compile_options *o) DT_MUST_USE;
void dt_compiled_destroy(dt_compiled *c); /* destroys a compiled step; c may be NULL */
/* Whether a variable of the step has changed since it was compiled: it now has a copy per
 * replica, or another sharding. The step must then be recorded again. */
bool dt_compiled_is_stale(const dt_compiled *c);
/* Drops all executables. They are compiled again when needed, for the device that the strategy
 * has then. */
void dt_compiled_forget(dt_compiled *c);
/* Compiles the step for a batch of `rows` rows, unless that is done already. Sets *x to the
 * executable, or to NULL if the step has none. x may be NULL. */
dt_status *dt_compiled_prepare(dt_compiled *c, int64_t rows, dt_executable **x) DT_MUST_USE;
/*
 * Runs one step. offsets[replicas + 1]: first row of each replica. arg[i], in the order of the
 * step's arguments: with a batch dimension, the rows of all replicas; otherwise (replicas, ...) if
 * it is distributed, or the value itself if it is not. result[i] likewise; valid until the next
 * run.
 */
dt_status *dt_compiled_run(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                           dt_view *result) DT_MUST_USE;
/* Sets [*from, *to) to the rows of a batch that this worker needs for its arguments. The function
 * has the form of dt_own_rows; compiled is a dt_compiled. */
void dt_compiled_own_rows(const void *compiled, int64_t batch, int64_t rows, int64_t *from,
                          int64_t *to);
/* Whether runs may overlap, so that one can start before the previous one is finished. False with
 * several workers, and for a step that runs replica by replica. */
bool dt_compiled_runs_ahead(const dt_compiled *c);
/* The first half of dt_compiled_run, like dt_executable_start. If *x is not NULL,
 * dt_executable_finish(*x) is the second half. */
dt_status *dt_compiled_start(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                             dt_view *result, dt_executable **x) DT_MUST_USE;
/* Returns how each result is spread over replicas: [results]. */
const dt_replication *dt_compiled_results(const dt_compiled *c);
/* Returns the simplified step of one replica. */
const dt_graph *dt_compiled_step(const dt_compiled *c);
/* Returns the folded step, one graph for all replicas; NULL: the step runs replica by replica. */
const dt_graph *dt_compiled_folded(const dt_compiled *c);
/* Returns the program of each device of each replica for a batch of `rows`, for estimates. Replicas
 * are an axis of its mesh. Lent until this is called for another number of rows. Needs no back end,
 * and no memory for variables. Fails with CANNOT_FOLD if the step runs replica by replica. */
dt_status *dt_compiled_priced(dt_compiled *c, int64_t rows, const dt_spmd **out) DT_MUST_USE;
/* Whether a batch of `rows` rows fits into the memory of the slice's devices. True without a slice,
 * false if the device cannot be opened. */
bool dt_compiled_fits(const dt_compiled *c, int64_t rows);
/* Fails with DOES_NOT_FIT if a batch of `rows` rows does not fit into the memory of the slice's
 * devices. The error suggests what would fit, if anything does. */
dt_status *dt_compiled_check_fits(const dt_compiled *c, int64_t rows) DT_MUST_USE;
/* Estimates how many bytes of this machine's memory a run over `rows` takes, besides variables
 * (dt_executable_host_bytes). Allocates none of it and opens no device. Sets *bytes to 0 if the
 * step runs replica by replica, or is too large to be compiled for an estimate (priced.c). */
dt_status *dt_compiled_host_bytes(const dt_compiled *c, int64_t rows, int64_t *bytes) DT_MUST_USE;
/* Appends the program or the executable for a batch of `rows` as text. stage: "program" or
 * "executable". */
dt_status *dt_compiled_lower(dt_compiled *c, const char *stage, int64_t rows,
                             dt_str *out) DT_MUST_USE;

/* ---- rows and replicas ---- */

/* Divides a batch of `rows` rows among n replicas, where a full batch has `batch` rows; fills
 * offsets[n + 1]. Each replica gets batch / n rows, and the first (batch mod n) replicas one more,
 * until the rows are used up. This is the rule of TensorFlow: 6 rows of a batch of 8 become 4 and 2
 * for 2 replicas. */
void dt_cut_rows(int64_t rows, int64_t batch, int n, int32_t *offsets);

#endif
