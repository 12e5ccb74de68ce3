/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folded form of a node's own value, by its spread: ROWS stay rows, STACKED ones get a leading
 * dimension R, UNIFORM ones stay one.
 *
 *     reads            makes rows                      makes (R, ...)
 *     rows             the op itself, if row-wise      a reduction per segment
 *     (R, ...)         to every row its replica's      the op's stacked form
 *     uniform          the op itself                   (with others) repeated R times
 */
#include <string.h>

#include "op/shapes.h"
#include "pass/fold_impl.h"

/* ---- what an op does to rows ---- */

bool dt_fold_reads_rows(const dt_folder *f, const dt_node *n) {
    for (int k = 0; k < n->n_in; k++)
        if (f->spread[n->in[k]] == DT_ROWS) return true;
    return false;
}

bool dt_fold_contracts_batch(const dt_folder *f, const dt_node *n) {
    return !dt_type_has_batch(&n->type) && n->op->segment && dt_fold_reads_rows(f, n);
}

int64_t dt_fold_size(const dt_folder *f, const dt_node *n) {
    return f->g->node[n->in[0]].type.dim[((const dt_axis_attr *)n->attr)->axis];
}

bool dt_fold_counts_rows(const dt_folder *f, const dt_node *n) {
    return n->op->role == DT_ROLE_SIZE && dt_fold_size(f, n) < 0;
}

/* Row i of the result comes from row i of the inputs: the rule splits dimension 0 of all of them
 * together. */
static bool is_row_wise(const dt_folder *f, const dt_node *n) {
    dt_type in[DT_MAX_IN];
    dt_rule rule;

    for (int k = 0; k < n->n_in; k++) in[k] = f->g->node[n->in[k]].type;
    dt_rule_whole(&rule);
    n->op->rule(in, &n->type, n->attr, &rule);
    if (rule.out[0] < 0) return false;
    for (int k = 0; k < n->n_in; k++)
        if (f->spread[n->in[k]] == DT_ROWS && rule.in[k][0] != rule.out[0]) return false;
    return true;
}

/* ---- values ---- */

static dt_value refuse(dt_folder *f, const dt_node *n) {
    dt_trace_fail(f->t, dt_fail(DT_E_CANNOT_FOLD, NULL, "%s cannot be folded over replicas here",
                                n->op->name));
    return (dt_value){0};
}

/* Removes the replica's dimension, of size 1, where there is one replica. */
static dt_value without_replica(const dt_folder *f, int node, dt_value x) {
    const dt_type *own = &f->g->node[node].type;
    return f->spread[node] == DT_STACKED ? dt_reshape(x, own->rank, own->dim) : x;
}

/* Emits the op unchanged: a single replica has all rows. */
static dt_value emit_alone(dt_folder *f, int i) {
    const dt_node *n = &f->g->node[i];
    dt_value in[DT_MAX_IN];

    if (f->replicas > 1 || n->type.rank == DT_MAX_RANK) return refuse(f, n);
    for (int k = 0; k < n->n_in; k++) in[k] = without_replica(f, n->in[k], f->value[n->in[k]]);
    dt_value y = dt_emit(f->t, n->op, in, n->n_in, n->attr);
    dt_type type = dt_stack_type(1, &n->type);
    return f->spread[i] == DT_STACKED ? dt_reshape(y, type.rank, type.dim) : y;
}

dt_value dt_fold_stacked(dt_folder *f, dt_value x) {
    dt_type from = dt_type_of_value(x), to = dt_stack_type(f->replicas, &from);
    int8_t dims[DT_MAX_RANK];

    for (int d = 0; d < DT_MAX_RANK; d++) dims[d] = (int8_t)(d + 1);
    return dt_broadcast_in_dim(x, &to, dims);
}

static dt_value emit_stacked(dt_folder *f, int i, dt_value *in) {
    const dt_node *n = &f->g->node[i];

    for (int k = 0; k < n->n_in; k++)
        if (f->g->node[n->in[k]].type.rank == DT_MAX_RANK)
            return refuse(f, n); /* no room for a leading dimension */
    for (int k = 0; k < n->n_in; k++)
        if (f->spread[n->in[k]] == DT_UNIFORM) in[k] = dt_fold_stacked(f, in[k]);
    if (dt_is_elementwise(n->op)) return dt_emit(f->t, n->op, in, n->n_in, n->attr);
    if (n->op->stack && n->type.rank < DT_MAX_RANK)
        return n->op->stack(&(dt_fold_call){
            .trace = f->t, .node = n, .in = in, .segments = f->replicas, .cut = DT_CUT_REPLICAS});
    return emit_alone(f, i);
}

/* Repeats each replica's entry for its rows: (R, ...) to (rows, ...), rows being B or k * B. */
static dt_value spread_over_rows(dt_folder *f, dt_value x, int64_t rows) {
    dt_segment_attr a;

    memset(&a, 0, sizeof a);
    a.cut = DT_CUT_REPLICAS;
    a.count = f->replicas;
    a.type = dt_type_of_value(x);
    a.type.dim[0] = rows;
    return dt_emit(f->t, &dt_op_segment_broadcast, &x, 1, &a);
}

/* A per-replica value broadcast along the replica's rows: (R, ...) to (B, ...), then to the shape
 * of the node. */
static dt_value emit_broadcast(dt_folder *f, const dt_node *n, dt_value x) {
    const dt_broadcast_attr *a = n->attr;
    dt_type from = dt_type_of_value(x), kept = dt_type_of(from.dtype, 1, from.dim);
    int8_t dims[DT_MAX_RANK] = {0};

    for (int d = 1; d < from.rank; d++)
        /* a dimension that becomes the rows has size 1 and is dropped, since the replica's
         * dimension is repeated along the rows instead */
        if (a->dims[d - 1] > 0) {
            kept.dim[kept.rank] = from.dim[d];
            dims[kept.rank++] = a->dims[d - 1];
        }
    return dt_broadcast_in_dim(
        spread_over_rows(f, dt_reshape(x, kept.rank, kept.dim), n->type.dim[0]), &n->type, dims);
}

/* Rows times a table that differs between replicas: a product for each row with its replica's
 * table. */
static dt_value emit_row_products(dt_folder *f, const dt_node *n, const dt_value *in) {
    dt_dot_attr a = *(const dt_dot_attr *)n->attr;
    int table = f->spread[n->in[0]] == DT_STACKED ? 0 : 1;
    int8_t *contract = table ? a.rhs_contract : a.lhs_contract;
    dt_value side[2] = {in[0], in[1]};

    side[table] = spread_over_rows(f, in[table], n->type.dim[0]);
    a.n_batch = 1;
    a.lhs_batch[0] = a.rhs_batch[0] = 0;
    for (int i = 0; i < a.n_contract; i++) contract[i]++;
    return dt_dot_general(side[0], side[1], &a);
}

static dt_value emit_rows(dt_folder *f, int i, const dt_value *in) {
    const dt_node *n = &f->g->node[i];
    bool stacked_in = false;

    for (int k = 0; k < n->n_in; k++) stacked_in |= f->spread[n->in[k]] == DT_STACKED;
    if (!stacked_in && is_row_wise(f, n)) return dt_emit(f->t, n->op, in, n->n_in, n->attr);
    if (stacked_in && f->replicas > 1 && dt_dot_of(n) && dt_dot_of(n)->n_batch == 0)
        return emit_row_products(f, n, in);
    if (stacked_in && n->op->role == DT_ROLE_REPEAT) return emit_broadcast(f, n, in[0]);
    return emit_alone(f, i);
}

static dt_value emit_segments(dt_folder *f, int i, const dt_value *in) {
    const dt_node *n = &f->g->node[i];

    for (int k = 0; k < n->n_in; k++)
        if (f->spread[n->in[k]] != DT_ROWS) return emit_alone(f, i);
    return n->op->segment(&(dt_fold_call){
        .trace = f->t, .node = n, .in = in, .segments = f->replicas, .cut = DT_CUT_REPLICAS});
}

static dt_value replica_numbers(dt_folder *f) {
    dt_type type = dt_type_of(DT_INT32, 1, (int64_t[]){f->replicas});
    return dt_iota(f->t, &type, 0);
}

/* Examples of replicas follow each other. */
static dt_value example_numbers(dt_folder *f, const dt_node *n) {
    return dt_iota(f->t, &n->type, 0);
}

/* The rows of each replica, `each` for every example. */
static dt_value rows_per_replica(dt_folder *f, int64_t each) {
    dt_value n = dt_emit(f->t, &dt_op_segment_sizes, NULL, 0,
                         &(dt_segment_attr){.cut = DT_CUT_REPLICAS, .count = f->replicas});
    return each == 1 ? n : dt_multiply(n, dt_like(n, (double)each));
}

dt_value dt_fold_value(dt_folder *f, int i) {
    const dt_node *n = &f->g->node[i];
    dt_value in[DT_MAX_IN];

    for (int k = 0; k < n->n_in; k++) in[k] = f->value[n->in[k]];
    if (n->op == &dt_op_replica_id) return replica_numbers(f);
    if (n->op == &dt_op_example_id) return example_numbers(f, n);
    if (n->op->role == DT_ROLE_SIZE)
        return dt_fold_counts_rows(f, n) ? rows_per_replica(f, -dt_fold_size(f, n))
                                         : dt_scalar(f->t, DT_INT32, (double)dt_fold_size(f, n));
    if (f->spread[i] == DT_UNIFORM) return dt_emit(f->t, n->op, in, n->n_in, n->attr);
    if (f->spread[i] == DT_ROWS) return emit_rows(f, i, in);
    if (dt_fold_contracts_batch(f, n)) return emit_segments(f, i, in);
    return dt_fold_reads_rows(f, n) ? emit_alone(f, i) : emit_stacked(f, i, in);
}
