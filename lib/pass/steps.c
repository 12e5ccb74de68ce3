/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a sequence. A recurrent layer takes each step's slice of a sequence, and the gradient of
 * a slice is a sequence of zeros around it. After this pass, each element is moved only once:
 *
 *     slice(slice(x))                    ->  slice(x)
 *     pad(a) + pad(b)                    ->  concatenate(a, b)            the parts are adjacent
 *     h1' z1 + h2' z2 + h3' z3 + ...     ->  (h1 h2 h3 ...)' (z1 z2 z3 ...)
 *
 * The last line is the gradient of the recurrent kernel: one product over all steps and examples
 * replaces one for each step. Its terms are added in the order in which a product adds them.
 *
 * A concatenation differs from the sum only where an element is -0: adding 0 to it gives 0.
 */
#include "op/shapes.h"
#include "pass/pass.h"

enum { LEAST_PRODUCTS = 8 };

typedef struct sums {
    const dt_graph *g;
    const int *uses;
    /* [nodes] number of terms that the node adds; 1: the node is not an addition */
    const int *n_terms;
    /* [nodes] whether the node is an addition whose only reader is another addition */
    const bool *within;
} sums;

/* ---- slices ---- */

static dt_value slice_of_slice(const dt_rewrite_call *c) {
    const dt_node *n = &c->graph->node[c->node], *of = dt_node_of(c->in[0]);
    const dt_slice_attr *first = of ? dt_slice_of(of) : NULL;
    if (!first) return (dt_value){0};
    const dt_value x = {.trace = c->trace, .node = of->in[0], .generation = c->in[0].generation};
    dt_slice_attr a = *dt_slice_of(n);
    for (int d = 0; d < n->type.rank; d++) {
        a.dim[d].start = first->dim[d].start + a.dim[d].start * first->dim[d].stride;
        a.dim[d].stride *= first->dim[d].stride;
    }
    return dt_emit(c->trace, &dt_op_slice, &x, 1, &a);
}

/* ---- gradients of slices ---- */

/* If v is a pad op that adds zeros at the ends of at most one axis, returns its attributes, and
 * sets *axis to the axis, or to -1 if it adds nothing. NULL: v is another op, or adds something
 * else. */
static const dt_pad_attr *zeros_around(dt_value v, int *axis) {
    const dt_node *n = dt_node_of(v);
    const dt_pad_attr *a = n ? dt_pad_of(n) : NULL;
    *axis = -1;
    if (!a || a->value != 0) return NULL;
    for (int d = 0; d < n->type.rank; d++) {
        if (a->dim[d].low == 0 && a->dim[d].high == 0 && a->dim[d].interior == 0) continue;
        if (*axis >= 0 || a->dim[d].low < 0 || a->dim[d].high < 0 || a->dim[d].interior)
            return NULL;
        *axis = d;
    }
    return a;
}

static dt_value padded(dt_value v) {
    return (dt_value){.trace = v.trace, .node = dt_node_of(v)->in[0], .generation = v.generation};
}

/* Returns x + y as a concatenation if y begins where x ends; else no value. */
static dt_value joined_in_order(dt_value x, dt_value y) {
    int axis, other;
    const dt_pad_attr *a = zeros_around(x, &axis), *b = zeros_around(y, &other);
    if (!a || !b || axis < 0 || axis != other) return (dt_value){0};
    const int64_t size = dt_type_of_value(padded(x)).dim[axis];
    if (a->dim[axis].low + size != b->dim[axis].low) return (dt_value){0};
    dt_pad_attr both = *a;
    both.dim[axis].high = b->dim[axis].high;
    return dt_pad(dt_concatenate((dt_value[]){padded(x), padded(y)}, 2, axis), &both);
}

static dt_value joined(dt_value x, dt_value y) {
    const dt_value v = joined_in_order(x, y);
    return v.trace ? v : joined_in_order(y, x);
}

/* Returns (x + y) + z, with z joined to x or to y; no value if z fits neither. */
static dt_value joined_to_part(dt_value sum, dt_value z) {
    const dt_node *n = dt_node_of(sum);
    if (!n || !dt_is_add(n)) return (dt_value){0};
    for (int k = 0; k < 2; k++) {
        const dt_value part = {.trace = sum.trace, .node = n->in[k], .generation = sum.generation},
                       other = {.trace = sum.trace,
                                .node = n->in[1 - k],
                                .generation = sum.generation},
                       both = joined(part, z);
        if (!both.trace) continue;
        const dt_value all = joined(other, both);
        return all.trace ? all : dt_add(other, both);
    }
    return (dt_value){0};
}

static dt_value sum_of_parts(const dt_rewrite_call *c) {
    dt_value v = joined(c->in[0], c->in[1]);
    if (!v.trace) v = joined_to_part(c->in[0], c->in[1]);
    return v.trace ? v : joined_to_part(c->in[1], c->in[0]);
}

/* ---- products ---- */

/* Whether the node is a product (B, m)' x (B, n) that only one node reads, as the gradient of a
 * weight at one time step is. */
static bool is_part(const sums *s, int i) {
    const dt_node *n = &s->g->node[i];
    const dt_dot_attr *a = dt_dot_of(n);
    if (!a || s->uses[i] != 1 || a->n_batch || a->n_contract != 1) return false;
    for (int k = 0; k < 2; k++) {
        const dt_type *t = &s->g->node[n->in[k]].type;
        if (t->rank != 2 || t->dim[0] != DT_BATCH) return false;
    }
    return a->lhs_contract[0] == 0 && a->rhs_contract[0] == 0;
}

static bool is_alike(const dt_graph *g, const dt_node *a, const dt_node *b) {
    return dt_type_equal(&g->node[a->in[0]].type, &g->node[b->in[0]].type) &&
           dt_type_equal(&g->node[a->in[1]].type, &g->node[b->in[1]].type);
}

/* The terms of a sum in order, divided into products with the types of the first product, and all
 * other terms. */
typedef struct terms {
    int n_products, n_others;
    int *product, *other;
} terms;

static void list_terms(const sums *s, int root, terms *t, dt_arena *arena) {
    const dt_node *node = s->g->node;
    int *waiting = dt_arena_array(arena, int, s->n_terms[root] + 1), n = 0;
    t->product = dt_arena_array(arena, int, s->n_terms[root]);
    t->other = dt_arena_array(arena, int, s->n_terms[root]);
    waiting[n++] = root;
    while (n > 0) {
        const int i = waiting[--n];
        if (i == root || s->within[i]) {
            waiting[n++] = node[i].in[1];
            waiting[n++] = node[i].in[0];
        } else if (is_part(s, i) &&
                   (!t->n_products || is_alike(s->g, &node[i], &node[t->product[0]]))) {
            t->product[t->n_products++] = i;
        } else {
            t->other[t->n_others++] = i;
        }
    }
}

/* Concatenates input k of all products to (B, n, columns), from first to last or the reverse. */
static dt_value steps_of(const dt_rewrite_call *c, const terms *t, int k, bool reversed,
                         dt_arena *arena) {
    dt_value *v = dt_arena_array(arena, dt_value, t->n_products);
    for (int i = 0; i < t->n_products; i++) {
        const int at = t->product[reversed ? t->n_products - 1 - i : i];
        const dt_value x = c->map[c->graph->node[at].in[k]];
        const dt_type type = dt_type_of_value(x);
        v[i] = dt_reshape(x, 3, (int64_t[]){type.dim[0], 1, type.dim[1]});
    }
    return dt_concatenate(v, t->n_products, 1);
}

/* Whether steps are joined from the last to the first. The order is one in which an input of the
 * product exists already, such as the gradient of a sequence. If there is none, it is from the last
 * to the first. */
static bool is_reversed(const dt_rewrite_call *c, const terms *t, dt_arena *arena) {
    for (int i = 0; i < 4; i++) {
        const int before = dt_trace_count(c->trace);
        (void)steps_of(c, t, i / 2, i % 2 == 0, arena);
        if (dt_trace_count(c->trace) == before) return i % 2 == 0;
    }
    return true; /* the last step comes first, because gradients begin with it */
}

static dt_value one_product(const dt_rewrite_call *c, const terms *t, dt_arena *arena) {
    const bool reversed = is_reversed(c, t, arena);
    const dt_dot_attr a = {.n_contract = 2, .lhs_contract = {0, 1}, .rhs_contract = {0, 1}};
    dt_value sum =
        dt_dot_general(steps_of(c, t, 0, reversed, arena), steps_of(c, t, 1, reversed, arena), &a);
    for (int i = 0; i < t->n_others; i++) sum = dt_add(sum, c->map[t->other[i]]);
    return sum;
}

static dt_value sum_of_products(const dt_rewrite_call *c) {
    const sums *s = c->user;
    dt_local_arena arena = dt_arena_create();
    terms t = {0};
    dt_value v = {0};
    if (!s->within[c->node] && s->n_terms[c->node] >= LEAST_PRODUCTS) {
        list_terms(s, c->node, &t, arena);
        if (t.n_products >= LEAST_PRODUCTS) v = one_product(c, &t, arena);
    }
    return v;
}

/* ---- the pass ---- */

static dt_value rewritten(const dt_rewrite_call *c) {
    const dt_node *n = &c->graph->node[c->node];
    dt_value v = {0};
    if (dt_slice_of(n)) v = slice_of_slice(c);
    if (dt_is_add(n)) v = sum_of_parts(c);
    if (dt_is_add(n) && !v.trace) v = sum_of_products(c);
    return v.trace ? v : dt_emit_like(c->trace, c->graph, c->node, c->in);
}

/* Counts the terms of each sum, and finds additions whose only reader is another addition. */
static void find_sums(const dt_graph *g, const int *uses, int *n_terms, bool *within) {
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *n = &g->node[i];
        n_terms[i] = 1;
        if (!dt_is_add(n)) continue;
        n_terms[i] = 0;
        for (int k = 0; k < n->n_in; k++) {
            const int in = n->in[k];
            within[in] = dt_is_add(&g->node[in]) && uses[in] == 1;
            n_terms[i] += within[in] ? n_terms[in] : 1;
        }
    }
}

/* Whether the graph may have steps of sequences: it has a slice of a slice, or a sum of at least
 * LEAST_PRODUCTS terms. */
static bool has_steps(const sums *s) {
    for (int i = 0; i < s->g->n_nodes; i++) {
        const dt_node *n = &s->g->node[i];
        if (s->n_terms[i] >= LEAST_PRODUCTS ||
            (dt_slice_of(n) && dt_slice_of(&s->g->node[n->in[0]])))
            return true;
    }
    return false;
}

dt_status *dt_join_steps(const dt_graph *g, dt_graph **out) {
    dt_local_arena arena = dt_arena_create();
    int *n_terms = dt_arena_array(arena, int, g->n_nodes + 1);
    bool *within = dt_arena_array(arena, bool, g->n_nodes + 1);
    const sums s = {.g = g, .uses = dt_graph_uses(g, arena), .n_terms = n_terms, .within = within};
    find_sums(g, s.uses, n_terms, within);
    *out = NULL;
    return has_steps(&s) ? dt_rewrite(g, rewritten, &s, out) : NULL;
}
