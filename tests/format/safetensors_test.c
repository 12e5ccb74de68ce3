/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors files: what is written comes back, and every malformed one is refused in words that
 * name the fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "format/safetensors_header.h"
#include "kit.h"

#define DIR_ "build/tmp/format-safetensors"
#define PATH DIR_ "/x.safetensors"

static int set_up(void **state) {
    (void)state;
    fresh(DIR_);
    return 0;
}

/* ---- round trips ---- */

static void test_all_types_and_ranks_come_back(void **state) {
    (void)state;
    uint8_t bytes[8 * 24], back[8 * 24];
    dt_named_view out[16], in[16];
    dt_digest digest;
    int n = 0;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37 + 1);
    static const struct {
        const char *name;
        int rank;
        int64_t dim[DT_MAX_RANK];
    } shapes[] = {{"scalar", 0, {0}},
                  {"empty", 2, {3, 0}},
                  {"vector \"q\" \\", 1, {7}},
                  {"deep", 8, {1, 2, 1, 3, 1, 1, 2, 2}}};
    for (int d = DT_BOOL; d <= DT_FLOAT64; d++)
        for (int k = 0; k < 2; k++, n++) {
            int shape = (d + 2 * k) % 4;
            char *name = malloc(64);
            snprintf(name, 64, "%s/%s", shapes[shape].name, dt_dtype_name((dt_dtype)d));
            out[n] = (dt_named_view){
                name, dt_type_of((dt_dtype)d, shapes[shape].rank, shapes[shape].dim), bytes};
        }
    assert_ok(dt_safetensors_write(PATH, &(dt_arrays){n, out}, &digest));
    for (int i = 0; i < n; i++) { /* in another order than written */
        in[i] = out[n - 1 - i];
        in[i].data = calloc(1, 8 * 24);
    }
    assert_ok(dt_safetensors_read(PATH, &(dt_arrays){n, in}, digest.hex));
    for (int i = 0; i < n; i++) {
        size_t size = (size_t)dt_type_bytes(&in[i].type);
        memset(back, 0, sizeof back);
        memcpy(back, bytes, size);
        assert_memory_equal(in[i].data, back, sizeof back);
        free(in[i].data);
    }
    for (int i = 0; i < n; i++) free((char *)out[i].name);
}

/* The layout of the file, byte for byte: larger elements first, header padded to 8. */
static void test_the_layout_is_the_documented_one(void **state) {
    (void)state;
    dt_digest digest;
    dt_str file = {0};
    uint8_t small[2] = {7, 9};
    float large[1] = {1.0F};
    dt_named_view a[] = {{"bcd", dt_type_of(DT_UINT8, 1, (int64_t[]){2}), small},
                         {"a", dt_type_of(DT_FLOAT32, 0, NULL), large}};
    static const char expected[] =
        "\x80\0\0\0\0\0\0\0"
        "{\"a\": {\"dtype\": \"F32\", \"shape\": [], \"data_offsets\": [0, 4]}, "
        "\"bcd\": {\"dtype\": \"U8\", \"shape\": [2], \"data_offsets\": [4, 6]}}"
        "      \0\0\x80\x3f\x07\x09";
    assert_ok(dt_safetensors_write(PATH, &(dt_arrays){2, a}, &digest));
    assert_ok(dt_file_read(PATH, 1 << 20, &file));
    assert_int_equal(file.size, sizeof expected - 1);
    assert_memory_equal(file.data, expected, file.size);
    assert_string_equal(dt_sha256_of(file.data, file.size).hex, digest.hex);
    dt_str_release(&file);
}

static void test_no_tensors_is_a_file_too(void **state) {
    (void)state;
    dt_digest digest;
    assert_ok(dt_safetensors_write(PATH, &(dt_arrays){0, NULL}, &digest));
    assert_ok(dt_safetensors_read(PATH, &(dt_arrays){0, NULL}, digest.hex));
}

/* ---- other tensors than the file's ---- */

static void test_differences_name_the_tensor(void **state) {
    (void)state;
    toy t;
    dt_digest digest;
    toy_make(&t, 5);
    assert_ok(dt_safetensors_write(PATH, &t.model, &digest));
    toy_fill(&t, 1);

    t.array[0].type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 4});
    assert_fails(dt_safetensors_read(PATH, &t.model, NULL), DT_E_CHECKPOINT_MODEL,
                 "tensor 'dense/kernel': checkpoint has (2, 3), model has (2, 4)");
    t.array[0].type = dt_type_of(DT_FLOAT64, 2, (int64_t[]){2, 3});
    assert_fails(dt_safetensors_read(PATH, &t.model, NULL), DT_E_CHECKPOINT_MODEL,
                 "tensor 'dense/kernel': checkpoint has dtype F32, model has F64");
    t.array[0].name = "dense/weight"; /* two errors at once */
    dt_status *s = dt_safetensors_read(PATH, &t.model, NULL);
    assert_int_equal(dt_status_count(s), 2);
    assert_string_equal(dt_status_text(s), PATH ": tensor 'dense/kernel' is unknown to the model");
    assert_string_equal(dt_status_text(dt_status_next(s)),
                        PATH ": tensor 'dense/weight' is missing");
    dt_status_free(s);
    t.model.n = 2;
    assert_fails(dt_safetensors_read(PATH, &t.model, NULL), DT_E_CHECKPOINT_MODEL,
                 "tensor 'norm/seen' is unknown");
    assert_true(toy_is(&t, 1)); /* nothing was touched */
}

static dt_status *read_weights(const dt_arrays *a, const char *digest) {
    dt_held_file f = {.path = PATH, .only_weights = true};
    assert_ok(dt_file_open(PATH, &f.fd, &f.size));
    dt_status *failed = dt_safetensors_read_held(&f, a, digest);
    close(f.fd);
    return failed;
}

/* As weights: a counter that is missing stays as it is, one too many is passed over, and the digest
 * is of all that is there. */
static void test_counters_of_draws_are_no_weights(void **state) {
    (void)state;
    toy t;
    dt_digest digest;
    toy_make(&t, 5);
    t.array[2].name = "dropout/seed_generator/step";
    assert_ok(dt_safetensors_write(PATH, &t.model, &digest));
    toy_fill(&t, 1);

    t.array[2].name = "noise/seed_generator/step";
    assert_fails(dt_safetensors_read(PATH, &t.model, NULL), DT_E_CHECKPOINT_MODEL,
                 "tensor 'dropout/seed_generator/step' is unknown");
    assert_true(toy_is(&t, 1));
    assert_ok(read_weights(&t.model, digest.hex));
    assert_true(t.kernel[1] == 5.0625F && t.bias[0] == 15 && t.seen == 1000);
    t.array[2].name = "dropout/seed_generator/step";
    assert_ok(read_weights(&t.model, digest.hex));
    assert_int_equal(t.seen, 5000);
    t.array[2].name = "noise/seed_generator"; /* a layer of that name */
    assert_fails(read_weights(&t.model, NULL), DT_E_CHECKPOINT_MODEL,
                 "tensor 'noise/seed_generator' is missing");
}

static void test_another_digest_is_refused(void **state) {
    (void)state;
    toy t;
    dt_digest digest;
    toy_make(&t, 5);
    assert_ok(dt_safetensors_write(PATH, &t.model, &digest));
    assert_ok(dt_safetensors_read(PATH, &t.model, digest.hex));
    digest.hex[3] ^= 1;
    assert_fails(dt_safetensors_read(PATH, &t.model, digest.hex), DT_E_CHECKPOINT,
                 PATH ": checksum mismatch");
}

/* ---- malformed files ---- */

/* u64 length, header, `data` zero bytes. */
static void write_raw(uint64_t length, const char *header, size_t data) {
    dt_str s = {0};
    dt_str_add(&s, &length, 8);
    dt_str_puts(&s, header);
    for (size_t i = 0; i < data; i++) dt_str_putc(&s, '\0');
    write_file(PATH, s.data, s.size);
    dt_str_release(&s);
}

static dt_status *read_into_nothing(void) {
    return dt_safetensors_read(PATH, &(dt_arrays){0, NULL}, NULL);
}

static void test_malformed_headers_are_named(void **state) {
    (void)state;
    static const struct {
        const char *id, *header;
        size_t data;
        const char *text;
    } rows[] = {
        {"C13", "hello", 0, "header is not JSON (offset 0)"},
        {"C13", "", 0, "header is not JSON (offset 0)"},
        {"C13", "{\"w\": ", 0, "header is not JSON (offset 6)"},
        {"C13", "{} x", 0, "header is not JSON"},
        {"C13", "{\"w\xff\": 1}", 0, "header is not JSON"},
        {"C13", "{\"w\": 99999999999999999999}", 0, "header is not JSON"},
        {"C15", "{\"w\": {\"dtype\": \"F32\", \"shape\": [1024], \"data_offsets\": [0, 4096]}}",
         128, "tensor 'w': bytes 0..4096 of 128"},
        {"C16", "{\"w\": {\"dtype\": \"F32\", \"shape\": [16], \"data_offsets\": [64, 0]}}", 128,
         "tensor 'w': bytes 64..0"},
        {"C16", "{\"w\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [-1, 0]}}", 8,
         "tensor 'w': bytes -1..0"},
        {"C17",
         "{\"a\": {\"dtype\": \"U8\", \"shape\": [8], \"data_offsets\": [0, 8]}, "
         "\"b\": {\"dtype\": \"U8\", \"shape\": [8], \"data_offsets\": [4, 12]}}",
         12, "tensors 'a' and 'b' overlap"},
        {"C17",
         "{\"a\": {\"dtype\": \"U8\", \"shape\": [8], \"data_offsets\": [0, 8]}, "
         "\"b\": {\"dtype\": \"U8\", \"shape\": [8], \"data_offsets\": [0, 8]}}",
         8, "overlap"},
        {"hole", "{\"w\": {\"dtype\": \"U8\", \"shape\": [4], \"data_offsets\": [4, 8]}}", 8,
         "bytes 0..4 belong to no tensor"},
        {"hole", "{\"w\": {\"dtype\": \"U8\", \"shape\": [4], \"data_offsets\": [0, 4]}}", 9,
         "bytes 4..9 belong to no tensor"},
        {"C18", "{\"w\": {\"dtype\": \"F32\", \"shape\": [4, 8], \"data_offsets\": [0, 64]}}", 64,
         "tensor 'w': (4, 8) F32 needs 128 bytes, has 64"},
        {"C19",
         "{\"w\": {\"dtype\": \"F32\", \"shape\": [1099511627776, 1099511627776], "
         "\"data_offsets\": [0, 8]}}",
         8, "tensor 'w': shape overflows"},
        {"C19",
         "{\"w\": {\"dtype\": \"F64\", \"shape\": [9223372036854775807], \"data_offsets\": [0, "
         "8]}}",
         8, "tensor 'w': shape overflows"},
        {"C19", "{\"w\": {\"dtype\": \"U8\", \"shape\": [-2, -4], \"data_offsets\": [0, 8]}}", 8,
         "tensor 'w': size -2 in 'shape' is negative"},
        {"rank",
         "{\"w\": {\"dtype\": \"U8\", \"shape\": [1,1,1,1,1,1,1,1,1], \"data_offsets\": [0, 1]}}",
         1, "has 9 dimensions, at most 8"},
        {"C20",
         "{\"w\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [0, 1]}, "
         "\"w\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [0, 1]}}",
         1, "tensor 'w' appears twice"},
        {"C20",
         "{\"w\": {\"dtype\": \"U8\", \"dtype\": \"I8\", \"shape\": [1], \"data_offsets\": [0, "
         "1]}}",
         1, "key 'dtype' appears twice"},
        {"C20", "{\"a\\\"b\": 1, \"a\\\"b\": 1}", 0, "tensor 'a\\\"b' appears twice"},
        {"C21", "{\"w\": {\"dtype\": \"Q7\", \"shape\": [1], \"data_offsets\": [0, 1]}}", 1,
         "tensor 'w': unknown dtype 'Q7'"},
        {"C22",
         "{\"../../outside/pwn\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [0, 1]}}",
         1, "'../../outside/pwn' is unknown"},
        {"form", "{\"w\": [1]}", 0, "tensor 'w': must be an object"},
        {"form", "{\"w\": {\"shape\": [1], \"data_offsets\": [0, 1]}}", 1,
         "tensor 'w': has no 'dtype'"},
        {"form", "{\"w\": {\"dtype\": 4, \"shape\": [1], \"data_offsets\": [0, 1]}}", 1,
         "'dtype' must be a string"},
        {"form", "{\"w\": {\"dtype\": \"U8\", \"shape\": 1, \"data_offsets\": [0, 1]}}", 1,
         "'shape' must be a list"},
        {"form", "{\"w\": {\"dtype\": \"U8\", \"shape\": [1.0], \"data_offsets\": [0, 1]}}", 1,
         "'shape' must be a list"},
        {"form", "{\"w\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [1]}}", 1,
         "'data_offsets' must be two"},
        {"form", "{\"w\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [0, 1], \"x\": 1}}",
         1, "has keys besides"},
        {"form", "{\"__metadata__\": {\"format\": 3}}", 0, "'__metadata__' must hold strings only"},
        {"form", "{\"__metadata__\": 3}", 0, "'__metadata__' must be an object"},
        {"escape", "{\"\\u001b[2J\": [1]}", 0, "tensor '\\x1b[2J'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_raw(strlen(rows[i].header), rows[i].header, rows[i].data);
        dt_status *s = read_into_nothing();
        if (dt_status_code(s) != 65)
            fail_msg("%s %s: exit code %d", rows[i].id, rows[i].header, dt_status_code(s));
        assert_fails(s, (dt_error)dt_status_number(s), rows[i].text);
    }
}

static void test_metadata_of_strings_is_read_over(void **state) {
    (void)state;
    static const char header[] = "{\"__metadata__\": {\"format\": \"pt\"}}   ";
    write_raw(sizeof header - 1, header, 0);
    assert_ok(read_into_nothing());
}

static void test_lengths_are_compared_with_the_file(void **state) {
    (void)state;
    write_file(PATH, "\x10\0\0\0", 4);
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT,
                 "cut inside the header length: 4 of 8 bytes");
    write_file(PATH, "", 0);
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT,
                 "cut inside the header length: 0 of 8 bytes");
    write_raw(UINT64_C(1) << 63, "[]", 0);
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT, "is no safetensors file");
    write_raw(UINT64_C(1) << 63, "{}", 0);
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT,
                 "header of 9223372036854775808 bytes, file has 10");
    write_raw(200000000, "{}", 190);
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT, "header of 200000000 bytes, file has 200");
    write_raw(3, "{}", 0);
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT, "header of 3 bytes, file has 10");
    write_raw(17 << 20, "{}", 17 << 20);
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT, "the limit is 16777216");
}

static void test_other_formats_are_named(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } rows[] = {
        {"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94.", 14, "is a pickle; refused"},
        {"\x80\x02}q\0(X\x01\0\0\0au.", 14, "is a pickle; refused"},
        {"\x89HDF\r\n\x1a\n\0\0\0\0", 12, "is an HDF5 file; refused"},
        {"PK\x03\x04\x14\0\0\0\x08\0", 10, "is a zip archive (PyTorch, Keras or NPZ); refused"},
        {"\x08\x0a\x12\x07pytorch\x1a", 12, "is an ONNX model, not weights"},
        {"\x08\x07:\xa2\x01\n\x1a\n\x01x", 10, "is an ONNX model, not weights"},
        {"\x93NUMPY\x01\0v\0{", 11, "is an NPY file; refused"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file(PATH, rows[i].bytes, rows[i].n);
        assert_fails(read_into_nothing(), DT_E_CHECKPOINT, rows[i].text);
    }
    write_raw(0x280, "{}", 10); /* begins like a pickle, and is a cut safetensors file */
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT, "header of 640 bytes, file has 20");
}

static void test_files_that_are_none_are_refused(void **state) {
    (void)state;
    assert_fails(read_into_nothing(), DT_E_NO_INPUT, "no such file");
    assert_int_equal(mkfifo(PATH, 0600), 0);
    assert_fails(read_into_nothing(), DT_E_NOT_REGULAR, "not a regular file");
}

/* C14: what nests is refused before jansson recurses. */
static void test_deep_nesting_is_refused(void **state) {
    (void)state;
    dt_str s = {0};
    dt_str_puts(&s, "{\"w\":");
    for (int i = 0; i < 100000; i++) dt_str_putc(&s, '[');
    write_raw(s.size, s.data, 0);
    dt_str_release(&s);
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT, "header nested deeper than 64");
}

/* 16 MiB of the smallest objects would take a gigabyte. */
static void test_heavy_headers_are_refused(void **state) {
    (void)state;
    dt_str s = {0};
    dt_str_puts(&s, "{\"w\":[{}");
    for (int i = 0; i < 5000000; i++) dt_str_puts(&s, ",{}");
    dt_str_puts(&s, "]}");
    write_raw(s.size, s.data, 0);
    dt_str_release(&s);
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT, "header has too many values");
}

/* C25. The limit is two seconds, of this process alone: others may be at work beside it. */
static void test_100000_empty_tensors_take_less_than_two_seconds(void **state) {
    (void)state;
    dt_str s = {0};
    for (int i = 0; i < 100000; i++)
        dt_str_printf(
            &s, "%s\"tensor_%d\": {\"dtype\": \"F32\", \"shape\": [0], \"data_offsets\": [0, 0]}",
            i ? ", " : "{", i);
    dt_str_putc(&s, '}');
    write_raw(s.size, s.data, 0);
    dt_str_release(&s);
    int64_t size;
    int fd;
    dt_safetensors_header h;
    assert_ok(dt_file_open(PATH, &fd, &size));
    clock_t start = clock();
    assert_ok(dt_header_read(&h, fd, PATH, size));
    assert_true(clock() - start < 2 * CLOCKS_PER_SEC);
    assert_int_equal(h.n, 100000);
    dt_header_release(&h);
    close(fd);
    assert_fails(read_into_nothing(), DT_E_CHECKPOINT_MODEL, "is unknown");
}

/* Without a checksum a changed byte may pass as data, never as trouble: the program neither crashes
 * nor reads beyond its arrays. */
static void test_any_changed_byte_is_survived(void **state) {
    (void)state;
    toy t;
    dt_digest digest;
    struct stat st;
    int refused = 0;
    toy_make(&t, 5);
    assert_ok(dt_safetensors_write(PATH, &t.model, &digest));
    assert_int_equal(stat(PATH, &st), 0);
    for (int64_t i = 0; i < st.st_size; i++)
        for (int bit = 0; bit < 8; bit++) {
            flip(PATH, i, (unsigned char)(1 << bit));
            dt_status *s = dt_safetensors_read(PATH, &t.model, NULL);
            assert_true(!s || dt_status_code(s) == 65);
            refused += s != NULL;
            dt_status_free(s);
            s = dt_safetensors_read(PATH, &t.model, digest.hex);
            assert_int_equal(dt_status_code(s), 65);
            dt_status_free(s);
            flip(PATH, i, (unsigned char)(1 << bit));
        }
    assert_true(refused > st.st_size); /* the header is most of it */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_types_and_ranks_come_back, set_up),
        cmocka_unit_test_setup(test_the_layout_is_the_documented_one, set_up),
        cmocka_unit_test_setup(test_no_tensors_is_a_file_too, set_up),
        cmocka_unit_test_setup(test_differences_name_the_tensor, set_up),
        cmocka_unit_test_setup(test_counters_of_draws_are_no_weights, set_up),
        cmocka_unit_test_setup(test_another_digest_is_refused, set_up),
        cmocka_unit_test_setup(test_malformed_headers_are_named, set_up),
        cmocka_unit_test_setup(test_metadata_of_strings_is_read_over, set_up),
        cmocka_unit_test_setup(test_lengths_are_compared_with_the_file, set_up),
        cmocka_unit_test_setup(test_other_formats_are_named, set_up),
        cmocka_unit_test_setup(test_files_that_are_none_are_refused, set_up),
        cmocka_unit_test_setup(test_deep_nesting_is_refused, set_up),
        cmocka_unit_test_setup(test_heavy_headers_are_refused, set_up),
        cmocka_unit_test_setup(test_100000_empty_tensors_take_less_than_two_seconds, set_up),
        cmocka_unit_test_setup(test_any_changed_byte_is_survived, set_up),
    };
    return cmocka_run_group_tests_name("format/safetensors", tests, NULL, NULL);
}
