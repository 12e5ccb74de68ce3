/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scatter: changes the rows of a variable whose numbers are given, in each copy separately.
 * Therefore only variables whose copies may differ support it.
 */
#include "op/cells.h"
#include "strategy/variable.h"

static const char *const names[] = {"scatter_update", "scatter_add", "scatter_sub", "scatter_mul",
                                    "scatter_div",    "scatter_min", "scatter_max"};

static dt_status *check_kind(const dt_variable *v, dt_scatter how) {
    if ((unsigned)how > DT_SCATTER_MAX)
        return dt_fail(DT_E_VARIABLE, NULL, "%d is not a dt_scatter", (int)how);
    if (dt_variable_is_on_read(v))
        return dt_fail(DT_E_SCATTER, NULL,
                       "variable '%s' has synchronization ON_READ, which does not support %s",
                       v->path, names[how]);
    if (v->strategy && (v->aggregation == DT_AGGREGATE_SUM || v->aggregation == DT_AGGREGATE_MEAN))
        return dt_fail(
            DT_E_SCATTER, NULL,
            "variable '%s' has aggregation %s: %s is supported with NONE and ONLY_FIRST_REPLICA",
            v->path, dt_aggregation_name(v->aggregation), names[how]);
    return NULL;
}

/* Checks that the shape of `updates` is that of `index`, followed by the shape of a row of the
 * variable, and that row numbers are in range. */
static dt_status *check_shapes(const dt_variable *v, const dt_tensor *index,
                               const dt_tensor *updates) {
    const dt_type *i = &index->type, *u = &updates->type;
    bool fits =
        v->type.rank > 0 && u->dtype == v->type.dtype && u->rank == i->rank + v->type.rank - 1;

    if (dt_dtype_is_float(i->dtype) || i->dtype == DT_BOOL)
        return dt_fail(DT_E_VARIABLE, NULL, "row numbers must be integers, got %s",
                       dt_dtype_name(i->dtype));
    for (int d = 0; fits && d < u->rank; d++)
        fits = u->dim[d] == (d < i->rank ? i->dim[d] : v->type.dim[d - i->rank + 1]);
    if (!fits)
        return dt_fail(DT_E_VARIABLE, NULL,
                       "updates of type %s do not fit rows of the variable '%s' of type %s",
                       dt_text_of(u).s, v->path, dt_text_of(&v->type).s);
    for (int64_t k = 0; k < dt_type_elements(i); k++) {
        int64_t row = dt_cell_int(&(dt_view){*i, index->data}, k);
        if (row < 0 || row >= v->type.dim[0])
            return dt_fail(DT_E_VARIABLE, NULL,
                           "row %lld is out of range for variable '%s', which has %lld",
                           (long long)row, v->path, (long long)v->type.dim[0]);
    }
    return NULL;
}

static double combined(dt_scatter how, double old, double x) {
    switch (how) {
    case DT_SCATTER_ADD: return old + x;
    case DT_SCATTER_SUB: return old - x;
    case DT_SCATTER_MUL: return old * x;
    case DT_SCATTER_DIV: return old / x;
    case DT_SCATTER_MIN: return dt_double_min(old, x);
    case DT_SCATTER_MAX: return dt_double_max(old, x);
    case DT_SCATTER_UPDATE: break;
    }
    return x;
}

/* Combines two uint64 values. Values above INT64_MAX would be negative as int64. */
static uint64_t combined_uint64(dt_scatter how, uint64_t old, uint64_t x) {
    switch (how) {
    case DT_SCATTER_ADD: return old + x;
    case DT_SCATTER_SUB: return old - x;
    case DT_SCATTER_MUL: return old * x;
    case DT_SCATTER_DIV: return x == 0 ? 0 : old / x;
    case DT_SCATTER_MIN: return old < x ? old : x;
    case DT_SCATTER_MAX: return old > x ? old : x;
    case DT_SCATTER_UPDATE: break;
    }
    return x;
}

static int64_t combined_int(dt_scatter how, int64_t old, int64_t x) {
    switch (how) {
    case DT_SCATTER_ADD: return dt_int_add(old, x);
    case DT_SCATTER_SUB: return dt_int_subtract(old, x);
    case DT_SCATTER_MUL: return dt_int_multiply(old, x);
    case DT_SCATTER_DIV: return x == 0 ? 0 : x == -1 ? dt_int_subtract(0, old) : old / x;
    case DT_SCATTER_MIN: return old < x ? old : x;
    case DT_SCATTER_MAX: return old > x ? old : x;
    case DT_SCATTER_UPDATE: break;
    }
    return x;
}

static void scatter(const dt_view *copy, dt_scatter how, const dt_view *index,
                    const dt_view *updates) {
    int64_t width = copy->type.dim[0] ? dt_type_elements(&copy->type) / copy->type.dim[0] : 0;

    for (int64_t k = 0; k < dt_type_elements(&index->type); k++)
        for (int64_t d = 0; d < width; d++) {
            int64_t to = dt_cell_int(index, k) * width + d, from = k * width + d;
            if (dt_dtype_is_float(copy->type.dtype))
                dt_cell_set_double(
                    copy, to,
                    combined(how, dt_cell_double(copy, to), dt_cell_double(updates, from)));
            else if (copy->type.dtype == DT_UINT64)
                dt_cell_set_int(copy, to,
                                (int64_t)combined_uint64(how, (uint64_t)dt_cell_int(copy, to),
                                                         (uint64_t)dt_cell_int(updates, from)));
            else
                dt_cell_set_int(
                    copy, to, combined_int(how, dt_cell_int(copy, to), dt_cell_int(updates, from)));
        }
}

dt_status *dt_variable_scatter(dt_variable *v, dt_scatter how, const dt_tensor *index,
                               const dt_tensor *updates) {
    DT_LIVE(v);
    DT_LIVE(index);
    DT_LIVE(updates);
    DT_TRY(dt_variable_outside(v, "dt_variable_scatter"));
    DT_TRY(check_kind(v, how));
    DT_TRY(dt_want(index, "dt_variable_scatter", "row numbers"));
    DT_TRY(dt_want(updates, "dt_variable_scatter", "updates"));
    DT_TRY(check_shapes(v, index, updates));
    DT_TRY(dt_variable_edit(v));
    for (int r = 0; r < (v->stack ? dt_variable_copies(v) : 1); r++) {
        dt_view copy = dt_variable_copy(v, r);
        scatter(&copy, how, &(dt_view){index->type, index->data},
                &(dt_view){updates->type, updates->data});
    }
    return NULL;
}
