/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of a tf.Example as values. int64_list goes with integers (each value must fit), float_list with floats, bytes_list with
 * uint8: one string, whose bytes are the values.
 */
#include "file/feature.h"

#include <stdlib.h>
#include <string.h>

static dt_status *missing(const dt_parsed_example *x, const char *name)
{
    dt_str has = {0};
    for (int i = 0; i < x->n && i < 16; i++) {
        dt_str_puts(&has, i ? ", " : "; it has: ");
        dt_str_escaped(&has, x->feature[i].name, x->feature[i].name_size, 60);
    }
    dt_status *s = dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' is missing%s", name, dt_str_text(&has));
    dt_str_release(&has);
    return s;
}

static dt_feature_kind kind_for(dt_dtype d)
{
    return dt_dtype_is_float(d) ? DT_FEATURE_FLOAT : DT_FEATURE_INT64;
}

static dt_status *find(const dt_parsed_example *x, const char *name, dt_dtype dtype, const dt_feature **out)
{
    const dt_feature *f = *out = dt_parsed_example_find(x, name);
    if (!f)
        return missing(x, name);
    if (f->kind != kind_for(dtype) && !(f->kind == DT_FEATURE_BYTES && dtype == DT_UINT8))
        return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' is %s, expected %s", name, dt_feature_kind_name(f->kind),
                       dt_feature_kind_name(kind_for(dtype)));
    if (f->kind == DT_FEATURE_BYTES && f->count != 1)
        return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' has %lld byte strings, expected 1", name, (long long)f->count);
    return NULL;
}

dt_status *dt_feature_values(const dt_parsed_example *x, const char *name, dt_dtype dtype, int64_t *count)
{
    const dt_feature *f;
    const unsigned char *bytes;
    size_t n = 0;
    DT_TRY(find(x, name, dtype, &f));
    *count = f->count;
    if (f->kind == DT_FEATURE_BYTES) {
        dt_feature_bytes(f, 0, &bytes, &n);
        *count = (int64_t)n;
    }
    return NULL;
}

#define NARROW(type, least, most) \
    for (int64_t i = 0; i < n; i++) { \
        if (in[i] < (least) || in[i] > (most)) \
            return false; \
        ((type *)out)[i] = (type)in[i]; \
    } \
    return true

static bool narrow(dt_dtype d, const int64_t *in, int64_t n, void *out)
{
    switch (d) {
    case DT_BOOL: NARROW(bool, 0, 1);
    case DT_UINT8: NARROW(uint8_t, 0, UINT8_MAX);
    case DT_INT8: NARROW(int8_t, INT8_MIN, INT8_MAX);
    case DT_INT16: NARROW(int16_t, INT16_MIN, INT16_MAX);
    case DT_INT32: NARROW(int32_t, INT32_MIN, INT32_MAX);
    default: NARROW(int64_t, INT64_MIN, INT64_MAX);
    }
}

static dt_status *copy_integers(const dt_feature *f, const char *name, dt_dtype d, void *out)
{
    int64_t *values = dt_try_alloc((size_t)f->count * sizeof *values + 1);
    if (!values)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for feature '%s'", name);
    dt_feature_int64s(f, values);
    bool ok = narrow(d, values, f->count, out);
    free(values);
    return ok ? NULL : dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' has a value that does not fit %s", name, dt_dtype_name(d));
}

static dt_status *copy_floats(const dt_feature *f, const char *name, dt_dtype d, void *out)
{
    if (d == DT_FLOAT32) {
        dt_feature_floats(f, out);
        return NULL;
    }
    float *values = dt_try_alloc((size_t)f->count * sizeof *values + 1);
    if (!values)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for feature '%s'", name);
    dt_feature_floats(f, values);
    for (int64_t i = 0; i < f->count; i++)
        ((double *)out)[i] = (double)values[i];
    free(values);
    return NULL;
}

dt_status *dt_feature_read(const dt_parsed_example *x, const char *name, const dt_type *type, void *out)
{
    const dt_feature *f;
    int64_t count;
    DT_TRY(dt_feature_values(x, name, type->dtype, &count));
    if (count != dt_type_elements(type))
        return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' has %lld values, expected %lld", name, (long long)count,
                       (long long)dt_type_elements(type));
    DT_TRY(find(x, name, type->dtype, &f));
    if (f->kind == DT_FEATURE_INT64)
        return copy_integers(f, name, type->dtype, out);
    if (f->kind == DT_FEATURE_FLOAT)
        return copy_floats(f, name, type->dtype, out);
    const unsigned char *bytes = NULL;
    size_t n = 0;
    dt_feature_bytes(f, 0, &bytes, &n);
    if (n > 0)
        memcpy(out, bytes, n);
    return NULL;
}
