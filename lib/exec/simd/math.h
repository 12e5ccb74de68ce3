/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of single floats, for the loops in this folder, compiled once for each instruction set.
 * They are plain C that compilers turn into vector instructions, with the same bits everywhere
 * (strip.c).
 */
#ifndef DT_EXEC_SIMD_MATH_H
#define DT_EXEC_SIMD_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/simd/elementary.h"
#include "base/simd/loops.h"

/* these functions must be inlined, because a loop with a call does not become vector
 * instructions */
#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE float from_bits(int32_t i) {
    float f;
    memcpy(&f, &i, sizeof f);
    return f;
}

static ALWAYS_INLINE int32_t to_bits(float f) {
    int32_t i;
    memcpy(&i, &f, sizeof i);
    return i;
}

/* Rounds to the nearest number with 8 binary digits (bfloat16), ties to even. NaN is kept as it is,
 * since a carry from its digits would change the sign. */
static ALWAYS_INLINE float bfloat16_one(float x) {
    uint32_t bits = (uint32_t)to_bits(x);
    float nearest = from_bits((int32_t)((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u));
    return x == x ? nearest : x;
}

/* Rounds to the nearest float16, ties to even: 11 binary digits. Denormals are multiples of 2^-24,
 * to which adding 0.75 rounds. Results are infinity from 65520 on. */
static ALWAYS_INLINE float float16_one(float x) {
    uint32_t bits = (uint32_t)to_bits(x), sign = bits & 0x80000000u;
    float size = from_bits((int32_t)(bits ^ sign)), small = (size + 0.75f) - 0.75f;
    float normal = from_bits((int32_t)(((bits ^ sign) + 0xfff + (bits >> 13 & 1)) & 0xffffe000u));
    float nearest = size < 0x1p-14f ? small : size >= 65520.0f ? INFINITY : normal;
    return x == x ? from_bits((int32_t)((uint32_t)to_bits(nearest) | sign)) : x;
}

/* Converts a float16 to float. Its 15 bits without the sign, shifted into a float, are its value
 * times 2^-112, also for denormals. An exponent of all ones means infinity or NaN. */
static ALWAYS_INLINE float float16_value(uint16_t h) {
    uint32_t size = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t finite = (uint32_t)to_bits(from_bits((int32_t)size) * 0x1p112f);
    return from_bits((int32_t)(sign | (size >= 0x0f800000u ? size | 0x7f800000u : finite)));
}

/* Returns the bits of the nearest float16. The result of float16_one has these bits, shifted and
 * with another exponent offset, unless it is a denormal. A denormal is the number of multiples of
 * 2^-24, which is found by adding 1/2 and subtracting its bits, so that no denormal float occurs on
 * the way. A NaN becomes quiet. */
static ALWAYS_INLINE uint16_t float16_bits(float x) {
    uint32_t bits = (uint32_t)to_bits(float16_one(x)), size = bits & 0x7fffffffu;
    uint32_t small = (uint32_t)to_bits(from_bits((int32_t)size) + 0.5f) - 0x3f000000u,
             normal = (size - 0x38000000u) >> 13;
    uint32_t h = size < 0x38800000u    ? small
                 : size < 0x7f800000u  ? normal
                 : size == 0x7f800000u ? 0x7c00
                                       : 0x7e00;
    return (uint16_t)(h | bits >> 31 << 15);
}

/* exp(x) = 2^k exp(r), with |r| <= log(2)/2. ln 2 is subtracted in two parts, and exp(r) is a
 * polynomial of degree 7. Scaling in two steps reaches denormals. */
static ALWAYS_INLINE float exp_one(float x) {
    /* limits x, so that even NaN can be converted to an integer */
    float clamped = !(x >= -104.0f) ? -104.0f : x > 89.0f ? 89.0f : x;
    /* adding 1.5 * 2^23 rounds to the nearest integer */
    float shifted = clamped * 1.44269504088896341f + 12582912.0f;
    float k = shifted - 12582912.0f;
    float r = (clamped - k * 0.693359375f) - k * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r * r + r) + 1.0f;
    int32_t e = (int32_t)k, half = e / 2;
    float scaled = p * from_bits((half + 127) << 23) * from_bits((e - half + 127) << 23);
    return x != x ? x : scaled;
}

/* log(x) = e log(2) + log(m), with sqrt(1/2) <= m < sqrt(2). For f = m - 1, log(1 + f) is a
 * polynomial with terms up to f^11. */
static ALWAYS_INLINE float log_one(float x) {
    /* denormals are multiplied by 2^23 first */
    float normal = x < 1.17549435e-38f ? x * 8388608.0f : x;
    int32_t bits = to_bits(normal);
    /* subtracts unsigned numbers, because for negative x signed ones would overflow */
    int32_t power = (int32_t)((uint32_t)bits - 0x3f3504f3u) >> 23;
    int32_t e = power - (x < 1.17549435e-38f ? 23 : 0);
    float m = from_bits((int32_t)((uint32_t)bits - ((uint32_t)power << 23)));
    float f = m - 1.0f, s = f * f, k = (float)e;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    p = p * f * s + k * -2.12194440e-4f - 0.5f * s;
    float y = f + p + k * 0.693359375f;
    y = x == INFINITY ? x : y;
    y = x == 0 ? -INFINITY : y;
    return x >= 0 ? y : NAN;
}

static ALWAYS_INLINE float logistic_one(float x) {
    float e = exp_one(x < 0 ? x : -x), q = 1.0f / (1.0f + e);
    return x < 0 ? e * q : q;
}

/* tanh(|x|) with the sign of x. For small |x| an odd polynomial is used, because 1 - 2/(e^2x + 1)
 * would lose digits. */
static ALWAYS_INLINE float tanh_one(float x) {
    float a = fabsf(x), s = x * x;
    float p = -5.70498872745e-3f;
    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    float small = p * s * a + a;
    float big = 1.0f - 2.0f / (exp_one(a + a) + 1.0f);
    return copysignf(a < 0.625f ? small : big, x);
}

/* erf(x): an odd polynomial up to |x| = 1, then 1 - e^-p(x) with a polynomial of degree 6. Beyond 4
 * the result is 1 - 1.5e-8, which rounds to 1. */
static ALWAYS_INLINE float erf_one(float x) {
    float a = fabsf(x), s = x * x;
    float p = 7.8824971106e-5f;
    p = p * s - 8.0188549925e-4f;
    p = p * s + 5.1893119426e-3f;
    p = p * s - 2.6854328796e-2f;
    p = p * s + 1.1283597463e-1f;
    p = p * s - 3.7612626904e-1f;
    float small = p * s * a + 1.1283791659f * a;
    float b = a < 4 ? a : 4;
    float q = -1.8556230166e-4f;
    q = q * b + 2.9395168121e-3f;
    q = q * b - 2.1805044680e-2f;
    q = q * b + 1.0303696827e-1f;
    q = q * b + 6.3822595325e-1f;
    q = q * b + 1.1270399746f;
    q = q * b + 3.5371052774e-4f;
    float y = a < 1 ? small : 1 - exp_one(-q);
    return x != x ? x : copysignf(y, x);
}

static ALWAYS_INLINE float gelu_one(float x) { return 0.5f * x * (1 + erf_one(x * 0.707106781f)); }

static ALWAYS_INLINE float gelu_slope(float x) {
    float bell = exp_one(-0.5f * x * x) * 0.398942280f;
    float far = fabsf(x) > 20 ? 0 : x * bell; /* x * bell is NaN for infinite x */
    return 0.5f * (1 + erf_one(x * 0.707106781f)) + far;
}

/* Returns logistic(2 sqrt(2 / pi) (x + 0.044715 x^3)), by which the approximate gelu multiplies
 * x. */
static ALWAYS_INLINE float near_gelu_gate(float x) {
    return logistic_one(x * (1.59576912f + 0.0713548163f * (x * x)));
}

static ALWAYS_INLINE float near_gelu_one(float x) { return x * near_gelu_gate(x); }

static ALWAYS_INLINE float near_gelu_slope(float x) {
    float s = near_gelu_gate(x), slope = s * (1 - s);
    float far = fabsf(x) > 20 ? 0 : x * slope * (1.59576912f + 0.214064449f * (x * x));
    return s + far;
}

/* ---- in double precision, as the op's definition computes before it rounds to float ---- */

static ALWAYS_INLINE float log1p_one(float x) { return (float)log1p_of((double)x); }

static ALWAYS_INLINE float expm1_one(float x) { return (float)expm1_of((double)x); }

static ALWAYS_INLINE float power_one(float x, float y) {
    return (float)power_of((double)x, (double)y);
}

/* Returns the sine. From |x| = 2^20 on it calls the C library, so loops with it do not become
 * vector instructions. */
static ALWAYS_INLINE float sine_one(float x) {
    return fabsf(x) < 0x1p20f ? x == 0 ? x : (float)sine_of((double)x, 0) : (float)sin((double)x);
}

static ALWAYS_INLINE float cosine_one(float x) {
    return fabsf(x) < 0x1p20f ? (float)sine_of((double)x, 1) : (float)cos((double)x);
}

/* ---- maximum and minimum ---- */

/* Return the maximum and the minimum of IEEE 754-2019: NaN if either number is, and -0 is less than
 * 0. If both numbers are equal, `and` (maximum) or `or` (minimum) of their bits chooses the right
 * zero. */
static ALWAYS_INLINE float max_one(float x, float y) {
    float same = from_bits(to_bits(x) & to_bits(y));
    return x > y ? x : x < y ? y : x == y ? same : x + y;
}

static ALWAYS_INLINE float min_one(float x, float y) {
    float same = from_bits(to_bits(x) | to_bits(y));
    return x < y ? x : x > y ? y : x == y ? same : x + y;
}

#endif
