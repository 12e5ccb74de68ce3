/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warns of outputs and losses that do not fit each other, with which a job runs but learns nothing,
 * or less than it could. Rows of losses have the range of values that they expect, rows of layers
 * and activations the range of their outputs (range.c). There is no warning unless the mistake is
 * certain.
 */
#include <string.h>

#include "model/model.h"

typedef struct looker {
    const dt_model_spec *model;
    const dt_yield *yields; /* n_layers elements */
    dt_arena *arena;
    dt_texts *out;
} looker;

static bool has(unsigned ranges, dt_range r) { return ranges >> r & 1; }

/* Words for a range that complete a sentence with "gives". */
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

/* ---- layers ---- */

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

/* ---- losses ---- */

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
    if (y.range == DT_RANGE_ONE_SHARE) return; /* an earlier warning is about this layer */
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
    dt_model_yields(m, yields);
    for (int i = 0; i < m->n_layers; i++) look_at_layer(&k, i);
    for (int i = 0; i < c->n_outputs && i < m->n_outputs; i++)
        if (c->output[i].loss.kind) look_at_output(&k, &m->output[i], &c->output[i].loss);
}
