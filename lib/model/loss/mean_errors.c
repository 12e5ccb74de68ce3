/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses that are means of a function of the error, over the outputs of a sample:
 *
 *     MeanSquaredError                (y - p)^2
 *     MeanAbsoluteError               |y - p|
 *     MeanAbsolutePercentageError     100 |y - p| / max(|y|, 1e-7)
 *     MeanSquaredLogarithmicError     (log(max(y, 1e-7) + 1) - log(max(p, 1e-7) + 1))^2
 *     LogCosh                         log cosh(p - y)
 *     Huber                           e^2 / 2 up to |e| = delta, a straight line from there on
 */
#include "model/model.h"

struct error {
    dt_loss_head head;
};

static const dt_field fields[] = {DT_LOSS_FIELDS(struct error), DT_END};

static dt_value error(const dt_loss_call_args *c) {
    return dt_subtract(c->prediction, dt_targets_like(c->target, c->prediction));
}

static dt_value squared(const dt_loss_call_args *c) {
    dt_value e = error(c);
    return dt_mean_last(dt_multiply(e, e));
}

const dt_loss_row dt_loss_mean_squared_error = {
    .kind = {"MeanSquaredError", "mean of (y - p)^2", fields, sizeof(struct error),
             (const char *const[]){"mean_squared_error", "mse", "MSE", NULL}},
    .check = dt_check_same_shape,
    .rows = squared,
};

static dt_value absolute(const dt_loss_call_args *c) { return dt_mean_last(dt_abs(error(c))); }

const dt_loss_row dt_loss_mean_absolute_error = {
    .kind = {"MeanAbsoluteError", "mean of |y - p|", fields, sizeof(struct error),
             (const char *const[]){"mean_absolute_error", "mae", "MAE", NULL}},
    .check = dt_check_same_shape,
    .rows = absolute,
};

static dt_value percentage(const dt_loss_call_args *c) {
    dt_value y = dt_targets_like(c->target, c->prediction);
    dt_value size = dt_maximum(dt_abs(y), dt_like(y, 1e-7));
    dt_value share = dt_mean_last(dt_abs(dt_divide(dt_subtract(y, c->prediction), size)));
    return dt_multiply(dt_like(share, 100), share);
}

const dt_loss_row dt_loss_mean_absolute_percentage_error = {
    .kind = {"MeanAbsolutePercentageError", "mean of 100 |y - p| / |y|", fields,
             sizeof(struct error),
             (const char *const[]){"mean_absolute_percentage_error", "mape", "MAPE", NULL}},
    .check = dt_check_same_shape,
    .rows = percentage,
};

static dt_value logarithm(dt_value x) {
    return dt_log(dt_add(dt_maximum(dt_like(x, 1e-7), x), dt_like(x, 1)));
}

static dt_value logarithmic(const dt_loss_call_args *c) {
    dt_value e =
        dt_subtract(logarithm(c->prediction), logarithm(dt_targets_like(c->target, c->prediction)));
    return dt_mean_last(dt_multiply(e, e));
}

const dt_loss_row dt_loss_mean_squared_logarithmic_error = {
    .kind = {"MeanSquaredLogarithmicError", "mean of (log(y + 1) - log(p + 1))^2", fields,
             sizeof(struct error),
             (const char *const[]){"mean_squared_logarithmic_error", "msle", "MSLE", NULL}},
    .check = dt_check_same_shape,
    .rows = logarithmic,
};

/* Emits log cosh of the error x, computed as x + log(1 + exp(-2x)) - log 2, which does not
 * overflow. */
static dt_value log_cosh(const dt_loss_call_args *c) {
    dt_value e = error(c);
    dt_value bend = dt_softplus(dt_multiply(e, dt_like(e, -2)));
    return dt_mean_last(dt_subtract(dt_add(e, bend), dt_like(e, M_LN2)));
}

const dt_loss_row dt_loss_log_cosh = {
    .kind = {"LogCosh", "mean of log cosh(p - y)", fields, sizeof(struct error),
             (const char *const[]){"log_cosh", "logcosh", NULL}},
    .check = dt_check_same_shape,
    .rows = log_cosh,
};

/* ---- Huber ---- */

struct huber {
    dt_loss_head head;
    double delta;
};

static const dt_field huber_fields[] = {
    DT_LOSS_FIELDS(struct huber),
    DT_REAL(struct huber, delta, .preset = "1", .help = "error above which the loss is linear"),
    DT_END};

static dt_value huber(const dt_loss_call_args *c) {
    dt_value e = error(c), size = dt_abs(e),
             delta = dt_like(e, ((const struct huber *)c->args)->delta), half = dt_like(e, 0.5);
    dt_value bowl = dt_multiply(half, dt_multiply(e, e));
    dt_value line =
        dt_subtract(dt_multiply(delta, size), dt_multiply(half, dt_multiply(delta, delta)));
    return dt_mean_last(dt_select(dt_compare(size, delta, DT_LE), bowl, line));
}

const dt_loss_row dt_loss_huber = {
    .kind = {"Huber", "quadratic for small errors, linear for large ones", huber_fields,
             sizeof(struct huber), (const char *const[]){"huber", NULL}},
    .check = dt_check_same_shape,
    .rows = huber,
};
