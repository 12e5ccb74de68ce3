/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather: concatenates the replicas' tensors of one entry along an axis, in replica order. Their
 * sizes may differ along that axis.
 */
#include <string.h>

#include "op/cells.h"
#include "strategy/values.h"

typedef struct gathering {
    const char *name;
    int axis; /* the axis to concatenate along, counted from the front, so not negative */
    dt_type to;
    int parts;
    bool repeats; /* each replica returned the same constant, which is stored once */
} gathering;

static dt_status *find_axis(gathering *g, const dt_type *type, int axis) {
    g->to = *type;
    g->axis = axis < 0 ? axis + type->rank : axis;
    if (type->rank == 0)
        return dt_fail(
            DT_E_REDUCE, NULL,
            "axis %d is out of range for '%s', which has 0 dimensions: scalars cannot be gathered",
            axis, g->name);
    if (g->axis < 0 || g->axis >= type->rank)
        return dt_fail(DT_E_REDUCE, NULL,
                       "axis %d is out of range for '%s', which has %d dimension%s", axis, g->name,
                       type->rank, type->rank == 1 ? "" : "s");
    return NULL;
}

/* Checks the type of the replica's part, and adds its size along the axis to that of the result. */
static dt_status *count_part(gathering *g, const dt_value_entry *e, int replica) {
    const dt_type *first = &dt_entry_local(e, 0)->type, *part = &dt_entry_local(e, replica)->type;
    bool same = part->dtype == first->dtype && part->rank == first->rank;

    for (int d = 0; same && d < first->rank; d++)
        same = d == g->axis || part->dim[d] == first->dim[d];
    if (same && dt_add_fits(g->to.dim[g->axis], part->dim[g->axis], &g->to.dim[g->axis]))
        return NULL;
    return dt_fail(DT_E_REDUCE_TYPE, NULL,
                   "'%s' is %s on replica 0 and %s on replica %d: to gather along axis %d, "
                   "dtype and other dimensions must match",
                   g->name, dt_text_of(first).s, dt_text_of(part).s, replica, g->axis);
}

/* Views tensors as (outer, along the axis, inner): each outer row of the result is the parts'
 * outer rows one after the other. */
static void copy_parts(const gathering *g, const dt_value_entry *e, char *out) {
    int64_t outer = 1, inner = (int64_t)dt_dtype_size(g->to.dtype);

    for (int d = 0; d < g->to.rank; d++)
        *(d < g->axis ? &outer : &inner) *= d == g->axis ? 1 : g->to.dim[d];
    for (int64_t i = 0; i < outer; i++)
        for (int r = 0; r < g->parts; r++) {
            const dt_tensor *part = dt_entry_local(e, g->repeats ? 0 : r);
            size_t row = (size_t)(part->type.dim[g->axis] * inner);
            memcpy(out, part->data + (size_t)i * row, row);
            out += row;
        }
}

static dt_status *join(gathering *g, const dt_value_entry *e, dt_tensor **out) {
    dt_tensor *t = NULL;

    g->to.dim[g->axis] = 0;
    for (int r = 0; r < g->parts; r++) DT_TRY(count_part(g, e, g->repeats ? 0 : r));
    DT_TRY(dt_tensor_new(&t, &g->to));
    copy_parts(g, e, t->data);
    dt_tensor_unref(*out);
    *out = t;
    return NULL;
}

static dt_status *gather(const dt_strategy *s, gathering *g, const dt_value_entry *e, int axis,
                         dt_tensor **out) {
    /* returns the error that was kept if another strategy's scope is open */
    DT_TRY(dt_status_kept());
    if (!e) return dt_fail(DT_E_REDUCE, NULL, "no value '%s' to gather", g->name);
    if (e->per_replica && e->n != s->replicas)
        return dt_fail(DT_E_REDUCE, NULL,
                       "'%s' has values for %d replicas, but the strategy has %d", g->name, e->n,
                       s->replicas);
    g->repeats = e->each > 1 && e->each == s->replicas;
    g->parts = g->repeats ? e->each : e->n;
    DT_TRY(find_axis(g, &dt_entry_local(e, 0)->type, axis));
    return join(g, e, out);
}

dt_status *dt_strategy_gather(dt_strategy *s, const dt_values *values, const char *name, int axis,
                              dt_tensor **out) {
    DT_LIVE(s);
    DT_LIVE(values);
    gathering g = {.name = name};
    dt_status *bad = NULL;

    DT_TRY(dt_want(s, "dt_strategy_gather", "strategy"));
    DT_TRY(dt_want(values, "dt_strategy_gather", "values"));
    DT_TRY(dt_want(name, "dt_strategy_gather", "name of a value"));
    DT_TRY(dt_want(out, "dt_strategy_gather", "handle to fill"));
    DT_SCOPE(s)
    bad = gather(s, &g, dt_values_find(values, name), axis, out);
    if (!bad) dt_tensor_set_device(*out, dt_strategy_host_device(s));
    return bad;
}
