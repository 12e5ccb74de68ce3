/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of published models, planned for rows: the same code as `dtrain plan`. */
#ifndef CMD_SIMULATOR_PLANNED_H
#define CMD_SIMULATOR_PLANNED_H

#include "topo/topo.h"
#include "rows.h"

typedef struct dt_planned {
    double seconds; /* of a step */
    double bytes;   /* of HBM, a device, at the peak */
    const char *family;
} dt_planned;

/* A value that follows from the seconds of the step. */
static inline dt_prediction dt_predicted_from(const dt_planned *p, double value) {
    dt_prediction by = dt_predicted(value);
    by.family = p->family;
    return by;
}

/* A job of the directory of published jobs, and what is other than in the file. */
typedef struct dt_row_job {
    const char *base;             /* "decoder.yaml" */
    const char *const *overrides; /* [n] */
    int n;
    double product_rate; /* dt_plan_options'; 0 is 1 */
} dt_row_job;
/* False: it cannot be planned, and *why says so. */
bool dt_row_plan(const dt_rows *rows, const dt_row_job *job, dt_planned *out, dt_prediction *why);

/* A published model, whole, on a slice: a replica on each device. */
typedef struct dt_row_model {
    const char *base; /* "resnet50.yaml" */
    dt_slice slice;
    double batch; /* of all replicas */
} dt_row_model;
/* By the row's `model`, `accelerator` or `topology`, and `global_batch` or `per_device_batch`.
 * False: *why says what is missing. */
bool dt_row_model_of(const dt_rows *rows, const dt_row *row, dt_row_model *out, dt_prediction *why);
bool dt_row_model_plan(const dt_rows *rows, const dt_row_model *m, dt_planned *out,
                       dt_prediction *why);

#endif
