/* SPDX-License-Identifier: Apache-2.0 */
/* Records of tf.SequenceExample against what TensorFlow parses, from tests/data/sequences.json. */
#define HERE "build/tmp/data-sequences"
#include "files.h"

#include <jansson.h>

enum { EXAMPLES = 4, STEPS = 4, FEATURES = 2 };

static json_t *load(void) {
    json_t *all = json_load_file("tests/data/sequences.json", 0, NULL);
    dt_str file = {0};
    assert_non_null(all);
    for (const char *c = json_string_value(json_object_get(all, "file")); *c; c += 2)
        dt_str_putc(&file, (char)strtol((char[]){c[0], c[1], 0}, NULL, 16));
    write_str("x.tfrecord", &file);
    return all;
}

static dt_status *open_set(dt_dataset **out, const char *elements) {
    return dt_dataset_open(
        out, "{format: tfrecord, train: " HERE "/x.tfrecord, element: {%s}, global_batch_size: 4}",
        elements);
}

static void test_values_are_those_of_tensorflow(void **state) {
    (void)state;
    json_t *all = load();
    const json_t *examples = json_object_get(all, "examples");
    dt_dataset *d = NULL;
    dt_type type;
    OK(open_set(&d, "signal: {shape: [4, 2], padding_value: -1}, label: {dtype: int64}, more: "
                    "{shape: [4], dtype: int32, feature: tokens, padding_value: 7}, none: {shape: "
                    "[3], dtype: int64, feature: empty, padding_value: 5}"));
    float *signal = read_all(d, dt_dataset_find(d, "signal"), &type);
    assert_true(dt_type_equal(
        &type, &(dt_type){.dtype = DT_FLOAT32, .rank = 3, .dim = {EXAMPLES, STEPS, FEATURES}}));
    int32_t *tokens = read_all(d, dt_dataset_find(d, "more"), &type);
    int64_t *label = read_all(d, dt_dataset_find(d, "label"), &type);
    int64_t *none = read_all(d, dt_dataset_find(d, "none"), &type);
    for (size_t i = 0; i < EXAMPLES; i++) {
        const json_t *e = json_array_get(examples, i), *s = json_object_get(e, "signal"),
                     *t = json_object_get(e, "tokens");
        assert_int_equal(label[i], json_integer_value(json_object_get(e, "label")));
        for (size_t k = 0; k < STEPS * FEATURES; k++)
            assert_true(signal[i * STEPS * FEATURES + k] ==
                        (float)json_number_value(json_array_get(s, k)));
        for (size_t k = 0; k < STEPS; k++)
            assert_int_equal(tokens[i * STEPS + k], json_integer_value(json_array_get(t, k)));
        for (size_t k = 0; k < 3; k++) assert_true(none[i * 3 + k] == 5);
    }
    free(signal);
    free(tokens);
    free(label);
    free(none);
    dt_dataset_unref(d);
    json_decref(all);
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"signal: {shape: [4], padding_value: 0}",
         "record 0: feature list 'signal' has 2 values in each step, expected 1"},
        {"tokens: {shape: [2, 2], dtype: int64}", "'tokens' has 1 value in each step, expected 2"},
        {"tokens: {shape: [3], dtype: int64, padding_value: 0}",
         "feature 'tokens' has 4 values, expected 3"},
        {"tokens: {shape: [4], dtype: int64}",
         "record 1: feature 'tokens' has 1 values, expected 4"},
        {"tokens: {shape: [4]}", "feature 'tokens' is int64_list, expected float_list"},
        {"signal: {shape: [4, 2], feature: signals}", "feature 'signals' is missing"}};
    json_decref(load());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_dataset *d = NULL;
        dt_iterator *f = NULL;
        dt_example b;
        dt_status *s = open_set(&d, cases[i][0]);
        if (!s)
            s = dt_iterator_open_batches(&f, d,
                                         &(dt_batch_options){.part = DT_PART_TRAIN, .batch = 4});
        if (!s) s = dt_iterator_next_batch(f, &b);
        expect_fault(cases[i][0], s, DT_E_EXAMPLE, 65, cases[i][1]);
        dt_iterator_close(f);
        dt_dataset_unref(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_those_of_tensorflow),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("sequences", tests, NULL, NULL);
}
