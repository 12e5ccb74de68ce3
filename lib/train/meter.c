/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as handles: each update records the computation of the metric's row for the current
 * tensors as a graph, interprets it, and adds the results to sums in double.
 */
#include <stdlib.h>
#include <string.h>

#include "op/cells.h"
#include "strategy/values.h"
#include "train/train.h"

struct dt_meter {
    int refs;
    dt_arena *arena;
    dt_named named;
    /* number of sums; a metric that is a mean has two: of the weighted values and of the weights */
    int n;
    double *sum;
};

static const dt_metric_row *row_of(const dt_meter *m) {
    return (const dt_metric_row *)m->named.kind;
}

static int known_sums(const dt_meter *m) {
    const dt_metric_row *row = row_of(m);
    return row->update ? 2 : row->n_sums ? row->n_sums(m->named.args) : 0;
}

/* Sets all sums to 0. If their number depends on the tensors, there are none before the first
 * update. */
static void clear(dt_meter *m) {
    m->n = m->n ? m->n : known_sums(m);
    free(m->sum);
    m->sum = dt_alloc((size_t)(m->n + 1) * sizeof *m->sum);
}

static dt_status *read_handle(dt_meter *m, const char *format, va_list args) {
    dt_tree *tree = NULL;
    int n;
    const dt_kind *const *rows = dt_metrics(&n);
    DT_TRY(dt_fragment_read(m->arena, "metric", format, args, &tree));
    DT_TRY(dt_named_read(m->arena, rows, n, "metric", tree, &m->named));
    clear(m);
    return NULL;
}

dt_status *dt_meter_create(dt_meter **out, const char *format, ...) {
    DT_REQUIRE({out, "place for the metric"}, {format, "fragment"});
    dt_meter *m = dt_alloc(sizeof *m);
    *m = (dt_meter){.refs = 1, .arena = dt_arena_create()};
    va_list args;
    va_start(args, format);
    dt_status *s = read_handle(m, format, args);
    va_end(args);
    if (s) {
        dt_meter_unref(m);
        return s;
    }
    dt_meter_unref(*out);
    *out = m;
    return NULL;
}

void dt_meter_unref(dt_meter *m) {
    if (!DT_LAST(m)) return;
    free(m->sum);
    dt_arena_destroy(m->arena);
    DT_RETIRE(m);
}

dt_status *dt_meter_reset(dt_meter *m) {
    DT_REQUIRE({DT_LIVE(m), "metric"});
    clear(m);
    return NULL;
}

typedef struct inputs {
    dt_value target, prediction, weight;
} inputs;

static void emit_mean(const dt_meter *m, dt_trace *t, const inputs *in) {
    dt_value rows, w;
    dt_metric_rows(row_of(m), &(dt_loss_call_args){m->named.args, in->target, in->prediction},
                   in->weight, &rows, &w);
    dt_return(t, "sum", dt_reduce_sum(rows, DT_NO_AXIS));
    dt_return(t, "weight", dt_reduce_sum(w.trace ? w : dt_like(rows, 1), DT_NO_AXIS));
}

static void emit_parts(const dt_meter *m, dt_trace *t, const inputs *in) {
    dt_metric_parts parts = {.args = m->named.args,
                             .target = in->target,
                             .prediction = in->prediction,
                             .weight = in->weight};
    row_of(m)->parts(&parts);
    for (int i = 0; i < parts.n; i++) {
        char name[16];
        snprintf(name, sizeof name, "part/%d", i);
        dt_return(t, name, parts.part[i]);
    }
}

static dt_value declare(dt_trace *t, const char *name, const dt_tensor *x) {
    return x ? dt_trace_declare(t, name, &x->type) : (dt_value){0};
}

static dt_status *trace_update(const dt_meter *m, const dt_tensor *target,
                               const dt_tensor *prediction, const dt_tensor *weight,
                               dt_graph **out) {
    const dt_metric_row *row = row_of(m);
    dt_trace *t = dt_trace_create("metric");
    inputs in = {declare(t, "target", target), declare(t, "prediction", prediction),
                 declare(t, "weight", weight)};
    if (!dt_dtype_is_float(prediction->type.dtype))
        in.prediction = dt_convert(in.prediction, DT_FLOAT32);
    dt_type y = dt_type_of_value(in.target), p = dt_type_of_value(in.prediction);
    dt_status *s = row->check && !row->alone ? row->check(m->named.args, &y, &p) : NULL;
    if (s) dt_trace_fail(t, s);
    else (row->update ? emit_mean : emit_parts)(m, t, &in);
    return dt_trace_end(t, out);
}

static void add_result(dt_meter *m, int *at, const dt_view *result) {
    int n = (int)dt_type_elements(&result->type);
    if (*at + n > m->n) {
        m->sum = dt_realloc(m->sum, (size_t)(*at + n) * sizeof *m->sum);
        memset(m->sum + m->n, 0, (size_t)(*at + n - m->n) * sizeof *m->sum);
        m->n = *at + n;
    }
    for (int i = 0; i < n; i++) m->sum[(*at)++] += dt_cell_double(result, i);
}

/* Refuses an update whose number of classes differs from that of the first one, because the sums
 * would not match. */
static dt_status *check_size(const dt_meter *m, const dt_interpretation *r) {
    int64_t n = 0;
    for (int i = 0; i < r->n_results; i++) n += dt_type_elements(&r->result[i].type);
    if (m->n == 0 || m->n == n) return NULL;
    return dt_fail(DT_E_LABELS, NULL,
                   "%s was updated with another number of classes before: %d sums, now %lld",
                   m->named.kind->name, m->n, (long long)n);
}

static dt_status *add_up(dt_meter *m, const dt_graph *g, const dt_view *arg) {
    static const int64_t no_rows = 1;
    dt_interpretation r;
    int at = 0;
    DT_TRY(dt_interpret(g, NULL, 1, &no_rows, arg, &r));
    dt_status *s = check_size(m, &r);
    for (int i = 0; !s && i < r.n_results; i++) add_result(m, &at, &r.result[i]);
    dt_interpretation_release(&r);
    return s;
}

dt_status *dt_meter_update(dt_meter *m, const dt_tensor *target, const dt_tensor *prediction,
                           const dt_tensor *weight) {
    DT_LIVE(m);
    DT_LIVE(target);
    DT_LIVE(prediction);
    DT_LIVE(weight);
    const dt_tensor *given[] = {target, prediction, weight};
    dt_view arg[3];
    dt_graph *g = NULL;
    int n = 0;

    DT_REQUIRE({m, "metric"}, {prediction, "prediction"});
    if (!row_of(m)->alone) DT_TRY(dt_want(target, "dt_meter_update", "target"));
    DT_TRY(trace_update(m, target, prediction, weight, &g));
    for (int i = 0; i < 3; i++)
        if (given[i]) arg[n++] = (dt_view){given[i]->type, given[i]->data};
    dt_status *s = add_up(m, g, arg);
    dt_graph_destroy(g);
    return s;
}

dt_status *dt_meter_result(const dt_meter *m, dt_tensor **out) {
    DT_REQUIRE({DT_LIVE(m), "metric"}, {out, "place for the tensor"});
    const dt_metric_row *row = row_of(m);
    if (row->update)
        return dt_tensor_create(out, DT_FLOAT32, 0, NULL,
                                &(float){(float)row->result(m->named.args, &m->sum[0], m->sum[1])});
    if (row->fault && m->n) DT_TRY(row->fault(m->named.args, m->sum, m->n));
    DT_LOCAL double *result = dt_alloc((size_t)(m->n + 1) * sizeof *result);
    int n = m->n ? row->results(m->named.args, m->sum, m->n, result) : 1;
    DT_LOCAL float *x = dt_alloc((size_t)(n + 1) * sizeof *x);
    for (int i = 0; i < n; i++) x[i] = (float)result[i];
    int64_t size = n;
    return dt_tensor_create(out, DT_FLOAT32, n == 1 ? 0 : 1, &size, x);
}
