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

/* How a variable is divided into shards along its first dimension: FixedShardsPartitioner,
 * MinSizePartitioner, MaxSizePartitioner. */
typedef enum dt_partitioner_kind {
    DT_PARTITION_NONE,
    DT_PARTITION_FIXED,
    DT_PARTITION_MIN_SIZE,
    DT_PARTITION_MAX_SIZE
} dt_partitioner_kind;
typedef struct dt_parameter_server_options {
    /* number of worker processes, 1 to 64; 0: as many as TF_CONFIG lists next to tasks of type ps,
     * or one */
    int workers;
    /* Number of threads that send weights and receive gradients, 1 to 16; 0: one. */
    int parameter_servers;
    dt_partitioner_kind partitioner;
    /* number of shards of a variable, at most one for each row: for FIXED, exactly; for MIN_SIZE
     * and MAX_SIZE, at most. 0: TensorFlow's default, which is 1 for MIN_SIZE and no limit for
     * MAX_SIZE; not allowed with FIXED */
    int64_t shards;
    /* Size of a shard in bytes. MIN_SIZE: the minimum on average, unless there is only one shard;
     * 0: 262144. MAX_SIZE: the maximum, unless one row is larger or `shards` forbids more. */
    int64_t shard_bytes;
    /* with limit_staleness: how many updates by other functions are allowed between the time when a
     * function gets its variables and its own update */
    int64_t max_staleness;
    bool limit_staleness;
    bool elastic; /* start a new worker in place of one that is lost */
    /* number of seconds without an answer after which a worker's function is given to another
     * worker; 0: 60 */
    double timeout;
    /* the address HOST:PORT of each task of type ps, where dt_server_join runs, ending with NULL.
     * NULL: the addresses are those of TF_CONFIG; if it has none, the variables stay in this
     * process */
    const char *const *ps;
    double start_timeout; /* seconds to wait for the tasks of type ps; 0: 300 */
} dt_parameter_server_options;
/*
 * ParameterServerStrategy. Functions run on one replica, that of their worker. options NULL: one
 * worker. ValueError: a number out of range, or TF_CONFIG says that this process is not the chief.
 *
 * If the cluster has tasks of type ps, they have the variables of scheduled functions and their
 * optimizer's state from the first call of schedule on: whole variables or shards of them,
 * distributed in turn. A variable stays whole if the update of a row needs other rows. Each task
 * updates its own variables. Reading a variable fetches it, and setting it sends it. With
 * global_clipnorm or loss scaling, the first task has all variables. The tasks end with the
 * strategy. A call that needs a lost task fails with UnavailableError.
 */
DT_API dt_status *
dt_parameter_server_strategy(dt_strategy **out,
                             const dt_parameter_server_options *options) DT_CHECKED;
typedef struct dt_server_options {
    /* The address HOST:PORT of this process; NULL: that of its task in TF_CONFIG. */
    const char *address;
    /* in seconds. timeout: the coordinator is considered lost after twice this time without a
     * message; 0: 60. start_timeout: how long to wait for the coordinator at the start and while it
     * pauses; 0: 300 */
    double timeout, start_timeout;
} dt_server_options;
/*
 * tf.distribute.Server and its join(): makes this process a task of type ps, which has variables of
 * a coordinator. Returns when the coordinator's strategy has been released. The coordinator sends
 * the programs that update its variables, so only processes with the run's secret
 * (DTRAIN_SECRET_FILE) may connect. Without a secret, the address must be of this machine, unless
 * DTRAIN_SECRET_FILE is "none". UnavailableError: the coordinator is lost. DeadlineExceededError:
 * it did not connect within start_timeout.
 */
DT_API dt_status *dt_server_join(const dt_server_options *options) DT_CHECKED;
/* The number of shards into which the strategy's partitioner divides a variable; 0: the strategy
 * has no parameter server. rows[i] (rows may be NULL) becomes the number of rows of shard i, for
 * the first n shards; a scalar has one row. */
DT_API int dt_strategy_shards(const dt_strategy *s, const dt_variable *v, int64_t *rows, int n);

/* ---- the coordinator ---- */

typedef struct dt_coordinator dt_coordinator; /* the coordinator: ClusterCoordinator */
/* PerWorkerValues: values that each worker has for itself. */
typedef struct dt_per_worker dt_per_worker;
typedef struct dt_remote dt_remote; /* RemoteValue: what a scheduled function returns */

/* Creates the coordinator of a parameter server strategy, which it keeps. ValueError: any other
 * strategy. The calls below belong to one thread. Calls of dt_coordinator_schedule fork workers:
 * the first call, every call with a new function, new names, types or shapes of arguments, or a new
 * dt_per_worker, and the first call after all workers were lost. Make these calls before your
 * program starts threads, and before other threads wait for locks. */
DT_API dt_status *dt_coordinator_create(dt_coordinator **out, dt_strategy *strategy) DT_CHECKED;
/* Ends the workers. Functions that have not finished are cancelled. */
DT_API void dt_coordinator_unref(dt_coordinator *c);
/* The strategy of the coordinator, lent. */
DT_API const dt_strategy *dt_coordinator_strategy(const dt_coordinator *c);

/* create_per_worker_dataset: each worker calls fn, which creates the worker's data set; the context
 * has the worker's number and the number of workers. A function that is scheduled with it gets its
 * worker's next element as arguments, so repeat data sets for as long as you schedule functions. fn
 * is called in this process as well, to find the shapes. A worker that is started again, as all are
 * when a call of dt_coordinator_schedule forks workers, reads its data set from the beginning. */
DT_API dt_status *dt_coordinator_per_worker_dataset(dt_coordinator *c, dt_dataset_fn fn, void *user,
                                                    dt_per_worker **out) DT_CHECKED;
/* create_per_worker_resource: each worker calls fn, which sets named values, once. Functions that
 * are scheduled with it get them as arguments. replica_id_in_sync_group is the worker's number. fn
 * is called in this process as well, to find the shapes. */
DT_API dt_status *dt_coordinator_per_worker_values(dt_coordinator *c, dt_value_fn fn, void *user,
                                                   dt_per_worker **out) DT_CHECKED;
DT_API void dt_per_worker_unref(dt_per_worker *p);

enum { DT_MOST_PER_WORKER = 4 };
typedef struct dt_closure_arguments {
    /* Arguments that are the same for any worker, copied; NULL: none. */
    const dt_values *values;
    /* Arguments from each worker's own values, up to the first NULL. */
    dt_per_worker *per_worker[DT_MOST_PER_WORKER];
} dt_closure_arguments;
/*
 * schedule: a worker will run the function, and this call does not wait for it. A call that forks
 * workers (dt_coordinator_create) first waits for the functions that were scheduled before. If the
 * worker is lost, another worker runs the function again, but its changes to variables are made
 * only once. The function gets the variables as they were when it was given to the worker, or
 * later. Assignments and the changes of dt_optimizer_apply are computed with the values at the time
 * when its result is applied. A function may change each variable only once. *remote (may be NULL)
 * becomes the value that it returns; arguments may be NULL.
 *
 * If a function scheduled before has failed, schedule, join and done return its error: functions
 * that no worker had begun are then cancelled, running ones have ended, and this call schedules
 * nothing. UnavailableError: all workers are lost. DeadlineExceededError: no worker has answered in
 * time. Unfinished functions are then cancelled.
 */
DT_API dt_status *dt_coordinator_schedule(dt_coordinator *c, dt_function *f,
                                          const dt_closure_arguments *arguments,
                                          dt_remote **remote) DT_CHECKED;
/* join: waits until all scheduled functions have finished. Results are processed only by this call,
 * schedule, done and fetch, so end your loop with it. */
DT_API dt_status *dt_coordinator_join(dt_coordinator *c) DT_CHECKED;
/* done: whether all scheduled functions have finished. Does not wait, unless a function has failed:
 * then for those that are running. */
DT_API dt_status *dt_coordinator_done(dt_coordinator *c, bool *done) DT_CHECKED;

/* fetch, RemoteValue.get: waits for the function and returns its result. CancelledError: it was
 * cancelled; its own error, if it failed. */
DT_API dt_status *dt_remote_fetch(dt_remote *r, dt_values **out) DT_CHECKED;
typedef enum dt_remote_state {
    DT_REMOTE_PENDING,
    DT_REMOTE_FINISHED,
    DT_REMOTE_FAILED,
    DT_REMOTE_CANCELLED
} dt_remote_state;
/* the state of a scheduled function, according to the results that the coordinator has processed */
DT_API dt_remote_state dt_remote_state_of(const dt_remote *r);
/* the number of updates between the time when the function got its variables and its own update;
 * -1: not finished, or no update */
DT_API int64_t dt_remote_staleness(const dt_remote *r);
DT_API void dt_remote_unref(dt_remote *r);

enum { DT_STALENESS_BINS = 65 };
typedef struct dt_coordinator_counts {
    /* number of workers that are connected now; 0 before the first function is scheduled, and when
     * they have been ended */
    int workers;
    int64_t workers_lost;
    int64_t finished, failed, cancelled;
    /* how often a function was given out again, because its worker was lost or late */
    int64_t again;
    /* Number of results that were dropped, because they came after the function had been taken from
     * the late worker. */
    int64_t dropped;
    /* number of updates with each staleness; the last bin also counts all with a larger one */
    int64_t staleness[DT_STALENESS_BINS];
} dt_coordinator_counts;
/* Sets *out to what the coordinator has counted. Returns false if there is no coordinator; then
 * *out is all 0. */
DT_API bool dt_coordinator_count(const dt_coordinator *c, dt_coordinator_counts *out);

DT_END_C

#endif
