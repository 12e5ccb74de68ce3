/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers in separate processes: how they were launched, the rank of this one, and the connection
 * between them. A launcher (mpirun, srun, torchrun, TF_CONFIG) describes each process in its
 * environment. It is compared with the job. TF_CONFIG and torchrun also give the address at which
 * workers meet.
 */
#ifndef DT_STRATEGY_CLUSTER_H
#define DT_STRATEGY_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "conf/conf.h"
#include "net/run_key.h"
#include "net/worker_launcher.h"

#define DT_RANK_VARIABLE "DTRAIN_RANK"
/* The variable has the path of a file with a secret, or "none": messages are then not encrypted,
 * and any interface may be used. */
#define DT_SECRET_VARIABLE "DTRAIN_SECRET_FILE"
#define DT_INTERFACE_VARIABLE "DTRAIN_INTERFACE"

/* This worker's rank as given on the command line (--rank). Without it, the environment variable
 * DTRAIN_RANK may have the rank. */
typedef struct dt_rank_option {
    bool given;
    int value;
} dt_rank_option;

/* The types of tasks in a cluster. A chief is a WORKER, too. PS: the task has variables of a
 * parameter server; EVALUATOR: it is not a part of training. */
typedef enum dt_task_type { DT_TASK_WORKER, DT_TASK_PS, DT_TASK_EVALUATOR } dt_task_type;
/* How the processes of a job were started, as described by the environment or by the job's
 * cluster_resolver. */
typedef struct dt_launch {
    /* workers: number of workers, 0 if this process is alone; rank: the rank of this process */
    int workers, rank;
    /* Number of processes as the launcher reports it, which may be 1; 0: there is no launcher. */
    int stated;
    /* the type of this process's task; ranks from `workers` on belong to other tasks than
     * workers */
    dt_task_type task;
    bool has_chief; /* whether worker 0 is the chief, a task of its own in TF_CONFIG */
    int ps;         /* number of tasks of type ps */
    /* What says how many processes there are: an environment variable such as
     * "OMPI_COMM_WORLD_SIZE", or an option such as "--rank". */
    const char *by;
    const char *launcher;           /* the launcher's name in messages, such as "mpirun of MPICH" */
    const struct dt_fabric *fabric; /* the fabric that connects the workers (net/fabric.h) */
    /* Whether only this launcher sets the variable `by`, so that the variable proves which launcher
     * it is. */
    bool sure;
    /* whether another launcher that gives an address takes precedence over this one, because srun
     * can start workers with or without MPI */
    bool yields;
    /* [addresses] HOST:PORT of each worker, or only of worker 0. The list and its strings are
     * owned. NULL: a launcher connects the workers, or the addresses are unknown. */
    const char **address;
    int addresses;
    /* [ps] HOST:PORT of each task of type ps; owned, with the strings; NULL: unknown */
    const char **ps_address;
    /* start: what a user writes before the number of a worker, such as "RANK="; NULL: the launcher
     * itself connects the workers. first: the rank of the worker that has number 0 there. */
    const char *start;
    int first;
    /* path of the file with the secret; lent; NULL: the environment may name it */
    const char *secret_file;
    /* in a worker that a coordinator on this machine has started: its links, and which worker it
     * is */
    dt_inherited inherited;
} dt_launch;
/* the largest number of processes that a launcher may start */
enum { DT_LAUNCH_MOST = 1 << 16 };
/* tf_config.c: fills *out from the variable TF_CONFIG. Without the variable, *out describes no
 * processes. Fails with LAUNCH if the variable is malformed. */
dt_status *dt_launch_read_tf_config(dt_launch *out) DT_MUST_USE;
/* Checks that no address is malformed and, for up to DT_RENDEZVOUS_RANKS addresses, that no two are
 * equal. Fails with LAUNCH, located at `at`. of: where the addresses come from, for messages. */
dt_status *dt_launch_check_addresses(const dt_launch *l, const dt_location *at,
                                     const char *of) DT_MUST_USE;
/* Reads the environment. Fails with LAUNCH if two launchers contradict each other, an index does
 * not exist, or a variable is missing or cannot be parsed. */
dt_status *dt_launch_find(dt_launch *out, const dt_rank_option *own) DT_MUST_USE;
/* Completes *out for a job that lists the addresses of its workers. A launcher's variables must
 * agree with the job. `own` or DTRAIN_RANK gives this worker's rank; without it and without a
 * launcher, out->workers is 0. */
dt_status *dt_launch_resolve(dt_launch *out, const dt_location *at, const dt_texts *addresses,
                             const dt_rank_option *own) DT_MUST_USE;
void dt_launch_release(dt_launch *l);
struct dt_strategy;
/* Returns a warning if this process runs alone in a Slurm job with several tasks, although the
 * strategy can share its work between processes that srun starts. NULL: there is no reason to
 * warn. */
const char *dt_launch_without_srun(const struct dt_strategy *strategy, dt_arena *arena);
/* Whether `own` or DTRAIN_RANK gives a rank. */
bool dt_launch_has_rank(const dt_rank_option *own);
/* Returns a LAUNCH error about a worker's rank. The formatted text follows "--rank 5: " or the
 * like. */
dt_status *dt_launch_bad_rank(const dt_location *at, const dt_rank_option *own, const char *format,
                              ...) DT_MUST_USE DT_PRINTF(3, 4);
/* Returns the LAUNCH error that the address at which workers meet is missing. The message names the
 * variables to set. what: who meets there, such as "workers"; whose: on whose machine the address
 * is, such as "worker 0". */
dt_status *dt_launch_no_address(const dt_launch *l, const char *what,
                                const char *whose) DT_MUST_USE;
/* Finds the run's secret and derives its key. *open: the user has explicitly allowed anyone to
 * join and read. Fails with SECRET, or with an error of reading the file. */
dt_status *dt_launch_secret(const dt_launch *l, dt_run_key *key, bool *has_key,
                            bool *open) DT_MUST_USE;
/* Returns the interface to listen on, from the environment; NULL: none is set. */
const char *dt_launch_interface(void);

typedef struct dt_cluster {
    int workers, rank;
    struct dt_process_group *group; /* the connected workers (net/fabric.h) */
    struct dt_member *member;
    int64_t sums; /* the value of member->flag_sums when the current step began */
} dt_cluster;
/* How to connect. start_s: seconds to wait until all workers have started; message_s: seconds to
 * wait for a message. `say` reports workers that are missing or silent, `warn` reports insecure
 * settings, as long as the cluster is open. Both may be NULL. */
typedef struct dt_cluster_spec {
    double start_s, message_s;
    void (*say)(void *user, const char *line);
    void (*warn)(void *user, const char *text);
    void *user;
} dt_cluster_spec;
/* Connects this worker with the others. Fails with WORKERS_DISAGREE if the fabric gives it another
 * rank than the launch. */
dt_status *dt_cluster_open(dt_cluster **out, const dt_launch *launch,
                           const dt_cluster_spec *spec) DT_MUST_USE;
/* Disconnects. failed: this worker ends with an error, so it does not wait for the others. c may be
 * NULL. */
void dt_cluster_close(dt_cluster *c, bool failed);
/* Marks later exchanges as part of this step of training. The flags, up to 8 bits, are sent
 * together with the step's sums. c may be NULL. */
void dt_cluster_begin_step(dt_cluster *c, int64_t step, uint32_t flags);
/* Adds to *flags the flags with which any worker began the step. Sends extra messages only if the
 * step has exchanged no sum. of: the name of the exchange in errors. c may be NULL. */
dt_status *dt_cluster_end_step(dt_cluster *c, const char *of, uint32_t *flags) DT_MUST_USE;
/* Sets [*from, *to) to the rows of a batch of `rows` rows that this worker computes if the batch is
 * divided into `shards` shards. */
void dt_cluster_rows(const dt_cluster *c, int shards, int64_t rows, int64_t *from, int64_t *to);
/* Collects n bytes of each worker, in rank order, into all[workers * n] on every worker. of: the
 * name of the bytes in errors. */
dt_status *dt_cluster_gather(dt_cluster *c, const char *of, const void *own, size_t n,
                             void *all) DT_MUST_USE;
/* Collects n[w] bytes of each worker w, in rank order, into all[] on worker 0 only. */
dt_status *dt_cluster_collect(dt_cluster *c, const char *of, const void *own, const size_t *n,
                              void *all) DT_MUST_USE;
/* Like dt_cluster_collect, but every worker gets all bytes. */
dt_status *dt_cluster_spread(dt_cluster *c, const char *of, const void *own, const size_t *n,
                             void *all) DT_MUST_USE;
/* For workers that take whole batches in turn: sets [*from, *to) to all rows if the batch of this
 * number is this worker's, else to no rows. The function has the form of dt_own_rows; cluster is a
 * dt_cluster. */
void dt_cluster_own_batch(const void *cluster, int64_t batch, int64_t rows, int64_t *from,
                          int64_t *to);
/* Replaces each of the n numbers by its maximum over all workers. Does nothing if c is NULL. */
dt_status *dt_cluster_max(dt_cluster *c, const char *of, int64_t *number, int n) DT_MUST_USE;
/* Fails with WORKERS_DISAGREE on every worker if the texts of workers differ. The error names the
 * first worker whose text differs from that of worker 0, and both texts. Succeeds if c is NULL.
 * Only the first 255 bytes are compared. */
dt_status *dt_cluster_compare(dt_cluster *c, const char *of, const char *own) DT_MUST_USE;
/* Tells all workers whether one has failed. Takes ownership of this worker's status s, and returns
 * it if it is an error, or if c is NULL. of: what the workers do, a verb, for messages. Fails with
 * WORKER_GONE if another worker has failed; its own message has the reason. */
dt_status *dt_cluster_agree(dt_cluster *c, const char *of, dt_status *s) DT_MUST_USE;

#endif
