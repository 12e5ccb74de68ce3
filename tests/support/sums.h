/* SPDX-License-Identifier: Apache-2.0 */
/* A collective on one array of n elements, in place. */
#ifndef TESTS_SUPPORT_SUMS_H
#define TESTS_SUPPORT_SUMS_H

#include "fabric/fabric.h"

static inline dt_status *run_on(const dt_schedule *s, dt_member *m, dt_dtype dtype, int64_t n,
                                void *data) {
    return dt_schedule_run(s, m, dtype,
                           &(dt_tree_item){.parts = data, .sum = data, .rows = 1, .width = n}, 1);
}

#endif
