/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalization: (x - mean) / max(sqrt(variance), 1e-7), or with `invert` the reverse. If the job
 * does not give mean and variance, they are weights that are not trained: they come from a file
 * (init_from), where Keras' adapt() stored them; without a file they are 0 and 1. It is the step
 * `normalize` of dataset.map, not this layer, that learns such numbers from the data.
 */
#include <math.h>

#include "model/layer/axes.h"

struct normalization {
    dt_layer_head head;
    dt_ints axis;
    dt_reals mean, variance;
    bool has_axis, has_mean, has_variance, invert;
};

static const dt_field fields[] = {
    DT_INTS(struct normalization, axis, .lone = true,
            .set = 1 + offsetof(struct normalization, has_axis),
            .help = "axis with a mean for each index: the last by default; []: one mean for all"),
    DT_REALS(struct normalization, mean, .set = 1 + offsetof(struct normalization, has_mean),
             .help = "means, a number or one for each index; without: a weight"),
    DT_REALS(struct normalization, variance,
             .set = 1 + offsetof(struct normalization, has_variance),
             .help = "variances, as many as means; without: a weight"),
    DT_FLAG(struct normalization, invert, .help = "compute x * sqrt(variance) + mean instead"),
    DT_LAYER_FIELDS(struct normalization),
    DT_END};

enum { MOST_GIVEN = 4096 };

static dt_status *find_axes(const dt_layer_build *b, uint32_t *dims) {
    static int64_t last[] = {-1};
    const struct normalization *n = b->args;
    const dt_ints axis = n->has_axis ? n->axis : (dt_ints){.n = 1, .v = last};
    *dims = 0;
    return axis.n ? dt_axes_find(b, &axis, dims) : NULL;
}

/* Checks the list of means or of variances: it must have a single number or, if there is a single
 * axis, one for each index of it, at most MOST_GIVEN; and variances must not be negative. */
static dt_status *check_given(const dt_layer_build *b, const dt_reals *list, uint32_t dims) {
    int64_t size = 1;
    for (int i = 1; i < b->in.rank; i++) size *= dims >> i & 1 ? b->in.dim[i] : 1;
    for (int i = 0; list == &((const struct normalization *)b->args)->variance && i < list->n; i++)
        if (list->v[i] < 0)
            return dt_fail(DT_E_RANGE, &list->at, "a variance must be at least 0, got %g",
                           list->v[i]);
    if (list->n > MOST_GIVEN)
        return dt_fail(DT_E_RANGE, &list->at, "at most %d numbers can be given, got %d", MOST_GIVEN,
                       list->n);
    if (list->n == 1 || (list->n == size && !(dims & (dims - 1)))) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &list->at,
                   "expected one number or %lld, one for each index, "
                   "got %d",
                   (long long)size, list->n);
}

static dt_status *build(dt_layer_build *b) {
    const struct normalization *n = b->args;
    const dt_weight_request
        mean = {.name = "mean", .dtype = DT_FLOAT32, .preset = "zeros", .fixed = true},
        variance = {.name = "variance", .dtype = DT_FLOAT32, .preset = "ones", .fixed = true};
    uint32_t *dims = dt_arena_array(b->arena, uint32_t, 1);
    b->made = dims;
    if (!dt_dtype_is_float(b->in.dtype)) b->in.dtype = DT_FLOAT32;
    b->out = b->in;
    DT_TRY(find_axes(b, dims));
    if (n->has_mean != n->has_variance)
        return dt_fail(DT_E_MISSING_KEY, &b->at,
                       "Normalization needs both 'mean' and 'variance', or none of them");
    if (n->has_mean) {
        DT_TRY(check_given(b, &n->mean, *dims));
        DT_TRY(check_given(b, &n->variance, *dims));
    } else {
        DT_TRY(dt_axes_weight(b, *dims, &mean));
        DT_TRY(dt_axes_weight(b, *dims, &variance));
    }
    return NULL;
}

/* Emits the numbers as a constant of the shape of x. */
static dt_value given(const dt_reals *list, dt_value x, uint32_t dims) {
    const dt_type type = dt_type_of_value(x), one = dt_type_of(type.dtype, 1, (int64_t[]){1});
    if (list->n == 1) return dt_like(x, list->v[0]);
    dt_value *v = dt_arena_array(dt_trace_arena(x.trace), dt_value, list->n);
    for (int i = 0; i < list->n; i++) v[i] = dt_splat(x.trace, &one, list->v[i]);
    return dt_along(dt_concatenate(v, list->n, 0), &type, dims);
}

static dt_value call(const dt_layer_call *c) {
    const struct normalization *n = c->args;
    const uint32_t dims = *(const uint32_t *)c->made;
    dt_value x = dt_convert(c->x, c->out->dtype), mean, variance;
    const dt_type type = dt_type_of_value(x);
    mean = n->has_mean ? given(&n->mean, x, dims) : dt_along(c->weight[0], &type, dims);
    variance = n->has_mean ? given(&n->variance, x, dims) : dt_along(c->weight[1], &type, dims);
    dt_value deviation = dt_maximum(dt_sqrt(variance), dt_like(x, 1e-7));
    return n->invert ? dt_add(mean, dt_multiply(x, deviation))
                     : dt_divide(dt_subtract(x, mean), deviation);
}

const dt_layer dt_layer_normalization = {
    .kind = {"Normalization", "(x - mean) / sqrt(variance)", fields, sizeof(struct normalization),
             NULL},
    .precision = DT_LAYER_WIDE,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
};
