/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads a batch to the device as soon as a reading thread has it, for devices that compute
 * asynchronously. */
#ifndef DT_TRAIN_DEVICE_UPLOAD_H
#define DT_TRAIN_DEVICE_UPLOAD_H

#include "data/data.h"
#include "strategy/strategy.h"

/* The executables to which reading threads lend the memory of batches. A dt_lender must live as
 * long as the iterator. */
typedef struct dt_lender {
    const dt_dataset *data;
    const dt_graph *step;
    int n;
    /* The executables to which batches of `rows` rows are lent. Batches of other sizes are uploaded
     * when a step uses them. */
    struct {
        int64_t rows;
        dt_executable *executable;
    } size[2];
} dt_lender;

/* Sets *out to the options of an iterator that lends batches to steps of c: `examples` examples in
 * batches of `batch`. Compiles c for the full and the last size. If steps cannot overlap, *out is
 * zero. */
dt_status *dt_lender_make(dt_lender *l, const dt_dataset *data, dt_compiled *c, int64_t examples,
                          int64_t batch, dt_batch_lend *out) DT_MUST_USE;

#endif
