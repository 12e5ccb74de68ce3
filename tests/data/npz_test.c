/* SPDX-License-Identifier: Apache-2.0 */
/* NPZ archives that NumPy 2.4.6 wrote (tests/golden/data): every member's values, and what becomes
 * of damaged ones. */
#define _GNU_SOURCE /* memmem */
#define HERE "build/tmp/data-npz"
#include "files.h"

#define GOLDEN "tests/golden/data/"

/* Array k has at index i of C's order the value (7 i + k) mod 50. */
static const struct {
    const char *name;
    dt_type type;
} arrays[] = {
    {"f32", {.dtype = DT_FLOAT32, .rank = 3, .dim = {6, 2, 3}}},
    {"f32_fortran", {.dtype = DT_FLOAT32, .rank = 3, .dim = {6, 2, 3}}},
    {"f64_fortran", {.dtype = DT_FLOAT64, .rank = 2, .dim = {6, 4}}},
    {"f16", {.dtype = DT_FLOAT32, .rank = 2, .dim = {6, 2}}},
    {"i8", {.dtype = DT_INT64, .rank = 1, .dim = {6}}},
    {"u16_big_fortran", {.dtype = DT_INT32, .rank = 3, .dim = {6, 5, 2}}},
    {"u1", {.dtype = DT_UINT8, .rank = 2, .dim = {6, 3}}},
    {"i32_big", {.dtype = DT_INT32, .rank = 2, .dim = {6, 3}}},
};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

static double value_at(const dt_type *t, const void *data, int64_t i) {
    switch (t->dtype) {
    case DT_UINT8: return ((const uint8_t *)data)[i];
    case DT_INT32: return ((const int32_t *)data)[i];
    case DT_INT64: return (double)((const int64_t *)data)[i];
    case DT_FLOAT32: return (double)((const float *)data)[i];
    default: return ((const double *)data)[i];
    }
}

static bool is_array(const dt_type *t, const void *data, int k) {
    bool same = dt_type_equal(t, &arrays[k].type);
    for (int64_t i = 0; same && i < dt_type_elements(t); i++)
        same = value_at(t, data, i) == (double)((7 * i + k) % 50);
    return same;
}

static void test_members(void **state) {
    (void)state;
    static const char *const files[] = {"stored", "deflated", "streamed"};
    for (int f = 0; f < 3; f++)
        for (int k = 0; k < ARRAYS; k++) {
            dt_dataset *d = NULL;
            dt_type t;
            OK(dt_dataset_open(&d,
                               "{format: npz, train: {%s: " GOLDEN "%s.npz, other: " GOLDEN
                               "%s.npz/%s}, global_batch_size: 2}",
                               arrays[k].name, files[f], files[f], arrays[k].name));
            for (int e = 0; e < 2; e++) {
                void *data = read_all(d, e, &t);
                if (!is_array(&t, data, k))
                    fail_msg("%s.npz: '%s' has other values", files[f], arrays[k].name);
                free(data);
            }
            dt_dataset_unref(d);
        }
}

static dt_status *open_members(const char *train) {
    dt_dataset *d = NULL;
    dt_status *s = dt_dataset_open(&d, "{format: npy, train: {%s}, global_batch_size: 2}", train);
    dt_dataset_unref(d);
    return s;
}

static void test_members_that_are_not_there(void **state) {
    (void)state;
    expect_fault("member", open_members("x: " GOLDEN "stored.npz"), DT_E_DATA_FILE, 65,
                 "stored.npz: no member 'x'; it has: f32, f32_fortran, f64_fortran, f16, i8, "
                 "u16_big_fortran, u1, i32_big");
    dt_status *alone = open_members("x: " GOLDEN "stored.npz");
    assert_string_equal(dt_status_suggestion(alone),
                        "write a member behind the file, such as " GOLDEN "stored.npz/f32");
    dt_status_free(alone);
    expect_fault("named", open_members("x: " GOLDEN "stored.npz/f3"), DT_E_DATA_FILE, 65,
                 "stored.npz: no member 'f3'; it has: f32");
    expect_fault("archive", open_members("x: nope.npz/f3"), DT_E_NO_INPUT, 66,
                 "nope.npz: no such file");
}

/* ---- damage ---- */

/* Whether an archive's members are those of the golden file: 1, or refused: 0; anything else
 * fails. */
static int open_damaged(const char *bytes, size_t n, size_t at) {
    dt_dataset *d = NULL;
    dt_type t;
    write_file("x.npz", bytes, n);
    dt_status *s = dt_dataset_open(&d, "{format: npz, train: {f32_fortran: " HERE
                                       "/x.npz, i8: " HERE "/x.npz}, global_batch_size: 2}");
    if (s) {
        if (dt_status_code(s) != 65)
            fail_msg("byte %zu: %s, exit code %d", at, dt_status_text(s), dt_status_code(s));
        dt_status_free(s);
        return 0;
    }
    for (int e = 0; e < 2; e++) {
        void *data = read_all(d, e, &t);
        if (!is_array(&t, data, e ? 4 : 1)) fail_msg("byte %zu: other values", at);
        free(data);
    }
    dt_dataset_unref(d);
    return 1;
}

/* Any byte changed, and any cut: refused, or of no consequence; never other values. */
static void test_damaged_archives(void **state) {
    (void)state;
    static const char *const files[] = {GOLDEN "stored.npz", GOLDEN "deflated.npz",
                                        GOLDEN "streamed.npz"};
    for (int f = 0; f < 3; f++) {
        dt_str s = {0};
        int refused = 0;
        OK(dt_file_read(files[f], 1 << 20, &s));
        for (size_t i = 0; i < s.size; i += f ? 3 : 1) {
            s.data[i] = (char)~s.data[i];
            refused += !open_damaged(s.data, s.size, i);
            s.data[i] = (char)~s.data[i];
        }
        for (size_t n = 0; n < s.size; n += 7) assert_int_equal(open_damaged(s.data, n, n), 0);
        assert_in_range(refused, 100, s.size);
        dt_str_release(&s);
    }
}

/* A deflated member may not grow beyond what its directory says, nor may what it says be allocated
 * unseen. */
static void test_sizes_that_lie(void **state) {
    (void)state;
    dt_str s = {0};
    OK(dt_file_read(GOLDEN "deflated.npz", 1 << 20, &s));
    char *entry = memmem(s.data, s.size, "PK\1\2", 4);
    assert_non_null(entry);
    memcpy(entry + 24, "\xf0\xff\xff\xff", 4); /* its size: 4 GiB */
    write_str("x.npz", &s);
    expect_fault("size", open_members("f32: " HERE "/x.npz"), DT_E_GZIP_DAMAGED, 65,
                 "x.npz: deflate length mismatch");
}

/* Which of the two is meant would depend on the reader. */
static void test_members_of_one_name(void **state) {
    (void)state;
    dt_str s = {0};
    int renamed = 0;
    OK(dt_file_read(GOLDEN "stored.npz", 1 << 20, &s));
    for (char *at; (at = memmem(s.data, s.size, "u1.npy", 6)); renamed++) memcpy(at, "i8.npy", 6);
    assert_int_equal(renamed, 2); /* the member's header, and its entry in the directory */
    write_str("x.npz", &s);
    expect_fault("twice", open_members("i8: " HERE "/x.npz"), DT_E_DATA_FILE, 65,
                 "x.npz: has 'i8' twice");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_members_that_are_not_there),
        cmocka_unit_test(test_damaged_archives),
        cmocka_unit_test(test_sizes_that_lie),
        cmocka_unit_test(test_members_of_one_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
