/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constraints on lengths (L2 norms). For a Dense layer's kernel, (inputs, units), axis 0 selects
 * the length of each unit's weights; for a Conv2D's, axis [0, 1, 2] that of each filter's weights.
 * 1e-7, as in Keras' formulas, avoids a division by 0.
 *
 *     MaxNorm      w min(|w|, max_value) / (1e-7 + |w|)
 *     UnitNorm     w / (1e-7 + |w|)
 *     MinMaxNorm   w (rate clip(|w|, min_value, max_value) + (1 - rate) |w|) / (1e-7 + |w|)
 */
#include "model/layer/axes.h"

#include "op/shapes.h"

struct norm {
    dt_constraint_head head;
    double min_value, max_value, rate;
};

#define AXIS                                                                                       \
    DT_KEY(INTS, "axis", struct norm, head.axis, .lone = true, .some = true, .min = -DT_MAX_RANK,  \
           .max = DT_MAX_RANK, .preset = "0", .help = "axis or axes of the norm")
#define MAX_VALUE(preset_)                                                                         \
    DT_REAL(struct norm, max_value, .preset = (preset_), .max = INFINITY, .help = "maximum norm")

static const dt_field max_fields[] = {MAX_VALUE("2"), AXIS, DT_END};
static const dt_field unit_fields[] = {AXIS, DT_END};
static const dt_field min_max_fields[] = {
    DT_REAL(struct norm, min_value, .preset = "0", .max = INFINITY, .help = "minimum norm"),
    MAX_VALUE("1"),
    DT_REAL(struct norm, rate, .preset = "1", .max = 1,
            .help = "rate at which the norm is enforced: 1 is fully at each update"),
    AXIS, DT_END};

/* Emits the lengths |w| over the dimensions of the constraint. These dimensions are removed. */
static dt_value length_of(const struct norm *n, dt_value w) {
    return dt_sqrt(dt_reduce(dt_multiply(w, w), DT_REDUCE_SUM, n->head.dims));
}

static dt_value guarded(dt_value length) { return dt_add(length, dt_like(length, 1e-7)); }

/* Repeats x, a number for each length, to the shape of w. */
static dt_value along(const struct norm *n, dt_value x, dt_value w) {
    dt_type type = dt_type_of_value(w);
    return dt_along(x, &type, dt_all_dims(type.rank) & ~n->head.dims);
}

static dt_value scaled(const struct norm *n, dt_value w, dt_value length, dt_value wanted) {
    return dt_multiply(w, along(n, dt_divide(wanted, guarded(length)), w));
}

static dt_value to_max(const void *args, dt_value w) {
    const struct norm *n = args;
    dt_value length = length_of(n, w);
    return scaled(n, w, length, dt_minimum(length, dt_like(length, n->max_value)));
}

static dt_value to_one(const void *args, dt_value w) {
    return dt_divide(w, along(args, guarded(length_of(args, w)), w));
}

static dt_value to_range(const void *args, dt_value w) {
    const struct norm *n = args;
    dt_value length = length_of(n, w),
             clipped = dt_minimum(dt_maximum(length, dt_like(length, n->min_value)),
                                  dt_like(length, n->max_value));
    dt_value moved = dt_multiply(clipped, dt_like(length, n->rate)),
             rest = dt_multiply(length, dt_like(length, 1 - n->rate));
    return scaled(n, w, length, dt_add(moved, rest));
}

#define NORM(row, class_name, words, table, alias, function)                                       \
    const dt_constraint dt_constraint_##row = {                                                    \
        .kind = {class_name, words, table, sizeof(struct norm),                                    \
                 (const char *const[]){alias, NULL}},                                              \
        .project = function,                                                                       \
    };

NORM(max_norm, "MaxNorm", "lengths of at most max_value", max_fields, "max_norm", to_max)
NORM(unit_norm, "UnitNorm", "lengths of 1", unit_fields, "unit_norm", to_one)
NORM(min_max_norm, "MinMaxNorm", "lengths from min_value to max_value", min_max_fields,
     "min_max_norm", to_range)
