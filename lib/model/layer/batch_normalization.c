/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BatchNormalization: normalizes each channel to mean 0 and deviation 1 over the batch and all
 * positions, then scales by gamma and adds beta. S. Ioffe, C. Szegedy, Batch Normalization (2015).
 *
 *     training     uses the mean and the (population) variance of the current batch: of the
 *                  replica's own examples, or with `synchronized` of all replicas' examples
 *     otherwise    uses moving statistics, which every training step updates from those of the
 *                  batch: moving * momentum + batch * (1 - momentum)
 *
 * The moving statistics are the same on all replicas: without `synchronized` they move towards the
 * mean of all replicas' statistics, weighted by their numbers of examples or, with a mask, of
 * elements. A layer that is not trainable always uses the moving statistics. Masked steps are not
 * counted.
 */
#include "model/layer/axes.h"

#include "op/shapes.h"

struct batch_normalization {
    dt_layer_head head;
    int64_t axis;
    double momentum, epsilon;
    bool center, scale, synchronized;
    const dt_tree *beta_initializer, *gamma_initializer, *moving_mean_initializer,
        *moving_variance_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct batch_normalization, axis, .preset = "-1", .help = "axis of the channels"),
    DT_REAL(struct batch_normalization, momentum, .preset = "0.99", .max = INFINITY,
            .help = "momentum of the moving statistics"),
    DT_REAL(struct batch_normalization, epsilon, .preset = "1e-3", .max = INFINITY,
            .help = "added to the variance to avoid division by 0"),
    DT_FLAG(struct batch_normalization, center, .preset = "true", .help = "add a learned beta"),
    DT_FLAG(struct batch_normalization, scale, .preset = "true",
            .help = "multiply by a learned gamma"),
    DT_FLAG(struct batch_normalization, synchronized,
            .help = "use statistics of the global batch, so that results do not depend on the "
                    "number of replicas"),
    DT_INITIALIZER(struct batch_normalization, beta_initializer,
                   .help = "initializer; default: zeros"),
    DT_INITIALIZER(struct batch_normalization, gamma_initializer,
                   .help = "initializer; default: ones"),
    DT_INITIALIZER(struct batch_normalization, moving_mean_initializer,
                   .help = "initializer; default: zeros"),
    DT_INITIALIZER(struct batch_normalization, moving_variance_initializer,
                   .help = "initializer; default: ones"),
    DT_LAYER_FIELDS(struct batch_normalization),
    DT_ONLY("renorm", "false"),
    DT_ONLY("renorm_momentum", "0.99"),
    DT_NOT_YET("renorm_clipping"),
    DT_REGULARIZER(struct batch_normalization, BETA, "beta_regularizer"),
    DT_REGULARIZER(struct batch_normalization, GAMMA, "gamma_regularizer"),
    DT_CONSTRAINT(struct batch_normalization, BETA, "beta_constraint"),
    DT_CONSTRAINT(struct batch_normalization, GAMMA, "gamma_constraint"),
    DT_END};

static uint32_t channels_of(const struct batch_normalization *n, int rank) {
    return 1u << (n->axis < 0 ? n->axis + rank : n->axis);
}

static dt_status *add_weights(dt_layer_build *b, uint32_t channels) {
    const struct batch_normalization *n = b->args;
    if (n->scale)
        DT_TRY(dt_axes_weight(b, channels,
                              &(dt_weight_request){.name = "gamma",
                                                   .initializer = n->gamma_initializer,
                                                   .preset = "ones"}));
    if (n->center)
        DT_TRY(dt_axes_weight(b, channels,
                              &(dt_weight_request){.name = "beta",
                                                   .initializer = n->beta_initializer,
                                                   .preset = "zeros"}));
    DT_TRY(dt_axes_weight(b, channels,
                          &(dt_weight_request){.name = "moving_mean",
                                               .initializer = n->moving_mean_initializer,
                                               .preset = "zeros",
                                               .fixed = true}));
    return dt_axes_weight(b, channels,
                          &(dt_weight_request){.name = "moving_variance",
                                               .initializer = n->moving_variance_initializer,
                                               .preset = "ones",
                                               .fixed = true});
}

static dt_status *build(dt_layer_build *b) {
    const struct batch_normalization *n = b->args;
    DT_TRY(dt_layer_wants(b, "BatchNormalization", 2));
    int64_t axis = n->axis < 0 ? n->axis + b->in.rank : n->axis;
    if (axis < 1 || axis >= b->in.rank)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "axis %lld is out of range for %d dimensions (0 is the batch)",
                       (long long)n->axis, b->in.rank);
    b->out = b->in;
    return add_weights(b, 1u << axis);
}

typedef struct statistics {
    dt_value mean, variance; /* shape (channels) */
} statistics;

/* Sets x to 0 where the mask is not set, if there is one. */
static dt_value masked(const dt_layer_call *c, dt_value x) {
    return c->masks[0].trace ? dt_select(dt_mask_along(c->masks[0], x), x, dt_like(x, 0)) : x;
}

/* Emits the number of elements of each channel where the mask is set, plus Keras' epsilon, which
 * avoids a division by 0. */
static dt_value count_of_masked(const dt_layer_call *c, uint32_t dims) {
    dt_value counts =
        dt_reduce(dt_convert(dt_mask_along(c->masks[0], c->x), dt_type_of_value(c->x).dtype),
                  DT_REDUCE_SUM, dims);
    return dt_add(counts, dt_like(counts, 1e-7));
}

/* Emits the sum of x over `dims` and over the examples of all replicas. */
static dt_value sum_of_all(dt_value x, uint32_t dims) {
    return dt_all_reduce(DT_SUM, dt_reduce(x, DT_REDUCE_SUM, dims));
}

static dt_value sum_of_own(dt_value x, uint32_t dims) { return dt_reduce(x, DT_REDUCE_SUM, dims); }

/* Emits the number of elements of each channel in the global batch. */
static dt_value count_of_all(dt_value x, uint32_t dims) {
    dt_value examples =
        dt_convert(dt_all_reduce(DT_SUM, dt_dim_value(x, 0)), dt_type_of_value(x).dtype);
    return dt_multiply(examples, dt_count_over(x, dims & ~1u));
}

/* Emits x - mean, where the mean is treated as a constant. The gradient of the sum of squares is
 * the same, since centred values add up to 0. */
static dt_value centre(dt_value x, dt_value mean, uint32_t channels) {
    dt_type t = dt_type_of_value(x);
    return dt_subtract(x, dt_along(dt_stop_gradient(mean), &t, channels));
}

static dt_value squares(dt_value x, dt_value mean, uint32_t channels) {
    dt_value centred = centre(x, mean, channels);
    return dt_multiply(centred, centred);
}

/* Emits the statistics of this replica's examples. */
static statistics own_statistics(dt_value x, uint32_t channels, uint32_t dims) {
    dt_value mean = dt_mean_over(x, dims);
    return (statistics){mean, dt_mean_over(squares(x, mean, channels), dims)};
}

/* Emits the statistics of all replicas' examples. */
static statistics common_statistics(dt_value x, uint32_t channels, uint32_t dims) {
    dt_value count = count_of_all(x, dims);
    dt_value mean = dt_divide(sum_of_all(x, dims), count);
    return (statistics){mean, dt_divide(sum_of_all(squares(x, mean, channels), dims), count)};
}

/* Emits the statistics of elements where the mask is set: of this replica's examples, or with
 * `synchronized` of all replicas'. */
static statistics masked_statistics(const dt_layer_call *c, uint32_t channels, uint32_t dims) {
    const struct batch_normalization *n = c->args;
    dt_value (*sum)(dt_value x, uint32_t dims) = n->synchronized ? sum_of_all : sum_of_own;
    dt_value count = count_of_masked(c, dims);
    if (n->synchronized) count = dt_all_reduce(DT_SUM, count);
    dt_value mean = dt_divide(sum(masked(c, c->x), dims), count);
    return (statistics){mean,
                        dt_divide(sum(masked(c, squares(c->x, mean, channels)), dims), count)};
}

/* Emits the mean of the replicas' values, weighted by their numbers of examples or, with a mask, of
 * elements where it is set. */
static dt_value mean_of_replicas(const dt_layer_call *c, dt_value own, uint32_t dims) {
    dt_value rows = c->masks[0].trace
                        ? count_of_masked(c, dims)
                        : dt_convert(dt_dim_value(c->x, 0), dt_type_of_value(c->x).dtype);
    dt_value weighed = dt_all_reduce(DT_SUM, dt_multiply(own, rows)),
             all = dt_all_reduce(DT_SUM, rows);
    return dt_divide(weighed, all);
}

static void move(const dt_layer_call *c, int weight, dt_value towards) {
    const struct batch_normalization *n = c->args;
    dt_value old = c->weight[weight];
    dt_value kept = dt_multiply(old, dt_like(old, n->momentum)),
             added = dt_multiply(towards, dt_like(towards, 1 - n->momentum));
    dt_assign(c->trace, c->variable[weight], dt_add(kept, added));
}

static statistics batch_statistics(const dt_layer_call *c, uint32_t channels, int first) {
    const struct batch_normalization *n = c->args;
    uint32_t dims = dt_all_dims(c->out->rank) & ~channels;
    statistics s = c->masks[0].trace ? masked_statistics(c, channels, dims)
                   : n->synchronized ? common_statistics(c->x, channels, dims)
                                     : own_statistics(c->x, channels, dims);
    move(c, first, n->synchronized ? s.mean : mean_of_replicas(c, s.mean, dims));
    move(c, first + 1, n->synchronized ? s.variance : mean_of_replicas(c, s.variance, dims));
    return s;
}

/*
 * Emits (x - mean) factor + offset, with two numbers for each channel. The gradient of the mean
 * flows through the offset, to which (constant copy of the mean - mean) * factor, a zero, is added.
 * So the backward pass needs only two sums over the batch: of dy and of dy (x - mean).
 */
static dt_value normalize(const dt_layer_call *c, const statistics *s, uint32_t channels) {
    const struct batch_normalization *n = c->args;
    dt_type type = dt_type_of_value(c->x);
    dt_value factor = dt_rsqrt(dt_add(s->variance, dt_like(s->variance, n->epsilon)));
    if (n->scale) factor = dt_multiply(factor, c->weight[0]);
    dt_value offset = dt_multiply(dt_subtract(dt_stop_gradient(s->mean), s->mean), factor);
    if (n->center) offset = dt_add(offset, c->weight[n->scale]);
    dt_value y = dt_multiply(centre(c->x, s->mean, channels), dt_along(factor, &type, channels));
    return dt_add(y, dt_along(offset, &type, channels));
}

static bool by_replica(const void *args) {
    const struct batch_normalization *n = args;
    return n->head.trainable && !n->synchronized;
}

static dt_value call(const dt_layer_call *c) {
    const struct batch_normalization *n = c->args;
    uint32_t channels = channels_of(n, c->out->rank);
    int first = n->scale + n->center; /* index of the first moving statistic */
    bool learns = c->training && n->head.trainable;
    statistics s = learns ? batch_statistics(c, channels, first)
                          : (statistics){c->weight[first], c->weight[first + 1]};
    return normalize(c, &s, channels);
}

const dt_layer dt_layer_batch_normalization = {
    .kind = {"BatchNormalization", "normalizes each channel over the batch", fields,
             sizeof(struct batch_normalization), NULL},
    .precision = DT_LAYER_WIDE,
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
    .by_replica = by_replica,
};
