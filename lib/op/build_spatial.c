/* SPDX-License-Identifier: Apache-2.0 */
/* Builders of ops that move elements or use windows: see op.h. Like those of build.c they accept
 * the results of failed calls. */
#include <string.h>

#include "op/op.h"
#include "op/shapes.h"

dt_value dt_pad(dt_value x, const dt_pad_attr *attr) {
    bool pads = false;
    for (int d = 0; d < DT_MAX_RANK; d++)
        pads |= attr->dim[d].low || attr->dim[d].high || attr->dim[d].interior;
    return pads ? dt_emit(x.trace, &dt_op_pad, &x, 1, attr) : x;
}

dt_value dt_slice_axis(dt_value x, int axis, int64_t start, int64_t size, int64_t stride) {
    dt_type type = dt_type_of_value(x);
    dt_slice_attr a;
    const int along = dt_value_axis(x, axis);
    if (along < 0) return (dt_value){0};
    memset(&a, 0, sizeof a);
    for (int d = 0; d < type.rank; d++) {
        bool is_axis = d == along;
        a.dim[d].start = is_axis ? start : 0;
        a.dim[d].size = is_axis ? size : type.dim[d];
        a.dim[d].stride = is_axis ? stride : 1;
    }
    return dt_emit(x.trace, &dt_op_slice, &x, 1, &a);
}

/* Concatenates n values by halves, so that each value is copied log2(n) times instead of n
 * times. */
static dt_value join(const dt_value *x, int n, int axis) {
    dt_axis_attr a = {axis};
    if (n == 1) return x[0];
    dt_value in[2] = {join(x, n / 2, axis), join(x + n / 2, n - n / 2, axis)};
    return dt_emit(in[0].trace ? in[0].trace : in[1].trace, &dt_op_concatenate, in, 2, &a);
}

dt_value dt_concatenate(const dt_value *x, int n, int axis) {
    const int along = x && n > 0 ? dt_value_axis(x[0], axis) : -1;
    return along < 0 ? (dt_value){0} : join(x, n, along);
}

dt_value dt_reverse(dt_value x, uint32_t dims) {
    dt_reverse_attr a = {dims};
    return dims ? dt_emit(x.trace, &dt_op_reverse, &x, 1, &a) : x;
}

dt_value dt_convolution(dt_value lhs, dt_value rhs, const dt_convolution_attr *attr) {
    return dt_emit(lhs.trace ? lhs.trace : rhs.trace, &dt_op_convolution, (dt_value[]){lhs, rhs}, 2,
                   attr);
}

/* Keras' order of dimensions: b01f x 01io -> b01f */
dt_convolution_attr dt_convolution_channels_last(int n_spatial) {
    dt_convolution_attr a;
    memset(&a, 0, sizeof a);
    a.n_spatial = (int8_t)n_spatial;
    a.lhs_feature = a.out_feature = a.rhs_out = (int8_t)(n_spatial + 1);
    a.rhs_in = (int8_t)n_spatial;
    a.feature_groups = a.batch_groups = 1;
    for (int i = 0; i < n_spatial; i++) {
        a.lhs_spatial[i] = a.out_spatial[i] = (int8_t)(i + 1);
        a.rhs_spatial[i] = (int8_t)i;
        a.window[i] = DT_WINDOW_ONE;
    }
    return a;
}

dt_value dt_reduce_window(dt_value x, const dt_reduce_window_attr *attr) {
    return dt_emit(x.trace, &dt_op_reduce_window, &x, 1, attr);
}

dt_reduce_window_attr dt_windows_of_one(dt_reduce_kind kind, int rank) {
    dt_reduce_window_attr a;
    memset(&a, 0, sizeof a);
    a.kind = kind;
    for (int d = 0; d < rank; d++) {
        a.size[d] = 1;
        a.window[d] = DT_WINDOW_ONE;
    }
    return a;
}
