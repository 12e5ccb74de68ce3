/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic_slice at the device's rank: all devices along `axes` have the same value, and each keeps
 * its own part of it along `dim`. Nothing is sent. */
#include "op/across.h"
#include "op/stablehlo.h"

static void eval(const dt_call *c) {
    const dt_across_attr *a = c->node->attr;
    dt_block b = dt_whole_block(&c->out.type);
    b.from[a->dim] = dt_across_rank(a, c->env->replica) * b.size[a->dim];
    dt_copy_block(&c->out, &c->in[c->env->replica], &b);
}

static dt_value plain(const dt_plain_call *c) {
    const dt_across_attr *a = c->node->attr;
    return dt_part_of(c->in[c->device], a->dim, dt_across_rank(a, c->device),
                      dt_mesh_parts(&a->mesh, a->axes));
}

static const struct dt_across_row row = {DT_ACROSS_NOTHING, plain, dt_across_bytes_none};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_across_attr *a = c->node->attr;
    dt_hlo_value rank = dt_hlo_rank(c->hlo, &a->mesh, a->axes);
    dt_hlo_value from = dt_hlo_binary(c->hlo, "multiply", rank,
                                      dt_hlo_like(c->hlo, rank, (double)c->type.dim[a->dim]));
    return dt_hlo_dynamic_slice(c->hlo, c->in[0], a->dim, from, c->type.dim[a->dim]);
}

const dt_op dt_op_across_own_part = {
    .name = "dynamic_slice",
    .n_in = 1,
    .role = DT_ROLE_MOVE,
    .attr = {.size = sizeof(dt_across_attr), .print = dt_across_print_dim},
    .traits.collective = true,
    .infer = dt_across_infer_part,
    .rule = dt_rule_none,
    .eval = eval,
    .across = &row,
    .forms.stablehlo = stablehlo,
};
