/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a step between a worker and the tasks of a parameter server: see sparse.h. */
#include "pass/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "op/op.h"
#include "op/shapes.h"

/* A result is divided only if the values to send have at most 1 / SHARE of its bytes, and all
 * values together have at most MOST bytes. */
enum { SHARE = 4, MOST = 1 << 25 };

static int64_t bytes_in_batch(const dt_type *t, int64_t rows) {
    const dt_type concrete = dt_type_at(t, rows);
    return dt_type_bytes(&concrete);
}

static bool is_result(const dt_graph *g, int node) {
    for (int i = 0; i < g->n_results; i++)
        if (g->result[i].node == node) return true;
    return false;
}

/* ---- dividing a step ---- */

typedef enum place { UNSEEN, TAIL, PART } place;

typedef struct division {
    const dt_graph *g;
    /* rows: rows of the batch; limit: the most bytes of one part, and of all parts of a result
     * together */
    int64_t rows, limit;
    /* [nodes] for the current result: whether the node is computed in the tail, is a part that is
     * sent, or is not needed so far */
    place *place;
    /* bytes: of the parts of this result; left: bytes that remain for the parts of later results */
    int64_t bytes, left;
} division;

static bool is_known(const dt_op *op) {
    return op->role == DT_ROLE_CONSTANT || op->role == DT_ROLE_COUNTER;
}

/* Whether computing the op takes about as long as receiving its result. */
static bool is_cheap(const dt_op *op) {
    return dt_is_elementwise(op) || op->role == DT_ROLE_REPEAT || op->role == DT_ROLE_NAME ||
           op->role == DT_ROLE_COLLECTIVE || op->role == DT_ROLE_ROW_SUMS;
}

static void place_node(division *d, int node) {
    const dt_node *n = &d->g->node[node];
    const int64_t bytes = bytes_in_batch(&n->type, d->rows);
    if (d->place[node] != UNSEEN) return;
    d->place[node] =
        is_known(n->op) || (bytes > d->limit && n->n_in > 0 && is_cheap(n->op)) ? TAIL : PART;
    if (d->place[node] == PART) {
        d->bytes = bytes > d->limit ? INT64_MAX / 2 : d->bytes + bytes;
        return;
    }
    for (int k = 0; k < n->n_in && d->bytes <= d->limit; k++) place_node(d, n->in[k]);
}

/* Decides whether the result can be divided. If so, d->place is set for the parts that are sent and
 * the nodes of the tail. */
static bool divide_result(division *d, int result) {
    const int node = d->g->result[result].node;
    const dt_type *t = &d->g->node[node].type;
    const int64_t bytes = dt_type_bytes(t);
    memset(d->place, 0, (size_t)d->g->n_nodes * sizeof *d->place);
    d->bytes = 0;
    d->limit = bytes / SHARE < d->left ? bytes / SHARE : d->left;
    if (dt_type_has_batch(t) || bytes < DT_LEAST_TABLE_BYTES) return false;
    place_node(d, node);
    if (d->place[node] != TAIL || d->bytes > d->limit) return false;
    d->left -= d->bytes;
    return true;
}

static const char *part_name(dt_trace *t, const char *result, int node) {
    return dt_arena_printf(dt_trace_arena(t), "part %d of %s", node, result);
}

/* Emits into t the nodes that a result needs after the border that divide_result found, and
 * declares the values at the border as arguments. map: [nodes] memory for values. */
static void emit_tail(const division *d, dt_trace *t, int result, dt_value *map) {
    const char *name = d->g->result[result].name;
    memset(map, 0, (size_t)d->g->n_nodes * sizeof *map);
    for (int i = 0; i < d->g->n_nodes; i++) {
        dt_value in[DT_MAX_IN];
        if (d->place[i] == PART)
            map[i] = dt_trace_declare(t, part_name(t, name, i), &d->g->node[i].type);
        if (d->place[i] != TAIL) continue;
        for (int k = 0; k < d->g->node[i].n_in; k++) in[k] = map[d->g->node[i].in[k]];
        map[i] = dt_emit_like(t, d->g, i, in);
    }
    dt_return(t, name, map[d->g->result[result].node]);
}

/* Copies nodes of g that are not in `map` yet: all of them if `wanted` is NULL, else those that it
 * marks. */
static void copy_nodes(const dt_graph *g, dt_trace *t, const bool *wanted, dt_value *map) {
    for (int i = 0; i < g->n_nodes; i++) {
        dt_value in[DT_MAX_IN];
        if (map[i].trace || (wanted && !wanted[i])) continue;
        for (int k = 0; k < g->node[i].n_in; k++) in[k] = map[g->node[i].in[k]];
        map[i] = dt_emit_like(t, g, i, in);
    }
}

static void return_parts(const division *d, dt_trace *t, int result, const dt_value *map) {
    const char *name = d->g->result[result].name;
    for (int i = 0; i < d->g->n_nodes; i++)
        if (d->place[i] == PART) dt_return(t, part_name(t, name, i), map[i]);
}

static void export_updates(const dt_graph *g, dt_trace *t, const dt_value *map) {
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) dt_assign(t, g->state[i].variable, map[g->state[i].update]);
}

static bool is_named(const dt_graph *g, int result, const char *const *name, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(g->result[result].name, name[i]) == 0) return true;
    return false;
}

static dt_status *end_both(dt_trace *head, dt_trace *tail, bool any, dt_graph **out_head,
                           dt_graph **out_tail) {
    *out_head = *out_tail = NULL;
    if (!any) {
        dt_trace_destroy(tail);
        dt_trace_destroy(head);
        return NULL;
    }
    dt_status *s = dt_trace_end(tail, out_tail);
    if (s) dt_trace_destroy(head);
    else s = dt_trace_end(head, out_head);
    if (s) {
        dt_graph_destroy(*out_tail);
        *out_tail = NULL;
    }
    return s;
}

dt_status *dt_divide_step(const dt_graph *g, const char *const *name, int n, int64_t rows,
                          dt_graph **head, dt_graph **tail) {
    const size_t nodes = (size_t)g->n_nodes + 1;
    division d = {.g = g, .rows = rows, .left = MOST, .place = dt_alloc(nodes * sizeof *d.place)};
    dt_value *map = dt_alloc(dt_size_mul(nodes, sizeof *map)),
             *tail_map = dt_alloc(dt_size_mul(nodes, sizeof *map));
    dt_trace *h = dt_trace_create(g->name), *t = dt_trace_create("tail");
    bool any = false;

    dt_trace_import(h, g, map);
    copy_nodes(g, h, NULL, map);
    dt_trace_set_batch_parts(t, g->batch_parts);
    for (int i = 0; i < g->n_results; i++)
        if (is_named(g, i, name, n) && divide_result(&d, i)) {
            emit_tail(&d, t, i, tail_map);
            return_parts(&d, h, i, map);
            any = true;
        } else dt_return(h, g->result[i].name, map[g->result[i].node]);
    export_updates(g, h, map);
    free(tail_map);
    free(map);
    free(d.place);
    return end_both(h, t, any, head, tail);
}

/* ---- composing ---- */

/* Returns [nodes of the tail], whether an argument of g depends on the node; to be freed. Inputs
 * come before the nodes that read them. */
static bool *find_wanted(const dt_graph *tail, const dt_graph *g) {
    bool *wanted = dt_alloc((size_t)tail->n_nodes + 1);
    memset(wanted, 0, (size_t)tail->n_nodes + 1);
    for (int i = 0; i < g->n_args; i++) {
        const int from = dt_graph_find_result(tail, g->arg[i].name);
        if (from >= 0) wanted[tail->result[from].node] = true;
    }
    for (int i = tail->n_nodes - 1; i >= 0; i--)
        for (int k = 0; wanted[i] && k < tail->node[i].n_in; k++)
            wanted[tail->node[i].in[k]] = true;
    return wanted;
}

dt_status *dt_compose(const dt_graph *tail, const dt_graph *g, dt_graph **out) {
    dt_trace *t = dt_trace_create(g->name);
    DT_LOCAL bool *wanted = find_wanted(tail, g);
    dt_value *before = dt_alloc(dt_size_mul((size_t)tail->n_nodes + 1, sizeof *before)),
             *map = dt_alloc(dt_size_mul((size_t)g->n_nodes + 1, sizeof *map));

    dt_trace_set_batch_parts(t, tail->batch_parts);
    for (int i = 0; i < tail->n_args; i++) {
        const dt_named_node *a = &tail->arg[i];
        if (wanted[a->node])
            before[a->node] = dt_trace_declare(t, a->name, &tail->node[a->node].type);
    }
    copy_nodes(tail, t, wanted, before);
    for (int i = 0; i < g->n_args; i++) {
        const dt_named_node *a = &g->arg[i];
        const int from = dt_graph_find_result(tail, a->name);
        map[a->node] = from >= 0 ? before[tail->result[from].node]
                                 : dt_trace_declare(t, a->name, &g->node[a->node].type);
    }
    for (int i = 0; i < g->n_states; i++) map[g->state[i].node] = dt_read(t, g->state[i].variable);
    copy_nodes(g, t, NULL, map);
    dt_trace_export(t, g, map);
    free(map);
    free(before);
    return dt_trace_end(t, out);
}

/* ---- row numbers ---- */

/* Returns [nodes], whether a node's value depends on arguments and constants only, and neither on
 * variables nor on the replica; to be freed. */
static bool *find_fed(const dt_graph *g) {
    bool *fed = dt_alloc((size_t)g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_op *op = g->node[i].op;
        fed[i] = op->role == DT_ROLE_ARGUMENT || is_known(op) || g->node[i].n_in > 0;
        fed[i] &= !op->traits.varying && op->role != DT_ROLE_COLLECTIVE;
        for (int k = 0; k < g->node[i].n_in; k++) fed[i] &= fed[g->node[i].in[k]];
    }
    return fed;
}

static bool looks_up(const dt_node *n, int table) {
    return n->op->role == DT_ROLE_LOOKUP && n->in[0] == table && n->in[1] != table;
}

/* Whether g reads a variable, of at least DT_LEAST_TABLE_BYTES, only by looking up rows whose
 * numbers depend on arguments and constants only, and neither updates nor returns it. In a batch of
 * `rows`, the looked-up rows must have at most 1 / SHARE of its bytes, and at most *left, the bytes
 * that remain for them. If so, reduces *left by their bytes. */
static bool is_looked_up(const dt_graph *g, const dt_state *s, const bool *fed, int64_t rows,
                         int64_t *left) {
    const dt_type *table = &s->variable->type;
    int64_t bytes = 0;
    if (dt_type_bytes(table) < DT_LEAST_TABLE_BYTES || is_result(g, s->node) ||
        (s->update >= 0 && s->update != s->node))
        return false;
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) {
            if (g->node[i].in[k] != s->node) continue;
            if (!looks_up(&g->node[i], s->node) || !fed[g->node[i].in[1]]) return false;
            bytes += bytes_in_batch(&g->node[i].type, rows);
        }
    if (bytes == 0 || bytes > dt_type_bytes(table) / SHARE || bytes > *left) return false;
    *left -= bytes;
    return true;
}

/* Adds the row numbers of all lookups in the variable's table to the results of the trace. n: the
 * number of results so far. Returns their new number. */
static int return_numbers(const dt_graph *g, const dt_state *s, dt_trace *t, const dt_value *map,
                          int n) {
    for (int i = 0; i < g->n_nodes; i++)
        if (looks_up(&g->node[i], s->node))
            dt_return(t,
                      dt_arena_printf(dt_trace_arena(t), "rows %d of %s", n++, s->variable->path),
                      map[g->node[i].in[1]]);
    return n;
}

dt_status *dt_row_numbers(const dt_graph *g, int64_t rows, dt_arena *arena, dt_graph **numbers,
                          dt_variable ***table) {
    dt_trace *t = dt_trace_create("row numbers");
    DT_LOCAL dt_value *map = dt_alloc(dt_size_mul((size_t)g->n_nodes + 1, sizeof *map));
    dt_variable **of = dt_arena_array(arena, dt_variable *, g->n_nodes + 1);
    DT_LOCAL bool *fed = find_fed(g);
    int64_t left = MOST;
    int n = 0;

    dt_trace_set_batch_parts(t, g->batch_parts);
    for (int i = 0; i < g->n_args; i++)
        map[g->arg[i].node] = dt_trace_declare(t, g->arg[i].name, &g->node[g->arg[i].node].type);
    copy_nodes(g, t, fed, map);
    for (int i = 0; i < g->n_states; i++) {
        const int first = n;
        if (!is_looked_up(g, &g->state[i], fed, rows, &left)) continue;
        n = return_numbers(g, &g->state[i], t, map, n);
        for (int k = first; k < n; k++) of[k] = g->state[i].variable;
    }
    *numbers = NULL;
    *table = of;
    if (n > 0) return dt_trace_end(t, numbers);
    dt_trace_destroy(t);
    return NULL;
}

/* ---- the part of an update ---- */

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

typedef struct taking {
    const dt_graph *g;
    const dt_variables *own, *dealt;
    dt_trace *t;
    /* [nodes] whole: value of the whole node; part: value of the rows that this process has. A
     * value without a trace was not emitted yet */
    dt_value *whole, *part;
    /* [nodes] for arguments: whether the whole argument is read, and whether some of its rows
     * are */
    bool *fed_whole, *fed_rows;
    /* the rows that are being computed: first to first + rows - 1 of all `of` rows of a divided
     * variable. of: 0 if the update of a variable that is not divided is being computed */
    int64_t first, rows, of;
} taking;

static bool has(const dt_variables *list, const dt_variable *v) {
    for (int i = 0; i < list->n; i++)
        if (list->v[i] == v) return true;
    return false;
}

/* Returns the variable that decides which process has a state: for a slot, the weight. Returns NULL
 * if every process has the state. */
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
    /* A sum of rows of a divided variable is refused: each process that has rows would compute the
     * whole gradient. */
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
