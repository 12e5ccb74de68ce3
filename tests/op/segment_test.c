/* SPDX-License-Identifier: Apache-2.0 */
/* Segment ops against plain loops over segments and rows, and the fixed tree against one built
 * level by level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "types.h"

/* Five examples in four segments, one of them empty; the other cut of the same batch differs. */
enum { SEGMENTS = 4, EXAMPLES = 5 };
static const int32_t replicas[SEGMENTS + 1] = {0, 2, 2, 4, 5},
                                         shards[SEGMENTS + 1] = {0, 1, 3, 5, 5};
static const dt_env env = {.batch = EXAMPLES,
                           .replicas = 1,
                           .offsets = replicas,
                           .segments = SEGMENTS,
                           .shards = shards,
                           .n_shards = SEGMENTS};
static const uint64_t seed = 7;

static dt_view random_view(const char *type, dt_random *r) {
    dt_type symbolic = type_of(type);
    dt_view v = {.type = dt_type_at(&symbolic, EXAMPLES)};
    v.data = calloc((size_t)dt_type_bytes(&v.type), 1);
    for (int64_t i = 0, n = dt_type_elements(&v.type); i < n; i++)
        dt_cell_set_double(&v, i, dt_random_normal(r));
    return v;
}

/* The op over inputs of symbolic types, at EXAMPLES. */
static dt_view run(const dt_op *op, const void *attr, const char *const *types, const dt_view *in) {
    dt_type symbolic[2];
    for (int i = 0; i < op->n_in; i++) symbolic[i] = type_of(types[i]);
    dt_infer q = {.op = op, .in = symbolic, .n_in = op->n_in, .attr = attr};
    dt_status *bad = op->infer(&q);
    if (bad) fail_msg("%s", dt_status_text(bad));
    dt_node node = {.op = op, .type = q.out, .n_in = op->n_in, .attr = attr};
    dt_type type = dt_type_at(&q.out, EXAMPLES);
    dt_call c = {.node = &node,
                 .env = &env,
                 .in = in,
                 .out = {type, calloc((size_t)dt_type_bytes(&type) + 1, 1)}};
    op->eval(&c);
    return c.out;
}

static const int32_t *border_of(int cut) { return cut == DT_CUT_REPLICAS ? replicas : shards; }

static void test_segment_reduce(void **state) {
    (void)state;
    dt_random r = dt_random_stream(seed, "reduce", 0);
    dt_view x = random_view("f64[B*2,3]", &r); /* two rows for each example */
    for (int cut = DT_CUT_REPLICAS; cut <= DT_CUT_SHARDS; cut++) {
        dt_segment_attr attr = {.cut = cut, .count = SEGMENTS, .reduce = {DT_REDUCE_SUM, 1}};
        dt_view y = run(&dt_op_segment_reduce, &attr, (const char *[]){"f64[B*2,3]"}, &x);
        for (int s = 0; s < SEGMENTS; s++)
            for (int j = 0; j < 3; j++) {
                double sum = 0;
                for (int row = 2 * border_of(cut)[s]; row < 2 * border_of(cut)[s + 1]; row++)
                    sum += dt_cell_double(&x, row * 3 + j);
                assert_float_equal(dt_cell_double(&y, s * 3 + j), sum, 1e-12);
            }
        free(y.data);
    }
    free(x.data);
}

static void test_segment_deviations(void **state) {
    (void)state;
    dt_random r = dt_random_stream(seed, "deviations", 0);
    dt_view x = random_view("f64[B*2,3]", &r);
    for (int cut = DT_CUT_REPLICAS; cut <= DT_CUT_SHARDS; cut++) {
        dt_segment_attr attr = {.cut = cut, .count = SEGMENTS, .reduce = {DT_REDUCE_SUM, 1}};
        dt_view y = run(&dt_op_segment_deviations, &attr, (const char *[]){"f64[B*2,3]"}, &x);
        for (int s = 0; s < SEGMENTS; s++)
            for (int j = 0; j < 3; j++) {
                const int from = 2 * border_of(cut)[s], to = 2 * border_of(cut)[s + 1];
                double sum = 0, squares = 0;
                for (int row = from; row < to; row++) {
                    sum += dt_cell_double(&x, row * 3 + j);
                    squares += dt_cell_double(&x, row * 3 + j) * dt_cell_double(&x, row * 3 + j);
                }
                assert_float_equal(dt_cell_double(&y, s * 3 + j),
                                   to > from ? squares - sum * sum / (to - from) : 0, 1e-12);
            }
        free(y.data);
    }
    free(x.data);
}

static void test_segment_dot_general(void **state) {
    (void)state;
    dt_random r = dt_random_stream(seed, "dot", 0);
    dt_view a = random_view("f64[B,2]", &r), b = random_view("f64[B,3]", &r);
    for (int cut = DT_CUT_REPLICAS; cut <= DT_CUT_SHARDS; cut++) {
        dt_segment_attr attr = {.cut = cut, .count = SEGMENTS, .dot = {.n_contract = 1}};
        dt_view y = run(&dt_op_segment_dot_general, &attr, (const char *[]){"f64[B,2]", "f64[B,3]"},
                        (dt_view[]){a, b});
        for (int s = 0; s < SEGMENTS; s++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 3; j++) {
                    double sum = 0;
                    for (int row = border_of(cut)[s]; row < border_of(cut)[s + 1]; row++)
                        sum += dt_cell_double(&a, row * 2 + i) * dt_cell_double(&b, row * 3 + j);
                    assert_float_equal(dt_cell_double(&y, (s * 2 + i) * 3 + j), sum, 1e-12);
                }
        free(y.data);
    }
    free(a.data);
    free(b.data);
}

static void test_segment_broadcast(void **state) {
    (void)state;
    dt_random r = dt_random_stream(seed, "broadcast", 0);
    dt_view x = random_view("f64[4,3]", &r);
    for (int cut = DT_CUT_REPLICAS; cut <= DT_CUT_SHARDS; cut++) {
        dt_segment_attr attr = {.cut = cut, .count = SEGMENTS, .type = type_of("f64[B*2,3]")};
        dt_view y = run(&dt_op_segment_broadcast, &attr, (const char *[]){"f64[4,3]"}, &x);
        for (int s = 0; s < SEGMENTS; s++)
            for (int row = 2 * border_of(cut)[s]; row < 2 * border_of(cut)[s + 1]; row++)
                for (int j = 0; j < 3; j++)
                    assert_true(dt_cell_double(&y, row * 3 + j) == dt_cell_double(&x, s * 3 + j));
        free(y.data);
    }
    free(x.data);
}

static void test_segment_sizes(void **state) {
    (void)state;
    for (int cut = DT_CUT_REPLICAS; cut <= DT_CUT_SHARDS; cut++) {
        dt_segment_attr attr = {.cut = cut, .count = SEGMENTS};
        dt_view y = run(&dt_op_segment_sizes, &attr, NULL, NULL);
        for (int s = 0; s < SEGMENTS; s++)
            assert_int_equal(dt_cell_int(&y, s), border_of(cut)[s + 1] - border_of(cut)[s]);
        free(y.data);
    }
}

/* Level by level, in place: node i is node 2i plus node 2i + 1, a missing right one is left out. */
static float tree(float *x, int n) {
    for (; n > 1; n = (n + 1) / 2)
        for (int i = 0; i < (n + 1) / 2; i++)
            x[i] = 2 * i + 1 < n ? x[2 * i] + x[2 * i + 1] : x[2 * i];
    return x[0];
}

static void test_tree_sum_has_the_bits_of_the_tree(void **state) {
    (void)state;
    enum { MOST = 40, COLUMNS = 3 };
    print_message("seed %d\n", (int)seed);
    for (int n = 1; n <= MOST; n++) {
        dt_random r = dt_random_stream(seed, "tree", (uint64_t)n);
        float x[MOST * COLUMNS], column[MOST], sum[COLUMNS];
        for (int i = 0; i < n * COLUMNS; i++) x[i] = (float)dt_random_normal(&r);
        dt_view in = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){n, COLUMNS}), x};
        dt_node node = {.op = &dt_op_tree_sum, .n_in = 1};
        dt_call c = {.node = &node,
                     .env = &env,
                     .in = &in,
                     .out = {dt_type_of(DT_FLOAT32, 1, (int64_t[]){COLUMNS}), sum}};
        dt_op_tree_sum.eval(&c);
        for (int j = 0; j < COLUMNS; j++) {
            for (int i = 0; i < n; i++) column[i] = x[i * COLUMNS + j];
            assert_true(sum[j] == tree(column, n));
        }
    }
}

static void test_tree_sum_of_integers(void **state) {
    (void)state;
    dt_view x = view_from("i8[3]", VALUES(100, 100, -1));
    dt_view y = run(&dt_op_tree_sum, NULL, (const char *[]){"i8[3]"}, &x);
    assert_int_equal(dt_cell_int(&y, 0), -57);
    free(x.data);
    free(y.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segment_reduce),
        cmocka_unit_test(test_segment_deviations),
        cmocka_unit_test(test_segment_dot_general),
        cmocka_unit_test(test_segment_broadcast),
        cmocka_unit_test(test_segment_sizes),
        cmocka_unit_test(test_tree_sum_has_the_bits_of_the_tree),
        cmocka_unit_test(test_tree_sum_of_integers),
    };
    return cmocka_run_group_tests_name("op segments", tests, NULL, NULL);
}
