/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that workers keep in parts (`partition: {over_replicas: optimizer}`, or weights): each
 * has its rows of a slot or of a weight, and steps see these alone. The whole one keeps its address
 * but, between two checkpoints, no memory:
 *
 *     host writes (zeros, a checkpoint)  ->  the next step takes own rows, the memory of all rows is given back
 *     host reads (a checkpoint)          ->  worker 0 gets the rows of all, of weights every worker; all workers must ask, in the same order
 */
#ifndef DT_STRATEGY_DIVIDED_H
#define DT_STRATEGY_DIVIDED_H

#include "strategy/cluster.h"
#include "graph/graph.h"
#include "pass/spmd.h"

typedef struct dt_divided dt_divided;

/* Whether v is divided over so many workers, each of which gets at least a row: a slot that has its
 * weight's shape and is not changed by host code on every worker. With DT_OVER_WEIGHTS also a
 * trained matrix of at least 64 KiB. */
bool dt_divided_fits(const dt_variable *v, dt_over_replicas over, int workers);
/* The part of v, which is made on the first call. The variable owns it. */
dt_status *dt_divided_make(dt_divided **out, dt_variable *v, dt_cluster *c) DT_MUST_USE;
dt_variable *dt_divided_own(const dt_divided *p);
const dt_variable *dt_divided_whole(const dt_divided *p);
/* Before a step: takes over values that the host has written. */
void dt_divided_ready(dt_divided *p);
/* After it: the part is newer. */
void dt_divided_changed(dt_divided *p);

/* Before anything that every worker does alone with weights: those of v that are kept in parts are
 * put together on all of them. All must call it. */
dt_status *dt_divided_put_together(dt_variable *const *v, int n) DT_MUST_USE;

/* Bytes that this process keeps of any variable between two checkpoints: all, or its part. */
int64_t dt_divided_bytes(const dt_variable *v);

#endif
