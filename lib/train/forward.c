/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From examples to the loss of each: inputs and targets of the data, the model between them, what
 * each example and each of its samples counts (weights of the data, of classes, masks), and losses.
 * Losses that are functions of the whole batch have their gradients in rows, too.
 */
#include "train/forward.h"

dt_value dt_plus(dt_value a, dt_value b) { return a.trace ? dt_add(a, b) : b; }

static dt_value declare(dt_trace *trace, const dt_trainer *t, int element) {
    const dt_element_spec *elements;
    dt_dataset_elements(t->o.data, &elements);
    dt_value x = dt_trace_declare(trace, elements[element].name, &elements[element].type);
    return t->o.model->annotate
               ? t->o.model->annotate(t->o.model->annotate_user, elements[element].name, x)
               : x;
}

/* (B): what each example's class counts. */
static dt_value class_weights(const dt_class_weights *c, dt_value target, dt_dtype dtype) {
    dt_type type = dt_type_of_value(target);
    bool one_hot = type.rank > 1 && type.dim[type.rank - 1] > 1;
    dt_value number =
        one_hot ? dt_argmax(target, -1) : dt_convert(dt_class_numbers(target), DT_INT32);
    type = dt_type_of_value(number);
    type.dtype = dtype;
    dt_value weight = dt_splat(target.trace, &type, 1);
    for (int i = 0; i < c->n; i++)
        weight = dt_select(dt_compare(number, dt_like(number, (double)c->number[i]), DT_EQ),
                           dt_like(weight, c->weight[i]), weight);
    return weight;
}

/* (B) of (B, 1). */
static dt_value as_column(dt_value x) {
    dt_type type = dt_type_of_value(x);
    return type.rank == 2 && type.dim[1] == 1 ? dt_class_numbers(x) : x;
}

/* The weights of the data, times those of classes while training. */
static dt_value counts_of(dt_trace *trace, const dt_trainer *t, int i, bool training,
                          dt_value target) {
    const dt_class_weights *c = training ? dt_trainer_class_weight(t) : NULL;
    dt_value counts = {0};
    if (t->match.weight[i] >= 0)
        counts = as_column(dt_convert(declare(trace, t, t->match.weight[i]), DT_FLOAT32));
    if (!c || c->n == 0) return counts;
    dt_value class = class_weights(c, target, DT_FLOAT32);
    return counts.trace ? dt_multiply(counts, dt_weights_like(class, counts)) : class;
}

/* values (B, ...): a loss for each sample; mask: those that count at all, no trace: all; the
 * others' losses are 0. */
static void weigh(const dt_named *loss, dt_value values, dt_value mask, dt_term *x) {
    dt_value w = x->counts.trace ? dt_weights_like(x->counts, values) : x->counts;
    dt_value counted = mask.trace ? dt_convert(mask, dt_type_of_value(values).dtype) : mask;
    dt_value divisor = dt_divisor_rows(((const dt_loss_head *)loss->args)->reduction, w, counted);
    x->rows = dt_mean_per_example(w.trace ? dt_multiply(values, w) : values);
    if (divisor.trace) x->divisor = dt_mean_per_example(divisor);
}

/* ---- losses of the whole batch ---- */

/* (B): the part's numbers, each times what the loss changes with its sum. */
static dt_value pull_back(dt_value part, dt_value slope, uint32_t summed) {
    const dt_type type = dt_type_of_value(part);
    int8_t dims[DT_MAX_RANK];
    int n = 0;
    for (int i = 0; i < type.rank; i++)
        if (!(summed >> i & 1)) dims[n++] = (int8_t)i;
    dt_value all = dt_multiply(part, dt_broadcast_in_dim(dt_stop_gradient(slope), &type, dims));
    return dt_reduce(all, DT_REDUCE_SUM, (1u << type.rank) - 2);
}

/*
 * A function of sums over the batch of all replicas. A replica's share of its gradient is that of
 * sum(part * slope), where a slope is what the loss changes with a sum: all replicas have the same,
 * and their shares add up.
 */
static void emit_whole(const dt_named *loss, const dt_loss_call_args *c, dt_term *x) {
    const dt_loss_row *row = (const dt_loss_row *)loss->kind;
    const dt_type type = dt_type_of_value(c->prediction);
    uint32_t summed = row->summed(loss->args, &type);
    dt_value part[DT_LOSS_PARTS], sum[DT_LOSS_PARTS], slope[DT_LOSS_PARTS];
    int n = row->parts(c, part);

    for (int i = 0; i < n; i++)
        sum[i] = dt_all_reduce(DT_SUM, dt_reduce(part[i], DT_REDUCE_SUM, summed));
    dt_value values = row->join(loss->args, sum);
    const dt_type several = dt_type_of_value(values);
    x->whole =
        dt_divide(dt_reduce_sum(values, DT_NO_AXIS),
                  dt_like(dt_reduce_sum(values, DT_NO_AXIS), (double)dt_type_elements(&several)));
    dt_gradients_of(x->whole, sum, n, slope);
    for (int i = 0; i < n; i++)
        if (slope[i].trace) x->rows = dt_plus(x->rows, pull_back(part[i], slope[i], summed));
}

/* A loss of each sample. */
static void emit_rows(const dt_named *loss, const dt_loss_call_args *c, dt_term *x) {
    const dt_loss_row *row = (const dt_loss_row *)loss->kind;
    dt_value values = row->rows(c), mask = row->mask ? row->mask(c) : (dt_value){0};
    if (x->mask.trace) {
        dt_value is = dt_mask_like(x->mask, values);
        values = dt_select(is, values, dt_like(values, 0));
        mask = mask.trace ? dt_minimum(mask, is) : is;
    }
    weigh(loss, values, mask, x);
}

static void emit_loss(dt_trace *trace, const dt_trainer *t, int i, dt_term *x) {
    const dt_named *loss = &t->o.compile->output[i].loss;
    const dt_loss_call_args c = {
        .args = loss->args, .target = x->target, .prediction = x->prediction};
    const dt_type type = dt_type_of_value(x->prediction);
    const char *before =
        dt_trace_path(trace, dt_loss_result(dt_trace_arena(trace), t->o.compile, i));
    if (dt_loss_is_whole(loss, &type)) emit_whole(loss, &c, x);
    else emit_rows(loss, &c, x);
    dt_trace_path(trace, before);
}

dt_forward dt_forward_emit(dt_trace *trace, const dt_trainer *t, bool training) {
    const dt_compile_spec *c = t->o.compile;
    dt_value input[DT_MAX_INPUTS];
    dt_forward f = {.n = c->n_outputs};

    for (int i = 0; i < t->match.n_inputs; i++) input[i] = declare(trace, t, t->match.input[i]);
    for (int i = 0; i < f.n; i++)
        if (t->match.target[i] >= 0) f.of[i].target = declare(trace, t, t->match.target[i]);
    const dt_given_value *done =
        dt_model_emit_layers(t->o.model, input, t->match.n_inputs, training);
    for (int i = 0; done && i < f.n; i++) {
        const dt_given_value *given = &done[t->o.model->spec.output[i].layer];
        f.of[i].prediction = dt_to_float32(given->y);
        f.of[i].mask = given->mask;
        f.of[i].counts = counts_of(trace, t, i, training, f.of[i].target);
        if (c->output[i].loss.kind) emit_loss(trace, t, i, &f.of[i]);
    }
    if (done) f.of[f.n].rows = dt_model_activity(t->o.model, done);
    f.penalty = dt_model_penalty(t->o.model, trace);
    return f;
}
