/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores where records are in files: see places.h. The numbers of a group have w bits each and
 * follow one another without gaps. They begin at a 32-bit word, the first number in the lowest
 * bits.
 *
 *     sizes 130 141 133      smallest 130, in 4 bits   0000 1011 0011
 *     gaps    -   1   1      smallest 1, in 0 bits
 */
#include "file/places.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { WORD = 32 }; /* bits per word */

static size_t words_of(int n, int bits) { return ((size_t)n * (size_t)bits + WORD - 1) / WORD; }

static int bits_of(uint32_t v) {
    int n = 0;
    for (; v > 0; v >>= 1) n++;
    return n;
}

/* Writes the differences between n numbers and the smallest of them, with as few bits as
 * possible. */
static void write_numbers(dt_places *p, const int32_t *v, int n, int32_t *smallest, uint8_t *bits) {
    uint32_t word[DT_PLACES_GROUP + 1] = {0};
    int32_t least = v[0], most = v[0];
    for (int i = 1; i < n; i++) {
        if (v[i] < least) least = v[i];
        if (v[i] > most) most = v[i];
    }
    const int width = bits_of((uint32_t)most - (uint32_t)least);
    for (int i = 0; i < n && width > 0; i++) {
        const int bit = i * width;
        const uint64_t more = (uint64_t)((uint32_t)v[i] - (uint32_t)least) << bit % WORD;
        word[bit / WORD] |= (uint32_t)more;
        word[bit / WORD + 1] |= (uint32_t)(more >> WORD);
    }
    dt_str_add(&p->codes, (const char *)word, words_of(n, width) * sizeof *word);
    *smallest = least;
    *bits = (uint8_t)width;
}

static void close_group(dt_places *p, dt_places_group *g) {
    static const char end[WORD / CHAR_BIT] = {0};
    const int n = (int)(p->n - g->first);
    if (p->codes.size > 0) p->codes.size -= sizeof end;
    g->code = (uint32_t)(p->codes.size / sizeof end);
    p->gap[0] = n > 1 ? p->gap[1] : 0;
    write_numbers(p, p->size, n, &g->size, &g->size_bits);
    write_numbers(p, p->gap, n, &g->gap, &g->gap_bits);
    /* padding, because numbers are read two words at a time */
    dt_str_add(&p->codes, end, sizeof end);
}

static void begin_group(dt_places *p, const dt_record_range *first) {
    if (p->n_groups > 0) close_group(p, &p->group[p->n_groups - 1]);
    DT_GROW(p->group, p->cap_groups, p->n_groups + 1);
    p->group[p->n_groups++] =
        (dt_places_group){.offset = first->offset, .first = (int32_t)p->n, .file = first->file};
}

void dt_places_add(dt_places *p, const dt_record_range *place) {
    const dt_places_group *g = p->n_groups > 0 ? &p->group[p->n_groups - 1] : NULL;
    const int64_t gap = place->offset - p->end;
    if (!g || p->n - g->first == DT_PLACES_GROUP || g->file != place->file || gap != (int32_t)gap) {
        begin_group(p, place);
        g = &p->group[p->n_groups - 1];
    }
    p->size[p->n - g->first] = (int32_t)place->size;
    p->gap[p->n - g->first] = (int32_t)gap;
    p->end = place->offset + place->size;
    p->n++;
}

/* Returns the group of a record. All groups are full, except the last one of each file and those
 * before a gap that no int32 can hold. So the number of a record's group is at least
 * row / DT_PLACES_GROUP. */
static int group_of(const dt_places *p, int64_t row) {
    int low = (int)(row / DT_PLACES_GROUP), high = p->n_groups;
    if (low + 1 == high || p->group[low + 1].first > row) return low;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (p->group[middle].first <= row) low = middle;
        else high = middle;
    }
    return low;
}

/* Returns the sum of the differences of numbers [from, to), which have `bits` bits each and begin
 * at `word`. */
static int64_t sum_numbers(const dt_places *p, size_t word, int bits, int from, int to) {
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    const char *at = p->codes.data + word * sizeof(uint32_t);
    int64_t sum = 0;
    for (int i = from; i < to && bits > 0; i++) {
        const int bit = i * bits;
        uint32_t two[2];
        memcpy(two, at + (size_t)(bit / WORD) * sizeof *two, sizeof two);
        sum += (int64_t)(((uint64_t)two[1] << WORD | two[0]) >> bit % WORD & mask);
    }
    return sum;
}

/* Returns the sum of the sizes of records [from, to) in a group. */
static int64_t sizes(const dt_places *p, int group, int from, int to) {
    const dt_places_group *g = &p->group[group];
    int64_t sum = 0;
    if (group + 1 < p->n_groups)
        return sum_numbers(p, g->code, g->size_bits, from, to) + (int64_t)g->size * (to - from);
    for (int i = from; i < to; i++) sum += p->size[i];
    return sum;
}

/* Returns the sum of the gaps before records [from, to) in a group; a group has no gap before its
 * first record. */
static int64_t gaps(const dt_places *p, int group, int from, int to) {
    const dt_places_group *g = &p->group[group];
    int64_t sum = 0;
    if (from == 0) from = 1;
    if (from >= to) return 0;
    if (group + 1 < p->n_groups) {
        const size_t word = g->code + words_of(g[1].first - g->first, g->size_bits);
        return sum_numbers(p, word, g->gap_bits, from, to) + (int64_t)g->gap * (to - from);
    }
    for (int i = from; i < to; i++) sum += p->gap[i];
    return sum;
}

dt_record_range dt_places_find(const dt_places *p, int64_t row, dt_places_cursor *cursor) {
    dt_places_cursor c = *cursor;
    const int next = c.group + 1;
    const bool near = c.row > 0 && c.row <= row && row >= p->group[c.group].first &&
                      (next == p->n_groups || row < p->group[next].first);
    if (!near) {
        c.group = group_of(p, row);
        c.row = p->group[c.group].first;
        c.end = p->group[c.group].offset;
    }
    const dt_places_group *g = &p->group[c.group];
    const int from = (int)(c.row - g->first), at = (int)(row - g->first);
    const int64_t offset = c.end + sizes(p, c.group, from, at) + gaps(p, c.group, from, at + 1);
    const dt_record_range found = {offset, sizes(p, c.group, at, at + 1), g->file};
    *cursor = (dt_places_cursor){row + 1, offset + found.size, c.group};
    return found;
}

void dt_places_release(dt_places *p) {
    dt_str_release(&p->codes);
    free(p->group);
    *p = (dt_places){0};
}
