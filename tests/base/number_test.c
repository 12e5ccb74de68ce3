/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: that what is printed reads back, is short, and knows no locale. Elementary
 * functions of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/random.h"
#include "base/str.h"

static const char *text_of(dt_str *s, double x) {
    dt_str_clear(s);
    dt_str_double(s, x);
    return dt_str_text(s);
}

static const char *text_of_float(dt_str *s, float x) {
    dt_str_clear(s);
    dt_str_float(s, x);
    return dt_str_text(s);
}

static void test_doubles(void **state) {
    (void)state;
    const struct {
        double x;
        const char *expected;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {1e6, "1000000"},
        {1e22, "1e+22"},
        {-2.5e-7, "-2.5e-07"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {(double)NAN, "nan"},
        {-(double)NAN, "nan"},
        {(double)INFINITY, "inf"},
        {-(double)INFINITY, "-inf"},
    };
    dt_str s = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_of(&s, cases[i].x), cases[i].expected);
    dt_str_release(&s);
}

static void test_floats(void **state) {
    (void)state;
    const struct {
        float x;
        const char *expected;
    } cases[] = {
        {0.1f, "0.1"},
        {0.3f, "0.3"},
        {1e6f, "1000000"},
        {16777215.0f, "16777215"},
        {1e10f, "1e+10"},
        {1.0f / 3, "0.33333334"},
        {FLT_MAX, "3.4028235e+38"},
        {1e-45f, "1e-45"},
        {-0.0f, "-0"},
        {NAN, "nan"},
        {-INFINITY, "-inf"},
    };
    dt_str s = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_of_float(&s, cases[i].x), cases[i].expected);
    dt_str_release(&s);
}

static void test_random_doubles_read_back(void **state) {
    (void)state;
    const uint64_t seed = 20240607;
    print_message("seed %llu\n", (unsigned long long)seed);
    dt_random r = dt_random_stream(seed, "test", 0);
    dt_str s = {0};
    for (int i = 0; i < 20000; i++) {
        uint32_t low = dt_random_u32(&r);
        uint64_t bits = low | (uint64_t)dt_random_u32(&r) << 32;
        double x, back;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x)) {
            assert_true(dt_parse_double(text_of(&s, x), &back));
            assert_memory_equal(&back, &x, sizeof x);
        }
    }
    dt_str_release(&s);
}

/* The fewest digits, from six on, of which %g's text reads back as f. */
static void by_trial(char *text, size_t room, float f) {
    for (int digits = fabsf(f) < FLT_MIN ? 1 : FLT_DIG; digits <= FLT_DECIMAL_DIG; digits++) {
        snprintf(text, room, "%.*g", digits, (double)f);
        if (strtof(text, NULL) == f) return;
    }
}

static void check_float(dt_str *s, float f) {
    char expected[32];
    double back;
    if (!isfinite(f)) return;
    assert_true(dt_parse_double(text_of_float(s, f), &back));
    const float fback = (float)back;
    assert_memory_equal(&fback, &f, sizeof f);
    if (fabsf(f) < 0x1p24f && f == truncf(f)) return; /* never as 1e+06 */
    by_trial(expected, sizeof expected, f);
    assert_string_equal(text_of_float(s, f), expected);
}

/* Random bits reach every exponent; beside powers of two the distance of floats changes, beside
 * those of ten that of digits; short decimals and their neighbours are what people write. */
static void test_floats_are_those_of_trial(void **state) {
    (void)state;
    const uint64_t seed = 20261122;
    print_message("seed %llu\n", (unsigned long long)seed);
    dt_random r = dt_random_stream(seed, "test", 0);
    dt_str s = {0};
    for (int i = 0; i < 40000; i++) {
        uint32_t bits = dt_random_u32(&r);
        float any, usual = ldexpf((float)(int32_t)bits, -31 - i % 16);
        memcpy(&any, &bits, sizeof any);
        check_float(&s, any);
        check_float(&s, usual);
    }
    for (int i = -150; i < 128; i++)
        for (int k = -3; k <= 3; k++) check_float(&s, ldexpf(1 + (float)k * FLT_EPSILON / 2, i));
    for (int e = -16; e <= 8; e++)
        for (int n = 1; n < 1000; n += n < 20 ? 1 : 7) {
            float f = (float)(n * pow(10, e)), below = nextafterf(f, 0),
                  above = nextafterf(f, INFINITY);
            check_float(&s, f);
            check_float(&s, below);
            check_float(&s, above);
        }
    dt_str_release(&s);
}

static void test_parse_double(void **state) {
    (void)state;
    const struct {
        const char *text;
        double expected;
        int error; /* 0: a number */
    } cases[] = {
        {"0", 0, 0},          {"-1.5", -1.5, 0},     {"+2", 2, 0},         {".5", 0.5, 0},
        {"5.", 5, 0},         {"1e3", 1000, 0},      {"1E-2", 0.01, 0},    {"007", 7, 0},
        {"1e-400", 0, 0},     {"4e-324", 5e-324, 0}, {"1e400", 0, ERANGE}, {"-1e400", 0, ERANGE},
        {"", 0, EINVAL},      {" 1", 0, EINVAL},     {"1 ", 0, EINVAL},    {"0x10", 0, EINVAL},
        {"nan", 0, EINVAL},   {"inf", 0, EINVAL},    {"1,5", 0, EINVAL},   {"1e", 0, EINVAL},
        {"1e+", 0, EINVAL},   {".", 0, EINVAL},      {"-", 0, EINVAL},     {"--1", 0, EINVAL},
        {"1.2.3", 0, EINVAL}, {"e5", 0, EINVAL},     {"1_000", 0, EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x = -7;
        errno = 0;
        assert_int_equal(dt_parse_double(cases[i].text, &x), cases[i].error == 0);
        if (cases[i].error) assert_int_equal(errno, cases[i].error);
        assert_true(x == (cases[i].error ? -7 : cases[i].expected));
    }
}

/* As files have them, and wrong ones: digits, a point, an exponent, and now and then a character
 * that does not belong there. */
static void random_number(dt_random *r, dt_str *out) {
    static const char odd[] = " +-.eE0x\t,n";
    const int digits = (int)dt_random_below(r, 22), point = (int)dt_random_below(r, 24);
    dt_str_clear(out);
    if (dt_random_below(r, 3) == 0) dt_str_putc(out, "+-"[dt_random_below(r, 2)]);
    for (int i = 0; i < digits; i++) {
        if (i == point) dt_str_putc(out, '.');
        dt_str_putc(out, (char)('0' + dt_random_below(r, 10)));
    }
    if (dt_random_below(r, 3) == 0)
        dt_str_printf(out, "%c%d", "eE"[dt_random_below(r, 2)], (int)dt_random_below(r, 61) - 30);
    if (out->size > 0 && dt_random_below(r, 8) == 0)
        out->data[dt_random_below(r, (uint32_t)out->size)] =
            odd[dt_random_below(r, sizeof odd - 1)];
}

/* strtod takes more than we do: blanks, hexadecimal numbers, words, and numbers out of range. */
static bool is_decimal(const char *p) {
    char *end;
    return isfinite(strtod(p, &end)) && *p && *end == '\0' &&
           strspn(p, "+-.eE0123456789") == strlen(p);
}

static void test_parse_double_is_as_strtod(void **state) {
    (void)state;
    const uint64_t seed = 20261123;
    print_message("seed %llu\n", (unsigned long long)seed);
    dt_random r = dt_random_stream(seed, "numbers", 0);
    dt_str s = {0};
    int numbers = 0;
    for (int i = 0; i < 200000; i++) {
        double x = -1, expected;
        random_number(&r, &s);
        const char *text = dt_str_text(&s);
        const bool is = is_decimal(text);
        if (dt_parse_double(text, &x) != is)
            fail_msg("'%s': %s a number", text, is ? "is" : "is not");
        expected = is ? strtod(text, NULL) : -1;
        if (memcmp(&x, &expected, sizeof x) != 0)
            fail_msg("'%s': %a, strtod gives %a", text, x, expected);
        numbers += is;
    }
    assert_in_range(numbers, 100000, 199999);
    dt_str_release(&s);
}

static void test_parse_int64(void **state) {
    (void)state;
    const struct {
        const char *text;
        int64_t expected;
        int error;
    } cases[] = {
        {"0", 0, 0},
        {"-12", -12, 0},
        {"+12", 12, 0},
        {"010", 10, 0},
        {"9223372036854775807", INT64_MAX, 0},
        {"-9223372036854775808", INT64_MIN, 0},
        {"9223372036854775808", 0, ERANGE},
        {"-9223372036854775809", 0, ERANGE},
        {"", 0, EINVAL},
        {"+", 0, EINVAL},
        {"1.0", 0, EINVAL},
        {"1e3", 0, EINVAL},
        {" 1", 0, EINVAL},
        {"0x1", 0, EINVAL},
        {"+-1", 0, EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t n = -7;
        errno = 0;
        assert_int_equal(dt_parse_int64(cases[i].text, &n), cases[i].error == 0);
        if (cases[i].error) assert_int_equal(errno, cases[i].error);
        assert_int_equal(n, cases[i].error ? -7 : cases[i].expected);
    }
}

static void test_grouped_and_bytes(void **state) {
    (void)state;
    const struct {
        int64_t n;
        const char *expected;
    } grouped[] = {{0, "0"},
                   {999, "999"},
                   {1000, "1,000"},
                   {60000, "60,000"},
                   {-1234567, "-1,234,567"},
                   {INT64_MIN, "-9,223,372,036,854,775,808"}};
    const struct {
        double n;
        const char *expected;
    } sizes[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.0 KiB"},
                 {1717986, "1.6 MiB"},
                 {1048575, "1.0 MiB"},
                 {16.0 * (1 << 30), "16.0 GiB"},
                 {1e30, "867361737988.4 EiB"}};
    dt_str s = {0};
    for (size_t i = 0; i < sizeof grouped / sizeof *grouped; i++) {
        dt_str_clear(&s);
        dt_str_grouped(&s, grouped[i].n);
        assert_string_equal(s.data, grouped[i].expected);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        dt_str_clear(&s);
        dt_str_bytes(&s, sizes[i].n);
        assert_string_equal(s.data, sizes[i].expected);
    }
    dt_str_release(&s);
}

/* Any locale whose decimal point is a comma will do; machines without one skip. */
static void test_locale_of_the_program_changes_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",  "fr_FR.UTF-8",
                                        "de_DE",       "nl_NL.UTF-8", "ru_RU.UTF-8"};
    bool found = false;
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        found = setlocale(LC_ALL, names[i]) && strcmp(localeconv()->decimal_point, ",") == 0;
    if (!found) {
        print_message("no locale with a decimal comma here: skipped\n");
        setlocale(LC_ALL, "C");
        skip();
    }
    dt_str s = {0};
    double x;
    assert_string_equal(text_of(&s, 1.5), "1.5");
    dt_str_clear(&s);
    dt_str_printf(&s, "%.2f", 2.25);
    assert_string_equal(s.data, "2.25");
    assert_true(dt_parse_double("1.5", &x) && x == 1.5);
    assert_false(dt_parse_double("1,5", &x));
    dt_str_release(&s);
    /* and the program's own is left as it was */
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
}

/* ---- elementary functions of doubles ---- */

/* Against the C library's, whose errors are below one unit in the last place: `most` such units,
 * the two errors together. */
static void expect_near(const char *what, double x, double got, double wanted, double most) {
    const double unit = nextafter(fabs(wanted), INFINITY) - fabs(wanted);
    if (isnan(wanted)                  ? !isnan(got)
        : isinf(wanted) || wanted == 0 ? got != wanted || signbit(got) != signbit(wanted)
                                       : !(fabs(got - wanted) <= most * unit))
        fail_msg("%s(%.17g) = %.17g, not %.17g", what, x, got, wanted);
}

static void test_portable_functions(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double (*ours)(double), (*theirs)(double);
        double most;
    } of[] = {
        {"exp", dt_portable_exp, exp, 1}, {"expm1", dt_portable_expm1, expm1, 4},
        {"log", dt_portable_log, log, 1}, {"log1p", dt_portable_log1p, log1p, 1},
        {"sin", dt_portable_sin, sin, 1}, {"cos", dt_portable_cos, cos, 1},
    };
    static const double special[] = {0.0,    -0.0, 1,   -1,    INFINITY, -INFINITY, NAN,
                                     2,      -2,   0.5, -0.5,  1e300,    -1e300,    1e-310,
                                     1e-320, 3,    -3,  709.7, 710,      -745,      -746};
    enum { SPECIAL = sizeof special / sizeof *special };
    dt_random r = dt_random_stream(7, "elementary", 0);
    for (size_t f = 0; f < sizeof of / sizeof *of; f++) {
        for (int i = 0; i < SPECIAL; i++)
            expect_near(of[f].name, special[i], of[f].ours(special[i]), of[f].theirs(special[i]),
                        of[f].most);
        for (int i = 0; i < 20000; i++) {
            const double x = ldexp(dt_random_normal(&r), i % 60 - 40);
            expect_near(of[f].name, x, of[f].ours(x), of[f].theirs(x), of[f].most);
        }
    }
    for (int i = 0; i < SPECIAL; i++)
        for (int k = 0; k < SPECIAL; k++)
            expect_near("pow", special[i], dt_portable_pow(special[i], special[k]),
                        pow(special[i], special[k]), 2);
    for (int i = 0; i < 20000; i++) {
        const double x = exp(4 * dt_random_normal(&r)), y = 20 * dt_random_normal(&r);
        expect_near("pow", x, dt_portable_pow(x, y), pow(x, y), 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_random_doubles_read_back),
        cmocka_unit_test(test_floats_are_those_of_trial),
        cmocka_unit_test(test_parse_double),
        cmocka_unit_test(test_parse_double_is_as_strtod),
        cmocka_unit_test(test_parse_int64),
        cmocka_unit_test(test_grouped_and_bytes),
        cmocka_unit_test(test_portable_functions),
        cmocka_unit_test(test_locale_of_the_program_changes_nothing),
    };
    return cmocka_run_group_tests_name("base/number", tests, NULL, NULL);
}
