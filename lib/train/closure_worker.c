/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker of `fit` computes: the gradients of the batch that has the closure's number
 * (strategy/worker_serve.c). Model, compiled step and data set are there, either because the worker
 * is a fork of the coordinator or because it has read the same job.
 */
#include <string.h>

#include "train/coordinator.h"

static void begin(void *user, int worker) {
    dt_coordinated *c = user;
    c->number = worker;
    dt_strategy_serve(c->r->strategy);
    dt_compiled_forget(c->trainer->train);
    if (!c->trainer->numbers) return;
    dt_compiled_forget(c->trainer->numbers);
    c->numbers =
        dt_arena_array(c->arena, dt_view, dt_compiled_step(c->trainer->numbers)->n_results);
}

static void end(void *user) {
    dt_coordinated *c = user;
    dt_sums_release(&c->sums);
}

/* Reads the batch, and writes a request for the rows of tables that this batch looks up. */
static dt_status *ask(void *user, const dt_work *work, dt_str *request) {
    dt_coordinated *c = user;
    const dt_trainer *trainer = c->trainer;
    if (!trainer->numbers)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "the coordinator waits for row numbers, but batches look none up");
    DT_TRY(dt_iterator_read_batch(c->batches, work->frame.number, &c->batch));
    DT_TRY(dt_trainer_find_rows(trainer, &c->batch, c->numbers));
    return dt_rows_ask(&c->held.packed, dt_compiled_step(trainer->numbers), trainer->table,
                       c->numbers, request);
}

/* Writes a dt_push_report, the sums of metrics, and the parts from which the
 * coordinator computes gradients. */
static void write_report(const dt_coordinated *c, double loss, double seconds, dt_str *more) {
    const dt_example *batch = &c->batch;
    const dt_push_report report = {
        .rows = batch->rows,
        .sums = c->sums.n,
        .loss = loss,
        .waited_s = batch->waited_s,
        .seconds = seconds,
        .spent_s = {batch->spent_s[0], batch->spent_s[1], batch->spent_s[2]}};
    const size_t parts = (size_t)dt_parts_bytes(&c->held.program->halves, batch->rows);
    dt_str_add(more, &report, sizeof report);
    dt_str_add(more, c->sums.v, (size_t)c->sums.n * sizeof *c->sums.v);
    dt_str_reserve(more, parts);
    dt_parts_write(&c->held.program->halves, batch->rows, dt_trainer_results(c->trainer),
                   more->data + more->size);
    more->size += parts;
}

/* Gets the variables from the tasks of type ps. */
static dt_status *pull(dt_coordinated *c, const dt_frame *work) {
    dt_looked_up rows = {.table = c->trainer->table, .result = c->numbers};
    if (!c->ps.task->link.row) DT_TRY(dt_ps_connect(&c->ps, c->number));
    if (c->trainer->numbers) {
        rows.numbers = dt_compiled_step(c->trainer->numbers);
        DT_TRY(dt_trainer_find_rows(c->trainer, &c->batch, c->numbers));
    }
    return dt_ps_pull(&c->ps, work, &rows);
}

static dt_status *compute(void *user, const dt_work *work, dt_frame_kind *kind, char *gradients,
                          dt_str *more) {
    dt_coordinated *c = user;
    double loss = 0;
    const int64_t since = dt_now_ns();
    *kind = DT_FRAME_PUSH;
    if (c->trainer->numbers && !work->asked && !c->ps.n)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "the coordinator sent rows before it was asked for them");
    if (!work->asked) DT_TRY(dt_iterator_read_batch(c->batches, work->frame.number, &c->batch));
    if (c->ps.n) DT_TRY(pull(c, &work->frame));
    dt_trainer_clear(c->trainer, &c->sums);
    DT_TRY(dt_trainer_step(c->trainer, &c->batch, true, &c->sums, &loss));
    DT_TRY(dt_ps_push(&c->ps, &work->frame, 0, dt_trainer_results(c->trainer), c->batch.rows));
    DT_TRY(dt_packed_write_step(&c->held.packed, &c->held.program->halves,
                                dt_trainer_results(c->trainer), work->weights, gradients));
    write_report(c, loss, dt_seconds_since(since), more);
    return NULL;
}

dt_worker_body dt_closure_body(dt_coordinated *c) {
    return (dt_worker_body){begin, ask, compute, end, c};
}
