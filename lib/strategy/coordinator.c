/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClusterCoordinator. Scheduled functions become closures of a worker pool (worker_pool.h). Workers
 * are forks of this process, so they have the functions and data sets that it had when it forked. A
 * new function, signature, data set or function for values per worker therefore needs new workers,
 * which are started when all scheduled functions have finished. No thread runs in the background:
 * results are received and applied, and workers get their next functions, only within schedule,
 * join, done and fetch.
 */
#include "strategy/coordinator.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/closure_values.h"

enum { LOOK_NS = 100000000 };

/* ---- scheduled functions ---- */

/* A scheduled function that has not finished. */
typedef struct task {
    int64_t number;
    int kind;
    char *more; /* [n] bytes that are sent with the closure: its encoded arguments */
    int64_t n;
    dt_remote *remote; /* the handle of the function's result; a counted reference */
} task;

static task *find_task(dt_coordinator *c, int64_t number) {
    int low = 0, high = c->n_tasks - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (c->task[middle].number < number) low = middle + 1;
        else high = middle;
    }
    return low < c->n_tasks && c->task[low].number == number ? &c->task[low] : NULL;
}

static void end_task(dt_coordinator *c, task *t, dt_remote_state state) {
    t->remote->state = state;
    t->remote->coordinator = NULL;
    dt_remote_unref(t->remote);
    free(t->more);
    memmove(t, t + 1, (size_t)(&c->task[--c->n_tasks] - t) * sizeof *t);
    int64_t *counts[] = {[DT_REMOTE_FINISHED] = &c->past.finished,
                         [DT_REMOTE_FAILED] = &c->past.failed,
                         [DT_REMOTE_CANCELLED] = &c->past.cancelled};
    ++*counts[state];
}

static bool is_with_worker(dt_coordinator *c, int64_t number) {
    const dt_closures *x = c->pool ? dt_worker_pool_closures(c->pool) : NULL;
    for (int i = 0; x && i < x->n; i++)
        if (x->closure[i].number == number) return true;
    return false;
}

/* Cancels the functions that no worker has or has pushed. */
static void cancel(dt_coordinator *c) {
    if (c->pool) dt_closures_cancel(dt_worker_pool_closures(c->pool));
    for (int i = c->n_tasks - 1; i >= 0; i--)
        if (!is_with_worker(c, c->task[i].number)) end_task(c, &c->task[i], DT_REMOTE_CANCELLED);
}

static void fail_task(dt_coordinator *c, int64_t number, dt_status *why) {
    task *t = find_task(c, number);
    t->remote->error = (int)dt_status_number(why);
    t->remote->text = dt_strdup(dt_status_text(why));
    if (!c->error) {
        c->error = t->remote->error;
        c->text = dt_strdup(t->remote->text);
    }
    dt_status_free(why);
    end_task(c, t, DT_REMOTE_FAILED);
    cancel(c);
}

/* ---- what the pool asks about functions ---- */

static const void *describe(void *user, int64_t number, int64_t *n) {
    const task *t = find_task(user, number);
    *n = t->n;
    return t->more;
}

static bool asks(void *user, int64_t number) {
    dt_coordinator *c = user;
    return c->kind[find_task(c, number)->kind]->asks;
}

static bool is_whole(void *user, const dt_arrival *a) {
    dt_coordinator *c = user;
    const task *t = find_task(c, a->message.number);
    int64_t parts = 0;
    return t && c->kind[t->kind]->changes == (a->slices != NULL) &&
           dt_parts_are_sound(&c->held.program[t->kind].halves, a->more, a->message.more, &parts);
}

static dt_status *failed(void *user, const dt_arrival *a) {
    fail_task(user, a->message.number, dt_worker_pool_failure(a, "function"));
    return NULL;
}

static void warn(void *user, const char *text) {
    /* Losses are not reported here, because dt_coordinator_count counts the lost workers. */
    (void)user, (void)text;
}

/* The pool has failed: cancels everything that was scheduled, and returns the error. */
static dt_status *lose_all(dt_coordinator *c, dt_status *why) {
    dt_coordinator_close_pool(c);
    cancel(c);
    return why;
}

/* ---- results ---- */

static dt_status *take_result(dt_coordinator *c, const dt_arrival *a, dt_values **out) {
    const int kind = find_task(c, a->message.number)->kind;
    const dt_halves *h = &c->held.program[kind].halves;
    const int64_t parts = h->n_parts ? dt_parts_bytes(h, dt_parts_rows(h, a->more)) : 0;
    DT_TRY(dt_values_create(out));
    DT_TRY(dt_closure_values_read(a->more + parts, (size_t)(a->message.more - parts), *out));
    return dt_coordinator_apply(c, kind, a);
}

static dt_status *finish(dt_coordinator *c, const dt_arrival *a) {
    const int64_t number = a->message.number;
    dt_values *values = NULL;
    int64_t stale = 0;
    dt_status *bad = take_result(c, a, &values);
    const bool updated = !bad && a->slices;
    DT_TRY(dt_worker_pool_finish(c->pool, a, updated, &stale));
    if (bad) {
        dt_values_unref(values);
        fail_task(c, number, bad);
        return NULL;
    }
    task *t = find_task(c, number);
    t->remote->values = values;
    t->remote->staleness = updated ? stale : -1;
    end_task(c, t, DT_REMOTE_FINISHED);
    return NULL;
}

/* Receives and applies all results that have arrived. Waits for the first one until the deadline.
 * An error means that the pool has failed: everything that was scheduled is then cancelled. */
static dt_status *receive_results(dt_coordinator *c, int64_t deadline_ns) {
    bool came = true;
    dt_arrival a;
    dt_status *s = NULL;
    if (c->n_tasks > 0) s = dt_coordinator_notice_sets(c);
    for (; !s && came && c->n_tasks > 0; deadline_ns = 0) {
        s = dt_worker_pool_wait(c->pool, deadline_ns, &came);
        while (!s && dt_worker_pool_ready(c->pool, &a)) s = finish(c, &a);
    }
    return s ? lose_all(c, s) : NULL;
}

static dt_status *wait_for_all(dt_coordinator *c) {
    while (c->n_tasks > 0) DT_TRY(receive_results(c, dt_now_ns() + LOOK_NS));
    return NULL;
}

/* If a function has failed, waits until all others have ended, and returns the error of the
 * first one that failed. */
static dt_status *raise(dt_coordinator *c) {
    if (!c->error) return NULL;
    dt_status *lost = wait_for_all(c);
    /* The function's own error is older than the loss, so only that error is returned. */
    dt_status_free(lost);
    dt_status *s = dt_fail((dt_error)c->error, NULL, "%s", c->text);
    c->error = 0;
    free(c->text);
    c->text = NULL;
    return s;
}

/* ---- scheduling ---- */

static int find_own(const dt_coordinator *c, const dt_per_worker *p) {
    for (int i = 0; i < c->n_own; i++)
        if (c->own[i] == p) return i;
    return -1;
}

/* Waits until all functions have finished, and ends the workers. The next schedule starts new ones.
 * Returns the error of the first function that failed, or that of a failed pool. */
static dt_status *renew(dt_coordinator *c) {
    DT_TRY(wait_for_all(c));
    dt_coordinator_close_pool(c);
    return raise(c);
}

static dt_status *find_kind(dt_coordinator *c, dt_function *f, dt_step_call *call, int *out) {
    dt_closure_kind *made = NULL;
    DT_TRY(dt_step_check(call));
    for (*out = 0; *out < c->n_kinds; ++*out)
        if (dt_closure_kind_fits(c->kind[*out], f, call)) return NULL;
    call->sizing = DT_SIZES_ANY;
    DT_TRY(renew(c));
    DT_TRY(dt_closure_kind_make(&made, f, call));
    DT_GROW(c->kind, c->cap_kinds, c->n_kinds + 1);
    c->kind[c->n_kinds++] = made;
    return NULL;
}

/* Collects the arguments of a function as they are in the coordinator. A value per worker is
 * represented by its sample. */
static dt_status *sample(const dt_closure_arguments *a, dt_values *into) {
    DT_TRY(dt_arguments_add(into, a->values, false));
    for (int i = 0; i < DT_MOST_PER_WORKER && a->per_worker[i]; i++)
        DT_TRY(dt_arguments_add(into, a->per_worker[i]->sample, false));
    return NULL;
}

static dt_status *add_own(dt_coordinator *c, const dt_closure_arguments *a, dt_work_head *h) {
    for (; h->n_own < DT_MOST_PER_WORKER && a->per_worker[h->n_own]; h->n_own++) {
        dt_per_worker *p = a->per_worker[h->n_own];
        h->own[h->n_own] = find_own(c, p);
        if (h->own[h->n_own] >= 0) continue;
        DT_TRY(renew(c));
        DT_GROW(c->own, c->cap_own, c->n_own + 1);
        h->own[h->n_own] = c->n_own;
        p->refs++;
        c->own[c->n_own++] = p;
    }
    return NULL;
}

static dt_status *add_task(dt_coordinator *c, const dt_work_head *h, const dt_values *values,
                           dt_remote **out) {
    dt_str more = {0};
    dt_str_add(&more, h, sizeof *h);
    dt_closure_values_write(values, &more);
    const size_t n = more.size;
    if (n > DT_MOST_MORE) {
        dt_str_release(&more);
        return dt_fail(DT_E_RANGE, NULL,
                       "the arguments of a scheduled function have %zu bytes; they may have %d. "
                       "Workers can read data themselves: dt_coordinator_per_worker_dataset",
                       n, DT_MOST_MORE);
    }
    /* The program may have set variables, so workers must get all of them again. */
    if (c->n_tasks == 0) dt_worker_pool_forget(c->pool);
    dt_remote *r = dt_alloc(sizeof *r);
    *r = (dt_remote){.refs = out ? 2 : 1, .coordinator = c, .staleness = -1};
    DT_GROW(c->task, c->cap_tasks, c->n_tasks + 1);
    c->task[c->n_tasks++] = (task){.number = dt_closures_extend(dt_worker_pool_closures(c->pool)),
                                   .kind = h->kind,
                                   .n = (int64_t)n,
                                   .remote = r,
                                   .more = dt_str_take(&more)};
    if (out) {
        dt_remote_unref(*out);
        *out = r;
    }
    return NULL;
}

static dt_status *schedule(dt_coordinator *c, dt_function *f, const dt_closure_arguments *a,
                           dt_values *args, dt_remote **out) {
    int32_t offsets[2] = {0};
    dt_work_head h = {0};
    int kind = 0;
    DT_TRY(sample(a, args));
    DT_TRY(find_kind(
        c, f, &(dt_step_call){.strategy = c->strategy, .args = args, .offsets = offsets}, &kind));
    h.kind = kind;
    DT_TRY(add_own(c, a, &h));
    if (!c->pool) {
        dt_status *s = dt_coordinator_open_pool(c);
        if (s) return lose_all(c, s);
    }
    DT_TRY(add_task(c, &h, a->values, out));
    return receive_results(c, 0);
}

/* ---- public functions ---- */

dt_status *dt_coordinator_create(dt_coordinator **out, dt_strategy *strategy) {
    DT_LIVE(strategy);
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_coordinator_create", "handle to fill"));
    DT_TRY(dt_want(strategy, "dt_coordinator_create", "strategy"));
    if (!strategy->servers.workers)
        return dt_suggest(
            dt_fail(DT_E_MISUSE, NULL,
                    "a coordinator needs a parameter server strategy, got a %s strategy",
                    strategy->row->kind.name),
            "create it with dt_parameter_server_strategy");
    dt_coordinator *c = dt_alloc(sizeof *c);
    *c = (dt_coordinator){.refs = 1, .strategy = dt_strategy_ref(strategy)};
    c->spec = (dt_worker_pool_spec){
        .how = &strategy->servers,
        .packed = &c->held.packed,
        .closure = "function",
        .body = dt_scheduled_body(c),
        .last_words =
            "libdtrain: the coordinator, which schedules functions, is gone: its workers stop",
        .asks = asks,
        .describe = describe,
        .is_whole = is_whole,
        .failed = failed,
        .warn = warn,
        .user = c};
    dt_coordinator_unref(*out);
    *out = c;
    return NULL;
}

void dt_coordinator_unref(dt_coordinator *c) {
    if (!DT_LAST(c)) return;
    dt_coordinator_close_pool(c);
    cancel(c);
    for (int i = 0; i < c->n_kinds; i++) dt_closure_kind_free(c->kind[i]);
    for (int i = 0; i < c->n_own; i++) dt_per_worker_unref(c->own[i]);
    free(c->kind);
    free(c->own);
    free(c->task);
    free(c->text);
    dt_strategy_unref(c->strategy);
    DT_RETIRE(c);
}

const dt_strategy *dt_coordinator_strategy(const dt_coordinator *c) {
    DT_LIVE(c);
    return c ? c->strategy : NULL;
}

static dt_status *make_own(dt_coordinator *c, dt_per_worker *p, dt_per_worker **out) {
    dt_worker_values b = {0};
    dt_status *s = dt_per_worker_next(p, c->strategy, 0, &b, &p->sample);
    dt_worker_values_release(&b);
    if (s) {
        dt_per_worker_unref(p);
        return s;
    }
    dt_per_worker_unref(*out);
    *out = p;
    return NULL;
}

static dt_status *check_own(const dt_coordinator *c, bool has_function, dt_per_worker **out,
                            const char *call) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(c, call, "coordinator"));
    DT_TRY(has_function ? NULL : dt_want(NULL, call, "function"));
    return dt_want(out, call, "handle to fill");
}

dt_status *dt_coordinator_per_worker_dataset(dt_coordinator *c, dt_dataset_fn fn, void *user,
                                             dt_per_worker **out) {
    DT_LIVE(c);
    DT_TRY(check_own(c, fn, out, "dt_coordinator_per_worker_dataset"));
    dt_per_worker *p = dt_alloc(sizeof *p);
    *p = (dt_per_worker){.refs = 1, .dataset = fn, .user = user};
    return make_own(c, p, out);
}

dt_status *dt_coordinator_per_worker_values(dt_coordinator *c, dt_value_fn fn, void *user,
                                            dt_per_worker **out) {
    DT_LIVE(c);
    DT_TRY(check_own(c, fn, out, "dt_coordinator_per_worker_values"));
    dt_per_worker *p = dt_alloc(sizeof *p);
    *p = (dt_per_worker){.refs = 1, .values = fn, .user = user};
    return make_own(c, p, out);
}

void dt_per_worker_unref(dt_per_worker *p) {
    if (!DT_LAST(p)) return;
    dt_values_unref(p->sample);
    DT_RETIRE(p);
}

dt_status *dt_coordinator_schedule(dt_coordinator *c, dt_function *f,
                                   const dt_closure_arguments *arguments, dt_remote **remote) {
    DT_LIVE(c);
    DT_LIVE(f);
    dt_closure_arguments a = {0};
    dt_values *args = NULL;
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(c, "dt_coordinator_schedule", "coordinator"));
    DT_TRY(dt_want(f, "dt_coordinator_schedule", "function"));
    if (arguments) a = *arguments;
    DT_TRY(dt_want_live(a.values, "dt_coordinator_schedule", "list of values"));
    for (int i = 0; i < DT_MOST_PER_WORKER && a.per_worker[i]; i++)
        DT_TRY(dt_want_live(a.per_worker[i], "dt_coordinator_schedule", "dt_per_worker"));
    DT_TRY(raise(c));
    dt_status *s = dt_values_create(&args);
    DT_SCOPE(c->strategy) {
        /* dt_status_kept returns the error that was kept if another strategy's scope is open. */
        if (!s) s = dt_status_kept();
        if (!s) s = schedule(c, f, &a, args, remote);
    }
    dt_values_unref(args);
    return s;
}

dt_status *dt_coordinator_join(dt_coordinator *c) {
    DT_LIVE(c);
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(c, "dt_coordinator_join", "coordinator"));
    DT_TRY(wait_for_all(c));
    return raise(c);
}

dt_status *dt_coordinator_done(dt_coordinator *c, bool *done) {
    DT_LIVE(c);
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(c, "dt_coordinator_done", "coordinator"));
    DT_TRY(dt_want(done, "dt_coordinator_done", "place for the answer"));
    DT_TRY(receive_results(c, 0));
    DT_TRY(raise(c));
    *done = c->n_tasks == 0;
    return NULL;
}

bool dt_coordinator_count(const dt_coordinator *c, dt_coordinator_counts *out) {
    DT_LIVE(c);
    if (!out) return false;
    *out = c ? c->past : (dt_coordinator_counts){0};
    if (!c || !c->pool) return c != NULL;
    const dt_closures *x = dt_worker_pool_closures(c->pool);
    out->workers = dt_worker_pool_workers(c->pool);
    out->workers_lost += dt_worker_pool_lost(c->pool);
    out->again += x->again;
    out->dropped += x->dropped;
    for (int i = 0; i < DT_STALENESS_BINS; i++) out->staleness[i] += x->stale[i];
    return true;
}

/* ---- results of functions ---- */

dt_status *dt_remote_fetch(dt_remote *r, dt_values **out) {
    DT_LIVE(r);
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(r, "dt_remote_fetch", "remote value"));
    DT_TRY(dt_want(out, "dt_remote_fetch", "handle to fill"));
    while (r->coordinator) DT_TRY(receive_results(r->coordinator, dt_now_ns() + LOOK_NS));
    if (r->state == DT_REMOTE_FAILED) return dt_fail((dt_error)r->error, NULL, "%s", r->text);
    if (r->state == DT_REMOTE_CANCELLED)
        return dt_fail(DT_E_CANCELLED, NULL,
                       "the function was cancelled before a worker finished it");
    r->values->refs++;
    dt_values_unref(*out);
    *out = r->values;
    return NULL;
}

dt_remote_state dt_remote_state_of(const dt_remote *r) {
    DT_LIVE(r);
    return r ? r->state : DT_REMOTE_CANCELLED;
}

int64_t dt_remote_staleness(const dt_remote *r) {
    DT_LIVE(r);
    return r ? r->staleness : -1;
}

void dt_remote_unref(dt_remote *r) {
    if (!DT_LAST(r)) return;
    dt_values_unref(r->values);
    free(r->text);
    DT_RETIRE(r);
}
