/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits the update of an optimizer, in Keras' order:
 *
 *     gradients ──▶ all_reduce SUM ──▶ / loss scale ──▶ accumulate ──▶ clip ──▶ weight decay
 *               ──▶ the row's step ──▶ mean of weights ──▶ constraint
 *
 * and iteration + 1. The callers compute the sum. With a dynamic loss scale, a step whose gradients
 * are not finite changes neither weights nor slots. Keras clips before the sum, so that its results
 * depend on the number of replicas; here they do not.
 *
 * With gradient_accumulation_steps k, every k-th step updates, by the mean of k gradients. Since
 * all steps run the same program, the update is computed in each step but assigned only in every
 * k-th. Schedules count steps; all other formulas count updates.
 */
#include "model/model.h"

/*
 * Clipping gradients, in Keras' formulas:
 *
 *     clipvalue        g cut to [-c, c], element by element
 *     clipnorm         g c / max(|g|, c), each gradient by its own norm
 *     global_clipnorm  the same by the norm of all gradients together; a norm that is not finite
 *                      makes all gradients NaN, so that the error is not hidden
 */

static dt_value sum_of_squares(dt_value g) { return dt_reduce_sum(dt_multiply(g, g), DT_NO_AXIS); }

/* Limits the norm of g to c: g c / max(|g|, c). */
static dt_value clip_norm(dt_value g, double c) {
    dt_value norm = dt_sqrt(sum_of_squares(g));
    return dt_divide(dt_multiply(g, dt_like(g, c)), dt_maximum(norm, dt_like(norm, c)));
}

/* Emits the norm of all gradients together, in the dtype of the first one. */
static dt_value global_norm(const dt_value *gradient, int n) {
    dt_value sum = {0};
    for (int i = 0; i < n; i++) {
        if (!gradient[i].trace) continue;
        dt_value own = sum_of_squares(gradient[i]);
        sum = sum.trace ? dt_add(sum, dt_convert(own, dt_type_of_value(sum).dtype)) : own;
    }
    return dt_sqrt(sum);
}

/* Emits c min(1 / norm, 1 / c), the factor that limits the norm to c. It is NaN if the norm is not
 * finite. */
static dt_value global_scale(dt_value norm, double c) {
    dt_value inverse = dt_minimum(dt_divide(dt_like(norm, 1), norm), dt_like(norm, 1 / c));
    return dt_add(dt_multiply(dt_like(norm, c), inverse), dt_subtract(norm, norm));
}

static bool has_any(const dt_value *gradient, int n) {
    for (int i = 0; i < n; i++)
        if (gradient[i].trace) return true;
    return false;
}

/* Clips gradients in place, by the limits that the optimizer's arguments set. */
static void clip_gradients(const dt_optimizer_head *head, dt_value *gradient, int n) {
    dt_value scale = {0};
    if (head->global_clipnorm > 0 && has_any(gradient, n))
        scale = global_scale(global_norm(gradient, n), head->global_clipnorm);
    for (int i = 0; i < n; i++) {
        dt_value g = gradient[i];
        if (!g.trace) continue;
        if (scale.trace) gradient[i] = dt_multiply(g, dt_convert(scale, dt_type_of_value(g).dtype));
        else if (head->clipnorm > 0) gradient[i] = clip_norm(g, head->clipnorm);
        else if (head->clipvalue > 0) gradient[i] = dt_clamp(g, -head->clipvalue, head->clipvalue);
    }
}

/* Values that the updates of all variables in a step share. */
typedef struct step {
    const dt_optimizer *o;
    const dt_optimizer_head *head;
    dt_trace *trace;
    dt_value before; /* `iteration` before this step, int64 */
    dt_value done;   /* number of updates done before this step, int64 */
    dt_value t;      /* number of the update that this step belongs to, counted from 1, int64 */
    /* whether this step makes an update, bool; without a trace: every step does */
    dt_value updates;
    dt_value rate; /* the learning rate, a float32 scalar; without a trace: it is constant */
    /* whether all gradients are finite, bool; without a trace: that is not checked */
    dt_value finite;
} step;

static dt_value int64(dt_trace *t, int64_t value) { return dt_scalar(t, DT_INT64, (double)value); }

/* Emits whether n is a multiple of k. */
static dt_value is_multiple(dt_value n, int64_t k) {
    dt_value size = int64(n.trace, k);
    return dt_compare(dt_multiply(dt_divide(n, size), size), n, DT_EQ);
}

/* Emits a if the scalar is true, else b; a if the scalar is absent. */
static dt_value choose(dt_value scalar, dt_value a, dt_value b) {
    dt_type type = dt_type_of_value(a);
    return scalar.trace ? dt_select(dt_broadcast_to(scalar, &type), a, b) : a;
}

/* Assigns the value to v; if gradients are not finite, v keeps its old value. */
static void assign_if_finite(const step *s, dt_variable *v, dt_value value) {
    dt_assign(s->trace, v,
              s->finite.trace ? choose(s->finite, value, dt_read(s->trace, v)) : value);
}

static step begin(const dt_optimizer *o, dt_trace *t) {
    step s = {.o = o, .head = o->named.args, .trace = t};
    int64_t k = s.head->gradient_accumulation_steps;
    s.done = s.before = dt_read(t, o->iteration);
    s.t = dt_add(s.before, int64(t, 1));
    if (k) {
        s.updates = is_multiple(s.t, k);
        s.done = dt_divide(s.before, int64(t, k));
        s.t = dt_add(s.done, int64(t, 1));
    }
    if (s.head->schedule.kind) s.rate = dt_rate_emit(&s.head->schedule, s.before);
    if (o->rate) s.rate = dt_read(t, o->rate);
    return s;
}

/* ---- the dynamic loss scale ---- */

/* Emits whether all gradients are finite; no value: there are none. g - g is 0 where g is finite,
 * else NaN, and then the sum over elements is NaN, too. */
static dt_value all_finite(const dt_value *g, int n) {
    dt_value sum = {0};
    for (int i = 0; i < n; i++) {
        if (!g[i].trace) continue;
        dt_value own = dt_convert(dt_reduce_sum(dt_subtract(g[i], g[i]), DT_NO_AXIS), DT_FLOAT32);
        sum = sum.trace ? dt_add(sum, own) : own;
    }
    return sum.trace ? dt_compare(sum, dt_like(sum, 0), DT_EQ) : sum;
}

/* Doubles the loss scale after `growth` good steps in a row, and halves it after a bad one. */
static void move_scale(const step *s) {
    const dt_optimizer *o = s->o;
    dt_value scale = dt_read(s->trace, o->scale), steps = dt_read(s->trace, o->good_steps),
             zero = dt_like(steps, 0);
    dt_value grows = dt_compare(steps, int64(s->trace, o->scaling.growth - 1), DT_EQ);
    dt_value good = dt_select(grows, dt_multiply(scale, dt_like(scale, 2)), scale),
             bad = dt_multiply(scale, dt_like(scale, 0.5));
    dt_value counted = dt_select(grows, zero, dt_add(steps, dt_like(steps, 1)));
    dt_assign(s->trace, o->scale, dt_select(s->finite, good, bad));
    dt_assign(s->trace, o->good_steps, dt_select(s->finite, counted, zero));
}

/* ---- gradients ---- */

/* Adds g to the stored sum and returns the new sum divided by the number k of steps, which is the
 * mean at the last of k steps. At a step that updates, the stored sum becomes 0. */
static dt_value accumulated(const step *s, const struct dt_optimizer_slot *slots, dt_value g) {
    dt_value sum = dt_add(g, dt_read(s->trace, slots->sum));
    assign_if_finite(s, slots->sum, choose(s->updates, dt_like(sum, 0), sum));
    return dt_divide(sum, dt_like(sum, (double)s->head->gradient_accumulation_steps));
}

/* Sets the path of nodes that follow, such as "optimizer/dense/kernel". */
static void enter(dt_trace *t, const dt_variable *v) {
    dt_trace_path(t, dt_arena_printf(dt_trace_arena(t), "optimizer/%s", v->path));
}

static void prepare_gradients(const step *s, const dt_variables *v, dt_value *g) {
    dt_value scale = s->o->scale ? dt_read(s->trace, s->o->scale) : (dt_value){0};
    for (int i = 0; i < v->n; i++) {
        if (!g[i].trace) continue;
        enter(s->trace, v->v[i]);
        if (s->head->has_scale) g[i] = dt_divide(g[i], dt_like(g[i], s->head->loss_scale_factor));
        if (scale.trace) g[i] = dt_divide(g[i], dt_convert(scale, dt_type_of_value(g[i]).dtype));
        if (s->head->gradient_accumulation_steps)
            g[i] = accumulated(s, dt_optimizer_find(s->o, v->v[i]), g[i]);
    }
    dt_trace_path(s->trace, "optimizer");
    clip_gradients(s->head, g, v->n);
}

/* ---- sums over several steps, the scaled loss ---- */

void dt_optimizer_add_sums(const dt_optimizer *o, dt_trace *t, const dt_variables *v,
                           const dt_value *gradient, dt_value examples) {
    const char *before = dt_trace_path(t, "optimizer");
    dt_assign(t, o->examples, dt_add(dt_read(t, o->examples), dt_convert(examples, DT_FLOAT32)));
    for (int i = 0; i < v->n; i++) {
        dt_variable *sum = dt_optimizer_find(o, v->v[i])->sum;
        if (!gradient[i].trace) continue;
        enter(t, v->v[i]);
        dt_assign(t, sum, dt_add(dt_read(t, sum), gradient[i]));
    }
    dt_trace_path(t, before);
}

void dt_optimizer_take_sums(const dt_optimizer *o, dt_trace *t, const dt_variables *v,
                            dt_value *gradient, dt_value *examples) {
    const char *before = dt_trace_path(t, "optimizer");
    dt_value kept = dt_read(t, o->examples);
    *examples = dt_add(dt_convert(kept, dt_type_of_value(*examples).dtype), *examples);
    dt_assign(t, o->examples, dt_like(kept, 0));
    for (int i = 0; i < v->n; i++) {
        dt_variable *sum = dt_optimizer_find(o, v->v[i])->sum;
        if (!gradient[i].trace) continue;
        enter(t, v->v[i]);
        gradient[i] = dt_add(dt_read(t, sum), gradient[i]);
        dt_assign(t, sum, dt_like(gradient[i], 0));
    }
    dt_trace_path(t, before);
}

dt_value dt_optimizer_scale_loss(const dt_optimizer *o, dt_value loss) {
    const dt_optimizer_head *head = o->named.args;
    if (o->scale)
        return dt_multiply(loss,
                           dt_convert(dt_read(loss.trace, o->scale), dt_type_of_value(loss).dtype));
    return head->has_scale ? dt_multiply(loss, dt_like(loss, head->loss_scale_factor)) : loss;
}

/* ---- variables ---- */

dt_value dt_optimizer_decayed(const dt_update *u, double weight_decay) {
    const dt_value w = u->stored;
    if (weight_decay == 0 || dt_optimizer_excludes(u->args, u->of->path)) return w;
    return dt_subtract(w, dt_multiply(w, dt_multiply(u->rate, dt_like(u->rate, weight_decay))));
}

static void update_variable(const step *s, dt_variable *v, dt_value gradient) {
    const struct dt_optimizer_slot *slots = dt_optimizer_find(s->o, v);
    dt_trace *t = s->trace;
    dt_dtype dtype = v->type.dtype;
    dt_value w = dt_read(t, v);
    dt_update u = {
        .trace = t,
        .args = s->head,
        .of = v,
        .stored = w,
        .g = gradient,
        .t = dt_convert(s->t, dtype),
        .rate = s->rate.trace ? dt_convert(s->rate, dtype) : dt_scalar(t, dtype, s->head->rate),
    };
    for (int k = 0; k < slots->own; k++) u.slot[k] = dt_read(t, slots->slot[k]);
    u.w = dt_optimizer_decayed(&u, s->head->weight_decay);
    ((const dt_optimizer_row *)s->o->named.kind)->apply(&u);
    for (int k = 0; k < slots->own; k++)
        assign_if_finite(s, slots->slot[k],
                         choose(s->updates, u.slot[k], dt_read(t, slots->slot[k])));
    assign_if_finite(s, v, choose(s->updates, u.w, w));
}

/* Assigns mean = m mean + (1 - m) w, with m 0 up to the first update. At each step of every
 * ema_overwrite_frequency-th update (0: of none), w is set to the mean. */
static void update_average(const step *s, dt_variable *v) {
    dt_variable *average = dt_optimizer_find(s->o, v)->average;
    dt_value w = dt_read(s->trace, v), mean = dt_read(s->trace, average);
    dt_value later = dt_convert(dt_compare(s->done, dt_like(s->done, 0), DT_NE), v->type.dtype);
    dt_value m = dt_multiply(later, dt_like(later, s->head->ema_momentum));
    mean = dt_add(dt_multiply(m, mean), dt_multiply(dt_subtract(dt_like(m, 1), m), w));
    assign_if_finite(s, average, mean);
    if (s->head->ema_overwrite_frequency)
        assign_if_finite(s, v,
                         choose(is_multiple(s->t, s->head->ema_overwrite_frequency), mean, w));
}

void dt_optimizer_emit(dt_optimizer *o, dt_trace *t, const dt_variables *v,
                       const dt_value *gradient) {
    const char *before = dt_trace_path(t, "optimizer");
    step s = begin(o, t);
    if (o->scale) s.finite = all_finite(gradient, v->n);
    dt_value *g = dt_arena_copy(dt_trace_arena(t), gradient, dt_size_mul((size_t)v->n, sizeof *g));
    prepare_gradients(&s, v, g);
    for (int i = 0; i < v->n && s.t.trace; i++) {
        enter(t, v->v[i]);
        if (g[i].trace) update_variable(&s, v->v[i], g[i]);
        if (s.head->use_ema) update_average(&s, v->v[i]);
        if (g[i].trace && v->v[i]->constraint)
            assign_if_finite(&s, v->v[i], dt_constrained(v->v[i], dt_read(t, v->v[i])));
    }
    dt_trace_path(t, "optimizer");
    assign_if_finite(&s, o->iteration, dt_add(s.before, int64(t, 1)));
    if (s.finite.trace) move_scale(&s);
    dt_trace_path(t, before);
}

/* ---- the public call ---- */

/* Returns the trace of the first gradient that has one; NULL: no variable has a gradient. */
static dt_trace *trace_of(const dt_gradients *g) {
    for (int i = 0; i < g->variables->n; i++)
        if (g->value[i].trace) return g->value[i].trace;
    return NULL;
}

/* Checks that the variables are among those of the first call, which determines them, as in
 * Keras. */
static dt_status *check_variables(const dt_optimizer *o, const dt_variables *v) {
    for (int i = 0; o->n > 0 && i < v->n; i++)
        if (!dt_optimizer_find(o, v->v[i]))
            return dt_suggest(
                dt_fail(DT_E_OTHER_VARIABLES, NULL,
                        "the optimizer was built for other variables: '%s' is not among them",
                        v->v[i]->path),
                "create another optimizer for it, or apply this one to all variables together");
    return NULL;
}

void dt_optimizer_apply(dt_optimizer *o, dt_gradients gradients) {
    DT_LIVE(o);
    const dt_variables *v = gradients.variables;
    if (!v || (gradients.trace &&
               (!dt_trace_is_live(gradients.trace) || dt_trace_error(gradients.trace))))
        return; /* An earlier call has reported the error. */
    dt_trace *t = gradients.value ? trace_of(&gradients) : NULL;
    if (!o) {
        dt_trace_fail(t ? t : gradients.trace, dt_want(o, "dt_optimizer_apply", "optimizer"));
        return;
    }
    if (!t) {
        dt_trace_fail(
            gradients.trace,
            dt_fail(DT_E_NO_GRADIENT, NULL,
                    "no gradients provided for any variable: the loss depends on none of the %d",
                    v->n));
        return;
    }
    dt_status *s = check_variables(o, v);
    if (!s) s = dt_optimizer_prepare(o, v);
    if (s) {
        dt_trace_fail(t, s);
        return;
    }
    const char *before = dt_trace_path(t, "optimizer");
    dt_value *sum = dt_arena_array(dt_trace_arena(t), dt_value, v->n);
    for (int i = 0; i < v->n; i++) {
        if (!gradients.value[i].trace) continue;
        enter(t, v->v[i]);
        sum[i] = dt_all_reduce(DT_SUM, gradients.value[i]);
    }
    dt_trace_path(t, before);
    const dt_deferral *elsewhere = dt_trace_deferral(t);
    if (elsewhere) elsewhere->update(elsewhere->user, o, v, sum);
    else dt_optimizer_emit(o, t, v, sum);
}
