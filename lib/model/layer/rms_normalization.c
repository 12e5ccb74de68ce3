/* SPDX-License-Identifier: Apache-2.0 */
/* RMSNormalization: y = x / sqrt(mean of x^2 + epsilon) * scale, over `axis`. B. Zhang, R.
 * Sennrich, Root Mean Square Layer Normalization (2019). */
#include "model/layer/axes.h"

#include "op/shapes.h"

struct rms_normalization {
    dt_layer_head head;
    dt_ints axis;
    double epsilon;
};

static const dt_field fields[] = {DT_AXES(struct rms_normalization, axis, .preset = "-1",
                                          .help = "axis or axes to normalize over"),
                                  DT_REAL(struct rms_normalization, epsilon, .preset = "1e-6",
                                          .max = INFINITY, .help = "added to avoid division by 0"),
                                  DT_LAYER_FIELDS(struct rms_normalization), DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct rms_normalization *r = b->args;
    uint32_t dims;
    DT_TRY(dt_layer_wants(b, "RMSNormalization", 2));
    DT_TRY(dt_axes_make(b, &r->axis, &dims));
    b->out = b->in;
    return dt_axes_weight(b, dims, &(dt_weight_request){.name = "scale", .preset = "ones"});
}

static dt_value call(const dt_layer_call *c) {
    const struct rms_normalization *r = c->args;
    uint32_t dims = dt_axes_made(c);
    dt_value square = dt_mean_over(dt_multiply(c->x, c->x), dims);
    dt_value inverse = dt_rsqrt(dt_add(square, dt_like(square, r->epsilon)));
    dt_value y = dt_multiply(c->x, dt_along(inverse, c->out, dt_all_dims(c->out->rank) & ~dims));
    return dt_scale_and_center(y, dims, true, false, c->weight);
}

const dt_layer dt_layer_rms_normalization = {
    .kind = {"RMSNormalization", "normalizes each example to mean square 1", fields,
             sizeof(struct rms_normalization), NULL},
    .precision = DT_LAYER_WIDE,
    .yields = dt_yields_real,
    .build = build,
    .call = call,
};
