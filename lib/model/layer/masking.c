/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking: masks the steps of a sequence whose values all equal `mask_value`. Later layers that use
 * masks skip them, and their values become 0.
 *
 *     - Masking: {mask_value: -1}        (B, T, D)
 */
#include "model/model.h"

struct masking {
    dt_layer_head head;
    double mask_value;
};

static const dt_field fields[] = {
    DT_REAL(struct masking, mask_value,
            .help = "steps in which every value equals this are masked"),
    DT_LAYER_FIELDS(struct masking), DT_END};

static dt_status *build(dt_layer_build *b) {
    DT_TRY(dt_layer_wants(b, "Masking", 2));
    b->out = b->in;
    b->out_mask = true;
    return NULL;
}

/* Emits the mask, which is true where a value of the step differs from mask_value. Values are
 * compared in the compute dtype, so values that become equal by rounding are equal to
 * mask_value. */
static dt_value mask(const dt_layer_call *c) {
    const struct masking *m = c->args;
    dt_type type = dt_type_of_value(c->x);
    dt_value unlike = dt_convert(dt_compare(c->x, dt_like(c->x, m->mask_value), DT_NE), DT_FLOAT32);
    dt_value any = dt_reduce(unlike, DT_REDUCE_MAX, 1u << (type.rank - 1));
    return dt_compare(any, dt_like(any, 0), DT_GT);
}

static dt_value call(const dt_layer_call *c) {
    return dt_select(dt_mask_along(mask(c), c->x), c->x, dt_like(c->x, 0));
}

const dt_layer dt_layer_masking = {
    .kind = {"Masking", "masks steps that hold only one given value", fields,
             sizeof(struct masking), NULL},
    .supports_masking = true,
    .mask = mask,
    .build = build,
    .call = call,
    .yields = dt_yields_inputs,
};
