/* SPDX-License-Identifier: Apache-2.0 */
/* NPZ files, what numpy.savez writes: ZIP archives with an NPY file for each array. */
#ifndef DT_FILE_NPZ_H
#define DT_FILE_NPZ_H

#include "file/zip.h"

/* The NPY file of an element. *file names it: a file by itself; an archive, whose member has the
 * element's name (*file becomes "data.npz/x", for messages); or "data.npz/NAME". */
dt_status *dt_npz_open(dt_arena *arena, const char *element, const char **file,
                       dt_inflow **out) DT_MUST_USE;
/* "data.npz" of "data.npz/NAME"; any other name unchanged. */
const char *dt_npz_archive(dt_arena *arena, const char *path);

#endif
