/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses of overlap between sets:
 *
 *     Dice       1 - 2 |y p| / (|y| + |p|)
 *     Tversky    1 - |y p| / (|y p| + alpha |y (1 - p)| + beta |p (1 - y)|)
 *
 * with |x| the sum of x over the axes and 1e-7 added to the divisors. By default x is summed over
 * all axes, which yields one number for all samples. If the axes do not include the batch, examples
 * are not added up.
 */
#include "model/model.h"

struct overlap {
    dt_loss_head head;
    double alpha, beta;
    dt_ints axis;
    bool has_axis;
};

#define AXIS_FIELD                                                                                 \
    DT_INTS(struct overlap, axis, .set = 1 + offsetof(struct overlap, has_axis),                   \
            .help = "axes to sum over; default: all")

static const dt_field dice_fields[] = {DT_LOSS_FIELDS(struct overlap), AXIS_FIELD, DT_END};
static const dt_field tversky_fields[] = {
    DT_LOSS_FIELDS(struct overlap),
    DT_REAL(struct overlap, alpha, .preset = "0.5", .help = "weight of false negatives"),
    DT_REAL(struct overlap, beta, .preset = "0.5", .help = "weight of false positives"), AXIS_FIELD,
    DT_END};

static dt_status *check(const void *args, const dt_type *target, const dt_type *prediction) {
    const struct overlap *o = args;
    DT_TRY(dt_check_same_shape(args, target, prediction));
    uint32_t named = 0;
    for (int i = 0; o->has_axis && i < o->axis.n; i++) {
        const int d = dt_axis_in(prediction->rank, o->axis.v[i]);
        if (d < 0 || named >> d & 1)
            return dt_fail(DT_E_LABELS, NULL, "axis %lld is %s for predictions of rank %d",
                           (long long)o->axis.v[i], d < 0 ? "out of range" : "named twice",
                           prediction->rank);
        named |= 1u << d;
    }
    return NULL;
}

static uint32_t summed(const void *args, const dt_type *prediction) {
    const struct overlap *o = args;
    uint32_t dims = o->has_axis ? 0 : (1u << prediction->rank) - 1;
    for (int i = 0; o->has_axis && i < o->axis.n; i++)
        dims |= 1u << dt_axis_in(prediction->rank, o->axis.v[i]);
    return dims;
}

/* Emits the losses, from sums over this replica's samples. */
static dt_value rows(const dt_loss_call_args *c,
                     int (*parts)(const dt_loss_call_args *c, dt_value *part),
                     dt_value (*join)(const void *args, const dt_value *sum)) {
    const dt_type type = dt_type_of_value(c->prediction);
    dt_value part[DT_LOSS_PARTS];
    int n = parts(c, part);
    for (int i = 0; i < n; i++) part[i] = dt_reduce(part[i], DT_REDUCE_SUM, summed(c->args, &type));
    return join(c->args, part);
}

/* Emits 1 - a / (b + 1e-7). */
static dt_value missing(dt_value a, dt_value b) {
    return dt_subtract(dt_like(a, 1), dt_divide(a, dt_add(b, dt_like(b, 1e-7))));
}

/* ---- Dice ---- */

static int dice_parts(const dt_loss_call_args *c, dt_value *part) {
    dt_value p = c->prediction, y = dt_targets_like(c->target, p);
    part[0] = dt_multiply(y, p);
    part[1] = y;
    part[2] = p;
    return 3;
}

static dt_value dice(const void *args, const dt_value *sum) {
    (void)args;
    return missing(dt_multiply(dt_like(sum[0], 2), sum[0]), dt_add(sum[1], sum[2]));
}

static dt_value dice_rows(const dt_loss_call_args *c) { return rows(c, dice_parts, dice); }

const dt_loss_row dt_loss_dice = {
    .kind = {"Dice", "1 - twice the overlap / both sets", dice_fields, sizeof(struct overlap),
             (const char *const[]){"dice", NULL}},
    .targets = {0, 1},
    .expects = {DT_PROBABILITIES, 0, "probabilities", "sigmoid"},
    .check = check,
    .rows = dice_rows,
    .summed = summed,
    .parts = dice_parts,
    .join = dice,
};

/* ---- Tversky ---- */

static int tversky_parts(const dt_loss_call_args *c, dt_value *part) {
    dt_value p = c->prediction, y = dt_targets_like(c->target, p), one = dt_like(p, 1);
    part[0] = dt_multiply(y, p);
    part[1] = dt_multiply(dt_subtract(one, p), y);
    part[2] = dt_multiply(p, dt_subtract(one, y));
    return 3;
}

static dt_value tversky(const void *args, const dt_value *sum) {
    const struct overlap *o = args;
    dt_value apart = dt_add(dt_multiply(sum[1], dt_like(sum[1], o->alpha)),
                            dt_multiply(sum[2], dt_like(sum[2], o->beta)));
    return missing(sum[0], dt_add(sum[0], apart));
}

static dt_value tversky_rows(const dt_loss_call_args *c) { return rows(c, tversky_parts, tversky); }

const dt_loss_row dt_loss_tversky = {
    .kind = {"Tversky", "1 - overlap / weighted union", tversky_fields, sizeof(struct overlap),
             (const char *const[]){"tversky", NULL}},
    .targets = {0, 1},
    .expects = {DT_PROBABILITIES, 0, "probabilities", "sigmoid"},
    .check = check,
    .rows = tversky_rows,
    .summed = summed,
    .parts = tversky_parts,
    .join = tversky,
};
