/* SPDX-License-Identifier: Apache-2.0 */
/* Reshape: gives each example another shape, in row-major order. One size may be -1: it is computed
 * from the others. */
#include "model/model.h"

struct reshape {
    dt_layer_head head;
    dt_ints target_shape;
};

static const dt_field fields[] = {
    DT_INTS(struct reshape, target_shape, .lone = true, .min = -1, .max = INFINITY,
            .required = true, .help = "shape of one example; one dimension may be -1"),
    DT_LAYER_FIELDS(struct reshape), DT_INSTEAD("shape", "write 'target_shape'"), DT_END};

static dt_status *cannot(const dt_layer_build *b, const dt_ints *target) {
    return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                   "the number of elements must not change: cannot make target_shape %s from %s",
                   dt_text_of_numbers(target->v, target->n).s, dt_text_of_shape(&b->in).s);
}

/* Computes the product of all known sizes, and the index of the unknown one (-1: all are known).
 * Returns false if several are unknown, or the product overflows. */
static bool known_sizes(const dt_ints *target, int64_t *product, int *unknown) {
    *product = 1;
    *unknown = -1;
    for (int i = 0; i < target->n; i++) {
        bool free_one = target->v[i] == -1;
        if (free_one && *unknown >= 0) return false;
        if (free_one) *unknown = i;
        else if (__builtin_mul_overflow(*product, target->v[i], product)) return false;
    }
    return true;
}

static dt_status *build(dt_layer_build *b) {
    const struct reshape *r = b->args;
    int64_t elements = 1, known;
    int unknown;
    for (int i = 1; i < b->in.rank; i++)
        /* The product cannot overflow: the input was checked to be at most DT_MAX_EXAMPLE_BYTES. */
        elements *= b->in.dim[i];
    if (r->target_shape.n >= DT_MAX_RANK)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "target_shape has %d dimensions; at most %d are possible", r->target_shape.n,
                       DT_MAX_RANK - 1);
    if (!known_sizes(&r->target_shape, &known, &unknown) ||
        (unknown < 0 ? known != elements : known == 0 || elements % known))
        return cannot(b, &r->target_shape);
    b->out = dt_type_of(b->in.dtype, 1, b->in.dim);
    for (int i = 0; i < r->target_shape.n; i++)
        b->out.dim[b->out.rank++] = i == unknown ? elements / known : r->target_shape.v[i];
    return NULL;
}

static dt_value call(const dt_layer_call *c) { return dt_reshape(c->x, c->out->rank, c->out->dim); }

const dt_layer dt_layer_reshape = {
    .kind = {"Reshape", "the same elements in another shape", fields, sizeof(struct reshape), NULL},
    .build = build,
    .call = call,
    .yields = dt_yields_inputs,
};
