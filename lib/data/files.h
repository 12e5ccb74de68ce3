/* SPDX-License-Identifier: Apache-2.0 */
/* Files of one part, as job files name them: `train: x.tfrecord`, a pattern (`part-*`), or a list of both. */
#ifndef DT_DATA_FILES_H
#define DT_DATA_FILES_H

#include "data/data.h"
#include "file/records.h"

/* What can be said without looking at files. */
dt_status *dt_files_check(const dt_format_request *r) DT_MUST_USE;
/* The files themselves, at least one, in order; a fault has the place of its name. */
dt_status *dt_files_find(const dt_format_request *r, const dt_tree *names, dt_paths *out) DT_MUST_USE;

#endif
