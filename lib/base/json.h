/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON. The library jansson reads it. The functions add commas themselves. Floats have just
 * enough digits to read back bit for bit; not-a-number and infinities, which JSON lacks, become
 * null.
 */
#ifndef DT_BASE_JSON_H
#define DT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef struct dt_json {
    dt_str *out;
    bool comma; /* whether a comma must be written before the next value */
    /* whether the text must be readable as YAML, too, which does not combine surrogate pairs of \u
     * escapes */
    bool yaml;
    /* whether to write no blanks between tokens, and doubles in their shortest form: 1e+05 for
     * 100000 */
    bool compact;
} dt_json;

/* Writes an opening bracket, '{' or '['. key is NULL inside a list and for the outermost value. */
void dt_json_open(dt_json *j, const char *key, char bracket);
/* Writes the closing bracket, '}' or ']'. */
void dt_json_close(dt_json *j, char bracket);
/* Writes a string, or null if value is NULL. */
void dt_json_string(dt_json *j, const char *key, const char *value);
void dt_json_int(dt_json *j, const char *key, int64_t value);
void dt_json_unsigned(dt_json *j, const char *key, uint64_t value);
/* Writes a number with just enough digits to read back bit for bit; null if value is not finite. */
void dt_json_double(dt_json *j, const char *key, double value);
void dt_json_float(dt_json *j, const char *key, float value);
void dt_json_bool(dt_json *j, const char *key, bool value);
void dt_json_null(dt_json *j, const char *key);
/* Write lists of n values. */
void dt_json_strings(dt_json *j, const char *key, const char *const *v, int n);
void dt_json_ints(dt_json *j, const char *key, const int64_t *v, int n);
void dt_json_doubles(dt_json *j, const char *key, const double *v, int n);
/* Writes a value that is JSON text already. */
void dt_json_raw(dt_json *j, const char *key, const char *json);

/*
 * Members of a struct as members of a JSON object. A table lists them in order. With the same
 * table, dt_json_members_read (file/json_read.h) reads the object again, except the members that a
 * function has written (DT_JSON_MORE):
 *
 *     static const dt_json_member members[] = {
 *         DT_JSON(dt_event, step),
 *         DT_JSON_AS("wall_ms", dt_event, wall_s, .ticks = 1e6, .per = 1e3),
 *         DT_JSON_MORE(put_metrics, "the metrics"),
 *         {0},
 *     };
 *     dt_json_members(&j, members, event);
 */
typedef enum dt_json_kind {
    DT_JSON_INT,
    DT_JSON_INT64,
    DT_JSON_UINT64,
    DT_JSON_DOUBLE,
    DT_JSON_BOOL,
    DT_JSON_TEXT,
    DT_JSON_INT64S,
    DT_JSON_DOUBLES
} dt_json_kind;

typedef struct dt_json_member {
    /* NULL: the function `put` writes the row's members; both NULL: the end of the table */
    const char *key;
    dt_json_kind kind;
    size_t offset;
    bool if_set; /* whether the member is left out if its value is 0 or NULL */
    /* for UINT64: whether to write a text, since JSON readers may keep only 53 bits of a number */
    bool quoted;
    size_t count;      /* for a list: the offset of the int with the list's length */
    int most;          /* for a list: the most items that are read back */
    double ticks, per; /* a double x is written as round(x * ticks) / per; ticks 0: unchanged */
    void (*put)(dt_json *j, const void *of);
} dt_json_member;

/* Make a dt_json_member for a member of a struct. DT_JSON(type, member, OPTIONS...): under the
 * member's own name; DT_JSON_AS(key, type, member, OPTIONS...): under another key. Its dt_json_kind
 * follows from the member's type. */
#define DT_JSON(type, ...) DT_JSON_NAMED(type, __VA_ARGS__, )
#define DT_JSON_AS(key_, type, ...) DT_JSON_MEMBER(key_, type, __VA_ARGS__, )
#define DT_JSON_NAMED(type, member, ...) DT_JSON_MEMBER(#member, type, member, __VA_ARGS__)
/* clang-format off */
#define DT_JSON_MEMBER(key_, type, member, ...) {                                                  \
    .key = key_,                                                                                   \
    .kind = _Generic(((type *)0)->member,                                                          \
        int: DT_JSON_INT,                                                                          \
        int64_t: DT_JSON_INT64,                                                                    \
        uint64_t: DT_JSON_UINT64,                                                                  \
        double: DT_JSON_DOUBLE,                                                                    \
        bool: DT_JSON_BOOL,                                                                        \
        double *: DT_JSON_DOUBLES,                                                                 \
        const int64_t *: DT_JSON_INT64S,                                                           \
        const char *: DT_JSON_TEXT),                                                               \
    .offset = offsetof(type, member),                                                              \
    __VA_ARGS__ }
/* clang-format on */
/* A member that a function writes. `what` describes it in the reference that scripts/reference
 * writes. */
#define DT_JSON_MORE(put_, what)                                                                   \
    { .put = put_ }

void dt_json_members(dt_json *j, const dt_json_member *table, const void *of);

#endif
