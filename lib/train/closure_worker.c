/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker of a parameter server: pulls weights, computes the gradients of a batch, pushes them, and begins again. It is a fork of the coordinator
 * from before training, so model, compiled step and data set are there, and it decides nothing: what it computes follows from the closure's number
 * and the weights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/coordinator.h"

typedef struct task {
    dt_coordinated *c;
    const int *link;
    char *weights, *answer; /* as messages have them */
    dt_sums sums;
} task;

static dt_status *push(const task *t, const dt_parcel *work, const dt_batch *batch, double loss, double seconds)
{
    const dt_push_report report = { .rows = batch->rows, .sums = t->sums.n, .loss = loss, .waited_s = batch->waited_s, .seconds = seconds,
                                    .spent_s = { batch->spent_s[0], batch->spent_s[1], batch->spent_s[2] } };
    const size_t sums = (size_t)t->sums.n * sizeof *t->sums.v;
    char *more = dt_alloc(sizeof report + sums);
    memcpy(more, &report, sizeof report);
    if (sums > 0)
        memcpy(more + sizeof report, t->sums.v, sums);
    dt_status *s = dt_link_push(t->link, &t->c->shipment.slices, &(dt_parcel){ .kind = DT_PARCEL_PUSH, .number = work->number, .version = work->version,
                                                                                 .more = (int64_t)(sizeof report + sums) }, t->answer, more);
    free(more);
    return s;
}

static dt_status *compute(task *t, const dt_parcel *work, dt_batch *batch, double *loss)
{
    dt_coordinated *c = t->c;
    dt_shipment_unpack(&c->shipment, t->weights);
    DT_TRY(dt_batches_read(c->batches, work->number, batch));
    dt_trainer_clear(c->trainer, &t->sums);
    DT_TRY(dt_trainer_step(c->trainer, batch, true, &t->sums, loss));
    return dt_shipment_pack_step(&c->shipment, &c->halves, dt_trainer_results(c->trainer), t->weights, t->answer);
}

/* More work is to come unless *end. */
static dt_status *serve_one(task *t, bool *end)
{
    dt_parcel work;
    dt_batch batch;
    double loss = 0;
    char *more = NULL;
    dt_status *s = dt_link_pull(t->link, &t->c->shipment.slices, &work, t->weights, &more);
    free(more);
    *end = !s && work.kind == DT_PARCEL_END;
    if (s || *end)
        return s;
    const int64_t since = dt_now_ns();
    s = compute(t, &work, &batch, &loss);
    return s ? dt_link_push_failure(t->link, &t->c->shipment.slices, &work, s) : push(t, &work, &batch, loss, dt_seconds_since(since));
}

/* That the coordinator is gone says who started the workers; it may have ended in the middle of this one's work. */
static int complain(int worker, dt_status *s)
{
    const int code = dt_status_code(s);
    if (dt_status_number(s) != DT_E_WORKER_GONE)
        fprintf(stderr, "worker %d: %s\n", worker, dt_status_text(s));
    dt_status_free(s);
    return code;
}

int dt_closure_worker(int worker, const int *link, void *user)
{
    dt_coordinated *c = user;
    task t = { .c = c, .link = link };
    bool end = false;
    t.weights = dt_try_alloc((size_t)c->shipment.slices.bytes);
    t.answer = dt_try_alloc((size_t)c->shipment.slices.bytes);
    dt_status *s = t.weights && t.answer ? NULL : dt_fail(DT_E_NO_MEMORY, NULL, "worker %d has no memory for weights", worker);
    if (!s)
        memset(t.answer, 0, (size_t)c->shipment.slices.bytes);
    while (!s && !end)
        s = serve_one(&t, &end);
    return s ? complain(worker, s) : 0;
}
