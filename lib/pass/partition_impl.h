/* SPDX-License-Identifier: Apache-2.0 */
/* Internal declarations of the partition: partition.c, partition_sink.c, partition_updates.c. */
#ifndef DT_PASS_PARTITION_IMPL_H
#define DT_PASS_PARTITION_IMPL_H

#include "pass/pass.h"

/* A place where a value is used: input `input` of node `node` is the value or another name of
 * it. */
typedef struct dt_reading {
    int node, input;
} dt_reading;

typedef struct dt_cutter {
    const dt_graph *g;
    const dt_partition_options *o;
    dt_program *p;
    int *uses;
    /* [nodes + 1] index in `reading` of the first use of the node's value; the uses end where those
     * of the next node begin */
    int *first_reading;
    dt_reading *reading; /* uses of all values, in the order of the nodes that are used */
    dt_rule *rule;       /* [nodes] rule of each op */
    /* [nodes] union-find: the parent of each node in the tree that represents its group */
    int *parent;
    bool *preamble; /* [nodes] whether the node is computed in the preamble */
    /* [nodes] whether the node depends only on variables, constants and the preamble */
    bool *fixed;
    /* [nodes] for a variable: 1 + the index of the node that is computed in its memory, its update;
     * 0: none */
    int *overwritten_by;
    int *overwrites; /* [nodes] for an update: 1 + the index of that variable's node; 0: none */
    /* number of pieces of values that are divided by time or heads; 0: all are divided by rows */
    int time_units;
    int64_t steps;   /* number of time steps of each example, if time_units is not 0 */
    int row_units;   /* number of pieces of values that are divided by rows, except images */
    int image_units; /* number of pieces of values by rows if their rows are images */
    /* [nodes] largest number of exchanges between workers on a path to the node, itself included
     * (place_nodes) */
    int *depth;
    /* [depths] index of the segment in which all exchanges of that depth are made */
    int *meets;
    int body; /* index of the first segment after the preamble: 1, or 0 if there is no preamble */
} dt_cutter;

/* Whether a node needs no computation: an argument, a variable or a constant. */
static inline bool dt_is_leaf(const dt_node *n) {
    return n->op->role == DT_ROLE_ARGUMENT || n->op->role == DT_ROLE_STATE ||
           n->op->role == DT_ROLE_CONSTANT;
}

/* Returns the number of elements of node i, of all examples. */
static inline double dt_elements_of(const dt_cutter *c, int i) {
    const dt_type t = dt_type_at(&c->g->node[i].type, c->p->batch);
    return (double)dt_type_elements(&t);
}

/* Whether node i repeats a scalar, so that it needs no memory. */
static inline bool dt_repeats_number(const dt_graph *g, int i) {
    const dt_node *n = &g->node[i];
    return n->op->role == DT_ROLE_REPEAT && g->node[n->in[0]].type.rank == 0;
}

/* Whether nodes i and j are divided into the same number of pieces, with the same rows. */
static inline bool dt_cut_alike(const dt_cutter *c, int i, int j) {
    int64_t a = c->g->node[i].type.dim[0], b = c->g->node[j].type.dim[0];
    return c->p->piece[i].units == c->p->piece[j].units && c->p->piece[i].by == c->p->piece[j].by &&
           ((a < 0 && b < 0) || a == b);
}

/* Whether neither node i nor node j is divided, so that each is computed by a single task. */
bool dt_in_one_task(const dt_cutter *c, int i, int j);
/* Whether piece u of node i needs only piece u of its input k. False for barriers and for exchanges
 * between workers. */
bool dt_is_aligned(const dt_cutter *c, int i, int k);
/* Whether node i is a tree_sum or tree_part that also computes the sums over segments that it adds,
 * so that these need no memory (piece.absorbed). */
bool dt_absorbs(const dt_cutter *c, int i);
/* Whether the node multiplies matrices (op->multiplied) and has no batch dimension, such as the
 * gradient of a kernel, or a reduction of such a node, such as the sum of gradients of parts of the
 * batch. */
bool dt_is_kernel_gradient(const dt_graph *g, const dt_node *n);

/* Moves nodes to later segments, closer to their readers, if no reader needs them earlier
 * (partition_sink.c). Called after each node has got the first segment in which it can be
 * computed. */
void dt_sink_to_readers(dt_cutter *c, dt_arena *scratch);

/* Returns the node that represents the group of node i. */
int dt_find_group(dt_cutter *c, int i);

/* ---- updates in place (partition_updates.c) ---- */

/* Decides which updates cannot be computed in the variable's memory, and sets p->copy_back for
 * these. Called after dt_list_readings. The other functions of this section need the results of
 * both. */
void dt_choose_copies(dt_cutter *c, dt_arena *scratch);
/* Fills first_reading and reading, the lists of uses of each value. */
void dt_list_readings(dt_cutter *c, dt_arena *scratch);
/* Returns the first segment in which the update may overwrite the variable, given the segments of
 * the readers that come before the update; 0 if there are none. */
int dt_after_readers(const dt_cutter *c, int update, int variable_node);
/* Returns the last segment in which node i may read its input k. A variable may be read until the
 * node that overwrites it runs, and in the same task if both need the same piece. Returns the
 * number of segments if no other node overwrites the input. */
int dt_readable_until(const dt_cutter *c, int i, int k);
/* For each variable that is updated in its own memory: joins the nodes that read it in the segment
 * of the update to the update's group, so that a task reads a piece before it updates it. */
void dt_join_readers(dt_cutter *c);

#endif
