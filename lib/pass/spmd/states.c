/*
 * Where variables lie. A slot of an optimizer lies as the weight that it belongs to, dimension by dimension: an update is then done where both are,
 * and nothing travels for it. What is found of values in between has no say in that.
 *
 *     weight f32[384,1536]   [-, {0}]        velocity [-, {0}]      row f32[384]  whole      column f32[1536]  [{0}]
 *
 * over_replicas divides what every replica would keep a copy of:
 *
 *     optimizer   slots: gradients arrive by reduce_scatter, new weights go out by all_gather
 *     weights     and weights: gathered where they are used
 *
 * A variable is cut along its longest dimension that can be cut evenly; a slot where its weight is cut, or would be.
 */
#include "pass/spmd/spmd_impl.h"

static const dt_variable *variable_at(const dt_spmd_work *w, int s)
{
    return w->g->state[s].variable;
}

/* The state that s is a slot of, -1: it is none, or that is not among them, or it has a place already. */
static int owner(const dt_spmd_work *w, int s)
{
    const dt_variable *of = variable_at(w, s)->of;
    bool placed = w->fixed[w->g->state[s].node] || w->layout[w->g->state[s].node].on;
    for (int i = 0; of && !placed && i < w->g->n_states; i++)
        if (variable_at(w, i) == of && of->type.rank == variable_at(w, s)->type.rank + (variable_at(w, s)->lacks > 0))
            return i;
    return -1;
}

/* ---- replicas ---- */

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

/* The layout of that node, divided among the replicas too. */
static dt_layout divided(const dt_spmd_work *w, int node)
{
    dt_layout l = w->layout[node];
    int d = w->mesh.replicas ? longest(w, node) : -1;
    if (d >= 0)
        l.axes[d] |= w->mesh.replicas;
    return l;
}

static bool is_divided(const dt_spmd_work *w, const dt_variable *v)
{
    if (w->o->over_replicas == DT_OVER_WEIGHTS)
        return v->slot || v->trainable;
    return w->o->over_replicas == DT_OVER_OPTIMIZER && v->slot;
}

/* ---- slots ---- */

/* As the weight lies that it belongs to. */
static void follow(dt_spmd_work *w, int s, const dt_layout *weight)
{
    dt_layout *l = &w->layout[w->g->state[s].node];
    int lacks = variable_at(w, s)->lacks - 1;
    for (int d = 0; d < variable_at(w, s)->type.rank; d++)
        l->axes[d] = weight->axes[d + (lacks >= 0 && d >= lacks)];
}

static void list_slots(dt_spmd_work *w)
{
    w->owner = dt_arena_array(w->arena, int, w->g->n_states + 1);
    for (int s = 0; s < w->g->n_states; s++) {
        int node = w->g->state[s].node;
        w->owner[s] = owner(w, s);
        w->fixed[node] |= w->owner[s] >= 0;
    }
}

/* Slots as their weights; where over_replicas divides slots, as these would be divided. */
static void follow_weights(dt_spmd_work *w, bool divide)
{
    for (int s = 0; s < w->g->n_states; s++)
        if (w->owner[s] >= 0) {
            int of = w->g->state[w->owner[s]].node;
            dt_layout weight = divide ? divided(w, of) : w->layout[of];
            follow(w, s, &weight);
        }
}

void dt_spmd_place_slots(dt_spmd_work *w)
{
    list_slots(w);
    follow_weights(w, false);
}

void dt_spmd_place_states(dt_spmd_work *w)
{
    bool divide = w->mesh.replicas && w->o->over_replicas != DT_OVER_NONE;
    follow_weights(w, divide);
    for (int s = 0; divide && s < w->g->n_states; s++) {
        int node = w->g->state[s].node;
        if (w->owner[s] < 0 && is_divided(w, variable_at(w, s)))
            w->layout[node] = divided(w, node);
        w->fixed[node] = true;
    }
}
