/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax over one axis or several. If it is over the last axis and a cross-entropy follows, the
 * loss is computed from the input of the softmax: see dt_logits_of. Other axes are moved to the end
 * and joined for the computation.
 */
#include "model/layer/axes.h"

struct softmax {
    dt_layer_head head;
    dt_ints axis;
};

static const dt_field fields[] = {DT_AXES(struct softmax, axis, .preset = "-1",
                                          .help = "axis, or a list; 0 is the batch, -1 the last"),
                                  DT_LAYER_FIELDS(struct softmax), DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct softmax *s = b->args;
    uint32_t dims;
    DT_TRY(dt_layer_wants(b, "Softmax", 2));
    DT_TRY(dt_axes_make(b, &s->axis, &dims));
    if (b->masks[0])
        return dt_suggest(
            dt_fail(DT_E_MODEL_SHAPE, &b->at,
                    "Softmax needs a mask of single values, but that of '%s' masks steps",
                    b->from[0]),
            "use 'activation: softmax' on the layer before: it does not use the mask");
    b->out = b->in;
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    return dt_over_dims(c->x, dt_axes_made(c), dt_softmax);
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    (void)above;
    const uint32_t dims = *(const uint32_t *)l->made;
    int64_t values = 1;
    for (int d = 1; d < l->out.rank; d++) values *= dims >> d & 1 ? l->out.dim[d] : 1;
    const bool one = values == 1 && !(dims & 1);
    const dt_range range = one                               ? DT_RANGE_ONE_SHARE
                           : dims == 1u << (l->out.rank - 1) ? DT_RANGE_SHARES
                                                             : DT_RANGE_UNIT;
    return (dt_yield){.range = range, .by = l->row->kind.name};
}

const dt_layer dt_layer_softmax = {
    .kind = {"Softmax", "exp(x) / sum of exp(x)", fields, sizeof(struct softmax), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = yields,
};
