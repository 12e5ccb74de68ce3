/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where records are in files, for at most 2^30 records. A group of up to 128 records has the
 * position of its first record, the smallest size, and the smallest gap between two records (such
 * as a line end). A record has only the differences to these, in as many bits as the group needs.
 * If all gaps are equal, that is 2 bytes per record where sizes differ by less than 16 KiB, and 1.1
 * bytes where they differ by up to 127 bytes.
 */
#ifndef DT_FILE_PLACES_H
#define DT_FILE_PLACES_H

#include "base/str.h"

typedef struct dt_record_range {
    int64_t offset, size; /* position and size in bytes; the size is at most 1 GiB */
    int file;
} dt_record_range;

/* most records per group, and so the most sizes and the most gaps to read to find a record */
enum { DT_PLACES_GROUP = 128 };

typedef struct dt_places_group {
    int64_t offset; /* offset of the group's first record */
    uint32_t code;  /* word in `codes` where the group's numbers begin: first sizes, then gaps */
    int32_t first, file; /* first: index of the group's first record */
    int32_t size, gap;   /* the smallest size and gap in bytes */
    uint8_t size_bits, gap_bits;
} dt_places_group;

typedef struct dt_places {
    int64_t n;
    /* the numbers of all groups except the last one: 32-bit words, and one word of padding */
    dt_str codes;
    int n_groups, cap_groups;
    dt_places_group *group;
    int64_t end; /* position of the end of the last record */
    /* the sizes and gaps of the last group, which may still grow; gap[0] is not used */
    int32_t size[DT_PLACES_GROUP], gap[DT_PLACES_GROUP];
} dt_places;

/* The position of one reader, which makes reading in order fast. Zero it before use; only one
 * thread may use it. */
typedef struct dt_places_cursor {
    /* row: index of the next record, 0: none was read so far; end: position in its file where the
     * record before it ends. */
    int64_t row, end;
    int group;
} dt_places_cursor;

/* Adds a record after the last one. A record of another file begins a new group, and so does one
 * behind a gap that no int32 can hold. */
void dt_places_add(dt_places *p, const dt_record_range *place);
/* Finds record `row`, which must exist. This is immediate for the record after the one found last;
 * otherwise it reads up to all numbers of a group. */
dt_record_range dt_places_find(const dt_places *p, int64_t row, dt_places_cursor *cursor);
void dt_places_release(dt_places *p); /* the list is empty afterwards */

#endif
