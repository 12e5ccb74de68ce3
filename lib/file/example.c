/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tf.Example; see example.h. */
#include "file/example.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/protobuf.h"

/* ---- lists ---- */

static bool count_packed(dt_feature_kind kind, dt_pb_span in, int64_t *count, const char **why)
{
    uint64_t ignored;
    if (kind == DT_FEATURE_FLOAT) {
        *count += (in.end - in.at) / 4;
        return (in.end - in.at) % 4 == 0;
    }
    for (; in.at < in.end; ++*count)
        if (!dt_pb_varint(&in, &ignored, why))
            return false;
    return true;
}

static bool count_values(dt_feature *f, const char **why)
{
    dt_pb_span s = {f->list, f->list + f->size};
    dt_pb_field x;
    while (s.at < s.end) {
        if (!dt_pb_next(&s, &x, why))
            return false;
        if (x.number != 1)
            continue;
        if (f->kind == DT_FEATURE_BYTES ? x.type != DT_PB_BYTES : x.type != DT_PB_BYTES && x.type != (f->kind == DT_FEATURE_FLOAT ? DT_PB_FIXED32 : DT_PB_VARINT))
            return false;
        if (f->kind == DT_FEATURE_BYTES || x.type != DT_PB_BYTES)
            f->count++;
        else if (!count_packed(f->kind, x.bytes, &f->count, why))
            return false;
    }
    return true;
}

/* The last list of a Feature is the one that counts. */
static bool read_feature(dt_pb_span s, dt_feature *f, const char **why)
{
    dt_pb_field x;
    while (s.at < s.end) {
        if (!dt_pb_next(&s, &x, why))
            return false;
        if (x.number > DT_FEATURE_INT64)
            continue;
        if (x.type != DT_PB_BYTES)
            return false;
        f->kind = (dt_feature_kind)x.number;
        f->list = x.bytes.at;
        f->size = (size_t)(x.bytes.end - x.bytes.at);
        f->count = 0;
        if (!count_values(f, why))
            return false;
    }
    return true;
}

/* ---- the example ---- */

static dt_feature *slot(dt_parsed_example *x, const dt_feature *f)
{
    for (int i = 0; i < x->n; i++)
        if (x->feature[i].name_size == f->name_size && memcmp(x->feature[i].name, f->name, f->name_size) == 0)
            return &x->feature[i];
    DT_GROW(x->feature, x->cap, x->n + 1);
    return &x->feature[x->n++];
}

enum { MOST_FEATURES = 4096 };

static bool read_entry(dt_parsed_example *x, dt_pb_span s, const char **why)
{
    dt_feature f = {.name = ""};
    dt_pb_field y;
    while (s.at < s.end) {
        if (!dt_pb_next(&s, &y, why))
            return false;
        if (y.number <= 2 && y.type != DT_PB_BYTES)
            return false;
        if (y.number == 1) {
            f.name = (const char *)y.bytes.at;
            f.name_size = (size_t)(y.bytes.end - y.bytes.at);
        } else if (y.number == 2 && !read_feature(y.bytes, &f, why)) {
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

static bool read_features(dt_parsed_example *x, dt_pb_span s, const char **why)
{
    dt_pb_field y;
    while (s.at < s.end) {
        if (!dt_pb_next(&s, &y, why))
            return false;
        if (y.number == 1 && (y.type != DT_PB_BYTES || !read_entry(x, y.bytes, why)))
            return false;
    }
    return true;
}

bool dt_parsed_example_read(dt_parsed_example *x, const void *bytes, size_t n, const char **why)
{
    dt_pb_span s = {bytes, (const unsigned char *)bytes + n};
    dt_pb_field y;
    x->n = 0;
    *why = "";
    while (s.at < s.end) {
        if (!dt_pb_next(&s, &y, why))
            return false;
        if (y.number == 1 && (y.type != DT_PB_BYTES || !read_features(x, y.bytes, why)))
            return false;
    }
    return true;
}

void dt_parsed_example_release(dt_parsed_example *x)
{
    free(x->feature);
    *x = (dt_parsed_example){0};
}

const dt_feature *dt_parsed_example_find(const dt_parsed_example *x, const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; i < x->n; i++)
        if (x->feature[i].name_size == n && memcmp(x->feature[i].name, name, n) == 0)
            return &x->feature[i];
    return NULL;
}

const char *dt_feature_kind_name(dt_feature_kind k)
{
    static const char *const names[] = {"empty", "bytes_list", "float_list", "int64_list"};
    return names[k];
}

/* ---- values: the lists have been walked once, so nothing can be wrong with them ---- */

void dt_feature_int64s(const dt_feature *f, int64_t *out)
{
    dt_pb_span s = {f->list, f->list + f->size};
    const char *why;
    dt_pb_field x;
    uint64_t value;
    while (s.at < s.end && dt_pb_next(&s, &x, &why)) {
        if (x.number == 1 && x.type == DT_PB_VARINT)
            *out++ = (int64_t)x.value;
        while (x.number == 1 && x.type == DT_PB_BYTES && x.bytes.at < x.bytes.end && dt_pb_varint(&x.bytes, &value, &why))
            *out++ = (int64_t)value;
    }
}

static float little_float(const unsigned char *p)
{
    uint32_t bits = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

void dt_feature_floats(const dt_feature *f, float *out)
{
    dt_pb_span s = {f->list, f->list + f->size};
    const char *why;
    dt_pb_field x;
    while (s.at < s.end && dt_pb_next(&s, &x, &why))
        for (const unsigned char *p = x.bytes.at; x.number == 1 && p < x.bytes.end; p += 4)
            *out++ = little_float(p);
}

void dt_feature_bytes(const dt_feature *f, int64_t i, const unsigned char **bytes, size_t *n)
{
    dt_pb_span s = {f->list, f->list + f->size};
    const char *why;
    dt_pb_field x;
    while (s.at < s.end && dt_pb_next(&s, &x, &why))
        if (x.number == 1 && i-- == 0) {
            *bytes = x.bytes.at;
            *n = (size_t)(x.bytes.end - x.bytes.at);
            return;
        }
}
