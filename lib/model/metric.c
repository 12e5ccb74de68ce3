/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that metrics share. */
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

/* ---- means ---- */

/* Adds a last dimension of size 1 to x if `as` has one more dimension, of size 1, as Keras does. */
static dt_value same_rank(dt_value x, dt_value as) {
    dt_type is = dt_type_of_value(x), ought = dt_type_of_value(as);
    if (is.rank + 1 != ought.rank || ought.dim[ought.rank - 1] != 1) return x;
    is.dim[is.rank++] = 1;
    return dt_reshape(x, is.rank, is.dim);
}

/* Emits the mean over all dimensions after the first `rank`. */
static dt_value mean_behind(dt_value x, int rank) {
    while (dt_type_of_value(x).rank > 1 && dt_type_of_value(x).rank > rank) x = dt_mean_last(x);
    if (dt_type_of_value(x).rank <= rank) return x;
    dt_value sum = dt_reduce_sum(x, 0);
    return dt_divide(sum, dt_convert(dt_dim_value(x, 0), dt_type_of_value(sum).dtype));
}

/* Makes *x the weighted values and *w the contributions to the divisor: see dt_metric_rows. mask: 1
 * or 0 for each value; no value: all 1. */
static void weigh(dt_value *x, dt_value *w, dt_value mask) {
    *w = dt_divisor_rows(DT_REDUCTION_MEAN_WITH_SAMPLE_WEIGHT,
                         dt_convert(*w, dt_type_of_value(*x).dtype), mask);
    *x = same_rank(*x, *w);
    *w = same_rank(*w, *x);
    *x = mean_behind(*x, dt_type_of_value(*w).rank);
    *w = dt_weights_like(*w, *x);
    *x = dt_multiply(*x, *w);
    *w = mean_behind(*w, 1);
}

void dt_metric_rows(const dt_metric_row *row, const dt_loss_call_args *c, dt_value weight,
                    dt_value *rows, dt_value *divisor) {
    dt_value x = row->update(c), mask = weight.trace && row->mask ? row->mask(c) : (dt_value){0};
    if (weight.trace)
        weigh(&x, &weight, mask.trace ? dt_convert(mask, dt_type_of_value(x).dtype) : mask);
    *rows = mean_behind(x, 1);
    *divisor = weight;
}

/* ---- targets ---- */

dt_loss_limits dt_metric_targets(const dt_metric_row *row) {
    int n;
    const dt_kind *const *losses = dt_losses(&n);
    for (int i = 0; i < n && row->targets.low >= row->targets.high; i++)
        if (strcmp(losses[i]->name, row->kind.name) == 0)
            return ((const dt_loss_row *)losses[i])->targets;
    return row->targets;
}

/* ---- numbers ---- */

static int count_sums(const dt_graph *g) {
    int n = 0;
    for (int i = 0; i < g->n_results; i++)
        n += (int)dt_type_elements(&g->node[g->result[i].node].type);
    return n;
}

/* Returns the number of results, which follows from the number of sums in the parts, traced in
 * g. */
static int count_results(const dt_metric_row *row, const void *args, const dt_graph *g) {
    int n = count_sums(g);
    double *sum = dt_alloc(dt_size_mul((size_t)n + 1, sizeof *sum)),
           *out = dt_alloc(dt_size_mul((size_t)n + 1, sizeof *out));
    int results = row->results(args, sum, n, out);
    free(sum);
    free(out);
    return results;
}

int dt_metric_width(const dt_metric_row *row, const void *args, const dt_type *target,
                    const dt_type *prediction) {
    if (!row->parts) return 1;
    dt_status *s = row->check ? row->check(args, target, prediction) : NULL;
    /* The parts are traced only if the types fit, since tracing reports other types as errors. */
    if (s) {
        dt_status_free(s);
        return 0;
    }
    dt_trace *t = dt_trace_create("metric");
    dt_graph *g = NULL;
    dt_metric_parts parts = {.args = args,
                             .target = dt_trace_declare(t, "target", target),
                             .prediction = dt_trace_declare(t, "prediction", prediction)};
    row->parts(&parts);
    for (int i = 0; i < parts.n; i++) dt_return(t, (char[]){(char)('0' + i), '\0'}, parts.part[i]);
    s = dt_trace_end(t, &g);
    int n = s ? 0 : count_results(row, args, g);
    dt_status_free(s);
    dt_graph_destroy(g);
    return n;
}
