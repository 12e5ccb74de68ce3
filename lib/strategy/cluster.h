/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers in separate processes: who started them, which one this is, and the connection between
 * them. A launcher describes each process in its environment; what it says there is read once,
 * compared with the job, and told in one line. Where it is no MPI, it says where workers can meet.
 */
#ifndef DT_STRATEGY_CLUSTER_H
#define DT_STRATEGY_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "fabric/run_key.h"

#define DT_RANK_VARIABLE "DTRAIN_RANK"
#define DT_SECRET_VARIABLE "DTRAIN_SECRET_FILE" /* a path; "none": no secret, on any interface */
#define DT_INTERFACE_VARIABLE "DTRAIN_INTERFACE"

/* This worker's number as it was given to the program, --rank; otherwise DTRAIN_RANK may say it. */
typedef struct dt_rank_option {
    bool given;
    int value;
} dt_rank_option;

/* What the environment says, or a job's cluster_resolver. */
/* WORKER: or the chief */
typedef enum dt_task_type { DT_TASK_WORKER, DT_TASK_PS, DT_TASK_EVALUATOR } dt_task_type;
typedef struct dt_launch {
    int workers, rank;    /* workers 0: this process is alone */
    int said;             /* processes that a launcher speaks of, 1 too; 0: none does */
    dt_task_type task;    /* others than WORKER have ranks behind those of workers */
    bool has_chief;       /* worker 0 was called so */
    int ps;               /* tasks of that type */
    const char *by;       /* the variable that says how many there are: "OMPI_COMM_WORLD_SIZE" */
    const char *launcher; /* "mpirun" */
    const struct dt_fabric *fabric; /* that connects them */
    bool sure;                      /* nobody else sets this variable */
    /* to one that says where workers can meet: srun starts workers with or without MPI */
    bool yields;
    /* HOST:PORT of each, or of worker 0 alone; owned, texts included; NULL: a launcher connects
     * them, or it is not said */
    const char **address;
    int addresses;
    /* how each is told its rank, "RANK=", and the number that worker 0 has there */
    const char *start;
    int first;
    const char *secret_file; /* lent; NULL: the environment's */
} dt_launch;
/* LAUNCH where two launchers contradict each other, an index is none, or a text cannot be read. */
dt_status *dt_launch_find(dt_launch *out, const dt_rank_option *own) DT_MUST_USE;
/* The n addresses of a job's workers. */
typedef struct dt_addresses {
    const char *const *v;
    int n;
} dt_addresses;
/* Of a job that names the addresses of its workers: what a launcher says must agree, and `own` or
 * DTRAIN_RANK says which of them this is. Without it, and without a launcher, workers is 0. */
dt_status *dt_launch_resolve(dt_launch *out, const dt_location *at, dt_addresses addresses,
                             const dt_rank_option *own) DT_MUST_USE;
void dt_launch_release(dt_launch *l);
/* Whether `own` or DTRAIN_RANK gives this worker's rank. */
bool dt_launch_has_rank(const dt_rank_option *own);
/* LAUNCH: what that rank is wrong about. format and what follows: behind "--rank 5: ". */
dt_status *dt_launch_bad_rank(const dt_location *at, const dt_rank_option *own, const char *format,
                              ...) DT_MUST_USE DT_PRINTF(3, 4);
/* LAUNCH: nobody has said where they meet; names the variables that are missing. what: "workers";
 * whose: "worker 0", on whose machine they meet. */
dt_status *dt_launch_no_address(const dt_launch *l, const char *what,
                                const char *whose) DT_MUST_USE;
/* The run's secret. *open: others may join and read, which was said explicitly. SECRET, and errors
 * of reading the file. */
dt_status *dt_launch_secret(const dt_launch *l, dt_run_key *key, bool *has_key,
                            bool *open) DT_MUST_USE;
/* The interface to listen on; NULL: it is not said. */
const char *dt_launch_interface(void);

typedef struct dt_cluster {
    int workers, rank;
    struct dt_team *team; /* fabric/fabric.h */
    struct dt_member *member;
    int64_t sums; /* member->flag_sums when the step began */
} dt_cluster;
/* How long to wait for workers that have not started, and for a message; who is told of those that
 * are missing or silent, and of what is unsafe, as long as the cluster is open (NULL: nobody). */
typedef struct dt_cluster_spec {
    double start_s, message_s;
    void (*say)(void *user, const char *line);
    void (*warn)(void *user, const char *text);
    void *user;
} dt_cluster_spec;
/* Meets the others. */
dt_status *dt_cluster_open(dt_cluster **out, const dt_launch *launch,
                           const dt_cluster_spec *spec) DT_MUST_USE;
/* failed: this worker ends with a fault of its own, so the others need not wait for it. Takes
 * NULL. */
void dt_cluster_close(dt_cluster *c, bool failed);
/* What is exchanged from now on belongs to that step of training. Flags, up to 8 bits, travel with
 * its sums. Takes NULL. */
void dt_cluster_begin_step(dt_cluster *c, int64_t step, uint32_t flags);
/* Adds to *flags those that any worker began the step with. Costs messages of its own only where
 * the step has exchanged no sum. `of`: what for, if it fails. Takes NULL. */
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
/* WORKERS_DISAGREE, naming the worker and what differs, unless all say the same. `of` names what is
 * compared, `texts` are lines of it; `own` is lent. */
dt_status *dt_cluster_compare(dt_cluster *c, const char *of, const char *own) DT_MUST_USE;
/* Whether all are well: WORKER_GONE where another one has failed, whose own words are the reason.
 * Takes this one's status and returns it where it is one. */
dt_status *dt_cluster_agree(dt_cluster *c, const char *of, dt_status *s) DT_MUST_USE;

#endif
