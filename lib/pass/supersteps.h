/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a worker's program into pieces, between which workers exchange values: see
 * supersteps.c. */
#ifndef DT_PASS_SUPERSTEPS_H
#define DT_PASS_SUPERSTEPS_H

#include "graph/graph.h"

/* A part of the program without exchanges: a graph, and the nodes of the whole program that it
 * reads and computes. */
typedef struct dt_superstep {
    dt_graph *graph;
    /* in: [n_in] for each argument of `graph`, the node of the whole program whose value it
     * receives, which may itself be an argument. out: [n_out] for each result of `graph`, the node
     * of the whole program whose value it is */
    int n_in, *in;
    int n_out, *out;
} dt_superstep;

typedef struct dt_supersteps {
    dt_arena *arena;
    int n;
    /* [n] the parts in the order in which they run; the last one updates the variables */
    dt_superstep *step;
    /* [nodes of the whole graph] for an exchange between workers, index in `step` of the part after
     * which it is made; -1: not an exchange */
    int *exchange_after;
} dt_supersteps;

/* Whether g has nodes that exchange values between workers. */
bool dt_has_exchanges(const dt_graph *g);
/* Divides g, the program of one worker, at its exchanges. first: index of the worker's first row
 * among the rows of all workers, which becomes a constant in the parts. The caller releases *out
 * with dt_supersteps_release, unless there is an error. */
dt_status *dt_supersteps_create(const dt_graph *g, int64_t first, dt_supersteps *out) DT_MUST_USE;
void dt_supersteps_release(dt_supersteps *s); /* Frees the parts; s may be all zeros. */

#endif
