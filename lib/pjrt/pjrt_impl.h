/* SPDX-License-Identifier: Apache-2.0 */
/* Calls into a plug-in's table, shared by the files of this folder. */
#ifndef DT_PJRT_PJRT_IMPL_H
#define DT_PJRT_PJRT_IMPL_H

#include "pjrt/api.h"
#include "pjrt/pjrt.h"

struct dt_pjrt {
    char *path;
    const dt_pjrt_api *api;
    int64_t stablehlo[3]; /* the version of StableHLO that the plug-in reads; zeros: unknown */
};

#define DT_PJRT_HEAD(type) .head = {.size = sizeof(type)}

/* A function to call: its slot in the table, its published name, its purpose for messages, and the
 * error to return if it fails. */
typedef struct dt_pjrt_step {
    dt_pjrt_slot slot;
    const char *name, *doing;
    dt_error id;
} dt_pjrt_step;

/* Opens a plug-in like dt_pjrt_open, but does not set libtpu's environment variables. */
dt_status *dt_pjrt_load(dt_pjrt **out, const char *path) DT_MUST_USE;
/* Whether the table is long enough to have the function, and it is not NULL. */
bool dt_pjrt_has(const dt_pjrt *p, dt_pjrt_slot slot);
/* Calls a function of the table with its struct of arguments. Fails with PLUGIN if the table does
 * not have the function. If the function fails, returns the error of dt_pjrt_failed for s->id. */
dt_status *dt_pjrt_call(const dt_pjrt *p, const dt_pjrt_step *s, void *arguments) DT_MUST_USE;
/* Makes a status from a plug-in's error, with its message, and frees the error. Its error is
 * `id`, with two exceptions: ACCELERATOR and COMPILER become DOES_NOT_FIT if the plug-in's code is
 * RESOURCE_EXHAUSTED, and COMPILER becomes PLUGIN if files of CUDA are missing. */
dt_status *dt_pjrt_failed(const dt_pjrt *p, dt_error id, const char *doing,
                          void *error) DT_MUST_USE;
/* Destroys an object or NULL. Errors are ignored, since the object is not used any more. */
void dt_pjrt_destroy(const dt_pjrt *p, dt_pjrt_slot slot, void *object);
/* Whether the plug-in's devices are GPUs: NVIDIA's and AMD's plug-ins have an extension that other
 * plug-ins lack. */
bool dt_pjrt_drives_gpus(const dt_pjrt *p);
bool dt_pjrt_is_named(const dt_pjrt_named_value *v, const char *name);

#endif
