/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tf.Example; see example.h. */
#include "data/record/example.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

typedef struct span {
    const unsigned char *at, *end;
} span;

/* One field of a message. */
typedef struct field {
    uint64_t number, value; /* value: of varints */
    int wire;
    span inside;            /* of everything else */
} field;

enum { VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 5, LONGEST_VARINT = 10 };

/* ---- protobuf's wire form ---- */

static bool read_varint(span *s, uint64_t *out, const char **why)
{
    *out = 0;
    for (int i = 0; i < LONGEST_VARINT && s->at < s->end; i++) {
        unsigned char b = *s->at++;
        *out |= (uint64_t)(b & 127) << 7 * i;
        if (!(b & 128))
            return i < LONGEST_VARINT - 1 || b <= 1;
    }
    if (s->at < s->end)
        *why = "varint too long";
    return false;
}

static bool take(span *s, uint64_t n, span *out)
{
    if (n > (uint64_t)(s->end - s->at))
        return false;
    *out = (span){s->at, s->at + n};
    s->at += n;
    return true;
}

static bool read_field(span *s, field *f, const char **why)
{
    uint64_t tag, n;
    if (!read_varint(s, &tag, why))
        return false;
    *f = (field){.number = tag >> 3, .wire = (int)(tag & 7)};
    switch (f->wire) {
    case VARINT:
        return f->number > 0 && read_varint(s, &f->value, why);
    case EIGHT_BYTES:
        return f->number > 0 && take(s, 8, &f->inside);
    case LENGTH:
        return f->number > 0 && read_varint(s, &n, why) && take(s, n, &f->inside);
    case FOUR_BYTES:
        return f->number > 0 && take(s, 4, &f->inside);
    default: /* groups */
        return false;
    }
}

/* ---- lists ---- */

static bool count_packed(dt_feature_kind kind, span in, int64_t *count, const char **why)
{
    uint64_t ignored;
    if (kind == DT_FEATURE_FLOAT) {
        *count += (in.end - in.at) / 4;
        return (in.end - in.at) % 4 == 0;
    }
    for (; in.at < in.end; ++*count)
        if (!read_varint(&in, &ignored, why))
            return false;
    return true;
}

static bool count_values(dt_feature *f, const char **why)
{
    span s = {f->list, f->list + f->size};
    field x;
    while (s.at < s.end) {
        if (!read_field(&s, &x, why))
            return false;
        if (x.number != 1)
            continue;
        if (f->kind == DT_FEATURE_BYTES ? x.wire != LENGTH : x.wire != LENGTH && x.wire != (f->kind == DT_FEATURE_FLOAT ? FOUR_BYTES : VARINT))
            return false;
        if (f->kind == DT_FEATURE_BYTES || x.wire != LENGTH)
            f->count++;
        else if (!count_packed(f->kind, x.inside, &f->count, why))
            return false;
    }
    return true;
}

/* The last list of a Feature is the one that counts. */
static bool read_feature(span s, dt_feature *f, const char **why)
{
    field x;
    while (s.at < s.end) {
        if (!read_field(&s, &x, why))
            return false;
        if (x.number > DT_FEATURE_INT64)
            continue;
        if (x.wire != LENGTH)
            return false;
        f->kind = (dt_feature_kind)x.number;
        f->list = x.inside.at;
        f->size = (size_t)(x.inside.end - x.inside.at);
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

static bool read_entry(dt_parsed_example *x, span s, const char **why)
{
    dt_feature f = {.name = ""};
    field y;
    while (s.at < s.end) {
        if (!read_field(&s, &y, why))
            return false;
        if (y.number <= 2 && y.wire != LENGTH)
            return false;
        if (y.number == 1) {
            f.name = (const char *)y.inside.at;
            f.name_size = (size_t)(y.inside.end - y.inside.at);
        } else if (y.number == 2 && !read_feature(y.inside, &f, why)) {
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

static bool read_features(dt_parsed_example *x, span s, const char **why)
{
    field y;
    while (s.at < s.end) {
        if (!read_field(&s, &y, why))
            return false;
        if (y.number == 1 && (y.wire != LENGTH || !read_entry(x, y.inside, why)))
            return false;
    }
    return true;
}

bool dt_parsed_example_read(dt_parsed_example *x, const void *bytes, size_t n, const char **why)
{
    span s = {bytes, (const unsigned char *)bytes + n};
    field y;
    x->n = 0;
    *why = "";
    while (s.at < s.end) {
        if (!read_field(&s, &y, why))
            return false;
        if (y.number == 1 && (y.wire != LENGTH || !read_features(x, y.inside, why)))
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
    span s = {f->list, f->list + f->size};
    const char *why;
    field x;
    uint64_t value;
    while (s.at < s.end && read_field(&s, &x, &why)) {
        if (x.number == 1 && x.wire == VARINT)
            *out++ = (int64_t)x.value;
        while (x.number == 1 && x.wire == LENGTH && x.inside.at < x.inside.end && read_varint(&x.inside, &value, &why))
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
    span s = {f->list, f->list + f->size};
    const char *why;
    field x;
    while (s.at < s.end && read_field(&s, &x, &why))
        for (const unsigned char *p = x.inside.at; x.number == 1 && p < x.inside.end; p += 4)
            *out++ = little_float(p);
}

void dt_feature_bytes(const dt_feature *f, int64_t i, const unsigned char **bytes, size_t *n)
{
    span s = {f->list, f->list + f->size};
    const char *why;
    field x;
    while (s.at < s.end && read_field(&s, &x, &why))
        if (x.number == 1 && i-- == 0) {
            *bytes = x.inside.at;
            *n = (size_t)(x.inside.end - x.inside.at);
            return;
        }
}
