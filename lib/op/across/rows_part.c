/* SPDX-License-Identifier: Apache-2.0 */
/* Part number `dim`, counted from 0, of `to` equal parts of the batch. It occurs only in programs
 * that run several devices in one memory space, where a part of a batch is a value. */
#include "op/across.h"

#include <string.h>

static dt_status *infer(dt_infer *q) {
    const dt_across_attr *a = q->attr;
    q->out = q->in[0];
    q->out.dim[0] /= a->to;
    return NULL;
}

static void eval(const dt_call *c) {
    const dt_across_attr *a = c->node->attr;
    size_t n = (size_t)dt_type_bytes(&c->out.type);
    if (n) memcpy(c->out.data, (const char *)c->in[0].data + (size_t)a->dim * n, n);
}

static void print(const void *attr, dt_str *out) {
    const dt_across_attr *a = attr;
    dt_str_printf(out, "%d of %d", a->dim + 1, a->to);
}

const dt_op dt_op_across_rows_part = {
    .name = "rows_part",
    .n_in = 1,
    .role = DT_ROLE_MOVE,
    .attr = {.size = sizeof(dt_across_attr), .print = print},
    .linear = 1,
    .infer = infer,
    .rule = dt_rule_none,
    .eval = eval,
};
