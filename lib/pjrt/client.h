/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in that computes: its devices, arrays on them, programs that run. This is a thin layer
 * over the published calls; the room backend decides what a program computes and which arrays are
 * variables.
 *
 * Errors, besides those of opening: PLUGIN if the plug-in cannot be used, as without a needed
 * function or a device, COMPILER if it refuses a program, DOES_NOT_FIT if a device has no memory
 * left, ACCELERATOR for all other errors of a device.
 */
#ifndef DT_PJRT_CLIENT_H
#define DT_PJRT_CLIENT_H

#include "pjrt/pjrt_impl.h"
#include "base/hash.h"
#include "graph/graph.h"
#include "pjrt/settings.h"

typedef struct dt_pjrt_client dt_pjrt_client;
typedef struct dt_pjrt_buffer dt_pjrt_buffer; /* the plug-in's handle of an array on a device */
/* the plug-in's handle of a program that can run */
typedef struct dt_pjrt_loaded dt_pjrt_loaded;

typedef struct dt_pjrt_opening {
    const dt_pjrt_settings *settings; /* settings of the job; NULL: there are none */
    /* [n_ordinals] numbers of the devices that will compute; NULL: any device may */
    const int *ordinal;
    int n_ordinals;
    bool looks; /* whether devices are only listed, so that none of their memory is reserved */
} dt_pjrt_opening;
/* Opens a client. GPU plug-ins also get the options that JAX reads from the environment
 * (XLA_PYTHON_CLIENT_MEM_FRACTION and others), and use only the devices in ordinal[], unless the
 * settings have the option visible_devices. Unless how->looks, also opens the folder of compiled
 * programs, if the settings or DTRAIN_PJRT_CACHE name one. Fails with PLUGIN if the plug-in cannot
 * be used, with BACKEND if a variable has a bad value, two variables set the same option, or others
 * may write to that folder, and with CANT_CREATE if the folder cannot be created. */
dt_status *dt_pjrt_client_open(dt_pjrt_client **out, const char *path,
                               const dt_pjrt_opening *how) DT_MUST_USE;
void dt_pjrt_client_close(dt_pjrt_client *c); /* c may be NULL */
/* Returns the name of the platform, such as "cpu", "cuda" or "tpu". */
const char *dt_pjrt_client_platform(const dt_pjrt_client *c);
/* Returns the versions that the bits of results depend on: "cuda, PJRT 0.116, StableHLO 1.22.0;
 * jaxlib 0.12.0.1". */
const char *dt_pjrt_client_describe(const dt_pjrt_client *c);
int dt_pjrt_client_devices(const dt_pjrt_client *c); /* number of devices, at least 1 */
/* Whether the client was opened for the devices in opening.ordinal[] alone. Its devices are then in
 * the order of their numbers. */
bool dt_pjrt_client_is_confined(const dt_pjrt_client *c);

typedef struct dt_pjrt_device_facts {
    int id;
    char kind[104];    /* kind of the device, such as "TPU v4" or "NVIDIA H100" */
    int64_t memory;    /* bytes of its memory that programs can use; 0: unknown */
    int n_coordinates; /* number of its coordinates on its slice (x, y, z, core); 0: unknown */
    int64_t coordinate[4];
} dt_pjrt_device_facts;
dt_status *dt_pjrt_client_device(const dt_pjrt_client *c, int i,
                                 dt_pjrt_device_facts *out) DT_MUST_USE;

/* A device's memory for programs, in bytes; 0: unknown. limit: the most that can be in use; in_use:
 * what is in use now; peak: the largest in_use since the client was opened or, if the plug-in does
 * not count it, in_use. */
typedef struct dt_pjrt_memory {
    int64_t limit, in_use, peak;
} dt_pjrt_memory;
dt_pjrt_memory dt_pjrt_client_memory(const dt_pjrt_client *c, int i);

/* ---- arrays and events ---- */

/* Copies the array x to device i, an index among the client's devices. After the call the memory of
 * x may change. *out is NULL after an error. */
dt_status *dt_pjrt_upload(const dt_pjrt_client *c, int i, const dt_view *x,
                          dt_pjrt_buffer **out) DT_MUST_USE;
/* Makes a buffer that reads the memory of x. This memory must not change until the buffer has been
 * destroyed and the event *free, if it is not NULL, has occurred. */
dt_status *dt_pjrt_lend(const dt_pjrt_client *c, int i, const dt_view *x, dt_pjrt_buffer **out,
                        void **free) DT_MUST_USE;
/* Checks that a buffer has as many bytes as x, since a download of a larger one would write
 * beyond it. */
dt_status *dt_pjrt_check_size(const dt_pjrt_client *c, dt_pjrt_buffer *b,
                              const dt_view *x) DT_MUST_USE;
/* Begins to download all elements of a buffer in row-major order. The buffer must have x's type and
 * size. The elements are in x->data once *ready has been awaited. */
dt_status *dt_pjrt_download(const dt_pjrt_client *c, dt_pjrt_buffer *b, const dt_view *x,
                            void **ready) DT_MUST_USE;
/* Waits for the event, and destroys it. Fails with ACCELERATOR (or DOES_NOT_FIT) if what the event
 * stands for failed. If `event` is NULL, returns at once. */
dt_status *dt_pjrt_await(const dt_pjrt_client *c, void *event) DT_MUST_USE;
void dt_pjrt_buffer_destroy(const dt_pjrt_client *c, dt_pjrt_buffer *b); /* b may be NULL */

/* ---- programs ---- */

/* What to compile: StableHLO text, for these devices, each of which is a replica for XLA. */
typedef struct dt_pjrt_text {
    const char *text;
    size_t size;       /* number of bytes of the text */
    const int *device; /* [n_devices] index of each device among the client's devices */
    /* n_results: number of results in the text; the compiled program must have as many */
    int n_devices, n_results;
} dt_pjrt_text;
/* Compiles the text, or loads the program that was compiled for it before from the folder of
 * compiled programs. Sets *out only on success. Fails with COMPILER if the compiler refuses the
 * text, or the program has another number of results. */
dt_status *dt_pjrt_load_program(const dt_pjrt_client *c, const dt_pjrt_text *t,
                                dt_pjrt_loaded **out) DT_MUST_USE;
void dt_pjrt_loaded_destroy(const dt_pjrt_client *c, dt_pjrt_loaded *x); /* x may be NULL */
/* Starts a program on argument[n_devices][n_arguments]. Fills result[n_devices][results] with new
 * buffers, which the caller destroys. An argument whose memory a result uses is invalid afterwards,
 * also after an error. */
dt_status *dt_pjrt_execute(const dt_pjrt_client *c, dt_pjrt_loaded *x, int n_devices,
                           dt_pjrt_buffer *const *const *argument, int n_arguments,
                           dt_pjrt_buffer **const *result) DT_MUST_USE;
/* Returns the bytes that the program needs on a device besides arguments and results; 0:
 * unknown. */
int64_t dt_pjrt_temporary_bytes(const dt_pjrt_client *c, dt_pjrt_loaded *x);

/* ---- compiled programs that are kept ---- */

/*
 * Compiled programs kept in a folder, so that the next start does not compile them again. The name
 * of a file is a hash of what the program depends on (dt_pjrt_cache_name). Cached programs are code
 * that will run, so only the user and root may be able to write to the folder.
 */

#define DT_PJRT_CACHE_ENV "DTRAIN_PJRT_CACHE"

/* Creates the folder if it does not exist; fails with CANT_CREATE if that is not possible. Fails
 * with BACKEND if the folder belongs to another user than this one or root, or its group or others
 * may write to it. */
dt_status *dt_pjrt_cache_open(const char *folder) DT_MUST_USE;

typedef struct dt_pjrt_cached {
    const dt_pjrt *plugin;
    void *client;
    const char *folder;
    dt_digest name; /* name of the program in the folder, made by dt_pjrt_cache_name */
} dt_pjrt_cached;
/* Computes the name of a program in the folder: a hash of `about` (dt_pjrt_client_describe), the
 * kind of devices, XLA_FLAGS, the size and time of the plug-in's file, the processor, the compile
 * options and the text. */
dt_digest dt_pjrt_cache_name(const dt_pjrt *p, const char *about, const char *kind,
                             const dt_pjrt_text *t, const dt_str *options);
/* Loads the program; NULL: it is missing or damaged, or the plug-in rejects it. */
void *dt_pjrt_cache_load(const dt_pjrt_cached *c);
/* Stores an executable (not a loaded one). If that fails, the next start compiles again. */
void dt_pjrt_cache_store(const dt_pjrt_cached *c, void *executable);

#endif
