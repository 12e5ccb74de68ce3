/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is on a unit: of all launches that wait for nothing else, the first in the program that is ready, else the one that is ready soonest. Two heaps: those
 * that are ready by the time at which the unit is free, by place; those that will be, by time. That time only grows, so each goes from the second to the first once.
 */
#include <stdlib.h>

#include "cost/cost_impl.h"

static bool is_before(const dt_turn *a, const dt_turn *b, bool by_time)
{
    if (by_time && a->ready != b->ready)
        return a->ready < b->ready;
    return a->place != b->place ? a->place < b->place : a->item < b->item;
}

static void swap(dt_turn *a, dt_turn *b)
{
    const dt_turn was = *a;
    *a = *b;
    *b = was;
}

static void push(dt_turn_heap *h, const dt_turn *turn)
{
    int at = h->n++;
    DT_GROW(h->turn, h->cap, h->n);
    h->turn[at] = *turn;
    for (; at > 0 && is_before(&h->turn[at], &h->turn[(at - 1) / 2], h->by_time); at = (at - 1) / 2)
        swap(&h->turn[at], &h->turn[(at - 1) / 2]);
}

static dt_turn pop(dt_turn_heap *h)
{
    const dt_turn first = h->turn[0];
    h->turn[0] = h->turn[--h->n];
    for (int at = 0, child = 1; child < h->n; at = child, child = 2 * at + 1) {
        child += child + 1 < h->n && is_before(&h->turn[child + 1], &h->turn[child], h->by_time);
        if (!is_before(&h->turn[child], &h->turn[at], h->by_time))
            break;
        swap(&h->turn[child], &h->turn[at]);
    }
    return first;
}

void dt_turns_add(dt_turns *t, const dt_turn *turn)
{
    t->later.by_time = true;
    push(&t->later, turn);
}

const dt_turn *dt_turns_next(dt_turns *t, double now)
{
    while (t->later.n > 0 && t->later.turn[0].ready <= now) {
        const dt_turn ready = pop(&t->later);
        push(&t->due, &ready);
    }
    return t->due.n > 0 ? t->due.turn : t->later.n > 0 ? t->later.turn : NULL;
}

void dt_turns_take(dt_turns *t)
{
    pop(t->due.n > 0 ? &t->due : &t->later);
}

void dt_turns_release(dt_turns *t)
{
    free(t->later.turn);
    free(t->due.turn);
}
