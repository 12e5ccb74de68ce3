/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures as rows, for a model with one input: one file, or all pictures in a folder and the
 * folders in it, sorted by name. They must have the element's shape. If the data set resizes its
 * pictures, these may have any size and are resized, too.
 */
#ifndef DT_FILE_PICTURES_H
#define DT_FILE_PICTURES_H

#include "file/file.h"

/* dt_format's `sniff` and `open` for pictures. */
bool dt_pictures_sniff(const unsigned char *first, int64_t n);
dt_status *dt_pictures_open(dt_row_source *s) DT_MUST_USE;

#endif
