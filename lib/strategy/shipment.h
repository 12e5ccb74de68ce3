/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What travels between coordinator and workers: variables, one after the other; on the way back, in
 * the same places, what a step computed for each (its gradient), and of state that the step moved
 * by itself the difference. So such state (means and variances of BatchNormalization, counters) is
 * moved by all workers.
 */
#ifndef DT_STRATEGY_SHIPMENT_H
#define DT_STRATEGY_SHIPMENT_H

#include "fabric/servers.h"
#include "strategy/strategy.h"

typedef struct dt_shipment {
    dt_extents slices;
    int n;
    dt_variable *const *variable; /* [n] lent */
    int64_t *offset, *bytes;      /* [n] */
} dt_shipment;

/* The two halves of a step: a worker's, whose results are values for variables, and the
 * coordinator's, whose arguments they are. */
typedef struct dt_halves {
    int *result, *argument; /* [n] of each variable; -1: none */
    bool *moves;            /* [n] it comes back as the difference that the step made */
} dt_halves;

dt_status *dt_shipment_make(dt_shipment *s, dt_arena *arena, dt_variable *const *variable, int n,
                            const dt_servers_spec *how) DT_MUST_USE;
/* No result, no argument, and nothing moves. */
dt_halves dt_halves_none(dt_arena *arena, int n);
/* NOT_YET: a variable moves whose differences cannot be added up, or takes values of another
 * type. */
dt_status *dt_halves_check(const dt_halves *h, const dt_shipment *s,
                           const dt_graph *worker) DT_MUST_USE;

/* From the variables into a message; the way back. */
dt_status *dt_shipment_pack(const dt_shipment *s, char *into) DT_MUST_USE;
void dt_shipment_unpack(const dt_shipment *s, const char *from);
/* What a step did: values from its results, and how far state has moved since `before`. */
dt_status *dt_shipment_pack_step(const dt_shipment *s, const dt_halves *h, const dt_view *result,
                                 const char *before, char *into) DT_MUST_USE;
/* The coordinator's half. argument[args] is filled and lent from `from`, result[results] is
 * room. */
dt_status *dt_shipment_apply(const dt_shipment *s, const dt_halves *h, dt_compiled *update,
                             dt_view *argument, dt_view *result, char *from) DT_MUST_USE;

#endif
