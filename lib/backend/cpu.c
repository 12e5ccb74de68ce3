/* SPDX-License-Identifier: Apache-2.0 */
/* cpu: the executor. What it offers is shared with sim (cpu.h), which runs the same way. */
#include "backend/cpu.h"

dt_status *dt_cpu_open(dt_device *d, const dt_device_options *o)
{
    return dt_engine_open(&d->engine, &(dt_engine_options){ .threads = o->threads, .kernels = o->kernels });
}

void dt_cpu_close(dt_device *d)
{
    dt_engine_close(d->engine);
}

dt_status *dt_cpu_compile(dt_device *d, const dt_compile_request *r, dt_executable *out)
{
    return dt_exec_compile(&out->exec, d->engine, r->program);
}

dt_status *dt_cpu_run(dt_executable *x, const dt_env *env, const dt_view *arg, dt_view *result)
{
    return dt_exec_run(x->exec, env, arg, result);
}

void dt_cpu_release(dt_executable *x)
{
    dt_exec_destroy(x->exec);
}

const dt_backend dt_backend_cpu = {
    .kind = { .name = "cpu", .about = "the cores of this machine" },
    .open = dt_cpu_open, .close = dt_cpu_close, .compile = dt_cpu_compile, .run = dt_cpu_run, .release = dt_cpu_release,
};
