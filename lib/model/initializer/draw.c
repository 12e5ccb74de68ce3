/* Distributions: every element draws from its own stream, as often as it needs. */
#include "model/initializer/draw.h"

void dt_draw_uniform(const dt_draw *d, double low, double high, double *out)
{
    for (int i = 0; i < d->n; i++) {
        dt_random r = dt_draw_at(d, d->first + i);
        out[i] = low + (high - low) * dt_random_uniform(&r);
    }
}

void dt_draw_normal(const dt_draw *d, double mean, double deviation, double *out)
{
    for (int i = 0; i < d->n; i++) {
        dt_random r = dt_draw_at(d, d->first + i);
        out[i] = mean + deviation * dt_random_normal(&r);
    }
}

void dt_draw_truncated(const dt_draw *d, double mean, double deviation, double *out)
{
    for (int i = 0; i < d->n; i++) {
        dt_random r = dt_draw_at(d, d->first + i);
        double z;
        do
            z = dt_random_normal(&r);
        while (fabs(z) > 2);
        out[i] = mean + deviation * z;
    }
}
