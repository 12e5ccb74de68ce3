/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: calls a step function on every replica. The function itself is called only to record it,
 * usually once per signature. The recording is compiled and run with each replica's arguments.
 *
 * A signature consists of the names, dtypes and sizes of the arguments, and of which ones have a
 * value per replica. In distributed arguments the first dimension is B, the number of rows of one
 * replica, which may differ between replicas and between runs. A step that cannot be recorded with
 * B, because it joins replicas' values directly, is recorded again for the current number of rows.
 * Steps whose arguments differ between replicas in another dimension are run by step_run_each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/cells.h"
#include "strategy/step.h"

/*
 * Checks the labels that are passed to a step: a class number that has no score is an error before
 * the step runs, as in TensorFlow. Labels of a job's data sets are checked in lib/data;
 * this check is for programs with their own training loops.
 */
enum { MOST_SHOWN = 20 };

/* Follows reshapes and conversions back from node i. Returns the argument where they begin; -1:
 * node i is not made from an argument in this way. */
static int argument_behind(const dt_graph *g, int i) {
    while (g->node[i].op->role == DT_ROLE_NAME || g->node[i].op->role == DT_ROLE_CONVERT)
        i = g->node[i].in[0];
    for (int k = 0; k < g->n_args; k++)
        if (g->arg[k].node == i) return k;
    return -1;
}

static dt_status *out_of_range(const dt_view *labels, double label, int64_t classes) {
    int64_t n = dt_type_elements(&labels->type);
    dt_local_str text = {0};
    for (int64_t i = 0; i < n && i < MOST_SHOWN; i++)
        dt_str_printf(&text, " %.15g", dt_cell_double(labels, i));
    return dt_fail(DT_E_LABEL_RANGE, NULL,
                   "label %.15g is %s [0, %lld), the classes that have a score; labels are%s%s",
                   label, label == trunc(label) ? "outside of" : "not a whole number in",
                   (long long)classes, dt_str_text(&text), n > MOST_SHOWN ? " ..." : "");
}

static dt_status *check(const dt_view *labels, int64_t classes) {
    for (int64_t i = 0, n = dt_type_elements(&labels->type); i < n; i++) {
        double label = dt_cell_double(labels, i);
        if (!(label >= 0 && label < (double)classes && label == trunc(label)))
            return out_of_range(labels, label, classes);
    }
    return NULL;
}

/* Fails with LABEL_RANGE if an argument, reshaped or converted or not, is used as integer labels of
 * a cross-entropy of g and contains a number outside the classes. arg[k] is argument k of g with
 * the rows of all replicas. */
static dt_status *check_labels(const dt_graph *g, const dt_view *arg) {
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *n = &g->node[i];
        if (n->op != &dt_op_softmax_cross_entropy) continue;
        const dt_type *logits = &g->node[n->in[0]].type, *target = &g->node[n->in[1]].type;
        int k = dt_dtype_is_float(target->dtype) ? -1 : argument_behind(g, n->in[1]);
        if (k >= 0) DT_TRY(check(&arg[k], logits->dim[logits->rank - 1]));
    }
    return NULL;
}

/* ---- steps with a shape per replica ---- */

/*
 * Runs steps whose arguments differ between replicas in a dimension other than the first, for
 * example batches that each replica has padded by itself. The step of every replica is recorded
 * with its own shapes, and the interpreter runs them side by side. That is slower than a compiled
 * step. The recordings are not kept, because such shapes seldom come again.
 */

/* Each round of trace_all records all replicas. After this many rounds it gives up. */
enum { MOST_ROUNDS = 64 };
typedef struct replicas {
    const dt_step_call *call;
    int n;
    dt_graph **graph; /* [n] the recorded step of each replica */
    int64_t *rows;    /* [n] the number of rows of each replica */
    dt_view *arg;     /* [n][n_args] the arguments of each replica */
} replicas;

/* ---- recording for each replica ---- */
static void forget(replicas *x) {
    for (int r = 0; r < x->n; r++) {
        dt_graph_destroy(x->graph[r]);
        x->graph[r] = NULL;
    }
}

static dt_status *trace_once(const dt_function *f, dt_step_call *c, replicas *x) {
    dt_status *first = NULL;
    for (int r = 0; r < x->n; r++) {
        c->each->replica = r;
        dt_status *s = dt_function_trace(f, c, &x->graph[r]);
        if (first) dt_status_free(s);
        else first = s ? dt_note(s, "on replica %d", r) : NULL;
    }
    return first;
}

/* Records the step for all replicas, again and again, until every gather knows the sizes of all
 * replicas' parts. Each round finds the sizes of one more gather. Errors of earlier rounds are
 * dropped, because unknown sizes may have caused them. */
static dt_status *trace_all(const dt_function *f, dt_step_call *c, replicas *x) {
    dt_each each = {0};
    dt_status *s = NULL;
    c->each = &each;
    for (int round = 0; round < MOST_ROUNDS && (round == 0 || each.learnt); round++) {
        dt_status_free(s);
        forget(x);
        each.learnt = false;
        s = trace_once(f, c, x);
    }
    c->each = NULL;
    free(each.size);
    return s;
}

static bool are_named_alike(const dt_named_node *a, const dt_named_node *b, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(a[i].name, b[i].name) != 0) return false;
    return true;
}

/* Checks that all replicas' recordings have the same arguments, results and changed variables. A
 * step may compute with shapes, but must not decide by them which of these it has. */
static dt_status *check_alike(const replicas *x) {
    const dt_graph *a = x->graph[0];
    for (int r = 1; r < x->n; r++) {
        const dt_graph *b = x->graph[r];
        bool same =
            a->n_args == b->n_args && a->n_results == b->n_results && a->n_states == b->n_states;
        same = same && are_named_alike(a->arg, b->arg, a->n_args) &&
               are_named_alike(a->result, b->result, a->n_results);
        for (int i = 0; same && i < a->n_states; i++)
            same = a->state[i].variable == b->state[i].variable &&
                   (a->state[i].update >= 0) == (b->state[i].update >= 0);
        if (!same)
            return dt_fail(DT_E_ARGUMENT, NULL,
                           "the step returns or changes something else on replica %d than on "
                           "replica 0, whose arguments have other shapes",
                           r);
    }
    return NULL;
}

/* ---- interpreting ---- */
static void bind(const dt_step_call *c, replicas *x) {
    const int n = x->graph[0]->n_args;
    x->arg = dt_alloc(dt_size_mul((size_t)x->n, (size_t)(n + 1) * sizeof *x->arg));
    for (int r = 0; r < x->n; r++) {
        x->rows[r] = 1;
        for (int i = n - 1; i >= 0; i--) {
            const dt_value_entry *e = dt_values_find(c->args, x->graph[r]->arg[i].name);
            const dt_tensor *t = dt_entry_local(e, e->per_replica ? r : 0);
            x->arg[r * n + i] = (dt_view){t->type, t->data};
            x->rows[r] = e->per_replica && t->type.rank > 0 ? t->type.dim[0] : x->rows[r];
        }
    }
}

/* Runs the recordings. If replicas assign different values to a variable that may have copies,
 * gives each replica a copy, and runs the recordings again. */
static dt_status *interpret(replicas *x, dt_interpretation *out) {
    const dt_graph *g = x->graph[0];
    for (;;) {
        dt_refusal refusal = {0};
        const dt_env env = {.replicas = x->n, .refusal = &refusal};
        DT_TRY(
            dt_interpret_each((const dt_graph *const *)x->graph, &env, x->n, x->rows, x->arg, out));
        dt_status *s = dt_refusal_status(&refusal);
        if (!s && out->differs < 0) return NULL;
        dt_variable *v = s ? NULL : g->state[out->differs].variable;
        dt_interpretation_release(out);
        DT_TRY(s);
        if (!v->may_diverge)
            return dt_fail(DT_E_VARYING_UPDATE, NULL,
                           "variable '%s' is one for all replicas, but each would assign its own "
                           "value: sum or average it with all_reduce first",
                           v->path);
        DT_TRY(dt_variable_diverge(v, x->n));
    }
}

static dt_status *prepare(const dt_step_call *c, replicas *x, const bool *distributed) {
    dt_local_arena arena = dt_arena_create();
    dt_replication *spread = NULL;
    dt_status *s = check_alike(x);
    if (!s) s = dt_diverge_variables(x->graph[0], distributed, x->n);
    if (!s) s = dt_replication_of(x->graph[0], distributed, arena, &spread);
    DT_TRY(s);
    bind(c, x);
    for (int r = 0; r < x->n; r++)
        DT_TRY(check_labels(x->graph[r], &x->arg[r * x->graph[0]->n_args]));
    return NULL;
}

/* ---- results of each replica, and functions ---- */
static dt_status *take_each_result(const dt_strategy *s, const dt_interpretation *in, int i,
                                   bool single, dt_values *out, const char *name) {
    dt_tensor **t = dt_alloc(dt_size_mul((size_t)in->replicas, sizeof *t));
    dt_status *bad = NULL;
    for (int r = 0; !bad && r < in->replicas; r++) {
        const dt_view *v = &in->result[r * in->n_results + i];
        bad = dt_tensor_create(&t[r], v->type.dtype, v->type.rank, v->type.dim, v->data);
        if (!bad) dt_tensor_set_device(t[r], dt_strategy_device(s, r));
    }
    if (!bad)
        bad = single ? dt_values_set(out, name, t[0])
                     : dt_values_set_per_replica(out, name, t, in->replicas);
    for (int r = 0; r < in->replicas; r++) dt_tensor_unref(t[r]);
    free(t);
    return bad;
}

static dt_status *take_each_results(const replicas *x, const dt_interpretation *in,
                                    const bool *single, dt_values **results) {
    dt_values *out = NULL;
    dt_status *s = dt_values_create(&out);
    for (int i = 0; !s && i < in->n_results; i++)
        s = take_each_result(x->call->strategy, in, i, single[i], out, x->graph[0]->result[i].name);
    if (!s) {
        dt_values_unref(*results);
        *results = out;
        out = NULL;
    }
    dt_values_unref(out);
    return s;
}

static void take_updates(const replicas *x, const dt_interpretation *in) {
    for (int i = 0; i < in->n_states; i++)
        if (in->update[i].data)
            memcpy(dt_host_edit(x->graph[0]->state[i].variable), in->update[i].data,
                   (size_t)dt_type_bytes(&in->update[i].type));
}

static dt_status *run_all(const dt_step_call *c, replicas *x, dt_values **results) {
    const dt_graph *g = x->graph[0];
    DT_LOCAL bool *distributed = dt_distributed_arguments(g, c->args),
                  *none = dt_alloc((size_t)g->n_results + 1);
    DT_LOCAL bool *single = dt_single_results(g, distributed, none);
    dt_interpretation in = {0};
    dt_status *s = prepare(c, x, distributed);
    if (!s) s = interpret(x, &in);
    if (!s && results) s = take_each_results(x, &in, single, results);
    if (!s) take_updates(x, &in);
    dt_interpretation_release(&in);
    return s;
}

/* Runs a step whose arguments differ in shape between replicas (EACH). */
static dt_status *step_run_each(const dt_function *f, dt_step_call *c, dt_values **results) {
    const int n = c->strategy->replicas;
    if (c->strategy->cluster)
        return dt_fail(DT_E_NOT_YET, NULL,
                       "arguments that differ between replicas in another dimension than the first "
                       "do not work on workers in separate processes");
    replicas x = {.call = c,
                  .n = n,
                  .graph = dt_alloc((size_t)n * sizeof *x.graph),
                  .rows = dt_alloc((size_t)n * sizeof *x.rows)};
    dt_status *s = trace_all(f, c, &x);
    if (!s) s = run_all(c, &x, results);
    forget(&x);
    free(x.graph);
    free(x.rows);
    free(x.arg);
    return s;
}

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

/* Whether recording the step again with known sizes may help, after the error s. It may if some
 * argument has an open number of rows, and the step asked for that number or, with the same number
 * of rows on all replicas, its shapes did not match. */
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
    DT_TRY(check_labels(step, out->arg));
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
    if (c->sizing == DT_SIZES_EACH) return step_run_each(f, c, results);
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
    /* A process that is one of several is refused here for the default strategy, which
     * dt_get_strategy creates without checks. Other strategies are checked when they are
     * created. */
    if (!dt_strategy_has_devices(s)) DT_TRY(dt_launched_alone());
    DT_SCOPE(s) {
        /* dt_status_kept returns the error that was kept if another strategy's scope is open. */
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
