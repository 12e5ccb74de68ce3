/*
 * Replicas as an axis of the mesh: the innermost one, so that what is cut by logical devices is cut further. Rows are dealt out along it, and what is summed over rows
 * becomes the sum over replicas: data parallelism is a split of the batch.
 *
 * over_replicas divides what every replica would keep a copy of:
 *
 *     optimizer   slots: gradients arrive by reduce_scatter, new weights go out by all_gather
 *     weights     and weights: gathered where they are used
 *
 * A variable is cut along its longest dimension that can be cut evenly.
 */
#include "pass/spmd/spmd_impl.h"

void dt_spmd_add_replicas(dt_mesh *m, int replicas)
{
    if (replicas <= 1 || m->n == DT_MAX_AXES)
        return;
    m->replicas = (dt_mesh_axes)1 << m->n;
    m->size[m->n++] = replicas;
}

static void deal(dt_spmd_work *w, int node)
{
    const dt_type *t = &w->g->node[node].type;
    if (t->rank == 0 || !dt_spmd_divides(w, t, 0, w->layout[node].axes[0] | w->mesh.replicas))
        return;
    w->layout[node].axes[0] |= w->mesh.replicas;
    w->batch_axes |= t->dim[0] < 0 ? w->layout[node].axes[0] : 0;
}

void dt_spmd_deal_rows(dt_spmd_work *w)
{
    if (!w->mesh.replicas)
        return;
    for (int i = 0; i < w->g->n_args; i++) {
        int node = w->g->arg[i].node;
        bool has_rows = dt_type_has_batch(&w->g->node[node].type);
        if (has_rows || (w->o->arg && w->o->arg[i] == DT_STACKED))
            deal(w, node);
    }
    for (int i = 0; i < w->g->n_nodes; i++)
        if (w->fixed[i] && w->g->node[i].op == &dt_op_sharding && dt_type_has_batch(&w->g->node[i].type))
            deal(w, i);
}

/* ---- variables ---- */

static int longest(const dt_spmd_work *w, int node)
{
    const dt_type *t = &w->g->node[node].type;
    int best = -1;
    int64_t most = 0;
    for (int d = 0; d < t->rank; d++) {
        dt_mesh_axes axes = w->layout[node].axes[d];
        int64_t held = t->dim[d] / dt_mesh_parts(&w->mesh, axes);
        if (held > most && dt_spmd_divides(w, t, d, axes | w->mesh.replicas)) {
            most = held;
            best = d;
        }
    }
    return best;
}

static bool is_divided(const dt_spmd_work *w, const dt_variable *v)
{
    if (w->o->over_replicas == DT_OVER_WEIGHTS)
        return v->slot || v->trainable;
    return w->o->over_replicas == DT_OVER_OPTIMIZER && v->slot;
}

void dt_spmd_divide_states(dt_spmd_work *w)
{
    if (!w->mesh.replicas || w->o->over_replicas == DT_OVER_NONE)
        return;
    for (int i = 0; i < w->g->n_states; i++) {
        int node = w->g->state[i].node, d = is_divided(w, w->g->state[i].variable) ? longest(w, node) : -1;
        if (d >= 0)
            w->layout[node].axes[d] |= w->mesh.replicas;
        w->fixed[node] = true;
    }
}
