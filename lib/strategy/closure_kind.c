/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles functions that are scheduled on a coordinator: into a program that workers run, and one
 * that updates the variables (coordinator.h). */
#include "strategy/coordinator.h"

#include <stdlib.h>
#include <string.h>

#include "model/optimizer.h"
#include "pass/sparse.h"

/* ---- recording the worker's half ---- */

/* A change of variables that a worker only records: one assignment, or one dt_optimizer_apply. */
typedef struct dt_closure_change {
    /* The optimizer that makes the change; NULL: the change is an assignment. The change holds
     * references to the optimizer and to the variables in `of`. */
    dt_optimizer *optimizer;
    int how; /* for an assignment: a dt_write, which says whether it assigns, adds or subtracts */
    /* first, n: the values of the change are pushed[first] to pushed[first + n - 1] of the
     * dt_closure_kind */
    int first, n;
    /* [n_of] all variables that the function passed to the optimizer, including those without a
     * gradient */
    dt_variable **of;
    int n_of;
} change;

typedef struct recording {
    dt_closure_kind *kind;
    int cap, cap_pushed, cap_name;
} recording;

static int find_pushed(const dt_closure_kind *k, const dt_variable *v) {
    for (int i = 0; i < k->n_pushed; i++)
        if (k->pushed[i] == v) return i;
    return -1;
}

static void push(recording *r, dt_variable *v, dt_value value) {
    dt_closure_kind *k = r->kind;
    if (find_pushed(k, v) >= 0) {
        dt_trace_fail(value.trace,
                      dt_fail(DT_E_VARIABLE, NULL,
                              "a scheduled function changes variable '%s' twice; schedule a "
                              "function for each change, or add the values first",
                              v->path));
        return;
    }
    const char *name = dt_arena_printf(k->arena, "for %d %s", k->n_pushed, v->path);
    DT_GROW(k->pushed, r->cap_pushed, k->n_pushed + 1);
    DT_GROW(k->name, r->cap_name, k->n_pushed + 1);
    v->refs++;
    k->pushed[k->n_pushed] = v;
    k->name[k->n_pushed++] = name;
    dt_return(value.trace, name, value);
}

static change *add_change(recording *r, const change *x) {
    dt_closure_kind *k = r->kind;
    DT_GROW(k->change, r->cap, k->n_changes + 1);
    k->change[k->n_changes] = *x;
    return &k->change[k->n_changes++];
}

static void defer_write(void *user, dt_variable *v, int how, dt_value value) {
    recording *r = user;
    add_change(r, &(change){.how = how, .first = r->kind->n_pushed, .n = 1});
    push(r, v, value);
}

static void defer_update(void *user, dt_optimizer *o, const dt_variables *v,
                         const dt_value *gradient) {
    recording *r = user;
    change *x = add_change(r, &(change){.optimizer = o, .first = r->kind->n_pushed, .n_of = v->n});
    x->of = dt_arena_array(r->kind->arena, dt_variable *, v->n + 1);
    o->refs++;
    for (int i = 0; i < v->n; i++) {
        v->v[i]->refs++;
        x->of[i] = v->v[i];
        if (gradient[i].trace) push(r, v->v[i], gradient[i]);
    }
    x->n = r->kind->n_pushed - x->first;
}

/* ---- the update ---- */

static void emit_change(const dt_closure_kind *k, const change *x, dt_trace *t,
                        const dt_value *value) {
    static dt_value (*const write[])(dt_trace *, dt_variable *, dt_value) = {
        dt_variable_assign, dt_variable_assign_add, dt_variable_assign_sub};
    if (!x->optimizer) {
        write[x->how](t, k->pushed[x->first], value[x->first]);
        return;
    }
    dt_value *gradient = dt_arena_array(dt_trace_arena(t), dt_value, x->n_of + 1);
    for (int i = 0; i < x->n_of; i++)
        for (int p = x->first; p < x->first + x->n; p++)
            if (k->pushed[p] == x->of[i]) gradient[i] = value[p];
    dt_optimizer_emit(x->optimizer, t, &(dt_variables){.v = x->of, .n = x->n_of}, gradient);
}

static dt_status *trace_update(const dt_closure_kind *k, dt_graph **out) {
    dt_trace *t = dt_trace_create("update");
    dt_value *value = dt_arena_array(dt_trace_arena(t), dt_value, k->n_pushed + 1);

    dt_trace_set_replicas(t, 1);
    for (int i = 0; i < k->n_pushed; i++)
        value[i] = dt_trace_declare(t, k->name[i], &k->pushed[i]->type);
    for (int i = 0; i < k->n_changes; i++) emit_change(k, &k->change[i], t, value);
    return dt_trace_end(t, out);
}

static dt_status *compile_update(const dt_closure_kind *k, dt_strategy *s, dt_compiled **out) {
    dt_graph *g = NULL, *whole = NULL;
    DT_TRY(trace_update(k, &g));
    if (k->tail) {
        dt_status *bad = dt_compose(k->tail, g, &whole);
        dt_graph_destroy(g);
        DT_TRY(bad);
        g = whole;
    }
    const bool *uniform = dt_arena_array(k->arena, bool, g->n_args + 1);
    return dt_compiled_create(out, s, g, &(dt_compile_options){.distributed = uniform});
}

static dt_status *make_update(dt_closure_kind *k, dt_strategy *s) {
    if (k->n_pushed == 0) return NULL;
    DT_TRY(compile_update(k, s, &k->update));
    return dt_compiled_prepare(k->update, 1, NULL);
}

bool dt_closure_kind_is_joint(const dt_closure_kind *k) {
    for (int i = 0; i < k->n_changes; i++) {
        const dt_optimizer *o = k->change[i].optimizer;
        if (o && (o->scale || ((const dt_optimizer_head *)o->named.args)->global_clipnorm > 0))
            return true;
    }
    return false;
}

/* ---- rows of tables, and facts about variables ---- */

/* Compiles g into *out and destroys the program that was there before. The arguments of g are a
 * subset of the call's. Takes ownership of g. */
static dt_status *compile_again(const dt_step_call *call, dt_graph *g, dt_compiled **out) {
    dt_compiled *made = NULL;
    DT_LOCAL bool *distributed = dt_distributed_arguments(g, call->args);
    dt_status *s =
        dt_compiled_create(&made, call->strategy, g,
                           &(dt_compile_options){.distributed = distributed, .by_replica = true});
    if (s) return s;
    dt_compiled_destroy(*out);
    *out = made;
    return NULL;
}

/* Finds which rows of tables the worker's step looks up. Also moves computations that turn small
 * values into large gradients (dt_divide_step) from the worker to the update, so that less is sent.
 * What is worth moving is decided for the batch size of this call. */
static dt_status *divide_worker(dt_closure_kind *k, const dt_step_call *call) {
    const dt_graph *step = dt_compiled_step(k->worker.compiled);
    const int64_t rows = call->offsets[call->strategy->replicas];
    dt_graph *head = NULL, *numbers = NULL;
    DT_TRY(dt_row_numbers(step, rows, k->arena, &numbers, &k->table));
    if (numbers) DT_TRY(compile_again(call, numbers, &k->numbers.compiled));
    DT_TRY(dt_divide_step(step, k->name, k->n_pushed, rows, &head, &k->tail));
    return head ? compile_again(call, head, &k->worker.compiled) : NULL;
}

bool dt_closure_kind_reads(const dt_closure_kind *k, const dt_variable *v) {
    const dt_graph *g = dt_compiled_step(k->worker.compiled);
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].variable == v) return true;
    return false;
}

bool dt_closure_kind_changes(const dt_closure_kind *k, const dt_variable *v) {
    return find_pushed(k, v) >= 0 || dt_step_moves(dt_compiled_step(k->worker.compiled), v) ||
           (k->update && dt_step_moves(dt_compiled_step(k->update), v));
}

bool dt_closure_kind_by_rows(const dt_closure_kind *k, const dt_variable *v) {
    const dt_graph *g = dt_compiled_step(k->worker.compiled);
    const int n = k->numbers.compiled ? dt_compiled_step(k->numbers.compiled)->n_results : 0,
              p = find_pushed(k, v);
    bool few = !dt_closure_kind_reads(k, v);
    for (int i = 0; i < n; i++) few |= k->table[i] == v;
    return few && !dt_step_moves(g, v) && (p < 0 || dt_graph_find_result(g, k->name[p]) < 0);
}

/* ---- both halves ---- */

static void sign(dt_closure_kind *k, const dt_step_call *call) {
    dt_str text = {0};
    dt_step_sign(call, &text);
    free(k->signature);
    k->signature = dt_str_take(&text);
}

static void release_pushed(dt_closure_kind *k) {
    while (k->n_pushed > 0) dt_variable_unref(k->pushed[--k->n_pushed]);
    while (k->n_changes > 0) {
        const change *x = &k->change[--k->n_changes];
        for (int i = 0; i < x->n_of; i++) dt_variable_unref(x->of[i]);
        dt_optimizer_unref(x->optimizer);
    }
}

/* Records the function for any batch size. If its shapes do not allow that, records it for the
 * batch size of this call only. */
static dt_status *record(recording *r, dt_function *f, dt_step_call *call) {
    const dt_deferral deferral = {defer_write, defer_update, r};
    call->deferral = &deferral;
    dt_status *s = dt_step_record(f, call, &r->kind->worker);
    if (s && call->sizing == DT_SIZES_ANY &&
        (dt_status_number(s) == DT_E_NEEDS_ROWS || dt_status_number(s) == DT_E_MODEL_SHAPE) &&
        dt_step_has_rows(call)) {
        dt_status_free(s);
        release_pushed(r->kind);
        call->sizing = DT_SIZES_EXACT;
        s = dt_step_record(f, call, &r->kind->worker);
    }
    r->kind->worker.sizing = call->sizing;
    call->deferral = NULL;
    if (!s) sign(r->kind, call);
    return s;
}

static bool moves_any(const dt_graph *worker) {
    for (int i = 0; i < worker->n_states; i++)
        if (dt_step_moves(worker, worker->state[i].variable)) return true;
    return false;
}

dt_status *dt_closure_kind_make(dt_closure_kind **out, dt_function *f, dt_step_call *call) {
    dt_closure_kind *k = dt_alloc(sizeof *k);
    *k = (dt_closure_kind){.function = dt_function_ref(f), .arena = dt_arena_create()};
    recording r = {.kind = k};
    dt_status *s = record(&r, f, call);
    if (!s) s = divide_worker(k, call);
    if (!s) s = make_update(k, call->strategy);
    if (!s) k->changes = k->n_pushed > 0 || moves_any(dt_compiled_step(k->worker.compiled));
    if (s) dt_closure_kind_free(k);
    else *out = k;
    return s;
}

void dt_closure_kind_free(dt_closure_kind *k) {
    dt_compiled_destroy(k->update);
    dt_compiled_destroy(k->worker.compiled);
    dt_compiled_destroy(k->numbers.compiled);
    free(k->worker.single);
    free(k->worker.constant);
    dt_graph_destroy(k->tail);
    release_pushed(k);
    free(k->change);
    free(k->pushed);
    free(k->name);
    free(k->signature);
    dt_function_unref(k->function);
    dt_arena_destroy(k->arena);
    free(k);
}

bool dt_closure_kind_fits(const dt_closure_kind *k, const dt_function *f, dt_step_call *call) {
    dt_local_str text = {0};
    call->sizing = k->worker.sizing;
    dt_step_sign(call, &text);
    return k->function == f && strcmp(dt_str_text(&text), k->signature) == 0 &&
           !dt_compiled_is_stale(k->worker.compiled);
}

dt_status *dt_closure_kind_match(const dt_closure_kind *k, const dt_packed_variables *s,
                                 const dt_compiled *update, dt_arena *arena, dt_halves *h) {
    const dt_graph *worker = dt_compiled_step(k->worker.compiled),
                   *own = update ? dt_compiled_step(update) : NULL;
    *h = dt_halves_none(arena, s->n);
    for (int i = 0; i < s->n; i++) {
        const dt_variable *v = dt_variable_whole(s->variable[i]);
        const int p = find_pushed(k, v);
        if (p >= 0) dt_halves_bind(h, s, i, k->name[p], worker, own, arena);
        /* True if the step itself changes the variable, such as a mean of BatchNormalization or a
         * seed. */
        else h->moves[i] = dt_step_moves(worker, v);
    }
    if (own) dt_halves_match_parts(h, s, worker, own, arena);
    return dt_halves_check(h, s, worker);
}

bool dt_closure_kind_returns(const dt_closure_kind *k, int i) {
    const char *name = dt_compiled_step(k->worker.compiled)->result[i].name;
    if (k->tail && dt_graph_find_argument(k->tail, name) >= 0) return false;
    for (int p = 0; p < k->n_pushed; p++)
        if (strcmp(k->name[p], name) == 0) return false;
    return true;
}
