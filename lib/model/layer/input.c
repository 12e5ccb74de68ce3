/* SPDX-License-Identifier: Apache-2.0 */
/* Input: an input of the model, with its name and shape. Values are converted to its dtype, as
 * Keras converts uint8 images. */
#include <string.h>

#include "model/model.h"

static const char *const dtypes[] = {"float32", "float64", "bool",  "uint8", "int8",
                                     "int16",   "int32",   "int64", NULL};

struct input {
    dt_layer_head head;
    dt_ints shape;
    int dtype;
};

static const dt_field fields[] = {
    DT_NAME_FIELD(struct input),
    DT_INTS(struct input, shape, .min = 1, .max = INFINITY, .required = true,
            .help = "shape of one example; [] for single numbers"),
    DT_ENUM(struct input, dtype, dtypes,
            .help = "dtype of the input; float64 makes the whole model compute in float64"),
    DT_NOT_YET("batch_size"),
    DT_NOT_YET("batch_shape"),
    DT_NOT_YET("sparse"),
    DT_NOT_YET("ragged"),
    DT_NOT_YET("optional"),
    DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct input *in = b->args;
    if (in->shape.n >= DT_MAX_RANK)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at, "shape has %d dimensions; at most %d are possible",
                       in->shape.n, DT_MAX_RANK - 1);
    dt_dtype dtype;
    dt_dtype_parse(dtypes[in->dtype], &dtype);
    int64_t dim[DT_MAX_RANK] = {DT_BATCH};
    if (in->shape.n) memcpy(dim + 1, in->shape.v, (size_t)in->shape.n * sizeof *dim);
    b->out = dt_type_of(dtype, in->shape.n + 1, dim);
    return NULL;
}

static dt_value call(const dt_layer_call *c) { return dt_convert(c->x, c->out->dtype); }

const dt_layer dt_layer_input = {
    .kind = {"Input", "an input of the model: one data element", fields, sizeof(struct input),
             NULL},
    .precision = DT_LAYER_AS_IT_IS,
    .build = build,
    .call = call,
};
