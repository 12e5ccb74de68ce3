/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fold: the replicas of one memory space as one program over their stacked rows.
 *
 *     replica 0   (3 rows) ─┐
 *     replica 1   (3 rows) ─┼─▶  (8 rows), one product instead of three
 *     replica 2   (2 rows) ─┘
 *
 * Row-wise ops ignore the borders between replicas. A reduction over a replica's rows is made per
 * segment, (R, ...). And the case that matters most: all_reduce(SUM) of something summed over the
 * batch is one sum over all rows, whatever linear ops stand between. So 2,048 replicas of one row
 * cost what one replica of 2,048 rows does.
 *
 * A backward walk marks what each node is needed as (its own value, or its sum over replicas); a
 * forward walk emits just that.
 *
 * What has no folded form (a row's number, the best row) is refused, unless there is one replica:
 * then all rows are its own.
 */
#include "op/shapes.h"
#include "pass/fold_impl.h"

/* Whether the node sums over rows, so that the sum over replicas of its results is one sum over
 * all rows. A maximum is not such a node. */
static bool sums_batch(const dt_folder *f, const dt_node *n) {
    return dt_reduce_kind_of(n) == DT_REDUCE_SUM && dt_fold_contracts_batch(f, n);
}

/* ---- backward: what is needed ---- */

static void need_inputs(dt_folder *f, const dt_node *n) {
    for (int k = 0; k < n->n_in; k++) f->need[n->in[k]] = true;
}

/* Padding with 0, the gradient of a slice, is linear; with anything else it is not. A gradient that
 * was computed in few digits is converted after it was summed: so it is rounded once, whatever the
 * number of replicas. */
static bool is_linear_in(const dt_folder *f, const dt_node *n, int input) {
    bool now = n->op->linear_when && n->op->linear_when(n->attr, &f->g->node[n->in[0]].type);
    return now || n->op->linear >> input & 1;
}

/* The only input that differs between replicas, if the op is linear in it, so that the sum over
 * replicas may be taken of the input instead. -1: the result itself must be summed. */
static int linear_input(const dt_folder *f, const dt_node *n) {
    int varying = -1;

    for (int k = 0; k < n->n_in; k++)
        if (f->spread[n->in[k]] != DT_UNIFORM) {
            if (varying >= 0) return -1;
            varying = k;
        }
    bool exact = dt_dtype_is_float(n->type.dtype); /* integers divide with a remainder */
    return varying >= 0 && exact && is_linear_in(f, n, varying) ? varying : -1;
}

static void need_sum(dt_folder *f, int i) {
    const dt_node *n = &f->g->node[i];
    int through = linear_input(f, n);

    if (f->spread[i] == DT_UNIFORM) {
        f->need[i] = true;
    } else if (sums_batch(f, n) || dt_fold_counts_rows(f, n)) {
        need_inputs(f, n);
    } else if (through >= 0) {
        for (int k = 0; k < n->n_in; k++) (k == through ? f->need_sum : f->need)[n->in[k]] = true;
    } else if (n->op->traits.additive) {
        for (int k = 0; k < n->n_in; k++) f->need_sum[n->in[k]] = true;
    } else {
        f->need[i] = true;
    }
}

static void mark_needs(dt_folder *f) {
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

static dt_value sum_node(dt_folder *f, int i) {
    const dt_node *n = &f->g->node[i];
    int through = linear_input(f, n);
    bool over_rows = sums_batch(f, n) || dt_fold_counts_rows(f, n);
    dt_value in[DT_MAX_IN];

    if (f->spread[i] == DT_UNIFORM)
        return dt_multiply(f->value[i], dt_like(f->value[i], f->replicas));
    if (!over_rows && through < 0 && !n->op->traits.additive) return reduce_stacked(f->value[i]);
    for (int k = 0; k < n->n_in; k++)
        in[k] = !over_rows && (k == through || n->op->traits.additive) ? f->sum[n->in[k]]
                                                                       : f->value[n->in[k]];
    /* the op itself, over all rows or over sums */
    return dt_emit(f->t, n->op, in, n->n_in, n->attr);
}

static dt_value all_reduce(dt_folder *f, const dt_node *n) {
    const dt_all_reduce_attr *a = n->attr;
    dt_value sum = f->sum[n->in[0]];

    if (a->op == DT_SUM) return sum;
    if (f->spread[n->in[0]] == DT_UNIFORM) return f->value[n->in[0]];
    dt_value total = dt_convert(sum, n->type.dtype); /* the mean of integers may be a fraction */
    return dt_divide(total, dt_like(total, f->replicas));
}

/* ---- the pass ---- */

static dt_variable *folded_variable(const dt_state *s) {
    return s->variable->stack ? s->variable->stack : s->variable;
}

static void declare_arguments(dt_folder *f) {
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

/* Where each replica has a copy of the variable, a value that is the same for all is assigned to
 * each copy. */
static dt_value folded_update(dt_folder *f, const dt_state *s) {
    dt_value x = f->value[s->update];
    return s->variable->stack && f->spread[s->update] == DT_UNIFORM ? dt_fold_stacked(f, x) : x;
}

static void export_all(dt_folder *f) {
    for (int i = 0; i < f->g->n_results; i++)
        dt_return(f->t, f->g->result[i].name, f->value[f->g->result[i].node]);
    for (int i = 0; i < f->g->n_states; i++)
        if (f->g->state[i].update >= 0)
            dt_assign(f->t, folded_variable(&f->g->state[i]), folded_update(f, &f->g->state[i]));
}

static void emit_nodes(dt_folder *f) {
    for (int i = 0; i < f->g->n_nodes; i++) {
        const dt_node *n = &f->g->node[i];
        const char *path = dt_trace_path(f->t, n->path);
        if (f->need[i] && !f->value[i].trace)
            f->value[i] = n->op->traits.collective ? all_reduce(f, n) : dt_fold_value(f, i);
        if (f->need_sum[i]) f->sum[i] = sum_node(f, i);
        dt_trace_path(f->t, path);
    }
    export_all(f);
}

static void note_spreads(const dt_folder *f, dt_folded *out) {
    out->arg = dt_arena_array(out->graph->arena, dt_replication, f->g->n_args);
    out->result = dt_arena_array(out->graph->arena, dt_replication, f->g->n_results);
    for (int i = 0; i < f->g->n_args; i++) out->arg[i] = f->spread[f->g->arg[i].node];
    for (int i = 0; i < f->g->n_results; i++) out->result[i] = f->spread[f->g->result[i].node];
    out->replicas = f->replicas;
}

dt_status *dt_fold(const dt_graph *g, const bool *distributed, int replicas, dt_folded *out) {
    dt_arena *arena = dt_arena_create();
    dt_replication *spread = NULL;
    dt_status *s = dt_replication_of(g, distributed, arena, &spread);
    dt_folder f = {.g = g, .replicas = replicas, .spread = spread};

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
    dt_arena_destroy(arena);
    return s;
}
