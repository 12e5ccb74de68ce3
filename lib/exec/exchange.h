/* SPDX-License-Identifier: Apache-2.0 */
/* The exchanges between workers during a run of an executable, in an order that is the same on
 * all workers: see exchange.c. */
#ifndef DT_EXEC_EXCHANGE_H
#define DT_EXEC_EXCHANGE_H

#include "exec/exec_impl.h"

/* an exchange of this many bytes takes a millisecond or more, whereas a message takes tens of
 * microseconds */
enum { DT_BUCKET_BYTES = 4 << 20 };

typedef struct dt_exchanges dt_exchanges;

/* Nodes whose values are exchanged together. */
typedef struct dt_exchange {
    const dt_kernel *kernel; /* the kernel that all its nodes have */
    int n, *node;
    /* [n] entries of kernel->item_bytes: the list that `carry` passes to the room net */
    void *item;
    int from;            /* the segment in which the last of its inputs is computed */
    int parts;           /* number of tasks that compute its inputs */
    _Atomic int missing; /* number of these tasks that have not ended in the current run */
    int mark;            /* number of its span in recordings */
} dt_exchange;

/* Lists the exchanges of an executable, and the tasks that compute their inputs. x->exchanges
 * remains NULL if there are none. */
void dt_exchanges_list(dt_exec *x);
/* Whether a separate thread runs exchanges while lanes compute. */
bool dt_exchanges_go_beside(const dt_exec *x);
/* Called when the memory and the lifetimes of values are known: extends the lifetimes of sums
 * that are exchanged, which are written earlier. */
void dt_exchanges_keep_memory(dt_exec *x);
/* Returns the priority of a group's tasks in their segment. Tasks that compute inputs of exchanges
 * come first, in the order of the exchanges. */
int dt_exchanges_turn(const dt_exec *x, const dt_group *group);
/* Registers the spans of exchanges in a recording. */
void dt_exchanges_mark(dt_exec *x);
void dt_exchanges_close(dt_exec *x);

/* ---- during a run ---- */

void dt_exchanges_begin(dt_exec *x);
/* Called by the task whose step is `node`, on a lane. Returns when the exchange of the node is
 * done. */
void dt_exchanges_reach(dt_exec *x, int node, int lane);
/* Called when a task of the group has ended. */
void dt_exchanges_feed(dt_exec *x, const dt_group *group);
/* Waits for all exchanges. If one has failed, x->failure is set. */
void dt_exchanges_end(dt_exec *x);

#endif
