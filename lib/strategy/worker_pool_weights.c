/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the weights that a pool sends to its workers, one for each version that a closure may
 * pull. Only some copies contain the values that never change, for workers that lack them.
 */
#include "base/arena.h"
#include "strategy/worker_pool_impl.h"

dt_status *dt_worker_pool_publish(dt_worker_pool *c, bool all) {
    const dt_sent most = c->spec.how->in_order ? DT_SENT_BY_ROWS
                         : all                 ? DT_SENT_ONCE
                                               : DT_SENT_EACH_TIME;
    return dt_packed_versions_add(&c->copies, c->spec.packed, c->closures.version, most);
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
    const dt_sent least = all ? DT_SENT_ONCE : DT_SENT_EACH_TIME;
    if (!dt_packed_versions_find(&c->copies, version, least))
        DT_TRY(dt_worker_pool_publish(c, all));
    *out = dt_packed_versions_find(&c->copies, version, least);
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
    dt_packed_versions_drop(&c->copies, INT64_MAX);
    c->set = true;
}
