/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the records of files are, at most 2^30 of them, in 1.5 bytes a record of up to 126 bytes and
 * 2.5 bytes of one of up to 16 KiB: sizes follow one another as numbers of variable length, and each
 * group of records has the place of its first one.
 */
#ifndef DT_FILE_PLACES_H
#define DT_FILE_PLACES_H

#include "base/str.h"

typedef struct dt_place {
    int64_t offset, size; /* bytes; size: up to 1 GiB */
    int file;
} dt_place;

typedef struct dt_places {
    int64_t n;
    dt_str codes;
    int n_groups, cap_groups, in_group;
    int64_t end; /* of the last record */
    struct dt_place_group {
        int64_t offset, code; /* of its first record; where its numbers begin in `codes` */
        int32_t first, file;  /* the first record's number */
        int32_t gap;          /* bytes between most of its records, such as line ends */
    } * group;
} dt_places;

/* How far one reader has come; zeroed before it is used, and kept by one thread. */
typedef struct dt_places_cursor {
    int64_t row, code, end; /* the next record; 0: none yet */
    int group;
} dt_places_cursor;

/* Adds a record at the end. */
void dt_places_add(dt_places *p, const dt_place *place);
/* The place of record `row`, which exists: at once behind the one that the cursor found last, else
 * by reading the numbers of a group. */
dt_place dt_places_find(const dt_places *p, int64_t row, dt_places_cursor *cursor);
void dt_places_release(dt_places *p); /* leaves an empty list */

#endif
