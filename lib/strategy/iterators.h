/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributed data sets and the iterators of programs: distribute.c makes data sets, iterate.c
 * reads them, and saves and restores positions. A distributed data set is a pipeline whose last
 * transformation has an input for each worker. A step takes pieces from all of them, one piece per
 * replica:
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

#include "base/hash.h"
#include "data/dataset.h"
#include "strategy/strategy.h"
#include "strategy/values.h"

struct dt_dist_dataset {
    int refs;
    dt_strategy *strategy;
    dt_dataset *dataset; /* the data set, of which an example is a step; a counted reference */
    dt_str decision;     /* a text for people that says how auto-sharding has divided the data */
    int64_t epoch;       /* number of the next iteration, from 0 */
    /* the newest iterator, without a counted reference; NULL: there is none, or it was released */
    dt_iterator *newest;
    /* The next iterator, at a position that was restored. NULL: the next iterator starts at the
     * beginning. */
    dt_iterator *pending;
    bool tracked; /* whether iterators keep their last batch, for digests in checkpoints */
};

/* Makes a list with one tensor for each component of an example, under the component's name. */
dt_status *dt_values_of_example(const dt_example_spec *spec, const dt_example *example,
                                dt_values **out) DT_MUST_USE;

/*
 * Positions of iterators, for checkpoints. The description of a data set and the number of the
 * iteration determine what it returns. So a position is that number and the number of batches read.
 * To restore a position, a job's data set, or a pipeline that can make its elements in any order,
 * is opened at that batch; any other pipeline is read up to it. The last batch is then compared
 * with the saved digest. It differs if the data or the global batch has changed, or if a function
 * of the caller depends on more than its element; training could then not resume where it stopped.
 *
 * The position of a distributed data set is that of its newest iterator. If that iterator has ended
 * or was released, it is the position of `pending` or, without it, the beginning of the next
 * iteration.
 */
typedef struct dt_position {
    /* epoch: number of the iteration of the data set, from 0; steps: number of batches read in
     * it */
    int64_t epoch, steps;
    /* Whether the iterator has ended. The position of its data set is then the next iteration. */
    bool ended;
    /* The digest of the last batch; "": no batch was read, or the last one was not kept. */
    dt_digest last;
} dt_position;

dt_iterator *dt_iterator_ref(dt_iterator *it);
dt_dist_dataset *dt_dist_dataset_ref(dt_dist_dataset *d);
/* Makes an iterator, or the newest iterator of a data set and all later ones, keep their last batch
 * from now on, so that positions contain its digest. */
void dt_iterator_track(dt_iterator *it);
void dt_dist_dataset_track(dt_dist_dataset *d);
dt_position dt_iterator_position(const dt_iterator *it);
dt_position dt_dist_dataset_position(const dt_dist_dataset *d);

/* Whether the training loop no longer uses the iterator: only a checkpoint refers to it, and its
 * data set has a newer iterator. */
bool dt_iterator_is_replaced(const dt_iterator *it);

/* Opens a second iterator over the same data as `of`, at a position. The new iterator does not keep
 * `of` alive, so pass it to one of the functions below before `of` is released. Fails with
 * CHECKPOINT_DATA if the data set has no such batch, or a different one. */
dt_status *dt_iterator_open_at(dt_iterator **out, const dt_iterator *of,
                               const dt_position *p) DT_MUST_USE;
dt_status *dt_dist_dataset_open_at(dt_iterator **out, dt_dist_dataset *of,
                                   const dt_position *p) DT_MUST_USE;
/* Moves an iterator to the position of `there`. For a data set, moves its newest iterator; if that
 * has ended or was released, the next iterator will begin there. Takes ownership of `there`. */
void dt_iterator_resume(dt_iterator *it, dt_iterator *there);
void dt_dist_dataset_resume(dt_dist_dataset *d, dt_iterator *there);

#endif
