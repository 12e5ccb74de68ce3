/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of the public headers with every kind of wrong argument, one at a time: no handle,
 * a handle that was released already, hostile texts, numbers at their limits, no place, no options.
 * Whatever comes back, the process goes on, and under the address sanitizer no byte is touched that
 * is not the call's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizer.h"

#include "../support/api.h"
#include "../support/status.h"

static const char *now = "setting up"; /* the call that is made, for the message of a crash */

/* ---- arguments ---- */

typedef struct table {
    int bad, how; /* the argument that is wrong, and which of its choices; the others are right */
    int choices;  /* that the argument has: known once it was asked for */
} table;

static int choose(api *s, int argument, int n) {
    table *t = s->user;
    if (argument != t->bad) return 0;
    t->choices = n;
    return t->how < n ? t->how : 0;
}

static const struct {
    const char *function, *text;
} right[] = {
    {"dt_model_create", "- Input: {name: x, shape: [2]}\n- Dense: {units: 3}\n"},
    {"dt_model_compile", "{optimizer: SGD, loss: MeanSquaredError}"},
    {"dt_model_fit", "{epochs: 1}"},
    {"dt_optimizer_create", "Adam"},
    {"dt_loss_create", "MeanSquaredError"},
    {"dt_meter_create", "MeanSquaredError"},
    {"dt_rate_schedule_create", "CosineDecay: {initial_learning_rate: 0.1, decay_steps: 10}"},
    {"dt_dataset_open", "{format: synthetic, element: {x: {shape: [2]}, y: {num_classes: 3}}, "
                        "global_batch_size: 2, examples: 4}"},
    {"dt_dataset_from_values", "{global_batch_size: 1}"},
    {"dt_dataset_collect", "{global_batch_size: 1}"},
    {"dt_initializer_draw", "glorot_uniform"},
    {"dt_activation_call", "relu"},
    {"dt_tpu_resolver", "sim:v2-8"},
    {"dt_one_device_strategy", "CPU:0"},
    {"dt_job_open", "job.yaml"},
    {"dt_reduce_op_named", "SUM"},
};

static const char *right_text(const char *function) {
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (strcmp(right[i].function, function) == 0) return right[i].text;
    return "x";
}

/* ---- slots: 0 a live handle, 1 a released one, 2 none ---- */

static void keep_trace(dt_trace *t, void *user) { *(dt_value *)user = dt_constant(t, 1); }

static void make_first(api *s) {
    static const float numbers[4] = {1, 2, 3, 4};
#define FIRST(type) (s->type[0].own = true, &s->type[0].handle)
    ok(dt_tensor_create(FIRST(tensor), DT_FLOAT32, 2, (int64_t[]){2, 2}, numbers));
    ok(dt_variable_create(FIRST(variable), s->tensor[0].handle, NULL));
    ok(dt_variables_create(FIRST(variables), &s->variable[0].handle, 1));
    ok(dt_values_create(FIRST(values)));
    ok(dt_values_set(s->values[0].handle, "x", s->tensor[0].handle));
    ok(dt_dataset_range(FIRST(dataset), 0, 4, 1));
    ok(dt_dataset_batch(&s->dataset[0].handle, s->dataset[0].handle, 2, false));
    ok(dt_mirrored_strategy(FIRST(strategy), (const char *const[]){"CPU:0", "CPU:1"}, 2));
    ok(dt_strategy_distribute_dataset(s->strategy[0].handle, s->dataset[0].handle, NULL,
                                      FIRST(dist_dataset)));
    ok(dt_iterator_create(FIRST(iterator), s->dist_dataset[0].handle));
    ok(dt_job_open(FIRST(job), &(dt_job_source){.path = "job.yaml"}));
    ok(dt_row_writer_open(FIRST(row_writer), &(dt_row_writer_options){.path = "first.csv"}));
    ok(dt_model_create(FIRST(model), "%s", right_text("dt_model_create")));
    ok(dt_optimizer_create(FIRST(optimizer), "Adam"));
    ok(dt_loss_create(FIRST(loss), "MeanSquaredError"));
    ok(dt_meter_create(FIRST(meter), "MeanSquaredError"));
    ok(dt_rate_schedule_create(FIRST(rate_schedule), "%s", right_text("dt_rate_schedule_create")));
    ok(dt_function_create(FIRST(function), step_nothing, NULL));
    ok(dt_tpu_resolver(FIRST(resolver), "sim:v2-8"));
    ok(dt_topology_create(FIRST(topology),
                          &(dt_topology_options){api_shape, 4, api_zeros, api_places, 3}));
    ok(dt_checkpoint_create(FIRST(checkpoint)));
    ok(dt_checkpoint_add_variable(s->checkpoint[0].handle, "variable", s->variable[0].handle));
    ok(dt_device_assignment_build(FIRST(device_assignment), s->topology[0].handle, NULL));
}

static void set_up(api *s) {
    dt_function *f = NULL;
    make_first(s);
#define X(type)                                                                                    \
    s->type[1] = s->type[0];                                                                       \
    release_##type(s, 1);                                                                          \
    s->type[0].own = false;
    API_HANDLES(X)
#undef X
    make_first(s);
    ok(dt_function_create(&f, keep_trace, &s->stale));
    ok(dt_strategy_run(s->strategy[0].handle, f, NULL, NULL));
    dt_function_unref(f);
}

/* ---- calls ---- */

static const api_call *in_step;

static void make_in_step(dt_trace *t, void *user) {
    api *s = user;
    s->trace = t;
    api_make(s, in_step);
    s->trace = NULL;
}

static void make(api *s, const api_call *c) {
    dt_function *f = NULL;
    dt_values *args = NULL;
    dt_tensor *x = NULL;
    if (!api_is_of_steps(c)) {
        api_make(s, c);
        return;
    }
    ok(dt_values_create(&args));
    ok(dt_tensor_create(&x, DT_FLOAT32, 2, (int64_t[]){2, 2}, NULL));
    ok(dt_values_set(args, "x", x));
    in_step = c;
    ok(dt_function_create(&f, make_in_step, s));
    dt_status_free(dt_strategy_run(s->strategy[0].handle, f, args, NULL));
    dt_function_unref(f);
    dt_values_unref(args);
    dt_tensor_unref(x);
}

static void say_what(int signal) {
    dprintf(STDERR_FILENO, "signal %d in %s\n", signal, now);
    _exit(1);
}

/* How many choices the argument has; the first is right. */
static int call_with(api *s, const api_call *c, int bad, int how) {
    static char text[256];
    table t = {bad, how, 0};
    s->user = &t;
    snprintf(text, sizeof text, "%s: argument %d, choice %d", c->name, bad, how);
    now = text;
    make(s, c);
    dt_status_free(dt_set_strategy(NULL));
    return t.choices;
}

static void call_all_ways(const api_call *c) {
    for (int k = 0; k < API_FORMAT + c->arguments; k += k == c->arguments ? API_FORMAT - k : 1) {
        api s = {.choose = choose, .text = right_text(c->name)};
        set_up(&s);
        for (int how = 1, choices = 2; how < choices; how++) choices = call_with(&s, c, k, how);
        api_release_all(&s);
    }
}

/* Each function in a process of its own, so that all faults are found at once. */
static void test_every_function_answers_wrong_arguments(void **state) {
    (void)state;
    static const int signals[] = {SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
    int faults = 0;
    for (int i = 0; i < API_CALLS; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
                signal(signals[k], say_what);
            if (!freopen("/dev/null", "w", stdout)) _exit(1);
            call_all_ways(&api_calls[i]);
            _exit(0);
        }
        int status = 1;
        waitpid(child, &status, 0);
        if (status != 0) print_error("%s ended with status %#x\n", api_calls[i].name, status);
        faults += status != 0;
    }
    assert_true(API_CALLS > 300);
    assert_int_equal(faults, 0);
}

/* Every text is a path somewhere. None may lead out of the folder of the test. */
static void test_no_text_is_a_path_to_elsewhere(void **state) {
    (void)state;
    for (int i = 0; i < API_TEXTS; i++)
        if (strncmp(api_texts[i], "/dev/null/", 10) != 0) {
            assert_true(api_texts[i][0] != '/');
            assert_null(strstr(api_texts[i], ".."));
        }
}

static dt_status *as_message(dt_status *s) {
    assert_non_null(s);
    assert_string_equal(dt_status_kind(s), "ValueError");
    return s;
}

/* As the head of dtrain.h promises. */
static void test_released_handles_count_as_none(void **state) {
    (void)state;
    dt_tensor *t = NULL, *again = NULL;
    dt_values *v = NULL;
    ok(dt_tensor_create(&t, DT_FLOAT32, 1, (int64_t[]){4}, NULL));
    ok(dt_values_create(&v));
    ok(dt_values_set(v, "x", t));
    dt_tensor_unref(t);
    assert_int_equal(dt_tensor_elements(t), 4); /* the values still have it */
    dt_values_unref(v);
    assert_int_equal(dt_tensor_elements(t), 0);
    assert_null(dt_tensor_data(t));
    dt_status_free(as_message(dt_tensor_save(t, "t.npy")));
    dt_status_free(as_message(dt_values_set(v, "y", t)));
    for (int i = 0; i < 3; i++) {
        dt_tensor_unref(t);
        dt_values_unref(v);
    }
    again = t;
    ok(dt_tensor_create(&again, DT_FLOAT32, 0, NULL, NULL)); /* the place held a released handle */
    assert_int_equal(dt_tensor_elements(again), 1);
    dt_tensor_unref(again);
    dt_status *s = dt_status_create(17, "once");
    dt_status_free(s);
    dt_status_free(s);
    assert_int_equal(dt_report(s), 0);
    for (int i = 0; i < 2 * DT_RETIRED; i++) { /* memory goes back in the end */
        ok(dt_tensor_create(&again, DT_FLOAT32, 0, NULL, NULL));
        dt_tensor_unref(again);
        again = NULL;
    }
}

/* The library reads only the first bytes of a released handle. The address sanitizer ends a process
 * that reads more. */
static void test_a_released_handle_may_not_be_read(void **state) {
    (void)state;
    dt_tensor *t = NULL;
    if (!DT_ASAN) skip();
    ok(dt_tensor_create(&t, DT_FLOAT32, 0, NULL, NULL));
    dt_tensor_unref(t);
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        _exit(((const volatile char *)t)[32]);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_not_equal(status, 0);
}

static int enter_directory(void **state) {
    (void)state;
    static const char job[] =
        "version: 1\nname: tiny\nmodel: {type: sequential, layers: [{Input: {name: x, shape: "
        "[2]}}, {Dense: {units: 3}}]}\nstrategy: {type: one_device, device: \"CPU:0\"}\n"
        "compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}\n"
        "dataset: {format: synthetic, element: {x: {shape: [2]}, y: {num_classes: 3}}, examples: "
        "4, global_batch_size: 2}\n"
        "fit: {epochs: 1}\noutput: {dir: run}\n";
    mkdir("build/tmp", 0777);
    mkdir("build/tmp/api", 0777);
    if (chdir("build/tmp/api")) return -1;
    FILE *f = fopen("job.yaml", "w");
    fputs(job, f);
    return fclose(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_text_is_a_path_to_elsewhere),
        cmocka_unit_test(test_released_handles_count_as_none),
        cmocka_unit_test(test_a_released_handle_may_not_be_read),
        cmocka_unit_test(test_every_function_answers_wrong_arguments),
    };
    return cmocka_run_group_tests_name("api", tests, enter_directory, NULL);
}
