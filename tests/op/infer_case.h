/* SPDX-License-Identifier: Apache-2.0 */
/* An op with an attribute and types of its operands, all written down, and what it infers. */
#ifndef TESTS_OP_INFER_CASE_H
#define TESTS_OP_INFER_CASE_H

#include "types.h"

enum { MOST_IN = 5 };

typedef struct infer_case {
    const dt_op *op;
    const void *attr;
    const char *in[MOST_IN];
    const char *ought; /* the type, or what the message must say */
} infer_case;

static inline dt_status *infer(const infer_case *c, dt_type *in, dt_type *out) {
    for (int i = 0; i < MOST_IN && c->in[i]; i++) in[i] = type_of(c->in[i]);
    dt_infer q = {.op = c->op, .in = in, .n_in = c->op->n_in, .attr = c->attr};
    dt_status *s = c->op->infer(&q);
    *out = q.out;
    return s;
}

#define ALL(cases, expect)                                                                         \
    for (size_t i_ = 0; i_ < sizeof(cases) / sizeof *(cases); i_++) expect(&(cases)[i_])

#endif
