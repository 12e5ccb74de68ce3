/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates by p = step / decay_steps, which is rounded down when `staircase` is set:
 *
 *     ExponentialDecay    initial decay_rate^p
 *     InverseTimeDecay    initial / (1 + decay_rate p)
 */
#include "model/model.h"

struct decay {
    double initial_learning_rate, decay_steps, decay_rate;
    bool staircase;
    const char *name;
};

#define FIELDS(class_name, help_of_rate)                                                           \
    {                                                                                              \
        DT_REAL(struct decay, initial_learning_rate, .required = true, .help = "value at step 0"), \
            DT_REAL(struct decay, decay_steps, .above_min = true, .required = true,                \
                    .help = "number of steps per decay"),                                          \
            DT_REAL(struct decay, decay_rate, .required = true, .help = help_of_rate),             \
            DT_FLAG(struct decay, staircase, .help = "decay in discrete steps"),                   \
            DT_TEXT(struct decay, name, .preset = class_name,                                      \
                    .help = "accepted for compatibility; not used"),                               \
            DT_END                                                                                 \
    }
static const dt_field exponential_fields[] =
    FIELDS("ExponentialDecay", "factor applied every decay_steps");
static const dt_field inverse_fields[] = FIELDS("InverseTimeDecay", "decay rate");

static dt_value progress(const struct decay *d, dt_value x) {
    dt_value p = dt_divide(x, dt_like(x, d->decay_steps));
    return d->staircase ? dt_rate_floor(p) : p;
}

static dt_value exponential(const void *args, dt_value step) {
    const struct decay *d = args;
    dt_value x = dt_rate_step(step), p = progress(d, x);
    return dt_multiply(dt_like(x, d->initial_learning_rate),
                       dt_power(dt_like(x, d->decay_rate), p));
}

static dt_value inverse(const void *args, dt_value step) {
    const struct decay *d = args;
    dt_value x = dt_rate_step(step), p = progress(d, x);
    return dt_divide(dt_like(x, d->initial_learning_rate),
                     dt_add(dt_like(x, 1), dt_multiply(dt_like(x, d->decay_rate), p)));
}

const dt_rate dt_rate_exponential_decay = {
    .kind = {"ExponentialDecay", "initial rate^(step / steps)", exponential_fields,
             sizeof(struct decay), NULL},
    .at = exponential,
};

const dt_rate dt_rate_inverse_time_decay = {
    .kind = {"InverseTimeDecay", "initial / (1 + rate step / steps)", inverse_fields,
             sizeof(struct decay), NULL},
    .at = inverse,
};
