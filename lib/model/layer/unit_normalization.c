/* SPDX-License-Identifier: Apache-2.0 */
/* UnitNormalization: divides each example by its L2 norm over `axis`, or by 1e-12 if the norm is
 * smaller. */
#include "model/layer/axes.h"

#include "op/shapes.h"

struct unit_normalization {
    dt_layer_head head;
    dt_ints axis;
};

static const dt_field fields[] = {
    DT_AXES(struct unit_normalization, axis, .preset = "-1", .help = "axis or axes of the norm"),
    DT_LAYER_FIELDS(struct unit_normalization), DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct unit_normalization *u = b->args;
    uint32_t dims;
    DT_TRY(dt_layer_wants(b, "UnitNormalization", 2));
    b->out = b->in;
    return dt_axes_make(b, &u->axis, &dims);
}

static dt_value call(const dt_layer_call *c) {
    uint32_t dims = dt_axes_made(c);
    dt_value square = dt_reduce(dt_multiply(c->x, c->x), DT_REDUCE_SUM, dims);
    dt_value inverse = dt_rsqrt(dt_maximum(square, dt_like(square, 1e-24)));
    return dt_multiply(c->x, dt_along(inverse, c->out, dt_all_dims(c->out->rank) & ~dims));
}

const dt_layer dt_layer_unit_normalization = {
    .kind = {"UnitNormalization", "scales each example to norm 1", fields,
             sizeof(struct unit_normalization), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_yields_of_norm,
};
