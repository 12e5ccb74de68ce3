/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables in step functions. The rules of aggregation become part of the graph. `how` is assign,
 * assign_add or assign_sub; x is a replica's value:
 *
 *     MirroredVariable, SUM or MEAN      v := how(v, all_reduce(x))    one value for all replicas
 *     ONLY_FIRST_REPLICA                 v := how(v, first(x))         first(x) is all_reduce(SUM,
 *                                                                      id = 0 ? x : 0)
 *     NONE, SyncOnReadVariable           v := how(v, x)                each copy by itself
 *     plain variable                     assign: v := the last replica's x
 *                                        otherwise: v := how(v, all_reduce(SUM, x)), as if one
 *                                        replica came after the other
 */
#include "op/op.h"
#include "strategy/variable.h"

static const dt_value none = {0};

static dt_value fail(dt_trace *t, dt_status *s) {
    dt_trace_fail(t, s);
    return none;
}

/* Whether `call` may use v in this step. If not, marks the trace as failed, with the reason. */
static bool usable(dt_trace *t, const dt_variable *v, const char *call) {
    if (!dt_trace_is_live(t) || dt_trace_error(t)) return false;
    dt_status *s = dt_want_variable(v, call);
    if (!s && v->strategy && v->strategy != dt_get_strategy())
        s = dt_fail(DT_E_SCOPE, NULL,
                    "mixing different strategies: variable '%s' belongs to a different %s strategy "
                    "than the one that runs",
                    v->path, v->strategy->row->kind.name);
    if (s) dt_trace_fail(t, s);
    return !s;
}

/* ---- combining replicas' values ---- */

/* Returns one replica's x on all replicas, computed as a sum to which the others contribute 0. */
static dt_value from_replica(dt_value x, int replica) {
    dt_dtype dtype = dt_type_of_value(x).dtype;
    dt_value number = dtype == DT_BOOL ? dt_convert(x, DT_INT32) : x;
    dt_type type = dt_type_of_value(number), truth = type;

    truth.dtype = DT_BOOL;
    dt_value mine =
        dt_compare(dt_replica_id(x.trace), dt_scalar(x.trace, DT_INT32, replica), DT_EQ);
    dt_value chosen = dt_select(dt_broadcast_to(mine, &truth), number, dt_like(number, 0));
    dt_value all = dt_reduce_replicas(DT_SUM, chosen, false);
    return dtype == DT_BOOL ? dt_compare(all, dt_like(all, 0), DT_NE) : all;
}

static dt_value aggregated(const dt_variable *v, dt_write how, dt_value x) {
    if (!v->strategy)
        return how == DT_ASSIGN ? from_replica(x, dt_trace_replicas(x.trace) - 1)
                                : dt_all_reduce(DT_SUM, x);
    if (dt_variable_is_on_read(v)) return x;
    switch ((dt_aggregation)v->aggregation) {
    case DT_AGGREGATE_SUM: return dt_all_reduce(DT_SUM, x);
    case DT_AGGREGATE_MEAN: return dt_all_reduce(DT_MEAN, x);
    case DT_AGGREGATE_ONLY_FIRST_REPLICA: return from_replica(x, 0);
    case DT_AGGREGATE_NONE: break;
    }
    return x;
}

static dt_value changed(dt_write how, dt_value old, dt_value x) {
    return how == DT_ASSIGN ? x : how == DT_ASSIGN_ADD ? dt_add(old, x) : dt_subtract(old, x);
}

/* ---- reading ---- */

/* Reads v in cross-replica context, that is, in a function called by dt_merge_call. */
static dt_value read_merged(dt_trace *t, dt_variable *v) {
    dt_value own = dt_read(t, v);

    if (!dt_variable_is_on_read(v)) return v->stack ? from_replica(own, 0) : own;
    if (v->aggregation == DT_AGGREGATE_NONE)
        return fail(
            t, dt_fail(
                   DT_E_VARIABLE, NULL,
                   "variable '%s' cannot be read in cross-replica context: its aggregation is NONE",
                   v->path));
    return v->aggregation == DT_AGGREGATE_ONLY_FIRST_REPLICA
               ? from_replica(own, 0)
               : dt_reduce_replicas(v->aggregation == DT_AGGREGATE_MEAN ? DT_MEAN : DT_SUM, own,
                                    true);
}

dt_value dt_variable_read(dt_trace *t, dt_variable *v) {
    DT_LIVE(v);
    if (!usable(t, v, "dt_variable_read")) return none;
    return dt_context_now() == DT_IN_MERGE ? read_merged(t, v) : dt_read(t, v);
}

/* ---- assigning ---- */

/* Returns the value to assign to each copy, to add to it or to subtract from it in cross-replica
 * context, where x is one value for all replicas. */
static dt_value merged(const dt_variable *v, dt_write how, dt_value x) {
    if (dt_variable_is_on_read(v) && v->aggregation == DT_AGGREGATE_NONE)
        return fail(x.trace, dt_fail(DT_E_VARIABLE, NULL,
                                     "variable '%s' cannot be assigned in cross-replica context: "
                                     "its aggregation is NONE",
                                     v->path));
    if (!dt_variable_is_on_read(v) || v->aggregation != DT_AGGREGATE_SUM) return x;
    if (how == DT_ASSIGN) return dt_divide(x, dt_like(x, dt_variable_copies(v)));
    return fail(x.trace, dt_fail(DT_E_VARIABLE, NULL,
                                 "variable '%s' is the sum of its %d copies: in cross-replica "
                                 "context it can only be assigned",
                                 v->path, dt_variable_copies(v)));
}

static dt_value assign(dt_trace *t, dt_variable *v, dt_write how, dt_value x) {
    dt_value now = changed(how, dt_read(t, v), x);
    const dt_deferral *elsewhere = dt_trace_deferral(t);

    if (elsewhere) elsewhere->write(elsewhere->user, v, how, x);
    dt_assign(t, v, now);
    return dt_trace_error(t) ? none : now;
}

static dt_value write_value(dt_trace *t, dt_variable *v, dt_write how, dt_value x) {
    static const char *const calls[] = {"dt_variable_assign", "dt_variable_assign_add",
                                        "dt_variable_assign_sub"};

    if (!usable(t, v, calls[how]) || !dt_trace_owns(t, x, calls[how])) return none;
    return assign(t, v, how,
                  dt_context_now() == DT_IN_MERGE ? merged(v, how, x) : aggregated(v, how, x));
}

dt_value dt_variable_assign(dt_trace *t, dt_variable *v, dt_value value) {
    DT_LIVE(v);
    return write_value(t, v, DT_ASSIGN, value);
}

dt_value dt_variable_assign_add(dt_trace *t, dt_variable *v, dt_value value) {
    DT_LIVE(v);
    return write_value(t, v, DT_ASSIGN_ADD, value);
}

dt_value dt_variable_assign_sub(dt_trace *t, dt_variable *v, dt_value value) {
    DT_LIVE(v);
    return write_value(t, v, DT_ASSIGN_SUB, value);
}

/* Assigns a number that is the same on all replicas. The mean over replicas is the number itself. A
 * sum over several replicas is an error in replica context, because it is most likely a mistake. A
 * plain variable adds or subtracts the number once for each replica in replica context, once in a
 * function called by dt_merge_call. */
dt_value dt_variable_write_number(dt_trace *t, dt_variable *v, dt_write how, double number) {
    DT_LIVE(v);
    if (!usable(t, v, "dt_variable_write_number")) return none;
    if ((unsigned)how > DT_ASSIGN_SUB)
        return fail(t, dt_fail(DT_E_VARIABLE, NULL, "%d is not a dt_write", (int)how));
    dt_value x = dt_splat(t, &v->type, number);
    if (dt_context_now() == DT_IN_MERGE) return assign(t, v, how, merged(v, how, x));
    if (!v->strategy) return assign(t, v, how, aggregated(v, how, x));
    if (!dt_variable_is_on_read(v) && v->aggregation == DT_AGGREGATE_SUM &&
        v->strategy->replicas > 1)
        return fail(t, dt_fail(DT_E_VARIABLE, NULL,
                               "variable '%s' sums the values that %d replicas assign: %g is one "
                               "number for all; assign a tensor",
                               v->path, v->strategy->replicas, number));
    return assign(t, v, how, x);
}
