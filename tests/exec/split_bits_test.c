/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps split by rows, heads and columns of outputs over logical devices give the bits of the step
 * before it was split, where a product's rows and columns do not depend on what stands beside them:
 * oneDNN's do not for these sizes, OpenBLAS changes kernels with the size. So do pieces by time, by
 * heads and by columns, into which the executor divides few examples, with our own products.
 */
#include "kit.h"

#include "pass/spmd.h"

enum { ROWS = 24, STEPS = 6, WIDTH = 64, HEADS = 8, PARTS = 4 };

/* A step under construction; parts 1: no notes. */
typedef struct step {
    random_graph *g;
    dt_trace *t;
    int parts;
} step;

static dt_value split(const step *s, dt_value v, int dim) {
    dt_sharding_attr a = {.kind = DT_SHARDING_OTHER, .rank = dt_type_of_value(v).rank};
    for (int d = 0; d < a.rank; d++) a.parts[d] = d == dim ? s->parts : 1;
    return s->parts > 1 ? dt_annotate(v, &a) : v;
}

static dt_value whole(const step *s, dt_value v) {
    return s->parts > 1 ? dt_annotate(v, &(dt_sharding_attr){.kind = DT_SHARDING_REPLICATED}) : v;
}

static dt_value input(step *s, int rank) {
    dt_type type =
        dt_type_of(DT_FLOAT32, rank,
                   rank == 2 ? (int64_t[]){DT_BATCH, WIDTH} : (int64_t[]){DT_BATCH, STEPS, WIDTH});
    s->g->distributed[0] = true;
    return dt_trace_declare(s->t, "x", &type);
}

static dt_value weight(step *s, int rank, const int64_t *dim) {
    dt_type type = dt_type_of(DT_FLOAT32, rank, dim);
    char path[16];
    snprintf(path, sizeof path, "w%d", s->g->n_variables);
    ok_for(dt_variable_alloc(&s->g->variable[s->g->n_variables], path, &type, true), 0);
    return dt_read(s->t, s->g->variable[s->g->n_variables++]);
}

static dt_value matrix(step *s, int64_t rows, int64_t columns) {
    return weight(s, 2, (int64_t[]){rows, columns});
}

/* Rows go through layers, norms and attention by themselves. */
static void build_rows(step *s) {
    dt_value x = split(s, input(s, 3), 0);
    dt_attention_how how = {.scale = 0.125, .causal = true};
    dt_value h = dt_reshape(dt_matmul(x, matrix(s, WIDTH, WIDTH)), 4,
                            (int64_t[]){DT_BATCH, STEPS, HEADS, WIDTH / HEADS});
    dt_value y = dt_reshape(dt_attention(h, h, h, &how), 3, (int64_t[]){DT_BATCH, STEPS, WIDTH});
    dt_return(s->t, "y",
              dt_softmax(dt_gelu(dt_matmul(dt_add(x, y), matrix(s, WIDTH, WIDTH)), true)));
}

static dt_value heads_of(step *s, dt_value x) {
    dt_dot_attr d = {.n_contract = 1, .lhs_contract = {2}, .rhs_contract = {0}};
    return dt_dot_general(x, split(s, weight(s, 3, (int64_t[]){WIDTH, HEADS, WIDTH / HEADS}), 1),
                          &d);
}

/* Forwards, and backwards to the weights. */
static void train(step *s, dt_value y, int n) {
    dt_value w[4], g[4];
    for (int i = 0; i < n; i++) w[i] = dt_read(s->t, s->g->variable[i]);
    dt_gradients_of(dt_reduce_sum(dt_multiply(y, y), DT_NO_AXIS), w, n, g);
    for (int i = 0; i < n; i++)
        dt_assign(
            s->t, s->g->variable[i],
            dt_subtract(w[i], dt_multiply(dt_all_reduce(DT_SUM, g[i]), dt_like(g[i], 0.001))));
    dt_return(s->t, "y", whole(s, y));
}

static void build_heads(step *s) {
    dt_value x = input(s, 3), q = heads_of(s, x), k = heads_of(s, x), v = heads_of(s, x);
    train(s, dt_attention(q, k, v, &(dt_attention_how){.scale = 0.125, .causal = true}), 3);
}

static void build_columns(step *s) {
    dt_value w = split(s, matrix(s, WIDTH, 4 * WIDTH), 1);
    train(s, dt_tanh(dt_matmul(input(s, 2), w)), 1);
}

/* ---- run ---- */

static lowered make(void (*build)(step *), int parts) {
    lowered l = {.g = dt_alloc(sizeof *l.g)};
    step s = {.g = l.g, .t = dt_trace_create("step"), .parts = parts};
    build(&s);
    ok_for(dt_trace_end(s.t, &l.g->graph), 0);
    random_graph_reset(l.g);
    ok_for(dt_fold(l.g->graph, l.g->distributed, 1, &l.folded), 0);
    return l;
}

static void cut_over(lowered *l, int devices) {
    dt_spmd *spmd = NULL;
    dt_graph *unrolled = NULL;
    ok_for(dt_spmd_create(&spmd, l->folded.graph,
                          &(dt_spmd_options){.devices = devices, .batch = ROWS}),
           0);
    ok_for(dt_spmd_expand(spmd, &unrolled), 0);
    for (int i = 0; i < spmd->local->n_nodes; i++)
        assert_true(spmd->local->node[i].op != &dt_op_across_all_reduce &&
                    spmd->local->node[i].op != &dt_op_across_reduce_scatter);
    ok_for(dt_simplify(unrolled, &l->graph), 0);
    dt_graph_destroy(unrolled);
    dt_spmd_destroy(spmd);
}

static unsigned char *run(dt_engine *e, void (*build)(step *), int parts, size_t *size) {
    lowered l = make(build, parts);
    feed f = feed_make(l.g, 1, 1, (int64_t[]){ROWS});
    if (parts > 1) cut_over(&l, parts);
    else ok_for(dt_simplify(l.folded.graph, &l.graph), 0);
    runnable r = compile(&l, e, &f);
    run_step(&r);
    unsigned char *bytes = outcome_bytes(&r, size);
    runnable_release(&r);
    feed_release(&f);
    lowered_release(&l);
    return bytes;
}

static void test_splits_keep_the_bits(void **state) {
    (void)state;
    static const struct {
        const char *name;
        void (*build)(step *);
    } cases[] = {{"rows", build_rows}, {"heads", build_heads}, {"columns", build_columns}};
    dt_engine *e = engine_with(2, DT_KERNELS_ONEDNN);
    if (!e) {
        print_message("oneDNN is not installed\n");
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int parts = 2; parts <= PARTS; parts *= 2) {
            size_t n = 0, m = 0;
            unsigned char *a = run(e, cases[i].build, 1, &n),
                          *b = run(e, cases[i].build, parts, &m);
            if (n != m || memcmp(a, b, n) != 0)
                fail_msg("%s over %d devices: other bits", cases[i].name, parts);
            free(a);
            free(b);
        }
    dt_engine_close(e);
}

/* ---- few examples ---- */

enum { LONG = 300, KEY_HEADS = 2 };

/* A block of a language model with positions. */
static dt_value block(step *s, dt_value x) {
    const int64_t size = WIDTH / HEADS;
    const dt_attention_how how = {.scale = 0.125, .causal = true, .window = 70};
    x = dt_add(x, dt_broadcast_to(matrix(s, LONG, WIDTH), &dt_node_of(x)->type));
    const dt_value gamma = weight(s, 1, (int64_t[]){WIDTH}),
                   q = heads_of(s, dt_layer_norm(x, gamma, gamma, 1e-5)),
                   kv = dt_reshape(dt_matmul(x, matrix(s, WIDTH, KEY_HEADS * size)), 4,
                                   (int64_t[]){DT_BATCH, LONG, KEY_HEADS, size}),
                   y = dt_reshape(dt_attention(q, kv, dt_tanh(kv), &how), 3,
                                  (int64_t[]){DT_BATCH, LONG, WIDTH}),
                   h = dt_gelu(dt_matmul(y, matrix(s, WIDTH, 2 * WIDTH)), true);
    return dt_add(x, dt_matmul(h, matrix(s, 2 * WIDTH, WIDTH)));
}

static void build_text(step *s) {
    const dt_type type = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, LONG, WIDTH});
    s->g->distributed[0] = true;
    const dt_value y = block(s, dt_trace_declare(s->t, "x", &type)),
                   loss = dt_softmax_cross_entropy(y, dt_softmax(dt_stop_gradient(y)));
    dt_return(s->t, "best", dt_argmax(y, 2));
    train(s, dt_add(dt_reduce_sum(dt_multiply(y, y), 2), loss), 4);
}

/* Two layers of half a million and a million weights. The columns of the second are two blocks and
 * a part of one. */
static void build_wide(step *s) {
    const dt_value x = input(s, 2), h = dt_tanh(dt_matmul(x, matrix(s, WIDTH, 8192)));
    train(s, dt_matmul(h, matrix(s, 8192, 130)), 2);
}

/* A product that sums over nothing. */
static void build_outer(step *s) {
    const dt_value x = input(s, 2);
    dt_return(s->t, "y",
              dt_dot_general(x, weight(s, 1, (int64_t[]){WIDTH}), &(dt_dot_attr){.n_contract = 0}));
}

static bool by_rows(const dt_graph *g, int node, dt_division by) {
    return by == DT_BY_ROWS && dt_exec_can_split(g, node, by);
}

/* What a step left, and how many of its nodes have pieces by time, by heads and by columns. */
typedef struct left_over {
    unsigned char *bytes;
    size_t size;
    int divided[DT_BY_COLUMNS + 1];
} left_over;

static left_over run_few(dt_engine *e, void (*build)(step *), int64_t rows, bool divides) {
    left_over o = {0};
    lowered l = make(build, 1);
    feed f = feed_make(l.g, 1, 1, &rows);
    ok_for(dt_simplify(l.folded.graph, &l.graph), 0);
    runnable r = compile_split(&l, e, &f, divides ? dt_exec_can_split : by_rows);
    for (int i = 0; i < l.graph->n_nodes; i++)
        o.divided[r.program->piece[i].by] += r.program->piece[i].units > 1;
    run_step(&r);
    o.bytes = outcome_bytes(&r, &o.size);
    runnable_release(&r);
    feed_release(&f);
    lowered_release(&l);
    return o;
}

static void test_few_examples_are_divided_with_the_same_bits(void **state) {
    (void)state;
    static const struct {
        void (*build)(step *);
        int64_t rows;
        int time, heads, columns; /* how many nodes are divided so; time: at least, or 0 */
    } cases[] = {{build_text, 1, 21, 4, 0}, {build_text, 2, 21, 4, 0}, {build_text, 3, 21, 4, 0},
                 {build_text, 8, 0, 0, 0},  {build_wide, 1, 0, 0, 2},  {build_wide, 3, 0, 0, 3},
                 {build_wide, 17, 0, 0, 3}, {build_wide, 63, 0, 0, 3}, {build_wide, 64, 0, 0, 0},
                 {build_outer, 3, 0, 0, 0}};
    dt_engine *e = engine_with(2, DT_KERNELS_OWN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int rows = (int)cases[i].rows;
        left_over a = run_few(e, cases[i].build, rows, false),
                  b = run_few(e, cases[i].build, rows, true);
        const int time = b.divided[DT_BY_TIME];
        assert_int_equal(a.divided[DT_BY_TIME] + a.divided[DT_BY_HEADS] + a.divided[DT_BY_COLUMNS],
                         0);
        assert_int_equal(b.divided[DT_BY_HEADS], cases[i].heads);
        assert_int_equal(b.divided[DT_BY_COLUMNS], cases[i].columns);
        if (time < cases[i].time || (time > 0 && cases[i].time == 0))
            fail_msg("case %zu, %d examples: %d nodes divided by time", i, rows, time);
        if (a.size != b.size || memcmp(a.bytes, b.bytes, a.size) != 0)
            fail_msg("case %zu, %d examples: other bits", i, rows);
        free(a.bytes);
        free(b.bytes);
    }
    dt_engine_close(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_splits_keep_the_bits),
        cmocka_unit_test(test_few_examples_are_divided_with_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
