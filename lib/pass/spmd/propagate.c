/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Propagation: from annotated values to all others, forwards and backwards, until nothing changes.
 *
 * An op's rule names factors. If a factor is divided in one operand, it is divided in the others,
 * too. Layouts that were given are never changed, inferred ones are only extended, and nodes are
 * visited in order, so the result is always the same. A dimension is divided only into equal parts.
 * If two operands would cut different factors by one axis, the first operand decides; choose.c
 * weighs the cost when the op is emitted.
 *
 * A variable and its new value have the same layout. So updates come first: annotations of a weight
 * reach its gradient through the optimizer before activations influence its layout. Values that
 * cost nothing to compute (constants, a repeated rate) are computed for each reader in its layout,
 * and pass no layout from one reader to another.
 *
 * Each layout has the time of its last change, and a node is visited again only if one of its
 * layouts has changed since: most layouts are found in the first round, and the rounds after it
 * cost next to nothing.
 */
#include "pass/spmd/spmd_impl.h"

static const dt_node *node_at(const dt_spmd_work *w, int i) { return &w->g->node[i]; }

static int operand(const dt_spmd_work *w, int i, int k) { return k < 0 ? i : node_at(w, i)->in[k]; }

static int factor_of(const dt_spmd_work *w, int i, int k, int d) {
    return k < 0 ? w->rule[i].out[d] : w->rule[i].in[k][d];
}

bool dt_spmd_divides(const dt_spmd_work *w, const dt_type *t, int d, dt_mesh_axes axes) {
    if (t->dim[d] >= 0) return t->dim[d] % dt_mesh_parts(&w->mesh, axes) == 0;
    if (w->parts && (axes & ~w->batch_axes))
        /* the number of parts of the batch is fixed, so that further axes cannot divide it */
        return false;
    return w->batch % dt_mesh_parts(&w->mesh, axes | w->batch_axes) == 0;
}

/* ---- factors of one op ---- */

static void merge(dt_mesh_axes *factor, int f, dt_mesh_axes axes) {
    dt_mesh_axes others = 0;
    if (factor[f] == axes) return;
    for (int i = 0; i < DT_MAX_FACTORS; i++) others |= i == f ? 0 : factor[i];
    if (!(axes & others) && (factor[f] & axes) == factor[f]) factor[f] = axes;
}

void dt_spmd_add_factors(const dt_spmd_work *w, int i, int k, const dt_layout *layout,
                         dt_mesh_axes *factor) {
    for (int d = 0; d < node_at(w, operand(w, i, k))->type.rank; d++) {
        int f = factor_of(w, i, k, d);
        if (f >= 0 && layout->axes[d]) merge(factor, f, layout->axes[d]);
    }
}

static bool is_shared(const dt_spmd_work *w, int i, int k, int d) {
    return (k < 0 ? w->rule[i].shared_out : w->rule[i].shared_in[k]) >> d & 1;
}

/* Returns as many of these axes, from the first on, as divide dimension d evenly. */
static dt_mesh_axes leading_axes(const dt_spmd_work *w, const dt_type *t, int d,
                                 dt_mesh_axes axes) {
    dt_mesh_axes lead = 0;
    for (int a = 0; a < DT_MAX_AXES; a++) {
        const dt_mesh_axes axis = axes & (dt_mesh_axes)1 << a;
        if (axis && !dt_spmd_divides(w, t, d, lead | axis)) break;
        lead |= axis;
    }
    return lead;
}

/* Returns the axes that divide dimension d of operand k if `axes` divide its factor. */
static dt_mesh_axes axes_of(const dt_spmd_work *w, int i, int k, int d, dt_mesh_axes axes) {
    return is_shared(w, i, k, d) ? leading_axes(w, &node_at(w, operand(w, i, k))->type, d, axes)
                                 : axes;
}

static bool fits(const dt_spmd_work *w, int i, int k, const dt_mesh_axes *factor, int f) {
    const dt_type *t = &node_at(w, operand(w, i, k))->type;
    for (int d = 0; d < t->rank; d++) {
        if (factor_of(w, i, k, d) != f) continue;
        const dt_mesh_axes axes = axes_of(w, i, k, d, factor[f]);
        if (!dt_spmd_divides(w, t, d, axes) ||
            (axes != factor[f] && t->dim[d] != dt_mesh_parts(&w->mesh, axes)))
            return false;
    }
    return true;
}

static bool can(const dt_spmd_work *w, int i, const dt_mesh_axes *factor, int f) {
    const dt_partition_row *row = node_at(w, i)->op->over_devices;
    dt_partition_call c = {
        .node = node_at(w, i), .mesh = &w->mesh, .batch = w->batch, .parts = w->parts};
    if (!row || !row->can) return true;
    for (int k = 0; k < node_at(w, i)->n_in; k++) c.type[k] = node_at(w, operand(w, i, k))->type;
    c.factor[f] = factor[f];
    return row->can(&c);
}

static bool is_good(const dt_spmd_work *w, int i, const dt_mesh_axes *factor, int f) {
    for (int k = -1; k < node_at(w, i)->n_in; k++)
        if (!fits(w, i, k, factor, f)) return false;
    return can(w, i, factor, f);
}

void dt_spmd_drop_factors(const dt_spmd_work *w, int i, dt_mesh_axes *factor) {
    for (int f = 0; f < DT_MAX_FACTORS; f++)
        for (int a = DT_MAX_AXES - 1; factor[f] && !is_good(w, i, factor, f); a--)
            factor[f] &= ~((dt_mesh_axes)1 << a);
}

dt_layout dt_spmd_by_factors(const dt_spmd_work *w, int i, int k, const dt_mesh_axes *factor) {
    dt_layout l = {0};
    for (int d = 0; d < node_at(w, operand(w, i, k))->type.rank; d++) {
        int f = factor_of(w, i, k, d);
        l.axes[d] = f >= 0 ? axes_of(w, i, k, d, factor[f]) : 0;
    }
    return l;
}

dt_mesh_axes dt_spmd_summed(const dt_spmd_work *w, int i, const dt_mesh_axes *factor) {
    dt_mesh_axes in = 0;
    dt_layout out = dt_spmd_by_factors(w, i, -1, factor);
    for (int k = 0; k < node_at(w, i)->n_in; k++) {
        dt_layout l = dt_spmd_by_factors(w, i, k, factor);
        in |= dt_layout_axes(&l);
    }
    return in & ~dt_layout_axes(&out);
}

/* Finds the factors that all operands of node i agree on. Annotated operands decide first, then
 * inputs, then the result. */
static void agree(const dt_spmd_work *w, int i, dt_mesh_axes *factor) {
    int n_in = node_at(w, i)->n_in;
    if (w->fixed[i]) dt_spmd_add_factors(w, i, -1, &w->layout[i], factor);
    for (int annotated = 1; annotated >= 0; annotated--)
        for (int k = 0; k < n_in; k++)
            if (w->fixed[operand(w, i, k)] == annotated)
                dt_spmd_add_factors(w, i, k, &w->layout[operand(w, i, k)], factor);
    if (!w->fixed[i]) dt_spmd_add_factors(w, i, -1, &w->layout[i], factor);
    dt_spmd_drop_factors(w, i, factor);
}

/* ---- propagation ---- */

static dt_mesh_axes other_axes(const dt_layout *l, int d) {
    dt_layout rest = *l;
    rest.axes[d] = 0;
    return dt_layout_axes(&rest);
}

/* Extends the layout of value v by the axes of `by`. Returns whether the layout has changed. */
static bool grow(dt_spmd_work *w, int v, const dt_layout *by) {
    bool grew = false;
    const dt_type *t = &node_at(w, v)->type;
    for (int d = 0; !w->fixed[v] && !w->free[v] && d < t->rank; d++) {
        dt_mesh_axes now = w->layout[v].axes[d], next = by->axes[d] & w->only[v];
        if (next == now || (now & ~next) || (next & other_axes(&w->layout[v], d)) ||
            !dt_spmd_divides(w, t, d, next))
            continue;
        w->layout[v].axes[d] = next;
        w->changed[v] = ++w->now;
        if (t->dim[d] < 0 && (next & ~w->batch_axes)) {
            w->batch_axes |= next;
            w->batch_changed = w->now;
        }
        grew = true;
    }
    return grew;
}

/* Whether visiting node i again would change nothing, because nothing that it depends on has
 * changed since the last visit. */
static bool is_settled(const dt_spmd_work *w, int i, bool forwards) {
    unsigned last = w->changed[i] > w->batch_changed ? w->changed[i] : w->batch_changed;
    for (int k = 0; k < node_at(w, i)->n_in; k++)
        last = w->changed[operand(w, i, k)] > last ? w->changed[operand(w, i, k)] : last;
    return last <= w->visited[forwards][i];
}

/* Whether the inputs and the result of node i are all undivided, so that it propagates nothing. */
static bool is_whole(const dt_spmd_work *w, int i) {
    dt_mesh_axes axes = 0;
    for (int k = -1; k < node_at(w, i)->n_in; k++)
        axes |= dt_layout_axes(&w->layout[operand(w, i, k)]);
    return !axes;
}

static bool visit(dt_spmd_work *w, int i, bool forwards) {
    dt_mesh_axes factor[DT_MAX_FACTORS] = {0};
    bool grew = false;
    if (is_settled(w, i, forwards)) return false;
    w->visited[forwards][i] = w->now;
    if (is_whole(w, i)) return false;
    agree(w, i, factor);
    for (int k = forwards ? -1 : 0; k < (forwards ? 0 : node_at(w, i)->n_in); k++) {
        dt_layout l = dt_spmd_by_factors(w, i, k, factor);
        grew |= grow(w, operand(w, i, k), &l);
    }
    return grew;
}

static bool tie_states(dt_spmd_work *w) {
    bool grew = false;
    for (int s = 0; s < w->g->n_states; s++) {
        int v = w->g->state[s].node, u = w->g->state[s].update;
        if (u < 0) continue;
        grew |= grow(w, u, &w->layout[v]);
        grew |= grow(w, v, &w->layout[u]);
    }
    return grew;
}

static void cut_time(dt_spmd_work *w, int i) {
    const dt_type *t = &node_at(w, i)->type;
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] < 0 && dt_spmd_divides(w, t, d, w->layout[i].axes[d] | w->mesh.time)) {
            w->layout[i].axes[d] |= w->mesh.time;
            w->batch_axes |= w->mesh.time;
        }
}

void dt_spmd_cut_time(dt_spmd_work *w) {
    for (int i = 0; w->mesh.time && i < w->g->n_nodes; i++)
        if (w->fixed[i] || node_at(w, i)->op->role == DT_ROLE_ARGUMENT) cut_time(w, i);
}

/* Marks the nodes of variables to be visited again, because their layouts may have been set or
 * fixed since the last visit. */
static void look_at_states_again(dt_spmd_work *w) {
    w->now++;
    for (int s = 0; s < w->g->n_states; s++) w->changed[w->g->state[s].node] = w->now;
}

static void propagate(dt_spmd_work *w, bool updates) {
    bool grew = true;
    look_at_states_again(w);
    while (grew) { /* The loop ends, because a layout is only ever extended. */
        grew = tie_states(w);
        for (int i = 0; i < w->g->n_nodes; i++)
            grew |= (!updates || dt_spmd_is_optimizers(node_at(w, i))) && visit(w, i, true);
        for (int i = w->g->n_nodes - 1; i >= 0; i--)
            grew |= (!updates || dt_spmd_is_optimizers(node_at(w, i))) && visit(w, i, false);
    }
}

void dt_spmd_propagate_updates(dt_spmd_work *w) { propagate(w, true); }

void dt_spmd_propagate(dt_spmd_work *w) { propagate(w, false); }
