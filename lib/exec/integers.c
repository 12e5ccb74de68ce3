/* SPDX-License-Identifier: Apache-2.0 */
/* See integers.h. */
#include "exec/integers.h"

#include <math.h>

#include "op/cells.h"

/* Runs `statement` for each type of memory: `element` is a pointer of that type. */
#define OF_TYPE(dtype, type, statement)                                                            \
    case dtype: {                                                                                  \
        type *element = array;                                                                     \
        for (int64_t i = 0; i < n; i++) statement;                                                 \
        return;                                                                                    \
    }
#define OF_INTEGERS(of, statement)                                                                 \
    OF_TYPE(DT_UINT8, of uint8_t, statement)                                                       \
    OF_TYPE(DT_INT8, of int8_t, statement)                                                         \
    OF_TYPE(DT_UINT16, of uint16_t, statement)                                                     \
    OF_TYPE(DT_INT16, of int16_t, statement)                                                       \
    OF_TYPE(DT_UINT32, of uint32_t, statement)                                                     \
    OF_TYPE(DT_INT32, of int32_t, statement)                                                       \
    OF_TYPE(DT_UINT64, of uint64_t, statement)                                                     \
    OF_TYPE(DT_INT64, of int64_t, statement)

void dt_load_integers(dt_dtype d, const void *array, int64_t from, int64_t n, int64_t *to) {
    switch (d) {
        OF_INTEGERS(const, to[i] = (int64_t)element[from + i])
        OF_TYPE(DT_BOOL, const uint8_t, to[i] = element[from + i] != 0)
    default: return;
    }
}

void dt_load_truncated(const float *array, int64_t from, int64_t n, dt_dtype as, int64_t *to) {
    const int64_t lowest = dt_int_lowest(as), highest = dt_int_highest(as);
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)array[from + i];
        to[i] = as == DT_BOOL          ? x != 0
                : isnan(x)             ? 0
                : x <= (double)lowest  ? lowest
                : x >= (double)highest ? highest
                                       : (int64_t)x;
    }
}

void dt_store_integers(dt_dtype d, void *array, int64_t to, int64_t n, const int64_t *from) {
    switch (d) {
        OF_INTEGERS(, element[to + i] = (__typeof__(*element))from[i])
        OF_TYPE(DT_BOOL, uint8_t, element[to + i] = from[i] != 0)
        OF_TYPE(DT_FLOAT32, float, element[to + i] = (float)from[i])
        OF_TYPE(DT_FLOAT64, double, element[to + i] = (double)from[i])
    default: return;
    }
}
