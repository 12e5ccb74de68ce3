/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the waiters of a pool spin before they sleep: their patience, in ns, learned from how
 * their waits ended.
 *
 * Waking a sleeper takes 20 to 50 us, so a short sleep is a loss: each one increases the patience
 * by a twentieth of its maximum. A long wait is a sign that another process has a core: then
 * spinning uses up the share that a lane needs for its work. Each long wait halves the patience. So
 * it falls to 0 beside a process that often takes the core, and recovers after a few short sleeps
 * from one that took it once.
 */
#ifndef DT_BASE_PATIENCE_H
#define DT_BASE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

enum { DT_MOST_PATIENCE = 50000 }; /* in ns; a new pool has patience 0 */

/* One wait, after it has ended. */
typedef struct dt_wait {
    int64_t ns; /* duration of the wait in ns */
    bool slept; /* the waiter slept because its patience was over */
    /* the wait does not show that another process had the core: there was no work, or threads of
     * this process used the core */
    bool excused;
} dt_wait;

/* The patience after a wait: `patience` is the value before it; both are 0 .. DT_MOST_PATIENCE
 * ns. */
int64_t dt_patience_after(int64_t patience, dt_wait w);

#endif
