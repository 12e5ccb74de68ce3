/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of custom loops: what is saved, and under which strategy it comes back to the same
 * bits. */
#define HERE "build/tmp/train-checkpoint"
#include "loop_kit.h"

#include "format/state.h"
#include "train/checkpoint.h"

#define RUN HERE "/run"
#define STEP(n) RUN "/ckpt/step-0000000" #n

static int begin(void **state) { return clean_folder(state); }

static dt_status *save_at(program *p, void *user) {
    (void)user;
    return dt_checkpoint_save(p->checkpoint, RUN, p->steps, 0);
}

/* ---- the same bits ---- */

static dt_str undisturbed(const char *strategy, loop_data kind) {
    program *p = loop_open(strategy, kind);
    OK(loop_train(p, -1, NULL, NULL));
    dt_str result = loop_result(p);
    loop_close(p);
    return result;
}

/* Ends after k steps, and goes on under another strategy from what it saved. */
static void resume_after(int64_t k, const char *first, const char *second, loop_data kind,
                         const dt_str *expected) {
    char *path = NULL;
    forget(RUN);
    program *p = loop_open(first, kind);
    OK(loop_train(p, k, NULL, NULL));
    OK(dt_checkpoint_save(p->checkpoint, RUN, p->steps, 0));
    k = p->steps; /* it may have come to its end */
    loop_close(p);
    p = loop_open(second, kind);
    OK(dt_checkpoint_latest(RUN, &path, NULL));
    OK(dt_checkpoint_restore(p->checkpoint, path));
    assert_int_equal(p->steps, k);
    OK(loop_train(p, -1, NULL, NULL));
    dt_str result = loop_result(p);
    if (strcmp(dt_str_text(&result), dt_str_text(expected)) != 0)
        fail_msg("data %d, after %lld steps, %s then %s:\n%s\nundisturbed:\n%s", (int)kind,
                 (long long)k, first, second, dt_str_text(&result), dt_str_text(expected));
    dt_str_release(&result);
    loop_close(p);
    free(path);
}

/* After every number of steps: before the first, within epochs, at their ends. */
static void test_a_loop_resumes_to_the_same_bits_after_any_step(void **state) {
    (void)state;
    for (loop_data kind = 0; kind < LOOP_KINDS; kind++) {
        dt_str expected = undisturbed("mirrored 2", kind);
        for (int64_t k = 0; k <= 12; k++)
            resume_after(k, "mirrored 2", "mirrored 2", kind, &expected);
        dt_str_release(&expected);
    }
}

static void test_a_loop_resumes_under_any_strategy(void **state) {
    (void)state;
    static const char *const names[] = {"default", "one_device", "mirrored 4", "tpu sim:v3-8"};
    for (loop_data kind = 0; kind < LOOP_KINDS; kind++) {
        dt_str expected = undisturbed(names[0], kind);
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) resume_after(5, names[a], names[b], kind, &expected);
        dt_str_release(&expected);
    }
}

/* Workers that share a data set read the same batches as one process. */
static void test_a_loop_resumes_with_other_workers(void **state) {
    (void)state;
    for (loop_data kind = LOOP_JOB; kind <= LOOP_CHAIN; kind++) {
        dt_str expected = undisturbed("default", kind);
        resume_after(5, "workers 3", "tpu sim:v3-8", kind, &expected);
        resume_after(5, "tpu sim:v3-8", "workers 2", kind, &expected);
        dt_str_release(&expected);
    }
}

/* ---- going back ---- */

/* A loop that was left. */
static void release_iterator(program *p) {
    if (p->kind == LOOP_ENDLESS) return;
    dt_iterator_unref(p->it);
    p->it = NULL;
}

static void test_a_program_can_go_back(void **state) {
    (void)state;
    for (loop_data kind = 0; kind < LOOP_KINDS; kind++) {
        forget(RUN);
        dt_str expected = undisturbed("mirrored 2", kind);
        program *p = loop_open("mirrored 2", kind);
        OK(dt_checkpoint_save(p->checkpoint, RUN, 0, 5)); /* the optimizer has no state yet */
        OK(loop_train(p, 3, NULL, NULL));
        OK(dt_checkpoint_save(p->checkpoint, RUN, 3, 5));
        OK(loop_train(p, 7, NULL, NULL));
        release_iterator(p);
        OK(dt_checkpoint_restore(p->checkpoint, STEP(3)));
        assert_int_equal(p->steps, 3);
        OK(loop_train(p, 9, NULL, NULL));
        release_iterator(p);
        OK(dt_checkpoint_restore(p->checkpoint, STEP(0)));
        OK(loop_train(p, -1, NULL, NULL));
        dt_str result = loop_result(p);
        assert_string_equal(dt_str_text(&result), dt_str_text(&expected));
        dt_str_release(&result);
        dt_str_release(&expected);
        loop_close(p);
    }
}

/* The newest is the one that was saved last, not the one with the most steps. */
static void test_latest_is_the_last_that_was_saved(void **state) {
    (void)state;
    char *path = NULL;
    forget(RUN);
    program *p = loop_open("default", LOOP_JOB);
    OK(loop_train(p, 6, save_at, NULL));
    OK(dt_checkpoint_restore(p->checkpoint, STEP(4)));
    OK(dt_checkpoint_save(p->checkpoint, RUN, 5, 2));
    OK(dt_checkpoint_latest(RUN, &path, NULL));
    assert_string_equal(path, STEP(5));
    free(path);
    loop_close(p);
    p = loop_open("default", LOOP_JOB); /* anew, in a directory that is in use already */
    OK(loop_train(p, 1, save_at, NULL));
    OK(dt_checkpoint_latest(RUN, &path, NULL));
    assert_string_equal(path, STEP(1));
    free(path);
    loop_close(p);
}

static void test_the_newest_are_kept(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_step_list list;
    forget(RUN);
    program *p = loop_open("default", LOOP_JOB);
    for (int64_t step = 1; step <= 7; step++) {
        OK(dt_checkpoint_save(p->checkpoint, RUN, step, 2));
        OK(dt_steps_list(arena, RUN "/ckpt", false, &list, NULL));
        assert_int_equal(list.n, step < 2 ? step : 2);
        assert_int_equal(list.item[list.n - 1].step, step);
    }
    OK(dt_checkpoint_save(p->checkpoint, RUN, 7, 0)); /* again: it is replaced */
    OK(dt_steps_list(arena, RUN "/ckpt", false, &list, NULL));
    assert_int_equal(list.n, 2);
    loop_close(p);
    dt_arena_destroy(arena);
}

/* ---- the format of runs ---- */

static void test_the_files_are_those_of_runs(void **state) {
    (void)state;
    char *text = NULL;
    dt_model *m = NULL;
    forget(RUN);
    program *p = loop_open("mirrored 2", LOOP_JOB);
    OK(loop_train(p, 5, NULL, NULL));
    OK(dt_checkpoint_save(p->checkpoint, RUN, 5, 0));
    OK(dt_checkpoint_list(RUN, false, &text));
    assert_non_null(strstr(text, "00000005"));
    free(text);
    OK(dt_checkpoint_inspect(RUN, false, &text));
    static const char *const parts[] = {"step     5, 1 epoch done",
                                        "dense/kernel",
                                        "optimizer/dense/kernel/momentum",
                                        "\nvariables",
                                        "\nrows ",
                                        "\"counters\": {\"steps\": 5}",
                                        "\"epoch\": 1, \"steps\": 1"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i])) fail_msg("no '%s' in\n%s", parts[i], text);
    free(text);
    OK(dt_checkpoint_verify(RUN, false, &text));
    free(text);
    OK(dt_model_load(&m, STEP(5)));
    assert_string_equal(dt_model_weights_sha256(m), dt_model_weights_sha256(p->model));
    dt_model_unref(m);
    loop_close(p);
}

static dt_model *model(const char *layers) {
    dt_model *m = NULL;
    OK(dt_model_create(&m, "%s", layers));
    return m;
}
#define SMALL "[Input: {shape: [2]}, Dense: {units: 3}]"

/* Two models whose weights have the same paths, and two optimizers, one of them a compiled
 * model's. */
static void test_several_models_are_kept_apart(void **state) {
    (void)state;
    dt_model *a = model(SMALL), *b = model(SMALL);
    dt_optimizer *o = NULL;
    dt_checkpoint *c = NULL;
    dt_tensor *t = NULL;
    char *text = NULL, first[65];
    forget(RUN);
    OK(dt_model_seed(b, 7));
    OK(dt_model_compile(b, "{optimizer: {SGD: {momentum: 0.5}}, loss: MeanSquaredError}"));
    OK(dt_optimizer_create(&o, "Adam"));
    OK(dt_optimizer_prepare(o, dt_model_trainable(a)));
    OK(dt_optimizer_prepare(o, dt_model_trainable(b)));
    OK(dt_optimizer_prepare(b->optimizer, dt_model_trainable(b)));
    *(int64_t *)dt_host_edit(o->iteration) = 41;
    OK(dt_checkpoint_create(&c));
    OK(dt_checkpoint_add_model(c, "a", a));
    OK(dt_checkpoint_add_model(c, "b", b));
    OK(dt_checkpoint_add_optimizer(c, "both", o));
    OK(dt_checkpoint_save(c, RUN, 1, 0));
    OK(dt_checkpoint_inspect(RUN, false, &text));
    assert_non_null(strstr(text, "\na/dense/kernel "));
    assert_non_null(strstr(text, "\nb/dense/kernel "));
    assert_non_null(strstr(text, "\nboth/a/dense/kernel/momentum "));
    assert_non_null(strstr(text, "\nboth/b/dense/kernel/velocity "));
    assert_non_null(strstr(text, "\nb/optimizer/b/dense/kernel/momentum "));
    free(text);
    snprintf(first, sizeof first, "%s", dt_model_weights_sha256(b));
    OK(dt_model_seed(b, 8));
    *(int64_t *)dt_host_edit(o->iteration) = 0;
    OK(dt_checkpoint_restore(c, STEP(1)));
    assert_string_equal(dt_model_weights_sha256(b), first);
    OK(dt_optimizer_get_slot(o, "iteration", &t));
    assert_int_equal(*(const int64_t *)dt_tensor_data(t), 41);
    dt_tensor_unref(t);
    dt_checkpoint_unref(c);
    dt_optimizer_unref(o);
    dt_model_unref(a);
    dt_model_unref(b);
}

/* ---- copies of variables ---- */

typedef struct copies_case {
    const char *from, *to;
    dt_synchronization synchronization;
    dt_aggregation aggregation;
    dt_dtype dtype;
    double sum, first; /* of the copies there, and the first one; sum NAN: refused */
    bool plain;        /* restored into a variable without synchronization and aggregation */
} copies_case;

static dt_variable *variable_in(const char *strategy, const copies_case *k, dt_checkpoint **c) {
    dt_strategy *s = loop_strategy(strategy);
    dt_variable *v = NULL;
    DT_SCOPE(s)
    OK(dt_variable_create(&v, NULL,
                          &(dt_variable_options){.dtype = k->dtype,
                                                 .synchronization = k->synchronization,
                                                 .aggregation = k->aggregation}));
    OK(dt_checkpoint_create(c));
    OK(dt_checkpoint_add_variable(*c, "v", v));
    dt_strategy_unref(s);
    return v;
}

/* Copy r gets r + 1. */
static void number_copies(dt_variable *v) {
    const int n = dt_variable_copies(v);
    OK(dt_variable_diverge(v, n));
    for (int r = 0; r < n; r++)
        if (v->type.dtype == DT_INT32) ((int32_t *)dt_host_edit(v))[r] = r + 1;
        else ((float *)dt_host_edit(v))[r] = (float)(r + 1);
}

static void test_copies_of_variables(void **state) {
    (void)state;
    static const copies_case rows[] = {
        {"mirrored 4", "mirrored 4", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_FLOAT32, 10, 1, false},
        {"mirrored 4", "mirrored 4", DT_SYNC_ON_READ, DT_AGGREGATE_NONE, DT_FLOAT32, 10, 1, false},
        {"mirrored 4", "mirrored 4", DT_SYNC_ON_WRITE, DT_AGGREGATE_NONE, DT_FLOAT32, 10, 1, false},
        {"mirrored 4", "mirrored 3", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_FLOAT32, 10, 10, false},
        {"mirrored 4", "mirrored 3", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_INT32, 10, 10, false},
        {"mirrored 4", "default", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_INT32, 10, 10, false},
        {"mirrored 4", "mirrored 2", DT_SYNC_ON_READ, DT_AGGREGATE_MEAN, DT_FLOAT32, 5, 2.5, false},
        {"mirrored 4", "mirrored 2", DT_SYNC_ON_READ, DT_AGGREGATE_ONLY_FIRST_REPLICA, DT_FLOAT32,
         2, 1, false},
        {"mirrored 4", "mirrored 2", DT_SYNC_ON_READ, DT_AGGREGATE_NONE, DT_FLOAT32, (double)NAN, 0,
         false},
        {"mirrored 4", "default", DT_SYNC_ON_WRITE, DT_AGGREGATE_NONE, DT_FLOAT32, (double)NAN, 0,
         false},
        {"default", "mirrored 3", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_INT32, 1, 1, false},
        {"default", "mirrored 3", DT_SYNC_ON_READ, DT_AGGREGATE_MEAN, DT_FLOAT32, 3, 1, false},
        {"mirrored 4", "default", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_FLOAT32, 10, 10, true},
        {"mirrored 4", "default", DT_SYNC_ON_READ, DT_AGGREGATE_MEAN, DT_FLOAT32, 2.5, 2.5, true},
        {"mirrored 4", "default", DT_SYNC_ON_READ, DT_AGGREGATE_ONLY_FIRST_REPLICA, DT_FLOAT32, 1,
         1, true},
        {"mirrored 4", "mirrored 2", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_INT32, 20, 10, true},
        {"mirrored 4", "mirrored 2", DT_SYNC_ON_READ, DT_AGGREGATE_NONE, DT_FLOAT32, (double)NAN, 0,
         true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_checkpoint *c = NULL;
        double sum = 0;
        forget(RUN);
        dt_variable *v = variable_in(rows[i].from, &rows[i], &c);
        number_copies(v);
        OK(dt_checkpoint_save(c, RUN, 1, 0));
        dt_variable_unref(v);
        v = variable_in(rows[i].to,
                        rows[i].plain ? &(copies_case){.dtype = rows[i].dtype} : &rows[i], &c);
        dt_status *s = dt_checkpoint_restore(c, STEP(1));
        if (isnan(rows[i].sum)) {
            fails(s, DT_E_CHECKPOINT_PARTS, "cannot be combined");
        } else {
            OK(s);
            for (int r = 0; r < dt_variable_copies(v); r++) {
                dt_tensor *t = NULL;
                OK(dt_variable_local(v, r, &t));
                sum += dt_tensor_item(t);
                assert_true(r > 0 || dt_tensor_item(t) == rows[i].first);
                dt_tensor_unref(t);
            }
            if (sum != rows[i].sum) fail_msg("row %zu: the copies sum to %g", i, sum);
        }
        dt_variable_unref(v);
        dt_checkpoint_unref(c);
    }
}

/* A best loss begins as infinity; weights may not. */
static void test_values_that_are_not_finite(void **state) {
    (void)state;
    const copies_case plain = {.dtype = DT_FLOAT32};
    dt_checkpoint *c = NULL;
    dt_model *m = model(SMALL);
    forget(RUN);
    dt_variable *v = variable_in("default", &plain, &c);
    *(float *)dt_host_edit(v) = INFINITY;
    OK(dt_checkpoint_save(c, RUN, 1, 0));
    *(float *)dt_host_edit(v) = 1;
    OK(dt_checkpoint_restore(c, STEP(1)));
    assert_true(isinf(*(float *)dt_host_edit(v)));
    OK(dt_checkpoint_add_model(c, "m", m));
    ((float *)dt_host_edit(m->weight[0]))[1] = NAN;
    fails(dt_checkpoint_save(c, RUN, 2, 0), DT_E_CHECKPOINT_NOT_FINITE,
          "not saved: 'dense/kernel' holds 1 value that is not finite");
    assert_false(is_there(STEP(2)));
    dt_variable_unref(v);
    dt_model_unref(m);
    dt_checkpoint_unref(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loop_resumes_to_the_same_bits_after_any_step),
        cmocka_unit_test(test_a_loop_resumes_under_any_strategy),
        cmocka_unit_test(test_a_loop_resumes_with_other_workers),
        cmocka_unit_test(test_a_program_can_go_back),
        cmocka_unit_test(test_latest_is_the_last_that_was_saved),
        cmocka_unit_test(test_the_newest_are_kept),
        cmocka_unit_test(test_the_files_are_those_of_runs),
        cmocka_unit_test(test_several_models_are_kept_apart),
        cmocka_unit_test(test_copies_of_variables),
        cmocka_unit_test(test_values_that_are_not_finite),
    };
    return cmocka_run_group_tests_name("train/checkpoint", tests, begin, NULL);
}
