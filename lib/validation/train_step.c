/* Training steps that were measured: the row's job is planned, and what the plan says is put into the row's unit. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "job/plan.h"
#include "validation/train_job.h"

static dt_status *plan(const dt_rows *rows, const dt_train_job *j, double *seconds)
{
    dt_job *job = NULL;
    dt_job_plan *p = NULL;
    char *path = dt_path_join(rows->configs, j->base);
    dt_status *s = dt_job_open(&job, &(dt_job_source){.path = path, .overrides = j->override, .n_overrides = j->n, .purpose = DT_FOR_FIT});
    if (!s)
        s = dt_job_plan_create(&p, job);
    if (!s)
        *seconds = p->plan[0]->seconds;
    dt_job_plan_destroy(p);
    dt_job_unref(job);
    free(path);
    return s;
}

static dt_prediction in_unit(const dt_rows *rows, const dt_row *row, const dt_train_job *j, double seconds)
{
    if (strcmp(row->unit, "s") == 0)
        return dt_predicted(seconds);
    if (strcmp(row->unit, "TFLOP/s") == 0)
        return dt_predicted(dt_train_job_flops(j) / seconds / j->chips / 1e12);
    if (strcmp(row->unit, "tokens/s") == 0)
        return dt_predicted(j->batch * j->sequence / seconds / j->chips);
    return dt_not_sufficient(rows, "'%s' is no unit of a step", row->unit);
}

static dt_prediction predict(const dt_rows *rows, const dt_row *row)
{
    double seconds = 0;
    const dt_train_job j = dt_train_job_of(rows, row);
    if (j.missing)
        return dt_not_sufficient(rows, "%s", j.missing);
    dt_status *s = plan(rows, &j, &seconds);
    if (!s)
        return in_unit(rows, row, &j, seconds);
    dt_prediction p = dt_not_sufficient(rows, "its job cannot be planned: %s", dt_status_text(s));
    dt_status_free(s);
    return p;
}

const dt_row_kind dt_row_kind_train_step = {"train-step", "steps of training that were measured", predict};
