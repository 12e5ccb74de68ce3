/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults to be injected into a run (`fit --inject`), so that users can rehearse failures.
 *
 *     kill:core=5@step=120          a core of the slice stops in step 120, and with it the run:
 *                                   exit code 69
 *     slow-link:x=1,y=2@step=50*4   from step 50, links of that chip take 4 times the virtual time
 *     nan@step=7                    a weight is not a number as step 7 begins
 *     flip:worker=1@step=7          a bit of a weight of that worker flips as step 7 begins
 *     hbm=8GiB                      what programs get of a device's memory
 *
 * An injected fault leaves the same files as a real one. The same command without the fault resumes
 * the run, which then ends with the same weights as if the fault had not happened, unless the
 * checkpoint has a flipped bit.
 */
#ifndef DT_TRAIN_FAULTS_H
#define DT_TRAIN_FAULTS_H

#include "base/arena.h"
#include "base/status.h"
#include "cost/plan.h"

typedef enum dt_fault_kind {
    DT_FAULT_KILL,
    DT_FAULT_SLOW_LINK,
    DT_FAULT_NAN,
    DT_FAULT_FLIP,
    DT_FAULT_HBM
} dt_fault_kind;

typedef struct dt_fault {
    dt_fault_kind kind;
    const char *text; /* the fault as the user wrote it */
    int64_t core, worker, x, y, z;
    /* the step, counted from 1, at which the fault happens or, for slow-link, begins; 0 for hbm */
    int64_t step;
    double times;
    int64_t bytes;
} dt_fault;

typedef struct dt_faults {
    int n;
    const dt_fault *v;
} dt_faults;

/* Reads faults from their texts. Reports all syntax errors together (INJECT), each with an example
 * of the right form. */
dt_status *dt_faults_read(dt_arena *arena, const char *const *text, int n,
                          dt_faults *out) DT_MUST_USE;
/* Checks faults against the job's slice; NULL: no slice. Fails with INJECT if a fault needs a slice
 * and there is none, or if the slice has no such core or chip. */
dt_status *dt_faults_check(const dt_faults *f, const dt_topology *slice) DT_MUST_USE;
/* Returns the smallest limit of a device's memory in bytes that a fault `hbm` sets; 0: no limit. */
int64_t dt_faults_hbm(const dt_faults *f);

struct run;
/* At a run's start: warns of each fault that will not happen in it, because of its step. */
void dt_faults_begin(const struct run *r);
/* Writes to slow[f->n] an entry for each fault slow-link that is in effect in a step. Returns their
 * number, which never falls from one step to the next. */
int dt_faults_slow_links(const dt_faults *f, int64_t step, dt_slow_links *slow);
/* Adds to an error, as notes, the faults `nan` that were injected so far, since they may be its
 * cause. Returns s. */
dt_status *dt_faults_note(const struct run *r, dt_status *s) DT_MUST_USE;

#endif
