/* SPDX-License-Identifier: Apache-2.0 */
/* Calls into a plug-in's table, shared by those that only compile (pjrt.c) and those that run
 * (client.c). */
#ifndef DT_PJRT_PJRT_IMPL_H
#define DT_PJRT_PJRT_IMPL_H

#include "pjrt/api.h"
#include "pjrt/pjrt.h"

struct dt_pjrt {
    char *path;
    const dt_pjrt_api *api;
    int64_t stablehlo[3]; /* the version of StableHLO that it reads; zeros: unknown */
};

#define DT_PJRT_HEAD(type) .head = {.size = sizeof(type)}

/* A call of a function: its slot, its published name, its purpose for messages, and the error of
 * its failures. */
typedef struct dt_pjrt_step {
    dt_pjrt_slot slot;
    const char *name, *doing;
    dt_error id;
} dt_pjrt_step;

/* dt_pjrt_open without changes to the environment. */
dt_status *dt_pjrt_load(dt_pjrt **out, const char *path) DT_MUST_USE;
bool dt_pjrt_has(const dt_pjrt *p, dt_pjrt_slot slot);
/* PLUGIN where the table lacks the function. RESOURCE_EXHAUSTED of a device or a compiler is
 * DOES_NOT_FIT. */
dt_status *dt_pjrt_call(const dt_pjrt *p, const dt_pjrt_step *s, void *arguments) DT_MUST_USE;
/* The message of a plug-in's error; frees the error. */
dt_status *dt_pjrt_failed(const dt_pjrt *p, dt_error id, const char *doing,
                          void *error) DT_MUST_USE;
/* Destroys an object or NULL. Errors are ignored, since the object is not used any more. */
void dt_pjrt_destroy(const dt_pjrt *p, dt_pjrt_slot slot, void *object);
/* Whether its devices are GPUs: NVIDIA's and AMD's plug-ins have an extension that other
 * plug-ins lack. */
bool dt_pjrt_drives_gpus(const dt_pjrt *p);
bool dt_pjrt_is_named(const dt_pjrt_named_value *v, const char *name);

#endif
