/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of an update for a process that has some variables, or some rows of them: see sparse.h.
 * Rows of an element-wise result are computed from the same rows of its operands:
 *
 *     w' = w - rate * g             ->   rows of w' = rows of w - rate * (rows of g)
 *     g  = scatter_add(x, numbers)  ->   rows of g  = scatter_add(x, numbers - first)
 *
 * Adding to a row that the process does not have does nothing. Every element is computed by the
 * same operations as in the whole update, so its bits are the same.
 */
#include <string.h>

#include "base/arena.h"
#include "op/op.h"
#include "op/shapes.h"
#include "pass/sparse.h"

typedef struct taking {
    const dt_graph *g;
    const dt_variables *own, *dealt;
    dt_trace *t;
    /* [nodes] value of the whole node, and of the rows below; without a trace it was not emitted
     * yet */
    dt_value *whole, *part;
    /* [nodes] whether an argument is read as a whole, and whether its rows are */
    bool *fed_whole, *fed_rows;
    int64_t first, rows, of; /* the rows first to first + rows - 1 of all `of` rows */
} taking;

static bool has(const dt_variables *list, const dt_variable *v) {
    for (int i = 0; i < list->n; i++)
        if (list->v[i] == v) return true;
    return false;
}

/* Returns the variable whose owner a state belongs to; NULL: every process has the state. */
static const dt_variable *dealt_of(const taking *d, const dt_variable *v) {
    const dt_variable *x = v->of ? v->of : v;
    return has(d->dealt, x) ? x : NULL;
}

/* Returns the rows of v that the process has; NULL: it has all rows or none. */
static dt_variable *part_of(const taking *d, const dt_variable *v) {
    for (int k = 0; k < d->own->n; k++)
        if (d->own->v[k]->whole == v) return d->own->v[k];
    return NULL;
}

static dt_value fail(const taking *d, int i) {
    dt_trace_fail(d->t, dt_fail(DT_E_NOT_YET, NULL, "node %d is not divided by rows", i));
    return (dt_value){0};
}

/* ---- whole values ---- */

static const dt_state *state_of(const taking *d, int i) {
    for (int k = 0; k < d->g->n_states; k++)
        if (d->g->state[k].node == i) return &d->g->state[k];
    return NULL;
}

static const char *argument_of(const taking *d, int i) {
    for (int k = 0; k < d->g->n_args; k++)
        if (d->g->arg[k].node == i) return d->g->arg[k].name;
    return NULL;
}

static dt_value whole_of(taking *d, int i) {
    const dt_node *n = &d->g->node[i];
    dt_value in[DT_MAX_IN];
    if (d->whole[i].trace || dt_trace_error(d->t)) return d->whole[i];
    if (n->op->role == DT_ROLE_ARGUMENT) {
        d->fed_whole[i] = true;
        return d->whole[i] = dt_trace_declare(d->t, argument_of(d, i), &n->type);
    }
    if (n->op->role == DT_ROLE_STATE) {
        dt_variable *v = state_of(d, i)->variable;
        return d->whole[i] = part_of(d, v) ? fail(d, i) : dt_read(d->t, v);
    }
    /* refuses this, because every process that has rows would compute the whole gradient */
    if (n->op->role == DT_ROLE_ROW_SUMS && d->of) return fail(d, i);
    for (int k = 0; k < n->n_in; k++) in[k] = whole_of(d, n->in[k]);
    return d->whole[i] = dt_emit_like(d->t, d->g, i, in);
}

/* ---- rows ---- */

static dt_value rows_of(taking *d, int i);

static dt_type rows_type(const taking *d, int i) {
    dt_type t = d->g->node[i].type;
    t.dim[0] = d->rows;
    return t;
}

/* Whether all elements of the node are one number: a constant, or a scalar that is repeated. */
static bool is_repeated(const taking *d, const dt_node *n) {
    return n->op->role == DT_ROLE_CONSTANT ||
           (n->op->role == DT_ROLE_REPEAT && d->g->node[n->in[0]].type.rank == 0);
}

static dt_value repeat(taking *d, int i) {
    const dt_node *n = &d->g->node[i];
    const dt_type own = rows_type(d, i);
    const int8_t none[DT_MAX_RANK] = {0};
    if (n->op->role == DT_ROLE_CONSTANT)
        return dt_splat(d->t, &own, ((const dt_constant_attr *)n->attr)->value);
    return dt_broadcast_in_dim(whole_of(d, n->in[0]), &own, none);
}

static dt_value read_rows(const taking *d, int i) {
    dt_variable *v = part_of(d, state_of(d, i)->variable);
    const bool same = v && v->first_row == d->first && v->type.dim[0] == d->rows;
    return same ? dt_read(d->t, v) : fail(d, i);
}

static dt_value scatter_rows(taking *d, const dt_node *n) {
    const dt_value index = dt_convert(whole_of(d, n->in[1]), DT_INT64);
    return dt_scatter_add(whole_of(d, n->in[0]),
                          dt_subtract(index, dt_like(index, (double)d->first)), d->rows);
}

static bool is_by_element(const taking *d, const dt_node *n) {
    for (int k = 0; k < n->n_in; k++)
        if (!dt_type_same_shape(&d->g->node[n->in[k]].type, &n->type)) return false;
    return n->n_in > 0 && (dt_is_elementwise(n->op) || n->op->role == DT_ROLE_COLLECTIVE);
}

static dt_value emit_rows(taking *d, int i) {
    const dt_node *n = &d->g->node[i];
    dt_value in[DT_MAX_IN];
    if (is_repeated(d, n)) return repeat(d, i);
    if (n->op->role == DT_ROLE_STATE) return read_rows(d, i);
    if (n->op->role == DT_ROLE_ROW_SUMS) return scatter_rows(d, n);
    if (n->op->role == DT_ROLE_ARGUMENT) {
        const dt_type own = rows_type(d, i);
        d->fed_rows[i] = true;
        return dt_trace_declare(
            d->t, dt_rows_name(dt_trace_arena(d->t), argument_of(d, i), d->first), &own);
    }
    if (!is_by_element(d, n)) return dt_slice_axis(whole_of(d, i), 0, d->first, d->rows, 1);
    for (int k = 0; k < n->n_in; k++) in[k] = rows_of(d, n->in[k]);
    return dt_emit_like(d->t, d->g, i, in);
}

static dt_value rows_of(taking *d, int i) {
    const dt_type *t = &d->g->node[i].type;
    if (d->part[i].trace || dt_trace_error(d->t)) return d->part[i];
    if (t->rank == 0 || t->dim[0] != d->of) return fail(d, i);
    const char *path = dt_trace_path(d->t, d->g->node[i].path);
    d->part[i] = emit_rows(d, i);
    dt_trace_path(d->t, path);
    return d->part[i];
}

/* ---- updates ---- */

static dt_value new_rows(taking *d, const dt_state *s, const dt_variable *part) {
    memset(d->part, 0, (size_t)d->g->n_nodes * sizeof *d->part);
    d->first = part->first_row;
    d->rows = part->type.dim[0];
    d->of = s->variable->type.dim[0];
    return rows_of(d, s->update);
}

static dt_value new_value(taking *d, const dt_state *s) {
    const dt_variable *of = dealt_of(d, s->variable), *part = part_of(d, s->variable);
    if (s->update < 0) return (dt_value){0};
    if (part) return new_rows(d, s, part);
    d->of = 0;
    return !of || has(d->own, of) || part_of(d, of) ? whole_of(d, s->update) : (dt_value){0};
}

/* Emits all updates. All values are computed before the first assignment, because a variable that
 * is read after its assignment has the new value. */
static void update_all(taking *d, dt_value *value) {
    for (int i = 0; i < d->g->n_states; i++) value[i] = new_value(d, &d->g->state[i]);
    for (int i = 0; i < d->g->n_states; i++) {
        dt_variable *v = d->g->state[i].variable, *part = part_of(d, v);
        if (value[i].trace) dt_assign(d->t, part ? part : v, value[i]);
    }
}

static void check_arguments(const taking *d) {
    for (int i = 0; i < d->g->n_args; i++) {
        const int node = d->g->arg[i].node;
        if (d->fed_whole[node] && d->fed_rows[node]) fail(d, node);
    }
}

const char *dt_rows_name(dt_arena *arena, const char *name, int64_t first) {
    return dt_arena_printf(arena, "%s from row %lld", name, (long long)first);
}

dt_status *dt_update_part(const dt_graph *g, const dt_variables *own, const dt_variables *dealt,
                          dt_graph **out) {
    dt_local_arena arena = dt_arena_create();
    taking d = {.g = g,
                .own = own,
                .dealt = dealt,
                .t = dt_trace_create(g->name),
                .whole = dt_arena_array(arena, dt_value, g->n_nodes + 1),
                .part = dt_arena_array(arena, dt_value, g->n_nodes + 1),
                .fed_whole = dt_arena_array(arena, bool, g->n_nodes + 1),
                .fed_rows = dt_arena_array(arena, bool, g->n_nodes + 1)};
    dt_trace_set_batch_parts(d.t, g->batch_parts);
    update_all(&d, dt_arena_array(arena, dt_value, g->n_states + 1));
    check_arguments(&d);
    return dt_trace_end(d.t, out);
}
