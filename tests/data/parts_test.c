/* SPDX-License-Identifier: Apache-2.0 */
/* What every format must do alike: validation_split keeps the last part of train's rows, each row
 * once; last_batch drops, keeps or pads; take. */
#define _GNU_SOURCE
#define HERE "build/tmp/data-parts"
#include "files.h"
#include "records.h"

#include "pictures.h"

enum { EXAMPLES = 10, BATCH = 4 };

/* ---- ten examples in every format ---- */

static void write_arrays(void) {
    float x[EXAMPLES * 2];
    for (int i = 0; i < EXAMPLES * 2; i++) x[i] = (float)i;
    write_npy("x.npy", "<f4", "(10, 2)", x, sizeof x);
    write_idx("x.idx", 2, (uint32_t[]){EXAMPLES, 3});
}

static void write_records(void) {
    dt_str csv = {0}, records = {0};
    dt_str_puts(&csv, "x,s\n");
    for (int i = 0; i < EXAMPLES; i++) {
        dt_str features = {0};
        const float x[2] = {(float)i, (float)-i};
        dt_str_printf(&csv, "%d,t%d\n", i, i % 3);
        add_floats(&features, "x", x, 2);
        add_example(&records, &features);
    }
    write_str("x.csv", &csv);
    write_str("x.tfrecord", &records);
}

static void write_pictures(void) {
    for (int i = 0; i < EXAMPLES; i++) {
        char name[64];
        dt_str png = draw_png(&forms[5], i);
        snprintf(name, sizeof name, "pictures/%c/%d.png", 'a' + i % 2, i);
        OK(dt_dir_make(i % 2 ? HERE "/pictures/b" : HERE "/pictures/a"));
        write_str(name, &png);
    }
}

static void write_texts(void) {
    OK(dt_dir_make(HERE "/texts/a"));
    OK(dt_dir_make(HERE "/texts/b"));
    for (int i = 0; i < EXAMPLES; i++) {
        char name[64], text[16];
        snprintf(name, sizeof name, "texts/%c/%d.txt", 'a' + i % 2, i);
        snprintf(text, sizeof text, "t%d", i);
        write_file(name, text, strlen(text));
    }
}

typedef struct format_case {
    const char *name, *keys;
    /* classes are spread over the examples, so that a split has some of each: another order */
    bool spread;
} format_case;

static const format_case formats[] = {
    {"npy", "format: npy, train: {x: " HERE "/x.npy}", false},
    {"idx", "format: idx, train: {x: " HERE "/x.idx}", false},
    {"csv", "format: csv, train: " HERE "/x.csv, element: {x: {column: x}}", false},
    {"csv, text",
     "format: csv, train: " HERE
     "/x.csv, element: {x: {column: s, dtype: string}}, map: {x: [string_lookup]}",
     false},
    {"tfrecord", "format: tfrecord, train: " HERE "/x.tfrecord, element: {x: {shape: [2]}}", false},
    {"image_folder",
     "format: image_folder, train: " HERE
     "/pictures, element: {x: {shape: [5, 7, 3], dtype: uint8}, y: {num_classes: 2}}",
     true},
    {"text_folder",
     "format: text_folder, train: " HERE "/texts, element: {x: {dtype: string}, y: {num_classes: "
     "2}}, map: {x: [string_lookup: {vocabulary: [t0, t1, t2, t3, t4, t5, t6, t7, t8, t9]}]}",
     true},
    {"text", "format: text, train: " HERE "/x.txt, element: {tokens: {shape: [3], dtype: int32}}",
     false},
    {"synthetic",
     "format: synthetic, examples: 10, element: {x: {shape: [2]}, y: {num_classes: 3}}", false},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static int write_all(void **state) {
    (void)state;
    OK(dt_dir_make(HERE));
    write_arrays();
    write_records();
    write_pictures();
    write_texts();
    write_file("x.txt", "the cat sat on the mat. dog sits", 31);
    return 0;
}

/* ---- rows ---- */

/* Every row of a part, all elements of it one after the other; and the rows of each batch. */
static void take_part(dt_dataset *d, dt_part part, dt_last_batch last, dt_str *rows,
                      int64_t *batches, int *n) {
    dt_iterator *f = NULL;
    dt_example b;
    *n = 0;
    OK(dt_iterator_open_batches(&f, d,
                                &(dt_batch_options){.part = part, .batch = BATCH, .last = last}));
    while (OK(dt_iterator_next_batch(f, &b)), b.rows > 0) {
        batches[(*n)++] = b.rows;
        for (int64_t i = 0; i < b.rows; i++)
            for (int e = 0; e < b.n; e++) {
                const size_t bytes = (size_t)(dt_type_bytes(&b.tensor[e]->type) / b.rows);
                dt_str_add(rows, b.tensor[e]->data + (size_t)i * bytes, bytes);
            }
    }
    dt_iterator_close(f);
}

static dt_dataset *open_format(const format_case *c, const char *more) {
    dt_dataset *d = NULL;
    OK(dt_note(dt_dataset_open(&d, "{%s, global_batch_size: 4%s}", c->keys, more), "%s", c->name));
    return d;
}

static int compare_rows(const void *a, const void *b, void *size) {
    return memcmp(a, b, *(const size_t *)size);
}

static void test_split(void **state) {
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        dt_dataset *all = open_format(&formats[i], ""),
                   *cut = open_format(&formats[i], ", validation_split: 0.25");
        dt_str want = {0}, got = {0};
        int64_t batches[8];
        int n;
        assert_int_equal(dt_dataset_count(all, DT_PART_TRAIN), EXAMPLES);
        assert_int_equal(dt_dataset_count(all, DT_PART_VALIDATION), 0);
        assert_int_equal(dt_dataset_count(cut, DT_PART_TRAIN), 7); /* floor(10 * 0.75) */
        assert_int_equal(dt_dataset_count(cut, DT_PART_VALIDATION), 3);
        take_part(all, DT_PART_TRAIN, DT_LAST_PARTIAL, &want, batches, &n);
        take_part(cut, DT_PART_TRAIN, DT_LAST_PARTIAL, &got, batches, &n);
        take_part(cut, DT_PART_VALIDATION, DT_LAST_PARTIAL, &got, batches, &n);
        assert_int_equal(got.size, want.size);
        size_t size = want.size / EXAMPLES;
        if (formats[i].spread) {
            qsort_r(want.data, EXAMPLES, size, compare_rows, &size);
            qsort_r(got.data, EXAMPLES, size, compare_rows, &size);
        }
        if (memcmp(got.data, want.data, want.size) != 0)
            fail_msg("%s: the parts are not the whole", formats[i].name);
        dt_str_release(&want);
        dt_str_release(&got);
        dt_dataset_unref(all);
        dt_dataset_unref(cut);
    }
}

/* Each row once, for every form of a split that has a table; the tables are in the order of the
 * file. Words are numbered by their frequency in training, so their rows may differ. */
static void test_drawn_split(void **state) {
    (void)state;
    static const char *const splits[] = {
        ", validation_split: {fraction: 0.25}",
        ", validation_split: {fraction: 0.25, seed: 7}, num_parallel_calls: 4",
    };
    for (int i = 0; i < FORMATS; i++)
        for (size_t k = 0; k < sizeof splits / sizeof *splits; k++) {
            dt_dataset *all = open_format(&formats[i], ""),
                       *cut = open_format(&formats[i], splits[k]);
            dt_str want = {0}, got = {0};
            int64_t batches[8];
            int n;
            assert_int_equal(dt_dataset_count(cut, DT_PART_TRAIN), 7);
            assert_int_equal(dt_dataset_count(cut, DT_PART_VALIDATION), 3);
            take_part(all, DT_PART_TRAIN, DT_LAST_PARTIAL, &want, batches, &n);
            take_part(cut, DT_PART_TRAIN, DT_LAST_PARTIAL, &got, batches, &n);
            take_part(cut, DT_PART_VALIDATION, DT_LAST_PARTIAL, &got, batches, &n);
            assert_int_equal(got.size, want.size);
            size_t size = want.size / EXAMPLES;
            qsort_r(want.data, EXAMPLES, size, compare_rows, &size);
            qsort_r(got.data, EXAMPLES, size, compare_rows, &size);
            if (!strstr(formats[i].keys, "string_lookup") &&
                memcmp(got.data, want.data, want.size) != 0)
                fail_msg("%s%s: the parts are not the whole", formats[i].name, splits[k]);
            dt_str_release(&want);
            dt_str_release(&got);
            dt_dataset_unref(all);
            dt_dataset_unref(cut);
        }
}

/* Of 12 rows in order, two of which have a class of their own, and one another. */
static void test_stratified_split(void **state) {
    (void)state;
    static const struct {
        const char *split;
        float rows[4];
        int n;
    } cases[] = {
        {"0.25", {9, 10, 11}, 3},
        {"{fraction: 0.25, shuffle: false}", {9, 10, 11}, 3},
        {"{fraction: 0.25, shuffle: false, stratify: y}", {7, 8, 10}, 3},
        {"{fraction: 0.34, shuffle: false, stratify: y}", {5, 6, 7}, 5},
        /* a class keeps an example to train on */
        {"{fraction: 0.9, shuffle: false, stratify: y}", {1, 2, 3}, 9},
    };
    static const char rows_of_classes[] =
        "x,y\n0,a\n1,a\n2,a\n3,a\n4,a\n5,a\n6,a\n7,a\n8,a\n9,b\n10,b\n11,c\n";
    write_file("y.csv", rows_of_classes, sizeof rows_of_classes - 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_dataset *d = NULL;
        dt_str rows = {0};
        int64_t batches[8];
        int n;
        OK(dt_dataset_open(&d,
                           "{format: csv, train: " HERE "/y.csv, element: {x: {column: x}, y: "
                           "{column: y, vocabulary: [a, b, c]}}, validation_split: %s, "
                           "global_batch_size: 4}",
                           cases[i].split));
        assert_int_equal(dt_dataset_count(d, DT_PART_VALIDATION), cases[i].n);
        take_part(d, DT_PART_VALIDATION, DT_LAST_PARTIAL, &rows, batches, &n);
        for (int k = 0; k < (cases[i].n < 4 ? cases[i].n : 3); k++) {
            float x;
            memcpy(&x, rows.data + (size_t)k * (sizeof(float) + sizeof(int32_t)), sizeof x);
            if (x != cases[i].rows[k]) fail_msg("%s: row %d is %g", cases[i].split, k, (double)x);
        }
        dt_str_release(&rows);
        dt_dataset_unref(d);
    }
}

/* pad: as partial here, the step fills up where shapes are static. */
static void test_last_batch(void **state) {
    (void)state;
    static const struct {
        dt_last_batch last;
        int n;
        int64_t rows[3];
    } cases[] = {
        {DT_LAST_PARTIAL, 3, {4, 4, 2}},
        {DT_LAST_DROP, 2, {4, 4}},
        {DT_LAST_PAD, 3, {4, 4, 2}},
    };
    for (int i = 0; i < FORMATS; i++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            dt_dataset *d = open_format(&formats[i], "");
            dt_str rows = {0};
            int64_t batches[8];
            int n;
            take_part(d, DT_PART_TRAIN, cases[k].last, &rows, batches, &n);
            assert_int_equal(n, cases[k].n);
            assert_int_equal(n, dt_steps_per_epoch(EXAMPLES, BATCH, cases[k].last));
            for (int b = 0; b < n; b++) assert_int_equal(batches[b], cases[k].rows[b]);
            dt_str_release(&rows);
            dt_dataset_unref(d);
        }
}

/* The first examples, of which the split keeps the last part. */
static void test_take_and_split(void **state) {
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        dt_dataset *d = open_format(&formats[i], ", take: 6, validation_split: 0.5");
        assert_int_equal(dt_dataset_count(d, DT_PART_TRAIN), 3);
        assert_int_equal(dt_dataset_count(d, DT_PART_VALIDATION), 3);
        dt_dataset_unref(d);
    }
}

/* One fault in a map step is one error, also where two parts go through it. */
static void test_map_faults_are_told_once(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_status *s =
        dt_dataset_open(&d, "{format: synthetic, examples: 9, element: {x: {shape: [2]}}, map: {x: "
                            "[normalize: {mean: [1, 2, 3], variance: 1}]}, "
                            "validation_split: 0.3, global_batch_size: 2}");
    assert_non_null(s);
    assert_non_null(strstr(dt_status_text(s), "'mean' has 3 numbers"));
    assert_null(dt_status_next(s));
    dt_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_split),
                                       cmocka_unit_test(test_drawn_split),
                                       cmocka_unit_test(test_stratified_split),
                                       cmocka_unit_test(test_last_batch),
                                       cmocka_unit_test(test_take_and_split),
                                       cmocka_unit_test(test_map_faults_are_told_once)};
    return cmocka_run_group_tests_name("parts of every format", tests, write_all, NULL);
}
