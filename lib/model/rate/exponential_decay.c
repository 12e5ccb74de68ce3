/* SPDX-License-Identifier: Apache-2.0 */
/* ExponentialDecay: initial decay_rate^(step / decay_steps); in steps of whole powers when `staircase` is set. */
#include "model/model.h"

struct exponential {
    double initial_learning_rate, decay_steps, decay_rate;
    bool staircase;
    const char *name;
};

static const dt_field fields[] = {
    DT_REAL(struct exponential, initial_learning_rate, .required = true, .help = "at step 0"),
    DT_REAL(struct exponential, decay_steps, .above_min = true, .required = true, .help = "steps from one power to the next"),
    DT_REAL(struct exponential, decay_rate, .required = true, .help = "the rate is multiplied by it every decay_steps"),
    DT_FLAG(struct exponential, staircase, .help = "all at once, not little by little"),
    DT_TEXT(struct exponential, name, .preset = "ExponentialDecay", .help = "nobody reads it"),
    DT_END
};

static dt_value at(const void *args, dt_value step)
{
    const struct exponential *e = args;
    dt_value x = dt_rate_step(step), p = dt_divide(x, dt_like(x, e->decay_steps));
    if (e->staircase)
        p = dt_rate_floor(p);
    return dt_multiply(dt_like(x, e->initial_learning_rate), dt_power(dt_like(x, e->decay_rate), p));
}

const dt_rate dt_rate_exponential_decay = {
    .kind = { "ExponentialDecay", "initial rate^(step / steps)", fields, sizeof(struct exponential), NULL },
    .at = at,
};
