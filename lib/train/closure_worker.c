/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker of a parameter server: pulls weights, computes the gradients of a batch, pushes them,
 * and begins again. It is a fork of the coordinator from before training, so model, compiled step
 * and data set are there, and it decides nothing: what it computes follows from the closure's
 * number and the weights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/posts.h"
#include "train/coordinator.h"

typedef struct task {
    dt_coordinated *c;
    dt_worker_link link;
    char *weights, *answer; /* as messages have them */
    dt_sums sums;
} task;

static dt_status *push(const task *t, const dt_parcel *work, const dt_batch *batch, double loss,
                       double seconds) {
    const dt_push_report report = {
        .rows = batch->rows,
        .sums = t->sums.n,
        .loss = loss,
        .waited_s = batch->waited_s,
        .seconds = seconds,
        .spent_s = {batch->spent_s[0], batch->spent_s[1], batch->spent_s[2]}};
    const size_t sums = (size_t)t->sums.n * sizeof *t->sums.v;
    char *more = dt_alloc(sizeof report + sums);
    memcpy(more, &report, sizeof report);
    if (sums > 0) memcpy(more + sizeof report, t->sums.v, sums);
    dt_status *s = dt_worker_push(&t->link,
                                  &(dt_parcel){.kind = DT_PARCEL_PUSH,
                                               .number = work->number,
                                               .version = work->version,
                                               .more = (int64_t)(sizeof report + sums)},
                                  t->answer, more);
    free(more);
    return s;
}

static dt_status *compute(task *t, const dt_parcel *work, dt_batch *batch, double *loss) {
    dt_coordinated *c = t->c;
    dt_shipment_unpack(&c->shipment, t->weights);
    DT_TRY(dt_batches_read(c->batches, work->number, batch));
    dt_trainer_clear(c->trainer, &t->sums);
    DT_TRY(dt_trainer_step(c->trainer, batch, true, &t->sums, loss));
    return dt_shipment_pack_step(&c->shipment, &c->halves, dt_trainer_results(c->trainer),
                                 t->weights, t->answer);
}

/* More work is to come unless *end. */
static dt_status *serve_one(task *t, bool *end) {
    dt_parcel work;
    dt_batch batch;
    double loss = 0;
    char *more = NULL;
    dt_status *s = dt_worker_pull(&t->link, &work, t->weights, &more);
    free(more);
    *end = !s && work.kind == DT_PARCEL_END;
    if (s || *end) return s;
    const int64_t since = dt_now_ns();
    s = compute(t, &work, &batch, &loss);
    return s ? dt_worker_push_failure(&t->link, &work, s)
             : push(t, &work, &batch, loss, dt_seconds_since(since));
}

static dt_status *serve(dt_coordinated *c, const dt_worker_link *link) {
    task t = {.c = c, .link = *link};
    bool end = false;
    dt_strategy_serve(c->r->strategy);
    dt_compiled_forget(c->trainer->train);
    t.weights = dt_try_alloc((size_t)c->shipment.slices.bytes);
    t.answer = dt_try_alloc((size_t)c->shipment.slices.bytes);
    dt_status *s = t.weights && t.answer
                       ? NULL
                       : dt_fail(DT_E_NO_MEMORY, NULL, "a worker has no memory for weights");
    if (!s) memset(t.answer, 0, (size_t)c->shipment.slices.bytes);
    while (!s && !end) s = serve_one(&t, &end);
    free(t.weights);
    free(t.answer);
    dt_sums_release(&t.sums);
    return s;
}

/* That the coordinator is gone says who started the workers; it may have ended in the middle of
 * this one's work. */
int dt_closure_worker(int worker, const int *link, void *user) {
    dt_coordinated *c = user;
    dt_status *s = serve(c, &(dt_worker_link){.fd = link, .slices = &c->shipment.slices});
    const int code = s ? dt_status_code(s) : 0;
    if (s && dt_status_number(s) != DT_E_WORKER_GONE)
        fprintf(stderr, "worker %d: %s\n", worker, dt_status_text(s));
    dt_status_free(s);
    return code;
}

dt_status *dt_closure_serve(dt_coordinated *c, const dt_crew_spec *spec) {
    dt_post_link post;
    dt_status *s = dt_crew_join(&post, spec);
    if (!s) s = serve(c, &(dt_worker_link){.post = &post, .slices = &c->shipment.slices});
    dt_post_close(&post);
    return s;
}
