/* SPDX-License-Identifier: Apache-2.0 */
/* ExponentialDecay: initial decay_rate^(step / decay_steps); in steps of whole powers when
 * `staircase` is set. */
#include "model/model.h"

struct exponential {
    double initial_learning_rate, decay_steps, decay_rate;
    bool staircase;
    const char *name;
};

static const dt_field fields[] = {
    DT_REAL(struct exponential, initial_learning_rate, .required = true, .help = "value at step 0"),
    DT_REAL(struct exponential, decay_steps, .above_min = true, .required = true,
            .help = "number of steps per decay"),
    DT_REAL(struct exponential, decay_rate, .required = true,
            .help = "factor applied every decay_steps"),
    DT_FLAG(struct exponential, staircase, .help = "decay in discrete steps"),
    DT_TEXT(struct exponential, name, .preset = "ExponentialDecay",
            .help = "accepted for compatibility; not used"),
    DT_END};

static dt_value at(const void *args, dt_value step) {
    const struct exponential *e = args;
    dt_value x = dt_rate_step(step), p = dt_divide(x, dt_like(x, e->decay_steps));
    if (e->staircase) p = dt_rate_floor(p);
    return dt_multiply(dt_like(x, e->initial_learning_rate),
                       dt_power(dt_like(x, e->decay_rate), p));
}

const dt_rate dt_rate_exponential_decay = {
    .kind = {"ExponentialDecay", "initial rate^(step / steps)", fields, sizeof(struct exponential),
             NULL},
    .at = at,
};
