/* SPDX-License-Identifier: Apache-2.0 */
/* What a coordinator's worker computes when worker_pool_open.c gives it a scheduled function. See
 * coordinator.h. */
#include "strategy/coordinator.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/closure_values.h"

static dt_status *add_entry(dt_values *into, const dt_value_entry *e, bool distributed) {
    dt_tensor *t = dt_entry_local(e, 0);
    if (dt_values_find(into, e->name))
        return dt_fail(DT_E_ARGUMENT, NULL, "a scheduled function gets two arguments '%s'",
                       e->name);
    return distributed || e->per_replica ? dt_values_set_per_replica(into, e->name, &t, 1)
                                         : dt_values_set(into, e->name, t);
}

dt_status *dt_arguments_add(dt_values *into, const dt_values *from, bool distributed) {
    for (int i = 0; from && i < from->n; i++) DT_TRY(add_entry(into, &from->entry[i], distributed));
    return NULL;
}

static dt_status *open_elements(const dt_per_worker *p, dt_strategy *s, int worker,
                                dt_iterator **out) {
    const dt_input_context context = {.num_input_pipelines = s->servers.workers,
                                      .input_pipeline_id = worker,
                                      .num_replicas_in_sync = 1};
    dt_dataset *d = NULL;
    dt_dist_dataset *batches = NULL;
    dt_status *bad = p->dataset(&context, p->user, &d);
    if (!bad) bad = dt_want(d, "dt_coordinator_per_worker_dataset", "data set from its function");
    if (!bad)
        bad = dt_strategy_distribute_dataset(
            s, d, &(dt_input_options){.auto_shard_policy = DT_AUTO_SHARD_OFF}, &batches);
    if (!bad) bad = dt_iterator_create(out, batches);
    dt_dist_dataset_unref(batches);
    dt_dataset_unref(d);
    return bad;
}

static dt_status *next_element(const dt_per_worker *p, dt_strategy *s, int worker,
                               dt_worker_values *b, dt_values **out) {
    dt_values *element = NULL;
    if (!b->elements) DT_TRY(open_elements(p, s, worker, &b->elements));
    DT_TRY(dt_iterator_next(b->elements, &element));
    if (!element)
        return dt_fail(DT_E_END_OF_DATA, NULL, "the data set of worker %d has no more elements",
                       worker);
    dt_status *bad = dt_values_create(out);
    if (!bad) bad = dt_arguments_add(*out, element, true);
    dt_values_unref(element);
    return bad;
}

static dt_status *own_values(const dt_per_worker *p, const dt_strategy *s, int worker,
                             dt_worker_values *b) {
    const dt_value_context context = {.replica_id_in_sync_group = worker,
                                      .num_replicas_in_sync = s->servers.workers};
    if (b->values) return NULL;
    DT_TRY(dt_values_create(&b->values));
    return p->values(&context, b->values, p->user);
}

dt_status *dt_per_worker_next(const dt_per_worker *p, dt_strategy *s, int worker,
                              dt_worker_values *b, dt_values **out) {
    if (p->dataset) return next_element(p, s, worker, b, out);
    DT_TRY(own_values(p, s, worker, b));
    DT_TRY(dt_values_create(out));
    return dt_arguments_add(*out, b->values, false);
}

void dt_worker_values_release(dt_worker_values *b) {
    dt_iterator_unref(b->elements);
    dt_values_unref(b->values);
    *b = (dt_worker_values){0};
}

static dt_status *read_arguments(dt_coordinator *c, const dt_work *work, dt_work_head *h) {
    dt_values *args = c->worker.args;
    if (work->frame.more < (int64_t)sizeof *h)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a message names no function");
    memcpy(h, work->more, sizeof *h);
    if (h->kind < 0 || h->kind >= c->n_kinds || h->n_own < 0 || h->n_own > DT_MOST_PER_WORKER)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a message names function %d of %d", h->kind,
                       c->n_kinds);
    DT_TRY(
        dt_closure_values_read(work->more + sizeof *h, (size_t)work->frame.more - sizeof *h, args));
    for (int i = 0; i < h->n_own; i++) {
        dt_values *own = NULL;
        if (h->own[i] < 0 || h->own[i] >= c->n_own)
            return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a message names data set %d of %d",
                           h->own[i], c->n_own);
        dt_status *s = dt_per_worker_next(c->own[h->own[i]], c->strategy, c->worker.number,
                                          &c->worker.own[h->own[i]], &own);
        if (!s) s = dt_arguments_add(args, own, false);
        dt_values_unref(own);
        DT_TRY(s);
    }
    return NULL;
}

static dt_status *check_call(const dt_closure_kind *k, dt_step_call *call) {
    DT_TRY(dt_step_check(call));
    return dt_closure_kind_fits(k, k->function, call)
               ? NULL
               : dt_fail(DT_E_ARGUMENT, NULL,
                         "the worker's own arguments have other names or shapes than those that "
                         "the function was scheduled with");
}

static dt_status *write_results(const dt_coordinator *c, const dt_view *result, int64_t rows,
                                dt_str *more) {
    const dt_closure_kind *k = c->kind[c->worker.kind];
    const dt_halves *h = &c->held.program[c->worker.kind].halves;
    const int64_t parts = dt_parts_bytes(h, rows);
    const dt_graph *g = dt_compiled_step(k->worker.compiled);
    if (parts > DT_MOST_MORE)
        return dt_fail(DT_E_RANGE, NULL,
                       "the gradients of rows of a batch of %lld have more than %d bytes; with a "
                       "parameter server they may have as many",
                       (long long)rows, DT_MOST_MORE);
    if (parts > 0) {
        dt_str_reserve(more, (size_t)parts);
        dt_parts_write(h, rows, result, more->data);
        more->size = (size_t)parts;
    }
    for (int i = 0; i < g->n_results; i++)
        if (dt_closure_kind_returns(k, i))
            dt_closure_value_write(g->result[i].name, false, &result[i], more);
    return more->size <= DT_MOST_MORE
               ? NULL
               : dt_fail(DT_E_RANGE, NULL,
                         "a scheduled function returns %zu bytes; it may return %d", more->size,
                         DT_MOST_MORE);
}

/* Decodes the function and its arguments. Takes the next element of each data set per worker, so
 * it must be called only once for a closure. */
static dt_status *take_arguments(dt_coordinator *c, const dt_work *work) {
    dt_work_head h;
    dt_values_unref(c->worker.args);
    c->worker.args = NULL;
    DT_TRY(dt_values_create(&c->worker.args));
    DT_TRY(read_arguments(c, work, &h));
    c->worker.kind = h.kind;
    return NULL;
}

static dt_status *ask(void *user, const dt_work *work, dt_str *request) {
    dt_coordinator *c = user;
    int32_t offsets[2] = {0};
    dt_step_call call = {.strategy = c->strategy, .offsets = offsets};
    dt_ran ran = {0};
    DT_TRY(take_arguments(c, work));
    const dt_closure_kind *k = c->kind[c->worker.kind];
    dt_status *s = NULL;
    call.args = c->worker.args;
    DT_SCOPE(c->strategy) {
        s = check_call(k, &call);
        if (!s) s = dt_traced_run(&k->numbers, &call, &ran);
    }
    if (!s)
        s = dt_rows_ask(&c->held.packed, dt_compiled_step(k->numbers.compiled), k->table,
                        ran.result, request);
    dt_ran_release(&ran);
    return s;
}

/* Gets the variables that a function reads, and the rows of tables that it looks up, from the tasks
 * of type ps. Connects with the tasks at the first call. */
static dt_status *pull(dt_coordinator *c, const dt_closure_kind *k, dt_step_call *call,
                       const dt_frame *work) {
    dt_looked_up rows = {.table = k->table};
    dt_ran ran = {0};
    dt_status *s = NULL;
    if (!c->ps.task->link.row) DT_TRY(dt_ps_connect(&c->ps, c->worker.number));
    if (k->numbers.compiled) {
        rows.numbers = dt_compiled_step(k->numbers.compiled);
        s = dt_traced_run(&k->numbers, call, &ran);
        rows.result = ran.result;
    }
    if (!s) s = dt_ps_pull(&c->ps, work, &rows);
    dt_ran_release(&ran);
    return s;
}

static dt_status *compute(void *user, const dt_work *work, dt_frame_kind *kind, char *gradients,
                          dt_str *more) {
    dt_coordinator *c = user;
    int32_t offsets[2] = {0};
    dt_ran ran = {0};
    if (!work->asked) DT_TRY(take_arguments(c, work));
    dt_step_call call = {.strategy = c->strategy, .args = c->worker.args, .offsets = offsets};
    const dt_closure_kind *k = c->kind[c->worker.kind];
    dt_status *s = NULL;
    DT_SCOPE(c->strategy) {
        s = check_call(k, &call);
        if (!s && c->ps.n) s = pull(c, k, &call, &work->frame);
        if (!s) s = dt_traced_run(&k->worker, &call, &ran);
    }
    if (!s && k->changes)
        s = dt_ps_push(&c->ps, &work->frame, c->worker.kind, ran.result, offsets[1]);
    *kind = k->changes ? DT_FRAME_PUSH : DT_FRAME_ANSWER;
    if (!s && k->changes)
        s = dt_packed_write_step(&c->held.packed, &c->held.program[c->worker.kind].halves,
                                 ran.result, work->weights, gradients);
    if (!s) s = write_results(c, ran.result, offsets[1], more);
    dt_ran_release(&ran);
    return s;
}

static void begin(void *user, int worker) {
    dt_coordinator *c = user;
    dt_strategy_serve(c->strategy);
    for (int k = 0; k < c->n_kinds; k++) {
        if (c->kind[k]->worker.compiled) dt_compiled_forget(c->kind[k]->worker.compiled);
        if (c->kind[k]->numbers.compiled) dt_compiled_forget(c->kind[k]->numbers.compiled);
    }
    c->worker.number = worker;
    c->worker.own = dt_alloc((size_t)(c->n_own + 1) * sizeof *c->worker.own);
}

static void end(void *user) {
    dt_coordinator *c = user;
    for (int i = 0; i < c->n_own; i++) dt_worker_values_release(&c->worker.own[i]);
    dt_values_unref(c->worker.args);
    free(c->worker.own);
    dt_ps_close(&c->ps, false);
}

dt_worker_body dt_scheduled_body(dt_coordinator *c) {
    return (dt_worker_body){begin, ask, compute, end, c};
}
