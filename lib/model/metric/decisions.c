/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of decisions at thresholds: counts (TruePositives, ...), Precision and Recall, and the
 * best of one rate where another has at least a given value.
 */
#include "model/metric/confusion.h"

struct decisions {
    const char *name;
    dt_reals thresholds;
    bool has_thresholds, has_top_k, has_class_id;
    int64_t top_k, class_id;
};

#define THRESHOLDS                                                                                 \
    DT_REALS(struct decisions, thresholds, .max = 1, .some = true,                                 \
             .set = 1 + offsetof(struct decisions, has_thresholds),                                \
             .help = "threshold, or a list; default 0.5, none with top_k"),                        \
        DT_TEXT(struct decisions, name, .help = "name, used as the key in the history"),           \
        DT_NOT_YET("dtype")

static const dt_field count_fields[] = {THRESHOLDS, DT_END};
static const dt_field share_fields[] = {
    THRESHOLDS,
    DT_INT(struct decisions, top_k, .min = 1, .max = INFINITY,
           .set = 1 + offsetof(struct decisions, has_top_k),
           .help = "count only the k largest outputs as positive"),
    DT_INT(struct decisions, class_id, .max = INFINITY,
           .set = 1 + offsetof(struct decisions, has_class_id), .help = "use only this class"),
    DT_END};

static int thresholds_of(const void *args) {
    const struct decisions *d = args;
    return d->has_thresholds ? d->thresholds.n : 1;
}

static int sums(const void *args) { return 4 * thresholds_of(args); }

static void count(dt_metric_parts *m) {
    const struct decisions *d = m->args;
    const double preset = d->has_top_k ? -1e10 : 0.5;
    const dt_confusion_plan plan = {
        .n = thresholds_of(d),
        .threshold = d->has_thresholds ? d->thresholds.v : &preset,
        .top_k = d->has_top_k ? d->top_k : 0,
        .class_id = d->has_class_id ? d->class_id : -1,
    };
    dt_confusion_emit(&plan, m);
}

static int copy_sums(const void *args, const double *sum, int part, double *out) {
    int n = thresholds_of(args);
    for (int i = 0; i < n; i++) out[i] = sum[part * n + i];
    return n;
}

/* Sets out[] to a / (a + b) at each threshold, for two of the counts TP, FP, TN and FN; returns the
 * number of thresholds. */
static int share(const void *args, const double *sum, int a, int b, double *out) {
    int n = thresholds_of(args);
    for (int i = 0; i < n; i++) out[i] = dt_ratio(sum[a * n + i], sum[a * n + i] + sum[b * n + i]);
    return n;
}

enum { TP, FP, TN, FN };

#define DECISIONS(row, class_name, alias, words, table, better_, expression)                       \
    static int row##_results(const void *args, const double *sum, int n, double *out) {            \
        (void)n;                                                                                   \
        return expression;                                                                         \
    }                                                                                              \
    const dt_metric_row dt_metric_##row = {                                                        \
        .kind = {class_name, words, table, sizeof(struct decisions),                               \
                 (const char *const[]){alias, NULL}},                                              \
        .better = better_,                                                                         \
        .targets = {0, 1},                                                                         \
        .check = dt_check_same_shape,                                                              \
        .parts = count,                                                                            \
        .n_sums = sums,                                                                            \
        .results = row##_results,                                                                  \
    };

DECISIONS(true_positives, "TruePositives", "true_positives", "number of true positives",
          count_fields, DT_BETTER_UNKNOWN, copy_sums(args, sum, TP, out))
DECISIONS(false_positives, "FalsePositives", "false_positives", "number of false positives",
          count_fields, DT_BETTER_UNKNOWN, copy_sums(args, sum, FP, out))
DECISIONS(true_negatives, "TrueNegatives", "true_negatives", "number of true negatives",
          count_fields, DT_BETTER_UNKNOWN, copy_sums(args, sum, TN, out))
DECISIONS(false_negatives, "FalseNegatives", "false_negatives", "number of false negatives",
          count_fields, DT_BETTER_UNKNOWN, copy_sums(args, sum, FN, out))
DECISIONS(precision, "Precision", "precision", "share of predicted positives that are right",
          share_fields, DT_BETTER_MORE, share(args, sum, TP, FP, out))
DECISIONS(recall, "Recall", "recall", "share of positives that are found", share_fields,
          DT_BETTER_MORE, share(args, sum, TP, FN, out))

/* ---- the best of one rate where another has at least a given value ---- */

struct trade {
    const char *name;
    double value;
    int64_t num_thresholds, class_id;
    bool has_class_id;
};

#define TRADE_FIELDS(key)                                                                          \
    DT_KEY(REAL, key, struct trade, value, .required = true, .max = 1,                             \
           .help = "required minimum"),                                                            \
        DT_INT(struct trade, num_thresholds, .preset = "200", .min = 1, .max = 100000,             \
               .help = "number of thresholds, evenly spaced from 0 to 1"),                         \
        DT_INT(struct trade, class_id, .max = INFINITY,                                            \
               .set = 1 + offsetof(struct trade, has_class_id), .help = "use only this class"),    \
        DT_TEXT(struct trade, name, .help = "name, used as the key in the history"),               \
        DT_NOT_YET("dtype"), DT_END

static int trade_sums(const void *args) {
    return 4 * (int)((const struct trade *)args)->num_thresholds;
}

static void count_for_trade(dt_metric_parts *m) {
    const struct trade *t = m->args;
    int n = (int)t->num_thresholds;
    const dt_confusion_plan plan = {.n = n,
                                    .threshold =
                                        dt_confusion_even(dt_trace_arena(m->prediction.trace), n),
                                    .class_id = t->has_class_id ? t->class_id : -1};
    dt_confusion_emit(&plan, m);
}

typedef struct quotient {
    int a, b; /* the counts a and b, TP, FP, TN or FN; the quotient is a / (a + b) */
} quotient;

/* Sets out[0] to the largest quotient `best` among the thresholds at which the quotient `held` is
 * at least the given value, or to 0 if there is no such threshold. Returns 1, the number of
 * results. */
static int best_where(const void *args, const double *sum, quotient held, quotient best,
                      double *out) {
    const struct trade *t = args;
    int n = (int)t->num_thresholds;
    out[0] = 0;
    for (int i = 0; i < n; i++) {
        double h = dt_ratio(sum[held.a * n + i], sum[held.a * n + i] + sum[held.b * n + i]);
        double b = dt_ratio(sum[best.a * n + i], sum[best.a * n + i] + sum[best.b * n + i]);
        if ((float)h >= (float)t->value && b > out[0]) out[0] = b;
    }
    return 1;
}

static const quotient sensitivity = {TP, FN}, specificity = {TN, FP}, precision = {TP, FP};

#define TRADE(row, class_name, alias, key, words, held, best)                                      \
    static const dt_field row##_fields[] = {TRADE_FIELDS(key)};                                    \
    static int row##_results(const void *args, const double *sum, int n, double *out) {            \
        (void)n;                                                                                   \
        return best_where(args, sum, held, best, out);                                             \
    }                                                                                              \
    const dt_metric_row dt_metric_##row = {                                                        \
        .kind = {class_name, words, row##_fields, sizeof(struct trade),                            \
                 (const char *const[]){alias, NULL}},                                              \
        .better = DT_BETTER_MORE,                                                                  \
        .targets = {0, 1},                                                                         \
        .check = dt_check_same_shape,                                                              \
        .parts = count_for_trade,                                                                  \
        .n_sums = trade_sums,                                                                      \
        .results = row##_results,                                                                  \
    };

TRADE(sensitivity_at_specificity, "SensitivityAtSpecificity", "sensitivity_at_specificity",
      "specificity", "the best sensitivity at a specificity", specificity, sensitivity)
TRADE(specificity_at_sensitivity, "SpecificityAtSensitivity", "specificity_at_sensitivity",
      "sensitivity", "the best specificity at a sensitivity", sensitivity, specificity)
TRADE(precision_at_recall, "PrecisionAtRecall", "precision_at_recall", "recall",
      "the best precision at a recall", sensitivity, precision)
TRADE(recall_at_precision, "RecallAtPrecision", "recall_at_precision", "precision",
      "the best recall at a precision", precision, sensitivity)
