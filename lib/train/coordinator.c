/* SPDX-License-Identifier: Apache-2.0 */
/* See coordinator.h: closures are batches, and what workers push is applied. */
#include "train/coordinator.h"

#include <stdlib.h>
#include <string.h>

#include "train/record.h"

enum { LOOK_NS = 100000000 };

/* ---- what the pool asks ---- */

static bool asks(void *user, int64_t number) {
    const dt_coordinated *c = user;
    (void)number;
    return c->trainer->numbers != NULL;
}

static bool is_whole(void *user, const dt_arrival *a) {
    const dt_coordinated *c = user;
    dt_push_report x;
    if (!a->slices || a->message.more < (int64_t)sizeof x) return false;
    memcpy(&x, a->more, sizeof x);
    const int64_t before = (int64_t)sizeof x + c->r->at.sums.n * (int64_t)sizeof(double),
                  left = a->message.more - before;
    if (x.sums != c->r->at.sums.n || x.rows < 0 || x.rows > INT32_MAX || left < 0) return false;
    const char *parts = a->more + before;
    int64_t used = 0;
    return dt_parts_are_sound(&c->halves, parts, left, &used) && used == left &&
           (used == 0 || dt_parts_rows(&c->halves, parts) == x.rows);
}

static dt_status *failed(void *user, const dt_arrival *a) {
    (void)user;
    return dt_worker_pool_failure(a, "batch");
}

static void warn(void *user, const char *text) {
    const dt_coordinated *c = user;
    dt_run_warn(c->r, text);
}

/* ---- a step ---- */

static int64_t next_multiple(int64_t of, int64_t above) {
    return of > 0 ? (above / of + 1) * of : INT64_MAX;
}

/* The end of the epoch, the next checkpoint by steps, or that of the run. */
static int64_t end_of_window(const run *r) {
    const dt_checkpoint_spec *c = r->q->checkpoint;
    const int64_t ends[] = {r->at.step - r->at.epoch_step + r->size.steps_per_epoch,
                            next_multiple(c ? c->every_steps : 0, r->at.step), r->size.steps};
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        first = ends[i] < first ? ends[i] : first;
    return first;
}

static void add_report(dt_coordinated *c, const dt_arrival *a, dt_batch *batch, double *loss) {
    dt_push_report x;
    double sum;
    memcpy(&x, a->more, sizeof x);
    for (int64_t i = 0; i < x.sums; i++) {
        memcpy(&sum, a->more + sizeof x + (size_t)i * sizeof sum, sizeof sum);
        c->r->at.sums.v[i] += sum;
    }
    c->r->at.sums.examples += (double)x.rows;
    *loss = x.loss;
    *batch = (dt_batch){.rows = x.rows,
                        .epoch = a->message.number / c->r->size.data_steps,
                        .step = a->message.number % c->r->size.data_steps,
                        .waited_s = x.waited_s,
                        .spent_s = {x.spent_s[0], x.spent_s[1], x.spent_s[2]}};
}

static dt_status *apply(dt_coordinated *c, const dt_arrival *a, dt_batch *batch, double *loss) {
    const bool last = dt_run_closes_window(c->r, c->r->at.epoch_step + 1);
    const dt_pushed pushed = {a->slices, a->more + sizeof(dt_push_report) +
                                             (size_t)c->r->at.sums.n * sizeof(double)};
    dt_status *s = dt_packed_apply(&c->packed, last ? &c->halves : &c->gathering,
                                   last ? c->trainer->update : c->trainer->gather, c->argument,
                                   c->no_result, &pushed);
    if (!s) add_report(c, a, batch, loss);
    dt_status *late = dt_worker_pool_finish(c->pool, a, true, NULL);
    dt_status_free(s ? late : NULL);
    return s ? s : late;
}

static void begin_window(dt_coordinated *c) {
    const run *r = c->r;
    dt_worker_pool_forget(c->pool); /* who knows what changed the weights */
    dt_closures_begin(dt_worker_pool_closures(c->pool), r->at.step, end_of_window(r));
}

static bool ends_at_once(const run *r) { return r->q->run->stop && *r->q->run->stop > 1; }

static dt_status *wait_for_push(const run *r, const dt_coordinated *c) {
    bool came = false;
    if (ends_at_once(r))
        return dt_fail(DT_E_STOPPED_AT_ONCE, NULL, "stopped at once after step %lld, not saved",
                       (long long)r->at.step);
    dt_status *s = dt_worker_pool_wait(c->pool, dt_now_ns() + LOOK_NS, &came);
    const int number = s ? (int)dt_status_number(s) : 0;
    return number == DT_E_WORKER_GONE || number == DT_E_WORKER_LATE
               ? dt_suggest(s, "run the job again to resume from its newest checkpoint")
               : s;
}

dt_status *dt_coordinated_step(run *r, dt_batch *batch, double *loss) {
    dt_coordinated *c = r->coordinator;
    dt_arrival a;

    if (dt_coordinated_rests(r)) begin_window(c);
    while (!dt_worker_pool_ready(c->pool, &a)) DT_TRY(wait_for_push(r, c));
    return apply(c, &a, batch, loss);
}

bool dt_coordinated_rests(const run *r) {
    return !r->coordinator || dt_closures_rest(dt_worker_pool_closures(r->coordinator->pool));
}

void dt_coordinated_drain(const run *r) {
    dt_closures_drain(dt_worker_pool_closures(r->coordinator->pool));
}

void dt_coordinated_report(run *r) {
    dt_coordinated *c = r->coordinator;
    if (c->reported_step == r->at.step) return;
    const dt_closures *x = dt_worker_pool_closures(c->pool);
    c->reported_step = r->at.step;
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_WORKERS,
                               .step = r->at.step,
                               .workers = dt_worker_pool_workers(c->pool),
                               .workers_lost = dt_worker_pool_lost(c->pool),
                               .batches_again = x->again,
                               .pushes_dropped = x->dropped,
                               .staleness = x->stale,
                               .n_staleness = dt_closures_bins(x)});
}

/* ---- opening ---- */

/* Gradients are unscaled by who has the variables, and the scale moves with every one of them, so
 * those on their way have another. */
static dt_status *check(const run *r) {
    if (r->optimizer->scaling.growth <= 0) return NULL;
    return dt_suggest(
        dt_fail(
            DT_E_MISUSE, NULL,
            "loss scaling, which mixed_float16 needs, is not supported with a parameter server"),
        "use mixed_bfloat16");
}

/* Finds the gradient of each trained variable among the results of the worker and the arguments of
 * the update. Variables that a worker's step changes, such as moving means, come back as
 * differences. */
static dt_status *match(dt_coordinated *c, dt_halves *h, const dt_compiled *half) {
    const dt_model *m = c->r->model;
    const dt_graph *worker = dt_compiled_step(c->trainer->train), *update = dt_compiled_step(half);
    *h = dt_halves_none(c->arena, c->n_variables);
    for (int i = 0; i < c->n_variables; i++) {
        const char *name =
            i < m->n_weights ? dt_gradient_name(c->arena, c->variable[i]) : dt_pushed_examples;
        h->moves[i] = i < m->n_weights && dt_step_moves(worker, c->variable[i]);
        h->result[i] = h->moves[i] ? -1 : dt_graph_find_result(worker, name);
        h->argument[i] = h->moves[i] ? -1 : dt_graph_find_argument(update, name);
    }
    dt_halves_match_parts(h, &c->packed, worker, update, c->arena);
    return dt_halves_check(h, &c->packed, worker);
}

static bool is_looked_up(const dt_coordinated *c, const dt_variable *v) {
    const int n = c->trainer->numbers ? dt_compiled_step(c->trainer->numbers)->n_results : 0;
    for (int k = 0; k < n; k++)
        if (c->trainer->table[k] == v) return true;
    return false;
}

/* A table is sent by rows if the worker needs no others, and gives no whole gradient back. */
static dt_sent way_of(const dt_coordinated *c, const dt_variable *v) {
    const dt_trainer *t = c->trainer;
    const dt_graph *worker = dt_compiled_step(t->train);
    const bool comes_back = v == c->r->optimizer->examples || dt_step_moves(worker, v) ||
                            dt_graph_find_result(worker, dt_gradient_name(c->arena, v)) >= 0;
    if (is_looked_up(c, v) && !comes_back) return DT_SENT_BY_ROWS;
    return comes_back || dt_step_moves(dt_compiled_step(t->update), v) ||
                   (t->gather && dt_step_moves(dt_compiled_step(t->gather), v))
               ? DT_SENT_EACH_TIME
               : DT_SENT_ONCE;
}

static void list_variables(dt_coordinated *c) {
    const dt_model *m = c->r->model;
    c->variable = dt_arena_array(c->arena, dt_variable *, m->n_weights + 1);
    for (c->n_variables = 0; c->n_variables < m->n_weights; c->n_variables++)
        c->variable[c->n_variables] = m->weight[c->n_variables];
    if (c->trainer->gather) c->variable[c->n_variables++] = c->r->optimizer->examples;
    c->sent = dt_arena_array(c->arena, dt_sent, c->n_variables + 1);
    for (int i = 0; i < c->n_variables; i++) c->sent[i] = way_of(c, c->variable[i]);
}

/* What workers will share is read by the first batch. */
static dt_status *prepare(dt_coordinated *c) {
    const run *r = c->r;
    const dt_dataset_spec *spec = dt_dataset_spec_of(r->data);
    dt_batch batch;
    list_variables(c);
    DT_TRY(dt_packed_make(&c->packed, c->arena, c->variable, c->n_variables, c->sent,
                          &r->strategy->servers));
    DT_TRY(match(c, &c->halves, c->trainer->update));
    if (c->trainer->gather) DT_TRY(match(c, &c->gathering, c->trainer->gather));
    c->argument =
        dt_arena_array(c->arena, dt_view, dt_compiled_step(c->trainer->update)->n_args + 1);
    c->no_result =
        dt_arena_array(c->arena, dt_view, dt_compiled_step(c->trainer->update)->n_results + 1);
    DT_TRY(dt_feed_open(&c->batches, r->data,
                        &(dt_feed_options){.part = DT_PART_TRAIN,
                                           .batch = r->size.batch,
                                           .last = spec->last_batch,
                                           .shuffle = spec->shuffle,
                                           .by_number = true}));
    return dt_feed_read(c->batches, r->at.step, &batch);
}

static void report_waiting(void *user, const char *text) {
    const dt_coordinated *c = user;
    dt_run_emit(c->r, &(dt_event){.kind = DT_EVENT_WAITING, .text = text});
}

static dt_worker_pool_spec describe(dt_coordinated *c) {
    return (dt_worker_pool_spec){
        .how = &c->r->strategy->servers,
        .packed = &c->packed,
        .closure = "batch",
        .body = dt_closure_body(c),
        .last_words = "dtrain: the coordinator, which has the weights, is gone: its workers stop; "
                      "run the job again to resume from its newest checkpoint",
        .asks = asks,
        .is_whole = is_whole,
        .failed = failed,
        .warn = warn,
        .say = report_waiting,
        .user = c};
}

static dt_status *begin(run *r) {
    DT_TRY(check(r));
    dt_coordinated *c = dt_alloc(sizeof *c);
    *c = (dt_coordinated){
        .r = r, .reported_step = r->at.step, .trainer = r->q->trainer, .arena = dt_arena_create()};
    r->coordinator = c;
    return prepare(c);
}

dt_status *dt_coordinated_open(run *r) {
    if (!r->strategy->servers.workers) return NULL;
    DT_TRY(begin(r));
    const dt_worker_pool_spec spec = describe(r->coordinator);
    return dt_worker_pool_open(&r->coordinator->pool, &spec);
}

bool dt_coordinated_is_worker(const run *r) {
    const dt_launch *l = &r->strategy->servers.launch;
    return l->workers > 0 && (l->rank > 0 || l->task != DT_TASK_WORKER);
}

dt_status *dt_coordinated_work(run *r) {
    dt_status *s = begin(r);
    const dt_worker_pool_spec spec = s ? (dt_worker_pool_spec){0} : describe(r->coordinator);
    if (!s) s = dt_worker_pool_serve(&spec);
    dt_coordinated_close(r);
    return s && dt_status_number(s) == DT_E_WORKER_GONE
               ? dt_suggest(s, "start the coordinator and its workers again: the run resumes from "
                               "its newest checkpoint")
               : s;
}

void dt_coordinated_close(run *r) {
    dt_coordinated *c = r->coordinator;
    if (!c) return;
    if (c->pool) dt_coordinated_report(r);
    r->coordinator = NULL;
    dt_worker_pool_close(c->pool);
    dt_feed_close(c->batches);
    dt_arena_destroy(c->arena);
    free(c);
}
