/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a job: how much memory and time each program of its run needs on its slice. No
 * tensors are allocated. Jobs without a slice are measured (plan_host.c).
 *
 *     plan.c        a job's programs, priced; a plan as JSON and as a trace
 *     plan_text.c   tables for people       plan_svg.c    a picture
 *     plan_warn.c   warnings
 *     plan_run.c    days and dollars of a whole run
 *     plan_error.c  the error to expect
 *     plan_fit.c    prices, and what would fit where a job does not
 *     plan_elsewhere.c  on which other slices
 *     search.c      the same job in other shapes   search_run.c  on other slices, with fixed work
 */
#ifndef DT_JOB_PLAN_H
#define DT_JOB_PLAN_H

#include "base/json.h"
#include "cost/plan.h"
#include "job/session.h"

/* Settings of a plan that the job does not have. Zeros are the defaults. */
typedef struct dt_plan_options {
    int64_t budget; /* bytes of a device's memory that may be used; 0: all */
    /* the batch in rows for which only the training step is planned; 0: all programs of the run are
     * planned, for the job's batch */
    int64_t rows;
    bool host;   /* also compute the memory that this machine would need */
    int threads; /* number of threads on this machine, as in dt_run_options */
    dt_kernels kernels;
    const char *const *prices; /* [n_prices] the prices of dt_plan_request, already checked; lent */
    int n_prices;
    dt_plan_run run;
    const dt_job_source *source; /* source of the job, lent; NULL: the job cannot be opened again */
} dt_plan_options;

/* An estimate of a whole run (plan_run.c), in seconds of the wall clock, for all slices
 * together. */
typedef struct dt_run_estimate {
    double examples, tokens, steps; /* how many the run has; tokens 0: examples have no tokens */
    double training_s, evaluation_s;
    /* seconds between two checkpoints, seconds to write one, and seconds for all of them */
    double interval_s, checkpoint_s, checkpoints_s;
    double failures, lost_s; /* number of failures; seconds lost by repeated work and restarts */
    /* seconds of the whole run; INFINITY: failures come faster than the run proceeds */
    double seconds;
    double usd; /* price in US dollars; 0: unknown */
} dt_run_estimate;

typedef struct dt_job_plan {
    dt_job *job; /* lent, outlives the plan */
    dt_session session;
    int n; /* number of programs of the run; the first one is the training step */
    dt_outlined step[DT_MOST_OUTLINED];
    const dt_spmd *program[DT_MOST_OUTLINED];
    dt_plan *plan[DT_MOST_OUTLINED];
    int replicas, logical;
    /* number of trained parameters: of the whole model, and of a single device */
    double parameters, parameters_here;
    /* bytes that fit would allocate on this machine for a step, besides variables; 0: not
     * requested, too large to compute, or the job has mixed precision or several slices */
    int64_t host_bytes;
    dt_plan_options o;
    dt_run_estimate run; /* the estimate of a whole run, if o.run asks for one */
    /* the comparison with a compiler (plan_check.h), owned; NULL: not requested */
    struct dt_plan_check *check;
} dt_job_plan;

/* Plans a job. With options NULL all settings are 0. Fails with NO_SLICE if the strategy has no
 * slice. Free the plan with dt_job_plan_destroy. */
dt_status *dt_job_plan_create(dt_job_plan **out, dt_job *j, const dt_plan_options *o) DT_MUST_USE;
void dt_job_plan_destroy(dt_job_plan *p); /* p may be NULL */
bool dt_job_plan_fits(const dt_job_plan *p);
/* Returns the bytes that a device needs: those of the program that needs the most. */
double dt_job_plan_bytes(const dt_job_plan *p);
const dt_topology *dt_job_plan_topology(const dt_job_plan *p);
double dt_job_plan_examples_per_s(const dt_job_plan *p);
/* Returns the number of slices that are joined by a network, at least 1. dt_job_plan.replicas is
 * the number of replicas on one slice. */
int dt_job_plan_slices(const dt_job_plan *p);

/* ---- dollars (plan_fit.c), and printing ---- */

typedef struct dt_chip_price {
    double usd_hour;    /* US dollars per hour for a chip, or for a host of a cluster; 0: unknown */
    const char *source; /* where the price is from; lent */
} dt_chip_price;
/* Fails with UNKNOWN_SLICE_OPTION if a price is not "GENERATION=DOLLARS", with a generation of the
 * table and dollars above 0 and at most 1,000,000. */
dt_status *dt_prices_check(const char *const *prices, int n) DT_MUST_USE;
/* Returns the last price that the user gave for the slice's generation, or else the chip's own
 * price. */
dt_chip_price dt_job_plan_price(const dt_job_plan *p);
/* Returns the US dollars of 1,000 steps on all slices; 0: no price is known. */
double dt_job_plan_dollars(const dt_job_plan *p);
/* Returns the US dollars of `seconds` seconds on all slices; 0: no price is known. */
double dt_job_plan_usd(const dt_job_plan *p, double seconds);

/* Plans to be printed side by side, p[n] with the headings label[n]. The first one is the plan of
 * the unchanged job. */
typedef struct dt_plan_columns {
    const dt_job_plan *const *p;
    const char *const *label;
    int n;
    bool verbose;
} dt_plan_columns;
void dt_job_plans_print(const dt_plan_columns *c, dt_str *out);
void dt_job_plan_svg(const dt_job_plan *p, dt_str *out);
/* Reports warnings, each as one line. Without problems there are none. */
void dt_job_plan_warn(const dt_job_plan *p, void (*line)(void *user, const char *text), void *user);
/* Appends a time such as "13.4 ms". */
void dt_put_seconds(dt_str *s, double seconds);

/* ---- the error to expect (plan_error.c) ---- */

/* Returns the median relative error of estimates for published steps of the same kind, such as
 * 0.02; NAN: no such steps were published. */
double dt_job_plan_error(const dt_job_plan *p);
/* Print the errors for published steps of the same kind, as text and as JSON. */
void dt_job_plan_print_errors(const dt_job_plan *p, dt_str *out);
void dt_job_plan_errors_json(const dt_job_plan *p, dt_json *j);

/* ---- what would fit (plan_fit.c) ---- */

/* What would make a job fit that does not. Each entry suffices alone. */
typedef struct dt_would_fit {
    dt_arena *arena; /* memory for the texts, owned by the caller */
    int n;
    const char *words[10]; /* overrides, separated by blanks: "partition.over_replicas=weights" */
    double bytes[10];      /* bytes that a device needs with each of these overrides */
    double least; /* bytes that a device needs with all changes that save memory, if n is 0 */
} dt_would_fit;
/* Adds overrides for more logical devices per replica, larger slices, and other chips. Adds none if
 * p->o.source is NULL, or if the job describes a cluster. */
void dt_job_plan_elsewhere(const dt_job_plan *p, dt_would_fit *f);
/* Print what would fit, for people and as JSON. If the job fits, nothing is printed, in JSON an
 * empty list. */
void dt_job_plan_print_fitting(const dt_job_plan *p, dt_str *out);
void dt_job_plan_fitting_json(const dt_job_plan *p, dt_json *j);

/* ---- a whole run (plan_run.c) ---- */

/* Estimates the run that p->o.run asks for. Fails with USAGE if a number of tokens was given, but
 * the job's inputs are not tokens. */
dt_status *dt_job_plan_run(const dt_job_plan *p, dt_run_estimate *out) DT_MUST_USE;
/* Returns the bytes of all variables, including the optimizer's slots. A variable that is on
 * several devices counts once. */
double dt_job_plan_state_bytes(const dt_job_plan *p);
/* Appends a duration: "41.3 days", "7.2 h", "95 s". */
void dt_put_time(dt_str *out, double seconds);
/* Appends a price: "$ 1,234", below 10 dollars "$ 0.37", below half a cent "< $ 0.01". */
void dt_put_dollars(dt_str *out, double usd);
bool dt_run_meets_deadline(const dt_plan_run *r, const dt_run_estimate *e);
bool dt_run_meets_budget(const dt_plan_run *r, const dt_run_estimate *e);
/* Print the estimate for people and as JSON. Nothing is printed if no run was asked for. */
void dt_run_estimate_print(const dt_plan_run *r, const dt_run_estimate *e, dt_str *out);
void dt_run_estimate_json(const dt_plan_run *r, const dt_run_estimate *e, dt_json *j);

/* ---- jobs that run on this machine itself (plan_host.c) ---- */

/* Whether the request can be answered by measuring on this machine: no job has a slice or a
 * cluster, and the request needs none. */
bool dt_plan_is_of_host(const dt_plan_request *q);
/* Writes memory and time of each job on this machine, as text or as a list in JSON. Sets *fits (may
 * be NULL) for the first job. Runs some steps, but writes no files. */
dt_status *dt_plan_of_host(const dt_plan_request *q, const dt_plan_options *o, dt_str *out,
                           bool *fits) DT_MUST_USE;

/* ---- searches ---- */

/* Functions shared by the two searches: for the fastest shape of a run (search.c), and for a
 * slice to run a fixed amount of work on (search_run.c). */

/* Sets shape[x, y, z, core] to that of a block of `devices` devices of a mesh: first as many cores
 * of a chip as possible, then neighbours along x, y, z. Each side divides that of the mesh. Returns
 * false if this yields no such block. */
bool dt_search_block(const int mesh[4], int devices, int shape[4]);
/* Opens the job with additional overrides, word[words]. The list of overrides is allocated in
 * `arena`. */
dt_status *dt_search_open(const dt_job_source *from, char *const *word, int words, dt_arena *arena,
                          dt_job **job) DT_MUST_USE;
/* Does dt_plan_search for a request with a whole run, and prints the slices into `out`. */
dt_status *dt_search_run(const dt_search_request *q, dt_str *out, bool *fits) DT_MUST_USE;

#endif
