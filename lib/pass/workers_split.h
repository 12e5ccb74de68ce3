/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the program of one of several workers that share a batch (workers_split.c). */
#ifndef DT_PASS_WORKERS_SPLIT_H
#define DT_PASS_WORKERS_SPLIT_H

#include "op/workers.h"
#include "pass/pass.h"

typedef struct dt_worker_share {
    int workers, rank;
    int32_t shards; /* number of shards of the batch, at least one for each worker */
    /* a worker with one shard may add its rows in any order, since the bits of single shards are
     * not needed */
    bool plain;
    int64_t batch; /* number of rows of the batch, those of all workers together */
    /* the number of replicas of each worker, whose rows are those of its replicas. Values that
     * differ between replicas, and results with rows, are then allowed, too. 0: rows are divided by
     * shards only */
    int replicas;
} dt_worker_share;

/* Rewrites g, a folded graph, for the rows of one worker. B then counts only these. Sums over the
 * batch are those of dt_shards. Fails with NOT_YET, naming the layer and the op, if rows of several
 * workers are combined in any other way than in a sum, or if a result has rows and share->replicas
 * is 0, and with REPLICAS if there are fewer shards than workers. */
dt_status *dt_workers_split(const dt_graph *g, const dt_worker_share *share,
                            dt_graph **out) DT_MUST_USE;

/* ---- dividing updates ---- */

/* The variables that hold this worker's rows of divided variables. `of` returns the one for a whole
 * variable (type: dt_worker_rows_type), or NULL if that variable is not divided. */
typedef struct dt_worker_parts {
    dt_variable *(*of)(void *user, dt_variable *whole);
    void *user;
} dt_worker_parts;
/* Makes a worker's program, in which variables that hold the worker's rows replace divided
 * states. */
dt_status *dt_workers_divide(const dt_graph *g, const dt_worker_share *share,
                             const dt_worker_parts *parts, dt_graph **out) DT_MUST_USE;

#endif
