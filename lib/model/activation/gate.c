/* SPDX-License-Identifier: Apache-2.0 */
/* Activations that multiply x, or one half of it, by a gate: silu, hard_silu, gelu, glu. */
#include "model/model.h"

static dt_value silu(const void *args, dt_value x) {
    (void)args;
    return dt_multiply(x, dt_logistic(x));
}

const dt_activation dt_activation_silu = {
    .kind = {.name = "silu",
             .about = "x sigmoid(x)",
             .aliases = (const char *const[]){"swish", NULL}},
    .call = silu,
    .range = DT_RANGE_BENT,
};

static dt_value hard_silu(const void *args, dt_value x) {
    (void)args;
    return dt_multiply(x, dt_hard_sigmoid(x));
}

const dt_activation dt_activation_hard_silu = {
    .kind = {.name = "hard_silu",
             .about = "x hard_sigmoid(x)",
             .aliases = (const char *const[]){"hard_swish", NULL}},
    .call = hard_silu,
    .range = DT_RANGE_BENT,
};

/* ---- gelu ---- */

struct gelu {
    bool approximate;
};

static const dt_field gelu_fields[] = {
    DT_FLAG(struct gelu, approximate, .help = "use the tanh approximation"), DT_END};

static dt_value gelu(const void *args, dt_value x) {
    return dt_gelu(x, ((const struct gelu *)args)->approximate);
}

const dt_activation dt_activation_gelu = {
    .kind = {"gelu", "x times the standard normal distribution function of x", gelu_fields,
             sizeof(struct gelu), NULL},
    .call = gelu,
    .range = DT_RANGE_BENT,
};

/* ---- glu ---- */

struct glu {
    int64_t axis;
};

static const dt_field glu_fields[] = {
    DT_INT(struct glu, axis, .preset = "-1", .help = "axis to split into values and gates"),
    DT_END};

/* Emits a matrix (n, n/2) whose columns select rows first, first + 1, ...: x times this matrix is
 * the half of x that begins at element `first`. */
static dt_value half_picker(dt_value x, int64_t n, int64_t first) {
    dt_type square = dt_type_of(DT_INT32, 2, (int64_t[]){n, n / 2});
    dt_value row = dt_iota(x.trace, &square, 0), column = dt_iota(x.trace, &square, 1);
    dt_value picked = dt_compare(row, dt_add(column, dt_like(column, (double)first)), DT_EQ);
    return dt_convert(picked, dt_type_of_value(x).dtype);
}

static dt_value glu(const void *args, dt_value x) {
    dt_type type = dt_type_of_value(x);
    int axis = dt_axis_of(x, ((const struct glu *)args)->axis);
    if (axis < 0) return (dt_value){0};
    int64_t n = type.dim[axis];
    if (n < 2 || n % 2) {
        dt_trace_fail(x.trace, dt_fail(DT_E_MODEL_SHAPE, NULL,
                                       "glu needs an even size to split axis %d in half, got %lld",
                                       axis, (long long)n));
        return (dt_value){0};
    }
    dt_value last = dt_swap_last(x, axis);
    dt_value value = dt_matmul(last, half_picker(x, n, 0)),
             gate = dt_matmul(last, half_picker(x, n, n / 2));
    return dt_swap_last(dt_multiply(value, dt_logistic(gate)), axis);
}

const dt_activation dt_activation_glu = {
    .kind = {"glu", "one half of x times the sigmoid of the other", glu_fields, sizeof(struct glu),
             NULL},
    .call = glu,
};
