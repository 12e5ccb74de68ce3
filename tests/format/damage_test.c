/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of weights that somebody damaged, region by region: each is an error of exit code 65, and
 * the reader is still there to say so. Under the address sanitizer that means that no byte outside
 * the file's was looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "format/contents.h"
#include "../support/status.h"

#define DIRECTORY "build/tmp/format-damage"

static float kernel[6] = {1, 2, 3, 4, 5, 6}, bias[2] = {7, 8};

static dt_arrays two_arrays(void) {
    static const int64_t sizes[] = {3, 2};
    static dt_named_view array[2];
    array[0] = (dt_named_view){"dense/kernel", dt_type_of(DT_FLOAT32, 2, sizes), kernel};
    array[1] = (dt_named_view){"dense/bias", dt_type_of(DT_FLOAT32, 1, sizes + 1), bias};
    return (dt_arrays){2, array};
}

static void write_bytes(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* The exit code that reading it gives; 0: it is fine. */
static int read_all(const char *path) {
    float w[6], b[2];
    dt_arrays a = two_arrays();
    dt_named_view into[2] = {a.array[0], a.array[1]};
    into[0].data = w;
    into[1].data = b;
    const dt_arrays wanted = {2, into};
    dt_status *s = dt_weights_read(&(dt_weights_request){.path = path, .arrays = &wanted});
    int code = s ? dt_status_code(s) : 0;
    dt_status_free(s);
    return code;
}

/* ---- headers that lie ---- */

#define TENSOR(offsets)                                                                            \
    "{\"dense/bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" offsets "}}"
static const struct lie {
    const char *what;
    uint64_t length; /* of the header, as told; 0: the true one */
    const char *header;
    size_t data;
} lies[] = {
    {"nothing", 1, "", 0},
    {"a length beyond the file", 1000000, TENSOR("[0,8]"), 8},
    {"a length of 2^63", (uint64_t)1 << 63, TENSOR("[0,8]"), 8},
    {"a length of 2^64 - 1", UINT64_MAX, TENSOR("[0,8]"), 8},
    {"no JSON", 0, "{\"dense/bias\":", 8},
    {"a list", 0, "[]", 0},
    {"a key twice", 0,
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"a\":{\"dtype\":\"F32\","
     "\"shape\":[2],\"data_offsets\":[0,8]}}",
     8},
    {"an end before the beginning", 0, TENSOR("[8,0]"), 8},
    {"an end beyond the file", 0, TENSOR("[0,16]"), 8},
    {"offsets that are negative", 0, TENSOR("[-8,0]"), 8},
    {"offsets that overflow", 0, TENSOR("[0,9223372036854775807]"), 8},
    {"offsets that are no integers", 0, TENSOR("[0,8.0]"), 8},
    {"bytes of nobody", 0, TENSOR("[0,8]"), 12},
    {"a gap", 0, TENSOR("[4,12]"), 12},
    {"two tensors in one place", 0,
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\","
     "\"shape\":[2],\"data_offsets\":[4,12]}}",
     12},
    {"a shape that overflows", 0,
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}", 8},
    {"a shape that is negative", 0,
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8},
    {"nine dimensions", 0,
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", 8},
    {"a dtype of nobody", 0, "{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8},
    {"metadata that are no strings", 0,
     "{\"__metadata__\":{\"a\":1},\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
     8},
    {"a name that is a path", 0,
     "{\"../../x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8},
};

static void test_headers_that_lie(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        char bytes[2048] = {0};
        uint64_t n = strlen(lies[i].header), length = lies[i].length ? lies[i].length : n;
        memcpy(bytes, &length, 8);
        memcpy(bytes + 8, lies[i].header, n);
        write_bytes(DIRECTORY "/lie.safetensors", bytes, 8 + n + lies[i].data);
        int code = read_all(DIRECTORY "/lie.safetensors");
        if (code != 65) print_error("%s: exit code %d\n", lies[i].what, code);
        assert_int_equal(code, 65);
    }
}

/* ---- every length, every byte ---- */

static void damage(const char *path) {
    dt_str whole = {0};
    const char *bad = DIRECTORY "/bad";
    OK(dt_file_read(path, 1 << 20, &whole));
    assert_int_equal(read_all(path), 0);
    for (size_t n = 0; n < whole.size; n++) {
        write_bytes(bad, whole.data, n);
        assert_int_equal(read_all(bad), 65);
    }
    for (size_t i = 0; i < whole.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            whole.data[i] = (char)(whole.data[i] ^ 1 << bit);
            write_bytes(bad, whole.data, whole.size);
            int code = read_all(bad);
            if (code != 65 && code != 0)
                print_error("%s: byte %zu, bit %d: exit code %d\n", path, i, bit, code);
            assert_true(code == 65 || code == 0);
            whole.data[i] = (char)(whole.data[i] ^ 1 << bit);
        }
    dt_str_release(&whole);
}

/* A safetensors file has no checksum of its own: other bits in its data are other weights. */
static void test_safetensors(void **state) {
    dt_arrays a = two_arrays();
    (void)state;
    OK(dt_safetensors_export(DIRECTORY "/a.safetensors", &a, NULL, 0));
    damage(DIRECTORY "/a.safetensors");
}

/* A ZIP archive has dates and versions that mean nothing; what is read has a checksum. */
static void test_npz(void **state) {
    dt_arrays a = two_arrays();
    (void)state;
    OK(dt_npz_write(DIRECTORY "/a.npz", &a));
    damage(DIRECTORY "/a.npz");
}

static int set_up(void **state) {
    (void)state;
    OK(dt_dir_make(DIRECTORY));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers_that_lie),
        cmocka_unit_test(test_safetensors),
        cmocka_unit_test(test_npz),
    };
    return cmocka_run_group_tests_name("format/damage", tests, set_up, NULL);
}
