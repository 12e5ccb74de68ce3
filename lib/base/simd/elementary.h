/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp, log, log1p, expm1, pow, sine and cosine in double precision, for one number
 * (base/elementary.c) and for loops over many: sums, products and quotients in a fixed order and
 * choices in place of branches, so that compilers make vectors of them and every processor gives
 * the same bits. Taylor series over short intervals: the terms that are left out are below 2^-58 of
 * the result.
 */
#ifndef DT_BASE_SIMD_ELEMENTARY_H
#define DT_BASE_SIMD_ELEMENTARY_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ELEMENTARY static inline __attribute__((always_inline))

/* A number as an unevaluated sum of two, the second one small. */
typedef struct pair {
    double high, low;
} pair;

ELEMENTARY double double_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

ELEMENTARY uint64_t bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Adding this number to x, |x| < 2^51, leaves the integer nearest to x, ties to even, in the last
 * bits of the sum. */
#define ROUNDER 0x1.8p52

/* ---- exp ---- */

/* ln 2 in two parts: the first has 32 bits, so that its products with exponents are exact. */
#define LN2_HIGH 0x1.62e42fee00000p-1
#define LN2_LOW 0x1.a39ef35793c76p-33

/* Returns exp(x) - 1 for |x| < 0.36. */
ELEMENTARY double short_expm1(double x) {
    double sum = 0;
#pragma GCC unroll 14
    for (int k = 14; k > 0; k--) sum = (1 + sum) * x / (k + 2);
    return x + x * x * (0.5 * (1 + sum));
}

/* Returns p * 2^k, where k, |k| < 2^11, is the integer in the last bits of `shifted`. Multiplies in
 * two steps: 2^1024 is not a double, and only the second step rounds. */
ELEMENTARY double times_power_of_2(double p, double shifted) {
    const uint64_t k = bits_of_double(shifted) - bits_of_double(ROUNDER) + 2048, half = k >> 1;
    return p * double_of_bits((half - 1) << 52) * double_of_bits((k - half - 1) << 52);
}

/* Returns exp(x) for x < -746 (0), for x >= 710 (infinity) and for NaN, else y. */
ELEMENTARY double exp_or(double x, double y) {
    y = x < -746 ? 0 : y;
    y = x < 710 ? y : INFINITY;
    return x != x ? x : y;
}

/* Returns exp(x.high + x.low) = 2^k exp(r), |r| <= log(2) / 2. */
ELEMENTARY double exp_of(pair x) {
    const double shifted = x.high * 1.4426950408889634 + ROUNDER, k = shifted - ROUNDER;
    const double r = (x.high - k * LN2_HIGH) - (k * LN2_LOW - x.low);
    return exp_or(x.high, times_power_of_2(1 + short_expm1(r), shifted));
}

/* Returns exp(x) - 1. One series serves both cases: its argument is x if x is small, else what
 * range reduction leaves of x. */
ELEMENTARY double expm1_of(double x) {
    const bool is_small = fabs(x) < 0.35;
    const double shifted = x * 1.4426950408889634 + ROUNDER, k = shifted - ROUNDER;
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW, y = short_expm1(is_small ? x : r);
    const double big = exp_or(x, times_power_of_2(1 + y, shifted)) - 1;
    return x == 0 ? x : is_small ? y : big;
}

/* ---- log ---- */

/* Returns a * b without an error, as a sum of two doubles: factors are cut into halves of 26 bits
 * (Veltkamp, Dekker). */
ELEMENTARY pair exact_product(double a, double b) {
    const double split = 0x1p27 + 1, p = a * b;
    const double a1 = split * a - (split * a - a), a2 = a - a1, b1 = split * b - (split * b - b),
                 b2 = b - b1;
    return (pair){p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
}

/* Converts x < 2^52 to double. */
ELEMENTARY double double_of_uint(uint64_t x) {
    return double_of_bits(x | UINT64_C(0x4330000000000000)) - 0x1p52;
}

/* Returns log(x) for a positive, finite x = 2^k m, sqrt(1/2) <= m < sqrt(2): log(m) = 2 atanh(s), s
 * = (m - 1) / (m + 1), where m - 1 is exact. */
ELEMENTARY pair log_of(double x) {
    const bool is_denormal = x < 0x1p-1022;
    const uint64_t bits = bits_of_double(is_denormal ? x * 0x1p54 : x);
    double m = double_of_bits((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3fe0000000000000));
    double k = double_of_uint(bits >> 52) - (is_denormal ? 1022 + 54 : 1022), sum = 0;
    const bool is_low = m < 0.70710678118654752;
    k = is_low ? k - 1 : k;
    m = is_low ? m * 2 : m;
    const double d = m - 1, c = m + 1, lost = m - (c - 1), s = d / c;
    const pair sc = exact_product(s, c);
    const double s_low = ((d - sc.high) - sc.low - s * lost) / c, square = s * s;
#pragma GCC unroll 12
    for (int i = 25; i >= 3; i -= 2) sum = (sum + 1.0 / i) * square;
    const double high = k * LN2_HIGH, y = high + 2 * s, rest = (high - y) + 2 * s;
    return (pair){y, rest + (2 * s_low + 2 * s * sum + k * LN2_LOW)};
}

/* Returns log(x) if x is not positive and finite, else y. */
ELEMENTARY double log_or(double x, double y) {
    y = x == INFINITY ? x : y;
    y = x == 0 ? -INFINITY : y;
    return x >= 0 ? y : NAN;
}

/* Returns log(1 + x) = log(u) + the rounding error of u = 1 + x, relative to u. */
ELEMENTARY double log1p_of(double x) {
    const double u = 1 + x;
    const pair y = log_of(u);
    const double lost = fabs(x) > 1 ? 1 - (u - x) : x - (u - 1);
    return log_or(u, fabs(x) < 0x1p-53 ? x : y.high + (y.low + lost / u));
}

/* ---- pow ---- */

/* Returns a to the power of y, as C's pow defines it, for a >= 0 or NaN, and |y| <= 2^900 or not
 * finite. */
ELEMENTARY double power_of_size(double a, double y) {
    const pair l = log_of(a);
    const double high = a == 0 ? -INFINITY : a < INFINITY ? l.high : a;
    pair z = exact_product(y, l.high);
    z.high = y * high;
    z.low += y * l.low;
    const double power = exp_of(z), of_one = y == y ? 1 : y;
    return y == 0 ? 1 : a == 1 ? of_one : power;
}

/* Returns `yes` if x is an integer, else `no`; |x| < 2^51. */
ELEMENTARY double if_whole(double x, double yes, double no) {
    return (x + ROUNDER) - ROUNDER == x ? yes : no;
}

/* Returns pow(x, y) for doubles that hold floats, so that y is even from 2^24 on. Compilers
 * vectorize choices between numbers, but not combined conditions. */
ELEMENTARY double power_of(double x, double y) {
    const double kept = fabs(y) < 0x1p24 ? y : 0, of_odd = if_whole(0.5 * kept, 1, -1),
                 of_finite = if_whole(kept, of_odd, NAN), of_others = if_whole(kept, of_odd, 1);
    double sign = x < 0 ? of_finite : of_others;
    sign = x > -INFINITY ? sign : of_others;
    sign = copysign(1, x) < 0 ? sign : 1;
    const double power = power_of_size(fabs(x), y) * sign;
    return x == 1 ? 1 : power;
}

/* ---- sine and cosine ---- */

/* Returns the sum of (-1)^k r^2k / (2k + from)!, times from!, k from 1 on, for |r| <= pi / 4: the
 * series of sin(r) / r (from = 1) and cos(r) (from = 0) without their first term, 1. */
ELEMENTARY double alternating(double r, int from) {
    double sum = 0;
#pragma GCC unroll 9
    for (int k = 9; k > 0; k--) sum = (1 + sum) * -(r * r) / ((2 * k + from) * (2 * k + from - 1));
    return sum;
}

/* Returns sin(x + turned pi/2) for |x| < 2^20. r = x - k pi/2, where k is the integer nearest to x
 * / (pi/2), uses pi/2 in three parts of 33 bits each. */
ELEMENTARY double sine_of(double x, int turned) {
    const double shifted = x * 0.63661977236758134 + ROUNDER, k = shifted - ROUNDER,
                 first = x - k * 0x1.921fb54400000p+0, second = first - k * 0x1.0b4611a600000p-34,
                 r = second -
                     (k * 0x1.3198a2e000000p-69 - ((first - second) - k * 0x1.0b4611a600000p-34));
    const uint64_t quarter = bits_of_double(shifted) + (uint64_t)turned;
    const double even = r + r * alternating(r, 1), odd = 1 + alternating(r, 0);
    const double y = quarter & 1 ? odd : even;
    return quarter & 2 ? -y : y;
}

#endif
