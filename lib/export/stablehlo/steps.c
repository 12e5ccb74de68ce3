/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes sequences suitable for loops. A recurrent layer takes each time step from its input by
 * slices, and concatenates outputs and gradients by halves, so the text would grow with every step.
 * Here each step is one op with its number as an attribute. So the steps become equal blocks
 * (repeat.c), and a sequence that is being assembled is passed from block to block:
 *
 *     slice(slice(x))                        ->  take_step(x, t)
 *     concatenate(concatenate(a, b), c)      ->  put_step(put_step(put_step(0, a, 0), b, 1), c, 2)
 *     add(pad(a), add(pad(b), pad(c)))       ->  the same
 *
 * A sum of padded values becomes such a sequence only if each position has one value, so that only
 * zeros are dropped from the sum. Parts of equal depth in the graph, which cannot depend on each
 * other, are left as they are, since a loop would save nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "export/stablehlo/blocks.h"
#include "op/shapes.h"
#include "pass/pass.h"

enum { FEWEST_STEPS = 4 }; /* a sequence must have at least this many steps to be rewritten */

/* ---- the ops ---- */

typedef struct step_attr {
    int64_t axis;
    uint64_t number;
} step_attr;

static dt_status *infer_take(dt_infer *q) {
    const step_attr *a = q->attr;
    q->out = q->in[0];
    q->out.dim[a->axis] = 1;
    return NULL;
}

static dt_hlo_value number_of(const dt_hlo_call *c) {
    const step_attr *a = c->node->attr;
    const dt_type index = dt_scalar_type(DT_INT32);
    return c->number ? dt_hlo_convert(c->hlo, *c->number, DT_INT32)
                     : dt_hlo_splat(c->hlo, &index, (double)a->number);
}

static dt_hlo_value write_take(const dt_hlo_call *c) {
    const step_attr *a = c->node->attr;
    return c->number ? dt_hlo_dynamic_slice(c->hlo, c->in[0], (int)a->axis, number_of(c), 1)
                     : dt_hlo_slice(c->hlo, c->in[0], (int)a->axis, (int64_t)a->number, 1);
}

static dt_hlo_value write_put(const dt_hlo_call *c) {
    const step_attr *a = c->node->attr;
    const dt_hlo_value at = number_of(c), zero = dt_hlo_like(c->hlo, at, 0);
    dt_hlo_value in[2 + DT_MAX_RANK] = {c->in[0], c->in[1]};
    for (int d = 0; d < c->type.rank; d++) in[2 + d] = d == a->axis ? at : zero;
    return dt_hlo_op(c->hlo, "dynamic_update_slice", in, 2 + c->type.rank, &c->type, "%s", "");
}

static const dt_op take_step = {
    .name = "take_step",
    .n_in = 1,
    .role = DT_ROLE_MOVE,
    .attr = {.size = sizeof(step_attr), .number = 1 + offsetof(step_attr, number)},
    .infer = infer_take,
    .forms.stablehlo = write_take,
};
static const dt_op put_step = {
    .name = "put_step",
    .n_in = 2,
    .role = DT_ROLE_MOVE,
    .attr = {.size = sizeof(step_attr), .number = 1 + offsetof(step_attr, number)},
    .infer = dt_infer_same,
    .forms.stablehlo = write_put,
};

bool dt_hlo_takes_step(const dt_node *n) { return n->op == &take_step; }
bool dt_hlo_puts_step(const dt_node *n) { return n->op == &put_step; }

/* ---- what is known of nodes, and slices of sequences ---- */

/* A slice: elements first, first + 1, ... of the value `base` along one axis. base -1: the node is
 * not a slice. */
typedef struct cut {
    int base, axis;
    int64_t first;
} cut;

/* A value that concatenations, pads and sums assemble of parts of size 1 along an axis. axis -1:
 * the node is not such a value. */
typedef struct whole {
    int axis;
    /* it was tried to divide the node, or one that contains it, so it is not tried again */
    bool is_part;
} whole;

/* A part of a value that is assembled of steps. */
typedef struct leaf {
    /* node: index of the part in the graph; depth: length of the longest path to it */
    int node, depth;
    int64_t at; /* the part's position along the axis */
} leaf;

typedef struct steps {
    const dt_graph *g;
    cut *cut;     /* [nodes] the slice that the node is */
    whole *whole; /* [nodes] whether the node is assembled of steps */
    int *depth;   /* [nodes] length of the longest path to the node */
    int *taken;   /* [nodes] number of single steps that are sliced from the node */
    /* [nodes] parts of the node, in the order in which they are computed; NULL: it is not
     * rewritten */
    leaf **leaf;
    int joined; /* number of nodes with a `leaf` */
} steps;

static const dt_node *node_at(const steps *s, int i) { return &s->g->node[i]; }
static int64_t size_of(const steps *s, int i, int axis) { return node_at(s, i)->type.dim[axis]; }

/* Returns the only axis along which x and y have different sizes; -1: there are none or several. */
static int axis_between(const dt_type *x, const dt_type *y) {
    int axis = -1;
    for (int d = 0; d < x->rank; d++)
        if (x->dim[d] != y->dim[d]) {
            if (axis >= 0) return -1;
            axis = d;
        }
    return axis;
}

static void find_cut(steps *s, int i) {
    const dt_node *n = node_at(s, i);
    const dt_slice_attr *a = dt_slice_of(n);
    s->cut[i].base = -1;
    if (!a) return;
    const int in = n->in[0], axis = axis_between(&node_at(s, in)->type, &n->type);
    if (axis < 0 || a->dim[axis].stride != 1) return;
    s->cut[i] = (cut){in, axis, a->dim[axis].start};
    if (s->cut[in].base >= 0 && s->cut[in].axis == axis) {
        s->cut[i].base = s->cut[in].base;
        s->cut[i].first += s->cut[in].first;
    }
    if (size_of(s, i, axis) == 1) s->taken[s->cut[i].base]++;
}

static bool is_taken(const steps *s, int i) {
    const cut *c = &s->cut[i];
    return c->base >= 0 && s->taken[c->base] >= FEWEST_STEPS && size_of(s, i, c->axis) == 1;
}

/* ---- sequences assembled from steps ---- */

/* Returns the axis along which a pad adds zeros at the ends; -1: the node is not a pad, or one that
 * does something else, such as padding along one axis and cutting along another. */
static int padded_axis(const steps *s, const dt_node *n) {
    const dt_pad_attr *a = dt_pad_of(n);
    const int axis = a ? axis_between(&node_at(s, n->in[0])->type, &n->type) : -1;
    if (axis < 0 || a->value != 0) return -1;
    for (int d = 0; d < n->type.rank; d++)
        if (a->dim[d].interior || a->dim[d].low < 0 || a->dim[d].high < 0) return -1;
    return axis;
}

static bool has_parts(const steps *s, int i, int axis) {
    return size_of(s, i, axis) == 1 || s->whole[i].axis == axis;
}

static void find_whole(steps *s, int i) {
    const dt_node *n = node_at(s, i);
    const dt_axis_attr *joins = dt_concatenate_of(n);
    int axis = joins ? (int)joins->axis : padded_axis(s, n);
    if (axis < 0 && dt_is_add(n)) axis = s->whole[n->in[0]].axis;
    const bool good =
        axis >= 0 && has_parts(s, n->in[0], axis) && (n->n_in < 2 || has_parts(s, n->in[1], axis));
    s->whole[i] = (whole){.axis = good ? axis : -1};
}

static int by_depth(const void *a, const void *b) {
    const leaf *x = a, *y = b;
    return x->depth != y->depth ? (x->depth > y->depth) - (x->depth < y->depth)
                                : (x->node > y->node) - (x->node < y->node);
}

/* Lists the parts of node i, at most `size`. Returns their number, or size + 1 if there are too
 * many. */
static int64_t list_leaves(const steps *s, int i, int axis, int64_t size, leaf *out) {
    DT_LOCAL leaf *stack = dt_alloc(dt_size_mul((size_t)s->g->n_nodes + 1, sizeof *stack));
    int64_t n = 0;
    int top = 0;
    stack[top++] = (leaf){.node = i};
    while (top > 0 && n <= size) {
        const leaf l = stack[--top];
        const dt_node *x = node_at(s, l.node);
        if (size_of(s, l.node, axis) == 1) {
            if (n < size) out[n] = (leaf){l.node, s->depth[l.node], l.at};
            n++;
            continue;
        }
        const dt_pad_attr *pad = dt_pad_of(x);
        const int64_t low = pad ? pad->dim[axis].low : 0,
                      next = dt_concatenate_of(x) ? size_of(s, x->in[0], axis) : 0;
        if (top + 2 > s->g->n_nodes) break;
        stack[top++] = (leaf){.node = x->in[0], .at = l.at + low};
        if (x->n_in > 1) stack[top++] = (leaf){.node = x->in[1], .at = l.at + next};
        s->whole[l.node].is_part = true;
    }
    return top > 0 ? size + 1 : n;
}

/* Sorts n parts by depth. Returns whether there is one for each of n positions, and each has a
 * greater depth than the one before it, so that it may depend on it. */
static bool are_steps(leaf *l, int64_t n) {
    bool good = true, *seen = dt_alloc(dt_size_mul((size_t)n, sizeof *seen));
    memset(seen, 0, (size_t)n * sizeof *seen);
    qsort(l, (size_t)n, sizeof *l, by_depth);
    for (int64_t i = 0; i < n && good; i++) {
        good = !seen[l[i].at] && (i == 0 || l[i].depth > l[i - 1].depth);
        seen[l[i].at] = true;
    }
    free(seen);
    return good;
}

static void find_leaves(steps *s, int i) {
    const int axis = s->whole[i].axis;
    if (axis < 0 || s->whole[i].is_part) return;
    const int64_t n = size_of(s, i, axis);
    if (n < FEWEST_STEPS || n > s->g->n_nodes) return;
    leaf *l = dt_alloc(dt_size_mul((size_t)n, sizeof *l));
    if (list_leaves(s, i, axis, n, l) == n && are_steps(l, n)) {
        s->leaf[i] = l;
        s->joined++;
    } else free(l);
}

static void find_steps(steps *s) {
    for (int i = 0; i < s->g->n_nodes; i++) {
        const dt_node *n = node_at(s, i);
        for (int k = 0; k < n->n_in; k++)
            if (s->depth[n->in[k]] >= s->depth[i]) s->depth[i] = s->depth[n->in[k]] + 1;
        find_cut(s, i);
        find_whole(s, i);
    }
    for (int i = s->g->n_nodes - 1; i >= 0; i--) find_leaves(s, i);
}

/* ---- the new graph ---- */

static dt_value put_steps(const dt_rewrite_call *c, const steps *s) {
    const dt_type type = node_at(s, c->node)->type;
    const int axis = s->whole[c->node].axis;
    dt_value all = dt_splat(c->trace, &type, 0);
    for (int64_t i = 0; i < type.dim[axis]; i++) {
        const leaf *l = &s->leaf[c->node][i];
        const step_attr a = {axis, (uint64_t)l->at};
        all = dt_emit(c->trace, &put_step, (dt_value[]){all, c->map[l->node]}, 2, &a);
    }
    return all;
}

static dt_value with_steps(const dt_rewrite_call *c) {
    const steps *s = c->user;
    if (s->leaf[c->node]) return put_steps(c, s);
    if (!is_taken(s, c->node)) return dt_emit_like(c->trace, c->graph, c->node, c->in);
    const cut *from = &s->cut[c->node];
    const step_attr a = {from->axis, (uint64_t)from->first};
    return dt_emit(c->trace, &take_step, &c->map[from->base], 1, &a);
}

dt_status *dt_hlo_number_steps(const dt_graph *g, dt_graph **out) {
    dt_local_arena arena = dt_arena_create();
    const size_t n = (size_t)g->n_nodes + 1;
    steps s = {.g = g,
               .cut = dt_arena_array(arena, cut, n),
               .whole = dt_arena_array(arena, whole, n),
               .depth = dt_arena_array(arena, int, n),
               .taken = dt_arena_array(arena, int, n),
               .leaf = dt_arena_array(arena, leaf *, n)};
    int taken = 0;
    dt_status *bad = NULL;
    find_steps(&s);
    for (int i = 0; i < g->n_nodes; i++) taken += is_taken(&s, i);
    *out = NULL;
    if (taken + s.joined > 0) bad = dt_rewrite(g, with_steps, &s, out);
    for (int i = 0; i < g->n_nodes; i++) free(s.leaf[i]);
    return bad;
}
