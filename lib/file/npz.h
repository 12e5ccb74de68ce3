/* SPDX-License-Identifier: Apache-2.0 */
/* NPZ files, written by numpy.savez: ZIP archives with an NPY file for each array. */
#ifndef DT_FILE_NPZ_H
#define DT_FILE_NPZ_H

#include "file/zip.h"

/* Opens the NPY file of an element. *file names a plain file; an archive, which must have a member
 * with the element's name (*file becomes "data.npz/x", for messages); or a member, as
 * "data.npz/NAME". */
dt_status *dt_npz_open(dt_arena *arena, const char *element, const char **file,
                       dt_inflow **out) DT_MUST_USE;
/* Returns the archive "data.npz" for the path "data.npz/NAME"; any other path unchanged. */
const char *dt_npz_archive(dt_arena *arena, const char *path);

#endif
