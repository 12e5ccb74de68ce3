/* SPDX-License-Identifier: Apache-2.0 */
/* Named values, the arguments and results of a closure, as bytes of a message. */
#ifndef DT_STRATEGY_CLOSURE_VALUES_H
#define DT_STRATEGY_CLOSURE_VALUES_H

#include "strategy/values.h"

/* Appends values to a message. If an entry has a value for each replica, only the first one is
 * written. v may be NULL. */
void dt_closure_values_write(const dt_values *v, dt_str *out);
void dt_closure_value_write(const char *name, bool per_replica, const dt_view *x, dt_str *out);
/* Reads the values that fill the rest of a message. Fails with WORKERS_DISAGREE if the bytes are
 * not values. */
dt_status *dt_closure_values_read(const char *from, size_t n, dt_values *into) DT_MUST_USE;

#endif
