/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composites against what they are composed of: the same numbers, and the same gradients, from
 * dot_general, softmax, reduce and element-wise ops.
 */
#include "table.h"

enum { MOST_INPUTS = 3 };

/* A function of n inputs: as a composite, and written out. */
typedef struct pair {
    const char *name;
    int n;
    dt_type in[MOST_INPUTS];
    dt_value (*whole)(const dt_value *x);
    dt_value (*written_out)(const dt_value *x);
} pair;

/* ---- attention ---- */

static dt_attention_how how;

static dt_value attention(const dt_value *x) { return dt_attention(x[0], x[1], x[2], &how); }

/* (B, N, T, S): 0 where the query may look at the key, else so low that softmax gives 0. */
static dt_value mask_for(dt_value scores) {
    dt_type t = dt_type_of_value(scores), one = dt_type_of(DT_INT32, 2, t.dim + 2), bools = t;
    dt_value asks = dt_iota(scores.trace, &one, 0), asked = dt_iota(scores.trace, &one, 1),
             zero = dt_like(scores, 0), sum = zero;
    bools.dtype = DT_BOOL;
    if (how.causal)
        sum = dt_add(sum, dt_select(dt_broadcast_to(dt_compare(asked, asks, DT_LE), &bools), zero,
                                    dt_like(scores, -1e9)));
    if (how.window > 0) {
        dt_value near_by =
            dt_compare(dt_abs(dt_subtract(asks, asked)), dt_like(asks, (double)how.window), DT_LT);
        sum = dt_add(sum, dt_select(dt_broadcast_to(near_by, &bools), zero, dt_like(scores, -1e9)));
    }
    return sum;
}

/* Each head of (B, S, K, H) `times` times: (B, S, K * times, H). */
static dt_value repeat_heads(dt_value x, int64_t times) {
    dt_type t = dt_type_of_value(x), wide = t;
    wide.rank = 5;
    wide.dim[3] = times;
    wide.dim[4] = t.dim[3];
    return dt_reshape(dt_broadcast_in_dim(x, &wide, (int8_t[]){0, 1, 2, 4}), 4,
                      (int64_t[]){t.dim[0], t.dim[1], t.dim[2] * times, t.dim[3]});
}

static dt_value attention_written_out(const dt_value *x) {
    static const dt_dot_attr scores_by_head = {.n_batch = 2,
                                               .lhs_batch = {0, 2},
                                               .rhs_batch = {0, 2},
                                               .n_contract = 1,
                                               .lhs_contract = {3},
                                               .rhs_contract = {3}};
    static const dt_dot_attr values_by_head = {.n_batch = 2,
                                               .lhs_batch = {0, 1},
                                               .rhs_batch = {0, 2},
                                               .n_contract = 1,
                                               .lhs_contract = {3},
                                               .rhs_contract = {1}};
    dt_value scores = dt_dot_general(x[0], x[1], &scores_by_head);
    scores = dt_add(dt_multiply(scores, dt_like(scores, how.scale)), mask_for(scores));
    return dt_transpose(dt_dot_general(dt_softmax(scores), x[2], &values_by_head),
                        (const int[]){0, 2, 1, 3});
}

static dt_value grouped_attention_written_out(const dt_value *x) {
    return attention_written_out((dt_value[]){x[0], repeat_heads(x[1], 3), repeat_heads(x[2], 3)});
}

/* ---- layer_norm, gelu ---- */

static dt_value layer_norm(const dt_value *x) { return dt_layer_norm(x[0], x[1], x[2], 1e-3); }

static dt_value mean_of_row(dt_value x) {
    dt_type t = dt_type_of_value(x);
    dt_value sum = dt_reduce(x, DT_REDUCE_SUM, 1u << (t.rank - 1));
    return dt_broadcast_rows(dt_divide(sum, dt_like(sum, (double)t.dim[t.rank - 1])), &t);
}

static dt_value layer_norm_written_out(const dt_value *x) {
    dt_value centred = dt_subtract(x[0], mean_of_row(x[0])),
             variance = mean_of_row(dt_multiply(centred, centred));
    return dt_add(
        dt_multiply(dt_multiply(centred, dt_rsqrt(dt_add(variance, dt_like(variance, 1e-3)))),
                    x[1]),
        x[2]);
}

static dt_value gelu(const dt_value *x) { return dt_gelu(x[0], false); }

static dt_value gelu_written_out(const dt_value *x) {
    dt_value share = dt_add(dt_like(x[0], 1), dt_erf(dt_multiply(x[0], dt_like(x[0], M_SQRT1_2))));
    return dt_multiply(dt_multiply(x[0], dt_like(x[0], 0.5)), share);
}

static dt_value near_gelu(const dt_value *x) { return dt_gelu(x[0], true); }

static dt_value near_gelu_written_out(const dt_value *x) {
    dt_value cube = dt_multiply(x[0], dt_multiply(x[0], x[0]));
    dt_value z = dt_multiply(dt_add(x[0], dt_multiply(cube, dt_like(cube, 0.044715))),
                             dt_like(cube, sqrt(2 / M_PI)));
    return dt_multiply(dt_multiply(x[0], dt_like(x[0], 0.5)), dt_add(dt_like(x[0], 1), dt_tanh(z)));
}

/* ---- comparing ---- */

/* Returns y, and the gradient of sum(y^2) with respect to each input. */
static void return_all(dt_trace *t, const pair *p, dt_value (*f)(const dt_value *),
                       const dt_value *x, const char *prefix) {
    char name[32];
    dt_value y = f(x), dx[MOST_INPUTS];
    dt_gradients_of(dt_reduce_sum(dt_multiply(y, y), DT_NO_AXIS), x, p->n, dx);
    snprintf(name, sizeof name, "%s", prefix);
    dt_return(t, name, y);
    for (int i = 0; i < p->n; i++) {
        snprintf(name, sizeof name, "%s/%d", prefix, i);
        dt_return(t, name, dx[i]);
    }
}

static void expect_pair(const pair *p, int64_t batch) {
    dt_random r = dt_random_stream(seed, p->name, (uint64_t)batch);
    sample s = {.r = &r};
    dt_trace *t = dt_trace_create(p->name);
    dt_graph *g = NULL;
    dt_value x[MOST_INPUTS];
    dt_view arg[MOST_INPUTS];
    dt_interpretation out;
    for (int i = 0; i < p->n; i++) {
        dt_type type = dt_type_at(&p->in[i], batch);
        x[i] = declare(t, "x", i, &p->in[i]);
        arg[i] = view_fill(&s, &type, FILL_NORMAL);
    }
    return_all(t, p, p->whole, x, "whole");
    return_all(t, p, p->written_out, x, "written out");
    check(dt_trace_end(t, &g), p->name);
    check(dt_interpret(g, NULL, 1, &batch, arg, &out), p->name);
    for (int i = 0; i <= p->n; i++)
        expect_views(p->name, &out.result[i], &out.result[p->n + 1 + i], 1e-11);
    dt_interpretation_release(&out);
    views_release(arg, p->n);
    dt_graph_destroy(g);
}

static dt_type f64(int rank, const int64_t *dim) { return dt_type_of(DT_FLOAT64, rank, dim); }

static void test_attention(void **state) {
    (void)state;
    dt_type key = f64(4, (int64_t[]){DT_BATCH, 6, 2, 3}),
            value = f64(4, (int64_t[]){DT_BATCH, 6, 2, 4});
    const pair p = {"attention",
                    3,
                    {f64(4, (int64_t[]){DT_BATCH, 5, 2, 3}), key, value},
                    attention,
                    attention_written_out};
    const pair grouped = {"grouped attention",
                          3,
                          {f64(4, (int64_t[]){DT_BATCH, 5, 6, 3}), key, value},
                          attention,
                          grouped_attention_written_out};
    static const dt_attention_how ways[] = {{.scale = 0.5},
                                            {.scale = 2, .causal = true},
                                            {.scale = 1, .window = 2},
                                            {.scale = 0.7, .causal = true, .window = 3}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        how = ways[i];
        expect_pair(&p, 1 + (int64_t)i);
        expect_pair(&grouped, 1 + (int64_t)i);
    }
}

static void test_layer_norm(void **state) {
    (void)state;
    dt_type features = f64(1, (int64_t[]){5});
    const pair p = {"layer_norm",
                    3,
                    {f64(3, (int64_t[]){DT_BATCH, 2, 5}), features, features},
                    layer_norm,
                    layer_norm_written_out};
    expect_pair(&p, 3);
}

static void test_gelu(void **state) {
    (void)state;
    const dt_type rows = f64(2, (int64_t[]){DT_BATCH, 40});
    expect_pair(&(pair){"gelu", 1, {rows}, gelu, gelu_written_out}, 3);
    expect_pair(&(pair){"gelu by tanh", 1, {rows}, near_gelu, near_gelu_written_out}, 3);
}

/* ---- corners ---- */

/* A query that may look at no key takes nothing, and no gradient comes from it. */
static void test_queries_that_see_nothing(void **state) {
    (void)state;
    dt_random r = dt_random_stream(seed, "blind", 0);
    sample s = {.op = &dt_op_attention, .r = &r, .attr.attention = {.scale = 1, .window = 2}};
    dt_view in[5], out;
    int32_t position[2] = {9, 1};
    for (int i = 0; i < 4; i++) {
        dt_type type = f64(3, (int64_t[]){i == 0 || i == 3 ? 2 : 4, 1, 3});
        in[i] = view_fill(&s, &type, FILL_NORMAL);
    }
    dt_view dy = in[3];
    in[3] = in[4] = (dt_view){dt_type_of(DT_INT32, 1, (int64_t[]){2}), position};
    s.out = in[0].type;
    out = sample_eval(&s, NULL, in, &s.out);
    for (int64_t i = 0; i < 3; i++) assert_true(cell(&out, i) == 0 && cell(&out, 3 + i) != 0);
    free(out.data);
    s.op = &dt_op_attention_grad;
    in[3] = dy;
    out = sample_eval(&s, NULL, in, &s.out);
    for (int64_t i = 0; i < 3; i++) assert_true(cell(&out, i) == 0 && cell(&out, 3 + i) != 0);
    free(out.data);
    views_release(in, 4);
}

/* Far out gelu is x or 0, and its slope 1 or 0. */
static void test_gelu_far_out(void **state) {
    (void)state;
    static float xs[] = {0, 30, -30, 1e30f, -1e30f}, ones[] = {1, 1, 1, 1, 1};
    static const double y[] = {0, 30, 0, 1e30f, 0}, slope[] = {0.5, 1, 0, 1, 0};
    dt_type five = dt_type_of(DT_FLOAT32, 1, (int64_t[]){5});
    dt_view in[2] = {{five, xs}, {five, ones}};
    for (int approximate = 0; approximate < 2; approximate++)
        for (int k = 0; k < 2; k++) {
            sample s = {
                .op = k ? &dt_op_gelu_grad : &dt_op_gelu, .out = five, .attr.gelu = {approximate}};
            dt_view out = sample_eval(&s, NULL, in, &five);
            for (int64_t i = 0; i < 5; i++)
                assert_true(near(cell(&out, i), k ? slope[i] : y[i], 1e-7));
            free(out.data);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention),    cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_gelu),         cmocka_unit_test(test_queries_that_see_nothing),
        cmocka_unit_test(test_gelu_far_out),
    };
    return cmocka_run_group_tests_name("op composites", tests, NULL, NULL);
}
