/* SPDX-License-Identifier: Apache-2.0 */
/* Rematerialisation: the same numbers, made twice; only what a unit begins with is kept between its
 * passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass/pass.h"

enum { UNITS = 4, WIDTH = 6, ROWS = 5 };

/* Units of x waves W1 -> tanh -> W2 + x, gradients of their weights assigned. The waves are
 * constants with rows, which all units share. */
static dt_graph *step_of(void) {
    static const char *const names[] = {"a", "b", "c", "d"};
    dt_trace *t = dt_trace_create("step");
    dt_type rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, WIDTH}),
            square = dt_type_of(DT_FLOAT32, 2, (int64_t[]){WIDTH, WIDTH});
    dt_variable *v[2 * UNITS];
    dt_value w[2 * UNITS], g[2 * UNITS], x = dt_trace_declare(t, "x", &rows);
    for (int i = 0; i < UNITS; i++) {
        const char *before = dt_trace_path(t, names[i]);
        for (int k = 2 * i; k < 2 * i + 2; k++) {
            char path[24];
            snprintf(path, sizeof path, "%s/%s/kernel", names[i], k % 2 ? "narrow" : "wide");
            assert_null(dt_variable_alloc(&v[k], path, &square, true));
            for (int64_t e = 0; e < WIDTH * WIDTH; e++)
                ((float *)v[k]->host_data)[e] = (float)((e * 7 + k * 5) % 11 - 5) / 10;
            w[k] = dt_read(t, v[k]);
        }
        rows.dtype = DT_INT32;
        dt_value waves = dt_cosine(dt_convert(dt_iota(t, &rows, 1), DT_FLOAT32));
        dt_value wide = dt_matmul(dt_multiply(x, waves), w[2 * i]);
        x = dt_add(dt_matmul(dt_tanh(wide), w[2 * i + 1]), x);
        dt_trace_path(t, before);
    }
    dt_value loss = dt_reduce_sum(dt_multiply(x, x), DT_NO_AXIS);
    dt_return(t, "loss", loss);
    dt_gradients_of(loss, w, 2 * UNITS, g);
    for (int k = 0; k < 2 * UNITS; k++) {
        dt_assign(t, v[k], dt_subtract(w[k], g[k]));
        dt_variable_unref(v[k]);
    }
    dt_graph *out = NULL;
    assert_null(dt_trace_end(t, &out));
    return out;
}

static dt_graph *remade(const dt_graph *g) {
    static const char *const layers[] = {"a", "b", "c", "d"};
    static const int unit[] = {0, 1, 2, 3};
    dt_graph *out = NULL;
    assert_null(dt_remat(g, &(dt_layer_units){.n = UNITS, .layer = layers, .unit = unit}, &out));
    return out;
}

/* Units that keep the result of the first product of each, there or on the host. */
static dt_graph *kept(const dt_graph *g, bool on_host) {
    static const char *const layers[] = {"a", "b", "c", "d"};
    static const int unit[] = {0, 1, 2, 3};
    const dt_kept_value wide = {.weight = "wide", .on_host = on_host};
    dt_graph *out = NULL;
    assert_null(dt_remat(g,
                         &(dt_layer_units){.n = UNITS,
                                           .layer = layers,
                                           .unit = unit,
                                           .n_kept = 1,
                                           .kept = &wide,
                                           .inputs_on_host = on_host},
                         &out));
    return out;
}

static int count(const dt_graph *g, const dt_op *op, bool again) {
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        n += g->node[i].op == op && (!again || dt_is_rematerialized(&g->node[i]));
    return n;
}

/* Of each unit one product and its tanh are made again; the second product's result is nobody's
 * business but the next unit's. */
static void test_what_is_made_again(void **state) {
    (void)state;
    dt_graph *g = step_of(), *r = remade(g), *simple = NULL;
    assert_int_equal(count(g, &dt_op_tanh, false), UNITS);
    assert_int_equal(count(r, &dt_op_tanh, false), 2 * UNITS);
    assert_int_equal(count(r, &dt_op_tanh, true), UNITS);
    assert_int_equal(count(r, &dt_op_dot_general, true), UNITS);
    assert_null(dt_simplify(r, &simple));
    assert_int_equal(count(simple, &dt_op_tanh, false), 2 * UNITS);
    dt_graph_destroy(g);
    dt_graph_destroy(r);
    dt_graph_destroy(simple);
}

/* The gradient of tanh has a constant with rows, which the last unit makes and the others read. */
static void test_barriers_wait_for_gradients(void **state) {
    (void)state;
    dt_graph *g = step_of(), *r = remade(g);
    for (int i = 0; i < r->n_nodes; i++) {
        const dt_node *n = &r->node[i];
        if (n->op == &dt_op_optimization_barrier && dt_is_rematerialized(n))
            assert_true(r->node[n->in[1]].n_in > 1);
    }
    dt_graph_destroy(g);
    dt_graph_destroy(r);
}

/* A product that is kept is not made again; what follows it is. */
static void test_named_values_are_kept(void **state) {
    (void)state;
    dt_graph *g = step_of(), *r = kept(g, false);
    assert_int_equal(count(r, &dt_op_dot_general, true), 0);
    assert_int_equal(count(r, &dt_op_tanh, true), UNITS);
    for (int i = 0; i < r->n_nodes; i++) assert_false(dt_is_from_host(&r->node[i]));
    dt_graph_destroy(g);
    dt_graph_destroy(r);
}

/* Each unit reads its product from the host once, and each but the first its input, which is an
 * argument. The waves are not kept there. */
static void test_values_come_back_from_the_host(void **state) {
    (void)state;
    dt_graph *g = step_of(), *r = kept(g, true);
    int n = 0;
    for (int i = 0; i < r->n_nodes; i++) n += dt_is_from_host(&r->node[i]);
    assert_int_equal(n, UNITS + UNITS - 1);
    dt_graph_destroy(g);
    dt_graph_destroy(r);
}

/* What backward nodes read of a forward pass is inputs of units (sums), what leaves the last one,
 * and weights. */
static void test_what_is_kept(void **state) {
    (void)state;
    dt_graph *g = step_of(), *r = remade(g);
    bool *forward = dt_alloc((size_t)r->n_nodes);
    forward[r->result[0].node] = true;
    for (int i = r->n_nodes - 1; i >= 0; i--)
        for (int k = 0; forward[i] && k < r->node[i].n_in; k++) forward[r->node[i].in[k]] = true;
    for (int i = 0; i < r->n_nodes; i++)
        for (int k = 0; !forward[i] && k < r->node[i].n_in; k++) {
            const dt_node *in = &r->node[r->node[i].in[k]];
            assert_false(forward[r->node[i].in[k]] && in->op == &dt_op_tanh);
        }
    free(forward);
    dt_graph_destroy(g);
    dt_graph_destroy(r);
}

/* Variables are read, never written: updates come back. */
static void interpret(const dt_graph *g, dt_interpretation *out) {
    float x[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (float)(i % 7 - 3) / 4;
    const dt_view arg = {.type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){ROWS, WIDTH}), .data = x};
    const dt_env env = {.batch = ROWS, .replicas = 1};
    assert_null(dt_interpret(g, &env, 1, (int64_t[]){ROWS}, &arg, out));
}

static void expect_same_bits(dt_graph *r) {
    dt_interpretation a, b;
    dt_graph *g = step_of();
    interpret(g, &a);
    interpret(r, &b);
    assert_memory_equal(a.result[0].data, b.result[0].data, sizeof(float));
    for (int s = 0; s < 2 * UNITS; s++)
        assert_memory_equal(a.update[s].data, b.update[s].data, WIDTH * WIDTH * sizeof(float));
    dt_interpretation_release(&a);
    dt_interpretation_release(&b);
    dt_graph_destroy(g);
    dt_graph_destroy(r);
}

static void test_the_same_bits(void **state) {
    (void)state;
    dt_graph *g = step_of();
    expect_same_bits(remade(g));
    expect_same_bits(kept(g, false));
    expect_same_bits(kept(g, true));
    dt_graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_made_again),
                                       cmocka_unit_test(test_barriers_wait_for_gradients),
                                       cmocka_unit_test(test_named_values_are_kept),
                                       cmocka_unit_test(test_values_come_back_from_the_host),
                                       cmocka_unit_test(test_what_is_kept),
                                       cmocka_unit_test(test_the_same_bits)};
    return cmocka_run_group_tests_name("pass/remat", tests, NULL, NULL);
}
