/*
 * Bare: a graph without its annotations. How a replica's values lie on its logical devices is for whoever computes with several of them; one
 * memory space computes a replica as one, and reads through the notes at no cost.
 */
#include "pass/pass.h"

#include <stdlib.h>

static bool is_annotated(const dt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (g->node[i].op == &dt_op_sharding)
            return true;
    return false;
}

static void copy_nodes(const dt_graph *g, dt_trace *t, dt_value *map)
{
    for (int i = 0; i < g->n_nodes; i++) {
        dt_value in[DT_MAX_IN];
        for (int k = 0; k < g->node[i].n_in; k++)
            in[k] = map[g->node[i].in[k]];
        if (!map[i].trace)
            map[i] = g->node[i].op == &dt_op_sharding ? in[0] : dt_emit_like(t, g, i, in);
    }
}

dt_status *dt_bare(const dt_graph *g, dt_graph **out)
{
    *out = NULL;
    if (!is_annotated(g))
        return NULL;
    dt_trace *t = dt_trace_create(g->name);
    dt_value *map = dt_alloc(dt_size_mul((size_t)g->n_nodes + 1, sizeof *map));

    dt_trace_import(t, g, map);
    copy_nodes(g, t, map);
    dt_trace_export(t, g, map);
    free(map);
    return dt_trace_end(t, out);
}
