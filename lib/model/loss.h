/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and metrics. Both emit graph nodes, usually from targets and predictions. Many losses are
 * also metrics of the same name. */
#ifndef DT_MODEL_LOSS_H
#define DT_MODEL_LOSS_H

#include "model/layer.h"

/* Keras' ways to reduce the losses of samples to one number. */
typedef enum dt_loss_reduction {
    DT_REDUCTION_SUM_OVER_BATCH_SIZE,
    DT_REDUCTION_MEAN,
    DT_REDUCTION_MEAN_WITH_SAMPLE_WEIGHT,
    DT_REDUCTION_SUM,
    DT_REDUCTION_NONE
} dt_loss_reduction;
extern const char *const dt_loss_reductions[];

/* The first member, `head`, of every loss's arguments. The loss's table of fields contains
 * DT_LOSS_FIELDS. */
typedef struct dt_loss_head {
    int reduction; /* how losses are reduced to one number: a dt_loss_reduction */
    const char *name;
} dt_loss_head;
/* The most bytes of the arguments of a crossentropy. The metric of the same name has the same
 * arguments. */
#define DT_LOSS_ARGS_SIZE 128
#define DT_LOSS_FIELDS(type)                                                                       \
    DT_HEAD_FIELD(ENUM, type, reduction, .choices = dt_loss_reductions,                            \
                  .help = "what the weighted sum of losses is divided by. sum_over_batch_size, "   \
                          "mean: the number of samples in the global batch; "                      \
                          "mean_with_sample_weight: the sum of their weights"),                    \
        DT_HEAD_FIELD(TEXT, type, name, .help = "name, used as the key in the history"),           \
        DT_NOT_YET("dtype")
extern const dt_field dt_binary_crossentropy_fields[], dt_categorical_crossentropy_fields[],
    dt_sparse_categorical_crossentropy_fields[];

typedef struct dt_loss_call_args {
    const void *args;
    dt_value target; /* the targets, such as (B, ..., C), or class numbers (B, ...) */
    /* the predictions, (B, ..., C) or (B); if their node is a softmax, its input has the logits */
    dt_value prediction;
} dt_loss_call_args;

/* Checks the types of targets and predictions, (B, ...). Returns NULL, or an error, usually LABELS,
 * if the loss or metric cannot use them. */
typedef dt_status *dt_check_fn(const void *args, const dt_type *target, const dt_type *prediction);

/* The range that targets must be in; low == high: they may be any numbers. */
typedef struct dt_loss_limits {
    double low, high;
} dt_loss_limits;

/* The bit that stands for a range in a set of ranges. */
#define DT_RANGES(range) (1u << DT_RANGE_##range)
enum {
    DT_PROBABILITIES = DT_RANGES(UNIT) | DT_RANGES(SHARES) | DT_RANGES(ONE_SHARE),
    DT_NO_LESS_THAN_0 = DT_PROBABILITIES | DT_RANGES(NONNEGATIVE) | DT_RANGES(POSITIVE),
    /* the ranges of logits of a softmax, of which only differences matter, so any real numbers will
     * do */
    DT_SCORES = DT_RANGES(REAL) | DT_RANGES(BOTH) | DT_RANGES(BENT) | DT_RANGES(LOG_SHARES),
};
/* The ranges that a loss expects its predictions to have. */
typedef struct dt_expects {
    /* sets of ranges that predictions may have: without and with from_logits; 0: any range */
    unsigned ranges, logits;
    const char *what; /* what predictions are called in warnings, such as "probabilities" */
    /* name of an activation whose output has such a range, for suggestions */
    const char *activation;
} dt_expects;

#define DT_LOSS_PARTS 4
typedef struct dt_loss_row {
    dt_kind kind;
    dt_output_kind of; /* the kind of output (numbers, classes, ...) that the loss is for */
    bool sparse;       /* whether targets are class numbers */
    bool pairs;        /* whether each example is compared with all others of the global batch */
    dt_loss_limits targets; /* the range that targets must be in */
    dt_expects expects;
    dt_check_fn *check;
    /* Emits the loss of each sample, floats (B, ...), or a scalar if the loss is one number for the
     * batch. */
    dt_value (*rows)(const dt_loss_call_args *c);
    /* Emits which samples count, bools (B, ...). NULL, or a value without a trace: all samples
     * count. */
    dt_value (*mask)(const dt_loss_call_args *c);
    /* the label of ignored examples; NULL: there is none */
    const int64_t *(*ignored)(const void *args);
    /* The next three members belong to losses that are functions of sums; otherwise they are NULL.
     * If the dimension of the batch is summed, too, the loss is one number for the batch. */
    /* Returns the dimensions to be summed, one bit each. */
    uint32_t (*summed)(const void *args, const dt_type *prediction);
    /* Sets part[] to the values to be summed, in the shape of the predictions. Returns their
     * number. */
    int (*parts)(const dt_loss_call_args *c, dt_value part[DT_LOSS_PARTS]);
    /* Emits the loss from the sums of all parts, elementwise. The losses of one example, or of the
     * batch, are then averaged. */
    dt_value (*join)(const void *args, const dt_value *sum);
} dt_loss_row;
const dt_kind *const *dt_losses(int *n);
/* Whether the loss is one number for the batch, so that it cannot be summed over examples or
 * weighted. */
bool dt_loss_is_whole(const dt_named *named, const dt_type *prediction);
/* Whether predictions are scores before softmax or sigmoid: the argument `from_logits`. */
bool dt_loss_takes_logits(const dt_named *named);
dt_status *dt_loss_read(dt_arena *arena, const dt_tree *t, dt_named *out) DT_MUST_USE;

/* Returns the logits of a prediction: the input of the node of the op `activation` that computes
 * it, where notes about its layout may follow that node. Returns no value (trace NULL) if another
 * op computes the prediction. */
dt_value dt_logits_of(dt_value prediction, const dt_op *activation);
dt_value dt_class_numbers(dt_value target); /* Reshapes (B) or (B, 1) to (B). */
/* Converts targets to the dtype of the prediction, and reshapes between (B) and (B, 1) if
 * necessary. */
dt_value dt_targets_like(dt_value target, dt_value prediction);
/* Sums over the last dimension: (B, ..., C) becomes (B, ...). (B) is returned unchanged. */
dt_value dt_sum_last(dt_value x);
dt_value dt_mean_last(dt_value x);
/* Returns the mean of each example's values: (B, ...) becomes (B). */
dt_value dt_mean_per_example(dt_value x);
/* Limits x to [low, high]. At both limits the gradient passes. */
dt_value dt_clip_between(dt_value x, double low, double high);
/* Returns -log p of the labelled class, (B, ...), of scores or probabilities (B, ..., classes); if
 * the prediction is a softmax, its input is used. */
dt_value dt_sparse_crossentropy(dt_value target, dt_value prediction, bool from_logits);
/* Limits p to [1e-7, 1 - 1e-7]; 1e-7 is Keras' epsilon. */
dt_value dt_clip_probability(dt_value p);
/* Smoothes labels: target * (1 - smoothing) + smoothing / classes. */
dt_value dt_smooth_labels(dt_value target, double smoothing, double classes);
dt_value dt_cosine_similarity(dt_value target, dt_value prediction, int64_t axis);
/* Converts weights to the dtype and shape of the values: (B) to (B, T). */
dt_value dt_weights_like(dt_value weight, dt_value values);
/* Returns the contribution of each sample to the divisor of a mean: the mask (1 or 0, of the
 * values' dtype and shape), for mean_with_sample_weight times the weight. Weights and mask may be
 * no value, which means all 1. Returns no value if every sample contributes 1. */
dt_value dt_divisor_rows(int reduction, dt_value weight, dt_value mask);
/* Broadcasts a mask, or weights, to the shape of the values. Its dtype stays. */
dt_value dt_mask_like(dt_value mask, dt_value values);
dt_check_fn dt_check_sparse, dt_check_one_hot, dt_check_same_shape;

struct dt_loss { /* The type behind the public handle of a loss. */
    int refs;
    dt_arena *arena;
    dt_named named;
    dt_loss_average average;
};

/* The most parts of an aggregate metric. A part is a scalar, a vector or a matrix: a sum over the
 * examples of a batch. */
#define DT_METRIC_PARTS 8
typedef struct dt_metric_parts {
    const void *args;
    dt_value target, prediction;
    /* weights of the examples, (B) or with more dimensions; a value without a trace: all weights
     * are 1 */
    dt_value weight;
    dt_value part[DT_METRIC_PARTS]; /* the parts, which `parts` of the row adds */
    int n;
} dt_metric_parts;

/*
 * A metric is a function of sums over examples, which are added over batches in double. Most
 * metrics are means: `update` yields a value for each example (or for each output, which are
 * averaged). The others have `parts` and `results`.
 */
typedef enum dt_better { DT_BETTER_UNKNOWN, DT_BETTER_MORE, DT_BETTER_LESS } dt_better;

typedef struct dt_metric_row {
    dt_kind kind;
    /* name of the metric in the history; NULL: the class name in snake case, as usual in Keras */
    const char *label;
    /* The direction in which the metric improves, for callbacks that watch it; as in Keras. */
    dt_better better;
    bool by_class; /* whether the metric can have a number for each class */
    /* number of sums of a mean: 1. 0: `accuracy`, which compile replaces by another row, and
     * metrics with parts */
    int sums;
    bool alone; /* whether the metric has no targets; its values are passed as predictions */
    /* the targets that it accepts; for a metric named after a loss see dt_metric_targets */
    dt_loss_limits targets;
    bool unmasked; /* whether the mean counts masked samples, as some metrics of Keras do */
    dt_check_fn *check;
    /* Sets from_logits to that of the loss for the same output, unless the job gives the argument.
     * NULL: the metric has no such argument. */
    void (*follow)(void *args, bool from_logits);
    /* Emits the values whose mean is the metric, floats (B, ...). */
    dt_value (*update)(const dt_loss_call_args *c);
    /* Emits which values count, bools (B, ...). NULL, or a value without a trace: all values
     * count. */
    dt_value (*mask)(const dt_loss_call_args *c);
    /* Computes the metric from the sums. examples: their number, or the sum of their weights; if it
     * is 0, the result is 0. */
    double (*result)(const void *args, const double *sum, double examples);
    void (*parts)(dt_metric_parts *m);
    /* Returns the number of sums in all parts. 0, or NULL in place of the function: count them in
     * the parts that were traced. */
    int (*n_sums)(const void *args);
    /* Computes results from the n sums of all parts, one part after the other. Returns the number
     * of results, at most n. */
    int (*results)(const void *args, const double *sum, int n, double *out);
    /* Returns the error METRICS if the sums allow no result, else NULL. The member is NULL if sums
     * always allow a result. */
    dt_status *(*fault)(const void *args, const double *sum, int n);
} dt_metric_row;
const dt_kind *const *dt_metrics(int *n);
/* For a metric that is a mean with sample weights: emits the weighted value of each example, and
 * its contribution to the divisor; both are (B) or scalars. As in Keras, values are averaged over
 * the dimensions that the weights lack, weights are repeated to the shape of the values, and both
 * are averaged over the dimensions of an example. If `weight` is absent, nothing is weighted or
 * masked, and *divisor is absent, too. */
void dt_metric_rows(const dt_metric_row *row, const dt_loss_call_args *c, dt_value weight,
                    dt_value *rows, dt_value *divisor);
/* Returns the number of results for targets and predictions of these types: 1 for a mean, whatever
 * the types, else what `results` returns for as many sums as the parts have. 0: a metric with parts
 * cannot use such types. */
int dt_metric_width(const dt_metric_row *row, const void *args, const dt_type *target,
                    const dt_type *prediction);
/* Returns the limits of targets for the row. A metric that is named after a loss has the limits of
 * the loss. */
dt_loss_limits dt_metric_targets(const dt_metric_row *row);
/* Returns sum / examples, or 0 without examples: the `result` of most means. */
double dt_mean_of_sum(const void *args, const double *sum, double examples);

#define DT_LOSS_ROW(name) extern const dt_loss_row dt_loss_##name;
#include "model/losses.h"
#undef DT_LOSS_ROW
#define DT_METRIC_ROW(name) extern const dt_metric_row dt_metric_##name;
#include "model/metrics.h"
#undef DT_METRIC_ROW

#endif
