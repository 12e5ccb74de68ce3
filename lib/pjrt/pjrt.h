/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses a compiler that the user has installed: a plug-in with the PJRT C API, opened at run time. A
 * program is compiled for devices that need not exist, to find out how much memory and time it
 * needs; it is not run (client.h runs programs). Nothing is linked or shipped.
 */
#ifndef DT_PJRT_PJRT_H
#define DT_PJRT_PJRT_H

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef struct dt_pjrt dt_pjrt;

/* Opens a plug-in. First sets libtpu's environment variables so that it needs no TPU, unless they
 * are set already. Fails with PLUGIN if the file is not a plug-in, or the version of its API is not
 * supported. */
dt_status *dt_pjrt_open(dt_pjrt **out, const char *path) DT_MUST_USE;
/* Closes the plug-in; p may be NULL. The library stays loaded, since such libraries do not support
 * being unloaded. */
void dt_pjrt_close(dt_pjrt *p);
/* Writes versions, such as "PJRT 0.112, StableHLO 1.17.0". */
void dt_pjrt_print_version(const dt_pjrt *p, dt_str *out);

/* A program to compile without devices, and the devices that it is for. */
typedef struct dt_pjrt_order {
    const char *slice; /* shape of the slice, such as "v4:2x2x2"; for GPUs any name */
    /* for GPUs: their properties as text (dt_pjrt_gpu_write), in which case the members for TPUs
     * are ignored; NULL: the devices are TPUs */
    const char *target;
    bool wrap[3];  /* whether the slice wraps around along x, y and z */
    int host[3];   /* number of chips of a host, along x, y and z */
    bool megacore; /* whether the cores of a chip are one device */
    /* number of devices that run the program, which are XLA's replicas, in their order */
    int n_devices;
    const int64_t *device; /* [n_devices] ids of the devices */
    const char *program;   /* the program as StableHLO text */
    size_t size;           /* number of bytes of the text */
} dt_pjrt_order;

enum { DT_PJRT_KINDS = 5 }; /* number of kinds of collectives, whose names are those of HLO */
extern const char *const dt_pjrt_kinds[DT_PJRT_KINDS];

typedef struct dt_pjrt_report {
    /* bytes on a device, by use; peak: the most at one time, 0: unknown */
    int64_t code, argument, output, alias, temp, peak;
    int64_t hbm; /* bytes of a device's memory that programs can use; 0: unknown */
    /* estimated cycles of all instructions; a loop's body counts as often as it runs */
    double cycles;
    /* number of loops whose iterations are unknown, so that their bodies count once */
    int loops;
    /* runs of instructions whose cycles the compiler does not know, and which are not in
     * `cycles` */
    double unknown;
    /* number of kernel launches in a step; those in loops count as often as they run */
    double kernels;
    /* number of iterations of all loops together; a run with an unknown number counts as one */
    double turns;
    /* [kind in dt_pjrt_kinds] n: number of launches of such collectives per step; bytes: bytes of
     * all their inputs */
    struct {
        int n;
        double bytes;
    } collective[DT_PJRT_KINDS];
} dt_pjrt_report;
/* Compiles a program and fills the report. Fails with COMPILER if the compiler refuses the topology
 * or the program, with DOES_NOT_FIT if it says that memory is exhausted, and with PLUGIN if the
 * plug-in lacks a function or files of CUDA. The error has the compiler's message. */
dt_status *dt_pjrt_compile(const dt_pjrt *p, const dt_pjrt_order *o,
                           dt_pjrt_report *out) DT_MUST_USE;

/* ---- parts that tests call, too ---- */

/* Reads an optimized HLO module (with its configuration, as the API gives it), and adds what it
 * counts, such as cycles, kernels, loops and collectives, to *out. Fails with COMPILER if the bytes
 * are malformed or have no module. */
dt_status *dt_pjrt_read_hlo(const void *bytes, size_t n, dt_pjrt_report *out) DT_MUST_USE;
/* Writes CompileOptionsProto for one replica on each of these devices. */
void dt_pjrt_write_options(const int64_t *device, int n, dt_str *out);

#endif
