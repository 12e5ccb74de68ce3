/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu back end's functions, for back ends that compute in the same way. */
#ifndef DT_BACKEND_CPU_H
#define DT_BACKEND_CPU_H

#include "backend/backend.h"

dt_status *dt_cpu_open(dt_device *d, const dt_device_options *o);
void dt_cpu_close(dt_device *d);
dt_status *dt_cpu_compile(dt_device *d, const dt_compile_request *r, dt_executable *out);
dt_status *dt_cpu_run(dt_executable *x, const dt_env *env, const dt_view *arg, dt_view *result);
void dt_cpu_release(dt_executable *x);

#endif
