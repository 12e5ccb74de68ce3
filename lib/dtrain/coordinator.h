/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training with a parameter server in loops of your own: tf.distribute's ParameterServerStrategy
 * and ClusterCoordinator. The program is the coordinator. It schedules functions; workers, which
 * are processes of this machine, run them without waiting for each other. The coordinator has the
 * variables, unless the cluster has tasks of type ps.
 */
#ifndef DTRAIN_COORDINATOR_H
#define DTRAIN_COORDINATOR_H

#include "step.h"

DT_BEGIN_C

/* ---- parameter servers ---- */

/* Into how many shards a variable is divided, along its first dimension: FixedShardsPartitioner,
 * MinSizePartitioner, MaxSizePartitioner. */
typedef enum dt_partitioner_kind {
    DT_PARTITION_NONE,
    DT_PARTITION_FIXED,
    DT_PARTITION_MIN_SIZE,
    DT_PARTITION_MAX_SIZE
} dt_partitioner_kind;
typedef struct dt_parameter_server_options {
    int workers;           /* processes, 1 to 64; 0: one */
    int parameter_servers; /* threads that send weights and receive gradients, 1 to 16; 0: one */
    dt_partitioner_kind partitioner;
    /* FIXED: of each variable; MIN_SIZE, MAX_SIZE: at most, 0: the reference's default, 1 and no
     * limit */
    int64_t shards;
    int64_t shard_bytes; /* MIN_SIZE: at least, 0: 262144; MAX_SIZE: at most */
    /* with limit_staleness: updates of others between the pull of a function's variables and its
     * own update */
    int64_t max_staleness;
    bool limit_staleness;
    bool elastic; /* start another worker in the place of one that is lost */
    /* seconds after which the function of a worker that does not answer is given to another; 0:
     * 60 */
    double timeout;
    /* HOST:PORT of each task of type ps, where dt_server_join runs, up to a NULL; NULL: those of
     * TF_CONFIG, or none, and the variables stay in this process */
    const char *const *ps;
    double start_timeout; /* seconds to wait for these tasks; 0: 300 */
} dt_parameter_server_options;
/*
 * ParameterServerStrategy. Functions run on one replica, that of their worker. options NULL: one
 * worker. ValueError: a number out of range, or TF_CONFIG says that this process is not the chief.
 *
 * If the cluster has tasks of type ps, they have the variables of scheduled functions and their
 * optimizer's state from the first call of schedule on: whole ones or shards, dealt in turn. One
 * stays whole if an update of one row needs the others. Each task updates its own. Reading a
 * variable fetches it, setting it sends it. With global_clipnorm, the first task has all. The tasks
 * end with the strategy. Calls that need a task that is lost fail with UnavailableError.
 */
DT_API dt_status *
dt_parameter_server_strategy(dt_strategy **out,
                             const dt_parameter_server_options *options) DT_CHECKED;
typedef struct dt_server_options {
    const char *address; /* HOST:PORT of this process; NULL: that of its task in TF_CONFIG */
    /* seconds: half of the silence after which the coordinator counts as lost, 0: 60; to wait for
     * the coordinator at the start and while it pauses, 0: 300 */
    double timeout, start_timeout;
} dt_server_options;
/*
 * tf.distribute.Server and its join(): makes this process a task of type ps, which has variables of
 * a coordinator. Returns when the coordinator's strategy has been released. The coordinator sends
 * the programs that update its variables, so only processes with the run's secret
 * (DTRAIN_SECRET_FILE) may connect; without one, the address must be of this machine.
 * UnavailableError: the coordinator is lost, or did not come.
 */
DT_API dt_status *dt_server_join(const dt_server_options *options) DT_CHECKED;
/* The shards into which the strategy's partitioner divides a variable; rows[i] of the first n of
 * them (may be NULL). 0: the strategy has no parameter server. */
DT_API int dt_strategy_shards(const dt_strategy *s, const dt_variable *v, int64_t *rows, int n);

/* ---- the coordinator ---- */

typedef struct dt_coordinator dt_coordinator; /* ClusterCoordinator */
typedef struct dt_per_worker dt_per_worker;   /* PerWorkerValues: what each worker has of its own */
typedef struct dt_remote dt_remote;           /* RemoteValue: what a scheduled function returns */

/* Creates the coordinator of a parameter server strategy, which it keeps. ValueError: any other
 * strategy. The calls below belong to one thread. Workers are forked by calls of
 * dt_coordinator_schedule: by the first one, and by those with a function, a shape of arguments or
 * a dt_per_worker that is new. Make these calls before your program starts threads, and before
 * others wait for locks. */
DT_API dt_status *dt_coordinator_create(dt_coordinator **out, dt_strategy *strategy) DT_CHECKED;
/* Ends the workers. Functions that have not finished are cancelled. */
DT_API void dt_coordinator_unref(dt_coordinator *c);
DT_API const dt_strategy *dt_coordinator_strategy(const dt_coordinator *c); /* lent */

/* create_per_worker_dataset: each worker calls fn for a data set of its own; the context says which
 * of how many workers it is. A function that is scheduled with it gets its worker's next element as
 * arguments, so repeat data sets for as long as you schedule functions. fn is called in this
 * process, too, for the shapes. A worker that is started again begins its data set anew. */
DT_API dt_status *dt_coordinator_per_worker_dataset(dt_coordinator *c, dt_dataset_fn fn, void *user,
                                                    dt_per_worker **out) DT_CHECKED;
/* create_per_worker_resource: each worker calls fn, which sets named values, once. Functions that
 * are scheduled with it get them as arguments. replica_id_in_sync_group says which of how many
 * workers it is. fn is called in this process, too, for the shapes. */
DT_API dt_status *dt_coordinator_per_worker_values(dt_coordinator *c, dt_value_fn fn, void *user,
                                                   dt_per_worker **out) DT_CHECKED;
DT_API void dt_per_worker_unref(dt_per_worker *p);

enum { DT_MOST_PER_WORKER = 4 };
typedef struct dt_closure_arguments {
    const dt_values *values;                       /* the same for any worker, copied; NULL: none */
    dt_per_worker *per_worker[DT_MOST_PER_WORKER]; /* the worker's own; up to the first NULL */
} dt_closure_arguments;
/*
 * schedule: a worker will run the function, and this call does not wait for it. Every function is
 * run, if need be again by another worker when its own is lost, and what it does to variables is
 * done exactly once. It sees the variables as they were when it was given to the worker. What it
 * assigns and what dt_optimizer_apply changes is computed with the values of the moment when its
 * result arrives. A function changes each variable at most once. *remote (may be NULL) becomes the
 * value that it returns; arguments may be NULL.
 *
 * If a function scheduled before has failed, schedule, join and done return its error: functions
 * that no worker had begun are then cancelled, those that run have ended, and nothing of this call
 * is scheduled. UnavailableError: all workers are lost; what is not finished is cancelled.
 */
DT_API dt_status *dt_coordinator_schedule(dt_coordinator *c, dt_function *f,
                                          const dt_closure_arguments *arguments,
                                          dt_remote **remote) DT_CHECKED;
/* join: waits until all scheduled functions have finished. Results are taken in by this call,
 * schedule, done and fetch, so a loop ends with it. */
DT_API dt_status *dt_coordinator_join(dt_coordinator *c) DT_CHECKED;
/* done: whether all scheduled functions have finished. Does not wait. */
DT_API dt_status *dt_coordinator_done(dt_coordinator *c, bool *done) DT_CHECKED;

/* fetch, RemoteValue.get: waits for the function and gives what it returned. CancelledError: it was
 * cancelled; its own error, if it failed. */
DT_API dt_status *dt_remote_fetch(dt_remote *r, dt_values **out) DT_CHECKED;
typedef enum dt_remote_state {
    DT_REMOTE_PENDING,
    DT_REMOTE_FINISHED,
    DT_REMOTE_FAILED,
    DT_REMOTE_CANCELLED
} dt_remote_state;
/* as far as the coordinator has taken in results */
DT_API dt_remote_state dt_remote_state_of(const dt_remote *r);
/* updates between the pull of its variables and its own update; -1: not finished, or no update */
DT_API int64_t dt_remote_staleness(const dt_remote *r);
DT_API void dt_remote_unref(dt_remote *r);

/* What became of workers and functions since the coordinator was created. */
enum { DT_STALENESS_BINS = 65 };
typedef struct dt_coordinator_counts {
    int workers; /* that are there; 0 before the first function is scheduled */
    int64_t workers_lost;
    int64_t finished, failed, cancelled;
    int64_t again;   /* given to a second worker */
    int64_t dropped; /* results that came after another worker's */
    /* updates by their staleness; the last bin counts all that were older */
    int64_t staleness[DT_STALENESS_BINS];
} dt_coordinator_counts;
/* False, and *out is all 0: no coordinator. */
DT_API bool dt_coordinator_count(const dt_coordinator *c, dt_coordinator_counts *out);

DT_END_C

#endif
