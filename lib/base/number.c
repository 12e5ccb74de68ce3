/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text and back, whatever locale the program that calls us has set. */
#define _GNU_SOURCE /* strtod_l */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

/* strtod in the C locale; its object is a constant in glibc, so that this neither allocates nor fails there. */
static double read_double(const char *text, char **end)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double x = c ? strtod_l(text, end, c) : strtod(text, end);
    if (c)
        freelocale(c);
    return x;
}

void dt_str_grouped(dt_str *s, int64_t n)
{
    char digits[24];
    uint64_t magnitude = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)magnitude);
    if (n < 0)
        dt_str_putc(s, '-');
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            dt_str_putc(s, ',');
        dt_str_putc(s, digits[i]);
    }
}

void dt_str_bytes(dt_str *s, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    enum { LAST = sizeof units / sizeof *units - 1 };
    int unit = 0;
    /* 1023.96 KiB would round to 1024.0 KiB. */
    while (unit < LAST && bytes >= (unit == 0 ? 1024 : 1023.95)) {
        bytes /= 1024;
        unit++;
    }
    dt_str_printf(s, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

static const char *skip_digits(const char *p, bool *any)
{
    for (; *p >= '0' && *p <= '9'; p++)
        *any = true;
    return p;
}

/* [+-] digits [. digits] [e [+-] digits], with a digit before or after the point. */
static bool is_decimal(const char *p)
{
    bool mantissa = false, exponent = false;
    if (*p == '+' || *p == '-')
        p++;
    p = skip_digits(p, &mantissa);
    if (*p == '.')
        p = skip_digits(p + 1, &mantissa);
    if (!mantissa)
        return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-')
            p++;
        p = skip_digits(p, &exponent);
        if (!exponent)
            return false;
    }
    return *p == '\0';
}

bool dt_parse_double(const char *text, double *out)
{
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

bool dt_parse_int64(const char *text, int64_t *out)
{
    bool any = false;
    const char *digits = text + (*text == '+' || *text == '-');
    if (*skip_digits(digits, &any) != '\0' || !any) {
        errno = EINVAL;
        return false;
    }
    errno = 0;
    long long n = strtoll(text, NULL, 10);
    if (errno)
        return false;
    *out = n;
    return true;
}
