/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_cross_entropy and its gradient over devices that split the classes. A device has the
 * logits of some classes; the maximum and the sum of e^(z - m) are those of all devices. A class
 * number is compared with the numbers of the device's classes and found on one device.
 *
 *     loss     sum over own classes of y_j * (log(sum) - (z_j - m))     a term of the loss: partial
 *     dz_j     dy * (e^(z_j - m) / sum * sum of y - y_j)
 *
 * Both need the same maximum and sum, which are one node in a trace. A number that is not a class
 * makes the row NaN on all devices.
 */
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/softmax_cross_entropy.h"

#include <math.h>

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    int classes = in[0].rank - 1;
    dt_rule_rows(in, out, attr, rule);
    rule->in[0][classes] = (int8_t)classes;
    if (in[1].rank == in[0].rank) rule->in[1][classes] = (int8_t)classes;
    if (out->rank == in[0].rank) rule->out[classes] = (int8_t)classes;
}

/* Values on one device. They cover its classes of all rows, (.., C / parts), unless marked (..). */
typedef struct split {
    dt_partition_call *c;
    dt_mesh_axes axes; /* axes that split the classes */
    dt_type type, rows;
    dt_value z;          /* the logits minus the maximum */
    dt_value power, sum; /* e^z; sum: its sum over the classes of all devices, (..) */
    bool is_number;      /* the target is a class number */
    dt_value hit;        /* whether y != 0 */
} split;

static dt_value spread(const split *s, dt_value rows) {
    dt_type t = s->type;
    t.dtype = dt_type_of_value(rows).dtype;
    return dt_broadcast_rows(rows, &t);
}

static dt_value find_target(const split *s) {
    dt_value target = s->c->in[1];
    if (!s->is_number) return dt_compare(target, dt_like(target, 0), DT_NE);
    dt_value number = dt_partition_iota(s->c, &s->type, s->type.rank - 1, s->axes);
    return dt_compare(number, spread(s, dt_convert(target, DT_INT64)), DT_EQ);
}

static split split_of(dt_partition_call *c) {
    split s = {
        .c = c, .type = dt_type_of_value(c->in[0]), .is_number = c->type[1].rank < c->type[0].rank};
    s.axes = c->factor[s.type.rank - 1];
    s.rows = dt_type_of(s.type.dtype, s.type.rank - 1, s.type.dim);
    s.z = dt_subtract(c->in[0],
                      spread(&s, dt_partition_reduce_last(c, c->in[0], DT_REDUCE_MAX, s.axes)));
    s.power = dt_exponential(s.z);
    s.sum = dt_partition_reduce_last(c, s.power, DT_REDUCE_SUM, s.axes);
    s.hit = find_target(&s);
    return s;
}

/* x, (..), with NaN in rows whose target is not a class. */
static dt_value where_class(const split *s, dt_value x) {
    dt_value number = s->c->in[1],
             classes = dt_like(number, (double)s->c->type[0].dim[s->type.rank - 1]),
             zero = dt_like(number, 0);
    if (!s->is_number) return x;
    dt_value from_0 = dt_select(dt_compare(number, zero, DT_GE), x, dt_like(x, NAN));
    return dt_select(dt_compare(number, classes, DT_LT), from_0, dt_like(x, NAN));
}

dt_value dt_xent_decompose(dt_partition_call *c) {
    split s = split_of(c);
    dt_value term = dt_subtract(spread(&s, dt_log(s.sum)), s.z);
    term = s.is_number ? term : dt_multiply(c->in[1], term);
    term = dt_select(s.hit, term, dt_like(term, 0));
    return where_class(&s, dt_reduce(term, DT_REDUCE_SUM, 1u << (s.type.rank - 1)));
}

dt_value dt_xent_grad_decompose(dt_partition_call *c) {
    split s = split_of(c);
    dt_value p = dt_divide(s.power, spread(&s, s.sum)),
             y = s.is_number ? dt_convert(s.hit, s.type.dtype) : c->in[1];
    if (!s.is_number)
        p = dt_multiply(p, spread(&s, dt_partition_reduce_last(c, y, DT_REDUCE_SUM, s.axes)));
    return dt_multiply(spread(&s, where_class(&s, c->in[2])), dt_subtract(p, y));
}

static dt_value emit_loss(dt_partition_call *c) {
    return c->factor[c->type[0].rank - 1] ? dt_xent_decompose(c) : dt_partition_same(c);
}

static dt_value emit_grad(dt_partition_call *c) {
    return c->factor[c->type[0].rank - 1] ? dt_xent_grad_decompose(c) : dt_partition_same(c);
}

const dt_partition_row dt_xent_over_devices = {.rule = rule, .emit = emit_loss};
const dt_partition_row dt_xent_grad_over_devices = {.rule = rule, .emit = emit_grad};
