/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the inverse of the normal distribution for 0 < p < 1: M. J. Wichura, Algorithm AS 241
 * (PPND16), Applied Statistics 37 (1988), good to 1e-16: a rational function in the middle (a / b),
 * two for the tails (c / d and, farther out, e / f, which is in random.c). random.c uses a to d for
 * one number, simd/draw.c for many; both must give the same bits.
 */
#ifndef DT_BASE_QUANTILE_H
#define DT_BASE_QUANTILE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static const double quantile_a[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                     1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                     4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                     3.3430575583588128105e+4, 2.5090809287301226727e+3};
static const double quantile_b[8] = {1,
                                     4.2313330701600911252e+1,
                                     6.8718700749205790830e+2,
                                     5.3941960214247511077e+3,
                                     2.1213794301586595867e+4,
                                     3.9307895800092710610e+4,
                                     2.8729085735721942674e+4,
                                     5.2264952788528545610e+3};
static const double quantile_c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                     5.76949722146069140550e0,  3.64784832476320460504e0,
                                     1.27045825245236838258e0,  2.41780725177450611770e-1,
                                     2.27238449892691845833e-2, 7.74545014278341407640e-4};
static const double quantile_d[8] = {1,
                                     2.05319162663775882187e0,
                                     1.67638483018380384940e0,
                                     6.89767334985100004550e-1,
                                     1.48103976427480074590e-1,
                                     1.51986665636164571966e-2,
                                     5.47593808499534494600e-4,
                                     1.05075007164441684324e-9};

/* Converts a whole number below 2^52 to double. */
static inline double real_of(uint64_t x) {
    double d;
    x |= UINT64_C(0x4330000000000000); /* x becomes the bits of the double 2^52 + x. */
    memcpy(&d, &x, sizeof d);
    return d - 0x1p52;
}

/* Returns the probability (k + 1/2) / 2^52, where k is the upper 52 bits of the word. It is exact
 * in a double, and never 0 or 1. */
static inline double probability_of(uint64_t word) { return (real_of(word >> 12) + 0.5) * 0x1p-52; }

/* Returns the natural logarithm, to about 1e-16, of a normal x > 0 by operations that every
 * processor rounds alike: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m - 1) /
 * (m + 1)). */
static inline double portable_log(double x) {
    uint64_t bits, fraction;
    memcpy(&bits, &x, sizeof bits);
    fraction = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3fe0000000000000);
    double m, e = real_of(bits >> 52) - 1022;
    memcpy(&m, &fraction, sizeof m);
    _Bool small = m < 0.70710678118654752440;
    m = small ? m * 2 : m;
    e = small ? e - 1 : e;
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
#pragma GCC unroll 12
    for (int k = 23; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;
    return e * 0.69314718055994530942 + 2 * s * sum;
}

#endif
