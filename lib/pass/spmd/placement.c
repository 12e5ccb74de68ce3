/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without the SPMD mode every op is placed on one logical device, or on all (op/placement.h says
 * which). The graph is annotated where values move, in the gradient too, so one forward walk finds
 * most placements. Nodes without arguments are placed, in a backward walk, with their earliest
 * reader: weights with their layer, an optimizer's slots with their weights.
 *
 * The placement is part of the layout: values on one device are split only over time
 * (micro-batches).
 */
#include "op/placement.h"
#include "pass/spmd/spmd_impl.h"

typedef struct places {
    const dt_graph *g;
    dt_placement *at; /* by node */
    bool *state;      /* by node: depends on a variable's value */
    int *reader; /* by node: where the earliest reader with a place is; ANYWHERE: none has one */
} places;

static void follow(places *p, int i) {
    const dt_node *n = &p->g->node[i];
    dt_placement in[DT_MAX_IN];
    p->state[i] |= n->op->role == DT_ROLE_STATE;
    for (int k = 0; k < n->n_in; k++) {
        in[k] = p->at[n->in[k]];
        p->state[i] |= p->state[n->in[k]] && n->op->role != DT_ROLE_SIZE;
    }
    if (p->at[i].device == DT_ANYWHERE) p->at[i] = dt_placement_of(n, in);
}

/* An argument that is annotated itself is fed there. */
static void place_arguments(places *p) {
    for (int i = p->g->n_nodes - 1; i >= 0; i--) {
        const dt_node *n = &p->g->node[i];
        if (n->op->role == DT_ROLE_NOTE && p->g->node[n->in[0]].op->role == DT_ROLE_ARGUMENT)
            p->at[n->in[0]] = dt_placement_of(n, &(dt_placement){0});
    }
}

static void follow_readers(places *p) {
    for (int i = 0; i < p->g->n_nodes; i++) p->reader[i] = DT_ANYWHERE;
    for (int i = p->g->n_nodes - 1; i >= 0; i--) {
        if (p->at[i].device == DT_ANYWHERE && p->state[i]) p->at[i].device = p->reader[i];
        for (int k = 0; k < p->g->node[i].n_in && p->at[i].device != DT_ANYWHERE; k++)
            p->reader[p->g->node[i].in[k]] = p->at[i].device;
    }
}

static void find(places *p) {
    for (int i = 0; i < p->g->n_nodes; i++) p->at[i] = (dt_placement){.device = DT_ANYWHERE};
    place_arguments(p);
    for (int i = 0; i < p->g->n_nodes; i++) follow(p, i);
    follow_readers(p);
    for (int i = 0; i < p->g->n_nodes; i++) { /* nodes that no placed node reads */
        follow(p, i);
        if (p->at[i].device == DT_ANYWHERE && p->state[i]) p->at[i].device = 0;
    }
}

void dt_spmd_place(dt_spmd_work *w) {
    int n = w->g->n_nodes + 1;
    places p = {.g = w->g,
                .at = dt_arena_array(w->arena, dt_placement, n),
                .state = dt_arena_array(w->arena, bool, n),
                .reader = dt_arena_array(w->arena, int, n)};
    find(&p);
    for (int i = 0; i < w->g->n_nodes; i++)
        if (p.at[i].device >= 0 && !w->free[i]) {
            w->layout[i] = (dt_layout){.on = 1 + p.at[i].device};
            w->only[i] = w->mesh.time;
        }
}
