/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what results.h declares. */
#include "train/results.h"

#include <stdlib.h>
#include <string.h>

static bool is_alone(const dt_compile_spec *c) { return c->n_outputs == 1; }

const char *dt_loss_result(dt_arena *arena, const dt_compile_spec *c, int output) {
    return is_alone(c) ? "loss" : dt_arena_printf(arena, "loss/%d", output);
}

const char *dt_whole_result(dt_arena *arena, const dt_compile_spec *c, int output) {
    return is_alone(c) ? "whole" : dt_arena_printf(arena, "whole/%d", output);
}

const char *dt_weight_result(dt_arena *arena, const dt_compile_spec *c, int output) {
    return is_alone(c) ? "weight" : dt_arena_printf(arena, "weight/%d", output);
}

const char *dt_target_result(dt_arena *arena, int output) {
    return dt_arena_printf(arena, "target/%d", output);
}

const char *dt_metric_result(dt_arena *arena, const dt_compile_spec *c, int metric, int k) {
    if (k == DT_DIVISOR) return dt_arena_printf(arena, "sums/%d/weight", metric);
    return c->metric[metric].row->parts ? dt_arena_printf(arena, "sums/%d/%d", metric, k)
                                        : dt_arena_printf(arena, "sums/%d", metric);
}

static int numbers_in(const dt_graph *g, int result) {
    return (int)dt_type_elements(&g->node[g->result[result].node].type);
}

/* Returns the number of sums of a metric that is not a mean: the values of all its parts. */
static int count_parts(dt_arena *arena, const dt_compile_spec *c, int metric, const dt_graph *g) {
    int n = 0, at;
    for (int k = 0; k < DT_METRIC_PARTS &&
                    (at = dt_graph_find_result(g, dt_metric_result(arena, c, metric, k))) >= 0;
         k++)
        n += numbers_in(g, at);
    return n;
}

void dt_sum_layout_make(dt_sum_layout *l, dt_arena *arena, const dt_compile_spec *c,
                        const dt_graph *step) {
    *l = (dt_sum_layout){0};
    for (int i = 0; i < c->n_outputs; i++) {
        l->loss[i] = c->output[i].loss.kind ? l->n : DT_NO_SLOT;
        l->n += c->output[i].loss.kind ? 2 : 0;
    }
    l->penalty = l->n++;
    l->n_losses = l->n;
    for (int i = 0; i < c->n_metrics; i++) {
        l->metric[i] = l->n;
        l->width[i] = c->metric[i].row->parts ? count_parts(arena, c, i, step) : 2;
        l->n += l->width[i];
    }
}

typedef struct making {
    dt_tally *t;
    dt_arena *arena;
    const dt_graph *step;
} making;

/* Arranges that the result `name` is added to sum number `slot`. Returns false if the step has no
 * such result. */
static bool lead(const making *m, const char *name, int slot) {
    int at = dt_graph_find_result(m->step, name);
    if (at >= 0) m->t->slot[at] = slot;
    return at >= 0;
}

static void lead_repeated(const making *m, const char *name, int slot) {
    if (lead(m, name, slot)) m->t->repeats[dt_graph_find_result(m->step, name)] = true;
}

static void lead_or_count(const making *m, const char *name, int slot) {
    if (!lead(m, name, slot)) m->t->counted[m->t->n_counted++] = slot;
}

static void lead_metric(const making *m, const dt_sum_layout *l, const dt_compile_spec *c, int i) {
    int slot = l->metric[i];
    if (!c->metric[i].row->parts) {
        lead(m, dt_metric_result(m->arena, c, i, 0), slot);
        lead_or_count(m, dt_metric_result(m->arena, c, i, DT_DIVISOR), slot + 1);
        return;
    }
    for (int k = 0; slot < l->metric[i] + l->width[i]; k++) {
        const char *name = dt_metric_result(m->arena, c, i, k);
        lead(m, name, slot);
        slot += numbers_in(m->step, dt_graph_find_result(m->step, name));
    }
}

void dt_tally_make(dt_tally *t, dt_arena *arena, const dt_sum_layout *l, const dt_compile_spec *c,
                   const dt_graph *step) {
    *t = (dt_tally){.n = step->n_results,
                    .slot = dt_arena_array(arena, int, step->n_results + 1),
                    .repeats = dt_arena_array(arena, bool, step->n_results + 1),
                    .counted = dt_arena_array(arena, int, c->n_outputs + c->n_metrics + 1)};
    const making m = {t, arena, step};
    for (int i = 0; i < t->n; i++) t->slot[i] = DT_NO_SLOT;
    for (int i = 0; i < c->n_outputs; i++)
        if (l->loss[i] != DT_NO_SLOT) {
            lead(&m, dt_loss_result(arena, c, i), l->loss[i]);
            lead_repeated(&m, dt_whole_result(arena, c, i), l->loss[i]);
            lead_or_count(&m, dt_weight_result(arena, c, i), l->loss[i] + 1);
        }
    lead_repeated(&m, DT_PENALTY_RESULT, l->penalty);
    lead(&m, DT_ACTIVITY_RESULT, l->penalty);
    for (int i = 0; i < c->n_metrics; i++) lead_metric(&m, l, c, i);
}

static double value_at(const dt_view *v, int64_t i) {
    return v->type.dtype == DT_FLOAT64 ? ((const double *)v->data)[i]
                                       : (double)((const float *)v->data)[i];
}

void dt_tally_add(const dt_tally *t, const dt_view *result, int64_t rows, int most, double *sum) {
    for (int r = 0; r < t->n; r++)
        for (int64_t i = 0;
             t->slot[r] != DT_NO_SLOT && t->slot[r] < most && i < dt_type_elements(&result[r].type);
             i++)
            sum[t->slot[r] + i] += value_at(&result[r], i) * (t->repeats[r] ? (double)rows : 1);
    for (int i = 0; i < t->n_counted; i++)
        if (t->counted[i] < most) sum[t->counted[i]] += (double)rows;
}

static double quotient(double a, double b) { return b != 0 ? a / b : 0; }

double dt_sum_layout_loss(const dt_sum_layout *l, const dt_compile_spec *c, const double *sum,
                          double examples) {
    double loss = quotient(sum[l->penalty], examples);
    for (int i = 0; i < c->n_outputs; i++)
        if (l->loss[i] != DT_NO_SLOT)
            loss += c->output[i].loss_weight * quotient(sum[l->loss[i]], sum[l->loss[i] + 1]);
    return loss;
}

/* Computes the values of a metric that is not a mean from its sums. The metric's row needs space
 * for the values of all classes, even if the metric is their mean. */
static void take_parts(const dt_metric_use *m, const double *sum, int n, double *out) {
    DT_LOCAL double *room = dt_alloc(((size_t)n + 1) * sizeof *room);
    m->row->results(m->args, sum, n, room);
    memcpy(out, room, (size_t)m->n * sizeof *out);
}

static void take_metric(const dt_sum_layout *l, const dt_metric_use *m, int i, const double *sum,
                        double *out) {
    if (m->row->parts) take_parts(m, &sum[l->metric[i]], l->width[i], out);
    else out[0] = m->row->result(m->args, &sum[l->metric[i]], sum[l->metric[i] + 1]);
}

dt_status *dt_sum_layout_check(const dt_sum_layout *l, const dt_compile_spec *c,
                               const double *sum) {
    for (int i = 0; i < c->n_metrics; i++) {
        const dt_metric_use *m = &c->metric[i];
        dt_status *s =
            m->row->fault ? m->row->fault(m->args, &sum[l->metric[i]], l->width[i]) : NULL;
        if (s) return m->at.source ? dt_at(s, &m->at) : s;
    }
    return NULL;
}

int dt_sum_layout_values(const dt_sum_layout *l, const dt_compile_spec *c, const dt_sums *s,
                         double *out) {
    int n = 0;
    out[n++] = dt_sum_layout_loss(l, c, s->v, s->examples);
    for (int i = 0; i < c->n_outputs; i++)
        if (c->output[i].loss_key) out[n++] = quotient(s->v[l->loss[i]], s->v[l->loss[i] + 1]);
    for (int i = 0; i < c->n_metrics; i++) {
        take_metric(l, &c->metric[i], i, s->v, &out[n]);
        n += c->metric[i].n;
    }
    return n;
}

void dt_sums_release(dt_sums *s) {
    free(s->v);
    *s = (dt_sums){0};
}
