/* SPDX-License-Identifier: Apache-2.0 */
/* Flatten: (B, h, w, ...) becomes (B, h * w * ...), row-major. */
#include "model/model.h"

struct flatten {
    dt_layer_head head;
    int data_format;
};

static const dt_field fields[] = {DT_LAYER_FIELDS(struct flatten), DT_DATA_FORMAT(struct flatten),
                                  DT_END};

static dt_status *build(dt_layer_build *b) {
    int64_t features = 1;
    for (int i = 1; i < b->in.rank; i++)
        /* The product cannot overflow: the input was checked to be at most DT_MAX_EXAMPLE_BYTES. */
        features *= b->in.dim[i];
    b->out = dt_type_of(b->in.dtype, 2, (int64_t[]){b->in.dim[0], features});
    return NULL;
}

static dt_value call(const dt_layer_call *c) { return dt_reshape(c->x, c->out->rank, c->out->dim); }

const dt_layer dt_layer_flatten = {
    .kind = {"Flatten", "(B, ...) to (B, features)", fields, sizeof(struct flatten), NULL},
    .build = build,
    .call = call,
    .yields = dt_yields_inputs,
};
