/* SPDX-License-Identifier: Apache-2.0 */
/* all_gather over devices: concatenates the parts of the devices along `axes`, in the order of
 * ranks, along `dim`. */
#include "op/across.h"

#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_across_attr *a = q->attr;
    q->out = q->in[0];
    q->out.dim[a->dim] *= dt_mesh_parts(&a->mesh, a->axes);
    return NULL;
}

static void eval(const dt_call *c) {
    const dt_across_attr *a = c->node->attr;
    for (int r = 0; r < dt_mesh_parts(&a->mesh, a->axes); r++) {
        const dt_view *x = &c->in[dt_across_peer(a, c->env->replica, r)];
        dt_block b = dt_whole_block(&x->type);
        b.at[a->dim] = r * x->type.dim[a->dim];
        dt_copy_block(&c->out, x, &b);
    }
}

static dt_value plain(const dt_plain_call *c) {
    const dt_across_attr *a = c->node->attr;
    int n = dt_mesh_parts(&a->mesh, a->axes);
    dt_value *part = dt_arena_array(dt_trace_arena(c->in[0].trace), dt_value, n);
    for (int r = 0; r < n; r++) part[r] = c->in[dt_across_peer(a, c->device, r)];
    return dt_join_parts(part, n, a->dim);
}

static double bytes(const dt_across_attr *a, const dt_type *in) {
    return (double)dt_type_bytes(in) * (dt_mesh_parts(&a->mesh, a->axes) - 1);
}

static const struct dt_across_row row = {DT_ACROSS_ALL_GATHER, plain, bytes};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_across_attr *a = c->node->attr;
    DT_LOCAL char *groups = dt_hlo_groups(&a->mesh, a->axes);
    return dt_hlo_op(c->hlo, "all_gather", c->in, 1, &c->type,
                     "all_gather_dim = %d : i64, replica_groups = %s", a->dim, groups);
}

const dt_op dt_op_across_all_gather = {
    .name = "all_gather",
    .n_in = 1,
    .role = DT_ROLE_COLLECTIVE,
    .attr = {.size = sizeof(dt_across_attr), .print = dt_across_print_dim},
    .traits.collective = true,
    .infer = infer,
    .rule = dt_rule_none,
    .eval = eval,
    .across = &row,
    .forms.stablehlo = stablehlo,
};
