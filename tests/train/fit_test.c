/* SPDX-License-Identifier: Apache-2.0 */
/* fit: what is trained, validated, told and written, and in what order. */
#define HERE "build/tmp/train-fit"
#include "kit.h"

/* ---- events ---- */

/* The log without numbers after the examples: "step 1/6 epoch 1/2 at 1 rows 8". */
static char *shape_of(const dt_str *log) {
    dt_str out = {0};

    for (const char *line = dt_str_text(log); *line; line += strcspn(line, "\n") + 1) {
        const char *cut = strstr(line, " loss "), *val = strstr(line, " val_loss "),
                   *end = line + strcspn(line, "\n");
        if (val && val < end && (!cut || val < cut)) cut = val;
        dt_str_add(&out, line, (size_t)((cut && cut < end ? cut : end) - line));
        dt_str_putc(&out, '\n');
    }
    return dt_str_take(&out);
}

static void expect_log(const outcome *o, const char *wanted) {
    char *is = shape_of(&o->log);
    assert_string_equal(is ? is : "", wanted);
    free(is);
}

static void test_events_come_in_order(void **state) {
    (void)state;
    outcome o = fit_well(&(setup){.replicas = 2, .directory = HERE "/events"});

    expect_log(&o,
               "step 1/6 epoch 1/2 at 1 rows 8\nstep 2/6 epoch 1/2 at 2 rows 8\nstep 3/6 epoch 1/2 "
               "at 3 rows 6\n"
               "eval step 3 examples 9\nepoch 1/2 step 3 examples 22\ncheckpoint step 3\n"
               "step 4/6 epoch 2/2 at 1 rows 8\nstep 5/6 epoch 2/2 at 2 rows 8\nstep 6/6 epoch 2/2 "
               "at 3 rows 6\n"
               "eval step 6 examples 9\nepoch 2/2 step 6 examples 22\ncheckpoint step 6\nend\n");
    assert_int_equal(o.events[DT_EVENT_START], 1);
    assert_int_equal(o.start.replicas, 2);
    assert_int_equal(o.start.logical_devices, 1);
    assert_int_equal(o.start.threads, 2);
    assert_int_equal(o.start.steps_per_epoch, 3);
    assert_int_equal(o.start.steps, 6);
    assert_int_equal(o.start.epochs, 2);
    assert_int_equal(o.start.parameters, 6 * 7 + 7 + 7 * 3 + 3);
    assert_int_equal(o.start.train_examples, 22);
    assert_int_equal(o.start.validation_examples, 9);
    assert_int_equal(o.start.global_batch, 8);
    assert_int_equal(o.start.last_batch, 6);
    assert_false(o.start.resumed);
    assert_true(o.peak_bytes > 0);
    assert_string_equal(o.end_sha, o.sha);
    assert_string_equal(o.saved_sha, o.sha);
    assert_string_equal(o.checkpoint, HERE "/events/ckpt/step-00000006");
    outcome_free(&o);
}

/* The step that a job asks for at most is the first; the time between the others is under a tenth
 * of a second here. */
static void count_steps(const dt_event *e, void *user) { *(int *)user += e->kind == DT_EVENT_STEP; }

static void test_step_events_are_rate_limited(void **state) {
    (void)state;
    int steps = 0;
    outcome o =
        fit_well(&(setup){.fit = "{epochs: 100}", .run = {.event = count_steps, .user = &steps}});

    assert_true(steps >= 1 && steps < 300);
    outcome_free(&o);
}

/* ---- batches ---- */

static void test_last_batch_rules(void **state) {
    (void)state;
    static const struct {
        const char *data;
        int64_t per_epoch, examples, batch, last;
    } cases[] = {
        {"global_batch_size: 8", 3, 22, 8, 6},
        {"global_batch_size: 11", 2, 22, 11, 11},
        {"global_batch_size: 8, last_batch: drop_remainder", 2, 16, 8, 8},
        {"global_batch_size: 64", 1, 22, 22, 22},
        {"global_batch_size: 64, last_batch: drop_remainder", 1, 22, 22, 22},
        {"global_batch_size: 8, repeat: 2", 6, 44, 8, 4},
        {"global_batch_size: 8, take: 9", 2, 9, 8, 1},
        {"per_replica_batch_size: 3", 3, 22, 9, 4},
        {"global_batch_size: 1", 22, 22, 1, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char data[256];
        snprintf(data, sizeof data,
                 "{format: synthetic, examples: 22, element: {image: {shape: [6]}, label: "
                 "{num_classes: 3}}, %s}",
                 cases[i].data);
        outcome o = fit_well(&(setup){.data = data, .replicas = 3, .fit = "{epochs: 1}"});
        assert_int_equal(o.start.steps_per_epoch, cases[i].per_epoch);
        assert_int_equal(o.events[DT_EVENT_STEP], cases[i].per_epoch);
        assert_int_equal(o.start.global_batch, cases[i].batch);
        assert_int_equal(o.start.last_batch, cases[i].last);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "epoch 1/1 step %lld examples %lld ",
                 (long long)cases[i].per_epoch, (long long)cases[i].examples);
        assert_non_null(strstr(dt_str_text(&o.log), wanted));
        outcome_free(&o);
    }
}

/* ---- validation ---- */

/* "2 4v 5": after which steps something was validated; v where the values stand in the epoch's row
 * too. */
static void expect_validations(const char *fit_text, const char *wanted) {
    outcome o = fit_well(&(setup){.fit = fit_text});
    dt_str is = {0};

    for (const char *line = dt_str_text(&o.log); *line; line += strcspn(line, "\n") + 1) {
        long long step;
        if (sscanf(line, "eval step %lld", &step) == 1)
            dt_str_printf(&is, is.size ? " %lld" : "%lld", step);
        const char *val = strstr(line, " val_accuracy ");
        if (strncmp(line, "epoch", 5) == 0 && val && val < line + strcspn(line, "\n"))
            dt_str_putc(&is, 'v');
    }
    assert_string_equal(dt_str_text(&is), wanted);
    dt_str_release(&is);
    outcome_free(&o);
}

static void test_validation_has_its_turns(void **state) {
    (void)state;
    expect_validations("{epochs: 3}", "3v 6v 9v");
    expect_validations("{epochs: 5, validation_freq: 2}", "6v 12v 15v"); /* and at the end */
    expect_validations("{epochs: 2, validation_freq: 9}", "6v");
    expect_validations("{steps: 7}", "3v 6v 7v"); /* epochs, unless told otherwise */
    expect_validations("{steps: 7, validation_freq: 2}", "2 4 6v 7v");
    expect_validations("{steps: 6, validation_freq: 3}", "3v 6v");
    expect_validations("{steps: 5, validation_freq: 4}", "4 5v");
}

/* 9 examples in batches of 8 and 1. */
static void test_validation_may_look_at_some_batches(void **state) {
    (void)state;
    static const struct {
        const char *fit, *seen;
    } cases[] = {
        {"{epochs: 1, validation_steps: 1}", "eval step 3 examples 8"},
        {"{epochs: 1, validation_steps: 2}", "eval step 3 examples 9"},
        {"{epochs: 1, validation_steps: 3}", "eval step 3 examples 9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome o = fit_well(&(setup){.fit = cases[i].fit});
        assert_non_null(strstr(dt_str_text(&o.log), cases[i].seen));
        outcome_free(&o);
    }
}

static void test_without_validation_data_nothing_is_validated(void **state) {
    (void)state;
    outcome o =
        fit_well(&(setup){.data = "{format: synthetic, examples: 22, element: {image: {shape: "
                                  "[6]}, label: {num_classes: 3}}, global_batch_size: 8}",
                          .fit = "{steps: 4, validation_freq: 2}"});

    assert_int_equal(o.events[DT_EVENT_EVAL], 0);
    assert_int_equal(o.start.validation_examples, 0);
    assert_true(isnan(dt_history_last(o.history, "val_loss")));
    outcome_free(&o);
}

/* ---- how long ---- */

static void test_steps_and_epochs_are_the_same_training(void **state) {
    (void)state;
    outcome epochs = fit_well(&(setup){.fit = "{epochs: 2}"}),
            steps = fit_well(&(setup){.fit = "{steps: 6}"});

    assert_string_equal(dt_str_text(&steps.log), dt_str_text(&epochs.log));
    assert_string_equal(steps.sha, epochs.sha);
    outcome_free(&epochs);
    outcome_free(&steps);
}

static void test_steps_may_end_within_an_epoch(void **state) {
    (void)state;
    outcome o = fit_well(&(setup){.fit = "{steps: 4}"});

    expect_log(&o, "step 1/4 epoch 1/2 at 1 rows 8\nstep 2/4 epoch 1/2 at 2 rows 8\nstep 3/4 epoch "
                   "1/2 at 3 rows 6\neval step 3 examples 9\n"
                   "epoch 1/2 step 3 examples 22\nstep 4/4 epoch 2/2 at 1 rows 8\neval step 4 "
                   "examples 9\nepoch 2/2 step 4 examples 8\nend\n");
    assert_int_equal(dt_history_epochs(o.history), 2);
    outcome_free(&o);
    o = fit_well(&(setup){.fit = "{epochs: 9}", .run = {.max_steps = 2}});
    expect_log(&o, "step 1/2 epoch 1/1 at 1 rows 8\nstep 2/2 epoch 1/1 at 2 rows 8\neval step 2 "
                   "examples 9\nepoch 1/1 step 2 examples 16\nend\n");
    outcome_free(&o);
}

static void test_initial_epoch_is_where_it_begins(void **state) {
    (void)state;
    outcome o = fit_well(&(setup){.fit = "{epochs: 3, initial_epoch: 2}"});

    expect_log(&o, "step 7/9 epoch 3/3 at 1 rows 8\nstep 8/9 epoch 3/3 at 2 rows 8\nstep 9/9 epoch "
                   "3/3 at 3 rows 6\neval step 9 examples 9\n"
                   "epoch 3/3 step 9 examples 22\nend\n");
    outcome_free(&o);
    o = fit(&(setup){.fit = "{steps: 6, initial_epoch: 2}", .directory = HERE "/none"});
    fails(o.status, DT_E_FIT_KEYS, "initial_epoch 2 leaves none of the 6 steps: an epoch has 3");
    o.status = NULL;
    assert_false(is_there(HERE "/none"));
    outcome_free(&o);
    /* more steps before it than can be counted */
    o = fit(&(setup){.fit = "{steps: 6, initial_epoch: 2000000000, steps_per_epoch: 5000000000}"});
    fails(o.status, DT_E_FIT_KEYS,
          "initial_epoch 2000000000 leaves none of the 6 steps: an epoch has 5000000000");
    o.status = NULL;
    outcome_free(&o);
}

/* ---- history ---- */

static void test_history_has_keras_keys(void **state) {
    (void)state;
    static const struct {
        const char *metrics, *key;
    } cases[] = {{"[accuracy]", "accuracy"},
                 {"[acc]", "acc"},
                 {"[SparseCategoricalAccuracy]", "sparse_categorical_accuracy"},
                 {"[{SparseCategoricalAccuracy: {name: hits}}]", "hits"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char compile[160], validation[64];
        snprintf(compile, sizeof compile,
                 "{optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, "
                 "metrics: %s}",
                 cases[i].metrics);
        snprintf(validation, sizeof validation, "val_%s", cases[i].key);
        outcome o = fit_well(&(setup){.compile = compile});
        assert_int_equal(dt_history_epochs(o.history), 2);
        for (int epoch = 0; epoch < 2; epoch++) {
            assert_true(dt_history_at(o.history, "loss", epoch) > 0);
            assert_true(dt_history_at(o.history, "val_loss", epoch) > 0);
            assert_true(dt_history_at(o.history, cases[i].key, epoch) >= 0);
            assert_true(dt_history_at(o.history, validation, epoch) <= 1);
        }
        assert_true(isnan(dt_history_at(o.history, cases[i].key, 2)));
        assert_true(isnan(dt_history_at(o.history, "nothing", 0)));
        assert_true(dt_history_last(o.history, "loss") == dt_history_at(o.history, "loss", 1));
        outcome_free(&o);
    }
}

static void test_history_lines_are_the_epochs(void **state) {
    (void)state;
    outcome o = fit_well(&(setup){.directory = HERE "/lines"});
    dt_str text = text_of_file(HERE "/lines/history.jsonl"), wanted = {0};
    dt_history_lines lines = {0};

    for (int i = 0; i < 2; i++) {
        const dt_metric row[] = {
            {.name = "loss", .value = dt_history_at(o.history, "loss", i)},
            {.name = "accuracy", .value = dt_history_at(o.history, "accuracy", i)},
            {.name = "val_loss", .value = dt_history_at(o.history, "val_loss", i)},
            {.name = "val_accuracy", .value = dt_history_at(o.history, "val_accuracy", i)}};
        dt_str line = {0};
        dt_history_line(i + 1, 3 * (i + 1), row, 4, &line);
        dt_history_seal(&lines, &line);
        dt_str_puts(&wanted, dt_str_text(&line));
        dt_str_release(&line);
    }
    assert_string_equal(dt_str_text(&text), dt_str_text(&wanted));
    assert_memory_equal(dt_str_text(&text), "{\"epoch\": 1, \"step\": 3, \"loss\": ", 30);
    dt_str_release(&text);
    dt_str_release(&wanted);
    outcome_free(&o);
}

/* ---- what is written ---- */

static void test_dry_run_writes_nothing(void **state) {
    (void)state;
    outcome o = fit_well(&(setup){.directory = HERE "/dry", .run = {.dry_run = true}});

    assert_int_equal(o.events[DT_EVENT_START], 1);
    assert_int_equal(o.events[DT_EVENT_STEP], 0);
    assert_true(o.peak_bytes > 0);
    assert_false(is_there(HERE "/dry"));
    outcome_free(&o);
    o = fit_well(&(setup){.directory = HERE "/dry"});
    outcome_free(&o);
    dt_str before = text_of_file(HERE "/dry/history.jsonl");
    /* in a used one it looks, no more */
    o = fit_well(
        &(setup){.directory = HERE "/dry", .fit = "{epochs: 5}", .run = {.dry_run = true}});
    assert_true(o.resumed);
    assert_int_equal(o.start.step, 6);
    dt_str after = text_of_file(HERE "/dry/history.jsonl");
    assert_string_equal(dt_str_text(&after), dt_str_text(&before));
    assert_false(is_there(HERE "/dry/ckpt/step-00000009"));
    dt_str_release(&before);
    dt_str_release(&after);
    outcome_free(&o);
}

/* Where there is a directory and where there is none, the training is the same. */
static void test_directory_changes_nothing(void **state) {
    (void)state;
    outcome with = fit_well(&(setup){.directory = HERE "/with"}),
            without = fit_well(&(setup){.checkpoint = "{save_freq: 1}"});

    assert_string_equal(with.sha, without.sha);
    assert_int_equal(without.events[DT_EVENT_CHECKPOINT], 0);
    assert_string_equal(without.checkpoint, "");
    outcome_free(&with);
    outcome_free(&without);
}

static void test_only_the_run_directory_is_written(void **state) {
    (void)state;
    outcome o = fit_well(&(setup){.directory = HERE "/only/deep/er"});
    FILE *list = popen("cd " HERE "/only && find . -type f | LC_ALL=C sort", "r");
    char text[1024];

    assert_non_null(list);
    text[fread(text, 1, sizeof text - 1, list)] = '\0';
    pclose(list);
    assert_string_equal(
        text,
        "./deep/er/.lock\n./deep/er/ckpt/step-00000003/model.safetensors\n./deep/er/ckpt/"
        "step-00000003/optimizer.safetensors\n"
        "./deep/er/ckpt/step-00000003/state.json\n./deep/er/ckpt/step-00000006/model.safetensors\n"
        "./deep/er/ckpt/step-00000006/optimizer.safetensors\n./deep/er/ckpt/step-00000006/"
        "state.json\n"
        "./deep/er/history.jsonl\n./deep/er/record.jsonl\n");
    outcome_free(&o);
}

/* ---- divergence ---- */

#define SGD(rate)                                                                                  \
    "{optimizer: {SGD: {learning_rate: " rate                                                      \
    "}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}"

static void test_divergence_names_the_step(void **state) {
    (void)state;
    outcome o = fit(&(setup){.compile = SGD("1e30"), .fit = "{epochs: 9}"});

    assert_int_equal(dt_status_code(o.status), 79);
    assert_true(o.last_step >= 1 && o.last_step < 5);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "step %lld: the loss is not finite",
             (long long)o.last_step + 1);
    fails(o.status, DT_E_DIVERGED, wanted);
    o.status = NULL;
    assert_int_equal(o.events[DT_EVENT_END], 0);
    outcome_free(&o);
}

/* The loss of the last step is fine, its update is not: nothing that cannot be gone on from is
 * saved or called an end. */
static void test_divergence_of_the_last_update(void **state) {
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        outcome o = fit(&(setup){.compile = SGD("1e45"),
                                 .fit = "{steps: 1}",
                                 .directory = writes ? HERE "/diverged" : NULL});
        fails(o.status, DT_E_DIVERGED, "step 1: 'dense/kernel' holds");
        o.status = NULL;
        assert_int_equal(o.events[DT_EVENT_CHECKPOINT], 0);
        assert_int_equal(o.events[DT_EVENT_END], 0);
        assert_false(is_there(HERE "/diverged/ckpt/step-00000001"));
        outcome_free(&o);
    }
}

/* ---- data against model ---- */

static void test_data_that_does_not_fit_is_refused(void **state) {
    (void)state;
#define DATA(elements)                                                                             \
    "{format: synthetic, examples: 8, element: {" elements "}, global_batch_size: 4}"
    static const struct {
        const char *data;
        dt_error id;
        const char *text;
    } cases[] = {
        {DATA("picture: {shape: [6]}, label: {num_classes: 3}"), DT_E_ELEMENTS,
         "no element 'image' for the input"},
        {DATA("image: {shape: [5]}, label: {num_classes: 3}"), DT_E_ELEMENTS,
         "takes 'image' as (B, 6), the data set has (B, 5)"},
        {DATA("image: {shape: [6]}"), DT_E_ELEMENTS, "no target"},
        {DATA("image: {shape: [6]}, label: {num_classes: 3}, more: {num_classes: 3}"),
         DT_E_ELEMENTS, "several elements of the data set could be the target: 'label', 'more'"},
        {DATA("image: {shape: [6]}, label: {shape: [3]}"), DT_E_LABELS, ""},
        {DATA("image: {shape: [6]}, label: {num_classes: 9}"), DT_E_LABEL_RANGE,
         "is outside [0, 3)"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome o = fit(&(setup){.data = cases[i].data});
        fails(o.status, cases[i].id, cases[i].text);
        o.status = NULL;
        assert_int_equal(o.events[DT_EVENT_START], 0);
        outcome_free(&o);
    }
}

static void test_target_can_be_named(void **state) {
    (void)state;
    outcome o = fit_well(&(setup){
        .data = DATA("image: {shape: [6]}, more: {num_classes: 5}, label: {num_classes: 3}"),
        .compile = "{optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, "
                   "target: label}"});

    assert_int_equal(o.events[DT_EVENT_STEP], 4);
    outcome_free(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_come_in_order),
        cmocka_unit_test(test_step_events_are_rate_limited),
        cmocka_unit_test(test_last_batch_rules),
        cmocka_unit_test(test_validation_has_its_turns),
        cmocka_unit_test(test_validation_may_look_at_some_batches),
        cmocka_unit_test(test_without_validation_data_nothing_is_validated),
        cmocka_unit_test(test_steps_and_epochs_are_the_same_training),
        cmocka_unit_test(test_steps_may_end_within_an_epoch),
        cmocka_unit_test(test_initial_epoch_is_where_it_begins),
        cmocka_unit_test(test_history_has_keras_keys),
        cmocka_unit_test(test_history_lines_are_the_epochs),
        cmocka_unit_test(test_dry_run_writes_nothing),
        cmocka_unit_test(test_directory_changes_nothing),
        cmocka_unit_test(test_only_the_run_directory_is_written),
        cmocka_unit_test(test_divergence_names_the_step),
        cmocka_unit_test(test_divergence_of_the_last_update),
        cmocka_unit_test(test_data_that_does_not_fit_is_refused),
        cmocka_unit_test(test_target_can_be_named),
    };
    return cmocka_run_group_tests_name("train/fit", tests, clean_folder, NULL);
}
