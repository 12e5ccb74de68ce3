/* SPDX-License-Identifier: Apache-2.0 */
/* Running means. Most optimizers keep two: of gradients and of their squares. */
#ifndef DT_MODEL_OPTIMIZER_MOMENTS_H
#define DT_MODEL_OPTIMIZER_MOMENTS_H

#include "model/model.h"

/* Fields for Adam's arguments, which are doubles with these names in the struct `type`. */
#define DT_MOMENT_FIELDS(type)                                                                     \
    DT_REAL(type, beta_1, .preset = "0.9", .max = 1, .below_max = true,                            \
            .help = "decay rate of the mean of gradients"),                                        \
        DT_REAL(type, beta_2, .preset = "0.999", .max = 1, .below_max = true,                      \
                .help = "decay rate of the mean of squared gradients"),                            \
        DT_REAL(type, epsilon, .preset = "1e-7", .above_min = true,                                \
                .help = "small constant that avoids division by 0")
/* For `slots`: two slots, "momentum" and "velocity". */
int dt_moment_slots(const void *args, const dt_variable *of, dt_slot_spec *slot);

/* 1 - beta^t, a scalar: the sum of the weights that a running mean has given to values so far.
 * Dividing by it corrects a mean that began at 0. */
dt_value dt_moment_filled(const dt_update *u, double beta);
/* Emits mean + (x - mean) share. */
dt_value dt_moment_moved(dt_value mean, dt_value x, double share);
/* share * mean + (1 - share) * x, equal to the form above except for rounding; both as in Keras */
dt_value dt_moment_mixed(dt_value mean, dt_value x, double share);

#endif
