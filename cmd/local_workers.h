/* SPDX-License-Identifier: Apache-2.0 */
/* --workers N of fit, evaluate and predict: starts the workers of a job on this machine and watches
 * over them. */
#ifndef CMD_LOCAL_WORKERS_H
#define CMD_LOCAL_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "out.h"
#include "verb.h"

enum { MOST_WORKERS = 64 };

/*
 * Starts n copies of this process, connected with each other, and returns in each of them with
 * true; *again: they were started before and continue from a checkpoint. In the process that was
 * called it returns false when all have ended: *code is how. Where a worker was lost they are
 * started again, at most `restarts` times. Comes before any thread.
 */
bool workers_start(struct out *out, int n, int64_t restarts, bool *again, int *code);

/* The usage error of a job that several processes cannot read; NULL: it is fine. */
dt_status *workers_check(const struct call *call, int64_t n);
/* Starts n workers for verbs that need not be restarted. Returns true where the verb continues, in
 * this process or in one of the workers; elsewhere *code is the exit code. */
bool workers_begin(const struct call *call, int64_t n, int *code);
/* Sets --rank for a job that lists the addresses of its workers; -1: not given. A rank that
 * DTRAIN_RANK gives is not set: the library reads it, so that messages name the variable. */
void workers_take_rank(dt_job_source *source, int64_t rank);

#define WORKERS_OPTION(type, what)                                                                 \
    INTEGER(                                                                                       \
        type, workers, "workers", "N",                                                             \
        what                                                                                       \
        " on N processes of this machine; a job without strategy is then multi_worker_mirrored",   \
        .min = 1, .max = MOST_WORKERS, .fallback = 1)

#define RANK_OPTION(type)                                                                          \
    INTEGER(type, rank, "rank", "R",                                                               \
            "number of this worker, from 0 on, where the job has a cluster_resolver", .env = true, \
            .max = 65535, .fallback = -1)

#endif
