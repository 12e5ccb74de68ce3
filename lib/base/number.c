/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text and back, independent of the locale of the calling program. */
#define _GNU_SOURCE /* strtod_l */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

/* strtod in the C locale, which glibc has as a constant: neither allocates nor fails there. */
static double read_double(const char *text, char **end) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double x = c ? strtod_l(text, end, c) : strtod(text, end);
    if (c) freelocale(c);
    return x;
}

void dt_str_grouped(dt_str *s, int64_t n) {
    char digits[24];
    uint64_t magnitude = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)magnitude);
    if (n < 0) dt_str_putc(s, '-');
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) dt_str_putc(s, ',');
        dt_str_putc(s, digits[i]);
    }
}

void dt_str_bytes(dt_str *s, double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    enum { LAST = sizeof units / sizeof *units - 1 };
    int unit = 0;
    /* Values from 1023.95 on use the next unit, since 1023.96 KiB would round to 1024.0 KiB. */
    while (unit < LAST && bytes >= (unit == 0 ? 1024 : 1023.95)) {
        bytes /= 1024;
        unit++;
    }
    dt_str_printf(s, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

dt_text dt_text_of_bytes(double bytes) {
    dt_str s = {0};
    dt_str_bytes(&s, bytes);
    return dt_text_take(&s);
}

static const char *skip_digits(const char *p, bool *any) {
    for (; *p >= '0' && *p <= '9'; p++) *any = true;
    return p;
}

/* [+-] digits [. digits] [e [+-] digits], with a digit before or after the point. */
static bool is_decimal(const char *p) {
    bool mantissa = false, exponent = false;
    if (*p == '+' || *p == '-') p++;
    p = skip_digits(p, &mantissa);
    if (*p == '.') p = skip_digits(p + 1, &mantissa);
    if (!mantissa) return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-') p++;
        p = skip_digits(p, &exponent);
        if (!exponent) return false;
    }
    return *p == '\0';
}

/* Appends digits to m; returns their number. */
static int take_digits(const char **p, uint64_t *m) {
    const char *from = *p;
    for (; **p >= '0' && **p <= '9'; ++*p) *m = *m * 10 + (uint64_t)(**p - '0');
    return (int)(*p - from);
}

/*
 * Reads most numbers in files, which have few digits and a small power of ten, faster than strtod.
 * If both are exact doubles, one multiplication or division rounds once, as strtod does (W.
 * Clinger, How to Read Floating Point Numbers Accurately, 1990). False: the text is another number,
 * or not a number.
 */
static bool read_short(const char *p, double *out) {
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    /* as many decimal digits always fit in a uint64_t */
    enum { LARGEST = sizeof power / sizeof *power - 1, MOST_DIGITS = 19 };
    const bool negative = *p == '-';
    uint64_t m = 0, e = 0;
    int exponent = 0;
    p += negative || *p == '+';
    int digits = take_digits(&p, &m);
    if (*p == '.') {
        p++;
        exponent = -take_digits(&p, &m);
        digits -= exponent;
    }
    if (digits > 0 && (*p == 'e' || *p == 'E')) {
        p++;
        const bool smaller = *p == '-';
        p += smaller || *p == '+';
        const int n = take_digits(&p, &e);
        if (n == 0 || n > 4) return false;
        exponent += smaller ? -(int)e : (int)e;
    }
    if (*p != '\0' || digits == 0 || digits > MOST_DIGITS || m > (uint64_t)1 << 53 ||
        exponent < -LARGEST || exponent > LARGEST)
        return false;
    const double x = exponent < 0 ? (double)m / power[-exponent] : (double)m * power[exponent];
    *out = negative ? -x : x;
    return true;
}

bool dt_parse_double(const char *text, double *out) {
    if (read_short(text, out)) return true;
    if (!is_decimal(text)) {
        errno = EINVAL;
        return false;
    }
    char *end;
    double x = read_double(text, &end);
    if (isinf(x)) {
        errno = ERANGE;
        return false;
    }
    *out = x;
    return true;
}

bool dt_parse_int64(const char *text, int64_t *out) {
    bool any = false;
    const char *digits = text + (*text == '+' || *text == '-');
    if (*skip_digits(digits, &any) != '\0' || !any) {
        errno = EINVAL;
        return false;
    }
    errno = 0;
    long long n = strtoll(text, NULL, 10);
    if (errno) return false;
    *out = n;
    return true;
}
