/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of records: see places.h. A record is the number size + 1 where it begins `gap` bytes
 * behind the end of the one before, else 0, the distance, and its size:
 *
 *     offset 0, gap 1        sizes 5 7 200, with 3 blank lines before the last
 *     codes                  6 8 0 8 200          (distances are written as signed numbers, 4 as 8)
 */
#include "file/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { GROUP = 64 }; /* records: the most numbers that are read to find one */

static void put_number(dt_str *out, uint64_t v) {
    for (; v >= 128; v >>= 7) dt_str_putc(out, (char)((v & 127) | 128));
    dt_str_putc(out, (char)v);
}

static uint64_t get_number(const char *codes, int64_t *at) {
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        const unsigned char c = (unsigned char)codes[(*at)++];
        v |= (uint64_t)(c & 127) << shift;
        if (c < 128) return v;
    }
}

static uint64_t unsigned_of(int64_t v) { return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0); }
static int64_t signed_of(uint64_t v) { return (int64_t)(v >> 1) ^ -(int64_t)(v & 1); }

/* ---- writing ---- */

static void begin_group(dt_places *p, const dt_place *first) {
    DT_GROW(p->group, p->cap_groups, p->n_groups + 1);
    p->group[p->n_groups++] = (struct dt_place_group){.first = (int32_t)p->n,
                                                      .offset = first->offset,
                                                      .code = (int64_t)p->codes.size,
                                                      .file = first->file};
    p->in_group = 0;
    p->end = first->offset;
}

void dt_places_add(dt_places *p, const dt_place *place) {
    if (p->n_groups == 0 || p->in_group == GROUP || p->group[p->n_groups - 1].file != place->file)
        begin_group(p, place);
    struct dt_place_group *g = &p->group[p->n_groups - 1];
    const int64_t gap = place->offset - p->end;
    if (p->in_group == 1 && gap == (int32_t)gap) g->gap = (int32_t)gap;
    if (p->in_group == 0 || gap == g->gap) put_number(&p->codes, (uint64_t)place->size + 1);
    else {
        put_number(&p->codes, 0);
        put_number(&p->codes, unsigned_of(gap));
        put_number(&p->codes, (uint64_t)place->size);
    }
    p->end = place->offset + place->size;
    p->in_group++;
    p->n++;
}

/* ---- reading ---- */

/* Groups are full but for the last one of a file. */
static int group_of(const dt_places *p, int64_t row) {
    int low = (int)(row / GROUP), high = p->n_groups;
    if (low + 1 == high || p->group[low + 1].first > row) return low;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (p->group[middle].first <= row) low = middle;
        else high = middle;
    }
    return low;
}

/* The cursor's next record. */
static dt_place next(const dt_places *p, dt_places_cursor *c) {
    const struct dt_place_group *g = &p->group[c->group];
    int64_t gap = c->row == g->first ? 0 : g->gap, size;
    const uint64_t code = get_number(p->codes.data, &c->code);
    if (code) size = (int64_t)code - 1;
    else {
        gap = signed_of(get_number(p->codes.data, &c->code));
        size = (int64_t)get_number(p->codes.data, &c->code);
    }
    const dt_place found = {c->end + gap, size, g->file};
    c->end = found.offset + size;
    c->row++;
    return found;
}

/* Passes eight records at a time while their numbers are of one byte and none is special. */
static void skip(const dt_places *p, int64_t row, dt_places_cursor *c) {
    const uint64_t ones = 0x0101010101010101u, highs = ones << 7;
    const struct dt_place_group *g = &p->group[c->group];
    while (c->row > g->first && c->row + 8 <= row) {
        uint64_t v;
        memcpy(&v, p->codes.data + c->code, sizeof v);
        if ((v & highs) || ((v - ones) & highs)) return;
        /* seven bits each: pairs, fours and all eight of them are added side by side */
        v = (v & 0x00FF00FF00FF00FFu) + (v >> 8 & 0x00FF00FF00FF00FFu);
        v = (v & 0x0000FFFF0000FFFFu) + (v >> 16 & 0x0000FFFF0000FFFFu);
        c->end += (int64_t)((v & 0xFFFFFFFFu) + (v >> 32)) - 8 + 8 * (int64_t)g->gap;
        c->row += 8;
        c->code += 8;
    }
}

dt_place dt_places_find(const dt_places *p, int64_t row, dt_places_cursor *cursor) {
    dt_places_cursor c = *cursor;
    dt_place found;
    const int end = c.group + 1;
    const bool near = c.row > 0 && c.row <= row && row >= p->group[c.group].first &&
                      (end == p->n_groups || row < p->group[end].first);
    if (!near) {
        c.group = group_of(p, row);
        const struct dt_place_group *g = &p->group[c.group];
        c = (dt_places_cursor){g->first, g->code, g->offset, c.group};
    }
    do {
        skip(p, row, &c);
        found = next(p, &c);
    } while (c.row <= row);
    *cursor = c;
    return found;
}

void dt_places_release(dt_places *p) {
    dt_str_release(&p->codes);
    free(p->group);
    *p = (dt_places){0};
}
