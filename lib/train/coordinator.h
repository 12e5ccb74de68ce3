/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training with a parameter server. This process is the coordinator: it has the weights, and a step
 * of the run is one update by the gradients of one closure, which is the batch of that number.
 * Workers are processes that compute such gradients. `fit` therefore stays what it is: position,
 * checkpoints, history, callbacks and signals belong to the coordinator.
 *
 * Closures of a window are given out freely, and a window ends wherever the run needs to know that
 * exactly the first n batches have been applied: at the end of an epoch, at a checkpoint, and where
 * a signal asks for one.
 */
#ifndef DT_TRAIN_COORDINATOR_H
#define DT_TRAIN_COORDINATOR_H

#include "strategy/worker_pool.h"
#include "strategy/packed_variables.h"
#include "train/run.h"
#include "train/trainer.h"

/* The head of the gradients that a worker sends; `sums` sums follow it. */
typedef struct dt_push_report {
    int64_t rows, sums;
    double loss, waited_s, seconds, spent_s[DT_SPENT_KINDS];
} dt_push_report;

typedef struct dt_coordinated {
    run *r;
    dt_trainer *trainer;
    dt_arena *arena;
    dt_packed_variables packed;
    dt_halves halves, gathering; /* of the update, and of gradients that wait for others */
    dt_sent *sent;               /* [n_variables] */
    /* the model's weights, then the number of accumulated examples, if gradients are */
    dt_variable **variable;
    int n_variables;
    dt_feed *batches; /* by number; opened before workers are forked, which share what was read */
    dt_worker_pool *pool;
    int64_t reported_step;         /* of the last event about workers */
    dt_view *argument, *no_result; /* of the update */
    /* in a worker: the batch of its closure, with room for the row numbers that it looks up, and
     * the sums of its metrics */
    dt_batch batch;
    dt_view *numbers; /* [results of the trainer's numbers] */
    dt_sums sums;
} dt_coordinated;

/* closure_worker.c: what a worker computes. */
dt_worker_body dt_closure_body(dt_coordinated *c);

/* coordinator.c */
/* Does nothing without a parameter server. It may fork workers, so call it before threads start. */
dt_status *dt_coordinated_open(run *r) DT_MUST_USE;
/* Whether this process is a worker of a coordinator elsewhere, or waits for its end. */
bool dt_coordinated_is_worker(const run *r);
dt_status *dt_coordinated_work(run *r) DT_MUST_USE;
void dt_coordinated_close(run *r);
/* Waits for the next update and makes it. *batch says what it was computed from, without values. */
dt_status *dt_coordinated_step(run *r, dt_batch *batch, double *loss) DT_MUST_USE;
/* Emits an event with the numbers of workers and batches since the run began. */
void dt_coordinated_report(run *r);
/* Whether all batches before the run's position have been applied, and none after it. */
bool dt_coordinated_rests(const run *r);
/* Gives out no more batches; dt_coordinated_rests is true when those given out are applied. */
void dt_coordinated_drain(const run *r);

#endif
