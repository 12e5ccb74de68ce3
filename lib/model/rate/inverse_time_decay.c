/* SPDX-License-Identifier: Apache-2.0 */
/* InverseTimeDecay: initial / (1 + decay_rate step / decay_steps); in steps of whole fractions when
 * `staircase` is set. */
#include "model/model.h"

struct inverse {
    double initial_learning_rate, decay_steps, decay_rate;
    bool staircase;
    const char *name;
};

static const dt_field fields[] = {
    DT_REAL(struct inverse, initial_learning_rate, .required = true, .help = "value at step 0"),
    DT_REAL(struct inverse, decay_steps, .above_min = true, .required = true,
            .help = "number of steps per decay"),
    DT_REAL(struct inverse, decay_rate, .required = true, .help = "decay rate"),
    DT_FLAG(struct inverse, staircase, .help = "decay in discrete steps"),
    DT_TEXT(struct inverse, name, .preset = "InverseTimeDecay",
            .help = "accepted for compatibility; not used"),
    DT_END};

static dt_value at(const void *args, dt_value step) {
    const struct inverse *i = args;
    dt_value x = dt_rate_step(step), p = dt_divide(x, dt_like(x, i->decay_steps));
    if (i->staircase) p = dt_rate_floor(p);
    return dt_divide(dt_like(x, i->initial_learning_rate),
                     dt_add(dt_like(x, 1), dt_multiply(dt_like(x, i->decay_rate), p)));
}

const dt_rate dt_rate_inverse_time_decay = {
    .kind = {"InverseTimeDecay", "initial / (1 + rate step / steps)", fields,
             sizeof(struct inverse), NULL},
    .at = at,
};
