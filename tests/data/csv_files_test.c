/* SPDX-License-Identifier: Apache-2.0 */
/* Whole CSV files as jobs use them: several files, random tables, and tables whose values do not fit
 * into memory. */
#define HERE "build/tmp/data-csv-files"
#include "files.h"

#include "base/random.h"
#include "base/sanitizer.h"

/* ---- several files ---- */

static void test_files_with_columns_in_other_orders(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_type t;
    dt_str z = {0};
    write_file("p-0.csv", "a,b\n0,0\n1,1\n", 12);
    add_gzip(&z, "b,a,c\n2,2,x\n", 12);
    write_str("p-1.csv", &z);
    OK(dt_dataset_open(
        &d, "{format: csv, train: '" HERE
            "/p-*.csv', element: {x: {columns: [b, a], dtype: int64}}, global_batch_size: 2}"));
    int64_t *x = read_all(d, 0, &t);
    assert_int_equal(t.dim[0], 3);
    for (int i = 0; i < 6; i++) assert_int_equal(x[i], i / 2);
    free(x);
    dt_dataset_unref(d);
    d = NULL;
    write_file("p-1.csv", "a\n1\n", 4);
    expect_fault(
        "other columns",
        dt_dataset_open(&d, "{format: csv, train: '" HERE
                            "/p-*.csv', element: {a: {column: a}, b: {column: b, dtype: int32}}"
                            ", global_batch_size: 2}"),
        DT_E_DATA_FILE, 65, "p-1.csv: no column 'b'; columns: a");
}

/* Values of x in the examples of a part, all of which are (1, 2, 3). */
static void expect_in_order(dt_dataset *d, dt_part part) {
    dt_iterator *f = NULL;
    dt_example b;
    OK(dt_iterator_open_batches(&f, d, &(dt_batch_options){.part = part, .batch = 2}));
    OK(dt_iterator_next_batch(f, &b));
    const float *x = (const float *)b.tensor[0]->data;
    assert_int_equal(b.rows, 2);
    for (int i = 0; i < 6; i++) assert_true((int)x[i] == i % 3 + 1);
    dt_iterator_close(f);
}

/* A file of another part may have columns in another order, and more of them. */
static void test_patterns_are_those_of_train(void **state) {
    (void)state;
    static const char *const patterns[] = {"{all_but: [y]}", "[\"x*\"]", "[x1..x3]"};
    write_file("train.csv", "x1,x2,x3,y\n1,2,3,0\n1,2,3,0\n", 27);
    write_file("test.csv", "y,x3,id,x2,x1,x9\n0,3,7,2,1,9\n0,3,7,2,1,9\n", 41);
    for (int i = 0; i < 3; i++) {
        dt_dataset *d = NULL;
        OK(dt_dataset_open(&d,
                           "{format: csv, train: " HERE "/train.csv, test: " HERE
                           "/test.csv, element: {x: {columns: %s}}, global_batch_size: 2}",
                           patterns[i]));
        expect_in_order(d, DT_PART_TRAIN);
        expect_in_order(d, DT_PART_TEST);
        dt_dataset_unref(d);
    }
}

/* ---- random tables ---- */

static void put_number(dt_str *s, double x, uint32_t random) {
    const bool quoted = random % 3 == 0;
    dt_str_puts(s, quoted ? "\"" : random % 5 == 0 ? " " : "");
    dt_str_double(s, x);
    dt_str_puts(s, quoted ? "\"" : "");
}

/* Numbers of all forms, texts with anything in them between: what was written is read. */
static void test_random_tables(void **state) {
    (void)state;
    static const char *const texts[] = {"",    "\"\"",         "\"a,\"\"b\"\"\"", "\"\r\n\n\"",
                                        "x y", "\"\xc3\xa9\"", "\"\"\"\""};
    enum { ROWS = 50 };
    for (uint64_t seed = 1; seed <= 20; seed++) {
        dt_str s = {0};
        double want[ROWS][2];
        dt_random r = dt_random_stream(seed, "csv", 0);
        dt_dataset *d = NULL;
        dt_type t;
        dt_str_puts(&s, seed % 2 ? "u,text,v\r\n" : "\xef\xbb\xbfu,text,v\n");
        for (int i = 0; i < ROWS; i++) {
            for (int k = 0; k < 2; k++)
                want[i][k] = ((double)dt_random_u32(&r) - 2147483648.0) * (k ? 1e-7 : 1e20);
            put_number(&s, want[i][0], dt_random_u32(&r));
            dt_str_printf(&s, ",%s,", texts[dt_random_u32(&r) % 7]);
            put_number(&s, want[i][1], dt_random_u32(&r));
            dt_str_puts(&s, dt_random_u32(&r) % 2 ? "\r\n" : "\n");
        }
        write_str("r.csv", &s);
        OK(dt_dataset_open(
            &d, "{format: csv, train: " HERE
                "/r.csv, element: {x: {columns: [u, v], dtype: float64}}, global_batch_size: 2}"));
        double *x = read_all(d, 0, &t);
        if (t.dim[0] != ROWS || memcmp(x, want, sizeof want) != 0)
            fail_msg("seed %llu: other values than were written", (unsigned long long)seed);
        free(x);
        dt_dataset_unref(d);
    }
}

/* ---- values that are not kept ---- */

/* A column named often makes a small file many values: 272 MiB of them, so that examples are read
 * from their places. */
static void test_large_tables_are_read_from_their_places(void **state) {
    (void)state;
#if DT_ASAN || DT_TSAN
    skip(); /* a minute */
#endif
    enum { ROWS = 17000, TIMES = 2048 };
    dt_str s = {0}, columns = {0};
    dt_dataset *d = NULL;
    dt_iterator *f = NULL;
    dt_example b;
    for (int i = 0; i < TIMES; i++) dt_str_puts(&columns, i ? ",u" : "u");
    dt_str_puts(&s, "u,v\n");
    for (int i = 0; i < ROWS; i++) dt_str_printf(&s, "%d,\"%s\"\n", i, i % 3 ? "" : "\n\n");
    write_str("large.csv", &s);
    OK(dt_dataset_open(&d,
                       "{format: csv, train: " HERE
                       "/large.csv, element: {x: {columns: [%s], dtype: int64}}, shuffle: true, "
                       "global_batch_size: 2}",
                       dt_str_text(&columns)));
    OK(dt_iterator_open_batches(
        &f, d, &(dt_batch_options){.part = DT_PART_TRAIN, .batch = 256, .shuffle = true}));
    uint8_t seen[ROWS] = {0};
    for (int i = 0; i < 8; i++) {
        OK(dt_iterator_next_batch(f, &b));
        for (int64_t r = 0; r < b.rows; r++) {
            const int64_t *x = (const int64_t *)b.tensor[0]->data + r * TIMES;
            assert_true(x[0] >= 0 && x[0] < ROWS && x[TIMES - 1] == x[0] && !seen[x[0]]++);
        }
    }
    dt_iterator_close(f);
    dt_dataset_unref(d);
    dt_str_release(&columns);
}

/* Of several files the one is named in which the label stands, with its record there. */
static void test_label_in_a_later_file(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    write_file("l-0.csv", "y\n0\n1\n", 6);
    write_file("l-1.csv", "y\n1\n", 4);
    write_file("l-2.csv", "y\n0\n7\n", 6);
    OK(dt_dataset_open(
        &d, "{format: csv, train: '" HERE
            "/l-*.csv', element: {y: {column: y, dtype: int32}}, global_batch_size: 2}"));
    expect_fault("label", dt_dataset_check_labels(d, 0, 2), DT_E_LABEL_RANGE, 65,
                 HERE "/l-2.csv: label 7 at record 2 is outside [0, 2)");
    dt_dataset_unref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_label_in_a_later_file),
        cmocka_unit_test(test_files_with_columns_in_other_orders),
        cmocka_unit_test(test_patterns_are_those_of_train),
        cmocka_unit_test(test_random_tables),
        cmocka_unit_test(test_large_tables_are_read_from_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
