/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures as rows: all that lie in a folder and in the folders in it, sorted by name, for a model
 * of one input. They have its shape, or any where the job's own data are folders of pictures that
 * are resized: then they are, too.
 */
#ifndef DT_FILE_PICTURES_H
#define DT_FILE_PICTURES_H

#include "file/file.h"

dt_status *dt_pictures_open(dt_row_source *s, void **state) DT_MUST_USE;
dt_status *dt_pictures_next(dt_row_source *s, void *state, void *const *row,
                            bool *more) DT_MUST_USE;
const char *dt_pictures_file(const void *state, int64_t row);
void dt_pictures_close(void *state);

#endif
