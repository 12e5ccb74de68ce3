/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that a plug-in can compile for, even if the machine has none: the properties that its
 * compiler needs. */
#ifndef DT_PJRT_GPUS_H
#define DT_PJRT_GPUS_H

#include <stdint.h>

#include "base/str.h"

typedef struct dt_pjrt_gpu {
    /* short name and full name, such as "h100" and "NVIDIA H100 80GB HBM3" */
    const char *name, *title;
    /* compute capability; special: whether to use instructions that only this capability has */
    int major, minor;
    bool special;
    /* number of multiprocessors; float32 units and resident threads of each */
    int cores, fpus, threads;
    /* KiB of shared memory in a multiprocessor, and in a block that asks for the most */
    int shared, shared_by_choice;
    double clock_ghz;
    int64_t memory, bandwidth, l2; /* memory and l2 in bytes; bandwidth in bytes per second */
} dt_pjrt_gpu;

/* Returns the GPU of that name; NULL: unknown. */
const dt_pjrt_gpu *dt_pjrt_gpu_find(const char *name);
/* Writes the names of all GPUs, separated by ", ". */
void dt_pjrt_gpu_names(dt_str *out);
/* Writes the GPU's properties as text of XLA's GpuTargetConfigProto. */
void dt_pjrt_gpu_write(const dt_pjrt_gpu *g, dt_str *out);

#endif
