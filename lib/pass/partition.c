/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partition over the threads of one memory space. Threads share their memory, so what devices would
 * gather costs them only a join, a wait for each other of some microseconds. Nothing is copied, and
 * nothing is summed twice. Activations are divided by rows, weight gradients by their own first
 * dimension, and the thread that computes a piece of a gradient also updates that piece of the
 * weight.
 *
 *     segment 0   rows:    h = relu(x W + b)   z = h V + c   loss, dz   dh       pieces of B rows
 *     ---- join: dz and dh of all pieces are computed ----
 *     segment 1   slices:  dW = x' dh, Adam, W    dV = h' dz, Adam, V    ...     pieces of the rows
 *                                                                                of each gradient
 *
 * A node stays in the segment of an input if each of its pieces needs only the same piece of the
 * input (the op's rule maps dimension 0 to dimension 0, with equal cuts); else it is placed one
 * segment later. Nodes connected in this way form a group. The tasks of threads are the pieces of
 * groups.
 *
 * Values of at most 64 elements that depend only on such values and on the batch's size (1 / rows,
 * the optimizer's rate) have a separate segment before all others, the preamble: they are computed
 * before threads start, so no task waits for them.
 *
 * If a batch has few examples and these are sequences, it is divided further. A node that needs
 * only the same time step of its inputs is divided by steps (dimensions 0 and 1 count as one), and
 * attention is divided by heads.
 *
 *     segment 1   by time:    norm, q, k, v
 *     segment 2   by heads:   attention
 *     segment 3   by time:    ...
 *
 * If it has fewer than 64 rows, for example one token that is generated, all rows are one piece.
 * Long products by large weights are then divided by columns of the weights.
 *
 * With `reproducible`, rows are divided at the borders of shards instead. Libraries choose their
 * kernels by the number of rows in a call, so a row has the same bits only if it is always computed
 * together with the same other rows.
 */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/workers.h"
#include "pass/partition_impl.h"

/* ---- groups ---- */

int dt_find_group(dt_cutter *c, int i) {
    while (c->parent[i] != i) i = c->parent[i] = c->parent[c->parent[i]];
    return i;
}

/* Joins the group of node i with those of the inputs of `reader` that are in the same segment, of
 * which it needs only the same piece; for an absorbed input, with those of its inputs. */
static void join_inputs(dt_cutter *c, int i, const dt_node *reader) {
    for (int k = 0; k < reader->n_in; k++) {
        const int j = reader->in[k];
        if (c->p->piece[j].absorbed) join_inputs(c, i, &c->g->node[j]);
        else if (c->p->piece[j].segment == c->p->piece[i].segment)
            c->parent[dt_find_group(c, i)] = dt_find_group(c, j);
    }
}

static bool is_whole(const dt_cutter *c, int i) {
    return c->p->piece[i].segment >= 0 && c->p->piece[i].units == 1;
}

/* Returns [nodes], for the node that represents a group: whether the group computes the gradient of
 * a kernel and takes part in no exchange. (Groups with exchanges must not be moved, because all
 * workers make exchanges in the same order.) */
static bool *find_products(dt_cutter *c, dt_arena *scratch) {
    bool *product = dt_arena_array(scratch, bool, c->g->n_nodes + 1);
    for (int i = 0; i < c->g->n_nodes; i++)
        if (is_whole(c, i))
            product[dt_find_group(c, i)] |= dt_is_kernel_gradient(c->g, &c->g->node[i]);
    for (int i = 0; i < c->g->n_nodes; i++)
        if (c->p->piece[i].segment >= 0 && dt_is_exchange(&c->g->node[i]))
            product[dt_find_group(c, i)] = false;
    return product;
}

/* Of the groups that are not divided, each one with the gradient of a kernel remains a task. The
 * others in a segment are joined to the first such task or, if there is none, to each other. */
static void join_odds_and_ends(dt_cutter *c, dt_arena *scratch) {
    const bool *product = find_products(c, scratch);
    /* [segments + 1] 1 + a node of the group that all remaining nodes of the segment join; 0: no
     * such group yet */
    int *first = dt_arena_array(scratch, int, c->p->n_segments + 1);

    for (int i = c->g->n_nodes - 1; i >= 0; i--)
        if (is_whole(c, i) && product[dt_find_group(c, i)]) first[c->p->piece[i].segment] = i + 1;
    for (int i = 0; i < c->g->n_nodes; i++) {
        if (!is_whole(c, i) || product[dt_find_group(c, i)]) continue;
        int *with = &first[c->p->piece[i].segment];
        if (!*with) *with = i + 1;
        c->parent[dt_find_group(c, i)] = dt_find_group(c, *with - 1);
    }
}

/* Joins node i with the nodes before it that are gradients of the same attention, if they are
 * divided by heads, so that they are computed together. */
static void join_gradients(dt_cutter *c, int i) {
    const dt_node_division *piece = c->p->piece;
    for (int j = 0; j < i && piece[i].by == DT_BY_HEADS; j++)
        if (piece[j].by == DT_BY_HEADS && piece[j].segment == piece[i].segment &&
            c->g->node[j].op == c->g->node[i].op &&
            memcmp(c->g->node[j].in, c->g->node[i].in, sizeof c->g->node[i].in) == 0)
            c->parent[dt_find_group(c, i)] = dt_find_group(c, j);
}

/*
 * Forms groups: a task computes a piece of all nodes of a group, one after the other.
 *
 *     group 0   2 pieces   h = x W    z = h V    dz    dh        nodes of one segment that read
 *                                                                each other's pieces
 *     group 1   1 piece    dV = h' dz, Adam, V    sums of rows   a whole gradient of a kernel, with
 *                                                                the small remaining nodes of the
 *                                                                segment
 *     group 2   1 piece    dW = x' dh, Adam, W                   another one: two threads compute
 *                                                                them at the same time
 */
static void join_groups(dt_cutter *c, dt_arena *scratch) {
    for (int i = 0; i < c->g->n_nodes; i++)
        if (c->p->piece[i].segment >= 0) join_inputs(c, i, &c->g->node[i]);
    for (int i = 0; i < c->g->n_nodes; i++) join_gradients(c, i);
    dt_join_readers(c);
    join_odds_and_ends(c, scratch);
}

static void number_groups(dt_cutter *c) {
    DT_LOCAL int *number = dt_alloc(((size_t)c->g->n_nodes + 1) * sizeof *number);

    for (int i = 0; i < c->g->n_nodes; i++) {
        if (c->p->piece[i].segment < 0) {
            c->p->piece[i].group = -1;
            continue;
        }
        int root = dt_find_group(c, i);
        if (!number[root]) number[root] = ++c->p->n_groups;
        c->p->piece[i].group = number[root] - 1;
    }
}

/* Forms the groups of pieces. Called when all nodes have their segments. */
static void make_groups(dt_cutter *c, dt_arena *scratch) {
    join_groups(c, scratch);
    number_groups(c);
}

/* ---- the number of pieces ---- */

enum { LEAST_SUMMED = 100000, MOST_SEGMENTS = 16 };

/* Returns the number of pieces of a node without rows: the largest power of two up to sqrt(elements
 * / 25,000), at most 16 (100,000 elements in 2, 400,000 in 4, 6.4 million in 16), but so few that a
 * piece has at least 16 entries of dimension 0. Pieces of a product have at least 128, because each
 * reads the whole other factor. */
static int units_for_elements(const dt_node *n) {
    /* if the node has several partial sums (tree_part), the elements of one of them count */
    const int nodes = dt_tree_results(n);
    int units = dt_tiles_below(
            sqrt((double)(dt_type_elements(&n->type) / (nodes ? nodes : 1)) / 25000)),
        least = dt_dot_of(n) ? 128 : 16;
    while (units > 1 && n->type.dim[0] < least * units) units /= 2;
    return units;
}

static const dt_node *input(const dt_cutter *c, int i, int k) {
    return &c->g->node[c->g->node[i].in[k]];
}

bool dt_absorbs(const dt_cutter *c, int i) {
    const dt_node *n = &c->g->node[i];
    return dt_tree_results(n) && c->p->piece[n->in[0]].absorbed;
}

static bool can_split(const dt_cutter *c, int i, dt_division by) {
    return c->o->can_split ? c->o->can_split(c->g, i, by) : by == DT_BY_ROWS;
}

/* Returns the number of pieces for sums of replicas or shards: one for each of these, at most
 * MOST_SEGMENTS, or 1 if fewer than LEAST_SUMMED elements are summed, for which joining would cost
 * more. */
static int units_for_segments(const dt_cutter *c, int i) {
    const int count = dt_segment_count(&c->g->node[i]);
    return dt_elements_of(c, c->g->node[i].in[0]) < LEAST_SUMMED ? 1
           : count < MOST_SEGMENTS                               ? count
                                                                 : MOST_SEGMENTS;
}

static int units_of(const dt_cutter *c, int i) {
    const dt_node *n = &c->g->node[i];

    if (dt_cut_of(n) == DT_CUT_TILES) return can_split(c, i, DT_BY_ROWS) ? dt_segment_count(n) : 1;
    if (dt_cut_of(n) >= 0 && n->op->role == DT_ROLE_REDUCE)
        return can_split(c, i, DT_BY_ROWS) && !c->p->piece[i].absorbed ? units_for_segments(c, i)
                                                                       : 1;
    if (dt_is_leaf(n) || c->p->piece[i].absorbed || n->type.rank == 0 || c->rule[i].out[0] < 0 ||
        !can_split(c, i, DT_BY_ROWS))
        return 1;
    if (n->type.dim[0] < 0) return dt_is_image(n) ? c->image_units : c->row_units;
    /* a sum that keeps dimension 0 is divided like its input, which takes the time */
    const bool keeps_rows = dt_reduce_of(n) && c->rule[i].in[0][0] == c->rule[i].out[0];
    return units_for_elements(keeps_rows ? input(c, i, 0) : n);
}

/* ---- few examples ---- */

/* Whether piece u of node i, which is divided by time steps, needs only the same steps of input
 * k. */
static bool has_steps_of(const dt_cutter *c, int i, int k) {
    const dt_rule *r = &c->rule[i];
    return r->in[k][0] >= 0 && r->in[k][0] == r->out[0] && r->in[k][1] >= 0 &&
           r->in[k][1] == r->out[1];
}

/* Whether node i needs all of input k, because neither the examples nor the steps of the input are
 * those of the node. */
static bool has_no_steps_of(const dt_cutter *c, int i, int k) {
    const dt_rule *r = &c->rule[i];
    for (int d = 0; d < input(c, i, k)->type.rank; d++)
        if (r->in[k][d] >= 0 && (r->in[k][d] == r->out[0] || r->in[k][d] == r->out[1]))
            return false;
    return true;
}

static bool has_steps(const dt_cutter *c, int i) {
    const dt_node *n = &c->g->node[i];
    const dt_type *t = &n->type;
    bool any = n->op->role == DT_ROLE_REPEAT;
    if (t->rank < 2 || t->dim[0] != -1 || t->dim[1] != c->steps || c->rule[i].out[0] < 0 ||
        c->rule[i].out[1] < 0)
        return false;
    for (int k = 0; k < n->n_in; k++) {
        any |= has_steps_of(c, i, k);
        if (n->op->role != DT_ROLE_REPEAT && !has_steps_of(c, i, k) && !has_no_steps_of(c, i, k))
            return false;
    }
    return any;
}

/* the least work of a product that is divided by columns, some 40 us; each costs two joins */
enum { LEAST_WORK = 5000000 };

/* Returns the number of pieces by columns of a product of few rows by weights; 1 for others. A
 * quarter of a million weights are read in 2 pieces, 2 million in 4, 17 million in 8: wide pieces,
 * because narrow ones read little of each page of memory. Reading a weight takes as long as 8
 * rows' products by it. */
static int units_for_columns(const dt_cutter *c, int i) {
    const dt_node *n = &c->g->node[i];
    const dt_dot_attr *a = dt_dot_of(n);
    const dt_rule *r = &c->rule[i];
    if (!a || a->n_batch > 0 || a->n_contract == 0 || c->row_units > 1 || c->time_units ||
        c->p->cut || n->type.dim[0] >= 0 || r->out[0] < 0 || r->in[0][0] != r->out[0] ||
        a->lhs_contract[a->n_contract - 1] != input(c, i, 0)->type.rank - 1 ||
        dt_type_has_batch(&input(c, i, 1)->type))
        return 1;
    const int64_t columns = dt_dot_columns(c->g, i);
    const double weights = (double)dt_type_elements(&input(c, i, 1)->type),
                 rows = dt_elements_of(c, i) / (double)dt_max(1, columns);
    if (weights * (rows + 8) < LEAST_WORK) return 1;
    int units = dt_tiles_below(cbrt(weights / (1 << 15)));
    while (units > 1 && columns < units * DT_COLUMN_BLOCK) units /= 2;
    return units;
}

static dt_division division_of(const dt_cutter *c, int i) {
    if (units_for_columns(c, i) > 1 && can_split(c, i, DT_BY_COLUMNS)) return DT_BY_COLUMNS;
    if (!c->time_units || dt_is_leaf(&c->g->node[i]) || c->p->piece[i].absorbed) return DT_BY_ROWS;
    if (has_steps(c, i) && can_split(c, i, DT_BY_TIME)) return DT_BY_TIME;
    const dt_type *t = &c->g->node[i].type;
    return t->rank == 4 && t->dim[0] == -1 && can_split(c, i, DT_BY_HEADS) ? DT_BY_HEADS
                                                                           : DT_BY_ROWS;
}

static void divide(dt_cutter *c, int i) {
    dt_node_division *piece = &c->p->piece[i];
    piece->by = division_of(c, i);
    piece->units = piece->by == DT_BY_ROWS      ? units_of(c, i)
                   : piece->by == DT_BY_COLUMNS ? units_for_columns(c, i)
                                                : c->time_units;
    if (piece->by == DT_BY_HEADS)
        piece->units = (int)dt_min(piece->units, c->p->batch * dt_heads_of(c->g, i));
}

/* ---- the preamble ---- */

static bool is_few(const dt_type *t) { return !dt_type_has_batch(t) && dt_type_elements(t) <= 64; }

static bool is_preamble(const dt_cutter *c, int i) {
    const dt_node *n = &c->g->node[i];

    if (dt_is_leaf(n) || c->p->piece[i].absorbed || !is_few(&n->type)) return false;
    for (int k = 0; k < n->n_in; k++) {
        bool is_number = dt_is_leaf(input(c, i, k)) &&
                         (is_few(&input(c, i, k)->type) || n->op->role == DT_ROLE_SIZE);
        if (!is_number && !c->preamble[n->in[k]]) return false;
    }
    return true;
}

static void find_preamble(dt_cutter *c) {
    for (int i = 0; i < c->g->n_nodes; i++) {
        c->preamble[i] = is_preamble(c, i);
        c->body |= c->preamble[i];
    }
}

/* ---- segments ---- */

bool dt_in_one_task(const dt_cutter *c, int i, int j) {
    return c->p->piece[i].units == 1 && c->p->piece[j].units == 1;
}

/* A barrier waits for all pieces of its inputs, so that values before and after it are never in
 * memory at the same time. Values that workers exchange are computed in earlier segments than the
 * exchange. */
bool dt_is_aligned(const dt_cutter *c, int i, int k) {
    int j = c->g->node[i].in[k];

    if (c->g->node[i].op == &dt_op_optimization_barrier || dt_is_exchange(&c->g->node[i]))
        return false;
    if (dt_in_one_task(c, i, j)) return true;
    if (dt_cut_of(&c->g->node[i]) ==
        DT_CUT_TILES) /* Piece u of a sum over tiles is the sum over tile u of the batch. */
        return dt_is_batch(&c->g->node[j].type, 0) && c->p->piece[i].units == c->p->piece[j].units;
    return !dt_absorbs(c, i) && c->g->node[j].type.rank > 0 && c->rule[i].in[k][0] >= 0 &&
           c->rule[i].in[k][0] == c->rule[i].out[0] && dt_cut_alike(c, i, j) &&
           (c->p->piece[i].by == DT_BY_ROWS ||
            (c->p->piece[i].by == DT_BY_TIME && has_steps_of(c, i, k)));
}

/* Returns the first segment in which a tree that absorbs a sum over the batch may run. All rows
 * must have been computed, unless one task computes everything. */
static int after_absorbed(const dt_cutter *c, int i) {
    const dt_node *n = input(c, i, 0);
    int segment = c->body;

    for (int k = 0; k < n->n_in; k++) {
        const dt_node_division *in = &c->p->piece[n->in[k]];
        int after = in->segment + (dt_in_one_task(c, i, n->in[k]) ? 0 : 1);
        if (in->segment >= 0 && after > segment) segment = after;
    }
    return segment;
}

static int earliest(const dt_cutter *c, int i) {
    const dt_node *n = &c->g->node[i];
    int segment = c->preamble[i] ? 0 : c->body;

    if (dt_absorbs(c, i)) return after_absorbed(c, i);
    for (int k = 0; k < n->n_in; k++) {
        const dt_node_division *in = &c->p->piece[n->in[k]];
        int after = in->segment + (dt_is_aligned(c, i, k) ? 0 : 1);
        if (in->segment >= 0 && after > segment) segment = after;
    }
    return segment;
}

static void place_node(dt_cutter *c, int i) {
    dt_node_division *piece = &c->p->piece[i];

    divide(c, i);
    piece->segment = -1;
    if (dt_is_leaf(&c->g->node[i]) || piece->absorbed) return;
    piece->segment = earliest(c, i);
    if (c->depth[i] > 0 && dt_is_exchange(&c->g->node[i]) && c->meets[c->depth[i]] > piece->segment)
        piece->segment = c->meets[c->depth[i]];
    if (c->overwrites[i]) {
        int after = dt_after_readers(c, i, c->overwrites[i] - 1);
        piece->segment = after > piece->segment ? after : piece->segment;
    }
    if (piece->segment >= c->p->n_segments) c->p->n_segments = piece->segment + 1;
}

/* Finds the depth of each node: the largest number of exchanges between workers on a path to the
 * node, itself included. Returns the largest depth. */
static int find_depths(dt_cutter *c) {
    int most = 0;
    for (int i = 0; i < c->g->n_nodes; i++) {
        for (int k = 0; k < c->g->node[i].n_in; k++)
            c->depth[i] = c->depth[c->g->node[i].in[k]] > c->depth[i]
                              ? c->depth[c->g->node[i].in[k]]
                              : c->depth[i];
        c->depth[i] += dt_is_exchange(&c->g->node[i]);
        most = c->depth[i] > most ? c->depth[i] : most;
    }
    return most;
}

/*
 * Gives each node its segment. Workers with different numbers of rows have different pieces and
 * segments, but must make the same exchanges in the same order. So all exchanges of one depth,
 * which do not depend on each other, are placed in one segment: the first in which all of them can
 * be made. Nodes only move to later segments, so the loop ends.
 */
static void place_nodes(dt_cutter *c, dt_arena *scratch) {
    c->depth = dt_arena_array(scratch, int, c->g->n_nodes + 1);
    c->meets = dt_arena_array(scratch, int, find_depths(c) + 1);
    for (bool moved = true; moved;) {
        moved = false;
        c->p->n_segments = 0;
        for (int i = 0; i < c->g->n_nodes; i++) place_node(c, i);
        for (int i = 0; i < c->g->n_nodes; i++)
            if (dt_is_exchange(&c->g->node[i]) && c->p->piece[i].segment > c->meets[c->depth[i]]) {
                c->meets[c->depth[i]] = c->p->piece[i].segment;
                moved = true;
            }
        for (int i = 0; i < c->g->n_nodes; i++)
            moved |=
                dt_is_exchange(&c->g->node[i]) && c->p->piece[i].segment < c->meets[c->depth[i]];
    }
}

/* ---- the pass ---- */

static void read_rules(dt_cutter *c) {
    for (int i = 0; i < c->g->n_nodes; i++) {
        const dt_node *n = &c->g->node[i];
        dt_type in[DT_MAX_IN];
        for (int k = 0; k < n->n_in; k++) in[k] = input(c, i, k)->type;
        dt_rule_whole(&c->rule[i]);
        n->op->rule(in, &n->type, n->attr, &c->rule[i]);
        c->parent[i] = i;
    }
}

static void absorb_segments(dt_cutter *c) {
    for (int i = 0; i < c->g->n_nodes; i++) {
        const dt_node *n = &c->g->node[i];
        bool tree = dt_tree_results(n) > 0,
             parts = tree && dt_cut_of(input(c, i, 0)) == DT_CUT_TILES;
        if (tree && !parts && c->uses[n->in[0]] == 1 && input(c, i, 0)->n_in > 0)
            c->p->piece[n->in[0]].absorbed = true;
    }
}

/* Whether node i reads the old value of a variable that the node's task, or a later one,
 * overwrites. */
static bool reads_old_value(const dt_cutter *c, int i) {
    const dt_node *n = &c->g->node[i];
    for (int k = 0; k < n->n_in; k++)
        if (c->overwritten_by[dt_named_by(c->g, n->in[k])]) return true;
    return false;
}

/* Makes a concatenation a part of another one along the same axis, if only that one reads it and
 * both are in one task. So each value is moved once. The inputs are then read later, which must not
 * be after an update in place. */
static void absorb_concatenations(dt_cutter *c) {
    for (int i = 0; i < c->g->n_nodes; i++) {
        const dt_axis_attr *a = dt_concatenate_of(&c->g->node[i]);
        for (int k = 0; a && k < c->g->node[i].n_in; k++) {
            const int j = c->g->node[i].in[k];
            const dt_axis_attr *b = dt_concatenate_of(&c->g->node[j]);
            dt_node_division *piece = &c->p->piece[j];
            if (b && a->axis == b->axis && c->uses[j] == 1 &&
                piece->group == c->p->piece[i].group && !reads_old_value(c, j))
                piece->absorbed = true;
        }
    }
    for (int i = 0; i < c->g->n_nodes; i++)
        if (c->p->piece[i].absorbed && dt_concatenate_of(&c->g->node[i]))
            c->p->piece[i].segment = c->p->piece[i].group = -1;
}

/* Sets p->cut to a copy of the borders of shards, without shards that have no rows. It stays NULL
 * if there are no rows, if o->cut is NULL, or if graph->batch_parts is not 1. */
static void take_cuts(dt_program *p, const dt_partition_options *o, dt_arena *arena) {
    if (!o->cut || p->graph->batch_parts != 1) return;
    int32_t *cut = dt_arena_array(arena, int32_t, o->cuts + 1);
    for (int i = 1; i <= o->cuts; i++)
        if (o->cut[i] > o->cut[i - 1]) cut[++p->cuts] = o->cut[i];
    p->cut = p->cuts ? cut : NULL;
}

dt_program *dt_partition(dt_graph *graph, const dt_partition_options *options, dt_arena *arena) {
    dt_local_arena scratch = dt_arena_create();
    dt_program *p = dt_arena_new(arena, dt_program);
    dt_cutter c = {
        .g = graph,
        .o = options,
        .p = p,
        .uses = dt_graph_uses(graph, scratch),
        .rule = dt_arena_array(scratch, dt_rule, graph->n_nodes + 1),
        .parent = dt_arena_array(scratch, int, graph->n_nodes + 1),
        .preamble = dt_arena_array(scratch, bool, graph->n_nodes + 1),
        .fixed = dt_arena_array(scratch, bool, graph->n_nodes + 1),
        .overwritten_by = dt_arena_array(scratch, int, graph->n_nodes + 1),
        .overwrites = dt_arena_array(scratch, int, graph->n_nodes + 1),
    };

    *p = (dt_program){.graph = graph,
                      .batch = options->batch / graph->batch_parts,
                      .piece = dt_arena_array(arena, dt_node_division, graph->n_nodes + 1),
                      .copy_back = dt_arena_array(arena, bool, graph->n_states + 1)};
    take_cuts(p, options, arena);
    read_rules(&c);
    dt_list_readings(&c, scratch);
    absorb_segments(&c);
    c.row_units = p->cut ? p->cuts : dt_row_units(graph, p->batch);
    c.time_units = p->cut ? 0 : dt_time_units(graph, p->batch, &c.steps);
    c.image_units = p->cut ? p->cuts : dt_image_units(graph, p->batch);
    dt_choose_copies(&c, scratch);
    find_preamble(&c);
    place_nodes(&c, scratch);
    dt_sink_to_readers(&c, scratch);
    make_groups(&c, scratch);
    absorb_concatenations(&c);
    return p;
}
