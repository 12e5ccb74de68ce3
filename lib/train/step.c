/*
 * Steps as graph. One rule for every denominator: sums over examples, divided by the number of examples of the global batch, once, after
 * the sum over replicas. So neither the loss nor the gradient depends on how a batch divides.
 */
#include "train/trainer.h"

typedef struct forward {
    dt_value target, prediction, rows; /* rows (B): one loss per example, times its weight */
    dt_value weight;                   /* (B); no trace: each counts 1 */
} forward;

static dt_value declare(dt_trace *trace, const dt_trainer *t, int element)
{
    const dt_element *elements;
    dt_dataset_elements(t->o.data, &elements);
    dt_value x = dt_trace_declare(trace, elements[element].name, &elements[element].type);
    return t->o.model->annotate ? t->o.model->annotate(t->o.model->annotate_user, elements[element].name, x) : x;
}

/* (B): what each example's class counts. */
static dt_value class_weights(const dt_class_weights *c, dt_value target, dt_dtype dtype)
{
    dt_type type = dt_type_of_value(target);
    bool one_hot = type.rank > 1 && type.dim[type.rank - 1] > 1;
    dt_value number = one_hot ? dt_argmax(target, -1) : dt_convert(dt_class_numbers(target), DT_INT32);
    type = dt_type_of_value(number);
    type.dtype = dtype;
    dt_value weight = dt_splat(target.trace, &type, 1);
    for (int i = 0; i < c->n; i++)
        weight = dt_select(dt_compare(number, dt_like(number, (double)c->number[i]), DT_EQ), dt_like(weight, c->weight[i]), weight);
    return weight;
}

static void weigh(const dt_trainer *t, forward *f)
{
    const dt_class_weights *c = t->o.class_weight;
    if (!c || c->n == 0)
        return;
    f->weight = class_weights(c, f->target, dt_type_of_value(f->rows).dtype);
    f->rows = dt_multiply(f->rows, f->weight);
}

/* What the losses of this replica's rows are divided by, with the others': how many, or the sum of their weights. */
static dt_value count_of(const forward *f)
{
    dt_dtype dtype = dt_type_of_value(f->rows).dtype;
    if (!f->weight.trace)
        return dt_convert(dt_all_reduce(DT_SUM, dt_dim_value(f->rows, 0)), dtype);
    dt_value sum = dt_all_reduce(DT_SUM, dt_reduce_sum(f->weight, 0));
    return dt_select(dt_compare(sum, dt_like(sum, 0), DT_EQ), dt_like(sum, 1), sum); /* where no example counts the gradient is 0 */
}

static forward emit_forward(dt_trace *trace, const dt_trainer *t, bool training)
{
    const dt_named *loss = &t->o.compile->loss;
    dt_value input[DT_MAX_INPUTS];
    for (int i = 0; i < t->match.n_inputs; i++)
        input[i] = declare(trace, t, t->match.input[i]);
    forward f = { .target = declare(trace, t, t->match.target) };

    f.prediction = dt_to_float32(dt_model_emit_inputs(t->o.model, input, t->match.n_inputs, training));
    const char *before = dt_trace_path(trace, "loss");
    f.rows = dt_loss_rows(loss, &(dt_loss_call_args){ .args = loss->args, .target = f.target, .prediction = f.prediction });
    if (training)
        weigh(t, &f);
    dt_trace_path(trace, before);
    return f;
}

static dt_value sum_of_rows(dt_value rows)
{
    return dt_all_reduce(DT_SUM, dt_reduce_sum(rows, 0));
}

static void return_metrics(dt_trace *trace, const dt_trainer *t, const forward *f)
{
    const char *before = dt_trace_path(trace, "metrics");

    for (int i = 0; i < t->o.compile->n_metrics; i++) {
        const dt_metric_use *m = &t->o.compile->metric[i];
        dt_value rows = dt_mean_per_example(
            m->row->update(&(dt_loss_call_args){ .args = m->args, .target = f->target, .prediction = f->prediction }));
        char name[32];
        snprintf(name, sizeof name, "sums/%d", i);
        dt_return(trace, name, sum_of_rows(rows));
    }
    dt_trace_path(trace, before);
}

/* Both sums of a gradient, over all replicas: of the losses' gradients, and of examples. */
typedef struct sums {
    dt_value *gradient, examples, one_over; /* 1 / examples */
    bool divided;                           /* the gradients are: by `examples` */
} sums;

static void sum_gradients(dt_trace *trace, const dt_trainer *t, const forward *f, sums *s)
{
    const dt_variables *v = &t->o.model->trainable;
    dt_value *weight = dt_arena_array(dt_trace_arena(trace), dt_value, v->n + 1);
    dt_dtype dtype = dt_type_of_value(f->rows).dtype;

    for (int i = 0; i < v->n; i++)
        weight[i] = dt_read(trace, v->v[i]);
    dt_value loss = dt_optimizer_scale_loss(t->o.optimizer, dt_reduce_sum(f->rows, 0));
    s->gradient = dt_arena_array(dt_trace_arena(trace), dt_value, v->n + 1);
    s->examples = count_of(f);
    s->one_over = dt_divide(dt_scalar(trace, dtype, 1), s->examples);
    s->divided = t->o.model->precision == DT_POLICY_MIXED_FLOAT16; /* which gradients of a sum would leave: it ends at 65504 */
    dt_gradients_of(s->divided ? dt_multiply(loss, s->one_over) : loss, weight, v->n, s->gradient);
    for (int i = 0; i < v->n; i++)
        if (s->gradient[i].trace)
            s->gradient[i] = dt_all_reduce(DT_SUM, s->gradient[i]);
}

static void multiply_all(dt_value *gradient, int n, dt_value by)
{
    for (int i = 0; i < n; i++)
        if (gradient[i].trace)
            gradient[i] = dt_multiply(gradient[i], by);
}

/* Gradients as they are added up over steps: not divided. */
static void undivide(sums *s, int n)
{
    if (s->divided)
        multiply_all(s->gradient, n, s->examples);
    s->divided = false;
}

/* The step's sums and those of the steps before it, divided. */
static void finish_window(dt_trace *trace, const dt_trainer *t, sums *s)
{
    undivide(s, t->o.model->trainable.n);
    dt_optimizer_take_sums(t->o.optimizer, trace, &t->o.model->trainable, s->gradient, &s->examples);
    s->one_over = dt_divide(dt_like(s->examples, 1), s->examples);
}

static void emit_update(dt_trace *trace, const dt_trainer *t, const forward *f)
{
    const dt_variables *v = &t->o.model->trainable;
    sums s;

    sum_gradients(trace, t, f, &s);
    if (t->o.accumulates)
        finish_window(trace, t, &s);
    if (!s.divided)
        multiply_all(s.gradient, v->n, s.one_over);
    const char *before = dt_trace_path(trace, "optimizer");
    dt_optimizer_emit(t->o.optimizer, trace, v, s.gradient);
    dt_trace_path(trace, before);
}

static void emit_accumulation(dt_trace *trace, const dt_trainer *t, const forward *f)
{
    sums s;

    sum_gradients(trace, t, f, &s);
    undivide(&s, t->o.model->trainable.n);
    dt_optimizer_add_sums(t->o.optimizer, trace, &t->o.model->trainable, s.gradient, s.examples);
}

dt_status *dt_step_trace(const dt_trainer *t, dt_step_kind kind, dt_graph **out)
{
    static const char *const names[] = { "forward", "evaluate", "train", "accumulate" };
    dt_trace *trace = dt_trace_create(names[kind]);

    dt_trace_set_replicas(trace, t->o.strategy->replicas);
    dt_trace_set_logical(trace, t->o.strategy->logical);
    forward f = emit_forward(trace, t, kind != DT_STEP_EVALUATE);
    if (kind == DT_STEP_FORWARD) {
        dt_return(trace, "prediction", f.prediction);
        dt_return(trace, "loss", f.rows);
        return dt_trace_end(trace, out);
    }
    dt_return(trace, "loss", sum_of_rows(f.rows));
    return_metrics(trace, t, &f);
    if (f.weight.trace)
        dt_return(trace, "weight", sum_of_rows(f.weight));
    if (kind == DT_STEP_TRAIN)
        emit_update(trace, t, &f);
    if (kind == DT_STEP_ACCUMULATE)
        emit_accumulation(trace, t, &f);
    return dt_trace_end(trace, out);
}
