/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows say of their work, over the whole table: numbers, more of them for larger batches, and
 * for products as many multiply-adds as are done: with ones for operands every one of them adds 1
 * to the result.
 */
#include "op/elementwise.h"
#include "table.h"

static dt_cost cost_at(const sample *s, int64_t batch) {
    dt_view in[DT_MAX_IN];
    dt_node node = sample_node(s);
    node.type = dt_type_at(&s->out, batch);
    for (int i = 0; i < s->op->n_in; i++) in[i] = (dt_view){.type = dt_type_at(&s->in[i], batch)};
    dt_call call = {.node = &node, .in = in, .out = {.type = node.type}};
    return dt_cost_of(&call);
}

static double product_flops(const dt_cost *c) {
    double sum = 0;
    for (int i = 0; i < DT_MAX_PRODUCTS; i++)
        sum += 2 * c->product[i].count * (double)c->product[i].m * (double)c->product[i].k *
               (double)c->product[i].n;
    return sum;
}

/* ---- over the table ---- */

static void expect_numbers(sample *s, int64_t batch) {
    dt_cost c = cost_at(s, batch);
    const double numbers[] = {c.flops, c.vector, c.bytes, product_flops(&c)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!isfinite(numbers[i]) || numbers[i] < 0)
            fail_msg("%s: number %d of its cost is %g", s->op->name, (int)i, numbers[i]);
    if (c.flops > product_flops(&c) * (1 + 1e-12))
        fail_msg("%s: %g flops of products that have %g", s->op->name, c.flops, product_flops(&c));
}

static void test_costs_are_numbers(void **state) {
    (void)state;
    for_samples("numbers", 8, true, expect_numbers);
}

static void expect_growth(sample *s, int64_t batch) {
    dt_cost less = cost_at(s, 4 * batch), more = cost_at(s, 8 * batch);
    bool grows = dt_type_has_batch(&s->out);
    if (more.flops < less.flops || more.vector < less.vector || more.bytes < less.bytes)
        fail_msg("%s: twice the batch costs less", s->op->name);
    if (grows && less.bytes > 0 && more.bytes <= less.bytes)
        fail_msg("%s: twice the batch has no more bytes", s->op->name);
    if (grows && less.flops > 0 && more.flops <= less.flops)
        fail_msg("%s: twice the batch has no more flops", s->op->name);
}

static void test_costs_grow_with_the_batch(void **state) {
    (void)state;
    for_samples("growth", 8, true, expect_growth);
}

/* What moves nothing is free, and what is there only while compiling. */
static void test_what_is_free(void **state) {
    (void)state;
    const dt_op *const ops[] = {&dt_op_reshape,  &dt_op_parameter,     &dt_op_variable,
                                &dt_op_constant, &dt_op_stop_gradient, &dt_op_sharding};
    for (int i = 0; i < (int)(sizeof ops / sizeof *ops); i++) {
        dt_random r;
        sample s = draw(ops[i], &r, "free", i, true);
        dt_cost c = cost_at(&s, 4);
        assert_true(c.flops == 0 && c.vector == 0 && c.bytes == 0);
    }
}

/* What floats alone have is no sum or choice: it takes longer than an addition. */
static void test_functions_take_longer_than_additions(void **state) {
    int n, functions = 0;
    const dt_op *const *ops = all_ops(&n);
    (void)state;
    for (int i = 0; i < n; i++) {
        if (ops[i]->infer != dt_infer_floats || ops[i]->cost) continue;
        functions++;
        if (!(ops[i]->operations > 1)) fail_msg("%s: its row has no operations", ops[i]->name);
    }
    assert_in_range(functions, 12, 100);
    assert_true(dt_op_sine.operations == dt_op_cosine.operations);
}

/* ---- products: multiply-adds counted by doing them ---- */

static double multiply_adds(sample *s, int64_t batch) {
    int32_t border[MOST_SEGMENTS + 1];
    dt_env env = sample_env(s, batch, border);
    dt_view in[DT_MAX_IN];
    int n = sample_inputs(s, batch, in);
    for (int i = 0; i < n; i++)
        for (int64_t k = 0, cells = dt_type_elements(&in[i].type); k < cells; k++)
            dt_cell_set_double(&in[i], k, 1);
    dt_type type = dt_type_at(&s->out, batch);
    dt_view out = sample_eval(s, &env, in, &type);
    double sum = 0;
    for (int64_t k = 0, cells = dt_type_elements(&type); k < cells; k++)
        sum += dt_cell_double(&out, k);
    views_release(in, n);
    free(out.data);
    return sum;
}

static void test_flops_are_multiply_adds(void **state) {
    (void)state;
    const dt_op *const ops[] = {&dt_op_dot_general, &dt_op_convolution, &dt_op_segment_dot_general,
                                &dt_op_segment_convolution};
    enum { TRIALS = 40 };
    print_message("seed %d\n", (int)seed);
    for (int i = 0; i < TRIALS * (int)(sizeof ops / sizeof *ops); i++) {
        dt_random r;
        sample s = draw(ops[i / TRIALS], &r, "multiply-adds", i, true);
        int64_t batch = batches[i % N_BATCHES];
        double flops = cost_at(&s, batch).flops, ought = 2 * multiply_adds(&s, batch);
        if (fabs(flops - ought) > 1e-9 * ought)
            fail_msg("%s, sample %d: %g flops, not %g", s.op->name, i, flops, ought);
    }
}

/* ---- by hand ---- */

static dt_type floats(int rank, const int64_t *dim) { return dt_type_of(DT_FLOAT32, rank, dim); }

static dt_cost convolve(const int64_t *x, const int64_t *w, const int64_t *y, int64_t stride,
                        int64_t pad) {
    dt_convolution_attr a = dt_convolution_channels_last(2);
    for (int i = 0; i < 2; i++)
        a.window[i] = (dt_window){
            .stride = stride, .low = pad, .high = pad, .base_dilation = 1, .dilation = 1};
    dt_node node = {.op = &dt_op_convolution, .attr = &a, .n_in = 2};
    dt_view in[2] = {{floats(4, x), NULL}, {floats(4, w), NULL}};
    dt_call call = {.node = &node, .in = in, .out = {floats(4, y), NULL}};
    return dt_cost_of(&call);
}

/* The first layer of ResNet-50: rows are places of the window, the sum runs over 7 x 7 x 3. Padding
 * is no work. */
static void test_a_convolution_is_a_product(void **state) {
    (void)state;
    dt_cost c = convolve((int64_t[]){128, 224, 224, 3}, (int64_t[]){7, 7, 3, 64},
                         (int64_t[]){128, 112, 112, 64}, 2, 3);
    const dt_matrix_work *p = &c.product[0];
    assert_true(p->count == 1 && p->m == 128 * 112 * 112 && p->k == 147 && p->n == 64 &&
                p->dtype == DT_FLOAT32);
    double taps = 0;
    for (int o = 0; o < 112; o++)
        for (int k = 0; k < 7; k++) taps += o * 2 + k - 3 >= 0 && o * 2 + k - 3 < 224;
    assert_true(taps < 7 * 112 &&
                fabs(c.flops - 2 * 128.0 * taps * taps * 3 * 64) < 1e-9 * c.flops);
}

static dt_cost attend(bool causal, int64_t window, int64_t length, int64_t heads, int64_t size) {
    dt_attention_attr a = {.scale = 1, .causal = causal, .window = window};
    dt_node node = {.op = &dt_op_attention, .attr = &a, .n_in = 4};
    dt_type x = floats(4, (int64_t[]){2, length, heads, size}),
            at = dt_type_of(DT_INT32, 2, (int64_t[]){2, length});
    dt_view in[4] = {{x, NULL}, {x, NULL}, {x, NULL}, {at, NULL}};
    dt_call call = {.node = &node, .in = in, .out = {x, NULL}};
    return dt_cost_of(&call);
}

/* Scores are never written: bytes are those of queries, keys, values, positions and the result.
 * Blocks that no query sees are left out. */
static void test_attention_is_two_products(void **state) {
    (void)state;
    dt_cost all = attend(false, 0, 2048, 8, 64), causal = attend(true, 0, 2048, 8, 64),
            near_by = attend(true, 512, 8192, 8, 64);
    assert_true(all.flops == 4.0 * 2 * 8 * 2048 * 2048 * 64);
    assert_true(all.bytes == 4.0 * (4 * 2 * 2048 * 8 * 64 + 2 * 2048));
    assert_true(all.product[0].k == 64 && all.product[0].n == 2048 && all.product[1].k == 2048 &&
                all.product[1].n == 64);
    assert_true(causal.flops == all.flops * (1 + 2 + 3 + 4) / 16);
    assert_true(near_by.flops == 4.0 * 2 * 8 * 64 * (512.0 * 512 * (16 + 15)));
    assert_true(attend(false, 0, 4096, 8, 64).vector == 4 * all.vector);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_are_numbers),
        cmocka_unit_test(test_costs_grow_with_the_batch),
        cmocka_unit_test(test_what_is_free),
        cmocka_unit_test(test_functions_take_longer_than_additions),
        cmocka_unit_test(test_flops_are_multiply_adds),
        cmocka_unit_test(test_a_convolution_is_a_product),
        cmocka_unit_test(test_attention_is_two_products),
    };
    return cmocka_run_group_tests_name("op/cost", tests, NULL, NULL);
}
