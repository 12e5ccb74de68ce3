/* SPDX-License-Identifier: Apache-2.0 */
/* The table of back ends, and calls through it. */
#include "backend/backend.h"

#include <stdlib.h>
#include <string.h>

#define DT_BACKEND(name) extern const dt_backend dt_backend_##name;
#include "backend/backends.h"
#undef DT_BACKEND

const dt_backend *const *dt_backends(int *n)
{
    static const dt_backend *const rows[] = {
#define DT_BACKEND(name) &dt_backend_##name,
#include "backend/backends.h"
#undef DT_BACKEND
    };
    *n = (int)(sizeof rows / sizeof *rows);
    return rows;
}

const dt_backend *dt_backend_find(const char *name)
{
    int n;
    const dt_backend *const *rows = dt_backends(&n);

    for (int i = 0; i < n; i++)
        if (strcmp(rows[i]->kind.name, name) == 0)
            return rows[i];
    return NULL;
}

dt_status *dt_device_open(dt_device **out, const dt_backend *b, const dt_device_options *o)
{
    dt_device *d = dt_alloc(sizeof *d);
    dt_status *s;

    *d = (dt_device){ .backend = b, .topology = o->topology, .hbm = o->hbm };
    s = b->open(d, o);
    if (s) {
        free(d);
        return s;
    }
    *out = d;
    return NULL;
}

void dt_device_close(dt_device *d)
{
    if (!d)
        return;
    d->backend->close(d);
    free(d);
}

dt_status *dt_device_compile(dt_device *d, const dt_compile_request *r, dt_executable *out)
{
    *out = (dt_executable){ .device = d };
    return d->backend->compile(d, r, out);
}

dt_status *dt_executable_run(dt_executable *x, const dt_env *env, const dt_view *arg, dt_view *result)
{
    return x->device->backend->run(x, env, arg, result);
}

void dt_executable_release(dt_executable *x)
{
    if (x->device)
        x->device->backend->release(x);
    *x = (dt_executable){ 0 };
}
