/* SPDX-License-Identifier: Apache-2.0 */
/* See coordinator.h: hands out batches as closures, and applies what workers push. */
#include "train/coordinator.h"

#include <stdlib.h>
#include <string.h>

#include "train/record.h"

/* The head of the bytes that a worker sends with its gradients. `sums` doubles follow it, the sums
 * of losses and metrics (results.h), and then the parts of gradients (dt_parts_write). */
typedef struct push_report {
    int64_t rows, sums;
    double loss, waited_s, seconds, spent_s[DT_SPENT_KINDS];
} push_report;

/*
 * What a worker of `fit` computes: the gradients of the batch that has the closure's number
 * (strategy/worker_pool_open.c). A worker has the model, the compiled step and the data set, either
 * because the worker is a fork of the coordinator or because it has read the same job.
 */

static void begin_worker(void *user, int worker) {
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

/* Reads the closure's batch, and writes a request for the rows of tables that this batch looks
 * up. */
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

/* Writes a push_report, the sums of losses and metrics, and the parts from which the coordinator
 * computes gradients. */
static void write_report(const dt_coordinated *c, double loss, double seconds, dt_str *more) {
    const dt_example *batch = &c->batch;
    const push_report report = {
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

/* In a worker: pulls from the tasks of type ps the variables and the rows of tables that the batch
 * needs. */
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

/* Returns the functions that a worker of this run computes with. */
static dt_worker_body closure_body(dt_coordinated *c) {
    return (dt_worker_body){begin_worker, ask, compute, end, c};
}

enum { LOOK_NS = 100000000 };
/* The programs that the server of the variables runs: UPDATE applies gradients, GATHER only
 * accumulates them. */
enum { UPDATE, GATHER, PROGRAMS };

static bool asks(void *user, int64_t number) {
    const dt_coordinated *c = user;
    (void)number;
    return c->trainer->numbers != NULL && !c->ps.n;
}

static bool is_whole(void *user, const dt_arrival *a) {
    const dt_coordinated *c = user;
    push_report x;
    if (!a->slices || a->message.more < (int64_t)sizeof x) return false;
    memcpy(&x, a->more, sizeof x);
    const int64_t before = (int64_t)sizeof x + c->r->at.sums.n * (int64_t)sizeof(double),
                  left = a->message.more - before;
    if (x.sums != c->r->at.sums.n || x.rows < 0 || x.rows > INT32_MAX || left < 0) return false;
    const char *parts = a->more + before;
    int64_t used = 0;
    return dt_parts_are_sound(&c->held.program->halves, parts, left, &used) && used == left &&
           (used == 0 || dt_parts_rows(&c->held.program->halves, parts) == x.rows);
}

static dt_status *failed(void *user, const dt_arrival *a) {
    (void)user;
    return dt_worker_pool_failure(a, "batch");
}

static void warn(void *user, const char *text) {
    const dt_coordinated *c = user;
    dt_run_warn(c->r, text);
}

static int64_t next_multiple(int64_t of, int64_t above) {
    return of > 0 ? (above / of + 1) * of : INT64_MAX;
}

/* Returns the step at which the window ends: the first of the end of the epoch, the next checkpoint
 * by steps, and the end of the run. */
static int64_t end_of_window(const run *r) {
    const dt_checkpoint_spec *c = r->q->checkpoint;
    const int64_t ends[] = {r->at.step - r->at.epoch_step + r->size.steps_per_epoch,
                            next_multiple(c ? c->every_steps : 0, r->at.step), r->size.steps};
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        first = ends[i] < first ? ends[i] : first;
    return first;
}

static void add_report(dt_coordinated *c, const dt_arrival *a, dt_example *batch, double *loss) {
    push_report x;
    double sum;
    memcpy(&x, a->more, sizeof x);
    for (int64_t i = 0; i < x.sums; i++) {
        memcpy(&sum, a->more + sizeof x + (size_t)i * sizeof sum, sizeof sum);
        c->r->at.sums.v[i] += sum;
    }
    c->r->at.sums.examples += (double)x.rows;
    *loss = x.loss;
    *batch = (dt_example){.rows = x.rows,
                          .epoch = a->message.number / c->r->size.data_steps,
                          .step = a->message.number % c->r->size.data_steps,
                          .waited_s = x.waited_s,
                          .spent_s = {x.spent_s[0], x.spent_s[1], x.spent_s[2]}};
}

static dt_status *apply(dt_coordinated *c, const dt_arrival *a, dt_example *batch, double *loss) {
    const bool last = dt_run_closes_window(c->r, c->r->at.epoch_step + 1);
    const int program = last ? UPDATE : GATHER;
    const dt_pushed pushed = {a->slices, a->more + sizeof(push_report) +
                                             (size_t)c->r->at.sums.n * sizeof(double)};
    const dt_ps_order order = {a->worker, program,
                               dt_closures_first(dt_worker_pool_closures(c->pool))};
    dt_status *s = c->ps.n ? dt_ps_apply(&c->ps, a->message.number, &order)
                           : dt_parameter_store_apply(&c->held, program, &pushed);
    if (!s) add_report(c, a, batch, loss);
    dt_status *late = dt_worker_pool_finish(c->pool, a, true, NULL);
    dt_status_free(s ? late : NULL);
    return s ? s : late;
}

static dt_status *begin_window(dt_coordinated *c) {
    const run *r = c->r;
    /* The caller may have changed the weights between windows, so workers must get them again. */
    dt_worker_pool_forget(c->pool);
    DT_TRY(dt_ps_set(&c->ps, r->at.step));
    dt_closures_begin(dt_worker_pool_closures(c->pool), r->at.step, end_of_window(r));
    return NULL;
}

static bool ends_at_once(const run *r) { return r->q->run->stop && *r->q->run->stop > 1; }

static dt_status *wait_for_push(const run *r, const dt_coordinated *c) {
    bool came = false;
    if (ends_at_once(r))
        return dt_fail(DT_E_STOPPED_AT_ONCE, NULL, "stopped at once after step %lld, not saved",
                       (long long)r->at.step);
    return dt_worker_pool_wait(c->pool, dt_now_ns() + LOOK_NS, &came);
}

static dt_status *take_step(dt_coordinated *c, dt_example *batch, double *loss) {
    dt_arrival a;
    if (dt_coordinated_rests(c->r)) DT_TRY(begin_window(c));
    while (!dt_worker_pool_ready(c->pool, &a)) DT_TRY(wait_for_push(c->r, c));
    DT_TRY(apply(c, &a, batch, loss));
    return dt_coordinated_rests(c->r) ? dt_ps_get(&c->ps) : NULL;
}

/* Remembers that an error ends the run, so that the tasks of type ps are not sent the end of a run
 * that ended well. Adds advice to errors about lost workers. Returns s. */
static dt_status *note_failure(dt_coordinated *c, dt_status *s) {
    const int number = s ? (int)dt_status_number(s) : 0;
    c->failed |= c->ps.n && s && number != DT_E_STOPPED_AT_ONCE;
    return number == DT_E_WORKER_GONE || number == DT_E_WORKER_LATE
               ? dt_suggest(s, "run the job again to resume from its newest checkpoint")
               : s;
}

dt_status *dt_coordinated_step(run *r, dt_example *batch, double *loss) {
    dt_status *s = take_step(r->coordinator, batch, loss);
    return note_failure(r->coordinator, s);
}

dt_status *dt_coordinated_fetch(run *r) {
    if (!r->coordinator || dt_coordinated_rests(r)) return NULL;
    return note_failure(r->coordinator, dt_ps_get(&r->coordinator->ps));
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

/* Refuses loss scaling. The process that has the variables removes the scale from gradients, and
 * may change the scale with every push; gradients that are computed at that time would have
 * another scale. */
static dt_status *check(const run *r) {
    if (r->optimizer->scaling.growth <= 0) return NULL;
    return dt_suggest(
        dt_fail(
            DT_E_MISUSE, NULL,
            "loss scaling, which mixed_float16 needs, is not supported with a parameter server"),
        "use mixed_bfloat16");
}

/* Finds the gradient of each trained variable among the results of the worker's step and the
 * arguments of the update. Variables that a worker's step changes, such as moving means, come
 * back as differences. */
static dt_status *match(void *user, const dt_packed_variables *packed, int program,
                        dt_parameter_program *p) {
    const dt_coordinated *c = user;
    const dt_graph *worker = dt_compiled_step(c->trainer->train),
                   *update = dt_compiled_step(p->run);
    dt_halves *h = &p->halves;
    (void)program;
    *h = dt_halves_none(c->arena, packed->n);
    for (int i = 0; i < packed->n; i++) {
        const dt_variable *v = dt_variable_whole(packed->variable[i]);
        const bool weight = v != c->r->optimizer->examples;
        h->moves[i] = weight && dt_step_moves(worker, v);
        if (!h->moves[i])
            dt_halves_bind(h, packed, i,
                           weight ? dt_gradient_name(c->arena, v) : dt_pushed_examples, worker,
                           update, c->arena);
    }
    dt_halves_match_parts(h, packed, worker, update, c->arena);
    return dt_halves_check(h, packed, worker);
}

static bool is_looked_up(const dt_coordinated *c, const dt_variable *v) {
    const int n = c->trainer->numbers ? dt_compiled_step(c->trainer->numbers)->n_results : 0;
    for (int k = 0; k < n; k++)
        if (c->trainer->table[k] == v) return true;
    return false;
}

/* Decides how the values of a variable travel to workers. A table is sent by rows if workers need
 * only the rows that they look up, and push no gradient of the whole table. Any other variable is
 * sent with each closure if workers push a gradient or a difference of it or the update changes it,
 * else once. */
static dt_sent way_of(void *user, const dt_variable *v) {
    const dt_coordinated *c = user;
    const dt_graph *worker = dt_compiled_step(c->trainer->train);
    const bool comes_back = v == c->r->optimizer->examples || dt_step_moves(worker, v) ||
                            dt_graph_find_result(worker, dt_gradient_name(c->arena, v)) >= 0;
    if (is_looked_up(c, v) && !comes_back) return DT_SENT_BY_ROWS;
    const bool changes = comes_back || dt_step_moves(dt_compiled_step(c->trainer->update), v);
    return changes ? DT_SENT_EACH_TIME : DT_SENT_ONCE;
}

static dt_status *compile(void *user, int program, dt_graph *g, dt_compiled **out) {
    const dt_coordinated *c = user;
    return dt_trainer_compile_update(c->trainer, g, program == UPDATE, out);
}

/* Lists the variables that the coordinator or the tasks of type ps own (the weights and, if
 * gradients are accumulated, the number of examples), and the programs that change them. */
static dt_status *divide(dt_coordinated *c) {
    const dt_optimizer_head *head = c->r->optimizer->named.args;
    const dt_model *m = c->r->model;
    dt_compiled *const update[] = {[UPDATE] = c->trainer->update, [GATHER] = c->trainer->gather};
    dt_variable **v = dt_arena_array(c->arena, dt_variable *, m->n_weights + 1);
    dt_ps_division q = {.variable = v,
                        .joint = head->global_clipnorm > 0,
                        .update = update,
                        .n_programs = c->trainer->gather ? PROGRAMS : GATHER,
                        .way_of = way_of,
                        .compile = compile,
                        .match = match,
                        .user = c};
    for (; q.n < m->n_weights; q.n++) v[q.n] = m->weight[q.n];
    if (c->trainer->gather) q.everywhere = v[q.n++] = c->r->optimizer->examples;
    q.n_read = q.n;
    return dt_ps_divide(&c->held, &c->ps, &q, c->arena);
}

static bool is_ps(const dt_coordinated *c) { return c->ps.n && c->how.launch.task == DT_TASK_PS; }

static dt_status *open_batches(dt_coordinated *c) {
    const run *r = c->r;
    const dt_dataset_spec *spec = dt_dataset_spec_of(r->data);
    dt_example batch;
    DT_TRY(dt_iterator_open_batches(&c->batches, r->data,
                                    &(dt_batch_options){.part = DT_PART_TRAIN,
                                                        .batch = r->size.batch,
                                                        .last = spec->last_batch,
                                                        .shuffle = spec->shuffle,
                                                        .by_number = true}));
    return dt_iterator_read_batch(c->batches, r->at.step, &batch);
}

/* Whether a C program trains with dt_model_fit, and not `fit` with a job. Its tasks of type ps have
 * not read a job, so the coordinator sends them the programs to run. */
static bool is_of_program(const dt_coordinated *c) { return !c->how.fingerprint; }

static dt_status *connect_tasks(dt_coordinated *c) {
    DT_TRY(dt_ps_connect(&c->ps, c->ps.workers));
    if (!is_of_program(c) || !c->ps.n) return NULL;
    c->r->strategy->servers.reached = true;
    return dt_ps_send_programs(&c->ps);
}

/* Divides the variables among the tasks of type ps; without such tasks, the coordinator has all.
 * Unless this process is such a task, also opens the batches, before workers are forked, and reads
 * the batch of the next step, so that the workers share what was read. */
static dt_status *prepare(dt_coordinated *c) {
    c->ps = (dt_ps_tasks){.n = c->how.launch.ps,
                          .workers = is_of_program(c) ? DT_LAUNCHER_WORKERS : c->how.workers,
                          .spec = &c->spec};
    DT_TRY(divide(c));
    return is_ps(c) ? NULL : open_batches(c);
}

static void report_waiting(void *user, const char *text) {
    const dt_coordinated *c = user;
    dt_run_emit(c->r, &(dt_event){.kind = DT_EVENT_WAITING, .text = text});
}

static dt_worker_pool_spec describe(dt_coordinated *c) {
    return (dt_worker_pool_spec){
        .how = &c->how,
        .packed = &c->held.packed,
        .closure = "batch",
        .body = closure_body(c),
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
    *c = (dt_coordinated){.r = r,
                          .how = r->strategy->servers,
                          .reported_step = r->at.step,
                          .trainer = r->q->trainer,
                          .arena = dt_arena_create()};
    r->coordinator = c;
    c->spec = describe(c);
    return prepare(c);
}

dt_status *dt_coordinated_open(run *r) {
    if (!r->strategy->servers.workers) return NULL;
    DT_TRY(begin(r));
    dt_coordinated *c = r->coordinator;
    DT_TRY(dt_worker_pool_open(&c->pool, &c->spec));
    dt_status *s = connect_tasks(c);
    c->failed = s != NULL;
    return s;
}

bool dt_coordinated_is_worker(const run *r) {
    const dt_launch *l = &r->strategy->servers.launch;
    return l->workers > 0 && (l->rank > 0 || l->task != DT_TASK_WORKER);
}

static dt_status *serve(dt_coordinated *c) {
    const dt_launch *l = &c->how.launch;
    return is_ps(c) ? dt_ps_serve(&c->ps, &c->ps.task[l->rank - l->workers], NULL)
                    : dt_worker_pool_serve(&c->spec);
}

dt_status *dt_coordinated_work(run *r) {
    dt_status *s = begin(r);
    if (!s) s = serve(r->coordinator);
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
    if (c->pool && c->failed) dt_worker_pool_fail(c->pool);
    dt_worker_pool_close(c->pool);
    if (is_of_program(c)) dt_ps_pause(&c->ps);
    dt_ps_close(&c->ps, c->pool && !c->failed && !is_of_program(c));
    dt_iterator_close(c->batches);
    dt_arena_destroy(c->arena);
    free(c);
}
