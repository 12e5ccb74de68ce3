/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random steps: what a step function might trace, drawn from a seed, for tests that run one graph
 * in two ways. Values stay tame (no overflow, few of them large), and whatever is compared or
 * chosen by is fed as it is, so that two ways which round differently choose alike.
 */
#ifndef TESTS_SUPPORT_RANDOM_GRAPH_H
#define TESTS_SUPPORT_RANDOM_GRAPH_H

#include "op/op.h"

typedef enum random_kind {
    /* layers, a loss, an optimizer, metrics: what fit and custom loops do; no update depends on
     * how rows are dealt out */
    RANDOM_FIT,
    RANDOM_SOUP, /* that, and random ops between: everything that can be folded */
    RANDOM_WILD, /* that, and ops that no folded form is promised for */
    /* as RANDOM_SOUP, with weights of 128,000 elements, which a program cuts into slices */
    RANDOM_WIDE,
    /* as RANDOM_FIT, with a stack of blocks that are the same but for their variables, and one
     * optimizer for all of these */
    RANDOM_BLOCKS,
    /* as RANDOM_SOUP, with convolutions over images whose rows and columns can be cut in 2, 3, 4 */
    RANDOM_IMAGES
} random_kind;

typedef struct random_graph {
    uint64_t seed;
    dt_graph *graph;
    bool distributed[16]; /* by argument: one value per replica */
    int64_t classes;      /* labels are below it */
    int n_variables;
    dt_variable *variable[256]; /* owned */
} random_graph;

random_graph *random_graph_draw(random_kind kind, uint64_t seed);
void random_graph_destroy(random_graph *g);
/* Draws all variables anew: the same values for the same seed. */
void random_graph_reset(const random_graph *g);

#endif
