/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that a plug-in can compile for without having them: the properties that its compiler
 * needs. */
#ifndef DT_PJRT_GPUS_H
#define DT_PJRT_GPUS_H

#include <stdint.h>

#include "base/str.h"

typedef struct dt_pjrt_gpu {
    const char *name, *title; /* "h100", "NVIDIA H100 80GB HBM3" */
    /* compute capability; `special`: uses the instructions that only this one has */
    int major, minor;
    bool special;
    int cores, fpus, threads;     /* multiprocessors; float32 units and resident threads of each */
    int shared, shared_by_choice; /* KiB of a multiprocessor, and of a block that asks for much */
    double clock_ghz;
    int64_t memory, bandwidth, l2; /* memory and l2: bytes; bandwidth: bytes a second */
} dt_pjrt_gpu;

/* The GPU of that name; NULL: unknown. */
const dt_pjrt_gpu *dt_pjrt_gpu_find(const char *name);
/* "a100, h100" */
void dt_pjrt_gpu_names(dt_str *out);
/* XLA's GpuTargetConfigProto, as text. */
void dt_pjrt_gpu_write(const dt_pjrt_gpu *g, dt_str *out);

#endif
