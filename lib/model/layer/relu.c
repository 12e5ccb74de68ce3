/* SPDX-License-Identifier: Apache-2.0 */
/* ReLU: max(x, 0), in Keras' general form: see activation/relu.c. */
#include "model/model.h"

struct relu {
    dt_layer_head head;
    dt_relu_args relu;
};

#define RELU_FIELD(member, ...)                                                                    \
    DT_KEY(REAL, #member, struct relu, relu.member, .max = INFINITY, __VA_ARGS__)
static const dt_field fields[] = {
    RELU_FIELD(max_value, .set = 1 + offsetof(struct relu, relu.has_max),
               .help = "maximum output; default: none"),
    RELU_FIELD(negative_slope, .help = "slope below the threshold"),
    RELU_FIELD(threshold,
               .help = "threshold below which the output is 0, or has the negative slope"),
    DT_LAYER_FIELDS(struct relu), DT_END};

static dt_status *build(dt_layer_build *b) {
    DT_TRY(dt_layer_wants(b, "ReLU", 1));
    b->out = b->in;
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    return dt_relu(&((const struct relu *)c->args)->relu, c->x);
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const dt_relu_args *r = &((const struct relu *)l->args)->relu;
    const dt_range range = r->negative_slope != 0            ? DT_RANGE_REAL
                           : r->threshold < 0                ? DT_RANGE_BENT
                           : r->has_max && r->max_value <= 1 ? DT_RANGE_UNIT
                                                             : DT_RANGE_NONNEGATIVE;
    return dt_yields_activated((dt_yield){.range = range, .by = l->row->kind.name},
                               above[l->from[0]]);
}

const dt_layer dt_layer_relu = {
    .kind = {"ReLU", "max(x, 0)", fields, sizeof(struct relu), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = yields,
};
