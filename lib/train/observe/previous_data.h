/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that a run was trained with before it was interrupted, read from its record (record.h),
 * so that a run that resumes with different data reports it. Nothing depends on it: if the record
 * is missing, or the run was killed before the hashes were known, nothing is reported.
 */
#ifndef DT_TRAIN_PREVIOUS_DATA_H
#define DT_TRAIN_PREVIOUS_DATA_H

#include "train/run.h"

/* For a run that resumes, before its own lines are written; NULL: nothing is known. In the run's
 * arena. */
struct dt_previous_data *dt_previous_data_read(const run *r);
/* Warns if the files have changed, once their hashes are known; does nothing the next time. */
void dt_previous_data_compare(run *r);

#endif
