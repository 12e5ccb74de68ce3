/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as NumPy and TensorFlow print them; expected texts are NumPy's. */
#include "kit.h"

#include "base/file.h"

static void test_arrays_as_numpy_has_them(void **state) {
    (void)state;
    static const struct {
        dt_dtype dtype;
        int rank;
        int64_t shape[3];
        double x[6];
        const char *text;
    } rows[] = {
        {DT_FLOAT32, 0, {0}, {1}, "shape=(), dtype=float32, numpy=1.0"},
        {DT_FLOAT64, 0, {0}, {0.1}, "shape=(), dtype=float64, numpy=0.1"},
        {DT_INT32, 0, {0}, {-7}, "shape=(), dtype=int32, numpy=-7"},
        {DT_INT64, 1, {1}, {2}, "shape=(1,), dtype=int64, numpy=array([2])"},
        {DT_INT64, 1, {0}, {0}, "shape=(0,), dtype=int64, numpy=array([], dtype=int64)"},
        {DT_FLOAT64, 1, {0}, {0}, "shape=(0,), dtype=float64, numpy=array([], dtype=float64)"},
        {DT_FLOAT32,
         2,
         {(int64_t)1 << 40, 0},
         {0},
         "shape=(1099511627776, 0), dtype=float32, numpy=array([], shape=(1099511627776, 0), "
         "dtype=float32)"},
        {DT_INT64,
         3,
         {0, (int64_t)1 << 40, (int64_t)1 << 40},
         {0},
         "shape=(0, 1099511627776, 1099511627776), dtype=int64, numpy=array([], shape=(0, "
         "1099511627776, 1099511627776), dtype=int64)"},
        {DT_BOOL, 1, {2}, {1, 0}, "shape=(2,), dtype=bool, numpy=array([ True, False])"},
        {DT_UINT8,
         1,
         {3},
         {7, 255, 10},
         "shape=(3,), dtype=uint8, numpy=array([  7, 255,  10], dtype=uint8)"},
        {DT_FLOAT32,
         1,
         {2},
         {1, 2.25},
         "shape=(2,), dtype=float32, numpy=array([1.  , 2.25], dtype=float32)"},
        {DT_FLOAT64,
         1,
         {2},
         {0.5, -100.25},
         "shape=(2,), dtype=float64, numpy=array([   0.5 , -100.25])"},
        {DT_FLOAT64,
         1,
         {3},
         {1e-5, 1, 1.5},
         "shape=(3,), dtype=float64, numpy=array([1.0e-05, 1.0e+00, 1.5e+00])"},
        {DT_FLOAT64, 1, {2}, {1e9, 1}, "shape=(2,), dtype=float64, numpy=array([1.e+09, 1.e+00])"},
        {DT_FLOAT64, 1, {2}, {1.25, NAN}, "shape=(2,), dtype=float64, numpy=array([1.25,  nan])"},
        {DT_FLOAT64, 1, {2}, {NAN, 1}, "shape=(2,), dtype=float64, numpy=array([nan,  1.])"},
        {DT_INT32,
         2,
         {2, 1},
         {1, 2},
         "shape=(2, 1), dtype=int32, numpy=\narray([[1],\n       [2]], dtype=int32)"},
        {DT_INT32,
         3,
         {2, 1, 3},
         {0, 1, 2, 3, 4, 5},
         "shape=(2, 1, 3), dtype=int32, numpy=\narray([[[0, 1, 2]],\n       [[3, 4, 5]]], "
         "dtype=int32)"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_tensor *t = tensor(rows[i].dtype, rows[i].rank, rows[i].shape, rows[i].x);
        char *text = dt_tensor_text(t), want[300];
        snprintf(want, sizeof want, "<tf.Tensor: %s>", rows[i].text);
        assert_string_equal(text, want);
        free(text);
        dt_tensor_unref(t);
    }
}

static void test_the_middle_of_large_ones_is_left_out(void **state) {
    (void)state;
    dt_tensor *t = count_from(1000, 2000);
    char *text = dt_tensor_text(t);

    assert_string_equal(text, "<tf.Tensor: shape=(2000,), dtype=float32, numpy=array([1000., "
                              "1001., 1002., ..., 2997., 2998., 2999.], dtype=float32)>");
    free(text);
    dt_tensor_unref(t);
}

static void test_values_one_by_one(void **state) {
    (void)state;
    dt_values *v = values();

    give_rows(v, "each", (int64_t[]){1, 2}, 2);
    give(v, "one", scalar(3));
    char *each = dt_values_text(v, "each"), *one = dt_values_text(v, "one");
    assert_string_equal(
        each,
        "PerReplica:{\n  0: <tf.Tensor: shape=(1,), dtype=float32, numpy=array([0.], "
        "dtype=float32)>,\n"
        "  1: <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>\n}");
    assert_string_equal(one, "<tf.Tensor: shape=(), dtype=float32, numpy=3.0>");
    assert_null(dt_values_text(v, "none"));
    assert_null(dt_values_text(NULL, "one"));
    assert_null(dt_tensor_text(NULL));
    free(each);
    free(one);
    dt_values_unref(v);
}

/* The magic, the header to a multiple of 64 bytes, the numbers. */
static void test_saved_as_numpy_does(void **state) {
    (void)state;
    const double x[] = {1, 2, 3};
    dt_tensor *t = tensor(DT_INT16, 1, (int64_t[]){3}, x);
    dt_str file = {0};

    OK(dt_dir_make("build/tmp/strategy-text"));
    OK(dt_tensor_save(t, "build/tmp/strategy-text/t.npy"));
    OK(dt_file_read("build/tmp/strategy-text/t.npy", 1 << 20, &file));
    assert_int_equal(file.size, 128 + 6);
    assert_memory_equal(
        file.data,
        "\x93NUMPY\x01\x00\x76\x00{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }  ", 67);
    assert_int_equal(file.data[127], '\n');
    assert_memory_equal(file.data + 128, dt_tensor_data(t), 6);
    fails(dt_tensor_save(NULL, "x.npy"), DT_E_ARGUMENT, "the tensor is missing");
    fails(dt_tensor_save(t, ""), DT_E_ARGUMENT, "the path is missing");
    fails(dt_tensor_save(t, "build/tmp/strategy-text/none/t.npy"), DT_E_CANT_CREATE,
          "no such file");
    dt_str_release(&file);
    dt_tensor_unref(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays_as_numpy_has_them),
        cmocka_unit_test(test_the_middle_of_large_ones_is_left_out),
        cmocka_unit_test(test_values_one_by_one),
        cmocka_unit_test(test_saved_as_numpy_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
