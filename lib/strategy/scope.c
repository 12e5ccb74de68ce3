/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The current strategy. As in tf.distribute it belongs to the thread: a stack of entered scopes,
 * below which is the strategy that dt_set_strategy has set or, without one, the default strategy. A
 * thread also keeps the error of a scope that could not be entered (base/status.c). When the thread
 * ends, this error and the strategies below the scopes are freed.
 */
#include "strategy/place.h"

#include <pthread.h>

enum { MAX_DEPTH = 64 };

typedef struct context {
    dt_strategy *fallback; /* the default strategy, created when first needed */
    dt_strategy *global;   /* the strategy that dt_set_strategy has set; NULL: none */
    int depth;
    dt_strategy *entered[MAX_DEPTH];
    dt_context where;
    /* The trace of the step function that is running in this thread; NULL: no step function is
     * running. */
    dt_trace *trace;
} context;

static _Thread_local context current;

/* ---- when a thread ends ---- */

static pthread_key_t key;

static void forget(void *thread) {
    const context *c = thread;
    dt_status_free(dt_status_kept());
    dt_strategy_unref(c->fallback);
    dt_strategy_unref(c->global);
}

static int key_error; /* errno of pthread_key_create; 0: the key was created */

static void make_key(void) { key_error = pthread_key_create(&key, forget); }

/* Arranges that this thread's state is freed when the thread ends, with the default strategy, which
 * may have threads. If there is not enough memory for that, the next public call reports the error,
 * and the state is not freed. */
static void forget_at_end(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_key);
    if (key_error || pthread_setspecific(key, &current) != 0)
        dt_status_keep(dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for what a thread keeps"));
}

/* Keeps the error s for the next public call, unless an earlier error is kept already; then frees
 * s. s NULL: keeps none. Arranges that the error is freed when the thread ends. */
static void keep_error(dt_status *s) {
    forget_at_end();
    dt_status_keep(s);
}

/* ---- the current scope ---- */

dt_context dt_context_now(void) { return current.where; }

dt_trace *dt_context_trace(dt_trace *t) {
    dt_trace *before = current.trace;
    current.trace = t;
    return before;
}

dt_context dt_context_enter(dt_context c) {
    dt_context before = current.where;
    current.where = c;
    return before;
}

dt_strategy *dt_get_strategy(void) {
    if (current.depth > 0) return current.entered[current.depth - 1];
    if (current.global) return current.global;
    if (!current.fallback)
        keep_error(
            dt_strategy_open(&current.fallback, &(dt_strategy_spec){.row = &dt_strategy_default_}));
    return current.fallback;
}

bool dt_has_strategy(void) {
    const dt_strategy *s = dt_get_strategy();
    return s && !s->row->is_default;
}

bool dt_in_cross_replica_context(void) {
    return current.where == DT_IN_MERGE ||
           (current.where == DT_OUTSIDE && (current.depth > 0 || current.global));
}

bool dt_get_replica_context(dt_replica_context *out) {
    const dt_strategy *s = dt_get_strategy();

    if (dt_in_cross_replica_context() || !s) return false;
    if (out)
        *out = (dt_replica_context){.strategy = s,
                                    .trace = current.trace,
                                    .num_replicas_in_sync = s->replicas,
                                    .replica_id_in_sync_group = current.trace ? -1 : 0};
    return true;
}

dt_status *dt_set_strategy(dt_strategy *s) {
    DT_LIVE(s);
    DT_TRY(dt_status_kept());
    if (current.depth > 0 || current.where != DT_OUTSIDE)
        return dt_fail(DT_E_SCOPE, NULL,
                       "dt_set_strategy must not be called inside a scope or a step function");
    forget_at_end();
    if (s && !s->row->is_default) dt_strategy_ref(s);
    else s = NULL;
    dt_strategy_unref(current.global);
    current.global = s;
    return NULL;
}

/* ---- entering and leaving ---- */

/* Checks that no other strategy's scope is open, and that dt_set_strategy has set no other
 * strategy. The default strategy does not count. */
dt_status *dt_scope_fits(const dt_strategy *s) {
    const dt_strategy *outer =
        current.depth > 0 ? current.entered[current.depth - 1] : current.global;

    if (!outer || outer == s || outer->row->is_default) return NULL;
    if (s->row->is_default)
        return dt_fail(
            DT_E_SCOPE, NULL,
            "cannot enter the default strategy's scope inside the scope of a %s strategy",
            outer->row->kind.name);
    return dt_fail(DT_E_SCOPE, NULL,
                   "mixing different strategies: the scope of a %s strategy is open (%s), but a "
                   "different %s strategy is entered or used (%s)",
                   outer->row->kind.name, outer->what, s->row->kind.name, s->what);
}

static dt_status *check_entering(const dt_strategy *s) {
    if (current.where == DT_IN_REPLICA)
        return dt_fail(DT_E_SCOPE, NULL,
                       "scopes, run and reduce cannot be used in a step function; use "
                       "dt_all_reduce to sum, or dt_merge_call to leave replica context");
    if (current.depth == MAX_DEPTH)
        return dt_fail(DT_E_SCOPE, NULL, "scopes are nested deeper than %d", MAX_DEPTH);
    return dt_scope_fits(s);
}

dt_scope dt_scope_enter(dt_strategy *strategy) {
    DT_LIVE(strategy);
    dt_status *s = strategy
                       ? check_entering(strategy)
                       : dt_fail(DT_E_SCOPE, NULL, "cannot enter a scope: no strategy was given");

    if (s) {
        keep_error(s);
        return (dt_scope){NULL};
    }
    current.entered[current.depth++] = dt_strategy_ref(strategy);
    return (dt_scope){strategy};
}

void dt_scope_leave(dt_scope *scope) {
    /* A scope that another thread entered, or a copy of one that was left, is not open here. */
    if (!scope || !scope->entered || current.depth == 0) return;
    current.depth--;
    dt_strategy_unref(scope->entered);
    scope->entered = NULL;
}
