/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps as graph. One rule for every denominator: sums over examples, divided by the number of
 * examples of the global batch, once, after the sum over replicas. So neither the loss nor the
 * gradient depends on how a batch divides.
 */
#include <string.h>

#include "train/forward.h"

/* What the losses of this replica's rows are divided by, with the others': how many, or the sum of
 * their weights. */
static dt_value count_of(const dt_term *x) {
    dt_dtype dtype = dt_type_of_value(x->rows).dtype;
    if (!x->divisor.trace)
        return dt_convert(dt_all_reduce(DT_SUM, dt_dim_value(x->rows, 0)), dtype);
    dt_value sum = dt_all_reduce(DT_SUM, dt_reduce_sum(x->divisor, 0));
    /* where no example counts the gradient is 0 */
    return dt_select(dt_compare(sum, dt_like(sum, 0), DT_EQ), dt_like(sum, 1), sum);
}

/* ---- the whole loss ---- */

/* What gradients are taken of: a sum over this replica's rows; examples, which it is still to be
 * divided by, with all replicas' rows. */
typedef struct whole {
    dt_value loss, examples;
    /* it has been, by what each output's loss is divided by; examples: how many there are */
    bool divided;
} whole;

static dt_value times(dt_value x, double by) {
    return by == 1 ? x : dt_multiply(x, dt_like(x, by));
}

static double weight_of(const dt_trainer *t, const dt_forward *f, int i) {
    return i < f->n ? t->o.compile->output[i].loss_weight : 1;
}

/* Terms that are divided by the same number have one sum. */
static bool share_divisor(const dt_forward *f) {
    const dt_term *first = NULL;
    bool same = true;
    for (int i = 0; i <= f->n; i++)
        if (f->of[i].rows.trace) {
            first = first ? first : &f->of[i];
            same &= !f->of[i].whole.trace && f->of[i].divisor.trace == first->divisor.trace &&
                    f->of[i].divisor.node == first->divisor.node;
        }
    return same;
}

static whole join_rows(const dt_trainer *t, const dt_forward *f) {
    dt_value rows = {0};
    whole w = {0};
    for (int i = 0; i <= f->n; i++)
        if (f->of[i].rows.trace) {
            rows = dt_plus(rows, times(f->of[i].rows, weight_of(t, f, i)));
            w.examples = w.examples.trace ? w.examples : count_of(&f->of[i]);
        }
    w.loss = dt_reduce_sum(rows, 0);
    return w;
}

static whole join_means(const dt_trainer *t, const dt_forward *f) {
    whole w = {.divided = true};
    for (int i = 0; i <= f->n; i++)
        if (f->of[i].rows.trace) {
            dt_value sum = dt_reduce_sum(f->of[i].rows, 0),
                     mean = f->of[i].whole.trace ? sum : dt_divide(sum, count_of(&f->of[i]));
            w.loss = dt_plus(w.loss, times(mean, weight_of(t, f, i)));
            w.examples =
                w.examples.trace ? w.examples : count_of(&(dt_term){.rows = f->of[i].rows});
        }
    return w;
}

/* Both sums of a gradient, over all replicas: of the losses' gradients, and of examples. */
typedef struct sums {
    dt_value *gradient, examples, one_over; /* 1 / examples */
    bool divided;                           /* the gradients are: by `examples` */
} sums;

static void sum_gradients(dt_trace *trace, const dt_trainer *t, const dt_forward *f, sums *s) {
    const dt_variables *v = &t->o.model->trainable;
    dt_value *weight = dt_arena_array(dt_trace_arena(trace), dt_value, v->n + 1);
    whole w = share_divisor(f) ? join_rows(t, f) : join_means(t, f);

    for (int i = 0; i < v->n; i++) weight[i] = dt_read(trace, v->v[i]);
    dt_value loss = dt_optimizer_scale_loss(t->o.optimizer, w.loss);
    s->gradient = dt_arena_array(dt_trace_arena(trace), dt_value, v->n + 1);
    s->examples = w.examples;
    s->one_over = dt_divide(dt_like(w.examples, 1), w.examples);
    /* which gradients of a sum would leave: it ends at 65504 */
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

/* Gradients as they are added up over steps: not divided. */
static void undivide(sums *s, int n) {
    if (s->divided) multiply_all(s->gradient, n, s->examples);
    s->divided = false;
}

/* The step's sums and those of the steps before it, divided. */
static void finish_window(dt_trace *trace, const dt_trainer *t, sums *s) {
    undivide(s, t->o.model->trainable.n);
    dt_optimizer_take_sums(t->o.optimizer, trace, &t->o.model->trainable, s->gradient,
                           &s->examples);
    s->one_over = dt_divide(dt_like(s->examples, 1), s->examples);
}

/* The gradient of what weights add to the loss: every replica has it whole. */
static void add_penalty(dt_trace *trace, const dt_trainer *t, const dt_forward *f,
                        dt_value *gradient) {
    const dt_variables *v = &t->o.model->trainable;
    dt_arena *arena = dt_trace_arena(trace);
    dt_value *weight = dt_arena_array(arena, dt_value, v->n + 1),
             *more = dt_arena_array(arena, dt_value, v->n + 1);

    if (!f->penalty.trace) return;
    for (int i = 0; i < v->n; i++) weight[i] = dt_read(trace, v->v[i]);
    dt_gradients_of(dt_optimizer_scale_loss(t->o.optimizer, f->penalty), weight, v->n, more);
    for (int i = 0; i < v->n; i++)
        if (more[i].trace) gradient[i] = dt_plus(gradient[i], more[i]);
}

/* Of each variable the gradient of the loss; no value: it has none. pushed: of this step alone;
 * *examples is their number. */
static dt_value *emit_gradients(dt_trace *trace, const dt_trainer *t, const dt_forward *f,
                                bool pushed, dt_value *examples) {
    sums s;

    sum_gradients(trace, t, f, &s);
    if (dt_trainer_accumulates(t) && !pushed) finish_window(trace, t, &s);
    *examples = s.examples;
    if (!s.divided) multiply_all(s.gradient, t->o.model->trainable.n, s.one_over);
    add_penalty(trace, t, f, s.gradient);
    return s.gradient;
}

static void emit_update(dt_trace *trace, const dt_trainer *t, const dt_value *gradient) {
    const char *before = dt_trace_path(trace, "optimizer");
    dt_optimizer_emit(t->o.optimizer, trace, &t->o.model->trainable, gradient);
    dt_trace_path(trace, before);
}

/* Where steps accumulate they are not divided, and the number of examples goes with them. */
static void return_gradients(dt_trace *trace, const dt_trainer *t, const dt_forward *f) {
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

static void emit_accumulation(dt_trace *trace, const dt_trainer *t, const dt_forward *f) {
    sums s;

    sum_gradients(trace, t, f, &s);
    undivide(&s, t->o.model->trainable.n);
    dt_optimizer_add_sums(t->o.optimizer, trace, &t->o.model->trainable, s.gradient, s.examples);
}

dt_status *dt_step_trace(const dt_trainer *t, dt_step_kind kind, dt_graph **out) {
    dt_value examples;
    static const char *const names[] = {"forward", "evaluate", "train", "accumulate", "gradient"};
    dt_trace *trace = dt_trace_create(names[kind]);

    dt_trace_set_replicas(trace, t->o.strategy->replicas);
    dt_trace_set_logical(trace, t->o.strategy->logical);
    dt_forward f = dt_forward_emit(trace, t, kind != DT_STEP_EVALUATE);
    if (kind == DT_STEP_FORWARD) {
        dt_return_rows(trace, t, &f);
        return dt_trace_end(trace, out);
    }
    dt_return_sums(trace, t, &f);
    if (kind == DT_STEP_TRAIN)
        emit_update(trace, t, emit_gradients(trace, t, &f, false, &examples));
    if (kind == DT_STEP_GRADIENT) return_gradients(trace, t, &f);
    if (kind == DT_STEP_ACCUMULATE) emit_accumulation(trace, t, &f);
    return dt_trace_end(trace, out);
}

/* ---- the two halves of a step, where gradients travel between them ---- */

const char dt_pushed_examples[] = "examples of gradients";

const char *dt_gradient_name(dt_arena *arena, const dt_variable *v) {
    return dt_arena_printf(arena, "gradient of %s", v->path);
}

/* Gradients are added to those kept, or, of the last step of a window, taken together with them and
 * divided. */
static void accumulate(dt_trace *trace, const dt_trainer *t, dt_value *gradient, bool last) {
    const dt_type scalar = dt_scalar_type(DT_FLOAT32);
    const dt_variables *v = &t->o.model->trainable;
    dt_value examples = dt_trace_declare(trace, dt_pushed_examples, &scalar);
    if (!last) {
        dt_optimizer_add_sums(t->o.optimizer, trace, v, gradient, examples);
        return;
    }
    dt_optimizer_take_sums(t->o.optimizer, trace, v, gradient, &examples);
    multiply_all(gradient, v->n, dt_divide(dt_like(examples, 1), examples));
}

dt_status *dt_update_trace(const dt_trainer *t, const dt_graph *gradients, bool last,
                           dt_graph **out) {
    const dt_variables *v = &t->o.model->trainable;
    dt_trace *trace = dt_trace_create("update");
    dt_value *gradient = dt_arena_array(dt_trace_arena(trace), dt_value, v->n + 1);

    dt_trace_set_replicas(trace, t->o.strategy->replicas);
    for (int i = 0; i < v->n; i++) {
        const char *name = dt_gradient_name(dt_trace_arena(trace), v->v[i]);
        for (int k = 0; k < gradients->n_results; k++)
            if (strcmp(gradients->result[k].name, name) == 0)
                gradient[i] =
                    dt_trace_declare(trace, name, &gradients->node[gradients->result[k].node].type);
    }
    if (dt_trainer_accumulates(t)) accumulate(trace, t, gradient, last);
    if (last) emit_update(trace, t, gradient);
    return dt_trace_end(trace, out);
}
