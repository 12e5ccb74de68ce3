/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of fused groups and of row kernels, in plain C that compilers turn into vectors. Built
 * once per instruction set.
 *
 * Bits: every element is computed by the same sequence of IEEE operations in all builds (no
 * contraction, no reassociation). So results do not depend on the instruction set, on the length of
 * a strip, or on the position of an element in it. That is why there are our own exp, log and tanh:
 * those of the C library depend on the processor. Largest errors in units in the last place,
 * including denormals (measured on every 17th float; tests/exec/strip_test.c): exp 0.99, log 0.82,
 * tanh 1.31, logistic 2.76, rsqrt 1.5, which is two roundings. For erf it is 3.1, measured on a
 * million random floats.
 */
#include "exec/strip.h"

#include <stddef.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "exec/conv_loops.h"
#include "exec/simd/math.h"
#include "exec/simd/sum.h"

#define X (((const float *)a)[i])
#define Y (((const float *)b)[i])
#define Z (((const float *)c)[i])
#define DT_LOOP(name, y)                                                                           \
    static void loop_##name(void *d, const void *a, const void *b, const void *c, int64_t n) {     \
        float *to = d;                                                                             \
        (void)a, (void)b, (void)c;                                                                 \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) to[i] = (y);                                               \
    }

/* ---- strips ---- */

#define DT_VARIANT DT_LOOP
DT_LOOP(copy, X)
#include "op/ops.h"

static void from_u8(void *d, const void *a, const void *b, const void *c, int64_t n) {
    float *to = d;
    const uint8_t *from = a;
    (void)b, (void)c;
    for (int64_t i = 0; i < n; i++) to[i] = (float)from[i];
}

static void from_i32(void *d, const void *a, const void *b, const void *c, int64_t n) {
    float *to = d;
    const int32_t *from = a;
    (void)b, (void)c;
    for (int64_t i = 0; i < n; i++) to[i] = (float)from[i];
}

static void from_bf16(void *d, const void *a, const void *b, const void *c, int64_t n) {
    float *to = d;
    const uint16_t *from = a;
    (void)b, (void)c;
    for (int64_t i = 0; i < n; i++) to[i] = from_bits((int32_t)((uint32_t)from[i] << 16));
}

/* Converts to bfloat16. NaN remains NaN: since its quiet bit is set, its upper half never equals
 * that of infinity. */
static void to_bf16(void *d, const void *a, const void *b, const void *c, int64_t n) {
    uint16_t *to = d;
    const float *from = a;
    (void)b, (void)c;
    for (int64_t i = 0; i < n; i++) {
        float x = from[i];
        uint32_t bits = (uint32_t)to_bits(bfloat16_one(x));
        to[i] = (uint16_t)(bits >> 16 | (x == x ? 0 : 0x40));
    }
}

/* some_from_f16 and some_to_f16 convert elements from i on, eight at a time, while the processor's
 * instructions give the same bits as our own code, and return the first element that they have not
 * converted: there are fewer than 8 left, a NaN is among the next 8, or the instruction set lacks
 * the instructions. */
static int64_t some_from_f16(float *to, const uint16_t *from, int64_t i, int64_t n) {
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        const __m256 x =
            _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i)));
        if (_mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q))) return i;
        _mm256_storeu_ps(to + i, x);
    }
#endif
    (void)to, (void)from, (void)n;
    return i;
}

static int64_t some_to_f16(uint16_t *to, const float *from, int64_t i, int64_t n) {
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        const __m256 x = _mm256_loadu_ps(from + i);
        if (_mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q))) return i;
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
#endif
    (void)to, (void)from, (void)n;
    return i;
}

static void from_f16(void *d, const void *a, const void *b, const void *c, int64_t n) {
    float *to = d;
    const uint16_t *from = a;
    (void)b, (void)c;
    for (int64_t i = 0; (i = some_from_f16(to, from, i, n)) < n;)
        for (const int64_t end = n - i < 64 ? n : i + 64; i < end; i++)
            to[i] = float16_value(from[i]);
}

static void to_f16(void *d, const void *a, const void *b, const void *c, int64_t n) {
    uint16_t *to = d;
    const float *from = a;
    (void)b, (void)c;
    for (int64_t i = 0; (i = some_to_f16(to, from, i, n)) < n;)
        for (const int64_t end = n - i < 64 ? n : i + 64; i < end; i++)
            to[i] = float16_bits(from[i]);
}

static void to_bool(void *d, const void *a, const void *b, const void *c, int64_t n) {
    uint8_t *to = d;
    const float *from = a;
    (void)b, (void)c;
    for (int64_t i = 0; i < n; i++) to[i] = from[i] != 0;
}

static void fill(float *d, float x, int64_t n) {
    for (int64_t i = 0; i < n; i++) d[i] = x;
}

/* ---- sums ---- */

/* Sets d[j], j < s->n, to the sum over the block's rows of a[j] or, with `squares`, of (a[j] -
 * mean[j])^2. Four rows are added at a time, so that each sum is read and written once for four
 * rows. */
static ALWAYS_INLINE void sum_rows(float *d, const dt_sum_block *s, bool squares) {
    const float *a = s->a, *mean = s->mean;
    const int64_t n = s->n, stride = s->stride;
    int64_t i = 0;

    for (int64_t j = 0; j < n; j++) d[j] = 0;
#define TERM(k)                                                                                    \
    (squares ? (a[(k)*stride + j] - mean[j]) * (a[(k)*stride + j] - mean[j]) : a[(k)*stride + j])
    for (; i + 4 <= s->rows; i += 4, a += 4 * stride) INDEPENDENT
    for (int64_t j = 0; j < n; j++) d[j] = (((d[j] + TERM(0)) + TERM(1)) + TERM(2)) + TERM(3);
    for (; i < s->rows; i++, a += stride) INDEPENDENT
    for (int64_t j = 0; j < n; j++) d[j] += TERM(0);
#undef TERM
}

static void sum_block(const dt_sum_block *s, float *d) {
    if (s->mean) sum_rows(d, s, true);
    else sum_rows(d, s, false);
}

/* Returns the sum of a row of fewer than CHAINS values, such as the scores of a few classes: a[i]
 * is added to chain i % 4. */
static float short_sum(const float *a, int64_t n) {
    float chain[4] = {0};
    for (int64_t i = 0; i < n; i++) chain[i % 4] += a[i];
    return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

static float sum(const float *a, int64_t n) {
    float total;
    if (n < CHAINS) return short_sum(a, n);
    SUM(total, n, a[i]);
    return total;
}

/* Returns the maximum: NaN if there is one, -inf if there are no elements. It does not depend on
 * the order. */
static float max(const float *a, int64_t n) {
    float chain[CHAINS];
    int64_t i = 0;

    for (int j = 0; j < CHAINS; j++) chain[j] = -INFINITY;
    for (; i + CHAINS <= n; i += CHAINS)
        for (int j = 0; j < CHAINS; j++) chain[j] = max_one(chain[j], a[i + j]);
    for (; i < n; i++) chain[0] = max_one(chain[0], a[i]);
    for (int width = CHAINS / 2; width; width /= 2)
        for (int j = 0; j < width; j++) chain[j] = max_one(chain[j], chain[j + width]);
    return chain[0];
}

/* ---- rows of class scores, and the table of all loops ---- */

/* Returns the largest score of a row. If a row of fewer than CHAINS scores has a NaN, the result
 * may be the largest of the other scores; exp of the NaN is then still NaN, and so is the row's
 * sum. */
static float top(const float *a, int64_t n) {
    float chain[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

    if (n >= CHAINS) return max(a, n);
    for (int64_t i = 0; i < n; i++) chain[i % 4] = a[i] > chain[i % 4] ? a[i] : chain[i % 4];
    float m = chain[0] > chain[1] ? chain[0] : chain[1],
          m2 = chain[2] > chain[3] ? chain[2] : chain[3];
    return m > m2 ? m : m2;
}

/* Computes d[i][j] = exp(a[i][j] - m[i]) for rows of n scores, but not its sum. Works on many rows
 * at a time, so that exp runs over long vectors even if there are few classes. */
static void exp_rows(float *d, const float *a, const float *m, int64_t rows, int64_t n) {
    if (rows <= 0 || n <= 0) return; /* gcc would warn that d may be read but not written */
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) d[i * n + j] = a[i * n + j] - m[i];
    loop_exponential(d, d, NULL, NULL, rows * n);
}

/* The most scores of several rows, at most MOST_ROWS, that are worked on together; also those of a
 * piece of a longer row. */
#define ROOM 1024
#define MOST_ROWS 64
static int64_t rows_together(int64_t rows, int64_t n) {
    int64_t most = n < ROOM / MOST_ROWS ? MOST_ROWS : n < ROOM ? ROOM / n : 1;
    return rows < most ? rows : most;
}

static void softmax(float *d, const float *a, int64_t rows, int64_t n) {
    float m[MOST_ROWS];

    for (int64_t done = 0, some; done < rows; done += some, d += some * n, a += some * n) {
        some = rows_together(rows - done, n);
        for (int64_t i = 0; i < some; i++) m[i] = top(a + i * n, n);
        exp_rows(d, a, m, some, n);
        for (int64_t i = 0; i < some; i++) {
            float total = sum(d + i * n, n);
            for (int64_t j = 0; j < n; j++) d[i * n + j] /= total;
        }
    }
}

/* Returns the sum of exp(a[i] - m) over the n scores of a row. It is computed in pieces of ROOM
 * scores, which are stored in `room`. */
static float exp_sum(const float *a, float m, int64_t n, float *room) {
    float total = 0;

    for (int64_t at = 0; at < n; at += ROOM) {
        int64_t len = n - at < ROOM ? n - at : ROOM;
        exp_rows(room, a + at, &m, 1, len);
        total += sum(room, len);
    }
    return total;
}

/* Computes for each of `rows` rows of n scores (at most rows_together) the largest score m[i] and
 * log_total[i], the log of the sum of exp(a - m[i]). */
static void log_sums(float *log_total, float *m, const float *a, int64_t rows, int64_t n) {
    float room[ROOM];

    for (int64_t i = 0; i < rows; i++) m[i] = top(a + i * n, n);
    if (rows == 1) {
        *log_total = exp_sum(a, *m, n, room);
    } else {
        exp_rows(room, a, m, rows, n);
        for (int64_t i = 0; i < rows; i++) log_total[i] = sum(room + i * n, n);
    }
    loop_log(log_total, log_total, NULL, NULL, rows);
}

static void sparse_entropy(float *loss, const float *a, const int32_t *label, int64_t rows,
                           int64_t n) {
    float log_total[MOST_ROWS], m[MOST_ROWS];

    for (int64_t done = 0, some; done < rows; done += some, a += some * n) {
        some = rows_together(rows - done, n);
        log_sums(log_total, m, a, some, n);
        for (int64_t i = 0; i < some; i++) {
            int64_t right = label[done + i];
            loss[done + i] =
                right >= 0 && right < n ? log_total[i] - (a[i * n + right] - m[i]) : NAN;
        }
    }
}

/* Returns the cross-entropy of a row of n scores, the sum of target[i] (log_total - (a[i] - m)). A
 * class of probability 0 does not count, even if its score is -inf. */
static float entropy_of(const float *a, const float *target, float m, float log_total, int64_t n) {
    float total;
    SUM(total, n, target[i] != 0 ? target[i] * (log_total - (a[i] - m)) : 0);
    return total;
}

static void entropy(float *loss, const float *a, const float *target, int64_t rows, int64_t n) {
    float log_total[MOST_ROWS], m[MOST_ROWS];

    for (int64_t done = 0, some; done < rows; done += some, a += some * n, target += some * n) {
        some = rows_together(rows - done, n);
        log_sums(log_total, m, a, some, n);
        for (int64_t i = 0; i < some; i++)
            loss[done + i] = entropy_of(a + i * n, target + i * n, m[i], log_total[i], n);
    }
}

static void sparse_entropy_grad(float *d, const float *a, const int32_t *label, const float *dy,
                                int64_t rows, int64_t n) {
    softmax(d, a, rows, n);
    for (int64_t i = 0; i < rows; i++) {
        float scale = label[i] >= 0 && label[i] < n ? dy[i] : NAN;
        if (label[i] >= 0 && label[i] < n) d[i * n + label[i]] -= 1.0f;
        for (int64_t j = 0; j < n; j++) d[i * n + j] *= scale;
    }
}

static void entropy_grad(float *d, const float *a, const float *target, const float *dy,
                         int64_t rows, int64_t n) {
    softmax(d, a, rows, n);
    for (int64_t i = 0; i < rows; i++) {
        float total = sum(target + i * n, n);
        for (int64_t j = 0; j < n; j++)
            d[i * n + j] = (d[i * n + j] * total - target[i * n + j]) * dy[i];
    }
}

#define STRING_(x) #x
#define STRING(x) STRING_(x)
extern const dt_window_loops JOIN(dt_window_loops_, DT_ISA); /* defined in window.c */
extern const dt_row_functions JOIN(dt_rows_, DT_ISA);        /* defined in rows.c */
extern const dt_random_functions JOIN(dt_randoms_, DT_ISA);  /* defined in random.c */
extern const dt_product_functions JOIN(dt_product_, DT_ISA); /* defined in product.c */
extern const dt_conv_loops JOIN(dt_conv_loops_, DT_ISA);     /* defined in conv.c */
const dt_simd JOIN(dt_simd_, DT_ISA) = {
    .name = STRING(DT_ISA),
#if defined(__AVX2__)
    .generates = true,
#endif
#if defined(__FMA__) || defined(__aarch64__)
    .fuses = true,
#endif
    .strip =
        {
#define DT_LOOP(name, y) [DT_S_##name] = loop_##name,
#define DT_VARIANT DT_LOOP
#include "op/ops.h"
            [DT_S_COPY] = loop_copy,
            [DT_S_FROM_U8] = from_u8,
            [DT_S_FROM_I32] = from_i32,
            [DT_S_TO_BOOL] = to_bool,
            [DT_S_FROM_BF16] = from_bf16,
            [DT_S_TO_BF16] = to_bf16,
            [DT_S_FROM_F16] = from_f16,
            [DT_S_TO_F16] = to_f16,
        },
    .window = &JOIN(dt_window_loops_, DT_ISA),
    .rows = &JOIN(dt_rows_, DT_ISA),
    .random = &JOIN(dt_randoms_, DT_ISA),
    .product = &JOIN(dt_product_, DT_ISA),
    .conv = &JOIN(dt_conv_loops_, DT_ISA),
    .fill = fill,
    .sum_block = sum_block,
    .sum = sum,
    .max = max,
    .softmax = softmax,
    .sparse_entropy = sparse_entropy,
    .entropy = entropy,
    .sparse_entropy_grad = sparse_entropy_grad,
    .entropy_grad = entropy_grad,
};
