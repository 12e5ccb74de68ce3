/* SPDX-License-Identifier: Apache-2.0 */
/* The exchanges between workers during a run of an executable, in an order that is the same on
 * all workers: see exchange.c. */
#ifndef DT_EXEC_EXCHANGE_H
#define DT_EXEC_EXCHANGE_H

#include "exec/exec_impl.h"

/* default of dt_engine.bucket_bytes: exchanging so many bytes usually takes milliseconds, so the
 * tens of microseconds that each message costs matter little */
enum { DT_BUCKET_BYTES = 4 << 20 };

typedef struct dt_exchanges dt_exchanges;

/* One exchange between workers: the nodes whose values are sent together. */
typedef struct dt_exchange {
    const dt_kernel *kernel; /* the kernel that computes all nodes of the exchange */
    int n, *node;
    /* [n] entries of kernel->item_bytes bytes each: the list that kernel->carry passes to
     * lib/net */
    void *item;
    int from;  /* index of the segment at whose end all inputs of the exchange have been computed */
    int parts; /* number of tasks that compute inputs of this exchange */
    /* number of the tasks counted in `parts` that have not ended in the current run */
    _Atomic int missing;
    int mark; /* the recorder's number for the span that records this exchange */
} dt_exchange;

/* Lists the exchanges of an executable, and the tasks that compute their inputs. x->exchanges
 * remains NULL if there are none. */
void dt_exchanges_list(dt_exec *x);
/* Whether a separate thread runs exchanges while lanes compute. */
bool dt_exchanges_go_beside(const dt_exec *x);
/* Called when the homes and the lifetimes of values are known, but not yet their offsets. If a
 * separate thread runs exchanges, their results are written earlier than planned, so the lifetimes
 * of these are extended. If a result is not in the arena, no separate thread is used. */
void dt_exchanges_keep_memory(dt_exec *x);
/* Returns the `turn` of a group's tasks, by which the tasks of a segment are ordered: tasks that
 * compute inputs of exchanges come first, in the order of the exchanges. 0 for all groups if no
 * separate thread runs exchanges. */
int dt_exchanges_turn(const dt_exec *x, const dt_group *group);
/* Registers a track, and a span for each exchange, with the engine's recorder, if a separate thread
 * runs exchanges. */
void dt_exchanges_mark(dt_exec *x);
void dt_exchanges_close(dt_exec *x);

/* ---- during a run ---- */

void dt_exchanges_begin(dt_exec *x);
/* Called by the task whose step is `node`, on a lane. Returns when the exchange of the node is
 * done, or one has failed. Without a separate thread, makes this exchange, and those before it that
 * are not made yet. */
void dt_exchanges_reach(dt_exec *x, int node, int lane);
/* Called when a task of the group has ended. */
void dt_exchanges_feed(dt_exec *x, const dt_group *group);
/* Waits until the separate thread, if there is one, has made all exchanges. If an exchange has
 * failed, x->failure is set. */
void dt_exchanges_end(dt_exec *x);

#endif
