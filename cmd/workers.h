/* SPDX-License-Identifier: Apache-2.0 */
/* fit --workers N: starts the workers of a job on this machine and watches over them. */
#ifndef CMD_WORKERS_H
#define CMD_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "out.h"

enum { MOST_WORKERS = 64 };

/*
 * Starts n copies of this process, connected with each other, and returns in each of them with true; *again: they were started before and continue from
 * a checkpoint. In the process that was called it returns false when all have ended: *code is how. Where a worker was lost they are started again, at most
 * `restarts` times. Comes before any thread.
 */
bool workers_start(struct out *out, int n, int64_t restarts, bool *again, int *code);

#endif
