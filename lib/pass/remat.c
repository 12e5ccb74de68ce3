/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rematerialisation: the values that the forward pass of a unit (a few layers) computes for its
 * backward pass are not kept. They are recomputed from the unit's inputs when the gradient of its
 * output is known:
 *
 *     forward    x ──▶ a ──▶ b ──▶ y                    then a, b are freed; x stays
 *     backward   x' = barrier(x, dy);  x' ──▶ a' ──▶ b'       then dy, a', b' ──▶ dx, dW
 *
 * Nodes that results need are forward, all others (gradients, updates) are backward. A unit's
 * outputs are kept, since the next unit starts from them; so are results of collectives and values
 * that depend on no value with rows (constants, masks, weights). The barrier gives x a new name, so
 * that value numbering does not merge a' with a, and keeps a' from being scheduled early. The
 * unit's forward pass has a barrier too: where memory is planned by segments, units can then reuse
 * each other's memory.
 *
 * A unit may keep more: named values, which are not recomputed. Values that are kept on the host
 * come back through a barrier, too, by which the cost model recognizes them; on this machine, whose
 * memory is the host's, the barrier is only another name. Of the inputs of units, only what is
 * computed from examples is kept there: not constants with rows, such as the waves of rotated
 * queries.
 *
 * A unit whose gradient has no rows is left unchanged. Recomputation repeats the same operations on
 * the same numbers: the same bits with our own loops. A library may choose another product where a
 * bfloat16 value is stored as float32.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "model/model.h"
#include "pass/pass.h"

static const char again_name[] = "rematerialized", host_name[] = "from_host";

enum { AGAIN, KEPT, ON_HOST };

typedef struct remat {
    const dt_graph *g;
    dt_arena *arena;
    dt_trace *trace;
    int *unit;     /* [nodes] index of the unit of layers that the node belongs to; -1: none */
    bool *forward; /* [nodes] whether a result of the graph needs the node */
    bool *follows; /* [nodes] whether the node, or one that it depends on, has a batch dimension */
    bool *fed; /* [nodes] whether the node is an argument, such as examples, or computed from one */
    /* [nodes] whether forward nodes outside its unit read the node, or it is a result */
    bool *leaves;
    /* [nodes] what the policy does with the value: AGAIN (computed again), KEPT on the device, or
     * ON_HOST */
    int8_t *keeps;
    bool inputs_on_host;
    /* [units] the gradient whose computation starts the unit's backward pass; -1: nothing of the
     * unit is recomputed */
    int *after;
    /* [nodes] kept: the value of the node itself; again: the same value, recomputed for the
     * backward pass */
    dt_value *kept, *again;
} remat;

static const dt_node *node_at(const remat *r, int i) { return &r->g->node[i]; }

/* ---- units, and what depends on examples ---- */

static void find_units(remat *r, const dt_layer_units *u) {
    dt_hash_index at = {0};
    for (int i = 0; i < u->n; i++) dt_hash_index_add(&at, dt_name_hash(u->layer[i]));
    for (int i = 0; i < r->g->n_nodes; i++) {
        const char *path = node_at(r, i)->path;
        const char *layer = dt_arena_printf(r->arena, "%.*s", (int)strcspn(path, "/"), path);
        r->unit[i] = -1;
        for (int k = dt_hash_index_first(&at, dt_name_hash(layer)); k >= 0;
             k = dt_hash_index_next(&at, k))
            if (strcmp(u->layer[k], layer) == 0) r->unit[i] = u->unit[k];
    }
    dt_hash_index_release(&at);
}

static void find_forward(remat *r) {
    for (int i = 0; i < r->g->n_results; i++) r->forward[r->g->result[i].node] = true;
    for (int i = r->g->n_nodes - 1; i >= 0; i--)
        for (int k = 0; r->forward[i] && k < node_at(r, i)->n_in; k++)
            r->forward[node_at(r, i)->in[k]] = true;
}

static void find_flow(remat *r) {
    for (int i = 0; i < r->g->n_nodes; i++) {
        const dt_node *n = node_at(r, i);
        r->follows[i] = dt_type_has_batch(&n->type);
        r->fed[i] = n->op->role == DT_ROLE_ARGUMENT;
        for (int k = 0; k < n->n_in; k++) {
            int in = n->in[k];
            r->follows[i] |= r->follows[in];
            r->fed[i] |= r->fed[in];
            r->leaves[in] |= r->forward[i] && r->unit[in] != r->unit[i];
        }
    }
    for (int i = 0; i < r->g->n_results; i++) r->leaves[r->g->result[i].node] = true;
}

/* Returns the first variable that a product reads, directly or through ops with one input, such as
 * conversions and reshapes; NULL: it reads no variable. */
static const dt_variable *weight_of(const remat *r, int i) {
    for (int k = 0; k < node_at(r, i)->n_in; k++) {
        int in = node_at(r, i)->in[k];
        while (node_at(r, in)->n_in == 1) in = node_at(r, in)->in[0];
        for (int s = 0; node_at(r, in)->op->role == DT_ROLE_STATE && s < r->g->n_states; s++)
            if (r->g->state[s].node == in) return r->g->state[s].variable;
    }
    return NULL;
}

static bool is_of(const dt_kept_value *v, const dt_node *n, const dt_variable *weight) {
    return v->weight ? weight && dt_is_kernel_of(weight->path, v->weight) : n->op == v->op;
}

static void find_kept(remat *r, const dt_layer_units *u) {
    for (int i = 0; i < r->g->n_nodes && u->n_kept > 0; i++) {
        const dt_node *n = node_at(r, i);
        if (r->unit[i] < 0 || !r->forward[i] || !r->follows[i]) continue;
        const dt_variable *weight = n->op->role == DT_ROLE_PRODUCT ? weight_of(r, i) : NULL;
        for (int k = 0; k < u->n_kept; k++)
            if (is_of(&u->kept[k], n, weight)) r->keeps[i] = u->kept[k].on_host ? ON_HOST : KEPT;
    }
}

/* Sets after[u], for each unit, to the first gradient from outside the unit that its backward pass
 * reads and that has rows and depends on examples, since a constant would make nothing wait; -1:
 * there is none. */
static void find_gradients(remat *r, int n_units) {
    for (int u = 0; u < n_units; u++) r->after[u] = -1;
    for (int i = 0; i < r->g->n_nodes; i++)
        for (int k = 0; !r->forward[i] && r->unit[i] >= 0 && k < node_at(r, i)->n_in; k++) {
            int in = node_at(r, i)->in[k], *after = &r->after[r->unit[i]];
            bool comes = !r->forward[in] && r->fed[in] && r->unit[in] != r->unit[i] &&
                         dt_type_has_batch(&node_at(r, in)->type);
            if (comes && (*after < 0 || in < *after)) *after = in;
        }
}

/* ---- nodes to emit, and the pass ---- */

/* A node to be emitted. again: it is recomputed for the backward pass; false: it is the node
 * itself, of the forward or the backward pass. */
typedef struct item {
    int node;
    bool again;
} item;

typedef struct wants {
    int n;
    item v[2 * DT_MAX_IN + 1];
} wants;

static bool has_rows_of(const remat *r, int a, int b) {
    const dt_type *s = &node_at(r, a)->type, *t = &node_at(r, b)->type;
    return s->rank > 0 && t->rank > 0 && s->dim[0] < 0 && s->dim[0] == t->dim[0];
}

static bool is_remade(const remat *r, int i) {
    return r->unit[i] >= 0 && r->after[r->unit[i]] >= 0 && r->forward[i] && r->follows[i] &&
           !r->leaves[i] && r->keeps[i] == AGAIN && !node_at(r, i)->op->traits.collective;
}

/* Whether item i reads the recomputed value of its input `in`, rather than the kept one. */
static bool takes_again(const remat *r, item i, int in) {
    return is_remade(r, in) && (i.again ? r->unit[in] == r->unit[i.node] : !r->forward[i.node]);
}

/* Whether item i, work of a unit's backward pass, reads the value `in` that was kept in the host's
 * memory. */
static bool comes_from_host(const remat *r, item i, int in) {
    int unit = r->unit[i.node];
    if ((!i.again && r->forward[i.node]) || !r->forward[in] || unit < 0 || r->after[unit] < 0)
        return false;
    bool input = r->unit[in] != unit && node_at(r, in)->n_in > 0 && r->fed[in];
    return has_rows_of(r, in, r->after[unit]) &&
           (input ? r->inputs_on_host : r->keeps[in] == ON_HOST);
}

/* Returns the gradient that must be computed before item i may read its input `in`; `in` itself
 * where a forward unit begins; -1: i reads the input directly. */
static int barrier_at(const remat *r, item i, int in) {
    if (comes_from_host(r, i, in)) return r->after[r->unit[i.node]];
    if (!i.again && r->forward[i.node] && r->unit[i.node] >= 0 && r->after[r->unit[i.node]] >= 0)
        return r->unit[in] != r->unit[i.node] && dt_type_has_batch(&node_at(r, in)->type) ? in : -1;
    if (!i.again || takes_again(r, i, in)) return -1;
    int after = r->after[r->unit[i.node]];
    return has_rows_of(r, in, after) ? after : -1;
}

static wants list_wants(const remat *r, item i) {
    wants w = {0};
    for (int k = 0; k < node_at(r, i.node)->n_in; k++) {
        int in = node_at(r, i.node)->in[k], after = barrier_at(r, i, in);
        w.v[w.n++] = (item){in, takes_again(r, i, in)};
        if (after >= 0) w.v[w.n++] = (item){after, false};
    }
    if (i.again && node_at(r, i.node)->n_in == 0) {
        w.v[w.n++] = (item){i.node, false};
        w.v[w.n++] = (item){r->after[r->unit[i.node]], false};
    }
    return w;
}

static dt_value *value_slot(remat *r, item i) {
    return i.again ? &r->again[i.node] : &r->kept[i.node];
}

static dt_value behind(remat *r, int node, int after) {
    const dt_value in[] = {r->kept[node], r->kept[after]};
    return dt_emit(r->trace, &dt_op_optimization_barrier, in, 2, NULL);
}

static dt_value from_host(remat *r, int node, int after) {
    const char *path = dt_arena_printf(r->arena, "%s/%s", node_at(r, node)->path, host_name);
    const char *before = dt_trace_path(r->trace, path);
    dt_value v = behind(r, node, after);
    dt_trace_path(r->trace, before);
    return v;
}

static dt_value emit(remat *r, item i) {
    const dt_node *n = node_at(r, i.node);
    dt_value in[DT_MAX_IN];
    const char *before = dt_trace_path(
        r->trace, i.again ? dt_arena_printf(r->arena, "%s/%s", n->path, again_name) : n->path);
    for (int k = 0; k < n->n_in; k++) {
        int after = barrier_at(r, i, n->in[k]);
        in[k] = comes_from_host(r, i, n->in[k]) ? from_host(r, n->in[k], after)
                : after >= 0                    ? behind(r, n->in[k], after)
                             : *value_slot(r, (item){n->in[k], takes_again(r, i, n->in[k])});
    }
    dt_value v = i.again && n->n_in == 0 ? behind(r, i.node, r->after[r->unit[i.node]])
                                         : dt_emit(r->trace, n->op, in, n->n_in, n->attr);
    dt_trace_path(r->trace, before);
    return v;
}

/* Emits node `root` itself, after everything that it needs: depth first, since a recomputed value
 * may wait for a gradient that comes later in the old order. stack: working memory with room for
 * *cap items. */
static void emit_all(remat *r, int root, item **stack, int *cap) {
    int n = 0;
    DT_GROW(*stack, *cap, 1);
    (*stack)[n++] = (item){root, false};
    while (n > 0 && !dt_trace_error(r->trace)) {
        item top = (*stack)[n - 1];
        wants w = list_wants(r, top);
        int had = n;
        for (int k = 0; k < w.n && !value_slot(r, top)->trace; k++)
            if (!value_slot(r, w.v[k])->trace) {
                DT_GROW(*stack, *cap, n + 1);
                (*stack)[n++] = w.v[k];
            }
        if (n > had) continue;
        if (!value_slot(r, top)->trace) *value_slot(r, top) = emit(r, top);
        n--;
    }
}

static dt_status *rewrite(remat *r, dt_graph **out) {
    const dt_graph *g = r->g;
    item *stack = NULL;
    int cap = 0;
    r->trace = dt_trace_create(g->name);
    dt_trace_import(r->trace, g, r->kept);
    for (int i = 0; i < g->n_results; i++) emit_all(r, g->result[i].node, &stack, &cap);
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) emit_all(r, g->state[i].update, &stack, &cap);
    free(stack);
    dt_trace_export(r->trace, g, r->kept);
    return dt_trace_end(r->trace, out);
}

dt_status *dt_remat(const dt_graph *g, const dt_layer_units *units, dt_graph **out) {
    int n = g->n_nodes + 1, n_units = 0;
    remat r = {.g = g, .arena = dt_arena_create()};
    for (int i = 0; i < units->n; i++)
        n_units = units->unit[i] >= n_units ? units->unit[i] + 1 : n_units;
    r.unit = dt_arena_array(r.arena, int, n);
    r.forward = dt_arena_array(r.arena, bool, n);
    r.follows = dt_arena_array(r.arena, bool, n);
    r.leaves = dt_arena_array(r.arena, bool, n);
    r.fed = dt_arena_array(r.arena, bool, n);
    r.after = dt_arena_array(r.arena, int, n_units + 1);
    r.keeps = dt_arena_array(r.arena, int8_t, n);
    r.inputs_on_host = units->inputs_on_host;
    r.kept = dt_arena_array(r.arena, dt_value, n);
    r.again = dt_arena_array(r.arena, dt_value, n);
    find_units(&r, units);
    find_forward(&r);
    find_flow(&r);
    find_kept(&r, units);
    find_gradients(&r, n_units);
    dt_status *s = rewrite(&r, out);
    dt_arena_destroy(r.arena);
    return s;
}

bool dt_is_rematerialized(const dt_node *n) { return dt_ends_with(n->path, again_name); }

bool dt_is_from_host(const dt_node *n) {
    return n->op->role == DT_ROLE_NAME && dt_ends_with(n->path, host_name);
}
