/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes values by calling a function once per replica. They are combined by name, as run combines
 * results. A strategy that distributes nothing calls the function once and keeps single values.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/values.h"

typedef struct making {
    dt_strategy *strategy;
    dt_value_fn fn;
    void *user;
    int n;          /* number of calls */
    dt_values **of; /* [n] the values that each call returned */
} making;

static dt_status *call_function(making *m, int replica) {
    const dt_value_context context = {replica, m->n};

    DT_TRY(dt_values_create(&m->of[replica]));
    dt_status *s = m->fn(&context, m->of[replica], m->user);
    return s ? dt_note(s, "in the values of replica %d", replica) : NULL;
}

static dt_status *same_paths(const making *m, int replica) {
    const dt_values *first = m->of[0], *v = m->of[replica];

    if (v->n != first->n)
        return dt_fail(DT_E_STRUCTURE, NULL,
                       "the function set %d value%s for replica %d, but %d for replica 0", v->n,
                       v->n == 1 ? "" : "s", replica, first->n);
    for (int i = 0; i < v->n; i++)
        if (!dt_values_find(first, v->entry[i].name))
            return dt_fail(DT_E_STRUCTURE, NULL,
                           "the function set '%s' for replica %d, but not for replica 0",
                           v->entry[i].name, replica);
    return NULL;
}

static dt_status *regroup(const making *m, const char *name, dt_values *out) {
    dt_tensor **t = dt_alloc((size_t)m->n * sizeof *t);
    dt_status *s = NULL;

    for (int r = 0; r < m->n && !s; r++) {
        const dt_value_entry *e = dt_values_find(m->of[r], name);
        t[r] = dt_entry_local(e, 0);
        if (e->per_replica)
            s = dt_fail(
                DT_E_STRUCTURE, NULL,
                "the function set '%s' for replica %d to a value per replica; set a single tensor",
                name, r);
    }
    if (!s)
        s = m->strategy->row->plain ? dt_values_set(out, name, t[0])
                                    : dt_values_set_per_replica(out, name, t, m->n);
    free(t);
    return s;
}

static dt_status *make(making *m, dt_values **out) {
    dt_values *all = NULL;
    dt_status *s = NULL;

    for (int r = 0; r < m->n; r++) {
        DT_GO(s, call_function(m, r));
        DT_GO(s, same_paths(m, r));
    }
    DT_GO(s, dt_values_create(&all));
    for (int i = 0; i < m->of[0]->n; i++) DT_GO(s, regroup(m, m->of[0]->entry[i].name, all));
    dt_values_unref(*out);
    *out = all;
    return NULL;
out:
    dt_values_unref(all);
    return s;
}

dt_status *dt_strategy_values_from_function(dt_strategy *s, dt_value_fn fn, void *user,
                                            dt_values **out) {
    DT_LIVE(s);
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(s, "dt_strategy_values_from_function", "strategy"));
    DT_TRY(fn ? NULL : dt_want(NULL, "dt_strategy_values_from_function", "function"));
    DT_TRY(dt_want(out, "dt_strategy_values_from_function", "handle to fill"));
    making m = {.strategy = s, .fn = fn, .user = user, .n = s->replicas};
    m.of = dt_alloc((size_t)m.n * sizeof(dt_values *));
    dt_status *bad = make(&m, out);
    for (int r = 0; r < m.n; r++) dt_values_unref(m.of[r]);
    free(m.of);
    return bad;
}
