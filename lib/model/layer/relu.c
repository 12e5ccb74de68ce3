/* SPDX-License-Identifier: Apache-2.0 */
/* ReLU: max(x, 0), in Keras' general form: see activation/relu.c. */
#include "model/model.h"

struct relu {
    dt_layer_head head;
    dt_relu_args relu;
};

#define RELU_FIELD(member, ...) \
    { .kind = DT_FIELD_REAL, .name = #member, .offset = offsetof(struct relu, relu.member), .max = INFINITY, __VA_ARGS__ }
static const dt_field fields[] = {
    RELU_FIELD(max_value, .set = 1 + offsetof(struct relu, relu.has_max), .help = "maximum output; default: none"),
    RELU_FIELD(negative_slope, .help = "slope below the threshold"),
    RELU_FIELD(threshold, .help = "threshold below which the output is 0, or has the negative slope"),
    DT_LAYER_FIELDS(struct relu),
    DT_END
};

static dt_status *build(dt_layer_build *b)
{
    DT_TRY(dt_layer_wants(b, "ReLU", 1));
    b->out = b->in;
    return NULL;
}

static dt_value call(const dt_layer_call *c)
{
    return dt_relu(&((const struct relu *)c->args)->relu, c->x);
}

const dt_layer dt_layer_relu = {
    .kind = { "ReLU", "max(x, 0)", fields, sizeof(struct relu), NULL },
    .supports_masking = true,
    .build = build,
    .call = call,
};
