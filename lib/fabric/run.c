/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a schedule on an array, whose elements are those of several items, one after the other. A
 * rank walks its own list of actions. The schedule, not this file, decides which element gets which
 * sum in which order.
 *
 *     items    [ kernel .......... | bias | scale | kernel ........ ]
 *     chunks   [ sent .............................| added ........ ]
 *     parcels    kernel              bias scale     kernel             a long stretch goes from where it is to where it is wanted; short ones are packed together
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/half.h"
#include "fabric/fabric.h"

/* ---- sums ---- */

/* In blocks, which compilers turn into vector instructions at any level of optimization. */
#define SUM(name, type)                                                                            \
    static void name(void *to, const void *left, const void *right, int64_t n) {                   \
        enum { BLOCK = 64 / sizeof(type) };                                                        \
        type *c = to;                                                                              \
        const type *a = left, *b = right;                                                          \
        int64_t i = 0;                                                                             \
        for (; i + BLOCK <= n; i += BLOCK) {                                                       \
            type sum[BLOCK];                                                                       \
            for (int k = 0; k < BLOCK; k++) sum[k] = (type)(a[i + k] + b[i + k]);                  \
            memcpy(c + i, sum, sizeof sum);                                                        \
        }                                                                                          \
        for (; i < n; i++) c[i] = (type)(a[i] + b[i]);                                             \
    }
/* Signed integers are added as unsigned ones: the same bits, and wrapping is defined. */
SUM(sum_8, uint8_t)
SUM(sum_16, uint16_t)
SUM(sum_32, uint32_t)
SUM(sum_64, uint64_t)
SUM(sum_float32, float)
SUM(sum_float64, double)
#undef SUM

/* Each sum is rounded. */
static void sum_float16(void *to, const void *left, const void *right, int64_t n) {
    uint16_t *c = to;
    const uint16_t *a = left, *b = right;
    for (int64_t i = 0; i < n; i++)
        c[i] = dt_half_of(dt_half_to_double(a[i]) + dt_half_to_double(b[i]));
}

static void sum_bfloat16(void *to, const void *left, const void *right, int64_t n) {
    uint16_t *c = to;
    const uint16_t *a = left, *b = right;
    for (int64_t i = 0; i < n; i++)
        c[i] = dt_bfloat_of(dt_bfloat_to_double(a[i]) + dt_bfloat_to_double(b[i]));
}

typedef void (*summing)(void *to, const void *left, const void *right, int64_t n);

static const summing sums[] = {
    [DT_BOOL] = NULL,           [DT_UINT8] = sum_8,
    [DT_INT8] = sum_8,          [DT_INT16] = sum_16,
    [DT_INT32] = sum_32,        [DT_INT64] = sum_64,
    [DT_FLOAT32] = sum_float32, [DT_FLOAT64] = sum_float64,
    [DT_FLOAT16] = sum_float16, [DT_BFLOAT16] = sum_bfloat16,
};

bool dt_array_add(dt_dtype dtype, void *a, const void *b, int64_t n) {
    if (!sums[dtype]) return false;
    sums[dtype](a, a, b, n);
    return true;
}

/* ---- parcels ---- */

enum { SHORT_BYTES = 32768 };

typedef struct run {
    const dt_schedule *s;
    dt_member *m;
    dt_dtype dtype;
    const dt_tree_item *item;
    int items;
    int64_t n;     /* elements of all */
    size_t size;   /* of an element */
    char *packed;  /* [n], for short stretches; not there for one item */
    char *scratch; /* what is added */
    bool *summed;  /* by chunk: its elements are in the items' sums; before, in their parts */
    dt_tag tag;
} run;

/* What travels as one message: elements [begin, end), a stretch of one item or all that is left of
 * several. */
typedef struct parcel {
    int item, items;
    int64_t item_begin; /* of the first item */
    int64_t begin, end;
} parcel;

static int64_t elements_of(const dt_tree_item *x) { return x->rows * x->width; }

static bool is_short(const run *x, int64_t n) { return (size_t)n * x->size < SHORT_BYTES; }

/* The one after p, which is empty at first and ends where the first begins. False: `end` is
 * reached. */
static bool next_parcel(const run *x, parcel *p, int64_t end) {
    p->begin = p->end;
    if (p->begin == end) return false;
    for (; p->item_begin + elements_of(&x->item[p->item]) <= p->begin; p->item++)
        p->item_begin += elements_of(&x->item[p->item]);
    const int64_t item_end = p->item_begin + elements_of(&x->item[p->item]);
    p->end = item_end < end ? item_end : end;
    p->items = 1;
    while (is_short(x, p->end - p->begin) && p->end < end) {
        const int64_t all = elements_of(&x->item[p->item + p->items]),
                      n = all < end - p->end ? all : end - p->end;
        if (!is_short(x, n)) break;
        p->end += n;
        p->items++;
    }
    return true;
}

/* With each stretch of a parcel: its place in parts and sum, and in a copy of the parcel. */
typedef void (*handling)(const run *x, const char *parts, char *sum, char *copy, int64_t n);

static void pack(const run *x, const char *parts, char *sum, char *copy, int64_t n) {
    (void)sum;
    memcpy(copy, parts, (size_t)n * x->size);
}

static void unpack(const run *x, const char *parts, char *sum, char *copy, int64_t n) {
    (void)parts;
    memcpy(sum, copy, (size_t)n * x->size);
}

static void add(const run *x, const char *parts, char *sum, char *copy, int64_t n) {
    sums[x->dtype](sum, parts, copy, n);
}

static void handle(const run *x, const parcel *p, bool summed, handling f, char *copy) {
    int64_t at = p->begin, begin = p->item_begin;
    for (int i = p->item; i < p->item + p->items; i++) {
        const dt_tree_item *item = &x->item[i];
        const int64_t item_end = begin + elements_of(item),
                      end = item_end < p->end ? item_end : p->end;
        const size_t offset = (size_t)(at - begin) * x->size;
        if (end > at) /* what has no elements may have no memory */
            f(x, (const char *)(summed ? item->sum : item->parts) + offset,
              (char *)item->sum + offset, copy, end - at);
        copy += (size_t)(end - at) * x->size;
        at = end;
        begin = item_end;
    }
}

static dt_status *send_parcel(run *x, const dt_action *a, const parcel *p) {
    const dt_tree_item *item = &x->item[p->item];
    /* chunks that travel together have been added together */
    const bool summed = x->summed[a->first];
    const char *bytes = (const char *)(summed ? item->sum : item->parts) +
                        (size_t)(p->begin - p->item_begin) * x->size;
    if (p->items > 1) {
        handle(x, p, summed, pack, x->packed + (size_t)p->begin * x->size);
        bytes = x->packed + (size_t)p->begin * x->size;
    }
    return dt_member_send(x->m, a->peer, &x->tag, bytes, (size_t)(p->end - p->begin) * x->size);
}

static dt_status *receive_parcel(run *x, const dt_action *a, const parcel *p) {
    const bool adds = a->kind == DT_ACTION_REDUCE;
    char *to = adds ? x->scratch
               : p->items > 1
                   ? x->packed + (size_t)p->begin * x->size
                   : (char *)x->item[p->item].sum + (size_t)(p->begin - p->item_begin) * x->size;
    DT_TRY(dt_member_recv(x->m, a->peer, &x->tag, to, (size_t)(p->end - p->begin) * x->size));
    if (adds || p->items > 1) handle(x, p, x->summed[a->first], adds ? add : unpack, to);
    return NULL;
}

/* ---- a run ---- */

static dt_status *act(run *x, const dt_action *a) {
    const int64_t begin = dt_chunk_begin(x->s, x->n, a->first),
                  end = dt_chunk_begin(x->s, x->n, a->first + a->chunks);
    parcel p = {.begin = begin, .end = begin};
    if (x->tag.round != a->round)
        DT_TRY(dt_member_settle(x->m)); /* a later round may write over what this one sends */
    x->tag.round = a->round;
    if (begin == end) /* says that this rank is there */
        return a->kind == DT_ACTION_SEND ? dt_member_send(x->m, a->peer, &x->tag, NULL, 0)
                                         : dt_member_recv(x->m, a->peer, &x->tag, NULL, 0);
    while (next_parcel(x, &p, end))
        DT_TRY(a->kind == DT_ACTION_SEND ? send_parcel(x, a, &p) : receive_parcel(x, a, &p));
    for (int c = a->first; a->kind != DT_ACTION_SEND && c < a->first + a->chunks; c++)
        x->summed[c] = true;
    return NULL;
}

/* Room for copies of all short stretches, for the largest piece that is added, and for the
 * marks. */
static dt_status *make_room(run *x) {
    int64_t most = 0;
    for (int i = x->s->begin[x->m->rank]; i < x->s->begin[x->m->rank + 1]; i++) {
        const dt_action *a = &x->s->action[i];
        const int64_t n =
            dt_chunk_begin(x->s, x->n, a->first + a->chunks) - dt_chunk_begin(x->s, x->n, a->first);
        if (a->kind == DT_ACTION_REDUCE && n > most) most = n;
    }
    const size_t packed = x->items > 1 ? (size_t)x->n * x->size : 0, added = (size_t)most * x->size;
    DT_TRY(dt_member_room(x->m, packed + added + (size_t)x->s->chunks));
    x->packed = x->m->room;
    x->scratch = x->packed + packed;
    x->summed = memset(x->scratch + added, 0, (size_t)x->s->chunks);
    return NULL;
}

dt_status *dt_schedule_run(const dt_schedule *s, dt_member *m, dt_dtype dtype,
                           const dt_tree_item *item, int n) {
    assert(s->ranks == m->team->ranks);
    run x = {
        .s = s, .m = m, .dtype = dtype, .item = item, .items = n, .size = dt_dtype_size(dtype)};
    for (int i = 0; i < n; i++) x.n += elements_of(&item[i]);
    x.tag = (dt_tag){.number = ++m->number,
                     .collective = s->collective,
                     .dtype = dtype,
                     .elements = x.n,
                     .step = m->step};
    snprintf(x.tag.of, sizeof x.tag.of, "%s", m->of ? m->of : "");
    if (s->collective != DT_ALL_GATHER && !sums[dtype])
        return dt_fail(DT_E_SCHEDULE, NULL, "%s cannot be summed", dt_dtype_name(dtype));
    DT_TRY(make_room(&x));
    for (int i = s->begin[m->rank]; i < s->begin[m->rank + 1]; i++) DT_TRY(act(&x, &s->action[i]));
    return dt_member_settle(m);
}
