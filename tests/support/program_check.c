/* SPDX-License-Identifier: Apache-2.0 */
/* Checking programs: see program_check.h. Written from the contract in pass.h, not from the
 * pass. */
#include "program_check.h"

#include "op/segment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

typedef struct checker {
    const dt_program *p;
    const dt_graph *g;
    uint64_t seed;
} checker;

static void complain(const checker *c, int node, const char *what) {
    fail_msg("seed %llu, B = %lld: %%%d (%s): %s", (unsigned long long)c->seed,
             (long long)c->p->batch, node, c->g->node[node].op->name, what);
}

static bool works(const checker *c, int i) { return c->p->piece[i].segment >= 0; }

/* ---- pieces ---- */

static void check_pieces(const checker *c, int i) {
    dt_type type = dt_type_at(&c->g->node[i].type, c->p->batch);
    int64_t size = type.rank ? type.dim[0] : 1, at = 0, lo, hi;
    if (c->p->piece[i].by == DT_BY_COLUMNS) size = dt_dot_columns(c->g, i);
    if (c->p->piece[i].by == DT_BY_TIME) size *= type.dim[1];
    if (c->p->piece[i].by == DT_BY_HEADS) size *= c->g->node[c->g->node[i].in[1]].type.dim[2];
    if (c->p->piece[i].units < 1) complain(c, i, "no pieces");
    for (int u = 0; u < c->p->piece[i].units; u++, at = hi) {
        dt_piece_rows(c->p, i, u, &lo, &hi);
        if (lo != at || hi < lo) complain(c, i, "pieces do not join");
    }
    if (at != size) complain(c, i, "pieces do not cover the value");
}

static void check_group(const checker *c, int i) {
    const dt_node_division *a = &c->p->piece[i];
    if (a->segment >= c->p->n_segments || a->group < 0 || a->group >= c->p->n_groups)
        complain(c, i, "a segment or group that does not exist");
    for (int j = 0; j < i; j++) {
        const dt_node_division *b = &c->p->piece[j];
        if (works(c, j) && b->group == a->group &&
            (b->segment != a->segment || b->units != a->units))
            complain(c, i, "a group of two segments, or cut in two ways");
    }
}

/* ---- who needs what ---- */

static dt_rule rule_of(const checker *c, int i) {
    const dt_node *n = &c->g->node[i];
    dt_type in[DT_MAX_IN];
    dt_rule rule;
    for (int k = 0; k < n->n_in; k++) in[k] = c->g->node[n->in[k]].type;
    dt_rule_whole(&rule);
    n->op->rule(in, &n->type, n->attr, &rule);
    return rule;
}

/* Rows as examples where they are the batch's: (B) and (2*B) cut alike. */
static int64_t sort_of_rows(const dt_type *t) {
    return t->rank == 0 ? 0 : t->dim[0] < 0 ? -1 : t->dim[0];
}

/* Piece u of node i needs nothing of input k but piece u. */
static bool needs_same_piece(const checker *c, int i, int k) {
    int j = c->g->node[i].in[k];
    dt_rule rule = rule_of(c, i);
    if (dt_cut_of(&c->g->node[i]) == DT_CUT_TILES) /* part u is the sum over piece u of the batch */
        return c->p->piece[i].units == dt_segment_count(&c->g->node[i]) &&
               sort_of_rows(&c->g->node[j].type) == -1;
    if (c->p->piece[i].by != c->p->piece[j].by || c->p->piece[i].by == DT_BY_HEADS ||
        c->p->piece[i].by == DT_BY_COLUMNS)
        return false;
    if (c->p->piece[i].by == DT_BY_TIME && (rule.out[1] < 0 || rule.in[k][1] != rule.out[1]))
        return false;
    return rule.out[0] >= 0 && rule.in[k][0] == rule.out[0] &&
           sort_of_rows(&c->g->node[i].type) == sort_of_rows(&c->g->node[j].type);
}

/* Task of node `user` may read what node j makes; `same_piece`: it needs its own piece only. */
static void check_made_before(const checker *c, int j, int user, bool same_piece) {
    const dt_node_division *from = &c->p->piece[j], *to = &c->p->piece[user];
    if (from->segment < to->segment) return;
    if (from->segment > to->segment) complain(c, user, "reads what a later segment makes");
    if (from->group != to->group || j >= user)
        complain(c, user, "reads what another task of its segment makes");
    if (from->units > 1 && !same_piece)
        complain(c, user, "reads pieces that others make in the same segment");
}

/* `user` is the node whose task reads; i the reader itself, or a node that it absorbs.
 * same_piece: piece u of `user` needs only piece u of i. */
static void check_inputs(const checker *c, int i, int user, bool same_piece) {
    for (int k = 0; k < c->g->node[i].n_in; k++) {
        const int j = c->g->node[i].in[k];
        const bool same = same_piece && needs_same_piece(c, i, k);
        if (c->p->piece[j].absorbed)
            check_inputs(c, j, user, same && dt_concatenate_of(&c->g->node[j]));
        else if (works(c, j)) check_made_before(c, j, user, same);
    }
}

/* ---- updates in place ---- */

/* The variable whose memory node i names: itself, or a reshape of it. -1: none. */
static int memory_of(const checker *c, int i) {
    while (c->g->node[i].op == &dt_op_reshape) i = c->g->node[i].in[0];
    return i;
}

static void check_reader(const checker *c, const dt_state *s, int r, int k) {
    const dt_node_division *reader = &c->p->piece[r], *writer = &c->p->piece[s->update];
    if (reader->segment < writer->segment) return;
    if (reader->segment > writer->segment)
        complain(c, r, "reads a variable that an earlier segment has overwritten");
    if (reader->group != writer->group)
        complain(c, r, "reads a variable that another task of its segment overwrites");
    if (r > s->update) complain(c, r, "reads a variable that its task has overwritten");
    if (writer->units > 1 && !(c->g->node[r].in[k] == s->node && needs_same_piece(c, r, k)))
        complain(c, r, "reads more of a variable than the piece its task overwrites");
}

static void check_update(const checker *c, const dt_state *s) {
    if (!works(c, s->update) || c->g->node[s->update].op == &dt_op_reshape)
        complain(c, s->update, "cannot be made in place");
    for (int r = 0; r < c->g->n_nodes; r++)
        for (int k = 0; works(c, r) && k < c->g->node[r].n_in; k++)
            if (c->g->node[r].op != &dt_op_reshape && r != s->update &&
                memory_of(c, c->g->node[r].in[k]) == s->node)
                check_reader(c, s, r, k);
    for (int r = 0; r < c->g->n_nodes; r++)
        for (int k = 0; c->p->piece[r].absorbed && k < c->g->node[r].n_in; k++)
            if (memory_of(c, c->g->node[r].in[k]) == s->node)
                complain(c, r, "is read within another node, maybe after an update in place");
    for (int i = 0; i < c->g->n_results; i++)
        if (c->g->result[i].node == s->update)
            complain(c, s->update, "is a result too: it must not lie in the variable");
}

void program_check(const dt_program *p, uint64_t seed) {
    checker c = {.p = p, .g = p->graph, .seed = seed};
    for (int i = 0; i < c.g->n_nodes; i++) {
        if (!works(&c, i)) continue;
        check_pieces(&c, i);
        check_group(&c, i);
        check_inputs(&c, i, i, true);
    }
    for (int s = 0; s < c.g->n_states; s++)
        if (c.g->state[s].update >= 0 && !p->copy_back[s]) check_update(&c, &c.g->state[s]);
}
