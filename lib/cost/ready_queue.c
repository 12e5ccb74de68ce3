/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a unit. It has the launches that wait only for the unit or for time to pass. It
 * returns the first one in program order that is ready or, if none is, the one that will be ready
 * soonest. It has two heaps: launches that are ready when the unit becomes free, in program order;
 * and launches that will be ready later, by time. The time when the unit is free only increases, so
 * each launch moves from the second heap to the first once.
 */
#include <stdlib.h>

#include "cost/cost_impl.h"

static bool is_before(const dt_queued *a, const dt_queued *b, bool by_time) {
    if (by_time && a->ready != b->ready) return a->ready < b->ready;
    return a->place != b->place ? a->place < b->place : a->item < b->item;
}

static void swap(dt_queued *a, dt_queued *b) {
    const dt_queued was = *a;
    *a = *b;
    *b = was;
}

static void push(dt_queue_heap *h, const dt_queued *entry) {
    int at = h->n++;
    DT_GROW(h->entry, h->cap, h->n);
    h->entry[at] = *entry;
    for (; at > 0 && is_before(&h->entry[at], &h->entry[(at - 1) / 2], h->by_time);
         at = (at - 1) / 2)
        swap(&h->entry[at], &h->entry[(at - 1) / 2]);
}

static dt_queued pop(dt_queue_heap *h) {
    const dt_queued first = h->entry[0];
    h->entry[0] = h->entry[--h->n];
    for (int at = 0, child = 1; child < h->n; at = child, child = 2 * at + 1) {
        child += child + 1 < h->n && is_before(&h->entry[child + 1], &h->entry[child], h->by_time);
        if (!is_before(&h->entry[child], &h->entry[at], h->by_time)) break;
        swap(&h->entry[child], &h->entry[at]);
    }
    return first;
}

void dt_ready_queue_add(dt_ready_queue *t, const dt_queued *entry) {
    t->later.by_time = true;
    push(&t->later, entry);
}

const dt_queued *dt_ready_queue_next(dt_ready_queue *t, double now) {
    while (t->later.n > 0 && t->later.entry[0].ready <= now) {
        const dt_queued ready = pop(&t->later);
        push(&t->due, &ready);
    }
    return t->due.n > 0 ? t->due.entry : t->later.n > 0 ? t->later.entry : NULL;
}

void dt_ready_queue_take(dt_ready_queue *t) { pop(t->due.n > 0 ? &t->due : &t->later); }

void dt_ready_queue_release(dt_ready_queue *t) {
    free(t->later.entry);
    free(t->due.entry);
}
