/* SPDX-License-Identifier: Apache-2.0 */
/* PReLU: x where it is positive, alpha * x elsewhere; alpha is trained; there is one for each
 * element of an example, or one that elements along axes share. K. He et al., Delving Deep into
 * Rectifiers (2015). */
#include "model/layer/axes.h"

struct prelu {
    dt_layer_head head;
    const dt_tree *alpha_initializer;
    dt_ints shared_axes;
};

static const dt_field fields[] = {
    DT_INITIALIZER(struct prelu, alpha_initializer, .help = "initializer; default: zeros"),
    DT_INTS(struct prelu, shared_axes, .lone = true, .min = 1, .max = INFINITY,
            .help = "axes that share one alpha, from 1"),
    DT_LAYER_FIELDS(struct prelu),
    DT_REGULARIZER(struct prelu, ALPHA, "alpha_regularizer"),
    DT_CONSTRAINT(struct prelu, ALPHA, "alpha_constraint"),
    DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct prelu *p = b->args;
    uint32_t shared;
    DT_TRY(dt_layer_wants(b, "PReLU", 2));
    DT_TRY(dt_axes_find(b, &p->shared_axes, &shared));
    dt_weight_request alpha = {.name = "alpha",
                               .dtype = b->in.dtype,
                               .initializer = p->alpha_initializer,
                               .preset = "zeros"};
    for (int d = 1; d < b->in.rank; d++)
        alpha.dim[alpha.rank++] = shared >> d & 1 ? 1 : b->in.dim[d];
    b->out = b->in;
    return dt_layer_weight(b, &alpha);
}

static dt_value call(const dt_layer_call *c) {
    dt_value zero = dt_like(c->x, 0), below = dt_negate(dt_maximum(dt_negate(c->x), zero));
    return dt_add(dt_maximum(c->x, zero),
                  dt_multiply(below, dt_broadcast_to(c->weight[0], c->out)));
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const dt_yield any = {.range = DT_RANGE_REAL, .by = l->row->kind.name};
    return dt_yields_activated(any, above[l->from[0]]);
}

const dt_layer dt_layer_prelu = {
    .kind = {"PReLU", "x, with a learned slope below 0", fields, sizeof(struct prelu), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = yields,
};
