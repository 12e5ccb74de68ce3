/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers by the thousand, with the bits of dt_random_uniform and dt_random_normal:
 * integers, and sums, products, quotients and roots that all processors round alike. Numbers too
 * far out in a tail are left to the caller: computing them here would cost every lane one more
 * rational function.
 */
#include "base/random.h"

#include "base/quantile.h"
#include "base/simd/loops.h"
#include "base/simd/philox.h"

/* two vectors of blocks at a time, so that the processor can work on one while the other's products
 * are pending */
enum { AT_ONCE = 2 * LANES };

static void draw_some(uint64_t key, lanes stream, uint64_t *out) {
    lanes word[2] = {philox_lanes(key, (lanes){0}, stream),
                     philox_lanes(key, (lanes){0}, stream + LANES)};
    memcpy(out, word, sizeof word);
}

static void words(uint64_t key, uint64_t first, int64_t n, uint64_t *out) {
    uint64_t last[AT_ONCE];
    lanes stream = lanes_from(first);
    for (; n >= AT_ONCE; n -= AT_ONCE, out += AT_ONCE, stream += AT_ONCE)
        draw_some(key, stream, out);
    if (n > 0) {
        draw_some(key, stream, last);
        memcpy(out, last, (size_t)n * sizeof *out);
    }
}

/* Converts words to numbers in [0, 1): the upper 53 bits of each, divided by 2^53. Nothing is
 * rounded. The upper 32 of these bits and the other 21 are converted separately, since few
 * processors have vector instructions that convert integers of 53 bits. */
static void uniform(const uint64_t *word, int64_t n, double *out) {
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        out[i] = (real_of(word[i] >> 32) * 0x1p21 + real_of(word[i] << 32 >> 43)) * 0x1p-53;
}

static inline double choose_polynomial(bool first, const double a[8], const double b[8], double x) {
    double sum = first ? a[7] : b[7];
#pragma GCC unroll 7
    for (int i = 6; i >= 0; i--) sum = sum * x + (first ? a[i] : b[i]);
    return sum;
}

static inline double near_quantile(double p) {
    double q = p - 0.5, r = sqrt(-portable_log(q < 0 ? p : 1 - p)), sign = q < 0 ? -1 : 1;
    bool middle = fabs(q) <= 0.425;
    double x = middle ? 0.180625 - q * q : r - 1.6;
    double above = choose_polynomial(middle, quantile_a, quantile_c, x),
           below = choose_polynomial(middle, quantile_b, quantile_d, x);
    return (middle ? q : sign) * above / below;
}

static void normal(const uint64_t *word, int64_t n, double *out) {
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) out[i] = near_quantile(probability_of(word[i]));
}

extern const dt_random_loops JOIN(dt_random_, DT_ISA);
const dt_random_loops JOIN(dt_random_, DT_ISA) = {words, uniform, normal};
