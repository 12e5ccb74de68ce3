/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer: sends the value of logical device `dim` to the device `to` (as a collective_permute of
 * one pair), or to all devices if `to` is -1 (as a broadcast). On other devices the result is
 * undefined; the interpreter and `plain` yield the value there, too.
 */
#include "op/across.h"

static void eval(const dt_call *c) {
    const dt_across_attr *a = c->node->attr;
    const dt_block all = dt_whole_block(&c->out.type);
    dt_copy_block(&c->out, &c->in[dt_across_peer(a, c->env->replica, a->dim)], &all);
}

static dt_value plain(const dt_plain_call *c) {
    const dt_across_attr *a = c->node->attr;
    return c->in[dt_across_peer(a, c->device, a->dim)];
}

static double bytes(const dt_across_attr *a, const dt_type *in) {
    (void)a;
    return (double)dt_type_bytes(in);
}

static void print(const void *attr, dt_str *out) {
    const dt_across_attr *a = attr;
    dt_str_printf(out, "%d -> ", a->dim);
    if (a->to < 0) dt_str_puts(out, "all");
    else dt_str_printf(out, "%d", a->to);
}

static const struct dt_across_row row = {DT_ACROSS_TRANSFER, plain, bytes};

const dt_op dt_op_across_transfer = {
    .name = "transfer",
    .n_in = 1,
    .role = DT_ROLE_COLLECTIVE,
    .attr = {.size = sizeof(dt_across_attr), .print = print},
    .traits.collective = true,
    .infer = dt_infer_same,
    .rule = dt_rule_none,
    .eval = eval,
    .across = &row,
};
