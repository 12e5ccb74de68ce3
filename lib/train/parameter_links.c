/* SPDX-License-Identifier: Apache-2.0 */
/* The links of the coordinator and of workers to the tasks of type ps: see coordinator.h. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/zmq_carrier.h"
#include "train/coordinator.h"

enum { PIECE_BYTES = 1 << 24 };

/* ---- opening and closing ---- */

static bool is_coordinator(const dt_coordinated *c) { return c->how.launch.rank == 0; }

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

/* Connects with one task. The coordinator's number there is the number of workers, and it gets
 * no weights. */
static dt_status *connect_task(dt_coordinated *c, dt_ps_task *t, dt_zmq_carrier_spec *at) {
    static const dt_extents none;
    const dt_launch *l = &c->how.launch;
    const bool here = is_coordinator(c);
    at->address = l->ps_address[t - c->ps];
    at->host = t->name;
    at->slices = here ? &none : &t->held.packed.slices;
    DT_TRY(here ? NULL : find_memory(t));
    DT_TRY(dt_zmq_link_connect(&t->link, at, here ? c->how.workers : l->rank - 1,
                               &(dt_link_wait){c->how.start_timeout, c->spec.say, c->spec.user}));
    t->link.wait.say = NULL; /* do not report waits: a task answers late if an update takes long */
    return NULL;
}

dt_status *dt_ps_connect(dt_coordinated *c) {
    dt_run_key key;
    dt_zmq_carrier_spec at;
    if (!c->n_ps) return NULL;
    DT_TRY(dt_worker_pool_address(&c->spec, &key, &at));
    for (int k = 0; k < c->n_ps; k++) DT_TRY(connect_task(c, &c->ps[k], &at));
    return NULL;
}

static void close_task(dt_ps_task *t, bool well) {
    if (well) dt_status_free(dt_link_push(&t->link, &(dt_frame){.kind = DT_FRAME_END}, NULL, NULL));
    dt_link_close(&t->link);
    dt_compiled_destroy(t->own[0]);
    dt_compiled_destroy(t->own[1]);
    dt_str_release(&t->request);
    free(t->weights);
    free(t->gradients);
}

void dt_ps_close(dt_coordinated *c, bool well) {
    for (int k = 0; c->ps && k < c->n_ps; k++) close_task(&c->ps[k], well);
}

/* ---- state ---- */

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

dt_status *dt_ps_each_piece(const dt_ps_task *t, dt_ps_piece send, void *user) {
    int64_t at = 0;
    DT_TRY(dt_variables_fetch(t->state, t->n_state));
    for (int i = 0; i < t->n_state; i++) {
        DT_TRY(send_variable(t->state[i], at, send, user));
        at += dt_type_bytes(&t->state[i]->type);
    }
    return NULL;
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

dt_status *dt_ps_set(dt_coordinated *c, int64_t version) {
    for (int k = 0; k < c->n_ps; k++)
        DT_TRY(dt_ps_each_piece(&c->ps[k], set_piece, &(setting){&c->ps[k], version}));
    for (int k = 0; k < c->n_ps; k++) DT_TRY(acknowledged(&c->ps[k], c->ps[k].state_bytes));
    return NULL;
}

static dt_status *get_state(dt_ps_task *t) {
    DT_TRY(dt_variables_fetch(t->state, t->n_state));
    for (int64_t at = 0; at < t->state_bytes;) {
        dt_frame m;
        char *more = NULL, *into = NULL;
        DT_TRY(answer(t, at, &m, &more));
        const bool sound = m.more > 0 && dt_ps_state_at(t, at, m.more, &into);
        if (sound) memcpy(into, more, (size_t)m.more);
        free(more);
        if (!sound) return invalid(t);
        at += m.more;
    }
    return NULL;
}

dt_status *dt_ps_get(dt_coordinated *c) {
    for (int k = 0; k < c->n_ps; k++)
        DT_TRY(dt_link_push(&c->ps[k].link, &(dt_frame){.kind = DT_FRAME_GET}, NULL, NULL));
    for (int k = 0; k < c->n_ps; k++) DT_TRY(get_state(&c->ps[k]));
    return NULL;
}

dt_status *dt_ps_apply(dt_coordinated *c, int64_t number, const dt_ps_order *order) {
    const dt_frame m = {.kind = DT_FRAME_APPLY, .number = number, .more = sizeof *order};
    for (int k = 0; k < c->n_ps; k++) DT_TRY(dt_link_push(&c->ps[k].link, &m, NULL, order));
    return NULL;
}

/* ---- a worker ---- */

static dt_status *want(dt_coordinated *c, dt_ps_task *t, const dt_frame *work) {
    const dt_trainer *trainer = c->trainer;
    dt_str_clear(&t->request);
    if (trainer->numbers)
        DT_TRY(dt_rows_ask(&t->held.packed, dt_compiled_step(trainer->numbers), trainer->table,
                           c->numbers, &t->request));
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

dt_status *dt_ps_pull(dt_coordinated *c, const dt_frame *work) {
    if (!c->ps->link.row) DT_TRY(dt_ps_connect(c));
    if (c->trainer->numbers) DT_TRY(dt_trainer_find_rows(c->trainer, &c->batch, c->numbers));
    for (int k = 0; k < c->n_ps; k++) DT_TRY(want(c, &c->ps[k], work));
    for (int k = 0; k < c->n_ps; k++) DT_TRY(take(&c->ps[k], work));
    return NULL;
}

static dt_status *push(const dt_coordinated *c, dt_ps_task *t, const dt_frame *work) {
    const dt_held *h = &t->held;
    const dt_view *results = dt_trainer_results(c->trainer);
    const int64_t rows = c->batch.rows, parts = dt_parts_bytes(&h->halves, rows);
    DT_TRY(dt_packed_write_step(&h->packed, &h->halves, results, t->weights, t->gradients));
    char *more = dt_try_alloc((size_t)parts + 1);
    if (!more)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for parts of gradients (%lld bytes)",
                       (long long)parts);
    dt_parts_write(&h->halves, rows, results, more);
    dt_status *s = dt_link_push(
        &t->link, &(dt_frame){.kind = DT_FRAME_PUSH, .number = work->number, .more = parts},
        t->gradients, more);
    free(more);
    return s;
}

dt_status *dt_ps_push(dt_coordinated *c, const dt_frame *work) {
    for (int k = 0; k < c->n_ps; k++) DT_TRY(push(c, &c->ps[k], work));
    for (int k = 0; k < c->n_ps; k++) DT_TRY(acknowledged(&c->ps[k], work->number));
    return NULL;
}
