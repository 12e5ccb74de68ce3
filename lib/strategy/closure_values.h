/* SPDX-License-Identifier: Apache-2.0 */
/* Named values as bytes of a message: the arguments of a closure, and what it returns. */
#ifndef DT_STRATEGY_CLOSURE_VALUES_H
#define DT_STRATEGY_CLOSURE_VALUES_H

#include "strategy/values.h"

/* Adds them to the message. Of an entry per replica the first value; NULL is no values. */
void dt_closure_values_write(const dt_values *v, dt_str *out);
void dt_closure_value_write(const char *name, bool per_replica, const dt_view *x, dt_str *out);
/* Reads what the rest of a message consists of. WORKERS_DISAGREE: it is something else. */
dt_status *dt_closure_values_read(const char *from, size_t n, dt_values *into) DT_MUST_USE;

#endif
