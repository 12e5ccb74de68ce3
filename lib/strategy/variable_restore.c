/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores a variable from a checkpoint. If it was saved with a copy per replica, and there are as
 * many replicas now, each copy is restored. Otherwise the copies are combined by the aggregation
 * that the variable was saved with, so that it reads the same in cross-replica context. Copies that
 * are all equal need no aggregation.
 */
#include "op/cells.h"
#include "strategy/variable.h"

#include <string.h>

static dt_view copy_of(const dt_variable *v, const void *data, int64_t copy) {
    return (dt_view){v->type, (char *)data + copy * dt_type_bytes(&v->type)};
}

static bool are_equal(const dt_variable *v, const void *data, int64_t copies) {
    bool are = true;

    for (int64_t r = 1; r < copies && are; r++)
        are = memcmp(data, copy_of(v, data, r).data, (size_t)dt_type_bytes(&v->type)) == 0;
    return are;
}

/* Whether each replica gets its own copy back: there are as many replicas as copies, and copies
 * of the variable may differ. */
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

/* Adds up the copies in replica order, floats in double and integers in 64 bits, and divides for
 * MEAN. The result is the first copy. */
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
    /* reading the variable adds its copies up, so the first copy gets the value and the others get
     * 0 */
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
