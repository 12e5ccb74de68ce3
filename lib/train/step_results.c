/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step returns: losses and metrics as sums over the examples of all replicas, and what these
 * are divided by where that is not the number of examples. They become means at the end of an epoch
 * or an evaluation (results.c).
 */
#include "train/forward.h"

static dt_value sum_of_rows(dt_value rows) { return dt_all_reduce(DT_SUM, dt_reduce_sum(rows, 0)); }

static void return_losses(dt_trace *trace, const dt_trainer *t, const dt_forward *f) {
    const dt_compile_spec *c = t->o.compile;

    for (int i = 0; i < f->n; i++)
        if (f->of[i].whole.trace)
            dt_return(trace, dt_whole_result(dt_trace_arena(trace), c, i), f->of[i].whole);
        else if (f->of[i].rows.trace)
            dt_return(trace, dt_loss_result(dt_trace_arena(trace), c, i),
                      sum_of_rows(f->of[i].rows));
    if (f->of[f->n].rows.trace) dt_return(trace, DT_ACTIVITY_RESULT, sum_of_rows(f->of[f->n].rows));
    if (f->penalty.trace) dt_return(trace, DT_PENALTY_RESULT, f->penalty);
}

static void return_weights(dt_trace *trace, const dt_trainer *t, const dt_forward *f) {
    const dt_compile_spec *c = t->o.compile;

    for (int i = 0; i < f->n; i++)
        if (f->of[i].divisor.trace)
            dt_return(trace, dt_weight_result(dt_trace_arena(trace), c, i),
                      sum_of_rows(f->of[i].divisor));
}

/* What samples count in a metric: where a mask says that they do, and of a weighted one as in the
 * loss. No value: each 1. */
static dt_value counts_in(const dt_metric_use *m, const dt_term *x) {
    dt_value counts = m->weighted ? x->counts : (dt_value){0};
    if (!x->mask.trace || m->row->unmasked) return counts;
    dt_value is = dt_convert(x->mask, DT_FLOAT32);
    return counts.trace ? dt_multiply(dt_weights_like(counts, is), is) : is;
}

/* Metrics that are means. */
static void return_mean(dt_trace *trace, const dt_trainer *t, int i, const dt_term *x) {
    const dt_metric_use *m = &t->o.compile->metric[i];
    const dt_loss_call_args c = {.args = m->args, .target = x->target, .prediction = x->prediction};
    dt_value rows, divisor = {0}, counts = counts_in(m, x);
    if (counts.trace) dt_metric_rows(m->row, &c, counts, &rows, &divisor);
    else rows = dt_mean_per_example(m->row->update(&c));
    dt_return(trace, dt_metric_result(dt_trace_arena(trace), t->o.compile, i, 0),
              sum_of_rows(rows));
    if (divisor.trace)
        dt_return(trace, dt_metric_result(dt_trace_arena(trace), t->o.compile, i, DT_DIVISOR),
                  sum_of_rows(divisor));
}

/* Metrics that are functions of several sums. */
static void return_parts(dt_trace *trace, const dt_trainer *t, int i, const dt_term *x) {
    const dt_metric_use *m = &t->o.compile->metric[i];
    dt_metric_parts parts = {.args = m->args, .target = x->target, .prediction = x->prediction};
    if (m->weighted) parts.weight = x->counts;
    m->row->parts(&parts);
    for (int k = 0; k < parts.n; k++)
        dt_return(trace, dt_metric_result(dt_trace_arena(trace), t->o.compile, i, k),
                  dt_all_reduce(DT_SUM, parts.part[k]));
}

static void return_metrics(dt_trace *trace, const dt_trainer *t, const dt_forward *f) {
    const dt_compile_spec *c = t->o.compile;
    const char *before = dt_trace_path(trace, "metrics");

    for (int i = 0; i < c->n_metrics; i++)
        (c->metric[i].row->parts ? return_parts : return_mean)(trace, t, i,
                                                               &f->of[c->metric[i].output]);
    dt_trace_path(trace, before);
}

void dt_return_sums(dt_trace *trace, const dt_trainer *t, const dt_forward *f) {
    return_losses(trace, t, f);
    return_metrics(trace, t, f);
    return_weights(trace, t, f);
}

void dt_return_rows(dt_trace *trace, const dt_trainer *t, const dt_forward *f) {
    dt_arena *arena = dt_trace_arena(trace);

    for (int i = 0; i < f->n; i++) {
        dt_return(trace, dt_output_result(arena, &t->o.model->spec, i), f->of[i].prediction);
        if (f->of[i].whole.trace)
            dt_return(trace, dt_whole_result(arena, t->o.compile, i), f->of[i].whole);
        else if (f->of[i].rows.trace)
            dt_return(trace, dt_loss_result(arena, t->o.compile, i), f->of[i].rows);
    }
}
