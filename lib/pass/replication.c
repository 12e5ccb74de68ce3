/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the values that differ between replicas (varying) and those that do not (uniform).
 * Arguments, replica numbers and all that depends on these vary; weights, constants and results of
 * all_reduce do not. Fold stores uniform values once. The analysis also finds an error that is
 * known from tf.distribute: different values are assigned to a variable that all replicas share.
 */
#include "pass/pass.h"

/* Whether a node's result differs between replicas even if its inputs do not. A size that is a
 * constant does not differ. */
static bool differs_by_itself(const dt_graph *g, const dt_node *n) {
    if (n->op->role != DT_ROLE_SIZE) return n->op->traits.varying;
    return g->node[n->in[0]].type.dim[((const dt_axis_attr *)n->attr)->axis] < 0;
}

static bool reads_varying(const dt_node *n, const dt_replication *spread) {
    for (int k = 0; k < n->n_in && n->op->role != DT_ROLE_SIZE; k++)
        if (spread[n->in[k]] != DT_UNIFORM) return true;
    return false;
}

static dt_replication spread_of_node(const dt_graph *g, const dt_node *n, const bool *distributed,
                                     const dt_replication *spread) {
    if (dt_type_has_batch(&n->type)) return DT_ROWS;
    if (n->op->traits.collective) return DT_UNIFORM;
    if (n->op->role == DT_ROLE_ARGUMENT) {
        const dt_index_attr *a = n->attr;
        return !distributed || distributed[a->index] ? DT_STACKED : DT_UNIFORM;
    }
    return differs_by_itself(g, n) || reads_varying(n, spread) ? DT_STACKED : DT_UNIFORM;
}

/* Sets the spread of variables. Those that have a copy for each replica differ between replicas. */
static void spread_of_states(const dt_graph *g, dt_replication *spread) {
    for (int i = 0; i < g->n_states; i++)
        spread[g->state[i].node] = g->state[i].variable->stack ? DT_STACKED : DT_UNIFORM;
}

static dt_replication *spread_all(const dt_graph *g, const bool *distributed, dt_arena *arena) {
    dt_replication *spread = dt_arena_array(arena, dt_replication, g->n_nodes);

    spread_of_states(g, spread);
    for (int i = 0; i < g->n_nodes; i++)
        if (g->node[i].op->role != DT_ROLE_STATE)
            spread[i] = spread_of_node(g, &g->node[i], distributed, spread);
    return spread;
}

static bool updates_differ(const dt_state *s, const dt_replication *spread) {
    return s->update >= 0 && !s->variable->stack && spread[s->update] != DT_UNIFORM;
}

/* Gives variables copies, and repeats until no variable is added, since a variable with copies may
 * make the update of another one differ. */
dt_status *dt_diverge_variables(const dt_graph *g, const bool *distributed, int replicas) {
    dt_local_arena arena = dt_arena_create();
    dt_status *bad = NULL;

    for (int i = 0; i < g->n_states && !bad; i++) {
        dt_variable *v = g->state[i].variable;
        if (!v->may_diverge || !updates_differ(&g->state[i], spread_all(g, distributed, arena)))
            continue;
        bad = dt_variable_diverge(v, replicas);
        i = -1;
    }
    return bad;
}

dt_status *dt_replication_of(const dt_graph *g, const bool *distributed, dt_arena *arena,
                             dt_replication **out) {
    dt_replication *spread = spread_all(g, distributed, arena);

    for (int i = 0; i < g->n_states; i++)
        if (updates_differ(&g->state[i], spread))
            return dt_fail(DT_E_VARYING_UPDATE, NULL,
                           "variable '%s' is one for all replicas, but each would assign its own "
                           "value: sum or average it with all_reduce first",
                           g->state[i].variable->path);
    *out = spread;
    return NULL;
}
