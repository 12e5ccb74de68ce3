/* SPDX-License-Identifier: Apache-2.0 */
/* Products of one value with several kernels become one, and so do sums of products with these
 * kernels; numbers stay, and what must not be joined stays, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "export/stablehlo/blocks.h"
#include "../../op/table.h"
#include "../../support/outcome.h"

enum { ROWS = 3, MOST = 12 };

typedef struct drawing {
    dt_trace *t;
    int n;
    dt_variable *variable[MOST];
    dt_value kernel[MOST];
} drawing;

static dt_value kernel(drawing *d, int rank, const int64_t *dim) {
    const dt_type type = dt_type_of(DT_FLOAT32, rank, dim);
    char path[16];
    snprintf(path, sizeof path, "%d/kernel", d->n);
    assert_null(dt_variable_alloc(&d->variable[d->n], path, &type, true));
    for (int64_t i = 0; i < dt_type_elements(&type); i++)
        ((float *)d->variable[d->n]->host_data)[i] = (float)((i * 7 + d->n * 5) % 11 - 5) / 10;
    d->kernel[d->n] = dt_read(d->t, d->variable[d->n]);
    return d->kernel[d->n++];
}

static dt_value kernel_of(drawing *d, int64_t k, int64_t n) {
    return kernel(d, 2, (int64_t[]){k, n});
}

/* Sums over the last dimension of x and dimension `over` of the kernel. */
static dt_value times(dt_value x, dt_value w, int over) {
    const dt_dot_attr dot = {.n_contract = 1,
                             .lhs_contract = {(int8_t)(dt_type_of_value(x).rank - 1)},
                             .rhs_contract = {(int8_t)over}};
    return dt_dot_general(x, w, &dot);
}

static dt_value total(dt_value x) { return dt_reduce_sum(dt_multiply(dt_tanh(x), x), DT_NO_AXIS); }

/* ---- steps: x is (B, 4, 6) ---- */

/* Heads of other numbers and sizes than the first one's; a residual connection. */
static dt_value projections(drawing *d, dt_value x) {
    static const int64_t dim[][3] = {{6, 2, 4}, {6, 2, 4}, {6, 3, 5}};
    dt_value sum = total(x);
    for (int i = 0; i < 3; i++) sum = dt_add(sum, total(times(x, kernel(d, 3, dim[i]), 0)));
    return sum;
}

static dt_value gated(drawing *d, dt_value x) {
    dt_value gate = times(x, kernel_of(d, 6, 10), 0), up = times(x, kernel_of(d, 6, 10), 0);
    return total(times(dt_multiply(dt_tanh(gate), up), kernel_of(d, 10, 6), 0));
}

/* Kernels in the order of a table's rows. */
static dt_value tied(drawing *d, dt_value x) {
    dt_value a = times(x, kernel_of(d, 9, 6), 1), b = times(x, kernel_of(d, 2, 6), 1);
    return dt_add(total(a), total(b));
}

/* Products that sum over other dimensions of their kernels. */
static dt_value turned(drawing *d, dt_value x) {
    dt_value a = times(x, kernel_of(d, 6, 5), 0), b = times(x, kernel_of(d, 5, 6), 1);
    return dt_add(total(a), total(b));
}

/* Free dimensions that do not lie side by side. */
static dt_value apart(drawing *d, dt_value x) {
    static const int64_t dim[] = {2, 6, 4};
    dt_value a = times(x, kernel(d, 3, dim), 1), b = times(x, kernel(d, 3, dim), 1);
    return dt_add(total(a), total(b));
}

/* Kernels that depend on examples. */
static dt_value drawn(drawing *d, dt_value x) {
    dt_value mean = dt_reduce_sum(x, DT_NO_AXIS), sum = dt_constant(d->t, 0);
    for (int i = 0; i < 2; i++)
        sum = dt_add(sum, total(times(x, dt_multiply(kernel_of(d, 6, 5), mean), 0)));
    return sum;
}

/* All layers of a decoder read x. */
static dt_value layers(drawing *d, dt_value x) {
    dt_value y = x;
    for (int i = 0; i < 3; i++) {
        dt_value read = dt_tanh(times(x, kernel_of(d, 6, 6), 0));
        for (int k = 0; k < 3; k++)
            y = dt_tanh(times(k ? y : dt_multiply(y, read), kernel_of(d, 6, 6), 0));
    }
    return total(y);
}

/* One sum of products of x with two kernels: side by side, not one behind the other. */
static dt_value added(drawing *d, dt_value x) {
    dt_value a = times(x, kernel_of(d, 6, 5), 0), b = times(x, kernel_of(d, 6, 5), 0);
    return total(dt_add(a, b));
}

/* A kernel that many steps make of a weight, each of which reads the one before it twice. */
static dt_value computed(drawing *d, dt_value x) {
    dt_value a = times(x, kernel_of(d, 6, 5), 0), w = kernel_of(d, 6, 5);
    for (int i = 0; i < 60; i++) w = dt_multiply(dt_add(w, w), dt_constant(d->t, 0.5));
    return dt_add(total(a), total(times(x, w, 0)));
}

static const struct {
    const char *name;
    dt_value (*build)(drawing *d, dt_value x);
    int before, after; /* products of the loss and of the gradients of x and of all kernels */
} steps[] = {
    {"projections", projections, 9, 5}, {"gated", gated, 9, 7}, {"tied", tied, 6, 4},
    {"turned", turned, 6, 6},           {"apart", apart, 6, 6}, {"drawn", drawn, 6, 6},
    {"layers", layers, 36, 36},         {"added", added, 5, 3}, {"computed", computed, 6, 4},
};

static int products_of(const dt_graph *g) {
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++) n += dt_dot_of(&g->node[i]) != NULL;
    return n;
}

static dt_graph *step_of(size_t i, drawing *d) {
    const dt_type type = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 4, 6});
    dt_value of[MOST + 1], dx[MOST + 1];
    dt_graph *g = NULL;
    char name[8];
    d->t = dt_trace_create(steps[i].name);
    of[0] = dt_trace_declare(d->t, "x", &type);
    dt_value loss = steps[i].build(d, of[0]);
    memcpy(of + 1, d->kernel, (size_t)d->n * sizeof *of);
    dt_gradients_of(loss, of, d->n + 1, dx);
    dt_return(d->t, "loss", loss);
    for (int k = 0; k <= d->n; k++) {
        snprintf(name, sizeof name, "d%d", k);
        dt_return(d->t, name, dx[k]);
    }
    check(dt_trace_end(d->t, &g), steps[i].name);
    return g;
}

/* ---- tests ---- */

static void test_steps_are_joined(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        drawing d = {0};
        dt_graph *g = step_of(i, &d), *joined = NULL;
        float x[ROWS * 4 * 6];
        const int64_t batch = ROWS;
        const dt_view arg = {dt_type_of(DT_FLOAT32, 3, (int64_t[]){ROWS, 4, 6}), x};
        dt_interpretation is, ought;
        for (int k = 0; k < ROWS * 4 * 6; k++) x[k] = (float)(k * 5 % 13 - 6) / 7;
        check(dt_hlo_join_products(g, &joined), steps[i].name);
        if (products_of(g) != steps[i].before)
            fail_msg("%s: %d products before", steps[i].name, products_of(g));
        if (products_of(joined) != steps[i].after)
            fail_msg("%s: %d products", steps[i].name, products_of(joined));
        check(dt_interpret(g, NULL, 1, &batch, &arg, &ought), steps[i].name);
        check(dt_interpret(joined, NULL, 1, &batch, &arg, &is), steps[i].name);
        for (int k = 0; k < ought.n_results; k++)
            expect_views(steps[i].name, &is.result[k], &ought.result[k], 1e-5);
        dt_interpretation_release(&is);
        dt_interpretation_release(&ought);
        dt_graph_destroy(joined);
        dt_graph_destroy(g);
        for (int k = 0; k < d.n; k++) dt_variable_unref(d.variable[k]);
    }
}

/* False: the step has nothing to join. */
static bool join_one(random_kind kind, uint64_t s) {
    random_graph *g = random_graph_draw(kind, s);
    feed f = feed_make(g, s, 2, (int64_t[]){3, 2});
    dt_graph *joined = NULL;
    dt_interpretation before = oracle_run(g, &f), after;
    check(dt_hlo_join_products(g->graph, &joined), "join");
    const bool any = products_of(joined) < products_of(g->graph);
    check(dt_interpret(joined, NULL, f.replicas, f.batch, f.arg, &after), "joined");
    for (int i = 0; i < before.replicas * before.n_results; i++)
        expect_views(g->graph->result[i % before.n_results].name, &after.result[i],
                     &before.result[i], 1e-3);
    dt_interpretation_release(&before);
    dt_interpretation_release(&after);
    dt_graph_destroy(joined);
    feed_release(&f);
    random_graph_destroy(g);
    return any;
}

static void test_random_steps_stay(void **state) {
    int found = 0;
    (void)state;
    print_message("seeds 8200 to 8399\n");
    for (uint64_t s = 8200; s < 8400; s++) found += join_one(s % 2 ? RANDOM_FIT : RANDOM_BLOCKS, s);
    assert_in_range(found, 20, 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps_are_joined),
                                       cmocka_unit_test(test_random_steps_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
