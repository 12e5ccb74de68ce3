/*
 * AUC: the area under the curve of recall over false positives (ROC), or of precision over recall (PR), by a sum over thresholds.
 * PR curves are interpolated as in J. Davis, M. Goadrich, The Relationship Between Precision-Recall and ROC Curves (2006).
 */
#include <stdlib.h>

#include "model/metric/confusion.h"

typedef enum curve { ROC, PR } curve;
static const char *const curves[] = { "ROC", "PR", "roc", "pr", NULL };
typedef enum method { INTERPOLATION, MINORING, MAJORING } method;
static const char *const methods[] = { "interpolation", "minoring", "majoring", NULL };

struct auc {
    const char *name;
    int64_t num_thresholds;
    dt_reals thresholds;
    bool has_thresholds, from_logits;
    int curve, summation_method;
};

static const dt_field fields[] = {
    DT_INT(struct auc, num_thresholds, .preset = "200", .min = 2, .max = 100000, .help = "in equal steps from 0 to 1"),
    DT_ENUM(struct auc, curve, curves, .help = "recall over false positives, or precision over recall"),
    DT_ENUM(struct auc, summation_method, methods, .help = "of the steps between thresholds: their mean, the lower, the higher"),
    DT_TEXT(struct auc, name, .help = "the key in the history"),
    DT_REALS(struct auc, thresholds, .max = 1, .set = 1 + offsetof(struct auc, has_thresholds), .help = "in place of num_thresholds, between 0 and 1"),
    DT_FLAG(struct auc, from_logits, .help = "predictions are scores before the sigmoid"),
    DT_NOT_YET("dtype"),
    DT_NOT_YET("multi_label"),
    DT_NOT_YET("num_labels"),
    DT_NOT_YET("label_weights"),
    DT_END
};

static int n_thresholds(const struct auc *a)
{
    return a->has_thresholds ? a->thresholds.n + 2 : (int)a->num_thresholds;
}

static int sums(const void *args)
{
    return 4 * n_thresholds(args);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The ends lie a little outside of [0, 1], so that all outputs are between them. */
static void count(dt_metric_parts *m)
{
    const struct auc *a = m->args;
    int n = n_thresholds(a);
    double *t = dt_confusion_even(dt_trace_arena(m->prediction.trace), n);
    if (a->has_thresholds) {
        for (int i = 0; i < a->thresholds.n; i++)
            t[1 + i] = a->thresholds.v[i];
        qsort(t + 1, (size_t)a->thresholds.n, sizeof *t, by_size);
    }
    t[0] = -1e-7;
    t[n - 1] = 1 + 1e-7;
    if (a->from_logits)
        m->prediction = dt_logistic(m->prediction);
    dt_confusion_emit(&(dt_confusion_plan){ .n = n, .threshold = t, .class_id = -1 }, m);
}

/* Counts at one threshold. */
typedef struct counts {
    double tp, fp, tn, fn;
} counts;

static counts counts_at(const double *sum, int n, int i)
{
    return (counts){ sum[i], sum[n + i], sum[2 * n + i], sum[3 * n + i] };
}

static double interpolated_step(counts low, counts high)
{
    double dtp = low.tp - high.tp, p = low.tp + low.fp, p_next = high.tp + high.fp;
    double slope = dt_ratio(dtp, fmax(p - p_next, 0)), intercept = high.tp - slope * p_next;
    double ratio = p > 0 && p_next > 0 ? dt_ratio(p, p_next) : 1;
    return dt_ratio(slope * (dtp + intercept * log(ratio)), fmax(high.tp + high.fn, 0));
}

static void point(bool roc, counts c, double *x, double *y)
{
    double recall = dt_ratio(c.tp, c.tp + c.fn);
    *x = roc ? dt_ratio(c.fp, c.fp + c.tn) : recall;
    *y = roc ? recall : dt_ratio(c.tp, c.tp + c.fp);
}

static double height(int how, double a, double b)
{
    return how == INTERPOLATION ? (a + b) / 2 : how == MINORING ? fmin(a, b) : fmax(a, b);
}

static int area(const void *args, const double *sum, int n_sums, double *out)
{
    const struct auc *a = args;
    bool roc = a->curve % 2 == ROC;
    int n = n_thresholds(a);
    (void)n_sums;
    out[0] = 0;
    for (int i = 0; i + 1 < n; i++) {
        counts low = counts_at(sum, n, i), high = counts_at(sum, n, i + 1);
        double x[2], y[2];
        point(roc, low, &x[0], &y[0]);
        point(roc, high, &x[1], &y[1]);
        out[0] += !roc && a->summation_method == INTERPOLATION ? interpolated_step(low, high)
                                                               : (x[0] - x[1]) * height(a->summation_method, y[0], y[1]);
    }
    return 1;
}

const dt_metric_row dt_metric_auc = {
    .better = DT_BETTER_MORE,
    .kind = { "AUC", "area under the curve", fields, sizeof(struct auc), (const char *const[]){ "auc", NULL } },
    .check = dt_check_same_shape, .parts = count, .n_sums = sums, .results = area,
};
