/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions that initialisers draw from; each fills out[d->n]. */
#ifndef DT_MODEL_INITIALIZER_DRAW_H
#define DT_MODEL_INITIALIZER_DRAW_H

#include "model/model.h"

void dt_draw_uniform(const dt_draw *d, double low, double high, double *out);
void dt_draw_normal(const dt_draw *d, double mean, double deviation, double *out);
/* Draws from a normal distribution; values beyond 2 deviations are drawn again. `deviation` is that
 * of the distribution before this cut. */
void dt_draw_truncated(const dt_draw *d, double mean, double deviation, double *out);

#endif
