/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes which examples each replica gets in each step of an epoch, if input workers share a data
 * set by one of tf.data's sharding policies. A worker reads a stream of examples and cuts it into
 * pieces, one for each of its replicas in each step, as distributed pipelines do
 * (pipeline/worker.c):
 *
 *     auto         one stream; the pieces of a step follow one another, in the order in which one
 *                  process would read the examples
 *     data         one stream; its pieces are dealt to the workers in turn
 *     file         a stream for each worker w of W: the examples of files w, w + W, ...
 *     off, hint    a stream for each worker: all examples (a job has nowhere to put a hint)
 *
 * If each worker has its own stream, each is shuffled by itself. Everything is computed from
 * (seed, epoch, step), so a feed can begin anywhere.
 */
#ifndef DT_DATA_WORKERS_H
#define DT_DATA_WORKERS_H

#include "base/random.h"
#include "data/data.h"

/* ---- order ---- */

/*
 * The order of examples: a pure function of (seed, pass, index), so that a run can resume anywhere
 * and has to remember only three integers. An epoch is `repeat` passes over the examples. Each pass
 * has its own permutation; without reshuffle, all passes use that of the first one.
 */
typedef struct dt_order {
    uint64_t seed;
    int64_t n;      /* number of examples in a pass, at least 1 */
    int64_t repeat; /* number of passes in an epoch, at least 1 */
    bool shuffle, reshuffle;
    dt_permutation current; /* the permutation of pass `pass` */
    /* the pass that `current` belongs to; -1 if no permutation has been computed yet */
    int64_t pass;
} dt_order;

dt_order dt_order_make(uint64_t seed, int64_t n, int64_t repeat, bool shuffle, bool reshuffle);
/* Returns the index of the example at position i of an epoch, i < n * repeat. */
int64_t dt_order_at(dt_order *o, int64_t epoch, int64_t i);

/* Returns the pass over the data that position i of an epoch belongs to. Passes are counted from
 * the first epoch on, whether or not they differ in their order. */
int64_t dt_order_pass(const dt_order *o, int64_t epoch, int64_t i);

/* ---- workers ---- */

typedef enum dt_dealing { DT_DEAL_GLOBAL, DT_DEAL_DATA, DT_DEAL_FILE, DT_DEAL_ALL } dt_dealing;

typedef struct dt_workers {
    /* The caller sets these members. */
    dt_part part;
    dt_dealing dealing;
    int64_t n, replicas; /* number of workers, and number of replicas that each has */
    /* number of examples in a global batch, and number of passes in an epoch */
    int64_t batch, repeat;
    dt_last_batch last;
    bool shuffle;
    /* every batch, including the last, is divided into equal parts; only allowed if there is one
     * stream */
    bool even;
    /* dt_workers_prepare sets the members below. */
    int streams;
    int64_t *length; /* [streams] number of examples that each stream has in an epoch */
    dt_order *order; /* [streams] the order of the examples of each stream */
    int64_t files;   /* number of files; only set for DT_DEAL_FILE */
    /* first: [files + 1] index of the first example of each file; before: [files] number of
     * examples before the file in its stream */
    const int64_t *first, *before;
    int64_t steps, examples; /* number of steps in an epoch, and of examples in it */
} dt_workers;

/* Gets the way in which a policy divides examples among `workers` workers. If policy is NULL, uses
 * the spec's auto_shard_policy. Fails for an explicit `file` policy if there are too few files. */
dt_status *dt_workers_dealing(const dt_dataset *d, const char *policy, int64_t workers,
                              dt_dealing *out) DT_MUST_USE;

dt_status *dt_workers_prepare(dt_workers *x, dt_arena *arena, const dt_dataset *d) DT_MUST_USE;

/* Returns the number of rows in a step. Unless offsets is NULL, offsets[n * replicas + 1] receives
 * the first row of each replica. */
int64_t dt_workers_cut(const dt_workers *x, int64_t step, int32_t *offsets);
/* Returns the number of examples in the first `steps` steps of an epoch. */
int64_t dt_workers_fed(const dt_workers *x, int64_t steps);

/* A request for rows [from, from + count) of a step. dt_workers_deal sets the index of each example
 * in the part, and the pass over the data that it belongs to. It changes nothing in x but
 * `order`. */
typedef struct dt_dealt {
    int64_t epoch, step, from, count;
    /* [count] the index of each example in the part, and its pass over the data */
    int64_t *example, *pass;
} dt_dealt;
void dt_workers_deal(dt_workers *x, const dt_dealt *q);

#endif
