/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena: every stored value gets an offset, such that values which are used in the same segment
 * do not overlap. Larger values are placed first, each at the lowest free offset. Lifetimes are
 * counted in segments, since the pieces of a segment run in any order.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/exchange.h"
#include "base/size.h"
#include "exec/exec_impl.h"

static void find_homes(dt_exec *x) {
    const dt_graph *g = x->g;

    for (int i = 0; i < g->n_nodes; i++) {
        dt_value_slot *s = &x->slot[i];
        s->owner = i;
        s->home = s->stored ? DT_HOME_ARENA : DT_HOME_NONE;
        s->bytes = dt_aligned(dt_type_bytes(&x->type[i]));
    }
    for (int i = 0; i < g->n_args; i++)
        x->slot[g->arg[i].node] =
            (dt_value_slot){.home = DT_HOME_ARG, .index = i, .owner = g->arg[i].node};
    for (int i = 0; i < g->n_states; i++) {
        const dt_state *s = &g->state[i];
        x->slot[s->node] = (dt_value_slot){.home = DT_HOME_VARIABLE, .index = i, .owner = s->node};
        if (s->update >= 0 && !x->p->copy_back[i])
            x->slot[s->update] = (dt_value_slot){
                .home = DT_HOME_VARIABLE, .index = i, .owner = s->node, .stored = true};
    }
    for (int i = 0; i < g->n_nodes; i++)
        if (dt_is_renamed(x, i) && x->slot[i].home == DT_HOME_ARENA)
            x->slot[i].owner = x->slot[g->node[i].in[0]].owner;
}

/* Records that `node` is a result. If it is a variable that the step overwrites, its old value must
 * be kept. */
static void keep_old_value(dt_exec *x, int node) {
    int source = dt_named_by(x->g, node);
    dt_value_slot *s = &x->slot[source];

    if (x->g->node[source].op->role != DT_ROLE_STATE || x->g->state[s->index].update < 0) return;
    s->kept = true;
    s->first = 0;
    s->last = x->n_segments;
    s->bytes = dt_aligned(dt_type_bytes(&x->type[source]));
}

static void keep_old_values(dt_exec *x) {
    for (int i = 0; i < x->g->n_results; i++) keep_old_value(x, x->g->result[i].node);
    for (int i = 0; i < x->g->n_states; i++)
        if (x->g->state[i].update >= 0 && x->p->copy_back[i])
            keep_old_value(x, x->g->state[i].update);
}

static void read_until(dt_exec *x, int node, int segment) {
    dt_value_slot *owner = &x->slot[x->slot[node].owner];
    if (segment > owner->last) owner->last = segment;
}

/* Records the segment in which a node's inputs are read: its own, or that of the reader which
 * absorbs it. */
static void note_reading(dt_exec *x, int node, int segment) {
    for (int k = 0; k < x->g->node[node].n_in; k++) {
        int in = x->g->node[node].in[k];
        read_until(x, in, segment);
        if (x->p->piece[in].absorbed) note_reading(x, in, segment);
    }
}

static void find_lifetimes(dt_exec *x) {
    const dt_graph *g = x->g;

    for (int i = 0; i < g->n_nodes; i++) {
        int segment = x->p->piece[i].segment;
        dt_value_slot *s = &x->slot[i];
        if (s->owner == i) s->first = s->last = segment < 0 ? 0 : segment;
        if (g->node[i].op->role == DT_ROLE_CONSTANT)
            /* a constant is written once, before the first run, so its memory is used to the end */
            s->last = x->n_segments;
    }
    for (int i = 0; i < g->n_nodes; i++)
        if (x->p->piece[i].segment >= 0) note_reading(x, i, x->p->piece[i].segment);
    for (int i = 0; i < x->n_groups; i++)
        for (int k = 0; k < x->group[i].n_steps; k++)
            if (x->group[i].step[k].kernel == &dt_kernel_fused)
                dt_fused_reads(x, &x->group[i].step[k], read_until, x->group[i].segment);
    for (int i = 0; i < g->n_results; i++)
        x->slot[x->slot[g->result[i].node].owner].last = x->n_segments;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0 && x->p->copy_back[i])
            x->slot[x->slot[g->state[i].update].owner].last = x->n_segments;
}

/* ---- offsets ---- */

/* Returns a + b, or INT64_MAX if that overflows; no system has so much memory. */
int64_t dt_memory_sum(int64_t a, int64_t b) {
    int64_t c;
    return dt_add_fits(a, b, &c) ? c : INT64_MAX;
}

static int larger_first(const void *a, const void *b) {
    const dt_taken *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : x->node - y->node;
}

/* Returns the lowest gap between the blocks that are in use at the same time as s. placed[n] is
 * ordered by offset. */
static int64_t lowest_gap(const dt_value_slot *s, dt_value_slot *const *placed, int n) {
    int64_t at = 0;

    for (int i = 0; i < n; i++) {
        if (placed[i]->first > s->last || s->first > placed[i]->last) continue;
        if (placed[i]->offset - at >= s->bytes) break;
        at = dt_max(at, dt_memory_sum(placed[i]->offset, placed[i]->bytes));
    }
    return at;
}

/* Inserts s into the n placed blocks, ordered by offset. */
static void insert(dt_value_slot **placed, int n, dt_value_slot *s) {
    for (; n > 0 && placed[n - 1]->offset > s->offset; n--) placed[n] = placed[n - 1];
    placed[n] = s;
}

int64_t dt_place_blocks(dt_exec *x, dt_taken *blocks, int n) {
    int64_t bytes = 0;
    dt_value_slot **placed = dt_alloc((size_t)(n + 1) * sizeof *placed);

    qsort(blocks, (size_t)n, sizeof *blocks, larger_first);
    for (int i = 0; i < n; i++) {
        dt_value_slot *s = &x->slot[blocks[i].node];
        s->offset = lowest_gap(s, placed, i);
        insert(placed, i, s);
        bytes = dt_max(bytes, dt_memory_sum(s->offset, s->bytes));
    }
    free(placed);
    return bytes;
}

void dt_plan_memory(dt_exec *x) {
    dt_taken *blocks = dt_alloc((size_t)(x->g->n_nodes + 1) * sizeof *blocks);
    int n = 0;

    find_homes(x);
    find_lifetimes(x);
    dt_exchanges_keep_memory(x);
    keep_old_values(x);
    dt_plan_task_memory(x);
    for (int i = 0; i < x->g->n_nodes; i++)
        if (x->slot[i].kept || (x->slot[i].home == DT_HOME_ARENA && x->slot[i].owner == i))
            blocks[n++] = (dt_taken){i, x->slot[i].bytes};
    x->arena_bytes = dt_place_blocks(x, blocks, n);
    free(blocks);
}

/* ---- the layer that needs the most memory ---- */

static int64_t takes(const dt_exec *x, int node, int segment) {
    const dt_value_slot *s = &x->slot[node];
    if (s->home == DT_HOME_TASK) return dt_task_memory_in(x, node, segment);
    return (s->kept || (s->home == DT_HOME_ARENA && s->owner == node)) && s->first <= segment &&
                   segment <= s->last
               ? s->bytes
               : 0;
}

static int fullest_segment(const dt_exec *x) {
    int64_t most = -1;
    int at = 0;
    for (int i = 0; i < x->n_segments; i++) {
        int64_t bytes = 0;
        for (int n = 0; n < x->g->n_nodes; n++) bytes = dt_memory_sum(bytes, takes(x, n, i));
        at = bytes > most ? i : at;
        most = dt_max(most, bytes);
    }
    return at;
}

static bool is_of(const char *path, const char *layer, size_t n) {
    return strncmp(path, layer, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

const char *dt_exec_largest_layer(const dt_exec *x, dt_arena *arena, int64_t *bytes) {
    const int segment = fullest_segment(x), n_nodes = x->g->n_nodes;
    bool *counted = dt_arena_array(arena, bool, n_nodes + 1);
    const char *largest = "";
    *bytes = 0;
    for (int i = 0; i < n_nodes; i++) {
        const char *path = x->g->node[i].path;
        const size_t n = strcspn(path, "/");
        int64_t all = 0;
        for (int k = i; n > 0 && !counted[i] && k < n_nodes; k++)
            if (takes(x, k, segment) && is_of(x->g->node[k].path, path, n)) {
                all = dt_memory_sum(all, takes(x, k, segment));
                counted[k] = true;
            }
        if (all > *bytes) {
            *bytes = all;
            largest = dt_arena_printf(arena, "%.*s", (int)n, path);
        }
    }
    return largest;
}
