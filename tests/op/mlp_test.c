/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole step of a small network, 4-5-3 with relu: its text before and after differentiation, and
 * its numbers against the same step written as loops.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "op/op.h"

enum { IN = 4, HIDDEN = 5, CLASSES = 3, N_VARIABLES = 4 };
static const float rate = 0.125f;

typedef struct network {
    /* dense/kernel (4, 5), dense/bias (5), dense_1/kernel (5, 3), dense_1/bias (3) */
    dt_variable *v[N_VARIABLES];
} network;

static network network_make(void) {
    static const struct {
        const char *path;
        int rank;
        int64_t dim[2];
    } rows[N_VARIABLES] = {
        {"dense/kernel", 2, {IN, HIDDEN}},
        {"dense/bias", 1, {HIDDEN}},
        {"dense_1/kernel", 2, {HIDDEN, CLASSES}},
        {"dense_1/bias", 1, {CLASSES}},
    };
    network n;
    dt_random r = dt_random_stream(1, "weights", 0);
    for (int i = 0; i < N_VARIABLES; i++) {
        dt_type type = dt_type_of(DT_FLOAT32, rows[i].rank, rows[i].dim);
        assert_null(dt_variable_alloc(&n.v[i], rows[i].path, &type, true));
        for (int64_t k = 0; k < dt_type_elements(&type); k++)
            ((float *)n.v[i]->host_data)[k] = (float)dt_random_normal(&r);
    }
    return n;
}

static void network_release(network *n) {
    for (int i = 0; i < N_VARIABLES; i++) dt_variable_unref(n->v[i]);
}

static dt_value dense(dt_trace *t, const char *path, dt_value x, dt_variable *kernel,
                      dt_variable *bias, bool relu) {
    const char *before = dt_trace_path(t, path);
    dt_value w = dt_read(t, kernel), b = dt_read(t, bias);
    dt_value y = dt_add(dt_matmul(x, w), b);
    if (relu) y = dt_maximum(y, dt_like(y, 0));
    dt_trace_path(t, before);
    return y;
}

static dt_value forward(dt_trace *t, const network *n) {
    dt_type image = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, IN}),
            label = dt_type_of(DT_INT32, 1, (int64_t[]){DT_BATCH});
    dt_value x = dt_trace_declare(t, "image", &image),
             target = dt_trace_declare(t, "label", &label);
    dt_value hidden = dense(t, "dense", x, n->v[0], n->v[1], true);
    dt_value logits = dense(t, "dense_1", hidden, n->v[2], n->v[3], false);
    const char *before = dt_trace_path(t, "loss");
    dt_value loss = dt_reduce_mean(dt_softmax_cross_entropy(logits, target), DT_NO_AXIS);
    dt_trace_path(t, before);
    dt_return(t, "loss", loss);
    return loss;
}

/* Plain gradient descent on the mean of the replicas' gradients. */
static void update(dt_trace *t, const network *n, dt_value loss) {
    dt_value w[N_VARIABLES], g[N_VARIABLES];
    for (int i = 0; i < N_VARIABLES; i++) w[i] = dt_read(t, n->v[i]);
    dt_gradients_of(loss, w, N_VARIABLES, g);
    const char *before = dt_trace_path(t, "sgd");
    for (int i = 0; i < N_VARIABLES; i++)
        dt_assign(t, n->v[i],
                  dt_subtract(w[i], dt_multiply(dt_all_reduce(DT_MEAN, g[i]),
                                                dt_constant(t, (double)rate))));
    dt_trace_path(t, before);
}

static dt_graph *step_of(const network *n, bool train) {
    dt_trace *t = dt_trace_create(train ? "train" : "test");
    dt_value loss = forward(t, n);
    if (train) update(t, n, loss);
    dt_graph *g = NULL;
    dt_status *s = dt_trace_end(t, &g);
    if (s) fail_msg("%s", dt_status_text(s));
    return g;
}

/* ---- text ---- */

static const char golden_forward[] =
    "graph test(image: f32[B,4], label: i32[B])\n"
    "state dense/kernel: f32[4,5]\n"
    "state dense/bias: f32[5]\n"
    "state dense_1/kernel: f32[5,3]\n"
    "state dense_1/bias: f32[3]\n"
    " %0 = parameter image                          : f32[B,4]\n"
    " %1 = parameter label                          : i32[B]\n"
    " %2 = variable dense/kernel                    : f32[4,5]\n"
    " %3 = variable dense/bias                      : f32[5]\n"
    " %4 = variable dense_1/kernel                  : f32[5,3]\n"
    " %5 = variable dense_1/bias                    : f32[3]\n"
    " %6 = dot_general(%0, %2) contracting [1]x[0]  : f32[B,5]  // dense\n"
    " %7 = broadcast_in_dim(%3) dims=[1]            : f32[B,5]  // dense\n"
    " %8 = add(%6, %7)                              : f32[B,5]  // dense\n"
    " %9 = constant 0                               : f32[B,5]  // dense\n"
    "%10 = maximum(%8, %9)                          : f32[B,5]  // dense\n"
    "%11 = dot_general(%10, %4) contracting [1]x[0] : f32[B,3]  // dense_1\n"
    "%12 = broadcast_in_dim(%5) dims=[1]            : f32[B,3]  // dense_1\n"
    "%13 = add(%11, %12)                            : f32[B,3]  // dense_1\n"
    "%14 = softmax_cross_entropy(%13, %1)           : f32[B]  // loss\n"
    "%15 = reduce(%14) sum dims=[0]                 : f32[]  // loss\n"
    "%16 = get_dimension_size(%14) axis=0           : i32[]  // loss\n"
    "%17 = convert(%16)                             : f32[]  // loss\n"
    "%18 = divide(%15, %17)                         : f32[]  // loss\n"
    "return loss = %18\n";

/* Products of the last layer first; its kernel is updated once %34 has read it. */
static const char golden_step[] =
    "graph train(image: f32[B,4], label: i32[B])\n"
    "state dense/kernel: f32[4,5]\n"
    "state dense/bias: f32[5]\n"
    "state dense_1/kernel: f32[5,3]\n"
    "state dense_1/bias: f32[3]\n"
    " %0 = parameter image                           : f32[B,4]\n"
    " %1 = parameter label                           : i32[B]\n"
    " %2 = variable dense/kernel                     : f32[4,5]\n"
    " %3 = variable dense/bias                       : f32[5]\n"
    " %4 = variable dense_1/kernel                   : f32[5,3]\n"
    " %5 = variable dense_1/bias                     : f32[3]\n"
    " %6 = dot_general(%0, %2) contracting [1]x[0]   : f32[B,5]  // dense\n"
    " %7 = broadcast_in_dim(%3) dims=[1]             : f32[B,5]  // dense\n"
    " %8 = add(%6, %7)                               : f32[B,5]  // dense\n"
    " %9 = constant 0                                : f32[B,5]  // dense\n"
    "%10 = maximum(%8, %9)                           : f32[B,5]  // dense\n"
    "%11 = dot_general(%10, %4) contracting [1]x[0]  : f32[B,3]  // dense_1\n"
    "%12 = broadcast_in_dim(%5) dims=[1]             : f32[B,3]  // dense_1\n"
    "%13 = add(%11, %12)                             : f32[B,3]  // dense_1\n"
    "%14 = softmax_cross_entropy(%13, %1)            : f32[B]  // loss\n"
    "%15 = reduce(%14) sum dims=[0]                  : f32[]  // loss\n"
    "%16 = get_dimension_size(%14) axis=0            : i32[]  // loss\n"
    "%17 = convert(%16)                              : f32[]  // loss\n"
    "%18 = divide(%15, %17)                          : f32[]  // loss\n"
    "%19 = constant 1                                : f32[]\n"
    "%20 = divide(%19, %17)                          : f32[]  // loss\n"
    "%21 = broadcast_in_dim(%20) dims=[]             : f32[B]  // loss\n"
    "%22 = softmax_cross_entropy_grad(%13, %1, %21)  : f32[B,3]  // loss\n"
    "%23 = reduce(%22) sum dims=[0]                  : f32[3]  // dense_1\n"
    "%24 = all_reduce(%23) mean                      : f32[3]  // sgd\n"
    "%25 = constant 0.125                            : f32[]  // sgd\n"
    "%26 = broadcast_in_dim(%25) dims=[]             : f32[3]  // sgd\n"
    "%27 = multiply(%24, %26)                        : f32[3]  // sgd\n"
    "%28 = subtract(%5, %27)                         : f32[3]  // sgd\n"
    "%29 = dot_general(%10, %22) contracting [0]x[0] : f32[5,3]  // dense_1\n"
    "%30 = all_reduce(%29) mean                      : f32[5,3]  // sgd\n"
    "%31 = broadcast_in_dim(%25) dims=[]             : f32[5,3]  // sgd\n"
    "%32 = multiply(%30, %31)                        : f32[5,3]  // sgd\n"
    "%33 = dot_general(%22, %4) contracting [1]x[1]  : f32[B,5]  // dense_1\n"
    "%34 = subtract(%4, %32)                         : f32[5,3]  // sgd\n"
    "%35 = compare(%8, %9) GT                        : i1[B,5]  // dense\n"
    "%36 = select(%35, %33, %9)                      : f32[B,5]  // dense\n"
    "%37 = reduce(%36) sum dims=[0]                  : f32[5]  // dense\n"
    "%38 = all_reduce(%37) mean                      : f32[5]  // sgd\n"
    "%39 = broadcast_in_dim(%25) dims=[]             : f32[5]  // sgd\n"
    "%40 = multiply(%38, %39)                        : f32[5]  // sgd\n"
    "%41 = subtract(%3, %40)                         : f32[5]  // sgd\n"
    "%42 = dot_general(%0, %36) contracting [0]x[0]  : f32[4,5]  // dense\n"
    "%43 = all_reduce(%42) mean                      : f32[4,5]  // sgd\n"
    "%44 = broadcast_in_dim(%25) dims=[]             : f32[4,5]  // sgd\n"
    "%45 = multiply(%43, %44)                        : f32[4,5]  // sgd\n"
    "%46 = subtract(%2, %45)                         : f32[4,5]  // sgd\n"
    "return loss = %18\n"
    "update dense/kernel = %46\n"
    "update dense/bias = %41\n"
    "update dense_1/kernel = %34\n"
    "update dense_1/bias = %28\n";

static void expect_text(bool train, const char *golden) {
    network n = network_make();
    dt_graph *g = step_of(&n, train);
    dt_str text = {0};
    dt_graph_print(g, &text);
    assert_string_equal(dt_str_text(&text), golden);
    dt_str_release(&text);
    dt_graph_destroy(g);
    network_release(&n);
}

static void test_forward_text(void **state) {
    (void)state;
    expect_text(false, golden_forward);
}

static void test_step_text(void **state) {
    (void)state;
    expect_text(true, golden_step);
}

/* ---- numbers ---- */

enum { REPLICAS = 2, ROWS = 3 }; /* at most so many rows each */

typedef struct example_rows {
    float image[ROWS][IN];
    int32_t label[ROWS];
    int64_t n;
} example_rows;

/* The step as loops, in double: adds one replica's mean gradients to g, in the order of network.v;
 * returns its mean loss. */
static double by_hand(const network *n, const example_rows *rows,
                      double g[N_VARIABLES][IN * HIDDEN]) {
    const float *w0 = n->v[0]->host_data, *b0 = n->v[1]->host_data, *w1 = n->v[2]->host_data,
                *b1 = n->v[3]->host_data;
    double loss = 0;
    for (int64_t r = 0; r < rows->n; r++) {
        double h[HIDDEN], z[CLASSES], dz[CLASSES], sum = 0;
        const float *x = rows->image[r];
        for (int j = 0; j < HIDDEN; j++) {
            h[j] = b0[j];
            for (int i = 0; i < IN; i++) h[j] += (double)x[i] * w0[i * HIDDEN + j];
            h[j] = h[j] > 0 ? h[j] : 0;
        }
        for (int k = 0; k < CLASSES; k++) {
            z[k] = b1[k];
            for (int j = 0; j < HIDDEN; j++) z[k] += h[j] * w1[j * CLASSES + k];
            sum += exp(z[k]);
        }
        loss += (log(sum) - z[rows->label[r]]) / (double)rows->n;
        for (int k = 0; k < CLASSES; k++) {
            dz[k] = (exp(z[k]) / sum - (k == rows->label[r])) / (double)rows->n;
            g[3][k] += dz[k];
        }
        for (int j = 0; j < HIDDEN; j++) {
            double dh = 0;
            for (int k = 0; k < CLASSES; k++) {
                g[2][j * CLASSES + k] += h[j] * dz[k];
                dh += w1[j * CLASSES + k] * dz[k];
            }
            if (h[j] <= 0) continue;
            g[1][j] += dh;
            for (int i = 0; i < IN; i++) g[0][i * HIDDEN + j] += x[i] * dh;
        }
    }
    return loss;
}

static void draw_rows(example_rows rows[REPLICAS]) {
    dt_random r = dt_random_stream(1, "rows", 0);
    for (int k = 0; k < REPLICAS; k++) {
        rows[k].n = ROWS - k; /* uneven */
        for (int i = 0; i < ROWS; i++) {
            rows[k].label[i] = (int32_t)dt_random_below(&r, CLASSES);
            for (int j = 0; j < IN; j++) rows[k].image[i][j] = (float)dt_random_normal(&r);
        }
    }
}

static void test_step_numbers(void **state) {
    (void)state;
    network n = network_make();
    dt_graph *graph = step_of(&n, true);
    example_rows rows[REPLICAS];
    draw_rows(rows);
    dt_view arg[REPLICAS * 2];
    int64_t batch[REPLICAS];
    for (int r = 0; r < REPLICAS; r++) {
        batch[r] = rows[r].n;
        arg[2 * r] =
            (dt_view){dt_type_of(DT_FLOAT32, 2, (int64_t[]){rows[r].n, IN}), rows[r].image};
        arg[2 * r + 1] = (dt_view){dt_type_of(DT_INT32, 1, (int64_t[]){rows[r].n}), rows[r].label};
    }
    dt_interpretation out;
    assert_null(dt_interpret(graph, NULL, REPLICAS, batch, arg, &out));

    double g[N_VARIABLES][IN * HIDDEN] = {{0}};
    for (int r = 0; r < REPLICAS; r++)
        assert_float_equal(*(const float *)out.result[r].data, by_hand(&n, &rows[r], g), 1e-6);
    assert_int_equal(out.n_states, N_VARIABLES);
    for (int i = 0; i < N_VARIABLES; i++)
        for (int64_t k = 0; k < dt_type_elements(&n.v[i]->type); k++) {
            double expected =
                ((const float *)n.v[i]->host_data)[k] - (double)rate * g[i][k] / REPLICAS;
            assert_float_equal(((const float *)out.update[i].data)[k], expected, 1e-6);
        }
    dt_interpretation_release(&out);
    dt_graph_destroy(graph);
    network_release(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_text),
        cmocka_unit_test(test_step_text),
        cmocka_unit_test(test_step_numbers),
    };
    return cmocka_run_group_tests_name("op/mlp", tests, NULL, NULL);
}
