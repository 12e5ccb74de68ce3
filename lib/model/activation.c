/*
 * Activations. The derivatives at the corners are Keras': maximum and minimum give the gradient of a tie to their second input,
 * so that the order of their inputs below says who gets it: relu'(0) = 0, but clipping to [-1, 1] lets it pass at -1 and 1.
 */
#include <string.h>

#include "model/model.h"

static dt_value linear(dt_value x)
{
    return x;
}

static dt_value relu(dt_value x)
{
    return dt_maximum(x, dt_like(x, 0));
}

static dt_value relu6(dt_value x)
{
    return dt_clamp(x, 0, 6);
}

/* x where x > 0, else slope * x, for 0 <= slope < 1 */
static dt_value leaky_relu(dt_value x)
{
    return dt_maximum(x, dt_multiply(x, dt_like(x, 0.2)));
}

static dt_value softmax(dt_value x)
{
    return dt_softmax(x);
}

/* x - max - log sum exp(x - max), over the last dimension */
static dt_value log_softmax(dt_value x)
{
    dt_type type = dt_type_of_value(x); /* (..., C) */
    uint32_t last = 1u << (type.rank - 1);
    dt_value centred = dt_subtract(x, dt_broadcast_rows(dt_reduce(x, DT_REDUCE_MAX, last), &type));
    dt_value sum = dt_reduce(dt_exponential(centred), DT_REDUCE_SUM, last); /* (...) */
    return dt_subtract(centred, dt_broadcast_rows(dt_log(sum), &type));
}

static dt_value sigmoid(dt_value x)
{
    return dt_logistic(x);
}

static dt_value tanh_(dt_value x)
{
    return dt_tanh(x);
}

static dt_value exponential(dt_value x)
{
    return dt_exponential(x);
}

/* scale * x where x is positive, else scale * alpha * (exp x - 1). The exponential sees no positive x: it would overflow, and an
 * infinity that is not selected still makes the gradient NaN. */
static dt_value exponential_below(dt_value x, dt_value positive, double scale, double alpha)
{
    dt_value below = dt_subtract(dt_exponential(dt_minimum(dt_like(x, 0), x)), dt_like(x, 1));
    dt_value above = scale == 1 ? x : dt_multiply(x, dt_like(x, scale));
    return dt_select(positive, above, dt_multiply(below, dt_like(x, scale * alpha)));
}

static dt_value elu(dt_value x)
{
    return exponential_below(x, dt_compare(x, dt_like(x, 0), DT_GT), 1, 1);
}

/* G. Klambauer et al., Self-Normalizing Neural Networks (2017). */
static dt_value selu(dt_value x)
{
    return exponential_below(x, dt_compare(x, dt_like(x, 0), DT_GE), 1.0507009873554804934, 1.6732632423543772848);
}

/* log(1 + exp x) = max(x, 0) + log(1 + exp -|x|); max(x, 0) is written (x + |x|) / 2, whose slope at 0 is the true one, 1/2. */
dt_value dt_softplus(dt_value x)
{
    dt_value size = dt_abs(x);
    dt_value tail = dt_log(dt_add(dt_like(x, 1), dt_exponential(dt_negate(size))));
    return dt_add(dt_multiply(dt_add(x, size), dt_like(x, 0.5)), tail);
}

static dt_value softsign(dt_value x)
{
    return dt_divide(x, dt_add(dt_like(x, 1), dt_abs(x)));
}

static dt_value silu(dt_value x)
{
    return dt_multiply(x, dt_logistic(x));
}

static dt_value hard_sigmoid(dt_value x)
{
    return dt_clamp(dt_add(dt_divide(x, dt_like(x, 6)), dt_like(x, 0.5)), 0, 1);
}

static dt_value hard_tanh(dt_value x)
{
    return dt_minimum(dt_like(x, 1), dt_maximum(dt_like(x, -1), x));
}

/* x moved towards 0 by 0.5, and 0 where |x| <= 0.5 */
static dt_value soft_shrink(dt_value x)
{
    dt_value above = dt_maximum(dt_subtract(x, dt_like(x, 0.5)), dt_like(x, 0));
    dt_value below = dt_minimum(dt_add(x, dt_like(x, 0.5)), dt_like(x, 0));
    return dt_add(above, below);
}

/* One table, two arrays: fields want the names alone. */
#define ROWS(ROW)                                                                                                                  \
    ROW("linear", linear) ROW("relu", relu) ROW("softmax", softmax) ROW("sigmoid", sigmoid) ROW("tanh", tanh_)                     \
    ROW("relu6", relu6) ROW("leaky_relu", leaky_relu) ROW("elu", elu) ROW("selu", selu) ROW("softplus", dt_softplus)                  \
    ROW("softsign", softsign) ROW("silu", silu) ROW("swish", silu) ROW("exponential", exponential)                                 \
    ROW("log_softmax", log_softmax) ROW("hard_sigmoid", hard_sigmoid) ROW("hard_tanh", hard_tanh) ROW("soft_shrink", soft_shrink)

#define NAME(name, function) name,
const char *const dt_activations[] = { ROWS(NAME) NULL };
#undef NAME

int dt_activation_find(const char *name)
{
    for (int i = 0; dt_activations[i]; i++)
        if (strcmp(dt_activations[i], name) == 0)
            return i;
    return -1;
}

dt_value dt_activate(int activation, dt_value x)
{
#define FUNCTION(name, function) function,
    static dt_value (*const functions[])(dt_value) = { ROWS(FUNCTION) };
#undef FUNCTION
    return x.trace ? functions[activation](x) : x;
}
