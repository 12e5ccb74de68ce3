/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts worker processes of this machine at any time. A process with threads cannot be forked
 * safely, so it is forked once, before it has any: the launcher, which has all that was opened by
 * then and waits. When a worker is wanted it forks itself, and the worker runs a function of the
 * caller's. Workers are ended by their caller's death, too: the launcher sees it, waits for them,
 * and kills those that remain.
 */
#ifndef DT_FABRIC_WORKER_LAUNCHER_H
#define DT_FABRIC_WORKER_LAUNCHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

enum { DT_LAUNCHER_WORKERS = 64, DT_LAUNCHER_LINKS = 16, DT_EXIT_ALONE = 69 };

typedef struct dt_worker_launcher dt_worker_launcher;
/* The main function of a worker. The worker has one end of each link, the caller the other. Returns
 * the exit code. */
typedef int (*dt_worker_main)(int worker, const int *link, void *user);

/* last_words: what the launcher writes on standard error when the caller is gone and cannot report
 * it; lent. The caller must have a single thread. Workers ignore the signals that a run handles,
 * because the caller decides when they end. */
dt_status *dt_worker_launcher_open(dt_worker_launcher **out, dt_worker_main body, void *user,
                                   const char *last_words) DT_MUST_USE;
/* Starts a worker with n links to it: link[i] are the caller's ends, to be closed by the caller;
 * non-blocking streams. */
dt_status *dt_worker_launcher_start(dt_worker_launcher *n, int worker, int links, int *link,
                                    pid_t *pid) DT_MUST_USE;
/* Ends all that are left, and the launcher. Takes NULL. */
void dt_worker_launcher_close(dt_worker_launcher *n);

#endif
