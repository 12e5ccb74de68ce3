/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures as rows, for a model with one input: one file, those that match a pattern, or all
 * pictures in a folder and the folders in it, in the order of dt_pictures_list. They must have the
 * rows and columns of the element's shape, and are converted to its channels. If the data set
 * resizes its pictures, these may have any size and are resized, too.
 */
#ifndef DT_FILE_PICTURES_H
#define DT_FILE_PICTURES_H

#include "file/file.h"
#include "file/records.h"

/* `sniff` and `open` of dt_format for pictures. */
bool dt_pictures_sniff(const unsigned char *first, int64_t n);
dt_status *dt_pictures_open(dt_row_source *s) DT_MUST_USE;

/* Adds all pictures in a folder and in the folders below it, by their names: folder by folder,
 * sorted by path, and in each folder sorted by name, as Keras' image_dataset_from_directory does.
 * Pictures in formats that cannot be read are among them. Hidden files and folders are skipped, and
 * links to folders are not followed. *others is increased by the number of other files. *other, if
 * it was NULL, becomes the path of the first of these, which the caller owns; `other` may be
 * NULL. */
dt_status *dt_pictures_list(const char *folder, dt_paths *out, int64_t *others,
                            char **other) DT_MUST_USE;

#endif
