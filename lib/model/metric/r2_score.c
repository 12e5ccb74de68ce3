/* SPDX-License-Identifier: Apache-2.0 */
/* R2Score: 1 - sum of squared errors / sum of squares around the mean, for each output, or a mean
 * over the outputs, plain or weighted by variance. */
#include "model/model.h"

typedef enum aggregation { UNIFORM, VARIANCE_WEIGHTED, EACH } aggregation;
static const char *const aggregations[] = {"uniform_average", "variance_weighted_average", "none",
                                           NULL};

struct r2 {
    const char *name;
    int class_aggregation;
    int64_t num_regressors;
};

static const dt_field fields[] = {
    DT_ENUM(struct r2, class_aggregation, aggregations, .help = "how to average over outputs"),
    DT_INT(struct r2, num_regressors, .max = INFINITY,
           .help = "number of regressors for adjusted R2; 0: plain R2"),
    DT_TEXT(struct r2, name, .help = "name, used as the key in the history"), DT_NOT_YET("dtype"),
    DT_END};

/* Adds sums of weights and, times the weights, of targets, of their squares and of squared errors,
 * (C) each, and the number of all targets. */
static void count(dt_metric_parts *m) {
    dt_value p = m->prediction, y = dt_targets_like(m->target, p), one = dt_like(p, 1),
             error = dt_subtract(y, p);
    if (dt_type_of_value(p).rank != 2) {
        dt_trace_fail(p.trace,
                      dt_fail(DT_E_LABELS, NULL,
                              "R2Score needs predictions of 2 dimensions, (B, outputs), got %d",
                              dt_type_of_value(p).rank));
        return;
    }
    dt_value w = m->weight.trace ? dt_weights_like(m->weight, p) : one,
             weighted = dt_multiply(y, w);
    const dt_value counted[] = {w, weighted, dt_multiply(y, weighted),
                                dt_multiply(dt_multiply(error, error), w)};
    for (int i = 0; i < 4; i++) m->part[m->n++] = dt_reduce(counted[i], DT_REDUCE_SUM, 1);
    m->part[m->n++] = dt_reduce_sum(one, DT_NO_AXIS);
}

/* Adjusts the score for num_regressors, unless that is 0 or at least samples - 1. `samples` is the
 * number of all targets, which Keras takes for the number of samples. */
static double adjusted(const struct r2 *r, double score, double samples) {
    double p = (double)r->num_regressors;
    if (p == 0 || p >= samples - 1) return score;
    return 1 - (1 - score) * (samples - 1) / (samples - p - 1);
}

static int results(const void *args, const double *sum, int n_sums, double *out) {
    const struct r2 *r = args;
    int n = (n_sums - 1) / 4;
    double samples = sum[n_sums - 1], mean = 0, spread = 0, weighted = 0;
    for (int i = 0; i < n; i++) {
        double around = sum[2 * n + i] - sum[n + i] * sum[n + i] / sum[i],
               score = 1 - sum[3 * n + i] / around;
        out[i] = isinf(score) ? 0 : score;
        mean += out[i] / n;
        spread += around;
        weighted += around * out[i];
    }
    if (r->class_aggregation == EACH) {
        for (int i = 0; i < n; i++) out[i] = adjusted(r, out[i], samples);
        return n;
    }
    out[0] = adjusted(r, r->class_aggregation == UNIFORM ? mean : weighted / spread, samples);
    return 1;
}

const dt_metric_row dt_metric_r2_score = {
    .better = DT_BETTER_MORE,
    .kind = {"R2Score", "share of the variance that is explained", fields, sizeof(struct r2),
             (const char *const[]){"r2_score", NULL}},
    .check = dt_check_same_shape,
    .parts = count,
    .results = results,
};
