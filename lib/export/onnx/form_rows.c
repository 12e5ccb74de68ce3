/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that read and change rows by their numbers. Negative numbers count from the last row, as in
 * dtrain. A number out of range is an error when the file is run. */
#include "export/onnx/forms.h"

static dt_onnx_value row_numbers(const dt_onnx_call *c, int i) {
    dt_onnx_value x = dt_onnx_whole(c->onnx, &c->in[i]);
    bool known = x.type.dtype == DT_INT32 || x.type.dtype == DT_INT64;
    return known ? x : dt_onnx_cast(c->onnx, &x, DT_INT64);
}

dt_status *dt_onnx_gather(const dt_onnx_call *c, dt_onnx_value *out) {
    dt_onnx_value table = dt_onnx_whole(c->onnx, &c->in[0]), index = row_numbers(c, 1);
    const char *y = dt_onnx_put(c->onnx, &(dt_onnx_node){.op = c->name,
                                                         .in = {table.name, index.name},
                                                         .attribute = {DT_ONNX_NUMBER("axis", 0)}});
    *out = dt_onnx_value_of(y, &c->node->type);
    return NULL;
}

/* Writes a scatter_add: each row is added to a tensor of zeros. Row numbers have the shape (..,
 * 1). */
dt_status *dt_onnx_scatter_add(const dt_onnx_call *c, dt_onnx_value *out) {
    dt_onnx *o = c->onnx;
    dt_type t = c->node->type;
    dt_onnx_value x = dt_onnx_whole(o, &c->in[0]), index = dt_onnx_whole(o, &c->in[1]);
    dt_onnx_value zeros = {
        .name = dt_onnx_scalar(o, t.dtype, 0), .type = t, .held = dt_scalar_type(t.dtype)};
    index = dt_onnx_cast(o, &index, DT_INT64);
    const char *numbers = dt_onnx_put2(o, "Unsqueeze", index.name, dt_onnx_int(o, -1));
    zeros = dt_onnx_whole(o, &zeros);
    *out = dt_onnx_value_of(
        dt_onnx_put(o, &(dt_onnx_node){.op = c->name,
                                       .in = {zeros.name, numbers, x.name},
                                       .attribute = {DT_ONNX_TEXT("reduction", "add")}}),
        &t);
    return NULL;
}
