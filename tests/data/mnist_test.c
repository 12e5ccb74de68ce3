/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten thousand digits in MNIST's own files, compressed: what the reader gives against the bytes
 * themselves. DTRAIN_MNIST names a folder with the real ones (t10k-images-idx3-ubyte.gz,
 * t10k-labels-idx1-ubyte.gz); without it drawn ones are compressed here.
 */
#define HERE "build/tmp/data-mnist"
#include "files.h"

enum { N = 10000, PIXELS = 784, TRAIN = 8000 };

static const char *folder = HERE "/gz";

static void compress_file(const char *from, const char *to) {
    dt_str bytes = {0};
    OK(dt_file_read(from, 64 << 20, &bytes));
    gzFile gz = gzopen(to, "wb1");
    assert_non_null(gz);
    assert_int_equal(gzwrite(gz, bytes.data, (unsigned)bytes.size), bytes.size);
    assert_int_equal(gzclose(gz), Z_OK);
    dt_str_release(&bytes);
}

static int find(void **state) {
    (void)state;
    if (getenv("DTRAIN_MNIST")) {
        folder = getenv("DTRAIN_MNIST");
        return 0;
    }
    OK(dt_data_synth("digits", HERE "/drawn", 0));
    OK(dt_dir_make(folder));
    compress_file(HERE "/drawn/train-images-idx3-ubyte", HERE "/gz/t10k-images-idx3-ubyte.gz");
    compress_file(HERE "/drawn/train-labels-idx1-ubyte", HERE "/gz/t10k-labels-idx1-ubyte.gz");
    return 0;
}

/* What follows the header of `header` bytes; the caller frees it. */
static uint8_t *content(const char *name, unsigned header, unsigned n) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    gzFile gz = gzopen(path, "rb");
    if (!gz) fail_msg("%s cannot be read", path);
    uint8_t *bytes = malloc(n), skipped[16];
    assert_int_equal(gzread(gz, skipped, header), header);
    assert_int_equal(gzread(gz, bytes, n), n);
    gzclose(gz);
    return bytes;
}

static dt_dataset *open_mnist(void) {
    dt_dataset *d = NULL;
    char job[2048];
    snprintf(job, sizeof job,
             "{format: idx, train: {image: '%s/t10k-images-idx3-ubyte.gz', label: "
             "'%s/t10k-labels-idx1-ubyte.gz'},\n"
             "validation_split: 0.2, map: {image: [cast: float32, rescale: {scale: "
             "0.00392156862745098}]},\n"
             "shuffle: true, global_batch_size: 64}",
             folder, folder);
    OK(dt_dataset_open(&d, "%s", job));
    return d;
}

/* Each label as often as the file has it, and every example in one part. */
static void test_counts(void **state) {
    (void)state;
    dt_dataset *d = open_mnist();
    int count[10] = {0};
    uint8_t *labels = content("t10k-labels-idx1-ubyte.gz", 8, N);
    assert_int_equal(dt_dataset_count(d, DT_PART_TRAIN), TRAIN);
    assert_int_equal(dt_dataset_count(d, DT_PART_VALIDATION), N - TRAIN);
    OK(dt_dataset_check_labels(d, 1, 10));
    for (int part = DT_PART_TRAIN; part <= DT_PART_VALIDATION; part++) {
        dt_iterator *f = NULL;
        dt_example b;
        OK(dt_iterator_open_batches(&f, d,
                                    &(dt_batch_options){.part = (dt_part)part,
                                                        .batch = 64,
                                                        .shuffle = part == DT_PART_TRAIN}));
        do {
            OK(dt_iterator_next_batch(f, &b));
            for (int64_t i = 0; i < b.rows; i++) count[((const uint8_t *)b.tensor[1]->data)[i]]++;
        } while (b.rows > 0);
        dt_iterator_close(f);
    }
    for (int i = 0; i < N; i++) count[labels[i]]--;
    for (int i = 0; i < 10; i++) assert_int_equal(count[i], 0);
    free(labels);
    dt_dataset_unref(d);
}

static void test_pixels(void **state) {
    (void)state;
    dt_dataset *d = open_mnist();
    dt_type t;
    float *x = read_all(d, 0, &t);
    uint8_t *pixels = content("t10k-images-idx3-ubyte.gz", 16, N * PIXELS);
    const float scale = 0.00392156862745098F;
    assert_int_equal(dt_type_elements(&t), TRAIN * PIXELS);
    for (int i = 0; i < TRAIN * PIXELS; i++)
        if (x[i] != (float)pixels[i] * scale)
            fail_msg("pixel %d is %g, not %d / 255", i, (double)x[i], pixels[i]);
    free(pixels);
    free(x);
    dt_dataset_unref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_pixels)};
    return cmocka_run_group_tests_name("MNIST", tests, find, NULL);
}
