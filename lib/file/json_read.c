/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the size of JSON before parsing. jansson parses by recursion and takes up to 240 bytes per
 * value, so a small file can need much memory: 5 MB of "[" nest five million deep, and 16 MiB of
 * "{}," become a gigabyte. So a first pass, which takes no memory, estimates depth and memory.
 */
#include "file/json_read.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json_load.h"

enum {
    DEEPEST = 64,
    /* counted for each object and list: an object of jansson 2.14 with its table of 8 buckets,
     * including the allocator's overhead */
    LIST_BYTES = 240,
    VALUE_BYTES = 100, /* upper estimate of the bytes for a short string or a member of an object */
};
static const size_t heaviest = (size_t)192 << 20;

typedef struct weighing {
    int depth, deepest;
    size_t bytes; /* estimate of the bytes that jansson will take, besides long strings */
} weighing;

/* Returns the position after the string that begins at i. */
static size_t skip_string(const char *text, size_t i, size_t n) {
    for (i++; i < n && text[i] != '"'; i++)
        if (text[i] == '\\') i++;
    return i + 1;
}

/* Estimates memory and depth of the first n bytes. They need not be JSON: jansson reports that. */
static weighing weigh(const char *text, size_t n) {
    weighing w = {0};
    for (size_t i = 0; i < n;) {
        char c = text[i];
        if (c == '"') {
            i = skip_string(text, i, n);
            continue;
        }
        i++;
        if (c == '[' || c == '{') {
            w.bytes += LIST_BYTES;
            if (++w.depth > w.deepest) w.deepest = w.depth;
        } else if (c == ']' || c == '}') {
            w.depth--;
        } else if (c == ',' || c == ':') {
            w.bytes += VALUE_BYTES;
        }
    }
    return w;
}

/* Reports a key that appears twice. jansson's position is after the key's closing quote; the
 * opening quote is the nearest quote before it that is not escaped. */
static dt_status *twice(const dt_json_text *t, size_t stop) {
    if (stop > t->size) stop = t->size;
    size_t end = stop > 0 ? stop - 1 : 0, begin = end;
    while (begin > 0) {
        size_t slashes = 0;
        begin--;
        while (slashes < begin && t->text[begin - 1 - slashes] == '\\') slashes++;
        if (t->text[begin] == '"' && slashes % 2 == 0) break;
    }
    bool outermost = weigh(t->text, begin).depth == 1;
    int length = end - begin > 81 ? 80 : (int)(end - begin) - 1;
    return dt_fail(t->fault, NULL, "%s: %s '%.*s' appears twice", t->path,
                   outermost ? t->member : "key", length > 0 ? length : 0, t->text + begin + 1);
}

static dt_status *explain(const dt_json_text *t, const json_error_t *error) {
    if (json_error_code(error) == json_error_duplicate_key)
        return twice(t, (size_t)error->position);
    return dt_fail(t->fault, NULL, "%s: %s is not JSON (offset %d): %s", t->path, t->part,
                   error->position, error->text);
}

dt_status *dt_json_weigh(const dt_json_text *t) {
    const weighing w = weigh(t->text, t->size);
    if (w.deepest > DEEPEST)
        return dt_fail(t->fault, NULL, "%s: %s nested deeper than %d", t->path, t->part, DEEPEST);
    if (w.bytes > heaviest)
        return dt_fail(
            t->fault, NULL,
            "%s: %s has too many values; reading them would take %zu MiB, the limit is %zu",
            t->path, t->part, w.bytes >> 20, heaviest >> 20);
    return NULL;
}

dt_status *dt_json_parse(const dt_json_text *t, json_t **out) {
    json_error_t error;
    *out = NULL;
    DT_TRY(dt_json_weigh(t));
    json_t *root = dt_json_load(t->text, t->size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!root) return explain(t, &error);
    if (!json_is_object(root)) {
        json_decref(root);
        return dt_fail(t->fault, NULL, "%s: %s is JSON but not an object", t->path, t->part);
    }
    *out = root;
    return NULL;
}

bool dt_json_get_int(const json_t *object, const char *key, int64_t *out) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) return false;
    *out = json_integer_value(value);
    return true;
}

/* Reads a number. null is read as NaN, because the writer writes null for numbers that JSON cannot
 * represent. */
static bool read_double(const json_t *value, double *out) {
    *out = json_is_number(value) ? json_number_value(value) : (double)NAN;
    return json_is_number(value) || json_is_null(value);
}

static bool read_digits(const char *text, uint64_t *out) {
    *out = 0;
    for (; *text; text++)
        if (__builtin_mul_overflow(*out, (uint64_t)10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*text - '0'), out))
            return false;
    return true;
}

static bool read_count(const json_t *value, int64_t *out) {
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0;
}

static const char *read_unsigned(const dt_json_member *m, const json_t *value, uint64_t *out) {
    const char *text = json_string_value(value);
    int64_t n;
    if (!m->quoted) {
        if (!read_count(value, &n)) return "must be a count";
        *out = (uint64_t)n;
        return NULL;
    }
    if (!text || !*text || text[strspn(text, "0123456789")]) return "must be a number in quotes";
    return read_digits(text, out) ? NULL : "is too large";
}

static const char *read_list(dt_arena *arena, const dt_json_member *m, const json_t *list,
                             void *out) {
    const size_t n = json_array_size(list);
    const bool counts = m->kind == DT_JSON_INT64S;
    if (!json_is_array(list) || n > (size_t)m->most)
        return dt_arena_printf(arena, "must be a list of at most %d numbers", m->most);
    int64_t *v = dt_arena_array(arena, int64_t, counts ? n + 1 : 0);
    double *x = dt_arena_array(arena, double, counts ? 0 : n + 1);
    *(void **)((char *)out + m->offset) = counts ? (void *)v : x;
    *(int *)((char *)out + m->count) = (int)n;
    for (size_t i = 0; i < n; i++)
        if (counts ? !read_count(json_array_get(list, i), &v[i])
                   : !read_double(json_array_get(list, i), &x[i]))
            return counts ? "must be a count" : "must be a number";
    return NULL;
}

static const char *read_member(dt_arena *arena, const dt_json_member *m, const json_t *value,
                               void *out) {
    void *at = (char *)out + m->offset;
    int64_t n;
    switch (m->kind) {
    case DT_JSON_INT:
        if (!read_count(value, &n) || n > INT_MAX) return "must be a count";
        *(int *)at = (int)n;
        return NULL;
    case DT_JSON_INT64: return read_count(value, at) ? NULL : "must be a count";
    case DT_JSON_UINT64: return read_unsigned(m, value, at);
    case DT_JSON_DOUBLE: return read_double(value, at) ? NULL : "must be a number";
    case DT_JSON_BOOL:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value) ? NULL : "must be true or false";
    case DT_JSON_TEXT:
        *(const char **)at =
            json_is_string(value) ? dt_arena_strdup(arena, json_string_value(value)) : NULL;
        return json_is_string(value) || (json_is_null(value) && !m->if_set) ? NULL
                                                                            : "must be a string";
    case DT_JSON_INT64S:
    case DT_JSON_DOUBLES: return read_list(arena, m, value, out);
    }
    return NULL;
}

const char *dt_json_members_read(dt_arena *arena, const json_t *object, const dt_json_member *table,
                                 void *out) {
    for (const dt_json_member *m = table; m->key || m->put; m++) {
        const json_t *value = m->key ? json_object_get(object, m->key) : NULL;
        if (m->put || (m->if_set && !value)) continue;
        const char *wrong = read_member(arena, m, value, out);
        if (wrong) return dt_arena_printf(arena, "'%s' %s", m->key, wrong);
    }
    return NULL;
}

int64_t dt_json_count(const json_t *value) {
    static const int64_t largest = (int64_t)1 << 53;
    const int64_t n = json_integer_value(value);
    return n > largest ? largest : n < 0 ? 0 : n;
}

/* Copies the numbers of a list into *out, at most as many as the table allows. */
static void lend_list(const dt_json_member *m, const json_t *list, void *out) {
    void *v = *(void **)((char *)out + m->offset);
    const size_t n = json_array_size(list), most = (size_t)m->most;
    const int count = (int)(n < most ? n : most);
    for (int i = 0; i < count; i++)
        if (m->kind == DT_JSON_INT64S)
            ((int64_t *)v)[i] = dt_json_count(json_array_get(list, (size_t)i));
        else read_double(json_array_get(list, (size_t)i), &((double *)v)[i]);
    *(int *)((char *)out + m->count) = count;
}

static void lend_member(const dt_json_member *m, const json_t *value, void *out) {
    void *at = (char *)out + m->offset;
    const int64_t n = dt_json_count(value);
    switch (m->kind) {
    case DT_JSON_INT: *(int *)at = n < INT_MAX ? (int)n : INT_MAX; break;
    case DT_JSON_INT64: *(int64_t *)at = n; break;
    case DT_JSON_UINT64:
        if (read_unsigned(m, value, at)) *(uint64_t *)at = 0;
        break;
    case DT_JSON_DOUBLE: read_double(value, at); break;
    case DT_JSON_BOOL: *(bool *)at = json_is_true(value); break;
    case DT_JSON_TEXT: *(const char **)at = json_string_value(value); break;
    case DT_JSON_INT64S:
    case DT_JSON_DOUBLES: lend_list(m, value, out); break;
    }
}

void dt_json_members_lend(const json_t *object, const dt_json_member *table, void *out) {
    for (const dt_json_member *m = table; m->key || m->put; m++)
        if (m->key) lend_member(m, json_object_get(object, m->key), out);
}

bool dt_json_texts(dt_arena *arena, const json_t *list, dt_texts *out) {
    const int n = (int)json_array_size(list);
    *out = (dt_texts){.n = n, .v = dt_arena_array(arena, const char *, n)};
    for (int i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, (size_t)i));
        if (!text) return false;
        out->v[i] = dt_arena_strdup(arena, text);
    }
    return !list || json_is_array(list);
}
