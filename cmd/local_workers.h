/* SPDX-License-Identifier: Apache-2.0 */
/* --workers N of fit, evaluate and predict: starts the workers of a job on this machine and watches
 * over them. Also --rank R. */
#ifndef CMD_LOCAL_WORKERS_H
#define CMD_LOCAL_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "out.h"
#include "verb.h"

enum { MOST_WORKERS = 64 };

/*
 * Starts n copies of this process, connected with each other. Returns true in each copy; there
 * *again says whether this is a restart, which continues from a checkpoint. In the calling process
 * it returns false after all copies have ended, and *code is the exit code. If a worker was lost
 * and no stop was asked for, all are started again, at most `restarts` times. To be called before
 * any thread is started.
 */
bool workers_start(struct out *out, int n, int64_t restarts, bool *again, int *code);

/* Returns a usage error if several processes cannot read the job; else NULL. */
dt_status *workers_check(const struct call *call, int64_t n);
/* Starts n workers for a verb that needs no restarts. Returns true in the processes that continue
 * with the verb: this one if n < 2, else the workers. If it returns false, *code is the exit
 * code. */
bool workers_begin(const struct call *call, int64_t n, int *code);
/* Sets the rank that --rank gives, for a job that lists the addresses of its workers; -1: not
 * given. A rank in DTRAIN_RANK is not set here, because the library reads it and its messages name
 * the variable. */
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
