/* SPDX-License-Identifier: Apache-2.0 */
/* What estimates need of a node, such as its type on one device, and the cost of its op alone. */
#include <string.h>

#include "cost/cost_impl.h"
#include "op/across.h"
#include "op/op.h"

static const dt_node *node_of(const dt_priced_program *r, int i) {
    return &r->program->local->node[i];
}

dt_type dt_priced_type(const dt_priced_program *r, int i) {
    const dt_graph *g = r->program->local;
    dt_type t = dt_type_at(&g->node[i].type, r->program->batch / g->batch_parts);
    if (r->dtype) t.dtype = (dt_dtype)r->dtype[i];
    return t;
}

static bool is_output_product(const dt_priced_program *r, int i) {
    const dt_node *n = node_of(r, i);
    return r->program->how.output && n->op->role == DT_ROLE_PRODUCT &&
           dt_path_is_within(n->path, r->program->how.output) && dt_type_has_batch(&n->type);
}

bool dt_priced_is_piece(const dt_priced_program *r, int i) {
    const dt_node *n = node_of(r, i);
    if (r->program->how.pieces <= 1 || !r->program->how.output || !dt_type_has_batch(&n->type))
        return false;
    if (is_output_product(r, i)) return n->type.rank >= 2;
    return n->type.rank >= 2 &&
           (dt_path_is_within(n->path, "loss") || dt_path_is_within(n->path, "metrics")) &&
           n->n_in > 0 && dt_type_has_batch(&node_of(r, n->in[0])->type);
}

/* Operations per element for quantizing: finding the largest magnitude, then scaling, rounding and
 * clipping. */
#define QUANTIZE_OPERATIONS 6

/* Whether both operands of a product can have 8 bits: it is a product without batch dimensions,
 * which multiplies by a weight or computes the gradient of one, and is not in the output layer. The
 * products of attention have batch dimensions. */
static bool is_quantized(const dt_priced_program *r, int i) {
    const dt_dot_attr *dot = dt_dot_of(node_of(r, i));
    return dot && dot->n_batch == 0 &&
           !(r->program->how.output &&
             dt_path_is_within(node_of(r, i)->path, r->program->how.output));
}

void dt_priced_quantize(const dt_priced_program *r, int i, dt_cost *cost) {
    const dt_kernel_rates *rates = &r->topology->slice->chip->kernel;
    if (r->program->how.quantization == DT_QUANTIZE_NONE || !is_quantized(r, i)) return;
    const double rate =
        r->program->how.quantization == DT_QUANTIZE_INT8 ? rates->int8_rate : rates->fp8_rate;
    cost->product[0].faster = rate > 0 ? rate : 1;
    for (int k = 0; k < 2; k++) {
        dt_type t = dt_priced_type(r, node_of(r, i)->in[k]);
        /* The operand is read once more to find the largest magnitude; writing and reading it in 8
         * bits takes as long as reading it once in 16 bits. */
        cost->vector += QUANTIZE_OPERATIONS * (double)dt_type_elements(&t);
        cost->bytes += (double)dt_type_bytes(&t);
    }
}

dt_cost dt_priced_cost(const dt_priced_program *r, int i) {
    dt_node at = *node_of(r, i);
    dt_view in[DT_MAX_IN];

    at.type = dt_priced_type(r, i);
    for (int k = 0; k < at.n_in; k++) in[k] = (dt_view){.type = dt_priced_type(r, at.in[k])};
    const dt_call call = {.node = &at, .in = in, .out = {.type = at.type}};
    return dt_cost_of(&call);
}

int dt_priced_source(const dt_priced_program *r, int i) {
    for (;;) {
        if (dt_is_from_host(node_of(r, i))) return i;
        if (node_of(r, i)->op->traits.read_through) i = node_of(r, i)->in[0];
        else if (r->made_of && r->made_of[i] >= 0) i = r->made_of[i];
        else return i;
    }
}

bool dt_priced_lies_there(const dt_priced_program *r, int i) {
    const dt_node *n = node_of(r, i);
    return n->n_in > 0 ? n->op->role != DT_ROLE_SIZE
                       : n->op->role == DT_ROLE_ARGUMENT || n->op->role == DT_ROLE_STATE;
}

bool *dt_priced_forward(const dt_priced_program *r, dt_arena *arena) {
    const dt_graph *g = r->program->local;
    bool *forward = dt_arena_array(arena, bool, g->n_nodes + 1);
    for (int i = 0; i < r->program->local->n_results; i++) forward[g->result[i].node] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int k = 0; forward[i] && k < g->node[i].n_in; k++) forward[g->node[i].in[k]] = true;
    return forward;
}

bool dt_priced_is_gathered_twice(const dt_priced_program *r, int i) {
    const dt_node *n = node_of(r, i);
    if (dt_across_kind_of(n) != DT_ACROSS_ALL_GATHER) return false;
    const dt_across_attr *across = n->attr;
    return node_of(r, dt_priced_source(r, n->in[0]))->op->role == DT_ROLE_STATE ||
           !(across->axes & r->program->mesh.replicas);
}
