/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops over rows: layer normalization, what attention does to a row of scores, and adding rows.
 * Compiled once for each instruction set, with the same bits on all (strip.c). sum.h has the order
 * of sums.
 */
#include "exec/strip.h"

#include "exec/simd/math.h"
#include "exec/simd/sum.h"

typedef struct moments {
    float mean, inverse;
} moments;

static inline moments moments_of(const float *x, int64_t n, float epsilon) {
    float sum, squares;
    SUM(sum, n, x[i]);
    float mean = sum / (float)n;
    SUM(squares, n, (x[i] - mean) * (x[i] - mean));
    return (moments){mean, 1.0f / sqrtf(squares / (float)n + epsilon)};
}

static void norm(const dt_norm_args *a) {
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = a->x + r * a->n, *gamma = a->gamma, *beta = a->beta;
        float *y = a->out + r * a->n;
        moments m = moments_of(x, a->n, a->epsilon);

        INDEPENDENT
        for (int64_t i = 0; i < a->n; i++) y[i] = (x[i] - m.mean) * m.inverse * gamma[i] + beta[i];
    }
}

static void norm_grad(const dt_norm_args *a) {
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = a->x + r * a->n, *dy = a->dy + r * a->n, *gamma = a->gamma;
        float *dx = a->out + r * a->n, mean, mean_z;
        moments m = moments_of(x, a->n, a->epsilon);

        SUM(mean, a->n, dy[i] * gamma[i]);
        SUM(mean_z, a->n, dy[i] * gamma[i] * ((x[i] - m.mean) * m.inverse));
        mean /= (float)a->n;
        mean_z /= (float)a->n;
        INDEPENDENT
        for (int64_t i = 0; i < a->n; i++)
            dx[i] = (dy[i] * gamma[i] - mean - (x[i] - m.mean) * m.inverse * mean_z) * m.inverse;
    }
}

static void norm_scale_grad(const dt_norm_args *a) {
    float *sum = a->out;

    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = a->x + r * a->n, *dy = a->dy + r * a->n;
        moments m = moments_of(x, a->n, a->epsilon);

        INDEPENDENT
        for (int64_t i = 0; i < a->n; i++) sum[i] += dy[i] * ((x[i] - m.mean) * m.inverse);
    }
}

static inline float largest(const float *a, int64_t n) {
    float chain[CHAINS], top = -INFINITY;
    int64_t at = 0;

    for (int j = 0; j < CHAINS; j++) chain[j] = -INFINITY;
    for (; at + CHAINS <= n; at += CHAINS)
        for (int j = 0; j < CHAINS; j++) chain[j] = a[at + j] > chain[j] ? a[at + j] : chain[j];
    for (int j = 0; j < CHAINS; j++) top = chain[j] > top ? chain[j] : top;
    for (; at < n; at++) top = a[at] > top ? a[at] : top;
    return top;
}

/* Sets p[i], i < n, to e^(scale (p[i] - the largest p)), and returns 1 / the sum of these. The
 * maximum ignores NaN, but exp then returns it. */
static float shares(float *p, float scale, int64_t n) {
    float top = largest(p, n), sum;

    INDEPENDENT
    for (int64_t i = 0; i < n; i++) p[i] = exp_one((p[i] - top) * scale);
    SUM(sum, n, p[i]);
    return 1.0f / sum;
}

static void times(float *d, float by, int64_t n) {
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) d[i] *= by;
}

static void add(float *d, const float *a, int64_t n) {
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) d[i] += a[i];
}

static void shares_grad(float *ds, const float *p, float scale, int64_t n) {
    float mean;

    SUM(mean, n, p[i] * ds[i]);
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) ds[i] = p[i] * (ds[i] - mean) * scale;
}

extern const dt_row_functions JOIN(dt_rows_, DT_ISA);
const dt_row_functions JOIN(dt_rows_, DT_ISA) = {
    .norm = norm,
    .norm_grad = norm_grad,
    .norm_scale_grad = norm_scale_grad,
    .shares = shares,
    .times = times,
    .add = add,
    .shares_grad = shares_grad,
};
