/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce, and gather below. reduce combines the replicas' values of one entry into one tensor. It
 * adds in replica order, in double for floats and in 64 bits for integers. A mean of integers over
 * several values is a float, as in TensorFlow: float64 for 32- and 64-bit integers, float32 for
 * smaller ones.
 *
 * If axes are given, the values along them are added as well, one replica after the other. A mean
 * divides by the number of all values that were summed, so replicas may have different sizes.
 */
#include <stdlib.h>
#include <string.h>

#include "op/cells.h"
#include "strategy/values.h"

typedef struct reduction {
    dt_reduce_op op;
    const char *name;
    /* the axes to reduce along; NULL: the values are reduced over replicas only */
    const dt_axes *axes;
    uint32_t along;   /* bit d is set if dimension d of the replicas' tensors is summed */
    dt_type from, to; /* from: type of replica 0's tensor; to: type of the result */
    /* [elements of the result] the sums in double, for floats and for means of integers */
    double *sum;
    /* [elements of the result] the sums in 64-bit integers, for sums of integers */
    int64_t *whole;
    double count; /* number of values that were added to each element of the result */
} reduction;

static dt_status *check_op(dt_reduce_op op) {
    return (unsigned)op <= DT_MEAN
               ? NULL
               : dt_fail(DT_E_REDUCE, NULL, "%d is not a valid ReduceOp; use DT_SUM or DT_MEAN",
                         (int)op);
}

/* ---- dtypes and shapes of results ---- */

static dt_dtype result_dtype(dt_dtype d, dt_reduce_op op) {
    if (op == DT_SUM || dt_dtype_is_float(d)) return d;
    return dt_dtype_size(d) >= 4 ? DT_FLOAT64 : DT_FLOAT32;
}

static dt_status *find_axis(reduction *r, int axis) {
    int d = axis < 0 ? axis + r->from.rank : axis;

    if (d < 0 || d >= r->from.rank)
        return dt_fail(DT_E_REDUCE, NULL,
                       "axis %d is out of range for '%s', which has %d dimension%s", axis, r->name,
                       r->from.rank, r->from.rank == 1 ? "" : "s");
    if (r->along >> d & 1)
        return dt_fail(DT_E_REDUCE, NULL, "axis %d of '%s' is given twice", axis, r->name);
    r->along |= 1u << d;
    return NULL;
}

static dt_status *plan(reduction *r, const dt_tensor *first) {
    r->from = first->type;
    if (r->from.dtype == DT_BOOL)
        return dt_suggest(dt_fail(r->axes ? DT_E_REDUCE_BOOL : DT_E_REDUCE_TYPE, NULL,
                                  "'%s' is bool, which cannot be summed", r->name),
                          "convert it to numbers with dt_convert in the step function");
    for (int i = 0; r->axes && i < r->axes->n; i++) DT_TRY(find_axis(r, r->axes->axis[i]));
    r->to = dt_scalar_type(result_dtype(r->from.dtype, r->op));
    for (int d = 0; d < r->from.rank; d++)
        if (!(r->along >> d & 1)) r->to.dim[r->to.rank++] = r->from.dim[d];
    return NULL;
}

static dt_status *check_part(const reduction *r, const dt_tensor *t, int replica) {
    bool same = t->type.dtype == r->from.dtype && t->type.rank == r->from.rank;

    for (int d = 0; same && d < r->from.rank; d++)
        same = r->along >> d & 1 || t->type.dim[d] == r->from.dim[d];
    if (same) return NULL;
    dt_status *s = dt_fail(DT_E_REDUCE_TYPE, NULL, "'%s' is %s on replica 0 and %s on replica %d",
                           r->name, dt_text_of(&r->from).s, dt_text_of(&t->type).s, replica);
    return r->axes ? s : dt_suggest(s, "reduce along axis 0 when the last batch is partial");
}

/* ---- summing ---- */

static void add_cell(reduction *r, const dt_view *v, int64_t from, int64_t to) {
    r->sum[to] += dt_cell_double(v, from);
    r->whole[to] = dt_int_add(r->whole[to], dt_cell_int(v, from));
}

/* Adds one replica's tensor to the sums. Along axes that are summed, the result has stride 0. */
static void add_part(reduction *r, const dt_tensor *t) {
    const dt_view v = {t->type, t->data};
    int64_t in[DT_MAX_RANK], out[DT_MAX_RANK], count = 1;
    dt_walk w = {0};

    dt_strides(&t->type, in);
    dt_strides(&r->to, out);
    for (int d = 0, kept = 0; d < t->type.rank; d++) {
        bool goes = r->along >> d & 1;
        dt_walk_add(&w, t->type.dim[d], in[d], goes ? 0 : out[kept]);
        kept += !goes;
        count *= goes ? t->type.dim[d] : 1;
    }
    for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w))
        add_cell(r, &v, w.at[0], w.at[1]);
    r->count += (double)count;
}

/* Stores the sums, or the means, in the result. Integers wrap to the width of the result's
 * dtype. */
static void store(const reduction *r, const dt_tensor *t) {
    const dt_view v = {t->type, t->data};

    for (int64_t i = 0, n = dt_type_elements(&t->type); i < n; i++)
        if (dt_dtype_is_float(t->type.dtype))
            dt_cell_set_double(&v, i, r->op == DT_MEAN ? r->sum[i] / r->count : r->sum[i]);
        else dt_cell_set_int(&v, i, r->whole[i]);
}

static dt_status *reduce_entry(reduction *r, const dt_value_entry *e, dt_tensor **out) {
    dt_tensor *t = NULL;
    int64_t n = dt_type_elements(&r->to);

    r->sum = dt_alloc(dt_size_mul((size_t)n + 1, sizeof *r->sum));
    r->whole = dt_alloc(dt_size_mul((size_t)n + 1, sizeof *r->whole));
    for (int i = 0; i < e->n; i++) {
        DT_TRY(check_part(r, dt_entry_local(e, i), i));
        add_part(r, dt_entry_local(e, i));
    }
    DT_TRY(dt_tensor_new(&t, &r->to));
    store(r, t);
    dt_tensor_unref(*out);
    *out = t;
    return NULL;
}

/* Reduces, without an axis, a value that all replicas share, or the value of a single replica.
 * The mean is the value itself, whatever its dtype. The sum over several replicas is an error,
 * because it is most likely a mistake. */
static dt_status *reduce_shared(const dt_strategy *s, const reduction *r, const dt_tensor *t,
                                dt_tensor **out) {
    if (s->replicas > 1 && r->op == DT_SUM)
        return dt_fail(DT_E_REDUCE, NULL,
                       "'%s' is one value for all %d replicas: it cannot be summed over them",
                       r->name, s->replicas);
    return dt_tensor_create(out, t->type.dtype, t->type.rank, t->type.dim, t->data);
}

/* Reduces a single stored value that counts once for each replica: a constant that each replica
 * returned, or any shared value if axes are given. */
static dt_status *reduce_repeated(const dt_strategy *s, reduction *r, dt_tensor *t,
                                  dt_tensor **out) {
    const dt_value_entry one = {.n = 1, .local = &t};

    DT_TRY(plan(r, t));
    DT_TRY(reduce_entry(r, &one, out));
    for (int64_t i = 0; r->op == DT_SUM && i < dt_type_elements(&r->to); i++) {
        r->sum[i] *= s->replicas;
        r->whole[i] = dt_int_multiply(r->whole[i], s->replicas);
    }
    store(r, *out);
    return NULL;
}

static dt_status *reduce_each(const dt_strategy *s, reduction *r, const dt_value_entry *e,
                              dt_tensor **out) {
    if (e->n != s->replicas)
        return dt_fail(DT_E_REDUCE, NULL,
                       "'%s' has values for %d replicas, but the strategy has %d", r->name, e->n,
                       s->replicas);
    if (e->n == 1 && !r->axes) return reduce_shared(s, r, dt_entry_local(e, 0), out);
    DT_TRY(plan(r, dt_entry_local(e, 0)));
    return reduce_entry(r, e, out);
}

/* ---- the calls ---- */

static dt_status *reduce(const dt_strategy *s, reduction *r, const dt_values *values,
                         dt_tensor **out) {
    const dt_value_entry *e = dt_values_find(values, r->name);

    /* dt_status_kept returns the error that was kept if another strategy's scope is open. */
    DT_TRY(dt_status_kept());
    DT_TRY(check_op(r->op));
    if (r->axes && (r->axes->n < 0 || r->axes->n > DT_MAX_RANK))
        return dt_fail(DT_E_REDUCE, NULL, "cannot reduce along %d axes: a tensor has at most %d",
                       r->axes->n, DT_MAX_RANK);
    if (!e) return dt_fail(DT_E_REDUCE, NULL, "no value '%s' to reduce", r->name);
    if (e->per_replica) return reduce_each(s, r, e, out);
    dt_tensor *t = dt_entry_local(e, 0);
    return r->axes || (e->each > 1 && e->each == s->replicas) ? reduce_repeated(s, r, t, out)
                                                              : reduce_shared(s, r, t, out);
}

dt_status *dt_strategy_reduce_axes(dt_strategy *s, dt_reduce_op op, const dt_values *values,
                                   const char *name, const dt_axes *axes, dt_tensor **out) {
    DT_LIVE(s);
    DT_LIVE(values);
    reduction r = {.op = op, .name = name, .axes = axes};
    dt_status *bad = NULL;

    DT_TRY(dt_want(s, "dt_strategy_reduce", "strategy"));
    DT_TRY(dt_want(values, "dt_strategy_reduce", "values"));
    DT_TRY(dt_want(name, "dt_strategy_reduce", "name of a value"));
    DT_TRY(dt_want(out, "dt_strategy_reduce", "handle to fill"));
    DT_SCOPE(s)
    bad = reduce(s, &r, values, out);
    if (!bad) dt_tensor_set_device(*out, dt_strategy_host_device(s));
    free(r.sum);
    free(r.whole);
    return bad;
}

dt_status *dt_strategy_reduce(dt_strategy *s, dt_reduce_op op, const dt_values *values,
                              const char *name, int axis, dt_tensor **out) {
    DT_LIVE(s);
    DT_LIVE(values);
    const dt_axes one = {1, {axis}};
    return dt_strategy_reduce_axes(s, op, values, name, axis == DT_NO_AXIS ? NULL : &one, out);
}

/*
 * gather: concatenates the replicas' tensors of one entry along an axis, in replica order. Their
 * sizes may differ along that axis.
 */

typedef struct gathering {
    const char *name;
    /* the axis to concatenate along, counted from the first dimension, so never negative */
    int axis;
    dt_type to;
    int parts;
    bool repeats; /* whether each replica returned the same constant, which is stored once */
} gathering;

static dt_status *find_gather_axis(gathering *g, const dt_type *type, int axis) {
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
    /* dt_status_kept returns the error that was kept if another strategy's scope is open. */
    DT_TRY(dt_status_kept());
    if (!e) return dt_fail(DT_E_REDUCE, NULL, "no value '%s' to gather", g->name);
    if (e->per_replica && e->n != s->replicas)
        return dt_fail(DT_E_REDUCE, NULL,
                       "'%s' has values for %d replicas, but the strategy has %d", g->name, e->n,
                       s->replicas);
    g->repeats = e->each > 1 && e->each == s->replicas;
    g->parts = g->repeats ? e->each : e->n;
    DT_TRY(find_gather_axis(g, &dt_entry_local(e, 0)->type, axis));
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
