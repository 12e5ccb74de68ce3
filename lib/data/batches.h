/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of the training part by their number, in any order: the batches of a feed of one worker,
 * without reading ahead. */
#ifndef DT_DATA_BATCHES_H
#define DT_DATA_BATCHES_H

#include "data/data.h"

typedef struct dt_batches dt_batches;
/* Batches of so many examples, in the order that the data set's spec defines. */
dt_status *dt_batches_open(dt_batches **out, dt_dataset *d, int64_t batch) DT_MUST_USE;
/* The batch with that number, from 0, counted through all epochs. Its values are lent until the
 * next call. */
dt_status *dt_batches_read(dt_batches *b, int64_t number, dt_batch *out) DT_MUST_USE;
void dt_batches_close(dt_batches *b); /* takes NULL */

#endif
