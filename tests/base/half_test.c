/* Half precision: every number of 16 bits survives, and what lies between is rounded to even. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/half.h"

static void test_every_half_survives(void **state)
{
    (void)state;
    for (uint32_t h = 0; h <= UINT16_MAX; h++) {
        double x = dt_half_to_double((uint16_t)h);
        if (isnan(x))
            assert_true(isnan(dt_half_to_double(dt_half_of(x))));
        else
            assert_int_equal(dt_half_of(x), h);
    }
}

static void test_between_rounds_to_even(void **state)
{
    static const struct {
        double x, want;
    } rows[] = { { 1 + 0x1p-11, 1 }, { 1 + 3 * 0x1p-11, 1 + 0x1p-9 }, { 65519, 65504 }, { 65520, INFINITY }, { 0x1p-25, 0 }, { 3 * 0x1p-25, 0x1p-23 }, { -2049, -2048 } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(dt_half_to_double(dt_half_of(rows[i].x)) == rows[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_half_survives), cmocka_unit_test(test_between_rounds_to_even) };
    return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
