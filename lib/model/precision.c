/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed precision, as Keras' policies have it: weights are float32, layers compute in 16 bits. Most
 * layers convert their inputs and weights (dt_layer_precision), so gradients of weights pass that
 * conversion and become float32. Outputs keep 16 bits until a layer, loss or metric needs float32.
 * All conversions are nodes of the graph, so that plans include their cost.
 */
#include "model/model.h"

const char *const dt_policies[] = {"float32", "mixed_bfloat16", "mixed_float16", NULL};

dt_dtype dt_policy_dtype(int policy) {
    static const dt_dtype computes[] = {DT_FLOAT32, DT_BFLOAT16, DT_FLOAT16};
    return computes[policy];
}

dt_value dt_to_float32(dt_value x) {
    return dt_dtype_is_narrow(dt_type_of_value(x).dtype) ? dt_convert(x, DT_FLOAT32) : x;
}

/* Converts 16- and 32-bit floats. Other values, which no policy covers, are not converted. */
static dt_value converted(dt_value x, dt_dtype to) {
    dt_dtype from = dt_type_of_value(x).dtype;
    return from == DT_FLOAT32 || dt_dtype_is_narrow(from) ? dt_convert(x, to) : x;
}

static dt_value *convert_all(dt_trace *t, const dt_value *x, int n, dt_dtype to) {
    dt_value *y = dt_arena_array(dt_trace_arena(t), dt_value, (size_t)n + 1);
    for (int i = 0; i < n; i++) y[i] = converted(x[i], to);
    return y;
}

static dt_value apply_in(const dt_layer *row, const dt_layer_call *c, int n_weights) {
    dt_layer_call call = *c;
    const dt_dtype inside = row->precision == DT_LAYER_WIDE ? DT_FLOAT32 : c->compute;
    dt_type out = *c->out;
    if (out.dtype == DT_FLOAT32) out.dtype = inside;
    if (c->n_in > 0) call.xs = convert_all(c->trace, c->xs, c->n_in, inside);
    call.x = c->n_in > 0 ? call.xs[0] : converted(c->x, inside);
    if (row->precision == DT_LAYER_NARROW)
        call.weight = convert_all(c->trace, c->weight, n_weights, inside);
    call.out = &out;
    const dt_value y = converted(dt_layer_call_row(row, &call), c->compute);
    for (int i = 0; i < DT_MAX_FURTHER && c->further[i].trace; i++)
        c->further[i] = converted(c->further[i], c->compute);
    return y;
}

static dt_dtype compute_of(const dt_layer_call *c) {
    const dt_layer_head *head = c->args;
    return head->has_dtype ? dt_policy_dtype(head->dtype) : c->compute;
}

/* Whether an input has 16 bits. In a float32 model the layer that it comes from has its own dtype
 * policy. */
static bool reads_narrow(const dt_layer_call *c) {
    for (int i = 0; i < c->n_in; i++)
        if (dt_dtype_is_narrow(dt_type_of_value(c->xs[i]).dtype)) return true;
    return false;
}

/* Whether nothing is converted: the model computes in float32, the layer has no dtype of its own,
 * and no input has 16 bits. */
static bool is_plain(const dt_layer_call *c) {
    return c->compute == DT_FLOAT32 && !((const dt_layer_head *)c->args)->has_dtype &&
           !reads_narrow(c);
}

dt_value dt_layer_mask(const dt_layer *row, const dt_layer_call *c) {
    dt_layer_call call = *c;
    if (!row->mask) return c->masks[0];
    if (!is_plain(c) && row->precision != DT_LAYER_AS_IT_IS) {
        call.xs = convert_all(c->trace, c->xs, c->n_in,
                              row->precision == DT_LAYER_WIDE ? DT_FLOAT32 : compute_of(c));
        call.x = call.xs[0];
    }
    return row->mask(&call);
}

dt_value dt_layer_apply(const dt_layer *row, const dt_layer_call *c, int n_weights) {
    dt_layer_call call = *c;
    call.compute = compute_of(c);
    return is_plain(c) || row->precision == DT_LAYER_AS_IT_IS ? dt_layer_call_row(row, &call)
                                                              : apply_in(row, &call, n_weights);
}
