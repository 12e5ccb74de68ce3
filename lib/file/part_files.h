/* SPDX-License-Identifier: Apache-2.0 */
/* Files of one part, as job files name them: `train: x.tfrecord`, a pattern (`part-*`), or a list
 * of both. */
#ifndef DT_FILE_PART_FILES_H
#define DT_FILE_PART_FILES_H

#include "file/examples.h"

/* What can be said without looking at files. */
dt_status *dt_files_check(const dt_format_request *r) DT_MUST_USE;
/* The files themselves, at least one, in order; a fault has the place of its name. */
dt_status *dt_files_find(const dt_format_request *r, const dt_tree *names,
                         dt_paths *out) DT_MUST_USE;

/* The entries of `element`, whose names go to *names; each is read by `read`, for the training
 * part only. element NULL: it was reported elsewhere. */
dt_status *dt_files_check_elements(const dt_format_request *r, const dt_tree *element,
                                   dt_texts *names,
                                   dt_status *(*read)(const dt_format_request *r,
                                                      const dt_entry *e)) DT_MUST_USE;
/* Examples of the files x->paths, one file after the other, which `read` counts: all files are
 * read, missing ones (66) reported before bad ones. Faults: too many files, no examples. */
dt_status *dt_files_read(const dt_format_request *r, dt_examples *x,
                         dt_status *(*read)(dt_examples *x, int file)) DT_MUST_USE;
/* The file of an example. */
int dt_files_at(const dt_examples *x, int64_t row);

#endif
