/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PiecewiseConstantDecay: values[i] up to and including step boundaries[i], whose fraction is cut
 * off, and the last value after all of them. As in Keras, it is computed as the sum of the values
 * whose interval (previous boundary, boundary] contains the step. So boundaries that do not
 * increase yield the same rates as in Keras, too.
 */
#include "model/model.h"

struct piecewise {
    dt_reals boundaries, values;
    const char *name;
};

static const dt_field fields[] = {DT_REALS(struct piecewise, boundaries, .required = true,
                                           .help = "steps at which the rate changes, increasing"),
                                  DT_REALS(struct piecewise, values, .required = true,
                                           .help = "learning rates, one more than boundaries"),
                                  DT_TEXT(struct piecewise, name, .preset = "PiecewiseConstant",
                                          .help = "accepted for compatibility; not used"),
                                  DT_END};

static void print(dt_str *out, const dt_reals *list) {
    for (int i = 0; i < list->n; i++) {
        dt_str_puts(out, i ? ", " : "[");
        dt_str_double(out, list->v[i]);
    }
    dt_str_puts(out, list->n ? "]" : "[]");
}

static dt_status *check(const void *args, const dt_location *where) {
    const struct piecewise *p = args;
    if (p->boundaries.n == p->values.n - 1 && p->boundaries.n > 0) return NULL;
    dt_local_str boundaries = {0}, values = {0};
    print(&boundaries, &p->boundaries);
    print(&values, &p->values);
    return dt_fail(
        DT_E_RANGE, where,
        "expected at least 1 boundary, and 1 more value than boundaries, got %d boundaries "
        "%s and %d values %s",
        p->boundaries.n, dt_str_text(&boundaries), p->values.n, dt_str_text(&values));
}

static dt_value at(const void *args, dt_value step) {
    const struct piecewise *p = args;
    dt_value x = dt_rate_step(step), none = dt_like(x, 0), rate = none, behind = {0};
    for (int i = 0; i < p->values.n; i++) {
        dt_value value = dt_like(x, p->values.v[i]);
        if (behind.trace) value = dt_select(behind, value, none);
        if (i < p->boundaries.n) {
            dt_value boundary = dt_like(x, trunc(p->boundaries.v[i]));
            value = dt_select(dt_compare(x, boundary, DT_LE), value, none);
            behind = dt_compare(x, boundary, DT_GT);
        }
        rate = dt_add(rate, value);
    }
    return rate;
}

const dt_rate dt_rate_piecewise_constant_decay = {
    .kind = {"PiecewiseConstantDecay", "a fixed rate between boundaries", fields,
             sizeof(struct piecewise), NULL},
    .check = check,
    .at = at,
};
