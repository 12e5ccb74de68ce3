/* SPDX-License-Identifier: Apache-2.0 */
/* The links of the coordinator and of workers to the tasks of type ps: see parameter_tasks.h. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/zmq_carrier.h"
#include "strategy/parameter_tasks.h"

enum { PIECE_BYTES = 1 << 24, NO_VERSION = -1 };

/* ---- the link ---- */

static dt_status *send(dt_ps_task *t, const dt_frame *m, const void *gradients, const void *more) {
    return t->lost ? dt_fail(DT_E_WORKER_GONE, NULL, "%s, which has variables, is lost", t->name)
                   : dt_link_push(&t->link, m, gradients, more);
}

/* Receives a message from a task. If that fails, the task is marked as lost, so that nothing waits
 * for it again. */
static dt_status *receive(dt_ps_task *t, dt_frame *m, char **more) {
    dt_status *s = dt_link_pull(&t->link, m, t->weights, more);
    t->lost |= s != NULL;
    return s;
}

/* ---- stores, opening and closing ---- */

void dt_parameter_store_prepare(dt_parameter_program *p, dt_arena *arena) {
    const dt_graph *g = p->run ? dt_compiled_step(p->run) : NULL;
    p->argument = dt_arena_array(arena, dt_view, g ? g->n_args + 1 : 1);
    p->no_result = dt_arena_array(arena, dt_view, g ? g->n_results + 1 : 1);
}

dt_status *dt_parameter_store_apply(const dt_parameter_store *h, int program,
                                    const dt_pushed *from) {
    const dt_parameter_program *p = &h->program[program];
    return dt_packed_apply(&h->packed, &p->halves, p->run, p->argument, p->no_result, from);
}

/* Connects with one task. The coordinator gets no WORK from a task and sends it no PUSH, so its
 * link has no memory for weights and gradients. */
static dt_status *connect_task(const dt_ps_tasks *c, dt_ps_task *t, int number,
                               dt_zmq_carrier_spec *at) {
    static const dt_byte_ranges none;
    const dt_servers_spec *how = c->spec->how;
    const bool here = number == c->workers;
    at->address = how->launch.ps_address[t - c->task];
    at->host = t->name;
    at->slices = here ? &none : &t->held.packed.slices;
    DT_TRY(dt_zmq_fits(&t->held.packed.slices));
    DT_TRY(here ? NULL : dt_packed_buffers(&t->held.packed, &t->weights, &t->gradients));
    dt_status *s = dt_zmq_link_connect(
        &t->link, at, number, &(dt_link_wait){how->start_timeout, c->spec->say, c->spec->user});
    t->lost = s != NULL;
    /* The link reports no waits, since a task answers late if an update takes long. */
    t->link.wait.say = NULL;
    return s;
}

dt_status *dt_ps_connect(dt_ps_tasks *c, int number) {
    dt_run_key key;
    dt_zmq_carrier_spec at;
    if (!c->n) return NULL;
    DT_TRY(dt_worker_pool_address(c->spec, &key, &at));
    for (int k = 0; k < c->n; k++) DT_TRY(connect_task(c, &c->task[k], number, &at));
    return NULL;
}

void dt_ps_release(dt_ps_task *t) {
    for (int p = 0; t->held.program && p < t->held.n_programs; p++)
        dt_compiled_destroy(t->held.program[p].run);
    for (int i = 0; i < t->own.n; i++)
        if (t->own.v[i]->whole) dt_variable_unref(t->own.v[i]);
    t->own.n = 0;
    dt_str_release(&t->request);
    free(t->weights);
    free(t->gradients);
}

static dt_status *end(dt_ps_task *t, int64_t pauses) {
    return t->link.row ? send(t, &(dt_frame){.kind = DT_FRAME_END, .number = pauses}, NULL, NULL)
                       : NULL;
}

static void close_task(dt_ps_task *t, bool well) {
    if (well) dt_status_free(end(t, false));
    dt_link_close(&t->link);
    dt_ps_release(t);
}

void dt_ps_close(dt_ps_tasks *c, bool well) {
    for (int k = 0; k < c->n; k++) close_task(&c->task[k], well);
    c->n = 0;
}

void dt_servers_release(dt_servers_spec *q) {
    enum { PATIENCE_S = 5 };
    const dt_packed_variables none = {0};
    const dt_worker_pool_spec spec = {.how = q, .packed = &none};
    dt_ps_tasks all = {.n = q->launch.ps, .workers = DT_LAUNCHER_WORKERS, .spec = &spec};
    if (!q->owns_launch) return;
    q->start_timeout = PATIENCE_S;
    all.task = dt_alloc((size_t)all.n * sizeof *all.task);
    if (q->reached) dt_status_free(dt_ps_connect(&all, all.workers));
    dt_ps_close(&all, true);
    free(all.task);
    dt_launch_release(&q->launch);
}

/* ---- state ---- */

static void add_state(dt_ps_task *t, dt_variable *v) {
    for (int i = 0; i < t->n_state; i++)
        if (t->state[i] == v) return;
    t->state[t->n_state++] = v;
    t->state_bytes += dt_type_bytes(&v->type);
}

void dt_ps_list_state(dt_ps_task *t, dt_arena *arena) {
    const dt_parameter_store *h = &t->held;
    int most = h->n;
    for (int p = 0; p < h->n_programs; p++)
        most += h->program[p].run ? dt_compiled_step(h->program[p].run)->n_states : 0;
    t->state = dt_arena_array(arena, dt_variable *, most + 1);
    for (int i = 0; i < h->n; i++) add_state(t, h->variable[i]);
    for (int p = 0; p < h->n_programs; p++) {
        const dt_graph *g = h->program[p].run ? dt_compiled_step(h->program[p].run) : NULL;
        for (int i = 0; g && i < g->n_states; i++) add_state(t, g->state[i].variable);
    }
}

bool dt_ps_state_at(const dt_ps_task *t, int64_t at, int64_t n, char **into) {
    for (int i = 0; i < t->n_state && at >= 0; i++) {
        const int64_t bytes = dt_type_bytes(&t->state[i]->type);
        if (at < bytes) {
            *into = (char *)dt_host_edit(t->state[i]) + at;
            return n >= 0 && n <= bytes - at;
        }
        at -= bytes;
    }
    return false;
}

static dt_status *send_variable(const dt_variable *v, int64_t at, dt_ps_piece put, void *user) {
    const int64_t bytes = dt_type_bytes(&v->type);
    const char *data = dt_host_data(v);
    for (int64_t done = 0; done < bytes; done += PIECE_BYTES)
        DT_TRY(put(user, at + done, data + done,
                   bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES));
    return NULL;
}

static int64_t offset_of(const dt_ps_task *t, int i) {
    int64_t at = 0;
    for (int k = 0; k < i; k++) at += dt_type_bytes(&t->state[k]->type);
    return at;
}

dt_status *dt_ps_each_piece(const dt_ps_task *t, int i, dt_ps_piece put, void *user) {
    DT_TRY(dt_variable_fetch(t->state[i]));
    return send_variable(t->state[i], offset_of(t, i), put, user);
}

/* ---- messages ---- */

static dt_status *invalid(const dt_ps_task *t) {
    return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "%s sent an invalid message", t->name);
}

/* Receives a message, which must be an ANSWER with this number. The caller frees *more. */
static dt_status *answer(dt_ps_task *t, int64_t number, dt_frame *m, char **more) {
    DT_TRY(receive(t, m, more));
    if (m->kind == DT_FRAME_ANSWER && m->number == number) return NULL;
    free(*more);
    *more = NULL;
    return invalid(t);
}

static dt_status *acknowledged(dt_ps_task *t, int64_t number) {
    dt_frame m;
    char *more = NULL;
    DT_TRY(answer(t, number, &m, &more));
    free(more);
    return NULL;
}

/* Tells each task that can be reached that the coordinator pauses, and waits for its answer. The
 * task then closes its links to the coordinator and to all workers. */
void dt_ps_pause(dt_ps_tasks *c) {
    for (int k = 0; k < c->n; k++) {
        dt_status *s = end(&c->task[k], true);
        if (!s && c->task[k].link.row) s = acknowledged(&c->task[k], true);
        dt_status_free(s);
    }
}

static dt_status *send_programs(dt_ps_task *t) {
    dt_local_str more = {0};
    dt_ps_describe(t, &more);
    return more.size > DT_MOST_MORE
               ? dt_fail(DT_E_RANGE, NULL,
                         "the programs of scheduled functions have %zu bytes; they may have %d",
                         more.size, DT_MOST_MORE)
               : send(t, &(dt_frame){.kind = DT_FRAME_PROGRAMS, .more = (int64_t)more.size}, NULL,
                      dt_str_text(&more));
}

dt_status *dt_ps_send_programs(dt_ps_tasks *c) {
    for (int k = 0; k < c->n; k++) DT_TRY(send_programs(&c->task[k]));
    return NULL;
}

typedef struct setting {
    dt_ps_task *task;
    int64_t version;
} setting;

static dt_status *set_piece(void *user, int64_t at, const char *bytes, int64_t n) {
    const setting *s = user;
    return send(s->task,
                &(dt_frame){.kind = DT_FRAME_SET, .number = at, .version = s->version, .more = n},
                NULL, bytes);
}

dt_status *dt_ps_set(dt_ps_tasks *c, int64_t version) {
    for (int k = 0; k < c->n; k++) {
        const setting x = {&c->task[k], version};
        for (int i = 0; i < x.task->n_state; i++)
            DT_TRY(dt_ps_each_piece(x.task, i, set_piece, (void *)(uintptr_t)&x));
        if (x.task->state_bytes == 0) DT_TRY(set_piece((void *)(uintptr_t)&x, 0, NULL, 0));
    }
    for (int k = 0; k < c->n; k++) DT_TRY(acknowledged(&c->task[k], c->task[k].state_bytes));
    return NULL;
}

/* Sends a piece of the state and waits for the answer. Otherwise a worker that is given a function
 * now could ask the task before it has the piece. */
static dt_status *set_and_wait(void *user, int64_t at, const char *bytes, int64_t n) {
    const setting *s = user;
    DT_TRY(set_piece(user, at, bytes, n));
    return acknowledged(s->task, at + n);
}

dt_status *dt_ps_set_one(dt_ps_task *t, int i) {
    return dt_ps_each_piece(t, i, set_and_wait, &(setting){t, NO_VERSION});
}

static dt_status *request(dt_ps_task *t, int i) {
    return send(t, &(dt_frame){.kind = DT_FRAME_GET, .number = i}, NULL, NULL);
}

static dt_status *receive_variable(dt_ps_task *t, int i) {
    const int64_t from = offset_of(t, i), to = from + dt_type_bytes(&t->state[i]->type);
    for (int64_t at = from; at < to;) {
        dt_frame m;
        char *more = NULL, *into = NULL;
        DT_TRY(answer(t, at, &m, &more));
        const bool sound = m.more > 0 && at + m.more <= to && dt_ps_state_at(t, at, m.more, &into);
        if (sound) memcpy(into, more, (size_t)m.more);
        free(more);
        if (!sound) return invalid(t);
        at += m.more;
    }
    return NULL;
}

dt_status *dt_ps_get_one(dt_ps_task *t, int i) {
    DT_TRY(request(t, i));
    return receive_variable(t, i);
}

dt_status *dt_ps_get(dt_ps_tasks *c) {
    for (int k = 0; k < c->n; k++)
        for (int i = 0; i < c->task[k].n_state; i++) DT_TRY(request(&c->task[k], i));
    for (int k = 0; k < c->n; k++)
        for (int i = 0; i < c->task[k].n_state; i++) DT_TRY(receive_variable(&c->task[k], i));
    return NULL;
}

dt_status *dt_ps_apply(dt_ps_tasks *c, int64_t number, const dt_ps_order *order) {
    const dt_frame m = {.kind = DT_FRAME_APPLY, .number = number, .more = sizeof *order};
    for (int k = 0; k < c->n; k++) DT_TRY(send(&c->task[k], &m, NULL, order));
    return NULL;
}

/* ---- a worker ---- */

static dt_status *want(dt_ps_task *t, const dt_frame *work, const dt_looked_up *rows) {
    dt_str_clear(&t->request);
    if (rows->numbers)
        DT_TRY(dt_rows_ask(&t->held.packed, rows->numbers, rows->table, rows->result, &t->request));
    return send(t,
                &(dt_frame){.kind = DT_FRAME_WANT,
                            .number = work->number,
                            .version = work->version,
                            .more = (int64_t)t->request.size},
                NULL, dt_str_text(&t->request));
}

static dt_status *receive_rows(dt_ps_task *t, const dt_frame *work) {
    dt_frame m;
    char *more = NULL;
    DT_TRY(receive(t, &m, &more));
    const bool all = m.kind == DT_FRAME_WORK_ALL;
    dt_status *s = (all || m.kind == DT_FRAME_WORK) && m.number == work->number ? NULL : invalid(t);
    if (!s) {
        dt_packed_read(&t->held.packed, all ? DT_SENT_ONCE : DT_SENT_EACH_TIME, t->weights);
        s = dt_rows_take(&t->held.packed, &t->request, more, m.more);
    }
    free(more);
    return s;
}

dt_status *dt_ps_pull(dt_ps_tasks *c, const dt_frame *work, const dt_looked_up *rows) {
    for (int k = 0; k < c->n; k++) DT_TRY(want(&c->task[k], work, rows));
    for (int k = 0; k < c->n; k++) DT_TRY(receive_rows(&c->task[k], work));
    return NULL;
}

static dt_status *push(dt_ps_task *t, const dt_frame *m, const dt_view *result, int64_t rows) {
    const dt_halves *h = &t->held.program[m->version].halves;
    const int64_t parts = dt_parts_bytes(h, rows);
    dt_frame own = *m;
    DT_TRY(dt_packed_write_step(&t->held.packed, h, result, t->weights, t->gradients));
    DT_LOCAL char *more = dt_try_alloc((size_t)parts + 1);
    if (!more)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for parts of gradients (%lld bytes)",
                       (long long)parts);
    own.more = dt_parts_write(h, rows, result, more);
    return send(t, &own, t->gradients, more);
}

static dt_status *check_size(const dt_ps_task *t, int program, int64_t rows) {
    if (dt_parts_bytes(&t->held.program[program].halves, rows) <= DT_MOST_MORE) return NULL;
    return dt_fail(DT_E_RANGE, NULL,
                   "the gradients of rows of a batch of %lld have more than %d bytes; with a "
                   "parameter server they may have as many",
                   (long long)rows, DT_MOST_MORE);
}

dt_status *dt_ps_push(dt_ps_tasks *c, const dt_frame *work, int program, const dt_view *result,
                      int64_t rows) {
    const dt_frame m = {.kind = DT_FRAME_PUSH, .number = work->number, .version = program};
    for (int k = 0; k < c->n; k++) DT_TRY(check_size(&c->task[k], program, rows));
    for (int k = 0; k < c->n; k++) DT_TRY(push(&c->task[k], &m, result, rows));
    for (int k = 0; k < c->n; k++) DT_TRY(acknowledged(&c->task[k], work->number));
    return NULL;
}
