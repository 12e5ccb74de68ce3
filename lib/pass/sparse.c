/* SPDX-License-Identifier: Apache-2.0 */
/* See sparse.h. */
#include "pass/sparse.h"

#include <stdlib.h>
#include <string.h>

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
    int64_t rows, limit; /* limit: the most bytes that a part may have, and all parts together */
    place *place;        /* [nodes] where each node is computed, for the current result */
    /* bytes of the parts of this result; bytes that are left for parts of all results */
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

/* Whether the result can be divided. If so, d has the places of all nodes that the result needs. */
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

/* Emits the nodes of the tail that a result needs, in the places that divide_result found. */
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

/* Copies the nodes that are not in the map: all of them if `wanted` is NULL, else the wanted
 * ones. */
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

/* Finds the nodes of the tail that an argument of g depends on. Inputs come before the nodes that
 * read them. */
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

/* [nodes] Finds the nodes that depend on arguments only. */
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

/* Whether g only looks up rows of the variable, and only few, by numbers that are computed from
 * arguments. */
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

/* Adds the row numbers of all lookups in that table to the results. */
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
