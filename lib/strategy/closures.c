/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what closures.h declares. Each update raises the version by one. So all closures can
 * meet their deadlines if and only if the i-th oldest one (from 0) has pulled at least the version
 * `version - staleness + i`. Without in_order, closures are given out in the order of their
 * versions, so the table has that order. */
#include "strategy/closures.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void dt_closures_release(dt_closures *c) {
    free(c->closure);
    c->closure = NULL;
    c->n = c->cap = 0;
}

void dt_closures_begin(dt_closures *c, int64_t first, int64_t end) {
    c->n = 0;
    c->first = c->next = c->version = first;
    c->end = end;
}

int64_t dt_closures_extend(dt_closures *c) { return c->end++; }

void dt_closures_drain(dt_closures *c) { c->end = c->next; }

bool dt_closures_rest(const dt_closures *c) { return c->n == 0 && c->next == c->end; }

static void take_out(dt_closures *c, int at) {
    memmove(&c->closure[at], &c->closure[at + 1], (size_t)(c->n - at - 1) * sizeof *c->closure);
    c->n--;
}

void dt_closures_cancel(dt_closures *c) {
    dt_closures_drain(c);
    for (int i = c->n - 1; i >= 0; i--)
        if (c->closure[i].state == DT_CLOSURE_LOST) take_out(c, i);
}

static int index_of(const dt_closures *c, int64_t number) {
    int at = 0;
    while (c->closure[at].number != number) at++;
    return at;
}

void dt_closures_drop(dt_closures *c, int64_t number) { take_out(c, index_of(c, number)); }

static int find_lost(const dt_closures *c) {
    int found = -1;
    for (int i = 0; i < c->n; i++)
        if (c->closure[i].state == DT_CLOSURE_LOST &&
            (found < 0 || c->closure[i].number < c->closure[found].number))
            found = i;
    return found;
}

/* Counts the closures that workers have or have pushed. Lost ones are not counted: they get a new
 * version when they are given out again, so they have no deadline now. */
static int count_out(const dt_closures *c) {
    int n = 0;
    for (int i = 0; i < c->n; i++) n += c->closure[i].state != DT_CLOSURE_LOST;
    return n;
}

static int64_t version_in_order(const dt_closures *c, int64_t number) {
    const int64_t version = number - c->staleness;
    return version > c->first ? version : c->first;
}

/* Whether a closure can meet its deadline if it is given out now. In the worst case it waits until
 * all others are applied. With in_order: whether the version that the closure must pull exists
 * already. */
static bool may_give(const dt_closures *c, int64_t number) {
    if (c->in_order) return version_in_order(c, number) <= c->version;
    return c->staleness == DT_ANY_STALENESS || count_out(c) <= c->staleness;
}

static void add(dt_closures *c, const dt_closure *x) {
    DT_GROW(c->closure, c->cap, c->n + 1);
    c->closure[c->n++] = *x;
}

bool dt_closures_give(dt_closures *c, int worker, dt_closure *out) {
    const int lost = find_lost(c);
    const int64_t number = lost >= 0 ? c->closure[lost].number : c->next;
    if ((lost < 0 && c->next >= c->end) || !may_give(c, number)) return false;
    if (lost >= 0) take_out(c, lost);
    else c->next++;
    c->again += lost >= 0;
    *out = (dt_closure){.number = number,
                        .version = c->in_order ? version_in_order(c, number) : c->version,
                        .worker = worker,
                        .state = DT_CLOSURE_OUT};
    add(c, out);
    return true;
}

/* Returns the closure of this number, if the worker still has it; else NULL. */
static dt_closure *find_out(const dt_closures *c, int worker, int64_t number) {
    for (int i = 0; i < c->n; i++)
        if (c->closure[i].number == number && c->closure[i].worker == worker &&
            c->closure[i].state == DT_CLOSURE_OUT)
            return &c->closure[i];
    return NULL;
}

/* Sets a closure's version to the current one when its worker reads the weights late. The closure
 * then moves to the end of the table, which so stays in the order of versions. With in_order, the
 * closure keeps its version and its place instead. Returns false if the worker no longer has the
 * closure. */
bool dt_closures_pull(dt_closures *c, int worker, int64_t number, int64_t *version) {
    dt_closure *out = find_out(c, worker, number);
    if (!out) return false;
    if (!c->in_order) {
        dt_closure x = *out;
        x.version = c->version;
        take_out(c, (int)(out - c->closure));
        add(c, &x);
        out = &c->closure[c->n - 1];
    }
    *version = out->version;
    return true;
}

bool dt_closures_push(dt_closures *c, int worker, int64_t number) {
    dt_closure *out = find_out(c, worker, number);
    if (out) out->state = DT_CLOSURE_PUSHED;
    else c->dropped++;
    return out != NULL;
}

int dt_closures_lose(dt_closures *c, int worker) {
    int n = 0;
    for (int i = 0; i < c->n; i++)
        if (c->closure[i].worker == worker && c->closure[i].state == DT_CLOSURE_OUT) {
            c->closure[i].state = DT_CLOSURE_LOST;
            n++;
        }
    return n;
}

/* Whether all other closures can still meet their deadlines if this one is applied now. */
static bool leaves_time(const dt_closures *c, int applied) {
    /* The next of the other closures is applied, at the earliest, when the weights have this
     * version. */
    int64_t update = c->version + 1;
    for (int i = 0; i < c->n; i++) {
        if (i == applied || c->closure[i].state == DT_CLOSURE_LOST) continue;
        if (update > c->closure[i].version + c->staleness) return false;
        update++;
    }
    return true;
}

const dt_closure *dt_closures_ready(const dt_closures *c) {
    for (int i = 0; i < c->n; i++) {
        const dt_closure *x = &c->closure[i];
        if (x->state != DT_CLOSURE_PUSHED || (c->in_order && x->number != c->version)) continue;
        if (c->in_order || c->staleness == DT_ANY_STALENESS || leaves_time(c, i)) return x;
    }
    return NULL;
}

int64_t dt_closures_applied(dt_closures *c, int64_t number) {
    const int at = index_of(c, number);
    const int64_t stale = c->version - c->closure[at].version;
    take_out(c, at);
    c->stale[stale < DT_STALENESS_BINS ? stale : DT_STALENESS_BINS - 1]++;
    c->version++;
    return stale;
}

int64_t dt_closures_first(const dt_closures *c) {
    int64_t first = c->next;
    for (int i = 0; i < c->n; i++)
        if (c->closure[i].number < first) first = c->closure[i].number;
    return first;
}

int64_t dt_closures_oldest(const dt_closures *c) {
    return c->in_order ? version_in_order(c, c->version) : c->version;
}

int dt_closures_bins(const dt_closures *c) {
    int n = DT_STALENESS_BINS;
    while (n > 0 && c->stale[n - 1] == 0) n--;
    return n;
}
