/* SPDX-License-Identifier: Apache-2.0 */
/* Permute: reorders the dimensions of each example. They are counted from 1, since dimension 0 is
 * the batch and stays first. */
#include "model/model.h"

struct permute {
    dt_layer_head head;
    dt_ints dims;
};

static const dt_field fields[] = {
    DT_INTS(struct permute, dims, .max = INFINITY, .required = true,
            .help = "order of the dimensions, from 1: dims[i] becomes dimension i + 1"),
    DT_LAYER_FIELDS(struct permute), DT_END};

static dt_status *not_a_permutation(const dt_layer_build *b, const dt_ints *dims) {
    return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                   "dims must name each dimension of %s but the batch once, from 1 to %d, got %s",
                   dt_text_of_shape(&b->in).s, b->in.rank - 1,
                   dt_text_of_numbers(dims->v, dims->n).s);
}

static dt_status *build(dt_layer_build *b) {
    const struct permute *p = b->args;
    uint32_t seen = 0;
    if (p->dims.n != b->in.rank - 1) return not_a_permutation(b, &p->dims);
    b->out = b->in;
    for (int i = 0; i < p->dims.n; i++) {
        int64_t from = p->dims.v[i];
        if (from < 1 || from >= b->in.rank || seen >> from & 1)
            return not_a_permutation(b, &p->dims);
        seen |= 1u << from;
        b->out.dim[i + 1] = b->in.dim[from];
    }
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    const struct permute *p = c->args;
    int perm[DT_MAX_RANK] = {0};
    for (int i = 0; i < p->dims.n; i++) perm[i + 1] = (int)p->dims.v[i];
    return dt_transpose(c->x, perm);
}

const dt_layer dt_layer_permute = {
    .kind = {"Permute", "dimensions in another order", fields, sizeof(struct permute), NULL},
    .build = build,
    .call = call,
    .yields = dt_yields_inputs,
};
