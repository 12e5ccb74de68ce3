/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What random steps are fed, what they give according to the reference interpreter, and how two
 * outcomes are compared. An outcome has per-replica results and the variables' new values.
 */
#ifndef TESTS_SUPPORT_FEED_H
#define TESTS_SUPPORT_FEED_H

#include "op/op.h"
#include "pass/pass.h"
#include "random_graph.h"

enum { MOST_REPLICAS = 8 };

typedef struct feed {
    int replicas, n_args;
    int64_t batch[MOST_REPLICAS], total;
    int32_t offsets[MOST_REPLICAS + 1];
    dt_view *arg; /* [replicas][n_args] owned; shared by all replicas where not distributed */
} feed;

/* Arguments for g; batch[r] rows for replica r. */
feed feed_make(const random_graph *g, uint64_t seed, int replicas, const int64_t *batch);
/* The rows of `from`, in order, dealt anew: what one data set gives to other replicas. batch[] has
 * the same sum. */
feed feed_deal(const random_graph *g, const feed *from, int replicas, const int64_t *batch);
void feed_release(feed *f);
/* All values a little larger or smaller: results that change much by it are not worth comparing. */
void feed_scale(feed *f, double by);

/* The arguments of the folded graph: rows one below the other, stacked values side by side. Release
 * with views_release. */
dt_view *feed_folded(const feed *f, const dt_folded *folded);
void views_release(dt_view *v, int n);
/* What a folded graph sees of the run besides. */
dt_env feed_env(const feed *f);

/* Replica r's part of a folded result; its memory is the result's. */
dt_view folded_part(const feed *f, const dt_view *v, dt_replication spread, int replica);

/* The largest difference of two arrays of one type, relative to 1 + |b|; NaN and infinities must
 * agree. INFINITY: other types. */
double views_difference(const dt_view *a, const dt_view *b);
bool views_identical(const dt_view *a, const dt_view *b);

#endif
