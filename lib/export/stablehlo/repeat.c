/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds repeated blocks: runs of items in which the same ops on the same types are repeated at a
 * fixed distance, with inputs from corresponding places.
 *
 *     item   ... 7 dot 8 add 9 tanh | 10 dot 11 add 12 tanh | 13 dot 14 add 15 tanh | 16 reduce
 *     dot    reads the tanh of the block before (the first one: item 2), and a weight of its own
 *     add    reads the dot of its block, and item 3, as all blocks do
 *
 * Distances are guessed from earlier occurrences of the same few ops. A range of items is a
 * candidate if each equals the item one distance before it. Candidates that save most text are
 * tried first. A wrong guess does no harm, because all items of all blocks are compared.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "export/stablehlo/blocks.h"

enum {
    WINDOW = 6,        /* number of adjacent items that are compared to guess a distance */
    MOST_PERIODS = 32, /* most distances between equal windows that are considered */
    FEWEST_BLOCKS = 3,
    FEWEST_SAVED = 32 /* a loop must save at least this many items, because of its own text */
};

typedef struct candidate {
    int first, n, period; /* the first item, the number of blocks, and the items of a block */
} candidate;

typedef struct search {
    const dt_hlo_order *o;
    dt_arena *arena;
    uint64_t *symbol; /* [items] a hash of the item's op, attributes and types */
    bool *taken;      /* [items] whether the item is in a repeat already */
    int n, cap;
    candidate *found;
} search;

static const dt_node *node_of(const dt_hlo_order *o, int item) {
    return &o->g->node[o->item[item].node];
}

/* ---- items that are alike ---- */

/* Returns the attributes with 0 in place of the number that may differ between blocks. `room` is
 * memory for a copy. */
static const void *unnumbered(const dt_node *n, void *room) {
    if (!n->op->attr.number || n->op->attr.size == 0) return n->attr;
    memcpy(room, n->attr, n->op->attr.size);
    memset((char *)room + n->op->attr.number - 1, 0, sizeof(uint64_t));
    return room;
}

static uint64_t symbol_of(const dt_hlo_order *o, int item) {
    const dt_node *n = node_of(o, item);
    uint64_t room[64], h = dt_hash_bytes((uint64_t)(uintptr_t)n->op, &n->type, sizeof n->type);
    h = dt_hash_bytes(h, unnumbered(n, room), n->op->attr.size);
    for (int k = 0; k < n->n_in; k++)
        h = dt_hash_bytes(h, &node_of(o, o->item[item].in[k])->type, sizeof n->type);
    return h;
}

static bool are_alike(const dt_hlo_order *o, int a, int b) {
    const dt_node *x = node_of(o, a), *y = node_of(o, b);
    uint64_t room[2][64];
    if (x->op != y->op || !dt_type_equal(&x->type, &y->type)) return false;
    if (x->op->attr.size &&
        memcmp(unnumbered(x, room[0]), unnumbered(y, room[1]), x->op->attr.size) != 0)
        return false;
    for (int k = 0; k < x->n_in; k++)
        if (!dt_type_equal(&node_of(o, o->item[a].in[k])->type,
                           &node_of(o, o->item[b].in[k])->type))
            return false;
    return true;
}

static uint64_t number_of(const dt_node *n) {
    uint64_t x = 0;
    if (n->op->attr.number) memcpy(&x, (const char *)n->attr + n->op->attr.number - 1, sizeof x);
    return x;
}

/* ---- candidates ---- */

static uint64_t window_at(const search *s, int i) {
    return dt_hash_bytes(0, &s->symbol[i], WINDOW * sizeof *s->symbol);
}

static int by_count(const void *a, const void *b) {
    const int *x = a, *y = b; /* compares pairs of a count and a distance, which are int[2] */
    return x[0] != y[0] ? y[0] - x[0] : x[1] - y[1];
}

/* Lists the distances at which windows are repeated, the most frequent ones first; returns their
 * number. */
static int list_periods(const search *s, int period[MOST_PERIODS]) {
    int items = s->o->n - s->o->from, n = 0;
    int(*count)[2] = dt_arena_alloc(s->arena, ((size_t)items + 1) * sizeof *count);
    dt_hash_index seen = {0};
    for (int i = 0; i <= items; i++) count[i][0] = 0, count[i][1] = i;
    for (int i = 0; i + WINDOW <= items; i++) {
        uint64_t h = window_at(s, s->o->from + i);
        for (int k = dt_hash_index_first(&seen, h); k >= 0; k = dt_hash_index_next(&seen, k))
            if (window_at(s, s->o->from + k) == h) {
                count[i - k][0]++;
                break;
            }
        dt_hash_index_add(&seen, h);
    }
    dt_hash_index_release(&seen);
    qsort(count, (size_t)items + 1, sizeof *count, by_count);
    while (n < MOST_PERIODS && n <= items && count[n][0] > 0) {
        period[n] = count[n][1];
        n++;
    }
    return n;
}

/* Returns the number of values that cross item `at`: computed at most a period before it and read
 * at most a period after it. */
static int crossing(const dt_hlo_order *o, int at, int period) {
    int n = 0;
    DT_LOCAL bool *seen = dt_alloc((size_t)period + 1);
    for (int i = at; i < at + period && i < o->n; i++)
        for (int k = 0; k < node_of(o, i)->n_in; k++) {
            int in = o->item[i].in[k];
            if (in >= at - period && in < at && !seen[in - at + period]) {
                seen[in - at + period] = true;
                n++;
            }
        }
    return n;
}

enum { MOST_CUTS = 64 };

/* Adds items [from, to), which repeat at this period, as a candidate if they save enough text.
 * Blocks begin where few values pass from one to the next. */
static void add_candidate(search *s, int from, int to, int period) {
    int n = (to - from) / period, rest = (to - from) % period, best = 0, least = -1;
    int step = 1 + rest / MOST_CUTS, middle = n / 2 * period;
    if (n < FEWEST_BLOCKS || (n - 1) * (long)period < FEWEST_SAVED) return;
    for (int shift = 0; shift <= rest; shift += step) {
        int c = crossing(s->o, from + middle + shift, period);
        if (least < 0 || c < least) least = c, best = shift;
    }
    DT_GROW(s->found, s->cap, s->n + 1);
    s->found[s->n++] = (candidate){from + best, n, period};
}

static void list_at(search *s, int period) {
    for (int i = s->o->from + period, start = i; i <= s->o->n; i++)
        if (i == s->o->n || s->symbol[i] != s->symbol[i - period]) {
            add_candidate(s, start - period, i, period);
            start = i + 1;
        }
}

/* The distances between blocks that are tried are those at which windows are repeated, times 1 to
 * MOST_TURNS. A multiple is needed if the statements of equal layers that run in parallel, such as
 * those of Bidirectional, alternate. */
enum { MOST_TURNS = 4 };

static void list_candidates(search *s) {
    int period[MOST_PERIODS], n = list_periods(s, period);
    for (int p = 0; p < n; p++)
        for (int turns = 1; turns <= MOST_TURNS && turns * (long)period[p] < s->o->n; turns++)
            list_at(s, turns * period[p]);
}

static int by_saved(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    long p = (x->n - 1L) * x->period, q = (y->n - 1L) * y->period;
    return p != q                   ? (p < q ? 1 : -1)
           : x->period != y->period ? x->period - y->period
                                    : x->first - y->first;
}

/* ---- inputs, and equal blocks ---- */

static int carry_at(dt_hlo_repeat *r, int offset, int init) {
    for (int i = 0; i < r->n_carries; i++)
        if (r->carry[i].offset == offset && r->carry[i].init == init) return i;
    DT_GROW(r->carry, r->cap_carries, r->n_carries + 1);
    r->carry[r->n_carries] = (dt_hlo_carry){offset, init};
    return r->n_carries++;
}

static void add_same(const dt_hlo_order *o, dt_hlo_repeat *r, int item) {
    if (o->item[item].light) {
        for (int k = 0; k < node_of(o, item)->n_in; k++) add_same(o, r, o->item[item].in[k]);
        return;
    }
    for (int i = 0; i < r->n_same; i++)
        if (r->same[i] == item) return;
    DT_GROW(r->same, r->cap_same, r->n_same + 1);
    r->same[r->n_same++] = item;
}

/* Finds where the blocks get input k of their item at this offset. The kind of source
 * (dt_hlo_source) must be the same for all blocks, and for INSIDE, CARRIED and SAME the index, too.
 * For EACH, bind_each sets the index. Returns false if the blocks differ; then *bad is the first
 * one that does. */
static bool bind(const dt_hlo_order *o, dt_hlo_repeat *r, int offset, int k, dt_hlo_bind *out,
                 int *bad) {
    const dt_hlo_item *item = &o->item[r->first + offset], *second = item + r->period;
    int end = r->first + r->n * r->period, a = second->in[k];
    int block = a < r->first ? -1 : (a - r->first) / r->period,
        at = block < 0 ? a : (a - r->first) % r->period;
    bool same = block < 0;
    *bad = 1;
    if (a >= end || (block == 0 && item->in[k] >= r->first)) return false;
    for (int b = block < 0 ? 0 : 1; b < r->n; b++) {
        int in = item[b * r->period].in[k];
        *bad = b;
        if (block < 0 ? in >= r->first : in != r->first + (b - 1 + block) * r->period + at)
            return false;
        same = same && in == a;
    }
    if (block == 1 && item->in[k] != r->first + at) {
        *bad = 0;
        return false;
    }
    if (block >= 0)
        *out = (dt_hlo_bind){block == 1 ? DT_HLO_INSIDE : DT_HLO_CARRIED,
                             block == 1 ? at : carry_at(r, at, item->in[k])};
    else if (same) {
        *out = (dt_hlo_bind){DT_HLO_SAME, a};
        add_same(o, r, a);
    } else *out = (dt_hlo_bind){DT_HLO_EACH, 0};
    return true;
}

static bool bind_each(const search *s, dt_hlo_repeat *r, int offset, int k) {
    const dt_hlo_item *item = &s->o->item[r->first + offset];
    int *list = dt_arena_array(s->arena, int, r->n), i = 0;
    for (int b = 0; b < r->n; b++) list[b] = item[b * r->period].in[k];
    while (i < r->n_lists && memcmp(r->list[i], list, (size_t)r->n * sizeof *list) != 0) i++;
    r->bind[offset][k].at = i;
    if (i < r->n_lists) return true;
    DT_GROW(r->list, r->cap_lists, i + 1);
    r->list[r->n_lists++] = list;
    return node_of(s->o, list[0])->type.rank < DT_MAX_RANK;
}

void dt_hlo_repeat_release(dt_hlo_repeat *r) {
    free(r->carry);
    free(r->list);
    free(r->same);
    *r = (dt_hlo_repeat){.first = r->first, .n = r->n, .period = r->period};
}

/* Sets the members of r that describe the inputs of its blocks. Returns whether all blocks are
 * equal; if not, sets *bad to the first one that differs, or to r->n if a list has values of rank
 * DT_MAX_RANK, which cannot be stacked. */
static bool bind_all(const search *s, dt_hlo_repeat *r, int *bad) {
    const dt_hlo_order *o = s->o;
    r->bind = dt_arena_alloc(s->arena, (size_t)r->period * sizeof *r->bind);
    r->numbered = dt_arena_array(s->arena, bool, r->period);
    for (int j = 0; j < r->period; j++) {
        const dt_node *n = node_of(o, r->first + j);
        for (int b = 1; b < r->n; b++) {
            *bad = b;
            if (!are_alike(o, r->first + j, r->first + b * r->period + j)) return false;
            r->numbered[j] |= number_of(n) != number_of(node_of(o, r->first + b * r->period + j));
        }
        for (int k = 0; k < n->n_in; k++) {
            if (!bind(o, r, j, k, &r->bind[j][k], bad)) return false;
            *bad = r->n;
            if (r->bind[j][k].from == DT_HLO_EACH && !bind_each(s, r, j, k)) return false;
        }
    }
    return true;
}

/* Finds a large range of equal blocks in the candidate. If a block differs from those before it,
 * leaves out this block and all after it or, if it is in the first half, all blocks before it (at
 * least one), and tries again. Returns false if the range becomes too short, or if a list of values
 * cannot be stacked. */
static bool find_longest(const search *s, const candidate *c, dt_hlo_repeat *r) {
    int bad = 0;
    *r = (dt_hlo_repeat){.first = c->first, .n = c->n, .period = c->period};
    while (r->n >= FEWEST_BLOCKS && (r->n - 1) * (long)r->period >= FEWEST_SAVED) {
        if (bind_all(s, r, &bad)) return true;
        dt_hlo_repeat_release(r);
        if (bad == r->n) return false; /* a list of values cannot be stacked */
        if (bad > r->n / 2) r->n = bad;
        else {
            r->first += (bad ? bad : 1) * r->period;
            r->n -= bad ? bad : 1;
        }
    }
    return false;
}

/* ---- all repeats ---- */

static bool is_free(const search *s, const candidate *c) {
    for (int i = c->first; i < c->first + c->n * c->period; i++)
        if (s->taken[i]) return false;
    return true;
}

static void add_repeat(search *s, const candidate *c, dt_hlo_repeats *out) {
    dt_hlo_repeat r;
    if (!is_free(s, c) || !find_longest(s, c, &r)) return;
    for (int i = r.first; i < r.first + r.n * r.period; i++) s->taken[i] = true;
    DT_GROW(out->repeat, out->cap, out->n + 1);
    out->repeat[out->n++] = r;
}

static int by_first(const void *a, const void *b) {
    return ((const dt_hlo_repeat *)a)->first - ((const dt_hlo_repeat *)b)->first;
}

void dt_hlo_find_repeats(const dt_hlo_order *o, dt_arena *arena, dt_hlo_repeats *out) {
    search s = {.o = o,
                .arena = arena,
                .symbol = dt_arena_array(arena, uint64_t, o->n + 1),
                .taken = dt_arena_array(arena, bool, o->n + 1)};
    *out = (dt_hlo_repeats){0};
    for (int i = o->from; i < o->n; i++) s.symbol[i] = symbol_of(o, i);
    list_candidates(&s);
    if (s.n > 0) /* qsort does not accept NULL */
        qsort(s.found, (size_t)s.n, sizeof *s.found, by_saved);
    for (int i = 0; i < s.n; i++) add_repeat(&s, &s.found[i], out);
    free(s.found);
    if (out->n > 0) qsort(out->repeat, (size_t)out->n, sizeof *out->repeat, by_first);
}

void dt_hlo_repeats_release(dt_hlo_repeats *r) {
    for (int i = 0; i < r->n; i++) dt_hlo_repeat_release(&r->repeat[i]);
    free(r->repeat);
    *r = (dt_hlo_repeats){0};
}

int dt_hlo_repeat_of(const dt_hlo_repeats *r, int i, int *block, int *offset) {
    int low = 0, high = r->n;
    while (low < high) {
        int middle = (low + high) / 2;
        const dt_hlo_repeat *at = &r->repeat[middle];
        if (i < at->first) high = middle;
        else if (i >= at->first + at->n * at->period) low = middle + 1;
        else {
            *block = (i - at->first) / at->period;
            *offset = (i - at->first) % at->period;
            return middle;
        }
    }
    return -1;
}
