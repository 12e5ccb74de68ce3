/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses how an op is split. Propagation gives its operands layouts. If these disagree, there are
 * several ways to split the op, and the cost of each is estimated: the bytes to convert the inputs
 * to the layouts that it needs, the bytes to convert the result, and each device's share of the
 * work. One way is always possible: every device has all inputs and computes the whole result.
 */
#include <string.h>

#include "pass/spmd/spmd_impl.h"

/* Assumed rates of a device: in the time in which a link moves one byte it computes 200 flops, or
 * reads 16 bytes of its memory. */
static const double flops_per_byte = 200, memory_per_byte = 16;

enum { MOST_WAYS = DT_MAX_IN + 4 };

typedef struct way {
    dt_mesh_axes factor[DT_MAX_FACTORS];
} way;

/* ---- partial sums that an op can pass on ---- */

static bool hands_on(const dt_node *n) {
    bool is_sum = dt_reduce_kind_of(n) == DT_REDUCE_SUM;
    bool is_float = dt_dtype_is_float(n->type.dtype);
    return is_float && is_sum && !n->op->over_devices &&
           (n->op->traits.additive || (n->n_in == 1 && (n->op->linear & 1)));
}

dt_mesh_axes dt_spmd_handed_on(const dt_spmd_work *w, int i) {
    const dt_node *n = &w->g->node[i];
    dt_mesh_axes partial = n->n_in > 0 ? w->made[n->in[0]].layout.partial : 0;
    if (!partial || w->fixed[i] || w->free[i] || !hands_on(n)) return 0;
    for (int k = 0; k < n->n_in; k++) {
        const dt_layout *l = &w->made[n->in[k]].layout;
        if (l->partial != partial || l->kind != DT_REDUCE_SUM || l->on != w->layout[i].on) return 0;
    }
    return partial;
}

/* ---- ways to split an op ---- */

static bool names_rows(const dt_spmd_work *w, int i, int f) {
    const dt_node *n = &w->g->node[i];
    for (int k = -1; k < n->n_in; k++) {
        const dt_type *t = &w->g->node[k < 0 ? i : n->in[k]].type;
        const int8_t *factor = k < 0 ? w->rule[i].out : w->rule[i].in[k];
        if (dt_type_has_batch(t) && (f < 0 || factor[0] == f)) return true;
    }
    return false;
}

/* Keeps rows divided among replicas. If both weights and rows are divided among replicas, the
 * weights are gathered, and never the rows. */
static void leave_rows_alone(const dt_spmd_work *w, int i, way *y) {
    for (int f = 0; f < DT_MAX_FACTORS && names_rows(w, i, -1); f++)
        if ((y->factor[f] & w->mesh.replicas) && !names_rows(w, i, f))
            y->factor[f] &= ~w->mesh.replicas;
}

static void finish(const dt_spmd_work *w, int i, way *y) {
    leave_rows_alone(w, i, y);
    dt_mesh_axes partial = dt_spmd_handed_on(w, i);
    for (int f = 0; f < DT_MAX_FACTORS; f++)
        y->factor[f] = y->factor[f] & partial ? 0 : y->factor[f] & w->only[i];
    dt_spmd_drop_factors(w, i, y->factor);
}

static int list_ways(const dt_spmd_work *w, int i, way *list) {
    const dt_node *node = &w->g->node[i];
    int n = 0;
    memset(list, 0, MOST_WAYS * sizeof *list);
    /* a way that begins with the factors of the result, and adds those of the inputs */
    dt_spmd_add_factors(w, i, -1, &w->layout[i], list[n].factor);
    for (int k = 0; k < node->n_in; k++)
        dt_spmd_add_factors(w, i, k, &w->made[node->in[k]].layout, list[n].factor);
    n++;
    /* ways that begin with the factors of an input, and add those of the result */
    for (int k = 0; k < node->n_in; k++)
        dt_spmd_add_factors(w, i, k, &w->made[node->in[k]].layout, list[n].factor);
    dt_spmd_add_factors(w, i, -1, &w->layout[i], list[n++].factor);
    dt_spmd_add_factors(w, i, -1, &w->layout[i], list[n++].factor);
    for (int k = 0; k < node->n_in; k++)
        dt_spmd_add_factors(w, i, k, &w->made[node->in[k]].layout, list[n++].factor);
    n++;
    for (int y = 0; y < n; y++) finish(w, i, &list[y]);
    return n;
}

/* ---- the costs of splits ---- */

static double work_of(const dt_spmd_work *w, const dt_node *n) {
    dt_view in[DT_MAX_IN];
    dt_cost cost = {0};
    for (int k = 0; k < n->n_in; k++)
        in[k] = (dt_view){.type = dt_type_at(&w->g->node[n->in[k]].type, w->batch)};
    dt_call c = {.node = n, .in = in, .out = {.type = dt_type_at(&n->type, w->batch)}};
    if (n->op->cost) n->op->cost(&c, &cost);
    else cost.bytes = (double)dt_type_bytes(&c.out.type);
    return cost.flops / flops_per_byte + cost.bytes / memory_per_byte;
}

static dt_mesh_axes all_factors(const way *y) {
    dt_mesh_axes all = 0;
    for (int f = 0; f < DT_MAX_FACTORS; f++) all |= y->factor[f];
    return all;
}

static double cost_of(const dt_spmd_work *w, int i, const way *y) {
    const dt_node *n = &w->g->node[i];
    dt_mesh_axes partial = dt_spmd_handed_on(w, i);
    double bytes = work_of(w, n) / dt_mesh_parts(&w->mesh, all_factors(y));
    for (int k = 0; k < n->n_in; k++) {
        dt_layout want = dt_spmd_by_factors(w, i, k, y->factor);
        want.partial = partial;
        want.on = w->layout[i].on;
        bytes +=
            dt_spmd_convert_bytes(w, &w->g->node[n->in[k]].type, &w->made[n->in[k]].layout, &want);
    }
    dt_layout out = dt_spmd_by_factors(w, i, -1, y->factor);
    out.on = w->layout[i].on;
    out.partial = n->op->over_devices ? 0 : dt_spmd_summed(w, i, y->factor);
    return bytes + dt_spmd_convert_bytes(w, &n->type, &out, &w->layout[i]);
}

void dt_spmd_weigh(const dt_spmd_work *w, int i, dt_mesh_axes *factor) {
    way list[MOST_WAYS];
    int n = list_ways(w, i, list), best = 0;
    double least = cost_of(w, i, &list[0]);
    for (int y = 1; y < n; y++) {
        double cost = cost_of(w, i, &list[y]);
        if (cost < least) {
            least = cost;
            best = y;
        }
    }
    memcpy(factor, list[best].factor, sizeof list[best].factor);
}
