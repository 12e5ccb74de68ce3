/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observers: whatever looks at the steps of a run besides training it. One file in
 * lib/train/observe (callbacks have theirs in lib/train) and one row in observers.h each. fit.c
 * calls them at four moments, in the order of the rows:
 *
 *     [ before_step ── training ── step ── (end of the epoch) ── settled ── (due: checkpoint ── saved) ]*
 */
#ifndef DT_TRAIN_OBSERVER_H
#define DT_TRAIN_OBSERVER_H

#include "train/run.h"

/* A step that is done; r->at stands behind it. */
typedef struct dt_step_done {
    const dt_batch *batch;
    double loss;    /* before the step's update */
    double seconds; /* waiting for the batch included */
} dt_step_done;

/* Hooks that are NULL have nothing to do; an error ends the run. */
typedef struct dt_observer {
    dt_status *(*before_step)(run *r, int64_t step); /* the number of the step, from 1 */
    dt_status *(*step)(run *r, const dt_step_done *done);
    dt_status *(*settled)(run *r); /* after the end of an epoch, if the step ended one */
    dt_status *(*saved)(run *r);   /* r->checkpoint is new */
} dt_observer;

#define DT_OBSERVER(name) extern const dt_observer dt_observer_##name;
#include "train/observers.h"
#undef DT_OBSERVER

dt_status *dt_observers_before_step(run *r, int64_t step) DT_MUST_USE;
dt_status *dt_observers_step(run *r, const dt_step_done *done) DT_MUST_USE;
dt_status *dt_observers_settled(run *r) DT_MUST_USE;
dt_status *dt_observers_saved(run *r) DT_MUST_USE;

#endif
