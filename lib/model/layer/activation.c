/* SPDX-License-Identifier: Apache-2.0 */
/* Activation: an activation function as a separate layer. */
#include "model/model.h"

struct activation {
    dt_layer_head head;
    int activation;
};

static const dt_field fields[] = {DT_ENUM(struct activation, activation, dt_activations,
                                          .required = true, .help = "the activation function"),
                                  DT_LAYER_FIELDS(struct activation), DT_END};

static dt_status *build(dt_layer_build *b) {
    DT_TRY(dt_layer_wants(b, "Activation", 2));
    b->out = b->in;
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    return dt_activate(((const struct activation *)c->args)->activation, c->x);
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const int activation = ((const struct activation *)l->args)->activation;
    const dt_yield in = above[l->from[0]];
    return activation ? dt_yields_activated(dt_activation_yields(activation, &l->out), in) : in;
}

const dt_layer dt_layer_activation = {
    .kind = {"Activation", "an activation function", fields, sizeof(struct activation), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = yields,
};
