/*
 * Losses of overlap between sets, one number for all samples together:
 *
 *     Dice       1 - 2 |y p| / (|y| + |p|)
 *     Tversky    1 - |y p| / (|y p| + alpha |y (1 - p)| + beta |p (1 - y)|)
 *
 * with |x| the sum of x over the axes (all by default) and 1e-7 added to the divisors.
 */
#include "model/model.h"

struct overlap {
    dt_loss_head head;
    double alpha, beta;
    dt_ints axis;
    bool has_axis;
};

#define AXIS_FIELD DT_INTS(struct overlap, axis, .set = 1 + offsetof(struct overlap, has_axis), .help = "the axes of a set; all by default")

static const dt_field dice_fields[] = { DT_LOSS_FIELDS(struct overlap), AXIS_FIELD, DT_END };
static const dt_field tversky_fields[] = {
    DT_LOSS_FIELDS(struct overlap),
    DT_REAL(struct overlap, alpha, .preset = "0.5", .help = "weight of what is in y alone"),
    DT_REAL(struct overlap, beta, .preset = "0.5", .help = "weight of what is in p alone"),
    AXIS_FIELD,
    DT_END
};

static dt_value sum(const struct overlap *o, dt_value x)
{
    uint32_t dims = 0;
    if (!o->has_axis)
        return dt_reduce_sum(x, DT_NO_AXIS);
    for (int i = 0; i < o->axis.n; i++) {
        int axis = dt_axis_of(x, o->axis.v[i]);
        if (axis < 0)
            return (dt_value){ 0 };
        dims |= 1u << axis;
    }
    return dt_reduce(x, DT_REDUCE_SUM, dims);
}

/* 1 - a / (b + 1e-7) */
static dt_value missing(dt_value a, dt_value b)
{
    return dt_subtract(dt_like(a, 1), dt_divide(a, dt_add(b, dt_like(b, 1e-7))));
}

static dt_value dice(const dt_loss_call_args *c)
{
    dt_value p = c->prediction, y = dt_targets_like(c->target, p), both = sum(c->args, dt_multiply(y, p));
    return missing(dt_multiply(dt_like(both, 2), both), dt_add(sum(c->args, y), sum(c->args, p)));
}

const dt_loss_row dt_loss_dice = {
    .kind = { "Dice", "1 - twice the overlap / both sets", dice_fields, sizeof(struct overlap), (const char *const[]){ "dice", NULL } },
    .check = dt_check_same_shape,
    .whole = true,
    .rows = dice,
};

static dt_value tversky(const dt_loss_call_args *c)
{
    const struct overlap *o = c->args;
    dt_value p = c->prediction, y = dt_targets_like(c->target, p), one = dt_like(p, 1);
    dt_value both = sum(o, dt_multiply(y, p));
    dt_value left = sum(o, dt_multiply(dt_subtract(one, p), y)), right = sum(o, dt_multiply(p, dt_subtract(one, y)));
    dt_value apart = dt_add(dt_multiply(left, dt_like(left, o->alpha)), dt_multiply(right, dt_like(right, o->beta)));
    return missing(both, dt_add(both, apart));
}

const dt_loss_row dt_loss_tversky = {
    .kind = { "Tversky", "1 - overlap / weighted union", tversky_fields, sizeof(struct overlap), (const char *const[]){ "tversky", NULL } },
    .check = dt_check_same_shape,
    .whole = true,
    .rows = tversky,
};
