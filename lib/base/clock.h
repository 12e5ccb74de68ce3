/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Durations come from the monotonic clock, so that setting the clock back harms nothing. */
#ifndef DT_BASE_CLOCK_H
#define DT_BASE_CLOCK_H

#include <stdint.h>

int64_t dt_now_ns(void); /* returns the time of the monotonic clock, in nanoseconds */
double dt_seconds_since(int64_t ns);

#endif
