/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds the operands of float32 products as a TPU does: its matrix units round operands to
 * bfloat16, to nearest with ties to even, and add in float32. That is XLA's default precision on
 * TPUs, and `numerics: chip` requests it.
 *
 *     dot_general(x, w)     becomes     dot_general(reduce_precision(x), reduce_precision(w))
 *
 * An op's row says which inputs are multiplied, and which attribute requests rounding of products
 * inside the op. A value with several readers is rounded once. The pass runs after gradients have
 * been derived, so they are the gradients of products without rounding, as in XLA.
 */
#include <string.h>

#include "pass/pass.h"

static const dt_precision_attr bfloat16 = {.mantissa_bits = 7};

static dt_value rounded(const dt_rewrite_call *c, dt_value x) {
    return dt_type_of_value(x).dtype == DT_FLOAT32
               ? dt_emit(c->trace, &dt_op_reduce_precision, &x, 1, &bfloat16)
               : x;
}

/* Returns the node's attributes: if the op has products inside, a copy that requests their
 * rounding. */
static const void *marked(const dt_rewrite_call *c, const dt_node *n) {
    const int64_t yes = 1;
    char *attr;
    if (!n->op->attr.rounds) return n->attr;
    attr = dt_arena_copy(dt_trace_arena(c->trace), n->attr, n->op->attr.size);
    memcpy(attr + n->op->attr.rounds - 1, &yes, sizeof yes);
    return attr;
}

static dt_value round_inputs(const dt_rewrite_call *c) {
    const dt_node *n = &c->graph->node[c->node];
    dt_value in[DT_MAX_IN];

    if (!n->op->multiplied || n->type.dtype != DT_FLOAT32)
        return dt_emit_like(c->trace, c->graph, c->node, c->in);
    for (int k = 0; k < n->n_in; k++)
        in[k] = n->op->multiplied >> k & 1 ? rounded(c, c->in[k]) : c->in[k];
    return dt_emit(c->trace, n->op, in, n->n_in, marked(c, n));
}

dt_status *dt_chip_products(const dt_graph *g, dt_graph **out) {
    return dt_rewrite(g, round_inputs, NULL, out);
}
