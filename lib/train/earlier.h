/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that a run was trained with before it was interrupted, as its record tells (record.h), so that a run that goes on with other data says so. Nothing
 * depends on it: where the record is gone, or was killed before hashes were known, nothing is said.
 */
#ifndef DT_TRAIN_EARLIER_H
#define DT_TRAIN_EARLIER_H

#include "train/run.h"

/* Of a run that goes on, before its own lines are written; NULL: nothing is known. In the run's arena. */
struct dt_earlier *dt_earlier_read(const run *r);
/* Once the hashes of today's are known, and once. */
void dt_earlier_compare(run *r);

#endif
