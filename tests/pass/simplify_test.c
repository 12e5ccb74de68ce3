/* SPDX-License-Identifier: Apache-2.0 */
/* Simplify: the bits of results stay, over random steps; and what single rewrites make, as text.
 * Also which sums are split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "pass/pass.h"
#include "../support/outcome.h"

static dt_graph *simplify(const dt_graph *g) {
    dt_graph *out = NULL;
    dt_status *s = dt_simplify(g, &out);
    if (s) fail_msg("%s", dt_status_text(s));
    return out;
}

/* ---- random steps ---- */

static void expect_same_bits(const random_graph *g, const dt_interpretation *a,
                             const dt_interpretation *b) {
    for (int i = 0; i < a->replicas * a->n_results; i++)
        if (!views_identical(&a->result[i], &b->result[i]))
            fail_msg("seed %llu: other bits for '%s'", (unsigned long long)g->seed,
                     g->graph->result[i % a->n_results].name);
    for (int i = 0; i < a->n_states; i++)
        if (a->update[i].data && !views_identical(&a->update[i], &b->update[i]))
            fail_msg("seed %llu: other bits for the update of '%s'", (unsigned long long)g->seed,
                     g->graph->state[i].variable->path);
}

static int simplify_one(random_kind kind, uint64_t seed) {
    dt_random r = dt_random_stream(seed, "rows", 0);
    random_graph *g = random_graph_draw(kind, seed);
    int64_t first = (int64_t)dt_random_below(&r, 5), second = (int64_t)dt_random_below(&r, 5);
    feed f = feed_make(g, seed, 2, (int64_t[]){first, second});
    dt_graph *once = simplify(g->graph), *twice = simplify(once);
    dt_interpretation before = oracle_run(g, &f), after;
    assert_null(dt_interpret(once, NULL, f.replicas, f.batch, f.arg, &after));
    expect_same_bits(g, &before, &after);
    int removed = g->graph->n_nodes - once->n_nodes;
    if (twice->n_nodes > once->n_nodes || removed < 0)
        fail_msg("seed %llu: more nodes than before", (unsigned long long)seed);
    dt_interpretation_release(&before);
    dt_interpretation_release(&after);
    dt_graph_destroy(once);
    dt_graph_destroy(twice);
    feed_release(&f);
    random_graph_destroy(g);
    return removed;
}

static void test_bits_stay(void **state) {
    (void)state;
    int removed = 0;
    for (uint64_t seed = 4000; seed < 4300; seed++)
        removed += simplify_one((random_kind)(seed % 3), seed);
    print_message("seeds 4000 to 4299: %d nodes removed\n", removed);
    assert_true(removed > 0);
}

/* ---- single rewrites ---- */

typedef dt_value (*maker)(dt_trace *t, dt_value x); /* of x (B, 3) */

static dt_value times_one(dt_trace *t, dt_value x) { return dt_multiply(x, dt_constant(t, 1)); }
static dt_value one_times(dt_trace *t, dt_value x) {
    return (void)t, dt_multiply(dt_like(x, 1), x);
}
static dt_value by_one(dt_trace *t, dt_value x) { return dt_divide(x, dt_constant(t, 1)); }
static dt_value less_zero(dt_trace *t, dt_value x) { return dt_subtract(x, dt_constant(t, 0)); }
static dt_value less_minus_zero(dt_trace *t, dt_value x) {
    return dt_subtract(x, dt_constant(t, -0.0));
}
static dt_value plus_zero(dt_trace *t, dt_value x) { return dt_add(x, dt_constant(t, 0)); }
static dt_value twice_negated(dt_trace *t, dt_value x) { return (void)t, dt_negate(dt_negate(x)); }
static dt_value constants(dt_trace *t, dt_value x) {
    return dt_add(x, dt_sqrt(dt_add(dt_constant(t, 4), dt_constant(t, 5))));
}
static dt_value of_constant(dt_trace *t, dt_value x) {
    (void)x;
    return dt_power(dt_constant(t, 2), dt_constant(t, 0.5));
}
static dt_value known_size(dt_trace *t, dt_value x) {
    return dt_emit(t, &dt_op_get_dimension_size, &x, 1, &(dt_axis_attr){1});
}
static dt_value size_of_computed(dt_trace *t, dt_value x) {
    return (void)t, dt_dim_value(dt_exponential(x), 0);
}
static dt_value size_of_regrouped(dt_trace *t, dt_value x) {
    return (void)t, dt_dim_value(dt_reshape(x, 1, (int64_t[]){-3}), 0);
}
static dt_value reshaped_twice(dt_trace *t, dt_value x) {
    (void)t;
    return dt_reshape(dt_reshape(x, 1, (int64_t[]){-3}), 3, (int64_t[]){-1, 1, 3});
}
static dt_value reshaped_back(dt_trace *t, dt_value x) {
    (void)t;
    return dt_reshape(dt_reshape(x, 1, (int64_t[]){-3}), 2, (int64_t[]){-1, 3});
}
static dt_value same_converted(dt_trace *t, dt_value x) {
    return dt_emit(t, &dt_op_convert, &x, 1, &(dt_convert_attr){DT_FLOAT32});
}
static dt_value same_broadcast(dt_trace *t, dt_value x) {
    (void)t;
    dt_type type = dt_node_of(x)->type;
    return dt_broadcast_in_dim(x, &type, (int8_t[]){0, 1});
}
/* A square table is turned by its dims: the type is the same, the values are not. */
static dt_value turned(dt_trace *t, dt_value x) {
    dt_dot_attr gram = {.n_contract = 1};
    dt_value square = dt_dot_general(x, dt_exponential(x), &gram);
    dt_type type = dt_node_of(square)->type;
    (void)t;
    return dt_broadcast_in_dim(square, &type, (int8_t[]){1, 0});
}
static dt_value unneeded(dt_trace *t, dt_value x) {
    dt_value kept = dt_tanh(x);
    dt_exponential(kept);
    return (void)t, kept;
}
static dt_value bools(dt_trace *t, dt_value x) {
    dt_value yes = dt_compare(dt_constant(t, 1), dt_constant(t, 0), DT_GT);
    return (void)x, dt_convert(yes, DT_FLOAT32);
}
static dt_value too_large_for_a_double(dt_trace *t, dt_value x) {
    /* 2^52; its double is 2^53, which a double cannot tell from its neighbour */
    dt_value big = dt_scalar(t, DT_INT64, 4503599627370496);
    return (void)x, dt_add(dt_add(big, big), dt_scalar(t, DT_INT64, 1));
}

static const struct {
    const char *name;
    maker make;
    const char *text; /* what is left, less the argument */
} rewrites[] = {
    {"x * 1", times_one, "return y = %0\n"},
    {"1 * x", one_times, "return y = %0\n"},
    {"x / 1", by_one, "return y = %0\n"},
    {"x - 0", less_zero, "return y = %0\n"},
    {"x - -0 is x + 0, which is not x for -0", less_minus_zero,
     "%1 = constant -0      : f32[B,3]\n%2 = subtract(%0, %1) : f32[B,3]\nreturn y = %2\n"},
    {"x + 0", plus_zero,
     "%1 = constant 0  : f32[B,3]\n%2 = add(%0, %1) : f32[B,3]\nreturn y = %2\n"},
    {"- -x", twice_negated, "return y = %0\n"},
    {"constants", constants,
     "%1 = constant 3  : f32[B,3]\n%2 = add(%0, %1) : f32[B,3]\nreturn y = %2\n"},
    {"a constant", of_constant, "%1 = constant 1.4142135 : f32[]\nreturn y = %1\n"},
    {"a known size", known_size, "%1 = constant 3  : i32[]\nreturn y = %1\n"},
    {"the size of what is computed", size_of_computed,
     "%1 = get_dimension_size(%0) axis=0 : i32[]\nreturn y = %1\n"},
    {"a size that no argument has", size_of_regrouped,
     "%1 = reshape(%0)                   : f32[B*3]\n%2 = get_dimension_size(%1) axis=0 : "
     "i32[]\nreturn y = %2\n"},
    {"a reshape of a reshape", reshaped_twice, "%1 = reshape(%0) : f32[B,1,3]\nreturn y = %1\n"},
    {"a reshape and back", reshaped_back, "return y = %0\n"},
    {"a conversion to the same", same_converted, "return y = %0\n"},
    {"a broadcast to the same", same_broadcast, "return y = %0\n"},
    {"a broadcast that turns", turned,
     "%1 = exponential(%0)                         : f32[B,3]\n%2 = dot_general(%0, %1) "
     "contracting [0]x[0] : f32[3,3]\n"
     "%3 = broadcast_in_dim(%2) dims=[1,0]         : f32[3,3]\nreturn y = %3\n"},
    {"what nothing needs", unneeded, "%1 = tanh(%0)    : f32[B,3]\nreturn y = %1\n"},
    {"bools", bools, "%1 = constant 1  : f32[]\nreturn y = %1\n"},
    {"beyond 2^53", too_large_for_a_double, NULL},
};

/* The text of a graph behind its first two lines, which show the argument. */
static const char *body(const dt_str *text) {
    const char *s = strchr(dt_str_text(text), '\n') + 1;
    return strchr(s, '\n') + 1;
}

static void expect_rewrite(const char *name, maker make, const char *wanted) {
    dt_type rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3});
    dt_trace *t = dt_trace_create("one");
    dt_value x = dt_trace_declare(t, "x", &rows);
    dt_return(t, "y", make(t, x));
    dt_graph *g = NULL;
    dt_str text = {0};
    assert_null(dt_trace_end(t, &g));
    dt_graph *out = simplify(g);
    dt_graph_print(out, &text);
    if (wanted && strcmp(body(&text), wanted) != 0) fail_msg("%s:\n%s", name, body(&text));
    dt_str_release(&text);

    float data[2][3] = {{1, -2, -0.0f}, {4, 5, NAN}};
    dt_view arg = {dt_type_at(&rows, 2), data};
    dt_interpretation a, b;
    assert_null(dt_interpret(g, NULL, 1, &(int64_t){2}, &arg, &a));
    assert_null(dt_interpret(out, NULL, 1, &(int64_t){2}, &arg, &b));
    if (!views_identical(&a.result[0], &b.result[0])) fail_msg("%s: other bits", name);
    dt_interpretation_release(&a);
    dt_interpretation_release(&b);
    dt_graph_destroy(g);
    dt_graph_destroy(out);
}

static void test_single_rewrites(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++)
        expect_rewrite(rewrites[i].name, rewrites[i].make, rewrites[i].text);
}

/* ---- sums of weights ---- */

/* The graph of a reduction of all of x, and its result after dt_split_sums; 0: it stays whole. */
static int sums_of(const dt_type *type, dt_reduce_kind kind, float *data, float *result) {
    dt_trace *t = dt_trace_create("sum");
    dt_value x = dt_trace_declare(t, "x", type);
    dt_return(t, "y", dt_reduce(x, kind, (1u << type->rank) - 1));
    dt_graph *g = NULL, *split = NULL;
    dt_interpretation out;
    int sums = 0;
    assert_null(dt_trace_end(t, &g));
    assert_null(dt_split_sums(g, &split));
    const dt_view arg = {dt_type_at(type, 400), data};
    assert_null(dt_interpret(split ? split : g, NULL, 1, &(int64_t){400}, &arg, &out));
    *result = *(float *)out.result[0].data;
    for (int i = 0; split && i < split->n_nodes; i++) sums += dt_reduce_of(&split->node[i]) != NULL;
    dt_interpretation_release(&out);
    dt_graph_destroy(g);
    if (split) dt_graph_destroy(split);
    return sums;
}

/* Large sums go by rows first, and have the value that float64 has. */
static void test_large_sums_are_split(void **state) {
    (void)state;
    static const struct {
        int rank;
        int64_t dim[3];
        dt_reduce_kind kind;
        int sums;
    } cases[] = {
        {2, {400, 250}, DT_REDUCE_SUM, 2},      {3, {40, 25, 100}, DT_REDUCE_SUM, 2},
        {2, {400, 249}, DT_REDUCE_SUM, 0},      {1, {100000}, DT_REDUCE_SUM, 0},
        {2, {DT_BATCH, 250}, DT_REDUCE_SUM, 0}, {2, {400, 250}, DT_REDUCE_MAX, 0},
    };
    float *data = dt_alloc(100000 * sizeof *data), result;
    for (int i = 0; i < 100000; i++) data[i] = sinf((float)i) + 0.125f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const dt_type type = dt_type_of(DT_FLOAT32, cases[i].rank, cases[i].dim);
        const int64_t n =
            dt_type_has_batch(&type) ? 400 * cases[i].dim[1] : dt_type_elements(&type);
        double wanted = 0, most = -1;
        for (int64_t k = 0; k < n; k++) {
            wanted += data[k];
            most = fmax(most, data[k]);
        }
        if (cases[i].kind == DT_REDUCE_MAX) wanted = most;
        assert_int_equal(sums_of(&type, cases[i].kind, data, &result), cases[i].sums);
        if (fabs(result - wanted) > 1e-4 * fabs(wanted))
            fail_msg("case %zu: %.9g, not %.9g", i, result, wanted);
    }
    free(data);
}

/* Layers of nodes stay with them. */
static void test_paths_stay(void **state) {
    (void)state;
    dt_type rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3});
    dt_trace *t = dt_trace_create("one");
    dt_value x = dt_trace_declare(t, "x", &rows);
    dt_trace_path(t, "dense");
    dt_return(t, "y", dt_multiply(dt_tanh(x), dt_constant(t, 1)));
    dt_graph *g = NULL;
    assert_null(dt_trace_end(t, &g));
    dt_graph *out = simplify(g);
    assert_string_equal(out->node[out->result[0].node].path, "dense");
    dt_graph_destroy(g);
    dt_graph_destroy(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_rewrites),
        cmocka_unit_test(test_paths_stay),
        cmocka_unit_test(test_large_sums_are_split),
        cmocka_unit_test(test_bits_stay),
    };
    return cmocka_run_group_tests_name("pass/simplify", tests, NULL, NULL);
}
