/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of idioms (exec/strip_idiom.c): several operations on an element while it is in a register. Element by element they are
 * the operations of simd/strip.c in the same order; of each element all is read before anything is written.
 */
#include "exec/strip.h"

#include "exec/simd/math.h"

/* in: g, scale, m, v, w, 1 - beta_1, 1 - beta_2, alpha, epsilon; out: v, m, w */
static void adam(float *const *out, const float *const *in, int64_t n)
{
    const float *g = in[0], *m = in[2], *v = in[3], *w = in[4];
    const float scale = *in[1], share_1 = *in[5], share_2 = *in[6], alpha = *in[7], epsilon = *in[8];
    float *new_v = out[0], *new_m = out[1], *new_w = out[2];

    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float x = g[i] * scale;
        float mean = m[i] + (x - m[i]) * share_1;
        float square = v[i] + (x * x - v[i]) * share_2;
        float weight = w[i] - mean * alpha / (sqrtf(square) + epsilon);
        new_v[i] = square;
        new_m[i] = mean;
        new_w[i] = weight;
    }
}

/* in: g, scale, rate, w, m, momentum; out: m, w */
static void momentum(float *const *out, const float *const *in, int64_t n)
{
    const float *g = in[0], *w = in[3], *m = in[4];
    const float scale = *in[1], rate = *in[2], share = *in[5];
    float *new_m = out[0], *new_w = out[1];

    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float step = m[i] * share - g[i] * scale * rate;
        float weight = w[i] + step;
        new_m[i] = step;
        new_w[i] = weight;
    }
}

/* in: g, scale, rate, w; out: w */
static void sgd(float *const *out, const float *const *in, int64_t n)
{
    const float *g = in[0], *w = in[3];
    const float scale = *in[1], rate = *in[2];
    float *new_w = out[0];

    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        new_w[i] = w[i] - g[i] * scale * rate;
}

/* in: a, b, share; out: a + (b - a) share */
static void lerp(float *const *out, const float *const *in, int64_t n)
{
    const float *a = in[0], *b = in[1];
    const float share = *in[2];
    float *to = out[0];

    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        to[i] = a[i] + (b[i] - a[i]) * share;
}

const dt_idiom_function JOIN(dt_idioms_, DT_ISA)[DT_IDIOM_COUNT] = {
    [DT_IDIOM_ADAM] = adam, [DT_IDIOM_MOMENTUM] = momentum, [DT_IDIOM_SGD] = sgd, [DT_IDIOM_LERP] = lerp,
};
