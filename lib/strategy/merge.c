/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_call: calls a function in cross-replica context in the middle of a step. All replicas are
 * traced as one, so they reach it together, and a value of the trace already represents the value
 * of each replica. Nothing is copied; only the set of allowed calls changes.
 */
#include "op/op.h"
#include "strategy/values.h"

static const dt_value none = {0};

static dt_status *check_call(const dt_merge *m, bool has_function) {
    if (dt_context_now() == DT_IN_MERGE)
        return dt_fail(DT_E_SCOPE, NULL,
                       "dt_merge_call must be called in replica context, but this function runs in "
                       "cross-replica context");
    if (!has_function) return dt_want(NULL, "dt_merge_call", "function");
    if (m->n_in < 0 || m->n_out < 0)
        return dt_fail(DT_E_MISUSE, NULL,
                       "dt_merge_call got %d values and %d results; neither can be negative",
                       m->n_in, m->n_out);
    if ((m->n_in > 0 && !m->in) || (m->n_out > 0 && !m->out))
        return dt_want(NULL, "dt_merge_call", "list of values");
    return NULL;
}

static bool takes_all(const dt_merge *m) {
    for (int i = 0; i < m->n_in; i++)
        if (!dt_trace_owns(m->trace, m->in[i], "dt_merge_call")) return false;
    return true;
}

void dt_merge_call(const dt_merge *m, void (*fn)(const dt_merge *m)) {
    for (int i = 0; m && m->out && i < m->n_out; i++) m->out[i] = none;
    if (!m || !dt_trace_lives(m->trace)) {
        dt_status_keep(dt_fail(DT_E_SCOPE, NULL,
                               "dt_merge_call needs the trace of the step that is running; it got "
                               "none, or that of a step that has ended"));
        return;
    }
    if (dt_trace_error(m->trace)) return;
    dt_status *s = check_call(m, fn != NULL);
    if (s) dt_trace_fail(m->trace, s);
    if (s || !takes_all(m)) return;
    dt_context before = dt_context_enter(DT_IN_MERGE);
    dt_trace_set_merging(m->trace, true);
    fn(m);
    dt_trace_set_merging(m->trace, false);
    dt_context_enter(before);
}

/* ---- reducing in such a function ---- */

/* Computes a mean over an axis and all replicas: the sum of all values divided by their number,
 * because replicas may have different sizes. */
static dt_value mean_along(dt_value x, int axis) {
    x = dt_as_float(x);
    dt_value count = dt_convert(dt_dim_value(x, axis), dt_type_of_value(x).dtype);
    return dt_divide(dt_reduce_replicas(DT_SUM, dt_reduce_sum(x, axis), true),
                     dt_reduce_replicas(DT_SUM, count, true));
}

dt_value dt_merge_reduce(dt_reduce_op op, dt_value x, int axis) {
    if (!dt_trace_is_live(x.trace) || dt_trace_error(x.trace)) return none;
    if (dt_context_now() != DT_IN_MERGE) {
        dt_trace_fail(x.trace,
                      dt_fail(DT_E_SCOPE, NULL,
                              "dt_merge_reduce can only be called in a function that dt_merge_call "
                              "runs; in replica context, use dt_all_reduce"));
        return none;
    }
    if (axis == DT_NO_AXIS) return dt_reduce_replicas(op, x, true);
    return op == DT_MEAN ? mean_along(x, axis)
                         : dt_reduce_replicas(op, dt_reduce_sum(x, axis), true);
}
