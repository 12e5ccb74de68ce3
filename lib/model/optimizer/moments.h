/* SPDX-License-Identifier: Apache-2.0 */
/* Running means. Most optimizers keep two: of gradients and of their squares. */
#ifndef DT_MODEL_OPTIMIZER_MOMENTS_H
#define DT_MODEL_OPTIMIZER_MOMENTS_H

#include "model/model.h"

/* 1 - beta^t: how much of a mean that began at 0 has been filled; scalar */
dt_value dt_moment_filled(const dt_update *u, double beta);
/* mean + (x - mean) share */
dt_value dt_moment_moved(dt_value mean, dt_value x, double share);
/* share * mean + (1 - share) * x, equal to the form above except for rounding; both as in Keras */
dt_value dt_moment_mixed(dt_value mean, dt_value x, double share);

#endif
