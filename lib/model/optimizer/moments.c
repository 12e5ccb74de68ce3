/* SPDX-License-Identifier: Apache-2.0 */
/* See moments.h. */
#include "model/optimizer/moments.h"

int dt_moment_slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    (void)args, (void)of;
    slot[0].name = "momentum";
    slot[1].name = "velocity";
    return 2;
}

dt_value dt_moment_filled(const dt_update *u, double beta) {
    return dt_subtract(dt_like(u->t, 1), dt_power(dt_like(u->t, beta), u->t));
}

dt_value dt_moment_moved(dt_value mean, dt_value x, double share) {
    return dt_add(mean, dt_multiply(dt_subtract(x, mean), dt_like(mean, share)));
}

dt_value dt_moment_mixed(dt_value mean, dt_value x, double share) {
    return dt_add(dt_multiply(dt_like(mean, share), mean), dt_multiply(dt_like(x, 1 - share), x));
}
