/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts worker processes on this machine at any time, in one of two ways.
 *
 * If the program can be started again (spec.program), each worker is this program with its own
 * arguments, and DTRAIN_POOL_WORKER tells it which worker it is. The caller may have threads.
 *
 * Otherwise workers are forked. A process with threads cannot be forked safely, so it is forked
 * once before it has any. This copy, the launcher, has everything that was opened until then, and
 * waits. To start a worker, the launcher forks itself, and the worker runs a function of the
 * caller.
 *
 * In both cases workers end with their caller.
 */
#ifndef DT_NET_WORKER_LAUNCHER_H
#define DT_NET_WORKER_LAUNCHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

enum { DT_LAUNCHER_WORKERS = 64, DT_LAUNCHER_LINKS = 16, DT_EXIT_ALONE = 69 };

typedef struct dt_worker_launcher dt_worker_launcher;
/* The main function of a forked worker. link: the worker's ends of its links; the caller has the
 * other ends. Returns the exit code. */
typedef int (*dt_worker_main)(int worker, const int *link, void *user);

typedef struct dt_worker_launcher_spec {
    /* The arguments of this program, which a worker gets, too; a NULL ends the list; lent. NULL:
     * workers are forked. */
    const char *const *program;
    int input;   /* descriptor of a file that each program gets as standard input; -1: /dev/null */
    int workers; /* the number of workers, which each program gets in DTRAIN_POOL_WORKER */
    /* the main function of forked workers, and its argument */
    dt_worker_main body;
    void *user;
    /* The text that the launcher prints on standard error if the caller is gone and so cannot
     * report its own end; lent. */
    const char *last_words;
} dt_worker_launcher_spec;

/* Opens a launcher. If workers are forked, the caller must have a single thread. Workers ignore
 * SIGINT, SIGTERM, SIGHUP and SIGUSR1, because the caller decides when they end. */
dt_status *dt_worker_launcher_open(dt_worker_launcher **out,
                                   const dt_worker_launcher_spec *spec) DT_MUST_USE;
/* Starts a worker with `links` links. Sets link[] to the caller's ends, non-blocking streams that
 * the caller closes, and *pid to its process. Fails with WORKER_GONE if it cannot be started. */
dt_status *dt_worker_launcher_start(dt_worker_launcher *n, int worker, int links, int *link,
                                    pid_t *pid) DT_MUST_USE;
/* Waits up to 2 s for all workers to end, kills those that have not, and ends the launcher. n may
 * be NULL. */
void dt_worker_launcher_close(dt_worker_launcher *n);

/* ---- in a worker that is a program ---- */

#define DT_POOL_VARIABLE "DTRAIN_POOL_WORKER"
/* The contents of DTRAIN_POOL_WORKER for such a worker: its number, the number of workers, the
 * caller's process id, and its ends of the links. */
typedef struct dt_inherited {
    int worker, workers; /* workers 0: this process was not started by a worker launcher */
    pid_t caller;
    int links, link[DT_LAUNCHER_LINKS];
} dt_inherited;
/* Reads DTRAIN_POOL_WORKER. Without the variable, out->workers is 0. With it, the worker is ended
 * from now on when its caller ends. Fails with LAUNCH if the variable does not describe a
 * worker. */
dt_status *dt_inherited_read(dt_inherited *out) DT_MUST_USE;
/* Call this when the worker starts to compute. It names the process, ignores SIGINT, SIGTERM,
 * SIGHUP and SIGUSR1, and ends the process at most 2 s after its caller has ended. */
void dt_inherited_serve(const dt_inherited *x);

#endif
