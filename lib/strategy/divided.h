/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that workers keep in parts (`partition: {over_replicas: optimizer}`): each has its rows of a slot, and steps see these alone. The whole one keeps
 * its address but, between two checkpoints, no memory:
 *
 *     host writes (zeros, a checkpoint)  ->  the next step takes own rows, the memory of all rows is given back
 *     host reads (a checkpoint)          ->  worker 0 gets the rows of all; all workers must ask, in the same order
 */
#ifndef DT_STRATEGY_DIVIDED_H
#define DT_STRATEGY_DIVIDED_H

#include "strategy/cluster.h"
#include "graph/graph.h"

typedef struct dt_divided dt_divided;

/* Whether v is one of them, for so many workers: a slot with a row for each, of its weight's shape, that no host code changes on every worker. */
bool dt_divided_fits(const dt_variable *v, int workers);
/* The part of v, made when first asked for; it hangs on the variable. */
dt_status *dt_divided_make(dt_divided **out, dt_variable *v, dt_cluster *c) DT_MUST_USE;
dt_variable *dt_divided_own(const dt_divided *p);
const dt_variable *dt_divided_whole(const dt_divided *p);
/* Before a step: takes what the host has written. */
void dt_divided_ready(dt_divided *p);
/* After it: the part is newer. */
void dt_divided_changed(dt_divided *p);

/* Bytes that this process keeps of any variable between two checkpoints: all, or its part. */
int64_t dt_divided_bytes(const dt_variable *v);

#endif
