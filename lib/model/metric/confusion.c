/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of right and wrong decisions at thresholds: see confusion.h. */
#include "model/metric/confusion.h"

double dt_ratio(double a, double b) { return b == 0 ? 0 : a / b; }

double *dt_confusion_even(dt_arena *arena, int n) {
    double *t = dt_arena_array(arena, double, n);
    for (int i = 0; i < n; i++) t[i] = n == 1 ? 0.5 : i * 1.0 / (n - 1);
    return t;
}

/* Sets *own and *other to values (..., C, C): element [i][j] is x_i in `own` and x_j in `other`. */
static void make_pairs(dt_value x, dt_value *own, dt_value *other) {
    dt_type type = dt_type_of_value(x), pairs = type;
    int8_t dims[DT_MAX_RANK];
    pairs.dim[pairs.rank++] = type.dim[type.rank - 1];
    for (int i = 0; i < type.rank; i++) dims[i] = (int8_t)i;
    *own = dt_broadcast_in_dim(x, &pairs, dims);
    dims[type.rank - 1] = (int8_t)type.rank;
    *other = dt_broadcast_in_dim(x, &pairs, dims);
}

static dt_value as_number(dt_value truth, dt_dtype dtype) { return dt_convert(truth, dtype); }

/* Emits (..., C): 1 for the k largest elements of the last dimension, all if k >= C; else 0. Of
 * equal elements, the ones with the lower index count as larger. */
static dt_value top_k_mask(dt_value x, int64_t k) {
    dt_value own, other;
    make_pairs(x, &own, &other);
    dt_type pairs = dt_type_of_value(own), index = pairs;
    index.dtype = DT_INT32;
    dt_value before = dt_compare(dt_iota(x.trace, &index, pairs.rank - 1),
                                 dt_iota(x.trace, &index, pairs.rank - 2), DT_LT);
    dt_value larger = as_number(dt_compare(other, own, DT_GT), pairs.dtype),
             equal = as_number(dt_compare(other, own, DT_EQ), pairs.dtype);
    dt_value ahead = dt_add(larger, dt_multiply(equal, as_number(before, pairs.dtype)));
    dt_value rank = dt_reduce(ahead, DT_REDUCE_SUM, 1u << (pairs.rank - 1));
    return as_number(dt_compare(rank, dt_like(rank, (double)k), DT_LT), pairs.dtype);
}

/* Makes a constant vector of x's dtype from n numbers. */
static dt_value vector(dt_value x, const double *number, int n) {
    dt_value *each = dt_arena_array(dt_trace_arena(x.trace), dt_value, n);
    dt_type one = dt_type_of(dt_type_of_value(x).dtype, 1, (int64_t[]){1});
    for (int i = 0; i < n; i++) each[i] = dt_splat(x.trace, &one, number[i]);
    return dt_concatenate(each, n, 0);
}

dt_value dt_in_one_row(dt_value x) {
    dt_type type = dt_type_of_value(x);
    int64_t n = 1;
    for (int i = 0; i < type.rank; i++) n *= type.dim[i];
    return dt_reshape(x, 1, &n);
}

/* Returns the part of x, shaped like the predictions, that the metric counts: that of class_id, or
 * x itself if class_id is negative. */
static dt_value choose(const dt_confusion_plan *plan, dt_value x) {
    return plan->class_id < 0
               ? x
               : dt_slice_axis(x, dt_type_of_value(x).rank - 1, plan->class_id, 1, 1);
}

static dt_status *check_class(const dt_confusion_plan *plan, const dt_type *p) {
    if (plan->class_id >= 0 && (p->rank < 2 || plan->class_id >= p->dim[p->rank - 1]))
        return dt_fail(DT_E_LABELS, NULL,
                       "class_id %lld is out of range for predictions of rank %d",
                       (long long)plan->class_id, p->rank);
    return NULL;
}

/* Emits the weight of each output, in the shape of the predictions: m->weight, repeated for all
 * outputs of a sample if it has one number for each sample, or 1 without m->weight; times the
 * weight of the output's class if there is class_weight. */
static dt_value weights_of(const dt_confusion_plan *plan, const dt_metric_parts *m) {
    dt_value p = m->prediction, w = m->weight.trace ? dt_weights_like(m->weight, p) : dt_like(p, 1);
    const dt_type type = dt_type_of_value(p);
    if (!plan->class_weight) return w;
    int last = type.rank - 1;
    dt_value of_class = vector(p, plan->class_weight, (int)type.dim[last]);
    return dt_multiply(w, dt_broadcast_in_dim(of_class, &type, (int8_t[]){(int8_t)last}));
}

/* Repeats x for each of T thresholds: (N) to (N, T), or with by_class (B, C) to (B, T, C). */
static dt_value spread(dt_value x, const dt_type *table) {
    return dt_broadcast_in_dim(x, table, (int8_t[]){0, 2});
}

static dt_type table_of(const dt_type *p, int n) {
    const dt_type all = dt_type_of(p->dtype, 2, (int64_t[]){p->dim[0], n});
    const dt_type by_class =
        dt_type_of(p->dtype, 3, (int64_t[]){p->dim[0], n, p->dim[p->rank - 1]});
    return p->rank == 1 ? all : by_class;
}

static void count(const dt_confusion_plan *plan, dt_metric_parts *m, dt_value p, dt_value y,
                  dt_value w) {
    const dt_type type = dt_type_of_value(p), table = table_of(&type, plan->n);
    dt_value limit =
        dt_broadcast_in_dim(vector(p, plan->threshold, plan->n), &table, (int8_t[]){1});
    dt_value predicted = dt_convert(dt_compare(spread(p, &table), limit, DT_GT), type.dtype),
             all = dt_like(predicted, 1);
    dt_value is = dt_convert(dt_compare(y, dt_like(y, 0), DT_NE), type.dtype);
    dt_value positive = spread(dt_multiply(w, is), &table),
             negative = spread(dt_multiply(w, dt_subtract(dt_like(is, 1), is)), &table);
    const dt_value counted[] = {dt_multiply(positive, predicted), dt_multiply(negative, predicted),
                                dt_multiply(negative, dt_subtract(all, predicted)),
                                dt_multiply(positive, dt_subtract(all, predicted))};
    for (int i = 0; i < 4; i++) m->part[m->n++] = dt_reduce(counted[i], DT_REDUCE_SUM, 1);
}

/* Emits the elements of x, shaped like the predictions, that the metric counts, in one dimension,
 * (N). With by_class it returns x, (B, C), unchanged. */
static dt_value in_row(const dt_confusion_plan *plan, dt_value x) {
    return plan->by_class ? x : dt_in_one_row(choose(plan, x));
}

void dt_confusion_emit(const dt_confusion_plan *plan, dt_metric_parts *m) {
    dt_value p = m->prediction, y = dt_targets_like(m->target, p);
    dt_type type = dt_type_of_value(p);
    dt_status *s = check_class(plan, &type);
    if (s) {
        dt_trace_fail(p.trace, s);
        return;
    }
    dt_value w = weights_of(plan, m);
    if (plan->top_k) {
        dt_value mask = top_k_mask(p, plan->top_k);
        p = dt_add(dt_multiply(p, mask),
                   dt_multiply(dt_like(p, -1e10), dt_subtract(dt_like(p, 1), mask)));
    }
    count(plan, m, in_row(plan, p), in_row(plan, y), in_row(plan, w));
}
