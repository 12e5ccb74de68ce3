/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of fold: fold.c and fold_values.c. */
#ifndef DT_PASS_FOLD_IMPL_H
#define DT_PASS_FOLD_IMPL_H

#include "pass/pass.h"

typedef struct dt_folder {
    const dt_graph *g;
    dt_trace *t;
    int replicas;
    const dt_replication *spread;
    bool *need, *need_sum; /* by node */
    dt_value *value, *sum; /* by node: folded, and summed over replicas */
} dt_folder;

/* Whether an input of the node has the rows of all replicas (fold_values.c). */
bool dt_fold_reads_rows(const dt_folder *f, const dt_node *n);
/* Rows in, no rows out: a sum or maximum over the batch. */
bool dt_fold_contracts_batch(const dt_folder *f, const dt_node *n);
/* The size that a get_dimension_size finds: a number, or -k for k * B. */
int64_t dt_fold_size(const dt_folder *f, const dt_node *n);
bool dt_fold_counts_rows(const dt_folder *f, const dt_node *n);

/* (R, ...): a value that is the same for every replica, repeated. */
dt_value dt_fold_stacked(dt_folder *f, dt_value x);

/* Emits node i of the folded graph: the values of all replicas, or one value if it is the same
 * for all. Its inputs have been emitted. */
dt_value dt_fold_value(dt_folder *f, int i);

#endif
