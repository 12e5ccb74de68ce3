/* SPDX-License-Identifier: Apache-2.0 */
/* A step cut over devices, run both ways: the program of one device in lockstep on all, and all
 * devices' work as one graph. */
#ifndef TESTS_SUPPORT_CUT_H
#define TESTS_SUPPORT_CUT_H

#include "pass/spmd.h"

typedef struct cut {
    const char *name;      /* of the case, for messages; lent */
    const dt_graph *noted; /* the whole step with its notes; lent */
    dt_spmd *spmd;
    dt_graph *expanded;
} cut;

/* Fails the test when that fails, as all here do. */
cut cut_make(const dt_graph *noted, const dt_spmd_options *o, const char *name);
void cut_release(cut *c);
/*
 * The program in lockstep, arg[] being the whole step's arguments, gives the parts of result[] and
 * update[] (the whole step's). Releases nothing. env may be NULL. What another device has is zeros;
 * before, it is looked at that what runs on one device reads what that one has.
 */
void cut_expect_lockstep(const cut *c, const dt_env *env, const dt_view *arg, const dt_view *result,
                         const dt_view *update, double tolerance);
/* How often `op` stands in the program; NULL: any collective. */
int cut_count(const cut *c, const dt_op *op);

#endif
