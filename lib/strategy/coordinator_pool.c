/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers of a coordinator, and where its variables live: in this process, or on tasks of type
 * ps (parameter_tasks.h). A variable on a task is handled like one on a device: reading it fetches
 * its value. So checkpoints, dt_variable_value and dt_model_evaluate work without change. When
 * workers are started again, variables come back to this process first, because the links to the
 * tasks must not be open while it forks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "strategy/coordinator.h"

/* A variable that lives on tasks, each of which has rows of it, or a copy. */
struct dt_lodged {
    /* the interface by which the variable is read and written; its state is this struct */
    dt_variable_holder holder;
    const dt_ps_tasks *ps;
    dt_variable *variable;
    /* the value of variable->written when the variable was last sent to the tasks */
    unsigned written;
};

/* ---- variables on tasks ---- */

/* Gets the rows of a variable from each task that has some of them, or the whole variable from the
 * first task that has all of it. */
static dt_status *get(const dt_ps_tasks *ps, const dt_variable *v) {
    for (int k = 0; k < ps->n; k++)
        for (int i = 0; i < ps->task[k].n_state; i++) {
            dt_variable *x = ps->task[k].state[i];
            if (dt_variable_whole(x) == v) DT_TRY(dt_ps_get_one(&ps->task[k], i));
            if (x == v) return NULL;
        }
    return NULL;
}

static dt_status *fetch(void *state, dt_variable *v) {
    struct dt_lodged *x = state;
    dt_status *s = get(x->ps, v);
    x->written = v->written;
    if (s) v->newer = &x->holder;
    return s;
}

static dt_status *fetch_lost(void *state, dt_variable *v) {
    (void)state;
    return dt_suggest(dt_fail(DT_E_WORKER_GONE, NULL,
                              "variable '%s' was on a parameter server that is lost", v->path),
                      "start all processes again, and restore a checkpoint");
}

static int find_lodged(const dt_coordinator *c, const dt_variable *v) {
    for (int i = 0; i < c->n_lodged; i++)
        if (c->lodged[i].variable == v) return i;
    return -1;
}

static dt_status *lodge(dt_coordinator *c, dt_variable *v) {
    if (find_lodged(c, v) >= 0) return NULL;
    struct dt_lodged *x = &c->lodged[c->n_lodged++];
    *x = (struct dt_lodged){{fetch, x, NULL}, &c->ps, v, v->written};
    return dt_variable_hold(v, &x->holder);
}

static dt_status *lodge_all(dt_coordinator *c) {
    int most = 0;
    for (int k = 0; k < c->ps.n; k++) most += c->ps.task[k].n_state;
    c->lodged = dt_arena_array(c->arena, struct dt_lodged, most + 1);
    for (int k = 0; k < c->ps.n; k++)
        for (int i = 0; i < c->ps.task[k].n_state; i++)
            DT_TRY(lodge(c, dt_variable_whole(c->ps.task[k].state[i])));
    return NULL;
}

/* Brings all variables back to this process. Variables that were on a lost task stay unusable until
 * the program sets them. */
static void bring_back(dt_coordinator *c) {
    static const dt_variable_holder lost = {fetch_lost, NULL, NULL};
    for (int i = 0; i < c->n_lodged; i++) {
        dt_variable *v = c->lodged[i].variable;
        if (v->held != &c->lodged[i].holder) continue;
        dt_status *s = dt_variable_hold(v, NULL);
        if (s) v->held = v->newer = &lost;
        dt_status_free(s);
    }
    c->n_lodged = 0;
}

/* Marks all variables after an update: the tasks have newer values than this process. */
static dt_status *mark_newer(dt_coordinator *c) {
    for (int i = 0; i < c->n_lodged; i++) {
        struct dt_lodged *x = &c->lodged[i];
        DT_TRY(dt_variable_hold(x->variable, &x->holder));
        x->variable->newer = &x->holder;
    }
    return NULL;
}

/* Sends a variable that the program has set to each task that owns rows of it. */
static dt_status *send(dt_coordinator *c, struct dt_lodged *x) {
    DT_TRY(dt_variable_fetch(x->variable));
    for (int k = 0; k < c->ps.n; k++) {
        dt_ps_task *t = &c->ps.task[k];
        for (int i = 0; i < t->n_state; i++)
            if (dt_variable_whole(t->state[i]) == x->variable) DT_TRY(dt_ps_set_one(t, i));
    }
    x->written = x->variable->written;
    return NULL;
}

/* ---- variables of functions ---- */

static bool has(dt_variable *const *list, int n, const dt_variable *v) {
    for (int i = 0; i < n; i++)
        if (list[i] == v) return true;
    return false;
}

static void add(dt_variable **all, int *n, dt_variable *v) {
    if (!has(all, *n, v)) all[(*n)++] = v;
}

/* Lists all variables that functions read, each once, and then those that they change without
 * reading them. Sets *n to the number of all. Returns the number of those that are read. */
static int collect(const dt_coordinator *c, dt_variable ***all, int *n) {
    int most = 0;
    for (int k = 0; k < c->n_kinds; k++)
        most += dt_compiled_step(c->kind[k]->worker.compiled)->n_states + c->kind[k]->n_pushed;
    *all = dt_arena_array(c->arena, dt_variable *, most + 1);
    *n = 0;
    for (int k = 0; k < c->n_kinds; k++) {
        const dt_graph *g = dt_compiled_step(c->kind[k]->worker.compiled);
        for (int i = 0; i < g->n_states; i++) add(*all, n, g->state[i].variable);
    }
    const int read = *n;
    for (int k = 0; k < c->n_kinds; k++)
        for (int i = 0; i < c->kind[k]->n_pushed; i++) add(*all, n, c->kind[k]->pushed[i]);
    return read;
}

/* Chooses how a variable is sent to workers. A table is sent by rows if no function needs more of
 * it; a variable that no function changes is sent once. */
static dt_sent way_of(void *user, const dt_variable *v) {
    const dt_coordinator *c = user;
    bool by_rows = true, changes = false;
    for (int k = 0; k < c->n_kinds; k++) {
        changes |= dt_closure_kind_changes(c->kind[k], v);
        by_rows &= dt_closure_kind_by_rows(c->kind[k], v);
    }
    return by_rows ? DT_SENT_BY_ROWS : changes ? DT_SENT_EACH_TIME : DT_SENT_ONCE;
}

static dt_status *compile(void *user, int kind, dt_graph *g, dt_compiled **out) {
    const dt_coordinator *c = user;
    const bool *uniform = dt_arena_array(c->arena, bool, g->n_args + 1);
    (void)kind;
    return dt_compiled_create(out, c->strategy, g, &(dt_compile_options){.distributed = uniform});
}

static dt_status *match(void *user, const dt_packed_variables *packed, int kind,
                        dt_parameter_program *p) {
    const dt_coordinator *c = user;
    return dt_closure_kind_match(c->kind[kind], packed, p->run, c->arena, &p->halves);
}

static void find_asks(dt_coordinator *c) {
    const dt_parameter_store *h = &c->held;
    for (int k = 0; k < c->n_kinds; k++) {
        c->kind[k]->asks = false;
        for (int i = 0; i < h->n; i++)
            c->kind[k]->asks |=
                h->sent[i] == DT_SENT_BY_ROWS && dt_closure_kind_reads(c->kind[k], h->variable[i]);
    }
}

/* Divides the variables among tasks of type ps; without such tasks, this process has them all. A
 * variable that functions do not read is not sent to workers; its gradients or new values come back
 * as parts (dt_halves). */
static dt_status *divide(dt_coordinator *c) {
    dt_ps_division q = {
        .n_programs = c->n_kinds, .way_of = way_of, .compile = compile, .match = match, .user = c};
    dt_compiled **update = dt_arena_array(c->arena, dt_compiled *, c->n_kinds + 1);
    const int tasks = c->spec.how->launch.ps;
    dt_variable **v = NULL;
    if (tasks && c->strategy->servers.lent)
        return dt_fail(DT_E_MISUSE, NULL,
                       "another coordinator of this strategy uses its tasks of type ps; schedule "
                       "all functions with one coordinator");
    c->strategy->servers.lent |= tasks > 0;
    q.n_read = collect(c, &v, &q.n);
    q.variable = v;
    for (int k = 0; k < c->n_kinds; k++) {
        update[k] = c->kind[k]->update;
        q.joint |= dt_closure_kind_is_joint(c->kind[k]);
    }
    q.update = update;
    c->ps = (dt_ps_tasks){.n = tasks, .workers = DT_LAUNCHER_WORKERS, .spec = &c->spec};
    DT_TRY(dt_ps_divide(&c->held, &c->ps, &q, c->arena));
    find_asks(c);
    return NULL;
}

static dt_status *connect_tasks(dt_coordinator *c) {
    DT_TRY(dt_ps_connect(&c->ps, c->ps.workers));
    c->strategy->servers.reached = true;
    DT_TRY(dt_ps_send_programs(&c->ps));
    DT_TRY(dt_ps_set(&c->ps, c->next));
    return lodge_all(c);
}

/* ---- workers ---- */

dt_status *dt_coordinator_open_pool(dt_coordinator *c) {
    c->arena = dt_arena_create();
    DT_TRY(divide(c));
    DT_TRY(dt_worker_pool_open(&c->pool, &c->spec));
    dt_closures_begin(dt_worker_pool_closures(c->pool), c->next, c->next);
    return c->ps.n ? connect_tasks(c) : NULL;
}

static void count_past(dt_coordinator *c) {
    const dt_closures *x = dt_worker_pool_closures(c->pool);
    c->past.workers_lost += dt_worker_pool_lost(c->pool);
    c->past.again += x->again;
    c->past.dropped += x->dropped;
    for (int i = 0; i < DT_STALENESS_BINS; i++) c->past.staleness[i] += x->stale[i];
    c->next = x->end;
}

void dt_coordinator_close_pool(dt_coordinator *c) {
    if (c->pool) count_past(c);
    dt_worker_pool_close(c->pool);
    c->pool = NULL;
    bring_back(c);
    if (c->ps.n) c->strategy->servers.lent = false;
    dt_ps_pause(&c->ps);
    dt_ps_close(&c->ps, false);
    dt_arena_destroy(c->arena);
    c->arena = NULL;
}

/* ---- changes of variables ---- */

static unsigned count_written(const dt_coordinator *c) {
    unsigned n = 0;
    for (int i = 0; i < c->held.n; i++) n += c->held.variable[i]->written;
    return n;
}

dt_status *dt_coordinator_notice_sets(dt_coordinator *c) {
    const unsigned written = count_written(c);
    if (written != c->written && !c->spec.how->in_order) dt_worker_pool_forget(c->pool);
    c->written = written;
    for (int i = 0; i < c->n_lodged; i++)
        if (c->lodged[i].variable->written != c->lodged[i].written) DT_TRY(send(c, &c->lodged[i]));
    return NULL;
}

dt_status *dt_coordinator_apply(dt_coordinator *c, int kind, const dt_arrival *a) {
    const dt_closure_kind *k = c->kind[kind];
    if (!k->changes) return NULL;
    if (c->ps.n) {
        const int64_t first = dt_closures_first(dt_worker_pool_closures(c->pool));
        DT_TRY(dt_ps_apply(&c->ps, a->message.number, &(dt_ps_order){a->worker, kind, first}));
        return mark_newer(c);
    }
    dt_status *s = dt_parameter_store_apply(&c->held, kind, &(dt_pushed){a->slices, a->more});
    c->written = count_written(c);
    return s;
}
