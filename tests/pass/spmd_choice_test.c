/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How steps are split: what a person would write by hand. Transformers whose weights are split as
 * M. Shoeybi et al. (Megatron-LM, 2019) do have one sum over devices a block and direction; a split
 * batch has one for each gradient; and nothing is gathered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pass/spmd.h"
#include "../support/status.h"

/* ---- a step under construction ---- */

enum { MOST = 64, BATCH = 8, STEPS = 4, WIDTH = 16, HEADS = 4 };

typedef struct model {
    dt_trace *t;
    int devices, n;
    dt_variable *variable[MOST], *slot[MOST];
    dt_value read[MOST];
} model;

/* How many parts of dimension `dim`; 0: nothing is said; 1: replicated. */
typedef struct said {
    int dim, parts;
} said;

static dt_value note(dt_value v, said how) {
    dt_type t = dt_type_of_value(v);
    dt_sharding_attr a = {.kind = how.parts == 1 ? DT_SHARDING_REPLICATED : DT_SHARDING_OTHER,
                          .rank = how.parts == 1 ? 0 : t.rank};
    for (int d = 0; d < a.rank; d++) a.parts[d] = d == how.dim ? how.parts : 1;
    return how.parts ? dt_annotate(v, &a) : v;
}

static dt_value weight(model *m, const char *path, int rank, const int64_t *dim, said how) {
    dt_type type = dt_type_of(DT_FLOAT32, rank, dim);
    char slot[64];
    snprintf(slot, sizeof slot, "%s/momentum", path);
    OK(dt_variable_alloc(&m->variable[m->n], path, &type, true));
    OK(dt_variable_alloc(&m->slot[m->n], slot, &type, false));
    dt_value v = dt_read(m->t, m->variable[m->n]);
    m->read[m->n++] = v;
    return note(v, how);
}

static dt_value matrix(model *m, const char *path, int64_t rows, int64_t columns, said how) {
    return weight(m, path, 2, (int64_t[]){rows, columns}, how);
}

static dt_value vector(model *m, const char *path, int64_t n, said how) {
    return weight(m, path, 1, &n, how);
}

/* Momentum, as an optimizer would. */
static void update(model *m, dt_value loss) {
    dt_value g[MOST];
    dt_gradients_of(loss, m->read, m->n, g);
    for (int i = 0; i < m->n; i++) {
        dt_value s = dt_add(dt_multiply(dt_read(m->t, m->slot[i]), dt_constant(m->t, 0.9)),
                            dt_multiply(g[i], dt_constant(m->t, 0.1)));
        dt_assign(m->t, m->slot[i], s);
        dt_assign(m->t, m->variable[i], dt_subtract(m->read[i], s));
    }
}

static dt_spmd *cut(model *m, dt_graph **g) {
    dt_spmd *s = NULL;
    OK(dt_trace_end(m->t, g));
    OK(dt_spmd_create(&s, *g, &(dt_spmd_options){.devices = m->devices, .batch = BATCH}));
    if (getenv("SPMD_PRINT")) {
        dt_str text = {0};
        dt_spmd_print(s, &text);
        puts(dt_str_text(&text));
        dt_str_release(&text);
    }
    return s;
}

static void release(model *m, dt_spmd *s, dt_graph *g) {
    dt_spmd_destroy(s);
    dt_graph_destroy(g);
    for (int i = 0; i < m->n; i++) {
        dt_variable_unref(m->variable[i]);
        dt_variable_unref(m->slot[i]);
    }
}

static model begin(int devices) {
    return (model){.t = dt_trace_create("step"), .devices = devices};
}

static dt_value input(model *m) {
    dt_type type = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, STEPS, WIDTH});
    return dt_trace_declare(m->t, "x", &type);
}

/* ---- what a program has ---- */

static int count(const dt_spmd *s, const dt_op *op) {
    int n = 0;
    for (int i = 0; i < s->local->n_nodes; i++) n += s->local->node[i].op == op;
    return n;
}

static void expect(const dt_spmd *s, const dt_op *op, int n) {
    if (count(s, op) != n) fail_msg("%d times %s, not %d", count(s, op), op->name, n);
}

/* Of all collectives only sums. */
static void expect_sums(const dt_spmd *s, int n) {
    expect(s, &dt_op_across_all_gather, 0);
    expect(s, &dt_op_across_all_to_all, 0);
    expect(s, &dt_op_across_reduce_scatter, 0);
    expect(s, &dt_op_across_all_reduce, n);
}

static void expect_launches(const dt_spmd *s, int n) {
    int last = -1;
    for (int i = 0; i < s->local->n_nodes; i++) last = s->bucket[i] > last ? s->bucket[i] : last;
    assert_int_equal(last + 1, n);
}

/* A weight, and its slot beside it, of which nobody spoke. */
static void expect_weight(const dt_spmd *s, const char *path, dt_layout lies) {
    size_t n = strlen(path);
    int found = 0;
    for (int i = 0; i < s->whole->n_states; i++) {
        const char *is = s->whole->state[i].variable->path;
        if (strncmp(is, path, n) != 0 || (is[n] && strcmp(is + n, "/momentum") != 0)) continue;
        found++;
        if (!dt_layout_equal(&s->state[i], &lies)) fail_msg("%s does not lie as it shall", is);
    }
    assert_int_equal(found, 2);
}

/* ---- models ---- */

static dt_value mlp(model *m, dt_value x, const char *name, int parts) {
    char path[64];
    dt_trace_path(m->t, name);
    snprintf(path, sizeof path, "%s/in", name);
    dt_value in = matrix(m, path, WIDTH, 4 * WIDTH, (said){1, parts});
    snprintf(path, sizeof path, "%s/in_bias", name);
    dt_value h = dt_gelu(dt_add(dt_matmul(x, in), vector(m, path, 4 * WIDTH, (said){0, 0})), false);
    snprintf(path, sizeof path, "%s/out", name);
    dt_value out = matrix(m, path, 4 * WIDTH, WIDTH, (said){0, parts});
    snprintf(path, sizeof path, "%s/out_bias", name);
    return dt_add(x, dt_add(dt_matmul(h, out), vector(m, path, WIDTH, (said){0, 0})));
}

static dt_value norm(model *m, dt_value x, const char *name) {
    char path[64];
    dt_trace_path(m->t, name);
    snprintf(path, sizeof path, "%s/gamma", name);
    dt_value gamma = vector(m, path, WIDTH, (said){0, 0});
    snprintf(path, sizeof path, "%s/beta", name);
    return dt_layer_norm(x, gamma, vector(m, path, WIDTH, (said){0, 0}), 1e-5);
}

/* Keras' weights: (WIDTH, heads, size) in, (heads, size, WIDTH) out. */
static dt_value heads_of(model *m, dt_value x, const char *name, const char *which, int64_t heads,
                         int parts) {
    char path[64];
    int64_t size = WIDTH / HEADS;
    snprintf(path, sizeof path, "%s/%s", name, which);
    dt_value w = weight(m, path, 3, (int64_t[]){WIDTH, heads, size}, (said){1, parts});
    snprintf(path, sizeof path, "%s/%s_bias", name, which);
    dt_value b = weight(m, path, 2, (int64_t[]){heads, size}, (said){0, 0});
    dt_dot_attr d = {.n_contract = 1, .lhs_contract = {2}, .rhs_contract = {0}};
    return dt_add(dt_dot_general(x, w, &d), b);
}

/* With so many heads of keys and values; where they are fewer, nothing is said of how these lie. */
static dt_value grouped_attention(model *m, dt_value x, const char *name, int64_t keys, int parts) {
    int shared = keys < HEADS ? 0 : parts;
    char path[64];
    dt_attention_how how = {.scale = 0.5, .causal = true};
    dt_trace_path(m->t, name);
    dt_value q = heads_of(m, x, name, "query", HEADS, parts);
    dt_value k = heads_of(m, x, name, "key", keys, shared),
             v = heads_of(m, x, name, "value", keys, shared);
    dt_value y = dt_attention(q, k, v, &how);
    snprintf(path, sizeof path, "%s/out", name);
    dt_value out = weight(m, path, 3, (int64_t[]){HEADS, WIDTH / HEADS, WIDTH}, (said){0, parts});
    dt_dot_attr d = {.n_contract = 2, .lhs_contract = {2, 3}, .rhs_contract = {0, 1}};
    return dt_add(x, dt_dot_general(y, out, &d));
}

static dt_value attention(model *m, dt_value x, const char *name, int parts) {
    return grouped_attention(m, x, name, HEADS, parts);
}

static dt_value loss_of(model *m, dt_value y) {
    dt_trace_path(m->t, "loss");
    dt_value loss =
        dt_multiply(dt_reduce_sum(dt_multiply(y, y), DT_NO_AXIS), dt_constant(m->t, 0.125));
    dt_return(m->t, "loss", loss);
    return loss;
}

/* A layer before the first block, so that its gradient is wanted too. */
static dt_value first_layer(model *m) {
    return dt_matmul(input(m), matrix(m, "first", WIDTH, WIDTH, (said){0, 0}));
}

/* ---- weights split ---- */

static dt_value blocks(model *m, dt_value x, int parts, bool attends) {
    for (int i = 0; i < 2; i++) {
        x = norm(m, x, i ? "norm1" : "norm0");
        x = attends ? attention(m, x, i ? "block1" : "block0", parts)
                    : mlp(m, x, i ? "block1" : "block0", parts);
    }
    return x;
}

static void test_mlp_blocks(void **state) {
    (void)state;
    model m = begin(4);
    update(&m, loss_of(&m, blocks(&m, first_layer(&m), 4, false)));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    expect_sums(s, 4);
    expect_weight(s, "first", (dt_layout){0});
    expect_weight(s, "norm1/gamma", (dt_layout){0});
    expect_weight(s, "block0/in", (dt_layout){.axes = {0, 3}});
    expect_weight(s, "block0/in_bias", (dt_layout){.axes = {3}});
    expect_weight(s, "block1/out", (dt_layout){.axes = {3, 0}});
    expect_weight(s, "block1/out_bias", (dt_layout){0});
    release(&m, s, g);
}

static void test_attention_blocks(void **state) {
    (void)state;
    model m = begin(4);
    update(&m, loss_of(&m, blocks(&m, first_layer(&m), 4, true)));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    expect_sums(s, 4);
    expect_weight(s, "first", (dt_layout){0});
    expect_weight(s, "block0/query", (dt_layout){.axes = {0, 3, 0}});
    expect_weight(s, "block1/value_bias", (dt_layout){.axes = {3, 0}});
    expect_weight(s, "block1/out", (dt_layout){.axes = {3, 0, 0}});
    release(&m, s, g);
}

static void expect_query_heads_split(const dt_spmd *s) {
    int found = 0;
    for (int i = 0; i < s->local->n_nodes; i++) {
        const dt_node *n = &s->local->node[i];
        if (n->op != &dt_op_attention && n->op != &dt_op_attention_grad) continue;
        found++;
        /* a head of queries, and the one of keys that it asks */
        assert_int_equal(s->local->node[n->in[0]].type.dim[2], 1);
        assert_int_equal(s->local->node[n->in[1]].type.dim[2], 1);
    }
    assert_int_equal(found, 4);
}

/* Four heads of queries on four devices, two or one of keys: what travels besides are the parts of
 * keys' and values' gradients. */
static void test_heads_that_share_keys(void **state) {
    (void)state;
    static const dt_mesh_axes keys_lie[] = {0, 1};
    for (int keys = 1; keys <= 2; keys++) {
        model m = begin(4);
        update(&m, loss_of(&m, grouped_attention(&m, first_layer(&m), "heads", keys, 4)));
        dt_graph *g;
        dt_spmd *s = cut(&m, &g);
        expect_query_heads_split(s);
        /* two heads of keys make two terms of what goes back through them */
        expect_sums(s, 2 + 2 + (keys > 1));
        expect_weight(s, "heads/query", (dt_layout){.axes = {0, 3, 0}});
        expect_weight(s, "heads/key", (dt_layout){.axes = {0, keys_lie[keys - 1], 0}});
        expect_weight(s, "heads/value_bias", (dt_layout){.axes = {keys_lie[keys - 1], 0}});
        expect_weight(s, "heads/out", (dt_layout){.axes = {3, 0, 0}});
        release(&m, s, g);
    }
}

/* ---- the batch split ---- */

static dt_value split_batch(dt_value x, int parts) { return note(x, (said){0, parts}); }

/* One sum for each weight, and one for the loss. */
static void test_split_batch(void **state) {
    (void)state;
    model m = begin(4);
    dt_value x =
        dt_matmul(split_batch(input(&m), 4), matrix(&m, "first", WIDTH, WIDTH, (said){0, 0}));
    x = blocks(&m, x, 0, false);
    update(&m, loss_of(&m, attention(&m, x, "heads", 0)));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    expect_sums(s, m.n + 1);
    expect_launches(s, 1); /* nothing waits for a gradient but its weight */
    for (int i = 0; i < m.n; i++) expect_weight(s, m.variable[i]->path, (dt_layout){0});
    release(&m, s, g);
}

/* Batch over 2, weights over 2: a block's sums, and each gradient's, whose parts they are. */
static void test_batch_and_weights(void **state) {
    (void)state;
    model m = begin(4);
    dt_value x =
        dt_matmul(split_batch(input(&m), 2), matrix(&m, "first", WIDTH, WIDTH, (said){0, 0}));
    update(&m, loss_of(&m, blocks(&m, x, 2, false)));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    expect_sums(s, 4 + m.n + 1);
    /* gradients go out as they come, some between the blocks' sums */
    expect_launches(s, 4 + 1 + 2);
    expect_weight(s, "first", (dt_layout){0});
    release(&m, s, g);
}

/* ---- classes and tables split ---- */

enum { CLASSES = 32 };

static dt_value labels(model *m, const char *name) {
    dt_type type = dt_type_of(DT_INT32, 2, (int64_t[]){DT_BATCH, STEPS});
    return dt_trace_declare(m->t, name, &type);
}

/* Of the logits only their maximum, their sum and the loss travel; the gradient of what they are
 * made of is a sum. */
static void test_split_classes(void **state) {
    (void)state;
    model m = begin(4);
    dt_value x = first_layer(&m),
             logits = dt_matmul(x, matrix(&m, "logits", WIDTH, CLASSES, (said){1, 4}));
    dt_value rows = dt_softmax_cross_entropy(logits, labels(&m, "label"));
    update(&m, loss_of(&m, rows));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    expect_sums(s, 4);
    expect_weight(s, "logits", (dt_layout){.axes = {0, 3}});
    release(&m, s, g);
}

/* The table that names tokens, split by rows, names the classes too: one sum when it is read,
 * nothing when it is added to. */
static void test_tied_table(void **state) {
    (void)state;
    model m = begin(4);
    dt_value table = matrix(&m, "table", CLASSES, WIDTH, (said){0, 4});
    dt_value x = norm(&m, dt_gather(table, labels(&m, "token")), "norm");
    dt_dot_attr d = {.n_contract = 1, .lhs_contract = {2}, .rhs_contract = {1}};
    dt_value rows = dt_softmax_cross_entropy(dt_dot_general(x, table, &d), labels(&m, "label"));
    update(&m, loss_of(&m, rows));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    expect_sums(s, 1 + 4);
    expect_weight(s, "table", (dt_layout){.axes = {3, 0}});
    expect_weight(s, "norm/gamma", (dt_layout){0});
    release(&m, s, g);
}

/* ---- sequences split ---- */

/* Every device has some steps of every sequence: keys and values are gathered, the gradients of
 * both are parts of sums. */
static void test_split_steps(void **state) {
    (void)state;
    model m = begin(4);
    dt_value x =
        dt_matmul(note(input(&m), (said){1, 4}), matrix(&m, "first", WIDTH, WIDTH, (said){0, 0}));
    update(&m, loss_of(&m, attention(&m, norm(&m, x, "norm"), "heads", 0)));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    expect(s, &dt_op_across_all_gather, 2);
    expect(s, &dt_op_across_reduce_scatter, 2);
    expect(s, &dt_op_across_all_to_all, 0);
    expect(s, &dt_op_across_all_reduce, m.n + 1);
    for (int i = 0; i < m.n; i++) expect_weight(s, m.variable[i]->path, (dt_layout){0});
    release(&m, s, g);
}

/* ---- what was told stays ---- */

static void test_replicated_stays_whole(void **state) {
    (void)state;
    model m = begin(4);
    dt_value h = dt_matmul(input(&m), matrix(&m, "in", WIDTH, WIDTH, (said){1, 4}));
    dt_value y = dt_matmul(note(h, (said){0, 1}), matrix(&m, "out", WIDTH, WIDTH, (said){0, 1}));
    update(&m, loss_of(&m, y));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    expect(s, &dt_op_across_all_gather, 1); /* h, as it was told to be whole */
    expect(s, &dt_op_across_all_reduce, 0);
    expect_weight(s, "in", (dt_layout){.axes = {0, 3}});
    expect_weight(s, "out", (dt_layout){0});
    release(&m, s, g);
}

/* Weights of one shape share the constants of their updates, and nothing else. */
static void test_constants_carry_no_layout(void **state) {
    (void)state;
    model m = begin(4);
    dt_value h = dt_matmul(input(&m), matrix(&m, "cut", WIDTH, WIDTH, (said){1, 4}));
    dt_value y = dt_matmul(note(h, (said){0, 1}), matrix(&m, "whole", WIDTH, WIDTH, (said){0, 0}));
    update(&m, loss_of(&m, y));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    expect_weight(s, "cut", (dt_layout){.axes = {0, 3}});
    expect_weight(s, "whole", (dt_layout){0});
    expect(s, &dt_op_across_own_part, 1); /* of the gradient of h */
    release(&m, s, g);
}

/* 16 features over 4 devices are 2 heads over 2 of them: cut as far as it goes, gathered no
 * further. */
static void test_cut_as_far_as_it_goes(void **state) {
    (void)state;
    model m = begin(4);
    dt_value h = dt_matmul(input(&m), matrix(&m, "in", WIDTH, WIDTH, (said){1, 4}));
    dt_return(m.t, "heads",
              dt_exponential(dt_reshape(h, 4, (int64_t[]){DT_BATCH, STEPS, 2, WIDTH / 2})));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    dt_layout heads = {.axes = {0, 0, 1}};
    assert_true(dt_layout_equal(&s->result[0], &heads));
    expect(s, &dt_op_across_all_gather, 1);
    release(&m, s, g);
}

/* As two models have them, each with a dense/kernel: of one type or of two. */
static void test_variables_of_one_path(void **state) {
    (void)state;
    model m = begin(2);
    dt_value h = input(&m);
    for (int i = 0; i < 3; i++)
        h = dt_matmul(h,
                      matrix(&m, "dense/kernel", WIDTH, i < 2 ? WIDTH : 2 * WIDTH, (said){1, 2}));
    update(&m, loss_of(&m, h));
    dt_graph *g;
    dt_spmd *s = cut(&m, &g);
    assert_int_equal(s->local->n_states, g->n_states);
    for (int i = 0; i < g->n_states; i++) {
        dt_type held = dt_layout_type(&g->state[i].variable->type, &s->state[i], &s->mesh, 1);
        assert_true(dt_type_equal(&s->local->state[i].variable->type, &held));
        assert_string_equal(s->local->state[i].variable->path, g->state[i].variable->path);
        assert_true(s->local->state[i].update >= 0);
    }
    release(&m, s, g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_of_one_path),
        cmocka_unit_test(test_mlp_blocks),
        cmocka_unit_test(test_attention_blocks),
        cmocka_unit_test(test_heads_that_share_keys),
        cmocka_unit_test(test_split_batch),
        cmocka_unit_test(test_batch_and_weights),
        cmocka_unit_test(test_split_classes),
        cmocka_unit_test(test_tied_table),
        cmocka_unit_test(test_split_steps),
        cmocka_unit_test(test_replicated_stays_whole),
        cmocka_unit_test(test_constants_carry_no_layout),
        cmocka_unit_test(test_cut_as_far_as_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
