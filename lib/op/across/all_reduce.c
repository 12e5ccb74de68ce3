/* SPDX-License-Identifier: Apache-2.0 */
/* all_reduce over devices: each device gets the values of all devices along `axes`, combined by
 * `kind` in the order of ranks: their sum, maximum or minimum. */
#include "op/across.h"

#include "op/stablehlo.h"

static void eval(const dt_call *c) {
    const dt_across_attr *a = c->node->attr;
    const dt_block all = dt_whole_block(&c->out.type);
    int device = c->env->replica;
    dt_copy_block(&c->out, &c->in[dt_across_peer(a, device, 0)], &all);
    for (int r = 1; r < dt_mesh_parts(&a->mesh, a->axes); r++)
        dt_join_block(&c->out, &c->in[dt_across_peer(a, device, r)], &all, a->kind);
}

static dt_value plain(const dt_plain_call *c) {
    const dt_across_attr *a = c->node->attr;
    dt_value sum = c->in[dt_across_peer(a, c->device, 0)];
    for (int r = 1; r < dt_mesh_parts(&a->mesh, a->axes); r++)
        sum = dt_reduce_pair(sum, c->in[dt_across_peer(a, c->device, r)], a->kind);
    return sum;
}

/* Counts the bytes as for a ring: each part of the value travels round the ring twice, first to be
 * summed and then to be distributed. */
static double bytes(const dt_across_attr *a, const dt_type *in) {
    double n = dt_mesh_parts(&a->mesh, a->axes);
    return 2 * (double)dt_type_bytes(in) * (n - 1) / n;
}

static const struct dt_across_row row = {DT_ACROSS_ALL_REDUCE, plain, bytes};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_across_attr *a = c->node->attr;
    DT_LOCAL char *groups = dt_hlo_groups(&a->mesh, a->axes);
    return dt_hlo_joined(c->hlo, "all_reduce", a->kind, c->in, 1, &c->type, "replica_groups = %s",
                         groups);
}

const dt_op dt_op_across_all_reduce = {
    .name = "all_reduce",
    .n_in = 1,
    .role = DT_ROLE_COLLECTIVE,
    .attr = {.size = sizeof(dt_across_attr), .print = dt_across_print},
    .traits.collective = true,
    .infer = dt_infer_same,
    .rule = dt_rule_none,
    .eval = eval,
    .across = &row,
    .forms.stablehlo = stablehlo,
};
