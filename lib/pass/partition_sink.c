/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves values to a later segment than the first possible one, if it is better to compute them
 * there:
 *
 *     cheap values      are computed with their first reader, so that they are fused with it and
 *                       need not be stored
 *     derived values    are computed, element by element, from one other value and from numbers or
 *                       values that are known from the start. They are computed with their first
 *                       reader, too. If an update needs a number of all gradients, such as whether
 *                       they are finite, the whole update is then computed after that number, and
 *                       no part of it is computed before and stored
 *     large gradients   of kernels, larger than the activations that they are computed from, are
 *                       computed with their first reader, the update, so that they are still in
 *                       the cache. An update can be later than the gradient because products by
 *                       columns read the old kernel
 *     whole gradients   of kernels, each a single piece, are moved with their updates to the next
 *                       segment, if that one has pieces for all threads and their own has not.
 *                       Before, one thread works in segment 4 while the others wait:
 *
 *         segment 4   1 piece      sums of rows, dK = gradient of a kernel, K - rate * dK
 *         segment 5   16 pieces    dx, sums
 *
 *                       After:
 *
 *         segment 4   1 piece      sums of rows
 *         segment 5   16 pieces    dx, sums;    1 piece    dK, K - rate * dK
 */
#include "op/shapes.h"
#include "base/size.h"
#include "op/workers.h"
#include "pass/partition_impl.h"

/* ---- cheap values ---- */

/* Whether a value is computed with its first reader. Such values are broadcasts, which are fused
 * with the reader; comparisons, whose inputs are mostly kept for the backward pass anyway; and
 * values that an optimizer computes from variables and constants alone (beta * m), which would
 * otherwise be stored until the gradient is known. Repeated numbers of the preamble, such as a
 * rate, are excluded: many gradients use them, and all of these would become one group. */
static bool can_wait(const dt_cutter *c, int i) {
    const dt_op *op = c->g->node[i].op;
    if (op->role == DT_ROLE_REPEAT) return !c->preamble[c->g->node[i].in[0]];
    return !c->preamble[i] && (op == &dt_op_compare || (c->fixed[i] && dt_is_elementwise(op)));
}

static bool is_fixed(const dt_cutter *c, int i) {
    const dt_node *n = &c->g->node[i];
    bool fixed = n->n_in > 0 ? n->op->role != DT_ROLE_SIZE
                             : n->op->role == DT_ROLE_STATE || n->op->role == DT_ROLE_CONSTANT;
    for (int k = 0; k < n->n_in; k++)
        fixed = fixed && (c->fixed[n->in[k]] || c->preamble[n->in[k]]);
    return fixed;
}

/* Returns the value from which alone node i is computed, element by element, apart from fixed
 * values and numbers; i: there is no such value. To store it costs no more than to store node i. */
static int source_of(const dt_cutter *c, const int *source, int i) {
    const dt_node *n = &c->g->node[i];
    int from = -1;

    if (!dt_is_elementwise(n->op) || dt_type_has_batch(&n->type)) return i;
    for (int k = 0; k < n->n_in; k++) {
        const int in = n->in[k];
        if (c->fixed[in] || c->preamble[in] || dt_repeats_number(c->g, in)) continue;
        if (from >= 0 && source[in] != from) return i;
        from = source[in];
    }
    return from < 0 ? i : from;
}

/* Returns [nodes] the source of each node (source_of). */
static const int *find_sources(const dt_cutter *c, dt_arena *scratch) {
    int *source = dt_arena_array(scratch, int, c->g->n_nodes + 1);
    for (int i = 0; i < c->g->n_nodes; i++) source[i] = source_of(c, source, i);
    return source;
}

/* Returns the last segment in which node i can read its inputs before they are overwritten; the
 * number of segments if none is overwritten. */
static int all_readable_until(const dt_cutter *c, int i) {
    int last = c->p->n_segments;
    for (int k = 0; k < c->g->node[i].n_in; k++) {
        int in = dt_readable_until(c, i, k);
        last = in < last ? in : last;
    }
    return last;
}

static void note_segment(int *first, int node, int segment) {
    if (segment < first[node]) first[node] = segment;
}

/* For each input of node i, and of the nodes that it absorbs: records the segment in which node i
 * needs it, if no reader needs it earlier. */
static void note_inputs(const dt_cutter *c, int i, int *first) {
    const dt_node *n = &c->g->node[i];
    const int segment = c->p->piece[i].segment;

    for (int k = 0; k < n->n_in; k++)
        note_segment(first, n->in[k], segment - (dt_is_aligned(c, i, k) ? 0 : 1));
    if (!dt_absorbs(c, i)) return;
    n = &c->g->node[n->in[0]];
    for (int k = 0; k < n->n_in; k++)
        note_segment(first, n->in[k], segment - (dt_in_one_task(c, i, n->in[k]) ? 0 : 1));
}

/* ---- whole gradients ---- */

bool dt_is_kernel_gradient(const dt_graph *g, const dt_node *n) {
    const dt_node *of = dt_reduce_of(n) ? &g->node[n->in[0]] : n;
    return of->op->multiplied && !dt_type_has_batch(&of->type);
}

/* Whether workers exchange values. Then gradients do not wait, so that the first of them are sent
 * while others are computed. */
static bool has_exchanges(const dt_cutter *c) {
    for (int i = 0; i < c->g->n_nodes; i++)
        if (dt_is_exchange(&c->g->node[i])) return true;
    return false;
}

/* Whether a kernel's gradient has more elements than its inputs, which must be kept if it waits. */
static bool is_large_gradient(const dt_cutter *c, int i) {
    const dt_node *n = &c->g->node[i];
    double kept = 0;
    for (int k = 0; k < n->n_in; k++) kept += dt_elements_of(c, n->in[k]);
    return dt_is_kernel_gradient(c->g, n) && kept < dt_elements_of(c, i);
}

/* Returns [segments], whether a segment has divided nodes that stay there, so that all threads have
 * work in it. */
static bool *find_shared(const dt_cutter *c, dt_arena *scratch) {
    bool *shared = dt_arena_array(scratch, bool, c->p->n_segments + 2);
    for (int i = 0; i < c->g->n_nodes; i++)
        if (c->p->piece[i].segment >= 0 && !can_wait(c, i))
            shared[c->p->piece[i].segment] |= c->p->piece[i].units > 1;
    return shared;
}

/* Returns [nodes], whether a node may move to the next segment: gradients of kernels, and undivided
 * nodes of the same segment that depend on one, if all threads have work in the next segment but
 * not in this one. */
static bool *find_whole(const dt_cutter *c, dt_arena *scratch) {
    const bool *shared = find_shared(c, scratch);
    bool *whole = dt_arena_array(scratch, bool, c->g->n_nodes + 1);

    for (int i = 0; i < c->g->n_nodes; i++) {
        const dt_node *n = &c->g->node[i];
        const int segment = c->p->piece[i].segment;
        if (segment < 0 || c->p->piece[i].units > 1 || shared[segment] || !shared[segment + 1] ||
            dt_is_exchange(n))
            continue;
        whole[i] = dt_is_kernel_gradient(c->g, n);
        for (int k = 0; k < n->n_in; k++)
            whole[i] |= whole[n->in[k]] && c->p->piece[n->in[k]].segment == segment;
    }
    return whole;
}

/* ---- the walk from the last node to the first ---- */

/* Returns the last segment in which node i can be computed. `first` is the first segment in which
 * one of its readers needs it. */
static int latest(const dt_cutter *c, int i, int first) {
    const int gone = all_readable_until(c, i);
    return gone < first ? gone : first;
}

void dt_sink_to_readers(dt_cutter *c, dt_arena *scratch) {
    const int none = c->p->n_segments;
    int *first = dt_arena_array(scratch, int, c->g->n_nodes + 1);

    for (int i = 0; i < c->g->n_nodes; i++) {
        first[i] = none;
        c->fixed[i] = is_fixed(c, i);
    }
    const bool *whole = find_whole(c, scratch), waits = !has_exchanges(c);
    const int *source = find_sources(c, scratch);
    for (int i = c->g->n_nodes - 1; i >= 0; i--) {
        dt_node_division *piece = &c->p->piece[i];
        if (piece->segment < 0) continue;
        if ((can_wait(c, i) || source[i] != i || (waits && is_large_gradient(c, i))) &&
            first[i] < none)
            piece->segment = dt_max(piece->segment, latest(c, i, first[i]));
        else if (whole[i] && latest(c, i, first[i]) > piece->segment) piece->segment++;
        note_inputs(c, i, first);
    }
}
