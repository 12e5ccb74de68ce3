/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fold: makes one program of the replicas of a memory space, over their stacked rows.
 *
 *     replica 0   (3 rows) ─┐
 *     replica 1   (3 rows) ─┼─▶  (8 rows), one product instead of three
 *     replica 2   (2 rows) ─┘
 *
 * Row-wise ops ignore the borders between replicas. A reduction over a replica's rows is made per
 * segment, (R, ...). In the most important case, all_reduce(SUM) of a sum over the batch becomes
 * one sum over all rows, even with linear ops in between. So 2,048 replicas of one row cost as much
 * as one replica of 2,048 rows.
 *
 * A backward walk marks in which form each node is needed: as its own value, as its sum over
 * replicas, or both. A forward walk emits these forms.
 *
 * Ops without a folded form (a row's number, the best row) are refused, except with one replica,
 * which has all rows.
 */
#include <string.h>

#include "op/segment.h"
#include "op/shapes.h"
#include "pass/pass.h"

/* ---- values that differ between replicas ---- */

/*
 * Finds the values that differ between replicas (varying) and those that do not (uniform).
 * Arguments with a value for each replica, variables with a copy for each, replica numbers, and all
 * that depends on these vary; other arguments and variables, constants and results of all_reduce do
 * not. Fold stores uniform values once. The analysis also finds an error that is known from
 * tf.distribute: different values are assigned to a variable that all replicas share.
 */

/* Whether a node's result differs between replicas even if its inputs do not. A size differs only
 * if it depends on the batch. */
static bool differs_by_itself(const dt_graph *g, const dt_node *n) {
    if (n->op->role != DT_ROLE_SIZE) return n->op->traits.varying;
    return g->node[n->in[0]].type.dim[((const dt_axis_attr *)n->attr)->axis] < 0;
}

static bool reads_varying(const dt_node *n, const dt_replication *spread) {
    for (int k = 0; k < n->n_in && n->op->role != DT_ROLE_SIZE; k++)
        if (spread[n->in[k]] != DT_UNIFORM) return true;
    return false;
}

static dt_replication spread_of_node(const dt_graph *g, const dt_node *n, const bool *distributed,
                                     const dt_replication *spread) {
    if (dt_type_has_batch(&n->type)) return DT_ROWS;
    if (n->op->traits.collective) return DT_UNIFORM;
    if (n->op->role == DT_ROLE_ARGUMENT) {
        const dt_index_attr *a = n->attr;
        return !distributed || distributed[a->index] ? DT_STACKED : DT_UNIFORM;
    }
    return differs_by_itself(g, n) || reads_varying(n, spread) ? DT_STACKED : DT_UNIFORM;
}

/* Sets the spread of variables. Those that have a copy for each replica differ between replicas. */
static void spread_of_states(const dt_graph *g, dt_replication *spread) {
    for (int i = 0; i < g->n_states; i++)
        spread[g->state[i].node] = g->state[i].variable->stack ? DT_STACKED : DT_UNIFORM;
}

static dt_replication *spread_all(const dt_graph *g, const bool *distributed, dt_arena *arena) {
    dt_replication *spread = dt_arena_array(arena, dt_replication, g->n_nodes);

    spread_of_states(g, spread);
    for (int i = 0; i < g->n_nodes; i++)
        if (g->node[i].op->role != DT_ROLE_STATE)
            spread[i] = spread_of_node(g, &g->node[i], distributed, spread);
    return spread;
}

static bool updates_differ(const dt_state *s, const dt_replication *spread) {
    return s->update >= 0 && !s->variable->stack && spread[s->update] != DT_UNIFORM;
}

/* Repeats until no variable is added, since a variable with copies may make the update of another
 * one differ. */
dt_status *dt_diverge_variables(const dt_graph *g, const bool *distributed, int replicas) {
    dt_local_arena arena = dt_arena_create();
    dt_status *bad = NULL;

    for (int i = 0; i < g->n_states && !bad; i++) {
        dt_variable *v = g->state[i].variable;
        if (!v->may_diverge || !updates_differ(&g->state[i], spread_all(g, distributed, arena)))
            continue;
        bad = dt_variable_diverge(v, replicas);
        i = -1;
    }
    return bad;
}

dt_status *dt_replication_of(const dt_graph *g, const bool *distributed, dt_arena *arena,
                             dt_replication **out) {
    dt_replication *spread = spread_all(g, distributed, arena);

    for (int i = 0; i < g->n_states; i++)
        if (updates_differ(&g->state[i], spread))
            return dt_fail(DT_E_VARYING_UPDATE, NULL,
                           "variable '%s' is one for all replicas, but each would assign its own "
                           "value: sum or average it with all_reduce first",
                           g->state[i].variable->path);
    *out = spread;
    return NULL;
}

/* ---- folding ---- */

typedef struct folder {
    const dt_graph *g;
    dt_trace *t;
    int replicas;
    const dt_replication *spread;
    /* [nodes] need: the value of the node on each replica is needed; need_sum: the sum of these
     * values over the replicas is needed */
    bool *need, *need_sum;
    dt_value *value, *sum; /* [nodes] value: the folded value; sum: its sum over replicas */
} folder;

/*
 * The folded form of a node's own value depends on how it is spread over replicas. ROWS remain
 * rows, STACKED values get a leading dimension R, and UNIFORM values remain a single value.
 *
 *     reads            makes rows                      makes (R, ...)
 *     rows             the op itself, if row-wise      a reduction per segment
 *     (R, ...)         to every row its replica's      the op's stacked form
 *     uniform          the op itself                   (with others) repeated R times
 */

/* ---- what an op does to rows ---- */

static bool reads_rows(const folder *f, const dt_node *n) {
    for (int k = 0; k < n->n_in; k++)
        if (f->spread[n->in[k]] == DT_ROWS) return true;
    return false;
}

/* Whether the node has rows as input but not as result, and its op can be computed for each segment
 * of rows, such as a sum or maximum over the batch. */
static bool contracts_batch(const folder *f, const dt_node *n) {
    return !dt_type_has_batch(&n->type) && n->op->segment && reads_rows(f, n);
}

/* Returns the size that the node, a get_dimension_size, computes: a number, or -k for k * B. */
static int64_t size_of(const folder *f, const dt_node *n) {
    return f->g->node[n->in[0]].type.dim[((const dt_axis_attr *)n->attr)->axis];
}

static bool counts_rows(const folder *f, const dt_node *n) {
    return n->op->role == DT_ROLE_SIZE && size_of(f, n) < 0;
}

/* Whether row i of the result depends only on row i of each input that is rows: the op's rule
 * splits dimension 0 of these inputs and of the result together. */
static bool is_row_wise(const folder *f, const dt_node *n) {
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

static dt_value refuse(folder *f, const dt_node *n) {
    dt_trace_fail(f->t, dt_fail(DT_E_CANNOT_FOLD, NULL, "%s cannot be folded over replicas here",
                                n->op->name));
    return (dt_value){0};
}

/* Removes the dimension that counts replicas from x, if it has one. With one replica its size is
 * 1. */
static dt_value without_replica(const folder *f, int node, dt_value x) {
    const dt_type *own = &f->g->node[node].type;
    return f->spread[node] == DT_STACKED ? dt_reshape(x, own->rank, own->dim) : x;
}

/* Emits node i unchanged, apart from the dimension of size 1 that counts replicas. This is possible
 * with a single replica, which has all rows. Fails with CANNOT_FOLD if there are several, or if the
 * node has DT_MAX_RANK dimensions. */
static dt_value emit_alone(folder *f, int i) {
    const dt_node *n = &f->g->node[i];
    dt_value in[DT_MAX_IN];

    if (f->replicas > 1 || n->type.rank == DT_MAX_RANK) return refuse(f, n);
    for (int k = 0; k < n->n_in; k++) in[k] = without_replica(f, n->in[k], f->value[n->in[k]]);
    dt_value y = dt_emit(f->t, n->op, in, n->n_in, n->attr);
    dt_type type = dt_stack_type(1, &n->type);
    return f->spread[i] == DT_STACKED ? dt_reshape(y, type.rank, type.dim) : y;
}

/* Repeats a value that is the same for every replica: (...) to (R, ...). */
static dt_value stacked_of(folder *f, dt_value x) {
    dt_type from = dt_type_of_value(x), to = dt_stack_type(f->replicas, &from);
    int8_t dims[DT_MAX_RANK];

    for (int d = 0; d < DT_MAX_RANK; d++) dims[d] = (int8_t)(d + 1);
    return dt_broadcast_in_dim(x, &to, dims);
}

static dt_value emit_stacked(folder *f, int i, dt_value *in) {
    const dt_node *n = &f->g->node[i];

    for (int k = 0; k < n->n_in; k++)
        if (f->g->node[n->in[k]].type.rank == DT_MAX_RANK)
            return refuse(f, n); /* the rank is at its limit: no leading dimension can be added */
    for (int k = 0; k < n->n_in; k++)
        if (f->spread[n->in[k]] == DT_UNIFORM) in[k] = stacked_of(f, in[k]);
    if (dt_is_elementwise(n->op)) return dt_emit(f->t, n->op, in, n->n_in, n->attr);
    if (n->op->stack && n->type.rank < DT_MAX_RANK)
        return n->op->stack(&(dt_fold_call){
            .trace = f->t, .node = n, .in = in, .segments = f->replicas, .cut = DT_CUT_REPLICAS});
    return emit_alone(f, i);
}

/* Repeats each replica's entry for its rows: (R, ...) to (rows, ...), where `rows` is B or k *
 * B. */
static dt_value spread_over_rows(folder *f, dt_value x, int64_t rows) {
    dt_segment_attr a = dt_segment_attr_of(DT_CUT_REPLICAS, f->replicas);

    a.type = dt_type_of_value(x);
    a.type.dim[0] = rows;
    return dt_emit(f->t, &dt_op_segment_broadcast, &x, 1, &a);
}

/* Emits the broadcast of a per-replica value along the replica's rows: (R, ...) to (B, ...), then
 * to the shape of the node. */
static dt_value emit_broadcast(folder *f, const dt_node *n, dt_value x) {
    const dt_broadcast_attr *a = n->attr;
    dt_type from = dt_type_of_value(x), kept = dt_type_of(from.dtype, 1, from.dim);
    int8_t dims[DT_MAX_RANK] = {0};

    for (int d = 1; d < from.rank; d++)
        /* keeps dimensions that do not become the rows; one that does has size 1 and is dropped,
         * since the replica's dimension is repeated along the rows instead */
        if (a->dims[d - 1] > 0) {
            kept.dim[kept.rank] = from.dim[d];
            dims[kept.rank++] = a->dims[d - 1];
        }
    return dt_broadcast_in_dim(
        spread_over_rows(f, dt_reshape(x, kept.rank, kept.dim), n->type.dim[0]), &n->type, dims);
}

/* Emits a product of rows and a table that differs between replicas: each row is multiplied by its
 * replica's table. */
static dt_value emit_row_products(folder *f, const dt_node *n, const dt_value *in) {
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

static dt_value emit_rows(folder *f, int i, const dt_value *in) {
    const dt_node *n = &f->g->node[i];
    bool stacked_in = false;

    for (int k = 0; k < n->n_in; k++) stacked_in |= f->spread[n->in[k]] == DT_STACKED;
    if (!stacked_in && is_row_wise(f, n)) return dt_emit(f->t, n->op, in, n->n_in, n->attr);
    if (stacked_in && f->replicas > 1 && dt_dot_of(n) && dt_dot_of(n)->n_batch == 0)
        return emit_row_products(f, n, in);
    if (stacked_in && n->op->role == DT_ROLE_REPEAT) return emit_broadcast(f, n, in[0]);
    return emit_alone(f, i);
}

static dt_value emit_segments(folder *f, int i, const dt_value *in) {
    const dt_node *n = &f->g->node[i];

    for (int k = 0; k < n->n_in; k++)
        if (f->spread[n->in[k]] != DT_ROWS) return emit_alone(f, i);
    return n->op->segment(&(dt_fold_call){
        .trace = f->t, .node = n, .in = in, .segments = f->replicas, .cut = DT_CUT_REPLICAS});
}

static dt_value replica_numbers(folder *f) {
    dt_type type = dt_type_of(DT_INT32, 1, (int64_t[]){f->replicas});
    return dt_iota(f->t, &type, 0);
}

/* Emits the index of each example in the global batch: 0, 1, ... over the rows of all replicas. */
static dt_value example_numbers(folder *f, const dt_node *n) { return dt_iota(f->t, &n->type, 0); }

/* Emits the number of rows of each replica, if an example has `each` rows. */
static dt_value rows_per_replica(folder *f, int64_t each) {
    const dt_segment_attr a = dt_segment_attr_of(DT_CUT_REPLICAS, f->replicas);
    dt_value n = dt_emit(f->t, &dt_op_segment_sizes, NULL, 0, &a);
    return each == 1 ? n : dt_multiply(n, dt_like(n, (double)each));
}

/* Emits node i of the folded graph: the values of all replicas, or one value if it is the same
 * for all. Its inputs have been emitted. */
static dt_value fold_value(folder *f, int i) {
    const dt_node *n = &f->g->node[i];
    dt_value in[DT_MAX_IN];

    for (int k = 0; k < n->n_in; k++) in[k] = f->value[n->in[k]];
    if (n->op == &dt_op_replica_id) return replica_numbers(f);
    if (n->op == &dt_op_example_id) return example_numbers(f, n);
    if (n->op->role == DT_ROLE_SIZE)
        return counts_rows(f, n) ? rows_per_replica(f, -size_of(f, n))
                                 : dt_scalar(f->t, DT_INT32, (double)size_of(f, n));
    if (f->spread[i] == DT_UNIFORM) return dt_emit(f->t, n->op, in, n->n_in, n->attr);
    if (f->spread[i] == DT_ROWS) return emit_rows(f, i, in);
    if (contracts_batch(f, n)) return emit_segments(f, i, in);
    return reads_rows(f, n) ? emit_alone(f, i) : emit_stacked(f, i, in);
}

/* Whether the node sums over rows, so that the sum over replicas of its results is one sum over
 * all rows. A maximum is not such a node. */
static bool sums_batch(const folder *f, const dt_node *n) {
    return dt_reduce_kind_of(n) == DT_REDUCE_SUM && contracts_batch(f, n);
}

/* ---- backward: what is needed ---- */

static void need_inputs(folder *f, const dt_node *n) {
    for (int k = 0; k < n->n_in; k++) f->need[n->in[k]] = true;
}

/* Whether the op is linear in an input. Padding with 0, the gradient of a slice, is; padding with
 * another value is not. So is a conversion between floats, although to float16 or bfloat16 it
 * rounds: it then comes after the sum over replicas, so that a gradient is rounded once for any
 * number of replicas. */
static bool is_linear_in(const folder *f, const dt_node *n, int input) {
    bool now = n->op->linear_when && n->op->linear_when(n->attr, &f->g->node[n->in[0]].type);
    return now || n->op->linear >> input & 1;
}

/* Returns the index of the only input that differs between replicas, if the op is linear in it and
 * the result is a floating-point number. The sum over replicas may then be taken of this input.
 * Returns -1 if there is no such input. */
static int linear_input(const folder *f, const dt_node *n) {
    int varying = -1;

    for (int k = 0; k < n->n_in; k++)
        if (f->spread[n->in[k]] != DT_UNIFORM) {
            if (varying >= 0) return -1;
            varying = k;
        }
    /* false for integers, whose division has a remainder */
    bool exact = dt_dtype_is_float(n->type.dtype);
    return varying >= 0 && exact && is_linear_in(f, n, varying) ? varying : -1;
}

static void need_sum(folder *f, int i) {
    const dt_node *n = &f->g->node[i];
    int through = linear_input(f, n);

    if (f->spread[i] == DT_UNIFORM) {
        f->need[i] = true;
    } else if (sums_batch(f, n) || counts_rows(f, n)) {
        need_inputs(f, n);
    } else if (through >= 0) {
        for (int k = 0; k < n->n_in; k++) (k == through ? f->need_sum : f->need)[n->in[k]] = true;
    } else if (n->op->traits.additive) {
        for (int k = 0; k < n->n_in; k++) f->need_sum[n->in[k]] = true;
    } else {
        f->need[i] = true;
    }
}

static void mark_needs(folder *f) {
    const dt_graph *g = f->g;

    for (int i = 0; i < g->n_results; i++) f->need[g->result[i].node] = true;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) f->need[g->state[i].update] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const dt_node *n = &g->node[i];
        if (f->need_sum[i]) need_sum(f, i);
        if (!f->need[i]) continue;
        if (n->op->traits.collective) f->need_sum[n->in[0]] = true;
        else need_inputs(f, n);
    }
}

/* ---- forward: sums over replicas ---- */

static dt_value reduce_stacked(dt_value x) { return dt_reduce(x, DT_REDUCE_SUM, 1u); }

static dt_value sum_node(folder *f, int i) {
    const dt_node *n = &f->g->node[i];
    int through = linear_input(f, n);
    bool over_rows = sums_batch(f, n) || counts_rows(f, n);
    dt_value in[DT_MAX_IN];

    if (f->spread[i] == DT_UNIFORM)
        return dt_multiply(f->value[i], dt_like(f->value[i], f->replicas));
    if (!over_rows && through < 0 && !n->op->traits.additive) return reduce_stacked(f->value[i]);
    for (int k = 0; k < n->n_in; k++)
        in[k] = !over_rows && (k == through || n->op->traits.additive) ? f->sum[n->in[k]]
                                                                       : f->value[n->in[k]];
    /* emits the op itself, over all rows or over sums */
    return dt_emit(f->t, n->op, in, n->n_in, n->attr);
}

static dt_value all_reduce(folder *f, const dt_node *n) {
    const dt_all_reduce_attr *a = n->attr;
    dt_value sum = f->sum[n->in[0]];

    if (a->op == DT_SUM) return sum;
    if (f->spread[n->in[0]] == DT_UNIFORM) return f->value[n->in[0]];
    /* the sum is converted first, because the mean of integers may be a fraction */
    dt_value total = dt_convert(sum, n->type.dtype);
    return dt_divide(total, dt_like(total, f->replicas));
}

/* ---- the pass ---- */

static dt_variable *folded_variable(const dt_state *s) {
    return s->variable->stack ? s->variable->stack : s->variable;
}

static void declare_arguments(folder *f) {
    for (int i = 0; i < f->g->n_args; i++) {
        int node = f->g->arg[i].node;
        const dt_type *own = &f->g->node[node].type;
        dt_type type = f->spread[node] == DT_STACKED ? dt_stack_type(f->replicas, own) : *own;
        if (type.rank > DT_MAX_RANK)
            dt_trace_fail(
                f->t, dt_fail(DT_E_CANNOT_FOLD, NULL,
                              "the argument '%s' has too many dimensions to add one for replicas",
                              f->g->arg[i].name));
        f->value[node] = dt_trace_declare(f->t, f->g->arg[i].name, &type);
    }
    for (int i = 0; i < f->g->n_states; i++)
        f->value[f->g->state[i].node] = dt_read(f->t, folded_variable(&f->g->state[i]));
}

/* Emits the new value of a variable. If each replica has a copy, a value that is the same for all
 * is assigned to each copy. */
static dt_value folded_update(folder *f, const dt_state *s) {
    dt_value x = f->value[s->update];
    return s->variable->stack && f->spread[s->update] == DT_UNIFORM ? stacked_of(f, x) : x;
}

static void export_all(folder *f) {
    for (int i = 0; i < f->g->n_results; i++)
        dt_return(f->t, f->g->result[i].name, f->value[f->g->result[i].node]);
    for (int i = 0; i < f->g->n_states; i++)
        if (f->g->state[i].update >= 0)
            dt_assign(f->t, folded_variable(&f->g->state[i]), folded_update(f, &f->g->state[i]));
}

static void emit_nodes(folder *f) {
    for (int i = 0; i < f->g->n_nodes; i++) {
        const dt_node *n = &f->g->node[i];
        const char *path = dt_trace_path(f->t, n->path);
        if (f->need[i] && !f->value[i].trace)
            f->value[i] = n->op->traits.collective ? all_reduce(f, n) : fold_value(f, i);
        if (f->need_sum[i]) f->sum[i] = sum_node(f, i);
        dt_trace_path(f->t, path);
    }
    export_all(f);
}

static void note_spreads(const folder *f, dt_folded *out) {
    out->arg = dt_arena_array(out->graph->arena, dt_replication, f->g->n_args);
    out->result = dt_arena_array(out->graph->arena, dt_replication, f->g->n_results);
    for (int i = 0; i < f->g->n_args; i++) out->arg[i] = f->spread[f->g->arg[i].node];
    for (int i = 0; i < f->g->n_results; i++) out->result[i] = f->spread[f->g->result[i].node];
    out->replicas = f->replicas;
}

dt_status *dt_fold(const dt_graph *g, const bool *distributed, int replicas, dt_folded *out) {
    dt_local_arena arena = dt_arena_create();
    dt_replication *spread = NULL;
    dt_status *s = dt_replication_of(g, distributed, arena, &spread);
    folder f = {.g = g, .replicas = replicas, .spread = spread};

    *out = (dt_folded){0};
    if (!s) {
        f.t = dt_trace_create(g->name);
        f.need = dt_arena_array(arena, bool, g->n_nodes);
        f.need_sum = dt_arena_array(arena, bool, g->n_nodes);
        f.value = dt_arena_array(arena, dt_value, g->n_nodes);
        f.sum = dt_arena_array(arena, dt_value, g->n_nodes);
        mark_needs(&f);
        declare_arguments(&f);
        emit_nodes(&f);
        s = dt_trace_end(f.t, &out->graph);
    }
    if (!s) note_spreads(&f, out);
    return s;
}
