/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of every worker of a pool, whether its closures are batches of `fit` or functions that a
 * program has scheduled. It pulls variables, lets the functions of the pool's owner compute, and
 * pushes the result. What a worker computes depends only on the closure and the variables.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "strategy/worker_pool.h"

typedef struct serving {
    dt_worker_link *link;
    const dt_packed_variables *packed;
    const dt_worker_body *body;
    char *weights, *gradients; /* buffers for messages: values of variables, and gradients */
    dt_str request, more;
    /* number of the closure for which this worker has asked for rows; -1: it has not asked */
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

/* ---- a closure: its own errors are sent to the coordinator; only errors of the link are returned
 * ---- */

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

dt_status *dt_worker_serve(dt_worker_link *link, const dt_packed_variables *packed,
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
