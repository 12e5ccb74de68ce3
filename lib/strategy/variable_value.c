/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables outside of step functions: reading, assigning, adding, scattering and restoring. The
 * copies of a SyncOnReadVariable are combined when it is read.
 */
#include "op/cells.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/variable.h"

dt_status *dt_variable_outside(const dt_variable *v, const char *call) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want_variable(v, call));
    if (dt_context_now() != DT_OUTSIDE)
        return dt_fail(DT_E_SCOPE, NULL,
                       "%s cannot be called in a step function; use dt_variable_read or "
                       "dt_variable_assign there",
                       call);
    return v->strategy ? dt_scope_fits(v->strategy) : NULL;
}

/* ---- reading ---- */

/* Combines the copies in replica order, floats in double and integers in 64 bits. */
static void aggregate(const dt_variable *v, const dt_view *out) {
    int replicas = dt_variable_copies(v);
    bool mean = v->aggregation == DT_AGGREGATE_MEAN;

    for (int64_t i = 0, n = dt_type_elements(&v->type); i < n; i++) {
        double sum = 0;
        int64_t whole = 0;
        for (int r = 0; r < replicas; r++) {
            dt_view copy = dt_variable_copy(v, r);
            if (dt_dtype_is_float(v->type.dtype)) sum += dt_cell_double(&copy, i);
            else whole = dt_int_add(whole, dt_cell_int(&copy, i));
        }
        if (dt_dtype_is_float(v->type.dtype))
            dt_cell_set_double(out, i, mean ? sum / replicas : sum);
        else dt_cell_set_int(out, i, whole);
    }
}

static dt_status *check_readable(const dt_variable *v) {
    if (!dt_variable_is_on_read(v) || v->aggregation != DT_AGGREGATE_NONE) return NULL;
    return dt_fail(DT_E_VARIABLE, NULL,
                   "variable '%s' cannot be read here: its aggregation is NONE; read one replica's "
                   "copy with dt_variable_local",
                   v->path);
}

dt_status *dt_variable_value(dt_variable *v, dt_tensor **out) {
    DT_LIVE(v);
    dt_tensor *t = NULL;

    DT_TRY(dt_variable_outside(v, "dt_variable_value"));
    DT_TRY(dt_want(out, "dt_variable_value", "handle to fill"));
    DT_TRY(check_readable(v));
    if (v->type.dtype == DT_BOOL && dt_variable_is_on_read(v) &&
        v->aggregation != DT_AGGREGATE_ONLY_FIRST_REPLICA)
        return dt_fail(DT_E_VARIABLE, NULL, "variable '%s' is bool: its copies cannot be summed",
                       v->path);
    DT_TRY(dt_variable_fetch(v));
    DT_TRY(dt_tensor_new(&t, &v->type));
    if (dt_variable_is_on_read(v) && v->aggregation != DT_AGGREGATE_ONLY_FIRST_REPLICA)
        aggregate(v, &(dt_view){t->type, t->data});
    else memcpy(t->data, dt_host_data(v), (size_t)dt_type_bytes(&v->type));
    dt_tensor_unref(*out);
    *out = t;
    return NULL;
}

dt_status *dt_variable_local(dt_variable *v, int replica, dt_tensor **out) {
    DT_LIVE(v);
    dt_tensor *t = NULL;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_want_variable(v, "dt_variable_local"));
    DT_TRY(dt_want(out, "dt_variable_local", "handle to fill"));
    if (replica < 0 || replica >= dt_variable_copies(v))
        return dt_fail(DT_E_VARIABLE, NULL, "variable '%s' has no copy %d; it has %d", v->path,
                       replica, dt_variable_copies(v));
    DT_TRY(dt_variable_fetch(v));
    DT_TRY(dt_tensor_new(&t, &v->type));
    memcpy(t->data, dt_variable_copy(v, replica).data, (size_t)dt_type_bytes(&v->type));
    t->device = v->strategy ? dt_strdup(v->strategy->device_name[replica]) : NULL;
    dt_tensor_unref(*out);
    *out = t;
    return NULL;
}

dt_status *dt_values_set_variable(dt_values *values, const char *name, dt_variable *v) {
    DT_LIVE(values);
    DT_LIVE(v);
    int n = dt_variable_copies(v);
    dt_status *s = NULL;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_want_variable(v, "dt_values_set_variable"));
    dt_tensor **t = dt_alloc((size_t)n * sizeof *t);
    for (int r = 0; r < n && !s; r++) s = dt_variable_local(v, r, &t[r]);
    if (!s)
        s = v->strategy ? dt_values_set_per_replica(values, name, t, n)
                        : dt_values_set(values, name, t[0]);
    if (!s) ((dt_value_entry *)dt_values_find(values, name))->kind = dt_variable_kind(v);
    for (int r = 0; r < n; r++) dt_tensor_unref(t[r]);
    free(t);
    return s;
}

/* ---- assigning ---- */

typedef struct writing {
    dt_variable *v;
    dt_write how;
    int64_t share; /* `value` is divided by this number before it is assigned to each copy */
} writing;

static const char *const verbs[] = {
    [DT_ASSIGN] = "assign", [DT_ASSIGN_ADD] = "assign_add", [DT_ASSIGN_SUB] = "assign_sub"};

static dt_status *check_write(const writing *w) {
    const dt_variable *v = w->v;

    if ((unsigned)w->how > DT_ASSIGN_SUB)
        return dt_fail(DT_E_VARIABLE, NULL, "%d is not a dt_write", (int)w->how);
    if (w->how != DT_ASSIGN && v->type.dtype == DT_BOOL)
        return dt_fail(DT_E_VARIABLE, NULL, "variable '%s' is bool: nothing can be added to it",
                       v->path);
    DT_TRY(check_readable(v));
    if (dt_variable_is_on_read(v) && v->aggregation == DT_AGGREGATE_SUM && w->how != DT_ASSIGN)
        return dt_fail(DT_E_VARIABLE, NULL,
                       "variable '%s' is the sum of its %d copies: %s is only possible in a step "
                       "function; assign it",
                       v->path, dt_variable_copies(v), verbs[w->how]);
    return NULL;
}

static dt_status *check_value(const dt_variable *v, const dt_tensor *t) {
    if (dt_type_equal(&t->type, &v->type)) return NULL;
    return dt_fail(DT_E_VARIABLE, NULL, "cannot assign %s to the variable '%s' of type %s",
                   dt_text_of(&t->type).s, v->path, dt_text_of(&v->type).s);
}

static void write_cell(const writing *w, const dt_view *copy, const dt_view *value, int64_t i) {
    if (dt_dtype_is_float(copy->type.dtype)) {
        double x = dt_cell_double(value, i) / (double)w->share, old = dt_cell_double(copy, i);
        dt_cell_set_double(copy, i,
                           w->how == DT_ASSIGN       ? x
                           : w->how == DT_ASSIGN_ADD ? old + x
                                                     : old - x);
    } else {
        int64_t x = dt_cell_int(value, i) / w->share, old = dt_cell_int(copy, i);
        dt_cell_set_int(copy, i,
                        w->how == DT_ASSIGN       ? x
                        : w->how == DT_ASSIGN_ADD ? dt_int_add(old, x)
                                                  : dt_int_subtract(old, x));
    }
}

static void write_copy(const writing *w, int replica, const dt_tensor *value) {
    dt_view copy = dt_variable_copy(w->v, replica), from = {value->type, value->data};

    for (int64_t i = 0, n = dt_type_elements(&copy.type); i < n; i++)
        write_cell(w, &copy, &from, i);
}

static int distinct_copies(const dt_variable *v) { return v->stack ? dt_variable_copies(v) : 1; }

static dt_status *write_single(writing *w, const dt_tensor *value) {
    DT_TRY(check_write(w));
    DT_TRY(check_value(w->v, value));
    DT_TRY(dt_variable_edit(w->v));
    for (int r = 0; r < distinct_copies(w->v); r++) write_copy(w, r, value);
    return NULL;
}

static writing begin(dt_variable *v, dt_write how) {
    bool shares =
        dt_variable_is_on_read(v) && v->aggregation == DT_AGGREGATE_SUM && how == DT_ASSIGN;
    return (writing){v, how, shares ? dt_variable_copies(v) : 1};
}

dt_status *dt_variable_set(dt_variable *v, dt_write how, dt_tensor *value) {
    DT_LIVE(v);
    DT_LIVE(value);
    DT_TRY(dt_variable_outside(v, "dt_variable_set"));
    DT_TRY(dt_want(value, "dt_variable_set", "value"));
    writing w = begin(v, how);
    return write_single(&w, value);
}

/* Writes the value of replica i to copy i. */
static dt_status *write_each(writing *w, const dt_value_entry *e) {
    DT_TRY(check_write(w));
    if (e->n != dt_variable_copies(w->v))
        return dt_fail(DT_E_VARIABLE, NULL,
                       "'%s' has values for %d replicas, but variable '%s' has %d copies", e->name,
                       e->n, w->v->path, dt_variable_copies(w->v));
    for (int r = 0; r < e->n; r++) DT_TRY(check_value(w->v, dt_entry_local(e, r)));
    if (w->v->strategy) DT_TRY(dt_variable_diverge(w->v, e->n));
    for (int r = 0; r < e->n; r++) write_copy(w, r, dt_entry_local(e, r));
    return NULL;
}

dt_status *dt_variable_set_from(dt_variable *v, dt_write how, const dt_values *values,
                                const char *name) {
    DT_LIVE(v);
    DT_LIVE(values);
    DT_TRY(dt_variable_outside(v, "dt_variable_set_from"));
    DT_TRY(dt_want(values, "dt_variable_set_from", "values"));
    DT_TRY(dt_want(name, "dt_variable_set_from", "name"));
    const dt_value_entry *e = dt_values_find(values, name);
    writing w = begin(v, how);

    if (!e)
        return dt_fail(DT_E_VARIABLE, NULL, "no value '%s' to assign to the variable '%s'", name,
                       v->path);
    return e->per_replica ? write_each(&w, e) : write_single(&w, dt_entry_local(e, 0));
}

/*
 * Scatter: changes the rows of a variable whose numbers are given, in each copy separately.
 * Variables whose copies or values are combined (ON_READ, SUM, MEAN) do not support it.
 */

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

/* Checks that `updates` have the variable's dtype and the shape of `index`, followed by the shape
 * of a row of the variable, and that row numbers are integers and in range. */
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

/*
 * Restores a variable from a checkpoint. If it was saved with a copy per replica, there are as many
 * replicas now, and its copies may differ, each copy is restored. Otherwise the copies are combined
 * by the aggregation that the variable was saved with (if that is NONE, by the present one), so
 * that it reads the same in cross-replica context. Except for SUM, copies that are all equal need
 * no aggregation.
 */

static dt_view copy_of(const dt_variable *v, const void *data, int64_t copy) {
    return (dt_view){v->type, (char *)data + copy * dt_type_bytes(&v->type)};
}

static bool are_equal(const dt_variable *v, const void *data, int64_t copies) {
    bool are = true;

    for (int64_t r = 1; r < copies && are; r++)
        are = memcmp(data, copy_of(v, data, r).data, (size_t)dt_type_bytes(&v->type)) == 0;
    return are;
}

/* Whether each replica gets back its own copy: the checkpoint has as many copies as there are
 * replicas, and copies of the variable may differ. */
static bool are_kept_apart(const dt_variable *v, int64_t copies) {
    return copies > 1 && copies == dt_variable_copies(v) && (v->stack || v->may_diverge);
}

static dt_aggregation aggregation_of(const dt_variable *v, const dt_saved_copies *from) {
    return (dt_aggregation)(from->aggregation == DT_AGGREGATE_NONE ? v->aggregation
                                                                   : from->aggregation);
}

dt_status *dt_variable_prepare_restore(dt_variable *v, const dt_saved_copies *from) {
    const dt_aggregation how = aggregation_of(v, from);
    const bool adds = how == DT_AGGREGATE_SUM || how == DT_AGGREGATE_MEAN;

    if (are_kept_apart(v, from->copies)) return dt_variable_diverge(v, (int)from->copies);
    if (from->copies == 1 || how == DT_AGGREGATE_ONLY_FIRST_REPLICA ||
        (adds ? v->type.dtype != DT_BOOL : are_equal(v, from->data, from->copies)))
        return NULL;
    return dt_fail(DT_E_CHECKPOINT_PARTS, NULL,
                   "was saved with copies for %lld replicas, which cannot be combined for %d: %s",
                   (long long)from->copies, dt_variable_copies(v),
                   adds ? "they are bool" : "they differ, and the variable has no aggregation");
}

/* Adds up the copies in replica order, floats in double and integers in 64 bits. For MEAN, divides
 * floats by the number of copies. The first copy gets the result. */
static void add_up(const dt_variable *v, const dt_saved_copies *from) {
    const int64_t copies = from->copies;
    const dt_view sum = copy_of(v, from->data, 0);
    const double share = aggregation_of(v, from) == DT_AGGREGATE_MEAN ? (double)copies : 1;

    for (int64_t i = 0, n = dt_type_elements(&v->type); i < n; i++) {
        double real = 0;
        int64_t whole = 0;
        for (int64_t r = 0; r < copies; r++) {
            const dt_view copy = copy_of(v, from->data, r);
            if (dt_dtype_is_float(v->type.dtype)) real += dt_cell_double(&copy, i);
            else whole = dt_int_add(whole, dt_cell_int(&copy, i));
        }
        if (dt_dtype_is_float(v->type.dtype)) dt_cell_set_double(&sum, i, real / share);
        else dt_cell_set_int(&sum, i, whole);
    }
}

void dt_variable_restore(dt_variable *v, const dt_saved_copies *from) {
    const dt_aggregation how = aggregation_of(v, from);
    const int64_t copies = from->copies;
    void *data = from->data;
    const size_t bytes = (size_t)dt_type_bytes(&v->type);
    /* True: reading the variable adds its copies up, so the first copy gets the value and the
     * others get 0. */
    const bool divides = v->aggregation == DT_AGGREGATE_SUM && dt_variable_is_on_read(v);

    char *own = dt_host_edit(v);

    if (are_kept_apart(v, copies)) {
        memcpy(own, data, bytes * (size_t)copies);
        return;
    }
    if (copies > 1 &&
        (how == DT_AGGREGATE_SUM || (how == DT_AGGREGATE_MEAN && !are_equal(v, data, copies))))
        add_up(v, from);
    memcpy(own, data, bytes);
    for (int64_t r = 1; v->stack && r < v->stack->type.dim[0]; r++)
        if (divides) memset(own + (size_t)r * bytes, 0, bytes);
        else memcpy(own + (size_t)r * bytes, data, bytes);
}
