/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeps: one job with several settings. The library chooses the trials, remembers their results
 * and compares them; the caller trains each, in a process of its own or with dt_job_fit. The folds
 * of a job (dataset.validation_folds) are such trials, one for each value of dataset.fold.
 */
#ifndef DTRAIN_SWEEP_H
#define DTRAIN_SWEEP_H

#include "job.h"

DT_BEGIN_C

typedef struct dt_sweep dt_sweep;
/* How trials are chosen. AUTO: the grid of all combinations, or random trials if a range is given
 * or `trials` is smaller than the grid. */
typedef enum dt_sweep_method { DT_SWEEP_AUTO, DT_SWEEP_GRID, DT_SWEEP_RANDOM } dt_sweep_method;
/* Whether a smaller (MIN) or a larger (MAX) value of the metric is better; BY_METRIC: as the metric
 * defines it. */
typedef enum dt_sweep_mode { DT_SWEEP_BY_METRIC, DT_SWEEP_MIN, DT_SWEEP_MAX } dt_sweep_mode;

typedef struct dt_sweep_options {
    /* values of overrides may be lists, "let.width=32,64,128", and ranges: "dropout=0.1..0.5",
     * "units=16..64" of integers, "learning_rate=log:1e-4..1e-1"; other overrides apply to all
     * trials. Without such values the trials are the folds of the job: fold-1, fold-2, ... */
    const dt_job_source *source;
    dt_sweep_method method;
    /* number of trials, at most all combinations of the lists; 0: all of these. With a range, at
     * least 1 */
    int64_t trials;
    /* Seed of random trials; a trial depends only on the seed, its number, and the ranges and
     * lists. */
    uint64_t seed;
    /* successive halving: of this number of trials in a rung, at least 2, one is kept for the next;
     * 0: no halving */
    int64_t halving;
    /* The metric that is compared; NULL: "val_loss", or "loss" without validation data. */
    const char *metric;
    dt_sweep_mode mode;
    bool dry_run; /* only list the trials: nothing is written */
    bool fresh;   /* drop settings and results of an earlier sweep in the folder */
} dt_sweep_options;

/* Reads the ranges, opens the job with the first valid settings and, unless dry_run is set, locks
 * the folder output.dir. Trials that are finished there are not repeated. Errors: BAD_OVERRIDE for
 * a range; USAGE for options that do not match; EXPECT_METRIC for a metric that the job does not
 * report; OTHER_SWEEP if the folder has a sweep with other settings; IN_USE; those of the job if no
 * trial is valid. */
DT_API dt_status *dt_sweep_open(dt_sweep **out, const dt_sweep_options *options) DT_CHECKED;
DT_API void dt_sweep_unref(dt_sweep *s);

/* One line about the sweep: "20 random trials, seed 0, by val_loss (lower is better)"; lent. */
DT_API const char *dt_sweep_title(const dt_sweep *s);
/* The sweep's folder, which contains the output.dir of each trial; lent. */
DT_API const char *dt_sweep_directory(const dt_sweep *s);

/* A trial to be trained; lent until dt_sweep_unref. */
typedef struct dt_sweep_trial {
    int number;                   /* number of the trial, from 1 */
    int rung;                     /* rung of successive halving, from 1 */
    const char *settings;         /* such as "width=64 learning_rate=0.0123" */
    const char *const *overrides; /* [n_overrides] overrides of the job, including output.dir */
    int n_overrides;
    /* where training must stop in this rung, as in dt_run_options; 0: at the end of the job */
    int64_t max_epochs, max_steps;
    const char *directory; /* output.dir of the trial, relative to the current directory */
} dt_sweep_trial;
/* The next trial to be trained; number 0: there is none at the moment. The trial is considered
 * running until dt_sweep_ended. With halving, the next rung begins when all trials of this rung are
 * completed or have failed. */
DT_API dt_status *dt_sweep_next(dt_sweep *s, dt_sweep_trial *trial) DT_CHECKED;
/* Reports that the training of a trial has ended, with the exit code of `dtrain fit`, or 128 plus
 * the number of a signal; error may be NULL. If the exit code is 0, the result is read from the
 * trial's directory. The result is written to trials.jsonl if the exit code is 0, 78 or 79; after
 * any other, the trial is trained again when the sweep is opened again. *text is a line about it,
 * which the caller frees; text may be NULL. */
DT_API dt_status *dt_sweep_ended(dt_sweep *s, int number, int exit_code, const char *error,
                                 char **text) DT_CHECKED;

typedef struct dt_sweep_counts {
    /* numbers of trials. interrupted: the trial is running, was stopped or killed, was out of
     * memory, or could not read or write its files; unless it is running, it resumes when the sweep
     * is opened again. waiting: in the current rung */
    int trials, completed, failed, interrupted, waiting;
    int failed_code; /* the exit code of the failed trial with the lowest number; 0: none */
    /* Exit code 73, 74 or 77 if files could not be read or written, so that no further trial is
     * started; 0: none. */
    int halted_code;
    int best; /* number of the best trial; 0: none */
} dt_sweep_counts;
DT_API dt_sweep_counts dt_sweep_count(const dt_sweep *s);

/* The leaderboard, the best trial first: a table, or one JSON object. The caller frees *text. */
DT_API dt_status *dt_sweep_text(const dt_sweep *s, bool json, char **text) DT_CHECKED;
/* Writes best.yaml, the job of the best trial, and sweep.html, a report about the best trials, into
 * the folder. *job and *report are their paths, which the caller frees. Both are NULL if no trial
 * has a score yet, or with dry_run; *report is also NULL if the directories of the trials are
 * missing. */
DT_API dt_status *dt_sweep_write(const dt_sweep *s, char **job, char **report) DT_CHECKED;

DT_END_C

#endif
