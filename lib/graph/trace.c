/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces: graphs under construction. Step functions and passes emit nodes through dt_emit, which
 * infers the type and reuses nodes: the same op on the same inputs with the same attributes is the
 * same node, so callers need not remember which values exist. (Ops have no side effects;
 * assignments are kept apart from the nodes.)
 *
 * A trace keeps its first error and ignores what is emitted after it, so builders read like
 * formulas, and the error is checked once, at the end.
 */
#include "graph/trace.h"
#include "base/hash.h"
#include "base/reserve.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct dt_trace_slot {
    int node; /* index of the node that this slot refers to; -1: the slot is free */
    uint32_t hash;
} dt_trace_slot;

/* top: the traces of this thread that have not ended, linked by `below`, the latest first; begun:
 * how many were created. An op refuses a value whose trace is not in the list. */
static _Thread_local struct live {
    dt_trace *top;
    unsigned begun;
} live;

/* The size of a type in bytes must fit an int64 even for the largest global batch that a job may
 * have. */
static const int64_t largest_batch = 1 << 24;

dt_trace *dt_trace_create(const char *name) {
    dt_trace *t = dt_alloc(sizeof *t);
    t->arena = dt_arena_create();
    t->name = dt_arena_strdup(t->arena, name);
    t->path = "";
    t->replicas = t->logical = t->batch_parts = 1;
    t->rows = -1;
    t->generation = ++live.begun;
    t->below = live.top;
    live.top = t;
    return t;
}

static void end_life(const dt_trace *t) {
    dt_trace **p = &live.top;

    while (*p != t) p = &(*p)->below;
    *p = t->below;
}

static bool is_live(const dt_trace *t) {
    const dt_trace *p = live.top;

    while (p && p != t) p = p->below;
    return p != NULL;
}

bool dt_trace_lives(const dt_trace *t) { return t && is_live(t); }

bool dt_trace_is_live(const dt_trace *t) {
    if (!t || is_live(t)) return t != NULL;
    dt_status_keep(dt_fail(
        DT_E_TRACE_VALUE, NULL,
        "a step function was used after it was recorded: its trace and values end with it"));
    return false;
}

void dt_trace_destroy(dt_trace *t) {
    if (!t) return;
    end_life(t);
    dt_arena_destroy(t->arena);
    dt_status_free(t->error);
    free(t->node);
    free(t->arg);
    for (int i = 0; i < t->n_states; i++) dt_variable_unref(t->state[i].variable);
    free(t->state);
    free(t->result);
    free(t->slot);
    free(t->early);
    dt_hash_index_release(&t->args_at);
    dt_hash_index_release(&t->states_at);
    dt_hash_index_release(&t->results_at);
    free(t);
}

dt_arena *dt_trace_arena(dt_trace *t) { return t->arena; }

dt_status *dt_trace_error(const dt_trace *t) { return t->error; }

void dt_trace_fail(dt_trace *t, dt_status *s) {
    if (!DT_LIVE(s)) return;
    if (!dt_trace_is_live(t) || t->error) dt_status_free(s);
    else t->error = *t->path ? dt_note(s, "in layer '%s'", t->path) : s;
}

void dt_trace_set_replicas(dt_trace *t, int replicas) { t->replicas = replicas; }

void dt_trace_set_logical(dt_trace *t, int logical) { t->logical = logical; }

int dt_trace_replicas(const dt_trace *t) { return t && is_live(t) ? t->replicas : 1; }

void dt_trace_set_batch_parts(dt_trace *t, int parts) { t->batch_parts = parts; }

void dt_trace_set_rows(dt_trace *t, int64_t rows) { t->rows = rows; }

void dt_trace_set_each(dt_trace *t, dt_each *each) {
    t->each = each;
    each->collectives = each->gathers = 0;
}

void dt_trace_set_deferral(dt_trace *t, const dt_deferral *d) { t->deferral = d; }

const dt_deferral *dt_trace_deferral(const dt_trace *t) { return t->deferral; }

bool dt_trace_set_merging(dt_trace *t, bool merging) {
    bool before = t->merging;
    t->merging = merging;
    return before;
}

int dt_trace_count(const dt_trace *t) { return t->n_nodes; }

const dt_node *dt_trace_node(const dt_trace *t, int i) {
    assert(i >= 0 && i < t->n_nodes);
    return t->node[i];
}

const char *dt_trace_path(dt_trace *t, const char *path) {
    if (!t || !is_live(t)) return "";
    const char *before = t->path;
    if (strcmp(path, before) != 0) t->path = dt_arena_strdup(t->arena, path);
    return before;
}

bool dt_path_is_within(const char *path, const char *layer) {
    const size_t n = strlen(layer);
    return strncmp(path, layer, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

dt_value dt_value_of(dt_trace *t, int i) { return (dt_value){t, i, t->generation}; }

static bool is_good(dt_value v) {
    return is_live(v.trace) && v.generation == v.trace->generation && v.node >= 0 &&
           v.node < v.trace->n_nodes;
}

const dt_node *dt_node_of(dt_value v) {
    return v.trace && is_good(v) ? dt_trace_node(v.trace, v.node) : NULL;
}

dt_type dt_type_of_value(dt_value v) {
    const dt_node *n = dt_node_of(v);
    return n ? n->type : dt_scalar_type(DT_FLOAT32);
}

const dt_named_node *dt_named_find(const dt_named_node *list, const dt_hash_index *at,
                                   const char *name) {
    for (int i = dt_hash_index_first(at, dt_name_hash(name)); i >= 0; i = dt_hash_index_next(at, i))
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

bool dt_trace_owns(dt_trace *t, dt_value v, const char *user) {
    if (v.trace == t && is_good(v)) return true;
    if (t->error) return false;
    if (v.trace && !is_good(v))
        dt_trace_fail(t, dt_fail(DT_E_TRACE_VALUE, NULL,
                                 "%s got a value of a trace that has ended: values end with the "
                                 "step function that made them",
                                 user));
    else if (v.trace)
        dt_trace_fail(t, dt_fail(DT_E_TRACE_VALUE, NULL, "%s got a value of another trace ('%s')",
                                 user, v.trace->name));
    else
        dt_trace_fail(t,
                      dt_fail(DT_E_TRACE_VALUE, NULL,
                              "%s got no value: the call that should have made it failed", user));
    return false;
}

bool dt_trace_has(dt_value v, const char *user) {
    if (v.trace && is_live(v.trace) && v.generation == v.trace->generation)
        return dt_trace_owns(v.trace, v, user);
    if (v.trace && live.top) dt_trace_owns(live.top, v, user);
    return false;
}

void dt_return(dt_trace *t, const char *name, dt_value value) {
    if (!dt_trace_is_live(t) || t->error || !dt_trace_owns(t, value, "dt_return")) return;
    if (!name) {
        dt_trace_fail(t, dt_want(name, "dt_return", "name"));
        return;
    }
    if (dt_named_find(t->result, &t->results_at, name)) {
        dt_trace_fail(t, dt_fail(DT_E_NAME_TAKEN, NULL, "the result '%s' is returned twice", name));
        return;
    }
    dt_hash_index_add(&t->results_at, dt_name_hash(name));
    DT_GROW(t->result, t->cap_results, t->n_results + 1);
    t->result[t->n_results++] = (dt_named_node){dt_arena_strdup(t->arena, name), value.node};
}

void dt_trace_put_first(dt_trace *t, int i) {
    assert(i >= 0 && i < t->n_nodes);
    DT_GROW(t->early, t->cap_early, t->n_early + 1);
    t->early[t->n_early++] = i;
}

dt_status *dt_bad_shape(const dt_infer *q, const char *format, ...) {
    DT_FORMATTED(text, format);
    return dt_fail(DT_E_MODEL_SHAPE, NULL, "%s %s", q->op->name, dt_str_text(&text));
}

/* ---- value numbering ---- */

static uint64_t hash_node(const dt_node *n) {
    uint64_t h = dt_hash_bytes((uint64_t)(uintptr_t)n->op, n->in, (size_t)n->n_in * sizeof *n->in);
    h = dt_hash_bytes(h, n->attr, n->op->attr.size);
    /* The slot is chosen by the low bits, so the high ones are mixed into them. */
    return h ^ h >> 32;
}

static bool same_node(const dt_node *a, const dt_node *b) {
    return a->op == b->op && a->n_in == b->n_in && memcmp(a->in, b->in, sizeof a->in) == 0 &&
           (a->op->attr.size == 0 || memcmp(a->attr, b->attr, a->op->attr.size) == 0);
}

/* Returns the slot of a node equal to `n`, or the free slot where `n` belongs. The table is never
 * full. */
static dt_trace_slot *find_slot(dt_trace *t, const dt_node *n, uint32_t hash) {
    uint32_t mask = (uint32_t)t->n_slots - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask)
        if (t->slot[i].node < 0 ||
            (t->slot[i].hash == hash && same_node(t->node[t->slot[i].node], n)))
            return &t->slot[i];
}

static void put_slot(dt_trace *t, const dt_trace_slot *s) {
    uint32_t mask = (uint32_t)t->n_slots - 1, at = s->hash & mask;
    while (t->slot[at].node >= 0) at = (at + 1) & mask;
    t->slot[at] = *s;
}

/* Makes room for one more node in the table, at least half of whose slots stay free. */
static void grow_slots(dt_trace *t) {
    if (t->n_nodes + 1 <= t->n_slots / 2) return;
    int had = t->n_slots;
    dt_trace_slot *old = t->slot;
    t->n_slots = had ? 2 * had : 64;
    t->slot = dt_alloc(dt_size_mul((size_t)t->n_slots, sizeof *t->slot));
    for (int i = 0; i < t->n_slots; i++) t->slot[i].node = -1;
    for (int i = 0; i < had; i++)
        if (old[i].node >= 0) put_slot(t, &old[i]);
    free(old);
}

/* ---- emitting ---- */

static dt_status *infer_type(const dt_trace *t, dt_node *n) {
    dt_type in[DT_MAX_IN];
    for (int i = 0; i < n->n_in; i++) in[i] = t->node[n->in[i]]->type;
    dt_infer q = {.op = n->op, .in = in, .n_in = n->n_in, .attr = n->attr};
    DT_TRY(n->op->infer(&q));
    dt_type largest = dt_type_at(&q.out, largest_batch);
    if (dt_type_bytes(&largest) == INT64_MAX)
        return dt_bad_shape(&q, "makes a value that is too large: its size in bytes overflows");
    n->type = q.out;
    return NULL;
}

/* Appends a copy of *n, with its attributes in the arena and the trace's current layer path.
 * Returns its index. */
static int append(dt_trace *t, const dt_node *n) {
    dt_node *kept = dt_arena_copy(t->arena, n, sizeof *n);
    kept->attr = n->op->attr.size ? dt_arena_copy(t->arena, n->attr, n->op->attr.size) : NULL;
    kept->path = t->path;
    DT_GROW(t->node, t->cap_nodes, t->n_nodes + 1);
    t->node[t->n_nodes] = kept;
    return t->n_nodes++;
}

dt_value dt_emit(dt_trace *t, const dt_op *op, const dt_value *in, int n_in, const void *attr) {
    static const dt_value none = {0};
    if (!dt_trace_is_live(t) || t->error) return none;
    assert(n_in == op->n_in && (attr || op->attr.size == 0));
    dt_node n = {.op = op, .n_in = n_in, .attr = attr};
    for (int i = 0; i < n_in; i++) {
        if (!dt_trace_owns(t, in[i], op->name)) return none;
        n.in[i] = in[i].node;
    }
    grow_slots(t);
    const uint32_t hash = (uint32_t)hash_node(&n);
    dt_trace_slot *slot = find_slot(t, &n, hash);
    if (slot->node < 0) {
        dt_status *s = dt_reserve_check();
        s = s ? s : infer_type(t, &n);
        if (s) {
            dt_trace_fail(t, s);
            return none;
        }
        *slot = (dt_trace_slot){append(t, &n), hash};
    }
    return dt_value_of(t, slot->node);
}

dt_value dt_emit_like(dt_trace *t, const dt_graph *g, int i, const dt_value *in) {
    const dt_node *n = &g->node[i];
    const char *before = dt_trace_path(t, n->path);
    dt_value v = dt_emit(t, n->op, in, n->n_in, n->attr);
    dt_trace_path(t, before);
    return v;
}
