/* SPDX-License-Identifier: Apache-2.0 */
/* See augment.h. */
#include "data/map/augment.h"

#include <math.h>

#include "base/elementary.h"
#include "base/size.h"
#include "file/cast.h"

static dt_status *check_factor(const dt_reals *f) {
    return f->n == 0 || f->n == 2 || f->alone
               ? NULL
               : dt_fail(DT_E_DATASET_KEYS, &f->at,
                         "a factor is a number, or the two between which it is drawn, got %d "
                         "number%s",
                         f->n, f->n == 1 ? "" : "s");
}

dt_status *dt_augment_check(const void *args, const dt_location *at) {
    const struct dt_augment *a = args;
    const dt_reals *range = &a->value_range;
    const float low = range->n == 2 ? (float)range->v[0] : 0,
                high = range->n == 2 ? (float)range->v[1] : 0;
    dt_status *s = NULL;
    (void)at;
    for (int i = 0; i < DT_AUGMENT_FACTORS; i++) dt_status_append(&s, check_factor(&a->factor[i]));
    if (range->n != 0 && !(low < high && isfinite(high - low)))
        dt_status_append(
            &s, dt_fail(DT_E_DATASET_KEYS, &range->at,
                        "value_range is the lowest and the highest value, as in [0, 255]"));
    return s;
}

double dt_augment_draw(dt_random *r, const dt_reals *factor, double low) {
    if (factor->n == 0) return 0;
    double from = factor->v[0], to = factor->v[factor->n - 1], part = dt_random_uniform(r);
    if (factor->alone) {
        to = fabs(to);
        from = low * to;
    }
    return from + (to - from) * part;
}

double dt_augment_sign(dt_random *r) { return dt_random_u32(r) >> 31 ? -1 : 1; }

void dt_augment_lines(dt_random *r, double fraction, int64_t n, int64_t *from, int64_t *to) {
    const double length = fraction * (double)n, start = dt_random_uniform(r) * ((double)n - length);
    *from = (int64_t)ceil(start);
    *to = (int64_t)fmin(ceil(start + length), (double)n);
}

dt_value dt_augment_emit(const dt_map_stage *s, dt_value x) { return dt_convert(x, s->out.dtype); }

/* ---- two examples that become one ---- */

dt_status *dt_combine_infer(dt_map_stage *s, dt_arena *arena) {
    (void)arena;
    if (s->in.rank == 0 && !dt_dtype_is_float(s->in.dtype))
        return dt_suggest(dt_fail(DT_E_DATA_TYPE, s->at,
                                  "%s: %s mixes values, and class numbers cannot be mixed", s->file,
                                  s->step->kind.name),
                          "put one_hot before it; the loss is then CategoricalCrossentropy");
    s->out.dtype = DT_FLOAT32;
    return NULL;
}

dt_value dt_combine_undo(const void *args, const dt_lesson *learned, dt_value x) {
    (void)args;
    (void)learned;
    return x;
}

/* Draws from the distribution Beta(alpha, alpha) by Johnk's method: u^(1 / alpha) / (u^(1 / alpha)
 * + v^(1 / alpha)), drawn again while the sum is above 1, or both are equal. Computes with
 * logarithms, because the powers for a small alpha are too small for a double. */
double dt_combine_weight(dt_random *r, double alpha) {
    double x, y;
    do {
        x = dt_portable_log(dt_random_uniform(r)) / alpha;
        y = dt_portable_log(dt_random_uniform(r)) / alpha;
    } while (dt_portable_exp(x) + dt_portable_exp(y) > 1 || x == y);
    return 1 / (1 + dt_portable_exp(y - x));
}

enum { BLENDED = 256 }; /* number of values that are combined at a time */

void dt_combine_blend(const dt_map_stage *s, float weight, const void *in, const void *other,
                      float *out) {
    const int64_t size = (int64_t)dt_dtype_size(s->in.dtype);
    float there[BLENDED];
    dt_cast(s->in.dtype, DT_FLOAT32, in, out, s->values);
    for (int64_t i = 0; i < s->values; i += BLENDED) {
        const int64_t n = dt_min(BLENDED, s->values - i);
        dt_cast(s->in.dtype, DT_FLOAT32, (const char *)other + i * size, there, n);
        for (int64_t k = 0; k < n; k++) out[i + k] = weight * out[i + k] + (1 - weight) * there[k];
    }
}
