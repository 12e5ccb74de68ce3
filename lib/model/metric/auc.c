/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AUC: the area under the curve of recall over false positives (ROC), of precision over recall
 * (PR), or of their gains (PRGAIN), by a sum over thresholds. PR curves are interpolated as in J.
 * Davis, M. Goadrich, The Relationship Between Precision-Recall and ROC Curves (2006); gains are
 * those of P. Flach, M. Kull, Precision-Recall-Gain Curves (2015). With `multi_label` each label
 * has its own curve, and the result is the mean of the areas, weighted by label_weights if they are
 * given.
 *
 * The last sum counts predictions that are outside of [0, 1] by more than 1e-6. If there are any
 * such predictions, the metric fails.
 */
#include <stdlib.h>

#include "model/metric/confusion.h"

typedef enum curve { ROC, PR, PRGAIN, CURVES } curve;
static const char *const curves[] = {"ROC", "PR", "PRGAIN", "roc", "pr", "prgain", NULL};
typedef enum method { INTERPOLATION, MINORING, MAJORING } method;
static const char *const methods[] = {"interpolation", "minoring", "majoring", NULL};

struct auc {
    const char *name;
    int64_t num_thresholds, num_labels;
    dt_reals thresholds, label_weights;
    bool has_thresholds, from_logits, multi_label, has_num_labels, has_label_weights;
    int curve, summation_method;
};

static const dt_field fields[] = {
    DT_INT(struct auc, num_thresholds, .preset = "200", .min = 2, .max = 100000,
           .help = "number of thresholds, evenly spaced from 0 to 1"),
    DT_ENUM(struct auc, curve, curves, .help = "ROC, PR or PRGAIN"),
    DT_ENUM(struct auc, summation_method, methods, .help = "how to sum between thresholds"),
    DT_TEXT(struct auc, name, .help = "name, used as the key in the history"),
    DT_REALS(struct auc, thresholds, .max = 1, .set = 1 + offsetof(struct auc, has_thresholds),
             .help = "list of thresholds between 0 and 1, instead of num_thresholds"),
    DT_FLAG(struct auc, from_logits, .help = "predictions are logits (no sigmoid applied)"),
    DT_NOT_YET("dtype"),
    DT_FLAG(struct auc, multi_label, .help = "compute one curve per label and average their areas"),
    DT_INT(struct auc, num_labels, .min = 1, .max = INFINITY,
           .set = 1 + offsetof(struct auc, has_num_labels),
           .help = "number of labels; default: from the predictions"),
    DT_REALS(struct auc, label_weights, .max = INFINITY,
             .set = 1 + offsetof(struct auc, has_label_weights), .help = "weight of each label"),
    DT_END};

static int n_thresholds(const struct auc *a) {
    return a->has_thresholds ? a->thresholds.n + 2 : (int)a->num_thresholds;
}

/* Returns the number of all sums; 0 with multi_label, since it depends on the number of labels. */
static int sums(const void *args) {
    return ((const struct auc *)args)->multi_label ? 0 : 4 * n_thresholds(args) + 1;
}

static dt_status *check(const void *args, const dt_type *target, const dt_type *prediction) {
    const struct auc *a = args;
    int64_t labels = prediction->rank > 1 ? prediction->dim[prediction->rank - 1] : 1;
    DT_TRY(dt_check_same_shape(args, target, prediction));
    if (a->has_num_labels && !a->multi_label)
        return dt_fail(DT_E_LABELS, NULL, "num_labels is for multi_label");
    if (a->multi_label && prediction->rank != 2)
        return dt_fail(DT_E_LABELS, NULL,
                       "multi_label needs predictions of 2 dimensions, (B, labels), got %d",
                       prediction->rank);
    if (a->has_num_labels && a->num_labels != labels)
        return dt_fail(DT_E_LABELS, NULL, "num_labels is %lld, but predictions have %lld",
                       (long long)a->num_labels, (long long)labels);
    if (a->has_label_weights && a->label_weights.n != labels)
        return dt_fail(DT_E_LABELS, NULL,
                       "label_weights has %d numbers, but predictions have %lld labels",
                       a->label_weights.n, (long long)labels);
    return NULL;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Counts predictions below -1e-6 or above 1 + 1e-6: more than rounding errors outside of [0, 1]. */
static dt_value outside(dt_value p) {
    dt_dtype dtype = dt_type_of_value(p).dtype;
    dt_value low = dt_convert(dt_compare(p, dt_like(p, -1e-6), DT_LT), dtype),
             high = dt_convert(dt_compare(p, dt_like(p, 1 + 1e-6), DT_GT), dtype);
    return dt_reduce_sum(dt_add(low, high), DT_NO_AXIS);
}

/* Counts decisions at all thresholds. The first and the last one are slightly outside of [0, 1], so
 * that every output in [0, 1] lies between them. */
static void count(dt_metric_parts *m) {
    const struct auc *a = m->args;
    int n = n_thresholds(a);
    double *t = dt_confusion_even(dt_trace_arena(m->prediction.trace), n);
    if (a->has_thresholds) {
        for (int i = 0; i < a->thresholds.n; i++) t[1 + i] = a->thresholds.v[i];
        qsort(t + 1, (size_t)a->thresholds.n, sizeof *t, by_size);
    }
    t[0] = -1e-7;
    t[n - 1] = 1 + 1e-7;
    if (a->from_logits) m->prediction = dt_logistic(m->prediction);
    const double *weights = a->has_label_weights && !a->multi_label ? a->label_weights.v : NULL;
    dt_confusion_emit(&(dt_confusion_plan){.n = n,
                                           .threshold = t,
                                           .class_id = -1,
                                           .by_class = a->multi_label,
                                           .class_weight = weights},
                      m);
    m->part[m->n++] = outside(m->prediction);
}

/* Counts of right and wrong decisions at one threshold. */
typedef struct counts {
    double tp, fp, tn, fn;
} counts;

/* Returns the counts at threshold i of n. sum: the sums of all n_labels labels, from those of the
 * wanted label on. */
static counts counts_at(const double *sum, int n_labels, int n, int i) {
    const double *at = sum + (int64_t)i * n_labels;
    int64_t part = (int64_t)n * n_labels;
    return (counts){at[0], at[part], at[2 * part], at[3 * part]};
}

static double interpolated_step(counts low, counts high) {
    double dtp = low.tp - high.tp, p = low.tp + low.fp, p_next = high.tp + high.fp;
    double slope = dt_ratio(dtp, fmax(p - p_next, 0)), intercept = high.tp - slope * p_next;
    double ratio = p > 0 && p_next > 0 ? dt_ratio(p, p_next) : 1;
    return dt_ratio(slope * (dtp + intercept * log(ratio)), fmax(high.tp + high.fn, 0));
}

/* Sets *recall to the recall gain, max(1 - odds fn / tp, 0), and *precision to the precision gain,
 * 1 - odds fp / tp; they are 0 and 1 if tp is 0. odds: positive labels / negative labels. */
static void gains(counts c, double *recall, double *precision) {
    double odds = dt_ratio(c.tp + c.fn, c.tn + c.fp);
    *recall = c.tp == 0 ? 0 : fmax(1 - odds * c.fn / c.tp, 0);
    *precision = c.tp == 0 ? 1 : 1 - odds * c.fp / c.tp;
}

static void point(curve kind, counts c, double *x, double *y) {
    double recall = dt_ratio(c.tp, c.tp + c.fn);
    *x = kind == ROC ? dt_ratio(c.fp, c.fp + c.tn) : recall;
    *y = kind == ROC ? recall : dt_ratio(c.tp, c.tp + c.fp);
    if (kind == PRGAIN) gains(c, x, y);
}

static double height(int how, double a, double b) {
    return how == INTERPOLATION ? (a + b) / 2 : how == MINORING ? fmin(a, b) : fmax(a, b);
}

/* Computes the area under the curve of one label. */
static double area_of(const struct auc *a, const double *sum, int n_labels) {
    curve kind = (curve)(a->curve % CURVES);
    int n = n_thresholds(a);
    double all = 0;
    for (int i = 0; i + 1 < n; i++) {
        counts low = counts_at(sum, n_labels, n, i), high = counts_at(sum, n_labels, n, i + 1);
        double x[2], y[2];
        point(kind, low, &x[0], &y[0]);
        point(kind, high, &x[1], &y[1]);
        all += kind == PR && a->summation_method == INTERPOLATION
                   ? interpolated_step(low, high)
                   : (x[0] - x[1]) * height(a->summation_method, y[0], y[1]);
    }
    return all;
}

static int area(const void *args, const double *sum, int n_sums, double *out) {
    const struct auc *a = args;
    int n_labels = (n_sums - 1) / (4 * n_thresholds(a));
    double all = 0, weights = 0;
    for (int k = 0; k < n_labels; k++) {
        double w = a->multi_label && a->has_label_weights ? a->label_weights.v[k] : 1;
        all += w * area_of(a, &sum[k], n_labels);
        weights += w;
    }
    out[0] = dt_ratio(all, weights);
    return 1;
}

static dt_status *fault(const void *args, const double *sum, int n_sums) {
    (void)args;
    if (!(sum[n_sums - 1] > 0)) return NULL;
    return dt_suggest(dt_fail(DT_E_METRICS, NULL,
                              "AUC needs predictions between 0 and 1; %.0f are outside",
                              sum[n_sums - 1]),
                      "set 'from_logits: true' if they are scores before the sigmoid");
}

const dt_metric_row dt_metric_auc = {
    .better = DT_BETTER_MORE,
    .kind = {"AUC", "area under the curve", fields, sizeof(struct auc),
             (const char *const[]){"auc", NULL}},
    .targets = {0, 1},
    .check = check,
    .parts = count,
    .n_sums = sums,
    .results = area,
    .fault = fault,
};
