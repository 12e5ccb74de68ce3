/* SPDX-License-Identifier: Apache-2.0 */
/* Rescaling: x * scale + offset, of integers too, which become float32. The scale 1 / 255 maps
 * images of 0 to 255 to numbers from 0 to 1. */
#include "model/model.h"

struct rescaling {
    dt_layer_head head;
    double scale, offset;
};

static const dt_field fields[] = {
    DT_REAL(struct rescaling, scale, .required = true, .help = "factor"),
    DT_REAL(struct rescaling, offset, .help = "offset added after scaling"),
    DT_LAYER_FIELDS(struct rescaling), DT_END};

static dt_status *build(dt_layer_build *b) {
    b->out = b->in;
    if (!dt_dtype_is_float(b->in.dtype)) b->out.dtype = DT_FLOAT32;
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    const struct rescaling *r = c->args;
    dt_value x = dt_convert(c->x, c->out->dtype);
    return dt_add(dt_multiply(x, dt_like(x, r->scale)), dt_like(x, r->offset));
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const struct rescaling *r = l->args;
    const dt_range range = dt_range_scaled(above[l->from[0]].range, r->scale, r->offset);
    return (dt_yield){.range = range, .by = l->row->kind.name, .scaled = true};
}

const dt_layer dt_layer_rescaling = {
    .kind = {"Rescaling", "x * scale + offset", fields, sizeof(struct rescaling), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = yields,
};
