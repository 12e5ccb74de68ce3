/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Back ends run whole graphs. The rooms above hold devices and executables without knowing which
 * back end they are of.
 *
 *   cpu   the executor on the cores of this machine
 *   sim   a simulated TPU slice: another back end computes; the slice's memory is a limit, and a
 *         clock counts its time
 *   pjrt  devices that a PJRT plug-in drives: GPUs, TPUs, XLA on the CPU
 *
 * A back end is one file, or folder, and one row in backend/backends.h; what a row has is in
 * backend_impl.h.
 */
#ifndef DT_BACKEND_BACKEND_H
#define DT_BACKEND_BACKEND_H

#include "base/recorder.h"
#include "conf/conf.h"
#include "cost/plan.h"
#include "pass/pass.h"
#include "pjrt/settings.h"
#include "topo/topo.h"

#define DT_PJRT_PLUGIN_ENV "DTRAIN_PJRT_PLUGIN"

typedef struct dt_backend dt_backend;
typedef struct dt_device dt_device;         /* an open back end */
typedef struct dt_executable dt_executable; /* a graph that a device has compiled */

typedef struct dt_device_options {
    int threads; /* 0: one per core */
    dt_kernels kernels;
    const dt_topology *topology; /* sim: the slice; lent, outlives the device */
    /* sim: limit of a device's memory for programs, if less than the chip has; 0: all of it */
    int64_t hbm;
    const char *computes; /* sim: the back end that computes; NULL: cpu */
    const char *plugin;   /* pjrt: path of the plug-in; NULL or "": DTRAIN_PJRT_PLUGIN */
    /* pjrt: settings of the job; lent during opening; NULL: none */
    const dt_pjrt_settings *settings;
    /* pjrt: only list devices, so that none of their memory is reserved */
    bool looks;
    /* pjrt: the plug-in's devices that compute, [n_ordinals] in the order of replicas; NULL: up
     * to n_ordinals, the first ones */
    const int *ordinal;
    int n_ordinals; /* 0: one device; DT_EVERY_ORDINAL: all devices */
} dt_device_options;

enum { DT_EVERY_ORDINAL = -1 };

/* The simulated cost of a step; zeros where nothing is simulated. */
typedef struct dt_price {
    double seconds; /* duration of one step */
    /* transfer of a step's batch from the host, while the previous step computes */
    double infeed_s;
    int64_t hbm_bytes; /* memory of one core: weights, gradients, slots, activations */
    int64_t hbm_usable;
} dt_price;

typedef struct dt_compile_request {
    dt_graph *graph; /* the step for the rows of all replicas; outlives the executable */
    int64_t rows;    /* the batch size B that it is compiled for */
    /* number of this worker's first row in the batch of all workers; ignored by back ends that
     * receive it at each run (dt_env) */
    int64_t first;
    /* [cuts + 1]: rows at which work must be cut so that the bits of a part do not depend on the
     * others; NULL: anywhere */
    const int32_t *cut;
    int cuts;
    /* replicas with equal numbers of rows, one after the other; 0: the numbers may differ */
    int replicas;
    bool chip_products; /* products round as the slice's chip rounds them: numerics: chip */
    /* the work of one device of the slice, for pricing; NULL where dt_device_is_priced is false */
    const dt_spmd *on_device;
    const dt_assignment *assignment; /* positions of devices on the slice; NULL: core by core */
    /* the work of each of the device's dt_device_count parts; NULL: each computes all rows */
    const dt_spmd *over;
} dt_compile_request;

/* The back end of that name, or NULL. */
const dt_backend *dt_backend_find(const char *name);
const dt_backend *const *dt_backends(int *n);
const char *dt_backend_name(const dt_backend *b);
/* Whether the back end of that name gets its devices from a plug-in; false for NULL. */
bool dt_backend_takes_plugin(const char *name);
const char *dt_backend_about(const dt_backend *b); /* "the cores of this machine" */

/* ---- devices ---- */

typedef struct dt_device_facts {
    /* "openblas 0.3.21 SkylakeX, avx512": the libraries and instructions that results depend on;
     * lent */
    const char *kernels;
    int threads;
    /* bytes of working memory that libraries hold for all products planned so far */
    int64_t held;
} dt_device_facts;

dt_status *dt_device_open(dt_device **out, const dt_backend *b,
                          const dt_device_options *o) DT_MUST_USE;
void dt_device_close(dt_device *d); /* accepts NULL */
/* Zeros for NULL. */
dt_device_facts dt_device_facts_of(const dt_device *d);
/* The highest number of bytes in use on one of its accelerator devices since it was opened; 0:
 * unknown, or no accelerators. Accepts NULL. */
int64_t dt_device_peak_bytes(const dt_device *d);
/* The number of devices that it computes with, among which requests may divide the graph
 * (`over`). 1: the graph is not divided. */
int dt_device_count(const dt_device *d);
/* Whether steps may overlap: the next one can start before the current one is finished. */
bool dt_device_runs_ahead(const dt_device *d);
/* Sets the recorder for the work of each thread, or NULL to stop recording. The recorder must exist
 * until then. Must not be called during a step. */
void dt_device_record(dt_device *d, dt_recorder *r);
/* Whether the device prices programs, so that requests need `on_device`. */
bool dt_device_is_priced(const dt_device *d);
/* DOES_NOT_FIT (78) if the request's `on_device` needs more memory than a device of the slice
 * has. NULL where nothing is priced. */
dt_status *dt_device_check(const dt_device *d, const dt_compile_request *r) DT_MUST_USE;

/* ---- executables ---- */

/* Compiles a graph. Destroy *out with dt_executable_destroy, before the device. DOES_NOT_FIT (78)
 * as in dt_device_check. */
dt_status *dt_device_compile(dt_device *d, const dt_compile_request *r,
                             dt_executable **out) DT_MUST_USE;
void dt_executable_destroy(dt_executable *x); /* accepts NULL */
/*
 * Runs one step. arg[i]: concrete arrays in the order of the graph's arguments, read only.
 * env->batch must be the request's rows. Variables are read and updated. result[i] (graph order)
 * is set to views that are good until the next run.
 *
 * A step has two halves, start and finish. Between them the device computes: arg must not change,
 * and the data of result[i] are not valid yet; they are valid from the finish until the second
 * start after it. If dt_device_runs_ahead, the next step, maybe of another executable, may start
 * before the current one is finished; steps finish in the order of their starts. *flies: finish
 * must be called; false: the step is complete, the batch was refused (env->refusal), or the step
 * failed.
 */
dt_status *dt_executable_start(dt_executable *x, const dt_env *env, const dt_view *arg,
                               dt_view *result, bool *flies) DT_MUST_USE;
dt_status *dt_executable_finish(dt_executable *x) DT_MUST_USE;
/*
 * Uploads the arrays of a later step in advance. Any thread may call it, also while steps run. The
 * memory must not change until dt_lent_take_back, which is called after the step has finished, or
 * if it never starts. A step recognizes arrays that were lent by their addresses. *out NULL: the
 * back end reads arrays where they are.
 */
typedef struct dt_lent dt_lent;
dt_status *dt_executable_lend(dt_executable *x, const dt_view *arg, dt_lent **out) DT_MUST_USE;
void dt_lent_take_back(dt_lent *l); /* accepts NULL */
/* Whether a step of this executable has started and not finished; accepts NULL. */
bool dt_executable_flies(const dt_executable *x);
const dt_price *dt_executable_price(const dt_executable *x);
/* Bytes of this machine's memory that running the executable needs, besides variables. */
int64_t dt_executable_host_bytes(const dt_executable *x);
/* The layer ("dense"; "optimizer" for the optimizer's values) with the most of these bytes at
 * the peak; "" where no layer is known. */
const char *dt_executable_largest_layer(const dt_executable *x, dt_arena *arena, int64_t *bytes);
/* Prints segments, tasks, steps and the memory of values. */
void dt_executable_print(const dt_executable *x, dt_str *out);

/* ---- what a plug-in has ---- */

enum { DT_ACCELERATOR_AXES = 4 };
typedef struct dt_accelerator {
    int id;
    char kind[104];    /* "TPU v4" */
    int64_t memory;    /* bytes for programs; 0: unknown */
    int n_coordinates; /* coordinates on its slice: x, y, z, core; 0: unknown */
    int64_t coordinate[DT_ACCELERATOR_AXES];
} dt_accelerator;
typedef struct dt_accelerators {
    char *platform, *about; /* "cuda"; "cuda, PJRT 0.116, StableHLO 1.22.0" */
    int n;
    dt_accelerator *device;
} dt_accelerators;
/* Lists the devices of the plug-in; NULL: of DTRAIN_PJRT_PLUGIN. Reserves none of their memory.
 * Settings may be NULL. If no plug-in is named, *out is zero and there is no error. PLUGIN (69) if
 * the plug-in cannot be used. */
dt_status *dt_accelerators_find(const char *plugin, const dt_pjrt_settings *settings,
                                dt_accelerators *out) DT_MUST_USE;
void dt_accelerators_release(dt_accelerators *a);

/* ---- this machine, without a device ---- */

/* The program that cpu would run for a request, before it is compiled; variables need no memory. */
dt_status *dt_host_print_program(const dt_compile_request *r, dt_str *out) DT_MUST_USE;
/* dt_executable_host_bytes on cpu, whatever the job's back end. No memory limit of a chip
 * applies, and nothing is priced. */
dt_status *dt_host_bytes(const dt_device_options *o, const dt_compile_request *r,
                         int64_t *bytes) DT_MUST_USE;

/* A library that this machine's cpu back end could compute with. */
typedef struct dt_host_library {
    const char *name; /* "openblas" */
    bool found;
    char *about; /* version and kernels, or why it is not there; owned */
} dt_host_library;
enum { DT_HOST_SETS = 4, DT_HOST_LIBRARIES = 3 };
typedef struct dt_host_facts {
    const char *instructions;      /* set of our own loops in use: "avx512" */
    const char *set[DT_HOST_SETS]; /* all that the processor has, the best first */
    int sets;
    bool limited; /* DTRAIN_INSTRUCTIONS chose it */
    dt_host_library library[DT_HOST_LIBRARIES];
} dt_host_facts;
/* Finds instruction sets and loads the libraries. KERNELS if the environment asks for an
 * instruction set that the processor lacks. */
dt_status *dt_host_facts_find(dt_host_facts *out) DT_MUST_USE;
void dt_host_facts_release(dt_host_facts *f);
/* The instruction set in use; "" where there is none. */
const char *dt_host_instructions(void);

#endif
