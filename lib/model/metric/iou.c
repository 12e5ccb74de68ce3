/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intersection over union of classes, and its mean: true positives / (true positives + false
 * positives + false negatives). Targets and predictions are class numbers, or scores, of which the
 * largest gives the class; predictions of BinaryIoU are compared with a threshold. A confusion
 * matrix is not needed, since these sums are enough:
 *
 *     hits (C)         samples of class c that are predicted as class c
 *     labels (C)       samples of class c
 *     predicted (C)    samples that are predicted as class c
 *
 * With sample weights, these are sums of weights. They leave out samples with class numbers outside
 * [0, C), or of the ignored class. Classes that are neither a target nor predicted do not count in
 * the mean.
 */
#include "model/metric/confusion.h"

struct iou {
    const char *name;
    int64_t num_classes, ignore_class;
    dt_ints target_class_ids;
    double threshold;
    bool has_targets, has_ignored, sparse_y_true, sparse_y_pred;
};

#define COMMON                                                                                     \
    DT_TEXT(struct iou, name, .help = "name, used as the key in the history"), DT_NOT_YET("dtype")
#define CLASSES                                                                                    \
    DT_INT(struct iou, num_classes, .required = true, .min = 1, .max = 65536,                      \
           .help = "number of classes"),                                                           \
        DT_INT(struct iou, ignore_class, .set = 1 + offsetof(struct iou, has_ignored),             \
               .help = "class to ignore"),                                                         \
        DT_ONLY("axis", "-1")
#define TARGETS(...)                                                                               \
    DT_INTS(struct iou, target_class_ids, .max = INFINITY,                                         \
            .set = 1 + offsetof(struct iou, has_targets), .help = "classes to average over",       \
            __VA_ARGS__)
#define SPARSE_TRUE(preset_)                                                                       \
    DT_FLAG(struct iou, sparse_y_true, .preset = preset_,                                          \
            .help = "labels are class indices, not one-hot")
#define SPARSE_PRED(preset_)                                                                       \
    DT_FLAG(struct iou, sparse_y_pred, .preset = preset_,                                          \
            .help = "predictions are class indices, not scores")

static const dt_field iou_fields[] = {
    CLASSES, TARGETS(.required = true), SPARSE_TRUE("true"), SPARSE_PRED("true"), COMMON, DT_END};
static const dt_field mean_fields[] = {CLASSES, SPARSE_TRUE("true"), SPARSE_PRED("true"), COMMON,
                                       DT_END};
static const dt_field one_hot_fields[] = {CLASSES, TARGETS(.required = true), SPARSE_PRED("false"),
                                          COMMON, DT_END};
static const dt_field one_hot_mean_fields[] = {CLASSES, SPARSE_PRED("false"), COMMON, DT_END};
static const dt_field binary_fields[] = {
    TARGETS(.required = false),
    DT_REAL(struct iou, threshold, .preset = "0.5",
            .help = "threshold from which a prediction counts as 1"),
    COMMON, DT_END};

static int64_t classes_of(const struct iou *m) {
    /* The field num_classes is missing in BinaryIoU, which has two classes. */
    return m->num_classes ? m->num_classes : 2;
}

/* Returns the type of the class numbers of values of type t: t itself if they are class numbers
 * already (sparse). Scores have the classes in the last dimension, which is removed. */
static dt_type numbers_of(const dt_type *t, bool sparse) {
    dt_type out = *t;
    out.rank -= sparse ? 0 : 1;
    return out;
}

static bool same_numbers(const dt_type *a, const dt_type *b) {
    int n = a->rank > b->rank ? a->rank : b->rank;
    bool same = true;
    for (int i = 0; i < n; i++)
        same &= (i < a->rank ? a->dim[i] : 1) == (i < b->rank ? b->dim[i] : 1);
    return same;
}

static dt_status *check_targets(const struct iou *m) {
    for (int i = 0; m->has_targets && i < m->target_class_ids.n; i++)
        if (m->target_class_ids.v[i] >= classes_of(m))
            return dt_fail(DT_E_RANGE, NULL, "target_class_ids: class %lld is outside [0, %lld)",
                           (long long)m->target_class_ids.v[i], (long long)classes_of(m));
    return NULL;
}

static dt_status *check_shapes(const struct iou *m, bool sparse_y, bool sparse_p,
                               const dt_type *target, const dt_type *prediction) {
    const dt_type y = numbers_of(target, sparse_y), p = numbers_of(prediction, sparse_p);
    DT_TRY(check_targets(m));
    if (y.rank > 0 && p.rank > 0 && same_numbers(&y, &p)) return NULL;
    dt_status *s = dt_fail(DT_E_LABELS, NULL,
                           "targets and predictions must hold the same number of class indices: "
                           "targets are %s, predictions %s",
                           dt_text_of(target).s, dt_text_of(prediction).s);
    return sparse_p ? dt_suggest(s, "set 'sparse_y_pred: false' if predictions are class scores")
                    : s;
}

static dt_status *check(const void *args, const dt_type *target, const dt_type *prediction) {
    const struct iou *m = args;
    return check_shapes(m, m->sparse_y_true, m->sparse_y_pred, target, prediction);
}

static dt_status *check_binary(const void *args, const dt_type *target, const dt_type *prediction) {
    return check_shapes(args, true, true, target, prediction);
}

/* Emits class numbers in one dimension, (N) of int32. */
static dt_value numbers(dt_value x, bool sparse) {
    return dt_in_one_row(dt_convert(sparse ? x : dt_argmax(x, -1), DT_INT32));
}

/* Emits a table (N, C): 1 where the sample belongs to the class, else 0. */
static dt_value members(dt_value number, const dt_type *table) {
    dt_type index = *table;
    index.dtype = DT_INT32;
    return dt_convert(
        dt_compare(dt_broadcast_rows(number, &index), dt_iota(number.trace, &index, 1), DT_EQ),
        table->dtype);
}

/* Emits a vector (N): 1 where the number is a class, else 0. */
static dt_value is_class(dt_value number, int64_t classes) {
    dt_value low = dt_compare(number, dt_like(number, 0), DT_GE),
             high = dt_compare(number, dt_like(number, (double)classes), DT_LT);
    return dt_multiply(dt_convert(low, DT_FLOAT32), dt_convert(high, DT_FLOAT32));
}

/* Emits 1 for samples that count; 0 where the target or the prediction is not a class, or the
 * target is the ignored one. */
static dt_value counts(const dt_metric_parts *m, dt_value y, dt_value p) {
    const struct iou *a = m->args;
    dt_value w = dt_multiply(is_class(y, classes_of(a)), is_class(p, classes_of(a)));
    if (a->has_ignored)
        w = dt_multiply(
            w, dt_convert(dt_compare(y, dt_like(y, (double)a->ignore_class), DT_NE), DT_FLOAT32));
    return w;
}

static void count_numbers(dt_metric_parts *m, dt_value y, dt_value p, dt_value weight) {
    dt_value w = counts(m, y, p);
    w = weight.trace ? dt_multiply(w, weight) : w;
    const dt_type table =
        dt_type_of(DT_FLOAT32, 2, (int64_t[]){dt_type_of_value(y).dim[0], classes_of(m->args)});
    w = dt_broadcast_rows(w, &table);
    dt_value is = dt_multiply(members(y, &table), w), predicted = members(p, &table);
    m->part[m->n++] = dt_reduce(dt_multiply(is, predicted), DT_REDUCE_SUM, 1);
    m->part[m->n++] = dt_reduce(is, DT_REDUCE_SUM, 1);
    m->part[m->n++] = dt_reduce(dt_multiply(predicted, w), DT_REDUCE_SUM, 1);
}

/* Emits the weight of each number, (N); no value: all are 1. like: the type of the numbers before
 * they were flattened. */
static dt_value weights(const dt_metric_parts *m, const dt_type *like) {
    dt_type type = *like;
    type.dtype = DT_FLOAT32;
    if (!m->weight.trace) return m->weight;
    return dt_in_one_row(dt_weights_like(m->weight, dt_splat(m->weight.trace, &type, 1)));
}

static void count(dt_metric_parts *m) {
    const struct iou *a = m->args;
    const dt_type of = dt_type_of_value(m->target), like = numbers_of(&of, a->sparse_y_true);
    count_numbers(m, numbers(m->target, a->sparse_y_true), numbers(m->prediction, a->sparse_y_pred),
                  weights(m, &like));
}

static void count_binary(dt_metric_parts *m) {
    const struct iou *a = m->args;
    const dt_type like = dt_type_of_value(m->target);
    dt_value predicted = dt_compare(m->prediction, dt_like(m->prediction, a->threshold), DT_GE);
    count_numbers(m, numbers(m->target, true), numbers(predicted, true), weights(m, &like));
}

static int sums(const void *args) { return 3 * (int)classes_of(args); }

static int results(const void *args, const double *sum, int n_sums, double *out) {
    const struct iou *m = args;
    int n = n_sums / 3, asked = m->has_targets ? m->target_class_ids.n : n;
    const double *hits = sum, *labels = sum + n, *predicted = sum + 2 * n;
    double all = 0, seen = 0;
    for (int k = 0; k < asked; k++) {
        int i = m->has_targets ? (int)m->target_class_ids.v[k] : k;
        double both = labels[i] + predicted[i] - hits[i];
        all += both > 1e-9 ? hits[i] / (both + 1e-7) : 0;
        seen += both > 1e-9;
    }
    out[0] = all / (seen + 1e-7);
    return 1;
}

/* The row of an IoU metric. After check_ come the function that counts, and other members of the
 * row. */
#define IOU(row, class_name, alias, words, table, check_, ...)                                     \
    const dt_metric_row dt_metric_##row = {.kind = {class_name, words, table, sizeof(struct iou),  \
                                                    (const char *const[]){alias, NULL}},           \
                                           .better = DT_BETTER_MORE,                               \
                                           .check = check_,                                        \
                                           .n_sums = sums,                                         \
                                           .results = results,                                     \
                                           .parts = __VA_ARGS__};

IOU(iou, "IoU", "io_u", "intersection over union of some classes", iou_fields, check, count)
IOU(mean_iou, "MeanIoU", "mean_io_u", "intersection over union, mean over classes", mean_fields,
    check, count)
IOU(one_hot_iou, "OneHotIoU", "one_hot_io_u",
    "intersection over union of some classes, one-hot targets", one_hot_fields, check, count)
IOU(one_hot_mean_iou, "OneHotMeanIoU", "one_hot_mean_io_u",
    "intersection over union, mean over classes, one-hot targets", one_hot_mean_fields, check,
    count)
IOU(binary_iou, "BinaryIoU", "binary_io_u",
    "intersection over union of predictions above a threshold", binary_fields, check_binary,
    count_binary, .targets = {0, 1})
