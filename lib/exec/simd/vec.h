/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vector type of products for each instruction set: W floats. Also how many rows a tile of 1 to
 * 4 vectors may have, so that its sums, a row of B and a number of A are all in registers. Compiled
 * for x86-64 without FMA instructions, FMA(a, b, c) computes a b + c with doubles, so that it has
 * the same bits as with them.
 */
#ifndef DT_EXEC_SIMD_VEC_H
#define DT_EXEC_SIMD_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "exec/simd/math.h"

/* EACH_TILE(F) expands to F(rows, vectors) for every kind of tile. ROWS_n is the most rows of a
 * tile of n vectors. LO, HI, LO2 and HI2 interleave two vectors: the low or high halves of each 128
 * bits, by one element or by two. */
#if defined(__AVX512F__)
enum { W = 16, ROWS_1 = 14, ROWS_2 = 14, ROWS_3 = 9, ROWS_4 = 6 };
typedef __m512 vec;
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define ALL _mm512_set1_ps
#define ADD _mm512_add_ps
#define FMA _mm512_fmadd_ps
#define LO _mm512_unpacklo_ps
#define HI _mm512_unpackhi_ps
#define LO2(a, b) _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)))
#define HI2(a, b) _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)))
#elif defined(__FMA__)
enum { W = 8, ROWS_1 = 8, ROWS_2 = 6, ROWS_3 = 4, ROWS_4 = 2 };
typedef __m256 vec;
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define ALL _mm256_set1_ps
#define ADD _mm256_add_ps
#define FMA _mm256_fmadd_ps
#define LO _mm256_unpacklo_ps
#define HI _mm256_unpackhi_ps
#define LO2(a, b) _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)))
#define HI2(a, b) _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)))
#elif defined(__SSE2__)
enum { W = 4, ROWS_1 = 4, ROWS_2 = 4, ROWS_3 = 2, ROWS_4 = 2 };
typedef __m128 vec;
#define LOAD _mm_loadu_ps
#define STORE _mm_storeu_ps
#define ALL _mm_set1_ps
#define ADD _mm_add_ps
#define FMA fma_of_doubles
#define LO _mm_unpacklo_ps
#define HI _mm_unpackhi_ps
#define LO2(a, b) _mm_castpd_ps(_mm_unpacklo_pd(_mm_castps_pd(a), _mm_castps_pd(b)))
#define HI2(a, b) _mm_castpd_ps(_mm_unpackhi_pd(_mm_castps_pd(a), _mm_castps_pd(b)))

/*
 * Adds p, the product of two floats, which is exact as a double, to c. The sum is rounded to odd:
 * if it is not exact, it is rounded toward zero and its last bit is set. A second rounding, to the
 * 24 bits of a float, then cannot mistake it for a tie (Boldo and Melquiond, 2008). `lost`, the
 * error of the sum, is exact, as in Knuth's sum of two numbers.
 */
static ALWAYS_INLINE __m128d odd_sum(__m128d p, __m128d c) {
    const __m128d s = _mm_add_pd(p, c), part = _mm_sub_pd(s, p);
    const __m128d lost = _mm_add_pd(_mm_sub_pd(p, _mm_sub_pd(s, part)), _mm_sub_pd(c, part));
    const __m128i inexact = _mm_castpd_si128(
        _mm_and_pd(_mm_cmpneq_pd(lost, _mm_setzero_pd()), _mm_cmpord_pd(lost, lost)));
    const __m128i one = _mm_and_si128(inexact, _mm_set_epi32(0, 1, 0, 1)),
                  away = _mm_srli_epi64(_mm_castpd_si128(_mm_xor_pd(lost, s)), 63);
    return _mm_castsi128_pd(
        _mm_or_si128(_mm_sub_epi64(_mm_castpd_si128(s), _mm_and_si128(away, one)), one));
}

static ALWAYS_INLINE __m128 fma_of_doubles(__m128 a, __m128 b, __m128 c) {
    const __m128 a1 = _mm_movehl_ps(a, a), b1 = _mm_movehl_ps(b, b), c1 = _mm_movehl_ps(c, c);
    const __m128d low = odd_sum(_mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), _mm_cvtps_pd(c));
    const __m128d high = odd_sum(_mm_mul_pd(_mm_cvtps_pd(a1), _mm_cvtps_pd(b1)), _mm_cvtps_pd(c1));
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}
#elif defined(__aarch64__)
enum { W = 4, ROWS_1 = 8, ROWS_2 = 8, ROWS_3 = 8, ROWS_4 = 6 };
typedef float32x4_t vec;
#define LOAD vld1q_f32
#define STORE vst1q_f32
#define ALL vdupq_n_f32
#define ADD vaddq_f32
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define LO vzip1q_f32
#define HI vzip2q_f32
#define LO2(a, b)                                                                                  \
    vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)))
#define HI2(a, b)                                                                                  \
    vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)))
#else
enum { W = 1, ROWS_1 = 4, ROWS_2 = 4, ROWS_3 = 2, ROWS_4 = 2 };
typedef float vec;
#define LOAD(p) (*(p))
#define STORE(p, x) (*(p) = (x))
#define ALL(x) (x)
#define ADD(a, b) ((a) + (b))
#define FMA fmaf
#endif

#define TILES_OF_2_ROWS(F) F(1, 1) F(2, 1) F(1, 2) F(2, 2) F(1, 3) F(2, 3) F(1, 4) F(2, 4)
#define TILES_OF_4_ROWS(F) TILES_OF_2_ROWS(F) F(3, 1) F(4, 1) F(3, 2) F(4, 2)
#define TILES_OF_6_ROWS(F)                                                                         \
    TILES_OF_4_ROWS(F)                                                                             \
    F(5, 1) F(6, 1) F(5, 2) F(6, 2) F(7, 1) F(8, 1) F(3, 3) F(4, 3)
#define TILES_OF_8_ROWS(F)                                                                         \
    TILES_OF_6_ROWS(F)                                                                             \
    F(7, 2) F(8, 2) F(5, 3) F(6, 3) F(7, 3) F(8, 3) F(3, 4) F(4, 4) F(5, 4) F(6, 4)
#define TILES_OF_9_TO_14_ROWS(F, v) F(9, v) F(10, v) F(11, v) F(12, v) F(13, v) F(14, v)
#define TILES_OF_14_ROWS(F)                                                                        \
    TILES_OF_8_ROWS(F) TILES_OF_9_TO_14_ROWS(F, 1) TILES_OF_9_TO_14_ROWS(F, 2) F(9, 3)
/* EACH_FULL_TILE(F) expands to F(rows, WIDE) for all tiles of WIDE vectors. Most panels are WIDE
 * vectors wide; the last ones, and those of products of few rows, may not be. */
#define TILES_OF_WIDTH(F, v) F(1, v) F(2, v) F(3, v) F(4, v) F(5, v) F(6, v)
#if defined(__AVX512F__)
#define EACH_TILE TILES_OF_14_ROWS
#define EACH_FULL_TILE(F) TILES_OF_WIDTH(F, 4)
#elif defined(__FMA__)
#define EACH_TILE TILES_OF_6_ROWS
#define EACH_FULL_TILE(F) TILES_OF_WIDTH(F, 2)
#elif defined(__aarch64__)
#define EACH_TILE TILES_OF_8_ROWS
#define EACH_FULL_TILE(F) TILES_OF_WIDTH(F, 4)
#else
#define EACH_TILE TILES_OF_4_ROWS
#define EACH_FULL_TILE(F) F(1, 4) F(2, 4)
#endif

enum { MOST_ROWS = 14, WIDE = W == 8 ? 2 : 4 };

static ALWAYS_INLINE int most_rows(int vectors) {
    return vectors == 1 ? ROWS_1 : vectors == 2 ? ROWS_2 : vectors == 3 ? ROWS_3 : ROWS_4;
}

#if defined(__FMA__) && !defined(__AVX512F__)
/* Returns a mask: -1 for the first n elements, 0 for the others. */
static ALWAYS_INLINE __m256i first_of(int64_t n) {
    static const int32_t mask[2 * W] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(mask + W - n));
}
#endif

/* Loads the first n of W floats, 1 <= n <= W. The others are not read, and become 0. */
static ALWAYS_INLINE vec load_part(const float *p, int64_t n) {
    if (n == W) return LOAD(p);
#if defined(__AVX512F__)
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#elif defined(__FMA__)
    return _mm256_maskload_ps(p, first_of(n));
#else
    float some[W] = {0};
    for (int64_t i = 0; i < n; i++) some[i] = p[i];
    return LOAD(some);
#endif
}

static ALWAYS_INLINE void store_part(float *p, vec x, int64_t n) {
    if (n == W) {
        STORE(p, x);
        return;
    }
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), x);
#else
    float some[W];
    STORE(some, x);
    for (int64_t i = 0; i < n; i++) p[i] = some[i];
#endif
}

/* Loads four floats from each of W / 4 rows that are `step` floats apart. */
#if defined(__AVX512F__)
static ALWAYS_INLINE vec load_fours(const float *p, int64_t step) {
    const __m512 low =
        _mm512_insertf32x4(_mm512_castps128_ps512(_mm_loadu_ps(p)), _mm_loadu_ps(p + step), 1);
    return _mm512_insertf32x4(_mm512_insertf32x4(low, _mm_loadu_ps(p + 2 * step), 2),
                              _mm_loadu_ps(p + 3 * step), 3);
}
#elif defined(__FMA__)
static ALWAYS_INLINE vec load_fours(const float *p, int64_t step) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + step), 1);
}
#elif defined(__SSE2__) || defined(__aarch64__)
static ALWAYS_INLINE vec load_fours(const float *p, int64_t step) {
    (void)step;
    return LOAD(p);
}
#endif

#endif
