/* A job planned: what each program of its run needs of the slice it would run on. Nothing as large as a tensor is allocated. */
#ifndef DT_JOB_PLAN_H
#define DT_JOB_PLAN_H

#include "cost/plan.h"
#include "job/session.h"

typedef struct dt_job_plan {
    dt_job *job;                          /* lent, outlives the plan */
    dt_session session;
    int n;                                /* programs of the run; the first is what a step of training is */
    dt_outlined step[DT_MOST_OUTLINED];
    dt_plan *plan[DT_MOST_OUTLINED];
    int replicas, logical;
    struct dt_plan_check *check;          /* against a compiler (plan_check.h), owned; NULL: nobody asked for it */
    double parameters;                    /* of the model: elements of its variables that are trained */
} dt_job_plan;

/* NO_SLICE: the strategy has none. Free it with dt_job_plan_destroy. */
dt_status *dt_job_plan_create(dt_job_plan **out, dt_job *j) DT_MUST_USE;
void dt_job_plan_destroy(dt_job_plan *p); /* takes NULL */
bool dt_job_plan_fits(const dt_job_plan *p);

/* ---- plan_text.c, plan_json.c ---- */

/* Plans side by side, the first one being the job as it is, the others what would be if; label[i] heads column i. */
void dt_job_plans_print(const dt_job_plan *const *p, const char *const *label, int n, dt_str *out);
void dt_job_plan_json(const dt_job_plan *p, dt_str *out);

#endif
