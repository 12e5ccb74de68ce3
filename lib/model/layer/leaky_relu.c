/* SPDX-License-Identifier: Apache-2.0 */
/* LeakyReLU: x where it is positive, negative_slope * x elsewhere. */
#include "model/model.h"

struct leaky_relu {
    dt_layer_head head;
    double negative_slope;
};

static const dt_field fields[] = {DT_REAL(struct leaky_relu, negative_slope, .preset = "0.3",
                                          .max = INFINITY, .help = "slope below 0"),
                                  DT_LAYER_FIELDS(struct leaky_relu),
                                  DT_INSTEAD("alpha", "write 'negative_slope'"), DT_END};

static dt_status *build(dt_layer_build *b) {
    DT_TRY(dt_layer_wants(b, "LeakyReLU", 1));
    b->out = b->in;
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    const struct leaky_relu *l = c->args;
    dt_value sloped = dt_multiply(c->x, dt_like(c->x, l->negative_slope));
    return dt_select(dt_compare(c->x, dt_like(c->x, 0), DT_GT), c->x, sloped);
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const dt_yield any = {.range = DT_RANGE_REAL, .by = l->row->kind.name};
    return dt_yields_activated(any, above[l->from[0]]);
}

const dt_layer dt_layer_leaky_relu = {
    .kind = {"LeakyReLU", "x, with a small slope below 0", fields, sizeof(struct leaky_relu), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = yields,
};
