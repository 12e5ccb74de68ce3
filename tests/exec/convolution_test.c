/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions and their gradients on both libraries and by our own kernels against the
 * interpreter, which runs the op's eval: sizes that fit nothing, strides, padding, dilation,
 * groups, one to three dimensions, batches from none to several pieces; and the bits do not depend
 * on threads.
 */
#include "kit.h"

#include <math.h>

#include "exec/conv.h"
#include "op/cells.h"

enum { DEVIATIONS = 3, REPLICAS = 2, RESULTS = 6 };

typedef struct shape {
    int n; /* spatial dimensions */
    int64_t size[3], k[3], stride[3], dilation[3], low[3], high[3];
    int64_t in, out, groups; /* channels in all */
} shape;

static const shape shapes[] = {
    {2, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 5, 7, 1},
    {2, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 16, 16, 1},
    {2, {8, 8}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 4, 64, 1},
    {2, {8, 8}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}, 16, 32, 1},
    {2, {9, 6}, {3, 2}, {2, 3}, {1, 1}, {1, 0}, {1, 1}, 3, 4, 1},
    {2, {8, 8}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 16, 32, 1},
    {2, {6, 6}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 3, 1, 1},
    {2, {10, 11}, {3, 3}, {1, 1}, {2, 3}, {2, 3}, {2, 3}, 4, 6, 1},
    {2, {7, 7}, {7, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2, 3, 1},
    {2, {5, 5}, {3, 3}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, 3, 17, 1},
    {2, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 6, 4, 2},
    {2, {6, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 32, 32, 2},
    {2, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 16, 16, 16},
    {2, {6, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 5, 10, 5},
    {1, {12}, {4}, {1}, {2}, {6}, {0}, 3, 5, 1},
    {1, {12}, {3}, {2}, {1}, {1}, {1}, 16, 16, 1},
    {1, {9}, {3}, {1}, {1}, {1}, {1}, 4, 8, 4},
    {3, {4, 5, 3}, {2, 3, 2}, {1, 2, 1}, {1, 1, 1}, {1, 1, 0}, {0, 1, 1}, 2, 3, 1},
    {2, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {4, 4}, {4, 4}, 2, 2, 1},
};

static dt_convolution_attr attr_of(const shape *s) {
    dt_convolution_attr a = dt_convolution_channels_last(s->n);
    a.feature_groups = (int32_t)s->groups;
    for (int i = 0; i < s->n; i++)
        a.window[i] = (dt_window){s->stride[i], s->low[i], s->high[i], 1, s->dilation[i]};
    return a;
}

static dt_value image(dt_trace *t, const shape *s) {
    dt_type type = {.dtype = DT_FLOAT32, .rank = s->n + 2, .dim = {-1}};
    for (int i = 0; i < s->n; i++) type.dim[i + 1] = s->size[i];
    type.dim[s->n + 1] = s->in;
    return dt_trace_declare(t, "x", &type);
}

static dt_value kernel(dt_trace *t, const shape *s, dt_variable **v) {
    dt_type type = {.dtype = DT_FLOAT32, .rank = s->n + 2};
    dt_random r = dt_random_stream(4, "kernel", 0);
    for (int i = 0; i < s->n; i++) type.dim[i] = s->k[i];
    type.dim[s->n] = s->in / s->groups;
    type.dim[s->n + 1] = s->out;
    ok_for(dt_variable_alloc(v, "kernel", &type, true), 0);
    for (int64_t i = 0; i < dt_type_elements(&type); i++)
        ((float *)(*v)->host_data)[i] = (float)dt_random_normal(&r);
    return dt_read(t, *v);
}

/* By channel: the squares of the differences of y + 3 from a number that these themselves make. */
static dt_value deviations(dt_value y, int rank) {
    const uint32_t rows = (1u << (rank - 1)) - 1;
    dt_value x = dt_add(y, dt_like(y, 3)), sum = dt_reduce(x, DT_REDUCE_SUM, rows),
             m = dt_multiply(sum, dt_like(sum, 0.0001));
    dt_value d = dt_subtract(x, dt_broadcast_to(m, &dt_node_of(y)->type));
    return dt_reduce(dt_multiply(d, d), DT_REDUCE_SUM, rows);
}

/* Two rows for each example, if they can be had. */
static dt_value halves(dt_value y) {
    dt_type t = dt_node_of(y)->type;
    if (t.dim[1] % 2 != 0) return y;
    t.dim[0] *= 2;
    t.dim[1] /= 2;
    return dt_reshape(y, t.rank, t.dim);
}

/* By channel: the sums of two replicas' rows. */
static dt_value replica_sums(dt_value y, int rank) {
    dt_segment_attr a;
    memset(&a, 0, sizeof a);
    a.cut = DT_CUT_REPLICAS;
    a.count = REPLICAS;
    a.reduce = (dt_reduce_attr){DT_REDUCE_SUM, (1u << (rank - 1)) - 1};
    y = dt_multiply(y, y);
    return dt_emit(y.trace, &dt_op_segment_reduce, &y, 1, &a);
}

/* y, both gradients of the sum of y * y / 2, its deviations, sums of its squares. */
static dt_graph *make(const shape *s, dt_variable **v) {
    dt_trace *t = dt_trace_create("convolution");
    dt_graph *g = NULL;
    dt_convolution_attr a = attr_of(s);
    dt_value of[2] = {image(t, s), kernel(t, s, v)}, grad[2], y = dt_convolution(of[0], of[1], &a);
    dt_gradients_of(dt_multiply(dt_multiply(y, y), dt_like(y, 0.5)), of, 2, grad);
    dt_return(t, "y", y);
    dt_return(t, "dx", grad[0]);
    dt_return(t, "dw", grad[1]);
    dt_return(t, "deviations", deviations(y, s->n + 2));
    dt_return(t, "deviations of halves", deviations(halves(y), s->n + 2));
    dt_return(t, "sums of replicas", replica_sums(y, s->n + 2));
    ok_for(dt_trace_end(t, &g), 0);
    return g;
}

/* Rows of two replicas, of which the first has the larger half. */
typedef struct halves_of {
    int32_t offsets[REPLICAS + 1];
    dt_env env;
} halves_of;

static const dt_env *env_with_rows(halves_of *h, int64_t batch) {
    *h = (halves_of){.offsets = {0, (int32_t)((batch + 1) / 2), (int32_t)batch},
                     .env = {.batch = batch, .replicas = 1, .segments = REPLICAS}};
    h->env.offsets = h->offsets;
    return &h->env;
}

static dt_view draw(const dt_graph *g, int64_t batch) {
    dt_random r = dt_random_stream(5, "image", 0);
    dt_view x = {.type = dt_type_at(&g->node[g->arg[0].node].type, batch)};
    x.data = calloc(1, bytes_of(&x.type) + 1);
    for (int64_t i = 0; i < dt_type_elements(&x.type); i++)
        ((float *)x.data)[i] = (float)dt_random_normal(&r);
    return x;
}

static double largest(const dt_view *v) {
    double most = 1;
    for (int64_t i = 0; i < dt_type_elements(&v->type); i++)
        most = fmax(most, fabs(dt_cell_double(v, i)));
    return most;
}

/* Runs g on e; the results' bytes, one behind the other. */
static unsigned char *results_of(dt_engine *e, const dt_graph *whole, int64_t batch, dt_view *arg,
                                 const dt_interpretation *oracle, size_t *size) {
    dt_arena *arena = dt_arena_create();
    dt_graph *pieces = NULL;
    dt_view result[RESULTS];
    halves_of rows;
    dt_exec *x = NULL;
    ok_for(dt_tile_batch(whole, batch, batch % REPLICAS ? 0 : REPLICAS, &pieces), 0);
    dt_program *p = dt_partition(
        pieces ? pieces : (dt_graph *)whole,
        &(dt_partition_options){.batch = batch, .can_split = dt_exec_can_split}, arena);
    program_check(p, 0);
    ok_for(dt_exec_compile(&x, e, p), 0);
    for (int times = 0; times < 2; times++) /* kernels that were packed are packed anew */
        ok_for(dt_exec_run(x, env_with_rows(&rows, batch), arg, result), 0);
    unsigned char *all = NULL;
    *size = 0;
    for (int i = 0; i < RESULTS; i++) {
        /* squares cancel nothing */
        double off =
            views_difference(&result[i], &oracle->result[i]) /
            (i < DEVIATIONS ? largest(&oracle->result[i]) : fmax(100, largest(&oracle->result[i])));
        if (off > 1e-5)
            fail_msg("%s: result %d of B = %lld is off by %g", dt_engine_describe(e), i,
                     (long long)batch, off);
        all = realloc(all, *size + bytes_of(&result[i].type) + 1);
        memcpy(all + *size, result[i].data, bytes_of(&result[i].type));
        *size += bytes_of(&result[i].type);
    }
    dt_exec_destroy(x);
    if (pieces) dt_graph_destroy(pieces);
    dt_arena_destroy(arena);
    return all;
}

static void check_batch(dt_engine *const e[2], const dt_graph *g, int64_t batch) {
    dt_view arg = draw(g, batch);
    halves_of rows;
    dt_interpretation oracle;
    size_t size;
    ok_for(dt_interpret(g, env_with_rows(&rows, batch), 1, &batch, &arg, &oracle), 0);
    unsigned char *one = results_of(e[0], g, batch, &arg, &oracle, &size),
                  *three = results_of(e[1], g, batch, &arg, &oracle, &size);
    assert_memory_equal(one, three, size);
    free(one);
    free(three);
    free(arg.data);
    dt_interpretation_release(&oracle);
}

static void check_all(dt_kernels library) {
    static const int64_t batches[] = {0, 1, 2, 5, 67, 1100};
    dt_engine *e[2] = {engine_with(1, library), engine_with(3, library)};
    if (!e[0]) skip();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        dt_variable *v = NULL;
        dt_graph *g = make(&shapes[i], &v);
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) check_batch(e, g, batches[b]);
        dt_graph_destroy(g);
        dt_variable_unref(v);
    }
    dt_engine_close(e[0]);
    dt_engine_close(e[1]);
}

static void test_by_openblas(void **state) {
    (void)state;
    check_all(DT_KERNELS_OPENBLAS);
}

static void test_by_onednn(void **state) {
    (void)state;
    check_all(DT_KERNELS_ONEDNN);
}

static void test_by_own_kernels(void **state) {
    (void)state;
    check_all(DT_KERNELS_OWN);
}

/* oneDNN 2.6 writes behind its scratchpad for this one. */
static void test_onednn_is_not_asked_for_what_overflows(void **state) {
    (void)state;
    dt_engine *e = engine_with(1, DT_KERNELS_ONEDNN);
    if (!e) skip();
    const dt_conv c = {.kind = DT_CONV_WEIGHTS,
                       .n = 2,
                       .images = 1,
                       .groups = 1,
                       .in = 3,
                       .out = 3,
                       .x = {100, 100},
                       .y = {50, 50},
                       .k = {1, 1},
                       .stride = {2, 2},
                       .dilation = {1, 1},
                       .w_group = 3,
                       .w_in = 3,
                       .w_out = 1,
                       .w_k = {9, 9}};
    dt_conv_plan p;
    assert_false(e->gemm.conv->plan(&e->gemm, &c, &p));
    dt_engine_close(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_openblas), cmocka_unit_test(test_by_onednn),
        cmocka_unit_test(test_by_own_kernels),
        cmocka_unit_test(test_onednn_is_not_asked_for_what_overflows)};
    return cmocka_run_group_tests_name("exec convolution", tests, NULL, NULL);
}
