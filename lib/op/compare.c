/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare: y = a R b, where R is one of EQ, NE, LT, LE, GT, GE. NaN is unequal to everything,
 * itself included.
 *
 * (C1) a and b have one dtype.
 * (C2) The direction is one of the six.
 *
 * typedef enum dt_direction { DT_EQ, DT_NE, DT_LT, DT_LE, DT_GT, DT_GE } dt_direction;
 * call: dt_value dt_compare(dt_value a, dt_value b, dt_direction direction)
 * shape: bools of the shape that a and b broadcast to
 * gradient: none
 *
 * call: dt_value dt_one_hot(dt_value index, int64_t depth, dt_dtype dtype)
 * computes: Adds a last axis of `depth` elements: 1 at the position that index holds, 0 elsewhere.
 * All are 0 if index is outside of 0 .. depth - 1.
 * shape: (i..) to (i.., depth), of `dtype`
 * expects: index holds integers and has fewer than 8 dimensions; 1 <= depth < 2^31; dtype exists
 * gradient: none
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_compare_attr *a = q->attr;
    DT_TRY(dt_infer_any(q));
    if (a->direction < DT_EQ || a->direction > DT_GE)
        return dt_bad_shape(q, "(C2) unknown direction %lld", (long long)a->direction);
    q->out.dtype = DT_BOOL;
    return NULL;
}

/* Whether a R b holds, for the direction R. less, equal, greater: whether a < b, a = b and a > b;
 * all are false if a or b is NaN. */
static bool holds(int64_t direction, bool less, bool equal, bool greater) {
    switch (direction) {
    case DT_EQ: return equal;
    case DT_NE: return !equal;
    case DT_LT: return less;
    case DT_LE: return less || equal;
    case DT_GT: return greater;
    default: return greater || equal;
    }
}

static void eval(const dt_call *c) {
    const dt_compare_attr *attr = c->node->attr;
    bool is_float = dt_dtype_is_float(c->in[0].type.dtype);
    for (int64_t i = 0, n = dt_type_elements(&c->out.type); i < n; i++) {
        bool y;
        if (is_float) {
            double a = dt_cell_double(&c->in[0], i), b = dt_cell_double(&c->in[1], i);
            y = holds(attr->direction, a<b, a == b, a> b);
        } else {
            int64_t a = dt_cell_int(&c->in[0], i), b = dt_cell_int(&c->in[1], i);
            y = holds(attr->direction, a<b, a == b, a> b);
        }
        dt_cell_set_int(&c->out, i, y);
    }
}

static void print(const void *attr, dt_str *out) {
    static const char *const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    const dt_compare_attr *a = attr;
    dt_str_puts(out, names[a->direction]);
}

static int loop(const void *attr) { return (int)((const dt_compare_attr *)attr)->direction; }

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_compare_attr *a = c->node->attr;
    return dt_hlo_compare(c->hlo, (dt_direction)a->direction, c->in[0], c->in[1]);
}

const dt_op dt_op_compare = {
    .name = "compare",
    .n_in = 2,
    .attr = {.size = sizeof(dt_compare_attr), .print = print},
    .role = DT_ROLE_ELEMENT,
    .infer = infer,
    .rule = dt_rule_elementwise,
    .forms.loop = loop,
    .eval = eval,
    .forms.stablehlo = stablehlo,
};
