/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: what is saved is loaded, damage is found and passed over, and nothing but a whole
 * checkpoint is ever taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "format/contents.h"
#include "kit.h"

#define DIR_ "build/tmp/format-checkpoint"
#define RUN DIR_ "/run"
#define STEP(n) RUN "/ckpt/step-000000" #n

static const char *const files[] = {"model.safetensors", "optimizer.safetensors", "state.json"};
enum { FILES = 3 };

typedef struct fixture {
    dt_run_dir run;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    fresh(DIR_);
    assert_ok(dt_run_dir_open(&f->run, RUN, 1000));
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    dt_run_dir_close(&f->run);
    free(f);
    return 0;
}

static const dt_run_dir *run_of(void **state) { return &((fixture *)*state)->run; }

/* The names in ckpt/, one a line, in order. */
static void assert_listed(const char *expected) {
    char text[1024] = "";
    FILE *p = popen("ls -A " RUN "/ckpt", "r");
    assert_non_null(p);
    size_t n = fread(text, 1, sizeof text - 1, p);
    text[n] = '\0';
    assert_int_equal(pclose(p), 0);
    assert_string_equal(text, expected);
}

static void assert_none_verifies(const char *part) {
    dt_saved c;
    dt_status *warnings = NULL;
    dt_status *s = dt_saved_newest(&c, RUN, &warnings);
    assert_null(c.path);
    assert_int_equal(dt_status_code(s), 65);
    assert_fails(s, DT_E_CHECKPOINT_NONE, part);
    dt_status_free(warnings);
}

/* ---- saving and finding ---- */

static void test_a_checkpoint_comes_back(void **state) {
    toy t;
    dt_saved c;
    char *path = NULL;
    dt_state_file saved = toy_state(295);
    toy_make(&t, 295);
    assert_ok(dt_run_dir_save(run_of(state), &saved, &t.model, &t.optimizer, 3, &path));
    assert_string_equal(path, RUN "/ckpt/step-00000295");
    toy_fill(&t, 0);
    assert_ok(dt_saved_open(&c, path));
    assert_string_equal(c.path, path);
    assert_int_equal(c.state.step, 295);
    assert_string_equal(c.state.job, saved.job);
    assert_ok(dt_saved_load(&c, &t.model, NULL));
    assert_true(t.kernel[0] == 295 && t.momentum[0] == 0);
    assert_ok(dt_saved_load(&c, NULL, &t.optimizer));
    assert_true(toy_is(&t, 295));
    dt_saved_release(&c);
    assert_int_equal(newest_step(RUN, NULL), 295);
    free(path);
}

static void test_steps_of_many_digits_have_longer_names(void **state) {
    assert_ok(toy_save(run_of(state), 99999999, 3));
    assert_ok(toy_save(run_of(state), 100000000, 3));
    assert_listed("step-100000000\nstep-99999999\n");
    assert_int_equal(newest_step(RUN, NULL), 100000000);
}

static void test_an_empty_directory_has_none(void **state) {
    (void)state;
    int warnings;
    int64_t generation;
    assert_int_equal(newest_step(RUN, &warnings), -1);
    assert_int_equal(newest_step(DIR_ "/nowhere", &warnings), -1);
    assert_int_equal(warnings, 0);
    assert_ok(dt_checkpoints_generation(RUN, &generation));
    assert_int_equal(generation, -1);
}

static void test_a_path_that_is_not_there_is_missing_input(void **state) {
    (void)state;
    dt_saved c;
    dt_status *s = dt_saved_open(&c, STEP(99));
    assert_int_equal(dt_status_code(s), 66);
    assert_fails(s, DT_E_NO_INPUT, STEP(99) ": no such file or directory");
}

static void test_the_oldest_go_beyond_max_to_keep(void **state) {
    for (int64_t step = 10; step <= 50; step += 10) assert_ok(toy_save(run_of(state), step, 2));
    assert_listed("step-00000040\nstep-00000050\n");
    assert_ok(toy_save(run_of(state), 60, 1));
    assert_listed("step-00000060\n");
}

static void test_many_are_kept_if_asked(void **state) {
    int warnings;
    for (int64_t step = 1; step <= 20; step++) assert_ok(toy_save(run_of(state), step, 18));
    assert_false(is_there(STEP(02)));
    assert_true(is_there(STEP(03)));
    for (int i = 10; i <= 20; i++) {
        char path[256];
        snprintf(path, sizeof path, RUN "/ckpt/step-%08d/state.json", i);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(newest_step(RUN, &warnings), 9);
    assert_int_equal(warnings, 11);
}

static void test_the_same_step_is_replaced(void **state) {
    toy t;
    char *path = NULL;
    dt_saved c;
    dt_state_file s = toy_state(10);
    assert_ok(toy_save(run_of(state), 10, 3));
    toy_make(&t, 77);
    assert_ok(dt_run_dir_save(run_of(state), &s, &t.model, &t.optimizer, 3, &path));
    assert_listed("step-00000010\n");
    toy_fill(&t, 0);
    assert_ok(dt_saved_open(&c, path));
    assert_ok(dt_saved_load(&c, &t.model, &t.optimizer));
    assert_true(toy_is(&t, 77));
    dt_saved_release(&c);
    free(path);
}

/* Who has opened a checkpoint reads its files, whatever their names lead to by then. */
static void test_files_of_an_opened_checkpoint_are_those_that_were_checked(void **state) {
    toy t;
    char *path = NULL;
    dt_saved c;
    dt_stored_arrays stored;
    float bias[BIAS];
    dt_state_file s = toy_state(10);
    toy_make(&t, 10);
    assert_ok(dt_run_dir_save(run_of(state), &s, &t.model, &t.optimizer, 3, &path));
    assert_ok(dt_saved_open(&c, path));
    assert_int_equal(system("rm -r " RUN "/ckpt"), 0);
    const dt_held_file held = dt_saved_held(&c, 0), slots = dt_saved_held(&c, 1);
    toy_fill(&t, 0);
    assert_ok(dt_weights_read(
        &(dt_weights_request){.path = held.path, .held = &held, .arrays = &t.model}));
    toy_make(&t, 10);
    memcpy(bias, t.bias, sizeof bias);
    toy_fill(&t, 0);
    assert_ok(dt_saved_load(&c, &t.model, &t.optimizer));
    assert_memory_equal(bias, t.bias, sizeof bias);
    assert_ok(dt_stored_open_held(&stored, &slots));
    assert_int_equal(stored.n, SLOTS);
    dt_stored_close(&stored);
    dt_saved_release(&c);
    free(path);
}

/* Its files of callbacks and variables are replaced by others of the same size, or are gone. */
static void test_optional_files_of_an_opened_checkpoint_are_those_that_were_checked(void **state) {
    static const char *const optional[] = {"callbacks.safetensors", "variables.safetensors"};
    for (int removed = 0; removed < 2; removed++) {
        toy t;
        char *path = NULL, *other = NULL;
        dt_saved c;
        float value[4] = {1, 2, 3, 4}, found[4] = {0};
        const int64_t four = 4;
        dt_named_view view = {
            .name = "best", .type = dt_type_of(DT_FLOAT32, 1, &four), .data = value};
        const dt_arrays arrays = {1, &view};
        dt_state_file s = toy_state(10);
        s.callback_arrays = s.variable_arrays = &arrays;
        toy_make(&t, 10);
        assert_ok(dt_run_dir_save(run_of(state), &s, &t.model, &t.optimizer, 3, &path));
        for (int i = 0; i < 4; i++) value[i] = -1;
        s.step = 11;
        assert_ok(dt_run_dir_save(run_of(state), &s, &t.model, &t.optimizer, 3, &other));
        assert_ok(dt_saved_open(&c, path));
        for (int i = 0; i < 2; i++) {
            char from[256], to[256];
            snprintf(from, sizeof from, "%s/%s", other, optional[i]);
            snprintf(to, sizeof to, "%s/%s", path, optional[i]);
            assert_int_equal(removed ? unlink(to) : rename(from, to), 0);
        }
        view.data = found;
        assert_ok(dt_saved_load_callbacks(&c, &arrays));
        for (int i = 0; i < 4; i++) assert_true(found[i] == (float)(i + 1));
        memset(found, 0, sizeof found);
        assert_ok(dt_saved_load_variables(&c, &arrays));
        for (int i = 0; i < 4; i++) assert_true(found[i] == (float)(i + 1));
        dt_saved_release(&c);
        free(path);
        free(other);
        assert_int_equal(system("rm -r " RUN "/ckpt"), 0);
    }
}

/* ---- beginning anew ---- */

static dt_status *save_generation(const dt_run_dir *r, int64_t step, int64_t generation,
                                  char **path) {
    toy t;
    dt_state_file s = toy_state(step);
    s.generation = generation;
    toy_make(&t, step);
    return dt_run_dir_save(r, &s, &t.model, &t.optimizer, 3, path);
}

static void test_a_fresh_run_is_newer_than_what_had_more_steps(void **state) {
    int64_t generation;
    char *path = NULL;
    for (int64_t step = 100; step <= 300; step += 100) assert_ok(toy_save(run_of(state), step, 3));
    assert_ok(dt_checkpoints_generation(RUN, &generation));
    assert_int_equal(generation, 0);
    /* the oldest of before goes, never this one */
    assert_ok(save_generation(run_of(state), 50, 1, &path));
    assert_listed("step-00000050\nstep-00000200\nstep-00000300\n");
    assert_int_equal(newest_step(RUN, NULL), 50); /* killed now, the fresh run is resumed */
    assert_ok(dt_checkpoints_clean(run_of(state), true, path));
    assert_listed("step-00000050\n");
    free(path);
}

static void test_the_new_one_stays_even_if_it_has_the_fewest_steps(void **state) {
    for (int64_t step = 100; step <= 300; step += 100) assert_ok(toy_save(run_of(state), step, 3));
    assert_ok(toy_save(run_of(state), 50, 1));
    assert_listed("step-00000050\n");
}

/* ---- leftovers and strangers ---- */

static void test_leftovers_are_ignored_and_removed(void **state) {
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_int_equal(rename(STEP(10), STEP(20) ".tmp"), 0); /* C08: whole, but not committed */
    assert_ok(toy_save(run_of(state), 10, 3));
    write_file(RUN "/ckpt/probe.tmp", "x", 1);
    write_file(STEP(30) ".tmp", "x", 1);
    assert_int_equal(symlink("/etc", STEP(40) ".tmp"), 0);
    write_file(RUN "/ckpt/notes.tmp", "mine", 4);
    int warnings;
    assert_int_equal(newest_step(RUN, &warnings), 10);
    assert_int_equal(warnings, 0);
    assert_ok(dt_checkpoints_clean(run_of(state), false, NULL));
    assert_listed("notes.tmp\nstep-00000010\n"); /* by exact name: what is not ours stays */
}

static void test_a_leftover_of_the_same_step_does_not_mix_in(void **state) {
    assert_ok(dt_dir_make(STEP(10) ".tmp"));
    write_file(STEP(10) ".tmp/state.json", "old", 3);
    write_file(STEP(10) ".tmp/stranger", "old", 3);
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_false(is_there(STEP(10) "/stranger"));
    assert_int_equal(newest_step(RUN, NULL), 10);
}

/* C30 */
static void test_strange_names_are_warned_of(void **state) {
    static const char *const strange[] = {
        "step-99999999999999999999", "step-1", "step-000000001", "step-0000001x", "step-",
        "step-00000001.bak"};
    assert_ok(toy_save(run_of(state), 10, 3));
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        char path[256];
        snprintf(path, sizeof path, RUN "/ckpt/%s", strange[i]);
        assert_ok(dt_dir_make(path));
    }
    write_file(RUN "/ckpt/.hidden", "", 0);
    int warnings;
    assert_int_equal(newest_step(RUN, &warnings), 10);
    assert_int_equal(warnings, sizeof strange / sizeof *strange);
}

static void test_a_renamed_checkpoint_is_not_taken(void **state) {
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_ok(toy_save(run_of(state), 20, 3));
    assert_int_equal(rename(STEP(20), STEP(30)), 0);
    int warnings;
    assert_int_equal(newest_step(RUN, &warnings), 10);
    assert_int_equal(warnings, 1);
}

/* ---- damage ---- */

/* C01 to C05: what is done to a file of the newest, each to each. */
static void cut_half(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size / 2), 0);
}

static void flip_middle(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    flip(path, st.st_size / 2, 0x10);
}

static void empty(const char *path) { assert_int_equal(truncate(path, 0), 0); }

static void take_away(const char *path) { assert_int_equal(unlink(path), 0); }

static void link_outside(const char *path) {
    assert_int_equal(rename(path, DIR_ "/secret"), 0);
    assert_int_equal(symlink("../../../secret", path), 0); /* the right bytes, in the wrong place */
}

static void make_fifo(const char *path) {
    take_away(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void make_directory(const char *path) {
    take_away(path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void test_a_damaged_one_is_passed_over(void **state) {
    static void (*const damages[])(const char *) = {
        cut_half, flip_middle, empty, take_away, link_outside, make_fifo, make_directory};
    for (size_t d = 0; d < sizeof damages / sizeof *damages; d++)
        for (int i = 0; i < FILES; i++) {
            char path[256];
            int warnings;
            fresh(RUN "/ckpt");
            assert_ok(toy_save(run_of(state), 10, 3));
            assert_ok(toy_save(run_of(state), 20, 3));
            snprintf(path, sizeof path, STEP(20) "/%s", files[i]);
            damages[d](path);
            assert_int_equal(newest_step(RUN, &warnings), 10);
            assert_int_equal(warnings, 1);
            dt_saved c;
            assert_fails(dt_saved_open(&c, STEP(20)), DT_E_CHECKPOINT, files[i]);
        }
}

static void test_damage_to_all_is_an_error_that_names_each(void **state) {
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_ok(toy_save(run_of(state), 20, 3));
    flip_middle(STEP(10) "/model.safetensors");
    take_away(STEP(20) "/state.json");
    assert_none_verifies("ckpt: has 2 checkpoints, none of which verifies");
    assert_none_verifies(STEP(10) "/model.safetensors: checksum mismatch");
    assert_none_verifies(STEP(20) "/state.json: is missing");
}

static void test_links_in_place_of_directories_are_refused(void **state) {
    int warnings;
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_ok(toy_save(run_of(state), 20, 3));
    assert_int_equal(rename(STEP(20), DIR_ "/elsewhere"), 0);
    assert_int_equal(symlink("../../elsewhere", STEP(20)), 0);
    assert_int_equal(newest_step(RUN, &warnings), 10);
    assert_int_equal(warnings, 1);
    assert_ok(toy_save(run_of(state), 20, 3)); /* the link is replaced, what it led to is left */
    assert_int_equal(newest_step(RUN, &warnings), 20);
    assert_int_equal(warnings, 0);
    assert_true(is_there(DIR_ "/elsewhere/state.json"));
    assert_listed("step-00000010\nstep-00000020\n");
}

static void test_a_link_in_place_of_ckpt_is_refused(void **state) {
    dt_saved c;
    dt_status *warnings = NULL;
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_int_equal(rename(RUN "/ckpt", DIR_ "/elsewhere"), 0);
    assert_int_equal(symlink("../elsewhere", RUN "/ckpt"), 0);
    assert_fails(dt_saved_newest(&c, RUN, &warnings), DT_E_CHECKPOINT,
                 RUN "/ckpt: is not a directory, or a symbolic link");
    assert_null(c.path);
}

static void test_each_changed_byte_of_a_checkpoint_leads_to_the_older_one(void **state) {
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_ok(toy_save(run_of(state), 20, 3));
    for (int i = 0; i < FILES; i++) {
        struct stat st;
        char path[256];
        snprintf(path, sizeof path, STEP(20) "/%s", files[i]);
        assert_int_equal(stat(path, &st), 0);
        for (int64_t at = 0; at < st.st_size; at++) {
            int warnings;
            unsigned char bits = (unsigned char)(1 << at % 8);
            flip(path, at, bits);
            assert_int_equal(newest_step(RUN, &warnings), 10);
            assert_int_equal(warnings, 1);
            flip(path, at, bits);
        }
        assert_int_equal(newest_step(RUN, NULL), 20);
    }
}

static void test_each_length_of_a_cut_file_leads_to_the_older_one(void **state) {
    for (int i = 0; i < FILES; i++) {
        struct stat st;
        char path[256];
        fresh(RUN "/ckpt");
        assert_ok(toy_save(run_of(state), 10, 3));
        assert_ok(toy_save(run_of(state), 20, 3));
        snprintf(path, sizeof path, STEP(20) "/%s", files[i]);
        assert_int_equal(stat(path, &st), 0);
        for (int64_t n = st.st_size - 1; n >= 0; n--) {
            int warnings;
            assert_int_equal(truncate(path, n), 0);
            assert_int_equal(newest_step(RUN, &warnings), 10);
            assert_int_equal(warnings, 1);
        }
    }
}

/* A file of another whole checkpoint is whole, and still the wrong one. */
static void test_files_of_two_checkpoints_do_not_mix(void **state) {
    int warnings;
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_ok(toy_save(run_of(state), 20, 3));
    assert_ok(toy_save(run_of(state), 30, 3));
    assert_int_equal(rename(STEP(20) "/optimizer.safetensors", STEP(30) "/optimizer.safetensors"),
                     0);
    assert_int_equal(newest_step(RUN, &warnings), 10);
    assert_int_equal(warnings, 2);
}

static void test_a_file_changed_after_opening_is_refused(void **state) {
    toy t;
    dt_saved c;
    toy_make(&t, 0);
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_ok(dt_saved_open(&c, STEP(10)));
    struct stat st;
    assert_int_equal(stat(STEP(10) "/model.safetensors", &st), 0);
    flip(STEP(10) "/model.safetensors", st.st_size - 1, 1);
    assert_fails(dt_saved_load(&c, &t.model, NULL), DT_E_CHECKPOINT,
                 "model.safetensors: checksum mismatch");
    dt_saved_release(&c);
}

/* ---- what is whole and does not fit ---- */

static void test_another_model_is_named(void **state) {
    toy t;
    dt_saved c;
    toy_make(&t, 0);
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_ok(dt_saved_open(&c, STEP(10)));
    t.array[0].type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 16});
    dt_status *s = dt_saved_load(&c, &t.model, &t.optimizer);
    assert_int_equal(dt_status_code(s), 65);
    assert_fails(s, DT_E_CHECKPOINT_MODEL,
                 "tensor 'dense/kernel': checkpoint has (2, 3), model has (2, 16)");
    dt_saved_release(&c);
}

/* C31 */
static void test_values_that_are_not_finite_are_counted(void **state) {
    toy t;
    dt_saved c;
    char *path = NULL;
    dt_state_file s = toy_state(10);
    toy_make(&t, 10);
    t.kernel[1] = t.kernel[2] = NAN;
    t.kernel[5] = -INFINITY;
    assert_ok(dt_run_dir_save(run_of(state), &s, &t.model, &t.optimizer, 3, &path));
    assert_ok(dt_saved_open(&c, path));
    dt_status *bad = dt_saved_load(&c, &t.model, &t.optimizer);
    assert_int_equal(dt_status_code(bad), 79);
    assert_fails(bad, DT_E_CHECKPOINT_NOT_FINITE,
                 "tensor 'dense/kernel' holds 3 non-finite values");
    dt_saved_release(&c);
    free(path);
}

/* Counts are numbers of another kind, and are not looked at; float64 slots are. */
static void test_every_kind_of_float_is_looked_at(void **state) {
    dt_saved c;
    char *path = NULL;
    double x[2] = {1, NAN};
    int64_t count[1] = {-1};
    dt_state_file s = toy_state(10);
    dt_named_view array[] = {{"x", dt_type_of(DT_FLOAT64, 1, (int64_t[]){2}), x},
                             {"count", dt_type_of(DT_INT64, 0, NULL), count}};
    dt_arrays model = {0, NULL}, optimizer = {2, array};
    assert_ok(dt_run_dir_save(run_of(state), &s, &model, &optimizer, 3, &path));
    assert_ok(dt_saved_open(&c, path));
    assert_fails(dt_saved_load(&c, &model, &optimizer), DT_E_CHECKPOINT_NOT_FINITE,
                 "optimizer.safetensors: tensor 'x' holds 1 non-finite value");
    dt_saved_release(&c);
    free(path);
}

/* ---- trouble while saving ---- */

static void test_a_removed_ckpt_is_made_again(void **state) {
    assert_ok(toy_save(run_of(state), 10, 3));
    assert_int_equal(system("rm -rf " RUN "/ckpt"), 0);
    assert_ok(toy_save(run_of(state), 20, 3));
    assert_int_equal(newest_step(RUN, NULL), 20);
}

static void test_a_removed_or_replaced_run_directory_stops_the_run(void **state) {
    assert_int_equal(system("rm -rf " RUN), 0);
    assert_fails(toy_save(run_of(state), 20, 3), DT_E_CANT_CREATE,
                 RUN ": was removed while in use");
    assert_false(is_there(RUN));
    dt_run_dir other;
    assert_ok(dt_run_dir_open(&other, RUN, 1000));
    assert_fails(toy_save(run_of(state), 20, 3), DT_E_IN_USE, RUN ": was replaced while in use");
    dt_run_dir_close(&other);
}

static void test_a_file_too_large_for_the_limit_leaves_the_older_one(void **state) {
    assert_ok(toy_save(run_of(state), 10, 3));
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit small = {128, 128};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        dt_status *s = toy_save(run_of(state), 20, 3);
        bool named =
            s && strstr(dt_status_text(s), "step-00000020.tmp/model.safetensors: file too large");
        _exit(named ? dt_status_code(s) : 1);
    }
    assert_int_equal(wait_for(child), 74);
    assert_listed("step-00000010\n"); /* what was begun is gone too */
    assert_int_equal(newest_step(RUN, NULL), 10);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_checkpoint_comes_back),
        TEST(test_steps_of_many_digits_have_longer_names),
        TEST(test_an_empty_directory_has_none),
        TEST(test_a_path_that_is_not_there_is_missing_input),
        TEST(test_the_oldest_go_beyond_max_to_keep),
        TEST(test_many_are_kept_if_asked),
        TEST(test_the_same_step_is_replaced),
        TEST(test_files_of_an_opened_checkpoint_are_those_that_were_checked),
        TEST(test_optional_files_of_an_opened_checkpoint_are_those_that_were_checked),
        TEST(test_a_fresh_run_is_newer_than_what_had_more_steps),
        TEST(test_the_new_one_stays_even_if_it_has_the_fewest_steps),
        TEST(test_leftovers_are_ignored_and_removed),
        TEST(test_a_leftover_of_the_same_step_does_not_mix_in),
        TEST(test_strange_names_are_warned_of),
        TEST(test_a_renamed_checkpoint_is_not_taken),
        TEST(test_a_damaged_one_is_passed_over),
        TEST(test_damage_to_all_is_an_error_that_names_each),
        TEST(test_links_in_place_of_directories_are_refused),
        TEST(test_a_link_in_place_of_ckpt_is_refused),
        TEST(test_each_changed_byte_of_a_checkpoint_leads_to_the_older_one),
        TEST(test_each_length_of_a_cut_file_leads_to_the_older_one),
        TEST(test_files_of_two_checkpoints_do_not_mix),
        TEST(test_a_file_changed_after_opening_is_refused),
        TEST(test_another_model_is_named),
        TEST(test_values_that_are_not_finite_are_counted),
        TEST(test_every_kind_of_float_is_looked_at),
        TEST(test_a_removed_ckpt_is_made_again),
        TEST(test_a_removed_or_replaced_run_directory_stops_the_run),
        TEST(test_a_file_too_large_for_the_limit_leaves_the_older_one),
    };
    return cmocka_run_group_tests_name("format/checkpoint", tests, NULL, NULL);
}
