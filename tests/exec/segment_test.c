/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the rows of replicas that were folded into one batch: each has the bits of its own
 * rows, summed alone, for any number of threads. */
#include "kit.h"

enum { CHANNELS = 12, PIXELS = 625, MOST_ROWS = 64 };

/* y = the sum over batch and pixels of x (B, pixels, channels): of each replica, or replicas 0: of
 * all. */
static dt_graph *sum_graph(int replicas) {
    dt_trace *t = dt_trace_create("sums");
    dt_graph *g = NULL;
    dt_type type = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, PIXELS, CHANNELS});
    dt_value x = dt_trace_declare(t, "x", &type);
    dt_segment_attr a;
    memset(&a, 0, sizeof a);
    a.cut = DT_CUT_REPLICAS;
    a.count = replicas;
    a.reduce = (dt_reduce_attr){DT_REDUCE_SUM, 3};
    dt_return(t, "y",
              replicas ? dt_emit(t, &dt_op_segment_reduce, &x, 1, &a)
                       : dt_reduce(x, DT_REDUCE_SUM, 3));
    ok_for(dt_trace_end(t, &g), 0);
    return g;
}

/* sum: (replicas, channels), or (channels) */
static void run(int replicas, int threads, const int32_t *offsets, float *x, int64_t rows,
                float *sum) {
    dt_engine *e = engine_with(threads, DT_KERNELS_OWN);
    dt_arena *arena = dt_arena_create();
    dt_graph *g = sum_graph(replicas);
    dt_program *p = dt_partition(
        g, &(dt_partition_options){.batch = rows, .can_split = dt_exec_can_split}, arena);
    const dt_env env = {.batch = rows, .replicas = 1, .offsets = offsets};
    const dt_view arg = {dt_type_of(DT_FLOAT32, 3, (int64_t[]){rows, PIXELS, CHANNELS}), x};
    dt_view result;
    dt_exec *exec = NULL;
    ok_for(dt_exec_compile(&exec, e, p), 0);
    if (replicas > 1 && rows == MOST_ROWS)
        assert_int_equal(p->piece[g->result[0].node].units, replicas); /* a task of each */
    ok_for(dt_exec_run(exec, &env, &arg, &result), 0);
    memcpy(sum, result.data, (size_t)dt_type_bytes(&result.type));
    dt_exec_destroy(exec);
    dt_graph_destroy(g);
    dt_arena_destroy(arena);
    dt_engine_close(e);
}

static void test_a_replica_has_the_bits_of_its_rows_alone(void **state) {
    (void)state;
    static const struct {
        int replicas;
        int32_t offsets[5];
    } rows[] = {{2, {0, 32, 64}}, {2, {0, 13, 64}}, {4, {0, 0, 5, 6, 64}}, {3, {0, 1, 2, 3}}};
    dt_random r = dt_random_stream(7, "rows", 0);
    float *x = dt_alloc((size_t)MOST_ROWS * PIXELS * CHANNELS * sizeof *x);
    for (int i = 0; i < MOST_ROWS * PIXELS * CHANNELS; i++)
        x[i] = (float)dt_random_normal(&r) + 0.1f;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int threads = 1; threads <= 3; threads++) {
            float all[4 * CHANNELS], alone[CHANNELS];
            const int32_t *at = rows[k].offsets;
            run(rows[k].replicas, threads, at, x, at[rows[k].replicas], all);
            for (int s = 0; s < rows[k].replicas; s++) {
                run(0, 1, NULL, x + (size_t)at[s] * PIXELS * CHANNELS, at[s + 1] - at[s], alone);
                assert_memory_equal(all + s * CHANNELS, alone, sizeof alone);
            }
        }
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_replica_has_the_bits_of_its_rows_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
