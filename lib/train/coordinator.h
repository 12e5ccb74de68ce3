/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training with a parameter server. This process is the coordinator. It has the weights, and a step
 * of the run is one update by the gradients of one closure. Closure n is batch n. Workers are
 * processes that compute such gradients. `fit` works as usual: the coordinator keeps the position,
 * checkpoints and history, runs callbacks and handles signals.
 *
 * Within a window, batches may be applied in any order that closures.h allows. A window ends
 * wherever the run needs to know that exactly the first n batches have been applied: at the end of
 * an epoch, at a checkpoint, and when a signal asks for one.
 *
 * In a cluster with tasks of type ps, these have the variables: each task owns whole variables,
 * which are assigned in turn. A task updates its variables by the programs of the job, restricted
 * to them. The coordinator orders the updates, sends the state when a window begins, and gets it
 * back when the window ends:
 *
 *     coordinator ── closure ──▶ worker ── WANT, PUSH ──▶ each ps
 *                 ◀── sums ────
 *                 ──────────── SET, APPLY, GET ─────────▶ each ps
 */
#ifndef DT_TRAIN_COORDINATOR_H
#define DT_TRAIN_COORDINATOR_H

#include "strategy/worker_pool.h"
#include "strategy/packed_variables.h"
#include "train/run.h"
#include "train/trainer.h"

/* The head of what a worker sends with its gradients. `sums` sums of metrics follow it. */
typedef struct dt_push_report {
    int64_t rows, sums;
    double loss, waited_s, seconds, spent_s[DT_SPENT_KINDS];
} dt_push_report;

/* The variables of one process, and the programs that change them. */
typedef struct dt_held {
    /* [n] weights of the model; if gradients are accumulated, then also the number of
     * accumulated examples */
    dt_variable **variable;
    int n;
    dt_sent *sent; /* [n] */
    dt_packed_variables packed;
    /* halves: for the update; gathering: for accumulating gradients without an update */
    dt_halves halves, gathering;
    /* lent; gather NULL: gradients are not accumulated, and every push updates */
    dt_compiled *update, *gather;
    dt_view *argument, *no_result; /* buffers for the arguments and results of the update */
} dt_held;

/* A task of type ps. Every process of the run has one of these for each task. */
typedef struct dt_ps_task {
    dt_held held;
    dt_compiled *own[2]; /* the programs `update` and `gather`, owned */
    /* [n_state] its variables, then the others that its programs use, such as slots */
    dt_variable **state;
    int n_state;
    int64_t state_bytes;
    char name[32];             /* "parameter server 0" */
    dt_worker_link link;       /* link to the task; in the task's own process all 0 */
    dt_str request;            /* in a worker: its last request for rows */
    char *weights, *gradients; /* in a worker: buffers for messages */
} dt_ps_task;

typedef struct dt_coordinated {
    run *r;
    dt_trainer *trainer;
    dt_arena *arena;
    dt_servers_spec how;
    dt_held held; /* the coordinator's variables; none if tasks of type ps have them */
    dt_ps_task *ps;
    int n_ps; /* number of tasks of type ps; 0: the coordinator has all variables */
    bool failed;
    /* Reads batches by number. Opened before workers are forked, so that they share what was
     * read. */
    dt_feed *batches;
    dt_worker_pool_spec spec; /* for opening the pool */
    dt_worker_pool *pool;
    int64_t reported_step; /* step of the last event about workers */
    /* In a worker: the batch of its closure, the row numbers that it looks up, and the sums of
     * its metrics. */
    dt_batch batch;
    dt_view *numbers; /* [results of trainer->numbers] */
    dt_sums sums;
} dt_coordinated;

/* closure_worker.c: the functions that a worker of this run computes with. */
dt_worker_body dt_closure_body(dt_coordinated *c);

/* parameter_server.c: runs this process as the task `own` of type ps, until the coordinator ends
 * it. */
dt_status *dt_ps_serve(dt_coordinated *c, dt_ps_task *own) DT_MUST_USE;

/* parameter_links.c: connects the coordinator or a worker with the tasks of type ps. */
dt_status *dt_ps_connect(dt_coordinated *c) DT_MUST_USE;
/* Closes these links. well: tells the tasks to end; otherwise they find their link closed and
 * report that the coordinator is gone. */
void dt_ps_close(dt_coordinated *c, bool well);
/* Sets *into to the memory of n bytes of the task's state, at offset `at`. False: these bytes do
 * not lie within one variable. */
bool dt_ps_state_at(const dt_ps_task *t, int64_t at, int64_t n, char **into) DT_MUST_USE;
/* Calls `send` for each piece of the task's state, in order. at: offset of the piece. */
typedef dt_status *(*dt_ps_piece)(void *user, int64_t at, const char *bytes, int64_t n);
dt_status *dt_ps_each_piece(const dt_ps_task *t, dt_ps_piece send, void *user) DT_MUST_USE;
/* For the coordinator. dt_ps_set sends the tasks their state, which has seen `version` updates;
 * dt_ps_get reads it back; dt_ps_apply orders an update by the gradients of a batch. */
dt_status *dt_ps_set(dt_coordinated *c, int64_t version) DT_MUST_USE;
dt_status *dt_ps_get(dt_coordinated *c) DT_MUST_USE;
typedef struct dt_ps_order {
    /* worker: the one whose push to apply; last: update, instead of only accumulating */
    int64_t worker, last;
} dt_ps_order;
dt_status *dt_ps_apply(dt_coordinated *c, int64_t number, const dt_ps_order *order) DT_MUST_USE;
/* For a worker. dt_ps_pull gets the variables for its batch. dt_ps_push sends the gradients, and
 * waits until all tasks have confirmed them. */
dt_status *dt_ps_pull(dt_coordinated *c, const dt_frame *work) DT_MUST_USE;
dt_status *dt_ps_push(dt_coordinated *c, const dt_frame *work) DT_MUST_USE;

/* coordinator.c: opens the worker pool. Does nothing without a parameter server. It may fork
 * workers, so call it before threads start. */
dt_status *dt_coordinated_open(run *r) DT_MUST_USE;
/* Whether this process is not the coordinator, but a worker or a task of type ps that was
 * started separately. Such a process calls dt_coordinated_work, which returns when the
 * coordinator ends. */
bool dt_coordinated_is_worker(const run *r);
dt_status *dt_coordinated_work(run *r) DT_MUST_USE;
void dt_coordinated_close(run *r);
/* Waits for the next push and applies it. Fills *batch with the number, rows and times of its
 * batch, but no values. */
dt_status *dt_coordinated_step(run *r, dt_batch *batch, double *loss) DT_MUST_USE;
/* Emits an event with the numbers of workers and batches since the run began. */
void dt_coordinated_report(run *r);
/* Gets the variables from tasks of type ps, if they have newer ones, so that they can be read
 * within an epoch. */
dt_status *dt_coordinated_fetch(run *r) DT_MUST_USE;
/* Whether the window has ended: exactly the batches before the run's position have been applied. */
bool dt_coordinated_rests(const run *r);
/* Stops giving out batches. dt_coordinated_rests becomes true when those given out are applied. */
void dt_coordinated_drain(const run *r);

#endif
