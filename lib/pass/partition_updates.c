/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates in place: a variable is overwritten piece by piece in its own memory. So every node that
 * reads the old value runs earlier:
 *
 *     a reader of the same piece only    in the task that overwrites it, before it does
 *     any other reader                   in an earlier segment
 *
 * A new value is computed in other memory and copied at the end if this is not possible, because a
 * reader of the old value comes after the new value in the graph; if it is also a result or the new
 * value of an earlier variable; if it is an argument, a variable, a constant or another name of a
 * value; or if arrays are filled with the variable, a number.
 */

#include "pass/partition_impl.h"

/* Returns the node that owns the memory which node r reads as input k. Returns the number of nodes
 * if r is only another name of its input (a reshape): then the readers of r read the memory, and r
 * itself does not. */
static int read_by(const dt_cutter *c, int r, int k) {
    return dt_is_name(&c->g->node[r]) ? c->g->n_nodes : dt_named_by(c->g, c->g->node[r].in[k]);
}

void dt_list_readings(dt_cutter *c, dt_arena *scratch) {
    const int n = c->g->n_nodes;
    int *first = dt_arena_array(scratch, int, n + 3), all = 0;

    for (int r = 0; r < n; r++)
        for (int k = 0; k < c->g->node[r].n_in; k++, all++) first[read_by(c, r, k) + 2]++;
    for (int i = 2; i < n + 3; i++) first[i] += first[i - 1];
    c->reading = dt_arena_array(scratch, dt_reading, all + 1);
    for (int r = 0; r < n; r++)
        for (int k = 0; k < c->g->node[r].n_in; k++)
            c->reading[first[read_by(c, r, k) + 1]++] = (dt_reading){.node = r, .input = k};
    c->first_reading = first;
}

/* Whether piece u of reader r needs only the piece of the variable that piece u of the update
 * overwrites. */
static bool reads_same_piece(const dt_cutter *c, int r, int k, int update) {
    if (c->p->piece[r].units == 1 && c->p->piece[update].units == 1) return true;
    bool by_name = dt_is_name(&c->g->node[c->g->node[r].in[k]]);
    return !by_name && dt_cut_alike(c, r, update) && c->rule[r].in[k][0] >= 0 &&
           c->rule[r].in[k][0] == c->rule[r].out[0];
}

/* A reader of the old value runs in the same task if it needs only the piece that is overwritten,
 * else a segment earlier. */
int dt_after_readers(const dt_cutter *c, int update, int variable_node) {
    int segment = 0;

    for (int i = c->first_reading[variable_node]; i < c->first_reading[variable_node + 1]; i++) {
        int r = c->reading[i].node;
        if (r < update && c->p->piece[r].segment >= 0) {
            int after =
                c->p->piece[r].segment + !reads_same_piece(c, r, c->reading[i].input, update);
            segment = after > segment ? after : segment;
        }
    }
    return segment;
}

static bool reads_later(const dt_cutter *c, int update, int variable_node) {
    for (int i = c->first_reading[variable_node]; i < c->first_reading[variable_node + 1]; i++)
        if (c->reading[i].node > update) return true;
    return false;
}

/* Whether an array is filled with the variable, a number. It would have to be filled before the
 * variable is overwritten, and be stored if it is used later. */
static bool is_repeated(const dt_cutter *c, int variable_node) {
    for (int i = c->first_reading[variable_node]; i < c->first_reading[variable_node + 1]; i++)
        if (dt_repeats_number(c->g, c->reading[i].node)) return true;
    return false;
}

static bool is_copied(const dt_cutter *c, const dt_state *s, const bool *claimed) {
    const dt_node *update = &c->g->node[s->update];
    return claimed[s->update] || dt_is_leaf(update) || dt_is_name(update) ||
           reads_later(c, s->update, s->node) || is_repeated(c, s->node);
}

/* Lists updates that need no copy in overwrites and overwritten_by. claimed: [nodes] whether the
 * node must not be computed in a variable's memory, because it is a result or the update of an
 * earlier variable. */
void dt_choose_copies(dt_cutter *c, dt_arena *scratch) {
    bool *claimed = dt_arena_array(scratch, bool, c->g->n_nodes + 1);

    for (int k = 0; k < c->g->n_results; k++)
        claimed[dt_named_by(c->g, c->g->result[k].node)] = true;
    for (int s = 0; s < c->g->n_states; s++) {
        const dt_state *state = &c->g->state[s];
        if (state->update < 0) continue;
        c->p->copy_back[s] = is_copied(c, state, claimed);
        claimed[state->update] = true;
        if (c->p->copy_back[s]) continue;
        c->overwritten_by[state->node] = state->update + 1;
        c->overwrites[state->update] = state->node + 1;
    }
}

int dt_readable_until(const dt_cutter *c, int i, int k) {
    int update = c->overwritten_by[dt_named_by(c->g, c->g->node[i].in[k])] - 1;
    return update < 0 || update == i
               ? c->p->n_segments
               : c->p->piece[update].segment -
                     (i < update && reads_same_piece(c, i, k, update) ? 0 : 1);
}

static void join_readers_of(dt_cutter *c, const dt_state *s) {
    for (int i = c->first_reading[s->node]; i < c->first_reading[s->node + 1]; i++) {
        int r = c->reading[i].node;
        if (c->p->piece[r].segment == c->p->piece[s->update].segment)
            c->parent[dt_find_group(c, r)] = dt_find_group(c, s->update);
    }
}

void dt_join_readers(dt_cutter *c) {
    for (int s = 0; s < c->g->n_states; s++)
        if (c->g->state[s].update >= 0 && !c->p->copy_back[s]) join_readers_of(c, &c->g->state[s]);
}
