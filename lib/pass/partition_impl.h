/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the partition: partition.c, partition_sink.c, partition_groups.c and
 * partition_updates.c. */
#ifndef DT_PASS_PARTITION_IMPL_H
#define DT_PASS_PARTITION_IMPL_H

#include "pass/pass.h"

/* Input `input` of node `node` is a value, under whatever name. */
typedef struct dt_reading {
    int node, input;
} dt_reading;

typedef struct dt_cutter {
    const dt_graph *g;
    const dt_partition_options *o;
    dt_program *p;
    int *uses;
    int *first_reading;  /* by node: where its readings begin; they end where the next one's do */
    dt_reading *reading; /* in the order of who reads */
    dt_rule *rule;       /* by node */
    int *parent;         /* union-find over groups */
    bool *preamble;      /* by node */
    bool *fixed;         /* by node: made of variables and numbers alone */
    /* by node of a variable: 1 + the update that is made in its memory; 0: none */
    int *overwritten_by;
    int *overwrites; /* by node of an update: 1 + that variable; 0: none */
    int row_units;   /* of all other values that have rows */
    int image_units; /* pieces of values whose rows are images */
    int *depth;      /* by node; see place_nodes */
    int *meets;      /* by depth: the segment of its exchanges */
    int body;        /* first segment of all that is no preamble */
} dt_cutter;

/* No work: an argument, a variable, a constant. */
static inline bool dt_is_leaf(const dt_node *n) {
    return n->op->role == DT_ROLE_ARGUMENT || n->op->role == DT_ROLE_STATE ||
           n->op->role == DT_ROLE_CONSTANT;
}

/* Nodes i and j have as many pieces, of the same rows. */
static inline bool dt_cut_alike(const dt_cutter *c, int i, int j) {
    int64_t a = c->g->node[i].type.dim[0], b = c->g->node[j].type.dim[0];
    return c->p->piece[i].units == c->p->piece[j].units && ((a < 0 && b < 0) || a == b);
}

/* Nodes i and j are made by one task each, as a whole. */
bool dt_in_one_task(const dt_cutter *c, int i, int j);
/* Piece u of node i needs only piece u of its input k. */
bool dt_is_aligned(const dt_cutter *c, int i, int k);
/* Node i is a tree that makes the sums of its input by itself (piece.absorbed). */
bool dt_absorbs(const dt_cutter *c, int i);
/* A kernel's gradient as a whole, or the sum of what pieces have made of it. */
bool dt_is_kernel_gradient(const dt_graph *g, const dt_node *n);

/* Moves on what need not be made in the first segment in which it can be (partition_sink.c). Comes
 * when all have their first. */
void dt_sink_to_readers(dt_cutter *c, dt_arena *scratch);

/* Fills the pieces' groups, when all have their segments (partition_groups.c). */
void dt_make_groups(dt_cutter *c, dt_arena *scratch);
/* The node that stands for i's group. */
int dt_find_group(dt_cutter *c, int i);

/* ---- updates in place (partition_updates.c) ---- */

/* Which updates cannot be made in place: p->copy_back. Comes first. */
void dt_choose_copies(dt_cutter *c, dt_arena *scratch);
/* Fills first_reading and reading. */
void dt_list_readings(dt_cutter *c, dt_arena *scratch);
/* The first segment in which the update may overwrite the variable, given where its readers are. */
int dt_after_readers(const dt_cutter *c, int update, int variable_node);
/* The last segment in which node i may read its input k: a variable only until another node
 * overwrites it, in the same task where it needs the same piece. */
int dt_readable_until(const dt_cutter *c, int i, int k);
/* Who reads the piece of a variable that is updated in the same segment belongs to the task that
 * updates it. */
void dt_join_readers(dt_cutter *c);

#endif
