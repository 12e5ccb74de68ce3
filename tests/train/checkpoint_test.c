/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of custom loops: what is saved, under which strategy it comes back to the same bits, and what is refused. */
#define HERE "build/tmp/train-checkpoint"
#include "loop_kit.h"

#include "format/state.h"
#include "format/steps.h"
#include "train/checkpoint.h"

#define RUN HERE "/run"
#define STEP(n) RUN "/ckpt/step-0000000" #n

static int begin(void **state)
{
    return clean_folder(state);
}

static dt_status *save_at(program *p, void *user)
{
    (void)user;
    return dt_checkpoint_save(p->checkpoint, RUN, p->steps, 0);
}

/* ---- the same bits ---- */

static dt_str undisturbed(const char *strategy, loop_data kind)
{
    program *p = loop_open(strategy, kind);
    OK(loop_train(p, -1, NULL, NULL));
    dt_str result = loop_result(p);
    loop_close(p);
    return result;
}

/* Ends after k steps, and goes on under another strategy from what it saved. */
static void resume_after(int64_t k, const char *first, const char *second, loop_data kind, const dt_str *expected)
{
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
        fail_msg("data %d, after %lld steps, %s then %s:\n%s\nundisturbed:\n%s", (int)kind, (long long)k, first, second, dt_str_text(&result),
                 dt_str_text(expected));
    dt_str_release(&result);
    loop_close(p);
    free(path);
}

/* After every number of steps: before the first, within epochs, at their ends. */
static void test_a_loop_resumes_to_the_same_bits_after_any_step(void **state)
{
    (void)state;
    for (loop_data kind = 0; kind < LOOP_KINDS; kind++) {
        dt_str expected = undisturbed("mirrored 2", kind);
        for (int64_t k = 0; k <= 12; k++)
            resume_after(k, "mirrored 2", "mirrored 2", kind, &expected);
        dt_str_release(&expected);
    }
}

static void test_a_loop_resumes_under_any_strategy(void **state)
{
    (void)state;
    static const char *const names[] = { "default", "one_device", "mirrored 4", "tpu sim:v3-8" };
    for (loop_data kind = 0; kind < LOOP_KINDS; kind++) {
        dt_str expected = undisturbed(names[0], kind);
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++)
                resume_after(5, names[a], names[b], kind, &expected);
        dt_str_release(&expected);
    }
}

/* Workers that share a data set read the same batches as one process. */
static void test_a_loop_resumes_with_other_workers(void **state)
{
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
static void release_iterator(program *p)
{
    if (p->kind == LOOP_ENDLESS)
        return;
    dt_iterator_unref(p->it);
    p->it = NULL;
}

static void test_a_program_can_go_back(void **state)
{
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
static void test_latest_is_the_last_that_was_saved(void **state)
{
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

static void test_the_newest_are_kept(void **state)
{
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

static void test_the_files_are_those_of_runs(void **state)
{
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
    static const char *const parts[] = { "step     5, 1 epoch done", "dense/kernel", "optimizer/dense/kernel/momentum", "\nvariables", "\nrows ",
                                         "\"counters\": {\"steps\": 5}", "\"epoch\": 1, \"steps\": 1" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("no '%s' in\n%s", parts[i], text);
    free(text);
    OK(dt_checkpoint_verify(RUN, false, &text));
    free(text);
    OK(dt_model_load(&m, STEP(5)));
    assert_string_equal(dt_model_weights_sha256(m), dt_model_weights_sha256(p->model));
    dt_model_unref(m);
    loop_close(p);
}

static dt_model *model(const char *layers)
{
    dt_model *m = NULL;
    OK(dt_model_create(&m, "%s", layers));
    return m;
}
#define SMALL "[Input: {shape: [2]}, Dense: {units: 3}]"

/* Two models whose weights have the same paths, and two optimizers, one of them a compiled model's. */
static void test_several_models_are_kept_apart(void **state)
{
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
} copies_case;

static dt_variable *variable_in(const char *strategy, const copies_case *k, dt_checkpoint **c)
{
    dt_strategy *s = loop_strategy(strategy);
    dt_variable *v = NULL;
    DT_SCOPE(s)
        OK(dt_variable_create(&v, NULL, &(dt_variable_options){ .dtype = k->dtype, .synchronization = k->synchronization, .aggregation = k->aggregation }));
    OK(dt_checkpoint_create(c));
    OK(dt_checkpoint_add_variable(*c, "v", v));
    dt_strategy_unref(s);
    return v;
}

/* Copy r gets r + 1. */
static void number_copies(dt_variable *v)
{
    const int n = dt_variable_copies(v);
    OK(dt_variable_diverge(v, n));
    for (int r = 0; r < n; r++)
        if (v->type.dtype == DT_INT32)
            ((int32_t *)dt_host_edit(v))[r] = r + 1;
        else
            ((float *)dt_host_edit(v))[r] = (float)(r + 1);
}

static void test_copies_of_variables(void **state)
{
    (void)state;
    static const copies_case rows[] = {
        { "mirrored 4", "mirrored 4", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_FLOAT32, 10, 1 },
        { "mirrored 4", "mirrored 4", DT_SYNC_ON_READ, DT_AGGREGATE_NONE, DT_FLOAT32, 10, 1 },
        { "mirrored 4", "mirrored 4", DT_SYNC_ON_WRITE, DT_AGGREGATE_NONE, DT_FLOAT32, 10, 1 },
        { "mirrored 4", "mirrored 3", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_FLOAT32, 10, 10 },
        { "mirrored 4", "mirrored 3", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_INT32, 10, 10 },
        { "mirrored 4", "default", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_INT32, 10, 10 },
        { "mirrored 4", "mirrored 2", DT_SYNC_ON_READ, DT_AGGREGATE_MEAN, DT_FLOAT32, 5, 2.5 },
        { "mirrored 4", "mirrored 2", DT_SYNC_ON_READ, DT_AGGREGATE_ONLY_FIRST_REPLICA, DT_FLOAT32, 2, 1 },
        { "mirrored 4", "mirrored 2", DT_SYNC_ON_READ, DT_AGGREGATE_NONE, DT_FLOAT32, (double)NAN, 0 },
        { "mirrored 4", "default", DT_SYNC_ON_WRITE, DT_AGGREGATE_NONE, DT_FLOAT32, (double)NAN, 0 },
        { "default", "mirrored 3", DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_INT32, 1, 1 },
        { "default", "mirrored 3", DT_SYNC_ON_READ, DT_AGGREGATE_MEAN, DT_FLOAT32, 3, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_checkpoint *c = NULL;
        double sum = 0;
        forget(RUN);
        dt_variable *v = variable_in(rows[i].from, &rows[i], &c);
        number_copies(v);
        OK(dt_checkpoint_save(c, RUN, 1, 0));
        dt_variable_unref(v);
        v = variable_in(rows[i].to, &rows[i], &c);
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
            if (sum != rows[i].sum)
                fail_msg("row %zu: the copies sum to %g", i, sum);
        }
        dt_variable_unref(v);
        dt_checkpoint_unref(c);
    }
}

/* A best loss begins as infinity; weights may not. */
static void test_values_that_are_not_finite(void **state)
{
    (void)state;
    const copies_case plain = { .dtype = DT_FLOAT32 };
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
    fails(dt_checkpoint_save(c, RUN, 2, 0), DT_E_CHECKPOINT_NOT_FINITE, "not saved: 'dense/kernel' holds 1 value that is not finite");
    assert_false(is_there(STEP(2)));
    dt_variable_unref(v);
    dt_model_unref(m);
    dt_checkpoint_unref(c);
}

/* ---- what is refused ---- */

/* Nothing changes when it is. */
static void refused(program *p, const char *path, dt_error id, const char *part)
{
    dt_str before = loop_result(p);
    const dt_position at = dt_dist_dataset_position(p->data);
    fails(dt_checkpoint_restore(p->checkpoint, path), id, part);
    const dt_position now = dt_dist_dataset_position(p->data);
    dt_str after = loop_result(p);
    assert_memory_equal(before.data, after.data, before.size); /* an optimizer may have got its slots, all 0 */
    assert_int_equal(at.epoch, now.epoch);
    assert_int_equal(at.steps, now.steps);
    dt_str_release(&before);
    dt_str_release(&after);
}

static void test_names_must_be_the_same(void **state)
{
    (void)state;
    int64_t more = 0;
    dt_checkpoint *none = NULL;
    forget(RUN);
    program *p = loop_open("default", LOOP_JOB);
    OK(loop_train(p, 4, NULL, NULL));
    OK(dt_checkpoint_save(p->checkpoint, RUN, 4, 0));
    OK(dt_checkpoint_add_counter(p->checkpoint, "more", &more));
    refused(p, STEP(4), DT_E_CHECKPOINT_PARTS, "the checkpoint has no counter 'more'");
    OK(dt_checkpoint_create(&none));
    dt_status *s = dt_checkpoint_restore(none, STEP(4));
    assert_int_equal(dt_status_count(s), 6);
    fails(s, DT_E_CHECKPOINT_PARTS, "the program added no model 'model'");
    dt_checkpoint_unref(none);
    loop_close(p);
}

static void test_an_optimizers_variables_must_be_there(void **state)
{
    (void)state;
    dt_model *m = model(SMALL);
    dt_optimizer *o = NULL;
    dt_checkpoint *c = NULL;
    forget(RUN);
    OK(dt_optimizer_create(&o, "Adam"));
    OK(dt_optimizer_prepare(o, dt_model_trainable(m)));
    OK(dt_checkpoint_create(&c));
    OK(dt_checkpoint_add_optimizer(c, "o", o));
    fails(dt_checkpoint_save(c, RUN, 1, 0), DT_E_CHECKPOINT_PARTS, "optimizer 'o' updates the variable 'dense/kernel', which is not in the checkpoint");
    OK(dt_checkpoint_add_variable(c, "kernel", dt_variables_at(dt_model_trainable(m), 0)));
    OK(dt_checkpoint_add_variable(c, "bias", dt_variables_at(dt_model_trainable(m), 1)));
    OK(dt_checkpoint_save(c, RUN, 1, 0));
    OK(dt_checkpoint_restore(c, STEP(1)));
    dt_checkpoint_unref(c);
    dt_optimizer_unref(o);
    dt_model_unref(m);
}

static void test_other_shapes_are_named(void **state)
{
    (void)state;
    dt_model *m = model(SMALL), *other = model("[Input: {shape: [2]}, Dense: {units: 4}]");
    dt_checkpoint *c = NULL;
    forget(RUN);
    OK(dt_checkpoint_create(&c));
    OK(dt_checkpoint_add_model(c, "m", m));
    OK(dt_checkpoint_save(c, RUN, 1, 0));
    OK(dt_checkpoint_create(&c));
    OK(dt_checkpoint_add_model(c, "m", other));
    fails(dt_checkpoint_restore(c, STEP(1)), DT_E_CHECKPOINT_MODEL, "dense/kernel");
    dt_checkpoint_unref(c);
    dt_model_unref(m);
    dt_model_unref(other);
}

/* Another global batch, another seed, other workers: the batch that was read last is another. */
static void test_other_data_is_refused(void **state)
{
    (void)state;
    for (loop_data kind = LOOP_JOB; kind <= LOOP_PIPELINE; kind++) {
        forget(RUN);
        program *p = loop_open("mirrored 2", kind);
        OK(loop_train(p, 6, NULL, NULL));
        OK(dt_checkpoint_save(p->checkpoint, RUN, 6, 0));
        loop_close(p);
        p = loop_open("mirrored 2", kind);
        dt_dist_dataset *right = p->data, *wrong = loop_open_data(p->strategy, kind, 25);
        p->checkpoint->item[p->checkpoint->n - 1].object = p->data = wrong;
        refused(p, STEP(6), DT_E_CHECKPOINT_DATA, "is not the batch that was read when it was saved");
        p->checkpoint->item[p->checkpoint->n - 1].object = p->data = right;
        dt_dist_dataset_unref(wrong);
        OK(dt_checkpoint_restore(p->checkpoint, STEP(6)));
        loop_close(p);
    }
    forget(RUN);
    program *p = loop_open("default", LOOP_FUNCTION);
    OK(loop_train(p, 2, NULL, NULL));
    OK(dt_checkpoint_save(p->checkpoint, RUN, 2, 0));
    loop_close(p);
    p = loop_open("workers 2", LOOP_FUNCTION); /* the function gives both the same */
    refused(p, STEP(2), DT_E_CHECKPOINT_DATA, "data set 'train'");
    loop_close(p);
}

/* An iterator for each epoch is a data set's affair. */
static void test_an_iterator_that_was_replaced_is_refused(void **state)
{
    (void)state;
    forget(RUN);
    program *p = loop_open("default", LOOP_ENDLESS);
    OK(loop_train(p, 2, NULL, NULL));
    OK(dt_iterator_create(&p->it, p->data));
    fails(dt_checkpoint_save(p->checkpoint, RUN, 2, 0), DT_E_CHECKPOINT_PARTS, "has released the iterator 'train'");
    loop_close(p);
}

/* Of a pipeline by itself; its data set goes on from there, too. */
static void test_an_iterator_of_a_pipeline_by_itself(void **state)
{
    (void)state;
    double seen[2][10] = { { 0 } };
    forget(RUN);
    for (int run = 0; run < 2; run++) {
        dt_dataset *d = NULL;
        dt_iterator *it = NULL;
        dt_checkpoint *c = NULL;
        dt_values *v = NULL;
        OK(dt_dataset_range(&d, 0, 10, 1));
        OK(dt_dataset_shuffle(&d, d, 5, 1, true));
        OK(dt_dataset_iterate(&it, d));
        OK(dt_checkpoint_create(&c));
        if (run == 0)
            OK(dt_dataset_iterate(&it, d));
        OK(dt_checkpoint_add_iterator(c, "it", it));
        for (int i = 0; i < 4 && run == 0; i++)
            OK(dt_iterator_next(it, &v));
        if (run == 0)
            OK(dt_checkpoint_save(c, RUN, 4, 0));
        else
            OK(dt_checkpoint_restore(c, STEP(4)));
        for (int i = 0; i < 10; i++) {
            OK(dt_iterator_next(it, &v));
            if (!v)
                OK(dt_dataset_iterate(&it, d)); /* the third iteration */
            seen[run][i] = v ? dt_tensor_item(dt_values_local(v, "value", 0)) : -1;
        }
        dt_values_unref(v);
        dt_iterator_unref(it);
        dt_checkpoint_unref(c);
        dt_dataset_unref(d);
    }
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
    assert_true(seen[0][6] == -1 && seen[0][7] >= 0);
}

static void test_paths(void **state)
{
    (void)state;
    char *path = HERE;
    dt_status *skipped = NULL;
    forget(RUN);
    program *p = loop_open("default", LOOP_JOB);
    OK(dt_checkpoint_latest(RUN, &path, &skipped));
    assert_null(path);
    assert_null(skipped);
    OK(dt_checkpoint_restore(p->checkpoint, NULL));
    refused(p, RUN, DT_E_NO_INPUT, RUN);
    OK(loop_train(p, 2, save_at, NULL));
    refused(p, RUN, DT_E_CHECKPOINT, "ask dt_checkpoint_latest");
    refused(p, STEP(9), DT_E_NO_INPUT, STEP(9));
    OK(dt_model_save(p->model, HERE "/model"));
    refused(p, HERE "/model", DT_E_CHECKPOINT_PARTS, "was not saved by dt_checkpoint_save");
    fails(dt_checkpoint_save(p->checkpoint, "", 1, 0), DT_E_CANT_CREATE, "no directory");
    fails(dt_checkpoint_save(p->checkpoint, RUN, -1, 0), DT_E_MISUSE, "step must be");
    fails(dt_checkpoint_save(p->checkpoint, RUN, INT64_MAX, 0), DT_E_MISUSE, "step must be");
    fails(dt_checkpoint_save(p->checkpoint, RUN, 1, -1), DT_E_MISUSE, "max_to_keep");
    program *other = loop_open("default", LOOP_JOB);
    fails(dt_checkpoint_save(other->checkpoint, RUN, 1, 0), DT_E_IN_USE, RUN);
    loop_close(p);
    OK(dt_checkpoint_save(other->checkpoint, RUN, 1, 0));
    loop_close(other);
}

static void test_damaged_ones_are_passed_over(void **state)
{
    (void)state;
    char *path = NULL;
    dt_status *skipped = NULL;
    forget(RUN);
    program *p = loop_open("default", LOOP_JOB);
    OK(loop_train(p, 2, save_at, NULL));
    OK(dt_file_commit(STEP(2) "/variables.safetensors", "x", 1));
    OK(dt_checkpoint_latest(RUN, &path, &skipped));
    assert_string_equal(path, STEP(1));
    fails(skipped, DT_E_CHECKPOINT, "variables.safetensors");
    free(path);
    refused(p, STEP(2), DT_E_CHECKPOINT, "variables.safetensors: checksum mismatch");
    OK(dt_file_commit(STEP(1) "/state.json", "{}", 2));
    fails(dt_checkpoint_latest(RUN, &path, NULL), DT_E_CHECKPOINT_NONE, "none of which verifies");
    assert_null(path);
    loop_close(p);
}

/* Texts that somebody made, with checksums that are right. */
static void test_a_hostile_loop_is_refused(void **state)
{
    (void)state;
    static const struct { const char *from, *to, *why; } rows[] = {
        { "\"steps\": 2", "\"steps\": 2.5", "not as dt_checkpoint_save writes it" },
        { "\"rows\": 1", "\"rows\": 0", "not as dt_checkpoint_save writes it" },
        { "\"rows\": 1", "\"rows\": 9000000000000000000", "not as dt_checkpoint_save writes it" },
        { "\"rows\": 1", "\"rows\": 3", "rows" },
        { "\"epoch\": 0", "\"epoch\": -1", "not as dt_checkpoint_save writes it" },
        { "\"epoch\": 0", "\"epoch\": 9000000000000000000", "not as dt_checkpoint_save writes it" },
        { "\"epoch\": 0, \"steps\": 2", "\"epoch\": 0, \"steps\": 9000000000000000000", "has fewer batches than" },
        { "\"epoch\": 0, \"steps\": 2", "\"epoch\": 0, \"steps\": 1", "is not the batch" },
        { "\"epoch\": 0", "\"epoch\": 2000000000", "is not the batch" },
        { "\"last\": \"", "\"last\": \"X", "not as dt_checkpoint_save writes it" },
        { "[\"dense/kernel\"", "[\"dense/nothing\"", "'dense/nothing'" },
        { "[\"dense/kernel\"", "[[]", "not as dt_checkpoint_save writes it" },
        { "\"model\": true", "\"model\": 1", "not as dt_checkpoint_save writes it" },
        { "\"data\": {", "\"data\": {\"\\u0000\": 1, ", "state.json" },
        { "\"data\": {", "\"datum\": {", "not as dt_checkpoint_save writes it" },
        { "{\"models\"", "[{\"models\"", "state.json" },
    };
    forget(RUN);
    program *p = loop_open("default", LOOP_JOB);
    OK(loop_train(p, 2, save_at, NULL));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_saved saved;
        dt_digest model, optimizer;
        dt_str text = { 0 }, loop = { 0 };
        OK(dt_saved_open(&saved, STEP(1)));
        dt_saved_release(&saved);
        OK(dt_saved_open(&saved, STEP(2)));
        const char *at = strstr(saved.state.loop, rows[i].from);
        if (!at)
            fail_msg("no %s in %s", rows[i].from, saved.state.loop);
        dt_str_printf(&loop, "%.*s%s%s", (int)(at - saved.state.loop), saved.state.loop, rows[i].to, at + strlen(rows[i].from));
        const char *before = saved.state.loop;
        snprintf(model.hex, sizeof model.hex, "%s", saved.model_sha256);
        snprintf(optimizer.hex, sizeof optimizer.hex, "%s", saved.optimizer_sha256);
        saved.state.loop = dt_str_text(&loop);
        dt_state_print(&saved.state, &model, &optimizer, &text);
        OK(dt_file_commit(STEP(2) "/state.json", text.data, text.size));
        dt_status *s = dt_checkpoint_restore(p->checkpoint, STEP(2));
        char *said = s ? dt_status_format(s) : NULL;
        if (!said || !strstr(said, rows[i].why))
            fail_msg("%s for %s: %s", rows[i].to, rows[i].from, said);
        free(said);
        dt_status_free(s);
        assert_int_equal(p->steps, 2);
        saved.state.loop = before;
        dt_state_print(&saved.state, &model, &optimizer, &text);
        OK(dt_file_commit(STEP(2) "/state.json", text.data, text.size));
        dt_saved_release(&saved);
        dt_str_release(&text);
        dt_str_release(&loop);
    }
    OK(dt_checkpoint_restore(p->checkpoint, STEP(2)));
    loop_close(p);
}

static void test_names(void **state)
{
    (void)state;
    char long_name[300];
    int64_t n = 0;
    dt_checkpoint *c = NULL;
    memset(long_name, 'x', sizeof long_name);
    long_name[201] = '\0';
    const char *const bad[] = { "", "a/b", "a\nb", "\xff", "a\x1b[31m", "\xe2\x80\xae", long_name };
    OK(dt_checkpoint_create(&c));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fails(dt_checkpoint_add_counter(c, bad[i], &n), DT_E_MISUSE, "cannot be a name in a checkpoint");
    OK(dt_checkpoint_add_counter(c, "n", &n));
    fails(dt_checkpoint_add_counter(c, "n", &n), DT_E_MISUSE, "is the name of another object");
    OK(dt_checkpoint_add_counter(c, "Zähler \"1\" \\", &n));
    forget(RUN);
    n = INT64_MIN;
    OK(dt_checkpoint_save(c, RUN, 0, 0));
    n = 1;
    OK(dt_checkpoint_restore(c, STEP(0)));
    assert_true(n == INT64_MIN);
    dt_checkpoint_unref(c);
}

static void in_a_step(dt_trace *t, void *user)
{
    (void)t;
    fails(dt_checkpoint_save(user, RUN, 0, 0), DT_E_SCOPE, "cannot be called in a step function");
    fails(dt_checkpoint_restore(user, STEP(0)), DT_E_SCOPE, "cannot be called in a step function");
}

static void test_wrong_calls(void **state)
{
    (void)state;
    char *path = NULL;
    int64_t n = 0;
    dt_checkpoint *c = NULL;
    dt_function *f = NULL;
    OK(dt_checkpoint_create(&c));
    dt_status *const calls[] = {
        dt_checkpoint_create(NULL), dt_checkpoint_add_model(c, "m", NULL), dt_checkpoint_add_optimizer(c, "o", NULL), dt_checkpoint_add_variable(c, "v", NULL),
        dt_checkpoint_add_counter(c, "n", NULL), dt_checkpoint_add_counter(c, NULL, &n), dt_checkpoint_add_counter(NULL, "n", &n),
        dt_checkpoint_add_iterator(c, "i", NULL), dt_checkpoint_add_data(c, "d", NULL), dt_checkpoint_save(NULL, RUN, 0, 0),
        dt_checkpoint_save(c, NULL, 0, 0), dt_checkpoint_restore(NULL, RUN), dt_checkpoint_latest(NULL, &path, NULL), dt_checkpoint_latest(RUN, NULL, NULL),
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!calls[i])
            fail_msg("call %zu is not refused", i);
        dt_status_free(calls[i]);
    }
    OK(dt_function_create(&f, in_a_step, c));
    dt_status_free(dt_strategy_run(dt_get_strategy(), f, NULL, NULL));
    dt_function_unref(f);
    dt_checkpoint_unref(c);
    dt_checkpoint_unref(c);
    dt_checkpoint_unref(NULL);
    assert_int_equal(dt_dist_dataset_epoch(NULL), 0);
}

int main(void)
{
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
        cmocka_unit_test(test_names_must_be_the_same),
        cmocka_unit_test(test_an_optimizers_variables_must_be_there),
        cmocka_unit_test(test_other_shapes_are_named),
        cmocka_unit_test(test_other_data_is_refused),
        cmocka_unit_test(test_an_iterator_that_was_replaced_is_refused),
        cmocka_unit_test(test_an_iterator_of_a_pipeline_by_itself),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_damaged_ones_are_passed_over),
        cmocka_unit_test(test_a_hostile_loop_is_refused),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_wrong_calls),
    };
    return cmocka_run_group_tests_name("train/checkpoint", tests, begin, NULL);
}
