/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Correlations of targets and predictions along an axis of each example, and their mean over
 * examples:
 *
 *     PearsonCorrelation        cov(y, p) / (std(y) std(p)), not a number where one of them is
 *                               constant
 *     ConcordanceCorrelation    2 cov(y, p) / (var(y) + var(p) + (mean(y) - mean(p))^2 + 1e-7)
 */
#include "model/model.h"

struct correlation {
    const char *name;
    int64_t axis;
};

static const dt_field fields[] = {
    DT_INT(struct correlation, axis, .preset = "-1",
           .help = "axis along which values are compared"),
    DT_TEXT(struct correlation, name, .help = "name, used as the key in the history"),
    DT_NOT_YET("dtype"), DT_END};

/* Checks the shapes, and that the axis runs over several numbers of an example: the batch, or an
 * axis of size 1, has no correlation. */
static dt_status *check(const void *args, const dt_type *target, const dt_type *prediction) {
    int64_t axis = ((const struct correlation *)args)->axis,
            at = axis < 0 ? axis + prediction->rank : axis;
    DT_TRY(dt_check_same_shape(args, target, prediction));
    if (at < 1 || at >= prediction->rank || prediction->dim[at] == 1)
        return dt_fail(
            DT_E_LABELS, NULL,
            "axis %lld does not run over several numbers of an example: nothing to correlate",
            (long long)axis);
    return NULL;
}

/* Moments of an array (B, ..., n): mean and variance are (B, ...), differences from the mean
 * (`around`) are (B, ..., n). */
typedef struct moments {
    dt_value around, mean, variance;
} moments;

static moments moments_of(dt_value x) {
    const dt_type type = dt_type_of_value(x);
    dt_value mean = dt_mean_last(x), around = dt_subtract(x, dt_broadcast_rows(mean, &type));
    return (moments){around, mean, dt_mean_last(dt_multiply(around, around))};
}

static void take_moments(const dt_loss_call_args *c, moments *y, moments *p) {
    int at = dt_axis_of(c->prediction, ((const struct correlation *)c->args)->axis);
    *y = moments_of(dt_move_last(dt_targets_like(c->target, c->prediction), at));
    *p = moments_of(dt_move_last(c->prediction, at));
}

static dt_value pearson(const dt_loss_call_args *c) {
    moments y, p;
    take_moments(c, &y, &p);
    dt_value both = dt_mean_last(dt_multiply(y.around, p.around));
    return dt_divide(both, dt_multiply(dt_sqrt(y.variance), dt_sqrt(p.variance)));
}

static dt_value concordance(const dt_loss_call_args *c) {
    moments y, p;
    take_moments(c, &y, &p);
    dt_value both = dt_mean_last(dt_multiply(y.around, p.around)),
             apart = dt_subtract(y.mean, p.mean);
    dt_value norm = dt_add(dt_add(y.variance, p.variance), dt_multiply(apart, apart));
    return dt_divide(dt_multiply(both, dt_like(both, 2)), dt_add(norm, dt_like(norm, 1e-7)));
}

#define CORRELATION(row, class_name, alias, words, update_)                                        \
    const dt_metric_row dt_metric_##row = {                                                        \
        .kind = {class_name, words, fields, sizeof(struct correlation),                            \
                 (const char *const[]){alias, NULL}},                                              \
        .better = DT_BETTER_MORE,                                                                  \
        .sums = 1,                                                                                 \
        .check = check,                                                                            \
        .update = update_,                                                                         \
        .result = dt_mean_of_sum,                                                                  \
    };

CORRELATION(pearson_correlation, "PearsonCorrelation", "pearson_correlation",
            "correlation of predictions and targets", pearson)
CORRELATION(concordance_correlation, "ConcordanceCorrelation", "concordance_correlation",
            "correlation of predictions and targets that counts offset and scale", concordance)
