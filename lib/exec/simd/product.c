/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products in one fixed order, built once per instruction set, with the same bits on all
 * (engine.c). An element of C is the sum of blocks of DT_PRODUCT_BLOCK values of k, added by the
 * tree of exec/sums.h, so a long k loses no digits. A block is one chain,
 *
 *     c = fma(a[k], b[k], c)    k ascending, from 0
 *
 * so rows and columns can be cut as is fastest. A tile of C stays in registers while a panel of B,
 * packed, is read from the first-level cache. Where the processor lacks fma, it is made of doubles.
 */
#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "exec/gemm.h"
#include "base/size.h"
#include "exec/simd/math.h"
#include "exec/strip.h"

/* W floats in a vector, VECTORS vectors in a row of a tile, at most ROWS rows: accumulators, a
 * row of B and a number of A use all registers. */
#if defined(__AVX512F__)
enum { W = 16, VECTORS = 2, ROWS = 12 };
typedef __m512 vec;
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define ALL _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#elif defined(__FMA__)
enum { W = 8, VECTORS = 2, ROWS = 6 };
typedef __m256 vec;
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define ALL _mm256_set1_ps
#define FMA _mm256_fmadd_ps
#elif defined(__SSE2__)
enum { W = 4, VECTORS = 2, ROWS = 4 };
typedef __m128 vec;
#define LOAD _mm_loadu_ps
#define STORE _mm_storeu_ps
#define ALL _mm_set1_ps
#define FMA fma_of_doubles

/*
 * The product of two floats is exact as a double; the sum is not. It is rounded to odd: where
 * anything was lost, cut off toward zero and its last bit set, which a second rounding to the 24
 * bits of a float cannot take for a tie (Boldo and Melquiond, 2008). `lost` is exact, as in Knuth's
 * sum of two.
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
enum { W = 4, VECTORS = 4, ROWS = 6 };
typedef float32x4_t vec;
#define LOAD vld1q_f32
#define STORE vst1q_f32
#define ALL vdupq_n_f32
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#else
enum { W = 1, VECTORS = 4, ROWS = 4 };
typedef float vec;
#define LOAD(p) (*(p))
#define STORE(p, x) (*(p) = (x))
#define ALL(x) (x)
#define FMA fmaf
#endif

/* Columns of a panel; rows of A that stay in the second-level cache. */
enum { PANEL = W * VECTORS, BLOCK = ROWS < 12 ? 20 * ROWS : DT_PRODUCT_ROWS };

/* Operands of a tile: A and C in place, and a panel of B whose rows are ldb apart. */
typedef struct tile {
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc, k;
    bool trans_a;
} tile;

/* `rows` and `trans_a` are constants where it is called. */
static ALWAYS_INLINE void run_tile(const tile *t, int rows, bool trans_a) {
    const float *a = t->a, *b = t->b;
    const int64_t lda = t->lda;
    vec sum[ROWS][VECTORS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < VECTORS; j++) sum[i][j] = ALL(0.0f);
    for (int64_t k = 0; k < t->k; k++, b += t->ldb) {
        vec row[VECTORS];
        for (int j = 0; j < VECTORS; j++) row[j] = LOAD(b + j * W);
        for (int i = 0; i < rows; i++) {
            const vec x = ALL(trans_a ? a[k * lda + i] : a[i * lda + k]);
            for (int j = 0; j < VECTORS; j++) sum[i][j] = FMA(x, row[j], sum[i][j]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < VECTORS; j++) STORE(t->c + i * t->ldc + j * W, sum[i][j]);
}

#define CASE(rows)                                                                                 \
    case rows:                                                                                     \
        if (t->trans_a) run_tile(t, rows, true);                                                   \
        else run_tile(t, rows, false);                                                             \
        break;

static void run_rows(const tile *t, int rows) {
    switch (rows) {
#if defined(__AVX512F__)
        CASE(12)
        CASE(8)
#elif defined(__FMA__) || defined(__aarch64__)
        CASE(6)
#endif
        CASE(4)
        CASE(2)
        CASE(1)
    }
}

/* The rows of the next tile. */
static int next_rows(int64_t left) {
    static const int sizes[] = {
#if defined(__AVX512F__)
        12,
        8,
#elif defined(__FMA__) || defined(__aarch64__)
        6,
#endif
        4,
        2,
        1
    };
    int i = 0;
    while (sizes[i] > left) i++;
    return sizes[i];
}

/* Packs columns [0, n) of a panel, n <= PANEL, and fills it up with 0. */
static void pack(float *to, const float *b, const tile *t, int64_t n, bool trans_b) {
    for (int64_t k = 0; k < t->k; k++, to += PANEL) {
        for (int64_t j = 0; j < n; j++) to[j] = trans_b ? b[j * t->ldb + k] : b[k * t->ldb + j];
        for (int64_t j = n; j < PANEL; j++) to[j] = 0;
    }
}

/* Computes a tile at the edge of C through a buffer, since columns beyond n do not belong to C. */
static void run_edge(tile t, int rows, int64_t n) {
    float edge[ROWS * PANEL], *c = t.c;
    const int64_t ldc = t.ldc;
    t.c = edge;
    t.ldc = PANEL;
    run_rows(&t, rows);
    for (int i = 0; i < rows; i++) memcpy(c + i * ldc, edge + i * PANEL, (size_t)n * sizeof *c);
}

/* Rows [0, m) of n columns, n <= PANEL. B is packed if its layout is unfavourable or many tiles
 * read it. */
static void run_panel(tile t, int64_t m, int64_t n, bool trans_b) {
    _Alignas(64) float packed[DT_PRODUCT_BLOCK * PANEL];
    if (trans_b || n < PANEL || m > 2 * ROWS) {
        pack(packed, t.b, &t, n, trans_b);
        t.b = packed;
        t.ldb = PANEL;
    }
    for (int rows; m > 0; m -= rows) {
        rows = next_rows(m);
        if (n == PANEL) run_rows(&t, rows);
        else run_edge(t, rows, n);
        t.a += t.trans_a ? rows : rows * t.lda;
        t.c += rows * t.ldc;
    }
}

/* A part of C: rows [i, i + rows), columns [j, j + columns). */
typedef struct part {
    const dt_gemm *g;
    const float *a, *b;
    int64_t i, j, rows, columns;
} part;

/* Sums of blocks of a part. Some are in C, the others in buffers whose rows are closer together. */
typedef struct sums {
    float *at;
    int64_t ld;
} sums;

/* to = the sum over k in [from, end) */
static void make_block(const part *p, int64_t from, int64_t end, sums to) {
    const dt_gemm *g = p->g;
    for (int64_t j = 0; j < p->columns; j += PANEL) {
        const float *a = p->a + (g->trans_a ? from * g->lda + p->i : p->i * g->lda + from);
        const float *b =
            p->b + (g->trans_b ? (p->j + j) * g->ldb + from : from * g->ldb + p->j + j);
        const tile t = {.a = a,
                        .b = b,
                        .c = to.at + j,
                        .lda = g->lda,
                        .ldb = g->ldb,
                        .ldc = to.ld,
                        .k = end - from,
                        .trans_a = g->trans_a};
        run_panel(t, p->rows, dt_min(PANEL, p->columns - j), g->trans_b);
    }
}

static void add_part(const part *p, sums from, sums to) {
    for (int64_t i = 0; i < p->rows; i++, from.at += from.ld, to.at += to.ld) {
        INDEPENDENT
        for (int64_t j = 0; j < p->columns; j++) to.at[j] += from.at[j];
    }
}

/* Buffer `k` of the tree: the first is C itself, unless C is added to. */
static sums buffer(const dt_gemm *g, float *c, float *room, int k) {
    const int64_t ld = dt_min(g->n, DT_PRODUCT_COLUMNS), each = dt_min(g->m, DT_PRODUCT_ROWS) * ld;
    if (k == 0 && !g->adds) return (sums){c, g->ldc};
    return (sums){room + (g->adds ? k : k - 1) * each, ld};
}

/* As dt_sum_push and dt_sum_end do. */
static void make_part(const part *p, float *c, float *room) {
    const dt_gemm *g = p->g;
    int buffers = 0;

    for (int64_t block = 0, from = 0; from < g->k; block++, from += DT_PRODUCT_BLOCK) {
        const int64_t end = dt_min(from + DT_PRODUCT_BLOCK, g->k);
        make_block(p, from, end, buffer(g, c, room, buffers++));
        for (int64_t carry = block; buffers > 1 && (carry & 1 || end == g->k);
             carry >>= 1, buffers--)
            add_part(p, buffer(g, c, room, buffers - 1), buffer(g, c, room, buffers - 2));
    }
    if (g->adds && g->k > 0) add_part(p, buffer(g, c, room, 0), (sums){c, g->ldc});
}

static void product(const dt_gemm *g, const float *a, const float *b, float *c, float *room) {
    for (int64_t i = 0; i < g->m; i += BLOCK)
        for (int64_t j = 0; j < g->n; j += DT_PRODUCT_COLUMNS) {
            const int64_t rows = dt_min(BLOCK, g->m - i),
                          columns = dt_min(DT_PRODUCT_COLUMNS, g->n - j);
            const part p = {
                .g = g, .a = a, .b = b, .i = i, .j = j, .rows = rows, .columns = columns};
            make_part(&p, c + i * g->ldc + j, room);
        }
}

extern const dt_product_function JOIN(dt_product_, DT_ISA);
const dt_product_function JOIN(dt_product_, DT_ISA) = product;
