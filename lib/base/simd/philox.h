/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox 4x32-10 of Random123 for many counters at a time; base/random.c has the version for one
 * counter. Each lane of 64 bits holds a 32-bit word in its lower half, because processors multiply
 * the lower halves of such lanes to full 64-bit products. The upper half is ignored. Compilers do
 * not find these products by themselves.
 */
#ifndef DT_BASE_SIMD_PHILOX_H
#define DT_BASE_SIMD_PHILOX_H

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
typedef uint64_t lanes __attribute__((vector_size(64)));
#define MULTIPLY(a, b) (lanes) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#elif defined(__AVX2__)
typedef uint64_t lanes __attribute__((vector_size(32)));
#define MULTIPLY(a, b) (lanes) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#elif defined(__SSE2__)
typedef uint64_t lanes __attribute__((vector_size(16)));
#define MULTIPLY(a, b) (lanes) _mm_mul_epu32((__m128i)(a), (__m128i)(b))
#elif defined(__aarch64__)
typedef uint64_t lanes __attribute__((vector_size(16)));
#define MULTIPLY(a, b) (lanes) vmull_u32(vmovn_u64((uint64x2_t)(a)), vmovn_u64((uint64x2_t)(b)))
#else
typedef uint64_t lanes __attribute__((vector_size(16)));
#define MULTIPLY(a, b) (((a)&UINT32_MAX) * ((b)&UINT32_MAX))
#endif
enum { LANES = sizeof(lanes) / sizeof(uint64_t) };

/* Returns the counters first, first + 1, ..., one in each lane. */
static inline lanes lanes_from(uint64_t first) {
    lanes x = {0};
    for (int i = 0; i < LANES; i++) x[i] = first + (uint64_t)i;
    return x;
}

/* Returns in each lane the words 0 (low half) and 1 (high half) of the block of (key; c0, c1). */
static inline lanes philox_lanes(uint64_t key, lanes c0, lanes c1) {
    const lanes m0 = (lanes){0} + 0xD2511F53u, m1 = (lanes){0} + 0xCD9E8D57u;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    lanes a = c0, b = c0 >> 32, c = c1, d = c1 >> 32;
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        lanes from_a = MULTIPLY(m0, a), from_c = MULTIPLY(m1, c);
        a = from_c >> 32 ^ b ^ k0, b = from_c;
        c = from_a >> 32 ^ d ^ k1, d = from_a;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return (a & UINT32_MAX) | b << 32;
}

#endif
