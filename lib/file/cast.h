/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that convert arrays from one type to another, used by formats of files and by steps of
 * `map`. */
#ifndef DT_FILE_CAST_H
#define DT_FILE_CAST_H

#include "graph/graph.h"

/* Converts n values; both types must be bool, an integer type up to int64, or float32 or float64.
 * Integers that do not fit an integer type wrap around. Floats that become integers are truncated
 * towards zero and saturate; NaN becomes 0. To bool: x != 0, which is true for NaN. */
void dt_cast(dt_dtype from, dt_dtype to, const void *in, void *out, int64_t n);
/* Whether float32 cannot represent all values of the type. Arithmetic on such types is done in
 * float64, and the result is rounded once. */
bool dt_is_wide(dt_dtype d);
/* out = in * scale + offset. Each operation is rounded to float32, as in Keras' Rescaling, unless
 * dt_is_wide(from). */
void dt_rescale(dt_dtype from, double scale, double offset, const void *in, float *out, int64_t n);
/* out[i][k] = in[i] == k, for k < classes, so a number outside [0, classes) gives only zeros; in: n
 * values of type bool or an integer type up to int64. */
void dt_cast_one_hot(dt_dtype from, int64_t classes, const void *in, float *out, int64_t n);
/* Returns the index of the first of n values that is not a whole number in [0, limit), or -1.
 * *value is the value at that index. */
int64_t dt_find_outside(dt_dtype from, int64_t limit, const void *in, int64_t n, double *value);
/* Returns the index of the first of n values that is finite and outside [low, high], or -1.
 * *value is the value at that index. */
int64_t dt_find_beyond(dt_dtype from, double low, double high, const void *in, int64_t n,
                       double *value);

#endif
