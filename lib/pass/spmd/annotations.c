/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns annotations into layouts. `split [1,2,4,1]` over 8 devices cuts dimension 1 in 2 and
 * dimension 2 in 4; the mesh has an axis for every prime factor, here [2,2,2], and the first 2 goes
 * to dimension 1, the others to dimension 2.
 *
 * An annotation with fewer parts than devices does not use all axes. The batch then uses the first
 * axes and other dimensions use the last ones, so that a batch in 2 parts and weights in 2 parts
 * use 4 devices.
 */

#include "pass/spmd/spmd_impl.h"

static const dt_sharding_attr *note_of(const dt_node *n) {
    return n->op->role == DT_ROLE_NOTE ? n->attr : NULL;
}

bool dt_spmd_is_annotated(const dt_graph *g) {
    for (int i = 0; i < g->n_nodes; i++)
        if (note_of(&g->node[i])) return true;
    return false;
}

/* ---- the mesh ---- */

static void add_primes(dt_mesh *m, int64_t parts, int *left) {
    for (int p = 2; p <= parts; p++)
        while (parts % p == 0 && *left % p == 0 && m->n < DT_MAX_AXES) {
            m->size[m->n++] = p;
            parts /= p;
            *left /= p;
        }
}

static bool fits_notes(const dt_graph *g, const dt_spmd_options *o, int micro) {
    int64_t parts = (int64_t)micro * (o->replicas > 1 ? o->replicas : 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_sharding_attr *a = note_of(&g->node[i]);
        for (int d = 0; a && d < a->rank; d++)
            if (g->node[i].type.dim[d] < 0 && o->batch % (a->parts[d] * parts)) return false;
    }
    return o->batch % parts == 0;
}

/* Returns the number of micro-batches that was requested, or fewer: replicas, and the parts into
 * which annotations divide the batch, must divide each micro-batch evenly. */
static int micro_batches(const dt_graph *g, const dt_spmd_options *o) {
    int micro = o->micro;
    while (micro > 1 && !fits_notes(g, o, micro)) micro--;
    return micro;
}

dt_mesh dt_spmd_mesh(const dt_graph *g, const dt_spmd_options *o) {
    dt_mesh m = {0};
    int left = o->devices, micro = micro_batches(g, o);
    if (micro > 1) {
        m.time = 1;
        m.size[m.n++] = micro;
    }
    for (int i = 0, time = m.n; i < g->n_nodes && m.n == time; i++) {
        const dt_sharding_attr *a = note_of(&g->node[i]);
        for (int d = 0; a && a->kind == DT_SHARDING_OTHER && d < a->rank; d++)
            add_primes(&m, a->parts[d], &left);
    }
    add_primes(&m, left, &left);
    return m;
}

/* ---- layouts ---- */

/* Returns free axes of the mesh whose sizes multiply to `parts`, and adds them to *taken: the first
 * free ones or, if from_last is set, the last. 0: no free axes do. */
static dt_mesh_axes take_axes(const dt_mesh *m, int64_t parts, bool from_last,
                              dt_mesh_axes *taken) {
    dt_mesh_axes axes = 0;
    for (int i = 0; i < m->n; i++) {
        int a = from_last ? m->n - 1 - i : i;
        if (!(*taken >> a & 1) && parts % m->size[a] == 0) {
            axes |= (dt_mesh_axes)1 << a;
            parts /= m->size[a];
        }
    }
    if (parts != 1) return 0;
    *taken |= axes;
    return axes;
}

static bool is_for_all(const dt_spmd_work *w, const dt_sharding_attr *a) {
    int64_t parts = 1;
    for (int d = 0; d < a->rank; d++) parts *= a->parts[d];
    return parts == dt_mesh_logical(&w->mesh);
}

static void read_parts(const dt_spmd_work *w, const dt_node *n, const dt_sharding_attr *a,
                       dt_layout *l) {
    dt_mesh_axes taken = w->mesh.replicas | w->mesh.time;
    bool all = is_for_all(w, a);
    for (int d = 0; d < a->rank; d++)
        if (all || n->type.dim[d] < 0) l->axes[d] = take_axes(&w->mesh, a->parts[d], false, &taken);
    for (int d = a->rank - 1; d >= 0; d--)
        if (!all && n->type.dim[d] >= 0)
            l->axes[d] = take_axes(&w->mesh, a->parts[d], true, &taken);
}

static dt_layout read_note(dt_spmd_work *w, const dt_node *n, const dt_sharding_attr *a, int on) {
    dt_layout l = {.on = on};
    if (a->kind == DT_SHARDING_OTHER) read_parts(w, n, a, &l);
    for (int d = 0; d < n->type.rank; d++) {
        if (!dt_spmd_divides(w, &n->type, d, l.axes[d])) l.axes[d] = 0;
        w->batch_axes |= n->type.dim[d] < 0 ? l.axes[d] : 0;
    }
    return l;
}

void dt_spmd_read_notes(dt_spmd_work *w) {
    for (int i = 0; i < w->g->n_nodes; i++) {
        const dt_node *n = &w->g->node[i];
        const dt_sharding_attr *a = note_of(n);
        if (!a) continue;
        w->layout[i] = read_note(w, n, a, w->layout[i].on);
        w->fixed[i] = true;
        const dt_node *of = &w->g->node[n->in[0]];
        /* an annotation of kind MAXIMAL places the value on one device; emit.c handles it */
        bool is_place = a->kind == DT_SHARDING_MAXIMAL;
        if ((of->op->role == DT_ROLE_STATE || of->op->role == DT_ROLE_ARGUMENT) && !is_place) {
            /* the annotation also holds for the variable or argument that is annotated */
            w->layout[n->in[0]] = w->layout[i];
            w->fixed[n->in[0]] = true;
        }
    }
}
