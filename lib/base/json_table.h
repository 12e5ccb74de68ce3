/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a struct as members of a JSON object. A table lists them in order;
 * dt_json_members_read (file/json_read.h) reads what was written by it:
 *
 *     static const dt_json_member members[] = {
 *         DT_JSON(dt_event, step),
 *         DT_JSON_AS("wall_ms", dt_event, wall_s, .ticks = 1e6, .per = 1e3),
 *         DT_JSON_MORE(put_metrics, "the metrics"),
 *         {0},
 *     };
 *     dt_json_members(&j, members, event);
 */
#ifndef DT_BASE_JSON_TABLE_H
#define DT_BASE_JSON_TABLE_H

#include <stddef.h>

#include "base/json.h"

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
    const char *key; /* NULL: `put` writes several members; both NULL: the end of the table */
    dt_json_kind kind;
    size_t offset;
    bool if_set;       /* the member is left out if it is 0 or NULL */
    bool quoted;       /* UINT64: as text, since JSON readers may keep only 53 bits of a number */
    size_t count;      /* for a list: offset of the int that has its length */
    int most;          /* for a list: the most items that are read */
    double ticks, per; /* a double x is written as round(x * ticks) / per; ticks 0: unchanged */
    void (*put)(dt_json *j, const void *of);
} dt_json_member;

/* DT_JSON(type, member, OPTIONS...): a member under its own name; DT_JSON_AS(key, type, member,
 * OPTIONS...): as KEY. The kind follows from the member's type. */
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
