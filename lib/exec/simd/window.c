/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of windows over images (exec/kernel_window.c): some channels of all elements of a
 * window, then the next channels, so that the best values stay in registers.
 */
#include "exec/simd/math.h"
#include "exec/strip.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX2__)
#define BYTES 32
#else
#define BYTES 16
#endif
enum { W = BYTES / 4 };
typedef float lanes __attribute__((vector_size(BYTES), aligned(4), may_alias));
typedef int32_t masks __attribute__((vector_size(BYTES), aligned(4), may_alias));

typedef enum kind { SUM, MAX, MIN } kind;

static ALWAYS_INLINE lanes load(const float *p) { return *(const lanes *)(const void *)p; }

static ALWAYS_INLINE void store(float *p, lanes x) { *(lanes *)(void *)p = x; }

/* Returns a in the lanes where the mask is -1, and b where it is 0. */
static ALWAYS_INLINE lanes choose(masks m, lanes a, lanes b) {
    return (lanes)((m & (masks)a) | (~m & (masks)b));
}

static ALWAYS_INLINE float one(const kind of, float a, float b) {
    return of == SUM ? a + b : of == MAX ? max_one(a, b) : min_one(a, b);
}

/* Like `one`, for all lanes. NaN, zeros and their signs are treated as by max_one and min_one. */
static ALWAYS_INLINE lanes all(const kind of, lanes a, lanes b) {
    if (of == SUM) return a + b;
    const masks first = of == MAX ? a > b : a < b, second = of == MAX ? a < b : a > b;
    const masks same = of == MAX ? (masks)a & (masks)b : (masks)a | (masks)b;
    return choose(first, a, choose(second, b, choose(a == b, (lanes)same, a + b)));
}

static ALWAYS_INLINE void reduce(const dt_window_elements *e, const float *x, float *y,
                                 const kind of) {
    int64_t i = 0;
    for (; i + W <= e->channels; i += W) {
        lanes sum = load(x + e->at[0] + i);
        for (int32_t k = 1; k < e->n; k++) sum = all(of, sum, load(x + e->at[k] + i));
        store(y + i, sum);
    }
    for (; i < e->channels; i++) {
        float sum = x[e->at[0] + i];
        for (int32_t k = 1; k < e->n; k++) sum = one(of, sum, x[e->at[k] + i]);
        y[i] = sum;
    }
}

static void sum(const dt_window_elements *e, const float *x, float *y) { reduce(e, x, y, SUM); }

static void most(const dt_window_elements *e, const float *x, float *y) { reduce(e, x, y, MAX); }

static void least(const dt_window_elements *e, const float *x, float *y) { reduce(e, x, y, MIN); }

/* Returns the lanes in which x replaces the best value so far: those where it is larger (MAX) or
 * smaller (MIN). NaN replaces any value except another NaN. */
static ALWAYS_INLINE masks replaces(const kind of, lanes x, lanes best) {
    return (of == MAX ? x > best : x < best) | ((x != x) & (best == best));
}

static ALWAYS_INLINE void select_all(const dt_window_elements *e, const float *x, const float *dy,
                                     float *dx, const kind of) {
    lanes best = load(x + e->at[0]);
    masks which = {0};
    for (int32_t k = 1; k < e->n; k++) {
        const lanes next = load(x + e->at[k]);
        const masks m = replaces(of, next, best);
        best = choose(m, next, best);
        which = (m & ((masks){0} + k)) | (~m & which);
    }
    for (int32_t k = 0; k < e->n; k++) {
        const lanes before = e->alone ? (lanes){0} : load(dx + e->at[k]);
        store(dx + e->at[k], before + choose(which == k, load(dy), (lanes){0}));
    }
}

static ALWAYS_INLINE void select_one(const dt_window_elements *e, const float *x, const float *dy,
                                     float *dx, const kind of) {
    int32_t which = 0;
    for (int32_t k = 1; k < e->n; k++) {
        const float next = x[e->at[k]], best = x[e->at[which]];
        const bool replaces = of == MAX ? next > best : next < best;
        if (replaces || (next != next && best == best)) which = k;
    }
    for (int32_t k = 0; k < e->n && e->alone; k++) dx[e->at[k]] = 0;
    dx[e->at[which]] += *dy;
}

static ALWAYS_INLINE void give(const dt_window_elements *e, const float *x, const float *dy,
                               float *dx, const kind of) {
    int64_t i = 0;
    for (; i + W <= e->channels; i += W) select_all(e, x + i, dy + i, dx + i, of);
    for (; i < e->channels; i++) select_one(e, x + i, dy + i, dx + i, of);
}

static void give_most(const dt_window_elements *e, const float *x, const float *dy, float *dx) {
    give(e, x, dy, dx, MAX);
}

static void give_least(const dt_window_elements *e, const float *x, const float *dy, float *dx) {
    give(e, x, dy, dx, MIN);
}

extern const dt_window_loops JOIN(dt_window_loops_, DT_ISA);
const dt_window_loops JOIN(dt_window_loops_, DT_ISA) = {
    .sum = sum, .most = most, .least = least, .give_most = give_most, .give_least = give_least};
