/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over a batch whose shards are divided among several workers, which are separate processes
 * (pass/workers_split.c). The tree of tree_sum over V shards is divided, too: each worker computes
 * the largest nodes all of whose shards it has, and the nodes of all workers are added as in the
 * whole tree.
 *
 *     shard       0 1 2 3 4 5 6 7
 *                 \_/ \_/ \_/ \_/
 *     3 workers   0 0 1 1 1 2 2 2     worker 0: the node over 0, 1    worker 1: over 2, 3 and 4
 *                                     worker 2: over 5 and 6, 7
 *
 * These ops are not in the op table, because only passes emit them, for workers' programs.
 */
#ifndef DT_OP_WORKERS_H
#define DT_OP_WORKERS_H

#include "op/op.h"

/* A worker's shards of the batch: those with the indices first to first + count - 1, of `shards`.
 * A worker with the whole batch has first 0 and count `shards`. */
typedef struct dt_shard_range {
    int32_t shards, first, count, unused;
} dt_shard_range;
/* tree_part(x), with x of (count, ...): the values of the largest tree nodes whose shards all lie
 * in the range. Entries of shape (m, rest...) yield (m, nodes * rest), scalars yield (nodes). */
extern const dt_op dt_op_tree_part; /* attributes: dt_shard_range */

typedef struct dt_tree_join_attr {
    dt_type type;
    int32_t shards, nodes;
} dt_tree_join_attr;
/* tree_join(x): the sum of the tree_part results of all workers, with the same bits on each. `eval`
 * is for a worker that has all shards. */
extern const dt_op dt_op_tree_join; /* attributes: dt_tree_join_attr */

/* A node of the tree of sums, by its index in its level. It adds the shards from index << level on,
 * at most 1 << level of them. */
typedef struct dt_tree_node {
    int32_t level, index;
} dt_tree_node;
/* enough for the nodes that dt_tree_nodes returns for any range */
enum { DT_TREE_NODES = 64 };
/* Finds the largest nodes of the tree whose shards all lie in the range, in order. Returns their
 * number. */
int dt_tree_nodes(const dt_shard_range *r, dt_tree_node out[DT_TREE_NODES]);
/* Finds the shards [*from, *to) that a node of the tree adds. */
void dt_tree_leaves(int32_t shards, dt_tree_node n, int32_t *from, int32_t *to);
/* Returns the number of leaves below the left child of a tree with n > 1 leaves: the largest power
 * of two below n. */
int64_t dt_tree_left(int64_t n);
/* Returns the range of shards of worker `rank` of `workers`. */
dt_shard_range dt_shards_of_worker(int32_t shards, int workers, int rank);
/* Returns how many nodes of the tree an op computes by adding shards (1 for tree_sum); 0: it is
 * another op. */
int dt_tree_results(const dt_node *n);
/* Returns the shards of a tree_part; NULL: the node has another op. */
const dt_shard_range *dt_shard_range_of(const dt_node *n);
bool dt_is_tree_join(const dt_node *n);

/* A value that is divided over workers: worker `rank` of `workers` has some rows of dimension 0.
 * worker_rows(x) is the rows of all workers in order, on each worker. */
typedef struct dt_worker_rows_attr {
    dt_type type;
    int32_t workers, rank;
} dt_worker_rows_attr;
extern const dt_op dt_op_worker_rows; /* attributes: dt_worker_rows_attr */
/* Returns the first row of a worker; for rank = workers, the number of all rows. */
int64_t dt_worker_rows_begin(int64_t rows, int workers, int rank);
dt_type dt_worker_rows_type(const dt_type *whole, int workers, int rank);
/* Whether the node is a tree_join or worker_rows, for which workers wait for each other. */
bool dt_is_exchange(const dt_node *n);

#endif
