/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what divided.h declares. */
#define _GNU_SOURCE /* makes the headers declare madvise */
#include "strategy/divided.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "op/workers.h"

struct dt_divided {
    dt_variable_holder holder;
    dt_variable *whole; /* the variable whose rows are divided among workers */
    dt_variable *own;   /* the variable that has only this worker's rows */
    dt_cluster *cluster;
    bool filled;
    /* The value of whole->written when the values were last equal: when `own` was copied from
     * `whole`, or `whole` from the parts of all workers. */
    unsigned written;
};

static bool is_slot(const dt_variable *v) {
    return v->slot && !v->on_all && v->of && v->lacks == 0;
}

/* Smaller weights are not divided, because every step would need a message for each, which costs
 * more than the memory is worth. */
enum { LEAST_BYTES = 65536 };
static bool is_large_weight(const dt_variable *v) {
    return v->trainable && !v->slot && v->type.rank > 1 && dt_type_bytes(&v->type) >= LEAST_BYTES;
}

bool dt_divided_fits(const dt_variable *v, dt_over_replicas over, int workers) {
    const bool fits =
        !v->stack && !dt_variable_is_outline(v) && v->type.rank > 0 && v->type.dim[0] >= workers;
    return fits && (is_slot(v) || (over == DT_OVER_WEIGHTS && is_large_weight(v)));
}

static size_t row_bytes(const dt_divided *p) {
    return (size_t)(dt_type_bytes(&p->whole->type) / p->whole->type.dim[0]);
}

static size_t begin_of(const dt_divided *p, int rank) {
    return (size_t)dt_worker_rows_begin(p->whole->type.dim[0], p->cluster->workers, rank) *
           row_bytes(p);
}

static dt_status *fetch(void *state, dt_variable *v) {
    dt_divided *p = state;
    DT_TRY(dt_variable_fetch(p->own));
    DT_LOCAL size_t *n = dt_alloc((size_t)p->cluster->workers * sizeof *n);
    for (int r = 0; r < p->cluster->workers; r++) n[r] = begin_of(p, r + 1) - begin_of(p, r);
    void *host = dt_host_edit(v);
    dt_status *s = (v->slot ? dt_cluster_collect : dt_cluster_spread)(
        p->cluster, v->path, dt_host_data(p->own), n, host);
    p->written = v->written;
    if (s) v->newer = &p->holder;
    return s;
}

static void forget(void *state) {
    dt_divided *p = state;
    dt_variable_unref(p->own);
    free(p);
}

static bool is_divided(const dt_variable *v) { return v->held && v->held->fetch == fetch; }

dt_status *dt_divided_make(dt_divided **out, dt_variable *v, dt_cluster *c) {
    if (is_divided(v) && ((dt_divided *)v->held->state)->cluster == c) {
        *out = v->held->state;
        return NULL;
    }
    dt_divided *p = dt_alloc(sizeof *p);
    *p = (dt_divided){
        .holder = {.fetch = fetch, .state = p, .forget = forget}, .whole = v, .cluster = c};
    const dt_type type = dt_worker_rows_type(&v->type, c->workers, c->rank);
    dt_status *s = dt_variable_alloc(&p->own, v->path, &type, false);
    if (!s) {
        p->own->slot = v->slot;
        s = dt_variable_hold(v, &p->holder);
    }
    if (s) {
        dt_variable_unref(p->own);
        free(p);
        return s;
    }
    dt_divided_ready(p);
    dt_divided_changed(p);
    *out = p;
    return NULL;
}

dt_variable *dt_divided_own(const dt_divided *p) { return p->own; }

const dt_variable *dt_divided_whole(const dt_divided *p) { return p->whole; }

dt_status *dt_divided_put_together(dt_variable *const *v, int n) {
    for (int i = 0; i < n; i++)
        if (is_divided(v[i])) DT_TRY(dt_variable_fetch(v[i]));
    return NULL;
}

int64_t dt_divided_bytes(const dt_variable *v) {
    return dt_type_bytes(is_divided(v) ? &((const dt_divided *)v->held->state)->own->type
                                       : &v->type);
}

void dt_divided_ready(dt_divided *p) {
    if (p->whole->newer == &p->holder || (p->filled && p->written == p->whole->written)) return;
    memcpy(dt_host_edit(p->own),
           (const char *)dt_host_data(p->whole) + begin_of(p, p->cluster->rank),
           (size_t)dt_type_bytes(&p->own->type));
    p->written = p->whole->written;
    p->filled = true;
}

/* Returns the memory pages that lie within v to the system, because its values are in the workers'
 * parts from now on. */
static void give_back(const dt_variable *v) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)dt_host_data(v);
    const uintptr_t from = (first + page - 1) & ~(page - 1),
                    to = (first + (size_t)dt_type_bytes(&v->type)) & ~(page - 1);
    if (to > from) /* if the system refuses, the pages only stay in memory */
        madvise((void *)from, to - from, MADV_DONTNEED);
}

void dt_divided_changed(dt_divided *p) {
    if (p->whole->newer == &p->holder) return;
    give_back(p->whole);
    p->whole->newer = &p->holder;
}
