/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of back ends, for their own files. Calls of the rooms above come through backend.c. */
#ifndef DT_BACKEND_BACKEND_IMPL_H
#define DT_BACKEND_BACKEND_IMPL_H

#include "backend/backend.h"

struct dt_device {
    const dt_backend *backend;
    void *state;      /* the row's own */
    bool priced;      /* set in open: programs have a price on it */
    int count;        /* set in open: dt_device_count; 0: one */
    bool runs_ahead;  /* set in open: start returns before the step is done */
    dt_device *inner; /* the back end that computes, behind this one; NULL: this one */
};

struct dt_executable {
    dt_device *device; /* that compiled it: the innermost */
    void *state;
    int flies; /* starts without a finish */
    dt_price price;
};

struct dt_lent {
    const dt_backend *backend;
    void *state;
};

/* A row. One that stands in front of another sets d->inner in open; it has no functions below
 * `check`. */
struct dt_backend {
    dt_kind kind;
    /* its devices are a plug-in's, and do not compute the bits of this machine's */
    bool takes_plugin;
    dt_status *(*open)(dt_device *d, const dt_device_options *o);
    void (*close)(dt_device *d); /* of what `open` has made, if it did not fail */
    /* where d->priced */
    dt_status *(*check)(const dt_device *d, const dt_compile_request *r, dt_price *price);
    dt_status *(*compile)(dt_device *d, const dt_compile_request *r, void **state);
    void (*release)(void *executable);
    dt_status *(*start)(void *executable, const dt_env *env, const dt_view *arg, dt_view *result);
    dt_status *(*finish)(void *executable); /* of the oldest start; NULL: start does it all */
    /* by any thread; NULL: arrays are used where they are */
    dt_status *(*lend)(void *executable, const dt_view *arg, void **lent);
    void (*take_back)(void *lent);
    int64_t (*host_bytes)(const void *executable);
    const char *(*largest_layer)(const void *executable, dt_arena *arena, int64_t *bytes);
    void (*print)(const void *executable, dt_str *out);
    dt_device_facts (*facts)(const dt_device *d);
    int64_t (*peak_bytes)(const dt_device *d); /* NULL: it computes in this machine's memory */
    void (*record)(dt_device *d, dt_recorder *r);
};

#endif
