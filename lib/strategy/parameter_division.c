/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides variables among tasks of type ps, as a ParameterServerStrategy of tf.distribute does. The
 * partitioner says into how many shards along the first dimension a variable is divided, and shards
 * are assigned to tasks in turn. If there are more shards than tasks, a task gets adjacent shards,
 * which are one range of rows. A variable is not divided if the update of a row needs other rows,
 * for example for a norm. So the weights have the same bits as in a process that has all of them.
 */
#include <stdio.h>

#include "base/arena.h"
#include "pass/sparse.h"
#include "strategy/parameter_tasks.h"

typedef struct dividing {
    const dt_ps_division *q;
    dt_ps_tasks *c;
    dt_arena *arena;
    bool *everywhere; /* [n] whether every task has a copy of the variable */
    /* [n] number of tasks that each have some rows of the variable; 1: it is not divided */
    int *pieces;
    /* [n] number of the task that has the variable, or its first rows, unless all have a copy */
    int64_t *turn;
} dividing;

static const dt_graph *update_of(const dividing *d, int program) {
    const dt_compiled *c = d->q->update[program];
    return c ? dt_compiled_step(c) : NULL;
}

/* ---- rows ---- */

static int64_t rows_of(const dt_variable *v) { return v->type.rank > 0 ? v->type.dim[0] : 1; }

static int64_t shards_of(const dividing *d, const dt_variable *v) {
    const int64_t rows = rows_of(v);
    return rows < 1 ? 1
                    : dt_partitioner_shards(&d->c->spec->how->partitioner, rows,
                                            dt_type_bytes(&v->type) / rows);
}

/* Returns the first row of piece `piece` of a variable that is divided into `pieces` pieces. */
static int64_t first_row(const dividing *d, const dt_variable *v, int pieces, int piece) {
    const int64_t rows = rows_of(v), shards = shards_of(d, v), k = shards * piece / pieces;
    return k * (rows / shards) + (k < rows % shards ? k : rows % shards);
}

static bool has_rows(const dt_variables *own, const dt_variable *whole) {
    for (int i = 0; i < own->n; i++)
        if (own->v[i]->whole == whole) return true;
    return false;
}

static void add_piece(const dividing *d, dt_variables *own, dt_variable *v, int pieces, int piece) {
    const int64_t first = first_row(d, v, pieces, piece), end = first_row(d, v, pieces, piece + 1);
    own->v[own->n++] = dt_variable_rows(v, first, end - first);
}

/* Adds those slots of divided variables that have a row for each row of the variable; a task gets
 * the same rows of both. */
static void add_slots(const dividing *d, dt_variables *own) {
    const int n = own->n;
    for (int p = 0; p < d->q->n_programs; p++) {
        const dt_graph *g = update_of(d, p);
        for (int s = 0; g && s < g->n_states; s++)
            for (int i = 0; i < n; i++) {
                const dt_variable *part = own->v[i];
                dt_variable *slot = g->state[s].variable;
                if (part->whole && slot->of == part->whole && slot->type.rank > 0 &&
                    rows_of(slot) == rows_of(part->whole) && !has_rows(own, slot))
                    own->v[own->n++] = dt_variable_rows(slot, part->first_row, rows_of(part));
            }
    }
}

static dt_variables empty_list(const dividing *d) {
    int most = d->q->n;
    for (int p = 0; p < d->q->n_programs; p++)
        most += update_of(d, p) ? update_of(d, p)->n_states : 0;
    return (dt_variables){.v = dt_arena_array(d->arena, dt_variable *, most + 1)};
}

static void release_rows(const dt_variables *own) {
    for (int i = 0; i < own->n; i++)
        if (own->v[i]->whole) dt_variable_unref(own->v[i]);
}

/* ---- what may be divided ---- */

static dt_status *part_of(const dividing *d, int program, const dt_variables *own, dt_graph **out) {
    const dt_variables dealt = {.v = (dt_variable **)(uintptr_t)d->q->variable, .n = d->q->n};
    return dt_update_part(update_of(d, program), own, &dealt, out);
}

/* Marks the variables that the update of v reads and that also change. The task that has v needs
 * copies of them, which it updates too. */
static dt_status *find_read(const dividing *d, dt_variable *v, int program) {
    dt_graph *g = NULL;
    if (!update_of(d, program)) return NULL;
    DT_TRY(part_of(d, program, &(dt_variables){.v = &v, .n = 1}, &g));
    for (int s = 0; s < g->n_states; s++)
        for (int i = 0; i < d->q->n; i++) {
            const dt_variable *other = d->q->variable[i];
            if (other != v && g->state[s].variable == other)
                d->everywhere[i] |= d->q->way_of(d->q->user, other) != DT_SENT_ONCE;
        }
    dt_graph_destroy(g);
    return NULL;
}

static bool is_divisible(const dividing *d, dt_variable *v) {
    dt_variables own = empty_list(d);
    bool divisible = true;
    add_piece(d, &own, v, 2, 0);
    add_slots(d, &own);
    for (int p = 0; p < d->q->n_programs && divisible; p++) {
        dt_graph *g = NULL;
        dt_status *bad = update_of(d, p) ? part_of(d, p, &own, &g) : NULL;
        divisible = !bad;
        dt_status_free(bad);
        dt_graph_destroy(g);
    }
    release_rows(&own);
    return divisible;
}

static dt_status *deal(dividing *d) {
    int64_t turn = 0;
    for (int i = 0; i < d->q->n; i++) d->everywhere[i] = d->q->everywhere == d->q->variable[i];
    for (int i = 0; i < d->q->n; i++)
        for (int p = 0; p < d->q->n_programs && !d->q->joint && d->c->n > 1; p++)
            DT_TRY(find_read(d, d->q->variable[i], p));
    for (int i = 0; i < d->q->n; i++) {
        const int64_t shards =
            d->everywhere[i] || d->q->joint ? 1 : shards_of(d, d->q->variable[i]);
        d->pieces[i] = 1;
        d->turn[i] = d->q->joint ? 0 : turn;
        if (shards > 1 && d->c->n > 1 && is_divisible(d, d->q->variable[i]))
            d->pieces[i] = shards < d->c->n ? (int)shards : d->c->n;
        turn = (turn + (d->everywhere[i] ? 0 : d->pieces[i] > 1 ? shards : 1)) % d->c->n;
    }
    return NULL;
}

/* ---- tasks ---- */

/* Lists the variables of task k. Those that workers read come first. */
static void list_own(const dividing *d, int k, dt_variables *own) {
    dt_parameter_store *h = &d->c->task[k].held;
    *own = empty_list(d);
    for (int i = 0; i < d->q->n; i++) {
        const int piece = (int)((k - d->turn[i] + d->c->n) % d->c->n);
        dt_variable *v = d->q->variable[i];
        if (d->everywhere[i] || (d->pieces[i] == 1 && piece == 0)) own->v[own->n++] = v;
        else if (piece < d->pieces[i] && d->pieces[i] > 1)
            add_piece(d, own, v, d->pieces[i], piece);
        if (i < d->q->n_read) h->n = own->n;
    }
    add_slots(d, own);
    h->variable = own->v;
}

/* Prepares the messages with the variables that h lists, and finds which arguments of the programs
 * of h belong to these variables. */
static dt_status *hold(const dividing *d, dt_parameter_store *h, const dt_servers_spec *how) {
    h->sent = dt_arena_array(d->arena, dt_sent, h->n + 1);
    for (int i = 0; i < h->n; i++)
        h->sent[i] = d->q->way_of(d->q->user, dt_variable_whole(h->variable[i]));
    DT_TRY(dt_packed_make(&h->packed, d->arena, h->variable, h->n, h->sent, how));
    for (int p = 0; p < h->n_programs; p++) {
        DT_TRY(d->q->match(d->q->user, &h->packed, p, &h->program[p]));
        dt_parameter_store_prepare(&h->program[p], d->arena);
    }
    return NULL;
}

static void alloc_programs(const dividing *d, dt_parameter_store *h) {
    h->n_programs = d->q->n_programs;
    h->program = dt_arena_array(d->arena, dt_parameter_program, h->n_programs + 1);
}

static dt_status *make_task(const dividing *d, int k) {
    static const dt_servers_spec one = {.servers = 1};
    dt_ps_task *t = &d->c->task[k];
    dt_parameter_store *h = &t->held;
    snprintf(t->name, sizeof t->name, "parameter server %d", k);
    list_own(d, k, &t->own);
    alloc_programs(d, h);
    for (int p = 0; p < h->n_programs; p++) {
        dt_graph *g = NULL;
        if (!update_of(d, p)) continue;
        DT_TRY(part_of(d, p, &t->own, &g));
        DT_TRY(d->q->compile(d->q->user, p, g, &h->program[p].run));
    }
    DT_TRY(hold(d, h, &one));
    dt_ps_list_state(t, d->arena);
    return NULL;
}

/* Without tasks of type ps: gives this process the variables that workers read, and whole
 * updates. */
static dt_status *hold_here(const dividing *d, dt_parameter_store *here) {
    here->variable = (dt_variable **)(uintptr_t)d->q->variable;
    here->n = d->q->n_read;
    for (int p = 0; p < here->n_programs; p++) here->program[p].run = d->q->update[p];
    return hold(d, here, d->c->spec->how);
}

dt_status *dt_ps_divide(dt_parameter_store *here, dt_ps_tasks *c, const dt_ps_division *q,
                        dt_arena *arena) {
    dividing d = {.q = q,
                  .c = c,
                  .arena = arena,
                  .everywhere = dt_arena_array(arena, bool, q->n + 1),
                  .pieces = dt_arena_array(arena, int, q->n + 1),
                  .turn = dt_arena_array(arena, int64_t, q->n + 1)};
    *here = (dt_parameter_store){0};
    alloc_programs(&d, here);
    if (c->n == 0) return hold_here(&d, here);
    c->task = dt_arena_array(arena, dt_ps_task, c->n);
    DT_TRY(deal(&d));
    for (int k = 0; k < c->n; k++) DT_TRY(make_task(&d, k));
    for (int p = 0; p < q->n_programs; p++) here->program[p].halves = dt_halves_none(arena, 0);
    return dt_packed_make(&here->packed, arena, NULL, 0, NULL, c->spec->how);
}
