/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies: the number of replicas, their devices and the back end that computes. A strategy is a
 * row in strategies.h; everything else (scope, run, reduce, distribute_dataset) is shared, because
 * replicas are folded into one program and variables are kept once per memory space.
 *
 *     row             replicas                       devices             back end
 *     default         1                              CPU:0               cpu
 *     one_device      1                              as given            cpu
 *     mirrored        one per device                 virtual CPUs        cpu
 *     multi_worker_mirrored  devices of all workers  virtual CPUs        cpu
 *     parameter_server  1, in each worker            virtual CPUs        cpu
 *     tpu             one per core of the slice      TPU:0 ...           sim
 */
#ifndef DT_STRATEGY_STRATEGY_H
#define DT_STRATEGY_STRATEGY_H

#include "backend/backend.h"
#include "conf/conf.h"
#include "data/data.h"
#include "pass/spmd.h"
#include "strategy/cluster.h"
#include "strategy/partitioner.h"
#include "topo/topo.h"

#define DT_MAX_REPLICAS 65536

typedef struct dt_strategy_row dt_strategy_row;

/* A parameter server and its workers, which compute closures of one replica each. */
typedef struct dt_servers_spec {
    int workers;       /* 0: the strategy has no parameter server */
    int servers;       /* threads of the coordinator */
    int64_t staleness; /* updates between pull and push; DT_ANY_STALENESS (closures.h): any */
    bool in_order;     /* schedule: virtual */
    bool elastic;      /* workers that are lost are started again */
    /* seconds without an answer, after which a worker's closure is given to another */
    double timeout;
    dt_partitioner partitioner;
    /* workers 0: the coordinator starts its workers; otherwise rank 0 is the coordinator, and the
     * workers are started separately */
    dt_launch launch;
    double start_timeout; /* seconds within which those must connect */
    /* a line that must be the same in coordinator and workers; lent; NULL: none */
    const char *fingerprint;
    /* how the coordinator starts its workers: as dt_worker_launcher_spec */
    const char *const *program;
    int input;
} dt_servers_spec;

/* A job's `strategy`, or the arguments of a constructor of the C API, checked as far as possible
 * without devices. */
typedef struct dt_strategy_spec {
    const dt_strategy_row *row;
    dt_location at;
    int n_devices;
    const char *const *devices; /* as written; NULL: by replicas, or by the machine */
    int64_t replicas;           /* 0: not given; multi_worker_mirrored: replicas of each worker */
    int64_t workers;            /* multi_worker_mirrored; 0: one */
    /* tpu: lent by the caller, or created while reading and freed with the spec's arena */
    const dt_resolver *resolver;
    const dt_device_assignment *assignment; /* tpu: likewise; NULL: one replica on each core */
    bool spmd;
    /* multi_worker_mirrored: the hosts to plan for; counted; NULL: not described */
    dt_topology *cluster;
    /* multi_worker_mirrored: the processes that its workers are; workers 0: they are virtual */
    dt_launch launch;
    dt_rank_option rank;     /* rank of this process, as given to the program */
    double launch_timeout;   /* seconds that a worker may keep others waiting */
    double start_timeout;    /* seconds until all must have started */
    dt_servers_spec servers; /* parameter_server */
    bool verify_replicas;    /* the weights of workers are compared as they train */
    int64_t slices;          /* tpu: as many, joined by a network; 0: one */
    const char *what;        /* "sim:v3-8", "2 x CPU": filled by dt_strategy_open */
    /* in place of the row's; NULL: the row's, or pjrt where devices are no CPUs */
    const char *backend;
    const char *plugin;               /* pjrt: path of the plug-in; NULL: the environment's */
    const dt_pjrt_settings *settings; /* pjrt: its settings in the job; NULL: none */
    /* no plug-in is opened: the row's back end computes, and a plug-in's devices are not counted */
    bool sealed;
} dt_strategy_spec;

struct dt_strategy_row {
    dt_kind kind; /* args begin with the struct of its fields */
    /* From filled args to a spec: all faults. */
    dt_status *(*read)(dt_arena *arena, const void *args, const dt_tree *t, dt_strategy_spec *out);
    /* From a spec to devices: fills s->replicas, s->device_name, s->assignment. */
    dt_status *(*place)(dt_strategy *s, const dt_strategy_spec *spec);
    const char *backend;
    /* a job without devices and replicas gets a replica per device of the back end, or per core */
    bool every_device;
    bool feeds_by_host; /* data sets are made for hosts, not for replicas */
    bool is_default;    /* the current strategy outside of any scope */
    bool plain;         /* distributes nothing: variables are plain, values single */
};

struct dt_strategy {  /* the public handle */
    _Atomic int refs; /* results keep their strategy, and may end in another thread */
    const dt_strategy_row *row;
    int replicas;
    char **device_name; /* [replicas], full names */
    /* that feed replicas: the input workers, in the order in which replicas meet them */
    int hosts;
    char **host_name;          /* [hosts], full names of their CPU:0 */
    int *host_of;              /* [replicas] */
    char *what;                /* "sim:v3-8", "2 x CPU" for people */
    dt_resolver *resolver;     /* tpu; counted */
    dt_assignment *assignment; /* tpu: replicas on the slice; counted */
    bool assigned;             /* it was given: not just a replica on each core */
    int logical;               /* devices of a replica */
    char **logical_name;       /* [replicas][logical], full names; NULL: device_name */
    bool spmd;
    bool verify_replicas;
    bool sealed;    /* as the spec says */
    bool uncounted; /* sealed, and replicas, 1, would be as many as the plug-in has devices */
    int threads;    /* of the engine, opened when first needed */
    dt_kernels kernels;
    int64_t hbm;                /* ceiling of a simulated device's memory; 0: the chip's */
    char *backend;              /* in place of the row's; NULL: the row's */
    char *plugin;               /* pjrt: its path; NULL: the environment's */
    dt_pjrt_settings *settings; /* pjrt; NULL: none */
    /* the plug-in's devices that this process uses, where they were named; NULL: the first ones */
    int n_ordinals, *ordinal;
    dt_device *device;
    /* of a worker: the coordinator's device, which it does not use; NULL: none */
    dt_device *inherited;
    bool serves; /* this process is a worker of a parameter server, with devices of its own */
    dt_servers_spec servers; /* workers 0: none */
    /* the workers in separate processes, of which this is one (cluster.h); NULL: there is one
     * process */
    struct dt_cluster *cluster;
    bool owns_cluster; /* the cluster is closed with the strategy; false: it is lent */
};

/* The slice or cluster for which programs are priced; lent; NULL: unknown. */
const dt_topology *dt_strategy_spec_topology(const dt_strategy_spec *spec);
/* Reads a job's `strategy` mapping. Resolvers are kept alive by *out->resolver's own count: release
 * with dt_strategy_spec_release. */
/* The caller has set out->backend, plugin and settings. */
dt_status *dt_strategy_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                            dt_strategy_spec *out) DT_MUST_USE;
/* The strategy of a job whose `strategy` names no type; t may be NULL: the job has none. */
const dt_strategy_row *dt_strategy_unnamed(const dt_tree *t);
/* The keys that all strategies share, and the strategies, for lists of all keys. */
const dt_field *dt_strategy_fields(void);
const dt_strategy_row *const *dt_strategy_rows(int *n);
/* NOT_YET if mpirun, srun, torchrun or TF_CONFIG describe this process as one of several.
 * launch.c */
dt_status *dt_launched_alone(void) DT_MUST_USE;
void dt_strategy_spec_release(dt_strategy_spec *spec);
dt_status *dt_strategy_open(dt_strategy **out, const dt_strategy_spec *spec) DT_MUST_USE;
dt_strategy *dt_strategy_ref(dt_strategy *s);
/* How its engine will be opened; no effect once it is. */
void dt_strategy_set_engine(dt_strategy *s, int threads, dt_kernels kernels);
void dt_strategy_set_hbm(dt_strategy *s, int64_t bytes); /* likewise */
/* The back end that computes: the row's, unless another was chosen. */
const char *dt_strategy_backend(const dt_strategy *s);
/* False: it is the default strategy, or NULL. */
bool dt_strategy_has_devices(const dt_strategy *s);
dt_status *dt_strategy_device_of(dt_strategy *s, dt_device **out) DT_MUST_USE;
/* This process is a worker of the strategy's parameter server from now on. What was compiled before
 * is to be forgotten (dt_compiled_forget). */
void dt_strategy_serve(dt_strategy *s);
/* Where this thread is, apart from scopes: in a step function no scope can be entered, and so
 * nothing run or reduced. */
typedef enum dt_context { DT_OUTSIDE, DT_IN_REPLICA, DT_IN_MERGE } dt_context;
dt_context dt_context_now(void);
/* Returns what was. */
dt_context dt_context_enter(dt_context c);
/* The step function's trace from now on, NULL: none; returns the one before. */
dt_trace *dt_context_trace(dt_trace *t);
/* The error of using what belongs to `s` in the scope of another strategy; NULL: none. */
dt_status *dt_scope_fits(const dt_strategy *s) DT_MUST_USE;

/* ---- compiled steps ---- */

/*
 * A traced step, compiled for a strategy: folded once, cut and prepared for each size of batch that
 * comes (full, last, evaluation).
 */
typedef struct dt_compiled dt_compiled;
typedef struct dt_compile_options {
    const bool *distributed; /* by argument; NULL: all */
    dt_compute_spec how;
    const dt_layer_units *units;    /* to be rematerialised; NULL: none */
    bool alone;                     /* each worker computes the whole batch */
    const _Atomic uint32_t *beside; /* as dt_env has it; lent */
    /* a worker's rows are those of its replicas, and results are those of all replicas */
    bool by_replica;
} dt_compile_options;
/* Takes the graph. CANNOT_FOLD falls back to replica by replica, slow and right. */
dt_status *dt_compiled_create(dt_compiled **out, dt_strategy *s, dt_graph *step,
                              const dt_compile_options *o) DT_MUST_USE;
void dt_compiled_destroy(dt_compiled *c); /* takes NULL */
/* Whether a variable of the step has got a copy for each replica, or another sharding, since: then
 * it must be traced anew. */
bool dt_compiled_is_stale(const dt_compiled *c);
/* Drops all executables. They are compiled again when needed, for the strategy's device at that
 * time. */
void dt_compiled_forget(dt_compiled *c);
/* Compiles the step for a batch of so many rows, unless this is done. x: may be NULL. */
dt_status *dt_compiled_prepare(dt_compiled *c, int64_t rows, dt_executable **x) DT_MUST_USE;
/*
 * Runs one step. offsets[replicas + 1]: first row of each replica. arg[i], in the order of the
 * step's arguments: all rows stacked for values with a batch dimension, (replicas, ...) for other
 * distributed ones, the value itself for uniform ones. result[i] in the order of its results,
 * likewise; good until the next run.
 */
dt_status *dt_compiled_run(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                           dt_view *result) DT_MUST_USE;
/* A dt_own_rows for a dt_compiled: the only rows that its arguments need on this worker of a
 * cluster. */
void dt_compiled_own_rows(const void *compiled, int64_t batch, int64_t rows, int64_t *from,
                          int64_t *to);
/* Whether its runs may overlap, so that the next one can start before the current one is finished.
 * Requires that it has been compiled for some number of rows. */
bool dt_compiled_runs_ahead(const dt_compiled *c);
/* The first half of dt_compiled_run, as dt_executable_start. The second half is
 * dt_executable_finish(*x); *x is NULL if nothing is left to do. */
dt_status *dt_compiled_start(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                             dt_view *result, dt_executable **x) DT_MUST_USE;
const dt_replication *dt_compiled_results(const dt_compiled *c); /* by result */
const dt_graph *dt_compiled_step(const dt_compiled *c);          /* one replica's, simplified */
/* NULL when it runs replica by replica */
const dt_graph *dt_compiled_folded(const dt_compiled *c);
/* The program of each device of each replica for a batch of `rows`. Several replicas are an axis of
 * its mesh. Lent until it has been called for many other numbers of rows. Needs no back end, and
 * variables need no memory. CANNOT_FOLD: the step runs replica by replica. */
dt_status *dt_compiled_priced(dt_compiled *c, int64_t rows, const dt_spmd **out) DT_MUST_USE;
/* Whether a batch of `rows` fits the memory of the slice's devices; true where there is no
 * slice. */
bool dt_compiled_fits(const dt_compiled *c, int64_t rows);
/* DOES_NOT_FIT with what would, where it does not fit. */
dt_status *dt_compiled_check_fits(const dt_compiled *c, int64_t rows) DT_MUST_USE;
/* Bytes of this machine's memory that running it over `rows` takes besides variables, as
 * dt_executable_host_bytes has them, found without allocating them or a device; 0: it runs replica
 * by replica, or is so large (host.c) that it is not compiled to be looked at. */
dt_status *dt_compiled_host_bytes(const dt_compiled *c, int64_t rows, int64_t *bytes) DT_MUST_USE;
/* Text of the program or the executable for a batch of `rows`: stage "program" or "executable". */
dt_status *dt_compiled_lower(dt_compiled *c, const char *stage, int64_t rows,
                             dt_str *out) DT_MUST_USE;

/* ---- rows and replicas ---- */

/* offsets[n + 1] of `rows` rows, a batch of at most `batch`, over n replicas: each gets batch / n,
 * the first (batch mod n) one more, until the rows are used up (the rule of the reference: 6 rows
 * of a batch of 8 over 2 are 4 and 2). */
void dt_cut_rows(int64_t rows, int64_t batch, int n, int32_t *offsets);

#endif
