/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clipping gradients, in Keras' formulas:
 *
 *     clipvalue        g cut to [-c, c], element by element
 *     clipnorm         g c / max(|g|, c), each gradient by its own norm
 *     global_clipnorm  the same by the norm of all gradients together; a norm that is not finite
 *                      makes all gradients NaN, so that it is seen
 */
#include "model/model.h"

static dt_value sum_of_squares(dt_value g) { return dt_reduce_sum(dt_multiply(g, g), DT_NO_AXIS); }

/* g c / max(|g|, c) */
static dt_value clip_norm(dt_value g, double c) {
    dt_value norm = dt_sqrt(sum_of_squares(g));
    return dt_divide(dt_multiply(g, dt_like(g, c)), dt_maximum(norm, dt_like(norm, c)));
}

/* The norm of all gradients, in the dtype of the first. */
static dt_value global_norm(const dt_value *gradient, int n) {
    dt_value sum = {0};
    for (int i = 0; i < n; i++) {
        if (!gradient[i].trace) continue;
        dt_value own = sum_of_squares(gradient[i]);
        sum = sum.trace ? dt_add(sum, dt_convert(own, dt_type_of_value(sum).dtype)) : own;
    }
    return dt_sqrt(sum);
}

/* c min(1 / norm, 1 / c), and NaN when the norm is not finite. */
static dt_value global_scale(dt_value norm, double c) {
    dt_value inverse = dt_minimum(dt_divide(dt_like(norm, 1), norm), dt_like(norm, 1 / c));
    return dt_add(dt_multiply(dt_like(norm, c), inverse), dt_subtract(norm, norm));
}

static bool has_any(const dt_value *gradient, int n) {
    for (int i = 0; i < n; i++)
        if (gradient[i].trace) return true;
    return false;
}

void dt_optimizer_clip(const dt_optimizer_head *head, dt_value *gradient, int n) {
    dt_value scale = {0};
    if (head->global_clipnorm > 0 && has_any(gradient, n))
        scale = global_scale(global_norm(gradient, n), head->global_clipnorm);
    for (int i = 0; i < n; i++) {
        dt_value g = gradient[i];
        if (!g.trace) continue;
        if (scale.trace) gradient[i] = dt_multiply(g, dt_convert(scale, dt_type_of_value(g).dtype));
        else if (head->clipnorm > 0) gradient[i] = clip_norm(g, head->clipnorm);
        else if (head->clipvalue > 0) gradient[i] = dt_clamp(g, -head->clipvalue, head->clipvalue);
    }
}
