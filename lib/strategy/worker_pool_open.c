/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a worker pool: starts its workers, or waits until they connect. Also how a
 * worker joins a pool. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/servers.h"
#include "net/zmq_carrier.h"
#include "strategy/worker_pool.h"
#include "strategy/worker_pool_impl.h"

/*
 * The loop of every worker of a pool, whether its closures are batches of `fit` or functions that a
 * program has scheduled. It pulls variables, lets the functions of the pool's owner compute, and
 * pushes the result.
 */

typedef struct serving {
    dt_worker_link *link;
    const dt_packed_variables *packed;
    const dt_worker_body *body;
    /* memory for messages: with the values of variables, and with gradients */
    char *weights, *gradients;
    dt_str request, more;
    /* The number of the closure for which this worker has asked for rows of tables; -1: it has not
     * asked. */
    int64_t asked;
} serving;

static dt_status *push(const serving *t, const dt_frame *m, const dt_str *more) {
    dt_frame own = *m;
    own.more = (int64_t)more->size;
    return dt_link_push(t->link, &own, t->gradients, dt_str_text(more));
}

/* Reports an error of a closure to the coordinator. Takes ownership of the error. */
static dt_status *push_failure(const serving *t, const dt_frame *work, dt_status *bad) {
    dt_local_str text = {0};
    dt_failure_write(bad, &text);
    return push(t, &(dt_frame){.kind = DT_FRAME_FAILED, .number = work->number}, &text);
}

/* ---- closures, and opening a pool ---- */

static dt_status *serve_request(serving *t, const dt_work *work) {
    dt_str_clear(&t->request);
    t->asked = work->frame.number;
    dt_status *s = t->body->ask(t->body->user, work, &t->request);
    return s ? push_failure(t, &work->frame, s)
             : push(t, &(dt_frame){.kind = DT_FRAME_WANT, .number = work->frame.number},
                    &t->request);
}

static dt_status *compute(serving *t, dt_work *work, dt_frame_kind *kind) {
    const dt_frame *m = &work->frame;
    work->asked = t->asked == m->number;
    t->asked = -1;
    dt_packed_read(t->packed, m->kind == DT_FRAME_WORK_ALL ? DT_SENT_ONCE : DT_SENT_EACH_TIME,
                   t->weights);
    if (work->asked) DT_TRY(dt_rows_take(t->packed, &t->request, work->more, m->more));
    dt_str_clear(&t->more);
    return t->body->compute(t->body->user, work, kind, t->gradients, &t->more);
}

static dt_status *serve_work(serving *t, dt_work *work) {
    dt_frame_kind kind = DT_FRAME_PUSH;
    dt_status *s = compute(t, work, &kind);
    return s ? push_failure(t, &work->frame, s)
             : push(t,
                    &(dt_frame){
                        .kind = kind, .number = work->frame.number, .version = work->frame.version},
                    &t->more);
}

/* Receives and handles one message. Sets *end to whether it was END. */
static dt_status *serve_one(serving *t, bool *end) {
    dt_work work = {.weights = t->weights};
    char *more = NULL;
    dt_status *s = dt_link_pull(t->link, &work.frame, t->weights, &more);
    work.more = more;
    *end = !s && work.frame.kind == DT_FRAME_END;
    if (!s && work.frame.kind == DT_FRAME_ASSIGN) s = serve_request(t, &work);
    else if (!s && !*end) s = serve_work(t, &work);
    free(more);
    return s;
}

static dt_status *begin(serving *t) {
    if (t->body->begin) t->body->begin(t->body->user, t->link->worker);
    return dt_packed_buffers(t->packed, &t->weights, &t->gradients);
}

/* Runs the loop of a worker: pulls, computes and pushes until END. Returns errors of the link, and
 * NO_MEMORY if there is none for messages. */
static dt_status *worker_serve(dt_worker_link *link, const dt_packed_variables *packed,
                               const dt_worker_body *body) {
    serving t = {.link = link, .packed = packed, .body = body, .asked = -1};
    bool end = false;
    dt_status *s = begin(&t);
    while (!s && !end) s = serve_one(&t, &end);
    if (body->end) body->end(body->user);
    free(t.weights);
    free(t.gradients);
    dt_str_release(&t.request);
    dt_str_release(&t.more);
    return s;
}

/* The main function of a forked worker. It does not report a lost coordinator, because the launcher
 * does. */
static int worker_main(int worker, const int *fd, void *user) {
    const dt_worker_pool *c = user;
    dt_worker_link link = dt_links_join(worker, fd, &c->spec.packed->slices);
    dt_status *s = worker_serve(&link, c->spec.packed, &c->spec.body);
    const int code = s ? dt_status_code(s) : 0;
    if (s && dt_status_number(s) != DT_E_WORKER_GONE)
        fprintf(stderr, "worker %d: %s\n", worker, dt_status_text(s));
    dt_status_free(s);
    return code;
}

dt_status *dt_worker_pool_address(const dt_worker_pool_spec *q, dt_run_key *key,
                                  dt_zmq_carrier_spec *out) {
    const dt_launch *l = &q->how->launch;
    bool has_key = false, open = false;
    if (!l->address && !l->ps_address)
        return dt_launch_no_address(l, "processes", "the coordinator");
    DT_TRY(dt_launch_secret(l, key, &has_key, &open));
    *out = (dt_zmq_carrier_spec){.address = l->address ? l->address[0] : NULL,
                                 .interface = dt_launch_interface(),
                                 .key = has_key ? key : NULL,
                                 .open = open,
                                 .silence_s = 2 * q->how->timeout,
                                 .slices = &q->packed->slices,
                                 .fingerprint =
                                     q->how->fingerprint ? q->how->fingerprint : dt_version(),
                                 .warn = q->warn,
                                 .user = q->user};
    return NULL;
}

/* Whether the coordinator still waits for this worker before the run begins. */
static bool is_missing(const dt_worker_pool *c, int w) {
    return c->launcher ? c->worker[w].coming : !c->worker[w].there;
}

static int count_missing(const dt_worker_pool *c) {
    int n = 0;
    for (int w = 0; w < c->spec.how->workers; w++) n += is_missing(c, w);
    return n;
}

/* Appends "workers 1 and 3 of 4; start worker 1 at node1:2222 by the same command with --rank
 * 1". */
static void describe_missing(const dt_worker_pool *c, dt_str *out) {
    const dt_launch *l = &c->spec.how->launch;
    const int n = count_missing(c), from = !c->launcher;
    int k = 0, first = -1;
    dt_str_puts(out, n == 1 ? "worker" : "workers");
    for (int w = 0; w < c->spec.how->workers; w++)
        if (is_missing(c, w)) {
            dt_str_printf(out, "%s%d", k == 0 ? " " : k == n - 1 ? " and " : ", ", w + from);
            first = first < 0 ? w + from : first;
            k++;
        }
    dt_str_printf(out, " of %d", c->spec.how->workers);
    if (c->launcher) {
        dt_str_puts(out, ", which read the job and its data");
        return;
    }
    dt_str_printf(out, "; start worker %d", first);
    if (l->addresses > 1) dt_str_printf(out, " at %s", l->address[first]);
    dt_str_printf(out, " by the same command with %s%d", l->start, first - l->first);
}

static dt_status *wait_for_workers(dt_worker_pool *c) {
    enum { LOOK_NS = 500000000, REPORT_S = 5 };
    const int64_t since = dt_now_ns();
    int64_t said = since;
    while (count_missing(c) > 0) {
        dt_local_str who = {0};
        dt_arrival a;
        dt_status *s = NULL;
        if (dt_carrier_next(c->carrier, dt_now_ns() + LOOK_NS, &a)) s = dt_worker_pool_take(c, &a);
        const bool late = dt_seconds_since(since) > c->spec.how->start_timeout;
        if (s || (!late && dt_seconds_since(said) < REPORT_S) || count_missing(c) == 0) {
            DT_TRY(s);
            continue;
        }
        said = dt_now_ns();
        dt_str_puts(&who, "waiting for ");
        describe_missing(c, &who);
        if (late)
            s = dt_fail(DT_E_WORKER_LATE, NULL, "the coordinator has waited %g s for %s",
                        c->spec.how->start_timeout, dt_str_text(&who) + strlen("waiting for "));
        else if (c->spec.say) c->spec.say(c->spec.user, dt_str_text(&who));
        DT_TRY(s);
    }
    return NULL;
}

static dt_status *start_all(dt_worker_pool *c) {
    const dt_worker_pool_spec *q = &c->spec;
    DT_TRY(dt_worker_launcher_open(&c->launcher,
                                   &(dt_worker_launcher_spec){.program = q->how->program,
                                                              .input = q->how->input,
                                                              .workers = q->how->workers,
                                                              .body = worker_main,
                                                              .user = c,
                                                              .last_words = q->last_words}));
    DT_TRY(dt_servers_open(&c->carrier, &q->packed->slices, q->how->workers));
    for (int w = 0; w < q->how->workers; w++) DT_TRY(dt_worker_pool_start(c, w));
    return q->how->program ? wait_for_workers(c) : NULL;
}

static dt_status *meet_all(dt_worker_pool *c) {
    dt_run_key key;
    dt_zmq_carrier_spec at;
    DT_TRY(dt_worker_pool_address(&c->spec, &key, &at));
    DT_TRY(dt_zmq_carrier_open(&c->carrier, &at, c->spec.how->workers));
    return wait_for_workers(c);
}

dt_status *dt_worker_pool_open(dt_worker_pool **out, const dt_worker_pool_spec *spec) {
    dt_worker_pool *c = dt_alloc(sizeof *c);
    *c = (dt_worker_pool){
        .spec = *spec,
        .set = true,
        .closures = {.staleness = spec->how->staleness, .in_order = spec->how->in_order}};
    c->worker = dt_alloc((size_t)spec->how->workers * sizeof *c->worker);
    dt_status *s = spec->how->launch.workers ? meet_all(c) : start_all(c);
    c->failed = s != NULL;
    if (s) dt_worker_pool_close(c);
    else *out = c;
    return s;
}

void dt_worker_pool_fail(dt_worker_pool *c) { c->failed = true; }

void dt_worker_pool_close(dt_worker_pool *c) {
    if (!c) return;
    for (int i = 0; i < c->n_pushed; i++) dt_worker_pool_release(c, &c->pushed[i]);
    dt_packed_versions_drop(&c->copies, INT64_MAX);
    dt_shared_unref(c->with_still);
    dt_carrier_close(c->carrier, !c->failed);
    dt_worker_launcher_close(c->launcher);
    dt_closures_release(&c->closures);
    free(c->pushed);
    free(c->worker);
    free(c);
}

/* ---- the worker's side ---- */

/* Joins the pool that has started this process: its links are inherited, and a HELLO says that
 * it can compute. All workers share the coordinator's standard error, so only worker 0 reports
 * waits. */
static dt_status *join_inherited(const dt_worker_pool_spec *q, dt_worker_link *link) {
    const dt_inherited *x = &q->how->launch.inherited;
    const char *fingerprint = q->how->fingerprint;
    if (x->links != q->how->servers)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "the coordinator has %d parameter servers, and this job %d", x->links,
                       q->how->servers);
    *link = dt_links_join(x->worker, x->link, &q->packed->slices);
    link->coordinator = x->caller;
    if (x->worker == 0) link->wait = (dt_link_wait){.say = q->say, .user = q->user};
    dt_inherited_serve(x);
    return dt_link_push(link,
                        &(dt_frame){.kind = DT_FRAME_HELLO, .more = (int64_t)strlen(fingerprint)},
                        NULL, fingerprint);
}

static dt_status *join_by_zmq(const dt_worker_pool_spec *q, dt_worker_link *link) {
    const dt_launch *l = &q->how->launch;
    dt_run_key key;
    dt_zmq_carrier_spec at;
    DT_TRY(dt_worker_pool_address(q, &key, &at));
    return dt_zmq_link_connect(link, &at, l->rank - 1,
                               &(dt_link_wait){q->how->start_timeout, q->say, q->user});
}

dt_status *dt_worker_pool_serve(const dt_worker_pool_spec *q) {
    dt_worker_link link = {0};
    dt_status *s =
        q->how->launch.inherited.workers ? join_inherited(q, &link) : join_by_zmq(q, &link);
    if (!s) s = worker_serve(&link, q->packed, &q->body);
    dt_link_close(&link);
    return s;
}
