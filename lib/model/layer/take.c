/* SPDX-License-Identifier: Apache-2.0 */
/* Take: selects one element along an axis and removes the axis: (B, T, D) to (B, D) for one step.
 * Keras' operation `take` with one index. */
#include "model/model.h"

struct take {
    dt_layer_head head;
    int64_t indices, axis;
};

static const dt_field fields[] = {
    DT_INT(struct take, indices, .required = true, .help = "index; negative: from the end"),
    DT_INT(struct take, axis, .required = true, .help = "axis; 0 is the batch"),
    DT_LAYER_FIELDS(struct take), DT_END};

/* Counts a negative index from the end. The result may be out of bounds. */
static int64_t from_front(int64_t i, int64_t n) { return i < 0 ? i + n : i; }

static dt_status *build(dt_layer_build *b) {
    const struct take *t = b->args;
    int64_t axis = from_front(t->axis, b->in.rank);
    if (axis < 1 || axis >= b->in.rank)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "axis %lld is out of range for %d dimensions (0 is the batch)",
                       (long long)t->axis, b->in.rank);
    int64_t n = b->in.dim[axis], at = from_front(t->indices, n);
    if (at < 0 || at >= n)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at, "index %lld is out of range for %lld elements",
                       (long long)t->indices, (long long)n);
    b->out = b->in;
    b->out.rank--;
    for (int64_t d = axis; d < b->out.rank; d++) b->out.dim[d] = b->in.dim[d + 1];
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    const struct take *t = c->args;
    dt_type x = dt_type_of_value(c->x);
    int axis = (int)from_front(t->axis, x.rank);
    return dt_reshape(dt_slice_axis(c->x, axis, from_front(t->indices, x.dim[axis]), 1, 1),
                      c->out->rank, c->out->dim);
}

const dt_layer dt_layer_take = {
    .kind = {"Take", "one element along an axis", fields, sizeof(struct take), NULL},
    .build = build,
    .call = call,
    .yields = dt_yields_inputs,
};
