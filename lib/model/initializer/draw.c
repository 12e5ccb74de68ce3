/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions. Each element draws from a separate stream as often as it needs, so that many
 * elements can be drawn at a time. */
#include "model/initializer/draw.h"

#include "base/random.h"

void dt_draw_uniform(const dt_draw *d, double low, double high, double *out) {
    dt_random_uniforms(&d->stream, (uint64_t)d->first, d->n, out);
    for (int64_t i = 0; i < d->n; i++) out[i] = low + (high - low) * out[i];
}

static void draw_normal(const dt_draw *d, double *out) {
    dt_random_normals(&d->stream, (uint64_t)d->first, d->n, out);
}

void dt_draw_normal(const dt_draw *d, double mean, double deviation, double *out) {
    draw_normal(d, out);
    for (int64_t i = 0; i < d->n; i++) out[i] = mean + deviation * out[i];
}

/* About one value in 22 is outside the limits and drawn again. */
static double draw_inside(const dt_draw *d, int64_t i) {
    dt_random r = dt_draw_at(d, i);
    double z;
    do z = dt_random_normal(&r);
    while (fabs(z) > 2);
    return z;
}

void dt_draw_truncated(const dt_draw *d, double mean, double deviation, double *out) {
    draw_normal(d, out);
    for (int64_t i = 0; i < d->n; i++)
        out[i] = mean + deviation * (fabs(out[i]) > 2 ? draw_inside(d, d->first + i) : out[i]);
}
