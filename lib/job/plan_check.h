/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a plan with the user's compiler: dtrain plan --check-with-libtpu, --check-with-cuda. */
#ifndef DT_JOB_PLAN_CHECK_H
#define DT_JOB_PLAN_CHECK_H

#include "base/json.h"
#include "job/plan.h"
#include "pjrt/gpus.h"
#include "pjrt/pjrt.h"

/* Compiles the training step of a plan for its slice. plugin: what dt_pjrt_open takes as the path
 * of the compiler's plugin. Free *out with dt_plan_check_destroy. Fails with USAGE if the job
 * describes a cluster instead of TPUs. Other errors: PLUGIN, COMPILER, NO_STABLEHLO. */
dt_status *dt_plan_check_create(struct dt_plan_check **out, const dt_job_plan *p,
                                const char *plugin) DT_MUST_USE;
void dt_plan_check_destroy(struct dt_plan_check *c); /* c may be NULL */
void dt_plan_check_print(const struct dt_plan_check *c, dt_str *out);
void dt_plan_check_json(const struct dt_plan_check *c, dt_json *j);

/* plan_gpu.c: compiles the request's first job for the request's target, and writes the result as
 * text or JSON. Sets *fits (may be NULL) to whether a GPU has enough memory. Fails with USAGE if
 * the target is unknown, or the strategy is not a single program on GPUs. Other errors: PLUGIN,
 * COMPILER, NO_STABLEHLO. */
dt_status *dt_plan_of_gpu(const dt_plan_request *q, dt_str *out, bool *fits) DT_MUST_USE;

#endif
