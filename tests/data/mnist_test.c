/* SPDX-License-Identifier: Apache-2.0 */
/* Real digits, where they are at hand: 10,000 of MNIST, compressed. */
#define HERE "build/tmp/data-mnist"
#include "files.h"

#define MNIST "../shared/data/mnist-10k/"

static int find(void **state)
{
    (void)state;
    if (access(MNIST "t10k-images-idx3-ubyte.gz", R_OK) != 0)
        print_message("skipped: " MNIST " is not here\n");
    return 0;
}

static dt_dataset *open_mnist(void)
{
    dt_dataset *d = NULL;
    if (access(MNIST "t10k-images-idx3-ubyte.gz", R_OK) != 0)
        skip();
    OK(dt_dataset_open(&d, "{format: idx, train: {image: " MNIST "t10k-images-idx3-ubyte.gz, label: " MNIST "t10k-labels-idx1-ubyte.gz},\n"
                           "validation_split: 0.2, map: {image: [cast: float32, rescale: {scale: 0.00392156862745098}]},\n"
                           "shuffle: true, global_batch_size: 64}"));
    return d;
}

static void test_counts(void **state)
{
    (void)state;
    static const int known[10] = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};
    dt_dataset *d = open_mnist();
    int count[10] = {0};
    assert_int_equal(dt_dataset_count(d, DT_PART_TRAIN), 8000);
    assert_int_equal(dt_dataset_count(d, DT_PART_VALIDATION), 2000);
    OK(dt_dataset_check_labels(d, 1, 10));
    for (int part = DT_PART_TRAIN; part <= DT_PART_VALIDATION; part++) {
        dt_feed *f = NULL;
        dt_batch b;
        OK(dt_feed_open(&f, d, &(dt_feed_options){.part = (dt_part)part, .batch = 64, .shuffle = part == DT_PART_TRAIN}));
        do {
            OK(dt_feed_next(f, &b));
            for (int64_t i = 0; i < b.rows; i++)
                count[((const uint8_t *)b.element[1].data)[i]]++;
        } while (b.rows > 0);
        dt_feed_close(f);
    }
    for (int i = 0; i < 10; i++)
        assert_int_equal(count[i], known[i]);
    dt_dataset_unref(d);
}

static void test_pixels(void **state)
{
    (void)state;
    dt_dataset *d = open_mnist();
    dt_type t;
    float *x = read_all(d, 0, &t);
    double sum = 0;
    float most = 0;
    for (int64_t i = 0; i < dt_type_elements(&t); i++) {
        sum += (double)x[i];
        most = x[i] > most ? x[i] : most;
    }
    assert_true(most > 0.9999F && most <= 1.0001F);
    assert_true(sum / (double)dt_type_elements(&t) > 0.12 && sum / (double)dt_type_elements(&t) < 0.14); /* MNIST's mean is 0.13 */
    free(x);
    dt_dataset_unref(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_pixels)};
    return cmocka_run_group_tests_name("MNIST", tests, find, NULL);
}
