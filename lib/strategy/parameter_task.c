/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of a task of type ps. It has some of the variables, sends them to workers, keeps the
 * gradients that workers push, and applies them when the coordinator orders it. A version is the
 * number of updates that the variables have seen. A worker gets at least the version of its
 * closure; with schedule: virtual it gets exactly that version.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/zmq_carrier.h"
#include "strategy/parameter_tasks.h"
#include "strategy/place.h"

enum { LOOK_NS = 500000000, UNKNOWN = -1 };

typedef struct serving {
    dt_ps_tasks *c;
    const dt_servers_spec *how;
    dt_ps_task *own;
    dt_carrier *carrier;
    /* The number of updates that the variables have seen. UNKNOWN: the coordinator has not sent the
     * state. */
    int64_t version;
    /* how often the coordinator has sent the whole state, or a piece of a single variable */
    int64_t times;
    /* [workers] the value of `times` when the worker last got the variables that no update changes;
     * UNKNOWN: the worker has not got them. */
    int64_t *still;
    /* [workers] the worker's request for a version that does not exist yet; without a request, its
     * `more` is NULL. */
    dt_arrival *wait;
    dt_arrival *push; /* [n] the pushes that have not been applied */
    int n, cap;
    int64_t first; /* closures with lower numbers are finished, so pushes for them are dropped */
    /* with schedule: virtual: the versions that workers may still pull */
    dt_packed_versions copies;
    bool came, end;
    int64_t since; /* when this task began to wait for the coordinator, in nanoseconds */
    /* strategy: the one for which the coordinator's programs are compiled; arena: their memory.
     * strategy NULL: this task has read a job and has the programs of that. */
    dt_strategy *strategy;
    dt_arena *arena;
} serving;

static int coordinator_of(const serving *t) { return t->c->workers; }

static void release(const dt_arrival *a) {
    free(a->slices);
    free(a->more);
}

static dt_status *refuse(serving *t, int w, dt_status *why) {
    dt_carrier_refuse(t->carrier, w, why);
    dt_carrier_drop(t->carrier, w);
    return NULL;
}

static void reply(serving *t, int w, dt_frame_kind kind, int64_t number) {
    dt_carrier_give(t->carrier, w, &(dt_frame){.kind = kind, .number = number}, NULL, NULL);
}

/* ---- versions ---- */

static dt_status *copy_version(serving *t) {
    if (!t->how->in_order) return NULL;
    dt_packed_versions_drop(&t->copies, t->version - t->how->staleness);
    return dt_packed_versions_add(&t->copies, &t->own->held.packed, t->version, DT_SENT_BY_ROWS);
}

/* ---- pulls ---- */

static dt_status *find_weights(serving *t, const dt_arrival *a, bool all, dt_shared **out) {
    if (!t->how->in_order)
        return dt_packed_copy(&t->own->held.packed, all ? DT_SENT_ONCE : DT_SENT_EACH_TIME, out);
    dt_shared *kept = dt_packed_versions_find(&t->copies, a->message.version, DT_SENT_BY_ROWS);
    if (!kept)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a request for version %lld, which is not kept",
                       (long long)a->message.version);
    *out = dt_shared_ref(kept);
    return NULL;
}

static dt_status *send_weights(serving *t, const dt_arrival *a, dt_str *rows) {
    const dt_packed_variables *p = &t->own->held.packed;
    const bool all = p->slices.still_bytes > 0 && t->still[a->worker] != t->times;
    dt_shared *weights = NULL;
    dt_status *s = find_weights(t, a, all, &weights);
    if (!s)
        s = dt_rows_answer(p, t->how->in_order ? weights->data : NULL, a->more, a->message.more,
                           rows);
    if (!s) {
        t->still[a->worker] = t->times;
        dt_carrier_give(t->carrier, a->worker,
                        &(dt_frame){.kind = all ? DT_FRAME_WORK_ALL : DT_FRAME_WORK,
                                    .number = a->message.number,
                                    .version = t->version,
                                    .more = (int64_t)rows->size},
                        weights, dt_str_text(rows));
    }
    dt_shared_unref(weights);
    return s;
}

/* Answers a worker's request for variables. Takes ownership of the request. */
static dt_status *answer_request(serving *t, dt_arrival *a) {
    dt_local_str rows = {0};
    dt_status *s = send_weights(t, a, &rows);
    release(a);
    return s && dt_status_number(s) == DT_E_WORKERS_DISAGREE ? refuse(t, a->worker, s) : s;
}

static bool is_early(const serving *t, const dt_arrival *a) {
    return t->version == UNKNOWN || a->message.version > t->version;
}

static dt_status *take_request(serving *t, dt_arrival *a) {
    dt_arrival *wait = &t->wait[a->worker];
    if (!is_early(t, a)) return answer_request(t, a);
    if (wait->more) release(wait);
    *wait = *a;
    return NULL;
}

static dt_status *answer_waiting(serving *t) {
    for (int w = 0; w < t->c->workers; w++) {
        dt_arrival a = t->wait[w];
        if (!a.more || is_early(t, &a)) continue;
        t->wait[w] = (dt_arrival){0};
        DT_TRY(answer_request(t, &a));
    }
    return NULL;
}

/* ---- pushes ---- */

static bool is_program(const serving *t, int64_t number) {
    return number >= 0 && number < t->own->held.n_programs;
}

/* Whether a push has all values that the program reads. */
static bool is_whole(const serving *t, const dt_arrival *a, int64_t program) {
    int64_t used = 0;
    return a->slices && is_program(t, program) &&
           dt_parts_are_sound(&t->own->held.program[program].halves, a->more, a->message.more,
                              &used) &&
           used == a->message.more;
}

/* Drops the pushes of closure `number` by worker `worker`. UNKNOWN stands for all numbers, or all
 * workers. */
static void drop_pushes(serving *t, int64_t number, int worker) {
    int kept = 0;
    for (int i = 0; i < t->n; i++) {
        const dt_arrival *a = &t->push[i];
        if ((number == UNKNOWN || a->message.number == number) &&
            (worker == UNKNOWN || a->worker == worker))
            release(a);
        else t->push[kept++] = *a;
    }
    t->n = kept;
}

static void drop_finished(serving *t, int64_t first) {
    t->first = first;
    for (int i = t->n - 1; i >= 0; i--)
        if (t->push[i].message.number < first) {
            release(&t->push[i]);
            t->push[i] = t->push[--t->n];
        }
}

/* Keeps a push. A worker that has reconnected may compute a batch again; its newer gradients then
 * replace the older ones. The worker reports to the coordinator only after it has this answer, so
 * an order to apply gradients always comes after them. A push for a batch that another worker has
 * finished is dropped. */
static dt_status *take_push(serving *t, const dt_arrival *a) {
    if (!is_whole(t, a, a->message.version)) {
        release(a);
        return refuse(
            t, a->worker,
            dt_fail(DT_E_WORKERS_DISAGREE, NULL, "what it sent is not what it was to compute"));
    }
    drop_pushes(t, a->message.number, a->worker);
    if (a->message.number < t->first) release(a);
    else {
        DT_GROW(t->push, t->cap, t->n + 1);
        t->push[t->n++] = *a;
    }
    reply(t, a->worker, DT_FRAME_ANSWER, a->message.number);
    return NULL;
}

static const dt_arrival *find_push(const serving *t, int64_t number, int64_t worker) {
    for (int i = 0; i < t->n; i++)
        if (t->push[i].message.number == number && t->push[i].worker == worker) return &t->push[i];
    return NULL;
}

static dt_status *apply(serving *t, const dt_arrival *a) {
    dt_ps_order order = {.program = UNKNOWN};
    if (a->message.more == (int64_t)sizeof order) memcpy(&order, a->more, sizeof order);
    const dt_arrival *push = find_push(t, a->message.number, order.worker);
    if (!push || t->version == UNKNOWN || !is_whole(t, push, order.program))
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "%s is to apply gradients of batch %lld, which it does not have",
                       t->own->name, (long long)a->message.number + 1);
    DT_TRY(dt_parameter_store_apply(&t->own->held, (int)order.program,
                                    &(dt_pushed){push->slices, push->more}));
    /* Several workers may have pushed this batch, so the other pushes are dropped. */
    drop_pushes(t, a->message.number, UNKNOWN);
    drop_finished(t, order.first);
    t->version++;
    DT_TRY(copy_version(t));
    return answer_waiting(t);
}

/* ---- state ---- */

/* Takes a piece of the state that the coordinator sends. If the message has a version, the
 * coordinator is sending the whole state. */
static dt_status *take_piece(serving *t, const dt_arrival *a) {
    const dt_frame *m = &a->message;
    char *into = NULL;
    DT_TRY(dt_variables_fetch(t->own->state, t->own->n_state));
    const bool none = t->own->state_bytes == 0 && m->number == 0 && m->more == 0;
    if (!none && !dt_ps_state_at(t->own, m->number, m->more, &into))
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "the coordinator sent state that %s does not have", t->own->name);
    if (m->more > 0) memcpy(into, a->more, (size_t)m->more);
    if (m->version == UNKNOWN) {
        t->times++;
        reply(t, coordinator_of(t), DT_FRAME_ANSWER, m->number + m->more);
    }
    if (m->version == UNKNOWN || m->number + m->more < t->own->state_bytes) return NULL;
    drop_pushes(t, UNKNOWN, UNKNOWN);
    dt_packed_versions_drop(&t->copies, INT64_MAX);
    t->first = 0;
    t->version = m->version;
    t->times++;
    DT_TRY(copy_version(t));
    reply(t, coordinator_of(t), DT_FRAME_ANSWER, t->own->state_bytes);
    return answer_waiting(t);
}

static dt_status *give_piece(void *user, int64_t at, const char *bytes, int64_t n) {
    serving *t = user;
    dt_carrier_give(t->carrier, coordinator_of(t),
                    &(dt_frame){.kind = DT_FRAME_ANSWER, .number = at, .more = n}, NULL, bytes);
    return NULL;
}

/* ---- programs, the end, and reading variables ---- */

/* Drops all pushes and requests of workers, and the version of the state. If the coordinator sent
 * the programs, frees the variables and the programs, too. */
static void forget(serving *t) {
    dt_ps_task *own = t->own;
    drop_pushes(t, UNKNOWN, UNKNOWN);
    for (int w = 0; w < t->c->workers; w++) {
        release(&t->wait[w]);
        t->wait[w] = (dt_arrival){0};
        t->still[w] = UNKNOWN;
    }
    t->version = UNKNOWN;
    t->first = 0;
    if (!t->strategy) return;
    dt_ps_release(own);
    for (int i = 0; i < own->n_state; i++) dt_variable_unref(own->state[i]);
    dt_arena_destroy(t->arena);
    t->arena = NULL;
    own->held = (dt_parameter_store){0};
    own->state = NULL;
    own->n_state = 0;
    own->state_bytes = 0;
}

static dt_status *take_programs(serving *t, const dt_arrival *a) {
    if (!t->strategy || t->arena)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "the coordinator sent programs to %s, which has some", t->own->name);
    t->arena = dt_arena_create();
    return dt_ps_read(t->own, a, t->strategy, t->arena);
}

/* Handles the end of the coordinator, or its pause, after which it will connect again. The
 * coordinator's workers have ended in both cases. */
static void take_end(serving *t, bool pauses) {
    t->end = !pauses;
    if (!pauses) return;
    reply(t, coordinator_of(t), DT_FRAME_ANSWER, true);
    for (int w = 0; w <= t->c->workers; w++) dt_carrier_drop(t->carrier, w);
    forget(t);
    t->came = false;
    t->since = dt_now_ns();
}

static dt_status *give_variable(serving *t, int64_t i) {
    if (i < 0 || i >= t->own->n_state)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "the coordinator asks for state that %s does not have", t->own->name);
    return dt_ps_each_piece(t->own, (int)i, give_piece, t);
}

/* ---- the loop, and serving ---- */

static dt_status *obey(serving *t, const dt_arrival *a) {
    dt_status *s = NULL;
    if (a->message.kind == DT_FRAME_SET) s = take_piece(t, a);
    else if (a->message.kind == DT_FRAME_GET) s = give_variable(t, a->message.number);
    else if (a->message.kind == DT_FRAME_APPLY) s = apply(t, a);
    else if (a->message.kind == DT_FRAME_PROGRAMS) s = take_programs(t, a);
    else if (a->message.kind == DT_FRAME_END) take_end(t, a->message.number != 0);
    else s = dt_fail(DT_E_WORKERS_DISAGREE, NULL, "the coordinator sent an invalid message");
    release(a);
    return s;
}

static dt_status *serve_worker(serving *t, dt_arrival *a) {
    if (a->message.kind == DT_FRAME_WANT) return take_request(t, a);
    if (a->message.kind == DT_FRAME_PUSH) return take_push(t, a);
    release(a);
    return refuse(t, a->worker, dt_fail(DT_E_WORKERS_DISAGREE, NULL, "it sent an invalid message"));
}

/* Handles a connection that was opened or lost. Pushes of a lost worker are kept, because the
 * coordinator may know of them already. */
static dt_status *note_worker(serving *t, const dt_arrival *a) {
    const bool coordinator = a->worker == coordinator_of(t);
    if (coordinator && a->gone) return dt_fail(DT_E_WORKER_GONE, NULL, "the coordinator is gone");
    if (coordinator) {
        t->came = true;
        return NULL;
    }
    if (t->wait[a->worker].more) release(&t->wait[a->worker]);
    t->wait[a->worker] = (dt_arrival){0};
    t->still[a->worker] = UNKNOWN;
    if (a->gone) dt_carrier_drop(t->carrier, a->worker);
    return NULL;
}

static dt_status *serve_one(serving *t) {
    dt_arrival a;
    if (dt_carrier_next(t->carrier, dt_now_ns() + LOOK_NS, &a)) {
        if (a.came || a.gone) return note_worker(t, &a);
        return a.worker == coordinator_of(t) ? obey(t, &a) : serve_worker(t, &a);
    }
    if (t->came || dt_seconds_since(t->since) < t->how->start_timeout) return NULL;
    return dt_fail(DT_E_WORKER_LATE, NULL, "%s has waited %g s for the coordinator", t->own->name,
                   t->how->start_timeout);
}

static dt_status *listen_at(serving *t) {
    dt_run_key key;
    dt_zmq_carrier_spec at;
    DT_TRY(dt_worker_pool_address(t->c->spec, &key, &at));
    at.address = t->how->launch.ps_address[t->own - t->c->task];
    at.slices = &t->own->held.packed.slices;
    at.replaces = t->strategy != NULL;
    return dt_zmq_carrier_open(&t->carrier, &at, t->c->workers + 1);
}

dt_status *dt_ps_serve(dt_ps_tasks *c, dt_ps_task *own, dt_strategy *compile) {
    const size_t workers = (size_t)c->workers;
    serving t = {.c = c,
                 .how = c->spec->how,
                 .own = own,
                 .version = UNKNOWN,
                 .since = dt_now_ns(),
                 .strategy = compile};
    t.still = dt_alloc(workers * sizeof *t.still);
    t.wait = dt_alloc(workers * sizeof *t.wait);
    for (size_t w = 0; w < workers; w++) t.still[w] = UNKNOWN;
    dt_status *s = listen_at(&t);
    while (!s && !t.end) s = serve_one(&t);
    dt_carrier_close(t.carrier, !s);
    forget(&t);
    dt_packed_versions_drop(&t.copies, INT64_MAX);
    free(t.still);
    free(t.wait);
    free(t.push);
    return s;
}

/* dt_server_join: a process that has variables of a coordinator, as tf.distribute.Server. */

/* Finds this task's address in TF_CONFIG. Sets *index to its number. */
static dt_status *find_own(const dt_launch *l, const char **address, int *index) {
    if (l->task == DT_TASK_PS && l->ps_address) {
        *index = l->rank - l->workers;
        *address = l->ps_address[*index];
        return NULL;
    }
    return dt_suggest(dt_fail(DT_E_LAUNCH, NULL,
                              "dt_server_join: TF_CONFIG does not say that this process is a task "
                              "of type ps"),
                      "a coordinator starts its workers itself; give an address to serve without "
                      "TF_CONFIG");
}

static dt_status *serve(const dt_servers_spec *how, int index) {
    dt_ps_task own = {0};
    const dt_worker_pool_spec spec = {.how = how, .packed = &own.held.packed};
    dt_ps_tasks all = {.task = &own, .n = 1, .workers = DT_LAUNCHER_WORKERS, .spec = &spec};
    dt_strategy *s = NULL;
    snprintf(own.name, sizeof own.name, "parameter server %d", index);
    DT_TRY(dt_strategy_open(
        &s, &(dt_strategy_spec){.row = &dt_strategy_parameter_server, .replicas = 1}));
    dt_status *bad = dt_ps_serve(&all, &own, s);
    dt_strategy_unref(s);
    return bad;
}

dt_status *dt_server_join(const dt_server_options *options) {
    static const dt_server_options none;
    const dt_server_options *o = options ? options : &none;
    const char *address = o->address;
    dt_launch l;
    int index = 0;
    DT_TRY(dt_status_kept());
    if (!(o->timeout >= 0) || !(o->start_timeout >= 0))
        return dt_fail(DT_E_RANGE, NULL,
                       "timeout and start_timeout must be at least 0, got %g and %g", o->timeout,
                       o->start_timeout);
    DT_TRY(dt_launch_find(&l, &(dt_rank_option){0}));
    dt_status *s = address ? NULL : find_own(&l, &address, &index);
    if (!s)
        s = serve(&(dt_servers_spec){.timeout = o->timeout > 0 ? o->timeout : 60,
                                     .start_timeout = o->start_timeout > 0 ? o->start_timeout : 300,
                                     .staleness = DT_ANY_STALENESS,
                                     .launch = {.ps = 1, .ps_address = &address}},
                  index);
    dt_launch_release(&l);
    return s;
}
