/* SPDX-License-Identifier: Apache-2.0 */
/* Drawn data: a pure function of seed, part and index, of the types and shapes asked for, and
 * learnable. */
#define HERE "build/tmp/data-synthetic"
#include "files.h"

#include <math.h>

static dt_dataset *open_seeded(dt_arena *arena, uint64_t seed, const char *keys) {
    dt_source *source = dt_arena_new(arena, dt_source);
    dt_dataset_spec spec;
    dt_dataset *d = NULL;
    dt_tree *tree;
    *source = (dt_source){
        .name = "job.yaml",
        .text = dt_arena_printf(arena, "{format: synthetic, global_batch_size: 8, %s}", keys)};
    source->size = strlen(source->text);
    OK(dt_tree_parse(arena, source, &tree));
    OK(dt_dataset_read(arena, tree, "", seed, &spec));
    OK(dt_dataset_create(&d, &spec));
    return d;
}

#define KEYS                                                                                       \
    "examples: 600, validation: 50, element: {image: {shape: [28, 28], dtype: float32}, label: "   \
    "{num_classes: 10}}"

static void test_types_and_counts(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    const dt_element_spec *e;
    OK(dt_dataset_open(&d, "{format: synthetic, " KEYS ", test: 7, global_batch_size: 8}"));
    assert_int_equal(dt_dataset_count(d, DT_PART_TRAIN), 600);
    assert_int_equal(dt_dataset_count(d, DT_PART_VALIDATION), 50);
    assert_int_equal(dt_dataset_count(d, DT_PART_TEST), 7);
    assert_int_equal(dt_dataset_elements(d, &e), 2);
    assert_string_equal(e[0].name, "image");
    assert_int_equal(e[0].type.rank, 3);
    assert_int_equal(e[0].type.dtype, DT_FLOAT32);
    assert_int_equal(e[1].type.rank, 1);
    assert_int_equal(e[1].type.dtype, DT_INT32);
    OK(dt_dataset_check_labels(d, 1, 10));
    dt_dataset_unref(d);
}

static void *rows_of(uint64_t seed, const char *keys, int element, dt_type *t) {
    dt_arena *arena = dt_arena_create();
    dt_dataset *d = open_seeded(arena, seed, keys);
    void *rows = read_all(d, element, t);
    dt_dataset_unref(d);
    dt_arena_destroy(arena);
    return rows;
}

static void test_same_seed_same_data(void **state) {
    (void)state;
    dt_type t;
    float *a = rows_of(1, KEYS, 0, &t), *b = rows_of(1, KEYS, 0, &t), *c = rows_of(2, KEYS, 0, &t);
    assert_memory_equal(a, b, (size_t)dt_type_bytes(&t));
    assert_memory_not_equal(a, c, (size_t)dt_type_bytes(&t));
    /* More examples do not change the first ones. */
    float *more = rows_of(
        1, "examples: 900, element: {image: {shape: [28, 28]}, label: {num_classes: 10}}", 0, &t);
    assert_memory_equal(a, more, 600 * 784 * sizeof *a);
    assert_memory_not_equal(a, a + 784, 784 * sizeof *a);
    free(a);
    free(b);
    free(c);
    free(more);
}

/* The nearest of ten means of 500 examples names the other 100: the label is in the image. */
static void test_labels_can_be_learnt(void **state) {
    (void)state;
    static double mean[10][784];
    dt_type t;
    float *x = rows_of(3, KEYS, 0, &t);
    int32_t *y = rows_of(3, KEYS, 1, &t);
    int count[10] = {0}, right = 0;
    for (int i = 0; i < 500; i++) {
        count[y[i]]++;
        for (int k = 0; k < 784; k++) mean[y[i]][k] += (double)x[784 * i + k];
    }
    for (int i = 500; i < 600; i++) {
        int best = 0;
        double least = INFINITY;
        for (int c = 0; c < 10; c++) {
            double distance = 0;
            for (int k = 0; k < 784; k++)
                distance += pow((double)x[784 * i + k] - mean[c][k] / count[c], 2);
            best = distance < least ? c : best;
            least = distance < least ? distance : least;
        }
        right += best == y[i];
    }
    for (int c = 0; c < 10; c++) assert_in_range(count[c], 25, 80);
    assert_in_range(right, 95, 100);
    free(x);
    free(y);
}

/* Every dtype, in its range; validation is not training's beginning. */
static void test_all_dtypes(void **state) {
    (void)state;
    for (int k = DT_BOOL; k <= DT_FLOAT64; k++) {
        char keys[160];
        dt_type t;
        snprintf(keys, sizeof keys,
                 "examples: 20, element: {x: {shape: [5, 3], dtype: %s}, y: {shape: [2], "
                 "num_classes: 2}}",
                 dt_dtype_name((dt_dtype)k));
        void *rows = rows_of(1, keys, 0, &t);
        const unsigned char *bytes = rows;
        int different = 0;
        assert_int_equal(t.dtype, k);
        for (int64_t i = 1; i < dt_type_bytes(&t); i++) different += bytes[i] != bytes[0];
        assert_in_range(different, 50, 20 * 15 * 8);
        free(rows);
    }
}

static void test_validation_is_other_data(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_iterator *train = NULL, *validation = NULL;
    dt_example a, b;
    OK(dt_dataset_open(&d, "{format: synthetic, " KEYS ", global_batch_size: 8}"));
    OK(dt_iterator_open_batches(&train, d, &(dt_batch_options){.batch = 8}));
    OK(dt_iterator_open_batches(&validation, d,
                                &(dt_batch_options){.part = DT_PART_VALIDATION, .batch = 8}));
    OK(dt_iterator_next_batch(train, &a));
    OK(dt_iterator_next_batch(validation, &b));
    assert_memory_not_equal(a.tensor[0]->data, b.tensor[0]->data, 784 * sizeof(float));
    dt_iterator_close(train);
    dt_iterator_close(validation);
    dt_dataset_unref(d);
}

/* Labels drawn in the right range are not looked at one by one: there may be 10^12 of them. */
static void test_known_labels_are_not_looked_at(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    OK(dt_dataset_open(&d, "{format: synthetic, examples: 1000000000000, element: {x: "
                           "{num_classes: 10}}, global_batch_size: 8}"));
    OK(dt_dataset_check_labels(d, 0, 10));
    dt_status *s = dt_dataset_check_labels(d, 0, 9);
    assert_int_equal(dt_status_number(s), DT_E_LABEL_RANGE);
    dt_status_free(s);
    dt_dataset_unref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_and_counts),
        cmocka_unit_test(test_same_seed_same_data),
        cmocka_unit_test(test_labels_can_be_learnt),
        cmocka_unit_test(test_all_dtypes),
        cmocka_unit_test(test_validation_is_other_data),
        cmocka_unit_test(test_known_labels_are_not_looked_at),
    };
    return cmocka_run_group_tests_name("synthetic data", tests, NULL, NULL);
}
