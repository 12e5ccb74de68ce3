/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What values the layers of a model may give, as far as their rows say it. A layer that only moves
 * values has its inputs' range. What is not certain is unknown, so that a warning built on this is
 * never wrong: weights that are frozen or have a constraint, and layers whose row has no range.
 */
#include "model/model.h"

dt_yield dt_yields_inputs(const dt_layer_spec *l) {
    return (dt_yield){DT_RANGE_OF_INPUTS, l->row->kind.name};
}

dt_yield dt_yields_between(const dt_layer_spec *l) {
    return (dt_yield){DT_RANGE_BETWEEN, l->row->kind.name};
}

dt_yield dt_yields_real(const dt_layer_spec *l) {
    return (dt_yield){DT_RANGE_REAL, l->row->kind.name};
}

/* A weight that is frozen or constrained may have been made to turn probabilities into
 * probabilities. */
static bool is_trained_freely(const dt_layer_spec *l) {
    bool is = true;
    for (int i = 0; i < l->n_weights; i++)
        is &= l->weight[i].trainable && !l->weight[i].constraint.kind;
    return is;
}

/* A mean of probabilities is one, but the largest of several no longer sums to 1 with its
 * neighbours; of what is bounded on one side alone nothing is said. */
static dt_range between(dt_range r) {
    switch (r) {
    case DT_RANGE_REAL:
    case DT_RANGE_SIGNED:
    case DT_RANGE_UNIT: return r;
    case DT_RANGE_SHARES: return DT_RANGE_UNIT;
    default: return DT_RANGE_UNKNOWN;
    }
}

static dt_yield join(const dt_layer_spec *l, const dt_yield *earlier, bool moves) {
    dt_yield y = earlier[l->from[0]];
    for (int k = 1; k < l->n_in; k++)
        if (between(earlier[l->from[k]].range) != between(y.range)) y.range = DT_RANGE_UNKNOWN;
    if (!moves) y.range = between(y.range);
    return y;
}

void dt_model_yields(const dt_model_spec *m, dt_yield *out) {
    for (int i = 0; i < m->n_layers; i++) {
        const dt_layer_spec *l = &m->layer[i];
        out[i] =
            l->row->yields ? l->row->yields(l) : (dt_yield){DT_RANGE_UNKNOWN, l->row->kind.name};
        if (out[i].range == DT_RANGE_OF_INPUTS || out[i].range == DT_RANGE_BETWEEN)
            out[i] = join(l, out, out[i].range == DT_RANGE_OF_INPUTS);
        else if (out[i].range == DT_RANGE_REAL && !is_trained_freely(l))
            out[i].range = DT_RANGE_UNKNOWN;
    }
}
