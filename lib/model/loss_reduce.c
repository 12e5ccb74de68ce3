/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the losses of samples to one number. With weights w, and samples that count (all, unless the loss has a mask):
 *
 *     sum_over_batch_size, mean    sum(w l) / number of samples that count; weight 0 counts
 *     mean_with_sample_weight      sum(w l) / sum(w)
 *     sum                          sum(w l)
 *     none                         w l, sample by sample
 *
 * Means are multiplied by 1/num_replicas, as in Keras, so that their sum over replicas is their mean.
 */
#include "model/model.h"

const char *const dt_reductions[] = { "sum_over_batch_size", "mean", "mean_with_sample_weight", "sum", "none", NULL };

dt_value dt_loss_rows(const dt_named *named, const dt_loss_call_args *c)
{
    return dt_mean_per_example(((const dt_loss_row *)named->kind)->rows(c));
}

dt_value dt_divide_no_nan(dt_value a, dt_value b)
{
    dt_value zero = dt_like(b, 0), safe = dt_compare(b, zero, DT_NE);
    return dt_select(safe, dt_divide(a, dt_select(safe, b, dt_like(b, 1))), zero);
}

static dt_status *misfit(const dt_type *weight, const dt_type *values)
{
    dt_str is = { 0 }, ought = { 0 };
    dt_shape_print(weight, &is);
    dt_shape_print(values, &ought);
    dt_status *s = dt_fail(DT_E_LABELS, NULL, "weights of shape %s do not fit losses of shape %s", dt_str_text(&is), dt_str_text(&ought));
    dt_str_release(&is);
    dt_str_release(&ought);
    return s;
}

/* Leading dimensions agree or are of size 1; more of them are of size 1, fewer are repeated. */
dt_value dt_mask_like(dt_value mask, dt_value values)
{
    dt_type type = dt_type_of_value(values), w = dt_type_of_value(mask);
    if (!mask.trace || !values.trace)
        return (dt_value){ 0 };
    bool fits = true;
    for (int i = 0; i < w.rank; i++)
        fits &= w.dim[i] == 1 || (i < type.rank && w.dim[i] == type.dim[i]);
    if (!fits) {
        dt_trace_fail(values.trace, misfit(&w, &type));
        return (dt_value){ 0 };
    }
    type.dtype = w.dtype;
    return dt_broadcast_rows(w.rank > type.rank ? dt_reshape(mask, type.rank, type.dim) : mask, &type);
}

dt_value dt_weights_like(dt_value weight, dt_value values)
{
    return weight.trace && values.trace ? dt_mask_like(dt_convert(weight, dt_type_of_value(values).dtype), values) : (dt_value){ 0 };
}

/* The sum of rows (B) over B, and 0 when a replica has no example: then B counts as 1. */
static dt_value mean_over_batch(dt_value rows)
{
    dt_value sum = dt_reduce_sum(rows, 0);
    dt_value count = dt_convert(dt_dim_value(rows, 0), dt_type_of_value(rows).dtype);
    return dt_divide(sum, dt_maximum(count, dt_like(count, 1)));
}

static dt_value total(dt_value x)
{
    return dt_reduce_sum(x, DT_NO_AXIS);
}

/* w as it was given; counts: 1 for each sample that counts, as large as the values; either no value: all 1. */
typedef struct weighting {
    dt_value values, w, counts;
} weighting;

static dt_value reduce_weighted(int reduction, const weighting *x)
{
    dt_value ones = dt_like(x->values, 1), w = x->w.trace ? x->w : ones;
    dt_value counts = x->counts.trace ? x->counts : ones;
    switch (reduction) {
    case DT_REDUCTION_NONE:
        return x->values;
    case DT_REDUCTION_SUM:
        return total(x->values);
    case DT_REDUCTION_MEAN_WITH_SAMPLE_WEIGHT:
        return dt_divide_no_nan(total(x->values), total(x->counts.trace ? dt_multiply(dt_weights_like(w, x->values), counts) : w));
    default:
        return dt_divide_no_nan(total(x->values), total(counts));
    }
}

/* Losses (B) with weights (B, 1) are taken for (B, 1) too, as in Keras; it shows when nothing is reduced. */
static dt_value shaped_like(dt_value values, dt_value weight)
{
    dt_type v = dt_type_of_value(values), w = dt_type_of_value(weight);
    bool column = v.rank == 1 && w.rank == 2 && w.dim[1] == 1;
    if (v.rank == 0)
        return dt_broadcast_to(values, &w); /* one number for all samples */
    return column ? dt_reshape(values, 2, (int64_t[]){ v.dim[0], 1 }) : values;
}

static dt_value reduce(const dt_loss_row *row, const dt_loss_call_args *c, dt_value weight)
{
    int reduction = ((const dt_loss_head *)c->args)->reduction;
    weighting x = { .values = row->rows(c) };
    dt_value mask = row->mask ? row->mask(c) : (dt_value){ 0 };
    bool plain = !weight.trace && !mask.trace && reduction < DT_REDUCTION_SUM;
    if (plain && dt_type_of_value(x.values).rank > 0)
        return mean_over_batch(dt_mean_per_example(x.values));
    if (mask.trace)
        x.counts = dt_convert(mask, dt_type_of_value(x.values).dtype);
    if (weight.trace) {
        x.values = shaped_like(x.values, weight);
        x.values = dt_multiply(x.values, dt_weights_like(weight, x.values));
        x.w = dt_convert(weight, dt_type_of_value(x.values).dtype);
        x.counts = x.counts.trace ? dt_weights_like(x.counts, x.values) : x.counts;
    }
    return reduce_weighted(reduction, &x);
}

dt_value dt_loss_emit(const dt_named *named, const dt_loss_call_args *c, dt_value weight)
{
    const dt_loss_row *row = (const dt_loss_row *)named->kind;
    dt_trace *t = c->prediction.trace;
    if (!t || !c->target.trace)
        return (dt_value){ 0 };
    const char *before = dt_trace_path(t, "loss");
    const dt_loss_call_args wide = { c->args, c->target, dt_to_float32(c->prediction) };
    dt_type y = dt_type_of_value(wide.target), p = dt_type_of_value(wide.prediction);
    dt_value loss = { 0 };
    dt_status *s = row->check(named->args, &y, &p);
    if (s)
        dt_trace_fail(t, s);
    else
        loss = reduce(row, &wide, weight);
    if (dt_trace_replicas(t) > 1 && loss.trace && ((const dt_loss_head *)named->args)->reduction < DT_REDUCTION_SUM)
        loss = dt_multiply(loss, dt_like(loss, 1.0 / dt_trace_replicas(t)));
    dt_trace_path(t, before);
    return loss;
}

/* A loss is there; else the trace of the prediction, if that has one, has failed. */
static bool is_there(const dt_loss *l, dt_value prediction)
{
    if (!l && prediction.trace)
        dt_trace_fail(prediction.trace, dt_want(l, "dt_loss_call", "loss"));
    return l != NULL;
}

dt_value dt_loss_call(dt_loss *l, dt_value target, dt_value prediction)
{
    DT_LIVE(l);
    if (!is_there(l, prediction))
        return (dt_value){ 0 };
    return dt_loss_emit(&l->named, &(dt_loss_call_args){ l->named.args, target, prediction }, (dt_value){ 0 });
}

dt_value dt_loss_call_weighted(dt_loss *l, dt_value target, dt_value prediction, dt_value weight)
{
    DT_LIVE(l);
    if (!weight.trace || !is_there(l, prediction))
        return (dt_value){ 0 };
    return dt_loss_emit(&l->named, &(dt_loss_call_args){ l->named.args, target, prediction }, weight);
}
