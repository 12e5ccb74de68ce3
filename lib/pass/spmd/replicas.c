/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds replicas to the mesh as its innermost axes, so that the parts of logical devices are divided
 * further. Rows are divided along them, and sums over rows become sums over replicas: data
 * parallelism is a split of the batch.
 *
 * Usually replicas form one axis. But if a variable should be divided and, say, 192 replicas cannot
 * divide it evenly, each axis of the slice that replicas occupy becomes several axes, one for each
 * of its prime factors, the largest one outermost. 192 replicas on 4 x 4 x 12 chips are [2, 2, 2,
 * 2, 3, 2, 2], so that 4,096 rows are divided into 64 parts over a block of 4 x 4 x 4 neighbours,
 * and three such blocks have copies. Weights are usually divided over a part of a slice and copied
 * over the rest in this way: each group is a block of the torus and shares no links with other
 * groups.
 */
#include "pass/spmd/spmd_impl.h"

const char *const dt_over_replicas_names[] = {"none", "optimizer", "weights", NULL};

static void add_axis(dt_mesh *m, int size) {
    if (m->n == DT_MAX_AXES)
        return; /* an error: dt_spmd_create then reports that the mesh has too many axes */
    m->replicas |= (dt_mesh_axes)1 << m->n;
    m->size[m->n++] = size;
}

static int largest_prime(int n) {
    for (int p = 2; p <= n / p;)
        if (n % p == 0) n /= p;
        else p++;
    return n;
}

static void add_factors(dt_mesh *m, int n) {
    for (int left = n; left > 1;) {
        const int size = largest_prime(left);
        add_axis(m, size);
        left /= size;
    }
}

void dt_spmd_add_replicas(dt_mesh *m, const dt_spmd_options *o, bool apart) {
    if (!apart && o->replicas > 1) add_axis(m, o->replicas);
    else if (!o->grid) add_factors(m, o->replicas);
    else
        for (int k = 0; k < 4; k++) add_factors(m, o->grid[k]);
}

static void deal(dt_spmd_work *w, int node) {
    const dt_type *t = &w->g->node[node].type;
    if (t->rank == 0 || !dt_spmd_divides(w, t, 0, w->layout[node].axes[0] | w->mesh.replicas))
        return;
    w->layout[node].axes[0] |= w->mesh.replicas;
    w->batch_axes |= t->dim[0] < 0 ? w->layout[node].axes[0] : 0;
}

void dt_spmd_deal_rows(dt_spmd_work *w) {
    if (!w->mesh.replicas) return;
    for (int i = 0; i < w->g->n_args; i++) {
        int node = w->g->arg[i].node;
        bool has_rows = dt_type_has_batch(&w->g->node[node].type);
        if (has_rows || (w->o->arg && w->o->arg[i] == DT_STACKED)) deal(w, node);
    }
    for (int i = 0; i < w->g->n_nodes; i++)
        if (w->fixed[i] && w->g->node[i].op->role == DT_ROLE_NOTE &&
            dt_type_has_batch(&w->g->node[i].type))
            deal(w, i);
}
