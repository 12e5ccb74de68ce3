/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warns of mistakes in layers, outputs and losses, with which a job runs but learns nothing, or
 * less than it could. A loss declares the range of predictions that it expects; layers and
 * activations declare the range of their outputs. There is no warning unless the mistake is
 * certain.
 */
#include <math.h>
#include <string.h>

#include "model/model.h"

/* ---- ranges ---- */

/*
 * The ranges of the outputs of layers. A layer that only moves values has its input's range. To
 * avoid false warnings, a range that is not certain is unknown: that of a layer without `yields`,
 * and REAL of a layer whose weights are frozen or have a constraint.
 */

dt_yield dt_yields_real(const dt_layer_spec *l, const dt_yield *above) {
    (void)above;
    return (dt_yield){.range = DT_RANGE_REAL, .by = l->row->kind.name};
}

/* ---- layers that move values, or whose values lie between those of inputs ---- */

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

/* Counts the inputs of the layer whose range is in the set `ranges`. */
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

/* Sets *low and *high to the limits of a range, which may be infinite. Returns false if they are
 * unknown or equal. */
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

/* Whether the layer has no weights, or trains them all without a constraint. Otherwise it may have
 * been constructed so that probabilities stay probabilities, so its range is unknown. State, such
 * as the means of BatchNormalization, does not count: it follows the data. */
static bool is_trained_freely(const dt_layer_spec *l) {
    bool is = l->n_weights == 0 || ((const dt_layer_head *)l->args)->trainable;
    for (int i = 0; i < l->n_weights; i++) is &= !l->weight[i].constraint.kind;
    return is;
}

/* Computes the range of each layer's output, [n_layers]. */
static void yields_of_model(const dt_model_spec *m, dt_yield *out) {
    for (int i = 0; i < m->n_layers; i++) {
        const dt_layer_spec *l = &m->layer[i];
        out[i] = (dt_yield){.range = DT_RANGE_UNKNOWN, .by = l->row->kind.name};
        if (l->row->yields) out[i] = l->row->yields(l, out);
        if (out[i].range == DT_RANGE_REAL && !is_trained_freely(l)) out[i].range = DT_RANGE_UNKNOWN;
    }
}

/* ---- warnings ---- */

typedef struct looker {
    const dt_model_spec *model;
    const dt_yield *yields; /* [n_layers] the range of each layer's output */
    dt_arena *arena;
    dt_texts *out;
} looker;

static bool has(unsigned ranges, dt_range r) { return ranges >> r & 1; }

/* Returns words for a range that complete a sentence such as "the layer gives ...". */
static const char *words_of(dt_range r) {
    static const char *const words[] = {
        [DT_RANGE_REAL] = "any number",
        [DT_RANGE_BOTH] = "negative numbers, too",
        [DT_RANGE_BENT] = "hardly any negative number",
        [DT_RANGE_NONNEGATIVE] = "no negative number",
        [DT_RANGE_POSITIVE] = "positive numbers only",
        [DT_RANGE_NEGATIVE] = "negative numbers only",
        [DT_RANGE_LOG_SHARES] = "logarithms of probabilities",
        [DT_RANGE_SIGNED] = "numbers from -1 to 1",
        [DT_RANGE_UNIT] = "numbers from 0 to 1",
        [DT_RANGE_SHARES] = "probabilities",
    };
    return words[r];
}

static void look_at_layer(const looker *k, int i) {
    const dt_layer_spec *l = &k->model->layer[i];
    const dt_yield y = k->yields[i];
    const bool moves = l->row->yields == dt_yields_inputs || l->row->yields == dt_yields_between;
    if (y.range == DT_RANGE_ONE_SHARE && !moves)
        k->out->v[k->out->n++] = dt_arena_printf(k->arena,
                                                 "layer '%s': %s over one value always gives the "
                                                 "same number; use one unit for each class, or "
                                                 "'activation: sigmoid' with binary_crossentropy",
                                                 l->name, y.by);
    else if (y.range == DT_RANGE_SHARES && !moves && l->n_weights == 0 && l->n_in == 1 &&
             k->yields[l->from[0]].range == DT_RANGE_SHARES)
        k->out->v[k->out->n++] = dt_arena_printf(
            k->arena,
            "layer '%s' applies %s to '%s', whose values are probabilities already (%s): leave one "
            "of the two out",
            l->name, y.by, k->model->layer[l->from[0]].name, k->yields[l->from[0]].by);
}

static const char *cure_of(const looker *k, const dt_named *loss, dt_yield y) {
    const dt_loss_row *row = (const dt_loss_row *)loss->kind;
    const dt_range r = y.range;
    if (dt_loss_takes_logits(loss) && y.scaled)
        return has(row->expects.ranges, r) ? "add a Dense layer after it, or set from_logits: false"
                                           : "add a Dense layer after it";
    if (dt_loss_takes_logits(loss))
        return has(row->expects.ranges, r) ? "leave out the activation, or set from_logits: false"
                                           : "leave out the activation";
    return dt_arena_printf(k->arena, "use 'activation: %s'%s", row->expects.activation,
                           has(row->expects.logits, r) ? ", or set from_logits: true" : "");
}

static void look_at_output(const looker *k, const dt_output_spec *o, const dt_named *loss) {
    const dt_loss_row *row = (const dt_loss_row *)loss->kind;
    const dt_yield y = k->yields[o->layer];
    const bool logits = dt_loss_takes_logits(loss);
    const unsigned ranges = logits ? row->expects.logits : row->expects.ranges;
    /* look_at_layer warns of this range. */
    if (y.range == DT_RANGE_ONE_SHARE) return;
    if (row->of == DT_OUTPUT_CLASSES && o->type.rank > 1 && o->type.dim[o->type.rank - 1] == 1) {
        k->out->v[k->out->n++] =
            dt_arena_printf(k->arena,
                            "%s needs a score for each class, but output '%s' has one; for two "
                            "classes use binary_crossentropy, "
                            "or two units",
                            row->kind.name, o->name);
        return;
    }
    if (!ranges || y.range == DT_RANGE_UNKNOWN || has(ranges, y.range)) return;
    k->out->v[k->out->n++] = dt_arena_printf(
        k->arena, "%s%s expects %s, but output '%s' (%s) gives %s: %s", row->kind.name,
        logits ? " with from_logits: true" : "", logits ? "logits" : row->expects.what, o->name,
        y.by, words_of(y.range), cure_of(k, loss, y));
}

void dt_output_warnings(const dt_model_spec *m, const dt_compile_spec *c, dt_arena *arena,
                        dt_texts *out) {
    dt_yield *yields = dt_arena_array(arena, dt_yield, m->n_layers);
    *out = (dt_texts){.v = dt_arena_array(arena, const char *, m->n_layers + m->n_outputs)};
    const looker k = {m, yields, arena, out};
    yields_of_model(m, yields);
    for (int i = 0; i < m->n_layers; i++) look_at_layer(&k, i);
    for (int i = 0; i < c->n_outputs && i < m->n_outputs; i++)
        if (c->output[i].loss.kind) look_at_output(&k, &m->output[i], &c->output[i].loss);
}
