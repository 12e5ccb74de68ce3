/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that are computed again by each reader instead of being stored, as a TPU's compiler
 * duplicates cheap producers into the kernels that use them. These are element-wise values that
 * cost next to nothing to compute from one array. Such a value counts as another name for that
 * array. So for a convolution with normalization and activation, only the result of the convolution
 * is in memory, and the gradient computes the rest again.
 *
 * All other inputs (means, scales) must be small compared to the value, and the array must not be
 * larger than the value, as the random numbers behind a mask are.
 *
 * A sigmoid (3 operations) is such a value. For silu(g) * u, the arrays g, u and the product are
 * kept, and sigmoid(g) and silu(g) are computed again. libtpu 0.0.42.1 does the same if blocks are
 * not in a loop: six gated blocks need 6.1 GiB of temporaries, which is what a plan says
 * (docs/simulator.md). With all five arrays a plan would say 9.2 GiB.
 *
 * With `model.scan_layers` the blocks of a Repeat are two loops, of which the second reads what the
 * first has stored. No compiler recomputes values across loops, so there the values that the
 * backward pass reads are stored.
 */
#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "cost/cost_impl.h"
#include "op/across.h"
#include "op/op.h"

enum { FEW_OPERATIONS = 4, SMALL = 8 };

typedef struct looking {
    const dt_priced_program *r;
    const dt_graph *g;
    /* made_of: [nodes] the value from which the node is recomputed, -1: it is stored; readers:
     * [nodes] the number of the node's readers, also by other names; if there are several, at least
     * 2 are counted */
    int *made_of, *readers;
    /* [nodes] whether the node must be stored: it is a result or an update, or a kernel reads it
     * that cannot recompute it */
    bool *kept;
    const bool *forward; /* [nodes] whether the node belongs to the forward pass */
    bool *read_back;     /* [nodes] whether the backward pass reads the node */
    const bool *looped;  /* [nodes] whether a block of a loop over blocks computes the node */
    /* [nodes] whether the node is a sum over devices, or is computed from one and has at most its
     * bytes */
    bool *summed;
    /* whether values that wait for a sum over devices may be recomputed, too: for what lies in
     * memory, but not for the clock */
    bool in_memory;
} looking;

static double bytes_of(const looking *l, int i) {
    dt_type t = dt_priced_type(l->r, i);
    return (double)dt_type_bytes(&t);
}

static bool is_cheap(const looking *l, int i) {
    const dt_node *n = &l->g->node[i];
    dt_type t = dt_priced_type(l->r, i);
    return dt_is_elementwise(n->op) && n->n_in > 0 && t.rank > 1 &&
           dt_priced_cost(l->r, i).vector <= FEW_OPERATIONS * (double)dt_type_elements(&t);
}

/* Returns the only large input of node i, one with more than 1 / SMALL of the node's own bytes. -1:
 * there are several or none, or it has more bytes than the node. */
static int array_behind(const looking *l, int i) {
    double own = bytes_of(l, i);
    int large = -1, source = -1;
    for (int k = 0; k < l->g->node[i].n_in; k++) {
        int in = l->g->node[i].in[k], from = dt_priced_source(l->r, in);
        double bytes = dt_priced_lies_there(l->r, from) ? bytes_of(l, from) : 0;
        if (bytes * SMALL <= own || from == source) continue;
        if (large >= 0 || bytes > own) return -1;
        large = in;
        source = from;
    }
    return large;
}

bool *dt_priced_looped(const dt_priced_program *r, dt_arena *arena) {
    const dt_model_spec *m = r->program->how.scanned;
    const dt_graph *g = r->program->local;
    bool *looped = dt_arena_array(arena, bool, g->n_nodes + 1);
    dt_hash_index at = {0};
    for (int i = 0; m && i < m->n_layers; i++)
        dt_hash_index_add(&at, dt_hash_bytes(0, m->layer[i].name, strlen(m->layer[i].name)));
    for (int i = 0; m && i < g->n_nodes; i++) {
        const char *path = g->node[i].path;
        const size_t length = strcspn(path, "/");
        const uint64_t key = dt_hash_bytes(0, path, length);
        for (int k = dt_hash_index_first(&at, key); k >= 0; k = dt_hash_index_next(&at, k))
            if (strncmp(m->layer[k].name, path, length) == 0 && !m->layer[k].name[length])
                looped[i] = m->layer[k].turn > 0;
    }
    dt_hash_index_release(&at);
    return looped;
}

/* Whether the value is cheap, has at least two readers, and all of them can compute it again. They
 * then read the value's inputs instead: x for (x - mean) * scale + bias. */
static bool may_be_made(const looking *l, int i) {
    return !l->kept[i] && l->readers[i] > 1 && dt_priced_source(l->r, i) == i && is_cheap(l, i);
}

static void find_sums(looking *l) {
    for (int i = 0; i < l->g->n_nodes; i++) {
        const dt_node *n = &l->g->node[i];
        l->summed[i] = dt_across_sums(n);
        for (int k = 0; k < n->n_in; k++) {
            const int from = dt_priced_source(l->r, n->in[k]);
            l->summed[i] |= l->summed[from] && bytes_of(l, i) <= bytes_of(l, from);
        }
    }
}

/* Whether a layer's value needs a sum over devices, as a synchronized normalization does. Readers
 * must wait for that sum, which the clock sees only at a value of its own, so they do not recompute
 * the value. Always false with in_memory, because libtpu computes such values again. */
static bool waits_for_sum(const looking *l, int i) {
    const dt_node *n = &l->g->node[i];
    bool waits = false;
    for (int k = 0; k < n->n_in; k++) {
        const int from = dt_priced_source(l->r, n->in[k]);
        waits |= l->summed[from] && bytes_of(l, from) * SMALL <= bytes_of(l, i);
    }
    return waits && !l->in_memory && !dt_is_of_optimizer(n);
}

static void look_at_readers(looking *l) {
    for (int i = 0; i < l->g->n_results; i++) l->kept[l->g->result[i].node] = true;
    for (int i = 0; i < l->g->n_states; i++)
        if (l->g->state[i].update >= 0) l->kept[l->g->state[i].update] = true;
    for (int i = l->g->n_nodes - 1; i >= 0; i--) {
        const dt_node *n = &l->g->node[i];
        const bool takes = dt_launch_takes_producers(l->r, i),
                   name = dt_priced_source(l->r, i) != i ||
                          (may_be_made(l, i) && !waits_for_sum(l, i));
        for (int k = 0; k < n->n_in; k++) {
            if (l->readers[n->in[k]] <= 1) l->readers[n->in[k]] += name ? l->readers[i] : 1;
            l->kept[n->in[k]] |= name ? l->kept[i] : !takes;
            l->read_back[n->in[k]] |= name ? l->read_back[i] : !l->forward[i];
        }
    }
}

static bool crosses_loops(const looking *l, int i) {
    return l->looped[i] && l->forward[i] && l->read_back[i];
}

int *dt_duplicated_values(dt_priced_program *r, bool in_memory, dt_arena *arena) {
    int n = r->program->local->n_nodes + 1;
    looking l = {.r = r,
                 .g = r->program->local,
                 .made_of = dt_arena_array(arena, int, n),
                 .readers = dt_arena_array(arena, int, n),
                 .kept = dt_arena_array(arena, bool, n),
                 .forward = dt_priced_forward(r, arena),
                 .read_back = dt_arena_array(arena, bool, n),
                 .looped = dt_priced_looped(r, arena),
                 .summed = dt_arena_array(arena, bool, n),
                 .in_memory = in_memory};
    for (int i = 0; i < n; i++) l.made_of[i] = -1;
    find_sums(&l);
    look_at_readers(&l);
    r->made_of = l.made_of;
    for (int i = 0; i < l.g->n_nodes; i++)
        if (may_be_made(&l, i) && !crosses_loops(&l, i)) l.made_of[i] = array_behind(&l, i);
    return l.made_of;
}
