/* SPDX-License-Identifier: Apache-2.0 */
/* Parses tf.Example; see example.h. */
#include "file/example.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/array.h"
#include "file/protobuf.h"

static inline bool count_packed(dt_feature_kind kind, dt_pb_span in, int64_t *count,
                                const char **why) {
    uint64_t ignored;
    if (kind == DT_FEATURE_FLOAT) {
        *count += (in.end - in.at) / 4;
        return (in.end - in.at) % 4 == 0;
    }
    for (; in.at < in.end; ++*count)
        if (!dt_pb_varint(&in, &ignored, why)) return false;
    return true;
}

static inline bool count_values(dt_feature *f, const char **why) {
    dt_pb_span s = {f->list, f->list + f->size};
    dt_pb_field x;
    while (s.at < s.end) {
        if (!dt_pb_next(&s, &x, why)) return false;
        if (x.number != 1) continue;
        if (f->kind == DT_FEATURE_BYTES
                ? x.type != DT_PB_BYTES
                : x.type != DT_PB_BYTES &&
                      x.type != (f->kind == DT_FEATURE_FLOAT ? DT_PB_FIXED32 : DT_PB_VARINT))
            return false;
        if (f->kind == DT_FEATURE_BYTES || x.type != DT_PB_BYTES) f->count++;
        else if (!count_packed(f->kind, x.bytes, &f->count, why)) return false;
    }
    return true;
}

/* Reads a Feature. If it has several lists, the last one counts. */
static inline bool read_feature(dt_pb_span s, dt_feature *f, const char **why) {
    dt_pb_field x;
    while (s.at < s.end) {
        if (!dt_pb_next(&s, &x, why)) return false;
        if (x.number > DT_FEATURE_INT64) continue;
        if (x.type != DT_PB_BYTES) return false;
        f->kind = (dt_feature_kind)x.number;
        f->list = x.bytes.at;
        f->size = (size_t)(x.bytes.end - x.bytes.at);
        f->count = 0;
        if (!count_values(f, why)) return false;
    }
    return true;
}

/* Reads the next Feature of a FeatureList; *more false: there was no further one. */
static inline bool next_step(dt_pb_span *s, dt_feature *step, bool *more, const char **why) {
    dt_pb_field x;
    for (*more = false; s->at < s->end && !*more;) {
        if (!dt_pb_next(s, &x, why)) return false;
        if (x.number != 1) continue;
        *step = (dt_feature){.name = ""};
        *more = true;
        if (x.type != DT_PB_BYTES || !read_feature(x.bytes, step, why)) return false;
    }
    return true;
}

static inline bool read_feature_list(dt_pb_span s, dt_feature *f, const char **why) {
    dt_feature step;
    bool more;
    f->list = s.at;
    f->size = (size_t)(s.end - s.at);
    while (true) {
        if (!next_step(&s, &step, &more, why)) return false;
        if (!more) return true;
        if (f->kind == DT_FEATURE_EMPTY) f->kind = step.kind;
        if (step.kind != DT_FEATURE_EMPTY && step.kind != f->kind) {
            *why = "a feature list of several kinds";
            return false;
        }
        f->each = f->steps == 0 || f->each == step.count ? step.count : -1;
        f->steps++;
        f->count += step.count;
    }
}

static dt_feature *slot(dt_parsed_example *x, const dt_feature *f) {
    for (int i = 0; i < x->n; i++)
        if (x->feature[i].name_size == f->name_size &&
            memcmp(x->feature[i].name, f->name, f->name_size) == 0)
            return &x->feature[i];
    if (x->n == DT_FEW_FEATURES && x->feature == x->few) {
        x->feature = NULL;
        x->cap = 0;
        DT_GROW(x->feature, x->cap, x->n + 1);
        memcpy(x->feature, x->few, sizeof x->few);
    } else if (x->feature != x->few) {
        DT_GROW(x->feature, x->cap, x->n + 1);
    }
    return &x->feature[x->n++];
}

enum { MOST_FEATURES = 4096 };

static inline bool read_entry(dt_parsed_example *x, dt_pb_span s, bool is_list, const char **why) {
    dt_feature f = {.name = ""};
    dt_pb_field y;
    while (s.at < s.end) {
        if (!dt_pb_next(&s, &y, why)) return false;
        if (y.number <= 2 && y.type != DT_PB_BYTES) return false;
        if (y.number == 1) {
            f.name = (const char *)y.bytes.at;
            f.name_size = (size_t)(y.bytes.end - y.bytes.at);
        } else if (y.number == 2 &&
                   !(is_list ? read_feature_list : read_feature)(y.bytes, &f, why)) {
            return false;
        }
    }
    if (x->n == MOST_FEATURES) {
        *why = "more than 4096 features";
        return false;
    }
    const int before = x->n;
    dt_feature *to = slot(x, &f);
    f.twice = x->n == before;
    *to = f;
    return true;
}

static inline bool read_features(dt_parsed_example *x, dt_pb_span s, bool lists, const char **why) {
    dt_pb_field y;
    while (s.at < s.end) {
        if (!dt_pb_next(&s, &y, why)) return false;
        if (y.number == 1 && (y.type != DT_PB_BYTES || !read_entry(x, y.bytes, lists, why)))
            return false;
    }
    return true;
}

bool dt_parsed_example_read(dt_parsed_example *x, const void *bytes, size_t n, const char **why) {
    dt_pb_span s = {bytes, (const unsigned char *)bytes + n};
    dt_pb_field y;
    x->n = 0;
    x->feature = x->feature ? x->feature : x->few;
    *why = "";
    while (s.at < s.end) {
        if (!dt_pb_next(&s, &y, why)) return false;
        if (y.number > 2) continue;
        if (y.type != DT_PB_BYTES || !read_features(x, y.bytes, y.number == 2, why)) return false;
    }
    return true;
}

void dt_parsed_example_release(dt_parsed_example *x) {
    if (x->feature != x->few) free(x->feature);
    x->feature = NULL;
    x->n = x->cap = 0;
}

const dt_feature *dt_parsed_example_find(const dt_parsed_example *x, const char *name) {
    size_t n = strlen(name);
    for (int i = 0; i < x->n; i++)
        if (x->feature[i].name_size == n && memcmp(x->feature[i].name, name, n) == 0)
            return &x->feature[i];
    return NULL;
}

const char *dt_feature_kind_name(dt_feature_kind k) {
    static const char *const names[] = {"empty", "bytes_list", "float_list", "int64_list"};
    return names[k];
}

/* ---- values; the lists have been parsed before, so they are valid ---- */

void dt_feature_int64s(const dt_feature *f, int64_t *out) {
    dt_pb_span s = {f->list, f->list + f->size};
    const char *why;
    dt_pb_field x;
    uint64_t value;
    bool more = true;
    for (dt_feature step; f->steps > 0 && next_step(&s, &step, &more, &why) && more;
         out += step.count)
        dt_feature_int64s(&step, out);
    while (s.at < s.end && dt_pb_next(&s, &x, &why)) {
        if (x.number == 1 && x.type == DT_PB_VARINT) *out++ = (int64_t)x.value;
        while (x.number == 1 && x.type == DT_PB_BYTES && x.bytes.at < x.bytes.end &&
               dt_pb_varint(&x.bytes, &value, &why))
            *out++ = (int64_t)value;
    }
}

/* Copies n bytes of floats, which are little-endian in the file. */
static void put_floats(const unsigned char *p, size_t n, float *out) {
    memcpy(out, p, n);
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
        dt_swap_values(out, (int64_t)(n / sizeof *out), sizeof *out);
}

void dt_feature_floats(const dt_feature *f, float *out) {
    dt_pb_span s = {f->list, f->list + f->size};
    const char *why;
    dt_pb_field x;
    bool more = true;
    for (dt_feature step; f->steps > 0 && next_step(&s, &step, &more, &why) && more;
         out += step.count)
        dt_feature_floats(&step, out);
    while (s.at < s.end && dt_pb_next(&s, &x, &why))
        if (x.number == 1) {
            put_floats(x.bytes.at, (size_t)(x.bytes.end - x.bytes.at), out);
            out += (x.bytes.end - x.bytes.at) / (int64_t)sizeof *out;
        }
}

void dt_feature_bytes(const dt_feature *f, int64_t i, const unsigned char **bytes, size_t *n) {
    dt_pb_span s = {f->list, f->list + f->size};
    const char *why;
    dt_pb_field x;
    bool more = true;
    for (dt_feature step; f->steps > 0 && next_step(&s, &step, &more, &why) && more;
         i -= step.count) {
        if (i >= step.count) continue;
        dt_feature_bytes(&step, i, bytes, n);
        return;
    }
    while (s.at < s.end && dt_pb_next(&s, &x, &why))
        if (x.number == 1 && i-- == 0) {
            *bytes = x.bytes.at;
            *n = (size_t)(x.bytes.end - x.bytes.at);
            return;
        }
}

/* ---- values converted to a type ---- */

/* In this section, an int64_list is converted to bool or an integer type up to int64, if each value
 * fits; a float_list to float32 or float64; and a bytes_list with one string to uint8. */

static dt_status *missing(const dt_parsed_example *x, const char *name) {
    dt_local_str has = {0};
    for (int i = 0; i < x->n && i < 16; i++) {
        dt_str_puts(&has, i ? ", " : "; it has: ");
        dt_str_escaped(&has, x->feature[i].name, x->feature[i].name_size, 60);
    }
    return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' is missing%s", name, dt_str_text(&has));
}

static dt_feature_kind kind_for(dt_dtype d) {
    return dt_dtype_is_float(d) ? DT_FEATURE_FLOAT : DT_FEATURE_INT64;
}

static dt_status *find_feature(const dt_parsed_example *x, const char *name, dt_dtype dtype,
                               const dt_feature **out) {
    const dt_feature *f = *out = dt_parsed_example_find(x, name);
    if (!f) return missing(x, name);
    if (f->kind != kind_for(dtype) && !(f->kind == DT_FEATURE_BYTES && dtype == DT_UINT8))
        return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' is %s, expected %s", name,
                       dt_feature_kind_name(f->kind), dt_feature_kind_name(kind_for(dtype)));
    if (f->kind == DT_FEATURE_BYTES && f->count != 1)
        return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' has %lld byte strings, expected 1", name,
                       (long long)f->count);
    return NULL;
}

dt_status *dt_feature_values(const dt_parsed_example *x, const char *name, dt_dtype dtype,
                             int64_t *count) {
    const dt_feature *f;
    const unsigned char *bytes;
    size_t n = 0;
    DT_TRY(find_feature(x, name, dtype, &f));
    *count = f->count;
    if (f->kind == DT_FEATURE_BYTES) {
        dt_feature_bytes(f, 0, &bytes, &n);
        *count = (int64_t)n;
    }
    return NULL;
}

#define NARROW(type, least, most)                                                                  \
    for (int64_t i = 0; i < n; i++) {                                                              \
        if (in[i] < (least) || in[i] > (most)) return false;                                       \
        ((type *)out)[i] = (type)in[i];                                                            \
    }                                                                                              \
    return true

static bool narrow(dt_dtype d, const int64_t *in, int64_t n, void *out) {
    switch (d) {
    case DT_BOOL: NARROW(bool, 0, 1);
    case DT_UINT8: NARROW(uint8_t, 0, UINT8_MAX);
    case DT_INT8: NARROW(int8_t, INT8_MIN, INT8_MAX);
    case DT_INT16: NARROW(int16_t, INT16_MIN, INT16_MAX);
    case DT_INT32: NARROW(int32_t, INT32_MIN, INT32_MAX);
    default: NARROW(int64_t, INT64_MIN, INT64_MAX);
    }
}

static dt_status *copy_integers(const dt_feature *f, const char *name, dt_dtype d, void *out) {
    enum { FEW = 16 };
    int64_t few[FEW], *values = d == DT_INT64     ? out
                                : f->count <= FEW ? few
                                                  : dt_try_alloc((size_t)f->count * sizeof *values);
    if (!values && f->count > 0)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for feature '%s'", name);
    dt_feature_int64s(f, values);
    bool ok = values == out || narrow(d, values, f->count, out);
    if (values != out && values != few) free(values);
    return ok ? NULL
              : dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' has a value that does not fit %s", name,
                        dt_dtype_name(d));
}

static dt_status *copy_floats(const dt_feature *f, const char *name, dt_dtype d, void *out) {
    if (d == DT_FLOAT32) {
        dt_feature_floats(f, out);
        return NULL;
    }
    float *values = dt_try_alloc((size_t)f->count * sizeof *values + 1);
    if (!values) return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for feature '%s'", name);
    dt_feature_floats(f, values);
    for (int64_t i = 0; i < f->count; i++) ((double *)out)[i] = (double)values[i];
    free(values);
    return NULL;
}

dt_status *dt_feature_read(const dt_parsed_example *x, const char *name, const dt_type *type,
                           void *out) {
    const dt_feature *f;
    const unsigned char *bytes = NULL;
    size_t n = 0;
    DT_TRY(find_feature(x, name, type->dtype, &f));
    if (f->kind == DT_FEATURE_BYTES) dt_feature_bytes(f, 0, &bytes, &n);
    const int64_t count = f->kind == DT_FEATURE_BYTES ? (int64_t)n : f->count;
    if (count != dt_type_elements(type))
        return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' has %lld values, expected %lld", name,
                       (long long)count, (long long)dt_type_elements(type));
    if (f->kind == DT_FEATURE_INT64) return copy_integers(f, name, type->dtype, out);
    if (f->kind == DT_FEATURE_FLOAT) return copy_floats(f, name, type->dtype, out);
    if (n > 0) memcpy(out, bytes, n);
    return NULL;
}
