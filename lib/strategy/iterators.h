/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributed data sets and iterators: distribute.c makes data sets, iterate.c reads them, and
 * position.c saves and restores positions. A distributed data set has one pipeline for each worker.
 * A step takes pieces from all of them, one piece per replica:
 *
 *     worker 0:  p0 p1 | p2 p3 | ...        2 replicas for each of 2 workers; replicas are numbered
 *     worker 1:  p0 p1 | p2                 worker by worker
 *
 * A replica without a piece gets 0 rows, so that all replicas take part in every step. If all
 * shapes are known, pieces with 0 rows are impossible, so incomplete steps are left out; endless
 * data has no incomplete steps. What counts is whether the shapes of the caller's data set are
 * known. A job's data set is one pipeline, whose pieces are whole steps (dt_example.whole).
 */
#ifndef DT_STRATEGY_ITERATORS_H
#define DT_STRATEGY_ITERATORS_H

#include "data/pipeline/pipe.h"
#include "strategy/position.h"
#include "strategy/values.h"

struct dt_dist_dataset {
    int refs;
    dt_strategy *strategy;
    int workers;
    /* [workers] pieces that a step takes from each worker: one per replica; 1 for a job's data
     * set */
    int *pieces;
    dt_pipe **pipe; /* [workers] references */
    /* all shapes are known, or the data is endless: a step that lacks a piece is the end of the
     * data */
    bool full_steps;
    dt_str decision;     /* description of how auto-sharding divided the data */
    int64_t epoch;       /* number of the next iteration */
    dt_iterator *newest; /* not counted; NULL: it was released */
    /* the next iterator, already at a restored position; NULL: it starts at the beginning */
    dt_iterator *pending;
    bool tracked; /* iterators keep their last batch, for digests in checkpoints */
};

struct dt_iterator {
    int refs;
    dt_dist_dataset *of;  /* NULL: iterates over a plain pipeline */
    dt_dataset *from;     /* the plain pipeline; otherwise NULL */
    int n;                /* number of cursors: one for each worker */
    dt_cursor **cursor;   /* [n] */
    int64_t epoch, steps; /* number of this iteration of the data set; number of batches read */
    bool ended, tracked;
    int n_last;
    dt_tensor **last; /* [n_last] tensors of the last batch, if it is kept */
};

/* Makes a list with one tensor for each component of an example, under the component's name. */
dt_status *dt_values_of_example(const dt_example_spec *spec, const dt_example *example,
                                dt_values **out) DT_MUST_USE;
/* Opens the cursors of a new iterator, after the first `steps` steps. */
dt_status *dt_iterator_open(dt_iterator *it, int64_t steps) DT_MUST_USE;
/* Reads the next batch. *batch NULL: the end. */
dt_status *dt_iterator_read(dt_iterator *it, dt_values **batch) DT_MUST_USE;
/* Closes the cursors and releases the last batch. */
void dt_iterator_close(dt_iterator *it);

#endif
