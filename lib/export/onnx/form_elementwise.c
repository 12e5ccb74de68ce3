/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise ops. Tensors of inputs may lack dimensions that broadcasting adds. The result's
 * tensor has every dimension that at least one input's tensor has.
 *
 * Functions that ONNX lacks are composed of others, without losing digits near zero:
 *
 *     log_plus_one(x)           log(u) x / (u - 1) with u = 1 + x as it is rounded, and x where u
 *                               is 1 (Kahan)
 *     exponential_minus_one(x)  2 sinh(x / 2) exp(x / 2), with -100 in place of smaller x
 */
#include "export/onnx/forms.h"

/* Returns the type that two types are broadcast to, aligned at the last dimension: where a size is
 * 1 or missing, the other type's size. */
static dt_type joined(const dt_type *a, const dt_type *b) {
    dt_type t = a->rank >= b->rank ? *a : *b;
    const dt_type *less = a->rank >= b->rank ? b : a;
    for (int i = 0; i < less->rank; i++) {
        int64_t *size = &t.dim[t.rank - less->rank + i];
        if (*size == 1) *size = less->dim[i];
    }
    return t;
}

static dt_onnx_value result(const dt_onnx_call *c, const char *name) {
    dt_onnx_value y = {.name = name, .type = c->node->type, .held = c->in[0].held};
    for (int i = 1; i < c->node->n_in; i++) y.held = joined(&y.held, &c->in[i].held);
    y.held.dtype = y.type.dtype;
    return y;
}

dt_status *dt_onnx_elementwise(const dt_onnx_call *c, dt_onnx_value *out) {
    dt_onnx_node n = {.op = c->name};
    for (int i = 0; i < c->node->n_in; i++) n.in[i] = c->in[i].name;
    *out = result(c, dt_onnx_put(c->onnx, &n));
    return NULL;
}

/* Writes a maximum or minimum. ONNX's Max and Min do not accept bools, so these use other
 * operators. */
dt_status *dt_onnx_extreme(const dt_onnx_call *c, dt_onnx_value *out) {
    if (c->node->type.dtype != DT_BOOL) return dt_onnx_elementwise(c, out);
    *out = result(c, dt_onnx_put2(c->onnx, c->of_bools, c->in[0].name, c->in[1].name));
    return NULL;
}

dt_status *dt_onnx_same(const dt_onnx_call *c, dt_onnx_value *out) {
    *out = c->in[0];
    return NULL;
}

dt_status *dt_onnx_convert(const dt_onnx_call *c, dt_onnx_value *out) {
    *out = dt_onnx_cast(c->onnx, &c->in[0], c->node->type.dtype);
    return NULL;
}

dt_status *dt_onnx_compare(const dt_onnx_call *c, dt_onnx_value *out) {
    static const char *const ops[] = {
        [DT_EQ] = "Equal",       [DT_NE] = "Equal",   [DT_LT] = "Less",
        [DT_LE] = "LessOrEqual", [DT_GT] = "Greater", [DT_GE] = "GreaterOrEqual",
    };
    const dt_compare_attr *a = c->node->attr;
    const char *y = dt_onnx_put2(c->onnx, ops[a->direction], c->in[0].name, c->in[1].name);
    *out = result(c, a->direction == DT_NE ? dt_onnx_put1(c->onnx, "Not", y) : y);
    return NULL;
}

/* Writes a select. ONNX's Where accepts bools, but few runtimes implement that, so for bools it is
 * written as (pred and a) or (b and not pred). */
dt_status *dt_onnx_select(const dt_onnx_call *c, dt_onnx_value *out) {
    dt_onnx *o = c->onnx;
    const char *pred = c->in[0].name;
    if (c->node->type.dtype != DT_BOOL) return dt_onnx_elementwise(c, out);
    const char *a = dt_onnx_put2(o, "And", pred, c->in[1].name),
               *b = dt_onnx_put2(o, "And", c->in[2].name, dt_onnx_put1(o, "Not", pred));
    *out = result(c, dt_onnx_put2(o, "Or", a, b));
    return NULL;
}

dt_status *dt_onnx_rsqrt(const dt_onnx_call *c, dt_onnx_value *out) {
    *out = result(
        c, dt_onnx_put1(c->onnx, "Reciprocal", dt_onnx_put1(c->onnx, "Sqrt", c->in[0].name)));
    return NULL;
}

dt_status *dt_onnx_log_plus_one(const dt_onnx_call *c, dt_onnx_value *out) {
    dt_onnx *o = c->onnx;
    const char *x = c->in[0].name, *one = dt_onnx_scalar(o, c->node->type.dtype, 1);
    const char *u = dt_onnx_put2(o, "Add", x, one), *rounded = dt_onnx_put2(o, "Sub", u, one),
               *is_one = dt_onnx_put2(o, "Equal", u, one);
    const char *by = dt_onnx_put(o, &(dt_onnx_node){.op = "Where", .in = {is_one, one, rounded}});
    const char *y =
        dt_onnx_put2(o, "Mul", dt_onnx_put1(o, "Log", u), dt_onnx_put2(o, "Div", x, by));
    *out = result(c, dt_onnx_put(o, &(dt_onnx_node){.op = "Where", .in = {is_one, x, y}}));
    return NULL;
}

dt_status *dt_onnx_exponential_minus_one(const dt_onnx_call *c, dt_onnx_value *out) {
    dt_onnx *o = c->onnx;
    dt_dtype dtype = c->node->type.dtype;
    const char *x = dt_onnx_put2(o, "Max", c->in[0].name, dt_onnx_scalar(o, dtype, -100));
    const char *half = dt_onnx_put2(o, "Mul", x, dt_onnx_scalar(o, dtype, 0.5));
    const char *y =
        dt_onnx_put2(o, "Mul", dt_onnx_put1(o, "Sinh", half), dt_onnx_put1(o, "Exp", half));
    *out = result(c, dt_onnx_put2(o, "Mul", y, dt_onnx_scalar(o, dtype, 2)));
    return NULL;
}

/* Rounds by a cast to the ONNX type whose fraction has mantissa_bits bits, and a cast back:
 * bfloat16 has 7, float16 has 10. */
dt_status *dt_onnx_reduce_precision(const dt_onnx_call *c, dt_onnx_value *out) {
    enum { FLOAT16 = 10, BFLOAT16 = 16 };
    const dt_precision_attr *a = c->node->attr;
    if (a->mantissa_bits != 7 && a->mantissa_bits != 10)
        return dt_onnx_no_form(c->node, "no type of ONNX has %d bits of fraction",
                               (int)a->mantissa_bits);
    const int64_t narrow = a->mantissa_bits == 7 ? BFLOAT16 : FLOAT16;
    const char *y =
        dt_onnx_put(c->onnx, &(dt_onnx_node){.op = "Cast",
                                             .in = {c->in[0].name},
                                             .attribute = {DT_ONNX_NUMBER("to", narrow)}});
    *out = result(
        c, dt_onnx_put(c->onnx, &(dt_onnx_node){.op = "Cast",
                                                .in = {y},
                                                .attribute = {DT_ONNX_NUMBER(
                                                    "to", dt_onnx_dtype(c->node->type.dtype))}}));
    return NULL;
}
