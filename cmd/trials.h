/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains the trials of a sweep, or the folds of a job. The library chooses trials and records their
 * results. Each is trained by a process of its own, `dtrain fit JOB key=value...`, so that an error
 * in one cannot end the others. The process writes its output to fit.log in the trial's folder; its
 * first error is kept for the results.
 */
#ifndef CMD_TRIALS_H
#define CMD_TRIALS_H

#include <sys/types.h>

#include "verb.h"

enum { MOST_JOBS = 64, ERROR_BYTES = 4096 };

/* A trial that is being trained by a process. */
struct child {
    pid_t pid; /* process of the trial; 0: this entry is free */
    /* number: the trial's number; errors: the reading end of a pipe from the process's standard
     * error */
    int number, errors;
    size_t n;
    char error[ERROR_BYTES];
};

struct trials {
    const struct call *call;
    const struct place *place;
    const struct compute *compute;
    int64_t jobs; /* number of trials to train at the same time, at most MOST_JOBS */
    bool json;
    bool shows_faults;  /* whether failed trials are reported even with -q */
    const char *trial;  /* the word for a trial in the output: "trial" or "fold" */
    const char *resume; /* the value of --resume for each process; NULL: "auto" */
    dt_job_source source;
    dt_sweep *sweep;
    struct child child[MOST_JOBS];
    /* the warnings of trials that have been printed, one per line, so that none is printed twice */
    dt_str warned;
    int passed; /* value of the stop flag when it was last passed to the processes */
};

/* Trains all remaining trials, and reports each when it ends. The first stop signal lets them save
 * and stop; the second one ends them at once. */
dt_status *trials_train(struct trials *w);
/* Prints "to resume, run: " and the command of the call (put_again). */
void trials_suggest_resume(const struct trials *w);

#endif
