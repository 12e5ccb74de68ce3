/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of depthwise convolutions and of their kernels' gradients (dt_conv_loops.depthwise and
 * depthwise_gradient of exec/conv_loops.h), compiled once per instruction set, with the same bits
 * on all of them.
 */
#include "base/size.h"
#include "exec/conv_loops.h"
#include "exec/simd/unroll.h"
#include "exec/simd/vec.h"
#include "exec/strip.h"

enum {
    PLACES = 8, /* the largest number of adjacent positions of a line whose sums are in registers */
    TAPS = 9    /* number of elements of the kernel whose gradients are computed together */
};
/* number of vectors of channels that are computed together */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { CHANNELS = 2 };
#else
enum { CHANNELS = 1 };
#endif

/* The properties of a group of sums that are constants where it is compiled: the number of
 * positions, and of vectors of channels. */
typedef struct kind {
    int rows, vectors;
} kind;

extern void JOIN(dt_depthwise_, DT_ISA)(const dt_conv_product *p);
extern void JOIN(dt_depthwise_gradient_, DT_ISA)(const dt_conv_product *p);

/* The sums of some adjacent positions of a line, for one or two vectors of channels, while they are
 * computed. */
typedef struct window {
    vec sum[PLACES][2];
    const float *a, *b;
    int64_t step, ldb, last; /* last is the number of channels in the last vector */
} window;

static ALWAYS_INLINE vec load_channels(const window *w, const kind of, const float *p, int j) {
    return load_part(p + j * W, j == of.vectors - 1 ? w->last : W);
}

/* Adds the products of one element of the kernel. */
static ALWAYS_INLINE void add_element(window *w, const kind of, const dt_conv_span *s) {
    const float *b = w->b + s->k * w->ldb, *a = w->a + s->at;
    vec y[2];
    UNROLL(2) for (int j = 0; j < of.vectors; j++) y[j] = load_channels(w, of, b, j);
    UNROLL(12) for (int i = 0; i < of.rows; i++, a += w->step) {
        HIDE(a);
        UNROLL(2)
        for (int j = 0; j < of.vectors; j++)
            w->sum[i][j] = FMA(load_channels(w, of, a, j), y[j], w->sum[i][j]);
    }
}

/* Returns how three successive elements of the kernel share what they read: 1 if each reads, at a
 * position, what the element before it reads at the next position; 2 if the third reads what the
 * first does at the next position, as with strides of 2; otherwise 0. */
static ALWAYS_INLINE int shared_by_three(const dt_conv_span *s, const dt_conv_span *end,
                                         int64_t step) {
    if (end - s < 3 || (s[0].joins & s[1].joins) >= 0 || !(s[0].n & s[1].n & s[2].n)) return 0;
    const int64_t apart = s[1].at - s[0].at;
    if (s[2].at - s[1].at != apart) return 0;
    return apart == step ? 1 : 2 * apart == step ? 2 : 0;
}

/* Adds the products of three successive elements of the kernel for which shared_by_three returned
 * `stride`, 1 or 2. What several positions read is loaded only once. */
static ALWAYS_INLINE void add_three(window *w, const kind of, const dt_conv_span *s,
                                    const int stride) {
    const int64_t apart = s[1].at - s[0].at;
    const float *a = w->a + s->at;
    vec y[3][2];
    UNROLL(3) for (int t = 0; t < 3; t++) {
        const float *b = w->b + s[t].k * w->ldb;
        UNROLL(2) for (int j = 0; j < of.vectors; j++) y[t][j] = load_channels(w, of, b, j);
    }
    UNROLL(18) for (int i = 0; i < stride * (of.rows - 1) + 3; i++, a += apart) {
        HIDE(a);
        UNROLL(2) for (int j = 0; j < of.vectors; j++) {
            const vec x = load_channels(w, of, a, j);
            UNROLL(3)
            for (int t = 2; t >= 0; t--)
                if (i >= t && (i - t) % stride == 0 && (i - t) / stride < of.rows)
                    ADD_PRODUCT(w->sum[(i - t) / stride][j], x, y[t][j]);
        }
    }
}

static ALWAYS_INLINE void run_places(const dt_conv_product *p, window w, const kind of, float *c,
                                     float *top) {
    const int64_t ldc = p->ldc, sums = (int64_t)of.rows * of.vectors * W;
    EACH_SUM(of) w.sum[i][j] = ALL(0.0f);
    for (const dt_conv_span *s = p->span, *end = s + p->spans; s < end; s++) {
        const int shared = shared_by_three(s, end, w.step);
        if (shared == 1) add_three(&w, of, s, 1);
        else if (shared == 2) add_three(&w, of, s, 2);
        else if (s->n > 0) add_element(&w, of, s);
        if (shared) s += 2;
        if (s->joins < 0) continue;
        for (int joins = s->joins; joins > 0; joins--) {
            const float *other = top -= sums;
            EACH_SUM(of)
            w.sum[i][j] = ADD(LOAD(other + (i * of.vectors + j) * W), w.sum[i][j]);
        }
        if (s + 1 == end) break;
        EACH_SUM(of) STORE(top + (i * of.vectors + j) * W, w.sum[i][j]);
        top += sums;
        EACH_SUM(of) w.sum[i][j] = ALL(0.0f);
    }
    EACH_SUM(of)
    store_part(c + i * ldc + j * W, w.sum[i][j], j == of.vectors - 1 ? w.last : W);
}

/* Computes all channels of `places` neighbouring positions of a line, channel group after channel
 * group, so that memory is read in order. */
static ALWAYS_INLINE void run_group(const dt_conv_product *p, const float *a, float *c,
                                    float *buffer, const int places) {
    window w = {.step = p->row_step, .ldb = p->ldb, .last = W};
    int64_t j = 0;
    for (; j + CHANNELS * W <= p->columns; j += CHANNELS * W) {
        w.a = a + j, w.b = p->b + j;
        run_places(p, w, (kind){places, CHANNELS}, c + j, buffer);
    }
    for (; j < p->columns; j += w.last) {
        w.a = a + j, w.b = p->b + j, w.last = dt_min(W, p->columns - j);
        run_places(p, w, (kind){places, 1}, c + j, buffer);
    }
}

typedef void (*group_function)(const dt_conv_product *p, const float *a, float *c, float *buffer);
#define GROUP(n)                                                                                   \
    static void group_##n(const dt_conv_product *p, const float *a, float *c, float *buffer) {     \
        run_group(p, a, c, buffer, n);                                                             \
    }
#define EVERY_GROUP(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8)
EVERY_GROUP(GROUP)

#define ENTRY_OF_GROUPS(n) [n] = group_##n,
static const group_function groups[PLACES + 1] = {EVERY_GROUP(ENTRY_OF_GROUPS)};

void JOIN(dt_depthwise_, DT_ISA)(const dt_conv_product *p) {
    _Alignas(64) float buffer[DT_CONV_LEVELS * PLACES * 2 * W];
    const int64_t n = (p->each + PLACES - 1) / PLACES;
    for (const dt_conv_line *l = p->line, *end = l + p->lines; l < end; l++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t from = p->each * i / n, places = p->each * (i + 1) / n - from;
            groups[places](p, p->a + l->a + from * p->row_step, p->c + l->c + from * p->ldc,
                           buffer);
        }
}

/* ---- the gradient of the kernel ---- */

/* Adds the products of a span to the sums of those elements of the kernel that have it. */
static ALWAYS_INLINE void add_taps(const dt_conv_product *p, const dt_conv_span *s,
                                   const int64_t at[TAPS], int64_t j, int64_t channels,
                                   const int taps, uint64_t which, vec sum[TAPS]) {
    const float *a = p->a + j, *b = p->b + s->k * p->ldb + j;
    int64_t moved = s->at;
    for (int64_t k = s->n; k > 0; k--, moved += p->k_step, b += p->ldb) {
        const vec y = load_part(b, channels);
        UNROLL(9)
        for (int t = 0; t < taps; t++)
            if (which >> t & 1) sum[t] = FMA(load_part(a + (moved + at[t]), channels), y, sum[t]);
    }
}

/* Computes `taps` lines of C (at most TAPS), from line `first` on, in columns [j, j + channels) (at
 * most W). */
static ALWAYS_INLINE void run_taps(const dt_conv_product *p, int64_t first, int64_t j,
                                   int64_t channels, const int taps) {
    _Alignas(64) float buffer[DT_CONV_LEVELS][TAPS * W];
    const uint64_t all = ((uint64_t)1 << taps) - 1;
    int64_t at[TAPS];
    vec sum[TAPS];
    int buffers = 0;
    UNROLL(9) for (int t = 0; t < taps; t++) at[t] = p->line[first + t].a;
    UNROLL(9) for (int t = 0; t < taps; t++) sum[t] = ALL(0.0f);
    for (const dt_conv_span *s = p->span, *end = s + p->spans; s < end; s++) {
        const uint64_t which = s->taps >> first & all;
        if (which == all) add_taps(p, s, at, j, channels, taps, all, sum);
        else add_taps(p, s, at, j, channels, taps, which, sum);
        for (int joins = s->joins; joins > 0; joins--) {
            const float *other = buffer[--buffers];
            UNROLL(9) for (int t = 0; t < taps; t++) sum[t] = ADD(LOAD(other + t * W), sum[t]);
        }
        if (s->joins < 0 || s + 1 == end) continue;
        UNROLL(9) for (int t = 0; t < taps; t++) STORE(buffer[buffers] + t * W, sum[t]);
        UNROLL(9) for (int t = 0; t < taps; t++) sum[t] = ALL(0.0f);
        buffers++;
    }
    UNROLL(9)
    for (int t = 0; t < taps; t++) store_part(p->c + p->line[first + t].c + j, sum[t], channels);
}

static ALWAYS_INLINE void run_channels(const dt_conv_product *p, int64_t j, int64_t channels) {
    int64_t l = 0;
    for (; l + TAPS <= p->lines; l += TAPS) run_taps(p, l, j, channels, TAPS);
    for (; l < p->lines; l++) run_taps(p, l, j, channels, 1);
}

void JOIN(dt_depthwise_gradient_, DT_ISA)(const dt_conv_product *p) {
    int64_t j = 0;
    for (; j + W <= p->columns; j += W) run_channels(p, j, W);
    if (j < p->columns) run_channels(p, j, p->columns - j);
}
