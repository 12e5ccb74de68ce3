/* SPDX-License-Identifier: Apache-2.0 */
/* The table of forms for ops whose own rows do not name an ONNX operator. */
#include "export/onnx/forms.h"

static const dt_onnx_form forms[] = {
    {.op = &dt_op_maximum, .write = dt_onnx_extreme, .name = "Max", .of_bools = "Or"},
    {.op = &dt_op_minimum, .write = dt_onnx_extreme, .name = "Min", .of_bools = "And"},
    {.op = &dt_op_select, .write = dt_onnx_select, .name = "Where", .moves = true},
    {.op = &dt_op_rsqrt, .write = dt_onnx_rsqrt},
    {.op = &dt_op_log_plus_one, .write = dt_onnx_log_plus_one},
    {.op = &dt_op_exponential_minus_one, .write = dt_onnx_exponential_minus_one},
    {.op = &dt_op_compare, .write = dt_onnx_compare},
    {.op = &dt_op_convert, .write = dt_onnx_convert, .name = "Cast", .moves = true},
    {.op = &dt_op_reduce_precision, .write = dt_onnx_reduce_precision},
    {.op = &dt_op_stop_gradient, .write = dt_onnx_same, .moves = true},
    {.op = &dt_op_optimization_barrier, .write = dt_onnx_same, .moves = true},
    {.op = &dt_op_sharding, .write = dt_onnx_same, .moves = true},
    {.op = &dt_op_constant, .write = dt_onnx_constant_form, .moves = true},
    {.op = &dt_op_iota, .write = dt_onnx_iota, .name = "Range", .moves = true},
    {.op = &dt_op_broadcast_in_dim, .write = dt_onnx_broadcast, .name = "Expand", .moves = true},
    {.op = &dt_op_reshape, .write = dt_onnx_reshape_form, .name = "Reshape", .moves = true},
    {.op = &dt_op_transpose, .write = dt_onnx_transpose_form, .name = "Transpose", .moves = true},
    {.op = &dt_op_reduce, .write = dt_onnx_reduce},
    {.op = &dt_op_pad, .write = dt_onnx_pad_form, .name = "Pad", .moves = true},
    {.op = &dt_op_slice, .write = dt_onnx_slice_form, .name = "Slice", .moves = true},
    {.op = &dt_op_concatenate, .write = dt_onnx_concatenate, .name = "Concat", .moves = true},
    {.op = &dt_op_reverse, .write = dt_onnx_reverse, .name = "Slice", .moves = true},
    {.op = &dt_op_get_dimension_size, .write = dt_onnx_dimension_size},
    {.op = &dt_op_dot_general, .write = dt_onnx_dot, .name = "MatMul"},
    {.op = &dt_op_convolution, .write = dt_onnx_convolution, .name = "Conv"},
    {.op = &dt_op_reduce_window, .write = dt_onnx_windows},
    {.op = &dt_op_gather, .write = dt_onnx_gather, .name = "Gather", .moves = true},
    {.op = &dt_op_scatter_add, .write = dt_onnx_scatter_add, .name = "ScatterND"},
};

static bool find(const dt_op *op, dt_onnx_form *out) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].op == op) {
            *out = forms[i];
            return true;
        }
    *out = (dt_onnx_form){.op = op, .write = dt_onnx_elementwise, .name = op->forms.onnx};
    return op->forms.onnx != NULL;
}

bool dt_onnx_has_form(const dt_op *op) {
    dt_onnx_form form;
    return find(op, &form);
}

dt_status *dt_onnx_form_of(const dt_node *n, dt_onnx_form *out) {
    return find(n->op, out) ? NULL : dt_onnx_no_form(n, "it has no form in ONNX");
}

dt_status *dt_onnx_no_form(const dt_node *n, const char *format, ...) {
    DT_FORMATTED(why, format);
    return dt_fail(DT_E_NO_ONNX, NULL, "op %s in %s: %s", n->op->name,
                   n->path[0] ? n->path : "the model", dt_str_text(&why));
}
