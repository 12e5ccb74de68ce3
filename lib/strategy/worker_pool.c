/* SPDX-License-Identifier: Apache-2.0 */
/* See worker_pool.h: gives closures to idle workers, and handles what workers send: pushes,
 * requests for rows, and failures. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/servers.h"
#include "strategy/worker_pool_impl.h"

/*
 * Copies of the weights that a pool sends to its workers. A copy of a version is made when it is
 * first sent or, with in_order, when the version is made. It is kept as long as a closure may pull
 * that version. Without in_order, only some copies contain the values that no update changes,
 * for workers that lack them.
 */

/* Makes a copy of the current weights. all: whether to include the values that no update
 * changes. */
static dt_status *worker_pool_publish(dt_worker_pool *c, bool all) {
    const dt_sent most = c->spec.how->in_order ? DT_SENT_BY_ROWS
                         : all                 ? DT_SENT_ONCE
                                               : DT_SENT_EACH_TIME;
    return dt_packed_versions_add(&c->copies, c->spec.packed, c->closures.version, most);
}

/* Records that worker w gets the values that no update changes with this copy. If they differ from
 * those sent last, other workers need them again. */
static void remember_still(dt_worker_pool *c, int w, dt_shared *copy) {
    if (c->with_still == copy) return;
    if (c->with_still && dt_packed_differs(c->spec.packed, c->with_still->data))
        c->worker[w].still = ++c->still;
    dt_shared_unref(c->with_still);
    c->with_still = dt_shared_ref(copy);
}

/* Finds the copy of the weights to send to worker w. A copy of the current version is made when
 * it is first needed. */
static dt_status *worker_pool_find_copy(dt_worker_pool *c, int w, int64_t version, bool all,
                                        dt_shared **out) {
    const dt_sent least = all ? DT_SENT_ONCE : DT_SENT_EACH_TIME;
    if (!dt_packed_versions_find(&c->copies, version, least)) DT_TRY(worker_pool_publish(c, all));
    *out = dt_packed_versions_find(&c->copies, version, least);
    if (all) remember_still(c, w, *out);
    return NULL;
}

/* Whether worker w lacks the current version of the values that no update changes. If true, the
 * caller must send them, since the pool counts them as sent. */
static bool worker_pool_lacks_still(dt_worker_pool *c, int w) {
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

/* Starts workers of a pool, detects lost and late ones, and replaces them. */

enum { LOST_IN_A_ROW = 8 };

/* Whether other workers are started in place of lost ones. */
static bool starts_again(const dt_worker_pool *c) { return c->spec.how->elastic && c->launcher; }

/* Appends the worker's name. Workers that were started separately are numbered from 1, like the
 * ranks of their processes. */
static void write_name(const dt_worker_pool *c, int w, dt_str *out) {
    if (c->launcher) dt_str_printf(out, "worker %d (process %lld)", w, (long long)c->worker[w].pid);
    else dt_str_printf(out, "worker %d", w + 1);
}

dt_status *dt_worker_pool_start(dt_worker_pool *c, int w) {
    int link[DT_LAUNCHER_LINKS];
    pid_t pid = 0;
    DT_TRY(dt_worker_launcher_start(c->launcher, w, c->spec.how->servers, link, &pid));
    dt_servers_add(c->carrier, w, link);
    const bool program = c->spec.how->program;
    c->worker[w] = (dt_pool_peer){.pid = pid,
                                  .there = true,
                                  .coming = program,
                                  .starts = c->worker[w].starts + program,
                                  .given_ns = dt_now_ns()};
    return NULL;
}

/* Returns the number of connected workers. With `late`, workers that did not answer in time are
 * counted, too. */
static int worker_pool_count(const dt_worker_pool *c, bool late) {
    int n = 0;
    for (int w = 0; w < c->spec.how->workers; w++)
        n += c->worker[w].there && c->worker[w].late <= late;
    return n;
}

static void report_lost(const dt_worker_pool *c, int w, int closures, const char *how) {
    dt_local_str text = {0};
    write_name(c, w, &text);
    dt_str_printf(&text, " %s", how);
    if (closures) dt_str_printf(&text, "; its %s is given to another worker", c->spec.closure);
    if (starts_again(c)) dt_str_puts(&text, "; another one is started in its place");
    c->spec.warn(c->spec.user, dt_str_text(&text));
}

/* Handles the loss of worker w: reports it, marks its closures as lost so that others get them, and
 * starts another worker in its place if starts_again, unless DT_POOL_STARTS programs in a row could
 * not compute. how: text for the report that says what happened. Fails with WORKER_GONE if no
 * worker is left and none can come, or if too many were lost since a closure was last finished. */
static dt_status *worker_pool_lose(dt_worker_pool *c, int w, const char *how) {
    const int closures = dt_closures_lose(&c->closures, w);
    dt_carrier_drop(c->carrier, w);
    c->worker[w].there = c->worker[w].busy = c->worker[w].coming = false;
    c->lost++;
    report_lost(c, w, closures, how);
    if (++c->lost_in_a_row > LOST_IN_A_ROW * (int64_t)c->spec.how->workers)
        return dt_fail(
            DT_E_WORKER_GONE, NULL,
            "%lld workers were lost one after the other, and none of them computed anything",
            (long long)c->lost_in_a_row);
    if (starts_again(c) && c->worker[w].starts < DT_POOL_STARTS) return dt_worker_pool_start(c, w);
    if (worker_pool_count(c, true) > 0 || (c->spec.how->elastic && !c->launcher)) {
        c->alone_ns = dt_now_ns();
        return NULL;
    }
    if (starts_again(c))
        return dt_fail(DT_E_WORKER_GONE, NULL,
                       "all %d workers are lost, and those started in their place cannot compute",
                       c->spec.how->workers);
    return dt_fail(DT_E_WORKER_GONE, NULL,
                   "all %d workers are lost; elastic: true starts lost workers again",
                   c->spec.how->workers);
}

/* Reports a worker that has not answered for silent_s seconds, if that is at least 5 s and 3 times
 * the slowest answer so far; at most once per closure. */
static void report_silent(dt_worker_pool *c, int w, double silent_s) {
    enum { TELL_S = 5, TIMES = 3 };
    dt_pool_peer *x = &c->worker[w];
    dt_local_str line = {0};
    if (x->reported || !c->spec.say || silent_s < TELL_S || silent_s < TIMES * c->slowest_s) return;
    x->reported = true;
    write_name(c, w, &line);
    dt_str_printf(&line,
                  " has not answered for %.0f s; another one gets its %s after %g s "
                  "(strategy.timeout)",
                  silent_s, c->spec.closure, c->spec.how->timeout);
    c->spec.say(c->spec.user, dt_str_text(&line));
}

/* Gives the closures of workers that have not answered for strategy.timeout to other workers; if
 * lost workers are replaced, ends these processes. Also ends programs that could not compute within
 * start_timeout. Fails with WORKER_LATE if all connected workers are late, with WORKER_GONE if none
 * is connected and none came back within start_timeout. */
static dt_status *worker_pool_check_late(dt_worker_pool *c) {
    for (int w = 0; w < c->spec.how->workers; w++) {
        dt_pool_peer *x = &c->worker[w];
        if (x->coming && dt_seconds_since(x->given_ns) > c->spec.how->start_timeout)
            kill(x->pid, SIGKILL);
        if (!x->there || !x->busy || x->late) continue;
        const double silent_s = dt_seconds_since(x->given_ns);
        if (silent_s < c->spec.how->timeout) {
            report_silent(c, w, silent_s);
            continue;
        }
        x->late = true;
        report_lost(c, w, dt_closures_lose(&c->closures, w), "does not answer");
        /* A stopped process is ended, because otherwise no other worker could replace it. */
        if (starts_again(c)) {
            kill(x->pid, SIGKILL);
            x->late = false;
            x->given_ns = dt_now_ns();
        }
    }
    if (worker_pool_count(c, false) > 0) return NULL;
    /* If all workers are lost, those that are started separately may connect again. */
    if (worker_pool_count(c, true) == 0)
        return dt_seconds_since(c->alone_ns) < c->spec.how->start_timeout
                   ? NULL
                   : dt_fail(DT_E_WORKER_GONE, NULL,
                             "all %d workers are lost, and none has come back for %g s",
                             c->spec.how->workers, c->spec.how->start_timeout);
    return dt_fail(DT_E_WORKER_LATE, NULL, "no worker has answered for %g s; see strategy.timeout",
                   c->spec.how->timeout);
}

static dt_status *give_one(dt_worker_pool *c, int w, const dt_closure *x) {
    const bool asks = c->spec.asks(c->spec.user, x->number),
               all = !asks && worker_pool_lacks_still(c, w);
    dt_pool_peer *k = &c->worker[w];
    dt_shared *weights = NULL;
    dt_frame m = {.kind = asks  ? DT_FRAME_ASSIGN
                          : all ? DT_FRAME_WORK_ALL
                                : DT_FRAME_WORK,
                  .number = x->number,
                  .version = x->version};
    if (!asks) DT_TRY(worker_pool_find_copy(c, w, x->version, all, &weights));
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
    const bool all = worker_pool_lacks_still(c, a->worker);
    dt_shared *weights = NULL;
    DT_TRY(worker_pool_find_copy(c, a->worker, version, all, &weights));
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
    return worker_pool_lose(c, w, dt_str_text(&how));
}

/* Keeps a push until it may be applied. A FAILED message ends its closure and is passed to the
 * owner. Drops a worker whose push is not a result of its closure. Frees a message about a closure
 * that its worker no longer has. */
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
    /* Another worker got the closure meanwhile, so this worker is only marked as idle. */
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
        /* This prevents another start, since a new worker would read the same job. */
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
        return c->worker[a->worker].there ? worker_pool_lose(c, a->worker, "was lost") : NULL;
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
    /* The arrival is handled before its worker gets more work, so that the weights it pulls are
     * newer. */
    if (*came) s = dt_worker_pool_take(c, &a);
    /* Late workers are checked even if other workers answer all the time. */
    if (!s) s = worker_pool_check_late(c);
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
    return updated && c->spec.how->in_order ? worker_pool_publish(c, true) : NULL;
}

int dt_worker_pool_workers(const dt_worker_pool *c) { return worker_pool_count(c, true); }

int64_t dt_worker_pool_lost(const dt_worker_pool *c) { return c->lost; }
