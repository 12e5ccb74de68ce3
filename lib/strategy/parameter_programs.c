/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the coordinator of a C program sends to a task of type ps: its variables, and the programs
 * that change them. Both ends find arguments of programs by name.
 *
 *     int64 variables, of which held, programs
 *     each variable:  text path | type
 *     each held one:  int64 dt_sent
 *     each program:   int64 has a graph | the graph
 *                     for each held one: int64 moves | text argument, "" if none
 *                     int64 parts | text argument, int64 numbers, first row, end row, for each
 */
#include <string.h>

#include "base/arena.h"
#include "pass/graph_bytes.h"
#include "strategy/parameter_tasks.h"

/* ---- writing ---- */

static void write_program(const dt_ps_task *t, const dt_parameter_program *p, dt_str *out) {
    const dt_graph *g = p->run ? dt_compiled_step(p->run) : NULL;
    const dt_halves *h = &p->halves;
    dt_bytes_put(out, g != NULL);
    if (g) dt_graph_write(g, t->state, t->n_state, out);
    for (int i = 0; i < t->held.n; i++) {
        dt_bytes_put(out, h->moves[i]);
        dt_bytes_put_text(out, h->argument[i] >= 0 ? g->arg[h->argument[i]].name : "");
    }
    dt_bytes_put(out, h->n_parts);
    for (int k = 0; k < h->n_parts; k++) {
        dt_bytes_put_text(out, g->arg[h->part_argument[k]].name);
        dt_bytes_put(out, h->numbers[k]);
        dt_bytes_put(out, h->first_row[k]);
        dt_bytes_put(out, h->end_row[k]);
    }
}

void dt_ps_describe(const dt_ps_task *t, dt_str *out) {
    dt_bytes_put(out, t->n_state);
    dt_bytes_put(out, t->held.n);
    dt_bytes_put(out, t->held.n_programs);
    for (int i = 0; i < t->n_state; i++) {
        dt_bytes_put_text(out, t->state[i]->path);
        dt_bytes_put_type(out, &t->state[i]->type);
    }
    for (int i = 0; i < t->held.n; i++) dt_bytes_put(out, t->held.sent[i]);
    for (int p = 0; p < t->held.n_programs; p++) write_program(t, &t->held.program[p], out);
}

/* ---- reading ---- */

static dt_status *take_variables(dt_ps_task *t, dt_byte_reader *b, dt_arena *arena) {
    const int n = dt_bytes_take_count(b, 3 * sizeof(int64_t));
    t->held.n = (int)dt_bytes_take(b, 0, n);
    t->held.n_programs = (int)dt_bytes_take(b, 0, (int64_t)(b->left / sizeof(int64_t)));
    t->state = dt_arena_array(arena, dt_variable *, n + 1);
    for (int i = 0; i < n; i++) {
        const char *path = dt_bytes_take_text(b, arena);
        const dt_type type = dt_bytes_take_type(b);
        if (b->failed || dt_type_has_batch(&type)) break;
        DT_TRY(dt_variable_alloc(&t->state[i], path, &type, false));
        t->n_state++;
        t->state_bytes += dt_type_bytes(&type);
    }
    b->failed |= t->n_state < n;
    t->held.variable = t->state;
    t->held.sent = dt_arena_array(arena, dt_sent, t->held.n + 1);
    for (int i = 0; i < t->held.n; i++)
        t->held.sent[i] = (dt_sent)dt_bytes_take(b, 0, DT_SENT_BY_ROWS);
    /* A variable without rows that is sent by rows makes the message invalid. */
    for (int i = 0; i < t->held.n && !b->failed; i++)
        b->failed |= t->held.sent[i] == DT_SENT_BY_ROWS &&
                     (t->state[i]->type.rank == 0 || dt_type_bytes(&t->state[i]->type) == 0);
    return NULL;
}

/* Reads the name of an argument of g and returns its index. An empty name gives -1. */
static int take_argument(dt_byte_reader *b, const dt_graph *g, dt_arena *arena) {
    const char *name = dt_bytes_take_text(b, arena);
    const int i = g && *name ? dt_graph_find_argument(g, name) : -1;
    b->failed |= *name && i < 0;
    return i;
}

/* Reads which arguments a push fills. Each argument must be filled once, by a value of its own
 * type. */
static void take_halves(dt_ps_task *t, dt_parameter_program *p, dt_byte_reader *b,
                        dt_arena *arena) {
    const dt_graph *g = p->run ? dt_compiled_step(p->run) : NULL;
    dt_halves *h = &p->halves;
    bool *filled = dt_arena_array(arena, bool, g ? g->n_args + 1 : 1);
    int n = 0;
    *h = dt_halves_none(arena, t->held.n);
    for (int i = 0; i < t->held.n && !b->failed; i++) {
        h->moves[i] = dt_bytes_take(b, 0, 1);
        const int a = h->argument[i] = take_argument(b, g, arena);
        /* A whole value that is pushed for a table sent by rows makes the message invalid. */
        b->failed |= t->held.sent[i] == DT_SENT_BY_ROWS && (h->moves[i] || a >= 0);
        if (a < 0) continue;
        b->failed |=
            filled[a] || !dt_type_equal(&g->node[g->arg[a].node].type, &t->held.variable[i]->type);
        n += filled[a] = true;
    }
    const int parts = dt_bytes_take_count(b, 4 * sizeof(int64_t));
    dt_parts_alloc(h, parts, arena);
    for (int k = 0; k < parts && !b->failed; k++) {
        const int a = h->part_argument[k] = take_argument(b, g, arena);
        b->failed |= a < 0 || filled[a];
        if (b->failed) break;
        h->part[k] = g->node[g->arg[a].node].type;
        const int numbers = (int)dt_bytes_take(b, -1, k - 1);
        h->first_row[k] = dt_bytes_take(b, INT64_MIN, INT64_MAX);
        h->end_row[k] = dt_bytes_take(b, INT64_MIN, INT64_MAX);
        b->failed |= numbers >= 0 && !dt_part_names(h, numbers, k);
        if (!b->failed) h->numbers[k] = numbers;
        h->n_parts++;
        n += filled[a] = true;
    }
    b->failed |= n != (g ? g->n_args : 0);
}

static dt_status *take_program(dt_ps_task *t, dt_parameter_program *p, dt_byte_reader *b,
                               dt_strategy *s, dt_arena *arena) {
    dt_graph *g = NULL;
    if (dt_bytes_take(b, 0, 1)) {
        DT_TRY(dt_graph_read(b, t->state, t->n_state, &g));
        const bool *uniform = dt_arena_array(arena, bool, g->n_args + 1);
        DT_TRY(dt_compiled_create(&p->run, s, g, &(dt_compile_options){.distributed = uniform}));
    }
    take_halves(t, p, b, arena);
    if (!b->failed) dt_parameter_store_prepare(p, arena);
    return b->failed ? NULL : dt_halves_check(&p->halves, &t->held.packed, NULL);
}

dt_status *dt_ps_read(dt_ps_task *t, const dt_arrival *from, dt_strategy *s, dt_arena *arena) {
    static const dt_servers_spec one = {.servers = 1};
    dt_byte_reader b = {from->more, (size_t)from->message.more, false};
    dt_parameter_store *h = &t->held;
    DT_TRY(take_variables(t, &b, arena));
    h->program = dt_arena_array(arena, dt_parameter_program, h->n_programs + 1);
    if (!b.failed) DT_TRY(dt_packed_make(&h->packed, arena, h->variable, h->n, h->sent, &one));
    for (int p = 0; p < h->n_programs && !b.failed; p++)
        DT_TRY(take_program(t, &h->program[p], &b, s, arena));
    return b.failed || b.left > 0
               ? dt_fail(DT_E_WORKERS_DISAGREE, NULL, "the coordinator sent no programs")
               : NULL;
}
