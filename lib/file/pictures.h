/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures as rows, for a model of one input: one file, or all in a folder and the folders in it,
 * sorted by name. They have the element's shape, or any where the data set are folders of pictures
 * that are resized: then they are, too.
 */
#ifndef DT_FILE_PICTURES_H
#define DT_FILE_PICTURES_H

#include "file/file.h"

/* As dt_format has them. */
bool dt_pictures_sniff(const unsigned char *first, int64_t n);
dt_status *dt_pictures_open(dt_row_source *s) DT_MUST_USE;

#endif
