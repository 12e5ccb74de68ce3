/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies: the number of replicas, their devices, and the back end that computes. Each strategy
 * is a row in strategies.h. Everything else (scope, run, reduce, distribute_dataset) is shared,
 * because replicas are folded into one program and variables are stored once per memory space.
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
    /* FIXED: number of shards; MIN_SIZE and MAX_SIZE: largest number of shards, 0: no limit */
    int64_t shards;
    int64_t bytes; /* MIN_SIZE: least bytes of a shard; MAX_SIZE: most bytes */
} dt_partitioner;

/* Returns the number of shards of a variable with `rows` rows of row_bytes bytes: at least 1, and
 * at most the number of rows. A scalar has one row. */
int64_t dt_partitioner_shards(const dt_partitioner *p, int64_t rows, int64_t row_bytes);

/* A parameter server and its workers, each of which is one replica. */
typedef struct dt_servers_spec {
    int workers; /* 0: the strategy has no parameter server */
    int servers; /* number of server threads in the coordinator */
    /* most updates between pull and push; DT_ANY_STALENESS (closures.h): no limit */
    int64_t staleness;
    bool in_order; /* schedule: virtual */
    bool elastic;  /* lost workers are started again */
    /* Seconds after which a worker that has not answered loses its closure to another one. */
    double timeout;
    dt_partitioner partitioner;
    /* workers 0: the coordinator starts its workers. Otherwise rank 0 is the coordinator, and
     * workers are started separately. */
    dt_launch launch;          /* ps: tasks that have the variables, for all kinds of workers */
    bool owns_launch, reached; /* reached: tasks of type ps wait for this strategy's end */
    bool lent;                 /* a coordinator has variables on these tasks */
    double start_timeout;      /* seconds within which separately started workers must connect */
    /* Text that must be equal in coordinator and workers (version and job). One line; lent;
     * NULL: none. */
    const char *fingerprint;
    /* How the coordinator starts its workers: as in dt_worker_launcher_spec. */
    const char *const *program;
    int input;
} dt_servers_spec;

/* parameter_links.c: tells tasks of type ps that this strategy ends, and frees what it owns. */
void dt_servers_release(dt_servers_spec *q);

/* Returns the number of threads for a process that computes for this strategy. asked: what the
 * caller wants; 0: the default. If workers train a job, the default is the number of cores of
 * this machine divided by its workers; a process that forks its workers must have one thread. In
 * other cases returns `asked`. */
int dt_servers_threads(const dt_servers_spec *q, int asked);

/* A job's `strategy`, or the arguments of a constructor of the C API, checked as far as that is
 * possible without devices. */
typedef struct dt_strategy_spec {
    const dt_strategy_row *row;
    dt_location at;
    int n_devices;
    /* names of devices as written; NULL: see `replicas`, or use what the machine has */
    const char *const *devices;
    int64_t replicas; /* 0: not given; multi_worker_mirrored: replicas of each worker */
    int64_t workers;  /* multi_worker_mirrored: number of workers; 0: one */
    /* tpu: lent by the caller, or created by dt_strategy_read */
    const dt_resolver *resolver;
    /* tpu: lent or created like resolver; NULL: one replica on each core */
    const dt_device_assignment *assignment;
    bool spmd;
    /* multi_worker_mirrored: the hosts to plan for; counted; NULL: not described in the job */
    dt_topology *cluster;
    /* multi_worker_mirrored: the processes of its workers; workers 0: workers are virtual */
    dt_launch launch;
    dt_rank_option rank;     /* rank of this process as given on the command line */
    double launch_timeout;   /* seconds to wait for a worker that does not answer */
    double start_timeout;    /* seconds until all workers must have started */
    dt_servers_spec servers; /* parameter_server */
    bool verify_replicas;    /* compare the weights of workers during training */
    int64_t slices;          /* tpu: number of slices, joined by a network; 0: one */
    const char *what;        /* description: "sim:v3-8", "2 x CPU"; filled in by dt_strategy_open */
    /* Replaces the row's back end. NULL: the row's, or pjrt if devices are not CPUs. */
    const char *backend;
    const char *plugin; /* pjrt: path of the plug-in; NULL: given by the environment */
    const dt_pjrt_settings *settings; /* pjrt: settings from the job; NULL: none */
    /* Open no plug-in: the row's back end computes, and a plug-in's devices are not counted. */
    bool sealed;
} dt_strategy_spec;

struct dt_strategy_row {
    dt_kind kind; /* its fields describe the args of `read` */
    /* Converts args to a spec, and reports all errors in them. */
    dt_status *(*read)(dt_arena *arena, const void *args, const dt_tree *t, dt_strategy_spec *out);
    /* Finds the devices: fills s->replicas, s->device_name and s->assignment. */
    dt_status *(*place)(dt_strategy *s, const dt_strategy_spec *spec);
    const char *backend;
    /* If a job names neither devices nor replicas, there is a replica for each device of the
     * back end, or for each core. */
    bool every_device;
    bool feeds_by_host; /* data sets are made per host instead of per replica */
    bool is_launched;   /* processes that a launcher started share its work */
    bool is_default;    /* it is the current strategy outside of any scope */
    /* nothing is distributed: variables are plain variables, and values are single tensors */
    bool plain;
};

struct dt_strategy { /* the handle of the public API */
    /* atomic, because results keep their strategy alive and may be freed in another thread */
    _Atomic int refs;
    const dt_strategy_row *row;
    int replicas;
    char **device_name; /* [replicas], full names */
    /* Number of hosts that feed replicas (input workers), numbered in the order in which
     * replicas first use them. */
    int hosts;
    char **host_name;          /* [hosts] full names of the hosts' CPU:0 */
    int *host_of;              /* [replicas] index of the replica's host */
    char *what;                /* description: "sim:v3-8", "2 x CPU" */
    dt_resolver *resolver;     /* tpu; counted */
    dt_assignment *assignment; /* tpu: replicas on the slice; counted */
    bool assigned;             /* the assignment was given; otherwise each core has one replica */
    int logical;               /* number of logical devices of a replica */
    char **logical_name;       /* [replicas][logical] full names; NULL: as in device_name */
    bool spmd;
    bool verify_replicas;
    bool sealed; /* as in the spec */
    /* sealed, so replicas is 1, although there would be one for each of the plug-in's devices */
    bool uncounted;
    int threads; /* threads of the engine, which is opened when first needed */
    dt_kernels kernels;
    int64_t hbm;                /* limit on a simulated device's memory in bytes; 0: the chip's */
    char *backend;              /* replaces the row's back end; NULL: the row's */
    char *plugin;               /* pjrt: path of the plug-in; NULL: given by the environment */
    dt_pjrt_settings *settings; /* pjrt: settings from the job; NULL: none */
    /* The plug-in's devices that this process uses, if they were named. NULL: the first ones. */
    int n_ordinals, *ordinal;
    dt_device *device;
    /* In a worker: the coordinator's device, which a worker must not use. NULL: none. */
    dt_device *inherited;
    bool serves; /* this process is a worker of a parameter server and has its own devices */
    dt_servers_spec servers; /* servers.workers 0: the strategy has no parameter server */
    /* The workers in separate processes, one of which is this one (cluster.h). NULL: this
     * process computes alone. */
    struct dt_cluster *cluster;
    bool owns_cluster; /* the cluster is closed with the strategy; otherwise it is lent */
};

/* Returns the slice or cluster to estimate programs for. Lent. NULL: unknown. */
const dt_topology *dt_strategy_spec_topology(const dt_strategy_spec *spec);
/* Reads a job's `strategy` mapping. The caller sets out->backend, plugin, settings, sealed and rank
 * before. *out holds references, so release it with dt_strategy_spec_release. */
dt_status *dt_strategy_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                            dt_strategy_spec *out) DT_MUST_USE;
/* Returns the strategy of a job that names no type. t: its `strategy` mapping; NULL: it has
 * none. */
const dt_strategy_row *dt_strategy_unnamed(const dt_tree *t);
/* Return the keys that all strategies share, and all strategies. For lists of all keys. */
const dt_field *dt_strategy_fields(void);
const dt_strategy_row *const *dt_strategy_rows(int *n);
/* launch.c: fails with NOT_YET if mpirun, srun, torchrun or TF_CONFIG describe this process as
 * one of several. */
dt_status *dt_launched_alone(void) DT_MUST_USE;
void dt_strategy_spec_release(dt_strategy_spec *spec);
dt_status *dt_strategy_open(dt_strategy **out, const dt_strategy_spec *spec) DT_MUST_USE;
dt_strategy *dt_strategy_ref(dt_strategy *s);
/* Sets how the engine will be opened. No effect after it was opened. */
void dt_strategy_set_engine(dt_strategy *s, int threads, dt_kernels kernels);
/* Sets the limit on a simulated device's memory. No effect after the device was opened. */
void dt_strategy_set_hbm(dt_strategy *s, int64_t bytes);
/* Returns the name of the back end that computes: the row's, unless another one was chosen. */
const char *dt_strategy_backend(const dt_strategy *s);
/* False: s is the default strategy, or NULL. */
bool dt_strategy_has_devices(const dt_strategy *s);
dt_status *dt_strategy_device_of(dt_strategy *s, dt_device **out) DT_MUST_USE;
/* Makes this process a worker of the strategy's parameter server. Steps that were compiled
 * before must be dropped by dt_compiled_forget. */
void dt_strategy_serve(dt_strategy *s);
/* Where this thread is executing, apart from scopes. In a step function no scope can be entered,
 * so nothing can be run or reduced. */
typedef enum dt_context { DT_OUTSIDE, DT_IN_REPLICA, DT_IN_MERGE } dt_context;
dt_context dt_context_now(void);
/* Sets the context, and returns the previous one. */
dt_context dt_context_enter(dt_context c);
/* Sets the trace of the step function that runs (NULL: none runs), and returns the previous one. */
dt_trace *dt_context_trace(dt_trace *t);
/* Returns the error of using something of `s` in the scope of another strategy; NULL: no such
 * scope is open. */
dt_status *dt_scope_fits(const dt_strategy *s) DT_MUST_USE;

/* ---- compiled steps ---- */

/*
 * A recorded step, compiled for a strategy. It is folded once, and then compiled for each batch
 * size that occurs (full, last, evaluation).
 */
typedef struct dt_compiled dt_compiled;
typedef struct dt_compile_options {
    const bool *distributed; /* [arguments] whether each has a value per replica; NULL: all have */
    dt_compute_spec how;
    /* replaces the step in estimates; ownership is taken; NULL: the step itself */
    dt_graph *priced;
    const dt_layer_units *units;    /* layers to rematerialize; NULL: none */
    bool alone;                     /* each worker computes the whole batch */
    const _Atomic uint32_t *beside; /* as in dt_env; lent */
    /* A worker computes the rows of its own replicas, and results are collected from all
     * workers. */
    bool by_replica;
} dt_compile_options;
/* Compiles a step. Takes ownership of the graph. A step that cannot be folded (CANNOT_FOLD) runs
 * replica by replica, which is slow but correct. */
dt_status *dt_compiled_create(dt_compiled **out, dt_strategy *s, dt_graph *step,
                              const dt_compile_options *o) DT_MUST_USE;
void dt_compiled_destroy(dt_compiled *c); /* takes NULL */
/* Whether a variable of the step has changed since it was compiled: it now has a copy per
 * replica, or another sharding. The step must then be recorded again. */
bool dt_compiled_is_stale(const dt_compiled *c);
/* Drops all executables. They are compiled again when needed, for the device that the strategy
 * has then. */
void dt_compiled_forget(dt_compiled *c);
/* Compiles the step for a batch of `rows`, unless that is done already. *x: the executable, NULL
 * if there is none; x may be NULL. */
dt_status *dt_compiled_prepare(dt_compiled *c, int64_t rows, dt_executable **x) DT_MUST_USE;
/*
 * Runs one step. offsets[replicas + 1]: first row of each replica. arg[i], in the order of the
 * step's arguments: with a batch dimension, the rows of all replicas; otherwise (replicas, ...) if
 * it is distributed, or the value itself if it is not. result[i] likewise; valid until the next
 * run.
 */
dt_status *dt_compiled_run(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                           dt_view *result) DT_MUST_USE;
/* A dt_own_rows for a dt_compiled: the rows of its arguments that this worker needs. */
void dt_compiled_own_rows(const void *compiled, int64_t batch, int64_t rows, int64_t *from,
                          int64_t *to);
/* Whether runs may overlap, so that one can start before the previous one is finished. The step
 * must have been compiled for some number of rows. */
bool dt_compiled_runs_ahead(const dt_compiled *c);
/* The first half of dt_compiled_run, like dt_executable_start. If *x is not NULL,
 * dt_executable_finish(*x) is the second half. */
dt_status *dt_compiled_start(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                             dt_view *result, dt_executable **x) DT_MUST_USE;
/* [results] how each is spread over replicas */
const dt_replication *dt_compiled_results(const dt_compiled *c);
const dt_graph *dt_compiled_step(const dt_compiled *c); /* the step of one replica, simplified */
/* NULL: the step runs replica by replica */
const dt_graph *dt_compiled_folded(const dt_compiled *c);
/* Returns the program of each device of each replica for a batch of `rows`, for estimates.
 * Replicas are an axis of its mesh. Lent until this is called for many other numbers of rows.
 * Needs no back end, and no memory for variables. Fails with CANNOT_FOLD if the step runs
 * replica by replica. */
dt_status *dt_compiled_priced(dt_compiled *c, int64_t rows, const dt_spmd **out) DT_MUST_USE;
/* Whether a batch of `rows` fits into the memory of the slice's devices. True if there is no
 * slice. */
bool dt_compiled_fits(const dt_compiled *c, int64_t rows);
/* Fails with DOES_NOT_FIT if a batch of `rows` does not fit. The error suggests what would. */
dt_status *dt_compiled_check_fits(const dt_compiled *c, int64_t rows) DT_MUST_USE;
/* Estimates how many bytes of this machine's memory a run over `rows` takes, besides variables
 * (dt_executable_host_bytes). Allocates none of it and opens no device. *bytes 0: the step runs
 * replica by replica, or is too large to be compiled for an estimate (host.c). */
dt_status *dt_compiled_host_bytes(const dt_compiled *c, int64_t rows, int64_t *bytes) DT_MUST_USE;
/* Appends the program or the executable for a batch of `rows` as text. stage: "program" or
 * "executable". */
dt_status *dt_compiled_lower(dt_compiled *c, const char *stage, int64_t rows,
                             dt_str *out) DT_MUST_USE;

/* ---- rows and replicas ---- */

/* Divides `rows` rows, part of a batch of at most `batch`, among n replicas; fills offsets[n +
 * 1]. Each replica gets batch / n rows, and the first (batch mod n) replicas one more, until the
 * rows are used up. This is the rule of TensorFlow: 6 rows of a batch of 8 become 4 and 2 for 2
 * replicas. */
void dt_cut_rows(int64_t rows, int64_t batch, int n, int32_t *offsets);

#endif
