/* SPDX-License-Identifier: Apache-2.0 */
/* Dates in all forms, what no date is, and every day of 400 years against timegm(). */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>

#include "base/date.h"

enum { NONE = -1 };
#define E DT_DATE_EITHER
#define D DT_DATE_DAY_FIRST
#define M DT_DATE_MONTH_FIRST

typedef struct date_case {
    const char *text;
    dt_date_order given;
    int64_t seconds; /* NONE: no date */
    dt_date_order order;
    bool unclear;
} date_case;

static const date_case cases[] = {
    {"2024-01-02", E, 1704153600, E, false},
    {" 2024-1-2 ", E, 1704153600, E, false},
    {"2024/01/02", D, 1704153600, E, false},
    {"20240102", E, 1704153600, E, false},
    {"20240102T0304", E, NONE, E, false},
    {"2024-01-02T03:04:05Z", E, 1704164645, E, false},
    {"2024-01-02 03:04", E, 1704164640, E, false},
    {"2024-01-02T03:04:05.75+01:00", E, 1704161045, E, false},
    {"2024-01-02 03:04:05 -0530", E, 1704184445, E, false},
    {"2024-01-02 03:04:05+05", E, 1704146645, E, false},
    {"1969-12-31 23:59:58", E, -2, E, false},
    {"0001-01-01", E, -62135596800, E, false},
    {"9999-12-31", E, 253402214400, E, false},
    {"02.01.2024", E, 1704153600, E, false},
    {"2.1.24 3:04", E, 1704164640, E, false},
    {"02.01.2024", M, 1704153600, E, false},
    {"13/01/2024", E, 1705104000, D, false},
    {"01/13/2024", E, 1705104000, M, false},
    {"01/13/2024", D, NONE, E, false},
    {"13-01-2024", M, NONE, E, false},
    {"01/02/2024", E, 1704153600, E, true},
    {"01/02/2024", D, 1706745600, E, true},
    {"01/02/2024", M, 1704153600, E, true},
    {"02/02/2024", D, 1706832000, E, false},
    {"1/2/99 12:00 AM", M, 915235200, E, true},
    {"1/2/2024 12:30 pm", M, 1704198600, E, true},
    {"1/2/2024 13:30 pm", M, NONE, E, false},
    {"2 Jan 2024", E, 1704153600, E, false},
    {"2-JAN-24", E, 1704153600, E, false},
    {"Jan 2, 2024", E, 1704153600, E, false},
    {"January 2 2024, 3:04 AM", E, 1704164640, E, false},
    {"Sept. 3, 2024", E, 1725321600, E, false},
    {"Tue, 02 Jan 2024 03:04:05 GMT", E, 1704164645, E, false},
    {"2024-02-29", E, 1709164800, E, false},
    {"2023-02-29", E, NONE, E, false},
    {"2024-13-01", E, NONE, E, false},
    {"2024-01-02T25:00", E, NONE, E, false},
    {"2024-01-02x", E, NONE, E, false},
    {"2024-01/02", E, NONE, E, false},
    {"2024", E, NONE, E, false},
    {"", E, NONE, E, false},
    {"hello", E, NONE, E, false},
    {"32/01/2024", E, NONE, E, false},
    {"1/2/024", E, NONE, E, false},
    {"Mayor 2, 2024", E, NONE, E, false},
};

static void test_usual_forms(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const date_case *k = &cases[i];
        dt_date d;
        const bool ok = dt_date_parse(k->text, k->given, &d);
        if (ok != (k->seconds != NONE)) print_error("%s\n", k->text);
        assert_int_equal(ok, k->seconds != NONE);
        if (!ok) continue;
        if (dt_date_seconds(&d) != k->seconds) print_error("%s\n", k->text);
        assert_int_equal(dt_date_seconds(&d), k->seconds);
        assert_int_equal(d.order, k->order);
        assert_int_equal(d.unclear, k->unclear);
    }
}

static const struct {
    const char *text, *format;
    int64_t seconds; /* NONE: no date */
} formats[] = {
    {"02/01/2024", "%d/%m/%Y", 1704153600},
    {"02/01/2024 03:04", "%d/%m/%Y %H:%M", 1704164640},
    {"2024 Jan 02 3 AM", "%Y %b %d %I %p", 1704164400},
    {"24002", "%y%j", 1704153600},
    {"2024060", "%Y%j", 1709164800},
    {"2023366", "%Y%j", NONE},
    {"2024-01-02T03:04:05.5+01:00", "%FT%T.%f%z", 1704161045},
    {"100% 2024", "100%% %Y", 1704067200},
    {"02/01/24", "%d/%m/%Y", NONE},
    {"02/01/2024 x", "%d/%m/%Y", NONE},
    {"", "%Y", NONE},
};

static void test_formats(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        dt_date d;
        const bool ok = dt_date_read(formats[i].text, formats[i].format, &d);
        if (ok != (formats[i].seconds != NONE)) print_error("%s\n", formats[i].text);
        assert_int_equal(ok, formats[i].seconds != NONE);
        if (ok) assert_int_equal(dt_date_seconds(&d), formats[i].seconds);
        assert_true(dt_date_is_format(formats[i].format));
    }
    assert_false(dt_date_is_format("%d/%m"));
    assert_false(dt_date_is_format("%Y %"));
    assert_false(dt_date_is_format("%Y %Q"));
}

static void test_calendar_is_that_of_timegm(void **state) {
    (void)state;
    for (int64_t day = -100000; day < 100000; day++) {
        const time_t at = (time_t)(day * 86400 + 3661);
        struct tm tm;
        gmtime_r(&at, &tm);
        const dt_date d = {.year = tm.tm_year + 1900,
                           .month = tm.tm_mon + 1,
                           .day = tm.tm_mday,
                           .hour = 1,
                           .minute = 1,
                           .second = 1};
        assert_int_equal(dt_date_seconds(&d), at);
        assert_int_equal(dt_date_weekday(&d), (tm.tm_wday + 6) % 7);
        assert_int_equal(dt_date_yearday(&d), tm.tm_yday + 1);
        dt_date far = d;
        far.offset = day % 2 ? 840 : -840;
        const dt_date utc = dt_date_utc(&far);
        assert_int_equal(dt_date_seconds(&utc), dt_date_seconds(&far));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual_forms),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_calendar_is_that_of_timegm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
