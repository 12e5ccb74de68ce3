/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses a compiler that the user has installed: a plug-in with the PJRT C API, opened at run time. A
 * program is compiled for a slice that need not exist, to find out how much memory it needs.
 * Nothing is linked or shipped, and the program is never run.
 */
#ifndef DT_PJRT_PJRT_H
#define DT_PJRT_PJRT_H

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef struct dt_pjrt dt_pjrt;

/* PLUGIN if the file is not a plug-in, or its API's version is not supported. */
dt_status *dt_pjrt_open(dt_pjrt **out, const char *path) DT_MUST_USE;
/* Accepts NULL. The library stays loaded, since such libraries do not support being unloaded. */
void dt_pjrt_close(dt_pjrt *p);
/* "PJRT 0.112, StableHLO 1.17.0" */
void dt_pjrt_print_version(const dt_pjrt *p, dt_str *out);

/* What to compile, and for which devices. */
typedef struct dt_pjrt_order {
    const char *slice; /* "v4:2x2x2"; of GPUs any name */
    /* for GPUs: the properties of the model as text (dt_pjrt_gpu_write); members for TPUs are then
     * ignored. NULL: TPUs */
    const char *target;
    bool wrap[3];
    int host[3]; /* chips of a host */
    bool megacore;
    int n_devices;         /* devices that run the program: XLA's replicas, in order */
    const int64_t *device; /* [n_devices] ids */
    const char *program;   /* StableHLO text */
    size_t size;
} dt_pjrt_order;

enum { DT_PJRT_KINDS = 5 }; /* kinds of collectives, named as in HLO */
extern const char *const dt_pjrt_kinds[DT_PJRT_KINDS];

typedef struct dt_pjrt_report {
    int64_t code, argument, output, alias, temp, peak; /* bytes on a device; peak 0: unknown */
    int64_t hbm; /* a device's memory for programs; 0: unknown */
    /* estimated cycles of all instructions; a loop's body counts as often as it runs */
    double cycles;
    int loops;      /* loops whose number of iterations is unknown; their bodies count once */
    double unknown; /* runs of kernels that have no estimate, and are not in `cycles` */
    double kernels; /* launches in a step; those in loops count as often as they run */
    double turns;   /* iterations of all loops together */
    struct {
        int n;
        double bytes;
    } collective[DT_PJRT_KINDS]; /* launches per step, and bytes of their inputs */
} dt_pjrt_report;
/* COMPILER with the compiler's message when it refuses the program, PLUGIN when the plug-in
 * lacks a function. */
dt_status *dt_pjrt_compile(const dt_pjrt *p, const dt_pjrt_order *o,
                           dt_pjrt_report *out) DT_MUST_USE;

/* ---- parts, for tests ---- */

/* Reads an optimized HLO module (with its configuration, as the API gives it): cycles, kernels,
 * loops, collectives. COMPILER when it is malformed. */
dt_status *dt_pjrt_read_hlo(const void *bytes, size_t n, dt_pjrt_report *out) DT_MUST_USE;
/* CompileOptionsProto for replicas on these devices. */
void dt_pjrt_write_options(const int64_t *device, int n, dt_str *out);

#endif
