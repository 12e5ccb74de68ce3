/* SPDX-License-Identifier: Apache-2.0 */
/* all_to_all over devices: a value that is divided along `dim` becomes divided along `to`; each
 * device sends a part to each other device. */
#include "op/across.h"

#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_across_attr *a = q->attr;
    int n = dt_mesh_parts(&a->mesh, a->axes);
    q->out = q->in[0];
    q->out.dim[a->dim] *= n;
    q->out.dim[a->to] /= n;
    return NULL;
}

static void eval(const dt_call *c) {
    const dt_across_attr *a = c->node->attr;
    int own = dt_across_rank(a, c->env->replica);
    for (int r = 0; r < dt_mesh_parts(&a->mesh, a->axes); r++) {
        const dt_view *x = &c->in[dt_across_peer(a, c->env->replica, r)];
        dt_block b = dt_whole_block(&x->type);
        b.size[a->to] = c->out.type.dim[a->to];
        b.from[a->to] = own * b.size[a->to];
        b.at[a->dim] = r * x->type.dim[a->dim];
        dt_copy_block(&c->out, x, &b);
    }
}

static dt_value plain(const dt_plain_call *c) {
    const dt_across_attr *a = c->node->attr;
    int n = dt_mesh_parts(&a->mesh, a->axes), own = dt_across_rank(a, c->device);
    dt_value *part = dt_arena_array(dt_trace_arena(c->in[0].trace), dt_value, n);
    for (int r = 0; r < n; r++)
        part[r] = dt_part_of(c->in[dt_across_peer(a, c->device, r)], a->to, own, n);
    return dt_join_parts(part, n, a->dim);
}

static void print(const void *attr, dt_str *out) {
    const dt_across_attr *a = attr;
    dt_across_print(attr, out);
    dt_str_printf(out, " dim=%d to dim=%d", a->dim, a->to);
}

static const struct dt_across_row row = {DT_ACROSS_ALL_TO_ALL, plain, dt_across_bytes_of_others};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_across_attr *a = c->node->attr;
    DT_LOCAL char *groups = dt_hlo_groups(&a->mesh, a->axes);
    return dt_hlo_op(c->hlo, "all_to_all", c->in, 1, &c->type,
                     "split_dimension = %d : i64, concat_dimension = %d : i64, "
                     "split_count = %d : i64, replica_groups = %s",
                     a->to, a->dim, dt_mesh_parts(&a->mesh, a->axes), groups);
}

const dt_op dt_op_across_all_to_all = {
    .name = "all_to_all",
    .n_in = 1,
    .role = DT_ROLE_COLLECTIVE,
    .attr = {.size = sizeof(dt_across_attr), .print = print},
    .traits.collective = true,
    .infer = infer,
    .rule = dt_rule_none,
    .eval = eval,
    .across = &row,
    .forms.stablehlo = stablehlo,
};
