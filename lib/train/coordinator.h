/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training with a parameter server. One process is the coordinator. It has the weights, and a step
 * of the run applies the gradients of one closure or, with gradient accumulation, adds them up.
 * Closure n is batch n. Workers are processes that compute such gradients. `fit` works as usual:
 * the coordinator keeps the position, checkpoints and history, runs callbacks and handles signals.
 *
 * A window is a range of consecutive batches, which may be applied in any order that closures.h
 * allows. A window ends wherever the run needs to know that exactly the first n batches have been
 * applied: at the end of an epoch or of the run, and at a checkpoint, which a signal may ask for at
 * any time.
 *
 * In a cluster with tasks of type ps, these have the variables (strategy/parameter_tasks.h). The
 * coordinator sends the state when a window begins, and gets it back when the window ends.
 */
#ifndef DT_TRAIN_COORDINATOR_H
#define DT_TRAIN_COORDINATOR_H

#include "strategy/parameter_tasks.h"
#include "train/run.h"
#include "train/trainer.h"

typedef struct dt_coordinated {
    run *r;
    dt_trainer *trainer;
    dt_arena *arena;
    dt_servers_spec how;
    /* the variables and their programs, if the coordinator owns them; none if tasks of type ps
     * do */
    dt_parameter_store held;
    dt_ps_tasks ps;
    bool failed;
    /* Reads batches by number. This iterator is opened before workers are forked, so that they
     * share the data in memory. */
    dt_iterator *batches;
    dt_worker_pool_spec spec; /* the options with which the pool is opened */
    dt_worker_pool *pool;
    /* the run's step at the last event about workers or, before the first, at its start */
    int64_t reported_step;
    /* The following members are used in a worker only. The batch of the worker's current
     * closure: */
    dt_example batch;
    int number; /* number of this worker, from 0 */
    /* [results of trainer->numbers] numbers of the rows that the batch looks up */
    dt_view *numbers;
    dt_sums sums;
} dt_coordinated;

/* coordinator.c: opens the worker pool. Does nothing without a parameter server. It may fork
 * workers, so call it before threads start. */
dt_status *dt_coordinated_open(run *r) DT_MUST_USE;
/* Whether this process was started separately as a worker or as a task of type ps, and is not the
 * coordinator. Such a process calls dt_coordinated_work, which returns when the coordinator
 * ends. */
bool dt_coordinated_is_worker(const run *r);
dt_status *dt_coordinated_work(run *r) DT_MUST_USE;
void dt_coordinated_close(run *r);
/* Waits for the next push and applies it. Fills *batch with the epoch, step, number of rows and
 * times of its batch, but no values. */
dt_status *dt_coordinated_step(run *r, dt_example *batch, double *loss) DT_MUST_USE;
/* Emits an event with the numbers of workers and batches since the run began, at most one for each
 * step. */
void dt_coordinated_report(run *r);
/* Gets the variables from tasks of type ps, if they have newer ones, so that they can be read
 * within a window. */
dt_status *dt_coordinated_fetch(run *r) DT_MUST_USE;
/* Whether no window is open: exactly the batches before the run's position have been applied. True
 * if the run has no coordinator. */
bool dt_coordinated_rests(const run *r);
/* Stops giving out batches. dt_coordinated_rests becomes true when the batches that were given out
 * have been applied. */
void dt_coordinated_drain(const run *r);

#endif
