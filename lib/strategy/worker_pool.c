/* SPDX-License-Identifier: Apache-2.0 */
/* See worker_pool.h: gives closures to idle workers, and handles what workers send: pushes,
 * requests for rows, and failures. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "strategy/worker_pool_impl.h"

static dt_status *give_one(dt_worker_pool *c, int w, const dt_closure *x) {
    const bool asks = c->spec.asks(c->spec.user, x->number),
               all = !asks && dt_worker_pool_lacks_still(c, w);
    dt_pool_peer *k = &c->worker[w];
    dt_shared *weights = NULL;
    dt_frame m = {.kind = asks  ? DT_FRAME_ASSIGN
                          : all ? DT_FRAME_WORK_ALL
                                : DT_FRAME_WORK,
                  .number = x->number,
                  .version = x->version};
    if (!asks) DT_TRY(dt_worker_pool_find_copy(c, w, x->version, all, &weights));
    const void *more = c->spec.describe ? c->spec.describe(c->spec.user, x->number, &m.more) : NULL;
    k->busy = true;
    k->reported = false;
    k->answered = !asks;
    k->given_ns = dt_now_ns();
    dt_carrier_give(c->carrier, w, &m, weights, more);
    return NULL;
}

static bool is_idle(const dt_pool_peer *x) { return x->there && !x->busy && !x->coming; }

static dt_status *give_out(dt_worker_pool *c) {
    dt_closure x;
    for (int w = 0; w < c->spec.how->workers; w++)
        if (is_idle(&c->worker[w]) && dt_closures_give(&c->closures, w, &x))
            DT_TRY(give_one(c, w, &x));
    return NULL;
}

void dt_worker_pool_release(dt_worker_pool *c, const dt_arrival *a) {
    dt_carrier_recycle(c->carrier, a->slices);
    free(a->more);
}

dt_status *dt_worker_pool_failure(const dt_arrival *a, const char *closure) {
    dt_status *s =
        dt_failure_read(a->more, a->message.more, DT_E_WORKERS_DISAGREE, "a worker failed");
    return dt_note(s, "worker %d, %s %lld", a->worker, closure, (long long)a->message.number + 1);
}

static dt_status *give_rows(dt_worker_pool *c, const dt_arrival *a, int64_t version, dt_str *rows) {
    const bool all = dt_worker_pool_lacks_still(c, a->worker);
    dt_shared *weights = NULL;
    DT_TRY(dt_worker_pool_find_copy(c, a->worker, version, all, &weights));
    DT_TRY(dt_rows_answer(c->spec.packed, c->spec.how->in_order ? weights->data : NULL, a->more,
                          a->message.more, rows));
    c->worker[a->worker].answered = true;
    c->worker[a->worker].given_ns = dt_now_ns();
    dt_carrier_give(c->carrier, a->worker,
                    &(dt_frame){.kind = all ? DT_FRAME_WORK_ALL : DT_FRAME_WORK,
                                .number = a->message.number,
                                .version = version,
                                .more = (int64_t)rows->size},
                    weights, dt_str_text(rows));
    return NULL;
}

/* Drops a worker. If it was started separately, sends it the reason. Takes ownership of the
 * error. */
static dt_status *refuse_worker(dt_worker_pool *c, int w, dt_status *why) {
    dt_local_str how = {0};
    dt_str_printf(&how, "was refused: %s", dt_status_text(why));
    dt_carrier_refuse(c->carrier, w, why);
    return dt_worker_pool_lose(c, w, dt_str_text(&how));
}

/* Keeps a push until it may be applied. Drops a worker whose push is not a result of its
 * closure. */
static dt_status *take_push(dt_worker_pool *c, const dt_arrival *a) {
    const bool failed = a->message.kind == DT_FRAME_FAILED,
               whole = failed || c->spec.is_whole(c->spec.user, a);
    int64_t version;
    dt_status *s = NULL;
    if (whole && dt_closures_push(&c->closures, a->worker, a->message.number)) {
        if (!failed) {
            DT_GROW(c->pushed, c->cap_pushed, c->n_pushed + 1);
            c->pushed[c->n_pushed++] = *a;
            return NULL;
        }
        dt_closures_drop(&c->closures, a->message.number);
        s = c->spec.failed(c->spec.user, a);
    } else if (!whole && dt_closures_pull(&c->closures, a->worker, a->message.number, &version))
        s = refuse_worker(
            c, a->worker,
            dt_fail(DT_E_WORKERS_DISAGREE, NULL, "what it sent is not what it was to compute"));
    dt_worker_pool_release(c, a);
    return s;
}

static dt_status *answer_request(dt_worker_pool *c, const dt_arrival *a) {
    dt_local_str rows = {0};
    int64_t version = 0;
    dt_status *s = NULL;
    if (c->worker[a->worker].answered)
        s = dt_fail(DT_E_WORKERS_DISAGREE, NULL, "it asks for rows that it does not need");
    else if (dt_closures_pull(&c->closures, a->worker, a->message.number, &version))
        s = give_rows(c, a, version, &rows);
    /* another worker got the closure meanwhile, so this worker is only marked as idle */
    else c->worker[a->worker].busy = false;
    free(a->more);
    return s && dt_status_number(s) == DT_E_WORKERS_DISAGREE ? refuse_worker(c, a->worker, s) : s;
}

/* Handles the first message of a program that the pool has started, which says that it can compute
 * now. Refuses it if its job differs, because the job file may have changed since this process
 * started. */
static dt_status *welcome(dt_worker_pool *c, const dt_arrival *a) {
    dt_pool_peer *x = &c->worker[a->worker];
    const char *own = c->spec.how->fingerprint;
    const bool same = own && x->coming && a->message.more == (int64_t)strlen(own) &&
                      memcmp(a->more, own, strlen(own)) == 0;
    dt_status *s = NULL;
    if (same) {
        x->coming = false;
        x->starts = 0;
    } else {
        /* prevents another start, since the new worker would read the same job */
        x->starts = DT_POOL_STARTS;
        s = refuse_worker(c, a->worker,
                          dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                                  "the coordinator has %s, it has %.200s", own ? own : "no job",
                                  a->more));
    }
    free(a->more);
    return s;
}

dt_status *dt_worker_pool_take(dt_worker_pool *c, const dt_arrival *a) {
    if (a->came) {
        c->worker[a->worker] = (dt_pool_peer){.there = true};
        return NULL;
    }
    if (a->gone)
        return c->worker[a->worker].there ? dt_worker_pool_lose(c, a->worker, "was lost") : NULL;
    dt_pool_peer *x = &c->worker[a->worker];
    if (a->message.kind == DT_FRAME_HELLO) return welcome(c, a);
    if (a->message.kind == DT_FRAME_WANT) {
        x->late = false;
        return answer_request(c, a);
    }
    const double took_s = dt_seconds_since(x->given_ns);
    if (!x->reported && took_s > c->slowest_s) c->slowest_s = took_s;
    x->busy = x->late = false;
    return take_push(c, a);
}

dt_closures *dt_worker_pool_closures(dt_worker_pool *c) { return &c->closures; }

dt_status *dt_worker_pool_wait(dt_worker_pool *c, int64_t deadline_ns, bool *came) {
    dt_arrival a;
    dt_status *s = give_out(c);
    *came = !s && dt_carrier_next(c->carrier, deadline_ns, &a);
    /* handles the arrival before its worker gets more work, so that pulled weights are newer */
    if (*came) s = dt_worker_pool_take(c, &a);
    /* checks for late workers even if other workers answer all the time */
    if (!s) s = dt_worker_pool_check_late(c);
    c->failed |= s != NULL;
    return s;
}

bool dt_worker_pool_ready(dt_worker_pool *c, dt_arrival *out) {
    const dt_closure *x = dt_closures_ready(&c->closures);
    for (int i = 0; x && i < c->n_pushed; i++)
        if (c->pushed[i].message.number == x->number) {
            *out = c->pushed[i];
            c->pushed[i] = c->pushed[--c->n_pushed];
            return true;
        }
    return false;
}

dt_status *dt_worker_pool_finish(dt_worker_pool *c, const dt_arrival *a, bool updated,
                                 int64_t *stale) {
    int64_t own = 0;
    if (updated) own = dt_closures_applied(&c->closures, a->message.number);
    else dt_closures_drop(&c->closures, a->message.number);
    if (stale) *stale = own;
    c->lost_in_a_row = 0;
    dt_worker_pool_release(c, a);
    dt_packed_versions_drop(&c->copies, dt_closures_oldest(&c->closures));
    return updated && c->spec.how->in_order ? dt_worker_pool_publish(c, true) : NULL;
}

int dt_worker_pool_workers(const dt_worker_pool *c) { return dt_worker_pool_count(c, true); }

int64_t dt_worker_pool_lost(const dt_worker_pool *c) { return c->lost; }
