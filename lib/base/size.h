/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes: minimum and maximum, alignment, and sizes in bytes as people write them. */
#ifndef DT_BASE_SIZE_H
#define DT_BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

static inline int64_t dt_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t dt_max(int64_t a, int64_t b) { return a > b ? a : b; }
/* Returns the smallest multiple of 64 that is at least `bytes`; INT64_MAX if it would overflow.
 * Arrays in memory begin at such multiples. */
static inline int64_t dt_aligned(int64_t bytes) {
    return bytes > INT64_MAX - 63 ? INT64_MAX : (bytes + 63) & ~INT64_C(63);
}

/* Reads "16GiB", "1.5 MiB" or "17179869184" as bytes, at least 1 and below 2^62. Units are B, KiB,
 * MiB, GiB and TiB. Returns false if the text is not such a size. */
bool dt_parse_bytes(const char *text, int64_t *bytes);

#endif
