/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the weights that a pool sends to its workers, one for each version that a closure may
 * pull. Only some copies contain the values that never change, for workers that lack them.
 */
#include "base/arena.h"
#include "strategy/worker_pool_impl.h"

void dt_worker_pool_drop_copies(dt_worker_pool *c, int64_t below) {
    int kept = 0;
    for (int i = 0; i < c->n_copies; i++)
        if (c->copy[i].version < below) dt_shared_unref(c->copy[i].weights);
        else c->copy[kept++] = c->copy[i];
    c->n_copies = kept;
}

dt_status *dt_worker_pool_publish(dt_worker_pool *c, bool all) {
    dt_shared *weights = NULL;
    const bool in_order = c->spec.how->in_order;
    const dt_packed_variables *p = c->spec.packed;
    DT_TRY(dt_shared_new(&weights, in_order ? p->all : p->slices.bytes));
    DT_GROW(c->copy, c->cap_copies, c->n_copies + 1);
    c->copy[c->n_copies++] = (dt_weights_copy){c->closures.version, all, weights};
    return dt_packed_write(p,
                           in_order ? DT_SENT_BY_ROWS
                           : all    ? DT_SENT_ONCE
                                    : DT_SENT_EACH_TIME,
                           weights->data);
}

static dt_shared *copy_of(const dt_worker_pool *c, int64_t version, bool all) {
    for (int i = 0; i < c->n_copies; i++)
        if (c->copy[i].version == version && c->copy[i].all >= all) return c->copy[i].weights;
    return NULL;
}

/* Records that worker w gets the values that never change with this copy. If they differ from
 * those sent last, other workers need them again. */
static void remember_still(dt_worker_pool *c, int w, dt_shared *copy) {
    if (c->with_still == copy) return;
    if (c->with_still && dt_packed_differs(c->spec.packed, c->with_still->data))
        c->worker[w].still = ++c->still;
    dt_shared_unref(c->with_still);
    c->with_still = dt_shared_ref(copy);
}

dt_status *dt_worker_pool_find_copy(dt_worker_pool *c, int w, int64_t version, bool all,
                                    dt_shared **out) {
    if (!(*out = copy_of(c, version, all)))
        DT_TRY(dt_worker_pool_publish(c, all || c->spec.how->in_order));
    *out = copy_of(c, version, all);
    if (all) remember_still(c, w, *out);
    return NULL;
}

bool dt_worker_pool_lacks_still(dt_worker_pool *c, int w) {
    if (c->spec.packed->slices.still_bytes == 0) return false;
    if (c->set && (!c->with_still || dt_packed_differs(c->spec.packed, c->with_still->data)))
        c->still++;
    c->set = false;
    const bool lacks = c->worker[w].still != c->still;
    c->worker[w].still = c->still;
    return lacks;
}

void dt_worker_pool_forget(dt_worker_pool *c) {
    dt_worker_pool_drop_copies(c, INT64_MAX);
    c->set = true;
}
