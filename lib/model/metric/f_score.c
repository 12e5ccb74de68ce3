/* SPDX-License-Identifier: Apache-2.0 */
/*
 * F scores: (1 + beta^2) precision recall / (beta^2 precision + recall), class by class, or their
 * mean (plain, or weighted by the classes' targets), or (micro) the score of the counts added over
 * all classes, with 1e-7 added to each divisor but the number of classes. Without a threshold the
 * largest output of an example counts as 1, and so do those equal to it, unless its distance from 0
 * is at most 1e-9.
 */
#include "model/model.h"

typedef enum average { NONE, MICRO, MACRO, WEIGHTED } average;
static const char *const averages[] = {"none", "micro", "macro", "weighted", NULL};

struct f_score {
    const char *name;
    int average;
    double beta, threshold;
    bool has_threshold;
};

#define F_FIELDS                                                                                   \
    DT_ENUM(struct f_score, average, averages, .help = "how to average over classes"),             \
        DT_REAL(struct f_score, threshold, .above_min = true, .max = 1,                            \
                .set = 1 + offsetof(struct f_score, has_threshold),                                \
                .help = "threshold above which a prediction counts as 1"),                         \
        DT_TEXT(struct f_score, name, .help = "name, used as the key in the history"),             \
        DT_NOT_YET("dtype")

static const dt_field f1_fields[] = {F_FIELDS, DT_END};
static const dt_field fbeta_fields[] = {F_FIELDS,
                                        DT_REAL(struct f_score, beta, .preset = "1",
                                                .above_min = true,
                                                .help = "weight of recall relative to precision"),
                                        DT_END};

static dt_value decided(const struct f_score *f, dt_value p) {
    dt_type type = dt_type_of_value(p);
    if (f->has_threshold)
        return dt_convert(dt_compare(p, dt_like(p, f->threshold), DT_GT), type.dtype);
    dt_value largest = dt_broadcast_rows(dt_reduce(p, DT_REDUCE_MAX, 2), &type);
    dt_value is_largest = dt_convert(dt_compare(p, largest, DT_GE), type.dtype);
    return dt_multiply(is_largest,
                       dt_convert(dt_compare(dt_abs(p), dt_like(p, 1e-9), DT_GT), type.dtype));
}

/* Adds the parts true positives, false positives, false negatives and targets, each a weighted sum
 * over examples, of shape (C). */
static void count(dt_metric_parts *m) {
    dt_value y = dt_targets_like(m->target, m->prediction), p = m->prediction;
    if (dt_type_of_value(p).rank != 2) {
        dt_trace_fail(p.trace,
                      dt_fail(DT_E_LABELS, NULL,
                              "F scores need predictions of 2 dimensions, (B, classes), got %d",
                              dt_type_of_value(p).rank));
        return;
    }
    dt_value predicted = decided(m->args, p), one = dt_like(p, 1);
    const dt_value counted[] = {dt_multiply(predicted, y),
                                dt_multiply(predicted, dt_subtract(one, y)),
                                dt_multiply(dt_subtract(one, predicted), y), y};
    for (int i = 0; i < 4; i++) {
        dt_value x = m->weight.trace
                         ? dt_multiply(counted[i], dt_weights_like(m->weight, counted[i]))
                         : counted[i];
        m->part[m->n++] = dt_reduce(x, DT_REDUCE_SUM, 1);
    }
}

static double score(double beta, double tp, double fp, double fn) {
    double precision = tp / (tp + fp + 1e-7), recall = tp / (tp + fn + 1e-7);
    return (1 + beta * beta) * precision * recall / (beta * beta * precision + recall + 1e-7);
}

static double total(const double *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum;
}

static int scores(const struct f_score *f, double beta, const double *sum, int n_sums,
                  double *out) {
    int n = n_sums / 4;
    const double *tp = sum, *fp = sum + n, *fn = sum + 2 * n, *labels = sum + 3 * n;
    double mean = 0, all = total(labels, n) + 1e-7;
    if (f->average == MICRO) {
        out[0] = score(beta, total(tp, n), total(fp, n), total(fn, n));
        return 1;
    }
    for (int i = 0; i < n; i++) {
        double s = score(beta, tp[i], fp[i], fn[i]);
        mean += f->average == WEIGHTED ? s * labels[i] / all : s / n;
        out[i] = s;
    }
    if (f->average == NONE) return n;
    out[0] = mean;
    return 1;
}

static int f1(const void *args, const double *sum, int n, double *out) {
    return scores(args, 1, sum, n, out);
}

const dt_metric_row dt_metric_f1_score = {
    .better = DT_BETTER_MORE,
    .by_class = true,
    .kind = {"F1Score", "harmonic mean of precision and recall", f1_fields, sizeof(struct f_score),
             (const char *const[]){"f1_score", NULL}},
    .targets = {0, 1},
    .check = dt_check_same_shape,
    .parts = count,
    .results = f1,
};

static int fbeta(const void *args, const double *sum, int n, double *out) {
    return scores(args, ((const struct f_score *)args)->beta, sum, n, out);
}

const dt_metric_row dt_metric_fbeta_score = {
    .label = "fbeta_score",
    .better = DT_BETTER_MORE,
    .by_class = true,
    .kind = {"FBetaScore", "weighted harmonic mean of precision and recall", fbeta_fields,
             sizeof(struct f_score), (const char *const[]){"fbeta_score", "f_beta_score", NULL}},
    .targets = {0, 1},
    .check = dt_check_same_shape,
    .parts = count,
    .results = fbeta,
};
