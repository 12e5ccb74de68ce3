/* SPDX-License-Identifier: Apache-2.0 */
/* What a plug-in for NVIDIA's GPUs needs besides itself, for dtrain doctor. */
#ifndef DT_JOB_CUDA_H
#define DT_JOB_CUDA_H

#include <stdbool.h>

#include "base/str.h"

/*
 * Searches the folders that the plug-in at this path will search. `found` gets "FOLDER: libdevice,
 * ptxas, libcudnn", `missing` the names of missing parts, separated by commas. False: by its name
 * the file is not for CUDA, and nothing is written.
 */
bool dt_cuda_look(const char *plugin, dt_str *found, dt_str *missing);

#endif
