/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of jobs that run on this machine itself. */
#ifndef DT_JOB_PLAN_HOST_H
#define DT_JOB_PLAN_HOST_H

#include "job/plan.h"

/* No job of the request has a slice, and it asks for nothing that only a slice has. */
bool dt_plan_is_of_host(const dt_plan_request *q);
/* Memory and time of each on this machine, as text or as a list in JSON; *fits (may be NULL): of
 * the first. Runs steps, and writes nothing. */
dt_status *dt_plan_of_host(const dt_plan_request *q, const dt_plan_options *o, dt_str *out,
                           bool *fits) DT_MUST_USE;

#endif
