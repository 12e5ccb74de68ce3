/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads, called lanes, that run one function together, and the joins between parts of
 * the function. One lane is the caller's thread.
 *
 * A lane that waits at a join first spins, for a few microseconds up to about 50, which depends on
 * how earlier waits ended (dt_patience_after). Then it sleeps in a futex. Spinning alone would make
 * a step 30 times longer beside another busy process (design notes, docs/architecture.md). Lanes
 * other than 0 block all signals.
 */
#ifndef DT_BASE_THREAD_H
#define DT_BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"
#include <stdbool.h>

/* Like pthread_create, but the thread blocks all signals, so that signals reach only the calling
 * program's threads. Returns 0, or a number of errno.h. */
int dt_thread_start(pthread_t *out, void *(*body)(void *), void *user);

typedef struct dt_pool dt_pool;

/* Creates a pool of n >= 1 lanes, of which lane 0 is the caller's thread. Fails with NO_MEMORY if
 * the system refuses a thread. */
dt_status *dt_pool_create(dt_pool **out, int n) DT_MUST_USE;
void dt_pool_destroy(dt_pool *p);
int dt_pool_lanes(const dt_pool *p);
/* Sets a counter of the threads of this process that work beside the pool. While *threads is above
 * 0, a long wait is not taken as a sign that another process uses the cores. NULL: no threads are
 * counted. *threads is lent until the next call of this function. Call it only between runs. */
void dt_pool_beside(dt_pool *p, const _Atomic uint32_t *threads);
/* Calls body(lane, user) on every lane. Returns when all lanes have finished. */
void dt_pool_run(dt_pool *p, void (*body)(int lane, void *user), void *user);
/* Waits at a barrier: every lane of a running body calls it, and none returns before all have
 * called. */
void dt_pool_join(dt_pool *p);

/* dt_futex_wait sleeps while *word == expected; it may also return early. dt_futex_wake wakes all
 * threads that sleep on *word. */
void dt_futex_wait(_Atomic uint32_t *word, uint32_t expected);
void dt_futex_wake(_Atomic uint32_t *word);

/* Returns the number of cores that this process may use by its affinity mask; 1 if it is
 * unknown. */
int dt_cores(void);

/*
 * How long the waiters of a pool spin before they sleep: their patience, in ns, learned from how
 * their waits ended.
 *
 * Waking a sleeper takes 20 to 50 us, so a wait of less than 100 us that ended in sleep is a loss:
 * each one increases the patience by a twentieth of its maximum. A wait of more than 200 us that is
 * not excused (dt_wait) is a sign that another process has a core: then spinning uses up the share
 * that a lane needs for its work. Each such wait halves the patience. So it falls to 0 beside a
 * process that often takes the core, and recovers after a few short sleeps from one that took it
 * once.
 */
enum { DT_MOST_PATIENCE = 50000 }; /* the most nanoseconds of patience; a new pool has patience 0 */

/* How one wait of a lane has ended. */
typedef struct dt_wait {
    int64_t ns; /* the duration of the wait in ns */
    bool slept; /* whether the waiter slept because its patience was over */
    /* Whether the wait does not show that another process had the core: there was no work, or
     * threads of this process used the core. */
    bool excused;
} dt_wait;

/* Returns the patience after a wait. patience: its value before; both are from 0 to
 * DT_MOST_PATIENCE ns. */
int64_t dt_patience_after(int64_t patience, dt_wait w);

#endif
