/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributed data sets and the iterators of programs: distribute.c makes data sets, iterate.c
 * reads them, and position.c saves and restores positions. A distributed data set is a pipeline
 * whose last transformation has an input for each worker. A step takes pieces from all of them, one
 * piece per replica:
 *
 *     worker 0:  p0 p1 | p2 p3 | ...        2 replicas for each of 2 workers; replicas are numbered
 *     worker 1:  p0 p1 | p2                 worker by worker
 *
 * A replica without a piece gets 0 rows, so that all replicas take part in every step. If all
 * shapes are known, pieces with 0 rows are impossible, so incomplete steps are left out; endless
 * data has no incomplete steps. What counts is whether the shapes of the caller's data set are
 * known. The elements of a job's data set are whole steps (dt_example.offsets).
 */
#ifndef DT_STRATEGY_ITERATORS_H
#define DT_STRATEGY_ITERATORS_H

#include "data/dataset.h"
#include "strategy/position.h"
#include "strategy/values.h"

struct dt_dist_dataset {
    int refs;
    dt_strategy *strategy;
    dt_dataset *dataset; /* a reference; an example is a step */
    dt_str decision;     /* description of how auto-sharding divided the data */
    int64_t epoch;       /* number of the next iteration */
    dt_iterator *newest; /* not counted; NULL: it was released */
    /* the next iterator, already at a restored position; NULL: it starts at the beginning */
    dt_iterator *pending;
    bool tracked; /* iterators keep their last batch, for digests in checkpoints */
};

/* Makes a list with one tensor for each component of an example, under the component's name. */
dt_status *dt_values_of_example(const dt_example_spec *spec, const dt_example *example,
                                dt_values **out) DT_MUST_USE;
/* Reads the next batch. *batch NULL: the end. */
dt_status *dt_iterator_read(dt_iterator *it, dt_values **batch) DT_MUST_USE;

#endif
