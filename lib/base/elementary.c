/* SPDX-License-Identifier: Apache-2.0 */
/* See elementary.h. Series of Taylor over short intervals: what they leave out is below 2^-58 of
 * the result. */
#include "base/elementary.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* ln 2 in two parts: the first has 32 bits, so that its products with exponents are exact. */
static const double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;

/* A number as an unevaluated sum of two, the second one small. */
typedef struct pair {
    double high, low;
} pair;

/* The sum of x^k / (k + from)!, k from 0 on. */
static double tail_of_exp(double x, int from) {
    enum { TERMS = 14 };
    double sum = 0, factor = 1;
    for (int k = 2; k <= from; k++) factor /= k;
    for (int k = TERMS; k > 0; k--) sum = (1 + sum) * x / (k + from);
    return factor * (1 + sum);
}

/* exp(x.high + x.low) */
static double exp_of(pair x) {
    if (!(x.high < 710)) return x.high > 0 ? INFINITY : x.high;
    if (x.high < -746) return 0;
    const double k = nearbyint(x.high * 1.4426950408889634);
    const double r = (x.high - k * ln2_high) - (k * ln2_low - x.low);
    return ldexp(1 + (r + r * r * tail_of_exp(r, 2)), (int)k);
}

double dt_portable_exp(double x) { return exp_of((pair){x, 0}); }

double dt_portable_expm1(double x) {
    return x == 0 ? x : fabs(x) < 0.35 ? x + x * x * tail_of_exp(x, 2) : dt_portable_exp(x) - 1;
}

/* The product without an error: factors are cut into halves of 26 bits (Veltkamp, Dekker). */
static pair product(double a, double b) {
    const double split = 0x1p27 + 1, p = a * b;
    const double a1 = split * a - (split * a - a), a2 = a - a1, b1 = split * b - (split * b - b),
                 b2 = b - b1;
    return (pair){p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
}

/* x = 2^k m, sqrt(1/2) <= m < sqrt(2): log(m) = 2 atanh(s), s = (m - 1) / (m + 1), where m - 1 is
 * exact. x is positive and finite. */
static pair log_of(double x) {
    int k;
    double m = frexp(x, &k), sum = 0;
    if (m < 0.70710678118654752) {
        m *= 2;
        k--;
    }
    const double d = m - 1, c = m + 1, lost = m - (c - 1), s = d / c;
    const pair sc = product(s, c);
    const double s_low = ((d - sc.high) - sc.low - s * lost) / c, square = s * s;
    for (int i = 25; i >= 3; i -= 2) sum = (sum + 1.0 / i) * square;
    const double high = k * ln2_high, y = high + 2 * s, rest = (high - y) + 2 * s;
    return (pair){y, rest + (2 * s_low + 2 * s * sum + k * ln2_low)};
}

double dt_portable_log(double x) {
    if (!(x > 0) || isinf(x)) return x == 0 ? -INFINITY : x > 0 ? x : NAN;
    const pair y = log_of(x);
    return y.high + y.low;
}

/* log(1 + x) = log(u) + what rounding u = 1 + x lost, in parts of u. */
double dt_portable_log1p(double x) {
    const double u = 1 + x;
    if (!(u > 0) || isinf(u) || fabs(x) < 0x1p-53)
        return u > 0 && !isinf(u) ? x : dt_portable_log(u);
    const pair y = log_of(u);
    return y.high + (y.low + ((fabs(x) > 1 ? 1 - (u - x) : x - (u - 1)) / u));
}

static bool is_odd(double y) { return fabs(y) < 0x1p53 && fmod(y, 2) != 0; }

/* Values of special arguments have no digits to round: the C library's are right. */
double dt_portable_pow(double x, double y) {
    if (!isfinite(x) || !isfinite(y) || x == 0 || y == 0 || fabs(x) == 1 ||
        (x < 0 && y != floor(y)))
        return pow(x, y);
    const pair l = log_of(fabs(x));
    if (fabs(y) > 0x1p900) /* halves of it would overflow */
        return (l.high > 0) == (y > 0) ? INFINITY : 0;
    pair z = product(y, l.high);
    z.low += y * l.low;
    const double size = exp_of(z);
    return x < 0 && is_odd(y) ? -size : size;
}

/* ---- sine and cosine ---- */

/* |r| <= pi / 4: the sum of (-1)^k r^2k / (2k + from)!, times from!, k from 1 on. */
static double alternating(double r, int from) {
    double sum = 0;
    for (int k = 9; k > 0; k--) sum = (1 + sum) * -(r * r) / ((2 * k + from) * (2 * k + from - 1));
    return sum;
}

/* x - k pi/2, k the nearest integer, below 2^20: three parts of pi/2 have 33 bits each. */
static double reduce(double x, int *quarter) {
    static const double part[] = {0x1.921fb54400000p+0, 0x1.0b4611a600000p-34,
                                  0x1.3198a2e000000p-69};
    const double k = nearbyint(x * 0.63661977236758134), first = x - k * part[0],
                 r = first - k * part[1];
    *quarter = (int)((int64_t)k & 3);
    return r - (k * part[2] - ((first - r) - k * part[1]));
}

static double sine_from(double x, int turned) {
    int quarter;
    const double r = reduce(x, &quarter);
    quarter = (quarter + turned) & 3;
    const double y = quarter & 1 ? 1 + alternating(r, 0) : r + r * alternating(r, 1);
    return quarter & 2 ? -y : y;
}

double dt_portable_sin(double x) { return fabs(x) < 0x1p20 && x != 0 ? sine_from(x, 0) : sin(x); }

double dt_portable_cos(double x) { return fabs(x) < 0x1p20 ? sine_from(x, 1) : cos(x); }
