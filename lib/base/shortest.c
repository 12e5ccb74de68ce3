/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest decimal that reads back as a number, in the notation of %g.
 *
 * The C library finds it by trial: print with ever more digits until the text reads back. A table
 * of predictions has hundreds of thousands of floats, and three trials of each took most of the
 * time of `predict`. A float has 24 bits and a double 53, so in between a trial is one product and
 * one quotient of doubles:
 *
 *     n = the integer nearest to x * 10^k         its digits are those that %g would print
 *     (float)(n / 10^k) == x                      they read back
 *
 * Powers of ten are exact up to 10^22 and n has at most nine digits, so product and quotient are
 * rounded once. Since rounding is monotonic, both answers are those of exact arithmetic, unless the
 * rounded result is exactly half way between two integers or two floats. In that case, and for
 * larger powers of ten, the C library decides. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/str.h"

/* A positive number as n / 10^shift, its first digit worth 10^exponent. */
typedef struct decimal {
    int64_t n;
    int digits, shift, exponent;
} decimal;

static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* ---- digits by double arithmetic ---- */

/* Rounding may make the exponent one too large for numbers near a power of ten. */
static int exponent_of(double a) {
    int e = 0;
    while (a >= power[e + 1]) e++;
    while (e <= 0 && a * power[-e] < 1) e--;
    return e;
}

/* False: double arithmetic is not precise enough to decide. */
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

/* For numbers that are not integers; those have a separate case. Digits of numbers below 10^-13
 * would need powers above 10^22, which are not exact. */
static bool add_by_arithmetic(dt_str *s, float x) {
    decimal d;
    float a = fabsf(x);
    if (!(a >= 1e-12f && a < 0x1p23f) || !find_digits(a, &d)) return false;
    if (x < 0) dt_str_putc(s, '-');
    drop_zeros(&d);
    add_decimal(s, &d);
    return true;
}

/* ---- digits by trial ---- */

/* Not-a-number and infinities have a printf form that depends on the library ("-nan"); ours has
 * one. */
static bool add_special(dt_str *s, double x) {
    if (isfinite(x)) return false;
    dt_str_puts(s, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    return true;
}

/* Appends x with `digits` digits. Returns the number that the text reads back as, infinity if that
 * overflows a double. */
static double try_digits(dt_str *s, size_t from, int digits, double x) {
    double back = (double)INFINITY;
    s->size = from;
    dt_str_printf(s, "%.*g", digits, x);
    dt_parse_double(s->data + from, &back);
    return back;
}

/* Every decimal of DBL_DIG digits survives conversion to a double and back. So if a decimal of at
 * most DBL_DIG digits reads back as x, it is what %.15g prints, which drops trailing zeros.
 * Denormals have fewer digits, so for them the search starts at one digit. */
void dt_str_double(dt_str *s, double x) {
    if (add_special(s, x)) return;
    size_t from = s->size;
    int digits = fabs(x) < DBL_MIN ? 1 : DBL_DIG;
    while (try_digits(s, from, digits, x) != x && digits < DBL_DECIMAL_DIG) digits++;
}

void dt_str_float(dt_str *s, float x) {
    if (add_special(s, (double)x)) return;
    /* %.6g would write a million as 1e+06. */
    if (fabsf(x) < 0x1p24f && x == truncf(x)) {
        dt_str_printf(s, "%.0f", (double)x);
        return;
    }
    if (add_by_arithmetic(s, x)) return;
    size_t from = s->size;
    int digits = fabsf(x) < FLT_MIN ? 1 : FLT_DIG;
    while ((float)try_digits(s, from, digits, (double)x) != x && digits < FLT_DECIMAL_DIG) digits++;
}
