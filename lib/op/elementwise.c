/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise ops: shared code (elementwise.h), then rows of ops with one or two inputs and no
 * attributes. To add one, add a row here with its comment, and its name to ops.h. */
#include "op/elementwise.h"

#include "base/elementary.h"
#include "op/cells.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

#include <math.h>

dt_status *dt_want_dtype(const dt_infer *q, int i, int c, dt_wanted wanted) {
    dt_dtype d = q->in[i].dtype;
    if (wanted == DT_WANT_NUMBERS && d == DT_BOOL)
        return dt_bad_shape(q, "(C%d) expected numbers, got %s", c, dt_text_of(&q->in[i]).s);
    if (wanted == DT_WANT_FLOATS && !dt_dtype_is_float(d))
        return dt_bad_shape(q, "(C%d) expected floats, got %s", c, dt_text_of(&q->in[i]).s);
    return NULL;
}

static dt_status *infer_elementwise(dt_infer *q, dt_wanted wanted) {
    for (int i = 1; i < q->n_in; i++)
        if (!dt_type_equal(&q->in[0], &q->in[i]))
            return dt_bad_shape(q, "(C1) expected two values of one type, got %s and %s",
                                dt_text_of(&q->in[0]).s, dt_text_of(&q->in[i]).s);
    DT_TRY(dt_want_dtype(q, 0, q->n_in > 1 ? 2 : 1, wanted));
    q->out = q->in[0];
    return NULL;
}

dt_status *dt_infer_any(dt_infer *q) { return infer_elementwise(q, DT_WANT_ANY); }

dt_status *dt_infer_numbers(dt_infer *q) { return infer_elementwise(q, DT_WANT_NUMBERS); }

dt_status *dt_infer_floats(dt_infer *q) { return infer_elementwise(q, DT_WANT_FLOATS); }

void dt_rule_elementwise(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)in, (void)attr;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++) {
        for (int i = 0; i < DT_MAX_IN; i++) rule->in[i][d] = (int8_t)d;
        rule->out[d] = (int8_t)d;
    }
}

void dt_eval_unary(const dt_call *c, double (*floats)(double), int64_t (*ints)(int64_t)) {
    const dt_view *x = &c->in[0], *y = &c->out;
    int64_t n = dt_type_elements(&y->type);
    if (dt_dtype_is_float(y->type.dtype))
        for (int64_t i = 0; i < n; i++) dt_cell_set_double(y, i, floats(dt_cell_double(x, i)));
    else
        for (int64_t i = 0; i < n; i++) dt_cell_set_int(y, i, ints(dt_cell_int(x, i)));
}

void dt_eval_binary(const dt_call *c, double (*floats)(double, double),
                    int64_t (*ints)(int64_t, int64_t)) {
    const dt_view *a = &c->in[0], *b = &c->in[1], *y = &c->out;
    int64_t n = dt_type_elements(&y->type);
    if (dt_dtype_is_float(y->type.dtype))
        for (int64_t i = 0; i < n; i++)
            dt_cell_set_double(y, i, floats(dt_cell_double(a, i), dt_cell_double(b, i)));
    else
        for (int64_t i = 0; i < n; i++)
            dt_cell_set_int(y, i, ints(dt_cell_int(a, i), dt_cell_int(b, i)));
}

dt_value dt_placement(dt_value pred, dt_value dy) { return dt_select(pred, dy, dt_like(dy, 0)); }

/* ---- rows ---- */

/*
 * A row defines an op. f: its result, an expression in the doubles x, or a and b. ints: a function
 * with the same result for integers; NULL where `wanted` excludes them. dx, or da and db: the
 * gradients of its inputs, expressions in these, the result y and its gradient dy. Members of
 * dt_op follow.
 *
 * scripts/op-header copies the comment before a row to the public header. The constraints in it are
 * those of `wanted`, unless the comment lists its own.
 */
#define OP_ROW(op, n, wanted, ...)                                                                 \
    const dt_op dt_op_##op = {.name = #op,                                                         \
                              .n_in = n,                                                           \
                              .role = DT_ROLE_ELEMENT,                                             \
                              .infer = dt_infer_##wanted,                                          \
                              .rule = dt_rule_elementwise,                                         \
                              .eval = eval_##op,                                                   \
                              __VA_ARGS__};

#define OP_EVAL(op, f, ints)                                                                       \
    static double floats_##op(double x) { return f; }                                              \
    static void eval_##op(const dt_call *c) { dt_eval_unary(c, floats_##op, ints); }

#define OP_GRAD(op, dx)                                                                            \
    static void grad_##op(dt_grad *g) {                                                            \
        dt_value x = g->in[0], y = g->out, dy = g->dout;                                           \
        (void)x, (void)y;                                                                          \
        g->din[0] = dx;                                                                            \
    }

#define UNARY_OP(op, wanted, f, ints, dx, ...)                                                     \
    OP_EVAL(op, f, ints)                                                                           \
    OP_GRAD(op, dx)                                                                                \
    OP_ROW(op, 1, wanted, .grad = grad_##op, .forms.stablehlo = dt_hlo_same, __VA_ARGS__)

#define BINARY_OP(op, wanted, f, ints, da, db, ...)                                                \
    static double floats_##op(double a, double b) { return f; }                                    \
    static void eval_##op(const dt_call *c) { dt_eval_binary(c, floats_##op, ints); }              \
    static void grad_##op(dt_grad *g) {                                                            \
        dt_value a = g->in[0], b = g->in[1], y = g->out, dy = g->dout;                             \
        (void)a, (void)b, (void)y;                                                                 \
        if (g->wants[0]) g->din[0] = da;                                                           \
        if (g->wants[1]) g->din[1] = db;                                                           \
    }                                                                                              \
    OP_ROW(op, 2, wanted, .grad = grad_##op, .forms.stablehlo = dt_hlo_same, __VA_ARGS__)

static int64_t int_divide(int64_t a, int64_t b) {
    if (b == 0) return -1;
    return b == -1 ? dt_int_subtract(0, a) : a / b;
}
static int64_t int_max(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t int_min(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t int_negate(int64_t x) { return dt_int_subtract(0, x); }
static int64_t int_abs(int64_t x) { return x < 0 ? int_negate(x) : x; }
static int64_t int_sign(int64_t x) { return (x > 0) - (x < 0); }

/* add: y = a + b.
 * (C1) a and b have one dtype.
 * (C2) They hold numbers; integers wrap.
 * gradient: da = dy, db = dy */
BINARY_OP(add, numbers, a + b, dt_int_add, dy, dy, .traits.additive = true, .forms.onnx = "Add")

/* subtract: y = a - b.
 * (C1) a and b have one dtype.
 * (C2) They hold numbers; integers wrap.
 * gradient: da = dy, db = -dy */
BINARY_OP(subtract, numbers, a - b, dt_int_subtract, dy, dt_negate(dy), .traits.additive = true,
          .forms.onnx = "Sub")

/* multiply: y = a * b.
 * (C1) a and b have one dtype.
 * (C2) They hold numbers; integers wrap.
 * gradient: da = dy b, db = dy a */
BINARY_OP(multiply, numbers, (a * b), dt_int_multiply, dt_multiply(dy, b), dt_multiply(dy, a),
          .linear = 3, .forms.onnx = "Mul")

/* divide: y = a / b. Integers are divided towards zero; x / 0 is -1 (all bits set), and the lowest
 * number / -1 is itself.
 * gradient: da = dy / b, db = -dy y / b */
BINARY_OP(divide, numbers, a / b, int_divide, dt_divide(dy, b),
          dt_negate(dt_multiply(dt_divide(dy, b), y)), .linear = 1, .traits.positive = true,
          .forms.onnx = "Div")

/* maximum: y = the larger of a and b; NaN if one is; of bools: or.
 * gradient: dy to the larger one; where a = b to b alone, so that the slope of relu, maximum(x, 0),
 * is 0 at 0 */
BINARY_OP(maximum, any, dt_double_max(a, b), int_max, dt_placement(dt_compare(a, b, DT_GT), dy),
          dt_placement(dt_compare(b, a, DT_GE), dy), .traits.exact = true)

/* minimum: y = the smaller of a and b; NaN if one is; of bools: and.
 * gradient: dy to the smaller one; where a = b to b alone
 *
 * call: dt_value dt_clamp(dt_value x, double low, double high)
 * computes: y = minimum(maximum(x, low), high)
 * expects: x holds floats, or integers with low and high within their range
 * gradient: dx = dy between low and high, 0 elsewhere
 * stablehlo: maximum, minimum */
BINARY_OP(minimum, any, dt_double_min(a, b), int_min, dt_placement(dt_compare(a, b, DT_LT), dy),
          dt_placement(dt_compare(b, a, DT_LE), dy), .traits.exact = true)

/* Emits the gradient of the base: dy * b * a^(b - 1), or 0 where b is 0. */
static dt_value power_base(dt_value a, dt_value b, dt_value dy) {
    dt_value is_zero = dt_compare(b, dt_like(b, 0), DT_EQ);
    dt_value safe = dt_select(is_zero, dt_like(b, 1), b);
    return dt_multiply(dy, dt_multiply(b, dt_power(a, dt_subtract(safe, dt_like(b, 1)))));
}

/* Emits the gradient of the exponent: dy * y * log a, with 0 in place of log a where a is not
 * positive. */
static dt_value power_exponent(dt_value a, dt_value y, dt_value dy) {
    dt_value is_positive = dt_compare(a, dt_like(a, 0), DT_GT);
    dt_value safe = dt_select(is_positive, a, dt_like(a, 1));
    return dt_multiply(dy, dt_multiply(y, dt_log(safe)));
}

/* power: y = a to the power of b, as pow(3) defines it.
 * gradient: da = dy b a^(b - 1), 0 where b = 0; db = dy y log(a), with 0 for log(a) where a <= 0 */
BINARY_OP(power, floats, dt_portable_pow(a, b), NULL, power_base(a, b, dy),
          power_exponent(a, y, dy), .traits.positive = true, .operations = 5, .forms.onnx = "Pow")

/* negate: y = -x.
 * (C1) x holds numbers; integers wrap.
 * gradient: dx = -dy */
UNARY_OP(negate, numbers, -x, int_negate, dt_negate(dy), .traits.exact = true, .linear = 1,
         .forms.onnx = "Neg")

/* exponential: y = e to the power of x.
 * gradient: dx = dy y */
UNARY_OP(exponential, floats, dt_portable_exp(x), NULL, dt_multiply(dy, y), .operations = 2,
         .forms.onnx = "Exp")

/* log: y = the natural logarithm of x; NaN below 0, -inf at 0.
 * gradient: dx = dy / x */
UNARY_OP(log, floats, dt_portable_log(x), NULL, dt_divide(dy, x), .traits.positive = true,
         .operations = 2, .forms.onnx = "Log")

/* sqrt: y = the square root of x; NaN below 0.
 * gradient: dx = dy / (2 y) */
UNARY_OP(sqrt, floats, sqrt(x), NULL, dt_divide(dy, dt_add(y, y)), .traits.positive = true,
         .operations = 2, .forms.onnx = "Sqrt")

/* rsqrt: y = 1 / the square root of x; NaN below 0, inf at 0, -inf at -0.
 * gradient: dx = -dy y^3 / 2 */
UNARY_OP(rsqrt, floats, 1 / sqrt(x), NULL,
         dt_multiply(dy, dt_multiply(dt_multiply(y, dt_multiply(y, y)), dt_like(y, -0.5))),
         .traits.positive = true, .operations = 2)

/* abs: y = |x|.
 * (C1) x holds numbers; the lowest integer becomes itself.
 * gradient: dx = dy sign(x), 0 at 0 */
UNARY_OP(abs, numbers, fabs(x), int_abs, dt_multiply(dy, dt_sign(x)), .traits.exact = true,
         .forms.onnx = "Abs")

/* sign: y = -1, 0 or 1; a zero keeps its sign, and NaN stays NaN.
 * gradient: none */
OP_EVAL(sign, x > 0 ? 1 : x < 0 ? -1 : x, int_sign)
OP_ROW(sign, 1, numbers, .forms.stablehlo = dt_hlo_same, .traits.exact = true, .forms.onnx = "Sign")

/* tanh: y = the hyperbolic tangent of x.
 * gradient: dx = dy (1 - y^2) */
UNARY_OP(tanh, floats, tanh(x), NULL,
         dt_multiply(dy, dt_subtract(dt_like(y, 1), dt_multiply(y, y))), .operations = 2,
         .forms.onnx = "Tanh")

/* logistic: y = 1 / (1 + e^-x), the sigmoid.
 * gradient: dx = dy y (1 - y) */
UNARY_OP(logistic, floats, 1 / (1 + dt_portable_exp(-x)), NULL,
         dt_multiply(dy, dt_multiply(y, dt_subtract(dt_like(y, 1), y))), .operations = 3,
         .forms.onnx = "Sigmoid")

/* Emits the derivative of erf: 2 / sqrt(pi) * e^(-x^2). */
static dt_value bell(dt_value x) {
    dt_value y = dt_exponential(dt_negate(dt_multiply(x, x)));
    return dt_multiply(y, dt_like(y, 1.1283791670955126));
}

/* Writes erf, which is an operation of the chlo dialect. */
static dt_hlo_value hlo_erf(const dt_hlo_call *c) {
    return dt_hlo_op(c->hlo, "chlo.erf", c->in, 1, &c->type, "%s", "");
}

/* erf: y = 2 / sqrt(pi) * the integral of e^(-t^2) from 0 to x.
 * gradient: dx = dy 2 / sqrt(pi) e^(-x^2)
 * stablehlo: chlo.erf */
OP_EVAL(erf, erf(x), NULL)
OP_GRAD(erf, dt_multiply(dy, bell(x)))
OP_ROW(erf, 1, floats, .grad = grad_erf, .forms.stablehlo = hlo_erf, .operations = 16,
       .forms.onnx = "Erf")

/* log_plus_one: y = log(1 + x), with all digits where x is small; NaN below -1, -inf at -1.
 * gradient: dx = dy / (1 + x) */
UNARY_OP(log_plus_one, floats, dt_portable_log1p(x), NULL, dt_divide(dy, dt_add(x, dt_like(x, 1))),
         .traits.positive = true, .operations = 4)

/* exponential_minus_one: y = e^x - 1, with all digits where x is small.
 * gradient: dx = dy e^x */
UNARY_OP(exponential_minus_one, floats, dt_portable_expm1(x), NULL,
         dt_multiply(dy, dt_exponential(x)), .operations = 4)

/* cosine: y = cos x.
 * gradient: dx = -dy sin(x) */
UNARY_OP(cosine, floats, dt_portable_cos(x), NULL, dt_multiply(dy, dt_negate(dt_sine(x))),
         .operations = 118, .forms.onnx = "Cos")

/* sine: y = sin x.
 * gradient: dx = dy cos(x) */
UNARY_OP(sine, floats, dt_portable_sin(x), NULL, dt_multiply(dy, dt_cosine(x)), .operations = 118,
         .forms.onnx = "Sin")

bool dt_is_add(const dt_node *n) { return n->op == &dt_op_add; }
