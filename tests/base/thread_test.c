/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: that every lane runs, joins hold, and nothing is lost under uneven work. Run it with
 * SAN=tsan too. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "base/thread.h"

enum { MOST_LANES = 9 };

static dt_pool *pool_of(int n) {
    dt_pool *p = NULL;
    dt_status *s = dt_pool_create(&p, n);
    assert_null(s);
    assert_int_equal(dt_pool_lanes(p), n);
    return p;
}

typedef struct counts {
    dt_pool *pool;
    int lane[MOST_LANES]; /* each written by its own lane */
    int total;
    int rounds, failures[MOST_LANES];
    uint64_t seed;
} counts;

static void count(int lane, void *user) {
    counts *c = user;
    c->lane[lane]++;
}

static void test_every_lane_runs_once_each_time(void **state) {
    (void)state;
    for (int n = 1; n <= MOST_LANES; n++) {
        counts c = {.pool = pool_of(n)};
        for (int i = 1; i <= 500; i++) {
            dt_pool_run(c.pool, count, &c);
            for (int lane = 0; lane < n; lane++)
                assert_int_equal(c.lane[lane], i); /* plain memory: all lanes have finished */
        }
        dt_pool_destroy(c.pool);
    }
    dt_pool_destroy(NULL);
}

/* Sometimes long enough for the others to fall asleep. */
static void dawdle(dt_random *r) {
    uint64_t kind = dt_random_below(r, 20);
    if (kind == 0) nanosleep(&(struct timespec){.tv_nsec = (long)dt_random_below(r, 200000)}, NULL);
    else if (kind < 5) sched_yield();
}

/* In each round a lane writes its slot, joins, and reads all others': none may be a round behind or
 * ahead. */
static void rounds_with_joins(int lane, void *user) {
    counts *c = user;
    dt_random r = dt_random_stream(c->seed, "dawdle", (uint64_t)lane);
    for (int round = 1; round <= c->rounds; round++) {
        dawdle(&r);
        c->lane[lane] = round;
        dt_pool_join(c->pool);
        for (int other = 0; other < dt_pool_lanes(c->pool); other++)
            c->failures[lane] += c->lane[other] != round;
        dawdle(&r);
        dt_pool_join(c->pool);
    }
}

static void test_joins_hold_under_uneven_work(void **state) {
    (void)state;
    for (int n = 1; n <= MOST_LANES; n += 2) {
        counts c = {.pool = pool_of(n), .rounds = 200, .seed = 1000 + (uint64_t)n};
        print_message("seed %d\n", (int)c.seed);
        for (int i = 0; i < 3; i++) dt_pool_run(c.pool, rounds_with_joins, &c);
        for (int lane = 0; lane < n; lane++) assert_int_equal(c.failures[lane], 0);
        dt_pool_destroy(c.pool);
    }
}

/* Between runs the lanes fall asleep; a lost wake-up would hang here. */
static void test_lanes_wake_from_sleep(void **state) {
    (void)state;
    counts c = {.pool = pool_of(4)};
    for (int i = 1; i <= 50; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000 * (i % 5)}, NULL);
        dt_pool_run(c.pool, count, &c);
    }
    assert_int_equal(c.lane[3], 50);
    dt_pool_destroy(c.pool);
}

static void *come_and_go(void *busy) {
    for (int i = 0; i < 200; i++) {
        atomic_store((_Atomic uint32_t *)busy, (uint32_t)i % 2);
        nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
    }
    return NULL;
}

/* The word may change between runs, and its value at any moment. */
static void test_other_threads_beside_the_pool(void **state) {
    (void)state;
    _Atomic uint32_t busy[2] = {0};
    pthread_t thread[2];
    counts c = {.pool = pool_of(3), .rounds = 4, .seed = 2000};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, &busy[i]), 0);
    for (int i = 0; i < 60; i++) {
        dt_pool_beside(c.pool, i % 3 < 2 ? &busy[i % 3] : NULL);
        dt_pool_run(c.pool, rounds_with_joins, &c);
    }
    for (int lane = 0; lane < 3; lane++) assert_int_equal(c.failures[lane], 0);
    dt_pool_destroy(c.pool);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
}

static void test_unused_pools_end(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) dt_pool_destroy(pool_of(1 + i % 4));
}

static void look_at_mask(int lane, void *user) {
    counts *c = user;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    c->lane[lane] =
        sigismember(&mask, SIGTERM) && sigismember(&mask, SIGINT) && sigismember(&mask, SIGUSR1);
}

static void test_lanes_block_signals_and_the_caller_does_not(void **state) {
    (void)state;
    counts c = {.pool = pool_of(3)};
    dt_pool_run(c.pool, look_at_mask, &c);
    assert_int_equal(c.lane[0], 0);
    assert_int_equal(c.lane[1], 1);
    assert_int_equal(c.lane[2], 1);
    dt_pool_destroy(c.pool);
}

static void *set_and_wake(void *word) {
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    atomic_store((_Atomic uint32_t *)word, 1);
    dt_futex_wake(word);
    return NULL;
}

static void test_futex_sleeps_until_the_word_changes(void **state) {
    (void)state;
    _Atomic uint32_t word = 0;
    pthread_t thread;
    dt_futex_wait(&word, 7); /* is not 7: returns at once */
    assert_int_equal(pthread_create(&thread, NULL, set_and_wake, &word), 0);
    while (atomic_load(&word) == 0) dt_futex_wait(&word, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static int child_status(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_cores_are_those_of_the_affinity_mask(void **state) {
    (void)state;
    assert_true(dt_cores() >= 1);
    pid_t child = fork();
    if (child == 0) {
        cpu_set_t mask, one;
        sched_getaffinity(0, sizeof mask, &mask);
        int cpu = 0;
        while (!CPU_ISSET(cpu, &mask)) cpu++;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        _exit(dt_cores());
    }
    assert_int_equal(child_status(child), 1);
}

#if defined(__has_feature) /* clang's way to say it; gcc defines macros */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

/* With no address space left for stacks. Sanitizers need more of it than a limit could leave. */
static void test_refused_threads_are_an_error(void **state) {
    (void)state;
#ifdef SANITIZED
    print_message("not under sanitizers: skipped\n");
    skip();
#endif
    pid_t child = fork();
    if (child == 0) {
        dt_pool *p;
        setrlimit(RLIMIT_AS, &(struct rlimit){200 << 20, 200 << 20});
        dt_status *s = dt_pool_create(&p, 1000);
        int code = dt_status_code(s);
        dt_status_free(s);
        _exit(p ? 1 : code);
    }
    assert_int_equal(child_status(child), 71);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_lane_runs_once_each_time),
        cmocka_unit_test(test_joins_hold_under_uneven_work),
        cmocka_unit_test(test_lanes_wake_from_sleep),
        cmocka_unit_test(test_other_threads_beside_the_pool),
        cmocka_unit_test(test_unused_pools_end),
        cmocka_unit_test(test_lanes_block_signals_and_the_caller_does_not),
        cmocka_unit_test(test_futex_sleeps_until_the_word_changes),
        cmocka_unit_test(test_cores_are_those_of_the_affinity_mask),
        cmocka_unit_test(test_refused_threads_are_an_error),
    };
    return cmocka_run_group_tests_name("base/thread", tests, NULL, NULL);
}
