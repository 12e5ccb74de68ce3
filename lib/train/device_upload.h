/* SPDX-License-Identifier: Apache-2.0 */
/* Batches go to the device as soon as the threads that read ahead have them, where the device
 * computes by itself. */
#ifndef DT_TRAIN_DEVICE_UPLOAD_H
#define DT_TRAIN_DEVICE_UPLOAD_H

#include "data/data.h"
#include "strategy/strategy.h"

/* For whom: lives as long as the feed. */
typedef struct dt_lender {
    const dt_dataset *data;
    const dt_graph *step;
    int n;
    /* lent; batches of other sizes go when they are used */
    struct {
        int64_t rows;
        dt_executable *executable;
    } size[2];
} dt_lender;

/* What a feed of `examples` examples in batches is told, for steps of c; compiles these for both
 * sizes. Zeros where steps do not run ahead. */
dt_status *dt_lender_make(dt_lender *l, const dt_dataset *data, dt_compiled *c, int64_t examples,
                          int64_t batch, dt_feed_lend *out) DT_MUST_USE;

#endif
