/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool is built from gates. A gate is a counter that one thread increases and others wait for.
 * `start` opens when there is work, `done` when the last lane other than 0 has finished it, `join`
 * when the last lane has arrived at a join.
 *
 * A waiter spins first, then counts itself in `sleepers` and sleeps in the kernel. A thread that
 * opens the gate enters the kernel only if there are sleepers. Both sides write one word and then
 * read the other's, in sequentially consistent order, so at least one of them sees the other: no
 * wake-up is lost.
 *
 * How long waiters spin is learned (base/thread.h). Long waits are not taken as a sign of another
 * process while other threads of this process work, such as those that prepare batches.
 * docs/performance.md ("Two threads beside one") has measurements.
 */
#define _GNU_SOURCE /* makes the headers declare the affinity mask */
#include "base/thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

/* in ns: the step by which patience grows; sleeps shorter than SHORT and waits longer than LONG
 * change it */
enum { MORE = DT_MOST_PATIENCE / 20, SHORT = 100000, LONG = 200000 };

int64_t dt_patience_after(int64_t patience, dt_wait w) {
    if (w.ns > LONG) return w.excused ? patience : patience / 2;
    if (w.slept && w.ns < SHORT)
        return patience + MORE < DT_MOST_PATIENCE ? patience + MORE : DT_MOST_PATIENCE;
    return patience;
}

/* LINE: bytes of a cache line; SPINS: the fewest iterations of a waiter's spin loop; SPINS_A_LOOK:
 * iterations between two looks at the clock */
enum { LINE = 64, SPINS = 200, SPINS_A_LOOK = 16 };

typedef struct gate {
    alignas(LINE) _Atomic uint32_t count; /* number of times that the gate was opened */
    _Atomic uint32_t sleepers;
} gate;

typedef struct lane {
    dt_pool *pool;
    pthread_t thread;
    int number;
} lane;

struct dt_pool {
    gate start, done, join;
    /* the time in ns that waiters spin after SPINS before they sleep */
    alignas(LINE) _Atomic int64_t patience;
    /* number of lanes other than 0 that have not finished */
    alignas(LINE) _Atomic uint32_t working;
    alignas(LINE) _Atomic uint32_t arrived; /* number of lanes that have arrived at the join */
    /* The function to run and its argument: lane 0 writes them before `start` opens, other lanes
     * read them after that. */
    alignas(LINE) void (*body)(int lane, void *user);
    void *user;
    /* The number of threads that work beside the pool; NULL: they are not counted. */
    const _Atomic uint32_t *beside;
    bool stop;
    int n;
    lane *lanes; /* [n] the lanes; lane 0 is the caller's thread, so it has no thread here */
};

void dt_futex_wait(_Atomic uint32_t *word, uint32_t expected) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void dt_futex_wake(_Atomic uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void gate_open(gate *g) {
    atomic_fetch_add(&g->count, 1);
    if (atomic_load(&g->sleepers)) dt_futex_wake(&g->count);
}

static bool spin(gate *g, uint32_t seen, int times) {
    for (int i = 0; i < times; i++) {
        if (atomic_load_explicit(&g->count, memory_order_acquire) != seen) return true;
        pause_briefly();
    }
    return false;
}

static void sleep_at(gate *g, uint32_t seen) {
    atomic_fetch_add(&g->sleepers, 1);
    while (atomic_load(&g->count) == seen) dt_futex_wait(&g->count, seen);
    atomic_fetch_sub(&g->sleepers, 1);
}

/* Whether a long wait may have another cause than a process that uses the core: at `start` there
 * may be no work, and elsewhere threads of this process may use the core. `beside` changes between
 * runs only, so waiters at `start` must not read it. */
static bool is_excused(const dt_pool *p, const gate *g) {
    return g == &p->start ||
           (p->beside && atomic_load_explicit(p->beside, memory_order_relaxed) > 0);
}

/* Returns when the gate's count differs from `seen`. */
static void gate_wait(dt_pool *p, gate *g, uint32_t seen) {
    if (spin(g, seen, SPINS)) return;
    dt_wait w = {.excused = is_excused(p, g)};
    int64_t since = dt_now_ns(),
            patience = atomic_load_explicit(&p->patience, memory_order_relaxed);
    while (!w.slept && !spin(g, seen, SPINS_A_LOOK)) w.slept = dt_now_ns() - since >= patience;
    if (w.slept) sleep_at(g, seen);
    w.ns = dt_now_ns() - since;
    w.excused = w.excused || is_excused(p, g);
    int64_t after = dt_patience_after(patience, w);
    if (after != patience) atomic_store_explicit(&p->patience, after, memory_order_relaxed);
}

static void *lane_main(void *argument) {
    const lane *l = argument;
    dt_pool *p = l->pool;
    for (uint32_t runs = 0;; runs++) {
        gate_wait(p, &p->start, runs);
        if (p->stop) return NULL;
        p->body(l->number, p->user);
        if (atomic_fetch_sub(&p->working, 1) == 1) gate_open(&p->done);
    }
}

/* Signals are blocked before the thread starts, since a thread inherits the signal mask. */
int dt_thread_start(pthread_t *out, void *(*body)(void *), void *user) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(out, NULL, body, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

dt_status *dt_pool_create(dt_pool **out, int n) {
    *out = NULL;
    dt_pool *p = dt_try_alloc(sizeof *p);
    if (!p) return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for %d threads", n);
    memset(p, 0, sizeof *p);
    p->lanes = dt_alloc(dt_size_mul((size_t)n, sizeof *p->lanes));
    for (p->n = 1; p->n < n; p->n++) {
        p->lanes[p->n] = (lane){.pool = p, .number = p->n};
        int error = dt_thread_start(&p->lanes[p->n].thread, lane_main, &p->lanes[p->n]);
        if (error) {
            dt_status *s =
                dt_fail(DT_E_NO_MEMORY, NULL,
                        "cannot start thread %d of %d: the system allows no more", p->n + 1, n);
            dt_pool_destroy(p);
            return s;
        }
    }
    *out = p;
    return NULL;
}

void dt_pool_destroy(dt_pool *p) {
    if (!p) return;
    p->stop = true;
    gate_open(&p->start);
    for (int i = 1; i < p->n; i++) pthread_join(p->lanes[i].thread, NULL);
    free(p->lanes);
    free(p);
}

int dt_pool_lanes(const dt_pool *p) { return p->n; }

void dt_pool_beside(dt_pool *p, const _Atomic uint32_t *threads) { p->beside = threads; }

void dt_pool_run(dt_pool *p, void (*body)(int lane, void *user), void *user) {
    if (p->n == 1) {
        body(0, user);
        return;
    }
    uint32_t done = atomic_load_explicit(&p->done.count, memory_order_relaxed);
    p->body = body;
    p->user = user;
    atomic_store_explicit(&p->working, (uint32_t)p->n - 1, memory_order_relaxed);
    gate_open(&p->start);
    body(0, user);
    gate_wait(p, &p->done, done);
}

void dt_pool_join(dt_pool *p) {
    if (p->n == 1) return;
    /* The count is read before this lane arrives, because afterwards the last lane may open the
     * gate at any moment. */
    uint32_t seen = atomic_load_explicit(&p->join.count, memory_order_relaxed);
    if (atomic_fetch_add(&p->arrived, 1) + 1 < (uint32_t)p->n) {
        gate_wait(p, &p->join, seen);
        return;
    }
    atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
    gate_open(&p->join);
}

/* On machines with more than 1,024 cores the affinity mask is longer than cpu_set_t, and the kernel
 * requires memory of its length. */
int dt_cores(void) {
    for (int room = CPU_SETSIZE; room <= 1 << 20; room *= 2) {
        size_t size = CPU_ALLOC_SIZE((size_t)room);
        DT_LOCAL cpu_set_t *set = dt_alloc(size);
        int failed = sched_getaffinity(0, size, set);
        int n = failed ? 0 : CPU_COUNT_S(size, set);
        if (!failed || errno != EINVAL) return n > 1 ? n : 1;
    }
    return 1;
}
