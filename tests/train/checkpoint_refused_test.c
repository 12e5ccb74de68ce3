/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of custom loops: what is refused, when one is restored, found or saved, and changes
 * nothing. */
#define HERE "build/tmp/train-checkpoint-refused"
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

static dt_model *model(const char *layers) {
    dt_model *m = NULL;
    OK(dt_model_create(&m, "%s", layers));
    return m;
}
#define SMALL "[Input: {shape: [2]}, Dense: {units: 3}]"

/* Nothing changes when it is. */
static void restore_is_refused(program *p, const char *path, dt_error id, const char *part) {
    dt_str before = loop_result(p);
    const dt_position at = dt_dist_dataset_position(p->data);
    fails(dt_checkpoint_restore(p->checkpoint, path), id, part);
    const dt_position now = dt_dist_dataset_position(p->data);
    dt_str after = loop_result(p);
    /* an optimizer may have got its slots, all 0 */
    assert_memory_equal(before.data, after.data, before.size);
    assert_int_equal(at.epoch, now.epoch);
    assert_int_equal(at.steps, now.steps);
    dt_str_release(&before);
    dt_str_release(&after);
}

static void test_names_must_be_the_same(void **state) {
    (void)state;
    int64_t more = 0;
    dt_checkpoint *none = NULL;
    forget(RUN);
    program *p = loop_open("default", LOOP_JOB);
    OK(loop_train(p, 4, NULL, NULL));
    OK(dt_checkpoint_save(p->checkpoint, RUN, 4, 0));
    OK(dt_checkpoint_add_counter(p->checkpoint, "more", &more));
    restore_is_refused(p, STEP(4), DT_E_CHECKPOINT_PARTS, "the checkpoint has no counter 'more'");
    OK(dt_checkpoint_create(&none));
    dt_status *s = dt_checkpoint_restore(none, STEP(4));
    assert_int_equal(dt_status_count(s), 6);
    fails(s, DT_E_CHECKPOINT_PARTS, "the program added no model 'model'");
    dt_checkpoint_unref(none);
    loop_close(p);
}

static void test_an_optimizers_variables_must_be_there(void **state) {
    (void)state;
    dt_model *m = model(SMALL);
    dt_optimizer *o = NULL;
    dt_checkpoint *c = NULL;
    forget(RUN);
    OK(dt_optimizer_create(&o, "Adam"));
    OK(dt_optimizer_prepare(o, dt_model_trainable(m)));
    OK(dt_checkpoint_create(&c));
    OK(dt_checkpoint_add_optimizer(c, "o", o));
    fails(dt_checkpoint_save(c, RUN, 1, 0), DT_E_CHECKPOINT_PARTS,
          "optimizer 'o' updates the variable 'dense/kernel', which is not in the checkpoint");
    OK(dt_checkpoint_add_variable(c, "kernel", dt_variables_at(dt_model_trainable(m), 0)));
    OK(dt_checkpoint_add_variable(c, "bias", dt_variables_at(dt_model_trainable(m), 1)));
    OK(dt_checkpoint_save(c, RUN, 1, 0));
    OK(dt_checkpoint_restore(c, STEP(1)));
    dt_checkpoint_unref(c);
    dt_optimizer_unref(o);
    dt_model_unref(m);
}

static void test_other_shapes_are_named(void **state) {
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
static void test_other_data_is_refused(void **state) {
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
        restore_is_refused(p, STEP(6), DT_E_CHECKPOINT_DATA,
                           "is not the batch that was read when it was saved");
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
    restore_is_refused(p, STEP(2), DT_E_CHECKPOINT_DATA, "data set 'train'");
    loop_close(p);
}

/* An iterator for each epoch is a data set's affair. */
static void test_an_iterator_that_was_replaced_is_refused(void **state) {
    (void)state;
    forget(RUN);
    program *p = loop_open("default", LOOP_ENDLESS);
    OK(loop_train(p, 2, NULL, NULL));
    OK(dt_iterator_create(&p->it, p->data));
    fails(dt_checkpoint_save(p->checkpoint, RUN, 2, 0), DT_E_CHECKPOINT_PARTS,
          "has released the iterator 'train'");
    loop_close(p);
}

/* Of a pipeline by itself; its data set goes on from there, too. */
static void test_an_iterator_of_a_pipeline_by_itself(void **state) {
    (void)state;
    double seen[2][10] = {{0}};
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
        if (run == 0) OK(dt_dataset_iterate(&it, d));
        OK(dt_checkpoint_add_iterator(c, "it", it));
        for (int i = 0; i < 4 && run == 0; i++) OK(dt_iterator_next(it, &v));
        if (run == 0) OK(dt_checkpoint_save(c, RUN, 4, 0));
        else OK(dt_checkpoint_restore(c, STEP(4)));
        for (int i = 0; i < 10; i++) {
            OK(dt_iterator_next(it, &v));
            if (!v) OK(dt_dataset_iterate(&it, d)); /* the third iteration */
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

static void test_paths(void **state) {
    (void)state;
    char *path = HERE;
    dt_status *skipped = NULL;
    forget(RUN);
    program *p = loop_open("default", LOOP_JOB);
    OK(dt_checkpoint_latest(RUN, &path, &skipped));
    assert_null(path);
    assert_null(skipped);
    OK(dt_checkpoint_restore(p->checkpoint, NULL));
    restore_is_refused(p, RUN, DT_E_NO_INPUT, RUN);
    OK(loop_train(p, 2, save_at, NULL));
    restore_is_refused(p, RUN, DT_E_CHECKPOINT, "ask dt_checkpoint_latest");
    restore_is_refused(p, STEP(9), DT_E_NO_INPUT, STEP(9));
    OK(dt_model_save(p->model, HERE "/model"));
    restore_is_refused(p, HERE "/model", DT_E_CHECKPOINT_PARTS,
                       "was not saved by dt_checkpoint_save");
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

static void test_damaged_ones_are_passed_over(void **state) {
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
    restore_is_refused(p, STEP(2), DT_E_CHECKPOINT, "variables.safetensors: checksum mismatch");
    OK(dt_file_commit(STEP(1) "/state.json", "{}", 2));
    fails(dt_checkpoint_latest(RUN, &path, NULL), DT_E_CHECKPOINT_NONE, "none of which verifies");
    assert_null(path);
    loop_close(p);
}

/* Texts that somebody made, with checksums that are right. */
static void test_a_hostile_loop_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } rows[] = {
        {"\"steps\": 2", "\"steps\": 2.5", "not as dt_checkpoint_save writes it"},
        {"\"rows\": 1", "\"rows\": 0", "not as dt_checkpoint_save writes it"},
        {"\"rows\": 1", "\"rows\": 9000000000000000000", "not as dt_checkpoint_save writes it"},
        {"\"rows\": 1", "\"rows\": 3", "rows"},
        {"\"epoch\": 0", "\"epoch\": -1", "not as dt_checkpoint_save writes it"},
        {"\"epoch\": 0", "\"epoch\": 9000000000000000000", "not as dt_checkpoint_save writes it"},
        {"\"epoch\": 0, \"steps\": 2", "\"epoch\": 0, \"steps\": 9000000000000000000",
         "has fewer batches than"},
        {"\"epoch\": 0, \"steps\": 2", "\"epoch\": 0, \"steps\": 1", "is not the batch"},
        {"\"epoch\": 0", "\"epoch\": 2000000000", "is not the batch"},
        {"\"last\": \"", "\"last\": \"X", "not as dt_checkpoint_save writes it"},
        {"[\"dense/kernel\"", "[\"dense/nothing\"", "'dense/nothing'"},
        {"[\"dense/kernel\"", "[[]", "not as dt_checkpoint_save writes it"},
        {"\"model\": true", "\"model\": 1", "not as dt_checkpoint_save writes it"},
        {"\"data\": {", "\"data\": {\"\\u0000\": 1, ", "state.json"},
        {"\"data\": {", "\"datum\": {", "not as dt_checkpoint_save writes it"},
        {"{\"models\"", "[{\"models\"", "state.json"},
    };
    forget(RUN);
    program *p = loop_open("default", LOOP_JOB);
    OK(loop_train(p, 2, save_at, NULL));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_saved saved;
        dt_digest model, optimizer;
        dt_str text = {0}, loop = {0};
        OK(dt_saved_open(&saved, STEP(1)));
        dt_saved_release(&saved);
        OK(dt_saved_open(&saved, STEP(2)));
        const char *at = strstr(saved.state.loop, rows[i].from);
        if (!at) fail_msg("no %s in %s", rows[i].from, saved.state.loop);
        dt_str_printf(&loop, "%.*s%s%s", (int)(at - saved.state.loop), saved.state.loop, rows[i].to,
                      at + strlen(rows[i].from));
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

static void test_names(void **state) {
    (void)state;
    char long_name[300];
    int64_t n = 0;
    dt_checkpoint *c = NULL;
    memset(long_name, 'x', sizeof long_name);
    long_name[201] = '\0';
    const char *const bad[] = {"", "a/b", "a\nb", "\xff", "a\x1b[31m", "\xe2\x80\xae", long_name};
    OK(dt_checkpoint_create(&c));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fails(dt_checkpoint_add_counter(c, bad[i], &n), DT_E_MISUSE,
              "cannot be a name in a checkpoint");
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

static void in_a_step(dt_trace *t, void *user) {
    (void)t;
    fails(dt_checkpoint_save(user, RUN, 0, 0), DT_E_SCOPE, "cannot be called in a step function");
    fails(dt_checkpoint_restore(user, STEP(0)), DT_E_SCOPE, "cannot be called in a step function");
}

static void test_wrong_calls(void **state) {
    (void)state;
    char *path = NULL;
    int64_t n = 0;
    dt_checkpoint *c = NULL;
    dt_function *f = NULL;
    OK(dt_checkpoint_create(&c));
    dt_status *const calls[] = {
        dt_checkpoint_create(NULL),
        dt_checkpoint_add_model(c, "m", NULL),
        dt_checkpoint_add_optimizer(c, "o", NULL),
        dt_checkpoint_add_variable(c, "v", NULL),
        dt_checkpoint_add_counter(c, "n", NULL),
        dt_checkpoint_add_counter(c, NULL, &n),
        dt_checkpoint_add_counter(NULL, "n", &n),
        dt_checkpoint_add_iterator(c, "i", NULL),
        dt_checkpoint_add_data(c, "d", NULL),
        dt_checkpoint_save(NULL, RUN, 0, 0),
        dt_checkpoint_save(c, NULL, 0, 0),
        dt_checkpoint_restore(NULL, RUN),
        dt_checkpoint_latest(NULL, &path, NULL),
        dt_checkpoint_latest(RUN, NULL, NULL),
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!calls[i]) fail_msg("call %zu is not refused", i);
        dt_status_free(calls[i]);
    }
    OK(dt_function_create(&f, in_a_step, c));
    dt_status_free(dt_strategy_run(dt_get_strategy(), f, NULL, NULL));
    dt_function_unref(f);
    dt_checkpoint_unref(c);
    dt_checkpoint_unref(NULL);
    assert_int_equal(dt_dist_dataset_epoch(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
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
    return cmocka_run_group_tests_name("train/checkpoint_refused", tests, begin, NULL);
}
