/* SPDX-License-Identifier: Apache-2.0 */
/* Half precision: one bit of sign, 5 of exponent (bias 15), 10 of fraction; denormals are multiples
 * of 2^-24. */
#include "base/half.h"

#include <math.h>
#include <string.h>

double dt_half_to_double(uint16_t h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double x = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return h >> 15 ? -x : x;
}

/* Returns the bits of |x| as half precision. A fraction that rounds up to 2048 carries into the
 * exponent, which gives the right number. */
static uint16_t magnitude(double x) {
    if (isnan(x)) return 0x7e00;
    if (x >= 65520) return 0x7c00;
    if (x < 0x1p-14) return (uint16_t)nearbyint(ldexp(x, 24));
    int e = ilogb(x);
    return (uint16_t)(((e + 15) << 10) + (int)nearbyint(ldexp(x, 10 - e)) - 1024);
}

uint16_t dt_half_of(double x) { return (uint16_t)(magnitude(fabs(x)) | (signbit(x) ? 0x8000 : 0)); }

double dt_bfloat_to_double(uint16_t b) {
    uint32_t bits = (uint32_t)b << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* Rounds the double once: bfloat16 has 7 binary digits of fraction, and its denormals are multiples
 * of 2^-133. */
uint16_t dt_bfloat_of(double x) {
    uint32_t bits;
    if (isfinite(x) && x != 0) {
        int e = ilogb(x) < -126 ? -126 : ilogb(x);
        x = ldexp(nearbyint(ldexp(x, 7 - e)), e - 7);
    }
    float nearest = fabs(x) >= 0x1p128 ? copysignf(INFINITY, (float)copysign(1, x)) : (float)x;
    memcpy(&bits, &nearest, sizeof bits);
    return isnan(x) ? (uint16_t)0x7fc0 : (uint16_t)(bits >> 16);
}

float dt_float_rounded(float x, int digits) {
    uint32_t bits, gone = 23 - (uint32_t)digits;
    if (isnan(x) || gone == 0) return x;
    memcpy(&bits, &x, sizeof bits);
    /* A fraction that rounds up carries into the exponent, which gives the right number. */
    bits += (1u << (gone - 1)) - 1 + (bits >> gone & 1);
    bits &= ~0u << gone;
    memcpy(&x, &bits, sizeof x);
    return x;
}
