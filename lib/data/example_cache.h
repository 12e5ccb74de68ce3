/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoded examples that stay in memory: `cache`. An example is kept by the thread that decodes it
 * first, straight into its place; from then on all take it from there. Examples of other feeds over
 * the same files are kept together, since examples are kept as they are before `map`.
 */
#ifndef DT_DATA_EXAMPLE_CACHE_H
#define DT_DATA_EXAMPLE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define DT_EXAMPLE_CACHE_AUTO ((int64_t)256 << 20) /* of a part, if the job has no `cache` */

typedef struct dt_example_cache dt_example_cache;

/* bytes[e] of each of n elements of `rows` examples, 0: it lies in memory anyway. NULL where that
 * takes more than `limit` or is refused. */
dt_example_cache *dt_example_cache_create(int64_t rows, int n, const int64_t *bytes, int64_t limit);
void dt_example_cache_destroy(dt_example_cache *k); /* takes NULL */
/* When all examples are kept. */
int64_t dt_example_cache_bytes(const dt_example_cache *k, int64_t rows);
/* Where element e of an example is, or will be. */
void *dt_example_cache_place(const dt_example_cache *k, int e, int64_t row);
bool dt_example_cache_has(dt_example_cache *k, int64_t row);
/* True for one thread only: it fills the places and reports whether that succeeded. Until then
 * other threads decode the example themselves. */
bool dt_example_cache_claim(dt_example_cache *k, int64_t row);
void dt_example_cache_filled(dt_example_cache *k, int64_t row, bool right);

#endif
