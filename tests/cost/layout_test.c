/* SPDX-License-Identifier: Apache-2.0 */
/* How arrays lie in HBM: bytes of arguments as libtpu 0.0.42.1 has them for v5e, and what must hold
 * for any shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/random.h"
#include "cost/cost.h"

/* Its bfloat16 is written as the other dtype of 16 bits. */
static void test_sizes_of_arguments(void **state) {
    (void)state;
    static const struct {
        dt_dtype dtype;
        int rank;
        int64_t dim[4], bytes;
    } rows[] = {
        {DT_FLOAT32, 0, {0}, 512},
        {DT_FLOAT16, 0, {0}, 512},
        {DT_INT8, 0, {0}, 512},
        {DT_BOOL, 0, {0}, 512},
        {DT_FLOAT32, 1, {1}, 512},
        {DT_FLOAT16, 1, {1}, 512},
        {DT_INT8, 1, {1}, 512},
        {DT_BOOL, 1, {1}, 512},
        {DT_FLOAT32, 1, {100}, 512},
        {DT_FLOAT16, 1, {100}, 512},
        {DT_INT8, 1, {100}, 512},
        {DT_BOOL, 1, {100}, 512},
        {DT_FLOAT32, 1, {1000}, 4096},
        {DT_FLOAT16, 1, {1000}, 2048},
        {DT_INT8, 1, {1000}, 1024},
        {DT_BOOL, 1, {1000}, 1024},
        {DT_FLOAT32, 1, {1025}, 8192},
        {DT_FLOAT16, 1, {1025}, 4096},
        {DT_INT8, 1, {1025}, 2048},
        {DT_BOOL, 1, {1025}, 2048},
        {DT_FLOAT32, 2, {3, 3}, 2048},
        {DT_FLOAT16, 2, {3, 3}, 1024},
        {DT_INT8, 2, {3, 3}, 512},
        {DT_BOOL, 2, {3, 3}, 512},
        {DT_FLOAT32, 2, {5, 100}, 4096},
        {DT_FLOAT16, 2, {5, 100}, 2048},
        {DT_INT8, 2, {5, 100}, 1024},
        {DT_BOOL, 2, {5, 100}, 1024},
        {DT_FLOAT32, 2, {100, 5}, 4096},
        {DT_FLOAT16, 2, {100, 5}, 2048},
        {DT_INT8, 2, {100, 5}, 1024},
        {DT_BOOL, 2, {100, 5}, 1024},
        {DT_FLOAT32, 2, {1, 1000}, 4096},
        {DT_FLOAT16, 2, {1, 1000}, 4096},
        {DT_INT8, 2, {1, 1000}, 4096},
        {DT_BOOL, 2, {1, 1000}, 4096},
        {DT_FLOAT32, 2, {1000, 1}, 4096},
        {DT_FLOAT16, 2, {1000, 1}, 4096},
        {DT_INT8, 2, {1000, 1}, 4096},
        {DT_BOOL, 2, {1000, 1}, 4096},
        {DT_FLOAT32, 2, {1000, 1000}, 4096000},
        {DT_FLOAT16, 2, {1000, 1000}, 2048000},
        {DT_INT8, 2, {1000, 1000}, 1024000},
        {DT_BOOL, 2, {1000, 1000}, 1024000},
        {DT_FLOAT32, 2, {17, 130}, 24576},
        {DT_FLOAT16, 2, {17, 130}, 12288},
        {DT_INT8, 2, {17, 130}, 6144},
        {DT_BOOL, 2, {17, 130}, 6144},
        {DT_FLOAT32, 4, {7, 7, 3, 64}, 86016},
        {DT_FLOAT16, 4, {7, 7, 3, 64}, 43008},
        {DT_INT8, 4, {7, 7, 3, 64}, 21504},
        {DT_BOOL, 4, {7, 7, 3, 64}, 21504},
        {DT_FLOAT32, 4, {3, 3, 64, 64}, 294912},
        {DT_FLOAT16, 4, {3, 3, 64, 64}, 147456},
        {DT_INT8, 4, {3, 3, 64, 64}, 73728},
        {DT_BOOL, 4, {3, 3, 64, 64}, 73728},
        {DT_FLOAT32, 4, {8, 224, 224, 3}, 5505024},
        {DT_FLOAT16, 4, {8, 224, 224, 3}, 2752512},
        {DT_INT8, 4, {8, 224, 224, 3}, 1376256},
        {DT_BOOL, 4, {8, 224, 224, 3}, 1376256},
        {DT_FLOAT32, 3, {5, 100, 30}, 81920},
        {DT_FLOAT16, 3, {5, 100, 30}, 40960},
        {DT_INT8, 3, {5, 100, 30}, 20480},
        {DT_BOOL, 3, {5, 100, 30}, 20480},
        {DT_FLOAT32, 4, {2, 3, 5, 64}, 15360},
        {DT_FLOAT16, 4, {2, 3, 5, 64}, 7680},
        {DT_INT8, 4, {2, 3, 5, 64}, 5120},
        {DT_BOOL, 4, {2, 3, 5, 64}, 5120},
        {DT_FLOAT32, 2, {64, 12}, 8192},
        {DT_FLOAT16, 2, {64, 12}, 4096},
        {DT_INT8, 2, {64, 12}, 2048},
        {DT_BOOL, 2, {64, 12}, 2048},
        {DT_FLOAT32, 3, {1024, 12, 64}, 3145728},
        {DT_FLOAT16, 3, {1024, 12, 64}, 1572864},
        {DT_INT8, 3, {1024, 12, 64}, 786432},
        {DT_BOOL, 3, {1024, 12, 64}, 786432},
        {DT_FLOAT32, 2, {9, 300}, 24576},
        {DT_FLOAT16, 2, {9, 300}, 12288},
        {DT_INT8, 2, {9, 300}, 6144},
        {DT_BOOL, 2, {9, 300}, 6144},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_type t = dt_type_of(rows[i].dtype, rows[i].rank, rows[i].dim);
        dt_str text = {0};
        dt_type_print(&t, &text);
        if (dt_padded_bytes(&t) != rows[i].bytes)
            fail_msg("%s: %lld bytes, not %lld", dt_str_text(&text), (long long)dt_padded_bytes(&t),
                     (long long)rows[i].bytes);
        dt_str_release(&text);
    }
}

/* What libtpu 0.0.42.1 stores between convolutions on v2, v3, v4 and v5e. */
static void test_sizes_between_convolutions(void **state) {
    (void)state;
    static const struct {
        dt_dtype dtype;
        int64_t dim[4], mib;
    } rows[] = {
        {DT_FLOAT16, {64, 128, 128, 64}, 256}, /* 64 channels take 128 lanes */
        {DT_FLOAT16, {128, 96, 96, 64}, 144},  /* examples take the lanes */
        {DT_FLOAT16, {128, 32, 32, 64}, 16},   {DT_FLOAT32, {64, 64, 64, 64}, 128},
        {DT_FLOAT32, {64, 64, 64, 32}, 64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const dt_type t = dt_type_of(rows[i].dtype, 4, rows[i].dim);
        assert_int_equal(dt_padded_image_bytes(&t), rows[i].mib << 20);
        assert_true(dt_padded_bytes(&t) <= rows[i].mib << 20);
    }
}

/* No less than the numbers need, and for large arrays hardly more. */
static void test_padding_is_bounded(void **state) {
    (void)state;
    static const uint64_t seed = 20260802;
    print_message("seed %d\n", (int)seed);
    for (int i = 0; i < 1000; i++) {
        dt_random r = dt_random_stream(seed, "padding", (uint64_t)i);
        int64_t dim[4];
        for (int d = 0; d < 4; d++) dim[d] = 1 + (int64_t)(300 * dt_random_uniform(&r));
        dt_type t = dt_type_of(i % 2 ? DT_FLOAT32 : DT_INT8, i % 5, dim);
        int64_t bytes = dt_padded_bytes(&t), need = dt_type_bytes(&t);
        assert_true(bytes >= need && bytes % 128 == 0);
        if (t.rank == 4)
            assert_true(bytes <= 2 * need + 4096 || dim[0] < 64 || dim[1] < 64 || dim[2] < 64 ||
                        dim[3] < 64);
    }
    dt_type none = dt_type_of(DT_FLOAT32, 2, (int64_t[]){0, 7});
    assert_true(dt_padded_bytes(&none) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_of_arguments),
        cmocka_unit_test(test_sizes_between_convolutions),
        cmocka_unit_test(test_padding_is_bounded),
    };
    return cmocka_run_group_tests_name("cost/layout", tests, NULL, NULL);
}
