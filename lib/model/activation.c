/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies activations: by name in `activation:` fields, and as a traced call with arguments; also
 * finds and moves axes. The formulas of activations are in lib/model/activation, by family.
 * Derivatives at corners are those of Keras. maximum and minimum pass the gradient of a tie to
 * their second input, so the order of inputs matters: relu'(0) is 0, but hard_tanh'(-1) and
 * hard_tanh'(1) are 1.
 */

#include "model/model.h"

#define DT_ACTIVATION_ROW(row, name) name,
const char *const dt_activations[] = {
#include "model/activations.h"
    NULL};
#undef DT_ACTIVATION_ROW

static const dt_activation *row_at(int i) {
#define DT_ACTIVATION_ROW(row, name) &dt_activation_##row,
    static const dt_activation *const rows[] = {
#include "model/activations.h"
    };
#undef DT_ACTIVATION_ROW
    return rows[i];
}

/* Emits the activation `named` of x. Fails the trace if x does not hold floats; `call` of the
 * activation reports all other errors. */
static dt_value call_named(dt_value x, const dt_named *named) {
    dt_type type = dt_type_of_value(x);
    if (dt_dtype_is_float(type.dtype))
        return ((const dt_activation *)named->kind)->call(named->args, x);
    dt_trace_fail(x.trace, dt_fail(DT_E_MODEL_SHAPE, NULL, "%s needs floating-point values, got %s",
                                   named->kind->name, dt_dtype_name(type.dtype)));
    return (dt_value){0};
}

static dt_value call_tree(dt_value x, const dt_tree *t) {
    dt_named named;
    int n;
    const dt_kind *const *rows = dt_activation_kinds(&n);
    dt_status *s = dt_named_read(dt_trace_arena(x.trace), rows, n, "activation", t, &named);
    if (!s) return call_named(x, &named);
    dt_trace_fail(x.trace, s);
    return (dt_value){0};
}

dt_value dt_activate(int activation, dt_value x) {
    const dt_tree name = {.kind = DT_TREE_SCALAR, .text = row_at(activation)->kind.name};
    return x.trace ? call_tree(x, &name) : x;
}

dt_yield dt_activation_yields(int activation, const dt_type *out) {
    const dt_activation *row = row_at(activation);
    const bool shares = row->range == DT_RANGE_SHARES || row->range == DT_RANGE_LOG_SHARES;
    const bool one = shares && out->rank > 1 && out->dim[out->rank - 1] == 1;
    return (dt_yield){.range = one ? DT_RANGE_ONE_SHARE : row->range, .by = row->kind.name};
}

/* Returns the range of an activation's output for an input of range `in`. of_any: the range for any
 * input. Functions such as relu and leaky_relu keep numbers from 0 to 1 in that range. Otherwise
 * the range of a function without limits is unknown, unless the input may be any real number. */
dt_yield dt_yields_activated(dt_yield of_any, dt_yield in) {
    const bool is_unit = in.range == DT_RANGE_UNIT || in.range == DT_RANGE_SHARES;
    const bool is_real = of_any.range == DT_RANGE_REAL;
    if (is_unit && (is_real || of_any.range == DT_RANGE_NONNEGATIVE))
        return (dt_yield){.range = DT_RANGE_UNIT, .by = in.by};
    if ((is_real && in.range != DT_RANGE_REAL) || (is_unit && of_any.range == DT_RANGE_BENT))
        of_any.range = DT_RANGE_UNKNOWN;
    return of_any;
}

dt_value dt_activation_call(dt_value x, const char *format, ...) {
    dt_tree *tree = NULL;
    va_list args;
    if (!dt_trace_has(x, "dt_activation_call")) return (dt_value){0};
    va_start(args, format);
    dt_status *s = dt_fragment_read(dt_trace_arena(x.trace), "activation", format, args, &tree);
    va_end(args);
    if (!s) return call_tree(x, tree);
    dt_trace_fail(x.trace, s);
    return (dt_value){0};
}

/* ---- axes ---- */

int dt_axis_in(int rank, int64_t axis) {
    int64_t found = axis < 0 ? axis + rank : axis;
    return found >= 0 && found < rank ? (int)found : -1;
}

int dt_axis_of(dt_value x, int64_t axis) {
    int rank = dt_type_of_value(x).rank, found = dt_axis_in(rank, axis);
    if (found >= 0) return found;
    dt_trace_fail(x.trace, dt_fail(DT_E_MODEL_SHAPE, NULL,
                                   "axis must be in [%d, %d) for %d dimensions, got %lld", -rank,
                                   rank, rank, (long long)axis));
    return -1;
}

bool dt_axes_of(dt_value x, const dt_ints *axes, uint32_t *dims) {
    dt_status *s = axes->n ? NULL : dt_fail(DT_E_MODEL_SHAPE, NULL, "axis must name a dimension");
    *dims = 0;
    for (int i = 0; !s && i < axes->n; i++) {
        const int d = dt_axis_of(x, axes->v[i]);
        if (d < 0) return false;
        if (*dims >> d & 1)
            s = dt_fail(DT_E_MODEL_SHAPE, NULL, "axis %lld is named twice", (long long)axes->v[i]);
        *dims |= 1u << d;
    }
    if (s) dt_trace_fail(x.trace, s);
    return !s;
}

dt_value dt_swap_last(dt_value x, int axis) {
    int rank = dt_type_of_value(x).rank, perm[DT_MAX_RANK];
    for (int i = 0; i < rank; i++) perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    return dt_transpose(x, perm);
}

/* Lists all dimensions in order[rank]: first those that are not in `dims`, then those that are,
 * both in ascending order. */
static void find_order(uint32_t dims, int rank, int *order) {
    for (int d = 0; d < rank; d++)
        if (!(dims >> d & 1)) *order++ = d;
    for (int d = 0; d < rank; d++)
        if (dims >> d & 1) *order++ = d;
}

dt_value dt_over_dims(dt_value x, uint32_t dims, dt_value (*over_last)(dt_value)) {
    const int rank = dt_type_of_value(x).rank;
    int order[DT_MAX_RANK], back[DT_MAX_RANK];
    find_order(dims, rank, order);
    for (int d = 0; d < rank; d++) back[order[d]] = d;
    x = dt_transpose(x, order);
    const dt_type moved = dt_type_of_value(x);
    dt_type joined = moved;
    for (; joined.rank > rank - __builtin_popcount(dims) + 1; joined.rank--)
        joined.dim[joined.rank - 2] *= joined.dim[joined.rank - 1];
    dt_value y = over_last(dt_reshape(x, joined.rank, joined.dim));
    return dt_transpose(dt_reshape(y, rank, moved.dim), back);
}

dt_value dt_move_last(dt_value x, int axis) {
    int rank = dt_type_of_value(x).rank, perm[DT_MAX_RANK], n = 0;
    for (int i = 0; i < rank; i++)
        if (i != axis) perm[n++] = i;
    perm[n] = axis;
    return dt_transpose(x, perm);
}
