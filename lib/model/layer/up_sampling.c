/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UpSampling1D, UpSampling2D, UpSampling3D: enlarge every spatial dimension by a factor, its
 * `size`.
 *
 *     nearest    every element is repeated
 *     bilinear   (2D) between the centres of elements: position i of the output is at (i + 1/2) /
 *                size - 1/2 of the input. Its value is the mean of the two nearest elements,
 *                weighted by nearness; beyond the outer centres it is the outer element
 *     bicubic    (2D) between the centres of four elements in each dimension, by R. Keys' cubic
 *                convolution (1981) with a = -1/2; weights of elements beyond the border are
 *                distributed over the others in proportion, as in Keras on JAX and TensorFlow
 */
#include "model/layer/spatial.h"

struct up_sampling {
    dt_layer_head head;
    dt_ints size;
    int data_format, interpolation;
};

typedef enum interpolation { NEAREST, BILINEAR, BICUBIC } interpolation;
static const char *const interpolations[] = {"nearest", "bilinear", "bicubic", NULL};

#define SIZE                                                                                       \
    DT_SIZES(struct up_sampling, size, .min = 1, .preset = "2",                                    \
             .help = "factor: a number, or one per dimension")
static const dt_field fields1[] = {SIZE, DT_LAYER_FIELDS(struct up_sampling), DT_END};
static const dt_field fields2[] = {
    SIZE, DT_DATA_FORMAT(struct up_sampling),
    DT_ENUM(struct up_sampling, interpolation, interpolations, .help = "interpolation"),
    DT_LAYER_FIELDS(struct up_sampling), DT_END};
static const dt_field fields3[] = {SIZE, DT_DATA_FORMAT(struct up_sampling),
                                   DT_LAYER_FIELDS(struct up_sampling), DT_END};

static const int64_t twos[DT_MAX_SPATIAL] = {2, 2, 2};

static dt_status *build(dt_layer_build *b) {
    const char *kind = b->row->kind.name;
    const int n = b->row->sides;
    const struct up_sampling *u = b->args;
    int64_t size[DT_MAX_SPATIAL];
    DT_TRY(dt_sizes_of(b, "size", &u->size, n, twos, size));
    DT_TRY(dt_wants_space(b, kind, n));
    b->out = b->in;
    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(b->in.dim[i + 1], size[i], &b->out.dim[i + 1]))
            return dt_fail(DT_E_MODEL_SIZE, &b->at, "%s cannot make %lld times %lld elements", kind,
                           (long long)size[i], (long long)b->in.dim[i + 1]);
    return NULL;
}

/* Repeats each element of dimension d `times` times: (n) to (n * times). */
static dt_value repeat(dt_value x, int d, int64_t times) {
    dt_type t = dt_type_of_value(x), wide = t, merged = t;
    int8_t dims[DT_MAX_RANK] = {0};
    if (times == 1) return x;
    wide.rank++;
    for (int i = t.rank; i > d + 1; i--) wide.dim[i] = t.dim[i - 1];
    wide.dim[d + 1] = times;
    merged.dim[d] *= times;
    for (int i = 0; i < t.rank; i++) dims[i] = (int8_t)(i <= d ? i : i + 1);
    return dt_reshape(dt_broadcast_in_dim(x, &wide, dims), merged.rank, merged.dim);
}

/* Evaluates ((a d + b) d + c) d + e for each element d. */
static dt_value cubic(dt_value d, double a, double b, double c, double e) {
    dt_value y = dt_add(dt_multiply(d, dt_like(d, a)), dt_like(d, b));
    y = dt_add(dt_multiply(y, d), dt_like(d, c));
    return dt_add(dt_multiply(y, d), dt_like(d, e));
}

/* Emits Keys' kernel at these distances, divided by the sum of each row. */
static dt_value keys(dt_value distance) {
    dt_value near = cubic(distance, 1.5, -2.5, 0, 1), far = cubic(distance, -0.5, 2.5, -4, 2),
             none = dt_like(distance, 0);
    far = dt_select(dt_compare(distance, dt_like(distance, 2), DT_LT), far, none);
    far = dt_select(dt_compare(distance, dt_like(distance, 1), DT_LT), near, far);
    const dt_type type = dt_type_of_value(far);
    return dt_divide(far, dt_broadcast_in_dim(dt_reduce_sum(far, 1), &type, (int8_t[]){0}));
}

/* Emits the weight (out, in) of element j in position i: max(0, 1 - |position - j|), or that of
 * Keys' kernel. */
static dt_value shares(dt_trace *t, dt_dtype dtype, int64_t out, int64_t in, bool is_cubic) {
    dt_type type = dt_type_of(dtype, 2, (int64_t[]){out, in});
    dt_value i = dt_iota(t, &type, 0), j = dt_iota(t, &type, 1);
    double scale = (double)in / (double)out;
    dt_value place = dt_add(dt_multiply(i, dt_like(i, scale)), dt_like(i, scale / 2 - 0.5));
    if (is_cubic) return keys(dt_abs(dt_subtract(place, j)));
    dt_value distance = dt_abs(dt_subtract(dt_clamp(place, 0, (double)(in - 1)), j));
    return dt_maximum(dt_subtract(dt_like(distance, 1), distance), dt_like(distance, 0));
}

/* Computes dimension d of the result as a product of x with the weights. The product puts the
 * dimension last, so it is moved back. */
static dt_value mix(dt_value x, int d, int64_t out, bool is_cubic) {
    dt_type t = dt_type_of_value(x);
    dt_dot_attr a = {.n_contract = 1, .lhs_contract = {(int8_t)d}, .rhs_contract = {1}};
    int perm[DT_MAX_RANK];
    if (out == t.dim[d]) return x;
    for (int i = 0; i < t.rank; i++) perm[i] = i < d ? i : i == d ? t.rank - 1 : i - 1;
    return dt_transpose(dt_dot_general(x, shares(x.trace, t.dtype, out, t.dim[d], is_cubic), &a),
                        perm);
}

static dt_value call(const dt_layer_call *c) {
    const struct up_sampling *u = c->args;
    dt_type in = dt_type_of_value(c->x);
    dt_value y = c->x;
    for (int d = 1; d < in.rank - 1 && y.trace; d++)
        y = u->interpolation == NEAREST ? repeat(y, d, c->out->dim[d] / in.dim[d])
                                        : mix(y, d, c->out->dim[d], u->interpolation == BICUBIC);
    return y;
}

/* Returns the range between the inputs' values, but an unknown one for cubic convolution, which may
 * yield values outside of it. */
static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const struct up_sampling *u = l->args;
    return u->interpolation == BICUBIC ? (dt_yield){0} : dt_yields_between(l, above);
}

const dt_layer dt_layer_up_sampling1d = {
    .kind = {"UpSampling1D", "repeats steps", fields1, sizeof(struct up_sampling), NULL},
    .sides = 1,
    .build = build,
    .call = call,
    .yields = dt_yields_between,
};
const dt_layer dt_layer_up_sampling2d = {
    .kind = {"UpSampling2D", "enlarges images", fields2, sizeof(struct up_sampling), NULL},
    .sides = 2,
    .build = build,
    .call = call,
    .yields = yields,
};
const dt_layer dt_layer_up_sampling3d = {
    .kind = {"UpSampling3D", "enlarges volumes", fields3, sizeof(struct up_sampling), NULL},
    .sides = 3,
    .build = build,
    .call = call,
    .yields = dt_yields_between,
};
