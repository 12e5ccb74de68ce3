/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of a coordinator: pulls variables, runs the function that was scheduled, and pushes what
 * it computed. See coordinator.h. */
#include "strategy/coordinator.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/closure_values.h"

/* ---- data sets and values per worker ---- */

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

static dt_status *next_element(const dt_per_worker *p, dt_strategy *s, int worker, dt_belongings *b,
                               dt_values **out) {
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
                             dt_belongings *b) {
    const dt_value_context context = {.replica_id_in_sync_group = worker,
                                      .num_replicas_in_sync = s->servers.workers};
    if (b->values) return NULL;
    DT_TRY(dt_values_create(&b->values));
    return p->values(&context, b->values, p->user);
}

dt_status *dt_per_worker_next(const dt_per_worker *p, dt_strategy *s, int worker, dt_belongings *b,
                              dt_values **out) {
    if (p->dataset) return next_element(p, s, worker, b, out);
    DT_TRY(own_values(p, s, worker, b));
    DT_TRY(dt_values_create(out));
    return dt_arguments_add(*out, b->values, false);
}

void dt_belongings_release(dt_belongings *b) {
    dt_iterator_unref(b->elements);
    dt_values_unref(b->values);
    *b = (dt_belongings){0};
}

/* ---- a closure ---- */

typedef struct task {
    dt_coordinator *c;
    int worker;
    dt_worker_link link;
    dt_belongings *own;     /* [c->n_own] */
    char *weights, *answer; /* as messages have them */
    dt_values *args;        /* arguments of the current closure */
    int kind;               /* its function */
    dt_str request;         /* for the rows that it looks up */
} task;

static dt_status *read_arguments(const task *t, const char *more, int64_t n, dt_work_head *h) {
    dt_values *args = t->args;
    if (n < (int64_t)sizeof *h)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a message names no function");
    memcpy(h, more, sizeof *h);
    if (h->kind < 0 || h->kind >= t->c->n_kinds || h->n_own < 0 || h->n_own > DT_MOST_PER_WORKER)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a message names function %d of %d", h->kind,
                       t->c->n_kinds);
    DT_TRY(dt_closure_values_read(more + sizeof *h, (size_t)n - sizeof *h, args));
    for (int i = 0; i < h->n_own; i++) {
        dt_values *own = NULL;
        if (h->own[i] < 0 || h->own[i] >= t->c->n_own)
            return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a message names data set %d of %d",
                           h->own[i], t->c->n_own);
        dt_status *s = dt_per_worker_next(t->c->own[h->own[i]], t->c->strategy, t->worker,
                                          &t->own[h->own[i]], &own);
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

static dt_status *push_results(const task *t, const dt_frame *work, const dt_view *result,
                               int64_t rows) {
    const dt_closure_kind *k = t->c->kind[t->kind];
    const int64_t parts = dt_parts_bytes(&k->halves, rows);
    dt_str more = {0};
    if (parts > DT_MOST_MORE)
        return dt_worker_push_failure(
            &t->link, work,
            dt_fail(DT_E_RANGE, NULL,
                    "the gradients of rows of a batch of %lld have more than %d bytes; with a "
                    "parameter server they may have as many",
                    (long long)rows, DT_MOST_MORE));
    if (parts > 0) {
        dt_str_reserve(&more, (size_t)parts);
        dt_parts_write(&k->halves, rows, result, more.data);
        more.size = (size_t)parts;
    }
    for (int i = 0; i < dt_compiled_step(k->worker.compiled)->n_results; i++)
        if (dt_closure_kind_returns(k, i))
            dt_closure_value_write(dt_compiled_step(k->worker.compiled)->result[i].name, false,
                                   &result[i], &more);
    const dt_frame m = {.kind = k->changes ? DT_FRAME_PUSH : DT_FRAME_ANSWER,
                        .number = work->number,
                        .version = work->version,
                        .more = (int64_t)more.size};
    dt_status *s =
        more.size > DT_MOST_MORE
            ? dt_fail(DT_E_RANGE, NULL, "a scheduled function returns %zu bytes; it may return %d",
                      more.size, DT_MOST_MORE)
            : NULL;
    s = s ? dt_worker_push_failure(&t->link, work, s)
          : dt_worker_push(&t->link, &m, t->answer, dt_str_text(&more));
    dt_str_release(&more);
    return s;
}

/* Reads the function and its arguments. Takes the next element of each data set per worker, so call
 * it once for a closure. */
static dt_status *take_arguments(task *t, const char *more, int64_t n) {
    dt_work_head h;
    dt_values_unref(t->args);
    t->args = NULL;
    DT_TRY(dt_values_create(&t->args));
    DT_TRY(read_arguments(t, more, n, &h));
    t->kind = h.kind;
    return NULL;
}

static dt_status *ask(task *t, const char *more, int64_t n) {
    int32_t offsets[2] = {0};
    dt_step_call call = {.strategy = t->c->strategy, .offsets = offsets};
    dt_ran ran = {0};
    DT_TRY(take_arguments(t, more, n));
    const dt_closure_kind *k = t->c->kind[t->kind];
    dt_status *s = NULL;
    call.args = t->args;
    DT_SCOPE(t->c->strategy) {
        s = check_call(k, &call);
        if (!s) s = dt_traced_run(&k->numbers, &call, &ran);
    }
    dt_str_clear(&t->request);
    if (!s)
        s = dt_rows_ask(&t->c->packed, dt_compiled_step(k->numbers.compiled), k->table, ran.result,
                        &t->request);
    dt_ran_release(&ran);
    return s;
}

static dt_status *compute(task *t, dt_ran *ran, int64_t *rows) {
    int32_t offsets[2] = {0};
    dt_step_call call = {.strategy = t->c->strategy, .args = t->args, .offsets = offsets};
    const dt_closure_kind *k = t->c->kind[t->kind];
    dt_status *s = NULL;
    DT_SCOPE(t->c->strategy) {
        s = check_call(k, &call);
        if (!s) s = dt_traced_run(&k->worker, &call, ran);
    }
    *rows = offsets[1];
    return s || !k->changes ? s
                            : dt_packed_write_step(&t->c->packed, &k->halves, ran->result,
                                                   t->weights, t->answer);
}

/* serve_request and serve_work report an error of the closure to the coordinator. They return
 * errors of the link only. */
static dt_status *serve_request(task *t, const dt_frame *work, const char *more) {
    dt_status *s = ask(t, more, work->more);
    return s ? dt_worker_push_failure(&t->link, work, s)
             : dt_worker_push(&t->link,
                              &(dt_frame){.kind = DT_FRAME_WANT,
                                          .number = work->number,
                                          .more = (int64_t)t->request.size},
                              NULL, dt_str_text(&t->request));
}

/* asked: the closure has requested rows, and `more` contains them; otherwise `more` contains its
 * arguments. */
static dt_status *serve_work(task *t, const dt_frame *work, bool asked, const char *more) {
    dt_ran ran = {0};
    int64_t rows = 0;
    dt_packed_read(&t->c->packed,
                   work->kind == DT_FRAME_WORK_ALL ? DT_SENT_ONCE : DT_SENT_EACH_TIME, t->weights);
    dt_status *s = asked ? dt_rows_take(&t->c->packed, &t->request, more, work->more)
                         : take_arguments(t, more, work->more);
    if (!s) s = compute(t, &ran, &rows);
    s = s ? dt_worker_push_failure(&t->link, work, s) : push_results(t, work, ran.result, rows);
    dt_ran_release(&ran);
    return s;
}

/* *end: there is no more work. *asked: number of the closure that has requested rows; -1: none. */
static dt_status *serve_one(task *t, int64_t *asked, bool *end) {
    dt_frame work;
    char *more = NULL;
    dt_status *s = dt_worker_pull(&t->link, &work, t->weights, &more);
    *end = !s && work.kind == DT_FRAME_END;
    if (!s && work.kind == DT_FRAME_ASSIGN) {
        *asked = work.number;
        s = serve_request(t, &work, more);
    } else if (!s && !*end) {
        s = serve_work(t, &work, *asked == work.number, more);
        *asked = -1;
    }
    free(more);
    return s;
}

int dt_scheduled_worker(int worker, const int *link, void *user) {
    dt_coordinator *c = user;
    task t = {.c = c, .worker = worker, .link = {.fd = link, .slices = &c->packed.slices}};
    int64_t asked = -1;
    bool end = false;
    dt_strategy_serve(c->strategy);
    for (int k = 0; k < c->n_kinds; k++) {
        if (c->kind[k]->worker.compiled) dt_compiled_forget(c->kind[k]->worker.compiled);
        if (c->kind[k]->numbers.compiled) dt_compiled_forget(c->kind[k]->numbers.compiled);
    }
    t.own = dt_alloc((size_t)(c->n_own + 1) * sizeof *t.own);
    t.weights = dt_try_alloc((size_t)c->packed.slices.bytes + 1);
    t.answer = dt_try_alloc((size_t)c->packed.slices.bytes + 1);
    dt_status *s = t.weights && t.answer ? NULL
                                         : dt_fail(DT_E_NO_MEMORY, NULL,
                                                   "worker %d has no memory for variables", worker);
    if (!s) memset(t.answer, 0, (size_t)c->packed.slices.bytes);
    while (!s && !end) s = serve_one(&t, &asked, &end);
    return dt_worker_end(worker, s);
}
