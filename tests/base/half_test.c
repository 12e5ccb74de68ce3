/* SPDX-License-Identifier: Apache-2.0 */
/* Half precision: every number of 16 bits survives, and what lies between is rounded to even. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>

#include "base/half.h"

static void test_every_half_survives(void **state) {
    (void)state;
    for (uint32_t h = 0; h <= UINT16_MAX; h++) {
        double x = dt_half_to_double((uint16_t)h);
        if (isnan(x)) assert_true(isnan(dt_half_to_double(dt_half_of(x))));
        else assert_int_equal(dt_half_of(x), h);
    }
}

static void test_between_rounds_to_even(void **state) {
    static const struct {
        double x, want;
    } rows[] = {{1 + 0x1p-11, 1}, {1 + 3 * 0x1p-11, 1 + 0x1p-9}, {65519, 65504}, {65520, INFINITY},
                {0x1p-25, 0},     {3 * 0x1p-25, 0x1p-23},        {-2049, -2048}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(dt_half_to_double(dt_half_of(rows[i].x)) == rows[i].want);
}

/* Every number of bfloat16 and what lies between two of them: the nearer one, or the even one. */
static void test_rounding_to_bfloat16(void **state) {
    static const struct {
        uint32_t x, want;
    } rows[] = {{0x3f808000, 0x3f800000}, {0x3f818000, 0x3f820000}, {0x3f808001, 0x3f810000},
                {0x3f807fff, 0x3f800000}, {0x7f7fffff, 0x7f800000}, {0xff7f7fff, 0xff7f0000},
                {0x00008000, 0},          {0x00018000, 0x00020000}, {0x80000001, 0x80000000},
                {0x7f800000, 0x7f800000}};
    float x, want;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(&x, &rows[i].x, sizeof x);
        memcpy(&want, &rows[i].want, sizeof want);
        x = dt_float_rounded(x, 7);
        assert_memory_equal(&x, &want, sizeof x);
    }
    assert_true(isnan(dt_float_rounded(NAN, 7)));
    assert_true(dt_float_rounded(1.0f + 0x1p-23f, 23) == 1.0f + 0x1p-23f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_half_survives),
                                       cmocka_unit_test(test_between_rounds_to_even),
                                       cmocka_unit_test(test_rounding_to_bfloat16)};
    return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
