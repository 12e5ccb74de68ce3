/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that are divided among workers (`partition: {over_replicas: optimizer}` or `weights`).
 * Each worker keeps its rows of a slot or weight in a variable of its own, the part, which steps
 * use instead of the whole variable. The whole variable keeps its address, but while the parts are
 * newer, the memory pages within it are given back to the system:
 *
 *  - After the host has written it (zeros, or a checkpoint), the next step copies this worker's
 *    rows to the part.
 *  - When the host reads it, for example for a checkpoint, the rows of all workers are collected:
 *    slots on worker 0, weights on every worker. All workers must ask for variables in the same
 *    order.
 */
#ifndef DT_STRATEGY_DIVIDED_H
#define DT_STRATEGY_DIVIDED_H

#include "strategy/cluster.h"
#include "graph/graph.h"
#include "pass/spmd.h"

typedef struct dt_divided dt_divided;

/* Whether v can be divided among this many workers, with at least one row for each. Slots can if
 * they have the shape of their weight and host code does not change them on every worker. With
 * DT_OVER_WEIGHTS, trainable weights of 2 or more dimensions and at least 64 KiB can, too. */
bool dt_divided_fits(const dt_variable *v, dt_over_replicas over, int workers);
/* Sets *out to this worker's part of v, which the first call creates. The variable owns the
 * part. */
dt_status *dt_divided_make(dt_divided **out, dt_variable *v, dt_cluster *c) DT_MUST_USE;
dt_variable *dt_divided_own(const dt_divided *p);
const dt_variable *dt_divided_whole(const dt_divided *p);
/* Call this before a step that uses p. If the host has written the variable, its new values are
 * copied to the part. */
void dt_divided_ready(dt_divided *p);
/* Call this after a step that has changed p. The part is then newer than the whole variable. */
void dt_divided_changed(dt_divided *p);

/* Collects all weights in v that are divided, on every worker. All workers must call this, before
 * they use whole weights. */
dt_status *dt_divided_put_together(dt_variable *const *v, int n) DT_MUST_USE;

/* Returns how many bytes of v this process keeps between two checkpoints: those of v or, if v is
 * divided, of its part. */
int64_t dt_divided_bytes(const dt_variable *v);

#endif
