/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: a pool of our own threads that run one function together, and the joins between its parts.
 *
 * Joins spin, then sleep in a futex: for a few microseconds beside a busy neighbour, for up to 50
 * where the cores are free (base/patience.h). Never a pure spin: beside a neighbour that makes a
 * step 30 times longer (design notes, docs/architecture.md). Lanes block all signals.
 */
#ifndef DT_BASE_THREAD_H
#define DT_BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"

/* As pthread_create. The thread blocks all signals, so that they reach the program's own threads
 * only. Returns 0, or a number of errno.h. */
int dt_thread_start(pthread_t *out, void *(*body)(void *), void *user);

typedef struct dt_pool dt_pool;

/* n lanes, the caller's thread being lane 0; n >= 1. MEMORY if the system refuses a thread. */
dt_status *dt_pool_create(dt_pool **out, int n) DT_MUST_USE;
void dt_pool_destroy(dt_pool *p);
int dt_pool_lanes(const dt_pool *p);
/* Counts the threads of this process that work beside the pool, in *threads, for runs from now on.
 * Long waits while there are any are not taken for other processes' work. NULL: such threads are
 * not counted. *threads is lent until the next call, which must be between runs. */
void dt_pool_beside(dt_pool *p, const _Atomic uint32_t *threads);
/* body(lane, user) on every lane; returns when all are done. */
void dt_pool_run(dt_pool *p, void (*body)(int lane, void *user), void *user);
/* A barrier: every lane of a running body calls it, and none returns before all have called. */
void dt_pool_join(dt_pool *p);

/* Sleep until *word != expected (may also wake for nothing); wake all sleepers of *word. */
void dt_futex_wait(_Atomic uint32_t *word, uint32_t expected);
void dt_futex_wake(_Atomic uint32_t *word);

/* Cores this process may use (the affinity mask), at least 1. */
int dt_cores(void);

#endif
