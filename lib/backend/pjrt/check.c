/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks row numbers that are out of range. On the back end cpu, `gather` reports them while it
 * runs. A plug-in silently takes the nearest row. Nearly always row numbers come directly from the
 * data, or only negative ones are replaced by numbers counted from the end. So the small part of
 * the graph that computes them is run here before a batch is uploaded. Row numbers that depend on
 * weights are not checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/pjrt/pjrt_impl.h"
#include "op/cells.h"

/* Whether computing the node here is cheap: element-wise, on integers. */
static bool is_cheap(const dt_node *n) {
    const dt_role role = n->op->role;
    const bool fits = role == DT_ROLE_ARGUMENT || role == DT_ROLE_CONSTANT ||
                      role == DT_ROLE_ELEMENT || role == DT_ROLE_CONVERT || role == DT_ROLE_NAME ||
                      role == DT_ROLE_REPEAT || role == DT_ROLE_NOTE;
    return fits && (n->op->eval || role == DT_ROLE_ARGUMENT) && !dt_dtype_is_float(n->type.dtype);
}

/* Marks node `node` and the nodes that it depends on. Returns false if one of them is expensive to
 * compute. */
static bool mark_needed(const dt_graph *g, int node, bool *needed) {
    needed[node] = true;
    for (int i = node; i >= 0; i--) {
        if (!needed[i]) continue;
        if (!is_cheap(&g->node[i])) return false;
        for (int k = 0; k < g->node[i].n_in; k++) needed[g->node[i].in[k]] = true;
    }
    return true;
}

int dt_pjrt_checks_of(const dt_graph *g, dt_arena *arena, dt_pjrt_check **out) {
    int n = 0;
    *out = dt_arena_array(arena, dt_pjrt_check, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *node = &g->node[i];
        if (node->op->role != DT_ROLE_LOOKUP) continue;
        bool *needed = dt_arena_array(arena, bool, g->n_nodes);
        if (mark_needed(g, node->in[1], needed))
            (*out)[n++] =
                (dt_pjrt_check){node->in[1], needed, g->node[node->in[0]].type.dim[0], node->path};
    }
    return n;
}

static void check_value(const dt_pjrt_check *c, const dt_view *x, dt_refusal *refusal) {
    for (int64_t i = 0, n = dt_type_elements(&x->type); i < n; i++) {
        const int64_t number = dt_cell_int(x, i);
        if (number >= 0 && number < c->rows) continue;
        refusal->finders = 1;
        refusal->number = number;
        refusal->rows = c->rows;
        refusal->rank = x->type.rank;
        snprintf(refusal->layer, sizeof refusal->layer, "%s", c->layer);
        for (int d = x->type.rank - 1; d >= 0; i /= x->type.dim[d--])
            refusal->at[d] = i % x->type.dim[d];
        return;
    }
}

static int argument_number(const dt_graph *g, int node) {
    int i = 0;
    while (g->arg[i].node != node) i++;
    return i;
}

void dt_pjrt_check_rows(const dt_graph *g, const dt_pjrt_check *c, const dt_env *env,
                        const dt_view *arg) {
    DT_LOCAL dt_view *v = dt_alloc(dt_size_mul((size_t)c->index + 1, sizeof *v));

    memset(v, 0, ((size_t)c->index + 1) * sizeof *v);
    for (int i = 0; i <= c->index; i++) {
        const dt_node *n = &g->node[i];
        dt_view in[DT_MAX_IN];
        if (!c->needed[i]) continue;
        if (n->op->role == DT_ROLE_ARGUMENT) {
            v[i] = arg[argument_number(g, i)];
            continue;
        }
        v[i].type = dt_type_at(&n->type, env->batch);
        v[i].data = dt_alloc((size_t)dt_type_bytes(&v[i].type) + 1);
        for (int k = 0; k < n->n_in; k++) in[k] = v[n->in[k]];
        n->op->eval(&(dt_call){.node = n, .env = env, .in = in, .out = v[i]});
    }
    check_value(c, &v[c->index], env->refusal);
    for (int i = 0; i <= c->index; i++)
        if (v[i].data && g->node[i].op->role != DT_ROLE_ARGUMENT) free(v[i].data);
}
