/* SPDX-License-Identifier: Apache-2.0 */
/* What programs in words call: scopes, run, reduce and gather, contexts and variables, outside and
 * in steps. */
#include "program.h"
#include "traced.h"

#include <stdlib.h>
#include <string.h>

void program_keep(program *p, dt_status *s) {
    if (p->error) dt_status_free(s);
    else p->error = s;
}

/* ---- names ---- */

bound_name *program_find(program *p, const char *name) {
    for (int i = 0; i < p->n_names; i++)
        if (strcmp(p->name[i].name, name) == 0) return &p->name[i];
    return NULL;
}

/* A name of its own; those in a `def` of the same name are replaced. */
bound_name *program_bind(program *p, const char *name) {
    bound_name *b = program_find(p, name);
    if (!b && p->n_names == MOST_NAMES) {
        differs(p->v, "a program of more than %d names", MOST_NAMES);
        return &p->name[0];
    }
    b = b ? b : &p->name[p->n_names++];
    dt_strategy_unref(b->made);
    dt_variable_unref(b->variable);
    *b = (bound_name){0};
    snprintf(b->name, sizeof b->name, "%s", name);
    return b;
}

static bool is_one_of(const char *name, const char *const *list) {
    for (; *list; list++)
        if (strcmp(name, *list) == 0) return true;
    return false;
}

const py *program_object(const py *call) {
    const py *callee = call && call->kind == PY_CALL ? call->in[0] : NULL;
    return callee && callee->kind == PY_ATTRIBUTE ? callee->in[0] : NULL;
}

/* The strategy that an expression names, lent; NULL: it names none. */
dt_strategy *program_strategy(program *p, const py *x) {
    static const char *const first[] = {"S", "s", "strategy", "self", "strategy1", NULL},
                             *const second[] = {"T", "t", "other", "strategy2", "other_strategy",
                                                NULL};
    const char *name = py_name(x);
    bound_name *b = program_find(p, name);

    if (!x) return NULL;
    if (b && b->strategy) return b->strategy;
    if (is_one_of(name, first)) return p->s;
    if (is_one_of(name, second)) {
        if (!p->t) p->t = strategy_of(p->v, json_object_get(p->c->in, "strategy"));
        return p->t;
    }
    if (is_one_of(name, (const char *const[]){"default", "default_strategy", NULL})) return p->base;
    return strcmp(py_called(x), "get_strategy") == 0 ? dt_get_strategy() : NULL;
}

static const char *strategy_name(const dt_strategy *s) {
    static const char *const rows[][2] = {
        {"default", "_DefaultDistributionStrategy"},
        {"mirrored", "MirroredStrategy"},
        {"one_device", "OneDeviceStrategy"},
        {"multi_worker_mirrored", "MultiWorkerMirroredStrategy"},
        {"tpu", "TPUStrategyV2"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], dt_strategy_type(s)) == 0) return rows[i][1];
    return "?";
}

/* Contexts are classes of Python; here there is one kind, and these are its names by place. */
static const char *context_name(const dt_replica_context *c) {
    if (!c->trace) return "_DefaultReplicaContext";
    return strcmp(dt_strategy_type(c->strategy), "mirrored") == 0 ? "_MirroredReplicaContext"
                                                                  : "ReplicaContext";
}

/* ---- observing ---- */

json_t *program_observe(const program *p, int replica) {
    dt_replica_context context;
    bool in_replica = dt_get_replica_context(&context);
    dt_strategy *now = dt_get_strategy();

    return json_pack("{s:s,s:b,s:b,s:b,s:o,s:o,s:i}", "get_strategy", strategy_name(now),
                     "is_this_strategy", now == (p->running ? p->running : p->s), "has_strategy",
                     dt_has_strategy(), "in_cross_replica_context", dt_in_cross_replica_context(),
                     "get_replica_context",
                     in_replica ? json_string(context_name(&context)) : json_null(), "replica_id",
                     in_replica ? json_integer(replica) : json_null(), "num_replicas_in_sync",
                     dt_strategy_replicas(now));
}

/* Once for each replica: what it sees is the same but for its number, which is a value of the
 * step. */
static void observe_step(dt_trace *t, program *p) {
    dt_replica_context context;

    for (int r = 0; r < dt_strategy_replicas(p->running); r++)
        json_array_append_new(p->seen, program_observe(p, r));
    if (!dt_get_replica_context(&context) || context.trace != t ||
        context.num_replicas_in_sync != dt_strategy_replicas(p->running))
        differs(p->v, "the replica context is not that of the step");
    dt_return(t, "id", dt_replica_id(t));
}

static void expect_ids(const program *p, const dt_values *result) {
    for (int r = 0; r < dt_values_locals(result, "id"); r++)
        if ((int)dt_tensor_item(dt_values_local(result, "id", r)) != r)
            differs(p->v, "replica %d has another id", r);
}

/* ---- calls, anywhere ---- */

static void fn(dt_trace *t, void *user) { (void)t, (void)user; }

static dt_status *run_nothing(dt_strategy *s) {
    dt_function *f = NULL;
    dt_status *bad = dt_function_create(&f, fn, NULL);

    if (!bad) bad = dt_strategy_run(s, f, NULL, NULL);
    dt_function_unref(f);
    return bad;
}

static int axis_of(const py *x) {
    if (!x || py_is(x, "None")) return DT_NO_AXIS;
    return x->kind == PY_UNARY ? -(int)x->in[0]->number : (int)x->number;
}

/* "reduce('MEAN', 1., axis=None)", "gather([1.], axis=0)"; what a step returned goes by any
 * name. */
static dt_status *combine(program *p, dt_strategy *s, const py *call) {
    bool gather = strcmp(py_called(call), "gather") == 0;
    const py *value = py_argument(call, gather ? 0 : 1, "value"),
             *op = gather ? NULL : py_argument(call, 0, "reduce_op");
    dt_values *x = NULL;
    dt_tensor *t = NULL;
    dt_reduce_op how = DT_SUM;
    dt_status *bad = dt_values_create(&x);
    bool given = value && value->kind == PY_NAME && p->result && dt_values_count(p->result) > 0;

    if (!bad && value && !given && (t = tensor_of_words(p->v, value, &bad)) != NULL)
        bad = dt_values_set(x, "x", t);
    if (!bad && op) bad = reduce_op_of(op->kind == PY_STRING ? op->text : py_name(op), &how);
    const dt_values *from = given ? p->result : x;
    const char *name = given ? dt_values_name(p->result, 0) : "x";
    if (!bad && gather)
        bad = dt_strategy_gather(
            s, from, name, py_argument(call, 1, "axis") ? axis_of(py_argument(call, 1, "axis")) : 0,
            &p->tensor);
    else if (!bad)
        bad = dt_strategy_reduce(s, how, from, name, axis_of(py_argument(call, 2, "axis")),
                                 &p->tensor);
    dt_tensor_unref(t);
    dt_values_unref(x);
    return bad;
}

/* The error of entering is that of the next call. */
dt_status *program_kept_error(void) {
    dt_values *probe = NULL;
    dt_status *bad = dt_values_create(&probe);
    dt_values_unref(probe);
    return bad;
}

static dt_status *enter(dt_strategy *s) {
    dt_status *bad = NULL;

    DT_SCOPE(s)
    bad = program_kept_error();
    return bad;
}

static void merge_nothing(const dt_merge *m) { (void)m; }

/* A variable's methods, in a step or outside. */
static dt_status *write_variable(program *p, dt_variable *v, const char *method, const py *value) {
    static const char *const methods[] = {"assign", "assign_add", "assign_sub", NULL};
    dt_status *s = NULL;
    int how = 0;

    while (methods[how] && strcmp(methods[how], method) != 0) how++;
    if (!methods[how] || !value) {
        differs(p->v, "unknown wording: a variable has no '%s'", method);
        return NULL;
    }
    if (p->trace) {
        dt_variable_write_number(p->trace, v, (dt_write)how, value->number);
        return NULL;
    }
    dt_tensor *t = tensor_of_words(p->v, value, &s);
    if (t) s = dt_variable_set(v, (dt_write)how, t);
    dt_tensor_unref(t);
    return s;
}

/* Variable(1., name='v', synchronization=VariableSynchronization.ON_READ, aggregation=...,
 * trainable=False) */
dt_status *program_make_variable(program *p, const py *call, dt_variable **out) {
    static const char *const synchronizations[] = {"AUTO", "NONE", "ON_WRITE", "ON_READ", NULL};
    static const char *const aggregations[] = {"NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA", NULL};
    const py *name = py_argument(call, 99, "name"), *trainable = py_argument(call, 99, "trainable");
    dt_variable_options o = {.name = name && name->kind == PY_STRING ? name->text : NULL,
                             .trainable = py_is(trainable, "False")  ? DT_TRAINABLE_NO
                                          : py_is(trainable, "True") ? DT_TRAINABLE_YES
                                                                     : DT_TRAINABLE_DEFAULT};
    dt_status *s = NULL;

    for (int i = 0; synchronizations[i]; i++)
        if (py_is(py_argument(call, 99, "synchronization"), synchronizations[i]))
            o.synchronization = (dt_synchronization)i;
    for (int i = 0; aggregations[i]; i++)
        if (py_is(py_argument(call, 99, "aggregation"), aggregations[i]))
            o.aggregation = (dt_aggregation)i;
    dt_tensor *t = tensor_of_words(p->v, py_argument(call, 0, "initial_value"), &s);
    if (t && !s) s = dt_variable_create(out, t, &o);
    dt_tensor_unref(t);
    return s;
}

/* What can stand in a step, or outside: enters a scope, runs, reduces, gathers, merges. */
dt_status *program_perform(program *p, const py *call) {
    const char *name = py_called(call);
    const py *object = program_object(call),
             *first = call->kind == PY_CALL ? py_argument(call, 0, "strategy") : NULL;
    dt_strategy *s = program_strategy(p, object);
    bound_name *b = object ? program_find(p, py_name(object)) : NULL;

    if (strcmp(name, "__enter__") == 0 && object) {
        dt_strategy *entered = program_strategy(p, program_object(object));
        if (p->trace || !entered || p->n_open == MOST_OPEN) return program_perform(p, object);
        p->open[p->n_open++] = dt_scope_enter(entered);
        return program_kept_error();
    }
    if (strcmp(name, "__exit__") == 0 && p->n_open > 0) {
        dt_scope_leave(&p->open[--p->n_open]);
        return NULL;
    }
    if (strcmp(name, "experimental_local_results") == 0) return NULL;
    if (s && strcmp(name, "scope") == 0) return enter(s);
    if (s && strcmp(name, "run") == 0) return run_nothing(s);
    if (s && (strcmp(name, "reduce") == 0 || strcmp(name, "gather") == 0))
        return combine(p, s, call);
    if (strcmp(name, "experimental_set_strategy") == 0 || strcmp(name, "set_strategy") == 0)
        return dt_set_strategy(py_is(first, "None") ? NULL : program_strategy(p, first));
    if (b && b->variable)
        return write_variable(p, b->variable, name, py_argument(call, 0, "value"));
    /* on a context taken elsewhere */
    if (object && !s && (strcmp(name, "merge_call") == 0 || strcmp(name, "all_reduce") == 0)) {
        dt_merge_call(&(dt_merge){.trace = NULL}, merge_nothing);
        return program_kept_error();
    }
    if (object && (py_is(object, "extended") || strcmp(name, "update") == 0)) {
        p->v->skipped =
            "cannot be said in C: strategy.extended has no update and no other methods here";
        return NULL;
    }
    differs(
        p->v,
        "unknown wording: a program cannot call '%s'; tests/conformance/README.md has what it can",
        name);
    return NULL;
}

/* ---- steps ---- */

static void observe_merged(const dt_merge *m) {
    program *p = m->user;
    json_array_append_new(p->seen, program_observe(p, 0));
}

/* A list is the argument x of the step, a number a constant. */
static dt_value value_in_step(program *p, const py *x) {
    return x && x->kind == PY_LIST ? dt_arg(p->trace, "x")
                                   : dt_constant(p->trace, x ? x->number : 0);
}

bool program_is_context(const py *x) {
    return strcmp(py_called(x), "get_replica_context") == 0 || py_is(x, "ctx") || py_is(x, "rc") ||
           py_is(x, "RC");
}

void program_step_call(program *p, const py *call) {
    const char *name = py_called(call);
    const py *object = program_object(call),
             *op = call->kind == PY_CALL ? py_argument(call, 0, "reduce_op") : NULL;

    if (py_is(call, "observe") || strcmp(name, "observe") == 0) {
        observe_step(p->trace, p);
    } else if (strcmp(name, "merge_call") == 0 && program_is_context(object)) {
        bool observes = py_is(op, "observe") || py_is(py_body(op), "observe") ||
                        strcmp(py_called(py_body(op)), "observe") == 0;
        dt_merge_call(&(dt_merge){.trace = p->trace, .user = p},
                      observes ? observe_merged : merge_nothing);
    } else if (strcmp(name, "all_reduce") == 0 && program_is_context(object)) {
        dt_return(p->trace, "r",
                  dt_all_reduce_named(op && op->kind == PY_STRING ? op->text : py_name(op),
                                      value_in_step(p, py_argument(call, 1, "value"))));
    } else if (strcmp(name, "all_gather") == 0 && program_is_context(object)) {
        const py *axis = py_argument(call, 1, "axis");
        dt_return(p->trace, "r", dt_all_gather(value_in_step(p, op), axis ? axis_of(axis) : 0));
    } else if (strcmp(name, "Variable") == 0) {
        dt_trace_fail(p->trace, p->variable ? NULL : program_make_variable(p, call, &p->variable));
    } else if (call->kind == PY_CALL && !program_is_context(call)) {
        dt_trace_fail(p->trace, program_perform(p, call));
    } else if (call->kind != PY_CALL && !py_is(call, "None") &&
               !py_is(call, "fn")) { /* what a lambda returns */
        traced_return(&(traced_words){.v = p->v, .trace = p->trace, .dtype = DT_FLOAT32}, "r",
                      call);
    }
}

static void step(dt_trace *t, void *user) {
    program *p = user;
    dt_trace *before = p->trace;

    p->trace = t;
    if (p->within) program_step_call(p, p->within);
    else program_block(p, p->block, 1);
    p->trace = before;
}

/* The first list in a call, as the argument x. */
static const py *list_in(const py *x) {
    const py *found = x->kind == PY_LIST ? x : NULL;
    for (int i = 0; !found && i < x->n; i++) found = list_in(x->in[i]);
    return found;
}

void program_run_step(program *p, dt_strategy *s, const py *within) {
    const py *list = within ? list_in(within) : NULL, *before = p->within;
    dt_status *bad = NULL;
    dt_tensor *t = list ? tensor_of_words(p->v, list, &bad) : NULL;
    dt_function *f = NULL;
    dt_values *args = NULL;

    p->within = within;
    p->running = s;
    program_keep(p, bad);
    program_keep(p, dt_values_create(&args));
    if (t) program_keep(p, dt_values_set(args, "x", t));
    program_keep(p, dt_function_create(&f, step, p));
    program_keep(p, dt_strategy_run(s, f, args, &p->result));
    expect_ids(p, p->result);
    p->running = NULL;
    p->within = before;
    dt_tensor_unref(t);
    dt_values_unref(args);
    dt_function_unref(f);
}

/* S.run(observe), S.run(lambda: CALL), S.run(f) of a def, S.run(tf.function(...)) */
void program_run_call(program *p, dt_strategy *s, const py *call) {
    const py *f = py_argument(call, 0, "fn");

    if (f && strcmp(py_called(f), "function") == 0) f = py_argument(f, 0, "func");
    bound_name *b = f && f->kind == PY_NAME ? program_find(p, f->text) : NULL;
    if (!f) {
        differs(p->v, "unknown wording: run without a function");
    } else if (b && b->line) {
        size_t before = p->block;
        p->block = b->line;
        program_run_step(p, s, NULL);
        p->block = before;
    } else {
        program_run_step(p, s, py_body(f));
    }
}
