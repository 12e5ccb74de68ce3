/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which examples each replica gets in each step of an epoch, where input workers share a data set
 * of examples by a policy of tf.data. A worker reads a stream of examples and cuts it into pieces,
 * one for each of its replicas in each step, as distributed pipelines do (pipeline/worker.c):
 *
 *     global   one stream; the pieces of a step follow one another               auto: the order of one process
 *     data     one stream; its pieces are dealt to the workers in turn
 *     file     a stream for each worker: the examples of files w, w + W, ...
 *     off      a stream for each worker: all examples                            hint, too: examples have no place for a hint
 *
 * A worker with a stream of its own permutes it by itself. All is computed from numbers, so a feed
 * can begin anywhere.
 */
#ifndef DT_DATA_WORKERS_H
#define DT_DATA_WORKERS_H

#include "data/data.h"
#include "data/order.h"

typedef enum dt_dealing { DT_DEAL_GLOBAL, DT_DEAL_DATA, DT_DEAL_FILE, DT_DEAL_ALL } dt_dealing;

typedef struct dt_workers {
    dt_dealing dealing;
    int64_t n, replicas; /* workers, and replicas of each */
    int64_t batch;       /* global */
    bool even;           /* a batch in equal parts, the last one, too; with one stream only */
    int streams;
    int64_t *length; /* [streams] examples of an epoch */
    dt_order *order; /* [streams] */
    int64_t files;   /* with DT_DEAL_FILE: */
    /* [files + 1], [files] the first example of each, and how many stand before it in its stream */
    const int64_t *first, *before;
    int64_t steps, examples; /* of an epoch */
} dt_workers;

/* What a spec's policy, or `policy` where that is not NULL, comes to for so many workers. An
 * explicit `file` that they cannot follow is an error. */
dt_status *dt_workers_dealing(const dt_dataset *d, const char *policy, int64_t workers,
                              dt_dealing *out) DT_MUST_USE;

typedef struct dt_workers_options {
    dt_part part;
    dt_dealing dealing;
    int64_t workers, replicas, batch;
    int64_t repeat;
    dt_last_batch last;
    bool shuffle, even;
} dt_workers_options;
dt_status *dt_workers_make(dt_arena *arena, const dt_dataset *d, const dt_workers_options *o,
                           dt_workers *out) DT_MUST_USE;

/* Rows of a step; offsets[n * replicas + 1], unless NULL: where those of each replica begin. */
int64_t dt_workers_cut(const dt_workers *x, int64_t step, int32_t *offsets);
/* Examples of the first steps of an epoch. */
int64_t dt_workers_fed(const dt_workers *x, int64_t steps);

/* Rows [from, from + count) of a step: the examples within the part, and the passes over the data
 * that they are of. Changes `order` alone. */
typedef struct dt_dealt {
    int64_t epoch, step, from, count;
    int64_t *example, *pass; /* [count] */
} dt_dealt;
void dt_workers_deal(dt_workers *x, const dt_dealt *q);

#endif
