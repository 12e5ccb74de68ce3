/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements what transfer.h declares. A stretch is cut into pieces, each of which is one message.
 * A long stretch of one item is sent from the item itself, in pieces that stay in the cache while
 * they are added. Short stretches of several items are packed together.
 *
 *     items    [ kernel .......... | bias | scale | kernel ........ ]
 *     stretch     [          .....................................     ]
 *     pieces             kernel     bias   scale    kernel
 *                     [   ][    ][              ][          ]
 */
#include "net/transfer.h"

#include <stdio.h>
#include <string.h>

#include "base/half.h"

/* Adds arrays in blocks, which compilers turn into vector instructions. */
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
/* Signed integers use the functions for unsigned ones: the bits are the same, and overflow is
 * defined. */
SUM(sum_8, uint8_t)
SUM(sum_16, uint16_t)
SUM(sum_32, uint32_t)
SUM(sum_64, uint64_t)
SUM(sum_float32, float)
SUM(sum_float64, double)
#undef SUM

/* Adds in double and rounds each sum to 16 bits. */
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

enum { SHORT_BYTES = 1 << 15, PIECE_BYTES = 1 << 20 };

/* One message: the elements [begin, end), numbered as in a dt_stretch. They are elements of one
 * item or, if these are few, of `items` items. */
typedef struct piece {
    int item, items;
    /* number, among the elements of all items, of the first item's first element */
    int64_t item_begin;
    int64_t begin, end;
} piece;

static int64_t elements_of(const dt_tree_item *x) { return x->rows * x->width; }

static bool is_short(const dt_transfer *x, int64_t n) { return (size_t)n * x->size < SHORT_BYTES; }

static piece before_first(dt_stretch stretch) {
    return (piece){.begin = stretch.begin, .end = stretch.begin};
}

/* Advances *p to the next piece of the stretch. Returns false if *p was the last one. */
static bool next_piece(const dt_transfer *x, piece *p, dt_stretch stretch) {
    p->begin = p->end;
    if (p->begin == stretch.end) return false;
    for (; p->item_begin + elements_of(&x->item[p->item]) <= p->begin; p->item++)
        p->item_begin += elements_of(&x->item[p->item]);
    const int64_t most = p->begin + (int64_t)(PIECE_BYTES / x->size),
                  item_end = p->item_begin + elements_of(&x->item[p->item]);
    p->end = item_end < stretch.end ? item_end : stretch.end;
    p->end = p->end < most ? p->end : most;
    p->items = 1;
    while (is_short(x, p->end - p->begin) && p->end < stretch.end) {
        const int64_t all = elements_of(&x->item[p->item + p->items]),
                      n = all < stretch.end - p->end ? all : stretch.end - p->end;
        if (!is_short(x, n)) break;
        p->end += n;
        p->items++;
    }
    return true;
}

/* A function that is called for each item's part of a piece, n elements. parts, sum: where the part
 * is in the item; copy: where it is in a packed copy of the piece. */
typedef void (*handler)(const dt_transfer *x, const char *parts, char *sum, char *copy, int64_t n);

static void pack(const dt_transfer *x, const char *parts, char *sum, char *copy, int64_t n) {
    (void)sum;
    memcpy(copy, parts, (size_t)n * x->size);
}

static void unpack(const dt_transfer *x, const char *parts, char *sum, char *copy, int64_t n) {
    (void)parts;
    memcpy(sum, copy, (size_t)n * x->size);
}

static void add(const dt_transfer *x, const char *parts, char *sum, char *copy, int64_t n) {
    sums[x->dtype](sum, parts, copy, n);
}

static void handle(const dt_transfer *x, const piece *p, bool summed, handler f, char *copy) {
    int64_t at = p->begin, begin = p->item_begin;
    for (int i = p->item; i < p->item + p->items; i++) {
        const dt_tree_item *item = &x->item[i];
        const int64_t item_end = begin + elements_of(item),
                      end = item_end < p->end ? item_end : p->end;
        const size_t offset = (size_t)(at - begin) * x->size;
        if (end > at) /* An item without elements may have no memory, so it is skipped. */
            f(x, (const char *)(summed ? item->sum : item->parts) + offset,
              (char *)item->sum + offset, copy, end - at);
        copy += (size_t)(end - at) * x->size;
        at = end;
        begin = item_end;
    }
}

static size_t bytes_of(const dt_transfer *x, const piece *p) {
    return (size_t)(p->end - p->begin) * x->size;
}

static size_t offset_of(const dt_transfer *x, const piece *p) {
    return (size_t)(p->begin - p->item_begin) * x->size;
}

dt_status *dt_transfer_send(dt_transfer *x, int peer, dt_stretch stretch, bool summed) {
    for (piece p = before_first(stretch); next_piece(x, &p, stretch);) {
        const dt_tree_item *item = &x->item[p.item];
        const char *bytes = (const char *)(summed ? item->sum : item->parts) + offset_of(x, &p);
        if (p.items > 1) {
            char *copy = x->packed + (size_t)p.begin * x->size;
            handle(x, &p, summed, pack, copy);
            bytes = copy;
        }
        DT_TRY(dt_member_send(x->m, peer, &x->tag, bytes, bytes_of(x, &p)));
    }
    return NULL;
}

dt_status *dt_transfer_receive(dt_transfer *x, int peer, dt_stretch stretch) {
    for (piece p = before_first(stretch); next_piece(x, &p, stretch);) {
        char *to = p.items > 1 ? x->packed + (size_t)p.begin * x->size
                               : (char *)x->item[p.item].sum + offset_of(x, &p);
        DT_TRY(dt_member_recv(x->m, peer, &x->tag, to, bytes_of(x, &p)));
        if (p.items > 1) handle(x, &p, true, unpack, to);
    }
    return NULL;
}

dt_status *dt_transfer_add(dt_transfer *x, int peer, dt_stretch stretch, bool summed) {
    for (piece p = before_first(stretch); next_piece(x, &p, stretch);) {
        DT_TRY(dt_member_recv(x->m, peer, &x->tag, x->scratch, bytes_of(x, &p)));
        handle(x, &p, summed, add, x->scratch);
    }
    return NULL;
}

void dt_transfer_unpack(const dt_transfer *x, dt_stretch stretch, const char *all) {
    for (piece p = before_first(stretch); next_piece(x, &p, stretch);)
        handle(x, &p, true, unpack, (char *)all + (size_t)p.begin * x->size);
}

dt_status *dt_transfer_begin(dt_transfer *x, dt_collective collective) {
    if (!sums[x->dtype])
        return dt_fail(DT_E_SCHEDULE, NULL, "%s cannot be summed", dt_dtype_name(x->dtype));
    x->size = dt_dtype_size(x->dtype);
    x->n = 0;
    for (int i = 0; i < x->items; i++) x->n += elements_of(&x->item[i]);
    x->tag = (dt_tag){.number = ++x->m->number,
                      .collective = collective,
                      .dtype = x->dtype,
                      .elements = x->n,
                      .step = x->m->step};
    snprintf(x->tag.of, sizeof x->tag.of, "%s", x->m->of ? x->m->of : "");
    return NULL;
}

static size_t packed_bytes(const dt_transfer *x) {
    return x->items > 1 ? (size_t)x->n * x->size : 0;
}

size_t dt_transfer_room(const dt_transfer *x, int64_t most) {
    const size_t added = (size_t)most * x->size;
    return packed_bytes(x) + (added < PIECE_BYTES ? added : PIECE_BYTES);
}

void dt_transfer_use_room(dt_transfer *x, char *room) {
    x->packed = room;
    x->scratch = room + packed_bytes(x);
}
