/* SPDX-License-Identifier: Apache-2.0 */
/* ELU: x where it is positive, alpha * (exp x - 1) elsewhere. */
#include "model/model.h"

struct elu {
    dt_layer_head head;
    double alpha;
};

static const dt_field fields[] = {
    DT_REAL(struct elu, alpha, .preset = "1", .help = "scale of the negative part"),
    DT_LAYER_FIELDS(struct elu), DT_END};

static dt_status *build(dt_layer_build *b) {
    DT_TRY(dt_layer_wants(b, "ELU", 1));
    b->out = b->in;
    return NULL;
}

/* Emits ELU. Positive x are replaced by 0 before the exponential, which would overflow. Even if
 * infinity is not selected, it makes the gradient NaN. */
static dt_value call(const dt_layer_call *c) {
    const struct elu *e = c->args;
    dt_value zero = dt_like(c->x, 0), one = dt_like(c->x, 1);
    dt_value below = dt_subtract(dt_exponential(dt_minimum(zero, c->x)), one);
    return dt_select(dt_compare(c->x, zero, DT_GT), c->x,
                     dt_multiply(below, dt_like(below, e->alpha)));
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const dt_yield any = {.range = DT_RANGE_BENT, .by = l->row->kind.name};
    return dt_yields_activated(any, above[l->from[0]]);
}

const dt_layer dt_layer_elu = {
    .kind = {"ELU", "x, or an exponential below 0", fields, sizeof(struct elu), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = yields,
};
