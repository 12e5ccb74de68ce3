/*
 * Optimizers: reading one, its state, and emitting its updates.
 *
 *     gradients ──▶ all_reduce SUM ──▶ clip ──▶ weight decay ──▶ the row's step ──▶ iteration + 1
 *
 * Keras clips before the sum, so that its results depend on the number of replicas; here they do not.
 */
#include <stdlib.h>

#include "model/model.h"

/* ---- reading ---- */

static dt_status *read_rate(const dt_optimizer_row *row, dt_optimizer_head *head)
{
    const dt_tree *t = head->learning_rate;
    head->rate = row->rate;
    if (!t || t->kind == DT_TREE_NULL)
        return NULL;
    if (t->kind == DT_TREE_MAP)
        return dt_suggest(dt_fail(DT_E_NOT_YET, &t->at, "learning rate schedules are not implemented yet"), "give one number");
    DT_TRY(dt_tree_real(t, "learning_rate", &head->rate));
    return head->rate > 0 ? NULL : dt_fail(DT_E_RANGE, &t->at, "learning_rate must be greater than 0, got %s", t->text);
}

static dt_status *check_clips(const dt_optimizer_head *head, const dt_place *at)
{
    int n = (head->clipvalue != 0) + (head->clipnorm != 0) + (head->global_clipnorm != 0);
    return n <= 1 ? NULL : dt_fail(DT_E_RANGE, at, "only one of clipnorm, clipvalue and global_clipnorm can be set");
}

dt_status *dt_optimizer_read(dt_arena *arena, const dt_tree *t, dt_named *out)
{
    int n;
    const dt_kind *const *rows = dt_optimizers(&n);
    DT_TRY(dt_named_read(arena, rows, n, "optimizer", t, out));
    dt_status *s = read_rate((const dt_optimizer_row *)out->kind, out->args);
    dt_status_append(&s, check_clips(out->args, &out->at));
    return s;
}

/* ---- the handle ---- */

dt_optimizer *dt_optimizer_over(const dt_named *named)
{
    dt_optimizer *o = dt_alloc(sizeof *o);
    *o = (dt_optimizer){ .refs = 1, .named = *named };
    return o;
}

static dt_status *read_handle(dt_optimizer *o, const char *format, va_list args)
{
    dt_tree *tree;
    DT_TRY(dt_fragment_read(o->arena, "optimizer", format, args, &tree));
    return dt_optimizer_read(o->arena, tree, &o->named);
}

dt_status *dt_optimizer_create(dt_optimizer **out, const char *format, ...)
{
    DT_TRY(dt_status_kept());
    dt_optimizer *o = dt_optimizer_over(&(dt_named){ 0 });
    o->arena = dt_arena_create();
    va_list args;
    va_start(args, format);
    dt_status *s = read_handle(o, format, args);
    va_end(args);
    if (s) {
        dt_optimizer_unref(o);
        return s;
    }
    dt_optimizer_unref(*out);
    *out = o;
    return NULL;
}

void dt_optimizer_unref(dt_optimizer *o)
{
    if (!o || --o->refs > 0)
        return;
    for (int i = 0; i < o->n; i++)
        for (int k = 0; k < o->slot[i].n; k++)
            dt_variable_unref(o->slot[i].slot[k]);
    dt_variable_unref(o->iteration);
    free(o->slot);
    dt_arena_destroy(o->arena);
    free(o);
}

/* ---- state ---- */

static const dt_optimizer_row *row_of(const dt_optimizer *o)
{
    return (const dt_optimizer_row *)o->named.kind;
}

static struct dt_optimizer_slot *find_slots(const dt_optimizer *o, const dt_variable *v)
{
    for (int i = 0; i < o->n; i++)
        if (o->slot[i].of == v)
            return &o->slot[i];
    return NULL;
}

static dt_status *create_slot(dt_variable **out, const char *path, const dt_type *type)
{
    DT_TRY(dt_variable_alloc(out, path, type, false));
    (*out)->slot = true;
    return NULL;
}

static dt_status *add_slots(dt_optimizer *o, const dt_variable *v)
{
    const char *name[DT_MAX_SLOTS];
    int n = row_of(o)->slots(o->named.args, name);
    DT_GROW(o->slot, o->cap, o->n + 1);
    struct dt_optimizer_slot *s = &o->slot[o->n++];
    *s = (struct dt_optimizer_slot){ .of = v };
    for (int k = 0; k < n; k++) {
        dt_str path = { 0 };
        dt_str_printf(&path, "optimizer/%s/%s", v->path, name[k]);
        dt_status *fault = create_slot(&s->slot[k], dt_str_text(&path), &v->type);
        dt_str_release(&path);
        DT_TRY(fault);
        s->n++;
    }
    return NULL;
}

dt_status *dt_optimizer_prepare(dt_optimizer *o, const dt_variables *v)
{
    dt_type scalar = dt_scalar_type(DT_INT64);
    if (!o->iteration)
        DT_TRY(create_slot(&o->iteration, "optimizer/iteration", &scalar));
    for (int i = 0; i < v->n; i++)
        if (!find_slots(o, v->v[i]))
            DT_TRY(add_slots(o, v->v[i]));
    return NULL;
}

dt_variable **dt_optimizer_variables(const dt_optimizer *o, dt_arena *arena, int *n)
{
    dt_variable **all = dt_arena_array(arena, dt_variable *, 1 + DT_MAX_SLOTS * (size_t)o->n);
    *n = 0;
    if (o->iteration)
        all[(*n)++] = o->iteration;
    for (int i = 0; i < o->n; i++)
        for (int k = 0; k < o->slot[i].n; k++)
            all[(*n)++] = o->slot[i].slot[k];
    return all;
}

/* ---- updates ---- */

/* w - w * weight_decay * rate */
static dt_value decayed(const dt_update *u, double weight_decay)
{
    if (weight_decay == 0)
        return u->w;
    return dt_subtract(u->w, dt_multiply(u->w, dt_multiply(u->rate, dt_like(u->rate, weight_decay))));
}

static void update_variable(dt_optimizer *o, dt_value iteration, dt_variable *v, dt_value gradient)
{
    const dt_optimizer_head *head = o->named.args;
    const struct dt_optimizer_slot *s = find_slots(o, v);
    dt_trace *t = iteration.trace;
    dt_update u = {
        .trace = t, .args = head, .w = dt_read(t, v), .g = gradient,
        .rate = dt_scalar(t, v->type.dtype, head->rate), .t = dt_convert(iteration, v->type.dtype),
    };
    for (int k = 0; k < s->n; k++)
        u.slot[k] = dt_read(t, s->slot[k]);
    u.w = decayed(&u, head->weight_decay);
    row_of(o)->apply(&u);
    for (int k = 0; k < s->n; k++)
        dt_assign(t, s->slot[k], u.slot[k]);
    dt_assign(t, v, u.w);
}

/* Nodes from here on are "optimizer/dense/kernel"'s. */
static const char *enter(dt_trace *t, const dt_variable *v)
{
    return dt_trace_path(t, dt_arena_printf(dt_trace_arena(t), "optimizer/%s", v->path));
}

void dt_optimizer_emit(dt_optimizer *o, dt_trace *t, const dt_variables *v, const dt_value *gradient)
{
    const char *before = dt_trace_path(t, "optimizer");
    dt_value iteration = dt_add(dt_read(t, o->iteration), dt_scalar(t, DT_INT64, 1));
    dt_value *g = dt_arena_copy(dt_trace_arena(t), gradient, dt_size_mul((size_t)v->n, sizeof *g));
    dt_optimizer_clip(o->named.args, g, v->n);
    for (int i = 0; i < v->n && iteration.trace; i++) {
        if (!g[i].trace)
            continue;
        enter(t, v->v[i]);
        update_variable(o, iteration, v->v[i], g[i]);
    }
    dt_trace_path(t, "optimizer");
    dt_assign(t, o->iteration, iteration);
    dt_trace_path(t, before);
}

/* That of any gradient; NULL: there is none. */
static dt_trace *trace_of(const dt_gradients *g)
{
    for (int i = 0; i < g->variables->n; i++)
        if (g->value[i].trace)
            return g->value[i].trace;
    return NULL;
}

void dt_optimizer_apply(dt_optimizer *o, dt_gradients gradients)
{
    const dt_variables *v = gradients.variables;
    dt_trace *t = v ? trace_of(&gradients) : NULL;
    if (!v || (gradients.trace && dt_trace_error(gradients.trace)))
        return; /* said already */
    if (!t) {
        dt_trace_fail(gradients.trace,
                      dt_fail(DT_E_NO_GRADIENT, NULL, "no gradients provided for any variable: the loss depends on none of the %d", v->n));
        return;
    }
    dt_status *s = dt_optimizer_prepare(o, v);
    if (s) {
        dt_trace_fail(t, s);
        return;
    }
    const char *before = dt_trace_path(t, "optimizer");
    dt_value *sum = dt_arena_array(dt_trace_arena(t), dt_value, v->n);
    for (int i = 0; i < v->n; i++) {
        if (!gradients.value[i].trace)
            continue;
        enter(t, v->v[i]);
        sum[i] = dt_all_reduce(DT_SUM, gradients.value[i]);
    }
    dt_trace_path(t, before);
    dt_optimizer_emit(o, t, v, sum);
}
