/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in words: scopes, runs, and what code sees in them. A program is lines of Python's shape; here a small interpreter walks through
 * them with the calls of the library. S and T are two strategies of one kind, get_strategy() outside of scopes is the default one.
 *
 *     with S.scope():             a block; another line may follow on the same one
 *       observe                   the current strategy and context
 *     S.run(observe)              a step function; S.run(lambda: CALL) one with a call in it
 */
#include "conformance.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    const golden_case *c;
    verdict *v;
    dt_strategy *s, *t;
    const json_t *lines;
    json_t *seen;              /* list: of each observation, or of each replica's */
    dt_values *result;         /* of the last call with one */
    dt_variable *variable;     /* made by a step */
    const char *within;        /* the call in a step */
    const dt_strategy *running;
    dt_status *error;          /* the first */
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

/* "S.run(...)": the strategy, and what follows behind the dot. */
static dt_strategy *subject(program *p, const char *call, const char **rest)
{
    static const char base[] = "get_strategy().";

    *rest = call;
    if (begins(call, "S.") || begins(call, "T.")) {
        *rest = call + 2;
        if (*call == 'T' && !p->t)
            p->t = strategy_of(p->v, json_object_get(p->c->in, "strategy"));
        return *call == 'S' ? p->s : p->t;
    }
    if (!begins(call, base))
        return NULL;
    *rest = call + sizeof base - 1;
    return dt_get_strategy();
}

static const char *strategy_name(const dt_strategy *s)
{
    static const char *const names[][2] = {
        { "default", "_DefaultDistributionStrategy" }, { "mirrored", "MirroredStrategy" }, { "one_device", "OneDeviceStrategy" },
        { "multi_worker_mirrored", "MultiWorkerMirroredStrategy" }, { "tpu", "TPUStrategyV2" },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], dt_strategy_type(s)) == 0)
            return names[i][1];
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

static dt_status *one_value(dt_values **out)
{
    dt_tensor *t = NULL;
    dt_status *s = dt_tensor_create(&t, DT_FLOAT32, 1, (int64_t[]){ 1 }, &(float){ 1 });

    if (!s)
        s = dt_values_create(out);
    if (!s)
        s = dt_values_set(*out, "x", t);
    dt_tensor_unref(t);
    return s;
}

/* "reduce('MEAN', 1., axis=None)", "gather(1., axis=0)" */
static dt_status *combine(dt_strategy *s, const char *call)
{
    dt_values *x = NULL;
    dt_tensor *out = NULL;
    dt_reduce_op op = DT_SUM;
    char name[16] = "";
    dt_status *bad = one_value(&x);

    if (!bad && begins(call, "gather("))
        bad = dt_strategy_gather(s, x, "x", 0, &out);
    else if (!bad) {
        sscanf(call, "reduce(%*1['\"]%15[A-Za-z]", name);
        bad = reduce_op_of(name, &op);
        if (!bad)
            bad = dt_strategy_reduce(s, op, x, "x", DT_NO_AXIS, &out);
    }
    dt_tensor_unref(out);
    dt_values_unref(x);
    return bad;
}

static dt_status *enter(dt_strategy *s)
{
    dt_values *probe = NULL;
    dt_status *bad = NULL;

    DT_SCOPE(s)
        bad = dt_values_create(&probe); /* the error of entering is this call's */
    dt_values_unref(probe);
    return bad;
}

static void merge_nothing(const dt_merge *m)
{
    (void)m;
}

/* What can stand in a step, or outside: enters a scope, runs, reduces, gathers, merges. */
static dt_status *perform(program *p, const char *call)
{
    dt_values *probe = NULL;
    const char *rest;
    dt_strategy *s = subject(p, call, &rest);

    if (s && begins(rest, "scope()"))
        return enter(s);
    if (s && begins(rest, "run("))
        return run_nothing(s);
    if (s && (begins(rest, "reduce(") || begins(rest, "gather(")))
        return combine(s, rest);
    if (begins(call, "experimental_set_strategy("))
        return dt_set_strategy(call[26] == 'T' ? (subject(p, "T.", &rest), p->t) : call[26] == 'S' ? p->s : NULL);
    if (begins(call, "c.merge_call(")) { /* c: a context taken elsewhere */
        dt_merge_call(&(dt_merge){ .trace = NULL }, merge_nothing);
        dt_status *bad = dt_values_create(&probe);
        dt_values_unref(probe);
        return bad;
    }
    differs(p->v, "unknown call '%s'", call);
    return NULL;
}

/* ---- steps ---- */

static void observe_merged(const dt_merge *m)
{
    program *p = m->user;
    json_array_append_new(p->seen, observe(p, 0));
}

/* "[1., 2.]" or "1." as a constant of that shape. */
static dt_value constant_of(dt_trace *t, const char *text)
{
    return text && strchr(text, '[') ? dt_arg(t, "x") : dt_constant(t, text ? strtod(text, NULL) : 0);
}

static void step_call(dt_trace *t, program *p, const char *call)
{
    const char *comma = strchr(call, ','), *axis = strstr(call, "axis=");

    if (strcmp(call, "observe") == 0) {
        observe_step(t, p);
    } else if (strstr(call, "merge_call(") && strstr(call, "observe")) {
        dt_merge_call(&(dt_merge){ .trace = t, .user = p }, observe_merged);
    } else if (begins(call, "get_replica_context().merge_call(")) {
        dt_merge_call(&(dt_merge){ .trace = t, .user = p }, merge_nothing);
    } else if (begins(call, "get_replica_context().all_reduce(")) {
        dt_return(t, "r", dt_all_reduce(strstr(call, "MEAN") ? DT_MEAN : DT_SUM, constant_of(t, comma ? comma + 1 : NULL)));
    } else if (begins(call, "get_replica_context().all_gather(")) {
        dt_return(t, "r", dt_all_gather(constant_of(t, strchr(call + 20, '(') + 1), axis ? atoi(axis + 5) : 0));
    } else {
        dt_trace_fail(t, perform(p, call));
    }
}

static void step(dt_trace *t, void *user)
{
    program *p = user;
    step_call(t, p, p->within);
}

/* The numbers between brackets, as the argument x. */
static dt_status *list_argument(const char *call, dt_values **out)
{
    const char *at = strchr(call, '[');
    float x[16];
    int64_t n = 0;
    dt_tensor *t = NULL;
    dt_status *s = dt_values_create(out);

    for (char *end; at && n < 16 && *at != ']'; at = end) {
        x[n] = strtof(at + 1, &end);
        if (end == at + 1)
            break;
        n++;
    }
    if (!s && n > 0)
        s = dt_tensor_create(&t, DT_FLOAT32, 1, &n, x);
    if (!s && t)
        s = dt_values_set(*out, "x", t);
    dt_tensor_unref(t);
    return s;
}

static void run_call(program *p, dt_strategy *s, const char *call)
{
    dt_function *f = NULL;
    dt_values *args = NULL;
    char within[256];
    size_t n = strlen(call);

    snprintf(within, sizeof within, "%.*s", (int)(n > 0 && call[n - 1] == ')' ? n - 1 : n), call); /* the bracket of run( */
    p->within = begins(within, "lambda: ") ? within + 8 : within;
    p->running = s;
    keep(p, list_argument(call, &args));
    keep(p, dt_function_create(&f, step, p));
    keep(p, dt_strategy_run(s, f, args, &p->result));
    expect_ids(p, p->result);
    p->running = NULL;
    dt_values_unref(args);
    dt_function_unref(f);
}

/* A call on the context that is current outside of steps: a step of the default strategy, run where we are. */
static void run_here(program *p, const char *text)
{
    char call[256];

    snprintf(call, sizeof call, "%s)", text);
    run_call(p, dt_get_strategy(), call);
}

static void step_with_variable(dt_trace *t, void *user)
{
    program *p = user;
    dt_tensor *two = NULL;
    dt_status *s = dt_tensor_create(&two, DT_FLOAT32, 0, NULL, &(float){ 2 });

    if (!s && !p->variable)
        s = dt_variable_create(&p->variable, two, NULL);
    dt_tensor_unref(two);
    dt_trace_fail(t, s);
}

static void run_variable(program *p)
{
    dt_function *f = NULL;

    keep(p, dt_function_create(&f, step_with_variable, p));
    keep(p, dt_strategy_run(p->s, f, NULL, NULL));
    dt_function_unref(f);
}

/* ---- lines ---- */

static int indent_of(const char *line)
{
    return (int)strspn(line, " ");
}

static size_t run_block(program *p, size_t at, int indent);

static void run_statement(program *p, const char *text)
{
    const char *rest;
    dt_strategy *s = subject(p, text, &rest);

    if (p->error || strcmp(text, "pass") == 0)
        return;
    if (strcmp(text, "observe") == 0)
        json_array_append_new(p->seen, observe(p, 0));
    else if (strstr(text, "creates Variable"))
        run_variable(p);
    else if (s && begins(rest, "run(") && (begins(rest, "run(observe") || begins(rest, "run(lambda") || strstr(rest, "merge_call")))
        run_call(p, s, rest + 4);
    else if (begins(text, "get_replica_context()."))
        run_here(p, text);
    else
        keep(p, perform(p, text));
}

/* "with S.scope():" and its block; on the same line, or indented below. */
static size_t run_with(program *p, size_t at, const char *text, int indent)
{
    const char *colon = strchr(text, ':'), *rest;
    dt_strategy *s = subject(p, text + strlen("with "), &rest);
    dt_values *probe = NULL;

    if (!s) {
        differs(p->v, "unknown scope '%s'", text);
        return at + 1;
    }
    DT_SCOPE(s) {
        keep(p, dt_values_create(&probe)); /* the error of entering */
        if (colon && colon[1] && !p->error)
            run_statement(p, colon + 1 + strspn(colon + 1, " "));
        at = run_block(p, at + 1, indent + 1);
    }
    dt_values_unref(probe);
    return at;
}

static size_t run_block(program *p, size_t at, int indent)
{
    while (at < json_array_size(p->lines)) {
        const char *line = json_string_value(json_array_get(p->lines, at)), *text = line ? line + indent_of(line) : "";
        if (!line || indent_of(line) < indent)
            break;
        if (begins(text, "with "))
            at = run_with(p, at, text, indent_of(line));
        else
            run_statement(p, text), at++;
    }
    return at;
}

/* ---- judging ---- */

static void judge(program *p)
{
    const json_t *out = p->c->out, *each = json_object_get(out, "per_replica"), *r = json_object_get(out, "r"), *kind = json_object_get(out, "kind");

    expect_ok(p->v, "program", p->error);
    p->error = NULL;
    if (each)
        expect_json(p->v, "seen", each, json_incref(p->seen), EXACT);
    else if (r)
        expect_tensor(p->v, "r", json_object_get(r, "value") ? json_object_get(r, "value") : r, dt_values_local(p->result, "r", 0), ELEMENTWISE);
    else if (kind)
        expect_text(p->v, "kind", kind, dt_variable_kind(p->variable));
    else
        expect_json(p->v, "seen", out, json_incref(json_array_get(p->seen, json_array_size(p->seen) - 1)), EXACT);
}

/* "OneDeviceStrategy('CPU:0') properties" */
static void run_properties(const golden_case *c, verdict *v, const char *text)
{
    const json_t *devices = json_object_get(c->out, "worker_devices"), *parameters = json_object_get(c->out, "parameter_devices");
    char device[64] = "CPU:0";
    dt_strategy *s = NULL;

    sscanf(text, "OneDeviceStrategy(%*1['\"]%63[^'\"]", device);
    expect_ok(v, "strategy", dt_one_device_strategy(&s, device));
    expect_int(v, "replicas", json_object_get(c->out, "num_replicas_in_sync"), dt_strategy_replicas(s));
    for (size_t i = 0; i < json_array_size(devices); i++)
        expect_text(v, "device", json_array_get(devices, i), dt_strategy_device(s, (int)i));
    for (size_t i = 0; i < json_array_size(parameters); i++)
        expect_text(v, "device of variables", json_array_get(parameters, i), dt_strategy_device(s, (int)i));
    dt_strategy_unref(s);
}

static void run_program(const golden_case *c, verdict *v)
{
    program p = { .c = c, .v = v, .lines = json_object_get(c->in, "program"), .seen = json_array() };
    const char *first = json_string_value(json_array_get(p.lines, 0));

    p.s = strategy_of(v, json_object_get(c->in, "strategy"));
    if (first && strstr(first, " properties")) {
        run_properties(c, v, first);
    } else if (p.s && first) {
        run_block(&p, 0, 0);
        if (c->error)
            expect_error(v, p.error);
        else
            judge(&p);
    } else {
        differs(v, "no program");
    }
    expect_ok(v, "leaving", dt_set_strategy(NULL));
    json_decref(p.seen);
    dt_values_unref(p.result);
    dt_variable_unref(p.variable);
    dt_strategy_unref(p.s);
    dt_strategy_unref(p.t);
}

/* ---- devices ---- */

/* An empty list is all devices of the machine: how many there are is its own business, their names are not. */
static void run_devices(const golden_case *c, verdict *v)
{
    const json_t *devices = json_object_get(c->in, "devices"), *want = json_object_get(c->out, "worker_devices");
    const char *names[64] = { 0 };
    int n = (int)json_array_size(devices);
    dt_strategy *s = NULL;

    for (int i = 0; i < n && i < 64; i++)
        names[i] = json_string_value(json_array_get(devices, (size_t)i));
    dt_status *bad = dt_mirrored_strategy(&s, n ? names : NULL, n < 64 ? n : 64);
    if (c->error) {
        expect_error(v, bad);
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
