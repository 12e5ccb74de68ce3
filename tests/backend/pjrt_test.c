/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custom loops on a made-up plug-in, through the public API: which arrays travel, and what is left
 * after each of its calls has failed. The plug-in adds 1 to the first element of a variable in
 * every step (tests/pjrt/fake_device.c), so a value says how many steps it has seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../support/local_fabric.h"
#include "backend/backend.h"
#include "base/status.h"
#include "net/fabric.h"
#include "graph/graph.h"
#include "op/workers.h"

enum { ALIVE, CALLS, UPLOADS, DOWNLOADS, DONATIONS, AHEAD, EARLY, COUNTS };

static char plugin[4200];

static void count(int out[COUNTS]) {
    void (*get)(int[COUNTS]);
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&get = dlsym(library, "fake_device_counts");
    get(out);
    dlclose(library);
}

/* v := v + x, and a result. */
static void step(dt_trace *t, void *user) {
    dt_variable *v = user;
    dt_value before = dt_read(t, v);
    dt_assign(t, v, dt_add(before, before));
    dt_return(t, "loss", before);
}

typedef struct loop {
    dt_strategy *strategy;
    dt_variable *variable;
    dt_function *function;
} loop;

static dt_status *open_loop_of(loop *l, int replicas, dt_dtype dtype) {
    static const char *const cpus[] = {"CPU:0", "CPU:1", "CPU:2", "CPU:3"};
    dt_tensor *ten = NULL;
    DT_TRY(dt_mirrored_strategy(&l->strategy, cpus, replicas));
    DT_TRY(dt_strategy_set_backend(l->strategy, "pjrt", plugin));
    DT_TRY(dt_tensor_create(&ten, dtype, 0, NULL,
                            dtype == DT_FLOAT64 ? (const void *)(const double[]){10}
                                                : (const float[]){10}));
    dt_status *s = NULL;
    DT_SCOPE(l->strategy)
    s = dt_variable_create(&l->variable, ten, NULL);
    dt_tensor_unref(ten);
    return s ? s : dt_function_create(&l->function, step, l->variable);
}

static dt_status *open_loop(loop *l, int replicas) { return open_loop_of(l, replicas, DT_FLOAT32); }

static dt_status *run(loop *l, int steps) {
    for (int i = 0; i < steps; i++) DT_TRY(dt_strategy_run(l->strategy, l->function, NULL, NULL));
    return NULL;
}

static dt_status *value(loop *l, float *out) {
    dt_tensor *t = NULL;
    DT_TRY(dt_variable_value(l->variable, &t));
    *out = *(const float *)dt_tensor_data(t);
    dt_tensor_unref(t);
    return NULL;
}

static void close_loop(loop *l) {
    dt_function_unref(l->function);
    dt_variable_unref(l->variable);
    dt_strategy_unref(l->strategy);
    *l = (loop){0};
}

/* Goal: between two looks at a variable it does not travel. */
static void test_variables_stay_on_the_device(void **state) {
    (void)state;
    for (int devices = 1; devices <= 4; devices *= 2) {
        loop l = {0};
        int before[COUNTS], after[COUNTS];
        float x = 0;
        setenv("FAKE_DEVICE", "", 1);
        assert_null(open_loop(&l, devices));
        assert_null(run(&l, 1));
        count(before);
        assert_null(run(&l, 100));
        count(after);
        assert_int_equal(after[UPLOADS], before[UPLOADS]);
        assert_int_equal(after[DOWNLOADS] - before[DOWNLOADS], 100); /* a result of each step */
        assert_int_equal(after[DONATIONS] - before[DONATIONS], 100 * devices);
        assert_int_equal(after[ALIVE], before[ALIVE]);
        assert_null(value(&l, &x));
        assert_true(x == 111);
        count(before);
        assert_int_equal(before[DOWNLOADS] - after[DOWNLOADS], 1);
        assert_null(value(&l, &x)); /* the host's copy is current now */
        count(after);
        assert_int_equal(after[DOWNLOADS], before[DOWNLOADS]);
        close_loop(&l);
        count(after);
        assert_int_equal(after[ALIVE], 0);
    }
}

static void test_what_the_host_writes_goes_up(void **state) {
    (void)state;
    loop l = {0};
    dt_tensor *t = NULL;
    int before[COUNTS], after[COUNTS];
    float x = 0;
    setenv("FAKE_DEVICE", "", 1);
    assert_null(open_loop(&l, 2));
    assert_null(run(&l, 3));
    assert_null(dt_tensor_create(&t, DT_FLOAT32, 0, NULL, (const float[]){50}));
    count(before);
    assert_null(dt_variable_set(l.variable, DT_ASSIGN, t));
    assert_null(run(&l, 2));
    count(after);
    assert_int_equal(after[UPLOADS] - before[UPLOADS], 2); /* to each of two devices */
    assert_null(value(&l, &x));
    assert_true(x == 52);
    dt_tensor_unref(t);
    close_loop(&l);
}

static void test_variables_outlive_their_strategy(void **state) {
    (void)state;
    loop l = {0};
    int after[COUNTS];
    float x = 0;
    setenv("FAKE_DEVICE", "", 1);
    assert_null(open_loop(&l, 1));
    assert_null(run(&l, 3));
    dt_function_unref(l.function);
    l.function = NULL;
    dt_strategy_unref(l.strategy);
    l.strategy = NULL;
    assert_null(value(&l, &x));
    assert_true(x == 13);
    close_loop(&l);
    count(after);
    assert_int_equal(after[ALIVE], 0);
}

/* Each call in turn: an error with a documented code, never a value that is not known, and nothing
 * left. After it is over, another loop works. */
static void fail_each_call(const char *how, int replicas, int wanted) {
    int failures = 0;
    for (int k = 1; k < 500; k++) {
        loop l = {0};
        char mode[40];
        int after[COUNTS];
        float x = 0;
        snprintf(mode, sizeof mode, "%s=%d", how, k);
        setenv("FAKE_DEVICE", mode, 1);
        dt_status *s = open_loop(&l, replicas);
        if (!s) s = run(&l, 2);
        if (!s) s = value(&l, &x);
        count(after);
        const bool reached = after[CALLS] >= k;
        if (s && dt_status_code(s) != wanted && dt_status_code(s) != 69 && dt_status_code(s) != 78)
            fail_msg("%s: code %d: %s", mode, dt_status_code(s), dt_status_text(s));
        if (!s && x != 12) fail_msg("%s: no error, and the value is %g", mode, (double)x);
        failures += s != NULL;
        if (s) { /* a value that is lost is not told as if nothing had happened */
            dt_status *again = l.variable ? value(&l, &x) : NULL;
            if (l.variable && !again && x != 10 && x != 11 && x != 12)
                fail_msg("%s: the value is %g", mode, (double)x);
            dt_status_free(again);
        }
        dt_status_free(s);
        close_loop(&l);
        count(after);
        if (after[ALIVE]) fail_msg("%s: %d objects are left", mode, after[ALIVE]);
        if (!reached) {
            assert_true(failures > 10);
            return;
        }
    }
    fail_msg("it never ends");
}

static void test_each_call_fails_in_turn(void **state) {
    (void)state;
    fail_each_call("fail", 1, 69);
    fail_each_call("fail", 2, 69);
    fail_each_call("exhaust", 1, 78);
}

/* ---- workers: programs with sums over workers in between ---- */

/* w := w - sum of x * w, and a result that needs x * w behind the sum, too. */
static dt_graph *trace_worker(dt_variable *w) {
    const dt_type rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3});
    const dt_shard_range all = {.shards = 1, .count = 1};
    dt_tree_join_attr a;
    dt_graph *g = NULL;
    dt_trace *t = dt_trace_create("worker");
    dt_value before = dt_read(t, w), y = dt_multiply(dt_trace_declare(t, "x", &rows), before);
    dt_value shard = dt_reshape(dt_reduce_sum(y, 0), 2, (int64_t[]){1, 3}),
             part = dt_emit(t, &dt_op_tree_part, &shard, 1, &all);
    memset(&a, 0, sizeof a);
    a.type = w->type;
    a.shards = a.nodes = 1;
    dt_value sum = dt_emit(t, &dt_op_tree_join, &part, 1, &a);
    dt_return(t, "loss", dt_multiply(y, sum));
    dt_assign(t, w, dt_subtract(before, sum));
    assert_null(dt_trace_end(t, &g));
    return g;
}

typedef struct work {
    dt_device *device;
    dt_variable *w;
    dt_graph *graph;
    dt_executable *x;
    dt_process_group *group;
    dt_member *member;
} work;

static dt_status *open_work(work *l) {
    const dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){3});
    *l = (work){0};
    assert_null(dt_variable_alloc(&l->w, "w", &type, true));
    memcpy(dt_host_edit(l->w), (const float[]){10, 10, 10}, 3 * sizeof(float));
    l->graph = trace_worker(l->w);
    assert_null(dt_process_group_open(&l->group, &dt_fabric_local, 1));
    assert_null(dt_process_group_join(l->group, 0, 10, &l->member));
    DT_TRY(dt_device_open(&l->device, dt_backend_find("pjrt"),
                          &(dt_device_options){.plugin = plugin}));
    return dt_device_compile(l->device, &(dt_compile_request){.graph = l->graph, .rows = 2}, &l->x);
}

static dt_status *do_work(work *l) {
    float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const dt_view arg = {.type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 3}), .data = x};
    dt_view result;
    bool flies = false;
    const dt_env env = {.batch = 2, .replicas = 1, .member = l->member};
    for (int i = 0; i < 2; i++) {
        DT_TRY(dt_executable_start(l->x, &env, &arg, &result, &flies));
        assert_int_equal(result.type.dim[0], 2);
        if (flies) DT_TRY(dt_executable_finish(l->x));
    }
    return dt_variable_fetch(l->w);
}

static void close_work(work *l) {
    dt_executable_destroy(l->x);
    dt_device_close(l->device);
    dt_graph_destroy(l->graph);
    dt_variable_unref(l->w);
    dt_member_leave(l->member);
    dt_process_group_close(l->group);
}

/* Of two programs a step, the second changes the variable. x * w goes from one to the other, and is
 * not fetched. */
static void test_each_call_of_a_worker_fails_in_turn(void **state) {
    (void)state;
    int failures = 0, counts[COUNTS] = {0};
    bool reached = true;
    for (int k = 0; reached; k++) {
        work l;
        char mode[40] = "";
        if (k) snprintf(mode, sizeof mode, "fail=%d", k);
        setenv("FAKE_DEVICE", mode, 1);
        dt_status *s = open_work(&l);
        if (!s) s = do_work(&l);
        count(counts);
        reached = counts[CALLS] >= k;
        if (s && dt_status_code(s) != 69 && dt_status_code(s) != 78)
            fail_msg("%s: code %d: %s", mode, dt_status_code(s), dt_status_text(s));
        if (!s && *(const float *)dt_host_data(l.w) != 12)
            fail_msg("%s: no error, and the value is %g", mode,
                     (double)*(const float *)dt_host_data(l.w));
        if (k == 0) {
            assert_null(s);
            /* the sum and the result of each step, and w */
            assert_int_equal(counts[DOWNLOADS], 2 * 2 + 1);
        }
        failures += s != NULL;
        dt_status_free(s);
        close_work(&l);
        int after[COUNTS];
        count(after);
        if (after[ALIVE]) fail_msg("%s: %d objects are left", mode, after[ALIVE]);
    }
    assert_true(failures > 20);
}

/* ---- models: threads that read ahead lend batches to the devices ---- */

typedef struct training {
    dt_strategy *strategy;
    dt_model *model;
    dt_dataset *data;
    dt_history *history;
    dt_tensor *outputs;
    int64_t rows; /* of the outputs */
} training;

/* The weights of ten blocks, each in a stack with its like, and so are the optimizer's. */
static const char *const layers =
    "- Input: {name: x, shape: [3]}\n"
    "- Repeat: {for: {i: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}, layers: [Dense: {name: 'd{i}', units: 3, "
    "activation: tanh}, LayerNormalization: {name: 'n{i}'}]}\n"
    "- Dense: {units: 2}\n";

/* Two epochs, or more, of five batches, the last one of 4 rows, each validated with 24 examples,
 * which are evaluated and predicted in the end. Of a loss that is one number for a batch an
 * evaluation has three pieces. */
static dt_status *train_for(training *t, int replicas, int epochs) {
    static const char *const cpus[] = {"CPU:0", "CPU:1", "CPU:2", "CPU:3"};
    DT_TRY(dt_mirrored_strategy(&t->strategy, cpus, replicas));
    DT_TRY(dt_strategy_set_backend(t->strategy, "pjrt", plugin));
    dt_status *s = NULL;
    DT_SCOPE(t->strategy) {
        s = dt_model_create(&t->model, layers);
        if (!s)
            s = dt_model_compile(t->model,
                                 "{optimizer: {SGD: {momentum: 0.5}}, loss: Dice, metrics: [mae]}");
    }
    DT_TRY(s);
    DT_TRY(dt_dataset_open(
        &t->data, "{format: synthetic, examples: 60, validation_split: 0.4, element: {x: {shape: "
                  "[3], dtype: float32}, y: {shape: [2], dtype: float32}}, "
                  "map: {y: [rescale: {scale: 0.1, offset: 0.5}]}, global_batch_size: 8}"));
    DT_TRY(dt_model_fit(t->model, t->data, &t->history, "{epochs: %d}", epochs));
    DT_TRY(dt_model_evaluate(t->model, t->data, NULL));
    DT_TRY(dt_model_predict(t->model, t->data, &t->outputs));
    t->rows = dt_tensor_dim(t->outputs, 0);
    return NULL;
}

static dt_status *train(training *t, int replicas) { return train_for(t, replicas, 2); }

static void end_training(training *t) {
    dt_tensor_unref(t->outputs);
    dt_history_unref(t->history);
    dt_dataset_unref(t->data);
    dt_model_unref(t->model);
    dt_strategy_unref(t->strategy);
    *t = (training){0};
}

/* Which call fails is a matter of threads, but for each number some call does: the error has a
 * code, and nothing is left, neither in the ring of batches. */
static void fail_each_call_of_training(const char *how, int replicas, int step) {
    int failures = 0;
    for (int k = 1; k < 3000; k += step) {
        training t = {0};
        char mode[40];
        int after[COUNTS];
        snprintf(mode, sizeof mode, "%s=%d", how, k);
        setenv("FAKE_DEVICE", mode, 1);
        dt_status *s = train(&t, replicas);
        count(after);
        const bool reached = after[CALLS] >= k;
        if (s && dt_status_code(s) != 69 && dt_status_code(s) != 78)
            fail_msg("%s: code %d: %s", mode, dt_status_code(s), dt_status_text(s));
        if (!s && t.rows != 24) fail_msg("%s: %lld rows", mode, (long long)t.rows);
        failures += s != NULL;
        dt_status_free(s);
        end_training(&t);
        count(after);
        if (after[ALIVE]) fail_msg("%s: %d objects are left", mode, after[ALIVE]);
        if (!reached) {
            assert_true(failures * step > 100);
            return;
        }
    }
    fail_msg("it never ends");
}

static void test_each_call_of_training_fails_in_turn(void **state) {
    (void)state;
    fail_each_call_of_training("fail", 1, 1);
    fail_each_call_of_training("exhaust", 1, 7);
    fail_each_call_of_training("fail", 2, 7);
}

/* Memory of the ring of batches is taken back by no step: the next one tells. Each of the first
 * epoch's batches is two arrays. */
static void test_memory_that_does_not_come_back_is_told(void **state) {
    (void)state;
    for (int k = 1; k <= 10; k++) {
        training t = {0};
        char mode[20];
        int after[COUNTS];
        snprintf(mode, sizeof mode, "loan=%d", k);
        setenv("FAKE_DEVICE", mode, 1);
        dt_status *s = train(&t, 1);
        if (!s || dt_status_code(s) != 69 || !strstr(dt_status_text(s), "the device is gone"))
            fail_msg("%s: said '%s'", mode, s ? dt_status_text(s) : "nothing");
        dt_status_free(s);
        end_training(&t);
        count(after);
        assert_int_equal(after[ALIVE], 0);
    }
}

/* However long it trains, and validates in between: variables go up once. Weights of all blocks are
 * one array each. */
static void test_stacks_stay_on_the_device(void **state) {
    (void)state;
    for (int replicas = 1; replicas <= 2; replicas++) {
        int variables[2], down[2], after[COUNTS];
        for (int longer = 0; longer < 2; longer++) {
            training t = {0};
            setenv("FAKE_DEVICE", "", 1);
            assert_null(train_for(&t, replicas, longer ? 5 : 2));
            count(after);
            variables[longer] = after[UPLOADS] - after[EARLY];
            down[longer] = after[DOWNLOADS];
            end_training(&t);
            count(after);
            assert_int_equal(after[ALIVE], 0);
        }
        assert_int_equal(variables[0], variables[1]);
        assert_in_range(variables[0], 8 * replicas, 20 * replicas);
        assert_in_range(down[1] - down[0], 3 * 8, 3 * 8 * 4); /* results of eight steps an epoch */
    }
}

/* Evaluating and predicting three batches, the second starts before the first is finished, and the
 * third likewise; all come up before their turn. */
static void test_evaluating_and_predicting_run_ahead(void **state) {
    (void)state;
    training t = {0};
    dt_tensor *outputs = NULL;
    int before[COUNTS], after[COUNTS];
    setenv("FAKE_DEVICE", "", 1);
    assert_null(train(&t, 1));
    count(before);
    assert_null(dt_model_evaluate(t.model, t.data, NULL));
    count(after);
    assert_int_equal(after[AHEAD] - before[AHEAD], 2);
    assert_int_equal(after[EARLY] - before[EARLY], 6);
    assert_int_equal(after[UPLOADS] - before[UPLOADS], 6);
    assert_null(dt_model_predict(t.model, t.data, &outputs));
    count(before);
    assert_int_equal(before[AHEAD] - after[AHEAD], 2);
    assert_int_equal(before[EARLY] - after[EARLY], 3);
    dt_tensor_unref(outputs);
    end_training(&t);
}

static void test_memory_that_is_not_there_is_told(void **state) {
    (void)state;
    bool found = false;
    for (int k = 1; k < 100 && !found; k++) {
        loop l = {0};
        char mode[40];
        snprintf(mode, sizeof mode, "exhaust=%d", k);
        setenv("FAKE_DEVICE", mode, 1);
        dt_status *s = open_loop(&l, 1);
        if (!s) s = run(&l, 1);
        char *text = s ? dt_status_format(s) : NULL;
        if (s && strstr(dt_status_text(s), "running a step: RESOURCE_EXHAUSTED")) {
            found = true;
            assert_int_equal(dt_status_code(s), 78);
            assert_non_null(strstr(text, "the step has weights 4 "));
        }
        free(text);
        dt_status_free(s);
        close_loop(&l);
    }
    assert_true(found);
}

/* A step that gives too little is an error, and what it gave is freed; nothing of the step before
 * is taken for it. */
static void test_results_that_are_missing_are_told(void **state) {
    (void)state;
    for (int good = 0; good < 2; good++) {
        loop l = {0};
        int after[COUNTS];
        float x = 0;
        setenv("FAKE_DEVICE", "", 1);
        assert_null(open_loop(&l, 2));
        assert_null(run(&l, good));
        setenv("FAKE_DEVICE", "none=result", 1);
        dt_status *s = run(&l, 1), *lost = value(&l, &x);
        if (!s || !strstr(dt_status_text(s), "returned fewer than 2 arrays") ||
            dt_status_code(s) != 69)
            fail_msg("after %d steps: said '%s'", good, s ? dt_status_text(s) : "nothing");
        assert_non_null(lost);
        assert_non_null(strstr(dt_status_text(lost), "was lost on the device"));
        dt_status_free(s);
        dt_status_free(lost);
        close_loop(&l);
        count(after);
        assert_int_equal(after[ALIVE], 0);
    }
}

/* A TPU computes float64 as pairs of float32, slowly and without all digits. */
static void test_float64_is_refused_on_a_tpu(void **state) {
    (void)state;
    for (int tpu = 0; tpu < 2; tpu++) {
        loop l = {0};
        setenv("FAKE_DEVICE", tpu ? "tpu" : "", 1);
        assert_null(open_loop_of(&l, 1, DT_FLOAT64));
        dt_status *s = run(&l, 1);
        if (tpu) {
            assert_non_null(s);
            assert_int_equal(dt_status_code(s), 78);
            assert_non_null(strstr(dt_status_text(s), "float64 is not computed on a TPU"));
            dt_status_free(s);
        } else assert_null(s);
        close_loop(&l);
    }
}

static void test_misuse_is_named(void **state) {
    (void)state;
    dt_strategy *s = NULL;
    loop l = {0};
    static const struct {
        const char *backend;
        const char *says;
    } cases[] = {
        {NULL, "name of the back end"},
        {"cuda", "back end 'cuda' does not go with"},
        {"sim", "back end 'sim' does not go with"},
    };
    assert_null(dt_default_strategy(&s));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_status *bad = dt_strategy_set_backend(s, cases[i].backend, NULL);
        if (!bad || !strstr(dt_status_text(bad), cases[i].says))
            fail_msg("%s: said '%s'", cases[i].backend ? cases[i].backend : "NULL",
                     bad ? dt_status_text(bad) : "nothing");
        dt_status_free(bad);
    }
    assert_null(dt_strategy_set_backend(s, "cpu", NULL));
    dt_strategy_unref(s);
    setenv("FAKE_DEVICE", "", 1);
    assert_null(open_loop(&l, 1));
    assert_null(run(&l, 1));
    dt_status *bad = dt_strategy_set_backend(l.strategy, "cpu", NULL);
    assert_non_null(bad);
    assert_non_null(strstr(dt_status_text(bad), "has computed already"));
    dt_status_free(bad);
    close_loop(&l);
}

static int setup(void **state) {
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    (void)state;
    assert_true(n > 0);
    self[n] = 0;
    snprintf(plugin, sizeof plugin, "%s/../pjrt/fake_device.so", dirname(self));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_stay_on_the_device),
        cmocka_unit_test(test_what_the_host_writes_goes_up),
        cmocka_unit_test(test_variables_outlive_their_strategy),
        cmocka_unit_test(test_each_call_fails_in_turn),
        cmocka_unit_test(test_each_call_of_a_worker_fails_in_turn),
        cmocka_unit_test(test_each_call_of_training_fails_in_turn),
        cmocka_unit_test(test_memory_that_does_not_come_back_is_told),
        cmocka_unit_test(test_stacks_stay_on_the_device),
        cmocka_unit_test(test_evaluating_and_predicting_run_ahead),
        cmocka_unit_test(test_memory_that_is_not_there_is_told),
        cmocka_unit_test(test_results_that_are_missing_are_told),
        cmocka_unit_test(test_float64_is_refused_on_a_tpu),
        cmocka_unit_test(test_misuse_is_named),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
