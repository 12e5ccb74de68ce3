/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops over rows: normalisation, and what attention does to a row of scores. Built once per instruction set, with the same bits on all
 * (see strip.c): a row's sum has 32 interleaved chains and a fixed tree over them.
 */
#include "exec/strip.h"

#include "exec/simd/math.h"

#define CHAINS 32

static inline float join_chains(float *chain)
{
    for (int width = CHAINS / 2; width; width /= 2)
        for (int j = 0; j < width; j++)
            chain[j] += chain[j + width];
    return chain[0];
}

/* The sum of `expression` over i < n, into `out`. */
#define SUM(out, n, expression)                         \
    do {                                                \
        float chain_[CHAINS] = { 0 };                   \
        int64_t at_ = 0;                                \
        for (; at_ + CHAINS <= (n); at_ += CHAINS)      \
            for (int j_ = 0; j_ < CHAINS; j_++) {       \
                int64_t i = at_ + j_;                   \
                chain_[j_] += (expression);             \
            }                                           \
        for (int64_t i = at_; i < (n); i++)             \
            chain_[i - at_] += (expression);            \
        (out) = join_chains(chain_);                    \
    } while (0)

/* ---- layer normalisation ---- */

typedef struct moments { float mean, inverse; } moments;

static inline moments moments_of(const float *x, int64_t n, float epsilon)
{
    float sum, squares;
    SUM(sum, n, x[i]);
    float mean = sum / (float)n;
    SUM(squares, n, (x[i] - mean) * (x[i] - mean));
    return (moments){ mean, 1.0f / sqrtf(squares / (float)n + epsilon) };
}

static void norm(const dt_norm_args *a)
{
    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = a->x + r * a->n, *gamma = a->gamma, *beta = a->beta;
        float *y = a->out + r * a->n;
        moments m = moments_of(x, a->n, a->epsilon);

        INDEPENDENT
        for (int64_t i = 0; i < a->n; i++)
            y[i] = (x[i] - m.mean) * m.inverse * gamma[i] + beta[i];
    }
}

static void norm_grad(const dt_norm_args *a)
{
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

static void norm_scale_grad(const dt_norm_args *a)
{
    float *sum = a->out;

    for (int64_t r = 0; r < a->rows; r++) {
        const float *x = a->x + r * a->n, *dy = a->dy + r * a->n;
        moments m = moments_of(x, a->n, a->epsilon);

        INDEPENDENT
        for (int64_t i = 0; i < a->n; i++)
            sum[i] += dy[i] * ((x[i] - m.mean) * m.inverse);
    }
}

/* ---- attention ---- */

static inline float largest(const float *a, int64_t n)
{
    float chain[CHAINS], top = -INFINITY;
    int64_t at = 0;

    for (int j = 0; j < CHAINS; j++)
        chain[j] = -INFINITY;
    for (; at + CHAINS <= n; at += CHAINS)
        for (int j = 0; j < CHAINS; j++)
            chain[j] = a[at + j] > chain[j] ? a[at + j] : chain[j];
    for (int j = 0; j < CHAINS; j++)
        top = chain[j] > top ? chain[j] : top;
    for (; at < n; at++)
        top = a[at] > top ? a[at] : top;
    return top;
}

/* A NaN is no largest; it comes back through exp. */
static float shares(float *p, float scale, int64_t n)
{
    float top = largest(p, n), sum;

    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        p[i] = exp_one((p[i] - top) * scale);
    SUM(sum, n, p[i]);
    return 1.0f / sum;
}

static void times(float *d, float by, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        d[i] *= by;
}

static void add(float *d, const float *a, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        d[i] += a[i];
}

static void shares_grad(float *ds, const float *p, float scale, int64_t n)
{
    float mean;

    SUM(mean, n, p[i] * ds[i]);
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        ds[i] = p[i] * (ds[i] - mean) * scale;
}

extern const dt_row_functions JOIN(dt_rows_, DT_ISA);
const dt_row_functions JOIN(dt_rows_, DT_ISA) = {
    .norm = norm, .norm_grad = norm_grad, .norm_scale_grad = norm_scale_grad, .shares = shares, .times = times, .add = add,
    .shares_grad = shares_grad,
};
