/* SPDX-License-Identifier: Apache-2.0 */
/* Concatenate: joins layers along an axis, the only one in which their sizes may differ. */
#include "model/model.h"

struct concatenate {
    dt_layer_head head;
    int64_t axis;
};

static const dt_field fields[] = {
    DT_INT(struct concatenate, axis, .preset = "-1",
           .help = "axis of concatenation; 0 is the batch, -1 the last"),
    DT_LAYER_FIELDS(struct concatenate), DT_END};

static bool go_together(const dt_type *a, const dt_type *b, int axis) {
    bool fit = a->rank == b->rank && a->dtype == b->dtype;
    for (int d = 0; fit && d < a->rank; d++) fit = d == axis || a->dim[d] == b->dim[d];
    return fit;
}

static dt_status *build(dt_layer_build *b) {
    const struct concatenate *c = b->args;
    int axis = dt_axis_in(b->in.rank, c->axis);
    if (axis < 1)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "axis %lld is out of range for the %d dimensions after the batch",
                       (long long)c->axis, b->in.rank - 1);
    b->out = b->in;
    for (int k = 1; k < b->n_in; k++) b->out_mask |= b->masks[k];
    for (int k = 1; k < b->n_in; k++) {
        if (!go_together(&b->in, &b->ins[k], axis))
            return dt_layer_cannot_join(b, "Concatenate", 0, k);
        b->out.dim[axis] += b->ins[k].dim[axis];
    }
    return NULL;
}

static int axis_of(const dt_layer_call *c) {
    return dt_axis_in(c->out->rank, ((const struct concatenate *)c->args)->axis);
}

static dt_value call(const dt_layer_call *c) { return dt_concatenate(c->xs, c->n_in, axis_of(c)); }

/* Returns the mask of input k; all true if the input has no mask. */
static dt_value mask_of(const dt_layer_call *c, int k) {
    dt_type x = dt_type_of_value(c->xs[k]), type = dt_type_of(DT_BOOL, x.rank - 1, x.dim);
    return c->masks[k].trace ? c->masks[k] : dt_splat(c->trace, &type, 1);
}

static dt_value mask(const dt_layer_call *c) {
    int axis = axis_of(c);
    dt_value *masks = dt_arena_array(dt_trace_arena(c->trace), dt_value, c->n_in);
    for (int k = 0; k < c->n_in; k++) masks[k] = mask_of(c, k);
    if (axis < c->out->rank - 1) return dt_concatenate(masks, c->n_in, axis);
    for (int k = 1; k < c->n_in; k++) masks[0] = dt_maximum(masks[0], masks[k]);
    return masks[0];
}

const dt_layer dt_layer_concatenate = {
    .kind = {"Concatenate", "joins layers along an axis", fields, sizeof(struct concatenate), NULL},
    .least = 2,
    .most = DT_MANY_LAYERS,
    .supports_masking = true,
    .mask = mask,
    .build = build,
    .call = call,
    .yields = dt_yields_between,
};
