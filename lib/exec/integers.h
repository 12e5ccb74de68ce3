/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of many elements of any dtype to and from int64, with the same results as op/cells.h
 * for one. */
#ifndef DT_EXEC_INTEGERS_H
#define DT_EXEC_INTEGERS_H

#include <stdint.h>

#include "graph/graph.h"

/* Loads elements [from, from + n) of an array of integers or bools. */
void dt_load_integers(dt_dtype d, const void *array, int64_t from, int64_t n, int64_t *to);
/* dt_load_integers for float32: rounds towards zero, as `convert` to the dtype `as` does. */
void dt_load_truncated(const float *array, int64_t from, int64_t n, dt_dtype as, int64_t *to);
/* Stores into an array of integers, which wrap, of bools, or of float32 or float64. */
void dt_store_integers(dt_dtype d, void *array, int64_t to, int64_t n, const int64_t *from);

#endif
