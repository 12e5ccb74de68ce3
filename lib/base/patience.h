/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the waiters of a pool spin before they sleep: their patience, in ns, learned from how
 * their waits ended.
 *
 * Waking a sleeper takes 20 to 50 us, so a short sleep is a loss: each makes waiters more patient,
 * and 20 of them give all patience back. A long wait is a sign that another process has a core:
 * then spinning uses up the share that a lane needs for its work. One sign halves patience, so a
 * neighbour who comes often leaves none, and one who came once costs a few short sleeps.
 */
#ifndef DT_BASE_PATIENCE_H
#define DT_BASE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

enum { DT_MOST_PATIENCE = 50000 }; /* ns; a pool begins with 0 */

/* One wait, after it has ended. */
typedef struct dt_wait {
    int64_t ns; /* duration */
    bool slept; /* the waiter slept because its patience was over */
    /* not evidence of busy neighbours: there was no work, or threads of this process used the
     * core */
    bool excused;
} dt_wait;

/* The patience after a wait: `patience` is the value before it; both are 0 .. DT_MOST_PATIENCE
 * ns. */
int64_t dt_patience_after(int64_t patience, dt_wait w);

#endif
