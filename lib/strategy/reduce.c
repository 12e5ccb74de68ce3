/*
 * reduce: the replicas' values of one entry as one tensor. Sums run in replica order, in double for floats and in 64 bits for integers; a mean
 * of integers is a fraction (float64 for 32- and 64-bit integers, float32 for smaller ones), as in TensorFlow.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/values.h"

typedef struct reduction {
    dt_reduce_op op;
    const char *name;
    int axis;          /* of the replicas' tensors; DT_NO_AXIS: none */
    dt_type from, to;  /* from: of replica 0 */
    double *sum;       /* [elements of to], floats and means */
    int64_t *whole;    /* [elements of to], sums of integers */
    double count;      /* values added to each element */
} reduction;

static double load_double(const dt_tensor *t, int64_t i)
{
    switch (t->type.dtype) {
    case DT_BOOL: case DT_UINT8: return ((const uint8_t *)t->data)[i];
    case DT_INT8: return ((const int8_t *)t->data)[i];
    case DT_INT16: return ((const int16_t *)t->data)[i];
    case DT_INT32: return ((const int32_t *)t->data)[i];
    case DT_INT64: return (double)((const int64_t *)t->data)[i];
    case DT_FLOAT32: return (double)((const float *)t->data)[i];
    case DT_FLOAT64: return ((const double *)t->data)[i];
    }
    return NAN;
}

static int64_t load_int(const dt_tensor *t, int64_t i)
{
    return t->type.dtype == DT_INT64 ? ((const int64_t *)t->data)[i] : (int64_t)load_double(t, i);
}

/* Integers wrap at their width. */
static void store(const reduction *r, dt_tensor *t, int64_t i)
{
    double x = r->op == DT_MEAN ? r->sum[i] / r->count : r->sum[i];

    switch (t->type.dtype) {
    case DT_UINT8: ((uint8_t *)t->data)[i] = (uint8_t)r->whole[i]; break;
    case DT_INT8: ((int8_t *)t->data)[i] = (int8_t)r->whole[i]; break;
    case DT_INT16: ((int16_t *)t->data)[i] = (int16_t)r->whole[i]; break;
    case DT_INT32: ((int32_t *)t->data)[i] = (int32_t)r->whole[i]; break;
    case DT_INT64: ((int64_t *)t->data)[i] = r->whole[i]; break;
    case DT_FLOAT32: ((float *)t->data)[i] = (float)x; break;
    default: ((double *)t->data)[i] = x; break;
    }
}

static dt_dtype result_dtype(dt_dtype d, dt_reduce_op op)
{
    if (op == DT_SUM || dt_dtype_is_float(d))
        return d;
    return d == DT_INT32 || d == DT_INT64 ? DT_FLOAT64 : DT_FLOAT32;
}

static dt_status *plan(reduction *r, const dt_tensor *first)
{
    r->from = r->to = first->type;
    if (r->from.dtype == DT_BOOL)
        return dt_fail(DT_E_REDUCE_TYPE, NULL, "'%s' is of bool: truth values cannot be summed", r->name);
    r->to.dtype = result_dtype(r->from.dtype, r->op);
    if (r->axis == DT_NO_AXIS)
        return NULL;
    int axis = r->axis < 0 ? r->axis + r->from.rank : r->axis;
    if (axis < 0 || axis >= r->from.rank)
        return dt_fail(DT_E_REDUCE, NULL, "axis %d is outside '%s', which has %d dimension%s", r->axis, r->name, r->from.rank,
                       r->from.rank == 1 ? "" : "s");
    r->axis = axis;
    memmove(&r->to.dim[axis], &r->to.dim[axis + 1], (size_t)(DT_MAX_RANK - 1 - axis) * sizeof *r->to.dim);
    r->to.dim[DT_MAX_RANK - 1] = 0;
    r->to.rank--;
    return NULL;
}

static dt_status *check_part(const reduction *r, const dt_tensor *t, int replica)
{
    dt_str was = { 0 }, is = { 0 };
    bool same = t->type.dtype == r->from.dtype && t->type.rank == r->from.rank;

    for (int d = 0; same && d < r->from.rank; d++)
        same = d == r->axis || t->type.dim[d] == r->from.dim[d];
    if (same)
        return NULL;
    dt_type_print(&r->from, &was);
    dt_type_print(&t->type, &is);
    dt_status *s = dt_fail(DT_E_REDUCE_TYPE, NULL, "'%s' is %s on replica 0 and %s on replica %d", r->name, dt_str_text(&was),
                           dt_str_text(&is), replica);
    dt_str_release(&was);
    dt_str_release(&is);
    return r->axis == DT_NO_AXIS ? dt_suggest(s, "reduce along axis 0 when the last batch is partial") : s;
}

/* Element (outer, k, inner) of the part goes to (outer, inner). */
static void add_part(reduction *r, const dt_tensor *t)
{
    int64_t inner = 1, along = 1, outer = 1;
    bool whole = !dt_dtype_is_float(t->type.dtype);

    for (int d = 0; d < t->type.rank; d++)
        *(r->axis == DT_NO_AXIS || d > r->axis ? &inner : d == r->axis ? &along : &outer) *= t->type.dim[d];
    for (int64_t i = 0; i < outer; i++)
        for (int64_t k = 0; k < along; k++)
            for (int64_t j = 0; j < inner; j++) {
                int64_t from = (i * along + k) * inner + j, to = i * inner + j;
                r->sum[to] += load_double(t, from);
                r->whole[to] = (int64_t)((uint64_t)r->whole[to] + (whole ? (uint64_t)load_int(t, from) : 0));
            }
    r->count += (double)along;
}

static dt_status *reduce_entry(reduction *r, const dt_value_entry *e, dt_tensor **out)
{
    dt_tensor *t = NULL;
    int64_t n = dt_type_elements(&r->to);

    r->sum = dt_alloc(dt_size_mul((size_t)n + 1, sizeof *r->sum));
    r->whole = dt_alloc(dt_size_mul((size_t)n + 1, sizeof *r->whole));
    for (int i = 0; i < e->n; i++) {
        DT_TRY(check_part(r, dt_entry_local(e, i), i));
        add_part(r, dt_entry_local(e, i));
    }
    DT_TRY(dt_tensor_new(&t, &r->to));
    for (int64_t i = 0; i < n; i++)
        store(r, t, i);
    dt_tensor_unref(*out);
    *out = t;
    return NULL;
}

/* Without an axis, a value that all replicas share is its own mean, whatever its dtype; a plain sum is most likely a mistake. */
static dt_status *reduce_shared(const dt_strategy *s, const reduction *r, const dt_tensor *t, dt_tensor **out)
{
    if (s->replicas > 1 && r->op == DT_SUM)
        return dt_fail(DT_E_REDUCE, NULL, "'%s' is one value for all %d replicas: it cannot be summed over them", r->name, s->replicas);
    return dt_tensor_create(out, t->type.dtype, t->type.rank, t->type.dim, t->data);
}

/* Along an axis it counts once for each replica. */
static dt_status *reduce_shared_along(const dt_strategy *s, reduction *r, dt_tensor *t, dt_tensor **out)
{
    const dt_value_entry one = { .n = 1, .local = &t };

    DT_TRY(plan(r, t));
    DT_TRY(reduce_entry(r, &one, out));
    for (int64_t i = 0; r->op == DT_SUM && i < dt_type_elements(&r->to); i++) {
        r->sum[i] *= s->replicas;
        r->whole[i] = (int64_t)((uint64_t)r->whole[i] * (uint64_t)s->replicas);
        store(r, *out, i);
    }
    return NULL;
}

static dt_status *reduce_each(const dt_strategy *s, reduction *r, const dt_value_entry *e, dt_tensor **out)
{
    if (e->n != s->replicas)
        return dt_fail(DT_E_REDUCE, NULL, "'%s' has values for %d replicas, the strategy has %d", r->name, e->n, s->replicas);
    DT_TRY(plan(r, dt_entry_local(e, 0)));
    return reduce_entry(r, e, out);
}

static dt_status *reduce(const dt_strategy *s, reduction *r, const dt_values *values, dt_tensor **out)
{
    const dt_value_entry *e = values ? dt_values_find(values, r->name) : NULL;

    DT_TRY(dt_status_kept()); /* of another strategy's scope */
    if (!e)
        return dt_fail(DT_E_REDUCE, NULL, "there is no value '%s' to reduce", r->name);
    if (e->per_replica)
        return reduce_each(s, r, e, out);
    dt_tensor *t = dt_entry_local(e, 0);
    return r->axis == DT_NO_AXIS ? reduce_shared(s, r, t, out) : reduce_shared_along(s, r, t, out);
}

dt_status *dt_strategy_reduce(dt_strategy *s, dt_reduce_op op, const dt_values *values, const char *name, int axis, dt_tensor **out)
{
    reduction r = { .op = op, .name = name, .axis = axis };
    dt_status *bad = NULL;

    DT_SCOPE(s)
        bad = reduce(s, &r, values, out);
    free(r.sum);
    free(r.whole);
    return bad;
}
