/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How ops of the table are written as ONNX operators. If ONNX has an operator with the same inputs,
 * the op's own row has its name (`onnx`). Other ops have a row in forms.c. An op with neither is
 * decomposed first, if its row says how (dt_decompose). Otherwise the model cannot be exported:
 * NO_ONNX.
 */
#ifndef DT_ONNX_FORMS_H
#define DT_ONNX_FORMS_H

#include "export/onnx/emit.h"

typedef struct dt_onnx_call {
    dt_onnx *onnx;
    const dt_node *node;
    /* names of the operators that the form writes: for numbers, and for bools */
    const char *name, *of_bools;
    dt_onnx_value in[DT_MAX_IN];
} dt_onnx_call;

typedef dt_status *dt_onnx_writer(const dt_onnx_call *c, dt_onnx_value *out);
typedef struct dt_onnx_form {
    const dt_op *op;
    dt_onnx_writer *write;
    /* name of an operator of ONNX for `write`, which gets it in dt_onnx_call. Functions that always
     * write the same operators, or choose among several, ignore it */
    const char *name;
    const char *of_bools; /* name of the operator for bools if it is another one; else NULL */
    /* whether results need no rounding, because they are elements of the inputs or rounded
     * already */
    bool moves;
} dt_onnx_form;
bool dt_onnx_has_form(const dt_op *op);
/* Finds the form of a node's op. Fails with NO_ONNX if it has none. */
dt_status *dt_onnx_form_of(const dt_node *n, dt_onnx_form *out) DT_MUST_USE;

/* Returns a NO_ONNX error such as "op pad in conv2d: ...". */
dt_status *dt_onnx_no_form(const dt_node *n, const char *format, ...) DT_MUST_USE DT_PRINTF(2, 3);

/* Functions in form_elementwise.c that write forms. */
dt_onnx_writer dt_onnx_elementwise, dt_onnx_extreme, dt_onnx_convert, dt_onnx_compare,
    dt_onnx_select, dt_onnx_rsqrt, dt_onnx_log_plus_one, dt_onnx_exponential_minus_one,
    dt_onnx_reduce_precision, dt_onnx_same;
/* Functions in form_shape.c that write forms. */
dt_onnx_writer dt_onnx_constant_form, dt_onnx_iota, dt_onnx_broadcast, dt_onnx_reshape_form,
    dt_onnx_transpose_form, dt_onnx_reduce, dt_onnx_pad_form, dt_onnx_slice_form,
    dt_onnx_concatenate, dt_onnx_reverse, dt_onnx_dimension_size;
/* Functions in form_product.c, form_window.c and form_shape.c that write forms. */
dt_onnx_writer dt_onnx_dot, dt_onnx_convolution, dt_onnx_windows, dt_onnx_gather,
    dt_onnx_scatter_add;

#endif
