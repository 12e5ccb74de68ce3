/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closures of a parameter server: which worker has which number, and which push may be applied.
 * The table contains neither processes nor weights, so its guarantees can be tested separately:
 *
 *  - every number of a window [first, end) is applied exactly once, even if workers are lost or
 *    late;
 *  - a push is applied at most `staleness` updates after its pull. Each closure that is out has a
 *    deadline, its version + staleness. Pushes are applied in the order of arrival, unless the
 *    deadlines of the others could then not be met;
 *  - in order: number n pulls the version n - staleness and is applied as the n-th, so the weights
 *    are the same for any number of workers.
 *
 * A version is the number of updates that weights have seen, so the n-th update makes version n + 1
 * of version n.
 */
#ifndef DT_STRATEGY_CLOSURES_H
#define DT_STRATEGY_CLOSURES_H

#include <stdbool.h>
#include <stdint.h>

#include "dtrain.h"

#define DT_ANY_STALENESS (-1)

typedef enum dt_closure_state {
    DT_CLOSURE_LOST,
    DT_CLOSURE_OUT,
    DT_CLOSURE_PUSHED
} dt_closure_state;
typedef struct dt_closure {
    int64_t number, version; /* version: the one that it pulled */
    int worker;
    dt_closure_state state;
} dt_closure;

typedef struct dt_closures {
    int64_t staleness; /* DT_ANY_STALENESS: no limit */
    bool in_order;
    int64_t first, end;    /* numbers of the window; those from `next` on have not been given out */
    int64_t next, version; /* version: updates applied, of all windows */
    int n, cap;
    /* [n] given out and not applied, in the order in which they were given */
    dt_closure *closure;
    int64_t again, dropped; /* closures that were given out again; pushes that were not wanted */
    /* updates by the number of others between pull and push; the last bin counts all that are
     * older */
    int64_t stale[DT_STALENESS_BINS];
} dt_closures;

void dt_closures_release(dt_closures *c);
/* Begins the window [first, end) with weights of version `first`. No closure may be out. */
void dt_closures_begin(dt_closures *c, int64_t first, int64_t end);
/* Extends the window by one number, and returns it. */
int64_t dt_closures_extend(dt_closures *c);
/* Ends the window at `next`: only lost closures are still given out. */
void dt_closures_drain(dt_closures *c);
/* The same, and removes lost closures: those that a worker has or has pushed remain. */
void dt_closures_cancel(dt_closures *c);
/* Removes a closure without an update: it failed, or changes no weights. */
void dt_closures_drop(dt_closures *c, int64_t number);
/* Whether all closures of the window are finished. */
bool dt_closures_rest(const dt_closures *c);
/* Gives the next closure to an idle worker, with the version to pull. Lost closures come first.
 * False: no closure can be given now. */
bool dt_closures_give(dt_closures *c, int worker, dt_closure *out);
/* For a worker that reads weights later than it was given the closure: *version is the one that it
 * gets. False: the worker no longer has the closure. */
bool dt_closures_pull(dt_closures *c, int worker, int64_t number, int64_t *version);
/* Records a worker's push. False: the worker no longer has the closure, or it has been applied; the
 * push is dropped. */
bool dt_closures_push(dt_closures *c, int worker, int64_t number);
/* Marks the worker's closures as lost, to be given out again, and returns their number. Its pushes
 * stay. */
int dt_closures_lose(dt_closures *c, int worker);
/* The push to be applied now; NULL: none can be applied yet. Valid until the next call. */
const dt_closure *dt_closures_ready(const dt_closures *c);
/* Records that the closure has been applied, which makes a new version. Returns the number of
 * updates since its pull. */
int64_t dt_closures_applied(dt_closures *c, int64_t number);
/* Bins of `stale` up to the last one that counts something. */
int dt_closures_bins(const dt_closures *c);
/* The oldest version that may still be pulled. */
int64_t dt_closures_oldest(const dt_closures *c);

#endif
