/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: calls a step function on every replica. The function itself is called only once per
 * signature, to record it. The recording is compiled and run with each replica's arguments.
 *
 * A signature consists of the names, dtypes and sizes of the arguments, and of which ones have a
 * value per replica. In distributed arguments the first dimension is B, the number of rows of one
 * replica, which may differ between replicas and between runs. A step that cannot be recorded with
 * B, because it joins replicas' values directly, is recorded again for the current number of rows.
 * each.c runs steps whose arguments differ between replicas in another dimension.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/labels.h"
#include "strategy/step.h"

dt_status *dt_function_create(dt_function **out, void (*step)(dt_trace *t, void *user),
                              void *user) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_function_create", "handle to fill"));
    DT_TRY(step ? NULL : dt_want(NULL, "dt_function_create", "step function"));
    dt_function *f = dt_alloc(sizeof *f);
    *f = (dt_function){.refs = 1, .step = step, .user = user};
    dt_function_unref(*out);
    *out = f;
    return NULL;
}

dt_function *dt_function_ref(dt_function *f) {
    f->refs++;
    return f;
}

void dt_function_unref(dt_function *f) {
    if (!DT_LAST(f)) return;
    for (int i = 0; i < f->n; i++) dt_traced_release(&f->trace[i]);
    free(f->trace);
    DT_RETIRE(f);
}

/* ---- finding the trace ---- */

/* Drops recordings that must be compiled again because a variable has changed its form, for example
 * because it now has one copy per replica. */
static void forget_stale(dt_function *f) {
    int kept = 0;

    for (int i = 0; i < f->n; i++)
        if (f->trace[i].compiled && dt_compiled_is_stale(f->trace[i].compiled))
            dt_traced_release(&f->trace[i]);
        else f->trace[kept++] = f->trace[i];
    f->n = kept;
}

static dt_traced *look_up(const dt_function *f, const dt_step_call *c, const char *signature) {
    for (int i = 0; i < f->n; i++)
        if (f->trace[i].strategy == c->strategy && f->trace[i].sizing == c->sizing &&
            strcmp(f->trace[i].signature, signature) == 0)
            return &f->trace[i];
    return NULL;
}

/* Whether the step may be recordable if sizes are known, after the error s. This is so if some
 * argument has an open number of rows, and the step asked for that number or its shapes did not
 * match. */
static bool sizes_may_help(const dt_step_call *c, const dt_status *s) {
    bool unfit = dt_status_number(s) == DT_E_NEEDS_ROWS ||
                 (c->even && dt_status_number(s) == DT_E_MODEL_SHAPE);
    return unfit && c->sizing == DT_SIZES_ANY && dt_step_has_rows(c);
}

/* Records and compiles the step. If the step needs known sizes, adds an entry without a compiled
 * step, so that this is not tried again. */
static dt_status *add_trace(dt_function *f, const dt_step_call *c, const char *signature,
                            dt_traced **out) {
    dt_traced made = {.sizing = c->sizing};
    dt_status *bad = dt_step_record(f, c, &made);

    if (bad && !sizes_may_help(c, bad)) return bad;
    dt_status_free(bad);
    made.strategy = dt_strategy_ref(c->strategy);
    made.signature = dt_strdup(signature);
    DT_GROW(f->trace, f->cap, f->n + 1);
    f->trace[f->n] = made;
    *out = &f->trace[f->n++];
    return NULL;
}

static dt_status *find_trace(dt_function *f, const dt_step_call *c, dt_traced **out) {
    dt_local_str signature = {0};
    dt_status *bad = NULL;

    dt_step_sign(c, &signature);
    *out = look_up(f, c, dt_str_text(&signature));
    if (!*out) bad = add_trace(f, c, dt_str_text(&signature), out);
    return bad;
}

static dt_status *find_step(dt_function *f, dt_step_call *c, dt_traced **out) {
    forget_stale(f);
    DT_TRY(find_trace(f, c, out));
    if ((*out)->compiled) return NULL;
    c->sizing = c->even ? DT_SIZES_EXACT : DT_SIZES_TOTAL;
    return find_trace(f, c, out);
}

/* ---- running ---- */

dt_status *dt_traced_run(const dt_traced *t, const dt_step_call *c, dt_ran *out) {
    const dt_graph *step = dt_compiled_step(t->compiled);
    *out = (dt_ran){.n = step->n_args,
                    .arg = dt_alloc((size_t)(step->n_args + 1) * sizeof *out->arg),
                    .owned = dt_alloc((size_t)(step->n_args + 1) * sizeof *out->owned),
                    .result = dt_alloc((size_t)(step->n_results + 1) * sizeof *out->result)};
    for (int i = 0; i < step->n_args; i++)
        DT_TRY(dt_step_argument(c, dt_values_find(c->args, step->arg[i].name), &out->arg[i],
                                &out->owned[i]));
    DT_TRY(dt_check_labels(step, out->arg));
    return dt_compiled_run(t->compiled, c->offsets, out->arg, out->result);
}

void dt_ran_release(dt_ran *r) {
    for (int i = 0; i < r->n; i++) free(r->owned[i]);
    free(r->owned);
    free(r->arg);
    free(r->result);
}

static dt_status *take_result(const dt_step_call *c, const dt_traced *t, int i, const dt_view *v,
                              dt_values *out) {
    dt_tensor *whole = NULL;

    DT_TRY(dt_tensor_new(&whole, &v->type));
    memcpy(whole->data, v->data, (size_t)dt_type_bytes(&v->type));
    const char *name = dt_compiled_step(t->compiled)->result[i].name;
    dt_values_set_whole(out, name,
                        &(dt_whole){.tensor = whole,
                                    .spread = dt_compiled_results(t->compiled)[i],
                                    .strategy = t->single[i] ? NULL : t->strategy,
                                    .offsets = c->offsets});
    if (t->constant[i]) dt_values_set_each(out, name, c->strategy->replicas);
    dt_tensor_unref(whole);
    return NULL;
}

static dt_status *take_results(const dt_step_call *c, const dt_traced *t, const dt_view *result,
                               dt_values **results) {
    dt_values *out = NULL;
    dt_status *s = dt_values_create(&out);

    for (int i = 0; !s && i < dt_compiled_step(t->compiled)->n_results; i++)
        s = take_result(c, t, i, &result[i], out);
    if (!s) {
        dt_values_unref(*results);
        *results = out;
        out = NULL;
    }
    dt_values_unref(out);
    return s;
}

static dt_status *run_function(dt_function *f, dt_step_call *c, dt_values **results) {
    dt_traced *t = NULL;

    DT_TRY(dt_step_check(c));
    if (c->sizing == DT_SIZES_EXACT && !c->even)
        return dt_fail(
            DT_E_ARGUMENT, NULL,
            "fixed_batch_size needs arguments with the same number of rows on every replica");
    if (c->sizing == DT_SIZES_EACH) return dt_step_run_each(f, c, results);
    DT_TRY(find_step(f, c, &t));
    dt_ran ran;
    dt_status *s = dt_traced_run(t, c, &ran);
    if (!s && results) s = take_results(c, t, ran.result, results);
    dt_ran_release(&ran);
    return s;
}

dt_status *dt_strategy_run_with(dt_strategy *s, dt_function *f, const dt_values *args,
                                const dt_step_options *options, dt_values **results) {
    DT_LIVE(s);
    DT_LIVE(f);
    DT_LIVE(args);
    dt_step_call c = {.strategy = s, .args = args};
    dt_status *bad = NULL;

    DT_TRY(dt_want(s, "dt_strategy_run", "strategy"));
    DT_TRY(dt_want(f, "dt_strategy_run", "function"));
    /* refuses to run in one of several processes; other strategies check this when they are
     * created, but dt_get_strategy creates the default one unchecked */
    if (!dt_strategy_has_devices(s)) DT_TRY(dt_launched_alone());
    DT_SCOPE(s) {
        /* returns the error that was kept if another strategy's scope is open */
        bad = dt_status_kept();
        if (bad) break;
        c.offsets = dt_alloc(((size_t)s->replicas + 1) * sizeof *c.offsets);
        if (options && options->fixed_batch_size) c.sizing = DT_SIZES_EXACT;
        bad = run_function(f, &c, results);
        free(c.offsets);
    }
    return bad;
}

dt_status *dt_strategy_run(dt_strategy *s, dt_function *f, const dt_values *args,
                           dt_values **results) {
    DT_LIVE(s);
    DT_LIVE(f);
    DT_LIVE(args);
    return dt_strategy_run_with(s, f, args, NULL, results);
}
