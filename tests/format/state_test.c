/* SPDX-License-Identifier: Apache-2.0 */
/* state.json: comes back bit for bit, and no changed byte of it passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "format/state.h"
#include "kit.h"

#define DIR_ "build/tmp/format-state"
#define PATH DIR_ "/state.json"
#define M "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define O "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static int set_up(void **state) {
    (void)state;
    fresh(DIR_);
    return 0;
}

static void write_state(const dt_state_file *s) {
    dt_str text = {0};
    dt_digest model = {M}, optimizer = {O};
    dt_state_print(s, &model, &optimizer, &text);
    write_file(PATH, text.data, text.size);
    dt_str_release(&text);
}

/* Writes the members with a checksum that is right. */
static void write_members(const char *members) {
    dt_str text = {0};
    dt_str_puts(&text, members);
    dt_digest sum = dt_sha256_of(text.data, text.size);
    dt_str_printf(&text, ", \"sha256\": \"%s\"}\n", sum.hex);
    write_file(PATH, text.data, text.size);
    dt_str_release(&text);
}

static dt_status *load(dt_state_read *r) {
    *r = (dt_state_read){.arena = dt_arena_create(), .path = DIR_};
    return dt_state_load(r);
}

static dt_status *load_only(void) {
    dt_state_read r;
    dt_status *s = load(&r);
    dt_arena_destroy(r.arena);
    return s;
}

static void test_the_text_is_the_documented_one(void **state) {
    (void)state;
    dt_state_file s = toy_state(295);
    dt_str text = {0};
    write_state(&s);
    assert_ok(dt_file_read(PATH, 1 << 20, &text));
    assert_string_equal(
        text.data,
        "{\"format\": 1, \"generation\": 0, \"step\": 295, \"epoch\": 29, \"epoch_step\": 5, "
        "\"finished\": false, \"seed\": \"42\", "
        "\"wall_s\": 1.5, \"sums\": [295, 0.1], \"files\": {\"model.safetensors\": \"" M "\", "
        "\"optimizer.safetensors\": \"" O
        "\"}, \"weights_sha256\": \"8c1e\", \"kernels\": \"openblas test\", "
        "\"job_sha256\": \"3f9c\", \"job\": \"{\\\"version\\\": 1, \\\"seed\\\": 42}\", "
        "\"sha256\": \"c8127094763b687e7c98136b4b2f57d409689e768a69925cf72d2f6c6c1755a7\"}\n");
    dt_str_release(&text);
}

enum { SUMS = 64 };

static void test_every_field_comes_back(void **state) {
    (void)state;
    dt_state_read r;
    double sum[SUMS];
    dt_state_file s = toy_state(INT64_MAX);
    s.sum = sum;
    s.generation = 3;
    s.seed = UINT64_MAX;
    s.finished = true;
    s.kernels = NULL;
    s.job = "{\"name\": \"k\xc3\xa4se \\u0001 \\\"q\\\"\"}\n";
    s.n_sums = SUMS;
    s.wall_s = 1.0 / 3;
    s.workers = 4;
    s.callbacks = "[]";
    s.map = "{}";
    s.elements = "[1]";
    s.classes = "{\"a\": 1}";
    s.loop = "";
    static const double hard[] = {
        0,      1,       -1,       0.1, 1e300, DBL_MIN, DBL_MAX, DBL_TRUE_MIN, 9007199254740993.0,
        9.3e18, 1.0 / 3, -2.5e-310};
    for (int i = 0; i < SUMS; i++) s.sum[i] = hard[i % 12] * (1 + i / 12);
    s.sum[6] = DBL_MAX;
    s.sum[18] = s.sum[30] = s.sum[42] = s.sum[54] = NAN; /* more than the largest: null in JSON */
    write_state(&s);
    assert_ok(load(&r));
    assert_int_equal(r.state.step, INT64_MAX);
    assert_int_equal(r.state.generation, 3);
    assert_int_equal(r.state.epoch, s.epoch);
    assert_int_equal(r.state.epoch_step, s.epoch_step);
    assert_true(r.state.seed == UINT64_MAX);
    assert_true(r.state.finished);
    assert_null(r.state.kernels);
    assert_string_equal(r.state.job, s.job);
    assert_string_equal(r.state.job_sha256, s.job_sha256);
    assert_string_equal(r.state.weights_sha256, s.weights_sha256);
    assert_true(r.state.wall_s == s.wall_s);
    assert_int_equal(r.state.workers, 4);
    assert_string_equal(r.state.callbacks, s.callbacks);
    assert_string_equal(r.state.map, s.map);
    assert_string_equal(r.state.elements, s.elements);
    assert_string_equal(r.state.classes, s.classes);
    assert_string_equal(r.state.loop, s.loop);
    assert_int_equal(r.state.n_sums, SUMS);
    for (int i = 0; i < SUMS; i++)
        assert_true(r.state.sum[i] == s.sum[i] || (isnan(r.state.sum[i]) && isnan(s.sum[i])));
    assert_string_equal(r.model_sha256, M);
    assert_string_equal(r.optimizer_sha256, O);
    dt_arena_destroy(r.arena);
}

static void test_sums_of_random_bits_come_back(void **state) {
    (void)state;
    uint64_t seed = (uint64_t)dt_now_ns();
    dt_random random = dt_random_stream(seed, "state_test", 0);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 50; round++) {
        dt_state_read r;
        double sum[SUMS];
        dt_state_file s = toy_state(round);
        s.sum = sum;
        s.n_sums = SUMS;
        for (int i = 0; i < SUMS; i++) do {
                uint64_t bits = (uint64_t)dt_random_u32(&random) << 32 | dt_random_u32(&random);
                memcpy(&s.sum[i], &bits, sizeof bits);
            } while (!isfinite(s.sum[i]));
        write_state(&s);
        assert_ok(load(&r));
        assert_memory_equal(r.state.sum, s.sum, sizeof sum);
        dt_arena_destroy(r.arena);
    }
}

static void test_no_changed_byte_and_no_cut_passes(void **state) {
    (void)state;
    struct stat st;
    dt_state_file s = toy_state(295);
    write_state(&s);
    assert_int_equal(stat(PATH, &st), 0);
    for (int64_t i = 0; i < st.st_size; i++)
        for (int bit = 0; bit < 8; bit++) {
            flip(PATH, i, (unsigned char)(1 << bit));
            dt_status *damage = load_only(); /* of the number 1 in "format": another version */
            assert_int_equal(dt_status_code(damage), 65);
            dt_status_free(damage);
            flip(PATH, i, (unsigned char)(1 << bit));
        }
    assert_ok(load_only());
    for (int64_t n = st.st_size - 1; n >= 0; n--) {
        assert_int_equal(truncate(PATH, n), 0);
        assert_fails(load_only(), DT_E_CHECKPOINT, PATH);
    }
}

static void test_what_is_added_does_not_pass(void **state) {
    (void)state;
    dt_writer w;
    dt_state_file s = toy_state(295);
    write_state(&s);
    assert_ok(dt_writer_append(&w, PATH));
    assert_ok(dt_writer_put(&w, "\n", 1));
    assert_ok(dt_writer_close(&w));
    assert_fails(load_only(), DT_E_CHECKPOINT, PATH ": checksum mismatch");
}

#define FILES "\"files\": {\"model.safetensors\": \"" M "\", \"optimizer.safetensors\": \"" O "\"}"
#define COUNTS "\"generation\": 0, \"step\": 1, \"epoch\": 1, \"epoch_step\": 1"
#define STRINGS "\"weights_sha256\": null, \"kernels\": null, \"job_sha256\": null, \"job\": null"
#define REST "\"finished\": true, \"wall_s\": 1, \"sums\": [1], \"seed\": \"1\""

static void test_faults_are_named_even_under_a_right_checksum(void **state) {
    (void)state;
    static const struct {
        dt_error id;
        const char *members, *text;
    } rows[] = {
        {DT_E_CHECKPOINT_VERSION, "{\"format\": 99, " FILES,
         ": format version 99; this dtrain reads 1"},
        {DT_E_CHECKPOINT, "{\"format\": \"1\", " FILES, ": has no format version"},
        {DT_E_CHECKPOINT, "{\"format\": 1, \"files\": {\"../../outside/x\": \"" M "\"}",
         ": '../../outside/x' leaves the checkpoint directory"},
        {DT_E_CHECKPOINT, "{\"format\": 1, \"files\": {\"x.bin\": \"" M "\"}",
         ": 'x.bin' is not a file of a checkpoint"},
        {DT_E_CHECKPOINT, "{\"format\": 1, \"files\": {\"model.safetensors\": \"AB\"}",
         ": has no checksum of 'model.safetensors'"},
        {DT_E_CHECKPOINT, "{\"format\": 1, \"files\": [1]",
         ": has no checksum of 'model.safetensors'"},
        {DT_E_CHECKPOINT, "{\"format\": 1, \"format\": 1", ": key 'format' appears twice"},
        {DT_E_CHECKPOINT, "{\"format\": 1, " FILES, ": 'generation' must be a count"},
        {DT_E_CHECKPOINT, "{\"format\": 1, " FILES ", \"generation\": 0, \"step\": -1",
         ": 'step' must be a count"},
        {DT_E_CHECKPOINT, "{\"format\": 1, " FILES ", " COUNTS ", " REST,
         ": 'weights_sha256' must be a string"},
        {DT_E_CHECKPOINT,
         "{\"format\": 1, " FILES ", " COUNTS ", " STRINGS ", " REST ", \"workers\": -1",
         ": 'workers' must be a count"},
        {DT_E_CHECKPOINT,
         "{\"format\": 1, " FILES ", " COUNTS ", " STRINGS ", " REST ", \"map\": null",
         ": 'map' must be a string"},
        {DT_E_CHECKPOINT, "{\"format\": 1, " FILES ", " COUNTS ", " STRINGS,
         ": 'finished' must be true or false"},
        {DT_E_CHECKPOINT,
         "{\"format\": 1, " FILES ", " COUNTS ", " STRINGS ", \"finished\": true, \"seed\": \"-1\"",
         ": 'seed' must be a number"},
        {DT_E_CHECKPOINT,
         "{\"format\": 1, " FILES ", " COUNTS ", " STRINGS
         ", \"finished\": true, \"seed\": \"18446744073709551616\"",
         ": 'seed' is too large"},
        {DT_E_CHECKPOINT,
         "{\"format\": 1, " FILES ", " COUNTS ", " STRINGS ", \"finished\": true, \"seed\": \"1\"",
         ": 'wall_s' must be a number"},
        {DT_E_CHECKPOINT,
         "{\"format\": 1, " FILES ", " COUNTS ", " STRINGS
         ", \"finished\": true, \"seed\": \"1\", \"wall_s\": 1, \"sums\": 3",
         ": 'sums' must be a list of at most 1048576 numbers"},
        {DT_E_CHECKPOINT,
         "{\"format\": 1, " FILES ", " COUNTS ", " STRINGS
         ", \"finished\": true, \"seed\": \"1\", \"wall_s\": 1, \"sums\": [true]",
         ": 'sums' must be a number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_members(rows[i].members);
        assert_fails(load_only(), rows[i].id, rows[i].text);
    }
    write_members("{\"format\": 1, " FILES ", " COUNTS ", " STRINGS ", " REST);
    assert_ok(load_only());
}

static void test_other_files_are_refused(void **state) {
    (void)state;
    assert_fails(load_only(), DT_E_CHECKPOINT, PATH ": is missing");
    assert_int_equal(symlink("/etc/passwd", PATH), 0);
    assert_fails(load_only(), DT_E_CHECKPOINT, PATH ": is a symbolic link; refused");
    assert_int_equal(unlink(PATH), 0);
    assert_int_equal(mkfifo(PATH, 0600), 0);
    assert_fails(load_only(), DT_E_CHECKPOINT, PATH ": is not a regular file");
    assert_int_equal(unlink(PATH), 0);
    write_file(PATH, "[1, 2]\n", 7);
    assert_fails(load_only(), DT_E_CHECKPOINT, PATH ": the file is JSON but not an object");
    write_file(PATH, "1", 1);
    assert_int_equal(truncate(PATH, (64 << 20) + 1), 0); /* sparse */
    assert_fails(load_only(), DT_E_TOO_LARGE, PATH ": larger than the limit of 64.0 MiB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_text_is_the_documented_one, set_up),
        cmocka_unit_test_setup(test_every_field_comes_back, set_up),
        cmocka_unit_test_setup(test_sums_of_random_bits_come_back, set_up),
        cmocka_unit_test_setup(test_no_changed_byte_and_no_cut_passes, set_up),
        cmocka_unit_test_setup(test_what_is_added_does_not_pass, set_up),
        cmocka_unit_test_setup(test_faults_are_named_even_under_a_right_checksum, set_up),
        cmocka_unit_test_setup(test_other_files_are_refused, set_up),
    };
    return cmocka_run_group_tests_name("format/state", tests, NULL, NULL);
}
