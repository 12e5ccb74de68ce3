/* SPDX-License-Identifier: Apache-2.0 */
/* See coordinator.h: workers come and go, closures are given out, and what they push is applied. */
#include "train/coordinator.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "train/record.h"

enum { LOOK_NS = 100000000, LOST_IN_A_ROW = 8 };

/* ---- workers ---- */

static dt_status *start_worker(dt_coordinator *c, int w)
{
    int link[DT_NURSERY_LINKS];
    pid_t pid = 0;
    DT_TRY(dt_nursery_start(c->nursery, w, c->spec->servers, link, &pid));
    dt_servers_add(c->servers, w, link);
    c->worker[w] = (dt_colleague){ .pid = pid, .there = true };
    return NULL;
}

static int count_workers(const dt_coordinator *c, bool late)
{
    int n = 0;
    for (int w = 0; w < c->spec->workers; w++)
        n += c->worker[w].there && c->worker[w].late <= late;
    return n;
}

static void tell_lost(const dt_coordinator *c, int w, int closures, const char *how)
{
    dt_str text = { 0 };
    dt_str_printf(&text, "worker %d (process %lld) %s%s%s", w, (long long)c->worker[w].pid, how, closures ? "; its batch is given to another worker" : "",
                  c->spec->elastic ? "; another one is started in its place" : "");
    dt_run_warn(c->r, dt_str_text(&text));
    dt_str_release(&text);
}

static dt_status *resume_hint(dt_status *s)
{
    return dt_suggest(s, "run the job again to resume from its newest checkpoint");
}

static dt_status *lose_worker(dt_coordinator *c, int w)
{
    const int closures = dt_closures_lose(&c->closures, w);
    dt_servers_drop(c->servers, w);
    c->worker[w].there = c->worker[w].busy = false;
    c->lost++;
    tell_lost(c, w, closures, "was lost");
    if (++c->lost_in_a_row > LOST_IN_A_ROW * (int64_t)c->spec->workers)
        return resume_hint(dt_fail(DT_E_WORKER_GONE, NULL, "%lld workers were lost one after the other, and none of them computed anything", (long long)c->lost_in_a_row));
    if (c->spec->elastic)
        return start_worker(c, w);
    if (count_workers(c, true) > 0)
        return NULL;
    return resume_hint(dt_fail(DT_E_WORKER_GONE, NULL, "all %d workers are lost; elastic: true starts lost workers again", c->spec->workers));
}

/* Those that have not answered for long: others get their closures. */
static dt_status *look_for_late_ones(dt_coordinator *c)
{
    for (int w = 0; w < c->spec->workers; w++) {
        dt_colleague *x = &c->worker[w];
        if (!x->there || !x->busy || x->late || dt_seconds_since(x->given_ns) < c->spec->timeout)
            continue;
        x->late = true;
        tell_lost(c, w, dt_closures_lose(&c->closures, w), "does not answer");
        if (c->spec->elastic) { /* one that is stopped would hold its place for ever */
            kill(x->pid, SIGKILL);
            x->late = false;
            x->given_ns = dt_now_ns();
        }
    }
    if (count_workers(c, false) > 0)
        return NULL;
    return resume_hint(dt_fail(DT_E_WORKER_LATE, NULL, "no worker has answered for %g s; see strategy.timeout", c->spec->timeout));
}

/* ---- weights ---- */

static void drop_editions(dt_coordinator *c, int64_t below)
{
    int kept = 0;
    for (int i = 0; i < c->n_editions; i++)
        if (c->edition[i].version < below)
            dt_shared_unref(c->edition[i].weights);
        else
            c->edition[kept++] = c->edition[i];
    c->n_editions = kept;
}

static dt_status *publish(dt_coordinator *c)
{
    dt_shared *weights = NULL;
    DT_TRY(dt_shared_new(&weights, c->shipment.slices.bytes));
    DT_GROW(c->edition, c->cap_editions, c->n_editions + 1);
    c->edition[c->n_editions++] = (dt_edition){ c->closures.version, weights };
    return dt_shipment_pack(&c->shipment, c->r->model, weights->data);
}

/* Of the version at hand they are copied when first asked for. */
static dt_status *find_edition(dt_coordinator *c, int64_t version, dt_shared **out)
{
    if (c->n_editions == 0 || c->edition[c->n_editions - 1].version < c->closures.version)
        DT_TRY(publish(c));
    for (int i = 0; i < c->n_editions; i++)
        if (c->edition[i].version == version)
            *out = c->edition[i].weights;
    return NULL;
}

/* ---- closures ---- */

static int64_t next_multiple(int64_t of, int64_t above)
{
    return of > 0 ? (above / of + 1) * of : INT64_MAX;
}

/* The end of the epoch, the next checkpoint by steps, or that of the run. */
static int64_t end_of_window(const run *r)
{
    const dt_checkpoint_spec *c = r->q->checkpoint;
    const int64_t ends[] = { r->at.step - r->at.epoch_step + r->steps_per_epoch, next_multiple(c ? c->every_steps : 0, r->at.step), r->steps };
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        first = ends[i] < first ? ends[i] : first;
    return first;
}

static dt_status *give_out(dt_coordinator *c)
{
    dt_closure x;
    dt_shared *weights = NULL;
    for (int w = 0; w < c->spec->workers; w++) {
        dt_colleague *k = &c->worker[w];
        if (!k->there || k->busy || !dt_closures_give(&c->closures, w, &x))
            continue;
        DT_TRY(find_edition(c, x.version, &weights));
        k->busy = true;
        k->given_ns = dt_now_ns();
        dt_servers_give(c->servers, w, &(dt_parcel){ .kind = DT_PARCEL_WORK, .number = x.number, .version = x.version }, weights, NULL);
    }
    return NULL;
}

static void release_arrival(dt_coordinator *c, const dt_arrival *a)
{
    dt_servers_recycle(c->servers, a->slices);
    free(a->more);
}

static void keep_push(dt_coordinator *c, const dt_arrival *a)
{
    DT_GROW(c->pushed, c->cap_pushed, c->n_pushed + 1);
    c->pushed[c->n_pushed++] = *a;
}

/* Takes it out of the list. */
static dt_arrival find_push(dt_coordinator *c, int64_t number)
{
    int at = 0;
    while (c->pushed[at].message.number != number)
        at++;
    const dt_arrival found = c->pushed[at];
    c->pushed[at] = c->pushed[--c->n_pushed];
    return found;
}

static dt_status *report_failure(const dt_arrival *a)
{
    int32_t number = DT_E_INTERNAL;
    if (a->message.more >= (int64_t)sizeof number)
        memcpy(&number, a->more, sizeof number);
    dt_status *s = dt_fail((dt_error)number, NULL, "%s", a->message.more > (int64_t)sizeof number ? a->more + sizeof number : "a worker failed");
    return dt_note(s, "worker %d, batch %lld", a->worker, (long long)a->message.number + 1);
}

static bool is_whole(const dt_coordinator *c, const dt_arrival *a)
{
    dt_push_report x;
    if (a->message.more < (int64_t)sizeof x)
        return false;
    memcpy(&x, a->more, sizeof x);
    return x.sums == c->r->at.sums.n && a->message.more == (int64_t)(sizeof x + (size_t)x.sums * sizeof(double));
}

static dt_status *take_arrival(dt_coordinator *c, dt_arrival *a)
{
    if (a->gone)
        return c->worker[a->worker].there ? lose_worker(c, a->worker) : NULL;
    c->worker[a->worker].busy = c->worker[a->worker].late = false;
    if (a->message.kind == DT_PARCEL_FAILED) {
        dt_status *s = report_failure(a);
        release_arrival(c, a);
        return s;
    }
    if (!is_whole(c, a) || !dt_closures_push(&c->closures, a->worker, a->message.number))
        release_arrival(c, a);
    else
        keep_push(c, a);
    return NULL;
}

/* ---- a step ---- */

static dt_status *apply(dt_coordinator *c, const dt_arrival *a)
{
    const dt_shipment *s = &c->shipment;
    const int32_t rows[] = { 0, 1 };
    for (int i = 0; i < s->n; i++)
        if (s->argument[i] >= 0)
            c->argument[s->argument[i]] = (dt_view){ .type = c->r->model->weight[i]->type, .data = (char *)a->slices + s->offset[i] };
    DT_TRY(dt_compiled_run(c->trainer->update, rows, c->argument, c->no_result));
    return dt_shipment_move_state(s, c->r->model, a->slices);
}

static void add_report(dt_coordinator *c, const dt_arrival *a, dt_batch *batch, double *loss)
{
    dt_push_report x;
    double sum;
    memcpy(&x, a->more, sizeof x);
    for (int64_t i = 0; i < x.sums; i++) {
        memcpy(&sum, a->more + sizeof x + (size_t)i * sizeof sum, sizeof sum);
        c->r->at.sums.v[i] += sum;
    }
    c->r->at.sums.examples += (double)x.rows;
    *loss = x.loss;
    *batch = (dt_batch){ .rows = x.rows, .epoch = a->message.number / c->r->data_steps, .step = a->message.number % c->r->data_steps, .waited_s = x.waited_s,
                         .spent_s = { x.spent_s[0], x.spent_s[1], x.spent_s[2] } };
}

static dt_status *finish(dt_coordinator *c, int64_t number, dt_batch *batch, double *loss)
{
    const dt_arrival a = find_push(c, number);
    dt_status *s = apply(c, &a);
    if (!s) {
        add_report(c, &a, batch, loss);
        dt_closures_applied(&c->closures, number);
        c->lost_in_a_row = 0;
        drop_editions(c, dt_closures_oldest(&c->closures));
        if (c->spec->in_order)
            s = publish(c);
    }
    release_arrival(c, &a);
    return s;
}

static void begin_window(dt_coordinator *c)
{
    const run *r = c->r;
    drop_editions(c, INT64_MAX); /* who knows what changed the weights */
    dt_closures_begin(&c->closures, r->at.step, end_of_window(r));
}

static bool ends_at_once(const run *r)
{
    return r->q->run->stop && *r->q->run->stop > 1;
}

dt_status *dt_coordinator_step(run *r, dt_batch *batch, double *loss)
{
    dt_coordinator *c = r->coordinator;
    const dt_closure *ready;
    dt_arrival a;

    if (dt_closures_rest(&c->closures))
        begin_window(c);
    DT_TRY(give_out(c));
    while (!(ready = dt_closures_ready(&c->closures))) {
        if (ends_at_once(r))
            return dt_fail(DT_E_STOPPED_AT_ONCE, NULL, "stopped at once after step %lld, not saved", (long long)r->at.step);
        if (dt_servers_next(c->servers, dt_now_ns() + LOOK_NS, &a))
            DT_TRY(take_arrival(c, &a));
        else
            DT_TRY(look_for_late_ones(c));
        DT_TRY(give_out(c));
    }
    return finish(c, ready->number, batch, loss);
}

bool dt_coordinator_rests(const run *r)
{
    return !r->coordinator || dt_closures_rest(&r->coordinator->closures);
}

void dt_coordinator_drain(const run *r)
{
    dt_closures_drain(&r->coordinator->closures);
}

static int count_stale(const dt_closures *c)
{
    int n = DT_STALENESS_BINS;
    while (n > 0 && c->stale[n - 1] == 0)
        n--;
    return n;
}

void dt_coordinator_tell(run *r)
{
    dt_coordinator *c = r->coordinator;
    if (c->told_step == r->at.step)
        return;
    c->told_step = r->at.step;
    dt_run_emit(r, &(dt_event){ .kind = DT_EVENT_WORKERS, .step = r->at.step, .workers = count_workers(c, true), .workers_lost = c->lost,
                                .batches_again = c->closures.again, .pushes_dropped = c->closures.dropped, .staleness = c->closures.stale,
                                .n_staleness = count_stale(&c->closures) });
}

/* ---- opening ---- */

static dt_status *check(const run *r)
{
    if (r->optimizer->scaling.growth > 0)
        return dt_suggest(dt_fail(DT_E_NOT_YET, NULL, "mixed_float16 is not implemented yet for a parameter server"), "mixed_bfloat16 is");
    if (r->q->fit->accumulate > 1)
        return dt_fail(DT_E_NOT_YET, NULL, "gradient_accumulation_steps is not implemented yet for a parameter server");
    return NULL;
}

/* What workers will share is read by the first batch. */
static dt_status *prepare(dt_coordinator *c)
{
    const run *r = c->r;
    dt_batch batch;
    DT_TRY(dt_shipment_make(&c->shipment, c->arena, c->trainer));
    c->argument = dt_arena_array(c->arena, dt_view, dt_compiled_step(c->trainer->update)->n_args + 1);
    c->no_result = dt_arena_array(c->arena, dt_view, dt_compiled_step(c->trainer->update)->n_results + 1);
    c->worker = dt_arena_array(c->arena, dt_colleague, c->spec->workers);
    DT_TRY(dt_batches_open(&c->batches, r->data, r->batch));
    return dt_batches_read(c->batches, r->at.step, &batch);
}

static dt_status *start_all(dt_coordinator *c)
{
    DT_TRY(dt_nursery_open(&c->nursery, dt_closure_worker, c,
                            "dtrain: the coordinator, which has the weights, is gone: its workers stop; run the job again to resume from its newest checkpoint"));
    DT_TRY(dt_servers_open(&c->servers, &c->shipment.slices, c->spec->workers));
    for (int w = 0; w < c->spec->workers; w++)
        DT_TRY(start_worker(c, w));
    return NULL;
}

dt_status *dt_coordinator_open(run *r)
{
    if (!r->strategy->servers.workers)
        return NULL;
    DT_TRY(check(r));
    dt_coordinator *c = dt_alloc(sizeof *c);
    *c = (dt_coordinator){ .r = r, .told_step = r->at.step, .trainer = r->q->trainer, .spec = &r->strategy->servers, .arena = dt_arena_create() };
    c->closures = (dt_closures){ .staleness = c->spec->staleness, .in_order = c->spec->in_order };
    r->coordinator = c;
    DT_TRY(prepare(c));
    return start_all(c);
}

void dt_coordinator_close(run *r)
{
    dt_coordinator *c = r->coordinator;
    if (!c)
        return;
    if (c->servers)
        dt_coordinator_tell(r);
    r->coordinator = NULL;
    for (int i = 0; i < c->n_pushed; i++)
        release_arrival(c, &c->pushed[i]);
    free(c->pushed);
    drop_editions(c, INT64_MAX);
    dt_servers_close(c->servers);
    dt_nursery_close(c->nursery);
    dt_batches_close(c->batches);
    dt_closures_release(&c->closures);
    free(c->edition);
    dt_arena_destroy(c->arena);
    free(c);
}
