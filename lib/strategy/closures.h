/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closures of a parameter server. A closure is a numbered unit of work: it pulls a version of
 * the weights, and its push updates them. This table records which worker has which closure, and
 * decides which push may be applied. It contains neither processes nor weights, so its guarantees
 * can be tested separately:
 *
 *  - Every number of a window [first, end) is applied exactly once, even if workers are lost or
 *    late, unless its closure is dropped or cancelled.
 *  - A push is applied at most `staleness` updates after its pull, unless that is DT_ANY_STALENESS.
 *    So each closure that a worker has must be applied by the deadline version + staleness. Without
 *    in_order, a push is applied when it arrives, unless others could then not meet their
 *    deadlines; of those that wait, the one with the oldest version is applied first.
 *  - With in_order, number n pulls the version n - staleness, but at least `first`, and turns
 *    version n into n + 1, so the weights are the same for any number of workers.
 *
 * A version is the number of updates that weights have seen, so an update turns version n into
 * version n + 1.
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
    /* number: the closure's number; version: of the weights that it pulls */
    int64_t number, version;
    int worker;
    dt_closure_state state;
} dt_closure;

typedef struct dt_closures {
    /* the most updates between a closure's pull and its update; DT_ANY_STALENESS: no limit */
    int64_t staleness;
    bool in_order;
    /* The window of numbers, [first, end). Numbers from `next` on have not been given out yet. */
    int64_t first, end;
    /* version: that of the weights, which dt_closures_begin sets and each update raises by one;
     * next: the next number to give out */
    int64_t next, version;
    int n, cap;
    /* [n] The closures that were given out and neither applied nor removed yet. Without in_order,
     * the oldest version comes first. */
    dt_closure *closure;
    /* again: how many closures were given out again; dropped: how many pushes were dropped */
    int64_t again, dropped;
    /* Histogram of staleness: stale[i] updates came i updates after their pull. The last bin also
     * counts longer delays. */
    int64_t stale[DT_STALENESS_BINS];
} dt_closures;

void dt_closures_release(dt_closures *c);
/* Begins the window [first, end). The weights have version `first`. No worker may still have a
 * closure of an earlier window. */
void dt_closures_begin(dt_closures *c, int64_t first, int64_t end);
/* Extends the window by one number, and returns that number. */
int64_t dt_closures_extend(dt_closures *c);
/* Ends the window at `next`: no new numbers are given out, but lost closures are given out
 * again. */
void dt_closures_drain(dt_closures *c);
/* Does what dt_closures_drain does, and also removes lost closures. Closures that a worker has or
 * has pushed remain. */
void dt_closures_cancel(dt_closures *c);
/* Removes a closure without an update, because it failed or changes no weights. */
void dt_closures_drop(dt_closures *c, int64_t number);
/* Whether all closures of the window are finished. */
bool dt_closures_rest(const dt_closures *c);
/* Gives a closure to an idle worker, and sets out->version to the version that it must pull. Lost
 * closures come first. Returns false if no closure can be given out now. */
bool dt_closures_give(dt_closures *c, int worker, dt_closure *out);
/* For a worker that reads the weights later than it got the closure: sets *version to the version
 * that it gets. Returns false if the worker no longer has the closure. */
bool dt_closures_pull(dt_closures *c, int worker, int64_t number, int64_t *version);
/* Records a worker's push. Returns false if the push must be dropped, because the worker no longer
 * has the closure or the closure has been applied. */
bool dt_closures_push(dt_closures *c, int worker, int64_t number);
/* Marks the closures that a worker has as lost, so that they are given out again, and returns how
 * many these are. Closures that it has pushed are kept. */
int dt_closures_lose(dt_closures *c, int worker);
/* Returns the closure whose push must be applied next; NULL: none can be applied yet. Valid
 * until the next call. */
const dt_closure *dt_closures_ready(const dt_closures *c);
/* Records that a closure has been applied, which makes a new version. Returns the number of
 * updates since its pull. */
int64_t dt_closures_applied(dt_closures *c, int64_t number);
/* Returns the number of bins of `stale` up to the last one that is not 0. */
int dt_closures_bins(const dt_closures *c);
/* Returns the lowest number that is not finished; `next` if all that were given out are. */
int64_t dt_closures_first(const dt_closures *c);
/* Returns the oldest version that a closure may be given from now on. */
int64_t dt_closures_oldest(const dt_closures *c);

#endif
