/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors between JSON and the library. */
#include "pipelines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = 8 };

static const char *const dtypes[] = {
    [DT_BOOL] = "bool",        [DT_UINT8] = "uint8",     [DT_INT8] = "int8",
    [DT_INT16] = "int16",      [DT_INT32] = "int32",     [DT_INT64] = "int64",
    [DT_FLOAT32] = "float32",  [DT_FLOAT64] = "float64", [DT_UINT16] = "uint16",
    [DT_UINT32] = "uint32",    [DT_UINT64] = "uint64",   [DT_FLOAT16] = "float16",
    [DT_BFLOAT16] = "bfloat16"};

const char *dtype_name(dt_dtype t) { return dtypes[t]; }

static bool dtype_of(const char *name, dt_dtype *out) {
    for (size_t i = 0; name && i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i], name) == 0) {
            *out = (dt_dtype)i;
            return true;
        }
    return false;
}

/* clang-format off */
#define EACH_DTYPE(X)                                                                                                   \
    X(DT_BOOL, bool) X(DT_UINT8, uint8_t) X(DT_INT8, int8_t) X(DT_INT16, int16_t) X(DT_INT32, int32_t) X(DT_INT64, int64_t) \
    X(DT_FLOAT32, float) X(DT_FLOAT64, double) X(DT_UINT16, uint16_t) X(DT_UINT32, uint32_t) X(DT_UINT64, uint64_t) X(DT_FLOAT16, half) X(DT_BFLOAT16, brain)
/* clang-format on */

typedef struct half {
    uint16_t bits;
} half;
typedef struct brain {
    uint16_t bits; /* the upper ones of a float */
} brain;

/* Numbers that a half holds exactly, as those of the cases do. */
static half half_of(double x) {
    int e = 0;
    double m = frexp(fabs(x), &e); /* [0.5, 1) */
    uint16_t sign = signbit(x) ? 0x8000 : 0;

    if (isnan(x) || isinf(x)) return (half){(uint16_t)(sign | (isnan(x) ? 0x7e00 : 0x7c00))};
    if (x == 0 || e < -13)
        return (half){(uint16_t)(sign | (uint16_t)nearbyint(ldexp(fabs(x), 24)))};
    return (half){(uint16_t)(sign | (((e + 14) << 10) + (int)nearbyint(ldexp(m, 11)) - 1024))};
}

static double of_half(half h) {
    int e = h.bits >> 10 & 31, m = h.bits & 1023;
    double x = e == 31 ? (m ? (double)NAN : (double)INFINITY)
               : e     ? ldexp(1024 + m, e - 25)
                       : ldexp(m, -24);
    return h.bits >> 15 ? -x : x;
}

static brain brain_of(double x) {
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (brain){(uint16_t)(bits >> 16)};
}

static double of_brain(brain b) {
    uint32_t bits = (uint32_t)b.bits << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static size_t dtype_size(dt_dtype t) {
    switch (t) {
#define X(dtype, type)                                                                             \
    case dtype: return sizeof(type);
        EACH_DTYPE(X)
#undef X
    }
    return 0;
}

static bool is_float(dt_dtype t) {
    return t == DT_FLOAT32 || t == DT_FLOAT64 || t == DT_FLOAT16 || t == DT_BFLOAT16;
}

static int64_t integer_of(const json_t *j) {
    return json_is_string(j)    ? strtoll(json_string_value(j), NULL, 10)
           : json_is_boolean(j) ? json_is_true(j)
                                : json_integer_value(j);
}

static void put(void *data, dt_dtype t, size_t i, const json_t *j) {
    double d = is_float(t) ? json_double(j) : 0;
    int64_t n = is_float(t) ? 0 : integer_of(j);
    switch (t) {
    case DT_FLOAT32: ((float *)data)[i] = (float)d; break;
    case DT_FLOAT64: ((double *)data)[i] = d; break;
    case DT_BOOL: ((bool *)data)[i] = n != 0; break;
    case DT_UINT8: ((uint8_t *)data)[i] = (uint8_t)n; break;
    case DT_INT8: ((int8_t *)data)[i] = (int8_t)n; break;
    case DT_INT16: ((int16_t *)data)[i] = (int16_t)n; break;
    case DT_INT32: ((int32_t *)data)[i] = (int32_t)n; break;
    case DT_INT64: ((int64_t *)data)[i] = n; break;
    case DT_UINT16: ((uint16_t *)data)[i] = (uint16_t)n; break;
    case DT_UINT32: ((uint32_t *)data)[i] = (uint32_t)n; break;
    case DT_UINT64: ((uint64_t *)data)[i] = (uint64_t)n; break;
    case DT_FLOAT16: ((half *)data)[i] = half_of(d); break;
    case DT_BFLOAT16: ((brain *)data)[i] = brain_of(d); break;
    }
}

static double get(const void *data, dt_dtype t, size_t i) {
    switch (t) {
#define AS_DOUBLE(type) (double)((const type *)data)[i]
    case DT_FLOAT16: return of_half(((const half *)data)[i]);
    case DT_BFLOAT16: return of_brain(((const brain *)data)[i]);
    case DT_BOOL: return AS_DOUBLE(bool);
    case DT_UINT8: return AS_DOUBLE(uint8_t);
    case DT_INT8: return AS_DOUBLE(int8_t);
    case DT_INT16: return AS_DOUBLE(int16_t);
    case DT_INT32: return AS_DOUBLE(int32_t);
    case DT_INT64: return AS_DOUBLE(int64_t);
    case DT_UINT16: return AS_DOUBLE(uint16_t);
    case DT_UINT32: return AS_DOUBLE(uint32_t);
    case DT_UINT64: return AS_DOUBLE(uint64_t);
    case DT_FLOAT32: return AS_DOUBLE(float);
    case DT_FLOAT64: return AS_DOUBLE(double);
#undef AS_DOUBLE
    }
    return NAN;
}

static int64_t get_integer(const void *data, dt_dtype t, size_t i) {
    return t == DT_INT64 ? ((const int64_t *)data)[i] : (int64_t)get(data, t, i);
}

/* ---- arrays written as such: 1.5, [[1, 2], [3, 4]], "np.ones((2, 3))" ---- */

/* Numbers one after the other, sizes of the first of each; false where rows differ. */
static bool flatten(const json_t *j, int depth, json_t *shape, json_t *data) {
    if (!json_is_array(j)) {
        json_array_append(data, (json_t *)j);
        return depth == (int)json_array_size(shape) &&
               (json_is_number(j) || json_is_boolean(j) || json_is_string(j));
    }
    if (depth == (int)json_array_size(shape) && json_array_size(data) == 0)
        json_array_append_new(shape, json_integer((json_int_t)json_array_size(j)));
    bool same =
        json_integer_value(json_array_get(shape, (size_t)depth)) == (json_int_t)json_array_size(j);
    for (size_t i = 0; same && i < json_array_size(j); i++)
        same = flatten(json_array_get(j, i), depth + 1, shape, data);
    return same;
}

/* Python's numbers are int32 and float32 tensors. */
static const char *dtype_of_numbers(const json_t *data) {
    bool real = json_array_size(data) == 0;
    for (size_t i = 0; i < json_array_size(data); i++)
        real |= json_is_real(json_array_get(data, i)) || json_is_string(json_array_get(data, i));
    return real ? "float32" : json_is_boolean(json_array_get(data, 0)) ? "bool" : "int32";
}

/* The TENSOR that an array, or a TENSOR without a dtype, stands for; NULL: it is neither. */
static json_t *as_tensor(const json_t *j) {
    json_t *shape = json_array(), *data = json_array();
    const json_t *given = json_object_get(j, "data");

    if (given && !json_object_get(j, "dtype")) {
        json_decref(data);
        json_decref(shape);
        return json_pack("{s:O,s:s,s:O}", "shape", json_object_get(j, "shape"), "dtype",
                         dtype_of_numbers(given), "data", given);
    }
    bool plain =
        !json_is_object(j) && !json_is_string(j) && !json_is_null(j) && flatten(j, 0, shape, data);
    json_t *out = plain ? json_pack("{s:O,s:s,s:O}", "shape", shape, "dtype",
                                    dtype_of_numbers(data), "data", data)
                        : NULL;
    json_decref(data);
    json_decref(shape);
    return out;
}

static dt_tensor *tensor_of_text(verdict *v, const json_t *j) {
    const char *why;
    py *p = py_read(json_string_value(j), &why);
    dt_status *s = NULL;
    dt_tensor *t = p ? tensor_of_words(v, p, &s) : NULL;

    if (!p) differs(v, "unknown wording of a value, '%s': %s", json_string_value(j), why);
    expect_ok(v, "a value", s);
    py_free(p);
    return t;
}

static bool is_written_out(const json_t *j) {
    return json_object_get(j, "shape") && json_object_get(j, "dtype");
}

dt_tensor *tensor_of(verdict *v, const json_t *j) {
    if (json_is_string(j)) return tensor_of_text(v, j);
    json_t *written = is_written_out(j) ? NULL : as_tensor(j);
    if (written) {
        dt_tensor *made = tensor_of(v, written);
        json_decref(written);
        return made;
    }

    const json_t *shape = json_object_get(j, "shape"), *data = json_object_get(j, "data");
    int64_t dims[MOST_AXES];
    size_t rank = json_array_size(shape), n = json_array_size(data), elements = 1;
    dt_tensor *t = NULL;
    dt_dtype dtype;

    if (!json_is_array(shape) || !json_is_array(data) || rank > MOST_AXES ||
        !dtype_of(json_string_value(json_object_get(j, "dtype")), &dtype)) {
        char *text = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);
        differs(v, "not a tensor: %.200s", text ? text : "nothing");
        free(text);
        return NULL;
    }
    for (size_t i = 0; i < rank; i++)
        elements *= (size_t)(dims[i] = json_integer_value(json_array_get(shape, i)));
    if (elements != n) {
        differs(v, "a tensor of %zu elements has %zu numbers", elements, n);
        return NULL;
    }
    void *buffer = calloc(n + 1, dtype_size(dtype));
    for (size_t i = 0; i < n; i++) put(buffer, dtype, i, json_array_get(data, i));
    expect_ok(v, "making a tensor", dt_tensor_create(&t, dtype, (int)rank, dims, buffer));
    free(buffer);
    return t;
}

static json_t *json_of_number(double d) {
    return isnan(d)   ? json_string("nan")
           : isinf(d) ? json_string(d > 0 ? "inf" : "-inf")
                      : json_real(d);
}

static json_t *json_of_element(const dt_tensor *t, size_t i) {
    dt_dtype dtype = dt_tensor_dtype(t);
    const void *data = dt_tensor_data(t);

    if (dtype == DT_BOOL) return json_boolean(((const bool *)data)[i]);
    return is_float(dtype) ? json_of_number(get(data, dtype, i))
                           : json_integer(get_integer(data, dtype, i));
}

json_t *json_of_tensor(const dt_tensor *t) {
    json_t *shape, *data;

    if (!t) return json_null();
    shape = json_array();
    data = json_array();
    for (int i = 0; i < dt_tensor_rank(t); i++)
        json_array_append_new(shape, json_integer(dt_tensor_dim(t, i)));
    for (int64_t i = 0; i < dt_tensor_elements(t); i++)
        json_array_append_new(data, json_of_element(t, (size_t)i));
    return json_pack("{s:o,s:s,s:o}", "shape", shape, "dtype", dtype_name(dt_tensor_dtype(t)),
                     "data", data);
}

/* Type and shape first, since numbers of another shape say little; then the worst element. */
void expect_tensor(verdict *v, const char *what, const json_t *want, const dt_tensor *got,
                   tolerance tol) {
    /* an array has no dtype of its own */
    json_t *typed = is_written_out(want) || !got ? NULL : as_tensor(want);
    if (typed) {
        json_object_set_new(typed, "dtype", json_string(dtype_name(dt_tensor_dtype(got))));
        expect_tensor(v, what, typed, got, tol);
        json_decref(typed);
        return;
    }
    dt_tensor *w = tensor_of(v, want);
    double worst = 0, a = 0, b = 0;
    size_t at = 0;
    bool same = w && got && dt_tensor_dtype(w) == dt_tensor_dtype(got) &&
                dt_tensor_rank(w) == dt_tensor_rank(got);

    for (int i = 0; same && i < dt_tensor_rank(w); i++)
        same = dt_tensor_dim(w, i) == dt_tensor_dim(got, i);
    if (!same) {
        expect_json(v, what, want, json_of_tensor(got), tol);
        dt_tensor_unref(w);
        return;
    }
    for (size_t i = 0; i < (size_t)dt_tensor_elements(w); i++) {
        double x = get(dt_tensor_data(w), dt_tensor_dtype(w), i),
               y = get(dt_tensor_data(got), dt_tensor_dtype(w), i);
        double off = x == y || (isnan(x) && isnan(y))
                         ? 0
                         : fabs(x - y) / (tol.absolute + tol.relative * fabs(x));
        if (!(off <= worst)) worst = off, at = i, a = x, b = y;
    }
    if (!(worst <= 1)) differs(v, "%s[%zu]: %.9g, expected %.9g", what, at, b, a);
    dt_tensor_unref(w);
}
