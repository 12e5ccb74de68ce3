/* SPDX-License-Identifier: Apache-2.0 */
/* What workers exchange in a run of an executable, in an order that is the same on all of them: see
 * exchange.c. */
#ifndef DT_EXEC_EXCHANGE_H
#define DT_EXEC_EXCHANGE_H

#include "exec/exec_impl.h"

/* travels for a millisecond and more, where a message costs tens of microseconds */
enum { DT_BUCKET_BYTES = 4 << 20 };

typedef struct dt_exchanges dt_exchanges;

/* Nodes whose values travel together. */
typedef struct dt_exchange {
    const dt_kernel *kernel; /* of all of them */
    int n, *node;
    void *item; /* [n] of the kernel's item_bytes: where `carry` lists them for the fabric */
    int from;   /* the segment in which the last of it is made */
    int parts;  /* tasks that make what it takes */
    _Atomic int missing; /* of the run: those that have not ended */
    int mark;            /* what it is called in a recording */
} dt_exchange;

/* Of an executable whose nodes have kernels: lists its exchanges; which tasks make what they take.
 * x->exchanges stays NULL where there are none. */
void dt_exchanges_list(dt_exec *x);
/* Whether a thread of their own carries them while lanes compute. */
bool dt_exchanges_go_beside(const dt_exec *x);
/* When it is known whose memory values are, and from when to when: takes that of sums earlier. */
void dt_exchanges_keep_memory(dt_exec *x);
/* The turn of a group's tasks in their segment: those that feed exchanges come first, in the order
 * of these. */
int dt_exchanges_turn(const dt_exec *x, const dt_group *group);
/* Makes the marks of a recording. */
void dt_exchanges_mark(dt_exec *x);
void dt_exchanges_close(dt_exec *x);

/* ---- during a run ---- */

void dt_exchanges_begin(dt_exec *x);
/* By the task whose step `node` is, on a lane: it has been carried when this returns. */
void dt_exchanges_reach(dt_exec *x, int node, int lane);
/* A task of the group has ended. */
void dt_exchanges_feed(dt_exec *x, const dt_group *group);
/* All are done; x->failure says whether well. */
void dt_exchanges_end(dt_exec *x);

#endif
