/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes of a step: the reference interpreter's, replica by replica, and how far another way of
 * running it is from that. */
#ifndef TESTS_SUPPORT_OUTCOME_H
#define TESTS_SUPPORT_OUTCOME_H

#include "feed.h"

/* What a folded graph gave: results in the order of the graph, updates by state, data NULL where
 * unchanged. */
typedef struct outcome {
    const dt_view *result, *update;
    const dt_replication *spread; /* of results */
} outcome;

typedef struct difference {
    double size;
    char what[64]; /* "result 'loss' of replica 2" */
} difference;

/* The unfolded step, replica after replica: the oracle. Fails the test when it cannot run. */
dt_interpretation oracle_run(const random_graph *g, const feed *f);
/* The largest difference of the two. */
difference outcome_difference(const random_graph *g, const feed *f, const dt_interpretation *oracle,
                              const outcome *o);
/*
 * Fails the test when the outcome is further than `tolerance` from the oracle, naming seed and
 * value. Steps that change about as much by themselves when they are fed 1 part in 100,000 more or
 * less (a maximum that changes hands) are not worth comparing: false.
 */
bool expect_outcome(const random_graph *g, const feed *f, const dt_interpretation *oracle,
                    const outcome *o, double tolerance);

#endif
