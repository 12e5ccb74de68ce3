/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of one device while it runs a program: variables throughout, other values from their
 * definition to their last use. */
#include "pass/spmd/spmd_impl.h"

/* Bytes of a node on one device; values that only another device has count 0. */
static int64_t bytes_of(const dt_spmd *s, int node, int device) {
    if (s->layout[node].on && s->layout[node].on - 1 != device) return 0;
    dt_type t = dt_type_at(&s->local->node[node].type, s->batch / s->local->batch_parts);
    return dt_type_bytes(&t);
}

/* Whether a node's value needs memory. Arguments and variables are counted elsewhere; a reshape
 * shares memory, and a constant is part of the program. */
static bool takes_room(const dt_node *n) {
    return n->op->role != DT_ROLE_ARGUMENT && n->op->role != DT_ROLE_STATE &&
           n->op->role != DT_ROLE_NAME && n->op->role != DT_ROLE_CONSTANT;
}

static void count_variables(const dt_spmd *s, int device, dt_spmd_bytes *b) {
    for (int i = 0; i < s->whole->n_states; i++) {
        int64_t bytes = bytes_of(s, s->local->state[i].node, device);
        *(s->whole->state[i].variable->slot ? &b->slots : &b->weights) += bytes;
    }
}

/* By node: its last reader, after which its memory is free. */
static int *last_readers(const dt_graph *g, dt_arena *arena) {
    int *last = dt_arena_array(arena, int, g->n_nodes + 1);
    for (int i = 0; i < g->n_results; i++) last[dt_named_by(g, g->result[i].node)] = g->n_nodes;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) last[dt_named_by(g, g->state[i].update)] = g->n_nodes;
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) {
            int *of = &last[dt_named_by(g, g->node[i].in[k])];
            *of = *of < i ? i : *of;
        }
    return last;
}

static void count_values(const dt_spmd *s, int device, dt_spmd_bytes *b) {
    const dt_graph *g = s->local;
    dt_arena *arena = dt_arena_create();
    int *last = last_readers(g, arena);
    int64_t *dies = dt_arena_array(arena, int64_t, g->n_nodes + 2), now = 0;
    for (int i = 0; i < s->whole->n_args; i++) now += bytes_of(s, g->arg[i].node, device);
    b->values = now;
    for (int i = 0; i < g->n_nodes; i++) {
        if (takes_room(&g->node[i])) {
            now += bytes_of(s, i, device);
            dies[last[i]] += bytes_of(s, i, device);
        }
        if (now > b->values) {
            b->values = now;
            b->peak = i;
        }
        now -= dies[i];
    }
    dt_arena_destroy(arena);
}

static dt_spmd_bytes count_on(const dt_spmd *s, int device) {
    dt_spmd_bytes b = {0};
    count_variables(s, device, &b);
    count_values(s, device, &b);
    return b;
}

/* Bytes of the device that holds most. */
dt_spmd_bytes dt_spmd_count_bytes(const dt_spmd *s) {
    dt_spmd_bytes most = {0};
    for (int device = 0; device < dt_mesh_logical(&s->mesh); device++) {
        dt_spmd_bytes b = count_on(s, device);
        if (b.weights + b.slots + b.values > most.weights + most.slots + most.values) most = b;
    }
    return most;
}
