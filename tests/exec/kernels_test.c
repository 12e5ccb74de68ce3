/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kernel against the op's own eval, on shapes that it takes and on their neighbours that it
 * must leave to others; each row of exec/kernels.h is hit, by name. Products once more as chips
 * make them.
 */
#include "../support/local_fabric.h"
#include "kit.h"

#include <math.h>

#include "net/fabric.h"
#include "kernel_rows.h"

/* ---- running one ---- */

static dt_value declare(setting *s, const char *name, dt_dtype d, int rank, const int64_t *dim) {
    dt_type type = dt_type_of(d, rank, dim);
    return dt_trace_declare(s->t, name, &type);
}

static setting start(dt_variable **matrix) {
    setting s = {.t = dt_trace_create("one")};
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){6, 7});
    ok_for(dt_variable_alloc(matrix, "matrix", &type, true), 0);
    for (int i = 0; i < 42; i++) ((float *)(*matrix)->host_data)[i] = (float)(i % 11 - 5) / 4;
    s.matrix = dt_read(s.t, *matrix);
    s.rows = declare(&s, "rows", DT_FLOAT32, 2, (int64_t[]){-1, 6});
    s.cube = declare(&s, "cube", DT_FLOAT32, 3, (int64_t[]){-1, 3, 4});
    s.vector = declare(&s, "vector", DT_FLOAT32, 1, (int64_t[]){6});
    s.square = declare(&s, "square", DT_FLOAT32, 2, (int64_t[]){6, 6});
    s.label = declare(&s, "label", DT_INT32, 1, (int64_t[]){-1});
    s.wide_label = declare(&s, "wide_label", DT_INT64, 1, (int64_t[]){-1});
    s.target = declare(&s, "target", DT_FLOAT32, 2, (int64_t[]){-1, 5});
    s.byte = declare(&s, "byte", DT_UINT8, 2, (int64_t[]){-1, 6});
    s.logits = declare(&s, "logits", DT_FLOAT32, 2, (int64_t[]){-1, 5});
    return s;
}

/* Labels go one beyond the classes, so that some are outside. */
static void fill(dt_random *r, const dt_view *v) {
    for (int64_t i = 0; i < dt_type_elements(&v->type); i++)
        if (dt_dtype_is_float(v->type.dtype)) dt_cell_set_double(v, i, dt_random_normal(r));
        else dt_cell_set_int(v, i, (int64_t)dt_random_below(r, 6));
}

static dt_view *draw_arguments(const dt_graph *g, int64_t batch) {
    dt_random r = dt_random_stream(30, "arguments", 0);
    dt_view *arg = calloc((size_t)g->n_args, sizeof *arg);
    for (int i = 0; i < g->n_args; i++) {
        dt_type type = dt_type_at(&g->node[g->arg[i].node].type, batch);
        arg[i] = (dt_view){type, calloc(1, bytes_of(&type) + 1)};
        fill(&r, &arg[i]);
    }
    return arg;
}

/* What an exact comparison allows, and one of rounded products: a value that lies between two of
 * bfloat16's goes either way, as the last bit of float32 has it, and then shows in the sums that it
 * is part of. */
typedef struct comparison {
    const char *kernel;
    double most, share; /* difference; of a rounded product: elements that may have it */
} comparison;

static double share_apart(const dt_view *a, const dt_view *b, double by) {
    int64_t n = dt_type_elements(&a->type), apart = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = dt_cell_double(a, i), y = dt_cell_double(b, i);
        apart += !(x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= by * (1 + fabs(y)));
    }
    return n ? (double)apart / (double)n : 0;
}

static bool is_zero(const dt_view *v) {
    for (int64_t i = 0, n = dt_type_elements(&v->type); i < n; i++)
        if (dt_cell_double(v, i) != 0) return false;
    return true;
}

/* One with each library that is here. */
typedef struct engines {
    dt_engine *v[3];
    int n;
} engines;

static void expect_close(const dt_engine *e, const comparison *c, int64_t batch, const dt_view *is,
                         const dt_view *ought) {
    double most = views_difference(is, ought);
    if (most > c->most ||
        (c->share > 0 &&
         share_apart(is, ought, 2e-5) > c->share + 1.0 / (double)dt_type_elements(&is->type)))
        fail_msg("%s with B = %lld on %s: differs by %g, %g of it by more than 2e-5", c->kernel,
                 (long long)batch, dt_engine_describe(e), most, share_apart(is, ought, 2e-5));
}

static void expect_run(dt_engine *e, dt_program *p, const dt_env *env, const dt_view *arg,
                       const comparison *c, const dt_interpretation *oracle) {
    dt_view result[2];
    dt_exec *x = NULL;
    ok_for(dt_exec_compile(&x, e, p), 0);
    ok_for(dt_exec_run(x, env, arg, result), 0);
    for (int i = 0; i < p->graph->n_results; i++)
        expect_close(e, c, env->batch, &result[i], &oracle->result[i]);
    dt_exec_destroy(x);
}

static void compare(const engines *on, const dt_graph *g, const comparison *c, int64_t batch,
                    const int32_t *border) {
    dt_arena *arena = dt_arena_create();
    dt_view *arg = draw_arguments(g, batch);
    dt_env env = {.batch = batch, .replicas = 1, .shards = border, .n_shards = 5};
    dt_process_group *group = NULL; /* of one: what workers exchange, it has */
    ok_for(dt_process_group_open(&group, &dt_fabric_local, 1), 0);
    ok_for(dt_process_group_join(group, 0, 20, &env.member), 0);
    dt_program *p = dt_partition(
        (dt_graph *)g, &(dt_partition_options){.batch = batch, .can_split = dt_exec_can_split},
        arena);
    dt_interpretation oracle;
    ok_for(dt_interpret(g, &env, 1, &batch, arg, &oracle), 0);
    for (int i = 0; i < on->n; i++) expect_run(on->v[i], p, &env, arg, c, &oracle);
    dt_member_leave(env.member);
    dt_process_group_close(group);
    dt_interpretation_release(&oracle);
    views_release(arg, g->n_args);
    dt_arena_destroy(arena);
}

static bool has_segments(const dt_graph *g) {
    for (int i = 0; i < g->n_nodes; i++)
        if (strncmp(g->node[i].op->name, "segment_", 8) == 0) return true;
    return false;
}

static void compare_sizes(const engines *on, const dt_graph *g, const comparison *c) {
    static const int64_t batches[] = {1, 2, 5, 7, 64, 300, 0};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        int32_t b = (int32_t)batches[i], even[6], odd[6] = {0, 0, b / 3, b / 2, b, b};
        for (int v = 0; v <= 5; v++) /* larger ones first, as they are cut */
            even[v] = b / 5 * v + (v < b % 5 ? v : b % 5);
        compare(on, g, c, batches[i], even);
        if (has_segments(g)) compare(on, g, c, batches[i], odd);
    }
}

/* The graph with products that round, and that it matters: what is not all padding comes out
 * different. */
static void compare_as_chip(const engines *on, const dt_graph *g, const char *kernel) {
    int64_t batch = 64;
    int32_t border[6] = {0, 13, 26, 39, 52, 64};
    dt_env env = {.batch = batch, .replicas = 1, .shards = border, .n_shards = 5};
    dt_graph *chip = NULL;
    ok_for(dt_chip_products(g, &chip), 0);
    if (chip->n_nodes > g->n_nodes) {
        dt_view *arg = draw_arguments(g, batch);
        dt_interpretation exact, rounded;
        ok_for(dt_interpret(g, &env, 1, &batch, arg, &exact), 0);
        ok_for(dt_interpret(chip, &env, 1, &batch, arg, &rounded), 0);
        if (!is_zero(&exact.result[0]) &&
            views_difference(&exact.result[0], &rounded.result[0]) < 1e-5)
            fail_msg("%s, %s: rounding changes nothing", kernel,
                     g->node[g->result[0].node].op->name);
        dt_interpretation_release(&exact);
        dt_interpretation_release(&rounded);
        views_release(arg, g->n_args);
        compare_sizes(on, chip, &(comparison){kernel, 0.02, 0.05});
    }
    dt_graph_destroy(chip);
}

static void check_row(const engines *on, const row *r, int number) {
    dt_variable *matrix = NULL;
    setting s = start(&matrix);
    dt_graph *g = NULL;
    dt_return(s.t, "y", r->make(&s));
    ok_for(dt_trace_end(s.t, &g), 0);
    const dt_kernel *k = dt_kernel_find(g, g->result[0].node);
    if (strcmp(k->name, r->kernel) != 0)
        fail_msg("row %d: %s is left to %s, not %s", number, g->node[g->result[0].node].op->name,
                 k->name, r->kernel);
    compare_sizes(on, g, &(comparison){.kernel = r->kernel, .most = 2e-5});
    compare_as_chip(on, g, r->kernel);
    dt_graph_destroy(g);
    dt_variable_unref(matrix);
}

static void test_kernels_with_every_library(void **state) {
    (void)state;
    engines on = {.n = 0};
    static const dt_kernels all[] = {DT_KERNELS_OWN, DT_KERNELS_OPENBLAS, DT_KERNELS_ONEDNN};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if ((on.v[on.n] = engine_with(2, all[i]))) on.n++;
    assert_true(on.n > 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&on, &rows[i], (int)i);
    for (int i = 0; i < on.n; i++) dt_engine_close(on.v[i]);
}

/* ---- the tree's own bits ---- */

/* With one row a shard the parts are exact, and what is left are the tree's sums: each float32, in
 * the order of tree_sum's definition. */
static void expect_tree_bits(dt_engine *e, maker make, int shards) {
    dt_variable *matrix = NULL;
    setting s = start(&matrix);
    dt_graph *g = NULL;
    dt_view result;
    dt_exec *x = NULL;
    dt_arena *arena = dt_arena_create();
    dt_interpretation oracle;
    int32_t border[MOST_SHARDS + 1];
    int64_t batch = shards;
    for (int i = 0; i <= shards; i++) border[i] = i;
    dt_return(s.t, "y", make(&s));
    ok_for(dt_trace_end(s.t, &g), 0);
    dt_view *arg = draw_arguments(g, batch);
    dt_env env = {.batch = batch, .replicas = 1, .shards = border, .n_shards = shards};
    ok_for(dt_interpret(g, &env, 1, &batch, arg, &oracle), 0);
    ok_for(
        dt_exec_compile(
            &x, e,
            dt_partition(g, &(dt_partition_options){.batch = batch, .can_split = dt_exec_can_split},
                         arena)),
        0);
    ok_for(dt_exec_run(x, &env, arg, &result), 0);
    if (!views_identical(&result, &oracle.result[0]))
        fail_msg("%d shards: other bits than tree_sum's", shards);
    dt_exec_destroy(x);
    dt_interpretation_release(&oracle);
    views_release(arg, g->n_args);
    dt_arena_destroy(arena);
    dt_graph_destroy(g);
    dt_variable_unref(matrix);
}

static void test_trees_add_in_their_order(void **state) {
    (void)state;
    dt_engine *e = engine_with(2, DT_KERNELS_OPENBLAS);
    for (n_shards = 1; n_shards <= MOST_SHARDS; n_shards++) {
        expect_tree_bits(e, tree_of_rows, n_shards);
        expect_tree_bits(e, tree_of_product, n_shards);
    }
    n_shards = 5;
    dt_engine_close(e);
}

/* ---- the table ---- */

static bool is_tested(const char *kernel) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].kernel, kernel) == 0) return true;
    return false;
}

static void test_every_kernel_is_tested(void **state) {
    (void)state;
#define DT_KERNEL(name)                                                                            \
    if (!is_tested(#name)) fail_msg("the kernel '%s' has no row in this test", #name);
#include "exec/kernels.h"
#undef DT_KERNEL
}

/* Which kernels random steps use: those of everyday steps all, and fused ones. */
static void test_random_steps_use_the_kernels(void **state) {
    (void)state;
    static const char *const everyday[] = {"dot",          "reduce", "softmax", "entropy",
                                           "entropy_grad", "tree",   "alias"};
    int hits[sizeof everyday / sizeof *everyday] = {0};
    for (uint64_t seed = 8000; seed < 8040; seed++) {
        lowered l = lower((random_kind)(seed % 2), seed, 2, seed % 4 ? 0 : 8);
        for (int i = 0; i < l.graph->n_nodes; i++)
            for (size_t k = 0; k < sizeof hits / sizeof *hits; k++)
                hits[k] += strcmp(dt_kernel_find(l.graph, i)->name, everyday[k]) == 0;
        lowered_release(&l);
    }
    for (size_t k = 0; k < sizeof hits / sizeof *hits; k++) {
        print_message("%s %d\n", everyday[k], hits[k]);
        assert_true(hits[k] > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kernel_is_tested),
        cmocka_unit_test(test_kernels_with_every_library),
        cmocka_unit_test(test_trees_add_in_their_order),
        cmocka_unit_test(test_random_steps_use_the_kernels),
    };
    return cmocka_run_group_tests_name("exec/kernels", tests, NULL, NULL);
}
