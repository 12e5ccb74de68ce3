/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of bfloat16 without a matrix unit. VDPBF16PS multiplies pairs of neighbours in k and
 * adds both to a float32, twice as many as a multiply-add of float32 does. So both operands are
 * read as pairs, k and k + 1 in 32 bits:
 *
 *     B   panels of 64 columns, row after row of 64 pairs; the last panel is filled up with 0
 *     A   read in place if k runs along its rows; transposed, pairs of its rows with 16 columns
 *         more, so that they do not all fall on the same lines of the cache
 *
 * A kernel keeps 6 rows of a panel of C in 24 registers. It works on a range of k whose panel of B
 * stays in the first-level cache.
 *
 * Sums are rounded as the instruction rounds them: to nearest, with denormals as 0. Bits depend on
 * that, so dt_engine_describe names it. oneDNN 2.6 has such products, too, which are slower than
 * those of float32.
 */
#include "exec/dot_bf16.h"

#include <stddef.h>

#include "exec/instructions.h"

/* STRETCH is the most pairs of k in a range */
enum { ROWS = 6, PANEL = 64, VECTORS = PANEL / 16, APART = 16, STRETCH = 128 };

static int64_t in_panels(int64_t n) { return (n + PANEL - 1) / PANEL * PANEL; }

static int64_t row_of_a(const dt_dot_bf16 *t) { return t->m + APART; }

int64_t dt_dot_bf16_room_a(const dt_dot_bf16 *t) { return t->trans_a ? t->k / 2 * row_of_a(t) : 0; }

int64_t dt_dot_bf16_room_b(const dt_dot_bf16 *t) { return t->k / 2 * in_panels(t->n); }

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define HERE __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define INLINE HERE __attribute__((always_inline)) static inline

/* Checks for AVX-512 F, BW and VL (CPUID leaf 7.0), BF16 (leaf 7.1), and a system that saves the
 * registers (XGETBV). */
bool dt_dot_bf16_is_here(void) {
    const unsigned sets = bit_AVX512F | bit_AVX512BW | bit_AVX512VL, bf16 = 1u << 5, saved = 0xe6;
    unsigned a, b, c, d, low, high;
    if (dt_instructions_limit() || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & sets) != sets)
        return false;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & bf16) ||
        !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return (low & saved) == saved;
}

/* ---- packing ---- */

/* Sets to[i], i < n, to the pair (a[i], b[i]), with a[i] in the low 16 bits. */
HERE static void interleave(const uint16_t *a, const uint16_t *b, int64_t n, uint32_t *to) {
    for (int64_t i = 0; i < n; i += 16) {
        const __mmask16 there = (__mmask16)(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
        const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, a + i)),
                      high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, b + i));
        _mm512_mask_storeu_epi32(to + i, there, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
}

HERE void dt_dot_bf16_pack_a(const dt_dot_bf16 *t, const uint16_t *a, uint32_t *room) {
    for (int64_t k = 0; t->trans_a && k < t->k; k += 2)
        interleave(a + k * t->lda, a + (k + 1) * t->lda, t->m, room + k / 2 * row_of_a(t));
}

/* Transposes 16 x 16 elements. */
INLINE void transpose(__m512i r[16]) {
    __m512i s[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        s[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        s[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(s[i], s[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(s[i], s[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(s[i + 1], s[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(s[i + 1], s[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m512i a = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88),
                      b = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        const __m512i c = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd),
                      d = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
        s[i] = _mm512_shuffle_i32x4(a, b, 0x88);
        s[i + 8] = _mm512_shuffle_i32x4(a, b, 0xdd);
        s[i + 4] = _mm512_shuffle_i32x4(c, d, 0x88);
        s[i + 12] = _mm512_shuffle_i32x4(c, d, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) r[i] = s[i];
}

/* Packs columns n .. n + 15 of a transposed B, whose pairs are adjacent, into a panel; missing
 * columns become 0. */
HERE static void pack_columns(const dt_dot_bf16 *t, const uint16_t *b, int64_t n, uint32_t *panel) {
    for (int64_t pair = 0; pair < t->k / 2; pair += 16) {
        const int64_t pairs = t->k / 2 - pair < 16 ? t->k / 2 - pair : 16;
        const __mmask16 there = (__mmask16)(pairs == 16 ? 0xffff : (1u << pairs) - 1);
        __m512i r[16];
        for (int i = 0; i < 16; i++)
            r[i] = n + i < t->n ? _mm512_maskz_loadu_epi32(there, b + (n + i) * t->ldb + 2 * pair)
                                : _mm512_setzero_si512();
        transpose(r);
        for (int i = 0; i < pairs; i++) _mm512_storeu_si512(panel + (pair + i) * PANEL, r[i]);
    }
}

/* Packs the columns from n on that fit into a panel, from a B whose rows are contiguous; missing
 * columns become 0. */
HERE static void pack_rows(const dt_dot_bf16 *t, const uint16_t *b, int64_t n, uint32_t *panel) {
    const int64_t columns = t->n - n < PANEL ? t->n - n : PANEL;
    for (int64_t k = 0; k < t->k; k += 2) {
        uint32_t *to = panel + k / 2 * PANEL;
        interleave(b + k * t->ldb + n, b + (k + 1) * t->ldb + n, columns, to);
        for (int64_t i = columns; i < PANEL; i++) to[i] = 0;
    }
}

HERE void dt_dot_bf16_pack_b(const dt_dot_bf16 *t, const uint16_t *b, uint32_t *room) {
    for (int64_t n = 0; n < t->n; n += PANEL) {
        uint32_t *panel = room + n * (t->k / 2);
        for (int i = 0; t->trans_b && i < PANEL; i += 16) pack_columns(t, b, n + i, panel + i);
        if (!t->trans_b) pack_rows(t, b, n, panel);
    }
}

/* ---- the kernel ---- */

/* Up to ROWS rows of a panel of C. Pairs of A are `row` bytes apart in m, and `step` bytes apart in
 * k. */
typedef struct strip {
    const char *a;
    int64_t row, step, pairs;
    const uint32_t *panel;
    float *c;
    int64_t ldc;
    bool adds;
    __mmask16 column[VECTORS]; /* masks of the columns that exist, one per vector */
} strip;

INLINE void multiply(const strip *s, const int rows) {
    __m512 c[ROWS][VECTORS];
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; j++)
            c[i][j] = s->adds ? _mm512_maskz_loadu_ps(s->column[j], s->c + i * s->ldc + 16 * j)
                              : _mm512_setzero_ps();
    for (int64_t k = 0; k < s->pairs; k++) {
        const char *a = s->a + k * s->step;
        __m512bh b[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; j++)
            b[j] = (__m512bh)_mm512_loadu_si512(s->panel + k * PANEL + 16 * j);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            int pair;
            __builtin_memcpy(&pair, a + i * s->row, sizeof pair);
            const __m512bh left = (__m512bh)_mm512_set1_epi32(pair);
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; j++) c[i][j] = _mm512_dpbf16_ps(c[i][j], left, b[j]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; j++)
            _mm512_mask_storeu_ps(s->c + i * s->ldc + 16 * j, s->column[j], c[i][j]);
}

HERE static void multiply_rows(const strip *s, int64_t rows) {
    switch (rows) {
    case 1: multiply(s, 1); break;
    case 2: multiply(s, 2); break;
    case 3: multiply(s, 3); break;
    case 4: multiply(s, 4); break;
    case 5: multiply(s, 5); break;
    default: multiply(s, ROWS); break;
    }
}

static void find_columns(strip *s, int64_t columns) {
    for (int j = 0; j < VECTORS; j++) {
        const int64_t there = columns - 16 * j;
        s->column[j] = (__mmask16)(there >= 16 ? 0xffff : there > 0 ? (1u << there) - 1 : 0);
    }
}

HERE void dt_dot_bf16_run(const dt_dot_bf16 *t, const uint16_t *a, const uint32_t *room_a,
                          const uint32_t *room_b, float *c) {
    const char *from = t->trans_a ? (const char *)room_a : (const char *)a;
    strip s = {.row = t->trans_a ? 4 : 2 * t->lda,
               .step = t->trans_a ? 4 * row_of_a(t) : 4,
               .ldc = t->ldc};
    for (int64_t pair = 0; pair < t->k / 2; pair += STRETCH) {
        s.pairs = t->k / 2 - pair < STRETCH ? t->k / 2 - pair : STRETCH;
        s.adds = t->adds || pair > 0;
        for (int64_t n = 0; n < t->n; n += PANEL) {
            s.panel = room_b + n * (t->k / 2) + pair * PANEL;
            find_columns(&s, t->n - n);
            for (int64_t m = 0; m < t->m; m += ROWS) {
                s.a = from + m * s.row + pair * s.step;
                s.c = c + m * t->ldc + n;
                multiply_rows(&s, t->m - m);
            }
        }
    }
}

#else

bool dt_dot_bf16_is_here(void) { return false; }

void dt_dot_bf16_pack_a(const dt_dot_bf16 *t, const uint16_t *a, uint32_t *room) {
    (void)t, (void)a, (void)room;
}

void dt_dot_bf16_pack_b(const dt_dot_bf16 *t, const uint16_t *b, uint32_t *room) {
    (void)t, (void)b, (void)room;
}

void dt_dot_bf16_run(const dt_dot_bf16 *t, const uint16_t *a, const uint32_t *room_a,
                     const uint32_t *room_b, float *c) {
    (void)t, (void)a, (void)room_a, (void)room_b, (void)c;
}

#endif
