/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep: several runs (trials) of one job with different settings, each in its own folder.
 *
 *     sweep_space.c    lists and ranges of values, and the values of a trial
 *     sweep_open.c     options, the job, the folder and its settings (sweep.json)
 *     sweep_run.c      chooses the next trial, successive halving, results (trials.jsonl)
 *     sweep_board.c    the leaderboard, best.yaml and the report
 *
 * The values of trials follow from the overrides and the seed, and each result is a line of
 * trials.jsonl that is synced to disk. So a sweep that was killed continues with the same trials.
 */
#ifndef DT_JOB_SWEEP_H
#define DT_JOB_SWEEP_H

#include "dtrain.h"
#include "job/job.h"

/* ---- sweep_space.c ---- */

enum { DT_SWEEP_MOST_TRIALS = 10000, DT_SWEEP_MOST_PARAMETERS = 64, DT_SWEEP_MOST_RUNGS = 20 };

typedef enum dt_sweep_kind {
    DT_SWEPT_LIST,
    DT_SWEPT_REAL,
    DT_SWEPT_LOG,
    DT_SWEPT_INT,
    DT_SWEPT_LOG_INT
} dt_sweep_kind;

/* A key of the job for which a sweep tries several values. */
typedef struct dt_sweep_range {
    const char *key;  /* path of the key in the job, such as "let.width" */
    const char *text; /* the override as it was given, such as "let.width=8,16" */
    int operand;      /* index of the override in the list of all overrides */
    dt_sweep_kind kind;
    int n; /* number of values if they are a list */
    const char *const *value;
    double least, most; /* ends of the range if values are drawn from one, both included */
} dt_sweep_range;

typedef struct dt_sweep_space {
    int n;
    dt_sweep_range range[DT_SWEEP_MOST_PARAMETERS];
    bool is_grid; /* whether all keys have lists of values, so that their combinations are a grid */
    /* number of combinations of the lists; INT64_MAX also if there are more; 0 if a key has a
     * range */
    int64_t grid;
} dt_sweep_space;

/* Reads the overrides that have several values. Returns all faults, located at the override
 * (BAD_OVERRIDE). */
dt_status *dt_space_read(dt_arena *arena, const char *const *overrides, int n,
                         dt_sweep_space *out) DT_MUST_USE;
/* Returns the value of a parameter in trial i (counted from 0), lent by s or in the arena: from the
 * grid, or drawn at random. */
const char *dt_space_grid(dt_arena *arena, const dt_sweep_space *s, int64_t i, int parameter);
const char *dt_space_random(dt_arena *arena, const dt_sweep_space *s, uint64_t seed, int64_t i,
                            int parameter);

/* ---- sweep_open.c ---- */

typedef enum dt_sweep_state {
    DT_TRIAL_WAITING,
    DT_TRIAL_RUNNING,
    DT_TRIAL_COMPLETED,
    DT_TRIAL_FAILED,
    DT_TRIAL_INTERRUPTED
} dt_sweep_state;

typedef struct dt_sweep_entry {
    const char *const *value;     /* [space.n] value of each parameter in this trial */
    const char *const *overrides; /* [n_overrides] overrides that the trial's job is opened with */
    const char *settings;
    /* path of the folder of the trial's run, with the folder of option -C before it */
    const char *directory;
    dt_sweep_state state; /* the trial's state in the last rung in which it took part */
    int rung;             /* number of the last rung in which the trial took part, from 0 */
    bool scored[DT_SWEEP_MOST_RUNGS];
    /* for each rung that is `scored`: the metric at its end; NaN: it has no value */
    double score[DT_SWEEP_MOST_RUNGS];
    int exit_code;
    const char *error;  /* message about a failure or an interruption; NULL: there is none */
    const char *sha256; /* hash of the run's weights (weights_sha256); NULL: unknown */
} dt_sweep_entry;

struct dt_sweep { /* The type behind the handle of the public header. */
    int refs;
    dt_arena *arena;
    dt_job *job; /* the job with the settings of the first valid trial */
    dt_job_source source;
    int n_overrides; /* number of overrides that each trial has */
    dt_sweep_space space;
    bool random, less, dry_run, fresh;
    bool folds; /* the trials are the folds of a job, not combinations of settings */
    uint64_t seed;
    int64_t halving;
    const char *metric, *title;
    /* path of the folder of the sweep, with the folder of option -C before it */
    const char *directory;
    dt_writer lock;
    bool locked;
    /* whether the last line of trials.jsonl may be incomplete, because a process was killed or a
     * write failed */
    bool torn;
    /* number of rungs; number of the current rung, from 0; exit code with which the sweep was
     * halted, 0: it was not */
    int rungs, rung, halted_code;
    int n;
    dt_sweep_entry *trial;
};

/* ---- sweep_run.c ---- */

#define DT_SWEEP_RESULTS "trials.jsonl" /* name of the file of results in the sweep's folder */

/* Reads the results in trials.jsonl, if it exists. */
dt_status *dt_sweep_read_results(dt_sweep *s) DT_MUST_USE;
/* Returns the last rung, counted from 0, at whose end the trial has a result; -1: it has none, or
 * its state is DT_TRIAL_FAILED. */
int dt_trial_scored(const dt_sweep *s, const dt_sweep_entry *t);
/* Lists the trials in order[s->n]: those that came to a later rung first and, within a rung, the
 * best first; failed trials and those without a finite score come last. Returns how many precede
 * these. */
int dt_sweep_rank(const dt_sweep *s, const dt_sweep_entry **order);
/* Returns the number of epochs or steps after which a rung (from 0) ends, if the whole job has
 * `all` of them: `all` in the last rung, and in each rung before it that of the next one divided by
 * s->halving, rounded up. */
int64_t dt_sweep_budget(const dt_sweep *s, int rung, int64_t all);

#endif
