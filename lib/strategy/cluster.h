/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers in separate processes: their launcher, the rank of this one, and the connection between
 * them. A launcher describes each process in its environment. The description is read once,
 * compared with the job, and printed in one line. Launchers other than MPI's also give the address
 * at which workers meet.
 */
#ifndef DT_STRATEGY_CLUSTER_H
#define DT_STRATEGY_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "net/run_key.h"
#include "net/worker_launcher.h"

#define DT_RANK_VARIABLE "DTRAIN_RANK"
#define DT_SECRET_VARIABLE "DTRAIN_SECRET_FILE" /* a path; "none": no secret, on any interface */
#define DT_INTERFACE_VARIABLE "DTRAIN_INTERFACE"

/* This worker's rank as given to the program (--rank). If it is not given, DTRAIN_RANK may contain
 * it. */
typedef struct dt_rank_option {
    bool given;
    int value;
} dt_rank_option;

/* The launch as described by the environment, or by a job's cluster_resolver. */
/* WORKER: or the chief */
typedef enum dt_task_type { DT_TASK_WORKER, DT_TASK_PS, DT_TASK_EVALUATOR } dt_task_type;
typedef struct dt_launch {
    int workers, rank;    /* workers 0: this process is alone */
    int stated;           /* the launcher's number of processes, which may be 1; 0: no launcher */
    dt_task_type task;    /* ranks of other tasks follow those of workers */
    bool has_chief;       /* worker 0 is the chief */
    int ps;               /* tasks of that type */
    const char *by;       /* the variable with their number: "OMPI_COMM_WORLD_SIZE" */
    const char *launcher; /* "mpirun" */
    const struct dt_fabric *fabric; /* that connects them */
    bool sure;                      /* no other program sets this variable */
    /* to a launcher that gives an address: srun starts workers with or without MPI */
    bool yields;
    /* HOST:PORT of each, or of worker 0 alone; owned, texts included; NULL: a launcher connects
     * them, or the addresses are not given */
    const char **address;
    int addresses;
    /* what sets a worker's rank, "RANK=", and the rank whose number is 0 there */
    const char *start;
    int first;
    const char *secret_file; /* lent; NULL: the environment's */
    dt_inherited inherited;  /* a worker that a coordinator of this machine has started */
} dt_launch;
/* LAUNCH: two launchers contradict each other, an index does not exist, or a text cannot be
 * read. */
dt_status *dt_launch_find(dt_launch *out, const dt_rank_option *own) DT_MUST_USE;
/* The n addresses of a job's workers. */
typedef struct dt_addresses {
    const char *const *v;
    int n;
} dt_addresses;
/* For a job that names the addresses of its workers. A launcher's variables must agree with the
 * job, and `own` or DTRAIN_RANK gives this worker's rank. Without a rank and a launcher, workers is
 * 0. */
dt_status *dt_launch_resolve(dt_launch *out, const dt_location *at, dt_addresses addresses,
                             const dt_rank_option *own) DT_MUST_USE;
void dt_launch_release(dt_launch *l);
/* Whether `own` or DTRAIN_RANK gives this worker's rank. */
bool dt_launch_has_rank(const dt_rank_option *own);
/* LAUNCH: an error about the rank. The formatted text follows "--rank 5: ". */
dt_status *dt_launch_bad_rank(const dt_location *at, const dt_rank_option *own, const char *format,
                              ...) DT_MUST_USE DT_PRINTF(3, 4);
/* LAUNCH: the address at which workers meet is not given. The error names the missing variables.
 * what: "workers"; whose: "worker 0", on whose machine they meet. */
dt_status *dt_launch_no_address(const dt_launch *l, const char *what,
                                const char *whose) DT_MUST_USE;
/* The run's secret. *open: the user has explicitly allowed others to join and read. SECRET, and
 * errors of reading the file. */
dt_status *dt_launch_secret(const dt_launch *l, dt_run_key *key, bool *has_key,
                            bool *open) DT_MUST_USE;
/* The interface to listen on; NULL: not given. */
const char *dt_launch_interface(void);

typedef struct dt_cluster {
    int workers, rank;
    struct dt_team *team; /* net/fabric.h */
    struct dt_member *member;
    int64_t sums; /* member->flag_sums when the step began */
} dt_cluster;
/* How long to wait for workers to start, and for a message. `say` reports workers that are missing
 * or silent, `warn` reports insecure settings, as long as the cluster is open. Both may be NULL. */
typedef struct dt_cluster_spec {
    double start_s, message_s;
    void (*say)(void *user, const char *line);
    void (*warn)(void *user, const char *text);
    void *user;
} dt_cluster_spec;
/* Meets the others. */
dt_status *dt_cluster_open(dt_cluster **out, const dt_launch *launch,
                           const dt_cluster_spec *spec) DT_MUST_USE;
/* failed: this worker ends with an error, so the others need not wait for it. Takes NULL. */
void dt_cluster_close(dt_cluster *c, bool failed);
/* Later exchanges belong to that step of training. Flags, up to 8 bits, travel with its sums. Takes
 * NULL. */
void dt_cluster_begin_step(dt_cluster *c, int64_t step, uint32_t flags);
/* Adds to *flags those that any worker began the step with. Sends extra messages only if the step
 * has exchanged no sum. `of`: what for, if it fails. Takes NULL. */
dt_status *dt_cluster_end_step(dt_cluster *c, const char *of, uint32_t *flags) DT_MUST_USE;
/* The rows [*from, *to) of a batch that worker `rank` computes where it is cut into shards. */
void dt_cluster_rows(const dt_cluster *c, int shards, int64_t rows, int64_t *from, int64_t *to);
/* Every worker's n bytes, in order, into all[workers * n]. */
dt_status *dt_cluster_gather(dt_cluster *c, const char *of, const void *own, size_t n,
                             void *all) DT_MUST_USE;
/* The bytes of all workers, n[w] of worker w, to worker 0 alone, in order, into its all[]. */
dt_status *dt_cluster_collect(dt_cluster *c, const char *of, const void *own, const size_t *n,
                              void *all) DT_MUST_USE;
/* The same to every worker. */
dt_status *dt_cluster_spread(dt_cluster *c, const char *of, const void *own, const size_t *n,
                             void *all) DT_MUST_USE;
/* A dt_own_rows: of a dt_cluster, whose workers take whole batches in turn. */
void dt_cluster_own_batch(const void *cluster, int64_t batch, int64_t rows, int64_t *from,
                          int64_t *to);
/* The largest of each of n numbers over all workers, in their place. `of`: what for, if it fails. A
 * cluster of NULL is one worker. */
dt_status *dt_cluster_max(dt_cluster *c, const char *of, int64_t *number, int n) DT_MUST_USE;
/* WORKERS_DISAGREE, naming the worker and what differs, unless all have the same text. `of` names
 * the compared text; `own` is lent. */
dt_status *dt_cluster_compare(dt_cluster *c, const char *of, const char *own) DT_MUST_USE;
/* Whether no worker has failed. WORKER_GONE: another one has; its own message contains the reason.
 * Takes this worker's status, and returns it if it is an error. */
dt_status *dt_cluster_agree(dt_cluster *c, const char *of, dt_status *s) DT_MUST_USE;

#endif
