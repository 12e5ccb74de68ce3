/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RotaryEmbedding: rotates the features of a step by its position: (B, T, ..., H) to the same.
 * Features i and i + H / 2 are the coordinates of a point in a plane. At step t the point is
 * rotated by the angle
 *
 *     t * max_wavelength^(-2 i / H) / scaling_factor
 *
 * so that the product of a query and a key depends on how far they are apart. J. Su et al.,
 * RoFormer (2021). The layer is KerasHub's. Angles are float32 for any dtype of x, and the same for
 * all examples and heads, and for layers with equal arguments, so a training step computes them
 * once.
 *
 * On a grid of n axes, each but the first rotates 1 / n of the pairs, rounded down, and the first
 * one rotates the others, which come first, as in Wan; the pairs of an axis are rotated as if there
 * were no others. YaRN, which extends the context of trained models, is that of gpt-oss: B. Peng et
 * al. (2023).
 */
#include "base/size.h"
#include "model/layer/rotary.h"

const char *const dt_rope_types[] = {"linear", "yarn", NULL};

/* Emits the numbers 0, 1, ..., n - 1 in float32. */
static dt_value count(dt_trace *t, int64_t n) {
    return dt_convert(dt_iota(t, &(dt_type){.dtype = DT_INT32, .rank = 1, .dim = {n}}, 0),
                      DT_FLOAT32);
}

/* Emits the angle by which one step rotates each of `half` pairs, before it is adjusted or
 * scaled. */
static dt_value turns(const dt_rotation *r, dt_trace *t, int64_t half) {
    dt_type type = dt_type_of(DT_FLOAT32, 1, &half);
    dt_value share = count(t, half);
    dt_value base =
        dt_broadcast_to(dt_convert(dt_constant(t, r->max_wavelength), DT_FLOAT32), &type);
    return dt_power(base, dt_multiply(share, dt_like(share, -1.0 / (double)half)));
}

/* Reduces the angles of long wavelengths: see dt_rotation. */
static dt_value adjust(const dt_rotation *r, dt_value turn) {
    double length = (double)r->pretraining_sequence_length, low = r->low_freq_factor,
           high = r->high_freq_factor;
    dt_value waves = dt_multiply(
        /* number of full turns that a pair of features makes in `length` steps */
        turn, dt_like(turn, length / (2 * M_PI)));
    dt_value slow = dt_divide(turn, dt_like(turn, r->frequency_adjustment_factor));
    dt_value share = dt_divide(dt_subtract(waves, dt_like(turn, low)), dt_like(turn, high - low));
    dt_value between =
        dt_add(dt_multiply(dt_subtract(dt_like(turn, 1), share), slow), dt_multiply(share, turn));
    dt_value kept = dt_select(dt_compare(waves, dt_like(turn, high), DT_GT), turn, between);
    return dt_select(dt_compare(waves, dt_like(turn, low), DT_LT), slow, kept);
}

/* Returns the index of the pair whose wavelength fits `times` times into the length of
 * pretraining; it may be a fraction. */
static double pair_of(const dt_rotation *r, int64_t half, double times) {
    return (double)half * log((double)r->pretraining_sequence_length / (times * 2 * M_PI)) /
           log(r->max_wavelength);
}

/* Emits YaRN's turns: those of long wavelengths are divided by scaling_factor, those of short ones
 * are not, others are in part. */
static dt_value stretch(const dt_rotation *r, dt_value turn, int64_t half) {
    const double fast = fmax(pair_of(r, half, r->beta_fast), 0),
                 slow = fmin(pair_of(r, half, r->beta_slow), (double)half * 2 - 1);
    dt_value share = dt_subtract(count(turn.trace, half), dt_like(turn, fast));
    share = dt_divide(share, dt_like(turn, slow > fast ? slow - fast : 0.001));
    share = dt_minimum(dt_maximum(share, dt_like(share, 0)), dt_like(share, 1));
    dt_value long_ones = dt_divide(turn, dt_like(turn, r->scaling_factor));
    return dt_add(dt_multiply(long_ones, share),
                  dt_multiply(turn, dt_subtract(dt_like(share, 1), share)));
}

/* Emits the position of each step along an axis of the grid, in float32, repeated to `type`, (T,
 * n). */
static dt_value steps_along(const dt_rotation *r, dt_trace *t, const dt_type *type, int axis) {
    dt_type whole = *type;
    whole.dtype = DT_INT32;
    dt_value at = dt_iota(t, &whole, 0);
    int64_t inner = 1;
    for (int k = axis + 1; k < r->grid.n; k++) inner *= r->grid.v[k];
    if (inner > 1) at = dt_divide(at, dt_like(at, (double)inner));
    if (axis > 0) {
        const dt_value size = dt_like(at, (double)r->grid.v[axis]);
        at = dt_subtract(at, dt_multiply(dt_divide(at, size), size));
    }
    return dt_convert(at, DT_FLOAT32);
}

/* Emits the angles (T, pairs) of the pairs that an axis rotates. */
static dt_value angles_along(const dt_rotation *r, dt_trace *t, int64_t steps, int64_t pairs,
                             int axis) {
    const dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){steps, pairs});
    dt_value turn = turns(r, t, pairs);
    if (r->frequency_adjustment_factor > 0) turn = adjust(r, turn);
    turn = r->rope_type == DT_ROPE_YARN ? stretch(r, turn, pairs)
                                        : dt_divide(turn, dt_like(turn, r->scaling_factor));
    return dt_multiply(steps_along(r, t, &type, axis), dt_broadcast_to(turn, &type));
}

/* Emits the angles of all pairs, (T, H / 2). */
static dt_value angles(const dt_rotation *r, dt_trace *t, int64_t steps, int64_t half) {
    dt_value part[DT_MAX_IN];
    const int n = dt_max(r->grid.n, 1);
    const int64_t each = half / n;
    for (int i = 0; i < n; i++)
        part[i] = angles_along(r, t, steps, i == 0 ? half - each * (n - 1) : each, i);
    return n == 1 ? part[0] : dt_concatenate(part, n, 1);
}

/* Emits a sine or cosine, which YaRN multiplies by a factor if scaling_factor is above 1. */
static dt_value lengthened(const dt_rotation *r, dt_value wave) {
    if (r->rope_type != DT_ROPE_YARN || r->scaling_factor <= 1) return wave;
    return dt_multiply(wave, dt_like(wave, 0.1 * log(r->scaling_factor) + 1));
}

/* Broadcasts a table (T, H / 2) to half of x, (B, T, ..., H / 2). */
static dt_value lay(dt_value table, dt_value half) {
    dt_type type = dt_type_of_value(half);
    return dt_broadcast_in_dim(dt_convert(table, type.dtype), &type,
                               (int8_t[]){1, (int8_t)(type.rank - 1)});
}

dt_value dt_rotate(const dt_rotation *r, dt_value x) {
    dt_type t = dt_type_of_value(x);
    int last = t.rank - 1;
    if (t.rank < 3) return x; /* the rank is lower only if the trace has failed */
    int64_t half = t.dim[last] / 2;
    dt_value angle = angles(r, x.trace, t.dim[1], half);
    dt_value one = dt_slice_axis(x, last, 0, half, 1),
             other = dt_slice_axis(x, last, half, half, 1);
    dt_value cosine = lay(lengthened(r, dt_cosine(angle)), one),
             sine = lay(lengthened(r, dt_sine(angle)), one);
    return dt_concatenate(
        (dt_value[]){dt_subtract(dt_multiply(one, cosine), dt_multiply(other, sine)),
                     dt_add(dt_multiply(other, cosine), dt_multiply(one, sine))},
        2, last);
}

struct rotary_embedding {
    dt_layer_head head;
    dt_rotation rotation;
};

static const dt_field fields[] = {
    DT_KEY(REAL, "max_wavelength", struct rotary_embedding, rotation.max_wavelength,
           .preset = "10000", .min = 1, .max = INFINITY,
           .help = "base wavelength of the rotary embedding"),
    DT_KEY(REAL, "scaling_factor", struct rotary_embedding, rotation.scaling_factor, .preset = "1",
           .above_min = true, .max = INFINITY, .help = "positions are divided by this factor"),
    DT_LAYER_FIELDS(struct rotary_embedding),
    DT_ONLY("rope_type", "linear"),
    DT_ONLY("sequence_axis", "1"),
    DT_ONLY("feature_axis", "-1"),
    DT_NOT_YET("denominator_dim"),
    DT_END};

dt_status *dt_rotation_check(const dt_layer_build *b, const char *kind, int64_t features) {
    if (features % 2 == 0) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &b->at, "%s rotates pairs of features: %lld is not even", kind,
                   (long long)features);
}

static dt_status *build(dt_layer_build *b) {
    DT_TRY(dt_layer_wants(b, "RotaryEmbedding", 3));
    b->out = b->in;
    return dt_rotation_check(b, "RotaryEmbedding", b->in.dim[b->in.rank - 1]);
}

static dt_value call(const dt_layer_call *c) {
    return dt_rotate(&((const struct rotary_embedding *)c->args)->rotation, c->x);
}

const dt_layer dt_layer_rotary_embedding = {
    .kind = {"RotaryEmbedding", "rotates pairs of features by their position", fields,
             sizeof(struct rotary_embedding), NULL},
    .build = build,
    .call = call,
    .yields = dt_yields_sum,
};
