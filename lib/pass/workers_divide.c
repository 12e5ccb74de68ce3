/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the program of a worker that keeps only some rows (of dimension 0) of the optimizer's
 * state, and possibly of the weights. Element-wise results of these are computed for these rows
 * only. Values that are needed whole, such as the new weights, are gathered:
 *
 *     m' = b * m + (1 - b) * g          ->   own rows of g, of m and of m'
 *     w' = w - rate * m'                ->   worker_rows(own rows of w - rate * own rows of m')
 *
 * The update of a divided weight is computed for the worker's rows only. Each product that reads
 * the whole weight, forwards or backwards, gathers it when its other operand has been computed and
 * frees it afterwards, so few weights are whole at a time:
 *
 *     y = x W        ->   x worker_rows(barrier(own rows of W, x))
 *     dx = dy W'     ->   dy worker_rows(barrier(own rows of W, dy))'
 *
 * Every element is computed by the same operations as before, so its bits are the same.
 */
#include <string.h>

#include "base/arena.h"
#include "op/shapes.h"
#include "op/workers.h"
#include "pass/workers_split.h"

typedef struct dividing {
    const dt_graph *g;
    const dt_worker_share *share;
    const dt_worker_parts *parts;
    dt_trace *t;
    bool *local; /* [nodes] whether the node is computed only for this worker's rows */
    /* [nodes] the whole value, and this worker's rows; without a trace it was not emitted yet */
    dt_value *whole, *own;
} dividing;

static dt_value local_rows(dividing *d, int i);

static dt_value put_together(dividing *d, int i, dt_value own) {
    dt_worker_rows_attr a;
    memset(&a, 0,
           sizeof a); /* clears the padding as well, since attributes are compared with memcmp */
    a.type = d->g->node[i].type;
    a.workers = d->share->workers;
    a.rank = d->share->rank;
    const char *path = dt_trace_path(d->t, d->g->node[i].path);
    dt_value whole = dt_emit(d->t, &dt_op_worker_rows, &own, 1, &a);
    dt_trace_path(d->t, path);
    return whole;
}

static dt_value whole_of(dividing *d, int i) {
    if (!d->whole[i].trace) d->whole[i] = put_together(d, i, local_rows(d, i));
    return d->whole[i];
}

/* Whether all elements of the node are one number: a constant, or a scalar that is repeated. */
static bool is_repeated(const dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    return n->op->role == DT_ROLE_CONSTANT ||
           (n->op->role == DT_ROLE_REPEAT && d->g->node[n->in[0]].type.rank == 0);
}

static dt_value repeat(dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    const dt_type own = dt_worker_rows_type(&n->type, d->share->workers, d->share->rank);
    const int8_t none[DT_MAX_RANK] = {0};
    if (n->op->role == DT_ROLE_CONSTANT)
        return dt_splat(d->t, &own, ((const dt_constant_attr *)n->attr)->value);
    return dt_broadcast_in_dim(whole_of(d, n->in[0]), &own, none);
}

static dt_value cut(dividing *d, int i) {
    const int64_t rows = d->g->node[i].type.dim[0],
                  begin = dt_worker_rows_begin(rows, d->share->workers, d->share->rank);
    return dt_slice_axis(whole_of(d, i), 0, begin,
                         dt_worker_rows_begin(rows, d->share->workers, d->share->rank + 1) - begin,
                         1);
}

static bool is_by_element(const dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    for (int k = 0; k < n->n_in; k++)
        if (d->g->node[n->in[k]].type.rank > 0 &&
            (d->g->node[n->in[k]].type.rank != n->type.rank ||
             d->g->node[n->in[k]].type.dim[0] != n->type.dim[0]))
            return false;
    return dt_is_elementwise(n->op) && n->type.rank > 0 && n->n_in > 0 &&
           !dt_type_has_batch(&n->type);
}

/* Returns this worker's rows of a value that also exists as a whole. Element-wise ops before it are
 * emitted for these rows only. */
static dt_value local_rows(dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    dt_value in[DT_MAX_IN];
    if (d->own[i].trace) return d->own[i];
    if (is_repeated(d, i)) return d->own[i] = repeat(d, i);
    if (!is_by_element(d, i)) return d->own[i] = cut(d, i);
    for (int k = 0; k < n->n_in; k++)
        in[k] =
            d->g->node[n->in[k]].type.rank == 0 ? whole_of(d, n->in[k]) : local_rows(d, n->in[k]);
    const char *path = dt_trace_path(d->t, n->path);
    d->own[i] = dt_emit_like(d->t, d->g, i, in);
    dt_trace_path(d->t, path);
    return d->own[i];
}

static void import(dividing *d) {
    dt_trace_set_batch_parts(d->t, d->g->batch_parts);
    for (int i = 0; i < d->g->n_args; i++)
        d->whole[d->g->arg[i].node] =
            dt_trace_declare(d->t, d->g->arg[i].name, &d->g->node[d->g->arg[i].node].type);
    for (int i = 0; i < d->g->n_states; i++) {
        const dt_state *s = &d->g->state[i];
        dt_variable *part = d->parts->of(d->parts->user, s->variable);
        d->local[s->node] = part != NULL;
        *(part ? &d->own[s->node] : &d->whole[s->node]) = dt_read(d->t, part ? part : s->variable);
    }
}

/* Returns the whole value of a divided variable, for a reader that also reads rows of the batch. */
static dt_value whole_late(dividing *d, int i, dt_value rows) {
    const dt_value in[] = {local_rows(d, i), rows};
    dt_value own = dt_emit(d->t, &dt_op_optimization_barrier, in, 2, NULL);
    return put_together(d, i, own);
}

static int rows_beside(const dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    for (int k = 0; k < n->n_in; k++)
        if (dt_type_has_batch(&d->g->node[n->in[k]].type)) return n->in[k];
    return -1;
}

static void copy(dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    const int beside = rows_beside(d, i);
    dt_value in[DT_MAX_IN];
    for (int k = 0; k < n->n_in; k++) d->local[i] |= d->local[n->in[k]] && is_by_element(d, i);
    if (d->local[i]) {
        local_rows(d, i);
        return;
    }
    for (int k = 0; k < n->n_in; k++)
        in[k] = beside >= 0 && d->local[n->in[k]] ? whole_late(d, n->in[k], whole_of(d, beside))
                                                  : whole_of(d, n->in[k]);
    const char *path = dt_trace_path(d->t, n->path);
    d->whole[i] = dt_emit_like(d->t, d->g, i, in);
    dt_trace_path(d->t, path);
}

static void export(dividing *d) {
    for (int i = 0; i < d->g->n_results; i++)
        dt_return(d->t, d->g->result[i].name, whole_of(d, d->g->result[i].node));
    for (int i = 0; i < d->g->n_states; i++) {
        const dt_state *s = &d->g->state[i];
        dt_variable *part = d->parts->of(d->parts->user, s->variable);
        if (s->update >= 0)
            dt_assign(d->t, part ? part : s->variable,
                      part ? local_rows(d, s->update) : whole_of(d, s->update));
    }
}

dt_status *dt_workers_divide(const dt_graph *g, const dt_worker_share *share,
                             const dt_worker_parts *parts, dt_graph **out) {
    dt_local_arena arena = dt_arena_create();
    dividing d = {.g = g,
                  .share = share,
                  .parts = parts,
                  .t = dt_trace_create(g->name),
                  .local = dt_arena_array(arena, bool, g->n_nodes + 1),
                  .whole = dt_arena_array(arena, dt_value, g->n_nodes + 1),
                  .own = dt_arena_array(arena, dt_value, g->n_nodes + 1)};
    import(&d);
    for (int i = 0; i < g->n_nodes; i++)
        if (!d.whole[i].trace && !d.own[i].trace) copy(&d, i);
    export(&d);
    return dt_trace_end(d.t, out);
}
