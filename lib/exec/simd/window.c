/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over windows of images (exec/kernel_window.c), for all channels of a position at a time. */
#include "exec/strip.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

static void most(float *restrict best, int32_t *restrict which, const float *restrict x, int32_t k,
                 int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        /* NaN replaces any value except another NaN */
        int takes = (x[i] > best[i]) | ((x[i] != x[i]) & (best[i] == best[i]));
        best[i] = takes ? x[i] : best[i];
        which[i] = takes ? k : which[i];
    }
}

static void least(float *restrict best, int32_t *restrict which, const float *restrict x, int32_t k,
                  int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int takes = (x[i] < best[i]) | ((x[i] != x[i]) & (best[i] == best[i]));
        best[i] = takes ? x[i] : best[i];
        which[i] = takes ? k : which[i];
    }
}

static void give(float *restrict dx, const float *restrict dy, const int32_t *restrict which,
                 int32_t k, int64_t n) {
    for (int64_t i = 0; i < n; i++) dx[i] += which[i] == k ? dy[i] : 0.0f;
}

const dt_window_loops JOIN(dt_window_loops_, DT_ISA) = {.most = most, .least = least, .give = give};
