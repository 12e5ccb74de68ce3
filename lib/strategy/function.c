/*
 * run: a step function on every replica. The function is called once per signature, to record it; what it recorded is compiled and run
 * with each replica's own arguments.
 *
 * A signature is the names, dtypes and sizes of the arguments, and which of them have a value per replica. The first dimension of
 * distributed arguments is B: the rows of one replica, which may differ between replicas and from run to run.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/values.h"

typedef struct traced {
    dt_strategy *strategy;
    char *signature;
    dt_compiled *compiled;
    bool *single;          /* by result: the same for all by its nature (constants, arguments given once) */
} traced;

struct dt_function {
    int refs;
    void (*step)(dt_trace *t, void *user);
    void *user;
    int n, cap;
    traced *trace;
};

dt_status *dt_function_create(dt_function **out, void (*step)(dt_trace *t, void *user), void *user)
{
    DT_TRY(dt_status_kept());
    dt_function *f = dt_alloc(sizeof *f);
    *f = (dt_function){ .refs = 1, .step = step, .user = user };
    dt_function_unref(*out);
    *out = f;
    return NULL;
}

static void release_trace(traced *t)
{
    dt_compiled_destroy(t->compiled);
    dt_strategy_unref(t->strategy);
    free(t->signature);
    free(t->single);
}

void dt_function_unref(dt_function *f)
{
    if (!f || --f->refs > 0)
        return;
    for (int i = 0; i < f->n; i++)
        release_trace(&f->trace[i]);
    free(f->trace);
    free(f);
}

/* ---- arguments ---- */

/* The type one replica sees, with B in front where it has rows. */
static dt_type traced_type(const dt_value_entry *e)
{
    dt_type t = dt_entry_local(e, 0)->type;

    if (e->per_replica && t.rank > 0)
        t.dim[0] = DT_BATCH;
    return t;
}

static void sign(const dt_values *args, dt_str *out)
{
    for (int i = 0; args && i < args->n; i++) {
        const dt_value_entry *e = &args->entry[i];
        dt_type t = traced_type(e);
        dt_str_printf(out, "%zu:%s%s", strlen(e->name), e->name, e->per_replica ? "*" : "");
        dt_type_print(&t, out);
        dt_str_puts(out, ",");
    }
}

static dt_status *check_entry(const dt_value_entry *e, int replicas)
{
    if (e->per_replica && e->n != replicas)
        return dt_fail(DT_E_ARGUMENT, NULL, "argument '%s' has values for %d replicas, the strategy has %d", e->name, e->n, replicas);
    for (int r = 1; r < e->n && !e->whole; r++) {
        const dt_type *a = &e->local[0]->type, *b = &e->local[r]->type;
        bool same = a->dtype == b->dtype && a->rank == b->rank;
        for (int d = 1; same && d < a->rank; d++)
            same = a->dim[d] == b->dim[d];
        if (!same)
            return dt_fail(DT_E_ARGUMENT, NULL, "argument '%s' of replica %d differs from that of replica 0 in dtype or in more than its rows",
                           e->name, r);
    }
    return NULL;
}

static int64_t rows_of(const dt_value_entry *e, int r)
{
    if (e->whole && e->spread == DT_ROWS)
        return e->offsets[r + 1] - e->offsets[r];
    return dt_entry_local(e, r)->type.dim[0];
}

/* offsets[replicas + 1] from the arguments with rows, which must agree; one row each when there is none. */
static dt_status *find_offsets(const dt_values *args, int replicas, int32_t *offsets)
{
    const dt_value_entry *first = NULL;

    for (int r = 0; r <= replicas; r++)
        offsets[r] = r;
    for (int i = 0; args && i < args->n; i++) {
        const dt_value_entry *e = &args->entry[i];
        if (!e->per_replica || traced_type(e).rank == 0)
            continue;
        for (int r = 0; r < replicas; r++) {
            int64_t rows = rows_of(e, r);
            if (first && rows != offsets[r + 1] - offsets[r])
                return dt_fail(DT_E_ARGUMENT, NULL, "on replica %d, argument '%s' has %lld rows and '%s' has %d", r, e->name, (long long)rows,
                               first->name, offsets[r + 1] - offsets[r]);
            if (!first && offsets[r] + rows > INT32_MAX)
                return dt_fail(DT_E_ARGUMENT, NULL, "argument '%s' has more than 2^31 rows", e->name);
            if (!first)
                offsets[r + 1] = (int32_t)(offsets[r] + rows);
        }
        first = e;
    }
    return NULL;
}

/* The type of all replicas' values together. */
static dt_type gathered_type(const dt_value_entry *e, int replicas, const int32_t *offsets)
{
    dt_type t = traced_type(e);

    if (!e->per_replica)
        return t;
    t.dim[0] = t.rank > 0 ? offsets[replicas] : replicas;
    t.rank = t.rank > 0 ? t.rank : 1;
    return t;
}

/* All replicas' values one after the other. *owned: memory to be freed after the run. */
static dt_status *gather_argument(const dt_value_entry *e, int replicas, const int32_t *offsets, dt_view *out, void **owned)
{
    bool together = e->whole && (!e->per_replica || e->spread != DT_UNIFORM); /* one after the other already */
    int64_t at = 0;

    *owned = NULL;
    *out = (dt_view){ .type = gathered_type(e, replicas, offsets) };
    if (together || !e->per_replica) {
        out->data = together ? e->whole->data : e->local[0]->data;
        return NULL;
    }
    *owned = out->data = dt_try_alloc((size_t)dt_type_bytes(&out->type) + 64);
    if (!*owned)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory: argument '%s' needs %lld bytes", e->name, (long long)dt_type_bytes(&out->type));
    for (int r = 0; r < replicas; r++) {
        const dt_tensor *t = dt_entry_local(e, r);
        memcpy((char *)*owned + at, t->data, (size_t)dt_type_bytes(&t->type));
        at += dt_type_bytes(&t->type);
    }
    return NULL;
}

/* ---- tracing ---- */

static dt_status *record(dt_function *f, dt_strategy *s, const dt_values *args, dt_graph **out)
{
    dt_trace *t = dt_trace_create("step");

    dt_trace_set_replicas(t, s->replicas);
    for (int i = 0; args && i < args->n; i++) {
        dt_type type = traced_type(&args->entry[i]);
        dt_trace_declare(t, args->entry[i].name, &type);
    }
    dt_context before = dt_context_enter(DT_IN_REPLICA);
    f->step(t, f->user);
    dt_context_enter(before);
    dt_status *misused = dt_status_kept(); /* a scope entered by the step */
    if (misused)
        dt_trace_fail(t, misused);
    return dt_trace_end(t, out);
}

static bool *distributed_arguments(const dt_graph *g, const dt_values *args)
{
    bool *distributed = dt_alloc((size_t)g->n_args + 1);
    for (int i = 0; i < g->n_args; i++)
        distributed[i] = dt_values_find(args, g->arg[i].name)->per_replica;
    return distributed;
}

/* Constants, and arguments that were given once, come back single; everything computed comes back per replica. */
static bool *single_results(const dt_graph *g, const bool *distributed)
{
    bool *single = dt_alloc((size_t)g->n_results + 1);

    for (int i = 0; i < g->n_results; i++) {
        const dt_node *n = &g->node[g->result[i].node];
        single[i] = n->op == &dt_op_constant && !dt_type_has_batch(&n->type);
        for (int k = 0; k < g->n_args; k++)
            single[i] |= g->arg[k].node == g->result[i].node && !distributed[k];
    }
    return single;
}

static dt_status *add_trace(dt_function *f, dt_strategy *s, const dt_values *args, const char *signature, traced **out)
{
    dt_graph *g = NULL;
    dt_compiled *c = NULL;

    DT_TRY(record(f, s, args, &g));
    bool *distributed = distributed_arguments(g, args), *single = single_results(g, distributed);
    dt_status *bad = dt_compiled_create(&c, s, g, &(dt_compile_options){ .distributed = distributed });
    free(distributed);
    if (bad) {
        free(single);
        return bad;
    }
    DT_GROW(f->trace, f->cap, f->n + 1);
    *out = &f->trace[f->n++];
    **out = (traced){ .strategy = dt_strategy_ref(s), .signature = dt_strdup(signature), .compiled = c, .single = single };
    return NULL;
}

static void forget_stale(dt_function *f)
{
    int kept = 0;

    for (int i = 0; i < f->n; i++)
        if (dt_compiled_is_stale(f->trace[i].compiled))
            release_trace(&f->trace[i]);
        else
            f->trace[kept++] = f->trace[i];
    f->n = kept;
}

static dt_status *find_trace(dt_function *f, dt_strategy *s, const dt_values *args, traced **out)
{
    dt_str signature = { 0 };
    dt_status *bad = NULL;

    *out = NULL;
    forget_stale(f);
    sign(args, &signature);
    for (int i = 0; i < f->n && !*out; i++)
        if (f->trace[i].strategy == s && strcmp(f->trace[i].signature, dt_str_text(&signature)) == 0)
            *out = &f->trace[i];
    if (!*out)
        bad = add_trace(f, s, args, dt_str_text(&signature), out);
    dt_str_release(&signature);
    return bad;
}

/* ---- running ---- */

static dt_status *take_result(const traced *t, int i, const dt_view *v, const int32_t *offsets, dt_values *out)
{
    dt_tensor *whole = NULL;

    DT_TRY(dt_tensor_new(&whole, &v->type));
    memcpy(whole->data, v->data, (size_t)dt_type_bytes(&v->type));
    dt_values_set_whole(out, dt_compiled_step(t->compiled)->result[i].name,
                        &(dt_whole){ .tensor = whole, .spread = dt_compiled_results(t->compiled)[i],
                                     .strategy = t->single[i] ? NULL : t->strategy, .offsets = offsets });
    dt_tensor_unref(whole);
    return NULL;
}

typedef struct run_call {
    traced *t;
    const dt_values *args;
    int32_t *offsets;
    dt_view *arg, *result;
    void **owned;
} run_call;

static dt_status *run_traced(run_call *c, dt_values **results)
{
    const dt_graph *step = dt_compiled_step(c->t->compiled);
    int replicas = c->t->strategy->replicas;
    dt_values *out = NULL;
    dt_status *s = NULL;

    for (int i = 0; i < step->n_args; i++)
        DT_GO(s, gather_argument(dt_values_find(c->args, step->arg[i].name), replicas, c->offsets, &c->arg[i], &c->owned[i]));
    DT_GO(s, dt_compiled_run(c->t->compiled, c->offsets, c->arg, c->result));
    if (!results)
        goto out;
    DT_GO(s, dt_values_create(&out));
    for (int i = 0; i < step->n_results; i++)
        DT_GO(s, take_result(c->t, i, &c->result[i], c->offsets, out));
    dt_values_unref(*results);
    *results = out;
    out = NULL;
out:
    dt_values_unref(out);
    return s;
}

static dt_status *run_function(dt_strategy *strategy, dt_function *f, const dt_values *args, int32_t *offsets, dt_values **results)
{
    run_call c = { .args = args, .offsets = offsets };

    for (int i = 0; args && i < args->n; i++)
        DT_TRY(check_entry(&args->entry[i], strategy->replicas));
    DT_TRY(find_offsets(args, strategy->replicas, offsets));
    DT_TRY(find_trace(f, strategy, args, &c.t));
    const dt_graph *step = dt_compiled_step(c.t->compiled);
    c.arg = dt_alloc((size_t)(step->n_args + 1) * sizeof *c.arg);
    c.owned = dt_alloc((size_t)(step->n_args + 1) * sizeof *c.owned);
    c.result = dt_alloc((size_t)(step->n_results + 1) * sizeof *c.result);
    dt_status *s = run_traced(&c, results);
    for (int i = 0; i < step->n_args; i++)
        free(c.owned[i]);
    free(c.owned);
    free(c.arg);
    free(c.result);
    return s;
}

dt_status *dt_strategy_run(dt_strategy *s, dt_function *f, const dt_values *args, dt_values **results)
{
    dt_status *bad = NULL;
    int32_t *offsets;

    DT_SCOPE(s) {
        bad = dt_status_kept(); /* of another strategy's scope */
        if (bad)
            break;
        offsets = dt_alloc(((size_t)s->replicas + 1) * sizeof *offsets);
        bad = run_function(s, f, args, offsets, results);
        free(offsets);
    }
    return bad;
}
