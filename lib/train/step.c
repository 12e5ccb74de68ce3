/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of a step: outputs, losses, metrics, gradients, update. A sum over examples is divided
 * by the number of examples of the global batch or by the sum of their weights, never by the number
 * of one replica's examples. So neither the loss nor the gradient depends on how a batch is divided
 * among replicas, unless a layer such as BatchNormalization computes with the other examples of its
 * replica.
 */
#include "train/trainer.h"

/* The values of one output in the graph of a step, or (in the last term) the losses that layers
 * add. A value whose `trace` is NULL is unset. */
typedef struct term {
    dt_value target, prediction;
    /* (B, ...): the weight of each example or sample; unset: all weights are 1 */
    dt_value counts;
    /* Bools in the shape of the predictions without the last dimension: which samples count. Unset:
     * all samples count. */
    dt_value mask;
    dt_value rows; /* (B): one weighted loss per example; unset: the output has no loss */
    /* (B): the sum of `rows` is divided by the sum of these values; unset: all are 1 */
    dt_value divisor;
    /* A scalar, the same on all replicas: a loss that is computed over the whole batch. The sum of
     * `rows` then has the gradient of this loss, but not its value. */
    dt_value whole;
} term;

typedef struct forward {
    int n; /* number of outputs of the model */
    /* [n + 1] the values of each output; of[n].rows has the losses that layers add, and the other
     * members of of[n] are unset */
    term of[DT_MAX_OUTPUTS + 1];
    /* the penalty of the weights: a scalar, equal on all replicas; trace NULL: there is no
     * penalty */
    dt_value penalty;
} forward;

/*
 * ---- from examples to losses ----
 *
 * For a loss that is a function of the whole batch, the sum of term.rows only has the same gradient
 * as the loss, not the same value.
 */

/* Returns a + b, or b if a is unset. */
static dt_value plus(dt_value a, dt_value b) { return a.trace ? dt_add(a, b) : b; }

static dt_value declare(dt_trace *trace, const dt_trainer *t, int element) {
    const dt_element_spec *elements;
    dt_dataset_elements(t->o.data, &elements);
    dt_value x = dt_trace_declare(trace, elements[element].name, &elements[element].type);
    return t->o.model->annotate
               ? t->o.model->annotate(t->o.model->annotate_user, elements[element].name, x)
               : x;
}

/* Returns the weight of each target's class; 1 if the class is not listed. */
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

/* Reshapes (B, 1) to (B). Other shapes are left unchanged. */
static dt_value as_column(dt_value x) {
    dt_type type = dt_type_of_value(x);
    return type.rank == 2 && type.dim[1] == 1 ? dt_class_numbers(x) : x;
}

/* Returns the weights of output i's examples or samples: those from the data, in training
 * multiplied by the weights of the classes. An unset value means that all weights are 1. */
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

/* `values` (B, ...) has the loss of each sample. Multiplies them by the samples' weights, and sets
 * x->rows to the mean of each example's samples. Sets x->divisor if that is not the number of
 * examples. A sample that the mask excludes does not count in the divisor; its loss must be 0
 * already. An unset mask excludes no sample. */
static void weigh(const dt_named *loss, dt_value values, dt_value mask, term *x) {
    dt_value w = x->counts.trace ? dt_weights_like(x->counts, values) : x->counts;
    dt_value counted = mask.trace ? dt_convert(mask, dt_type_of_value(values).dtype) : mask;
    dt_value divisor = dt_divisor_rows(((const dt_loss_head *)loss->args)->reduction, w, counted);
    x->rows = dt_mean_per_example(w.trace ? dt_multiply(values, w) : values);
    if (divisor.trace) x->divisor = dt_mean_per_example(divisor);
}

/* Returns (B): for each example, the sum of its values in `part` (B, ...), each multiplied by the
 * `slope` of the sum that it belongs to. summed: a bit for each dimension of `part` over which it
 * is summed; `slope` has the other dimensions. */
static dt_value pull_back(dt_value part, dt_value slope, uint32_t summed) {
    const dt_type type = dt_type_of_value(part);
    int8_t dims[DT_MAX_RANK];
    int n = 0;
    for (int i = 0; i < type.rank; i++)
        if (!(summed >> i & 1)) dims[n++] = (int8_t)i;
    dt_value all = dt_multiply(part, dt_broadcast_in_dim(dt_stop_gradient(slope), &type, dims));
    return dt_reduce(all, DT_REDUCE_SUM, (1u << type.rank) - 2);
}

/* Emits a loss that is a function of sums over the batch of all replicas. slope[i] is its
 * derivative with respect to sum[i], the same on all replicas. A replica's share of the gradient is
 * the gradient of the sum of part[i] * slope[i], and the shares add up. */
static void emit_whole(const dt_named *loss, const dt_loss_call_args *c, term *x) {
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
        if (slope[i].trace) x->rows = plus(x->rows, pull_back(part[i], slope[i], summed));
}

/* Emits a loss that has a value for each sample. */
static void emit_rows(const dt_named *loss, const dt_loss_call_args *c, term *x) {
    const dt_loss_row *row = (const dt_loss_row *)loss->kind;
    dt_value values = row->rows(c), mask = row->mask ? row->mask(c) : (dt_value){0};
    if (x->mask.trace) {
        dt_value is = dt_mask_like(x->mask, values);
        values = dt_select(is, values, dt_like(values, 0));
        mask = mask.trace ? dt_minimum(mask, is) : is;
    }
    weigh(loss, values, mask, x);
}

static void emit_loss(dt_trace *trace, const dt_trainer *t, int i, term *x) {
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

/* With compile.original_units, converts the prediction and the target to the target's original
 * units, for metrics and results. Losses are computed in the stored units, before this. */
static void to_original_units(const dt_trainer *t, int i, term *x) {
    const dt_element_spec *elements;
    dt_dataset_elements(t->o.data, &elements);
    if (!x->target.trace || !x->prediction.trace) return;
    const char *name = elements[t->match.target[i]].name;
    x->prediction = dt_original_units(t->o.compile, i, t->o.data, name, x->prediction);
    x->target = dt_original_units(t->o.compile, i, t->o.data, name, x->target);
}

/* Emits the forward pass and the losses, with `training` as fit computes them, else as evaluate
 * does. */
static forward emit_forward(dt_trace *trace, const dt_trainer *t, bool training) {
    const dt_compile_spec *c = t->o.compile;
    dt_value input[DT_MAX_INPUTS];
    forward f = {.n = c->n_outputs};

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
        to_original_units(t, i, &f.of[i]);
    }
    if (done) f.of[f.n].rows = dt_model_activity(t->o.model, done);
    f.penalty = dt_model_penalty(t->o.model, trace);
    return f;
}

/*
 * ---- results ----
 *
 * A step returns most losses and metrics as sums over the examples of all replicas, and their
 * divisors where these are not the number of examples; results.c computes means from them. Losses
 * of the whole batch and the penalty of the weights are returned as they are.
 */

static dt_value sum_of_rows(dt_value rows) { return dt_all_reduce(DT_SUM, dt_reduce_sum(rows, 0)); }

static void return_losses(dt_trace *trace, const dt_trainer *t, const forward *f) {
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

static void return_weights(dt_trace *trace, const dt_trainer *t, const forward *f) {
    const dt_compile_spec *c = t->o.compile;

    for (int i = 0; i < f->n; i++)
        if (f->of[i].divisor.trace)
            dt_return(trace, dt_weight_result(dt_trace_arena(trace), c, i),
                      sum_of_rows(f->of[i].divisor));
}

/* Returns the weights of samples in a metric: in a weighted metric those of the loss, else 1; but 0
 * where the mask excludes a sample, unless the metric counts these samples, too. An unset value
 * means that all weights are 1. */
static dt_value counts_in(const dt_metric_use *m, const term *x) {
    dt_value counts = m->weighted ? x->counts : (dt_value){0};
    if (!x->mask.trace || m->row->unmasked) return counts;
    dt_value is = dt_convert(x->mask, DT_FLOAT32);
    return counts.trace ? dt_multiply(dt_weights_like(counts, is), is) : is;
}

/* Adds the sum of metric i, a mean metric, to the step's results and, if its samples have weights
 * (counts_in), the sum that divides it. */
static void return_mean(dt_trace *trace, const dt_trainer *t, int i, const term *x) {
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

/* Adds the sums of metric i, an aggregate metric (a function of several sums), to the step's
 * results. */
static void return_parts(dt_trace *trace, const dt_trainer *t, int i, const term *x) {
    const dt_metric_use *m = &t->o.compile->metric[i];
    dt_metric_parts parts = {.args = m->args, .target = x->target, .prediction = x->prediction};
    if (m->weighted) parts.weight = x->counts;
    m->row->parts(&parts);
    for (int k = 0; k < parts.n; k++)
        dt_return(trace, dt_metric_result(dt_trace_arena(trace), t->o.compile, i, k),
                  dt_all_reduce(DT_SUM, parts.part[k]));
}

static void return_metrics(dt_trace *trace, const dt_trainer *t, const forward *f) {
    const dt_compile_spec *c = t->o.compile;
    const char *before = dt_trace_path(trace, "metrics");

    for (int i = 0; i < c->n_metrics; i++)
        (c->metric[i].row->parts ? return_parts : return_mean)(trace, t, i,
                                                               &f->of[c->metric[i].output]);
    dt_trace_path(trace, before);
}

static void return_sums(dt_trace *trace, const dt_trainer *t, const forward *f) {
    return_losses(trace, t, f);
    return_metrics(trace, t, f);
    return_weights(trace, t, f);
}

static bool has_pairs(const dt_trainer *t, int output) {
    const dt_loss_row *row = (const dt_loss_row *)t->o.compile->output[output].loss.kind;
    return row && row->pairs;
}

/* Adds the outputs to the step's results, in the model's order, then the loss of each example.
 * Neither is summed over replicas. whole: losses that are one number for the batch of all replicas
 * are added, too. A loss that compares pairs of examples is left out, since it has no value for a
 * single example. */
static void return_rows(dt_trace *trace, const dt_trainer *t, const forward *f, bool whole) {
    dt_arena *arena = dt_trace_arena(trace);

    for (int i = 0; i < f->n; i++)
        dt_return(trace, dt_output_result(arena, &t->o.model->spec, i), f->of[i].prediction);
    for (int i = 0; i < f->n; i++) {
        if (f->of[i].whole.trace && whole)
            dt_return(trace, dt_whole_result(arena, t->o.compile, i), f->of[i].whole);
        else if (f->of[i].rows.trace && !f->of[i].whole.trace && !has_pairs(t, i))
            dt_return(trace, dt_loss_result(arena, t->o.compile, i), f->of[i].rows);
    }
}

static void return_targets(dt_trace *trace, const forward *f) {
    for (int i = 0; i < f->n; i++)
        if (f->of[i].target.trace)
            dt_return(trace, dt_target_result(dt_trace_arena(trace), i),
                      dt_convert(f->of[i].target, DT_FLOAT32));
}

/* ---- gradients and steps ---- */

/* Returns the divisor of an output's losses over all replicas: the number of examples, or the sum
 * of their weights; 1 if that sum is 0. */
static dt_value count_of(const term *x) {
    dt_dtype dtype = dt_type_of_value(x->rows).dtype;
    if (!x->divisor.trace)
        return dt_convert(dt_all_reduce(DT_SUM, dt_dim_value(x->rows, 0)), dtype);
    dt_value sum = dt_all_reduce(DT_SUM, dt_reduce_sum(x->divisor, 0));
    /* If all weights are 0, the divisor becomes 1, so that the gradient is 0. */
    return dt_select(dt_compare(sum, dt_like(sum, 0), DT_EQ), dt_like(sum, 1), sum);
}

/* The loss whose gradient is taken: a sum over this replica's rows. Unless `divided`, the sum must
 * still be divided by `examples`, the number of examples of all replicas or the sum of their
 * weights. */
typedef struct whole {
    dt_value loss, examples;
    /* each output's loss is already divided by its own divisor; `examples` is the number of
     * examples */
    bool divided;
} whole;

static dt_value times(dt_value x, double by) {
    return by == 1 ? x : dt_multiply(x, dt_like(x, by));
}

static double weight_of(const dt_trainer *t, const forward *f, int i) {
    return i < f->n ? t->o.compile->output[i].loss_weight : 1;
}

/* Whether all terms of the loss have the same divisor, and none is a loss of the whole batch, so
 * that they can be added before dividing. */
static bool share_divisor(const forward *f) {
    const term *first = NULL;
    bool same = true;
    for (int i = 0; i <= f->n; i++)
        if (f->of[i].rows.trace) {
            first = first ? first : &f->of[i];
            same &= !f->of[i].whole.trace && f->of[i].divisor.trace == first->divisor.trace &&
                    f->of[i].divisor.node == first->divisor.node;
        }
    return same;
}

static whole join_rows(const dt_trainer *t, const forward *f) {
    dt_value rows = {0};
    whole w = {0};
    for (int i = 0; i <= f->n; i++)
        if (f->of[i].rows.trace) {
            rows = plus(rows, times(f->of[i].rows, weight_of(t, f, i)));
            w.examples = w.examples.trace ? w.examples : count_of(&f->of[i]);
        }
    w.loss = dt_reduce_sum(rows, 0);
    return w;
}

static whole join_means(const dt_trainer *t, const forward *f) {
    whole w = {.divided = true};
    for (int i = 0; i <= f->n; i++)
        if (f->of[i].rows.trace) {
            dt_value sum = dt_reduce_sum(f->of[i].rows, 0),
                     mean = f->of[i].whole.trace ? sum : dt_divide(sum, count_of(&f->of[i]));
            w.loss = plus(w.loss, times(mean, weight_of(t, f, i)));
            w.examples = w.examples.trace ? w.examples : count_of(&(term){.rows = f->of[i].rows});
        }
    return w;
}

/* Sums over all replicas of one training step, from which the update computes its gradients. */
typedef struct sums {
    /* gradient: [n] the sum of the gradients of each trainable variable; examples: the number of
     * examples, or the sum of their weights; one_over: 1 / examples */
    dt_value *gradient, examples, one_over;
    bool divided; /* whether the gradients have been divided by `examples` */
} sums;

static void sum_gradients(dt_trace *trace, const dt_trainer *t, const forward *f, sums *s) {
    const dt_variables *v = &t->o.model->trainable;
    dt_value *weight = dt_arena_array(dt_trace_arena(trace), dt_value, v->n + 1);
    whole w = share_divisor(f) ? join_rows(t, f) : join_means(t, f);

    for (int i = 0; i < v->n; i++) weight[i] = dt_read(trace, v->v[i]);
    dt_value loss = dt_optimizer_scale_loss(t->o.optimizer, w.loss);
    s->gradient = dt_arena_array(dt_trace_arena(trace), dt_value, v->n + 1);
    s->examples = w.examples;
    s->one_over = dt_divide(dt_like(w.examples, 1), w.examples);
    /* A sum of gradients may exceed the largest float16, 65504, so gradients are divided first. */
    bool now = !w.divided && t->o.model->precision == DT_POLICY_MIXED_FLOAT16;
    s->divided = w.divided || now;
    dt_gradients_of(now ? dt_multiply(loss, s->one_over) : loss, weight, v->n, s->gradient);
    for (int i = 0; i < v->n; i++)
        if (s->gradient[i].trace) s->gradient[i] = dt_all_reduce(DT_SUM, s->gradient[i]);
}

static void multiply_all(dt_value *gradient, int n, dt_value by) {
    for (int i = 0; i < n; i++)
        if (gradient[i].trace) gradient[i] = dt_multiply(gradient[i], by);
}

/* Multiplies gradients by their divisor again, because gradient accumulation adds up sums. */
static void undivide(sums *s, int n) {
    if (s->divided) multiply_all(s->gradient, n, s->examples);
    s->divided = false;
}

/* In the last step of a window of gradient accumulation: adds the sums of the window's earlier
 * steps to *s, and sets one_over to 1 / examples of the whole window. */
static void finish_window(dt_trace *trace, const dt_trainer *t, sums *s) {
    undivide(s, t->o.model->trainable.n);
    dt_optimizer_take_sums(t->o.optimizer, trace, &t->o.model->trainable, s->gradient,
                           &s->examples);
    s->one_over = dt_divide(dt_like(s->examples, 1), s->examples);
}

/* Adds the gradient of the weights' regularization, which is the same on all replicas. */
static void add_penalty(dt_trace *trace, const dt_trainer *t, const forward *f,
                        dt_value *gradient) {
    const dt_variables *v = &t->o.model->trainable;
    dt_arena *arena = dt_trace_arena(trace);
    dt_value *weight = dt_arena_array(arena, dt_value, v->n + 1),
             *more = dt_arena_array(arena, dt_value, v->n + 1);

    if (!f->penalty.trace) return;
    for (int i = 0; i < v->n; i++) weight[i] = dt_read(trace, v->v[i]);
    dt_gradients_of(dt_optimizer_scale_loss(t->o.optimizer, f->penalty), weight, v->n, more);
    for (int i = 0; i < v->n; i++)
        if (more[i].trace) gradient[i] = plus(gradient[i], more[i]);
}

/* Emits the gradients of all variables. An unset gradient means that the loss does not depend on
 * the variable. With `pushed` they are the gradients of this step alone, without those that earlier
 * steps have accumulated. Sets *examples to the divisor of their sums: the number of examples, or
 * the sum of their weights. */
static dt_value *emit_gradients(dt_trace *trace, const dt_trainer *t, const forward *f, bool pushed,
                                dt_value *examples) {
    sums s;

    sum_gradients(trace, t, f, &s);
    if (dt_trainer_accumulates(t) && !pushed) finish_window(trace, t, &s);
    *examples = s.examples;
    if (!s.divided) multiply_all(s.gradient, t->o.model->trainable.n, s.one_over);
    add_penalty(trace, t, f, s.gradient);
    return s.gradient;
}

static void emit_update(dt_trace *trace, const dt_trainer *t, const dt_variables *v,
                        const dt_value *gradient) {
    const char *before = dt_trace_path(trace, "optimizer");
    dt_optimizer_emit(t->o.optimizer, trace, v, gradient);
    dt_trace_path(trace, before);
}

/* Adds to the step's results the gradients that a worker pushes to a parameter server. If gradients
 * are accumulated, they are sums, and the number of examples, or the sum of their weights, is a
 * result, too. */
static void return_gradients(dt_trace *trace, const dt_trainer *t, const forward *f) {
    const dt_variables *v = &t->o.model->trainable;
    dt_value examples, *gradient = emit_gradients(trace, t, f, true, &examples);
    if (dt_trainer_accumulates(t)) {
        multiply_all(gradient, v->n, examples);
        dt_return(trace, dt_pushed_examples, dt_convert(examples, DT_FLOAT32));
    }
    for (int i = 0; i < v->n; i++)
        if (gradient[i].trace)
            dt_return(trace, dt_gradient_name(dt_trace_arena(trace), v->v[i]), gradient[i]);
}

static void emit_accumulation(dt_trace *trace, const dt_trainer *t, const forward *f) {
    sums s;

    sum_gradients(trace, t, f, &s);
    undivide(&s, t->o.model->trainable.n);
    dt_optimizer_add_sums(t->o.optimizer, trace, &t->o.model->trainable, s.gradient, s.examples);
}

/* Returns the number of rows of the largest batch, for losses that compare pairs of its examples.
 * It is the batch of the job, but in training at most the number of training examples. */
static int64_t most_rows(const dt_trainer *t, dt_step_kind kind) {
    const bool trains =
        kind == DT_STEP_TRAIN || kind == DT_STEP_ACCUMULATE || kind == DT_STEP_GRADIENT;
    return trains ? dt_trainer_full_batch(t) : dt_dataset_batch_size(t->o.data);
}

dt_status *dt_step_trace(const dt_trainer *t, dt_step_kind kind, dt_graph **out) {
    dt_value examples;
    static const char *const names[] = {"forward",    "evaluate", "train",
                                        "accumulate", "gradient", "explain"};
    dt_trace *trace = dt_trace_create(names[kind]);

    dt_trace_set_replicas(trace, t->o.strategy->replicas);
    dt_trace_set_logical(trace, t->o.strategy->logical);
    dt_trace_set_rows(trace, most_rows(t, kind));
    forward f = emit_forward(trace, t, kind != DT_STEP_EVALUATE && kind != DT_STEP_EXPLAIN);
    if (kind == DT_STEP_FORWARD || kind == DT_STEP_EXPLAIN) {
        return_rows(trace, t, &f, kind == DT_STEP_FORWARD);
        if (kind == DT_STEP_EXPLAIN) return_targets(trace, &f);
        return dt_trace_end(trace, out);
    }
    return_sums(trace, t, &f);
    if (kind == DT_STEP_TRAIN)
        emit_update(trace, t, &t->o.model->trainable,
                    emit_gradients(trace, t, &f, false, &examples));
    if (kind == DT_STEP_GRADIENT) return_gradients(trace, t, &f);
    if (kind == DT_STEP_ACCUMULATE) emit_accumulation(trace, t, &f);
    return dt_trace_end(trace, out);
}

/* ---- updates from pushed gradients ---- */

const char dt_pushed_examples[] = "examples of gradients";

const char *dt_gradient_name(dt_arena *arena, const dt_variable *v) {
    return dt_arena_printf(arena, "gradient of %s", v->path);
}

/* Adds gradients to the accumulated ones. In the last step of a window of gradient accumulation,
 * replaces gradient[] by the sums over the window, divided by the number of its examples or the sum
 * of their weights. */
static void accumulate(dt_trace *trace, const dt_trainer *t, const dt_variables *v,
                       dt_value *gradient, bool last) {
    const dt_type scalar = dt_scalar_type(DT_FLOAT32);
    dt_value examples = dt_trace_declare(trace, dt_pushed_examples, &scalar);
    if (!last) {
        dt_optimizer_add_sums(t->o.optimizer, trace, v, gradient, examples);
        return;
    }
    dt_optimizer_take_sums(t->o.optimizer, trace, v, gradient, &examples);
    multiply_all(gradient, v->n, dt_divide(dt_like(examples, 1), examples));
}

dt_status *dt_update_trace(const dt_trainer *t, const dt_variables *v, const dt_graph *gradients,
                           bool last, dt_graph **out) {
    dt_trace *trace = dt_trace_create("update");
    dt_value *gradient = dt_arena_array(dt_trace_arena(trace), dt_value, v->n + 1);

    dt_trace_set_replicas(trace, t->o.strategy->replicas);
    for (int i = 0; i < v->n; i++) {
        const char *name = dt_gradient_name(dt_trace_arena(trace), v->v[i]);
        const int k = dt_graph_find_result(gradients, name);
        if (k >= 0)
            gradient[i] =
                dt_trace_declare(trace, name, &gradients->node[gradients->result[k].node].type);
    }
    if (dt_trainer_accumulates(t)) accumulate(trace, t, v, gradient, last);
    if (last) emit_update(trace, t, v, gradient);
    return dt_trace_end(trace, out);
}
