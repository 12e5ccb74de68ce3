/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain fit of a job with dataset.validation_folds: trains a model for each fold, as trials of
 * a sweep, and reports the mean and deviation of each metric over the folds. */
#ifndef CMD_FOLDS_H
#define CMD_FOLDS_H

#include "result_files.h"
#include "trials.h"

struct folds {
    struct trials trials; /* the caller sets the members up to `source` */
    const dt_job *job;
    const char *path; /* path of the job as written on the command line */
    bool fresh;       /* train again even if there are models of an earlier run */
    double seconds;   /* stop after this many seconds, with exit code 75; 0: no limit */
    const struct expectations *expect;
    const struct result_files *files;
};

/* Trains the folds and reports the results. Returns the exit code. */
int folds_fit(struct folds *f);

#endif
