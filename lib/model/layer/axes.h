/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of layers that normalize, values along axes, and means. */
#ifndef DT_MODEL_LAYER_AXES_H
#define DT_MODEL_LAYER_AXES_H

#include "model/model.h"

/* Sets *dims to the set of dimensions of the layer's input that `axis` names: dt_dims_find, whose
 * errors get the layer's location. */
dt_status *dt_axes_find(const dt_layer_build *b, const dt_ints *axis, uint32_t *dims) DT_MUST_USE;
/* Like dt_axes_find, but also stores the dimensions in b->made; dt_axes_made returns them to the
 * layer's `call`. */
dt_status *dt_axes_make(dt_layer_build *b, const dt_ints *axis, uint32_t *dims) DT_MUST_USE;
uint32_t dt_axes_made(const dt_layer_call *c);
/* Adds a weight with the dtype and the dimensions `dims` of the input, in order, in place of those
 * of *w. */
dt_status *dt_axes_weight(dt_layer_build *b, uint32_t dims, const dt_weight_request *w) DT_MUST_USE;

/* Repeats v, which has only the dimensions `dims` of `type`, in order, to `type`. */
dt_value dt_along(dt_value v, const dt_type *type, uint32_t dims);
/* Emits the number of elements of x along `dims`, a scalar of x's dtype; at least 1, so that a
 * replica without examples does not divide by 0. */
dt_value dt_count_over(dt_value x, uint32_t dims);
/* Emits the mean of x over `dims`, which are removed. */
dt_value dt_mean_over(dt_value x, uint32_t dims);
/* Subtracts from x its mean over `dims`. */
dt_value dt_centre(dt_value x, uint32_t dims);
/* Emits 1 / sqrt(variance + epsilon), repeated along `dims`; the variance is that of a centred
 * value over `dims`. */
dt_value dt_inverse_deviation(dt_value centred, uint32_t dims, double epsilon);
/* Subtracts the mean and divides by sqrt(variance + epsilon): the result has mean 0 and, but for
 * epsilon, deviation 1. */
dt_value dt_standardize(dt_value x, uint32_t dims, double epsilon);
/* Emits y * gamma + beta, where both are repeated along the dimensions other than `dims`; without
 * gamma or beta if `scale` or `center` is false. weight: gamma and beta, as far as they exist. */
dt_value dt_scale_and_center(dt_value y, uint32_t dims, bool scale, bool center,
                             const dt_value *weight);

#endif
