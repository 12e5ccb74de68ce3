/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights that products keep packed: results are those of an executable that packs anew, also
 * after the host or a step has changed the variable.
 */
#include "kit.h"
#include "op/op.h"

enum { IN = 40, OUT = 90 };

typedef struct runs {
    dt_arena *arena;
    dt_engine *engine;
    dt_variable *weight;
    dt_graph *reads, *updates;
} runs;

/* x W, and (x W) W'. */
static dt_graph *reading(dt_variable *weight) {
    dt_trace *t = dt_trace_create("reads");
    const dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, IN});
    const dt_dot_attr turned = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    const dt_value x = dt_trace_declare(t, "x", &type), w = dt_read(t, weight), y = dt_matmul(x, w);
    dt_graph *g = NULL;
    dt_return(t, "y", y);
    dt_return(t, "back", dt_dot_general(y, w, &turned));
    ok_for(dt_trace_end(t, &g), 0);
    return g;
}

/* W becomes 1.5 W, after x W was computed. */
static dt_graph *updating(dt_variable *weight) {
    dt_trace *t = dt_trace_create("updates");
    const dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, IN});
    const dt_value x = dt_trace_declare(t, "x", &type), w = dt_read(t, weight);
    dt_graph *g = NULL;
    dt_return(t, "y", dt_matmul(x, w));
    dt_assign(t, weight, dt_multiply(w, dt_constant(t, 1.5)));
    ok_for(dt_trace_end(t, &g), 0);
    return g;
}

static runs begin(void) {
    runs r = {.arena = dt_arena_create(), .engine = engine_with(2, DT_KERNELS_OWN)};
    const dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){IN, OUT});
    ok_for(dt_variable_alloc(&r.weight, "weight", &type, true), 0);
    dt_random random = dt_random_stream(60, "packed", 0);
    float *w = dt_host_edit(r.weight);
    for (int i = 0; i < IN * OUT; i++) w[i] = (float)dt_random_normal(&random);
    r.reads = reading(r.weight);
    r.updates = updating(r.weight);
    return r;
}

static void end(runs *r) {
    dt_graph_destroy(r->reads);
    dt_graph_destroy(r->updates);
    dt_variable_unref(r->weight);
    dt_engine_close(r->engine);
    dt_arena_destroy(r->arena);
}

static dt_exec *compile_for(runs *r, dt_engine *e, dt_graph *g, int64_t batch) {
    dt_exec *x = NULL;
    const dt_partition_options o = {.batch = batch, .can_split = dt_exec_can_split};
    ok_for(dt_exec_compile(&x, e, dt_partition(g, &o, r->arena)), 0);
    return x;
}

/* Runs x on `batch` equal rows. The caller frees the results' bytes. */
static unsigned char *run(dt_exec *x, int64_t batch, size_t *size) {
    float *rows = dt_alloc((size_t)(batch * IN) * sizeof *rows);
    for (int64_t i = 0; i < batch * IN; i++) rows[i] = (float)(i % 11 - 5) / 8;
    const dt_view arg = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){batch, IN}), rows};
    dt_view result[2];
    ok_for(dt_exec_run(x, &(dt_env){.batch = batch, .replicas = 1}, &arg, result), 0);
    unsigned char *all = NULL;
    *size = 0;
    for (int i = 0; i < x->g->n_results; i++) {
        const size_t n = bytes_of(&result[i].type);
        all = realloc(all, *size + n);
        memcpy(all + *size, result[i].data, n);
        *size += n;
    }
    free(rows);
    return all;
}

/* Runs x, and an executable of an engine that has packed nothing. */
static void expect_fresh(runs *r, dt_exec *x, int64_t batch, const char *when) {
    dt_engine *other = engine_with(1, DT_KERNELS_OWN);
    dt_exec *fresh = compile_for(r, other, r->reads, batch);
    size_t size, fresh_size;
    unsigned char *is = run(x, batch, &size), *ought = run(fresh, batch, &fresh_size);
    assert_int_equal(size, fresh_size);
    if (memcmp(is, ought, size) != 0) fail_msg("%lld rows, %s: other bits", (long long)batch, when);
    free(is);
    free(ought);
    dt_exec_destroy(fresh);
    dt_engine_close(other);
}

static void test_changes_are_noticed(void **state) {
    (void)state;
    static const int64_t batches[] = {1, 5, 200, 1500};
    runs r = begin();
    for (int b = 0; b < 4; b++) {
        const int64_t batch = batches[b];
        dt_exec *x = compile_for(&r, r.engine, r.reads, batch),
                *update = compile_for(&r, r.engine, r.updates, batch);
        size_t size;
        for (int i = 0; i < 3; i++) expect_fresh(&r, x, batch, "the same value");
        ((float *)dt_host_edit(r.weight))[OUT + 3] += 1;
        for (int i = 0; i < 3; i++) expect_fresh(&r, x, batch, "changed by the host");
        for (int i = 0; i < 3; i++) {
            free(run(update, batch, &size));
            expect_fresh(&r, x, batch, "changed by a step");
        }
        dt_exec_destroy(x);
        dt_exec_destroy(update);
    }
    end(&r);
}

/* Executables for other sizes share what one of them has packed. */
static void test_executables_share(void **state) {
    (void)state;
    runs r = begin();
    dt_exec *few = compile_for(&r, r.engine, r.reads, 3),
            *many = compile_for(&r, r.engine, r.reads, 4);
    const int64_t bytes = IN * OUT * (int64_t)sizeof(float);
    assert_int_equal(few->n_packed, 2); /* W, and W transposed */
    for (int i = 0; i < 2; i++) assert_ptr_equal(few->packed[i].of, many->packed[i].of);
    assert_true(dt_packed_bytes(few) >= 2 * bytes);
    assert_int_equal(dt_packed_bytes(many), 0); /* `few` counts them */
    dt_exec_destroy(few);
    expect_fresh(&r, many, 4, "shared before");
    dt_exec_destroy(many);
    assert_null(r.engine->packed);
    end(&r);
}

/* A value of one run is not kept where few products share it. */
static void test_training_keeps_what_is_shared(void **state) {
    (void)state;
    runs r = begin();
    dt_exec *x = compile_for(&r, r.engine, r.updates, 200);
    assert_int_equal(x->n_packed, 1);
    assert_true(x->packed[0].is_updated);
    assert_int_equal(x->packed[0].rows, 200);
    assert_int_equal(dt_packed_bytes(x), 0);
    dt_exec_destroy(x);
    x = compile_for(&r, r.engine, r.updates, 4096);
    assert_true(dt_packed_bytes(x) > 0);
    dt_exec_destroy(x);
    end(&r);
}

/* x (2 W), or x W' in bfloat16: weights that each run computes from a variable. */
static dt_exec *computed(runs *r, dt_engine *e, bool is_bfloat16, dt_graph **wide) {
    dt_trace *t = dt_trace_create("computed");
    const dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, IN});
    const dt_value x = dt_trace_declare(t, "x", &type), w = dt_read(t, r->weight);
    const dt_dot_attr turned = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    const dt_dtype d = is_bfloat16 ? DT_BFLOAT16 : DT_FLOAT32;
    const dt_value twice = dt_convert(dt_add(w, w), d), y = dt_matmul(dt_convert(x, d), twice);
    dt_graph *g = NULL;
    dt_return(t, "y", dt_convert(y, DT_FLOAT32));
    dt_return(t, "back", dt_convert(dt_dot_general(y, twice, &turned), DT_FLOAT32));
    ok_for(dt_trace_end(t, &g), 0);
    ok_for(dt_upcast(g, wide), 0);
    if (!*wide) *wide = g; /* no value has 16 bits */
    else dt_graph_destroy(g);
    return compile_for(r, e, *wide, 1500);
}

/* Runs that share have the bits of runs in which each product packs for itself. */
static void expect_shared(dt_exec *x) {
    enum { ROWS = 1500 };
    size_t size;
    for (int i = 0; i < x->n_packed; i++) {
        assert_true(x->packed[i].is_updated);
        assert_true(x->packed[i].products >= 4);
    }
    assert_true(dt_packed_bytes(x) > 0);
    unsigned char *first = run(x, ROWS, &size), *again = run(x, ROWS, &size);
    for (int i = 0; i < x->n_packed; i++) x->packed[i].products = 0;
    unsigned char *alone = run(x, ROWS, &size);
    assert_memory_equal(first, alone, size);
    assert_memory_equal(again, alone, size);
    free(first);
    free(again);
    free(alone);
}

static void test_computed_weights_are_shared(void **state) {
    (void)state;
    runs r = begin();
    dt_engine *with_bf16 = engine_with(2, DT_KERNELS_BFLOAT16);
    for (int b = 0; b < 2; b++) {
        dt_engine *e = b ? with_bf16 : r.engine;
        if (b && !e->packs_bf16) continue;
        dt_graph *wide = NULL;
        dt_exec *x = computed(&r, e, b, &wide);
        assert_int_equal(x->n_packed, 2); /* the weights, and the weights transposed */
        expect_shared(x);
        dt_exec_destroy(x);
        dt_graph_destroy(wide);
        assert_null(e->packed);
    }
    dt_engine_close(with_bf16);
    end(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_are_noticed),
        cmocka_unit_test(test_executables_share),
        cmocka_unit_test(test_training_keeps_what_is_shared),
        cmocka_unit_test(test_computed_weights_are_shared),
    };
    return cmocka_run_group_tests_name("exec/packed", tests, NULL, NULL);
}
