/* SPDX-License-Identifier: Apache-2.0 */
/* Going on: from every step, after --steps, with another placement; and what is done with
 * checkpoints on the way. */
#define HERE "build/tmp/train-resume"
#include "kit.h"

#include <dirent.h>

/* ---- comparing runs ---- */

/* Steps, epochs and evaluations of a log, one after the other; what is told once at the end of each
 * run (checkpoints, end) left out. */
static void add_training(const outcome *o, dt_str *out) {
    for (const char *line = dt_str_text(&o->log); *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, "step", 4) == 0 || strncmp(line, "eval", 4) == 0 ||
            strncmp(line, "epoch", 5) == 0)
            dt_str_add(out, line, strcspn(line, "\n") + 1);
}

/* Names in HERE/dir/ckpt, sorted: "3 6". */
static const char *checkpoints(const char *directory) {
    static char text[256];
    char path[128];
    struct dirent **names;

    snprintf(path, sizeof path, "%s/ckpt", directory);
    *text = '\0';
    int n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        size_t at = strlen(text);
        if (strncmp(name, "step-0", 6) == 0 && strlen(name) == 13)
            snprintf(text + at, sizeof text - at, at ? " %ld" : "%ld", strtol(name + 5, NULL, 10));
        else if (*name != '.') snprintf(text + at, sizeof text - at, at ? " %s" : "%s", name);
        free(names[i]);
    }
    if (n >= 0) free(names);
    return text;
}

static void expect_history(const char *directory, const char *wanted) {
    char path[128];

    snprintf(path, sizeof path, "%s/history.jsonl", directory);
    dt_str is = text_of_file(path);
    assert_string_equal(dt_str_text(&is), wanted);
    dt_str_release(&is);
}

/* ---- an undisturbed run to compare with ---- */

typedef struct undisturbed {
    char sha[65];
    dt_str history, training;
} undisturbed;

/* 9 steps, the last of each epoch partial */
static const char *const fit_text = "{epochs: 3, validation_freq: 2}";
static undisturbed whole;

static int run_undisturbed(void **state) {
    if (clean_folder(state) != 0) return -1;
    outcome o = fit_well(&(setup){.fit = fit_text, .directory = HERE "/whole", .replicas = 2});
    snprintf(whole.sha, sizeof whole.sha, "%s", o.sha);
    whole.history = text_of_file(HERE "/whole/history.jsonl");
    add_training(&o, &whole.training);
    outcome_free(&o);
    return 0;
}

static int forget_undisturbed(void **state) {
    (void)state;
    dt_str_release(&whole.history);
    dt_str_release(&whole.training);
    return 0;
}

static void expect_as_undisturbed(const outcome *o, const char *directory) {
    assert_string_equal(o->sha, whole.sha);
    assert_string_equal(o->end_sha, whole.sha);
    expect_history(directory, dt_str_text(&whole.history));
}

/* ---- from every step ---- */

/* Stops the run at a step; false: it was the last, so the run is complete. */
static bool stop_at(const setup *s, int64_t step, dt_str *training) {
    setup stopped = *s;

    stopped.stop_at = step;
    outcome o = fit(&stopped);
    add_training(&o, training);
    bool complete = o.status == NULL;
    if (!complete) {
        char text[64];
        assert_int_equal(dt_status_code(o.status), 75);
        snprintf(text, sizeof text, "stopped after step %lld, state saved", (long long)step);
        fails(o.status, DT_E_STOPPED, text);
        o.status = NULL;
        char path[128];
        snprintf(path, sizeof path, "%s/ckpt/step-%08lld", s->directory, (long long)step);
        assert_string_equal(o.checkpoint, path);
        assert_string_equal(o.end_sha, o.sha);
    }
    outcome_free(&o);
    return !complete;
}

static void test_stopped_at_every_step(void **state) {
    (void)state;
    static const struct {
        const char *checkpoint;
        int64_t every; /* disks are slow */
    } cases[] = {{"{save_freq: epoch}", 1},
                 {"{save_freq: 1}", 4},
                 {"{save_freq: 4, max_to_keep: 1}", 2},
                 {"{save_freq: 100}", 1}};

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int64_t step = 1; step <= 9; step += cases[c].every) {
            setup s = {.fit = fit_text,
                       .directory = HERE "/stopped",
                       .replicas = 2,
                       .checkpoint = cases[c].checkpoint};
            dt_str training = {0};
            assert_int_equal(stop_at(&s, step, &training), step < 9);
            outcome o = fit_well(&s);
            assert_int_equal(o.resumed, true);
            assert_int_equal(o.start.step, step);
            assert_int_equal(o.first_step, step < 9 ? step + 1 : 0);
            add_training(&o, &training);
            assert_string_equal(dt_str_text(&training), dt_str_text(&whole.training));
            expect_as_undisturbed(&o, s.directory);
            dt_str_release(&training);
            outcome_free(&o);
            forget(s.directory);
        }
}

static void test_stopped_again_and_again(void **state) {
    (void)state;
    setup s = {.fit = fit_text, .directory = HERE "/again", .replicas = 2};
    dt_str training = {0};

    for (int64_t step = 1; step < 9; step++) assert_true(stop_at(&s, step, &training));
    outcome o = fit_well(&s);
    add_training(&o, &training);
    assert_string_equal(dt_str_text(&training), dt_str_text(&whole.training));
    expect_as_undisturbed(&o, s.directory);
    dt_str_release(&training);
    outcome_free(&o);
    forget(s.directory);
}

/* strategy, threads and back end may change between a save and going on: the bits stay. */
static void test_placement_may_change(void **state) {
    (void)state;
    static const setup places[] = {{.replicas = 1, .threads = 1},
                                   {.slice = "sim:v3-8", .threads = 2},
                                   {.replicas = 5, .threads = 3},
                                   {.slice = "sim:v2-8", .threads = 1},
                                   {.replicas = 300, .threads = 2}};
    dt_str training = {0};
    int64_t step = 1;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++, step += 2) {
        setup s = places[i];
        s.fit = fit_text;
        s.directory = HERE "/moved";
        assert_int_equal(stop_at(&s, step, &training), step < 9);
    }
    assert_string_equal(dt_str_text(&training), dt_str_text(&whole.training));
    expect_history(HERE "/moved", dt_str_text(&whole.history));
    dt_str_release(&training);
    forget(HERE "/moved");
}

/* A limit of steps is no other job: without it, the run goes on where it was cut. */
static void test_steps_may_grow(void **state) {
    (void)state;
    for (int64_t cut = 1; cut < 9; cut++) {
        if (cut == 3)
            /* the end of an epoch whose turn to be validated it is not: as the end of a run it
             * is, and its line says so */
            continue;
        setup s = {
            .fit = fit_text, .directory = HERE "/grown", .replicas = 2, .run = {.max_steps = cut}};
        outcome o = fit_well(&s);
        assert_int_equal(o.last_step, cut);
        assert_int_equal(o.events[DT_EVENT_END], 1);
        outcome_free(&o);
        s.run.max_steps = 0;
        o = fit_well(&s);
        assert_int_equal(o.first_step, cut + 1);
        expect_as_undisturbed(&o, s.directory);
        outcome_free(&o);
        forget(s.directory);
    }
    setup s = {.fit = "{epochs: 1, validation_freq: 2}", .directory = HERE "/grown", .replicas = 2};
    outcome o = fit_well(&s);
    outcome_free(&o);
    s.fit = "{steps: 9}";
    o = fit_well(&s);
    assert_string_equal(o.sha, whole.sha);
    outcome_free(&o);
    forget(s.directory);
}

static void test_finished_job_trains_nothing(void **state) {
    (void)state;
    setup s = {.fit = fit_text, .directory = HERE "/done", .replicas = 2};
    outcome first = fit_well(&s), second = fit_well(&s);

    assert_int_equal(second.events[DT_EVENT_STEP], 0);
    assert_int_equal(second.events[DT_EVENT_CHECKPOINT], 0);
    assert_int_equal(second.events[DT_EVENT_END], 1);
    assert_string_equal(second.checkpoint, first.checkpoint);
    expect_as_undisturbed(&second, s.directory);
    const char *end = strstr(dt_str_text(&first.log), "end ");
    assert_non_null(end);
    /* the metrics of the last epoch, as they were told */
    assert_string_equal(dt_str_text(&second.log), end);
    outcome_free(&first);
    outcome_free(&second);
    s.fit = "{epochs: 2}"; /* fewer than are done */
    second = fit_well(&s);
    assert_int_equal(second.events[DT_EVENT_STEP], 0);
    expect_as_undisturbed(&second, s.directory);
    outcome_free(&second);
    forget(s.directory);
}

/* ---- signals ---- */

static void test_second_signal_saves_nothing(void **state) {
    (void)state;
    setup s = {
        .fit = fit_text, .directory = HERE "/at-once", .replicas = 2, .stop_at = 5, .stop_how = 2};
    outcome o = fit(&s);

    assert_int_equal(dt_status_number(o.status), DT_E_STOPPED_AT_ONCE);
    assert_int_equal(o.events[DT_EVENT_END], 0);
    assert_string_equal(checkpoints(s.directory), "3");
    outcome_free(&o);
    s.stop_at = 0;
    o = fit_well(&s);
    assert_int_equal(o.first_step, 4);
    expect_as_undisturbed(&o, s.directory);
    outcome_free(&o);
    forget(s.directory);
}

static void test_signal_to_save_goes_on(void **state) {
    (void)state;
    setup s = {.fit = fit_text,
               .directory = HERE "/save",
               .replicas = 2,
               .save_at = 5,
               .checkpoint = "{save_freq: 100, max_to_keep: 9}"};
    outcome o = fit_well(&s);

    assert_string_equal(checkpoints(s.directory), "5 9");
    expect_as_undisturbed(&o, s.directory);
    outcome_free(&o);
    forget(s.directory);
}

static void test_stop_without_a_directory(void **state) {
    (void)state;
    outcome o = fit(&(setup){.fit = fit_text, .stop_at = 2});

    assert_int_equal(o.events[DT_EVENT_END], 1);
    fails(o.status, DT_E_STOPPED, "stopped after step 2 [");
    o.status = NULL;
    outcome_free(&o);
}

/* ---- which are kept ---- */

static void test_oldest_are_deleted(void **state) {
    (void)state;
    static const struct {
        const char *checkpoint, *left;
    } cases[] = {{"{save_freq: 1, max_to_keep: 1}", "9"},
                 {"{save_freq: 1, max_to_keep: 4}", "6 7 8 9"},
                 {"{save_freq: 2, max_to_keep: 99}", "2 4 6 8 9"},
                 {"{save_freq: epoch, max_to_keep: 2}", "6 9"},
                 {"{save_freq: 100}", "9"},
                 {"{save_freq: 10m}", "9"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup s = {.fit = fit_text,
                   .directory = HERE "/kept",
                   .replicas = 2,
                   .checkpoint = cases[i].checkpoint};
        outcome o = fit_well(&s);
        assert_string_equal(checkpoints(s.directory), cases[i].left);
        expect_as_undisturbed(&o, s.directory);
        outcome_free(&o);
        forget(s.directory);
    }
}

/* Every few milliseconds is every few steps: how many is the machine's affair, the last one is
 * always there. */
static void test_time_between_checkpoints(void **state) {
    (void)state;
    setup s = {.fit = fit_text,
               .directory = HERE "/timed",
               .replicas = 2,
               .checkpoint = "{save_freq: 0.000001s, max_to_keep: 99}"};
    outcome o = fit_well(&s);

    assert_string_equal(checkpoints(s.directory), "1 2 3 4 5 6 7 8 9");
    outcome_free(&o);
    forget(s.directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stopped_at_every_step),
        cmocka_unit_test(test_stopped_again_and_again),
        cmocka_unit_test(test_placement_may_change),
        cmocka_unit_test(test_steps_may_grow),
        cmocka_unit_test(test_finished_job_trains_nothing),
        cmocka_unit_test(test_second_signal_saves_nothing),
        cmocka_unit_test(test_signal_to_save_goes_on),
        cmocka_unit_test(test_stop_without_a_directory),
        cmocka_unit_test(test_oldest_are_deleted),
        cmocka_unit_test(test_time_between_checkpoints),
    };
    return cmocka_run_group_tests_name("train/resume", tests, run_undisturbed, forget_undisturbed);
}
