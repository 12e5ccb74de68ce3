/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets of a program's own tensors. */
#include "kit.h"

static dt_values *pair(int64_t xs, int64_t ys) {
    dt_values *v = values();
    give(v, "x", count_from(0, xs));
    give(v, "y", count_from(100, ys));
    return v;
}

/* The tensors are copied, batches are cut for the replicas, the split takes the last examples. */
static void test_examples_in_memory_are_a_data_set(void **state) {
    (void)state;
    dt_strategy *s = NULL;
    dt_dataset *d = NULL;
    dt_dist_dataset *dist = NULL;
    dt_iterator *it = NULL;
    dt_values *v = pair(8, 8), *batch = NULL;

    OK(dt_mirrored_strategy(&s, (const char *[]){"CPU:0", "CPU:1"}, 2));
    OK(dt_dataset_from_values(&d, v, "{global_batch_size: %d, validation_split: 0.25}", 4));
    dt_values_unref(v);
    assert_int_equal(dt_dataset_examples(d), 6);
    assert_int_equal(dt_dataset_batch_size(d), 4);
    OK(dt_strategy_distribute_dataset(s, d, NULL, &dist));
    OK(dt_iterator_create(&it, dist));
    OK(dt_iterator_next(it, &batch));
    is_local(batch, "x", 1, (int64_t[]){2, -1}, (double[]){2, 3});
    is_local(batch, "y", 1, (int64_t[]){2, -1}, (double[]){102, 103});
    OK(dt_iterator_next(it, &batch));
    is_local(batch, "x", 0, (int64_t[]){2, -1}, (double[]){4, 5});
    is_local(batch, "x", 1, (int64_t[]){0, -1}, NULL);
    OK(dt_iterator_next(it, &batch));
    assert_null(batch);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(dist);
    dt_dataset_unref(d);
    dt_strategy_unref(s);
}

static void test_examples_that_are_no_data_set(void **state) {
    (void)state;
    dt_values *uneven = pair(8, 7), *single = values(), *none = values(), *empty = pair(0, 0),
              *each = values(), *good = pair(4, 4);
    dt_dataset *d = NULL;

    give(single, "x", scalar(1));
    give_rows(each, "x", (int64_t[]){2, 2}, 2);
    fails(dt_dataset_from_values(&d, uneven, "{global_batch_size: 4}"), DT_E_DATA_ROWS,
          "'y' has 7 examples, 'x' has 8");
    fails(dt_dataset_from_values(&d, single, "{global_batch_size: 4}"), DT_E_DATA_SHAPE,
          "single number");
    fails(dt_dataset_from_values(&d, none, "{global_batch_size: 4}"), DT_E_DATA_EMPTY,
          "needs at least one");
    fails(dt_dataset_from_values(&d, empty, "{global_batch_size: 4}"), DT_E_DATA_EMPTY,
          "no example");
    fails(dt_dataset_from_values(&d, each, "{global_batch_size: 4}"), DT_E_ARGUMENT,
          "value per replica");
    fails(dt_dataset_from_values(&d, NULL, "{global_batch_size: 4}"), DT_E_ARGUMENT,
          "needs values");
    fails(dt_dataset_from_values(&d, good, "{format: npy, global_batch_size: 4}"),
          DT_E_DATASET_KEYS, "leave out 'format'");
    fails(dt_dataset_from_values(&d, good, "{train: x.npy, global_batch_size: 4}"),
          DT_E_DATASET_KEYS, "leave out 'train'");
    fails(dt_dataset_from_values(&d, good, "{}"), DT_E_BATCH_SIZE, "global_batch_size");
    assert_null(d);
    dt_values_unref(uneven);
    dt_values_unref(single);
    dt_values_unref(none);
    dt_values_unref(empty);
    dt_values_unref(each);
    dt_values_unref(good);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_in_memory_are_a_data_set),
        cmocka_unit_test(test_examples_that_are_no_data_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
