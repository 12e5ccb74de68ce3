/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layouts of variables. A slot of an optimizer has the layout of its weight, dimension by
 * dimension, so an update needs no communication. Layouts that are inferred for values in between
 * do not change that.
 *
 *     weight f32[384,1536]   [-, {0}]        velocity [-, {0}]
 *     row    f32[384]        whole           column   f32[1536]  [{0}]
 *
 * over_replicas divides variables of which each replica would otherwise have a copy:
 *
 *     optimizer   slots: gradients are reduce-scattered, new weights all-gathered
 *     weights     slots and weights: weights are all-gathered where they are used
 *
 * A variable is cut along its longest dimension that can be cut evenly by all replicas; if there is
 * none, along several dimensions, as far as replicas can divide these (replicas.c). A slot is
 * divided in the same way as its weight is, or would be if weights were divided.
 */
#include "base/hash.h"
#include "base/hash_index.h"
#include "pass/spmd/spmd_impl.h"

static const dt_variable *variable_at(const dt_spmd_work *w, int s) {
    return w->g->state[s].variable;
}

static uint64_t hash_of(const dt_variable *v) { return dt_hash_bytes(0, &v, sizeof v); }

/* Returns the index of the weight of which state s is a slot; -1: s is not a slot, its weight is
 * not among the states or has a number of dimensions that does not fit, or s has a layout already.
 * at: finds a state by its variable. */
static int owner(const dt_spmd_work *w, const dt_hash_index *at, int s) {
    const dt_variable *of = variable_at(w, s)->of;
    bool placed = w->fixed[w->g->state[s].node] || w->layout[w->g->state[s].node].on;
    for (int i = of && !placed ? dt_hash_index_first(at, hash_of(of)) : -1; i >= 0;
         i = dt_hash_index_next(at, i))
        if (variable_at(w, i) == of &&
            of->type.rank == variable_at(w, s)->type.rank + (variable_at(w, s)->lacks > 0))
            return i;
    return -1;
}

/* ---- replicas ---- */

/* Returns those of `axes` that together divide `size` evenly: as many axes as possible, and
 * neighbours rather than others. */
static dt_mesh_axes that_fit(const dt_mesh *m, int64_t size, dt_mesh_axes axes) {
    dt_mesh_axes fit = 0;
    for (int a = m->n - 1; a >= 0; a--)
        if ((axes >> a & 1) && size % m->size[a] == 0) {
            fit |= (dt_mesh_axes)1 << a;
            size /= m->size[a];
        }
    return fit;
}

/* Divides one dimension by axes of `left`: the dimension that they divide into most parts; of
 * several, the one of which a device holds the most. Returns these axes; 0: they divide no
 * dimension. */
static dt_mesh_axes divide_once(const dt_mesh *m, const dt_type *t, dt_mesh_axes left,
                                dt_layout *l) {
    dt_mesh_axes most = 0;
    int64_t longest = 0;
    int best = 0;
    for (int d = 0; d < t->rank; d++) {
        int64_t held = t->dim[d] / dt_mesh_parts(m, l->axes[d]);
        dt_mesh_axes fit = that_fit(m, held, left);
        int more = dt_mesh_parts(m, fit) - dt_mesh_parts(m, most);
        if (!fit || more < 0 || (more == 0 && held <= longest)) continue;
        most = fit;
        longest = held;
        best = d;
    }
    l->axes[best] |= most;
    return most;
}

/* Returns the node's layout, divided among the replicas in addition. */
static dt_layout divided(const dt_spmd_work *w, int node) {
    dt_layout l = w->layout[node];
    for (dt_mesh_axes left = w->mesh.replicas, gone = left; left && gone; left &= ~gone)
        gone = divide_once(&w->mesh, &w->g->node[node].type, left, &l);
    return l;
}

static bool is_divided(const dt_spmd_work *w, const dt_variable *v) {
    if (w->o->how.over_replicas == DT_OVER_WEIGHTS) return v->slot || v->trainable;
    return w->o->how.over_replicas == DT_OVER_OPTIMIZER && v->slot;
}

/* ---- slots, and all variables ---- */

/* Gives slot s the layout of its weight, dimension by dimension. */
static void follow(dt_spmd_work *w, int s, const dt_layout *weight) {
    dt_layout *l = &w->layout[w->g->state[s].node];
    int lacks = variable_at(w, s)->lacks - 1;
    for (int d = 0; d < variable_at(w, s)->type.rank; d++)
        l->axes[d] = weight->axes[d + (lacks >= 0 && d >= lacks)];
}

static void list_slots(dt_spmd_work *w) {
    dt_hash_index at = {0};
    w->owner = dt_arena_array(w->arena, int, w->g->n_states + 1);
    for (int s = 0; s < w->g->n_states; s++) dt_hash_index_add(&at, hash_of(variable_at(w, s)));
    for (int s = 0; s < w->g->n_states; s++) {
        int node = w->g->state[s].node;
        w->owner[s] = owner(w, &at, s);
        w->fixed[node] |= w->owner[s] >= 0;
    }
    dt_hash_index_release(&at);
}

/* Gives slots the layouts of their weights. If over_replicas divides slots, they get the layouts
 * that the weights would have if these were divided as well. */
static void follow_weights(dt_spmd_work *w, bool divide) {
    for (int s = 0; s < w->g->n_states; s++)
        if (w->owner[s] >= 0) {
            int of = w->g->state[w->owner[s]].node;
            dt_layout weight = divide ? divided(w, of) : w->layout[of];
            follow(w, s, &weight);
        }
}

void dt_spmd_place_slots(dt_spmd_work *w) {
    list_slots(w);
    follow_weights(w, false);
}

void dt_spmd_place_states(dt_spmd_work *w) {
    bool divide = w->mesh.replicas && w->o->how.over_replicas != DT_OVER_NONE;
    follow_weights(w, divide);
    for (int s = 0; divide && s < w->g->n_states; s++) {
        int node = w->g->state[s].node;
        if (w->owner[s] < 0 && is_divided(w, variable_at(w, s))) w->layout[node] = divided(w, node);
        w->fixed[node] = true;
    }
}

/* ---- variables that the replicas cannot divide evenly ---- */

static bool is_left_whole(const dt_spmd_work *w, int s, dt_mesh_axes *left) {
    *left = w->mesh.replicas & ~dt_layout_axes(&w->layout[w->g->state[s].node]);
    return *left && variable_at(w, s)->type.rank > 0 && is_divided(w, variable_at(w, s));
}

static bool share_a_factor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a > 1;
}

/* Slots that are means over a dimension of their weight do not count: axes that divide that
 * dimension cannot divide such a slot, whether replicas form one axis or several. */
bool dt_spmd_wants_replicas_apart(const dt_spmd_work *w) {
    dt_mesh_axes left;
    for (int s = 0; s < w->g->n_states; s++) {
        if (w->owner[s] >= 0 && variable_at(w, s)->lacks) continue;
        const dt_layout *l = &w->layout[w->g->state[s].node];
        const dt_type *t = &variable_at(w, s)->type;
        for (int d = 0; is_left_whole(w, s, &left) && d < t->rank; d++)
            if (share_a_factor(t->dim[d] / dt_mesh_parts(&w->mesh, l->axes[d]),
                               dt_mesh_parts(&w->mesh, left)))
                return true;
    }
    return false;
}

void dt_spmd_count_undivided(const dt_spmd_work *w, dt_spmd *s) {
    dt_mesh_axes left;
    int64_t most = 0;
    s->undivided.state = -1;
    for (int i = 0; i < w->g->n_states; i++) {
        if (!is_left_whole(w, i, &left)) continue;
        dt_type held =
            dt_layout_type(&variable_at(w, i)->type, &w->layout[w->g->state[i].node], &w->mesh, 1);
        int64_t bytes = dt_type_bytes(&held), more = bytes - bytes / dt_mesh_parts(&w->mesh, left);
        s->undivided.bytes += more;
        s->undivided.n++;
        if (more > most) {
            most = more;
            s->undivided.state = i;
        }
    }
}
