/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one part, as job files name them: `train: x.tfrecord`, a pattern (`part-*`), or a
 * list of either. */
#ifndef DT_FILE_PART_FILES_H
#define DT_FILE_PART_FILES_H

#include "file/examples.h"

/* Checks the names of the files, without looking at the files. */
dt_status *dt_files_check(const dt_format_request *r) DT_MUST_USE;
/* Finds the files, at least one, in order. An error has the location of the name in the job
 * file. */
dt_status *dt_files_find(const dt_format_request *r, const dt_tree *names,
                         dt_paths *out) DT_MUST_USE;

/* Checks the entries of `element` and lists their names in *names. Calls `read` for each entry, but
 * for the training part only. element NULL: the fault is reported elsewhere. */
dt_status *dt_files_check_elements(const dt_format_request *r, const dt_tree *element,
                                   dt_texts *names,
                                   dt_status *(*read)(const dt_format_request *r,
                                                      const dt_entry *e)) DT_MUST_USE;
/* Reads the files x->paths one after the other with `read`, which counts their examples in x. All
 * files are read; missing ones (exit code 66) are reported before bad ones. More than 1,000 files
 * (TOO_LARGE; none is read) or no examples (DATA_EMPTY) are an error, too. */
dt_status *dt_files_read(const dt_format_request *r, dt_examples *x,
                         dt_status *(*read)(dt_examples *x, int file)) DT_MUST_USE;
/* Returns the index of the file that contains example `row`. */
int dt_files_at(const dt_examples *x, int64_t row);

#endif
