/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Back ends run whole graphs. Other folders of lib use devices and executables of any back end
 * through these functions.
 *
 *   cpu   the executor on the cores of this machine
 *   sim   a simulated TPU slice: another back end computes; the slice's memory is a limit, and a
 *         clock counts its time
 *   pjrt  devices that a PJRT plug-in drives: GPUs, TPUs, XLA on the CPU
 *
 * A back end is one file or folder, and one row in backend/backends.h. backend_impl.h declares the
 * members of a row.
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
/* a device: an open back end, which compiles graphs and runs them */
typedef struct dt_device dt_device;
typedef struct dt_executable dt_executable; /* a graph that a device has compiled */

typedef struct dt_device_options {
    int threads; /* cpu: number of threads; 0: one for each core */
    dt_kernels kernels;
    const dt_topology *topology; /* sim: the slice; lent, outlives the device */
    /* sim: bytes of a device's memory for programs, if less than the chip has; 0: all of it */
    int64_t hbm;
    const char *computes; /* sim: name of the back end that computes; NULL: cpu */
    /* pjrt: path of the plug-in; NULL or "": the variable DTRAIN_PJRT_PLUGIN has it */
    const char *plugin;
    /* pjrt: settings of the job; lent while the device is opened; NULL: there are none */
    const dt_pjrt_settings *settings;
    /* pjrt: whether devices are only listed, so that no memory on them is reserved */
    bool looks;
    /* pjrt: the plug-in's devices that compute, [n_ordinals] in the order of replicas; NULL: the
     * first ones, at most n_ordinals, as many as can share the replicas evenly */
    const int *ordinal;
    /* number of devices, or the most if `ordinal` is NULL; 0: one device; DT_EVERY_ORDINAL: all
     * devices */
    int n_ordinals;
} dt_device_options;

enum { DT_EVERY_ORDINAL = -1 };

/* The estimated cost of a step. All members are 0 if the back end estimates nothing. */
typedef struct dt_price {
    double seconds; /* seconds of one step */
    /* seconds to transfer a step's batch from the host, while the previous step computes; 0:
     * unknown */
    double infeed_s;
    /* bytes of a device's memory that the step needs: weights, gradients, slots, activations,
     * padding */
    int64_t hbm_bytes;
    int64_t hbm_usable;
} dt_price;

typedef struct dt_compile_request {
    /* the step to compile, for the rows (examples) of all replicas in this process; must outlive
     * the executable */
    dt_graph *graph;
    int64_t rows; /* number of rows, the batch size B, for which the graph is compiled */
    /* index of this worker's first row in the batch of all workers; ignored by back ends that
     * receive it at each run (dt_env) */
    int64_t first;
    /* [cuts + 1] rows at which the work must be divided, so that the bits of a part do not depend
     * on other parts; NULL: it may be divided anywhere */
    const int32_t *cut;
    int cuts;
    /* number of replicas if they have equal numbers of rows, one replica after the other; 0: the
     * numbers may differ */
    int replicas;
    /* whether products are rounded as the slice's chip rounds them, for `numerics: chip`; pjrt then
     * uses the compiler's default precision */
    bool chip_products;
    /* the work of one device of the slice, to estimate its cost; NULL if dt_device_is_priced is
     * false */
    const dt_spmd *on_device;
    /* where on the slice each device is; NULL: devices are in the order of cores */
    const dt_assignment *assignment;
    /* the work of each of the dt_device_count devices; NULL: each computes all rows */
    const dt_spmd *over;
} dt_compile_request;

/* Returns the back end of that name, or NULL. */
const dt_backend *dt_backend_find(const char *name);
const dt_backend *const *dt_backends(int *n);
const char *dt_backend_name(const dt_backend *b);
/* Whether the back end of that name gets its devices from a plug-in. False if name is NULL. */
bool dt_backend_takes_plugin(const char *name);
/* Returns a description of a back end for people: "the cores of this machine". */
const char *dt_backend_about(const dt_backend *b);

/* ---- devices ---- */

typedef struct dt_device_facts {
    /* names the libraries and instructions, or the plug-in, that results depend on: "openblas
     * 0.3.21 SkylakeX, avx512"; lent */
    const char *kernels;
    int threads;
    /* bytes of working memory that libraries hold for all products planned so far */
    int64_t held;
} dt_device_facts;

dt_status *dt_device_open(dt_device **out, const dt_backend *b,
                          const dt_device_options *o) DT_MUST_USE;
void dt_device_close(dt_device *d); /* d may be NULL */
/* Returns facts about the device; all are 0 if d is NULL. */
dt_device_facts dt_device_facts_of(const dt_device *d);
/* Returns the highest number of bytes that were in use on one of the accelerators since the device
 * was opened or, if the plug-in does not count that, that are in use now; 0: unknown, or there are
 * no accelerators. d may be NULL. */
int64_t dt_device_peak_bytes(const dt_device *d);
/* Returns the number of devices among which a request may divide the graph (`over`). 1: the graph
 * is not divided. */
int dt_device_count(const dt_device *d);
/* Whether steps may overlap: the next one can start before the current one is finished. */
bool dt_device_runs_ahead(const dt_device *d);
/* Sets the recorder for the work of each thread; pjrt records nothing. NULL stops recording; until
 * then the recorder must exist. Must not be called during a step. */
void dt_device_record(dt_device *d, dt_recorder *r);
/* Whether the device estimates the cost of programs, so that requests need `on_device`. */
bool dt_device_is_priced(const dt_device *d);
/* Fails with DOES_NOT_FIT (78) if the request's `on_device` needs more memory than programs can use
 * on a device of the slice. Never fails if the device estimates no costs (dt_device_is_priced). */
dt_status *dt_device_check(const dt_device *d, const dt_compile_request *r) DT_MUST_USE;

/* ---- executables ---- */

/* Compiles a graph, after the check of dt_device_check, and sets *out, which does not change on
 * failure. Destroy it with dt_executable_destroy, before the device is closed. */
dt_status *dt_device_compile(dt_device *d, const dt_compile_request *r,
                             dt_executable **out) DT_MUST_USE;
void dt_executable_destroy(dt_executable *x); /* x may be NULL */
/*
 * Runs one step. arg[i]: concrete arrays in the order of the graph's arguments, read only.
 * env->batch must be the request's rows. Variables are read and updated. result[i], in the order of
 * the graph's results, is set to a view.
 *
 * A step has two halves, start and finish. *flies is set to true if finish must be called. If it is
 * false, the step is complete, the batch was refused (env->refusal), or the step failed. Between
 * start and finish the device computes: arg must not change, and the data of result[i] are not
 * valid. The data of a complete step are valid until the next start of this executable or, if
 * dt_device_runs_ahead and it exchanges nothing with other workers, until the second one that
 * follows. In that case the next step, maybe of another executable, may start before the current
 * one is finished; steps finish in the order of their starts.
 */
dt_status *dt_executable_start(dt_executable *x, const dt_env *env, const dt_view *arg,
                               dt_view *result, bool *flies) DT_MUST_USE;
dt_status *dt_executable_finish(dt_executable *x) DT_MUST_USE;
/*
 * Uploads the arrays of a later step in advance. Any thread may call it, also while steps run. The
 * memory must not change until dt_lent_take_back, which is called after the step has finished, or
 * if it never starts. A step recognizes lent arrays by their addresses. *out is NULL if the back
 * end reads arrays where they are, and after an error.
 */
typedef struct dt_lent dt_lent;
dt_status *dt_executable_lend(dt_executable *x, const dt_view *arg, dt_lent **out) DT_MUST_USE;
/* Takes back the arrays that dt_executable_lend lent, so that their memory may be reused. l may be
 * NULL. */
void dt_lent_take_back(dt_lent *l);
/* Whether a step of this executable has started and not finished. False if x is NULL. */
bool dt_executable_flies(const dt_executable *x);
const dt_price *dt_executable_price(const dt_executable *x);
/* Returns the bytes of this machine's memory that running the executable needs, besides
 * variables. */
int64_t dt_executable_host_bytes(const dt_executable *x);
/* Returns, in `arena`, the layer whose values need the most memory of this machine at the peak,
 * such as "dense", or "optimizer" for the optimizer's values, and sets *bytes to it; "" and 0 if no
 * layer is known. */
const char *dt_executable_largest_layer(const dt_executable *x, dt_arena *arena, int64_t *bytes);
/* Prints the program. cpu: segments, their groups and steps, and the memory of values; pjrt: its
 * StableHLO text. */
void dt_executable_print(const dt_executable *x, dt_str *out);

/* ---- the devices of a plug-in ---- */

enum { DT_ACCELERATOR_AXES = 4 };
typedef struct dt_accelerator {
    int id;
    char kind[104];    /* kind of device by the name that its maker gives it, such as "TPU v4" */
    int64_t memory;    /* bytes of its memory that programs can use; 0: unknown */
    int n_coordinates; /* number of its coordinates on its slice (x, y, z, core); 0: unknown */
    int64_t coordinate[DT_ACCELERATOR_AXES];
} dt_accelerator;
typedef struct dt_accelerators {
    /* platform: its name, such as "cuda"; about: its versions, "cuda, PJRT 0.116, StableHLO
     * 1.22.0" */
    char *platform, *about;
    int n;
    dt_accelerator *device;
} dt_accelerators;
/* Lists the devices of the plug-in; with NULL or "", those of DTRAIN_PJRT_PLUGIN. Reserves none of
 * their memory. Settings may be NULL. If no plug-in is named, *out is zero and there is no error.
 * PLUGIN (69) if the plug-in cannot be used. */
dt_status *dt_accelerators_find(const char *plugin, const dt_pjrt_settings *settings,
                                dt_accelerators *out) DT_MUST_USE;
void dt_accelerators_release(dt_accelerators *a);

/* ---- this machine, without a device ---- */

/* Appends the program that the back end cpu would run for a request to `out`, before it is
 * compiled. The variables need no memory for this. */
dt_status *dt_host_print_program(const dt_compile_request *r, dt_str *out) DT_MUST_USE;
/* Compiles the request for the back end cpu, whatever the job's back end is, and sets *bytes to
 * dt_executable_host_bytes, or to 0 if that fails. No memory limit of a chip applies, and no cost
 * is estimated. If a device with these options cannot be opened, *bytes does not change. */
dt_status *dt_host_bytes(const dt_device_options *o, const dt_compile_request *r,
                         int64_t *bytes) DT_MUST_USE;

/* A library for products that cpu can use if it is found, or "own", dtrain's own loops. */
typedef struct dt_host_library {
    const char *name; /* name of the library, such as "openblas" */
    bool found;
    /* version and kernels of the library, or the reason why it cannot be used; for "own", whether
     * it is the default; owned */
    char *about;
} dt_host_library;
enum { DT_HOST_SETS = 4, DT_HOST_LIBRARIES = 3 };
typedef struct dt_host_facts {
    /* the instruction set that dtrain's own kernels use, such as "avx512" */
    const char *instructions;
    const char *set[DT_HOST_SETS]; /* all instruction sets that the processor has, best first */
    int sets;
    bool limited; /* the variable DTRAIN_INSTRUCTIONS has chosen the set */
    dt_host_library library[DT_HOST_LIBRARIES];
} dt_host_facts;
/* Finds the instruction sets, and opens and closes each library to learn whether it can be used.
 * Fails with KERNELS if the environment asks for an instruction set that is unknown or that the
 * processor lacks; *out is then zero. Release *out with dt_host_facts_release. */
dt_status *dt_host_facts_find(dt_host_facts *out) DT_MUST_USE;
void dt_host_facts_release(dt_host_facts *f);
/* Returns the instruction set that the CPU kernels use, such as "avx512"; "" if the environment
 * asks for one that is unknown or that the processor lacks. */
const char *dt_host_instructions(void);

#endif
