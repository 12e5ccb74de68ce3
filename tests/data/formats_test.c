/* SPDX-License-Identifier: Apache-2.0 */
/* What good files give: every type, byte order and rank of IDX and NPY, compressed or not, and
 * parts of a data set. */
#define HERE "build/tmp/data-formats"
#include "files.h"

#include <math.h>

/* ---- values ---- */

static double value_at(const dt_type *t, const void *data, int64_t i) {
    switch (t->dtype) {
    case DT_BOOL:
    case DT_UINT8: return ((const uint8_t *)data)[i];
    case DT_INT8: return ((const int8_t *)data)[i];
    case DT_INT16: return ((const int16_t *)data)[i];
    case DT_INT32: return ((const int32_t *)data)[i];
    case DT_INT64: return (double)((const int64_t *)data)[i];
    case DT_FLOAT32: return (double)((const float *)data)[i];
    default: return ((const double *)data)[i];
    }
}

/* The bytes of v as a file has them: `kind` i, u, f or b, of `size` bytes, big-endian or not. */
static void add_value(dt_str *out, char kind, int size, bool big, double v) {
    unsigned char b[8];
    float f = (float)v;
    int64_t i = (int64_t)v;
    if (kind == 'f' && size == 4) memcpy(b, &f, 4);
    else if (kind == 'f') memcpy(b, &v, 8);
    else memcpy(b, &i, 8); /* the first bytes of a little-endian number are the number */
    for (int k = 0; k < size; k++) dt_str_putc(out, (char)b[big ? size - 1 - k : k]);
}

static void check_values(const char *what, dt_dtype dtype, const double *expected, int n) {
    dt_dataset *d = NULL;
    dt_type t;
    OK(dt_dataset_open(&d, "%s", what));
    void *data = read_all(d, 0, &t);
    assert_int_equal(t.dtype, dtype);
    assert_int_equal(dt_type_elements(&t), n);
    for (int i = 0; i < n; i++)
        if (value_at(&t, data, i) != expected[i])
            fail_msg("%s: value %d is %g, expected %g", what, i, value_at(&t, data, i),
                     expected[i]);
    free(data);
    dt_dataset_unref(d);
}

typedef struct type_case {
    char kind;
    int size;
    int code; /* of IDX, 0: none */
    dt_dtype dtype;
    double values[4];
} type_case;

static const type_case types[] = {
    {'b', 1, 0, DT_BOOL, {0, 1, 1, 0}},
    {'u', 1, 0x08, DT_UINT8, {0, 1, 200, 255}},
    {'i', 1, 0x09, DT_INT8, {0, 1, -128, 127}},
    {'i', 2, 0x0b, DT_INT16, {0, 1, -32768, 32767}},
    {'u', 2, 0, DT_INT32, {0, 1, 40000, 65535}},
    {'i', 4, 0x0c, DT_INT32, {0, 1, -2147483648.0, 2147483647}},
    {'u', 4, 0, DT_INT64, {0, 1, 3e9, 4294967295.0}},
    {'i', 8, 0, DT_INT64, {0, 1, -4611686018427387904.0, 1099511627776.0}},
    {'u', 8, 0, DT_INT64, {0, 1, 4611686018427387904.0, 1099511627776.0}},
    {'f', 4, 0x0d, DT_FLOAT32, {0, 1, -0.5, 65536.25}},
    {'f', 8, 0x0e, DT_FLOAT64, {0, 1, -0.1, 1e300}},
};
enum { TYPES = sizeof types / sizeof *types };

static void test_npy_types_and_byte_orders(void **state) {
    (void)state;
    for (int i = 0; i < TYPES; i++)
        for (int big = 0; big < 2; big++) {
            const type_case *c = &types[i];
            dt_str s = {0};
            char descr[8];
            snprintf(descr, sizeof descr, "%c%c%d",
                     c->size == 1 ? '|'
                     : big        ? '>'
                                  : '<',
                     c->kind, c->size);
            for (int k = 0; k < 4; k++) add_value(&s, c->kind, c->size, big, c->values[k]);
            write_npy("x.npy", descr, "(2, 2)", s.data, s.size);
            dt_str_release(&s);
            check_values("{format: npy, train: {x: " HERE "/x.npy}, global_batch_size: 2}",
                         c->dtype, c->values, 4);
        }
}

static void test_idx_types(void **state) {
    (void)state;
    for (int i = 0; i < TYPES; i++)
        if (types[i].code) {
            dt_str s = idx_header(types[i].code, 2, (uint32_t[]){2, 2});
            for (int k = 0; k < 4; k++)
                add_value(&s, types[i].kind, types[i].size, true, types[i].values[k]);
            write_str("x.idx", &s);
            check_values("{format: idx, train: {x: " HERE "/x.idx}, global_batch_size: 2}",
                         types[i].dtype, types[i].values, 4);
        }
}

/* IEEE half precision: normal, denormal, largest, infinite, not a number. */
static void test_npy_half_precision(void **state) {
    (void)state;
    const uint16_t bits[8] = {0x0000, 0x3c00, 0xc000, 0x3555, 0x0001, 0x83ff, 0x7bff, 0xfc00};
    const double expected[8] = {0, 1, -2, 0.333251953125, 0x1p-24, -0x1.ff8p-15, 65504, -INFINITY};
    write_npy("x.npy", "<f2", "(8,)", bits, sizeof bits);
    check_values("{format: npy, train: {x: " HERE "/x.npy}, global_batch_size: 2}", DT_FLOAT32,
                 expected, 8);
}

/* Bytes other than 0 and 1 in a bool array are true. */
static void test_npy_bools_are_normalised(void **state) {
    (void)state;
    const double expected[4] = {0, 1, 1, 1};
    write_npy("x.npy", "|b1", "(4,)", "\0\1\2\xff", 4);
    check_values("{format: npy, train: {x: " HERE "/x.npy}, global_batch_size: 2}", DT_BOOL,
                 expected, 4);
}

static void test_idx_ranks(void **state) {
    (void)state;
    const uint32_t sizes[8] = {3, 2, 1, 2, 1, 2, 1, 2};
    for (int dims = 1; dims <= 8; dims++) {
        dt_dataset *d = NULL;
        dt_type t;
        write_idx("x.idx", dims, sizes);
        OK(dt_dataset_open(&d, "{format: idx, train: {x: " HERE "/x.idx}, global_batch_size: 2}"));
        const dt_element_spec *e;
        assert_int_equal(dt_dataset_elements(d, &e), 1);
        assert_int_equal(e->type.rank, dims);
        assert_int_equal(e->type.dim[0], DT_BATCH);
        uint8_t *data = read_all(d, 0, &t);
        for (int i = 0; i < dims; i++) assert_int_equal(t.dim[i], sizes[i]);
        for (int64_t i = 0; i < dt_type_elements(&t); i++) assert_int_equal(data[i], i);
        free(data);
        dt_dataset_unref(d);
    }
}

/* More values than are turned at a time, big-endian and widened. */
static void test_many_widened_values(void **state) {
    (void)state;
    enum { ROWS = 300000, COLUMNS = 3 };
    uint16_t *values = malloc(sizeof *values * ROWS * COLUMNS);
    dt_dataset *d = NULL;
    dt_type t;
    assert_non_null(values);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (uint16_t)((i * 1999 & 255) << 8 | (i * 1999 >> 8 & 255));
    write_npy("x.npy", ">u2", "(300000, 3)", values, sizeof *values * ROWS * COLUMNS);
    OK(dt_dataset_open(&d, "{format: npy, train: {x: " HERE "/x.npy}, global_batch_size: 2}"));
    int32_t *data = read_all(d, 0, &t);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        if (data[i] != (i * 1999 & 65535)) fail_msg("value %d is %d", i, data[i]);
    free(data);
    free(values);
    dt_dataset_unref(d);
}

/* ---- gzip ---- */

/* Seen by content, one member or several (D36, D83), cut anywhere. */
static void test_gzip_members(void **state) {
    (void)state;
    dt_str plain = idx_header(8, 2, (uint32_t[]){64, 4});
    double expected[256];
    for (int i = 0; i < 256; i++) {
        dt_str_putc(&plain, (char)i);
        expected[i] = i;
    }
    for (size_t cut = 0; cut < plain.size; cut += 7) {
        dt_str z = {0};
        add_gzip(&z, plain.data, cut);
        add_gzip(&z, plain.data + cut, plain.size - cut);
        write_str("x.idx", &z);
        check_values("{format: idx, train: {x: " HERE "/x.idx}, global_batch_size: 2}", DT_UINT8,
                     expected, 256);
    }
    dt_str_release(&plain);
}

static void test_gzip_npy(void **state) {
    (void)state;
    const float values[4] = {1, 2, 3, 4};
    const double expected[4] = {1, 2, 3, 4};
    dt_str s = npy_header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"),
           z = {0};
    dt_str_add(&s, values, sizeof values);
    add_gzip(&z, s.data, s.size);
    write_str("x.npy.gz", &z);
    dt_str_release(&s);
    check_values("{format: npy, train: {x: " HERE "/x.npy.gz}, global_batch_size: 2}", DT_FLOAT32,
                 expected, 4);
}

/* ---- parts ---- */

static void write_rows(const char *name, int rows) {
    write_idx(name, 1, (uint32_t[]){(uint32_t)rows});
}

static void test_split_counts(void **state) {
    (void)state;
    static const struct {
        int rows;
        const char *split;
        int64_t train;
    } cases[] = {{100, "0.2", 80},  {100, "0.1", 90},   {10, "0.3", 7}, {10, "0.25", 7},
                 {3, "0.5", 1},     {100, "0.9", 10},   {7, "0", 7},    {200, "0.015", 197},
                 {100, "0.07", 93}, {250, "0.004", 249}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_dataset *d = NULL;
        write_rows("x.idx", cases[i].rows);
        OK(dt_dataset_open(&d,
                           "{format: idx, train: {x: " HERE
                           "/x.idx}, validation_split: %s, global_batch_size: 2}",
                           cases[i].split));
        assert_int_equal(dt_dataset_count(d, DT_PART_TRAIN), cases[i].train);
        assert_int_equal(dt_dataset_count(d, DT_PART_VALIDATION), cases[i].rows - cases[i].train);
        assert_int_equal(dt_dataset_examples(d), cases[i].train);
        dt_dataset_unref(d);
    }
}

/* floor(n (1 - f)) for every n and f = 0.01 .. 0.99, checked in integers. */
static void test_split_is_exact(void **state) {
    (void)state;
    for (int n = 20; n <= 10000; n += n < 300 ? 40 : 3233)
        for (int percent = 1; percent < 95; percent++) {
            dt_dataset *d = NULL;
            OK(dt_dataset_open(&d,
                               "{format: synthetic, examples: %d, element: {x: {shape: [1]}}, "
                               "validation_split: %s%d, global_batch_size: 1}",
                               n, percent < 10 ? "0.0" : "0.", percent));
            assert_int_equal(dt_dataset_examples(d), n * (100 - percent) / 100);
            dt_dataset_unref(d);
        }
}

static void test_split_leaves_nothing(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    write_rows("x.idx", 1);
    expect_fault("split",
                 dt_dataset_open(&d, "{format: idx, train: {x: " HERE
                                     "/x.idx}, validation_split: 0.2, global_batch_size: 2}"),
                 DT_E_DATA_EMPTY, 65, "validation_split leaves no examples to train on (1 in all)");
}

/* take comes before the split, repeat after it. */
static void test_take_split_repeat(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_iterator *f = NULL;
    dt_example b;
    write_rows("x.idx", 100);
    OK(dt_dataset_open(
        &d, "{format: idx, train: {x: " HERE
            "/x.idx}, take: 50, validation_split: 0.2, repeat: 3, global_batch_size: 2}"));
    assert_int_equal(dt_dataset_examples(d), 40);
    assert_int_equal(dt_dataset_count(d, DT_PART_TRAIN), 120);
    assert_int_equal(dt_dataset_count(d, DT_PART_VALIDATION), 10);
    OK(dt_iterator_open_batches(&f, d,
                                &(dt_batch_options){.part = DT_PART_VALIDATION, .batch = 10}));
    OK(dt_iterator_next_batch(f, &b));
    assert_int_equal(b.rows, 10);
    for (int i = 0; i < 10; i++) assert_int_equal(((const uint8_t *)b.tensor[0]->data)[i], 40 + i);
    dt_iterator_close(f);
    dt_dataset_unref(d);
}

/* Elements have train's order, in whatever order and type other parts hold them. */
static void test_parts_in_other_order_and_type(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_iterator *f = NULL;
    dt_example b;
    const float x[4] = {0, 51, 102, 255};
    const int64_t y[2] = {1, 0};
    write_idx("x.idx", 2, (uint32_t[]){2, 2});
    write_idx("y.idx", 1, (uint32_t[]){2});
    write_npy("x.npy", "<f4", "(2, 2)", x, sizeof x);
    write_npy("y.npy", "<i8", "(2,)", y, sizeof y);
    OK(dt_dataset_open(
        &d, "{format: npy, train: {x: " HERE "/x.npy, y: " HERE "/y.npy}, validation: {y: " HERE
            "/y.npy, x: " HERE "/x.npy},\n"
            "map: {y: [cast: int32], x: [rescale: {scale: 0.5}]}, global_batch_size: 2}"));
    OK(dt_iterator_open_batches(&f, d,
                                &(dt_batch_options){.part = DT_PART_VALIDATION, .batch = 2}));
    OK(dt_iterator_next_batch(f, &b));
    assert_int_equal(dt_dataset_find(d, "y"), 1);
    assert_int_equal(dt_dataset_find(d, "z"), -1);
    assert_int_equal(b.n, 2);
    assert_int_equal(b.tensor[1]->type.dtype, DT_INT32);
    assert_int_equal(((const int32_t *)b.tensor[1]->data)[0], 1);
    assert_true(((const float *)b.tensor[0]->data)[1] == 25.5F);
    dt_iterator_close(f);
    dt_dataset_unref(d);
}

static void test_handles_are_replaced(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    write_rows("x.idx", 10);
    OK(dt_dataset_open(&d, "{format: idx, train: {x: " HERE "/x.idx}, global_batch_size: 2}"));
    OK(dt_dataset_open(&d, "{format: idx, train: {x: " HERE "/x.idx}, global_batch_size: 3}"));
    assert_int_equal(dt_dataset_batch_size(d), 3);
    dt_dataset_unref(d);
    dt_dataset_unref(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_types_and_byte_orders),
        cmocka_unit_test(test_idx_types),
        cmocka_unit_test(test_npy_half_precision),
        cmocka_unit_test(test_npy_bools_are_normalised),
        cmocka_unit_test(test_idx_ranks),
        cmocka_unit_test(test_many_widened_values),
        cmocka_unit_test(test_gzip_members),
        cmocka_unit_test(test_gzip_npy),
        cmocka_unit_test(test_split_counts),
        cmocka_unit_test(test_split_is_exact),
        cmocka_unit_test(test_split_leaves_nothing),
        cmocka_unit_test(test_take_split_repeat),
        cmocka_unit_test(test_parts_in_other_order_and_type),
        cmocka_unit_test(test_handles_are_replaced),
    };
    return cmocka_run_group_tests_name("formats", tests, NULL, NULL);
}
