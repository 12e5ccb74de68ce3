/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranges of the outputs of layers, as far as their rows know them. A layer that only moves
 * values has its inputs' range. What is not certain is unknown, so that a warning built on this is
 * never wrong: weights that are frozen or have a constraint, and layers whose row has no range.
 */
#include <math.h>

#include "model/model.h"

dt_yield dt_yields_real(const dt_layer_spec *l, const dt_yield *above) {
    (void)above;
    return (dt_yield){.range = DT_RANGE_REAL, .by = l->row->kind.name};
}

/* ---- layers that move values, or whose values lie between those of inputs ---- */

/* A range with a limit on one side only becomes unknown. */
dt_range dt_range_between(dt_range r) {
    switch (r) {
    case DT_RANGE_REAL:
    case DT_RANGE_BOTH:
    case DT_RANGE_SIGNED:
    case DT_RANGE_UNIT: return r;
    case DT_RANGE_SHARES: return DT_RANGE_UNIT;
    default: return DT_RANGE_UNKNOWN;
    }
}

dt_yield dt_yields_inputs(const dt_layer_spec *l, const dt_yield *above) {
    dt_yield y = above[l->from[0]];
    for (int k = 1; k < l->n_in; k++)
        if (dt_range_between(above[l->from[k]].range) != dt_range_between(y.range))
            y.range = DT_RANGE_UNKNOWN;
    return y;
}

dt_yield dt_yields_between(const dt_layer_spec *l, const dt_yield *above) {
    dt_yield y = dt_yields_inputs(l, above);
    y.range = dt_range_between(y.range);
    return y;
}

/* ---- layers that compute with values ---- */

/* The number of the layer's inputs whose range is in the set. */
static int count_of(const dt_layer_spec *l, const dt_yield *above, unsigned ranges) {
    int n = 0;
    for (int k = 0; k < l->n_in; k++) n += ranges >> above[l->from[k]].range & 1;
    return n;
}

dt_yield dt_yields_sum(const dt_layer_spec *l, const dt_yield *above) {
    const bool is_real = count_of(l, above, DT_RANGES(REAL)) > 0;
    return (dt_yield){.range = is_real ? DT_RANGE_REAL : DT_RANGE_UNKNOWN, .by = l->row->kind.name};
}

dt_yield dt_yields_product(const dt_layer_spec *l, const dt_yield *above) {
    const unsigned unit = DT_RANGES(UNIT) | DT_RANGES(SHARES), small = unit | DT_RANGES(SIGNED);
    const dt_range range = count_of(l, above, DT_RANGES(REAL)) > 0 ? DT_RANGE_REAL
                           : count_of(l, above, unit) == l->n_in   ? DT_RANGE_UNIT
                           : count_of(l, above, small) == l->n_in  ? DT_RANGE_SIGNED
                                                                   : DT_RANGE_UNKNOWN;
    return (dt_yield){.range = range, .by = l->row->kind.name};
}

dt_yield dt_yields_of_norm(const dt_layer_spec *l, const dt_yield *above) {
    const unsigned positive =
        DT_RANGES(UNIT) | DT_RANGES(SHARES) | DT_RANGES(NONNEGATIVE) | DT_RANGES(POSITIVE);
    const bool is_positive = count_of(l, above, positive) == l->n_in;
    return (dt_yield){.range = is_positive ? DT_RANGE_UNIT : DT_RANGE_SIGNED,
                      .by = l->row->kind.name,
                      .scaled = true};
}

/* The least and the greatest value of a range. False: it has no such limits. */
static bool limits_of(dt_range r, double *low, double *high) {
    static const double limits[][2] = {
        [DT_RANGE_REAL] = {-INFINITY, INFINITY},
        [DT_RANGE_NONNEGATIVE] = {0, INFINITY},
        [DT_RANGE_POSITIVE] = {0, INFINITY},
        [DT_RANGE_NEGATIVE] = {-INFINITY, 0},
        [DT_RANGE_LOG_SHARES] = {-INFINITY, 0},
        [DT_RANGE_SIGNED] = {-1, 1},
        [DT_RANGE_UNIT] = {0, 1},
        [DT_RANGE_SHARES] = {0, 1},
        [DT_RANGE_ONE_SHARE] = {0, 0},
    };
    *low = limits[r][0];
    *high = limits[r][1];
    return *low < *high;
}

dt_range dt_range_scaled(dt_range r, double scale, double offset) {
    double end[2], low, high;
    if (scale == 0 || !limits_of(r, &end[0], &end[1])) return DT_RANGE_UNKNOWN;
    low = end[scale < 0] * scale + offset;
    high = end[scale > 0] * scale + offset;
    if (low >= 0) return high <= 1 ? DT_RANGE_UNIT : DT_RANGE_NONNEGATIVE;
    if (high <= 0) return DT_RANGE_NEGATIVE;
    if (low >= -1 && high <= 1) return DT_RANGE_SIGNED;
    if (low == -INFINITY || high == INFINITY)
        return low == -INFINITY && high == INFINITY ? DT_RANGE_REAL : DT_RANGE_UNKNOWN;
    return DT_RANGE_BOTH;
}

/* ---- models ---- */

/* A layer that is frozen, or has a constraint on a weight, may have been constructed so that
 * probabilities stay probabilities, so its range is unknown. State, such as the means of
 * BatchNormalization, does not count: it follows the data. */
static bool is_trained_freely(const dt_layer_spec *l) {
    bool is = l->n_weights == 0 || ((const dt_layer_head *)l->args)->trainable;
    for (int i = 0; i < l->n_weights; i++) is &= !l->weight[i].constraint.kind;
    return is;
}

void dt_model_yields(const dt_model_spec *m, dt_yield *out) {
    for (int i = 0; i < m->n_layers; i++) {
        const dt_layer_spec *l = &m->layer[i];
        out[i] = (dt_yield){.range = DT_RANGE_UNKNOWN, .by = l->row->kind.name};
        if (l->row->yields) out[i] = l->row->yields(l, out);
        if (out[i].range == DT_RANGE_REAL && !is_trained_freely(l)) out[i].range = DT_RANGE_UNKNOWN;
    }
}
