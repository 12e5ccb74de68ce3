/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a sequence: what is joined, as text, and the gradients of a recurrent layer, whose
 * numbers stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pass/pass.h"
#include "../support/outcome.h"

enum { STEPS = 11, WIDTH = 3, ROWS = 2 };

/* The joined graph, simplified; NULL: nothing was joined. */
static dt_graph *joined(const dt_graph *g) {
    dt_graph *out = NULL, *simple = NULL;
    assert_null(dt_join_steps(g, &out));
    if (!out) return NULL;
    assert_null(dt_simplify(out, &simple));
    dt_graph_destroy(out);
    return simple;
}

static dt_trace *trace_of(dt_value *x) {
    dt_type rows = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, STEPS, WIDTH});
    dt_trace *t = dt_trace_create("one");
    *x = dt_trace_declare(t, "x", &rows);
    return t;
}

/* ---- as text ---- */

static dt_value part(dt_value x, int64_t from, int64_t size) {
    return dt_slice_axis(x, 1, from, size, 1);
}

static dt_value around(dt_value x, int64_t low, int64_t high) {
    dt_pad_attr a = {0};
    a.dim[1].low = low;
    a.dim[1].high = high;
    return dt_pad(x, &a);
}

typedef dt_value (*maker)(dt_value x);

static dt_value slice_of_slice(dt_value x) {
    return dt_slice_axis(dt_slice_axis(x, 1, 1, 4, 2), 1, 1, 2, 2); /* 3 and 7 */
}
static dt_value neighbours(dt_value x) {
    dt_value y = part(part(x, 0, 8), 2, 5);
    return dt_add(around(y, 0, 5), around(dt_tanh(y), 5, 0));
}
static dt_value among_others(dt_value x) {
    dt_value y = part(part(x, 0, 8), 2, 2);
    return dt_add(dt_add(around(y, 0, 9), around(dt_tanh(y), 4, 5)), around(dt_sine(y), 2, 7));
}
static dt_value apart(dt_value x) {
    dt_value y = part(part(x, 0, 8), 2, 2);
    return dt_add(around(y, 0, 9), around(dt_tanh(y), 6, 3));
}
static dt_value overlapping(dt_value x) {
    dt_value y = part(part(x, 0, 8), 2, 2);
    return dt_add(around(y, 0, 9), around(dt_tanh(y), 1, 8));
}

static const struct {
    const char *name;
    maker make;
    int pads, joins, slices; /* of the result */
} cases[] = {
    {"a slice of a slice", slice_of_slice, 0, 0, 1}, {"neighbours", neighbours, 0, 1, 1},
    {"one between two", among_others, 1, 2, 1},      {"parts with a gap", apart, 2, 0, 1},
    {"parts that overlap", overlapping, 2, 0, 1},
};

static int count(const dt_graph *g, const dt_op *op) {
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++) n += g->node[i].op == op;
    return n;
}

static void fill(float *x, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = (float)((i * 7 + 3) % 11) / 11 - 0.4f;
}

/* The largest difference between the results of two graphs. */
static float largest_difference(const dt_graph *a, const dt_graph *b) {
    float data[ROWS * STEPS * WIDTH], most = 0;
    dt_view arg = {dt_type_at(&a->node[a->arg[0].node].type, ROWS), data};
    dt_interpretation before, after;
    fill(data, sizeof data / sizeof *data);
    assert_null(dt_interpret(a, NULL, 1, &(int64_t){ROWS}, &arg, &before));
    assert_null(dt_interpret(b, NULL, 1, &(int64_t){ROWS}, &arg, &after));
    for (int i = 0; i < before.n_results; i++) {
        const float *x = before.result[i].data, *y = after.result[i].data;
        assert_true(dt_type_equal(&before.result[i].type, &after.result[i].type));
        for (int64_t k = 0; k < dt_type_elements(&before.result[i].type); k++)
            most = fmaxf(most, fabsf(x[k] - y[k]));
    }
    dt_interpretation_release(&before);
    dt_interpretation_release(&after);
    return most;
}

static void test_single_rewrites(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_value x;
        dt_trace *t = trace_of(&x);
        dt_graph *g = NULL;
        dt_return(t, "y", cases[i].make(x));
        assert_null(dt_trace_end(t, &g));
        dt_graph *out = joined(g);
        assert_non_null(out);
        if (count(out, &dt_op_pad) != cases[i].pads ||
            count(out, &dt_op_concatenate) != cases[i].joins ||
            count(out, &dt_op_slice) != cases[i].slices || largest_difference(g, out) != 0)
            fail_msg("%s: %d pads, %d joins, %d slices", cases[i].name, count(out, &dt_op_pad),
                     count(out, &dt_op_concatenate), count(out, &dt_op_slice));
        dt_graph_destroy(g);
        dt_graph_destroy(out);
    }
}

/* ---- a recurrent layer ---- */

/* y = tanh(x(t) + y u) for all steps, which halves divide. */
static void split(dt_value x, int64_t n, dt_value *out) {
    if (n == 1) {
        *out = dt_reshape(x, 2, (int64_t[]){DT_BATCH, WIDTH});
        return;
    }
    split(part(x, 0, n / 2), n / 2, out);
    split(part(x, n / 2, n - n / 2), n - n / 2, out + n / 2);
}

static dt_graph *gradients_of_layer(bool backwards) {
    dt_value x, step[STEPS], d[2];
    dt_trace *t = trace_of(&x);
    const dt_type square = dt_type_of(DT_FLOAT32, 2, (int64_t[]){WIDTH, WIDTH});
    dt_value u = dt_multiply(dt_iota(t, &square, 0), dt_splat(t, &square, 0.1));
    split(x, STEPS, step);
    dt_value y = step[backwards ? STEPS - 1 : 0];
    for (int i = 1; i < STEPS; i++)
        y = dt_tanh(dt_add(step[backwards ? STEPS - 1 - i : i], dt_matmul(y, u)));
    dt_gradients_of(y, (dt_value[]){x, u}, 2, d);
    dt_return(t, "dx", d[0]);
    dt_return(t, "du", d[1]);
    dt_graph *g = NULL, *out = NULL;
    assert_null(dt_trace_end(t, &g));
    assert_null(dt_simplify(g, &out));
    dt_graph_destroy(g);
    return out;
}

/* Two products for each step but the first, and one for the gradient of the kernel. */
static void test_recurrent_layer(void **state) {
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++) {
        dt_graph *g = gradients_of_layer(backwards), *out = joined(g);
        assert_non_null(out);
        assert_int_equal(count(g, &dt_op_dot_general), 3 * (STEPS - 1));
        assert_int_equal(count(out, &dt_op_dot_general), 2 * (STEPS - 1) + 1);
        assert_int_equal(count(out, &dt_op_pad), 0);
        assert_true(largest_difference(g, out) < 1e-5);
        dt_graph_destroy(g);
        dt_graph_destroy(out);
    }
}

static void test_few_products_stay(void **state) {
    (void)state;
    dt_value x;
    dt_trace *t = trace_of(&x);
    dt_graph *g = NULL, *out = NULL;
    dt_value y = dt_reshape(part(x, 0, 1), 2, (int64_t[]){DT_BATCH, WIDTH});
    const dt_dot_attr over_rows = {.n_contract = 1};
    dt_return(t, "y",
              dt_add(dt_dot_general(y, y, &over_rows), dt_dot_general(y, dt_tanh(y), &over_rows)));
    assert_null(dt_trace_end(t, &g));
    assert_null(dt_join_steps(g, &out));
    assert_null(out);
    dt_graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_rewrites),
        cmocka_unit_test(test_recurrent_layer),
        cmocka_unit_test(test_few_products_stay),
    };
    return cmocka_run_group_tests_name("pass/steps", tests, NULL, NULL);
}
