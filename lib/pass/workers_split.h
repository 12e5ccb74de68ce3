/* SPDX-License-Identifier: Apache-2.0 */
/* The program of one worker, of several that share a batch: see workers_split.c. */
#ifndef DT_PASS_WORKERS_SPLIT_H
#define DT_PASS_WORKERS_SPLIT_H

#include "op/workers.h"
#include "pass/pass.h"

typedef struct dt_worker_share {
    int workers, rank;
    int32_t shards; /* V, at least as many as workers */
    /* a worker with one shard may add its rows in any order, since the bits of single shards are
     * not needed */
    bool plain;
    int64_t batch; /* rows of all workers */
    /* the number of replicas of each worker, whose rows are those of its replicas. Values that
     * differ between replicas, and results with rows, are then allowed, too. 0: rows are divided by
     * shards only */
    int replicas;
} dt_worker_share;

/* Rewrites g, a folded graph, for the rows of one worker, which B counts then. Sums over the batch
 * are those of dt_shards. NOT_YET, naming the layer and the op, if rows of several workers are
 * combined in any other way than in a sum. */
dt_status *dt_workers_split(const dt_graph *g, const dt_worker_share *share,
                            dt_graph **out) DT_MUST_USE;

/* ---- workers_divide.c ---- */

/* Finds the variable with this worker's rows of a divided variable (dt_worker_rows_type); NULL:
 * the variable is whole. */
typedef struct dt_worker_parts {
    dt_variable *(*of)(void *user, dt_variable *whole);
    void *user;
} dt_worker_parts;
/* A worker's program, in which divided states are replaced by their parts. */
dt_status *dt_workers_divide(const dt_graph *g, const dt_worker_share *share,
                             const dt_worker_parts *parts, dt_graph **out) DT_MUST_USE;

/* ---- shards.c ---- */

/* Whether a node sums over the batch and has a form that sums over segments of it. */
bool dt_sums_batch(const dt_graph *g, const dt_node *n);
/* A node's sums over shards, (shards, ...), which replace it. */
dt_value dt_sum_shards(const dt_rewrite_call *c, int shards);

#endif
