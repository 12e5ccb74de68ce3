/* SPDX-License-Identifier: Apache-2.0 */
/* Distributed data sets and iterators, as distribute.c makes and reads them and position.c finds
 * their place again. */
#ifndef DT_STRATEGY_ITERATORS_H
#define DT_STRATEGY_ITERATORS_H

#include "strategy/position.h"

struct dt_dist_dataset {
    int refs;
    dt_strategy *strategy;
    dt_dataset *data;   /* a job's; NULL: pipes */
    int64_t batch;      /* global; the data set's own may change for another strategy */
    int workers;        /* number of workers that share a job's data set */
    const char *policy; /* auto_shard_policy for them; NULL: the data set's own */
    bool even;
    dt_str decision;
    dt_dist_pipes *pipes;
    int64_t epoch;        /* of the next iterator */
    dt_iterator *newest;  /* not counted; NULL: it has been released */
    dt_iterator *pending; /* the next iterator, resumed; NULL: the next one starts anew */
    bool tracked;         /* iterators keep their last batch */
};

struct dt_iterator {
    int refs;
    dt_dist_dataset *of;      /* NULL: the iterator is of a plain data set */
    dt_dataset *from;         /* that plain data set */
    dt_feed *feed;            /* a job's */
    int32_t *offsets;         /* [replicas + 1] */
    dt_dist_cursors *cursors; /* pipes */
    dt_cursor *alone;         /* a plain pipeline */
    int64_t epoch, steps;     /* which iteration of the data set this is; batches taken */
    bool ended, tracked;
    int n_last;
    dt_tensor **last; /* [n_last] of the last batch, where it is kept */
};

/* Opens a feed of an epoch of a job's data set that begins with batch first_step. */
dt_status *dt_dist_dataset_feed(const dt_dist_dataset *d, int64_t epoch, int64_t first_step,
                                dt_feed **out) DT_MUST_USE;
/* The next batch; NULL: the end. */
dt_status *dt_iterator_read(dt_iterator *it, dt_values **batch) DT_MUST_USE;
/* Stops the reading threads and releases the last batch. */
void dt_iterator_close(dt_iterator *it);

#endif
