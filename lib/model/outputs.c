/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outputs of a model. The last layer is the output unless the model names one or several.
 * Outputs are ordinary layers, which other layers may use. In a functional model every other layer
 * must be used, so that none is left untrained.
 *
 *     outputs: logits
 *     outputs: [kind, age]      named so in losses, metrics, targets and predictions
 */
#include <string.h>

#include "model/read.h"

typedef struct found {
    /* n: number of layers found; layer: their indices, with room for DT_MAX_OUTPUTS */
    int n, *layer;
} found;

static bool is_output(const found *f, int layer) {
    bool is = false;
    for (int i = 0; i < f->n; i++) is |= f->layer[i] == layer;
    return is;
}

/* ---- outputs by name ---- */

static dt_status *no_layer(const dt_model_reader *r, const dt_location *at, const char *name) {
    dt_status *s = dt_fail(DT_E_MODEL_INPUTS, at, "unknown output layer '%.80s'", name);
    return dt_suggest_nearest(s, name, r->name, r->list->n);
}

static dt_status *add_output(const dt_model_reader *r, int i, found *f) {
    const char *name = r->outputs.v[i];
    const dt_location *at = &r->outputs.at[i];
    int layer = dt_reader_find(r, name, r->list->n);
    if (layer < 0) return no_layer(r, at, name);
    if (is_output(f, layer))
        return dt_fail(DT_E_MODEL_INPUTS, at, "outputs lists '%s' twice", name);
    f->layer[f->n++] = layer;
    return NULL;
}

static dt_status *find_outputs(const dt_model_reader *r, found *f) {
    const dt_location *at = &r->outputs_at;
    const int n = r->outputs.n;
    dt_status *faults = NULL;
    if (n == 0) return dt_fail(DT_E_MODEL_INPUTS, at, "outputs must list at least one layer");
    if (n > DT_MAX_OUTPUTS)
        return dt_fail(DT_E_MODEL_INPUTS, at, "a model has at most %d outputs, got %d",
                       DT_MAX_OUTPUTS, n);
    for (int i = 0; i < n; i++) dt_status_append(&faults, add_output(r, i, f));
    return faults;
}

/* ---- reading the outputs ---- */

static dt_status *unused(const dt_model_reader *r, const found *f, int i) {
    const dt_location *at = &r->named[i].at;
    if (f->n == 1)
        return dt_fail(DT_E_MODEL_INPUTS, at, "no layer uses '%s', and the output is '%s'",
                       r->name[i], r->name[f->layer[0]]);
    return dt_suggest(
        dt_fail(DT_E_MODEL_INPUTS, at, "no layer uses '%s', and it is not an output", r->name[i]),
        "add it to model.outputs, or leave it out");
}

static dt_status *check_used(const dt_model_reader *r, const found *f) {
    dt_status *faults = NULL;
    bool *used = dt_arena_array(r->arena, bool, r->list->n);
    for (int i = 0; i < r->list->n; i++)
        for (int k = 0; k < r->source[i].n; k++) used[r->source[i].from[k]] = true;
    for (int i = 0; i < r->list->n; i++)
        if (!used[i] && !is_output(f, i)) dt_status_append(&faults, unused(r, f, i));
    return faults;
}

dt_status *dt_read_outputs(const dt_model_reader *r, int *n, int layer[DT_MAX_OUTPUTS]) {
    found f = {0, layer};
    if (!r->functional && r->outputs.v)
        return dt_fail(DT_E_MODEL_INPUTS, &r->outputs_at,
                       "the output of a sequential model is its last layer; outputs is for 'type: "
                       "functional'");
    if (r->outputs.v) DT_TRY(find_outputs(r, &f));
    else f.layer[f.n++] = r->list->n - 1;
    *n = f.n;
    return r->functional ? check_used(r, &f) : NULL;
}
