/* SPDX-License-Identifier: Apache-2.0 */
/* See augment.h. */
#include "data/map/augment.h"

#include <math.h>

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

dt_value dt_augment_emit(const dt_map_stage *s, dt_value x) { return dt_convert(x, s->out.dtype); }
