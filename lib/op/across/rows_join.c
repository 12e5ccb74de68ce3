/* SPDX-License-Identifier: Apache-2.0 */
/* Concatenates two parts of the batch. It is the counterpart of rows_part. */
#include "op/across.h"

#include <string.h>

static dt_status *infer(dt_infer *q) {
    q->out = q->in[0];
    q->out.dim[0] += q->in[1].dim[0];
    return NULL;
}

static void eval(const dt_call *c) {
    size_t first = (size_t)dt_type_bytes(&c->in[0].type),
           second = (size_t)dt_type_bytes(&c->in[1].type);
    if (first) memcpy(c->out.data, c->in[0].data, first);
    if (second) memcpy((char *)c->out.data + first, c->in[1].data, second);
}

static void print(const void *attr, dt_str *out) {
    (void)attr;
    dt_str_puts(out, "joined one after the other");
}

const dt_op dt_op_across_rows_join = {
    .name = "rows_join",
    .n_in = 2,
    .role = DT_ROLE_MOVE,
    .attr = {.size = sizeof(dt_across_attr), .print = print},
    .infer = infer,
    .rule = dt_rule_none,
    .eval = eval,
};
