/* The table of forms. */
#include "onnx/forms.h"

#include <stdarg.h>

static const dt_onnx_form forms[] = {
    { &dt_op_add, dt_onnx_elementwise, "Add" },
    { &dt_op_subtract, dt_onnx_elementwise, "Sub" },
    { &dt_op_multiply, dt_onnx_elementwise, "Mul" },
    { &dt_op_divide, dt_onnx_elementwise, "Div" },
    { &dt_op_maximum, dt_onnx_elementwise, "Max" },
    { &dt_op_minimum, dt_onnx_elementwise, "Min" },
    { &dt_op_power, dt_onnx_elementwise, "Pow" },
    { &dt_op_negate, dt_onnx_elementwise, "Neg" },
    { &dt_op_exponential, dt_onnx_elementwise, "Exp" },
    { &dt_op_log, dt_onnx_elementwise, "Log" },
    { &dt_op_sqrt, dt_onnx_elementwise, "Sqrt" },
    { &dt_op_abs, dt_onnx_elementwise, "Abs" },
    { &dt_op_sign, dt_onnx_elementwise, "Sign" },
    { &dt_op_tanh, dt_onnx_elementwise, "Tanh" },
    { &dt_op_logistic, dt_onnx_elementwise, "Sigmoid" },
    { &dt_op_erf, dt_onnx_elementwise, "Erf" },
    { &dt_op_cosine, dt_onnx_elementwise, "Cos" },
    { &dt_op_sine, dt_onnx_elementwise, "Sin" },
    { &dt_op_select, dt_onnx_select, "Where" },
    { &dt_op_rsqrt, dt_onnx_rsqrt, NULL },
    { &dt_op_log_plus_one, dt_onnx_log_plus_one, NULL },
    { &dt_op_exponential_minus_one, dt_onnx_exponential_minus_one, NULL },
    { &dt_op_compare, dt_onnx_compare, NULL },
    { &dt_op_convert, dt_onnx_convert, "Cast" },
    { &dt_op_reduce_precision, dt_onnx_reduce_precision, NULL },
    { &dt_op_stop_gradient, dt_onnx_same, NULL },
    { &dt_op_optimization_barrier, dt_onnx_same, NULL },
    { &dt_op_sharding, dt_onnx_same, NULL },
    { &dt_op_constant, dt_onnx_constant_form, NULL },
    { &dt_op_iota, dt_onnx_iota, "Range" },
    { &dt_op_broadcast_in_dim, dt_onnx_broadcast, "Expand" },
    { &dt_op_reshape, dt_onnx_reshape_form, "Reshape" },
    { &dt_op_transpose, dt_onnx_transpose_form, "Transpose" },
    { &dt_op_reduce, dt_onnx_reduce, NULL },
    { &dt_op_pad, dt_onnx_pad_form, "Pad" },
    { &dt_op_slice, dt_onnx_slice_form, "Slice" },
    { &dt_op_concatenate, dt_onnx_concatenate, "Concat" },
    { &dt_op_reverse, dt_onnx_reverse, "Slice" },
    { &dt_op_get_dimension_size, dt_onnx_dimension_size, NULL },
    { &dt_op_dot_general, dt_onnx_dot, "MatMul" },
    { &dt_op_convolution, dt_onnx_convolution, "Conv" },
    { &dt_op_reduce_window, dt_onnx_windows, NULL },
    { &dt_op_gather, dt_onnx_gather, "Gather" },
    { &dt_op_scatter_add, dt_onnx_scatter_add, "ScatterND" },
};

const dt_onnx_form *dt_onnx_form_of(const dt_op *op)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].op == op)
            return &forms[i];
    return NULL;
}

dt_status *dt_onnx_no_form(const dt_node *n, const char *format, ...)
{
    dt_str why = { 0 };
    va_list args;
    va_start(args, format);
    dt_str_vprintf(&why, format, args);
    va_end(args);
    dt_status *s = dt_fail(DT_E_NO_ONNX, NULL, "op %s in %s: %s", n->op->name, n->path[0] ? n->path : "the model", dt_str_text(&why));
    dt_str_release(&why);
    return s;
}
