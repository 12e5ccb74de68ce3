/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text and back, independent of the locale of the calling program. */
#define _GNU_SOURCE /* makes the headers declare strtod_l */
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/str.h"

/* The shortest decimal that reads back as a number, in the notation of %g.
 *
 * The C library finds it by trial: print with ever more digits until the text reads back. A table
 * of predictions has hundreds of thousands of floats, and three trials of each took most of the
 * time of `predict`. A float has 24 bits and a double 53, so for most floats a trial needs only one
 * product and one quotient of doubles:
 *
 *     n = the integer nearest to x * 10^k         its digits are those that %g would print
 *     (float)(n / 10^k) == x                      they read back
 *
 * Powers of ten are exact up to 10^22 and n has at most nine digits, so product and quotient are
 * rounded once. Since rounding is monotonic, both answers are those of exact arithmetic, unless the
 * rounded result is exactly half way between two integers or two floats. In that case, and for
 * larger powers of ten, the C library decides. */

/* A positive number as n / 10^shift, its first digit worth 10^exponent. */
typedef struct decimal {
    int64_t n;
    int digits, shift, exponent;
} decimal;

static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* ---- digits by double arithmetic ---- */

/* Returns the decimal exponent of a. For numbers near a power of ten, rounding may make it one too
 * large. */
static int exponent_of(double a) {
    int e = 0;
    while (a >= power[e + 1]) e++;
    while (e <= 0 && a * power[-e] < 1) e--;
    return e;
}

/* Sets d->n to a * 10^d->shift, rounded to an integer. Returns false if double arithmetic is not
 * precise enough to decide, or if d->n has not exactly d->digits digits. */
static bool round_to(double a, decimal *d) {
    double product = a * power[d->shift], whole = floor(product);
    if (product - whole == 0.5) return false;
    d->n = (int64_t)whole + (product - whole > 0.5);
    return d->n >= (int64_t)power[d->digits - 1] && d->n < (int64_t)power[d->digits];
}

/* Whether x is half way between two floats: the bits beyond a float's are a one followed by
 * zeros. */
static bool is_between(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x1fffffff) == 0x10000000;
}

static bool find_digits(float a, decimal *d) {
    d->exponent = exponent_of((double)a);
    for (d->digits = FLT_DIG; d->digits <= FLT_DECIMAL_DIG; d->digits++) {
        d->shift = d->digits - 1 - d->exponent;
        if (d->shift < 0) continue;
        if (!round_to((double)a, d)) return false;
        double back = (double)d->n / power[d->shift];
        if (is_between(back)) return false;
        if ((float)back == a) return true;
    }
    return false;
}

static void drop_zeros(decimal *d) {
    for (; d->n % 10 == 0; d->n /= 10) d->digits--;
}

/* Appends the digits of d with a point after the first `before_point` of them; 0: without a
 * point. */
static void add_digits(dt_str *s, const decimal *d, int before_point) {
    char text[FLT_DECIMAL_DIG];
    int64_t n = d->n;
    for (int i = d->digits; i-- > 0; n /= 10) text[i] = (char)('0' + n % 10);
    dt_str_add(s, text, (size_t)before_point);
    if (before_point > 0 && d->digits > before_point) dt_str_putc(s, '.');
    dt_str_add(s, text + before_point, (size_t)(d->digits - before_point));
}

static void add_decimal(dt_str *s, const decimal *d) {
    static const char zeros[] = "0.000";
    if (d->exponent < -4) {
        add_digits(s, d, 1);
        dt_str_printf(s, "e-%02d", -d->exponent);
    } else if (d->exponent < 0) {
        dt_str_add(s, zeros, (size_t)(1 - d->exponent));
        add_digits(s, d, 0);
    } else add_digits(s, d, d->exponent + 1);
}

/* Appends x by double arithmetic, if that can decide its digits. Returns false if it cannot, and
 * unless 1e-12 <= |x| < 2^23: floats above that are integers, which have a separate case, and
 * digits of much smaller ones need powers of ten above 10^22, which are not exact. */
static bool add_by_arithmetic(dt_str *s, float x) {
    decimal d;
    float a = fabsf(x);
    if (!(a >= 1e-12f && a < 0x1p23f) || !find_digits(a, &d)) return false;
    if (x < 0) dt_str_putc(s, '-');
    drop_zeros(&d);
    add_decimal(s, &d);
    return true;
}

/* ---- digits by trial; other numbers as text, and reading numbers ---- */

/* Appends "nan", "inf" or "-inf" if x is one of these. printf's forms depend on the library
 * ("-nan"). */
static bool add_special(dt_str *s, double x) {
    if (isfinite(x)) return false;
    dt_str_puts(s, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    return true;
}

/* Replaces the text of s from byte `from` on by x with `digits` digits. Returns the number as which
 * it reads back; infinity if that overflows a double. */
static double try_digits(dt_str *s, size_t from, int digits, double x) {
    double back = (double)INFINITY;
    s->size = from;
    dt_str_printf(s, "%.*g", digits, x);
    dt_parse_double(s->data + from, &back);
    return back;
}

/* Every decimal of DBL_DIG digits survives conversion to a double and back. So if a decimal of at
 * most DBL_DIG digits reads back as x, %.15g prints it, which drops trailing zeros. Denormals have
 * fewer digits, so for them the search starts at one digit. */
void dt_str_double(dt_str *s, double x) {
    if (add_special(s, x)) return;
    size_t from = s->size;
    int digits = fabs(x) < DBL_MIN ? 1 : DBL_DIG;
    while (try_digits(s, from, digits, x) != x && digits < DBL_DECIMAL_DIG) digits++;
}

void dt_str_float(dt_str *s, float x) {
    if (add_special(s, (double)x)) return;
    /* Whole numbers below 2^24 are printed as integers here, because %.6g would write a million as
     * 1e+06. */
    if (fabsf(x) < 0x1p24f && x == truncf(x)) {
        dt_str_printf(s, "%.0f", (double)x);
        return;
    }
    if (add_by_arithmetic(s, x)) return;
    size_t from = s->size;
    int digits = fabsf(x) < FLT_MIN ? 1 : FLT_DIG;
    while ((float)try_digits(s, from, digits, (double)x) != x && digits < FLT_DECIMAL_DIG) digits++;
}

bool dt_parse_bytes(const char *text, int64_t *bytes) {
    static const struct {
        const char *name;
        double size;
    } units[] = {{"", 1},         {"B", 1},        {"KiB", 0x1p10},
                 {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
    size_t n = strspn(text, "0123456789.");
    char number[32];
    double x;

    if (n == 0 || n >= sizeof number) return false;
    memcpy(number, text, n);
    number[n] = '\0';
    const char *unit = text + n + (text[n] == ' ' && text[n + 1]);
    if (!dt_parse_double(number, &x)) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0 && x * units[i].size >= 1 &&
            x * units[i].size < 0x1p62) {
            *bytes = (int64_t)(x * units[i].size);
            return true;
        }
    return false;
}

/* Reads a number by strtod in the C locale. glibc has that locale as a constant, so newlocale
 * allocates nothing there. */
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
    /* From 1023.95 of a unit on (for bytes, from 1024), the next unit is used, since 1023.96 KiB
     * would round to 1024.0 KiB. */
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

dt_text dt_text_of_numbers(const int64_t *v, int n) {
    dt_str s = {0};
    for (int i = 0; i < n; i++) dt_str_printf(&s, "%s%lld", i ? ", " : "[", (long long)v[i]);
    dt_str_puts(&s, n > 0 ? "]" : "[]");
    return dt_text_take(&s);
}

static const char *skip_digits(const char *p, bool *any) {
    for (; *p >= '0' && *p <= '9'; p++) *any = true;
    return p;
}

/* Whether a text is [+-] digits [. digits] [e [+-] digits], with a digit before or after the
 * point. */
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

/* Appends the digits at *p to the number m, and moves *p behind them. Returns how many digits there
 * were. */
static int take_digits(const char **p, uint64_t *m) {
    const char *from = *p;
    for (; **p >= '0' && **p <= '9'; ++*p) *m = *m * 10 + (uint64_t)(**p - '0');
    return (int)(*p - from);
}

/*
 * Reads most numbers in files, which have few digits and a small power of ten, faster than strtod.
 * If the digits and the power of ten are exact doubles, one multiplication or division rounds once,
 * as strtod does (W. Clinger, How to Read Floating Point Numbers Accurately, 1990). False: the text
 * is another number, or not a number.
 */
static bool read_short(const char *p, double *out) {
    /* MOST_DIGITS: a number of so many decimal digits always fits in a uint64_t */
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
