/*
 * Uniform random numbers by the thousand: Philox 4x32-10 (Random123; base/random.c has it one by one) of counters that follow each other,
 * every element by itself, so that a processor makes as many at a time as it has lanes. Integers alone: the same bits on all.
 */
#include "exec/strip.h"

#include "exec/simd/math.h"

/* The high half of a product of 32 bits; the low one is the product itself. */
static inline uint32_t high(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

/* The first word of the block of (key; place, stream). */
static inline uint32_t first_word(uint64_t key, uint32_t place, uint64_t stream)
{
    uint32_t c0 = place, c1 = 0, c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        uint32_t low0 = 0xD2511F53u * c0, low1 = 0xCD9E8D57u * c2;
        uint32_t new0 = high(0xCD9E8D57u, c2) ^ c1 ^ k0, new2 = high(0xD2511F53u, c0) ^ c3 ^ k1;
        c0 = new0, c1 = low1, c2 = new2, c3 = low0;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return c0;
}

static void uniform(float *d, uint64_t key, uint64_t stream, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        d[i] = (float)(int32_t)(first_word(key, (uint32_t)i, stream) >> 8) * 0x1p-24f;
}

extern const dt_uniform_function JOIN(dt_uniform_, DT_ISA);
const dt_uniform_function JOIN(dt_uniform_, DT_ISA) = uniform;
