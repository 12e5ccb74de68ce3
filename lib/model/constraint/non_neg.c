/* SPDX-License-Identifier: Apache-2.0 */
/* NonNeg: negative elements become 0. */
#include "model/model.h"

static const dt_field fields[] = {DT_END};

static dt_value project(const void *args, dt_value w) {
    (void)args;
    return dt_maximum(w, dt_like(w, 0));
}

const dt_constraint dt_constraint_non_neg = {
    .kind = {"NonNeg", "elements of at least 0", fields, sizeof(dt_constraint_head),
             (const char *const[]){"non_neg", NULL}},
    .project = project,
};
