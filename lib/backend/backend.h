/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Back ends run whole programs. The rooms above do not need to know which one they use.
 *
 *   cpu   the executor on the cores of this machine
 *   sim   cpu's run, plus the cost of the program on a TPU slice: a memory limit and a virtual clock
 *
 * One file and one row in backend/backends.h each.
 */
#ifndef DT_BACKEND_BACKEND_H
#define DT_BACKEND_BACKEND_H

#include "conf/conf.h"
#include "cost/plan.h"
#include "exec/exec.h"
#include "topo/topo.h"

typedef struct dt_backend dt_backend;

typedef struct dt_device_options {
    int threads;                 /* 0: one per core */
    dt_kernels kernels;
    const dt_topology *topology; /* sim: the slice; lent, outlives the device */
    int64_t hbm;                 /* sim: what programs get of a device's memory, where that is less than the chip has; 0: all of it */
} dt_device_options;

/* An open back end. */
typedef struct dt_device {
    const dt_backend *backend;
    dt_engine *engine;
    const dt_topology *topology;
    int64_t hbm;                 /* ceiling of a device's memory below the chip's own; 0: none */
} dt_device;

/* What a step costs where it is simulated; zeros elsewhere. */
typedef struct dt_price {
    double seconds;              /* of one step */
    double infeed_s;             /* of its batch from the host, while the step before computes */
    int64_t hbm_bytes;           /* of one core: weights, gradients, slots, activations */
    int64_t hbm_usable;
} dt_price;

typedef struct dt_compile_request {
    const dt_program *program;   /* all replicas' rows, cut for this machine; outlives the executable */
    const dt_spmd *on_device;    /* what one device of the slice does, to be priced; NULL: there is no slice */
    const dt_assignment *assignment; /* where devices are on it; NULL: core by core */
} dt_compile_request;

typedef struct dt_executable {
    dt_device *device;
    dt_exec *exec;
    dt_price price;
} dt_executable;

struct dt_backend {
    dt_kind kind;
    dt_status *(*open)(dt_device *d, const dt_device_options *o);
    void (*close)(dt_device *d);
    dt_status *(*compile)(dt_device *d, const dt_compile_request *r, dt_executable *out);
    dt_status *(*run)(dt_executable *x, const dt_env *env, const dt_view *arg, dt_view *result);
    void (*release)(dt_executable *x);
};

/* The row of a name, or NULL. */
const dt_backend *dt_backend_find(const char *name);
const dt_backend *const *dt_backends(int *n);

dt_status *dt_device_open(dt_device **out, const dt_backend *b, const dt_device_options *o) DT_MUST_USE;
void dt_device_close(dt_device *d); /* takes NULL */
/* DOES_NOT_FIT (78) where a core of d's simulated slice has less memory than a planned program takes. */
dt_status *dt_device_holds(const dt_device *d, const dt_plan *p) DT_MUST_USE;
/* *out is filled; release it with dt_executable_release. DOES_NOT_FIT (78) on a simulated slice. */
dt_status *dt_device_compile(dt_device *d, const dt_compile_request *r, dt_executable *out) DT_MUST_USE;
dt_status *dt_executable_run(dt_executable *x, const dt_env *env, const dt_view *arg, dt_view *result) DT_MUST_USE;
void dt_executable_release(dt_executable *x); /* takes a zeroed one */

#endif
