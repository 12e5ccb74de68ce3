/* SPDX-License-Identifier: Apache-2.0 */
/* The monotonic clock. Reading it cannot fail on any system that dtrain runs on. */
#include "base/clock.h"

#include <time.h>

int64_t dt_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double dt_seconds_since(int64_t ns) { return (double)(dt_now_ns() - ns) * 1e-9; }
