/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics that are means of losses, with the losses' arguments, and two similar ones: the root of
 * the mean squared error, and the cosine similarity. */
#include "model/model.h"

struct plain {
    dt_loss_head head;
};

static const dt_field plain_fields[] = {DT_LOSS_FIELDS(struct plain), DT_END};

#define OF_LOSS(row, loss, class_name, words, table, size, check_, ...)                            \
    static dt_value row##_update(const dt_loss_call_args *c) { return dt_loss_##loss.rows(c); }    \
    static dt_value row##_mask(const dt_loss_call_args *c) {                                       \
        return dt_loss_##loss.mask ? dt_loss_##loss.mask(c) : (dt_value){0};                       \
    }                                                                                              \
    const dt_metric_row dt_metric_##row = {                                                        \
        .kind = {class_name, words, table, size, (const char *const[]){__VA_ARGS__, NULL}},        \
        .better = DT_BETTER_LESS,                                                                  \
        .sums = 1,                                                                                 \
        .check = check_,                                                                           \
        .update = row##_update,                                                                    \
        .mask = row##_mask,                                                                        \
        .result = dt_mean_of_sum,                                                                  \
    };
#define PLAIN(row, loss, class_name, words, ...)                                                   \
    OF_LOSS(row, loss, class_name, words, plain_fields, sizeof(struct plain), dt_check_same_shape, \
            __VA_ARGS__)

PLAIN(mean_squared_error, mean_squared_error, "MeanSquaredError", "mean of (y - p)^2",
      "mean_squared_error", "mse", "MSE")
PLAIN(mean_absolute_error, mean_absolute_error, "MeanAbsoluteError", "mean of |y - p|",
      "mean_absolute_error", "mae", "MAE")
PLAIN(mean_absolute_percentage_error, mean_absolute_percentage_error, "MeanAbsolutePercentageError",
      "mean of 100 |y - p| / |y|", "mean_absolute_percentage_error", "mape", "MAPE")
PLAIN(mean_squared_logarithmic_error, mean_squared_logarithmic_error, "MeanSquaredLogarithmicError",
      "mean of (log(y + 1) - log(p + 1))^2", "mean_squared_logarithmic_error", "msle", "MSLE")
PLAIN(kl_divergence, kl_divergence, "KLDivergence", "sum of y log(y / p)", "kl_divergence", "kld")
PLAIN(poisson, poisson, "Poisson", "mean of p - y log p", "poisson")
PLAIN(hinge, hinge, "Hinge", "mean of max(1 - y p, 0)", "hinge")
PLAIN(squared_hinge, squared_hinge, "SquaredHinge", "mean of max(1 - y p, 0)^2", "squared_hinge")
PLAIN(categorical_hinge, categorical_hinge, "CategoricalHinge",
      "margin between the right class and the best other", "categorical_hinge")
OF_LOSS(binary_crossentropy, binary_crossentropy, "BinaryCrossentropy",
        "-y log p - (1 - y) log(1 - p)", dt_binary_crossentropy_fields, DT_LOSS_ARGS_SIZE,
        dt_check_same_shape, "binary_crossentropy", "bce", "BCE")
OF_LOSS(categorical_crossentropy, categorical_crossentropy, "CategoricalCrossentropy",
        "-sum of y log p, one-hot targets", dt_categorical_crossentropy_fields, DT_LOSS_ARGS_SIZE,
        dt_check_one_hot, "categorical_crossentropy")
OF_LOSS(sparse_categorical_crossentropy, sparse_categorical_crossentropy,
        "SparseCategoricalCrossentropy", "-log p of the class, targets are class indices",
        dt_sparse_categorical_crossentropy_fields, DT_LOSS_ARGS_SIZE, dt_check_sparse,
        "sparse_categorical_crossentropy")

static dt_value log_cosh(const dt_loss_call_args *c) { return dt_loss_log_cosh.rows(c); }

const dt_metric_row dt_metric_log_cosh_error = {
    .label = "logcosh",
    .better = DT_BETTER_LESS,
    .kind = {"LogCoshError", "mean of log cosh(p - y)", plain_fields, sizeof(struct plain),
             (const char *const[]){"log_cosh_error", "logcosh", "log_cosh", NULL}},
    .sums = 1,
    .check = dt_check_same_shape,
    .update = log_cosh,
    .result = dt_mean_of_sum,
};

/* ---- the root of the squared error ---- */

static dt_value squared_error(const dt_loss_call_args *c) {
    dt_value e = dt_subtract(c->prediction, dt_targets_like(c->target, c->prediction));
    return dt_multiply(e, e);
}

static double root(const void *args, const double *sum, double examples) {
    return sqrt(dt_mean_of_sum(args, sum, examples));
}

const dt_metric_row dt_metric_root_mean_squared_error = {
    .better = DT_BETTER_LESS,
    .kind = {"RootMeanSquaredError", "root of the mean of (y - p)^2", plain_fields,
             sizeof(struct plain), (const char *const[]){"root_mean_squared_error", "rmse", NULL}},
    .sums = 1,
    .unmasked = true,
    .check = dt_check_same_shape,
    .update = squared_error,
    .result = root,
};

/* ---- the cosine ---- */

struct cosine {
    const char *name;
    int64_t axis;
};

static const dt_field cosine_fields[] = {
    DT_INT(struct cosine, axis, .preset = "-1", .help = "axis of the vectors to compare"),
    DT_TEXT(struct cosine, name, .help = "name, used as the key in the history"),
    DT_NOT_YET("dtype"), DT_END};

static dt_value cosine(const dt_loss_call_args *c) {
    return dt_cosine_similarity(c->target, c->prediction, ((const struct cosine *)c->args)->axis);
}

const dt_metric_row dt_metric_cosine_similarity = {
    .better = DT_BETTER_MORE,
    .kind = {"CosineSimilarity", "the cosine between y and p", cosine_fields, sizeof(struct cosine),
             (const char *const[]){"cosine_similarity", NULL}},
    .sums = 1,
    .check = dt_check_same_shape,
    .update = cosine,
    .result = dt_mean_of_sum,
};
