/* SPDX-License-Identifier: Apache-2.0 */
/* Used run directories: fresh starts, chosen checkpoints, damage, and what is not gone on from. */
#define HERE "build/tmp/train-recover"
#include <fcntl.h>

#include "kit.h"

static const char *const fit_text = "{epochs: 3}"; /* 9 steps */
static char whole_sha[65];
static dt_str whole_history;

static setup in(const char *directory) {
    return (setup){.fit = fit_text,
                   .directory = directory,
                   .replicas = 2,
                   .checkpoint = "{save_freq: 2, max_to_keep: 9}"};
}

static int run_undisturbed(void **state) {
    if (clean_folder(state) != 0) return -1;
    setup s = in(HERE "/whole");
    outcome o = fit_well(&s);
    snprintf(whole_sha, sizeof whole_sha, "%s", o.sha);
    whole_history = text_of_file(HERE "/whole/history.jsonl");
    outcome_free(&o);
    return 0;
}

static int forget_undisturbed(void **state) {
    (void)state;
    dt_str_release(&whole_history);
    return 0;
}

static void expect_as_undisturbed(outcome *o, const char *directory) {
    char path[128];

    snprintf(path, sizeof path, "%s/history.jsonl", directory);
    dt_str history = text_of_file(path);
    assert_string_equal(o->sha, whole_sha);
    assert_string_equal(dt_str_text(&history), dt_str_text(&whole_history));
    dt_str_release(&history);
    outcome_free(o);
}

/* Trains up to `step` and stops there. */
static void train_to(const setup *s, int64_t step) {
    setup first = *s;

    first.stop_at = step;
    outcome o = fit(&first);
    fails(o.status, DT_E_STOPPED, "state saved");
    o.status = NULL;
    outcome_free(&o);
}

static void expect_refused(const setup *s, dt_error id, int code, const char *text) {
    outcome o = fit(s);

    assert_int_equal(dt_status_code(o.status), code);
    fails(o.status, id, text);
    o.status = NULL;
    assert_int_equal(o.events[DT_EVENT_STEP], 0);
    assert_int_equal(o.events[DT_EVENT_END], 0);
    outcome_free(&o);
}

/* ---- fresh ---- */

static void test_fresh_start_begins_anew(void **state) {
    (void)state;
    setup s = in(HERE "/fresh");

    train_to(&s, 7);
    s.run.resume = DT_RESUME_NEVER;
    s.checkpoint = "{save_freq: 5}";
    s.stop_at = 3; /* before its own first checkpoint would be due: stopping saves one */
    outcome o = fit(&s);
    fails(o.status, DT_E_STOPPED, "step 3");
    o.status = NULL;
    assert_false(o.resumed);
    assert_int_equal(o.first_step, 1);
    outcome_free(&o);
    assert_true(is_there(HERE "/fresh/ckpt/step-00000003"));
    for (int step = 2; step <= 6; step += 2) {
        char path[64];
        snprintf(path, sizeof path, HERE "/fresh/ckpt/step-%08d", step);
        assert_false(is_there(path)); /* the old ones went with the first new one */
    }
    assert_false(is_there(HERE "/fresh/ckpt/step-00000007"));
    s.run.resume = DT_RESUME_AUTO;
    s.stop_at = 0;
    o = fit_well(&s);
    assert_int_equal(o.first_step, 4);
    expect_as_undisturbed(&o, s.directory);
}

/* Until there is a new one, the old ones are all there is. */
static void test_fresh_start_keeps_the_old_until_it_has_saved(void **state) {
    (void)state;
    setup s = in(HERE "/kept");

    train_to(&s, 7);
    dt_str history = text_of_file(HERE "/kept/history.jsonl");
    s.run.resume = DT_RESUME_NEVER;
    s.checkpoint = "{save_freq: 5}";
    s.stop_at = 2;
    s.stop_how = 2; /* nothing is saved */
    outcome o = fit(&s);
    fails(o.status, DT_E_STOPPED_AT_ONCE, "not saved");
    o.status = NULL;
    outcome_free(&o);
    assert_true(is_there(HERE "/kept/ckpt/step-00000007"));
    assert_true(is_there(HERE "/kept/ckpt/step-00000002"));
    dt_str after = text_of_file(HERE "/kept/history.jsonl");
    assert_string_equal(dt_str_text(&after), dt_str_text(&history));
    dt_str_release(&after);
    dt_str_release(&history);
    s.run.resume = DT_RESUME_AUTO;
    s.stop_at = 0;
    o = fit_well(&s);
    assert_int_equal(o.first_step, 8);
    expect_as_undisturbed(&o, s.directory);
}

static void test_job_says_how_to_begin(void **state) {
    (void)state;
    setup s = in(HERE "/says");

    s.checkpoint = "{resume: must}";
    expect_refused(&s, DT_E_NO_INPUT, 66, "no checkpoint below " HERE "/says to resume from");
    s.checkpoint = "{resume: never, save_freq: 2}";
    train_to(&s, 3);
    s.stop_at = 1;
    outcome o = fit(&s);
    fails(o.status, DT_E_STOPPED, "step 1"); /* anew */
    o.status = NULL;
    assert_false(o.resumed);
    outcome_free(&o);
    s.stop_at = 0;
    s.run.resume = DT_RESUME_MUST; /* the command line is stronger */
    o = fit_well(&s);
    assert_true(o.resumed);
    assert_int_equal(o.first_step, 2);
    expect_as_undisturbed(&o, s.directory);
}

/* ---- chosen ---- */

static void test_must_needs_a_checkpoint(void **state) {
    (void)state;
    setup s = in(HERE "/must");

    s.run.resume = DT_RESUME_MUST;
    expect_refused(&s, DT_E_NO_INPUT, 66, "no checkpoint");
    assert_false(is_there(HERE "/must/ckpt/step-00000001"));
}

static void test_an_older_checkpoint_can_be_chosen(void **state) {
    (void)state;
    setup s = in(HERE "/chosen");

    train_to(&s, 7);
    s.run.resume = DT_RESUME_PATH;
    s.run.resume_path = HERE "/chosen/ckpt/step-00000004";
    s.stop_at = 5;
    outcome o = fit(&s);
    fails(o.status, DT_E_STOPPED, "step 5");
    o.status = NULL;
    assert_int_equal(o.start.step, 4);
    outcome_free(&o);
    s.run = (dt_run_options){0};
    s.stop_at = 0;
    o = fit_well(&s); /* the newest is the one saved last, though another has more steps */
    assert_int_equal(o.first_step, 6);
    expect_as_undisturbed(&o, s.directory);
}

static void test_a_checkpoint_of_another_directory(void **state) {
    (void)state;
    setup s = in(HERE "/from");

    train_to(&s, 5);
    s.directory = HERE "/to";
    s.run.resume = DT_RESUME_PATH;
    s.run.resume_path = HERE "/from/ckpt/step-00000005";
    outcome o = fit_well(&s);
    assert_int_equal(o.first_step, 6);
    assert_string_equal(o.sha, whole_sha);
    outcome_free(&o);
    assert_true(is_there(HERE "/from/ckpt/step-00000005"));
}

static void test_a_missing_path_is_told(void **state) {
    (void)state;
    setup s = in(HERE "/missing");

    s.run.resume = DT_RESUME_PATH;
    expect_refused(&s, DT_E_NO_INPUT, 66, "no checkpoint path");
    s.run.resume_path = HERE "/missing/ckpt/step-00000099";
    expect_refused(&s, DT_E_NO_INPUT, 66, "step-00000099");
    s.run = (dt_run_options){0};
    s.checkpoint = "{resume: " HERE "/nothing/here}";
    expect_refused(&s, DT_E_NO_INPUT, 66, "nothing/here");
}

/* ---- damage ---- */

enum { FLIP, CUT, EMPTY, REMOVE, DAMAGES };

static void damage(const char *path, int how) {
    unsigned char c;
    int fd = open(path, O_RDWR);
    struct stat st;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    switch (how) {
    case FLIP:
        assert_int_equal(pread(fd, &c, 1, st.st_size / 2), 1);
        c ^= 1;
        assert_int_equal(pwrite(fd, &c, 1, st.st_size / 2), 1);
        break;
    case CUT: assert_int_equal(ftruncate(fd, st.st_size / 2), 0); break;
    case EMPTY: assert_int_equal(ftruncate(fd, 0), 0); break;
    case REMOVE: assert_int_equal(unlink(path), 0); break;
    default: fail();
    }
    close(fd);
}

static const char *const files[] = {"model.safetensors", "optimizer.safetensors", "state.json"};

static void test_damage_falls_back(void **state) {
    (void)state;
    for (int how = 0; how < DAMAGES; how++)
        for (size_t i = 0; i < 3; i++) {
            setup s = in(HERE "/damaged");
            char path[128];
            train_to(&s, 4);
            snprintf(path, sizeof path, HERE "/damaged/ckpt/step-00000004/%s", files[i]);
            damage(path, how);
            outcome o = fit_well(&s);
            assert_true(o.resumed);
            assert_int_equal(o.first_step, 3);
            assert_true(o.events[DT_EVENT_WARNING] >= 1);
            assert_non_null(strstr(dt_str_text(&o.log), "step-00000004"));
            expect_as_undisturbed(&o, s.directory);
            forget(s.directory);
        }
}

static void test_nothing_is_begun_where_nothing_verifies(void **state) {
    (void)state;
    setup s = in(HERE "/ruined");

    train_to(&s, 3);
    damage(HERE "/ruined/ckpt/step-00000002/model.safetensors", FLIP);
    damage(HERE "/ruined/ckpt/step-00000003/state.json", CUT);
    outcome o = fit(&s);
    assert_int_equal(dt_status_code(o.status), 65);
    fails(o.status, DT_E_CHECKPOINT_NONE, "has 2 checkpoints, none of which verifies");
    o.status = NULL;
    assert_int_equal(o.events[DT_EVENT_STEP], 0);
    outcome_free(&o);
    s.run.resume = DT_RESUME_NEVER; /* what the message says helps */
    o = fit_well(&s);
    expect_as_undisturbed(&o, s.directory);
}

static void test_leftovers_are_removed(void **state) {
    (void)state;
    setup s = in(HERE "/left");

    train_to(&s, 5);
    OK(dt_dir_make(HERE "/left/ckpt/step-00000006.tmp"));
    OK(dt_file_commit(HERE "/left/ckpt/step-00000006.tmp/model.safetensors", "half", 4));
    dt_str history = text_of_file(HERE "/left/history.jsonl");
    dt_str_puts(&history, "{\"epoch\": 2, \"ste"); /* a torn line */
    OK(dt_file_commit(HERE "/left/history.jsonl", history.data, history.size));
    dt_str_release(&history);
    outcome o = fit_well(&s);
    assert_false(is_there(HERE "/left/ckpt/step-00000006.tmp"));
    assert_int_equal(o.first_step, 6);
    expect_as_undisturbed(&o, s.directory);
}

/* ---- other jobs ---- */

static void test_changed_key_is_named(void **state) {
    (void)state;
    setup s = in(HERE "/other");

    s.job = "{\"seed\": 0, \"dataset\": {\"global_batch_size\": 8}, \"fit\": {\"epochs\": 1}, "
            "\"strategy\": {\"type\": \"mirrored\"}}";
    train_to(&s, 3);
    s.job = "{\"seed\": 0, \"dataset\": {\"global_batch_size\": 9}, \"fit\": {\"epochs\": 1}, "
            "\"strategy\": {\"type\": \"mirrored\"}}";
    expect_refused(&s, DT_E_OTHER_JOB, 65,
                   "dataset.global_batch_size is not what checkpoint " HERE
                   "/other/ckpt/step-00000003 was trained with");
    s.job = "{\"seed\": 0, \"dataset\": {\"global_batch_size\": 8}, \"fit\": {\"epochs\": 3}, "
            "\"strategy\": {\"type\": \"tpu\"}}";
    outcome o = fit_well(&s); /* these may change */
    expect_as_undisturbed(&o, s.directory);
}

static void test_another_model_is_refused(void **state) {
    (void)state;
    setup s = in(HERE "/model");

    s.job = "{\"seed\": 0}";
    train_to(&s, 3);
    s.layers = "[Input: {name: image, shape: [6]}, Dense: {units: 8, activation: relu}, Dense: "
               "{units: 3}]";
    expect_refused(&s, DT_E_CHECKPOINT_MODEL, 65, "dense/kernel");
    s.layers = NULL;
    s.compile = "{optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, "
                "metrics: [accuracy]}";
    expect_refused(&s, DT_E_CHECKPOINT_MODEL, 65, "optimizer/");
}

/* Of one job, two replicas make another global batch than three, where it is told per replica. */
static void test_another_global_batch_is_refused(void **state) {
    (void)state;
    /* within the first epoch of 4, at its end, within the second */
    static const int64_t stops[] = {2, 4, 6};
    for (size_t i = 0; i < 3; i++) {
        setup s = in(HERE "/batch");
        s.data = "{format: synthetic, examples: 22, element: {image: {shape: [6]}, label: "
                 "{num_classes: 3}}, per_replica_batch_size: 3}";
        train_to(&s, stops[i]);
        s.replicas = 3;
        expect_refused(&s, DT_E_OTHER_JOB, 65,
                       i == 1 ? "an epoch has 3 steps now, and had 4 when checkpoint"
                              : "the global batch, 9, is not what checkpoint");
        s.replicas = 2;
        outcome o = fit_well(&s);
        assert_int_equal(o.first_step, stops[i] + 1);
        outcome_free(&o);
        forget(s.directory);
    }
}

/* ---- the directory ---- */

static void test_second_job_in_a_directory(void **state) {
    (void)state;
    setup s = in(HERE "/locked");
    dt_run_dir other;

    OK(dt_run_dir_open(&other, s.directory, 0));
    expect_refused(&s, DT_E_IN_USE, 73, "in use by pid");
    dt_run_dir_close(&other);
    outcome o = fit_well(&s);
    expect_as_undisturbed(&o, s.directory);
}

static void test_unsafe_directory(void **state) {
    (void)state;
    setup s = in(HERE "/open");

    OK(dt_dir_make(s.directory));
    assert_int_equal(chmod(s.directory, 0777), 0);
    expect_refused(&s, DT_E_PERMISSION, 77, "world-writable");
    assert_int_equal(chmod(s.directory, 01777), 0);
    outcome o = fit_well(&s);
    expect_as_undisturbed(&o, s.directory);
}

/* ---- divergence ---- */

/* What was saved before is whole: the same command goes on from there, to the same end. */
static void test_diverged_run_leaves_good_checkpoints(void **state) {
    (void)state;
    setup s = in(HERE "/diverged");

    s.compile = "{optimizer: {SGD: {learning_rate: 1e18}}, loss: {SparseCategoricalCrossentropy: "
                "{from_logits: true}}, metrics: [accuracy]}";
    s.checkpoint = "{save_freq: 1}";
    outcome first = fit(&s), second = fit(&s);
    assert_int_equal(dt_status_code(first.status), 79);
    assert_string_equal(dt_status_text(first.status), dt_status_text(second.status));
    assert_non_null(strstr(dt_status_text(first.status), "step "));
    assert_true(first.events[DT_EVENT_CHECKPOINT] > 0);
    assert_true(second.resumed);
    outcome_free(&first);
    outcome_free(&second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh_start_begins_anew),
        cmocka_unit_test(test_fresh_start_keeps_the_old_until_it_has_saved),
        cmocka_unit_test(test_job_says_how_to_begin),
        cmocka_unit_test(test_must_needs_a_checkpoint),
        cmocka_unit_test(test_an_older_checkpoint_can_be_chosen),
        cmocka_unit_test(test_a_checkpoint_of_another_directory),
        cmocka_unit_test(test_a_missing_path_is_told),
        cmocka_unit_test(test_damage_falls_back),
        cmocka_unit_test(test_nothing_is_begun_where_nothing_verifies),
        cmocka_unit_test(test_leftovers_are_removed),
        cmocka_unit_test(test_changed_key_is_named),
        cmocka_unit_test(test_another_model_is_refused),
        cmocka_unit_test(test_another_global_batch_is_refused),
        cmocka_unit_test(test_second_job_in_a_directory),
        cmocka_unit_test(test_unsafe_directory),
        cmocka_unit_test(test_diverged_run_leaves_good_checkpoints),
    };
    return cmocka_run_group_tests_name("train/recover", tests, run_undisturbed, forget_undisturbed);
}
