/* SPDX-License-Identifier: Apache-2.0 */
/* RepeatVector: (B, features) becomes (B, n, features), n copies of each vector. */
#include "model/model.h"

struct repeat_vector {
    dt_layer_head head;
    int64_t n;
};

static const dt_field fields[] = {DT_INT(struct repeat_vector, n, .min = 1, .max = INFINITY,
                                         .required = true, .help = "number of repetitions"),
                                  DT_LAYER_FIELDS(struct repeat_vector), DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct repeat_vector *r = b->args;
    if (b->in.rank == 2) {
        b->out = dt_type_of(b->in.dtype, 3, (int64_t[]){b->in.dim[0], r->n, b->in.dim[1]});
        return NULL;
    }
    return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                   "input 0 of RepeatVector must have 2 dimensions (B, features), got %d: %s",
                   b->in.rank, dt_text_of_shape(&b->in).s);
}

static dt_value call(const dt_layer_call *c) {
    const int8_t dims[DT_MAX_RANK] = {0, 2};
    return dt_broadcast_in_dim(c->x, c->out, dims);
}

const dt_layer dt_layer_repeat_vector = {
    .kind = {"RepeatVector", "(B, features) to (B, n, features)", fields,
             sizeof(struct repeat_vector), NULL},
    .build = build,
    .call = call,
    .yields = dt_yields_inputs,
};
