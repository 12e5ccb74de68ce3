/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values stored in 16 bits: steps in bfloat16 and float16, upcast as programs are, against the
 * interpreter of the graph that has those dtypes; on every instruction set, by both libraries, by
 * the matrix unit where there is one. Element-wise steps must have its bits. And what is stored in
 * 16 bits.
 */
#include "kit.h"

#include <math.h>

#include "base/sanitizer.h"
#include "exec/instructions.h"
#include "op/cells.h"
#include "op/convolution.h"

enum { FEATURES = 48, WIDTH = 40, HEADS = 4, TIME = 66 };

typedef struct setting {
    dt_trace *t;
    dt_dtype d;
    /* (B, F) (B, T, F) (F, W) (W, F) (W) (F) (F), all of d but gamma and beta */
    dt_value x, sequence, w, v, bias, gamma, beta;
} setting;

/* ---- steps ---- */

static dt_value half_of(const setting *s, dt_value x) { return dt_convert(x, s->d); }

static dt_value hidden(const setting *s) {
    dt_value y = dt_matmul(s->x, s->w);
    return dt_gelu(dt_add(y, s->bias), false);
}

static void dense(const setting *s) {
    dt_return(s->t, "y", dt_convert(dt_matmul(hidden(s), s->v), DT_FLOAT32));
}

static void gradients(const setting *s) {
    dt_value y = dt_convert(dt_matmul(hidden(s), s->v), DT_FLOAT32),
             of[] = {s->x, s->w, s->v, s->bias}, d[4];
    dt_gradients_of(dt_reduce_sum(dt_multiply(y, dt_tanh(y)), DT_NO_AXIS), of, 4, d);
    for (int i = 0; i < 4; i++)
        dt_return(s->t, (const char *[]){"dx", "dw", "dv", "dbias"}[i],
                  dt_convert(d[i], DT_FLOAT32));
}

/* Normalised in float32, as layers are. */
static void norm(const setting *s) {
    dt_value z = half_of(s, dt_layer_norm(dt_convert(dt_add(s->x, s->x), DT_FLOAT32), s->gamma,
                                          s->beta, 1e-3)),
             of[] = {s->x, s->gamma}, d[2];
    dt_value y = dt_convert(dt_matmul(z, s->w), DT_FLOAT32);
    dt_gradients_of(dt_reduce_sum(dt_multiply(y, y), DT_NO_AXIS), of, 2, d);
    dt_return(s->t, "y", y);
    dt_return(s->t, "dx", dt_convert(d[0], DT_FLOAT32));
    dt_return(s->t, "dgamma", d[1]);
}

/* (B, T, F) as heads of FEATURES / n features. */
static dt_value heads(dt_value x, int64_t n) {
    return dt_reshape(x, 4, (int64_t[]){-1, TIME, n, FEATURES / n});
}

static void attend(const setting *s, int64_t key_heads, dt_attention_how how) {
    dt_value q = heads(s->sequence, HEADS), k = heads(dt_negate(s->sequence), HEADS),
             v = heads(dt_add(s->sequence, s->sequence), HEADS);
    if (key_heads < HEADS) {
        dt_slice_attr part = {
            .dim = {{0, -1, 1}, {0, TIME, 1}, {0, key_heads, 1}, {0, FEATURES / HEADS, 1}}};
        k = dt_emit(s->t, &dt_op_slice, &k, 1, &part);
        v = dt_emit(s->t, &dt_op_slice, &v, 1, &part);
    }
    how.scale = 0.4;
    dt_value y = dt_convert(dt_attention(q, k, v, &how), DT_FLOAT32), d;
    dt_gradients_of(dt_reduce_sum(dt_multiply(y, dt_tanh(y)), DT_NO_AXIS), &s->sequence, 1, &d);
    dt_return(s->t, "y", y);
    dt_return(s->t, "dx", dt_convert(d, DT_FLOAT32));
}

static void attention(const setting *s) { attend(s, HEADS, (dt_attention_how){0}); }
static void causal_attention(const setting *s) {
    attend(s, HEADS, (dt_attention_how){.causal = true, .window = 9});
}
static void grouped_attention(const setting *s) {
    attend(s, 2, (dt_attention_how){.causal = true});
}

/* The products of attention one by one: a batch of them, in the first two dimensions. */
static void batches(const setting *s) {
    const dt_dot_attr inner = {.n_batch = 1,
                               .n_contract = 1,
                               .lhs_batch = {0},
                               .rhs_batch = {0},
                               .lhs_contract = {2},
                               .rhs_contract = {2}};
    dt_value in[] = {s->sequence, dt_tanh(s->sequence)}, d;
    dt_value y = dt_convert(dt_emit(s->t, &dt_op_dot_general, in, 2, &inner), DT_FLOAT32);
    dt_gradients_of(dt_reduce_sum(dt_multiply(y, dt_tanh(y)), DT_NO_AXIS), &s->sequence, 1, &d);
    dt_return(s->t, "y", y);
    dt_return(s->t, "dx", dt_convert(d, DT_FLOAT32));
}

/* 3 x 3 with borders, then 1 x 1 with strides: forward, the gradients of both images, and of both
 * kernels. */
static void convolutions(const setting *s) {
    dt_convolution_attr wide = dt_convolution_channels_last(2), strided = wide;
    dt_value x = dt_reshape(s->sequence, 4, (int64_t[]){-1, 9, 22, 16}),
             v = dt_reshape(s->v, 4, (int64_t[]){1, 1, WIDTH, FEATURES});
    dt_value w = dt_pad(s->w, &(dt_pad_attr){.dim = {{48, 48, 0}, {0}}}), in[2],
             of[] = {s->sequence, s->w, s->v}, d[3];
    for (int i = 0; i < 2; i++) {
        wide.window[i] = (dt_window){1, 1, 1, 1, 1};
        strided.window[i] = (dt_window){2, 0, 0, 1, 1};
    }
    in[0] = dt_gelu(
        dt_convolution(dt_tanh(x), dt_reshape(w, 4, (int64_t[]){3, 3, 16, WIDTH}), &wide), false);
    in[1] = dt_convert(dt_convolution(in[0], v, &strided), DT_FLOAT32);
    dt_gradients_of(dt_reduce_sum(dt_multiply(in[1], dt_tanh(in[1])), DT_NO_AXIS), of, 3, d);
    dt_return(s->t, "y", in[1]);
    for (int i = 0; i < 3; i++)
        dt_return(s->t, (const char *[]){"dx", "dw", "dv"}[i], dt_convert(d[i], DT_FLOAT32));
}

static void moves(const setting *s) {
    dt_value x = dt_concatenate((dt_value[]){s->sequence, dt_negate(s->sequence)}, 2, 1);
    dt_value y = dt_transpose(x, (int[]){0, 2, 1}), z = dt_reverse(y, 1u << 2);
    dt_pad_attr around = {.value = 0.5, .dim = {{0}, {1, 2, 1}, {0}}};
    dt_return(s->t, "padded", dt_convert(dt_pad(dt_maximum(z, y), &around), DT_FLOAT32));
    dt_return(s->t, "columns", dt_convert(dt_reduce_sum(dt_matmul(s->x, s->w), 0), DT_FLOAT32));
}

/* Sums, differences, products: the bits are those of the definition. */
static void elements(const setting *s) {
    dt_value x = dt_add(s->x, dt_multiply(s->x, s->x)),
             y = dt_subtract(x, dt_maximum(s->x, dt_like(s->x, 0.25)));
    dt_return(s->t, "y", dt_convert(dt_multiply(dt_add(y, x), dt_like(x, 0.3)), DT_FLOAT32));
    dt_return(s->t, "same", dt_select(dt_compare(x, y, DT_GT), x, dt_negate(y)));
}

typedef struct row {
    const char *name;
    void (*make)(const setting *s);
    int64_t most_rows; /* 0: any */
    double share;      /* of elements that may differ in a rounding; 0: none */
} row;

static const row rows[] = {
    {"dense", dense, 0, 0.06},
    {"gradients", gradients, 0, 0.15},
    {"norm", norm, 0, 0.15},
    {"attention", attention, 9, 0.1},
    {"causal attention", causal_attention, 9, 0.1},
    {"grouped attention", grouped_attention, 9, 0.1},
    {"moves", moves, 70, 0.06},
    {"batches", batches, 9, 0.3},
    {"convolutions", convolutions, 9, 0.3},
    {"elements", elements, 0, 0},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- running one ---- */

static dt_value declare(setting *s, const char *name, dt_dtype d, int rank, const int64_t *dim) {
    dt_type type = dt_type_of(DT_FLOAT32, rank, dim);
    dt_value x = dt_trace_declare(s->t, name, &type);
    return d == DT_FLOAT32 ? x : dt_convert(x, d);
}

static dt_graph *trace(const row *r, dt_dtype d) {
    setting s = {.t = dt_trace_create(r->name), .d = d};
    dt_graph *g = NULL;
    s.x = declare(&s, "x", d, 2, (int64_t[]){-1, FEATURES});
    s.sequence = declare(&s, "sequence", d, 3, (int64_t[]){-1, TIME, FEATURES});
    s.w = declare(&s, "w", d, 2, (int64_t[]){FEATURES, WIDTH});
    s.v = declare(&s, "v", d, 2, (int64_t[]){WIDTH, FEATURES});
    s.bias = declare(&s, "bias", d, 1, (int64_t[]){WIDTH});
    s.gamma = declare(&s, "gamma", DT_FLOAT32, 1, (int64_t[]){FEATURES});
    s.beta = declare(&s, "beta", DT_FLOAT32, 1, (int64_t[]){FEATURES});
    r->make(&s);
    ok_for(dt_trace_end(s.t, &g), 0);
    return g;
}

static dt_view *draw_arguments(const dt_graph *g, int64_t batch) {
    dt_random r = dt_random_stream(31, "arguments", (uint64_t)batch);
    dt_view *arg = calloc((size_t)g->n_args, sizeof *arg);
    for (int i = 0; i < g->n_args; i++) {
        dt_type type = dt_type_at(&g->node[g->arg[i].node].type, batch);
        arg[i] = (dt_view){type, calloc(1, bytes_of(&type) + 1)};
        for (int64_t k = 0; k < dt_type_elements(&type); k++)
            dt_cell_set_double(&arg[i], k, dt_random_normal(&r) / 2);
    }
    return arg;
}

/* A value between two of 16 bits goes either way, as the last bit of float32 has it; sums of such
 * values show it. */
static void expect_alike(const char *what, const row *r, dt_dtype d, int64_t batch,
                         const dt_view *is, const dt_view *ought) {
    int64_t n = dt_type_elements(&is->type), apart = 0;
    double largest = 0, unit = d == DT_BFLOAT16 ? 0x1p-7 : 0x1p-10;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(dt_cell_double(ought, i)));
    for (int64_t i = 0; i < n; i++) {
        double x = dt_cell_double(is, i), y = dt_cell_double(ought, i);
        apart += !(fabs(x - y) <= 1e-5 * (fabs(y) + largest / 16));
        if (!(fabs(x - y) <= 4 * unit * (fabs(y) + largest / 4)) || (r->share == 0 && x != y))
            fail_msg("%s, %s in %s, B = %lld: element %lld is %.9g, not %.9g", what, r->name,
                     dt_dtype_name(d), (long long)batch, (long long)i, x, y);
    }
    if ((double)apart > r->share * (double)n + 1)
        fail_msg("%s, %s in %s, B = %lld: %lld of %lld elements differ", what, r->name,
                 dt_dtype_name(d), (long long)batch, (long long)apart, (long long)n);
}

static dt_exec *compile_upcast(dt_engine *e, const dt_graph *g, int64_t batch, dt_arena *arena,
                               dt_graph **wide) {
    dt_exec *x = NULL;
    ok_for(dt_upcast(g, wide), 0);
    ok_for(dt_exec_compile(
               &x, e,
               dt_partition(*wide,
                            &(dt_partition_options){.batch = batch, .can_split = dt_exec_can_split},
                            arena)),
           0);
    return x;
}

/* A library that says it takes bfloat16, and then refuses every product of it. */
static dt_status *(*taking)(const dt_gemm_library *l, const dt_gemm *g, void **plan);

static dt_status *refuse(const dt_gemm_library *l, const dt_gemm *g, void **plan) {
    return g->in[0] == DT_GEMM_F32 && g->in[1] == DT_GEMM_F32
               ? taking(l, g, plan)
               : dt_fail(DT_E_KERNELS, NULL, "refused");
}

/* All instruction sets with each choice of kernels, and a library that refuses bfloat16. Threads
 * share the work of each set in the same way, so the thread sanitizer sees one set. */
enum { CHOICES = 3 };
typedef struct engines {
    int n;
    dt_engine *e[CHOICES * DT_MAX_SIMD + 1];
} engines;

static engines open_all(void) {
    static const dt_kernels kernels[CHOICES] = {DT_KERNELS_LIBRARIES, DT_KERNELS_OPENBLAS,
                                                DT_KERNELS_OWN};
    const dt_simd *list[DT_MAX_SIMD];
    const int sets = dt_simd_list(list);
    engines all = {.n = CHOICES * (DT_TSAN ? 1 : sets)};
    for (int i = 0; i < all.n; i++)
        ok_for(dt_engine_open(&all.e[i], &(dt_engine_options){.threads = 2,
                                                              .kernels = kernels[i % CHOICES],
                                                              .isa = list[i / CHOICES]->name}),
               0);
    all.e[all.n] = engine_with(2, DT_KERNELS_OPENBLAS);
    taking = all.e[all.n]->gemm.plan;
    all.e[all.n]->gemm.plan = refuse;
    all.e[all.n++]->gemm.bf16 = true;
    return all;
}

static void run_twice(dt_engine *e, const row *r, const dt_graph *g, dt_dtype d, int64_t batch,
                      const dt_view *arg, const dt_interpretation *oracle) {
    dt_arena *arena = dt_arena_create();
    dt_graph *wide = NULL;
    dt_env env = {.batch = batch, .replicas = 1};
    dt_view result[4];
    dt_exec *x = compile_upcast(e, g, batch, arena, &wide);
    for (int step = 0; step < 2; step++) {
        ok_for(dt_exec_run(x, &env, arg, result), 0);
        for (int i = 0; i < g->n_results; i++)
            expect_alike(dt_engine_describe(e), r, d, batch, &result[i], &oracle->result[i]);
    }
    dt_exec_destroy(x);
    dt_graph_destroy(wide);
    dt_arena_destroy(arena);
}

static void compare(const engines *all, const row *r, dt_dtype d, int64_t batch) {
    dt_graph *g = trace(r, d);
    dt_view *arg = draw_arguments(g, batch);
    dt_env env = {.batch = batch, .replicas = 1};
    dt_interpretation oracle;
    ok_for(dt_interpret(g, &env, 1, &batch, arg, &oracle), 0);
    for (int i = 0; i < all->n; i++) run_twice(all->e[i], r, g, d, batch, arg, &oracle);
    dt_interpretation_release(&oracle);
    views_release(arg, g->n_args);
    dt_graph_destroy(g);
}

/* 600 rows are pieces that products take in 16 bits; attention is interpreted slowly. */
static void test_steps_are_those_of_the_interpreter(void **state) {
    (void)state;
    static const int64_t batches[] = {0, 1, 5, 600};
    engines all = open_all();
    for (int i = 0; i < 2 * ROWS; i++)
        for (size_t k = 0; k < sizeof batches / sizeof *batches; k++)
            compare(&all, &rows[i / 2], i % 2 ? DT_FLOAT16 : DT_BFLOAT16,
                    rows[i / 2].most_rows && batches[k] > rows[i / 2].most_rows
                        ? rows[i / 2].most_rows
                        : batches[k]);
    for (int i = 0; i < all.n; i++) dt_engine_close(all.e[i]);
}

/* ---- what is stored in 16 bits ---- */

static int64_t arena_of(dt_engine *e, const row *r, dt_dtype d, int64_t batch) {
    dt_arena *arena = dt_arena_create();
    dt_graph *g = trace(r, d), *wide = NULL;
    dt_exec *x = NULL;
    ok_for(dt_upcast(g, &wide), 0);
    dt_program *p = dt_partition(
        wide ? wide : g, &(dt_partition_options){.batch = batch, .can_split = dt_exec_can_split},
        arena);
    ok_for(dt_exec_compile(&x, e, p), 0);
    int64_t bytes = x->arena_bytes;
    dt_exec_destroy(x);
    dt_graph_destroy(wide);
    dt_graph_destroy(g);
    dt_arena_destroy(arena);
    return bytes;
}

/* Results are as large in all. */
static void test_memory_is_less(void **state) {
    (void)state;
    dt_engine *e = engine_with(2, DT_KERNELS_LIBRARIES);
    for (int i = 0; i < ROWS; i++) {
        int64_t single = arena_of(e, &rows[i], DT_FLOAT32, 4096),
                bfloat = arena_of(e, &rows[i], DT_BFLOAT16, 4096),
                half = arena_of(e, &rows[i], DT_FLOAT16, 4096);
        print_message("%s: %lld bytes in float32, %lld in bfloat16, %lld in float16\n",
                      rows[i].name, (long long)single, (long long)bfloat, (long long)half);
        if ((rows[i].make == gradients || rows[i].make == convolutions) && e->gemm.bf16)
            assert_true(bfloat * 10 < single * 8);
    }
    dt_engine_close(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_those_of_the_interpreter),
        cmocka_unit_test(test_memory_is_less),
    };
    return cmocka_run_group_tests_name("exec/storage", tests, NULL, NULL);
}
