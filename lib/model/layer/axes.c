/* SPDX-License-Identifier: Apache-2.0 */
/* Axes, means, and values repeated along axes: see axes.h. */
#include "model/layer/axes.h"

#include "op/shapes.h"

dt_status *dt_axes_find(const dt_layer_build *b, const dt_ints *axis, uint32_t *dims) {
    return dt_dims_find(&(dt_dims_of){.type = &b->in, .at = &b->at}, axis, dims);
}

dt_status *dt_axes_make(dt_layer_build *b, const dt_ints *axis, uint32_t *dims) {
    DT_TRY(dt_axes_find(b, axis, dims));
    b->made = dt_arena_copy(b->arena, dims, sizeof *dims);
    return NULL;
}

uint32_t dt_axes_made(const dt_layer_call *c) { return *(const uint32_t *)c->made; }

dt_status *dt_axes_weight(dt_layer_build *b, uint32_t dims, const dt_weight_request *w) {
    dt_weight_request along = *w;
    along.dtype = b->in.dtype;
    along.rank = 0;
    for (int d = 0; d < b->in.rank; d++)
        if (dims >> d & 1) along.dim[along.rank++] = b->in.dim[d];
    return dt_layer_weight(b, &along);
}

dt_value dt_along(dt_value v, const dt_type *type, uint32_t dims) {
    int8_t to[DT_MAX_RANK] = {0};
    int n = 0;
    for (int d = 0; d < type->rank; d++)
        if (dims >> d & 1) to[n++] = (int8_t)d;
    return dt_broadcast_in_dim(v, type, to);
}

dt_value dt_count_over(dt_value x, uint32_t dims) {
    dt_type t = dt_type_of_value(x);
    double known = 1;
    for (int d = 0; d < t.rank; d++)
        if (dims >> d & 1 && t.dim[d] > 0) known *= (double)t.dim[d];
    dt_value count = dt_scalar(x.trace, t.dtype, known);
    if (!(dims & 1) || !dt_is_batch(&t, 0)) return count;
    dt_value rows = dt_convert(dt_dim_value(x, 0), t.dtype);
    return dt_multiply(dt_maximum(rows, dt_like(rows, 1)), count);
}

dt_value dt_mean_over(dt_value x, uint32_t dims) {
    return dt_divide(dt_reduce(x, DT_REDUCE_SUM, dims), dt_count_over(x, dims));
}

dt_value dt_centre(dt_value x, uint32_t dims) {
    dt_type t = dt_type_of_value(x);
    return dt_subtract(x, dt_along(dt_mean_over(x, dims), &t, dt_all_dims(t.rank) & ~dims));
}

dt_value dt_inverse_deviation(dt_value centred, uint32_t dims, double epsilon) {
    dt_type t = dt_type_of_value(centred);
    dt_value variance = dt_mean_over(dt_multiply(centred, centred), dims);
    dt_value inverse = dt_rsqrt(dt_add(variance, dt_like(variance, epsilon)));
    return dt_along(inverse, &t, dt_all_dims(t.rank) & ~dims);
}

dt_value dt_standardize(dt_value x, uint32_t dims, double epsilon) {
    dt_value centred = dt_centre(x, dims);
    return dt_multiply(centred, dt_inverse_deviation(centred, dims, epsilon));
}

dt_value dt_scale_and_center(dt_value y, uint32_t dims, bool scale, bool center,
                             const dt_value *weight) {
    dt_type t = dt_type_of_value(y);
    if (scale) y = dt_multiply(y, dt_along(*weight++, &t, dims));
    if (center) y = dt_add(y, dt_along(*weight, &t, dims));
    return y;
}
