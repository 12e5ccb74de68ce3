/* SPDX-License-Identifier: Apache-2.0 */
/* What ops compute, by hand: each dtype's arithmetic, the corners of floats, and the orders that
 * definitions fix. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "types.h"

enum { MOST_IN = 3 };

/* An op, its inputs in words and numbers, and what comes out. */
typedef struct eval_case {
    const dt_op *op;
    const void *attr;
    const char *type[MOST_IN];
    const double *in[MOST_IN];
    const char *out_type;
    const double *out;
} eval_case;

static void expect_values(const char *what, const dt_view *v, const double *ought) {
    for (int64_t i = 0, n = dt_type_elements(&v->type); i < n; i++) {
        bool is_float = dt_dtype_is_float(v->type.dtype);
        double is = is_float ? dt_cell_double(v, i) : (double)dt_cell_int(v, i);
        bool same_zero = is != 0 || signbit(is) == signbit(ought[i]);
        bool equal = is == ought[i] && (same_zero || !is_float),
             near = fabs(is - ought[i]) < 1e-6 * fabs(ought[i]);
        if (!equal && !near && !(isnan(is) && isnan(ought[i])))
            fail_msg("%s: element %d is %.9g, not %.9g", what, (int)i, is, ought[i]);
    }
}

static void run_case(const eval_case *c, const dt_env *env) {
    dt_view in[MOST_IN];
    dt_type types[MOST_IN], ought = type_of(c->out_type);
    int n = 0;
    for (; n < MOST_IN && c->type[n]; n++) {
        in[n] = view_from(c->type[n], c->in[n]);
        types[n] = in[n].type;
    }
    dt_infer q = {.op = c->op, .in = types, .n_in = c->op->n_in, .attr = c->attr};
    dt_status *bad = c->op->infer(&q);
    if (bad) fail_msg("%s", dt_status_text(bad));
    if (!dt_type_equal(&q.out, &ought))
        fail_msg("%s: the result is not %s", c->op->name, c->out_type);
    dt_node node = {.op = c->op, .type = q.out, .n_in = c->op->n_in, .attr = c->attr};
    size_t bytes = (size_t)dt_type_bytes(&q.out);
    dt_call call = {
        .node = &node, .env = env, .in = in, .out = {q.out, calloc(bytes ? bytes : 1, 1)}};
    c->op->eval(&call);
    expect_values(c->op->name, &call.out, c->out);
    free(call.out.data);
    for (int i = 0; i < n; i++) free(in[i].data);
}

#define RUN(cases)                                                                                 \
    for (size_t i_ = 0; i_ < sizeof(cases) / sizeof *(cases); i_++) run_case(&(cases)[i_], NULL)
#define UNARY(name, type, x, y)                                                                    \
    { &dt_op_##name, NULL, {type}, {x}, type, y }
#define BINARY(name, type, a, b, y)                                                                \
    { &dt_op_##name, NULL, {type, type}, {a, b}, type, y }

static void test_arithmetic(void **state) {
    (void)state;
    const eval_case cases[] = {
        BINARY(add, "f32[3]", VALUES(1, -2, 0.5), VALUES(2, 2, 0.25), VALUES(3, 0, 0.75)),
        BINARY(add, "i8[2]", VALUES(100, -100), VALUES(100, -100), VALUES(-56, 56)),
        BINARY(add, "ui8[1]", VALUES(200), VALUES(100), VALUES(44)),
        BINARY(add, "i64[1]", VALUES(0x1p62), VALUES(0x1p62), VALUES(-0x1p63)),
        BINARY(subtract, "i16[1]", VALUES(-32768), VALUES(1), VALUES(32767)),
        BINARY(subtract, "f64[1]", VALUES(1), VALUES(3), VALUES(-2)),
        BINARY(multiply, "i32[1]", VALUES(65536), VALUES(65537), VALUES(65536)),
        BINARY(multiply, "f32[1]", VALUES(1.5), VALUES(-2), VALUES(-3)),
        BINARY(divide, "i32[4]", VALUES(7, -7, 1, -0x1p31), VALUES(2, 2, 0, -1),
               VALUES(3, -3, -1, -0x1p31)),
        BINARY(divide, "i64[1]", VALUES(-0x1p63), VALUES(-1), VALUES(-0x1p63)),
        BINARY(divide, "ui8[2]", VALUES(200, 9), VALUES(3, 0), VALUES(66, 255)),
        BINARY(divide, "f32[3]", VALUES(1, -1, 0), VALUES(0, 0, 0),
               VALUES(INFINITY, -INFINITY, NAN)),
        BINARY(power, "f64[4]", VALUES(2, 0, 4, -2), VALUES(10, 0, 0.5, 3), VALUES(1024, 1, 2, -8)),
        BINARY(maximum, "f32[4]", VALUES(1, NAN, -0.0, 2), VALUES(3, 1, 0.0, NAN),
               VALUES(3, NAN, 0.0, NAN)),
        BINARY(minimum, "f32[4]", VALUES(1, NAN, -0.0, 2), VALUES(3, 1, 0.0, NAN),
               VALUES(1, NAN, -0.0, NAN)),
        BINARY(maximum, "i1[4]", VALUES(0, 0, 1, 1), VALUES(0, 1, 0, 1), VALUES(0, 1, 1, 1)),
        BINARY(minimum, "i1[4]", VALUES(0, 0, 1, 1), VALUES(0, 1, 0, 1), VALUES(0, 0, 0, 1)),
        BINARY(maximum, "i32[2]", VALUES(-5, 3), VALUES(-7, 4), VALUES(-5, 4)),
    };
    RUN(cases);
}

static void test_functions(void **state) {
    (void)state;
    const eval_case cases[] = {
        UNARY(negate, "i8[2]", VALUES(5, -128), VALUES(-5, -128)),
        UNARY(negate, "f32[1]", VALUES(0), VALUES(-0.0)),
        UNARY(exponential, "f32[3]", VALUES(0, 1, -INFINITY), VALUES(1, M_E, 0)),
        UNARY(log, "f32[3]", VALUES(1, 0, -1), VALUES(0, -INFINITY, NAN)),
        UNARY(sqrt, "f64[2]", VALUES(2, -1), VALUES(M_SQRT2, NAN)),
        UNARY(rsqrt, "f32[2]", VALUES(4, 0), VALUES(0.5, INFINITY)),
        UNARY(abs, "f32[2]", VALUES(-3, -0.0), VALUES(3, 0)),
        UNARY(abs, "i8[2]", VALUES(-3, -128), VALUES(3, -128)),
        UNARY(sign, "f32[5]", VALUES(-3, -0.0, 0, 7, NAN), VALUES(-1, -0.0, 0, 1, NAN)),
        UNARY(sign, "i32[3]", VALUES(-3, 0, 9), VALUES(-1, 0, 1)),
        UNARY(log_plus_one, "f32[4]", VALUES(0, M_E - 1, -1, -2), VALUES(0, 1, -INFINITY, NAN)),
        UNARY(cosine, "f32[3]", VALUES(0, M_PI, M_PI_2), VALUES(1, -1, -4.371139e-8)),
        UNARY(sine, "f32[3]", VALUES(0, M_PI, M_PI_2), VALUES(0, -8.742278e-8, 1)),
        UNARY(exponential_minus_one, "f32[3]", VALUES(0, 1, -INFINITY), VALUES(0, M_E - 1, -1)),
        UNARY(tanh, "f32[2]", VALUES(0, 100), VALUES(0, 1)),
        UNARY(erf, "f32[4]", VALUES(0, 0.5, -0.5, 100),
              VALUES(0, 0.5204998778130465, -0.5204998778130465, 1)),
        UNARY(logistic, "f32[3]", VALUES(0, 1000, -1000), VALUES(0.5, 1, 0)),
    };
    RUN(cases);
}

static void test_fewer_digits(void **state) {
    (void)state;
    dt_precision_attr seven = {.mantissa_bits = 7}, one = {.mantissa_bits = 1},
                      all = {.mantissa_bits = 23};
    dt_precision_attr half = {.mantissa_bits = 10, .exponent_bits = 5};
    const eval_case cases[] = {
        {&dt_op_reduce_precision,
         &seven,
         {"f32[5]"},
         {VALUES(1.00390625, 1.01171875, -1.005, NAN, 0x1p-134)},
         "f32[5]",
         VALUES(1, 1.015625, -1.0078125, NAN, 0)},
        {&dt_op_reduce_precision,
         &seven,
         {"f64[4]"},
         {VALUES(1.00390625, -INFINITY, 0, 3e300)},
         "f64[4]",
         VALUES(1, -INFINITY, 0, 2.99269005522727e+300)},
        {&dt_op_reduce_precision,
         &one,
         {"f32[3]"},
         {VALUES(1.25, 1.75, 3.5)},
         "f32[3]",
         VALUES(1, 2, 4)},
        {&dt_op_reduce_precision,
         &half,
         {"f32[7]"},
         {VALUES(1.00048828125, 1.00146484375, 65519, -65520, 0x1p-25, 0x3p-25, NAN)},
         "f32[7]",
         VALUES(1, 1.001953125, 65504, -INFINITY, 0, 0x1p-23, NAN)},
        {&dt_op_reduce_precision, &all, {"f32[1]"}, {VALUES(1.1)}, "f32[1]", VALUES(1.1)},
    };
    RUN(cases);
}

static void test_comparisons(void **state) {
    (void)state;
    static const double a[] = {1, 2, 3, NAN}, b[] = {2, 2, 2, NAN};
    static const double truth[][4] = {
        [DT_EQ] = {0, 1, 0, 0}, [DT_NE] = {1, 0, 1, 1}, [DT_LT] = {1, 0, 0, 0},
        [DT_LE] = {1, 1, 0, 0}, [DT_GT] = {0, 0, 1, 0}, [DT_GE] = {0, 1, 1, 0},
    };
    for (int d = DT_EQ; d <= DT_GE; d++) {
        dt_compare_attr attr = {d};
        eval_case floats = {&dt_op_compare, &attr, {"f32[4]", "f32[4]"}, {a, b}, "i1[4]", truth[d]};
        eval_case ints = {&dt_op_compare, &attr, {"i16[3]", "i16[3]"}, {a, b}, "i1[3]", truth[d]};
        run_case(&floats, NULL);
        run_case(&ints, NULL);
    }
    eval_case chosen = {&dt_op_select,
                        NULL,
                        {"i1[3]", "i64[3]", "i64[3]"},
                        {VALUES(1, 0, 1), VALUES(1, 2, 3), VALUES(-1, -2, -3)},
                        "i64[3]",
                        VALUES(1, -2, 3)};
    run_case(&chosen, NULL);
}

static void test_conversions(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        double x[4], y[4];
    } rows[] = {
        {"f32[4]", "i8[4]", {3.7, -3.7, 300, NAN}, {3, -3, 127, 0}},
        {"f64[4]", "ui8[4]", {-1, 255.9, 1e300, -INFINITY}, {0, 255, 255, 0}},
        {"f64[4]", "i64[4]", {1e300, -1e300, 0x1p62, -0.5}, {0x1p63, -0x1p63, 0x1p62, 0}},
        {"f32[4]", "i64[4]", {NAN, 2.9, -2.9, -0.0}, {0, 2, -2, 0}},
        {"f32[4]", "i1[4]", {0, -0.0, 0.5, NAN}, {0, 0, 1, 1}},
        {"i1[4]", "f32[4]", {0, 1, 1, 0}, {0, 1, 1, 0}},
        {"i32[4]", "i8[4]", {300, -129, 5, 128}, {44, 127, 5, -128}},
        {"i32[4]", "i1[4]", {256, 0, -1, 1}, {1, 0, 1, 1}},
        {"ui8[4]", "f64[4]", {255, 0, 1, 128}, {255, 0, 1, 128}},
        {"f64[4]", "f32[4]", {0x1.000001p0, 1e300, -0.0, 0.5}, {1, INFINITY, -0.0, 0.5}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_convert_attr attr = {type_of(rows[i].to).dtype};
        eval_case c = {&dt_op_convert, &attr, {rows[i].from}, {rows[i].x}, rows[i].to, rows[i].y};
        run_case(&c, NULL);
    }
    dt_convert_attr to_float = {DT_FLOAT32};
    eval_case once = {&dt_op_convert,   &to_float, {"i64[1]"},
                      {VALUES(0x1p53)}, "f32[1]",  VALUES(0x1p53)};
    run_case(&once, NULL);
}

static void test_sources(void **state) {
    (void)state;
    dt_constant_attr half = {type_of("f32[2,2]"), 0.5}, three = {type_of("i16[3]"), 3},
                     yes = {type_of("i1[]"), 1};
    dt_iota_attr rows = {type_of("i32[2,3]"), 0}, columns = {type_of("f32[2,3]"), 1};
    const eval_case cases[] = {
        {&dt_op_constant, &half, {0}, {0}, "f32[2,2]", VALUES(0.5, 0.5, 0.5, 0.5)},
        {&dt_op_constant, &three, {0}, {0}, "i16[3]", VALUES(3, 3, 3)},
        {&dt_op_constant, &yes, {0}, {0}, "i1[]", VALUES(1)},
        {&dt_op_iota, &rows, {0}, {0}, "i32[2,3]", VALUES(0, 0, 0, 1, 1, 1)},
        {&dt_op_iota, &columns, {0}, {0}, "f32[2,3]", VALUES(0, 1, 2, 0, 1, 2)},
    };
    RUN(cases);
}

static void test_movement(void **state) {
    (void)state;
    dt_broadcast_attr columns = {type_of("f32[2,3]"), {1, -1}},
                      turned = {type_of("i8[2,3]"), {1, 0, -1}};
    dt_broadcast_attr stretched = {type_of("f32[2,3]"), {0, 1, -1}},
                      scalar = {type_of("f32[2]"), {-1}};
    dt_reshape_attr flat = {type_of("i64[6]")};
    dt_transpose_attr perm = {{2, 0, 1}};
    const eval_case cases[] = {
        {&dt_op_broadcast_in_dim,
         &columns,
         {"f32[3]"},
         {VALUES(1, 2, 3)},
         "f32[2,3]",
         VALUES(1, 2, 3, 1, 2, 3)},
        {&dt_op_broadcast_in_dim,
         &turned,
         {"i8[3,2]"},
         {VALUES(1, 2, 3, 4, 5, 6)},
         "i8[2,3]",
         VALUES(1, 3, 5, 2, 4, 6)},
        {&dt_op_broadcast_in_dim,
         &stretched,
         {"f32[2,1]"},
         {VALUES(1, 2)},
         "f32[2,3]",
         VALUES(1, 1, 1, 2, 2, 2)},
        {&dt_op_broadcast_in_dim, &scalar, {"f32[]"}, {VALUES(7)}, "f32[2]", VALUES(7, 7)},
        {&dt_op_reshape,
         &flat,
         {"i64[2,3]"},
         {VALUES(1, 2, 3, 4, 5, 6)},
         "i64[6]",
         VALUES(1, 2, 3, 4, 5, 6)},
        {&dt_op_transpose,
         &perm,
         {"f32[1,2,3]"},
         {VALUES(1, 2, 3, 4, 5, 6)},
         "f32[3,1,2]",
         VALUES(1, 4, 2, 5, 3, 6)},
    };
    RUN(cases);
}

static void test_reductions(void **state) {
    (void)state;
    dt_reduce_attr rows = {DT_REDUCE_SUM, 1}, all = {DT_REDUCE_SUM, 3}, none = {DT_REDUCE_SUM, 0};
    dt_reduce_attr top = {DT_REDUCE_MAX, 2}, low = {DT_REDUCE_MIN, 2},
                   top_rows = {DT_REDUCE_MAX, 1}, low_rows = {DT_REDUCE_MIN, 1};
    const double *six = VALUES(1, -2, 3, -4, 5, -6);
    const eval_case cases[] = {
        {&dt_op_reduce, &rows, {"f32[2,3]"}, {six}, "f32[3]", VALUES(-3, 3, -3)},
        {&dt_op_reduce, &all, {"f32[2,3]"}, {six}, "f32[]", VALUES(-3)},
        {&dt_op_reduce, &none, {"i32[2]"}, {six}, "i32[2]", six},
        {&dt_op_reduce, &top, {"f32[2,3]"}, {six}, "f32[2]", VALUES(3, 5)},
        {&dt_op_reduce, &low, {"i16[2,3]"}, {six}, "i16[2]", VALUES(-2, -6)},
        {&dt_op_reduce, &top, {"f64[1,2]"}, {VALUES(NAN, 1)}, "f64[1]", VALUES(NAN)},
        {&dt_op_reduce, &rows, {"i8[2,1]"}, {VALUES(100, 100)}, "i8[1]", VALUES(-56)},
        {&dt_op_reduce, &rows, {"f32[3]"}, {VALUES(0x1p30, 1, -0x1p30)}, "f32[]", VALUES(1)},
        {&dt_op_reduce, &rows, {"f32[0,2]"}, {six}, "f32[2]", VALUES(0, 0)},
        {&dt_op_reduce, &top_rows, {"f32[0]"}, {six}, "f32[]", VALUES(-INFINITY)},
        {&dt_op_reduce, &low_rows, {"f32[0]"}, {six}, "f32[]", VALUES(INFINITY)},
        {&dt_op_reduce, &top_rows, {"i32[0]"}, {six}, "i32[]", VALUES(-0x1p31)},
        {&dt_op_reduce, &low_rows, {"ui8[0]"}, {six}, "ui8[]", VALUES(255)},
    };
    RUN(cases);
}

static void test_products(void **state) {
    (void)state;
    dt_dot_attr matrix = {.n_contract = 1, .lhs_contract = {1}}, outer = {0};
    dt_dot_attr batch = {.n_batch = 1, .n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    dt_dot_attr both = {.n_contract = 2, .lhs_contract = {0, 1}, .rhs_contract = {1, 0}};
    const double *six = VALUES(1, 2, 3, 4, 5, 6);
    const eval_case cases[] = {
        {&dt_op_dot_general,
         &matrix,
         {"f32[2,3]", "f32[3,2]"},
         {six, six},
         "f32[2,2]",
         VALUES(22, 28, 49, 64)},
        {&dt_op_dot_general, &matrix, {"i32[2,3]", "i32[3]"}, {six, six}, "i32[2]", VALUES(14, 32)},
        {&dt_op_dot_general,
         &outer,
         {"f64[2]", "f64[3]"},
         {six, six},
         "f64[2,3]",
         VALUES(1, 2, 3, 2, 4, 6)},
        {&dt_op_dot_general,
         &batch,
         {"f32[2,3]", "f32[2,3]"},
         {six, six},
         "f32[2]",
         VALUES(14, 77)},
        {&dt_op_dot_general,
         &both,
         {"f32[2,3]", "f32[3,2]"},
         {six, six},
         "f32[]",
         VALUES(1 + 6 + 15 + 8 + 20 + 36)},
        {&dt_op_dot_general,
         &matrix,
         {"f32[1,3]", "f32[3,1]"},
         {VALUES(0x1p30, 1, -0x1p30), VALUES(1, 1, 1)},
         "f32[1,1]",
         VALUES(1)},
        {&dt_op_dot_general,
         &matrix,
         {"f32[2,0]", "f32[0,1]"},
         {six, six},
         "f32[2,1]",
         VALUES(0, 0)},
        {&dt_op_dot_general,
         &matrix,
         {"i8[1,2]", "i8[2,1]"},
         {VALUES(100, 1), VALUES(2, 3)},
         "i8[1,1]",
         VALUES(-53)},
    };
    RUN(cases);
}

static void test_argmax(void **state) {
    (void)state;
    dt_axis_attr first = {0}, second = {1};
    const eval_case cases[] = {
        {&dt_op_argmax, &second, {"f32[2,3]"}, {VALUES(1, 3, 3, 2, 1, 0)}, "i32[2]", VALUES(1, 0)},
        {&dt_op_argmax, &first, {"i8[2,3]"}, {VALUES(1, 3, 3, 2, 1, 3)}, "i32[3]", VALUES(1, 0, 0)},
        {&dt_op_argmax, &first, {"f32[4]"}, {VALUES(1, NAN, 9, NAN)}, "i32[]", VALUES(1)},
        {&dt_op_argmax, &first, {"f32[0]"}, {VALUES(0)}, "i32[]", VALUES(0)},
        {&dt_op_get_dimension_size,
         &second,
         {"f32[2,3]"},
         {VALUES(0, 0, 0, 0, 0, 0)},
         "i32[]",
         VALUES(3)},
        {&dt_op_get_dimension_size, &first, {"f32[0]"}, {VALUES(0)}, "i32[]", VALUES(0)},
    };
    RUN(cases);
}

static void test_rows_by_number(void **state) {
    (void)state;
    dt_rows_attr three = {3};
    const double *table = VALUES(1, 2, 3, 4, 5, 6);
    const eval_case cases[] = {
        {&dt_op_gather,
         NULL,
         {"f32[3,2]", "i32[2]"},
         {table, VALUES(2, 0)},
         "f32[2,2]",
         VALUES(5, 6, 1, 2)},
        {&dt_op_gather, NULL, {"f32[3,2]", "ui8[]"}, {table, VALUES(1)}, "f32[2]", VALUES(3, 4)},
        {&dt_op_gather,
         NULL,
         {"f64[3]", "i64[1,2]"},
         {table, VALUES(2, 2)},
         "f64[1,2]",
         VALUES(3, 3)},
        {&dt_op_gather,
         NULL,
         {"f32[3,2]", "i32[2]"},
         {table, VALUES(3, -1)},
         "f32[2,2]",
         VALUES(NAN, NAN, NAN, NAN)},
        {&dt_op_gather, NULL, {"i32[3]", "i32[2]"}, {table, VALUES(3, 1)}, "i32[2]", VALUES(0, 2)},
        {&dt_op_scatter_add,
         &three,
         {"f32[3,2]", "i32[3]"},
         {table, VALUES(2, 0, 2)},
         "f32[3,2]",
         VALUES(3, 4, 0, 0, 6, 8)},
        {&dt_op_scatter_add,
         &three,
         {"f32[2,2]", "i32[2,2]"},
         {table, VALUES(1, 3, -1, 1)},
         "f32[3]",
         VALUES(0, 5, 0)},
        {&dt_op_scatter_add,
         &three,
         {"f32[3]", "i32[3]"},
         {VALUES(0x1p30, 1, -0x1p30), VALUES(0, 0, 0)},
         "f32[3]",
         VALUES(1, 0, 0)},
        {&dt_op_scatter_add,
         &three,
         {"i8[2]", "i32[2]"},
         {VALUES(100, 100), VALUES(1, 1)},
         "i8[3]",
         VALUES(0, -56, 0)},
    };
    RUN(cases);
}

/* A row's numbers are its own, whichever rows stand beside it; steps and examples differ. */
static void test_random_numbers_belong_to_examples(void **state) {
    (void)state;
    dt_random_attr attr = {dt_type_of(DT_FLOAT64, 2, (int64_t[]){2, 4000}), DT_RANDOM_NORMAL, 7};
    const dt_type in_types[2] = {dt_scalar_type(DT_INT64), dt_type_of(DT_INT32, 1, (int64_t[]){2})};
    static double drawn[3][2][4000];
    int64_t steps[] = {5, 5, 6};
    int32_t examples[3][2] = {{0, 1}, {1, 2}, {0, 1}};
    for (int k = 0; k < 3; k++) {
        dt_view in[2] = {{in_types[0], &steps[k]}, {in_types[1], examples[k]}};
        dt_node node = {.op = &dt_op_random, .type = attr.type, .n_in = 2, .attr = &attr};
        dt_op_random.eval(&(dt_call){.node = &node, .in = in, .out = {attr.type, drawn[k]}});
    }
    assert_memory_equal(drawn[0][1], drawn[1][0], sizeof drawn[0][1]);
    assert_memory_not_equal(drawn[0][0], drawn[0][1], sizeof drawn[0][0]);
    assert_memory_not_equal(drawn[0][0], drawn[2][0], sizeof drawn[0][0]);
    double sum = 0, squares = 0;
    for (int i = 0; i < 4000; i++) {
        sum += drawn[0][0][i];
        squares += drawn[0][0][i] * drawn[0][0][i];
    }
    /* some four deviations */
    assert_true(fabs(sum / 4000) < 0.06 && fabs(squares / 4000 - 1) < 0.1);
}

static void test_softmax_and_its_cross_entropy(void **state) {
    (void)state;
    const double *huge = VALUES(1000, 1000, -1000, -INFINITY, 0, 0),
                 *half = VALUES(0.5, 0.5, 0, 0, 0.5, 0.5);
    const double *out_of_range = VALUES(3, -1), *fine = VALUES(0, 2);
    const eval_case cases[] = {
        {&dt_op_softmax, NULL, {"f32[2,3]"}, {huge}, "f32[2,3]", half},
        {&dt_op_softmax, NULL, {"f64[1]"}, {VALUES(-1e300)}, "f64[1]", VALUES(1)},
        {&dt_op_softmax_cross_entropy,
         NULL,
         {"f32[2,3]", "f32[2,3]"},
         {huge, half},
         "f32[2]",
         VALUES(M_LN2, M_LN2)},
        {&dt_op_softmax_cross_entropy,
         NULL,
         {"f32[2,3]", "i32[2]"},
         {huge, fine},
         "f32[2]",
         VALUES(M_LN2, M_LN2)},
        {&dt_op_softmax_cross_entropy,
         NULL,
         {"f32[2,3]", "ui8[2]"},
         {huge, VALUES(2, 0)},
         "f32[2]",
         VALUES(2000 + M_LN2, INFINITY)},
        {&dt_op_softmax_cross_entropy,
         NULL,
         {"f32[2,3]", "i64[2]"},
         {huge, out_of_range},
         "f32[2]",
         VALUES(NAN, NAN)},
        {&dt_op_softmax_cross_entropy,
         NULL,
         {"f32[2,3]", "i64[2]"},
         {huge, VALUES(0, 3)},
         "f32[2]",
         VALUES(M_LN2, NAN)},
        {&dt_op_softmax_cross_entropy_grad,
         NULL,
         {"f32[2,3]", "i32[2]", "f32[2]"},
         {huge, fine, VALUES(1, 2)},
         "f32[2,3]",
         VALUES(-0.5, 0.5, 0, 0, 1, -1)},
        {&dt_op_softmax_cross_entropy_grad,
         NULL,
         {"f32[2,3]", "i32[2]", "f32[2]"},
         {huge, VALUES(0, 3), VALUES(1, 1)},
         "f32[2,3]",
         VALUES(-0.5, 0.5, 0, NAN, NAN, NAN)},
        {&dt_op_softmax_cross_entropy_grad,
         NULL,
         {"f32[1,2]", "f32[1,2]", "f32[1]"},
         {VALUES(0, 0), VALUES(2, 0), VALUES(1)},
         "f32[1,2]",
         VALUES(-1, 1)},
    };
    RUN(cases);
}

static void test_replicas(void **state) {
    (void)state;
    dt_env env = {.replica = 2, .replicas = 3, .first = 5};
    dt_all_reduce_attr sum = {.op = DT_SUM}, mean = {.op = DT_MEAN};
    const char *f = "f32[2]";
    const eval_case cases[] = {
        {&dt_op_replica_id, NULL, {0}, {0}, "i32[]", VALUES(2)},
        {&dt_op_all_reduce,
         &sum,
         {f, f, f},
         {VALUES(1, 0x1p30), VALUES(2, 1), VALUES(6, -0x1p30)},
         "f32[2]",
         VALUES(9, 1)},
        {&dt_op_all_reduce,
         &mean,
         {f, f, f},
         {VALUES(1, 1), VALUES(2, 1), VALUES(6, 2)},
         "f32[2]",
         VALUES(3, 4.0 / 3)},
        {&dt_op_all_reduce,
         &sum,
         {"i8[1]", "i8[1]", "i8[1]"},
         {VALUES(100), VALUES(100), VALUES(1)},
         "i8[1]",
         VALUES(-55)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_case(&cases[i], &env);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_fewer_digits),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_movement),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_argmax),
        cmocka_unit_test(test_rows_by_number),
        cmocka_unit_test(test_random_numbers_belong_to_examples),
        cmocka_unit_test(test_softmax_and_its_cross_entropy),
        cmocka_unit_test(test_replicas),
    };
    return cmocka_run_group_tests_name("op eval", tests, NULL, NULL);
}
