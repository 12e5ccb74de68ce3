/* SPDX-License-Identifier: Apache-2.0 */
/* Internal declarations of back ends. Other folders of lib call them through backend.c. */
#ifndef DT_BACKEND_BACKEND_IMPL_H
#define DT_BACKEND_BACKEND_IMPL_H

#include "backend/backend.h"

struct dt_device {
    const dt_backend *backend;
    void *state;     /* state of the back end, which only its own functions read */
    bool priced;     /* set by `open`: whether `check` estimates the cost of programs */
    int count;       /* set by `open`: what dt_device_count returns; 0 means one device */
    bool runs_ahead; /* set by `open`: whether `start` may return before the step has ended */
    /* the back end that this one wraps, and which computes; NULL: this one computes */
    dt_device *inner;
};

struct dt_executable {
    dt_device *device; /* the innermost device, which compiled the executable */
    void *state;
    int flies; /* number of steps that have been started and not been finished */
    dt_price price;
};

struct dt_lent {
    const dt_backend *backend;
    void *state;
};

/* An element of the table of back ends. A back end that wraps another one sets d->inner in open,
 * and the members of its row below `check` are NULL. */
struct dt_backend {
    dt_kind kind;
    /* the back end's devices belong to a plug-in, so that results may differ in their last bits
     * from those of this machine */
    bool takes_plugin;
    dt_status *(*open)(dt_device *d, const dt_device_options *o);
    void (*close)(dt_device *d); /* closes a device that `open` has opened */
    /* estimates the cost of a program, and fails with DOES_NOT_FIT if it needs too much memory;
     * called only if d->priced is true */
    dt_status *(*check)(const dt_device *d, const dt_compile_request *r, dt_price *price);
    dt_status *(*compile)(dt_device *d, const dt_compile_request *r, void **state);
    void (*release)(void *executable);
    dt_status *(*start)(void *executable, const dt_env *env, const dt_view *arg, dt_view *result);
    /* Waits for the oldest step that was started. NULL: `start` waits itself. */
    dt_status *(*finish)(void *executable);
    /* Uploads the arrays of a later step to devices in advance. Any thread may call it. NULL: the
     * back end reads arrays where they are. */
    dt_status *(*lend)(void *executable, const dt_view *arg, void **lent);
    void (*take_back)(void *lent);
    int64_t (*host_bytes)(const void *executable);
    const char *(*largest_layer)(const void *executable, dt_arena *arena, int64_t *bytes);
    void (*print)(const void *executable, dt_str *out);
    dt_device_facts (*facts)(const dt_device *d);
    /* see dt_device_peak_bytes; NULL: the back end computes in this machine's memory */
    int64_t (*peak_bytes)(const dt_device *d);
    void (*record)(dt_device *d, dt_recorder *r);
};

#endif
