/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of a coordinator: pulls variables, runs the function that was scheduled, and pushes what
 * it computed. See coordinator.h. */
#include "strategy/coordinator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/closure_values.h"

/* ---- what each worker has of its own ---- */

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
    const char *more;       /* of the message at hand */
    int64_t n;
} task;

static dt_status *read_arguments(const task *t, dt_work_head *h, dt_values *args) {
    if (t->n < (int64_t)sizeof *h)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a message names no function");
    memcpy(h, t->more, sizeof *h);
    if (h->kind < 0 || h->kind >= t->c->n_kinds || h->n_own < 0 || h->n_own > DT_MOST_PER_WORKER)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a message names function %d of %d", h->kind,
                       t->c->n_kinds);
    DT_TRY(dt_closure_values_read(t->more + sizeof *h, (size_t)t->n - sizeof *h, args));
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

static dt_status *run(const dt_closure_kind *k, dt_step_call *call, dt_ran *ran) {
    DT_TRY(dt_step_check(call));
    if (!dt_closure_kind_fits(k, k->function, call))
        return dt_fail(DT_E_ARGUMENT, NULL,
                       "the worker's own arguments have other names or shapes than those that the "
                       "function was scheduled with");
    return dt_traced_run(&k->worker, call, ran);
}

static dt_status *push(const task *t, const dt_parcel *work, const dt_closure_kind *k,
                       const dt_view *result) {
    dt_str more = {0};
    for (int i = 0; i < dt_compiled_step(k->worker.compiled)->n_results; i++)
        if (dt_closure_kind_returns(k, i))
            dt_closure_value_write(dt_compiled_step(k->worker.compiled)->result[i].name, false,
                                   &result[i], &more);
    const dt_parcel m = {.kind = k->changes ? DT_PARCEL_PUSH : DT_PARCEL_ANSWER,
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

static dt_status *compute(const task *t, dt_values *args, const dt_closure_kind **kind,
                          dt_ran *ran) {
    int32_t offsets[2] = {0};
    dt_work_head h;
    DT_TRY(read_arguments(t, &h, args));
    const dt_closure_kind *k = *kind = t->c->kind[h.kind];
    dt_status *s = NULL;
    DT_SCOPE(t->c->strategy)
    s = run(k, &(dt_step_call){.strategy = t->c->strategy, .args = args, .offsets = offsets}, ran);
    return s || !k->changes ? s
                            : dt_shipment_pack_step(&t->c->shipment, &k->halves, ran->result,
                                                    t->weights, t->answer);
}

static dt_status *serve(const task *t, const dt_parcel *work) {
    dt_values *args = NULL;
    dt_ran ran = {0};
    const dt_closure_kind *k = NULL;
    dt_shipment_unpack(&t->c->shipment, t->weights);
    dt_status *s = dt_values_create(&args);
    if (!s) s = compute(t, args, &k, &ran);
    s = s ? dt_worker_push_failure(&t->link, work, s) : push(t, work, k, ran.result);
    dt_ran_release(&ran);
    dt_values_unref(args);
    return s;
}

/* More work is to come unless *end. */
static dt_status *serve_one(task *t, bool *end) {
    dt_parcel work;
    char *more = NULL;
    dt_status *s = dt_worker_pull(&t->link, &work, t->weights, &more);
    *end = !s && work.kind == DT_PARCEL_END;
    t->more = more;
    t->n = s ? 0 : work.more;
    if (!s && !*end) s = serve(t, &work);
    free(more);
    return s;
}

int dt_scheduled_worker(int worker, const int *link, void *user) {
    dt_coordinator *c = user;
    task t = {.c = c, .worker = worker, .link = {.fd = link, .slices = &c->shipment.slices}};
    bool end = false;
    dt_strategy_serve(c->strategy);
    for (int k = 0; k < c->n_kinds; k++)
        if (c->kind[k]->worker.compiled) dt_compiled_forget(c->kind[k]->worker.compiled);
    t.own = dt_alloc((size_t)(c->n_own + 1) * sizeof *t.own);
    t.weights = dt_try_alloc((size_t)c->shipment.slices.bytes + 1);
    t.answer = dt_try_alloc((size_t)c->shipment.slices.bytes + 1);
    dt_status *s = t.weights && t.answer ? NULL
                                         : dt_fail(DT_E_NO_MEMORY, NULL,
                                                   "worker %d has no memory for variables", worker);
    if (!s) memset(t.answer, 0, (size_t)c->shipment.slices.bytes);
    while (!s && !end) s = serve_one(&t, &end);
    const int code = s ? dt_status_code(s) : 0;
    if (s && dt_status_number(s) != DT_E_WORKER_GONE)
        fprintf(stderr, "worker %d: %s\n", worker, dt_status_text(s));
    dt_status_free(s);
    return code;
}
