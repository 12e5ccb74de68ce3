/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduces the values of samples to one number: the rule for losses in C, for losses of jobs and for
 * metrics. With weights w, and samples that count (all, unless the loss or the model has a mask):
 *
 *     sum_over_batch_size, mean    sum(w l) / number of samples that count; weight 0 counts
 *     mean_with_sample_weight      sum(w l) / sum(w) of the samples that count, as for mean metrics
 *     sum                          sum(w l)
 *     none                         w l, sample by sample
 *
 * In replica context a mean is divided by the number of samples (or sum of weights) of all
 * replicas. So the sum of the replicas' losses is the mean over the global batch, however its rows
 * are divided over replicas. With DT_REPLICA_AVERAGE the divisor is the replica's own number, times
 * num_replicas, as in Keras; if replicas have equal numbers of rows, the result is the same.
 */
#include "model/model.h"

const char *const dt_loss_reductions[] = {
    "sum_over_batch_size", "mean", "mean_with_sample_weight", "sum", "none", NULL};

/* Divides a by b; 0 where b is 0. */
static dt_value divide_no_nan(dt_value a, dt_value b) {
    dt_value zero = dt_like(b, 0), safe = dt_compare(b, zero, DT_NE);
    return dt_select(safe, dt_divide(a, dt_select(safe, b, dt_like(b, 1))), zero);
}

static dt_status *misfit(const dt_type *weight, const dt_type *values) {
    return dt_fail(DT_E_LABELS, NULL, "weights or a mask of shape %s do not fit losses of shape %s",
                   dt_text_of_shape(weight).s, dt_text_of_shape(values).s);
}

/* Returns the type of weights after dimensions of size 1 are removed while more than `rank` are
 * left: first from the end, then from the front. */
static dt_type without_ones(dt_type w, int rank) {
    int before = 0;
    while (w.rank > rank && w.dim[w.rank - 1] == 1) w.rank--;
    while (w.rank - before > rank && w.dim[before] == 1) before++;
    return dt_type_of(w.dtype, w.rank - before, w.dim + before);
}

/* Dimensions must agree, from the first one on, or have size 1; otherwise the trace fails. Missing
 * ones are added at the end. */
dt_value dt_mask_like(dt_value mask, dt_value values) {
    dt_type type = dt_type_of_value(values), given = dt_type_of_value(mask);
    if (!mask.trace || !values.trace) return (dt_value){0};
    const dt_type w = without_ones(given, type.rank);
    bool fits = true;
    for (int i = 0; i < w.rank; i++)
        fits &= w.dim[i] == 1 || (i < type.rank && w.dim[i] == type.dim[i]);
    if (!fits) {
        dt_trace_fail(values.trace, misfit(&given, &type));
        return (dt_value){0};
    }
    type.dtype = w.dtype;
    return dt_broadcast_rows(given.rank > w.rank ? dt_reshape(mask, w.rank, w.dim) : mask, &type);
}

dt_value dt_weights_like(dt_value weight, dt_value values) {
    return weight.trace && values.trace
               ? dt_mask_like(dt_convert(weight, dt_type_of_value(values).dtype), values)
               : (dt_value){0};
}

dt_value dt_divisor_rows(int reduction, dt_value weight, dt_value mask) {
    if (reduction != DT_REDUCTION_MEAN_WITH_SAMPLE_WEIGHT) return mask;
    return weight.trace && mask.trace ? dt_multiply(dt_weights_like(weight, mask), mask)
           : weight.trace             ? weight
                                      : mask;
}

static dt_value total(dt_value x) { return dt_reduce_sum(x, DT_NO_AXIS); }

/* A loss to be reduced. values: the losses of samples, times their weights if there are any; w: the
 * weights; counts: 1 for samples that count and 0 for others, in the shape of the values. If w or
 * counts has no value, all are 1. */
typedef struct weighting {
    const dt_named *named;
    dt_loss_average average;
    dt_value values, w, counts;
} weighting;

static int reduction_of(const weighting *x) {
    return ((const dt_loss_head *)x->named->args)->reduction;
}

/* Emits the divisor of a mean from `count`, this replica's part of it: for a global average its sum
 * over all replicas, else `count` itself. */
static dt_value divisor_of(const weighting *x, dt_value count) {
    return count.trace && dt_trace_replicas(count.trace) > 1 && x->average == DT_GLOBAL_AVERAGE
               ? dt_all_reduce(DT_SUM, count)
               : count;
}

static dt_value share_of(const weighting *x, dt_value mean) {
    int replicas = mean.trace ? dt_trace_replicas(mean.trace) : 1;
    return replicas > 1 && x->average == DT_REPLICA_AVERAGE
               ? dt_multiply(mean, dt_like(mean, 1.0 / replicas))
               : mean;
}

static dt_value divide(const weighting *x, dt_value sum, dt_value count) {
    return share_of(x, divide_no_nan(sum, divisor_of(x, count)));
}

/* Emits the mean over the batch of samples without weights and mask. A count of 0 examples is
 * replaced by 1, which avoids a division by 0. */
static dt_value mean_over_batch(const weighting *x) {
    dt_value rows = dt_mean_per_example(x->values);
    dt_value count = dt_convert(divisor_of(x, dt_dim_value(rows, 0)), dt_type_of_value(rows).dtype);
    return share_of(x, dt_divide(dt_reduce_sum(rows, 0), dt_maximum(count, dt_like(count, 1))));
}

static dt_value reduce_weighted(const weighting *x) {
    if (reduction_of(x) == DT_REDUCTION_NONE) return x->values;
    if (reduction_of(x) == DT_REDUCTION_SUM) return total(x->values);
    /* A loss that is one number for all samples is divided by 1, not by a weight, as in Keras. */
    bool is_one = dt_type_of_value(x->values).rank == 0;
    dt_value counted = is_one ? (dt_value){0} : dt_divisor_rows(reduction_of(x), x->w, x->counts);
    return divide(x, total(x->values), total(counted.trace ? counted : dt_like(x->values, 1)));
}

/* Emits values with leading dimensions of size 1 added, up to `rank`. */
static dt_value with_ones(dt_value values, int rank) {
    const dt_type v = dt_type_of_value(values);
    const int ones = rank - v.rank;
    int64_t dim[DT_MAX_RANK];
    for (int i = 0; i < rank; i++) dim[i] = i < ones ? 1 : v.dim[i - ones];
    return dt_reshape(values, rank, dim);
}

/* Emits losses in the shape that Keras gives them with such weights: losses (B) with weights (B, 1)
 * become (B, 1), a scalar is repeated to the shape of weights other than (1), and losses (n) with
 * weights (1, n) become (1, n). This is visible if nothing is reduced. */
static dt_value shaped_like(dt_value values, dt_value weight) {
    dt_type v = dt_type_of_value(values), w = dt_type_of_value(weight);
    bool column = v.rank == 1 && w.rank == 2 && w.dim[1] == 1;
    if (v.rank == 0 && w.rank == 1 && w.dim[0] == 1) return values;
    /* A scalar is the same loss for all samples. */
    if (v.rank == 0) return dt_broadcast_to(values, &w);
    const dt_type fewer = without_ones(w, v.rank);
    if (v.dim[0] != DT_BATCH && w.dim[w.rank - 1] != 1 && w.rank > v.rank && fewer.rank == v.rank)
        return with_ones(values, w.rank);
    return column ? dt_reshape(values, 2, (int64_t[]){v.dim[0], 1}) : values;
}

/* Computes a loss that is a function of sums over the batch, from the sums of all replicas. */
static dt_value join_replicas(const dt_loss_row *row, const dt_loss_call_args *c, uint32_t summed) {
    dt_value part[DT_LOSS_PARTS];
    int n = row->parts(c, part);
    for (int i = 0; i < n; i++)
        part[i] = dt_all_reduce(DT_SUM, dt_reduce(part[i], DT_REDUCE_SUM, summed));
    return row->join(c->args, part);
}

static dt_value values_of(const weighting *x, const dt_loss_call_args *c) {
    const dt_loss_row *row = (const dt_loss_row *)x->named->kind;
    const dt_type p = dt_type_of_value(c->prediction);
    bool joined = dt_loss_is_whole(x->named, &p) && x->average == DT_GLOBAL_AVERAGE &&
                  reduction_of(x) < DT_REDUCTION_SUM;
    return joined && dt_trace_replicas(c->prediction.trace) > 1
               ? join_replicas(row, c, row->summed(c->args, &p))
               : row->rows(c);
}

static dt_value reduce(weighting *x, const dt_loss_call_args *c, dt_value weight) {
    const dt_loss_row *row = (const dt_loss_row *)x->named->kind;
    dt_value mask = row->mask ? row->mask(c) : (dt_value){0};
    bool plain = !weight.trace && !mask.trace && reduction_of(x) < DT_REDUCTION_SUM;
    x->values = values_of(x, c);
    if (plain && dt_type_of_value(x->values).rank > 0) return mean_over_batch(x);
    if (mask.trace) x->counts = dt_convert(mask, dt_type_of_value(x->values).dtype);
    if (weight.trace) {
        x->values = shaped_like(x->values, weight);
        x->values = dt_multiply(x->values, dt_weights_like(weight, x->values));
        x->w = dt_convert(weight, dt_type_of_value(x->values).dtype);
        if (x->counts.trace) x->counts = dt_weights_like(shaped_like(x->counts, weight), x->values);
    }
    return reduce_weighted(x);
}

static dt_value emit(const dt_loss *l, dt_value target, dt_value prediction, dt_value weight) {
    const dt_loss_row *row = (const dt_loss_row *)l->named.kind;
    dt_trace *t = prediction.trace;
    if (!t || !target.trace) return (dt_value){0};
    const char *before = dt_trace_path(t, "loss");
    const dt_loss_call_args wide = {l->named.args, target, dt_to_float32(prediction)};
    dt_type y = dt_type_of_value(wide.target), p = dt_type_of_value(wide.prediction);
    dt_value loss = {0};
    dt_status *s = row->check(l->named.args, &y, &p);
    if (s) dt_trace_fail(t, s);
    else loss = reduce(&(weighting){.named = &l->named, .average = l->average}, &wide, weight);
    dt_trace_path(t, before);
    return loss;
}

/* Checks that a loss was given. If not, the prediction's trace fails. */
static bool is_there(const dt_loss *l, dt_value prediction) {
    if (!l && prediction.trace) dt_trace_fail(prediction.trace, dt_want(l, "dt_loss_call", "loss"));
    return l != NULL;
}

dt_value dt_loss_call(dt_loss *l, dt_value target, dt_value prediction) {
    DT_LIVE(l);
    if (!is_there(l, prediction)) return (dt_value){0};
    return emit(l, target, prediction, (dt_value){0});
}

dt_value dt_loss_call_weighted(dt_loss *l, dt_value target, dt_value prediction, dt_value weight) {
    DT_LIVE(l);
    if (!weight.trace || !is_there(l, prediction)) return (dt_value){0};
    return emit(l, target, prediction, weight);
}

dt_status *dt_loss_set_average(dt_loss *l, dt_loss_average average) {
    DT_REQUIRE({DT_LIVE(l), "loss"});
    if ((int)average < DT_GLOBAL_AVERAGE || average > DT_REPLICA_AVERAGE)
        return dt_fail(
            DT_E_RANGE, NULL,
            "dt_loss_set_average: expected DT_GLOBAL_AVERAGE or DT_REPLICA_AVERAGE, got %d",
            (int)average);
    l->average = average;
    return NULL;
}
