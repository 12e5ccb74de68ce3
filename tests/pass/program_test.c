/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a program: a training step of a network 784-128-10 with SGD on 64 rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "pass/pass.h"

enum { N_VARIABLES = 4 };

static void create_variables(dt_variable **v) {
    static const struct {
        const char *path;
        int rank;
        int64_t dim[2];
    } rows[N_VARIABLES] = {
        {"dense/kernel", 2, {784, 128}},
        {"dense/bias", 1, {128}},
        {"dense_1/kernel", 2, {128, 10}},
        {"dense_1/bias", 1, {10}},
    };
    for (int i = 0; i < N_VARIABLES; i++) {
        dt_type type = dt_type_of(DT_FLOAT32, rows[i].rank, rows[i].dim);
        assert_null(dt_variable_alloc(&v[i], rows[i].path, &type, true));
    }
}

static dt_graph *step_of(dt_variable **v) {
    dt_type image = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 784}),
            label = dt_type_of(DT_INT32, 1, (int64_t[]){DT_BATCH});
    dt_trace *t = dt_trace_create("train");
    dt_value x = dt_trace_declare(t, "image", &image), y = dt_trace_declare(t, "label", &label),
             w[N_VARIABLES], g[N_VARIABLES];
    for (int i = 0; i < N_VARIABLES; i++) w[i] = dt_read(t, v[i]);
    dt_value h = dt_add(dt_matmul(x, w[0]), w[1]);
    h = dt_maximum(h, dt_like(h, 0));
    dt_value rows = dt_softmax_cross_entropy(dt_add(dt_matmul(h, w[2]), w[3]), y);
    dt_value loss = dt_divide(dt_reduce_sum(rows, 0),
                              dt_convert(dt_all_reduce(DT_SUM, dt_dim_value(rows, 0)), DT_FLOAT32));
    dt_gradients_of(loss, w, N_VARIABLES, g);
    for (int i = 0; i < N_VARIABLES; i++)
        dt_assign(
            t, v[i],
            dt_subtract(w[i], dt_multiply(dt_all_reduce(DT_SUM, g[i]), dt_constant(t, 0.125))));
    dt_return(t, "loss", dt_all_reduce(DT_SUM, loss));
    dt_graph *out = NULL;
    assert_null(dt_trace_end(t, &out));
    return out;
}

/* Segment 0 is the preamble, 1 the rows, 2 the slices of weights. The loss is a few sums, odds and
 * ends of segment 2. */
static const char golden[] =
    "program for B = 64: 3 segments, 4 groups\n"
    "graph train(image: f32[B,784], label: i32[B])\n"
    "state dense/kernel: f32[784,128]\n"
    "state dense/bias: f32[128]\n"
    "state dense_1/kernel: f32[128,10]\n"
    "state dense_1/bias: f32[10]\n"
    " %0 = parameter image                           : f32[B,784]\n"
    " %1 = parameter label                           : i32[B]\n"
    " %2 = variable dense/kernel                     : f32[784,128]\n"
    " %3 = variable dense/bias                       : f32[128]\n"
    " %4 = variable dense_1/kernel                   : f32[128,10]\n"
    " %5 = variable dense_1/bias                     : f32[10]\n"
    " %6 = dot_general(%0, %2) contracting [1]x[0]   : f32[B,128]  [segment 1, group 0, 2 pieces]\n"
    " %7 = broadcast_in_dim(%3) dims=[1]             : f32[B,128]  [segment 1, group 0, 2 pieces]\n"
    " %8 = add(%6, %7)                               : f32[B,128]  [segment 1, group 0, 2 pieces]\n"
    " %9 = constant 0                                : f32[B,128]\n"
    "%10 = maximum(%8, %9)                           : f32[B,128]  [segment 1, group 0, 2 pieces]\n"
    "%11 = dot_general(%10, %4) contracting [1]x[0]  : f32[B,10]  [segment 1, group 0, 2 pieces]\n"
    "%12 = broadcast_in_dim(%5) dims=[1]             : f32[B,10]  [segment 1, group 0, 2 pieces]\n"
    "%13 = add(%11, %12)                             : f32[B,10]  [segment 1, group 0, 2 pieces]\n"
    "%14 = softmax_cross_entropy(%13, %1)            : f32[B]  [segment 1, group 0, 2 pieces]\n"
    "%15 = reduce(%14) sum dims=[0]                  : f32[]  [segment 2, group 1, whole]\n"
    "%16 = get_dimension_size(%0) axis=0             : i32[]  [segment 0, group 2, whole]\n"
    "%17 = convert(%16)                              : f32[]  [segment 0, group 2, whole]\n"
    "%18 = divide(%15, %17)                          : f32[]  [segment 2, group 1, whole]\n"
    "%19 = constant 1                                : f32[]\n"
    "%20 = divide(%19, %17)                          : f32[]  [segment 0, group 2, whole]\n"
    "%21 = broadcast_in_dim(%20) dims=[]             : f32[B]  [segment 1, group 0, 2 pieces]\n"
    "%22 = softmax_cross_entropy_grad(%13, %1, %21)  : f32[B,10]  [segment 1, group 0, 2 pieces]\n"
    "%23 = reduce(%22) sum dims=[0]                  : f32[10]  [segment 2, group 1, whole]\n"
    "%24 = constant 0.125                            : f32[10]\n"
    "%25 = multiply(%23, %24)                        : f32[10]  [segment 2, group 1, whole]\n"
    "%26 = subtract(%5, %25)                         : f32[10]  [segment 2, group 1, whole]\n"
    "%27 = dot_general(%10, %22) contracting [0]x[0] : f32[128,10]  [segment 2, group 1, whole]\n"
    "%28 = constant 0.125                            : f32[128,10]\n"
    "%29 = multiply(%27, %28)                        : f32[128,10]  [segment 2, group 1, whole]\n"
    "%30 = dot_general(%22, %4) contracting [1]x[1]  : f32[B,128]  [segment 1, group 0, 2 pieces]\n"
    "%31 = subtract(%4, %29)                         : f32[128,10]  [segment 2, group 1, whole]\n"
    "%32 = compare(%8, %9) GT                        : i1[B,128]  [segment 1, group 0, 2 pieces]\n"
    "%33 = select(%32, %30, %9)                      : f32[B,128]  [segment 1, group 0, 2 pieces]\n"
    "%34 = reduce(%33) sum dims=[0]                  : f32[128]  [segment 2, group 1, whole]\n"
    "%35 = constant 0.125                            : f32[128]\n"
    "%36 = multiply(%34, %35)                        : f32[128]  [segment 2, group 1, whole]\n"
    "%37 = subtract(%3, %36)                         : f32[128]  [segment 2, group 1, whole]\n"
    "%38 = dot_general(%0, %33) contracting [0]x[0]  : f32[784,128]  [segment 2, group 3, 2 "
    "pieces]\n"
    "%39 = constant 0.125                            : f32[784,128]\n"
    "%40 = multiply(%38, %39)                        : f32[784,128]  [segment 2, group 3, 2 "
    "pieces]\n"
    "%41 = subtract(%2, %40)                         : f32[784,128]  [segment 2, group 3, 2 "
    "pieces]\n"
    "return loss = %18\n"
    "update dense/kernel = %41\n"
    "update dense/bias = %37\n"
    "update dense_1/kernel = %31\n"
    "update dense_1/bias = %26\n";

static void test_text_of_a_training_step(void **state) {
    (void)state;
    dt_variable *v[N_VARIABLES] = {NULL};
    create_variables(v);
    dt_graph *g = step_of(v), *simple = NULL;
    dt_folded folded;
    dt_arena *arena = dt_arena_create();
    dt_str text = {0};
    assert_null(dt_fold(g, NULL, 8, &folded));
    assert_null(dt_simplify(folded.graph, &simple));
    dt_program_print(dt_partition(simple, &(dt_partition_options){.batch = 64}, arena), &text);
    assert_string_equal(dt_str_text(&text), golden);
    dt_str_release(&text);
    dt_arena_destroy(arena);
    dt_graph_destroy(simple);
    dt_graph_destroy(folded.graph);
    dt_graph_destroy(g);
    for (int i = 0; i < N_VARIABLES; i++) dt_variable_unref(v[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text_of_a_training_step)};
    return cmocka_run_group_tests_name("pass/program", tests, NULL, NULL);
}
