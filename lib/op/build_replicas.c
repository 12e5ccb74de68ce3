/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builders of ops that combine replicas: sums over them, and the concatenation of their tensors.
 *
 * all_gather is composed of other ops: each replica writes its rows into its part of a tensor of
 * zeros, and the sum over replicas is the result. So gradients need no rule: each replica gets the
 * part of the summed gradient that its rows had.
 */
#include <ctype.h>
#include <string.h>

#include "graph/trace.h"
#include "op/op.h"
#include "op/shapes.h"

static const dt_value none = {0};

static dt_value fail(dt_trace *t, dt_status *s) {
    dt_trace_fail(t, s);
    return none;
}

/* ---- names of operations ---- */

dt_status *dt_reduce_op_named(const char *name, dt_reduce_op *op) {
    static const char *const names[] = {[DT_SUM] = "SUM", [DT_MEAN] = "MEAN"};
    dt_local_str upper = {0};
    int found = -1;

    DT_REQUIRE({name, "name"}, {op, "place for the operation"});
    for (const char *p = name; *p; p++) dt_str_printf(&upper, "%c", toupper((unsigned char)*p));
    for (int i = 0; i < 2; i++)
        if (strcmp(dt_str_text(&upper), names[i]) == 0) found = i;
    dt_status *s =
        found >= 0 ? NULL
                   : dt_fail(DT_E_REDUCE, NULL,
                             "'%s' is not a valid ReduceOp: use SUM or MEAN, in any letter case",
                             dt_str_text(&upper));
    if (!s) *op = (dt_reduce_op)found;
    return s;
}

/* ---- sums and means ---- */

dt_value dt_reduce_replicas(dt_reduce_op op, dt_value x, bool merged) {
    dt_all_reduce_attr attr = {op, merged,
                               x.trace && x.trace->each ? ++x.trace->each->collectives : 0};

    if ((unsigned)op > DT_MEAN)
        return fail(x.trace, dt_fail(DT_E_REDUCE, NULL,
                                     "%d is not a valid ReduceOp: use DT_SUM or DT_MEAN", (int)op));
    if (op == DT_MEAN) x = dt_as_float(x);
    return dt_emit(x.trace, &dt_op_all_reduce, &x, 1, &attr);
}

/* Whether replicas can exchange values here; if not, makes the trace fail. A function called by
 * dt_merge_call cannot: it already has the values of all replicas. */
static bool in_replica(dt_value x, const char *call) {
    if (!dt_trace_has(x, call)) return false;
    if (x.trace->merging)
        dt_trace_fail(x.trace, dt_fail(DT_E_SCOPE, NULL,
                                       "%s needs replica context, but this function runs in "
                                       "cross-replica context; use dt_merge_reduce",
                                       call));
    return !dt_trace_error(x.trace);
}

dt_value dt_all_reduce(dt_reduce_op op, dt_value x) {
    return in_replica(x, "dt_all_reduce") ? dt_reduce_replicas(op, x, false) : none;
}

dt_value dt_all_reduce_named(const char *op, dt_value x) {
    dt_reduce_op found = DT_SUM;
    dt_status *s = x.trace ? dt_reduce_op_named(op, &found) : NULL;

    return s ? fail(x.trace, s) : dt_all_reduce(found, x);
}

/* ---- joining ---- */

/* Moves dimension `axis` of x to the front or, if `back` is set, dimension 0 to `axis`. */
static dt_value rotate(dt_value x, int axis, bool back) {
    dt_type type = dt_type_of_value(x);
    int perm[DT_MAX_RANK];

    for (int d = 0; d < type.rank; d++)
        perm[d] = d > axis ? d : back ? (d == axis ? 0 : d + 1) : (d == 0 ? axis : d - 1);
    return dt_transpose(x, perm);
}

/* Called if each replica is traced by itself. Returns [replicas] each replica's number of rows in
 * the current gather; -1: not known yet. Records `own`, the rows of this replica, and sets
 * e->learnt if another number or none was known. */
static const int64_t *sizes_of_each(dt_trace *t, int64_t own) {
    dt_each *e = t->each;
    const int at = e->gathers++ * t->replicas;
    if (e->gathers > e->n) {
        e->n = e->gathers;
        DT_GROW(e->size, e->cap, e->n * t->replicas);
        for (int r = 0; r < t->replicas; r++) e->size[at + r] = -1;
    }
    e->learnt |= e->size[at + e->replica] != own;
    e->size[at + e->replica] = own;
    return e->size + at;
}

/* Returns the indices in the gather's result of the rows that come from this replica, int32 (own),
 * and sets *rows to the number of rows of the result. Other replicas whose rows are not known yet
 * are assumed to have `own`; all replicas are then traced again. */
static dt_value places_of_each(dt_value x, int64_t own, int64_t *rows) {
    dt_trace *t = x.trace;
    const dt_type index = dt_type_of(DT_INT32, 1, &own);
    const int64_t *size = sizes_of_each(t, own);
    int64_t first = 0;
    *rows = 0;
    for (int r = 0; r < t->replicas; r++) {
        const int64_t n = size[r] < 0 ? own : size[r];
        first += r < t->each->replica ? n : 0;
        *rows += n;
    }
    return dt_add(dt_iota(t, &index, 0),
                  dt_broadcast_to(dt_scalar(t, DT_INT32, (double)first), &index));
}

dt_value dt_gather_places(dt_value x, int64_t *rows) {
    dt_trace *t = x.trace;
    dt_type type = dt_type_of_value(x), index = dt_type_of(DT_INT32, 1, type.dim);

    if (type.dim[0] == DT_BATCH && t->rows >= 0) {
        *rows = t->rows;
        return dt_example_id(t);
    }
    if (t->each) return places_of_each(x, type.dim[0], rows);
    if (type.dim[0] < 0)
        return fail(t, dt_fail(DT_E_NEEDS_ROWS, NULL,
                               "dt_all_gather needs to know how many rows all replicas have"));
    *rows = type.dim[0] * t->replicas;
    dt_value first = dt_multiply(dt_replica_id(t), dt_scalar(t, DT_INT32, (double)type.dim[0]));
    return dt_add(dt_iota(t, &index, 0), dt_broadcast_to(first, &index));
}

static dt_value join_rows(dt_value x) {
    int64_t rows = 0;

    if (!x.trace) return none;
    dt_value place = dt_gather_places(x, &rows);
    return rows > 0 ? dt_reduce_replicas(DT_SUM, dt_scatter_add(x, place, rows), false) : x;
}

dt_value dt_all_gather(dt_value x, int axis) {
    dt_type type = dt_type_of_value(x);
    int at = axis < 0 ? axis + type.rank : axis;

    if (!in_replica(x, "dt_all_gather")) return none;
    if (at < 0 || at >= type.rank)
        return fail(
            x.trace,
            dt_fail(DT_E_REDUCE, NULL,
                    "axis %d is out of range for a value of type %s, which has %d dimension%s",
                    axis, dt_text_of(&type).s, type.rank, type.rank == 1 ? "" : "s"));
    dt_value number = type.dtype == DT_BOOL ? dt_convert(x, DT_INT32) : x;
    dt_value all = rotate(join_rows(rotate(number, at, false)), at, true);
    return type.dtype == DT_BOOL && all.trace ? dt_compare(all, dt_like(all, 0), DT_NE) : all;
}
