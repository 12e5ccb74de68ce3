/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in words: scopes, runs, and what code sees in them. A program is lines of Python's shape; here a small interpreter walks through
 * them with the calls of the library. S and T are two strategies of one kind, get_strategy() outside of scopes is the default one.
 *
 *     with S.scope():             a block; a statement may follow on the same line
 *     def f():                    a function, for S.run(f)
 *     try: except: raise E        how scopes are left
 *     x = S, x = Variable(1.)     names
 *     observe                     the current strategy and context
 *     S.run(observe)              a step function; S.run(lambda: CALL) one with a call in it
 *
 * README.md has all of it.
 */
#include "pipelines.h"
#include "traced.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 16, MOST_OPEN = 8, RUNTIME_ERROR = 172 };

/* What a name stands for: one of these. */
typedef struct bound_name {
    char name[32];
    dt_strategy *strategy;  /* lent */
    dt_strategy *made;      /* held: the same, where the program made it */
    dt_variable *variable;  /* held */
    size_t line;            /* of a def, plus 1 */
} bound_name;

typedef struct program {
    const golden_case *c;
    verdict *v;
    dt_strategy *s, *t, *base; /* base: current before the program, the default one */
    const json_t *lines;
    json_t *seen;              /* list: of each observation, or of each replica's */
    dt_values *result;         /* of the last call with one */
    dt_tensor *tensor;         /* likewise */
    dt_variable *variable;     /* made by a step */
    const py *within;          /* the call in a step; NULL: the block of a def at `block` */
    size_t block;
    dt_trace *trace;           /* of the step that is recorded */
    const dt_strategy *running;
    dt_scope open[MOST_OPEN];  /* entered by __enter__, outside of `with` */
    int n_open;
    bound_name name[MOST_NAMES];
    int n_names;
    dt_status *error;          /* the first that nothing caught */
} program;

static bool begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

static void keep(program *p, dt_status *s)
{
    if (p->error)
        dt_status_free(s);
    else
        p->error = s;
}

/* ---- names ---- */

static bound_name *find_name(program *p, const char *name)
{
    for (int i = 0; i < p->n_names; i++)
        if (strcmp(p->name[i].name, name) == 0)
            return &p->name[i];
    return NULL;
}

/* A name of its own; those in a `def` of the same name are replaced. */
static bound_name *bind_name(program *p, const char *name)
{
    bound_name *b = find_name(p, name);
    if (!b && p->n_names == MOST_NAMES) {
        differs(p->v, "a program of more than %d names", MOST_NAMES);
        return &p->name[0];
    }
    b = b ? b : &p->name[p->n_names++];
    dt_strategy_unref(b->made);
    dt_variable_unref(b->variable);
    *b = (bound_name){ 0 };
    snprintf(b->name, sizeof b->name, "%s", name);
    return b;
}

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

static const py *object_of(const py *call)
{
    const py *callee = call && call->kind == PY_CALL ? call->in[0] : NULL;
    return callee && callee->kind == PY_ATTRIBUTE ? callee->in[0] : NULL;
}

/* The strategy that an expression names, lent; NULL: it names none. */
static dt_strategy *strategy_in(program *p, const py *x)
{
    static const char *const first[] = { "S", "s", "strategy", "self", "strategy1", NULL }, *const second[] = { "T", "t", "other", "strategy2", "other_strategy", NULL };
    const char *name = py_name(x);
    bound_name *b = find_name(p, name);

    if (!x)
        return NULL;
    if (b && b->strategy)
        return b->strategy;
    if (is_one_of(name, first))
        return p->s;
    if (is_one_of(name, second)) {
        if (!p->t)
            p->t = strategy_of(p->v, json_object_get(p->c->in, "strategy"));
        return p->t;
    }
    if (is_one_of(name, (const char *const[]){ "default", "default_strategy", NULL }))
        return p->base;
    return strcmp(py_called(x), "get_strategy") == 0 ? dt_get_strategy() : NULL;
}

static const char *strategy_name(const dt_strategy *s)
{
    static const char *const rows[][2] = {
        { "default", "_DefaultDistributionStrategy" }, { "mirrored", "MirroredStrategy" }, { "one_device", "OneDeviceStrategy" },
        { "multi_worker_mirrored", "MultiWorkerMirroredStrategy" }, { "tpu", "TPUStrategyV2" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], dt_strategy_type(s)) == 0)
            return rows[i][1];
    return "?";
}

/* Contexts are classes of Python; here there is one kind, and these are its names by place. */
static const char *context_name(const dt_replica_context *c)
{
    if (!c->trace)
        return "_DefaultReplicaContext";
    return strcmp(dt_strategy_type(c->strategy), "mirrored") == 0 ? "_MirroredReplicaContext" : "ReplicaContext";
}

/* ---- observing ---- */

static json_t *observe(const program *p, int replica)
{
    dt_replica_context context;
    bool in_replica = dt_get_replica_context(&context);
    dt_strategy *now = dt_get_strategy();

    return json_pack("{s:s,s:b,s:b,s:b,s:o,s:o,s:i}", "get_strategy", strategy_name(now), "is_this_strategy", now == (p->running ? p->running : p->s),
                     "has_strategy", dt_has_strategy(), "in_cross_replica_context", dt_in_cross_replica_context(), "get_replica_context",
                     in_replica ? json_string(context_name(&context)) : json_null(), "replica_id",
                     in_replica ? json_integer(replica) : json_null(), "num_replicas_in_sync", dt_strategy_replicas(now));
}

/* Once for each replica: what it sees is the same but for its number, which is a value of the step. */
static void observe_step(dt_trace *t, program *p)
{
    dt_replica_context context;

    for (int r = 0; r < dt_strategy_replicas(p->running); r++)
        json_array_append_new(p->seen, observe(p, r));
    if (!dt_get_replica_context(&context) || context.trace != t || context.num_replicas_in_sync != dt_strategy_replicas(p->running))
        differs(p->v, "the replica context is not that of the step");
    dt_return(t, "id", dt_replica_id(t));
}

static void expect_ids(const program *p, const dt_values *result)
{
    for (int r = 0; r < dt_values_locals(result, "id"); r++)
        if ((int)dt_tensor_item(dt_values_local(result, "id", r)) != r)
            differs(p->v, "replica %d has another id", r);
}

/* ---- calls, anywhere ---- */

static void fn(dt_trace *t, void *user)
{
    (void)t, (void)user;
}

static dt_status *run_nothing(dt_strategy *s)
{
    dt_function *f = NULL;
    dt_status *bad = dt_function_create(&f, fn, NULL);

    if (!bad)
        bad = dt_strategy_run(s, f, NULL, NULL);
    dt_function_unref(f);
    return bad;
}

static int axis_of(const py *x)
{
    if (!x || py_is(x, "None"))
        return DT_NO_AXIS;
    return x->kind == PY_UNARY ? -(int)x->in[0]->number : (int)x->number;
}

/* "reduce('MEAN', 1., axis=None)", "gather([1.], axis=0)"; what a step returned goes by any name. */
static dt_status *combine(program *p, dt_strategy *s, const py *call)
{
    bool gather = strcmp(py_called(call), "gather") == 0;
    const py *value = py_argument(call, gather ? 0 : 1, "value"), *op = gather ? NULL : py_argument(call, 0, "reduce_op");
    dt_values *x = NULL;
    dt_tensor *t = NULL;
    dt_reduce_op how = DT_SUM;
    dt_status *bad = dt_values_create(&x);
    bool given = value && value->kind == PY_NAME && p->result && dt_values_count(p->result) > 0;

    if (!bad && value && !given && (t = tensor_of_words(p->v, value, &bad)) != NULL)
        bad = dt_values_set(x, "x", t);
    if (!bad && op)
        bad = reduce_op_of(op->kind == PY_STRING ? op->text : py_name(op), &how);
    const dt_values *from = given ? p->result : x;
    const char *name = given ? dt_values_name(p->result, 0) : "x";
    if (!bad && gather)
        bad = dt_strategy_gather(s, from, name, py_argument(call, 1, "axis") ? axis_of(py_argument(call, 1, "axis")) : 0, &p->tensor);
    else if (!bad)
        bad = dt_strategy_reduce(s, how, from, name, axis_of(py_argument(call, 2, "axis")), &p->tensor);
    dt_tensor_unref(t);
    dt_values_unref(x);
    return bad;
}

/* The error of entering is that of the next call. */
static dt_status *kept_error(void)
{
    dt_values *probe = NULL;
    dt_status *bad = dt_values_create(&probe);
    dt_values_unref(probe);
    return bad;
}

static dt_status *enter(dt_strategy *s)
{
    dt_status *bad = NULL;

    DT_SCOPE(s)
        bad = kept_error();
    return bad;
}

static void merge_nothing(const dt_merge *m)
{
    (void)m;
}

/* A variable's methods, in a step or outside. */
static dt_status *write_variable(program *p, dt_variable *v, const char *method, const py *value)
{
    static const char *const methods[] = { "assign", "assign_add", "assign_sub", NULL };
    dt_status *s = NULL;
    int how = 0;

    while (methods[how] && strcmp(methods[how], method) != 0)
        how++;
    if (!methods[how] || !value) {
        differs(p->v, "unknown wording: a variable has no '%s'", method);
        return NULL;
    }
    if (p->trace) {
        dt_variable_write_number(p->trace, v, (dt_write)how, value->number);
        return NULL;
    }
    dt_tensor *t = tensor_of_words(p->v, value, &s);
    if (t)
        s = dt_variable_set(v, (dt_write)how, t);
    dt_tensor_unref(t);
    return s;
}

/* Variable(1., name='v', synchronization=VariableSynchronization.ON_READ, aggregation=..., trainable=False) */
static dt_status *make_variable(program *p, const py *call, dt_variable **out)
{
    static const char *const synchronizations[] = { "AUTO", "NONE", "ON_WRITE", "ON_READ", NULL };
    static const char *const aggregations[] = { "NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA", NULL };
    const py *name = py_argument(call, 99, "name"), *trainable = py_argument(call, 99, "trainable");
    dt_variable_options o = { .name = name && name->kind == PY_STRING ? name->text : NULL,
                              .trainable = py_is(trainable, "False") ? DT_TRAINABLE_NO : py_is(trainable, "True") ? DT_TRAINABLE_YES : DT_TRAINABLE_DEFAULT };
    dt_status *s = NULL;

    for (int i = 0; synchronizations[i]; i++)
        if (py_is(py_argument(call, 99, "synchronization"), synchronizations[i]))
            o.synchronization = (dt_synchronization)i;
    for (int i = 0; aggregations[i]; i++)
        if (py_is(py_argument(call, 99, "aggregation"), aggregations[i]))
            o.aggregation = (dt_aggregation)i;
    dt_tensor *t = tensor_of_words(p->v, py_argument(call, 0, "initial_value"), &s);
    if (t && !s)
        s = dt_variable_create(out, t, &o);
    dt_tensor_unref(t);
    return s;
}

/* What can stand in a step, or outside: enters a scope, runs, reduces, gathers, merges. */
static dt_status *perform(program *p, const py *call)
{
    const char *name = py_called(call);
    const py *object = object_of(call), *first = call->kind == PY_CALL ? py_argument(call, 0, "strategy") : NULL;
    dt_strategy *s = strategy_in(p, object);
    bound_name *b = object ? find_name(p, py_name(object)) : NULL;

    if (strcmp(name, "__enter__") == 0 && object) {
        dt_strategy *entered = strategy_in(p, object_of(object));
        if (p->trace || !entered || p->n_open == MOST_OPEN)
            return perform(p, object);
        p->open[p->n_open++] = dt_scope_enter(entered);
        return kept_error();
    }
    if (strcmp(name, "__exit__") == 0 && p->n_open > 0) {
        dt_scope_leave(&p->open[--p->n_open]);
        return NULL;
    }
    if (strcmp(name, "experimental_local_results") == 0)
        return NULL;
    if (s && strcmp(name, "scope") == 0)
        return enter(s);
    if (s && strcmp(name, "run") == 0)
        return run_nothing(s);
    if (s && (strcmp(name, "reduce") == 0 || strcmp(name, "gather") == 0))
        return combine(p, s, call);
    if (strcmp(name, "experimental_set_strategy") == 0 || strcmp(name, "set_strategy") == 0)
        return dt_set_strategy(py_is(first, "None") ? NULL : strategy_in(p, first));
    if (b && b->variable)
        return write_variable(p, b->variable, name, py_argument(call, 0, "value"));
    if (object && !s && (strcmp(name, "merge_call") == 0 || strcmp(name, "all_reduce") == 0)) { /* on a context taken elsewhere */
        dt_merge_call(&(dt_merge){ .trace = NULL }, merge_nothing);
        return kept_error();
    }
    if (object && (py_is(object, "extended") || strcmp(name, "update") == 0)) {
        p->v->skipped = "cannot be said in C: strategy.extended has no update and no other methods here";
        return NULL;
    }
    differs(p->v, "unknown wording: a program cannot call '%s'; tests/conformance/README.md has what it can", name);
    return NULL;
}

/* ---- steps ---- */

static void observe_merged(const dt_merge *m)
{
    program *p = m->user;
    json_array_append_new(p->seen, observe(p, 0));
}

/* A list is the argument x of the step, a number a constant. */
static dt_value value_in_step(program *p, const py *x)
{
    return x && x->kind == PY_LIST ? dt_arg(p->trace, "x") : dt_constant(p->trace, x ? x->number : 0);
}

static bool is_replica_context(const py *x)
{
    return strcmp(py_called(x), "get_replica_context") == 0 || py_is(x, "ctx") || py_is(x, "rc") || py_is(x, "RC");
}

static void step_call(program *p, const py *call)
{
    const char *name = py_called(call);
    const py *object = object_of(call), *op = call->kind == PY_CALL ? py_argument(call, 0, "reduce_op") : NULL;

    if (py_is(call, "observe") || strcmp(name, "observe") == 0) {
        observe_step(p->trace, p);
    } else if (strcmp(name, "merge_call") == 0 && is_replica_context(object)) {
        bool observes = py_is(op, "observe") || py_is(py_body(op), "observe") || strcmp(py_called(py_body(op)), "observe") == 0;
        dt_merge_call(&(dt_merge){ .trace = p->trace, .user = p }, observes ? observe_merged : merge_nothing);
    } else if (strcmp(name, "all_reduce") == 0 && is_replica_context(object)) {
        dt_return(p->trace, "r", dt_all_reduce_named(op && op->kind == PY_STRING ? op->text : py_name(op), value_in_step(p, py_argument(call, 1, "value"))));
    } else if (strcmp(name, "all_gather") == 0 && is_replica_context(object)) {
        const py *axis = py_argument(call, 1, "axis");
        dt_return(p->trace, "r", dt_all_gather(value_in_step(p, op), axis ? axis_of(axis) : 0));
    } else if (strcmp(name, "Variable") == 0) {
        dt_trace_fail(p->trace, p->variable ? NULL : make_variable(p, call, &p->variable));
    } else if (call->kind == PY_CALL && !is_replica_context(call)) {
        dt_trace_fail(p->trace, perform(p, call));
    } else if (call->kind != PY_CALL && !py_is(call, "None") && !py_is(call, "fn")) { /* what a lambda returns */
        traced_return(&(traced_words){ .v = p->v, .trace = p->trace, .dtype = DT_FLOAT32 }, "r", call);
    }
}

static size_t run_block(program *p, size_t at, int indent);

static void step(dt_trace *t, void *user)
{
    program *p = user;
    dt_trace *before = p->trace;

    p->trace = t;
    if (p->within)
        step_call(p, p->within);
    else
        run_block(p, p->block, 1);
    p->trace = before;
}

/* The first list in a call, as the argument x. */
static const py *list_in(const py *x)
{
    const py *found = x->kind == PY_LIST ? x : NULL;
    for (int i = 0; !found && i < x->n; i++)
        found = list_in(x->in[i]);
    return found;
}

static void run_step(program *p, dt_strategy *s, const py *within)
{
    const py *list = within ? list_in(within) : NULL, *before = p->within;
    dt_status *bad = NULL;
    dt_tensor *t = list ? tensor_of_words(p->v, list, &bad) : NULL;
    dt_function *f = NULL;
    dt_values *args = NULL;

    p->within = within;
    p->running = s;
    keep(p, bad);
    keep(p, dt_values_create(&args));
    if (t)
        keep(p, dt_values_set(args, "x", t));
    keep(p, dt_function_create(&f, step, p));
    keep(p, dt_strategy_run(s, f, args, &p->result));
    expect_ids(p, p->result);
    p->running = NULL;
    p->within = before;
    dt_tensor_unref(t);
    dt_values_unref(args);
    dt_function_unref(f);
}

/* S.run(observe), S.run(lambda: CALL), S.run(f) of a def, S.run(tf.function(...)) */
static void run_call(program *p, dt_strategy *s, const py *call)
{
    const py *f = py_argument(call, 0, "fn");

    if (f && strcmp(py_called(f), "function") == 0)
        f = py_argument(f, 0, "func");
    bound_name *b = f && f->kind == PY_NAME ? find_name(p, f->text) : NULL;
    if (!f) {
        differs(p->v, "unknown wording: run without a function");
    } else if (b && b->line) {
        size_t before = p->block;
        p->block = b->line;
        run_step(p, s, NULL);
        p->block = before;
    } else {
        run_step(p, s, py_body(f));
    }
}

/* ---- lines ---- */

static int indent_of(const char *line)
{
    return (int)strspn(line, " ");
}

/* Names on the left of "=": a strategy, a variable, a context, or what a call gives. */
static void assign(program *p, const char *name, const py *x)
{
    dt_strategy *s = strategy_in(p, x);

    if (s) {
        bind_name(p, name)->strategy = s;
    } else if (strcmp(py_called(x), "MirroredStrategy") == 0 || strcmp(py_called(x), "OneDeviceStrategy") == 0) { /* another one of the case's kind */
        bound_name *b = bind_name(p, name);
        b->strategy = b->made = strategy_of(p->v, json_object_get(p->c->in, "strategy"));
    } else if (strcmp(py_called(x), "Variable") == 0) {
        keep(p, make_variable(p, x, &bind_name(p, name)->variable));
    } else if (x->kind == PY_CALL && !is_replica_context(x)) {
        dt_strategy *of = strategy_in(p, object_of(x));
        if (of && strcmp(py_called(x), "run") == 0)
            run_call(p, of, x);
        else
            keep(p, perform(p, x));
    }
}

static void run_expression(program *p, const py *x)
{
    dt_strategy *s = strategy_in(p, object_of(x));

    if (p->trace)
        step_call(p, x);
    else if (py_is(x, "observe") || strcmp(py_called(x), "observe") == 0)
        json_array_append_new(p->seen, observe(p, 0));
    else if (s && strcmp(py_called(x), "run") == 0)
        run_call(p, s, x);
    else if (is_replica_context(object_of(x))) /* a step of the current strategy, run where we are */
        run_step(p, dt_get_strategy(), x);
    else if (x->kind == PY_CALL)
        keep(p, perform(p, x));
    else
        differs(p->v, "unknown wording: '%s' is no statement", py_name(x));
}

/* "S.run(tf.function that creates Variable(2.0) once)": a step that makes a variable when it is first recorded. */
static bool creates_variable(program *p, const char *text)
{
    const char *at = strstr(text, "creates Variable("), *why;
    char *copy = at ? strndup(at + 8, strcspn(at + 8, ")") + 1) : NULL;
    py *x = copy ? py_read(copy, &why) : NULL;

    if (x)
        run_step(p, p->s, x);
    py_free(x);
    free(copy);
    return at != NULL;
}

static void run_statement(program *p, const char *text)
{
    char name[32];
    int n = 0;
    const char *why;

    if (p->error || *text == '\0' || *text == '#' || begins(text, "pass") || begins(text, "@") || begins(text, "import ") || creates_variable(p, text))
        return;
    if (begins(text, "raise")) {
        keep(p, dt_status_create(RUNTIME_ERROR, "%s", text[5] ? text + 6 : "raised"));
        return;
    }
    bool assigns = sscanf(text, "%31[A-Za-z0-9_] = %n", name, &n) == 1 && n > 0;
    if (begins(text, "return "))
        n = 7;
    char *copy = strdup(text + n), *remark = strstr(copy, "  #");
    if (remark)
        *remark = '\0';
    py *x = py_read(copy, &why);
    if (!x)
        differs(p->v, "unknown wording of a statement, '%s': %s", text, why);
    else if (assigns)
        assign(p, name, x);
    else
        run_expression(p, x);
    py_free(x);
    free(copy);
}

/* Statements on one line, divided by semicolons. */
static void run_statements(program *p, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, ";");
        char *one = strndup(text, n), *end = one + strlen(one);
        while (end > one && isspace((unsigned char)end[-1]))
            *--end = '\0';
        run_statement(p, one + strspn(one, " "));
        free(one);
        text += n + (text[n] == ';');
    }
}

/* The colon that ends the head of a block. */
static const char *colon_of(const char *text)
{
    int depth = 0;
    for (; *text && (*text != ':' || depth > 0); text++)
        depth += strchr("([{", *text) ? 1 : strchr(")]}", *text) ? -1 : 0;
    return text;
}

/* "with S.scope():" and its block; on the same line, or indented below. */
static size_t run_with(program *p, size_t at, const char *text, int indent)
{
    const char *colon = colon_of(text), *why;
    char *head = strndup(text + 5, (size_t)(colon - text) - 5), *as = strstr(head, " as ");
    if (as)
        *as = '\0';
    py *x = py_read(head, &why);
    dt_strategy *s = x && strcmp(py_called(x), "scope") == 0 ? strategy_in(p, object_of(x)) : NULL;

    if (!s)
        differs(p->v, "unknown wording: '%s' is no scope of a strategy", text);
    if (s && !p->error) {
        DT_SCOPE(s) {
            keep(p, kept_error());
            if (*colon)
                run_statements(p, colon + 1);
            at = run_block(p, at + 1, indent + 1);
        }
    } else {
        at = run_block(p, at + 1, indent + 1);
    }
    py_free(x);
    free(head);
    return at;
}

/* The lines of a block that is not run now. */
static size_t skip_block(const program *p, size_t at, int indent)
{
    while (at < json_array_size(p->lines) && indent_of(json_string_value(json_array_get(p->lines, at))) > indent)
        at++;
    return at;
}

static size_t run_def(program *p, size_t at, const char *text, int indent)
{
    char name[32] = "";
    if (sscanf(text, "def %31[A-Za-z0-9_]", name) == 1)
        bind_name(p, name)->line = at + 1;
    return skip_block(p, at + 1, indent);
}

/* What was raised is caught by the next except; its block is run then, and not otherwise. */
static size_t run_except(program *p, size_t at, const char *text, int indent)
{
    bool caught = p->error != NULL;
    if (!caught)
        return skip_block(p, at + 1, indent);
    dt_status_free(p->error);
    p->error = NULL;
    if (*colon_of(text))
        run_statements(p, colon_of(text) + 1);
    return run_block(p, at + 1, indent + 1);
}

static size_t run_block(program *p, size_t at, int indent)
{
    while (at < json_array_size(p->lines)) {
        const char *line = json_string_value(json_array_get(p->lines, at)), *text = line ? line + indent_of(line) : "";
        if (!line || indent_of(line) < indent)
            break;
        if (begins(text, "with "))
            at = run_with(p, at, text, indent_of(line));
        else if (begins(text, "def "))
            at = run_def(p, at, text, indent_of(line));
        else if (begins(text, "except"))
            at = run_except(p, at, text, indent_of(line));
        else if (begins(text, "try:") || begins(text, "finally:") || begins(text, "else:"))
            run_statements(p, colon_of(text) + 1), at = run_block(p, at + 1, indent_of(line) + 1);
        else
            run_statements(p, text), at++;
    }
    return at;
}

/* ---- judging ---- */

static bool is_observation(const json_t *j)
{
    return json_object_get(j, "get_strategy") || json_object_get(j, "has_strategy") || json_object_get(j, "in_cross_replica_context") ||
           json_object_get(j, "num_replicas_in_sync") || json_object_get(j, "get_replica_context");
}

/* Of each observation the fields that were recorded. */
static void expect_seen(verdict *v, const json_t *want, const json_t *got)
{
    const char *key;
    const json_t *value;

    if (!got)
        differs(v, "nothing was observed");
    json_object_foreach((json_t *)want, key, value)
        if (got && json_object_get(got, key))
            expect_json(v, key, value, json_incref(json_object_get(got, key)), EXACT);
        else if (got)
            differs(v, "unknown wording: nothing observes '%s'", key);
}

static void expect_all_seen(const program *p, const json_t *want)
{
    if (json_array_size(want) != json_array_size(p->seen))
        differs(p->v, "%zu observations, expected %zu", json_array_size(p->seen), json_array_size(want));
    for (size_t i = 0; i < json_array_size(want) && i < json_array_size(p->seen); i++)
        expect_seen(p->v, json_array_get(want, i), json_array_get(p->seen, i));
}

/* {"inside": {...}, "after": {...}}: observations in their order. */
static void expect_named(const program *p, const json_t *out)
{
    const char *key;
    const json_t *value;
    size_t i = 0;

    json_object_foreach((json_t *)out, key, value) {
        if (is_observation(value))
            expect_seen(p->v, value, json_array_get(p->seen, i++));
        else
            differs(p->v, "unknown wording: '%s' is no observation", key);
    }
}

static void judge(program *p)
{
    const json_t *out = p->c->out, *each = json_object_get(out, "per_replica"), *r = json_object_get(out, "r"), *kind = json_object_get(out, "kind");

    expect_ok(p->v, "program", p->error);
    p->error = NULL;
    if (each)
        expect_all_seen(p, each);
    else if (json_is_array(out))
        expect_all_seen(p, out);
    else if (r)
        expect_tensor(p->v, "r", json_object_get(r, "value") ? json_object_get(r, "value") : r,
                      p->tensor ? p->tensor : dt_values_local(p->result, "r", 0), ELEMENTWISE);
    else if (kind)
        expect_text(p->v, "kind", kind, dt_variable_kind(p->variable ? p->variable : p->n_names ? p->name[p->n_names - 1].variable : NULL));
    else if (is_observation(out))
        expect_seen(p->v, out, json_array_get(p->seen, json_array_size(p->seen) - 1));
    else
        expect_named(p, out);
}

/* "OneDeviceStrategy('CPU:0') properties" */
static void run_properties(const golden_case *c, verdict *v, const char *text)
{
    const json_t *devices = json_object_get(c->out, "worker_devices"), *parameters = json_object_get(c->out, "parameter_devices");
    char device[64] = "CPU:0";
    dt_strategy *s = NULL;

    sscanf(text, "OneDeviceStrategy(%*1['\"]%63[^'\"]", device);
    if (begins(text, "OneDeviceStrategy("))
        expect_ok(v, "strategy", dt_one_device_strategy(&s, device));
    else if (strstr(text, "get_strategy()") || begins(text, "default"))
        expect_ok(v, "strategy", dt_default_strategy(&s));
    else
        s = strategy_of(v, json_object_get(c->in, "strategy"));
    expect_int(v, "replicas", json_object_get(c->out, "num_replicas_in_sync"), dt_strategy_replicas(s));
    for (size_t i = 0; i < json_array_size(devices); i++)
        expect_text(v, "device", json_array_get(devices, i), dt_strategy_device(s, (int)i));
    for (size_t i = 0; i < json_array_size(parameters); i++)
        expect_text(v, "device of variables", json_array_get(parameters, i), dt_strategy_device(s, (int)i));
    dt_strategy_unref(s);
}

/* One text of several lines is as good as a list of them. */
static json_t *lines_of(const json_t *written)
{
    json_t *lines = json_array();
    if (json_is_array(written))
        json_array_extend(lines, (json_t *)written);
    for (const char *at = json_string_value(written); at && *at; at += strcspn(at, "\n"), at += *at == '\n')
        json_array_append_new(lines, json_stringn(at, strcspn(at, "\n")));
    return lines;
}

static void run_program(const golden_case *c, verdict *v)
{
    json_t *lines = lines_of(json_object_get(c->in, "program"));
    program p = { .c = c, .v = v, .lines = lines, .seen = json_array() };
    const char *first = json_string_value(json_array_get(lines, 0));

    p.base = dt_get_strategy();
    p.s = strategy_of(v, json_object_get(c->in, "strategy"));
    if (first && strstr(first, " properties")) {
        run_properties(c, v, first);
    } else if (p.s && first) {
        run_block(&p, 0, 0);
        if (v->differences || v->skipped)
            dt_status_free(p.error);
        else if (c->error)
            expect_error(v, p.error);
        else
            judge(&p);
    } else {
        differs(v, "no program");
    }
    while (p.n_open > 0)
        dt_scope_leave(&p.open[--p.n_open]);
    expect_ok(v, "leaving", dt_set_strategy(NULL));
    while (p.n_names > 0) {
        dt_strategy_unref(p.name[--p.n_names].made);
        dt_variable_unref(p.name[p.n_names].variable);
    }
    json_decref(p.seen);
    json_decref(lines);
    dt_values_unref(p.result);
    dt_tensor_unref(p.tensor);
    dt_variable_unref(p.variable);
    dt_strategy_unref(p.s);
    dt_strategy_unref(p.t);
}

/* ---- devices ---- */

/* An empty list is all devices of the machine: how many there are is its own business, their names are not. */
static void run_devices(const golden_case *c, verdict *v)
{
    const json_t *devices = json_object_get(c->in, "devices"), *want = json_object_get(c->out, "worker_devices");
    const char *name[64] = { 0 };
    int n = (int)json_array_size(devices);
    dt_strategy *s = NULL;

    for (int i = 0; i < n && i < 64; i++)
        name[i] = json_string_value(json_array_get(devices, (size_t)i));
    dt_status *bad = dt_mirrored_strategy(&s, n ? name : NULL, n < 64 ? n : 64);
    if (c->error) {
        expect_error(v, bad);
    } else if (bad && strcmp(dt_status_kind(bad), "NotFoundError") == 0) {
        v->skipped = "it names a device that this machine does not have, which is refused here";
        dt_status_free(bad);
    } else {
        expect_ok(v, "strategy", bad);
        for (int i = 0; i < dt_strategy_replicas(s) && i < (int)json_array_size(want); i++)
            expect_text(v, "device", json_array_get(want, (size_t)i), dt_strategy_device(s, i));
        if (n && dt_strategy_replicas(s) != (int)json_array_size(want))
            differs(v, "%d devices", dt_strategy_replicas(s));
    }
    dt_strategy_unref(s);
}

const golden_op scope_ops[] = {
    { "scope_program", run_program, NULL },
    { "mirrored_strategy_devices", run_devices, NULL },
    { 0 },
};
