/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout: only during training. Each element becomes 0 with the probability `rate`; the others are
 * divided by 1 - rate. N. Srivastava et al., Dropout (2014). The spatial forms drop whole channels,
 * at all positions together.
 *
 * AlphaDropout, for selu activations, sets elements to the least value of selu instead of 0, and
 * then scales and shifts all elements so that mean 0 and deviation 1 are preserved. G. Klambauer et
 * al., Self-Normalizing Neural Networks (2017).
 */
#include "model/layer/noise.h"

struct dropout {
    dt_layer_head head;
    dt_noise noise;
    double rate;
    const dt_tree *noise_shape; /* shape of the noise, only for Dropout and AlphaDropout */
    int data_format;            /* order of dimensions of SpatialDropout2D and 3D */
};

#define COMMON_FIELDS                                                                              \
    DT_REAL(struct dropout, rate, .min = 0, .max = 1, .required = true,                            \
            .help = "fraction of elements to set to 0"),                                           \
        DT_NOISE_FIELD(struct dropout), DT_LAYER_FIELDS(struct dropout)

static const dt_field dropout_fields[] = {
    COMMON_FIELDS,
    DT_TREE(struct dropout, noise_shape, .as = DT_TREE_LIST,
            .help = "shape of the mask: 1 where it is shared; default: that of the input"),
    DT_END};
static const dt_field alpha_fields[] = {
    DT_REAL(struct dropout, rate, .min = 0, .max = 1, .below_max = true, .required = true,
            .help = "fraction of elements to set to the least value of selu"),
    DT_NOISE_FIELD(struct dropout),
    DT_TREE(struct dropout, noise_shape, .as = DT_TREE_LIST,
            .help = "shape of the mask: 1 where it is shared; default: that of the input"),
    DT_LAYER_FIELDS(struct dropout), DT_END};
static const dt_field spatial_fields[] = {COMMON_FIELDS, DT_END};
static const dt_field spatial_fields_by_format[] = {COMMON_FIELDS, DT_DATA_FORMAT(struct dropout),
                                                    DT_END};

static dt_status *read_size(const dt_layer_build *b, const dt_tree *t, int d, dt_type *mask) {
    int64_t size = 1;
    if (t->kind == DT_TREE_NULL) return NULL;
    DT_TRY(dt_tree_int(t, "noise_shape", 1, 0x1p53, &size));
    if (size != b->in.dim[d] && (size != 1 || d == 0))
        return dt_fail(DT_E_MODEL_SHAPE, &t->at,
                       "noise_shape[%d] is %lld; it may be null%s or the input's size", d,
                       (long long)size, d ? ", 1" : "");
    mask->dim[d] = size;
    return NULL;
}

static dt_status *read_mask(const dt_layer_build *b, const dt_tree *shape, dt_type *mask) {
    *mask = b->in;
    if (!shape) return NULL;
    if (shape->n != b->in.rank)
        return dt_fail(DT_E_MODEL_SHAPE, &shape->at,
                       "noise_shape has %d sizes, but the input has %d", shape->n, b->in.rank);
    for (int d = 0; d < shape->n; d++) DT_TRY(read_size(b, shape->item[d], d, mask));
    return NULL;
}

/* Does what `build` of all forms has in common. mask: the shape of the random mask. */
static dt_status *finish(dt_layer_build *b, const dt_type *mask) {
    const struct dropout *d = b->args;
    b->out = b->in;
    b->made = dt_arena_copy(b->arena, mask, sizeof *mask);
    return d->rate > 0 ? dt_noise_weight(b, NULL) : NULL;
}

static dt_value call(const dt_layer_call *c) {
    const struct dropout *d = c->args;
    return c->training ? dt_noise_drop(c, &d->noise, c->x, d->rate, c->made) : c->x;
}

/* ---- Dropout ---- */

static dt_status *build(dt_layer_build *b) {
    const struct dropout *d = b->args;
    dt_type mask;
    DT_TRY(dt_layer_wants(b, b->row->kind.name, 1));
    DT_TRY(read_mask(b, d->noise_shape, &mask));
    return finish(b, &mask);
}

const dt_layer dt_layer_dropout = {
    .kind = {"Dropout", "sets random elements to 0 during training", dropout_fields,
             sizeof(struct dropout), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_yields_inputs,
};

/* ---- AlphaDropout ---- */

static dt_value call_alpha(const dt_layer_call *c) {
    /* the least value that selu returns: -alpha * scale */
    const double least = -1.6732632423543772 * 1.0507009873554805;
    const struct dropout *d = c->args;
    if (!c->training || d->rate == 0) return c->x;
    const double scale = 1 / sqrt((1 - d->rate) * (1 + d->rate * least * least)),
                 shift = -scale * least * d->rate;
    const dt_value ones = dt_noise_drop(c, &d->noise, dt_like(c->x, 1), d->rate, c->made),
                   kept = dt_compare(ones, dt_like(ones, 0), DT_GT),
                   scaled = dt_add(dt_multiply(c->x, dt_like(c->x, scale)), dt_like(c->x, shift));
    return dt_select(kept, scaled, dt_like(c->x, scale * least + shift));
}

const dt_layer dt_layer_alpha_dropout = {
    .kind = {"AlphaDropout", "sets random elements to the least value of selu during training",
             alpha_fields, sizeof(struct dropout), NULL},
    .supports_masking = true,
    .build = build,
    .call = call_alpha,
    .yields = dt_yields_inputs,
};

/* ---- the spatial forms ---- */

static dt_status *build_spatial(dt_layer_build *b, const char *kind, int rank, const char *shape) {
    dt_type mask = b->in;
    DT_TRY(dt_layer_wants_exactly(b, kind, rank, shape));
    for (int i = 1; i + 1 < mask.rank; i++) mask.dim[i] = 1;
    return finish(b, &mask);
}

#define SPATIAL(n, rank, shape, fields)                                                            \
    static dt_status *build_spatial_##n##d(dt_layer_build *b) {                                    \
        return build_spatial(b, "SpatialDropout" #n "D", rank, shape);                             \
    }                                                                                              \
    const dt_layer dt_layer_spatial_dropout_##n##d = {                                             \
        .kind = {"SpatialDropout" #n "D", "sets random channels to 0 during training", fields,     \
                 sizeof(struct dropout), NULL},                                                    \
        .supports_masking = true,                                                                  \
        .build = build_spatial_##n##d,                                                             \
        .call = call,                                                                              \
        .yields = dt_yields_inputs,                                                                \
    };
SPATIAL(1, 3, "(B, steps, channels)", spatial_fields)
SPATIAL(2, 4, "(B, rows, columns, channels)", spatial_fields_by_format)
SPATIAL(3, 5, "(B, planes, rows, columns, channels)", spatial_fields_by_format)
