/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules: the moves of a collective, written out, and what they cost move by move. The prices of
 * lib/coll, which write nothing out, are compared with them.
 */
#ifndef TESTS_SCHEDULES_H
#define TESTS_SCHEDULES_H

#include "coll/irregular.h"
#include "coll/coll.h"
#include "coll/torus.h"

/* Chunks first .. first + chunks - 1 of rank `from` replace those of rank `to`, or are added to
 * them. A rank sends what it had before the round. */
typedef struct dt_schedule_move {
    int round;
    int from, to; /* ranks */
    int first, chunks;
    bool add;
    int color, phase; /* colours wait for each other between phases only: see coll/torus.h */
} dt_schedule_move;

typedef struct dt_schedule {
    char name[48]; /* "ring" */
    dt_collective collective;
    /* One message for each pair of ranks that exchanges anything, so that no round hides the way of
     * the first byte. */
    bool direct;
    int ranks, chunks, rounds;
    int colors; /* at least 1 */
    /* [chunks]: the rank that has the chunk before an all-gather, all_to_all or broadcast, and after
     * a reduce-scatter. all_to_all: chunk i * ranks + j goes from rank i to rank j.
     * collective_permute: the only chunk of each rank is its own. */
    int *owner;
    dt_schedule_move *move; /* by round */
    int moves;
} dt_schedule;

/* A schedule that is being written. The moves of an all_gather, reduce_scatter or all_reduce are
 * those of the all-gather. */
typedef struct dt_draft {
    const char *name;
    dt_collective collective;
    bool direct;
    int ranks, chunks;
    int colors;             /* 0 counts as 1 */
    int *owner;             /* [chunks] */
    dt_schedule_move *move; /* in any order */
    int moves, cap;
} dt_draft;
void dt_draft_add(dt_draft *d, dt_schedule_move move);
/* Takes what the draft owns. */
dt_schedule *dt_schedule_of_draft(dt_draft *d);

typedef struct dt_schedule_spec {
    dt_collective collective; /* all_gather, reduce_scatter or all_reduce */
    const char *algorithm;    /* a row of coll/algorithms.c */
    int ranks;                /* for halving a power of two */
    /* The rank at each position of the ring (dt_assignment_ring); NULL: 0, 1, 2, ... */
    const int *order;
} dt_schedule_spec;
dt_schedule *dt_schedule_create(const dt_schedule_spec *spec);
void dt_schedule_destroy(dt_schedule *s); /* accepts NULL */
/* The first element of chunk c of a buffer of n elements; chunk s->chunks begins at n. Chunks differ
 * by at most one element. */
int64_t dt_chunk_begin(const dt_schedule *s, int64_t n, int c);

/* A torus schedule for one group, whose ranks are at place[ranks][4]. */
dt_schedule *dt_torus_schedule(const dt_torus *s, dt_collective c, const int *place);
/* all_to_all and collective_permute of one group. */
dt_schedule *dt_direct_schedule(dt_collective c, int ranks);
/* A broadcast down the tree of dt_branch_to. */
dt_schedule *dt_tree_schedule(const dt_collective_request *x, const dt_grid *grid, int pieces);
/* The price for a buffer of `bytes` (the whole one: of an all-gather the result). A round lasts as
 * long as its slowest link or message: max(bytes on a link / link_Bps, hops * hop_s), of a direct
 * one their sum; rounds follow each other. Colours go through the rounds of a phase at their own
 * pace; a phase lasts as long as its slowest colour, or the link that carries most of all colours
 * together. */
dt_wire_price dt_schedule_cost(const dt_schedule *s, double bytes, const dt_wires *wires);

#endif
