/* SPDX-License-Identifier: Apache-2.0 */
/* The links of the coordinator and of workers to the tasks of type ps: see parameter_tasks.h. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/zmq_carrier.h"
#include "strategy/parameter_tasks.h"

enum { PIECE_BYTES = 1 << 24, NO_VERSION = -1 };

/* ---- opening and closing ---- */

void dt_held_prepare(dt_held_program *p, dt_arena *arena) {
    const dt_graph *g = p->run ? dt_compiled_step(p->run) : NULL;
    p->argument = dt_arena_array(arena, dt_view, g ? g->n_args + 1 : 1);
    p->no_result = dt_arena_array(arena, dt_view, g ? g->n_results + 1 : 1);
}

dt_status *dt_held_apply(const dt_held *h, int program, const dt_pushed *from) {
    const dt_held_program *p = &h->program[program];
    return dt_packed_apply(&h->packed, &p->halves, p->run, p->argument, p->no_result, from);
}

static dt_status *find_memory(dt_ps_task *t) {
    const size_t bytes = (size_t)t->held.packed.slices.bytes + 1;
    t->weights = dt_try_alloc(bytes);
    t->gradients = dt_try_alloc(bytes);
    if (!t->weights || !t->gradients)
        return dt_fail(DT_E_NO_MEMORY, NULL, "a worker has no memory for variables (%zu bytes)",
                       bytes);
    memset(t->gradients, 0, bytes);
    return NULL;
}

/* Connects with one task. The coordinator gets no weights. */
static dt_status *connect_task(const dt_ps_tasks *c, dt_ps_task *t, int number,
                               dt_zmq_carrier_spec *at) {
    static const dt_extents none;
    const dt_servers_spec *how = c->spec->how;
    const bool here = number == c->workers;
    at->address = how->launch.ps_address[t - c->task];
    at->host = t->name;
    at->slices = here ? &none : &t->held.packed.slices;
    DT_TRY(here ? NULL : find_memory(t));
    DT_TRY(dt_zmq_link_connect(&t->link, at, number,
                               &(dt_link_wait){how->start_timeout, c->spec->say, c->spec->user}));
    t->link.wait.say = NULL; /* do not report waits: a task answers late if an update takes long */
    return NULL;
}

dt_status *dt_ps_connect(dt_ps_tasks *c, int number) {
    dt_run_key key;
    dt_zmq_carrier_spec at;
    if (!c->n) return NULL;
    DT_TRY(dt_worker_pool_address(c->spec, &key, &at));
    for (int k = 0; k < c->n; k++) DT_TRY(connect_task(c, &c->task[k], number, &at));
    return NULL;
}

static void close_task(dt_ps_task *t, bool well) {
    if (well) dt_status_free(dt_link_push(&t->link, &(dt_frame){.kind = DT_FRAME_END}, NULL, NULL));
    dt_link_close(&t->link);
    for (int p = 0; p < t->held.n_programs; p++) dt_compiled_destroy(t->held.program[p].run);
    dt_str_release(&t->request);
    free(t->weights);
    free(t->gradients);
}

void dt_ps_close(dt_ps_tasks *c, bool well) {
    for (int k = 0; k < c->n; k++) close_task(&c->task[k], well);
    c->n = 0;
}

/* ---- state ---- */

static void add_state(dt_ps_task *t, dt_variable *v) {
    for (int i = 0; i < t->n_state; i++)
        if (t->state[i] == v) return;
    t->state[t->n_state++] = v;
    t->state_bytes += dt_type_bytes(&v->type);
}

void dt_ps_list_state(dt_ps_task *t, dt_arena *arena) {
    const dt_held *h = &t->held;
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

static dt_status *send_variable(const dt_variable *v, int64_t at, dt_ps_piece send, void *user) {
    const int64_t bytes = dt_type_bytes(&v->type);
    const char *data = dt_host_data(v);
    for (int64_t done = 0; done < bytes; done += PIECE_BYTES)
        DT_TRY(send(user, at + done, data + done,
                    bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES));
    return NULL;
}

static int64_t offset_of(const dt_ps_task *t, int i) {
    int64_t at = 0;
    for (int k = 0; k < i; k++) at += dt_type_bytes(&t->state[k]->type);
    return at;
}

dt_status *dt_ps_each_piece(const dt_ps_task *t, int i, dt_ps_piece send, void *user) {
    DT_TRY(dt_variable_fetch(t->state[i]));
    return send_variable(t->state[i], offset_of(t, i), send, user);
}

/* ---- messages ---- */

static dt_status *invalid(const dt_ps_task *t) {
    return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "%s sent an invalid message", t->name);
}

/* Receives a message, which must be an ANSWER with this number. The caller frees *more. */
static dt_status *answer(dt_ps_task *t, int64_t number, dt_frame *m, char **more) {
    DT_TRY(dt_link_pull(&t->link, m, t->weights, more));
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

typedef struct setting {
    dt_ps_task *task;
    int64_t version;
} setting;

static dt_status *set_piece(void *user, int64_t at, const char *bytes, int64_t n) {
    const setting *s = user;
    return dt_link_push(
        &s->task->link,
        &(dt_frame){.kind = DT_FRAME_SET, .number = at, .version = s->version, .more = n}, NULL,
        bytes);
}

dt_status *dt_ps_set(dt_ps_tasks *c, int64_t version) {
    for (int k = 0; k < c->n; k++)
        for (int i = 0; i < c->task[k].n_state; i++)
            DT_TRY(dt_ps_each_piece(&c->task[k], i, set_piece, &(setting){&c->task[k], version}));
    for (int k = 0; k < c->n; k++) DT_TRY(acknowledged(&c->task[k], c->task[k].state_bytes));
    return NULL;
}

dt_status *dt_ps_set_one(dt_ps_task *t, int i) {
    return dt_ps_each_piece(t, i, set_piece, &(setting){t, NO_VERSION});
}

static dt_status *request(dt_ps_task *t, int i) {
    return dt_link_push(&t->link, &(dt_frame){.kind = DT_FRAME_GET, .number = i}, NULL, NULL);
}

static dt_status *receive(dt_ps_task *t, int i) {
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
    return receive(t, i);
}

dt_status *dt_ps_get(dt_ps_tasks *c) {
    for (int k = 0; k < c->n; k++)
        for (int i = 0; i < c->task[k].n_state; i++) DT_TRY(request(&c->task[k], i));
    for (int k = 0; k < c->n; k++)
        for (int i = 0; i < c->task[k].n_state; i++) DT_TRY(receive(&c->task[k], i));
    return NULL;
}

dt_status *dt_ps_apply(dt_ps_tasks *c, int64_t number, const dt_ps_order *order) {
    const dt_frame m = {.kind = DT_FRAME_APPLY, .number = number, .more = sizeof *order};
    for (int k = 0; k < c->n; k++) DT_TRY(dt_link_push(&c->task[k].link, &m, NULL, order));
    return NULL;
}

/* ---- a worker ---- */

static dt_status *want(dt_ps_task *t, const dt_frame *work, const dt_looked_up *rows) {
    dt_str_clear(&t->request);
    if (rows->numbers)
        DT_TRY(dt_rows_ask(&t->held.packed, rows->numbers, rows->table, rows->result, &t->request));
    return dt_link_push(&t->link,
                        &(dt_frame){.kind = DT_FRAME_WANT,
                                    .number = work->number,
                                    .version = work->version,
                                    .more = (int64_t)t->request.size},
                        NULL, dt_str_text(&t->request));
}

static dt_status *take(dt_ps_task *t, const dt_frame *work) {
    dt_frame m;
    char *more = NULL;
    DT_TRY(dt_link_pull(&t->link, &m, t->weights, &more));
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
    for (int k = 0; k < c->n; k++) DT_TRY(take(&c->task[k], work));
    return NULL;
}

static dt_status *push(dt_ps_task *t, const dt_frame *m, const dt_view *result, int64_t rows) {
    const dt_halves *h = &t->held.program[m->version].halves;
    const int64_t parts = dt_parts_bytes(h, rows);
    dt_frame own = *m;
    if (parts > DT_MOST_MORE)
        return dt_fail(DT_E_RANGE, NULL,
                       "the gradients of rows of a batch of %lld have more than %d bytes; with a "
                       "parameter server they may have as many",
                       (long long)rows, DT_MOST_MORE);
    DT_TRY(dt_packed_write_step(&t->held.packed, h, result, t->weights, t->gradients));
    char *more = dt_try_alloc((size_t)parts + 1);
    if (!more)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for parts of gradients (%lld bytes)",
                       (long long)parts);
    dt_parts_write(h, rows, result, more);
    own.more = parts;
    dt_status *s = dt_link_push(&t->link, &own, t->gradients, more);
    free(more);
    return s;
}

dt_status *dt_ps_push(dt_ps_tasks *c, const dt_frame *work, int program, const dt_view *result,
                      int64_t rows) {
    const dt_frame m = {.kind = DT_FRAME_PUSH, .number = work->number, .version = program};
    for (int k = 0; k < c->n; k++) DT_TRY(push(&c->task[k], &m, result, rows));
    for (int k = 0; k < c->n; k++) DT_TRY(acknowledged(&c->task[k], work->number));
    return NULL;
}
