/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LayerOutput: an output of a layer that has several, such as the last states of an LSTM. Layers
 * name it LAYER/OUTPUT among their inputs, and the model among its outputs; it is added before the
 * first layer that reads it, or at the end. It computes nothing.
 *
 *     - LSTM: {name: encoder, units: 8, return_state: true}
 *     - LSTM: {units: 8, inputs: [answer, encoder/state_h, encoder/state_c]}
 *
 * A number in place of OUTPUT is that of a further output, counted from 1, as in the files of
 * Keras: encoder/1 is encoder/state_h.
 */
#include <string.h>

#include "model/model.h"

struct layer_output {
    dt_layer_head head;
    const char *output;
};

static const dt_field fields[] = {
    DT_TEXT(struct layer_output, output, .required = true,
            .help = "the output's name, or its number; the first one after the layer's own is 1"),
    DT_LAYER_FIELDS(struct layer_output), DT_END};

/* Returns the layer whose output is selected. It has been built before. */
static const dt_layer_spec *layer_of(const dt_layer_build *b) {
    const dt_layer_spec *l = b->earlier;
    while (!l->name || strcmp(l->name, b->from[0]) != 0) l++;
    return l;
}

/* Returns the index of the further output with that name or number; -1: there is none. */
static int find_output(const dt_layer_spec *l, const char *word) {
    int64_t number;
    if (dt_parse_int64(word, &number))
        return number >= 1 && number <= l->n_further ? (int)number - 1 : -1;
    for (int i = 0; i < l->n_further; i++)
        if (strcmp(l->further[i].name, word) == 0) return i;
    return -1;
}

static dt_status *no_output(const dt_layer_build *b, const dt_layer_spec *l, const char *word) {
    dt_local_str names = {0};
    for (int i = 0; i < l->n_further; i++)
        dt_str_printf(&names, "%s%s/%s", i ? ", " : "", l->name, l->further[i].name);
    dt_status *s =
        dt_fail(DT_E_MODEL_INPUTS, &b->at, "layer '%s' has no output '%.80s'", l->name, word);
    return l->n_further
               ? dt_suggest(s, "it has %s", dt_str_text(&names))
               : dt_suggest(s, "recurrent layers with return_state: true have further "
                               "outputs, and attention with return_attention_scores: true");
}

static dt_status *build(dt_layer_build *b) {
    const char *word = ((const struct layer_output *)b->args)->output;
    const dt_layer_spec *l = layer_of(b);
    const int i = find_output(l, word);
    if (i < 0) return no_output(b, l, word);
    b->taken = i + 1;
    b->in = b->out = l->further[i].type;
    return NULL;
}

static dt_value call(const dt_layer_call *c) { return c->x; }

const dt_layer dt_layer_layer_output = {
    .kind = {"LayerOutput", "an output of a layer that has several", fields,
             sizeof(struct layer_output), NULL},
    .precision = DT_LAYER_AS_IT_IS,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
};
