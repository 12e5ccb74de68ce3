/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of calls of libraries, for own.c and convolutions.c. Neighbours on a machine disturb times,
 * and its clock changes. So times are counted in cycles, by a chain of dependent multiplications
 * before and after, and a sample counts only if no context switch fell into it and the clock stayed
 * the same. Contenders take turns; the best of all samples counts.
 */
#ifndef BENCH_CYCLES_H
#define BENCH_CYCLES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/status.h"

enum { SAMPLE_NS = 60000 };

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static long switches(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_nivcsw;
}

/* Cycles per nanosecond: a multiplication that waits for the one before takes 3. */
static double clock_ghz(void) {
    double least = 1e9;
#if defined(__x86_64__)
    for (int r = 0; r < 2; r++) {
        uint64_t x = 3;
        const double begin = now_ns();
        for (int i = 0; i < 100; i++)
            __asm__ volatile("imul %0, %0\nimul %0, %0\nimul %0, %0\nimul %0, %0\nimul %0, %0\n"
                             "imul %0, %0\nimul %0, %0\nimul %0, %0\nimul %0, %0\nimul %0, %0\n"
                             : "+r"(x));
        const double ns = now_ns() - begin;
        least = ns < least ? ns : least;
    }
    return 3000 / least;
#else
    return least > 0; /* not corrected */
#endif
}

/* What is timed, and a call of it. */
typedef struct timed {
    void (*call)(const void *contender, const void *arrays);
    const void *contender, *arrays;
} timed;

/* *cycles: the least of a call so far, or 0. Short calls are repeated: a lone one finds wide units
 * asleep. */
static void sample(const timed *t, double round_ns, double *cycles) {
    double begin = now_ns();
    t->call(t->contender, t->arrays);
    const double once = now_ns() - begin, end = now_ns() + round_ns;
    const int calls = once > SAMPLE_NS ? 1 : 1 + (int)(SAMPLE_NS / (once + 1));
    for (int n = 0; n < 2 || now_ns() < end; n++) {
        const double before = clock_ghz();
        const long were = switches();
        begin = now_ns();
        for (int i = 0; i < calls; i++) t->call(t->contender, t->arrays);
        const double ns = now_ns() - begin;
        const bool alone = switches() == were;
        const double ghz = clock_ghz();
        if (!alone || ghz > 1.03 * before || before > 1.03 * ghz) continue;
        const double of_call = ns / calls * (before + ghz) / 2;
        if (*cycles <= 0 || of_call < *cycles) *cycles = of_call;
    }
}

static void require(dt_status *s) {
    if (!s) return;
    fprintf(stderr, "%s\n", dt_status_text(s));
    exit(1);
}

/* Whether a shape is among the words of the command line behind the rounds, if there are any. */
static bool is_wanted(int shape_, int n, char **word) {
    bool wanted = n <= 2;
    for (int i = 2; i < n; i++) wanted |= atoi(word[i]) == shape_;
    return wanted;
}

#endif
