/* SPDX-License-Identifier: Apache-2.0 */
/* Training steps that were measured: the row's job is planned, and what the plan says is put into
 * the row's unit. */
#include <string.h>

#include "planned.h"
#include "train_job.h"

static dt_prediction in_unit(const dt_rows *rows, const dt_row *row, const dt_train_job *j,
                             const dt_planned *p) {
    if (strcmp(row->unit, "s") == 0) return dt_predicted_from(p, p->seconds);
    if (strcmp(row->unit, "TFLOP/s") == 0)
        return dt_predicted_from(p, dt_train_job_flops(j) / p->seconds / j->chips / 1e12);
    if (strcmp(row->unit, "tokens/s") == 0)
        return dt_predicted_from(p, j->batch * j->sequence / p->seconds / j->chips);
    return dt_not_sufficient(rows, "'%s' is no unit of a step", row->unit);
}

static dt_prediction predict(const dt_rows *rows, const dt_row *row) {
    dt_planned p;
    dt_prediction why;
    const dt_train_job j = dt_train_job_of(rows, row);
    if (j.missing) return dt_not_sufficient(rows, "%s", j.missing);
    return dt_row_plan(rows, &(dt_row_job){j.base, j.override, j.n, j.product_rate}, &p, &why)
               ? in_unit(rows, row, &j, &p)
               : why;
}

const dt_row_kind dt_row_kind_train_step = {"train-step", "steps of training that were measured",
                                            predict};
