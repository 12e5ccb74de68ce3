/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker of a parameter server: pulls weights, computes the gradients of a batch, pushes them,
 * and begins again. It is a fork of the coordinator from before training, so model, compiled step
 * and data set are there, and it decides nothing: what it computes follows from the closure's
 * number and the weights.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/posts.h"
#include "train/coordinator.h"

typedef struct task {
    dt_coordinated *c;
    dt_worker_link link;
    char *weights, *answer; /* as messages have them */
    dt_batch batch;         /* of the closure at hand */
    dt_str request;         /* for the rows that it looks up */
    int64_t asked;          /* number of the closure that needs them; -1: none */
    dt_view *numbers;       /* [results of the trainer's numbers] room */
    dt_sums sums;
} task;

static dt_status *push(const task *t, const dt_frame *work, double loss, double seconds) {
    const dt_batch *batch = &t->batch;
    const dt_push_report report = {
        .rows = batch->rows,
        .sums = t->sums.n,
        .loss = loss,
        .waited_s = batch->waited_s,
        .seconds = seconds,
        .spent_s = {batch->spent_s[0], batch->spent_s[1], batch->spent_s[2]}};
    const dt_halves *h = &t->c->halves;
    const size_t sums = (size_t)t->sums.n * sizeof *t->sums.v,
                 parts = (size_t)dt_parts_bytes(h, batch->rows);
    char *more = dt_alloc(sizeof report + sums + parts);
    memcpy(more, &report, sizeof report);
    dt_parts_write(h, batch->rows, dt_trainer_results(t->c->trainer), more + sizeof report + sums);
    if (sums > 0) memcpy(more + sizeof report, t->sums.v, sums);
    dt_status *s = dt_worker_push(&t->link,
                                  &(dt_frame){.kind = DT_FRAME_PUSH,
                                              .number = work->number,
                                              .version = work->version,
                                              .more = (int64_t)(sizeof report + sums + parts)},
                                  t->answer, more);
    free(more);
    return s;
}

/* Reads the batch, and writes the request for the rows that it looks up. */
static dt_status *ask(task *t, const dt_frame *work) {
    const dt_coordinated *c = t->c;
    const dt_trainer *trainer = c->trainer;
    t->asked = -1;
    if (!trainer->numbers)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "the coordinator waits for row numbers, but batches look none up");
    DT_TRY(dt_batches_read(c->batches, work->number, &t->batch));
    DT_TRY(dt_trainer_find_rows(trainer, &t->batch, t->numbers));
    dt_str_clear(&t->request);
    t->asked = work->number;
    return dt_rows_ask(&c->packed, dt_compiled_step(trainer->numbers), trainer->table, t->numbers,
                       &t->request);
}

static dt_status *compute(task *t, const dt_frame *work, const char *rows, double *loss) {
    const dt_coordinated *c = t->c;
    if (c->trainer->numbers && t->asked != work->number)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "the coordinator sent rows before it was asked for them");
    dt_packed_read(&c->packed, work->kind == DT_FRAME_WORK_ALL ? DT_SENT_ONCE : DT_SENT_EACH_TIME,
                   t->weights);
    if (c->trainer->numbers) DT_TRY(dt_rows_take(&c->packed, &t->request, rows, work->more));
    else DT_TRY(dt_batches_read(c->batches, work->number, &t->batch));
    dt_trainer_clear(c->trainer, &t->sums);
    DT_TRY(dt_trainer_step(c->trainer, &t->batch, true, &t->sums, loss));
    return dt_packed_write_step(&c->packed, &c->halves, dt_trainer_results(c->trainer), t->weights,
                                t->answer);
}

/* serve_request and serve_work report an error of the closure to the coordinator. They return
 * errors of the link only. */
static dt_status *serve_request(task *t, const dt_frame *work) {
    dt_status *s = ask(t, work);
    return s ? dt_worker_push_failure(&t->link, work, s)
             : dt_worker_push(&t->link,
                              &(dt_frame){.kind = DT_FRAME_WANT,
                                          .number = work->number,
                                          .more = (int64_t)t->request.size},
                              NULL, dt_str_text(&t->request));
}

static dt_status *serve_work(task *t, const dt_frame *work, const char *rows) {
    double loss = 0;
    const int64_t since = dt_now_ns();
    dt_status *s = compute(t, work, rows, &loss);
    return s ? dt_worker_push_failure(&t->link, work, s)
             : push(t, work, loss, dt_seconds_since(since));
}

/* More work is to come unless *end. */
static dt_status *serve_one(task *t, bool *end) {
    dt_frame work;
    char *more = NULL;
    dt_status *s = dt_worker_pull(&t->link, &work, t->weights, &more);
    *end = !s && work.kind == DT_FRAME_END;
    if (!s && work.kind == DT_FRAME_ASSIGN) s = serve_request(t, &work);
    else if (!s && !*end) s = serve_work(t, &work, more);
    free(more);
    return s;
}

static dt_status *serve(dt_coordinated *c, const dt_worker_link *link) {
    task t = {.c = c, .link = *link, .asked = -1};
    bool end = false;
    dt_strategy_serve(c->r->strategy);
    dt_compiled_forget(c->trainer->train);
    if (c->trainer->numbers) {
        dt_compiled_forget(c->trainer->numbers);
        t.numbers =
            dt_arena_array(c->arena, dt_view, dt_compiled_step(c->trainer->numbers)->n_results);
    }
    t.weights = dt_try_alloc((size_t)c->packed.slices.bytes);
    t.answer = dt_try_alloc((size_t)c->packed.slices.bytes);
    dt_status *s = t.weights && t.answer
                       ? NULL
                       : dt_fail(DT_E_NO_MEMORY, NULL, "a worker has no memory for weights");
    if (!s) memset(t.answer, 0, (size_t)c->packed.slices.bytes);
    while (!s && !end) s = serve_one(&t, &end);
    free(t.weights);
    free(t.answer);
    dt_str_release(&t.request);
    dt_sums_release(&t.sums);
    return s;
}

int dt_closure_worker(int worker, const int *link, void *user) {
    dt_coordinated *c = user;
    return dt_worker_end(worker,
                         serve(c, &(dt_worker_link){.fd = link, .slices = &c->packed.slices}));
}

dt_status *dt_closure_serve(dt_coordinated *c, const dt_worker_pool_spec *spec) {
    dt_post_link post;
    dt_status *s = dt_worker_pool_join(&post, spec);
    if (!s) s = serve(c, &(dt_worker_link){.post = &post, .slices = &c->packed.slices});
    dt_post_close(&post);
    return s;
}
