/* SPDX-License-Identifier: Apache-2.0 */
/* Writes graphs as bytes for other processes and reads them back: see graph_bytes.h. */
#include "pass/graph_bytes.h"

#include <string.h>

#include "op/segment.h"

enum { MOST_TEXT = 4096, MOST_BATCH = 1 << 30 };

/* ---- numbers, texts, types ---- */

void dt_bytes_put(dt_str *out, int64_t x) { dt_str_add(out, &x, sizeof x); }

void dt_bytes_put_text(dt_str *out, const char *text) {
    dt_bytes_put(out, (int64_t)strlen(text));
    dt_str_add(out, text, strlen(text));
}

void dt_bytes_put_type(dt_str *out, const dt_type *t) {
    dt_bytes_put(out, t->dtype);
    dt_bytes_put(out, t->rank);
    for (int d = 0; d < t->rank; d++) dt_bytes_put(out, t->dim[d]);
}

static bool read_bytes(dt_byte_reader *b, void *into, size_t n) {
    if (b->failed || n > b->left) {
        b->failed = true;
        memset(into, 0, n);
        return false;
    }
    memcpy(into, b->at, n);
    b->at += n;
    b->left -= n;
    return true;
}

int64_t dt_bytes_take(dt_byte_reader *b, int64_t low, int64_t high) {
    int64_t x = 0;
    read_bytes(b, &x, sizeof x);
    b->failed |= x < low || x > high;
    return b->failed ? 0 : x;
}

int dt_bytes_take_count(dt_byte_reader *b, size_t each) {
    return (int)dt_bytes_take(b, 0, (int64_t)(b->left / each));
}

const char *dt_bytes_take_text(dt_byte_reader *b, dt_arena *arena) {
    const size_t n = (size_t)dt_bytes_take(b, 0, MOST_TEXT);
    char *text = dt_arena_alloc(arena, n + 1);
    read_bytes(b, text, n);
    b->failed |= strlen(text) != n;
    return b->failed ? "" : text;
}

static bool is_type(const dt_type *t) {
    if (!dt_dtype_is_known(t->dtype) || t->rank < 0 || t->rank > DT_MAX_RANK) return false;
    for (int d = 0; d < DT_MAX_RANK; d++)
        if (d >= t->rank ? t->dim[d] != 0 : t->dim[d] < (d == 0 ? -MOST_BATCH : 0)) return false;
    return true;
}

dt_type dt_bytes_take_type(dt_byte_reader *b) {
    dt_type t = {0};
    t.dtype = (dt_dtype)dt_bytes_take(b, 0, INT32_MAX);
    t.rank = (int)dt_bytes_take(b, 0, DT_MAX_RANK);
    for (int d = 0; d < t.rank; d++) t.dim[d] = dt_bytes_take(b, -MOST_BATCH, INT64_MAX);
    b->failed |= !is_type(&t);
    return b->failed ? dt_scalar_type(DT_FLOAT32) : t;
}

/* ---- ops ---- */

static const dt_op *find_op(const char *name) {
    static const dt_op *const all[] = {
#define DT_OP(name) &dt_op_##name,
#include "op/ops.h"
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) return dt_is_segment_op(all[i]) ? NULL : all[i];
    return NULL;
}

/* ---- writing ---- */

static int index_of(dt_variable *const *variable, int n, const dt_variable *v) {
    for (int i = 0; i < n; i++)
        if (variable[i] == v) return i;
    return -1;
}

static void write_node(const dt_graph *g, int i, dt_variable *const *variable, int n, dt_str *out) {
    const dt_node *x = &g->node[i];
    dt_bytes_put_text(out, x->op->name);
    if (x->op->role == DT_ROLE_ARGUMENT) {
        const dt_index_attr *a = x->attr;
        dt_bytes_put_text(out, g->arg[a->index].name);
        dt_bytes_put_type(out, &x->type);
    } else if (x->op->role == DT_ROLE_STATE) {
        const dt_index_attr *a = x->attr;
        dt_bytes_put(out, index_of(variable, n, g->state[a->index].variable));
    } else {
        for (int k = 0; k < x->n_in; k++) dt_bytes_put(out, x->in[k]);
        if (x->op->attr.size) dt_str_add(out, x->attr, x->op->attr.size);
    }
}

void dt_graph_write(const dt_graph *g, dt_variable *const *variable, int n, dt_str *out) {
    int updates = 0;
    for (int i = 0; i < g->n_states; i++) updates += g->state[i].update >= 0;
    dt_bytes_put(out, g->batch_parts);
    dt_bytes_put(out, g->n_nodes);
    dt_bytes_put(out, g->n_results);
    dt_bytes_put(out, updates);
    for (int i = 0; i < g->n_nodes; i++) write_node(g, i, variable, n, out);
    for (int i = 0; i < g->n_results; i++) {
        dt_bytes_put_text(out, g->result[i].name);
        dt_bytes_put(out, g->result[i].node);
    }
    for (int i = 0; i < g->n_states; i++) {
        if (g->state[i].update < 0) continue;
        dt_bytes_put(out, index_of(variable, n, g->state[i].variable));
        dt_bytes_put(out, g->state[i].update);
    }
}

/* ---- reading ---- */

typedef struct reading {
    dt_byte_reader *from;
    dt_trace *t;
    dt_variable *const *variable;
    int n_variables, nodes, results, updates;
    dt_value *map; /* [nodes] the value of each node that was read so far */
} reading;

static dt_variable *take_variable(const reading *r) {
    const int64_t i = dt_bytes_take(r->from, 0, r->n_variables - 1);
    return r->from->failed ? NULL : r->variable[i];
}

/* Reads attributes into memory that is aligned for any of them. A type in them is checked here,
 * because rules of ops look at its dtype first. */
static const void *take_attributes(const reading *r, const dt_op *op) {
    char *attr = dt_arena_alloc(dt_trace_arena(r->t), op->attr.size + 1);
    read_bytes(r->from, attr, op->attr.size);
    if (op->attr.type) {
        dt_type type;
        memcpy(&type, attr + op->attr.type - 1, sizeof type);
        r->from->failed |= !is_type(&type);
    }
    return op->attr.size ? attr : NULL;
}

static dt_value take_node(const reading *r, int i) {
    dt_value in[DT_MAX_IN] = {{0}};
    const dt_op *op = find_op(dt_bytes_take_text(r->from, dt_trace_arena(r->t)));
    r->from->failed |= !op;
    if (r->from->failed) return in[0];
    if (op->role == DT_ROLE_STATE) {
        dt_variable *v = take_variable(r);
        return v ? dt_read_first(r->t, v) : in[0];
    }
    if (op->role == DT_ROLE_ARGUMENT) {
        const char *name = dt_bytes_take_text(r->from, dt_trace_arena(r->t));
        const dt_type type = dt_bytes_take_type(r->from);
        return r->from->failed ? in[0] : dt_trace_declare(r->t, name, &type);
    }
    for (int k = 0; k < op->n_in; k++) {
        const int64_t from = dt_bytes_take(r->from, 0, i - 1);
        if (!r->from->failed) in[k] = r->map[from];
    }
    const void *attr = take_attributes(r, op);
    return r->from->failed ? (dt_value){0} : dt_emit(r->t, op, in, op->n_in, attr);
}

static void take_ends(const reading *r) {
    for (int i = 0; i < r->results && !r->from->failed; i++) {
        const char *name = dt_bytes_take_text(r->from, dt_trace_arena(r->t));
        const int64_t node = dt_bytes_take(r->from, 0, r->nodes - 1);
        if (!r->from->failed) dt_return(r->t, name, r->map[node]);
    }
    for (int i = 0; i < r->updates && !r->from->failed; i++) {
        dt_variable *v = take_variable(r);
        const int64_t node = dt_bytes_take(r->from, 0, r->nodes - 1);
        if (!r->from->failed) dt_assign(r->t, v, r->map[node]);
    }
}

/* Returns the error that the bytes are not a graph. why: the trace's own error; NULL: the bytes end
 * too early, or a number, name or type is malformed. */
static dt_status *no_graph(const dt_status *why) {
    return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a message has no graph where one was expected%s%s",
                   why ? ": " : "", why ? dt_status_text(why) : "");
}

dt_status *dt_graph_read(dt_byte_reader *from, dt_variable *const *variable, int n,
                         dt_graph **out) {
    reading r = {
        .from = from, .t = dt_trace_create("update"), .variable = variable, .n_variables = n};
    const int parts = (int)dt_bytes_take(from, 1, MOST_BATCH);
    r.nodes = dt_bytes_take_count(from, sizeof(int64_t));
    r.results = dt_bytes_take_count(from, 2 * sizeof(int64_t));
    r.updates = dt_bytes_take_count(from, 2 * sizeof(int64_t));
    r.map = dt_arena_array(dt_trace_arena(r.t), dt_value, r.nodes + 1);
    dt_trace_set_batch_parts(r.t, from->failed ? 1 : parts);
    for (int i = 0; i < r.nodes && !from->failed; i++) {
        r.map[i] = take_node(&r, i);
        from->failed |= !r.map[i].trace;
    }
    take_ends(&r);
    if (!from->failed) return dt_trace_end(r.t, out);
    dt_status *s = no_graph(dt_trace_error(r.t));
    dt_trace_destroy(r.t);
    return s;
}
