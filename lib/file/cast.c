/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops for pairs of types are made by macros. Batches of images go through them, so they are
 * cut into blocks of a constant length: gcc 12 at -O2 vectorizes a loop of constant length, but not
 * one of unknown length.
 */
#include "file/cast.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 64 };

/* out[j] = expression in in[j], for all n values of all_in. */
#define LOOP(from, to, expression)                                                                 \
    int64_t done = 0;                                                                              \
    for (; done + BLOCK <= n; done += BLOCK) {                                                     \
        const from *in = (const from *)all_in + done;                                              \
        to *out = (to *)all_out + done;                                                            \
        for (int j = 0; j < BLOCK; j++) out[j] = (expression);                                     \
    }                                                                                              \
    const from *in = (const from *)all_in + done;                                                  \
    to *out = (to *)all_out + done;                                                                \
    for (int64_t j = 0; j < n - done; j++) out[j] = (expression);

/* Converts x to an integer type, saturating; NaN becomes 0. Values are compared before the
 * conversion, because converting a value out of range is undefined in C. `past` is the smallest
 * value that is too large; unlike `most`, it is always exact as a double. */
static int64_t saturate(double x, int64_t least, int64_t most, double past) {
    return x != x ? 0 : x < (double)least ? least : x >= past ? most : (int64_t)x;
}

#define CAST(FROM, from, TO, to, expression)                                                       \
    static void FROM##_to_##TO(const void *restrict all_in, void *restrict all_out, int64_t n) {   \
        LOOP(from, to, expression)                                                                 \
    }

#define INTEGER_CASTS(FROM, from)                                                                  \
    CAST(FROM, from, BOOL, uint8_t, in[j] != 0)                                                    \
    CAST(FROM, from, UINT8, uint8_t, (uint8_t)in[j])                                               \
    CAST(FROM, from, INT8, int8_t, (int8_t)in[j])                                                  \
    CAST(FROM, from, INT16, int16_t, (int16_t)in[j])                                               \
    CAST(FROM, from, INT32, int32_t, (int32_t)in[j])                                               \
    CAST(FROM, from, INT64, int64_t, (int64_t)in[j])                                               \
    CAST(FROM, from, FLOAT32, float, (float)in[j])                                                 \
    CAST(FROM, from, FLOAT64, double, (double)in[j])

#define FLOAT_CASTS(FROM, from)                                                                    \
    CAST(FROM, from, BOOL, uint8_t, in[j] != 0)                                                    \
    CAST(FROM, from, UINT8, uint8_t, (uint8_t)saturate((double)in[j], 0, UINT8_MAX, 0x1p8))        \
    CAST(FROM, from, INT8, int8_t, (int8_t)saturate((double)in[j], INT8_MIN, INT8_MAX, 0x1p7))     \
    CAST(FROM, from, INT16, int16_t,                                                               \
         (int16_t)saturate((double)in[j], INT16_MIN, INT16_MAX, 0x1p15))                           \
    CAST(FROM, from, INT32, int32_t,                                                               \
         (int32_t)saturate((double)in[j], INT32_MIN, INT32_MAX, 0x1p31))                           \
    CAST(FROM, from, INT64, int64_t, saturate((double)in[j], INT64_MIN, INT64_MAX, 0x1p63))        \
    CAST(FROM, from, FLOAT32, float, (float)in[j])                                                 \
    CAST(FROM, from, FLOAT64, double, (double)in[j])

INTEGER_CASTS(BOOL, uint8_t)
INTEGER_CASTS(UINT8, uint8_t)
INTEGER_CASTS(INT8, int8_t)
INTEGER_CASTS(INT16, int16_t)
INTEGER_CASTS(INT32, int32_t)
INTEGER_CASTS(INT64, int64_t)
FLOAT_CASTS(FLOAT32, float)
FLOAT_CASTS(FLOAT64, double)

enum { DTYPES = DT_FLOAT64 + 1 };
#define CASTS_FROM(FROM)                                                                           \
    [DT_##FROM] = {FROM##_to_BOOL,  FROM##_to_UINT8, FROM##_to_INT8,    FROM##_to_INT16,           \
                   FROM##_to_INT32, FROM##_to_INT64, FROM##_to_FLOAT32, FROM##_to_FLOAT64}

void dt_cast(dt_dtype from, dt_dtype to, const void *in, void *out, int64_t n) {
    static void (*const casts[DTYPES][DTYPES])(const void *, void *, int64_t) = {
        CASTS_FROM(BOOL),  CASTS_FROM(UINT8), CASTS_FROM(INT8),    CASTS_FROM(INT16),
        CASTS_FROM(INT32), CASTS_FROM(INT64), CASTS_FROM(FLOAT32), CASTS_FROM(FLOAT64),
    };
    casts[from][to](in, out, n);
}

#define RESCALE(FROM, from, wide, value)                                                           \
    static void rescale_##FROM(wide scale, wide offset, const void *restrict all_in,               \
                               float *restrict all_out, int64_t n) {                               \
        LOOP(from, float, value)                                                                   \
    }
#define NARROW(FROM, from) RESCALE(FROM, from, float, (float)in[j] * scale + offset)
#define WIDE(FROM, from) RESCALE(FROM, from, double, (float)((double)in[j] * scale + offset))

NARROW(UINT8, uint8_t)
NARROW(INT8, int8_t)
NARROW(INT16, int16_t)
NARROW(FLOAT32, float)
WIDE(INT32, int32_t)
WIDE(INT64, int64_t)
WIDE(FLOAT64, double)

bool dt_is_wide(dt_dtype d) { return d == DT_INT32 || d == DT_INT64 || d == DT_FLOAT64; }

void dt_rescale(dt_dtype from, double scale, double offset, const void *in, float *out, int64_t n) {
    static void (*const narrow[DTYPES])(float, float, const void *, float *, int64_t) = {
        [DT_BOOL] = rescale_UINT8,  [DT_UINT8] = rescale_UINT8,     [DT_INT8] = rescale_INT8,
        [DT_INT16] = rescale_INT16, [DT_FLOAT32] = rescale_FLOAT32,
    };
    static void (*const wide[DTYPES])(double, double, const void *, float *, int64_t) = {
        [DT_INT32] = rescale_INT32,
        [DT_INT64] = rescale_INT64,
        [DT_FLOAT64] = rescale_FLOAT64,
    };
    if (dt_is_wide(from)) wide[from](scale, offset, in, out, n);
    else narrow[from]((float)scale, (float)offset, in, out, n);
}

static int64_t integer_at(dt_dtype type, const void *in, int64_t i) {
    switch (type) {
    case DT_BOOL:
    case DT_UINT8: return ((const uint8_t *)in)[i];
    case DT_INT8: return ((const int8_t *)in)[i];
    case DT_INT16: return ((const int16_t *)in)[i];
    case DT_INT32: return ((const int32_t *)in)[i];
    default: assert(type == DT_INT64); return ((const int64_t *)in)[i];
    }
}

void dt_cast_one_hot(dt_dtype from, int64_t classes, const void *in, float *out, int64_t n) {
    memset(out, 0, (size_t)(n * classes) * sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = integer_at(from, in, i);
        if (k >= 0 && k < classes) out[i * classes + k] = 1;
    }
}

static double number_at(dt_dtype type, const void *in, int64_t i) {
    if (type == DT_FLOAT32) return (double)((const float *)in)[i];
    return type == DT_FLOAT64 ? ((const double *)in)[i] : (double)integer_at(type, in, i);
}

int64_t dt_find_outside(dt_dtype from, int64_t limit, const void *in, int64_t n, double *value) {
    for (int64_t i = 0; i < n; i++) {
        *value = number_at(from, in, i);
        if (!(*value >= 0 && *value < (double)limit && *value == trunc(*value))) return i;
    }
    return -1;
}

int64_t dt_find_beyond(dt_dtype from, double low, double high, const void *in, int64_t n,
                       double *value) {
    for (int64_t i = 0; i < n; i++) {
        *value = number_at(from, in, i);
        if ((*value < low || *value > high) && isfinite(*value)) return i;
    }
    return -1;
}
