/* SPDX-License-Identifier: Apache-2.0 */
/* Identity: returns its input. */
#include "model/model.h"

struct identity {
    dt_layer_head head;
};

static const dt_field fields[] = {DT_LAYER_FIELDS(struct identity), DT_END};

static dt_status *build(dt_layer_build *b) {
    b->out = b->in;
    return NULL;
}

static dt_value call(const dt_layer_call *c) { return c->x; }

const dt_layer dt_layer_identity = {
    .kind = {"Identity", "the input itself", fields, sizeof(struct identity), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_yields_inputs,
};
