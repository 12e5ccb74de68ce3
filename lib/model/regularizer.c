/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Penalties, which are added to the loss. A penalty on weights is one number, independent of the
 * batch. A penalty on a layer's output, or a loss that a layer adds, is a number for each example,
 * and the loss contains their mean. As in Keras, only weights that are trained have a penalty.
 */
#include "model/model.h"

/* ---- reading ---- */

static dt_status *read(dt_arena *arena, const dt_tree *t, dt_named *out) {
    int n;
    const dt_kind *const *rows = dt_regularizers(&n);
    *out = (dt_named){0};
    return dt_given(t) ? dt_named_read(arena, rows, n, "regularizer", t, out) : NULL;
}

dt_status *dt_regularizer_read(dt_arena *arena, const dt_layer_head *head, dt_weight_spec *weight) {
    const int role = dt_layer_role(weight->name);
    if (role >= 0) DT_TRY(read(arena, head->regularizer[role], &weight->regularizer));
    const dt_regularizer *row = (const dt_regularizer *)weight->regularizer.kind;
    return row && row->check ? dt_at(row->check(&weight->type), &weight->regularizer.at) : NULL;
}

dt_status *dt_activity_read(dt_arena *arena, const dt_layer_head *head, dt_named *out) {
    DT_TRY(read(arena, head->regularizer[DT_ON_ACTIVITY], out));
    const dt_regularizer *row = (const dt_regularizer *)out->kind;
    if (!row || row->each) return NULL;
    return dt_fail(DT_E_RANGE, &out->at,
                   "%s applies to weights only; a layer's output can have L1, L2 or both",
                   out->kind->name);
}

/* ---- graph ---- */

static dt_value penalty(const dt_named *n, dt_value x) {
    const dt_regularizer *row = (const dt_regularizer *)n->kind;
    return row->whole ? row->whole(n->args, x) : dt_reduce_sum(row->each(n->args, x), DT_NO_AXIS);
}

static dt_value plus(dt_value a, dt_value b) { return a.trace ? dt_add(a, b) : b; }

dt_value dt_model_penalty(const dt_model *m, dt_trace *t) {
    dt_value sum = {0};
    const char *before = dt_trace_path(t, "penalty");
    for (int i = 0; i < m->n_weights; i++) {
        const dt_weight_spec *w = m->spec.weight[i];
        if (w->regularizer.kind && w->trainable)
            sum = plus(sum, penalty(&w->regularizer, dt_read(t, m->weight[i])));
    }
    dt_trace_path(t, before);
    return sum;
}

/* Sums all values of an example: (B, ...) to (B). */
static dt_value sum_of_example(dt_value x) {
    int rank = dt_type_of_value(x).rank;
    return rank > 1 ? dt_reduce(x, DT_REDUCE_SUM, (1u << rank) - 2) : x;
}

dt_value dt_model_activity(const dt_model *m, const dt_given_value *done) {
    dt_value sum = {0};
    for (int i = 0; i < m->spec.n_layers; i++) {
        const dt_named *n = &m->spec.layer[i].activity;
        if (n->kind)
            sum = plus(
                sum,
                sum_of_example(
                    ((const dt_regularizer *)n->kind)->each(n->args, dt_to_float32(done[i].y))));
        if (done[i].loss.trace) sum = plus(sum, done[i].loss);
    }
    return sum;
}
