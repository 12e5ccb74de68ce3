/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_scatter over devices: combines the values of all devices along `axes` by `kind`, and each
 * device keeps its part of the result along `dim`: an all_reduce and a slice for half the bytes. */
#include "op/across.h"

#include "op/stablehlo.h"

static void eval(const dt_call *c) {
    const dt_across_attr *a = c->node->attr;
    dt_block b = dt_whole_block(&c->out.type);
    int device = c->env->replica;
    b.from[a->dim] = dt_across_rank(a, device) * c->out.type.dim[a->dim];
    dt_copy_block(&c->out, &c->in[dt_across_peer(a, device, 0)], &b);
    for (int r = 1; r < dt_mesh_parts(&a->mesh, a->axes); r++)
        dt_join_block(&c->out, &c->in[dt_across_peer(a, device, r)], &b, a->kind);
}

static dt_value plain(const dt_plain_call *c) {
    const dt_across_attr *a = c->node->attr;
    int n = dt_mesh_parts(&a->mesh, a->axes), own = dt_across_rank(a, c->device);
    dt_value sum = dt_part_of(c->in[dt_across_peer(a, c->device, 0)], a->dim, own, n);
    for (int r = 1; r < n; r++)
        sum = dt_reduce_pair(
            sum, dt_part_of(c->in[dt_across_peer(a, c->device, r)], a->dim, own, n), a->kind);
    return sum;
}

static const struct dt_across_row row = {DT_ACROSS_REDUCE_SCATTER, plain,
                                         dt_across_bytes_of_others};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_across_attr *a = c->node->attr;
    DT_LOCAL char *groups = dt_hlo_groups(&a->mesh, a->axes);
    return dt_hlo_joined(c->hlo, "reduce_scatter", a->kind, c->in, 1, &c->type,
                         "scatter_dimension = %d : i64, replica_groups = %s", a->dim, groups);
}

const dt_op dt_op_across_reduce_scatter = {
    .name = "reduce_scatter",
    .n_in = 1,
    .role = DT_ROLE_COLLECTIVE,
    .attr = {.size = sizeof(dt_across_attr), .print = dt_across_print_dim},
    .traits.collective = true,
    .infer = dt_across_infer_part,
    .rule = dt_rule_none,
    .eval = eval,
    .across = &row,
    .forms.stablehlo = stablehlo,
};
