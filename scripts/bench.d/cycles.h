/* SPDX-License-Identifier: Apache-2.0 */
/* Time in clock cycles, for the programs here that compare our loops with libraries. */
#ifndef BENCH_CYCLES_H
#define BENCH_CYCLES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/status.h"

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* How often another program took the processor from this one. */
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

static void require(dt_status *s) {
    if (!s) return;
    fprintf(stderr, "%s\n", dt_status_text(s));
    exit(1);
}

#endif
