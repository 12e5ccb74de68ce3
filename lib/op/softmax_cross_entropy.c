/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_cross_entropy: one loss for each row of logits z, - sum over classes j of y_j * log
 * softmax(z)_j, computed as sum of y_j * (log(sum of e^(z - m)) - (z_j - m)) with m the row's
 * maximum, so that nothing overflows and no logarithm of 0 is taken.
 *
 * The target holds probabilities y, or the number of the class whose probability is 1. A class
 * number outside [0, C) makes that row's loss NaN; class numbers in data are checked when the data
 * is read. Classes with y_j = 0 do not count, even if their logit is -inf.
 *
 * (C1) Logits hold floats.
 * (C2) Logits have a last dimension, the C classes, with at least one element, which is not the
 *      batch.
 * (C3) The target has the type of the logits, or it holds integers and has the shape of the logits
 *      without the classes.
 *
 * A gradient flows to the logits only: targets are not trained.
 */
#include "op/softmax_cross_entropy.h"

#include <math.h>

#include "base/elementary.h"
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"

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

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    int classes = in[0].rank - 1;
    dt_rule_rows(in, out, attr, rule);
    rule->in[0][classes] = (int8_t)classes;
    if (in[1].rank == in[0].rank) rule->in[1][classes] = (int8_t)classes;
    if (out->rank == in[0].rank) rule->out[classes] = (int8_t)classes;
}

/* Values on a device that has some or all of the classes. They are (.., C / parts) unless a
 * member's comment says (..). */
typedef struct split {
    dt_partition_call *c;
    dt_mesh_axes axes; /* the axes of the mesh that split the classes */
    dt_type type, rows;
    dt_value z;          /* the logits minus the maximum */
    dt_value power, sum; /* e^z; sum: its sum over the classes of all devices, (..) */
    /* whether the target is a class number, not a vector with a share for each class */
    bool is_number;
    dt_value hit; /* bools: whether the target y is not 0 */
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

/* Emits x, (..), with NaN in the rows whose target is not a class. */
static dt_value where_class(const split *s, dt_value x) {
    dt_value number = s->c->in[1],
             classes = dt_like(number, (double)s->c->type[0].dim[s->type.rank - 1]),
             zero = dt_like(number, 0);
    if (!s->is_number) return x;
    dt_value from_0 = dt_select(dt_compare(number, zero, DT_GE), x, dt_like(x, NAN));
    return dt_select(dt_compare(number, classes, DT_LT), from_0, dt_like(x, NAN));
}

static dt_value decompose(dt_partition_call *c) {
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
    return c->factor[c->type[0].rank - 1] ? decompose(c) : dt_partition_same(c);
}

static dt_value emit_grad(dt_partition_call *c) {
    return c->factor[c->type[0].rank - 1] ? dt_xent_grad_decompose(c) : dt_partition_same(c);
}

const dt_partition_row dt_xent_over_devices = {.rule = rule, .emit = emit_loss};
const dt_partition_row dt_xent_grad_over_devices = {.rule = rule, .emit = emit_grad};

static bool is_integer(dt_dtype d) { return !dt_dtype_is_float(d) && d != DT_BOOL; }

dt_status *dt_xent_infer(const dt_infer *q, dt_type *row) {
    const dt_type *z = &q->in[0], *target = &q->in[1];
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_FLOATS));
    if (z->rank < 1 || z->dim[z->rank - 1] < 1)
        return dt_bad_shape(q, "(C2) expected classes in the last dimension of the logits, got %s",
                            dt_text_of(z).s);
    *row = dt_type_of(z->dtype, z->rank - 1, z->dim);
    dt_type numbers = *row;
    numbers.dtype = target->dtype;
    if (!dt_type_equal(target, z) &&
        !(is_integer(target->dtype) && dt_type_equal(target, &numbers)))
        return dt_bad_shape(q, "(C3) cannot compare logits %s with a target %s", dt_text_of(z).s,
                            dt_text_of(target).s);
    return NULL;
}

static dt_status *infer(dt_infer *q) { return dt_xent_infer(q, &q->out); }

static void grad(dt_grad *g) {
    dt_value in[] = {g->in[0], g->in[1], g->dout};
    if (g->wants[0]) g->din[0] = dt_emit(g->trace, &dt_op_softmax_cross_entropy_grad, in, 3, NULL);
}

dt_xent_row dt_xent_row_at(const dt_view *logits, int64_t row) {
    int64_t classes = logits->type.dim[logits->type.rank - 1];
    dt_xent_row r = {.logits = logits, .at = row * classes, .classes = classes, .max = -INFINITY};
    for (int64_t j = 0; j < classes; j++)
        r.max = dt_double_max(r.max, dt_cell_double(logits, r.at + j));
    for (int64_t j = 0; j < classes; j++)
        r.sum += dt_portable_exp(dt_cell_double(logits, r.at + j) - r.max);
    return r;
}

double dt_xent_target(const dt_view *target, const dt_xent_row *r, int64_t row, int64_t j) {
    if (dt_dtype_is_float(target->type.dtype)) return dt_cell_double(target, r->at + j);
    int64_t class = dt_cell_int(target, row);
    return class < 0 || class >= r->classes ? NAN : class == j;
}

static double loss_of(const dt_xent_row *r, const dt_view *target, int64_t row) {
    double loss = 0, log_sum = dt_portable_log(r->sum);
    for (int64_t j = 0; j < r->classes; j++) {
        double y = dt_xent_target(target, r, row, j);
        if (y != 0) loss += y * (log_sum - (dt_cell_double(r->logits, r->at + j) - r->max));
    }
    return loss;
}

static void eval(const dt_call *c) {
    for (int64_t i = 0, n = dt_type_elements(&c->out.type); i < n; i++) {
        dt_xent_row r = dt_xent_row_at(&c->in[0], i);
        dt_cell_set_double(&c->out, i, loss_of(&r, &c->in[1], i));
    }
}

/* counts operations per class: maximum, difference, exponential, sum; difference, product and sum
 * with the target */
static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, (6 + dt_op_exponential.operations) *
                                  (double)dt_type_elements(&c->in[0].type));
}

const dt_op dt_op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .n_in = 2,
    .infer = infer,
    .grad = grad,
    .rule = dt_rule_rows,
    .cost = cost,
    .eval = eval,
    .stack = dt_stack_same,
    .over_devices = &dt_xent_over_devices,
    .forms.decompose = decompose,
};
