/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts worker processes of this machine at any time, in one of two ways.
 *
 * A program that says how it can be started again is: each worker is that program with its own
 * arguments, and learns from DTRAIN_POOL_WORKER which one it is. The caller may have threads.
 *
 * Other programs are forked. A process with threads cannot be forked safely, so it is forked once,
 * before it has any: the launcher, which has all that was opened by then and waits. When a worker
 * is wanted the launcher forks itself, and the worker runs a function of the caller's.
 *
 * Workers end with their caller in both cases.
 */
#ifndef DT_NET_WORKER_LAUNCHER_H
#define DT_NET_WORKER_LAUNCHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

enum { DT_LAUNCHER_WORKERS = 64, DT_LAUNCHER_LINKS = 16, DT_EXIT_ALONE = 69 };

typedef struct dt_worker_launcher dt_worker_launcher;
/* The main function of a forked worker. The worker has one end of each link, the caller the other.
 * Returns the exit code. */
typedef int (*dt_worker_main)(int worker, const int *link, void *user);

typedef struct dt_worker_launcher_spec {
    /* argv of this program, ends with NULL; lent. NULL: workers are forked */
    const char *const *program;
    int input; /* a descriptor whose file is the standard input of each program; -1: it is empty */
    int workers; /* passed to the programs */
    /* forked workers */
    dt_worker_main body;
    void *user;
    /* what the launcher writes on standard error when the caller is gone and cannot report it;
     * lent */
    const char *last_words;
} dt_worker_launcher_spec;

/* To fork workers the caller must have a single thread. Workers ignore the signals that a run
 * handles, because the caller decides when they end. */
dt_status *dt_worker_launcher_open(dt_worker_launcher **out,
                                   const dt_worker_launcher_spec *spec) DT_MUST_USE;
/* Starts a worker with n links to it: link[i] are the caller's ends, to be closed by the caller;
 * non-blocking streams. */
dt_status *dt_worker_launcher_start(dt_worker_launcher *n, int worker, int links, int *link,
                                    pid_t *pid) DT_MUST_USE;
/* Waits up to 2 s for the end of all workers, kills those that are left, and ends the launcher.
 * Takes NULL. */
void dt_worker_launcher_close(dt_worker_launcher *n);

/* ---- worker_program.c: the worker's side of a program that was started again ---- */

#define DT_POOL_VARIABLE "DTRAIN_POOL_WORKER"
/* Its number, the number of workers, the caller's process, and the worker's ends of the links. */
typedef struct dt_inherited {
    int worker, workers; /* workers 0: this process was not started by a launcher */
    pid_t caller;
    int links, link[DT_LAUNCHER_LINKS];
} dt_inherited;
/* Writes DTRAIN_POOL_WORKER=... for a worker; false: it has no room. */
bool dt_inherited_write(const dt_inherited *x, char *text, size_t room);
/* Such a process ends with its caller from now on. LAUNCH: the variable is set, but its descriptors
 * are not those of a worker. WORKER_GONE: the caller has ended. */
dt_status *dt_inherited_read(dt_inherited *out) DT_MUST_USE;
/* This process serves now: it gets its name, ignores the signals of runs, and ends at the latest
 * 2 s after its caller. */
void dt_inherited_serve(const dt_inherited *x);

#endif
