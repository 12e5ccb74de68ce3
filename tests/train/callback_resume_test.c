/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs with callbacks that are interrupted, by a signal after any step or by kill -9 at a moment
 * nobody chose, and go on: they end with the weights, the history, the decisions and the files of
 * the run that nobody disturbed. No step stands twice in TensorBoard's files. All of it once with
 * validations at the ends of epochs, and once with validations by steps, between them.
 */
#define HERE "build/tmp/train-callback-resume"
#include "kit.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "file/records.h"

enum { KILLS = 10 };

#define CALLBACKS                                                                                  \
    "[{CSVLogger: {filename: logs/a.csv}}, {ReduceLROnPlateau: {patience: 1, factor: 0.5, "        \
    "min_delta: 0.001}}, {CSVLogger: {filename: b.csv}}, "                                         \
    "{ModelCheckpoint: {filepath: best, save_best_only: true}}, {ModelCheckpoint: {filepath: "     \
    "\"w/{epoch:02d}.safetensors\", save_weights_only: true}}, "                                   \
    "{TensorBoard: {update_freq: 2, histogram_freq: 2}}, {EarlyStopping: {patience: 4, "           \
    "restore_best_weights: true, min_delta: 0.001}}]"

/* It is stopped by itself before the twentieth epoch: the labels are noise, so the validation data
 * stop getting better. */
static setup by_epochs(const char *directory) {
    return (setup){.fit = "{epochs: 20, callbacks: " CALLBACKS "}",
                   .directory = directory,
                   .replicas = 2,
                   .threads = 2,
                   .seed = 4,
                   .checkpoint = "{save_freq: 2, max_to_keep: 2}"};
}

/* Two steps of three are no epoch's last, and one validation of three is at an epoch's end. */
static setup by_steps(const char *directory) {
    setup s = by_epochs(directory);
    s.fit = "{steps: 60, validation_freq: 2, callbacks: " CALLBACKS "}";
    return s;
}

/* ---- what a run left ---- */

static void add_file(const char *directory, const char *name, dt_str *out) {
    dt_str path = {0};
    dt_str_printf(&path, "%s/%s", directory, name);
    dt_str text = text_of_file(dt_str_text(&path));
    dt_str_printf(out, "== %s\n%s\n", name, dt_str_text(&text));
    dt_str_release(&text);
    dt_str_release(&path);
}

/* The records of a file but for the time, which they begin with, and the first, which tells the
 * version. */
static void add_records(const char *path, dt_str *out) {
    dt_records records;
    dt_str record = {0};
    bool more = true;
    OK(dt_records_open(&records, path, &(dt_record_options){.kind = DT_TFRECORD}));
    for (int n = 0; more; n++) {
        OK(dt_records_next(&records, &record, &more));
        assert_true(!more || (record.size > 9 && record.data[0] == 9));
        for (size_t i = 9; more && n > 0 && i < record.size; i++)
            dt_str_printf(out, "%02x", (unsigned char)record.data[i]);
        dt_str_puts(out, more && n > 0 ? "\n" : "");
    }
    dt_str_release(&record);
    dt_records_close(&records);
}

static void add_events(const char *directory, const char *side, dt_str *out) {
    struct dirent **names;
    dt_str folder = {0};
    dt_str_printf(&folder, "%s/tb/%s", directory, side);
    dt_str_printf(out, "== %s\n", side);
    int n = scandir(dt_str_text(&folder), &names, NULL, alphasort);
    assert_true(n > 2);
    for (int i = 0; i < n; i++) {
        char *path = dt_path_join(dt_str_text(&folder), names[i]->d_name);
        if (*names[i]->d_name != '.') add_records(path, out);
        free(path);
        free(names[i]);
    }
    free(names);
    dt_str_release(&folder);
}

/* Everything, as text. */
static char *remains(const char *directory, bool events) {
    dt_str out = {0};
    add_file(directory, "history.jsonl", &out);
    add_file(directory, "logs/a.csv", &out);
    add_file(directory, "b.csv", &out);
    add_file(directory, "w/01.safetensors", &out);
    add_file(directory, "w/03.safetensors", &out);
    for (int k = 0; k < 2 && events; k++) add_events(directory, k ? "validation" : "train", &out);
    return dt_str_take(&out);
}

/* The weights that ModelCheckpoint found best. */
static void best_of(const char *directory, char sha[65]) {
    char path[256];
    dt_saved c;
    snprintf(path, sizeof path, "%s/best", directory);
    OK(dt_saved_open(&c, path));
    snprintf(sha, 65, "%s", c.state.weights_sha256);
    dt_saved_release(&c);
}

static void expect_same_remains(const char *whole, const char *other) {
    char a_best[65], b_best[65];
    char *a = remains(whole, true), *b = remains(other, true);
    if (strcmp(a, b) != 0) {
        size_t at = 0;
        while (a[at] == b[at]) at++;
        fail_msg("%s and %s differ at byte %zu: '%.80s' and '%.80s'", whole, other, at,
                 a + (at > 20 ? at - 20 : 0), b + (at > 20 ? at - 20 : 0));
    }
    best_of(whole, a_best);
    best_of(other, b_best);
    assert_string_equal(a_best, b_best);
    free(a);
    free(b);
}

/* "callback epoch 7 EarlyStopping: early stopping", a line each. */
static void add_decisions(const outcome *o, dt_str *out) {
    for (const char *line = dt_str_text(&o->log); *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, "callback", 8) == 0) dt_str_add(out, line, strcspn(line, "\n") + 1);
}

/* ---- the run that nobody disturbs ---- */

static setup (*job)(const char *directory);
static char whole_sha[65];
static dt_str whole_decisions;
static int64_t whole_steps;

static int run_whole(void **state, setup (*of)(const char *directory)) {
    job = of;
    setup s = job(HERE "/whole");
    if (clean_folder(state) != 0) return -1;
    outcome o = fit_well(&s);
    snprintf(whole_sha, sizeof whole_sha, "%s", o.sha);
    add_decisions(&o, &whole_decisions);
    whole_steps = o.last_step;
    outcome_free(&o);
    return 0;
}

static int run_by_epochs(void **state) { return run_whole(state, by_epochs); }

static int run_by_steps(void **state) { return run_whole(state, by_steps); }

static int forget_whole(void **state) {
    (void)state;
    dt_str_release(&whole_decisions);
    return 0;
}

/* It is one that decides something, or the rest would show nothing. */
static void test_the_whole_decides(void **state) {
    (void)state;
    const char *text = dt_str_text(&whole_decisions);
    assert_in_range(whole_steps, 15, 57);
    assert_non_null(strstr(text, "ReduceLROnPlateau: reducing learning rate to 0.01\n"));
    assert_non_null(strstr(text, "EarlyStopping: early stopping\n"));
    assert_non_null(strstr(text, "EarlyStopping: restoring the weights of epoch "));
    assert_non_null(strstr(text, "ModelCheckpoint: val_loss improved from "));
}

static void test_steps_decide(void **state) {
    (void)state;
    const char *text = dt_str_text(&whole_decisions);
    assert_in_range(whole_steps, 10, 58);
    assert_int_equal(whole_steps % 2, 0); /* at a validation, not at the end of an epoch */
    assert_non_null(strstr(text, "ReduceLROnPlateau: reducing learning rate to 0.01\n"));
    assert_non_null(strstr(text, "EarlyStopping: early stopping\n"));
    assert_non_null(strstr(text, "EarlyStopping: restoring the weights of step "));
    assert_non_null(strstr(text, "ModelCheckpoint: val_loss improved from "));
    assert_null(strstr(text, "is not known here"));
    dt_str history = text_of_file(HERE "/whole/history.jsonl");
    for (int64_t step = 1; step <= whole_steps; step++) {
        char line[128];
        snprintf(line, sizeof line, "{\"epoch\": %lld, \"step\": %lld, \"loss\"",
                 (long long)(step + 2) / 3, (long long)step);
        const char *at = strstr(dt_str_text(&history), line);
        assert_int_equal(at != NULL, step % 2 == 0 || step % 3 == 0);
        const char *value = at ? strstr(at, "\"val_loss\"") : NULL;
        assert_int_equal(value && value < strchr(at, '\n'), step % 2 == 0);
    }
    dt_str_release(&history);
}

static void test_stopped_is_stopped(void **state) {
    (void)state;
    setup s = job(HERE "/whole");
    char *before = remains(HERE "/whole", true);
    outcome o = fit_well(&s);
    assert_int_equal(o.events[DT_EVENT_STEP], 0);
    assert_int_equal(o.events[DT_EVENT_CHECKPOINT], 0);
    assert_int_equal(o.events[DT_EVENT_CALLBACK], 0);
    assert_int_equal(o.events[DT_EVENT_END], 1);
    assert_string_equal(o.end_sha, whole_sha);
    outcome_free(&o);
    char *after = remains(HERE "/whole", true);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void test_stopped_after_any_step(void **state) {
    (void)state;
    for (int64_t first = 1; first <= 7; first += 3) {
        setup s = job(HERE "/stopped");
        dt_str decisions = {0};
        int stops = 0;
        for (s.stop_at = first; s.stop_at < whole_steps; s.stop_at += 7, stops++) {
            outcome o = fit(&s);
            assert_int_equal(dt_status_code(o.status), 75);
            add_decisions(&o, &decisions);
            outcome_free(&o);
        }
        s.stop_at = 0;
        outcome o = fit_well(&s);
        add_decisions(&o, &decisions);
        assert_true(stops > 2);
        assert_string_equal(o.sha, whole_sha);
        assert_string_equal(dt_str_text(&decisions), dt_str_text(&whole_decisions));
        expect_same_remains(HERE "/whole", HERE "/stopped");
        outcome_free(&o);
        dt_str_release(&decisions);
        forget(HERE "/stopped");
    }
}

/* ---- kill -9 ---- */

/* The steps of the children are slow, so that kills hit them. */
static void doze(const dt_event *e, void *user) {
    const struct timespec pause = {.tv_nsec = 2000000};
    (void)user;
    if (e->kind == DT_EVENT_STEP) nanosleep(&pause, NULL);
}

static pid_t start(const setup *s) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        outcome o = fit(s);
        _exit(dt_report(o.status));
    }
    return child;
}

static void sleep_us(uint64_t us) {
    const struct timespec t = {.tv_sec = (time_t)(us / 1000000),
                               .tv_nsec = (long)(us % 1000000) * 1000};
    nanosleep(&t, NULL);
}

static void test_killed_at_any_moment(void **state) {
    (void)state;
    uint64_t seed = (uint64_t)dt_now_ns();
    dt_random r = dt_random_stream(seed, "kills", 0);
    setup s = job(HERE "/killed");
    int status, kills = 0;
    s.run = (dt_run_options){.event = doze, .every_step = true};
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < KILLS; i++) {
        pid_t child = start(&s);
        sleep_us(1000 + dt_random_below(&r, 120000));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        kills += WIFSIGNALED(status);
    }
    assert_int_equal(
        waitpid(start(&s), &status, 0) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0, true);
    print_message("%d kills\n", kills);
    s.run = (dt_run_options){0};
    outcome o = fit_well(&s); /* done: tells the weights */
    assert_int_equal(o.events[DT_EVENT_STEP], 0);
    assert_string_equal(o.sha, whole_sha);
    outcome_free(&o);
    expect_same_remains(HERE "/whole", HERE "/killed");
}

/* A fresh start leaves the old run as it was until it has a checkpoint; then nothing of the old one
 * is left. */
static void test_fresh_start(void **state) {
    (void)state;
    setup s = job(HERE "/fresh"), anew;
    s.fit = job == by_steps ? "{steps: 9, validation_freq: 2, callbacks: " CALLBACKS "}"
                            : "{epochs: 3, callbacks: " CALLBACKS "}";
    outcome o = fit_well(&s);
    outcome_free(&o);
    char *before = remains(HERE "/fresh", true);
    anew = job(HERE "/fresh");
    anew.run.resume = DT_RESUME_NEVER;
    anew.checkpoint = "{save_freq: 100}";
    anew.stop_at = 5;
    anew.stop_how = 2; /* at once: nothing is saved */
    o = fit(&anew);
    assert_int_equal(dt_status_number(o.status), DT_E_STOPPED_AT_ONCE);
    outcome_free(&o);
    o = fit_well(&s); /* the old one is done, and says so */
    assert_int_equal(o.events[DT_EVENT_STEP], 0);
    outcome_free(&o);
    char *after = remains(HERE "/fresh", true);
    assert_string_equal(before, after);
    free(before);
    free(after);
    anew = job(HERE "/fresh");
    anew.run.resume = DT_RESUME_NEVER;
    o = fit_well(&anew);
    assert_string_equal(o.sha, whole_sha);
    outcome_free(&o);
    expect_same_remains(HERE "/whole", HERE "/fresh");
}

/* A run that ends within an epoch tells it; one with more steps takes that back and tells the
 * whole. */
static void test_more_steps(void **state) {
    (void)state;
    setup s = job(HERE "/more");
    for (s.run.max_steps = 4; s.run.max_steps <= 8; s.run.max_steps++) {
        outcome o = fit_well(&s);
        outcome_free(&o);
        dt_str csv = text_of_file(HERE "/more/b.csv");
        /* an epoch in part */
        assert_non_null(strstr(dt_str_text(&csv), s.run.max_steps > 6 ? "\n2," : "\n1,"));
        dt_str_release(&csv);
    }
    s.run.max_steps = 0;
    outcome o = fit_well(&s);
    assert_string_equal(o.sha, whole_sha);
    outcome_free(&o);
    expect_same_remains(HERE "/whole", HERE "/more");
}

/* ---- weights that change places with their means ---- */

#define MEANS_BY(length)                                                                           \
    "{" length ", callbacks: [{CSVLogger: {filename: logs/a.csv}}, {CSVLogger: {filename: "        \
    "b.csv}}, {SwapEMAWeights: {swap_on_epoch: true}}, "                                           \
    "{ModelCheckpoint: {filepath: best, save_best_only: true}}, {ModelCheckpoint: {filepath: "     \
    "\"w/{epoch:02d}.safetensors\", save_weights_only: true}}]}"
#define WITH_MEANS                                                                                 \
    "{optimizer: {Adam: {learning_rate: 0.02, use_ema: true, ema_momentum: 0.9}}, "                \
    "loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}"

static setup means_job(const char *directory) {
    setup s = by_epochs(directory);
    s.fit = job == by_steps ? MEANS_BY("steps: 17, validation_freq: 2") : MEANS_BY("epochs: 6");
    s.compile = WITH_MEANS;
    return s;
}

static void expect_same_means(const char *whole, const char *other) {
    char a_best[65], b_best[65], *a = remains(whole, false), *b = remains(other, false);
    assert_string_equal(a, b);
    best_of(whole, a_best);
    best_of(other, b_best);
    assert_string_equal(a_best, b_best);
    free(a);
    free(b);
}

static void test_means_are_stopped_after_any_step(void **state) {
    (void)state;
    setup s = means_job(HERE "/means");
    outcome whole = fit_well(&s);
    for (int64_t every = 1; every <= 4; every++) {
        s = means_job(HERE "/means-stopped");
        for (s.stop_at = every; s.stop_at < whole.last_step; s.stop_at += every) {
            outcome o = fit(&s);
            assert_int_equal(dt_status_code(o.status), 75);
            outcome_free(&o);
        }
        s.stop_at = 0;
        outcome o = fit_well(&s);
        assert_string_equal(o.sha, whole.sha);
        expect_same_means(HERE "/means", HERE "/means-stopped");
        outcome_free(&o);
        forget(HERE "/means-stopped");
    }
    outcome_free(&whole);
}

/* What is resumed from is a checkpoint that ModelCheckpoint saved, in which both had changed
 * places. */
static void test_means_go_on_from_a_saved_epoch(void **state) {
    (void)state;
    setup s = means_job(HERE "/means-all"), again = means_job(HERE "/means-again");
    s.fit = again.fit = "{epochs: 5, callbacks: [{SwapEMAWeights: {swap_on_epoch: true}}, "
                        "{ModelCheckpoint: {filepath: \"e{epoch}\"}}]}";
    outcome whole = fit_well(&s);
    again.run.resume = DT_RESUME_PATH;
    again.run.resume_path = HERE "/means-all/e3";
    outcome o = fit_well(&again);
    assert_int_equal(o.first_step, 10);
    assert_string_equal(o.sha, whole.sha);
    outcome_free(&o);
    outcome_free(&whole);
}

static void test_means_are_swapped_once(void **state) {
    (void)state;
    setup s = means_job(NULL);
    s.fit = "{epochs: 1, callbacks: [SwapEMAWeights, TerminateOnNaN, {SwapEMAWeights: "
            "{swap_on_epoch: true}}]}";
    outcome o = fit(&s);
    fails(o.status, DT_E_CALLBACK, "a second SwapEMAWeights would undo what the first does");
    o.status = NULL;
    outcome_free(&o);
}

/* A learning rate that is never reduced is a variable, and the weights are those with a
 * constant. */
static void test_a_variable_rate_has_the_same_bits(void **state) {
    (void)state;
    static const char *const compiles[] = {
        NULL,
        "{optimizer: {SGD: {learning_rate: 0.1, momentum: 0.9, weight_decay: 0.01}}, loss: "
        "{SparseCategoricalCrossentropy: {from_logits: true}}}",
        "{optimizer: {AdamW: {learning_rate: 0.01}}, loss: {SparseCategoricalCrossentropy: "
        "{from_logits: true}}}",
    };
    for (size_t i = 0; i < sizeof compiles / sizeof *compiles; i++) {
        outcome constant = fit_well(&(setup){.compile = compiles[i]});
        outcome variable = fit_well(&(setup){
            .compile = compiles[i],
            .fit = "{epochs: 2, callbacks: [{ReduceLROnPlateau: {monitor: loss, patience: 9}}]}"});
        assert_string_equal(constant.sha, variable.sha);
        outcome_free(&constant);
        outcome_free(&variable);
    }
}

int main(void) {
    const struct CMUnitTest steps[] = {
        cmocka_unit_test(test_steps_decide),
        cmocka_unit_test(test_stopped_is_stopped),
        cmocka_unit_test(test_stopped_after_any_step),
        cmocka_unit_test(test_killed_at_any_moment),
        cmocka_unit_test(test_fresh_start),
        cmocka_unit_test(test_more_steps),
        cmocka_unit_test(test_means_are_stopped_after_any_step),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_whole_decides),
        cmocka_unit_test(test_stopped_is_stopped),
        cmocka_unit_test(test_stopped_after_any_step),
        cmocka_unit_test(test_killed_at_any_moment),
        cmocka_unit_test(test_fresh_start),
        cmocka_unit_test(test_more_steps),
        cmocka_unit_test(test_means_are_stopped_after_any_step),
        cmocka_unit_test(test_means_go_on_from_a_saved_epoch),
        cmocka_unit_test(test_means_are_swapped_once),
        cmocka_unit_test(test_a_variable_rate_has_the_same_bits),
    };
    int failed =
        cmocka_run_group_tests_name("train/callback_resume", tests, run_by_epochs, forget_whole);
    return failed + cmocka_run_group_tests_name("train/callback_resume by steps", steps,
                                                run_by_steps, forget_whole);
}
