/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders the program of a device. A trace has updates from the last variable to the first, so that
 * a backward pass runs through the layers in that order and frees their values early. If the first
 * update needs all gradients (a norm over all of them) that is not enough: the sum begins with the
 * gradient of the first layer, which is computed last. So gradients are put in the order in which
 * they can be computed:
 *
 *     level   0 x   1 h   2 loss   3 dh   4 dW1   5 dx   6 dW0
 *
 * A level is one more than the largest level of the inputs.
 */
#include <stdlib.h>
#include <string.h>

#include "pass/spmd/spmd_impl.h"

typedef struct gradient {
    int node, level;
} gradient;

typedef struct ordering {
    dt_trace *t;
    int n, *level, *from;
    /* follows: [nodes] whether the node depends on examples; meet: some value depends on the
     * gradients of several variables */
    bool *listed, *follows, meet;
    gradient *list;
} ordering;

bool dt_spmd_is_optimizers(const dt_node *n) { return dt_path_is_within(n->path, "optimizer"); }

static int earlier(const void *a, const void *b) {
    const gradient *x = a, *y = b;
    return x->level != y->level ? x->level - y->level : x->node - y->node;
}

/* Records that node i of the optimizer reads `in`. An `in` that is not the optimizer's own and
 * depends on examples is the gradient of a variable. */
static void read_gradient(ordering *o, int i, int in) {
    const dt_node *n = dt_trace_node(o->t, in);
    bool is_gradient = !dt_spmd_is_optimizers(n) && o->follows[in];
    int from = is_gradient ? in + 1 : o->from[in];
    o->meet |= from && o->from[i] && from != o->from[i];
    o->from[i] = from ? from : o->from[i];
    if (is_gradient && !o->listed[in]) o->list[o->n++] = (gradient){in, o->level[in]};
    o->listed[in] |= is_gradient;
}

static void list_gradients(ordering *o) {
    for (int i = 0; i < dt_trace_count(o->t); i++) {
        const dt_node *node = dt_trace_node(o->t, i);
        o->follows[i] = dt_type_has_batch(&node->type);
        for (int k = 0; k < node->n_in; k++) {
            int in = node->in[k];
            o->follows[i] |= o->follows[in];
            o->level[i] = o->level[in] >= o->level[i] ? o->level[in] + 1 : o->level[i];
            if (dt_spmd_is_optimizers(node)) read_gradient(o, i, in);
        }
    }
}

void dt_spmd_order_gradients(dt_spmd_work *w) {
    size_t nodes = (size_t)dt_trace_count(w->t) + 1;
    ordering o = {.t = w->t,
                  .level = dt_arena_array(w->arena, int, nodes),
                  .from = dt_arena_array(w->arena, int, nodes),
                  .listed = dt_arena_array(w->arena, bool, nodes),
                  .follows = dt_arena_array(w->arena, bool, nodes),
                  .list = dt_arena_array(w->arena, gradient, nodes)};
    list_gradients(&o);
    qsort(o.list, (size_t)o.n, sizeof *o.list, earlier);
    for (int i = 0; o.meet && i < o.n; i++) dt_trace_put_first(w->t, o.list[i].node);
}
