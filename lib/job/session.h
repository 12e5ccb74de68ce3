/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a job that compute, or that are planned. */
#ifndef DT_JOB_SESSION_H
#define DT_JOB_SESSION_H

#include "job/job.h"

/* The objects of a job. Zeroed at first; must be closed even if opening failed. */
typedef struct dt_session {
    dt_strategy *strategy;
    dt_model *model;
    dt_optimizer *optimizer;
    dt_trainer_options made_of;
    dt_trainer *trainer;
    dt_faults faults; /* faults that are caused on purpose during the run */
} dt_session;

/* Returns the kernels that the job computes with. asked: the choice of --kernels; AUTO: the user
 * made none. */
dt_kernels dt_job_kernels(const dt_job *j, dt_kernels asked);
/* Opens strategy and model, with memory and first weights, and reads s->faults. The model's steps
 * are annotated according to `partition`. Fails with NOT_YET if a launcher started several
 * processes, but they are not connected. */
dt_status *dt_session_open_model(dt_job *j, const dt_run_options *o, dt_session *s) DT_MUST_USE;
/* Opens the job's data, and all members of s; the optimizer only for training. For training of a
 * model with 2^26 parameters or more, checks before weights are allocated that the job fits into
 * the memory of its slice and, if this process computes whole steps on its cores, of this machine.
 * Fails with MISSING_KEY if the job lacks `compile` or, for training, `fit`. */
dt_status *dt_session_open(dt_job *j, const dt_run_options *o, bool training,
                           dt_session *s) DT_MUST_USE;
/*
 * Opens an outline: its trainer supports dt_trainer_outlined and dt_trainer_priced and prints
 * programs without compiling them; no tensor is allocated and no engine is opened. shards: number
 * of shards of the batch for `reproducible`; 0: none, as in a plan, because the order of sums is
 * fixed only on this machine.
 */
dt_status *dt_session_outline(dt_job *j, int shards, dt_session *s) DT_MUST_USE;
void dt_session_close(dt_session *s);

/* ---- run.c ---- */

/* Returns o; for NULL, options that are all zeros. */
const dt_run_options *dt_options_or_none(const dt_run_options *o);
/* Emits a warning as an event. */
void dt_job_warn(const dt_run_options *o, const char *text);

/* ---- session.c ---- */

/* Returns the error LAUNCH if a rank was given to a job that has no workers to number. */
dt_status *dt_job_check_rank(const dt_job *j) DT_MUST_USE;
/* Connects to the other workers and sets j->cluster; does nothing if this process is alone. Fails
 * with WORKERS_DISAGREE if the job or the version of dtrain differs between workers. Fails with
 * LAUNCH or NOT_YET if a launcher started several processes, but the job's strategy does not divide
 * work among them. o (may be NULL) gets an event about missing workers. */
dt_status *dt_job_open_workers(dt_job *j, const dt_run_options *o) DT_MUST_USE;
/* Disconnects the workers. s: the result of this one. After an error it does not wait for the
 * others, unless a signal stopped it, which has stopped all of them. */
void dt_job_close_workers(dt_job *j, const dt_status *s);
/* Fails with WORKERS_DISAGREE if workers have different weights, checkpoints or kernels. Does
 * nothing if this process is alone. */
dt_status *dt_job_compare_workers(const dt_job *j, const dt_session *s,
                                  const dt_saved *c) DT_MUST_USE;

/* ---- run.c, and inline ---- */

/* Opens the checkpoint of that path, or with NULL the newest one below output.dir. It is an error
 * if there is none. */
dt_status *dt_job_find_checkpoint(const dt_job *j, const char *path, const dt_run_options *o,
                                  dt_saved *c) DT_MUST_USE;
dt_status *dt_job_load_weights(const dt_job *j, const dt_saved *c, const dt_session *s) DT_MUST_USE;

/* Whether the job trains with a parameter server whose processes were started separately. */
static inline bool dt_job_meets_coordinator(const dt_job *j) {
    return j->strategy.servers.workers && j->strategy.launch.workers;
}

#endif
