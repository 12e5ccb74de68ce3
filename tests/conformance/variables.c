/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables: made with every synchronization and aggregation, then read or assigned by replicas, in
 * scope, or outside; their copies afterwards, and what the method returned. A tensor that each
 * replica makes is a value per replica here; a Python number is dt_variable_write_number.
 */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

static const char *text_at(const json_t *j, const char *key) {
    const char *text = json_string_value(json_object_get(j, key));
    return text ? text : "";
}

/* The place of a word in a list that ends with NULL; 0 with a difference when it is not there. */
static int word(verdict *v, const char *text, const char *const *words) {
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0) return i;
    differs(v, "unknown word '%s'", text);
    return 0;
}

static const char *const methods[] = {"assign", "assign_add", "assign_sub", "read", NULL};
enum { READ = 3 };

/* ---- making ---- */

static json_t *scalar_json(const char *dtype, const json_t *value) {
    return json_pack("{s:[],s:s,s:[O]}", "shape", "dtype", dtype, "data", value);
}

/* A number as a scalar of that dtype, or a TENSOR. */
static dt_tensor *tensor_for(verdict *v, const char *dtype, const json_t *value) {
    json_t *j = json_is_object(value) ? json_incref((json_t *)value) : scalar_json(dtype, value);
    dt_tensor *t = tensor_of(v, j);
    json_decref(j);
    return t;
}

static dt_variable_options variable_options(verdict *v, const json_t *in) {
    static const char *const synchronizations[] = {"AUTO", "NONE", "ON_WRITE", "ON_READ", NULL};
    static const char *const aggregations[] = {"NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA", NULL};
    const json_t *trainable = json_object_get(in, "trainable");
    const char *synchronization = text_at(in, "synchronization"),
               *aggregation = text_at(in, "aggregation");

    return (dt_variable_options){
        .name = json_string_value(json_object_get(in, "name")),
        .synchronization = *synchronization
                               ? (dt_synchronization)word(v, synchronization, synchronizations)
                               : DT_SYNC_AUTO,
        .aggregation =
            *aggregation ? (dt_aggregation)word(v, aggregation, aggregations) : DT_AGGREGATE_NONE,
        .trainable = json_is_true(trainable)    ? DT_TRAINABLE_YES
                     : json_is_false(trainable) ? DT_TRAINABLE_NO
                                                : DT_TRAINABLE_DEFAULT,
    };
}

static dt_status *make(verdict *v, const json_t *in, dt_strategy *strategy, dt_variable **out) {
    const json_t *initial = json_object_get(in, "initial_value");
    dt_variable_options o = variable_options(v, in);
    json_t *one = json_real(1);
    dt_tensor *t =
        tensor_for(v, initial ? text_at(in, "dtype") : "float32", initial ? initial : one);
    dt_status *s = NULL;

    DT_SCOPE(strategy)
    s = dt_variable_create(out, t, &o);
    dt_tensor_unref(t);
    json_decref(one);
    return s;
}

/* ---- in replica context ---- */

typedef struct writing {
    dt_variable *v;
    int method;
    bool number;
    double value;
} writing;

static void step(dt_trace *t, void *user) {
    const writing *w = user;
    dt_value y;

    if (w->method == READ) y = dt_variable_read(t, w->v);
    else if (w->number) y = dt_variable_write_number(t, w->v, (dt_write)w->method, w->value);
    else if (w->method == DT_ASSIGN) y = dt_variable_assign(t, w->v, dt_arg(t, "x"));
    else
        y = w->method == DT_ASSIGN_ADD ? dt_variable_assign_add(t, w->v, dt_arg(t, "x"))
                                       : dt_variable_assign_sub(t, w->v, dt_arg(t, "x"));
    dt_return(t, "result", y);
}

static dt_status *run_step(dt_strategy *strategy, writing *w, const dt_values *args,
                           dt_values **out) {
    dt_function *f = NULL;
    dt_status *s = dt_function_create(&f, step, w);

    if (!s) s = dt_strategy_run(strategy, f, args, out);
    dt_function_unref(f);
    return s;
}

/* Entry i of the list, or the value itself for each. */
static void set_each(verdict *v, dt_values *out, const char *dtype, const json_t *value, int n) {
    dt_tensor **t = calloc((size_t)n + 1, sizeof *t);

    for (int i = 0; i < n; i++)
        t[i] =
            tensor_for(v, dtype, json_is_array(value) ? json_array_get(value, (size_t)i) : value);
    expect_ok(v, "values", dt_values_set_per_replica(out, "x", t, n));
    for (int i = 0; i < n; i++) dt_tensor_unref(t[i]);
    free(t);
}

/* In "value": {"per_replica": [...]}, {"tensor": x}, {"distributed": [...]} or {"python": x}. */
static const json_t *given_value(const json_t *in, bool *number) {
    const json_t *value = json_object_get(in, "value"), *python = json_object_get(value, "python"),
                 *x;

    *number = python != NULL;
    if (python) return python;
    x = json_object_get(value, "per_replica");
    x = x ? x : json_object_get(value, "distributed");
    return x ? x : json_object_get(value, "tensor");
}

static dt_status *in_replicas(const golden_case *c, verdict *v, dt_strategy *strategy,
                              dt_variable *variable, dt_values **out) {
    writing w = {.v = variable, .method = word(v, text_at(c->in, "method"), methods)};
    const json_t *value = given_value(c->in, &w.number);
    dt_values *args = NULL;

    w.value = json_double(value);
    expect_ok(v, "arguments", dt_values_create(&args));
    if (!w.number && w.method != READ)
        set_each(v, args, text_at(c->in, "dtype"), value, dt_strategy_replicas(strategy));
    dt_status *s = run_step(strategy, &w, args, out);
    dt_values_unref(args);
    return s;
}

/* ---- from outside ---- */

static dt_status *set_outside(const golden_case *c, verdict *v, dt_variable *variable, int method) {
    bool number;
    const json_t *value = given_value(c->in, &number);
    dt_values *values = NULL;
    dt_tensor *t;
    dt_status *s;

    if (json_is_array(value)) {
        expect_ok(v, "values", dt_values_create(&values));
        set_each(v, values, text_at(c->in, "dtype"), value, dt_variable_copies(variable));
        s = dt_variable_set_from(variable, (dt_write)method, values, "x");
        dt_values_unref(values);
        return s;
    }
    t = tensor_for(v, text_at(c->in, "dtype"), value);
    s = dt_variable_set(variable, (dt_write)method, t);
    dt_tensor_unref(t);
    return s;
}

/* What a SyncOnReadVariable's methods return is its value; a mirrored one's, every copy. */
static dt_status *from_outside(const golden_case *c, verdict *v, dt_variable *variable,
                               dt_values **out) {
    int method = word(v, text_at(c->in, "method"), methods);
    bool whole = method == READ || strcmp(dt_variable_kind(variable), "MirroredVariable") != 0;
    dt_tensor *t = NULL;
    dt_status *s = method == READ ? NULL : set_outside(c, v, variable, method);

    expect_ok(v, "values", dt_values_create(out));
    if (!s && whole) s = dt_variable_value(variable, &t);
    if (!s)
        s = whole ? dt_values_set(*out, "result", t)
                  : dt_values_set_variable(*out, "result", variable);
    dt_tensor_unref(t);
    return s;
}

/* Each replica adds its id + 1 to its copy first. */
static void make_different(const golden_case *c, verdict *v, dt_strategy *strategy,
                           dt_variable *variable) {
    writing w = {.v = variable, .method = DT_ASSIGN_ADD};
    json_t *list = json_array();
    dt_values *args = NULL;

    for (int r = 0; r < dt_strategy_replicas(strategy); r++)
        json_array_append_new(list, json_integer(r + 1));
    expect_ok(v, "arguments", dt_values_create(&args));
    set_each(v, args, text_at(c->in, "dtype"), list, dt_strategy_replicas(strategy));
    expect_ok(v, "adding to the copies", run_step(strategy, &w, args, NULL));
    dt_values_unref(args);
    json_decref(list);
}

static dt_status *use(const golden_case *c, verdict *v, dt_strategy *strategy,
                      dt_variable *variable, dt_values **out) {
    static const char *const contexts[] = {"replica", "outside", "cross_replica",
                                           "different_values", NULL};
    int context = word(v, text_at(c->in, "context"), contexts);
    dt_status *s = NULL;

    if (context == 0) return in_replicas(c, v, strategy, variable, out);
    if (context == 1) return from_outside(c, v, variable, out);
    if (context == 3) make_different(c, v, strategy, variable);
    DT_SCOPE(strategy)
    s = from_outside(c, v, variable, out);
    return s;
}

/* ---- judging ---- */

static void expect_copies(verdict *v, const char *what, const json_t *want, dt_variable *variable) {
    for (size_t r = 0; r < json_array_size(want); r++) {
        const json_t *value = json_array_get(want, r), *inner = json_object_get(value, "value");
        dt_tensor *t = NULL;
        expect_ok(v, what, dt_variable_local(variable, (int)r, &t));
        expect_tensor(v, what, inner ? inner : value, t, ELEMENTWISE);
        dt_tensor_unref(t);
    }
}

static void judge(const golden_case *c, verdict *v, dt_variable *variable, const dt_values *out) {
    const json_t *returned = json_object_get(c->out, "returned");

    expect_text(v, "kind", json_object_get(c->out, "kind"), dt_variable_kind(variable));
    expect_copies(v, "copy", json_object_get(c->out, "replica_values"), variable);
    if (strcmp(text_at(returned, "kind"), "Mirrored") == 0)
        expect_copies(v, "returned", json_object_get(returned, "values"), variable);
    else if (json_is_object(returned))
        expect_value(v, &(value_at){"returned", out, "", result_name, -1}, returned);
}

static void run_variable(const golden_case *c, verdict *v) {
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_variable *variable = NULL;
    dt_values *out = NULL;
    dt_status *s;

    if (!strategy) return;
    s = make(v, c->in, strategy, &variable);
    if (!s && variable) s = use(c, v, strategy, variable, &out);
    if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, "variable", s);
        judge(c, v, variable, out);
    }
    dt_values_unref(out);
    dt_variable_unref(variable);
    dt_strategy_unref(strategy);
}

/* ---- single questions ---- */

static void run_sync_none(const golden_case *c, verdict *v) {
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_variable_options o = variable_options(v, c->in);
    dt_variable *variable = NULL;
    dt_tensor *t = NULL;
    dt_status *s = NULL;

    if (!strategy) return;
    o.synchronization = DT_SYNC_NONE;
    expect_ok(v, "tensor", dt_tensor_create(&t, DT_FLOAT32, 0, NULL, NULL));
    DT_SCOPE(strategy)
    s = dt_variable_create(&variable, t, &o);
    if (s && o.name && !strstr(dt_status_text(s), o.name))
        differs(v, "the message lacks the name '%s': %s", o.name, dt_status_text(s));
    expect_error(v, s);
    dt_tensor_unref(t);
    dt_variable_unref(variable);
    dt_strategy_unref(strategy);
}

static void run_trainable(const golden_case *c, verdict *v) {
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_variable *variable = NULL;

    if (!strategy) return;
    expect_ok(v, "variable", make(v, c->in, strategy, &variable));
    expect_text(v, "kind", json_object_get(c->out, "kind"), dt_variable_kind(variable));
    if (json_is_true(json_object_get(c->out, "trainable")) != dt_variable_trainable(variable))
        differs(v, "trainable: %s", dt_variable_trainable(variable) ? "yes" : "no");
    dt_variable_unref(variable);
    dt_strategy_unref(strategy);
}

static void run_scatter(const golden_case *c, verdict *v) {
    static const char *const names[] = {"scatter_update", "scatter_add", "scatter_sub",
                                        "scatter_mul",    "scatter_div", "scatter_min",
                                        "scatter_max",    NULL};
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_variable_options o = variable_options(v, c->in);
    const char *method = text_at(c->in, "method");
    dt_scatter how = (dt_scatter)word(
        v, strcmp(method, "batch_scatter_update") == 0 ? "scatter_update" : method, names);
    dt_tensor *t = NULL, *index = NULL, *update = NULL;
    dt_variable *variable = NULL;
    dt_status *s = NULL;

    if (!strategy) return;
    if (!*text_at(c->in, "aggregation") && o.synchronization != DT_SYNC_ON_READ &&
        strstr(c->id, "sum"))
        o.aggregation = DT_AGGREGATE_SUM; /* of mirrored ones only the name of the case says it */
    expect_ok(v, "tensor", dt_tensor_create(&t, DT_FLOAT32, 1, (int64_t[]){2}, NULL));
    expect_ok(v, "tensor", dt_tensor_create(&index, DT_INT32, 1, (int64_t[]){1}, NULL));
    expect_ok(v, "tensor", dt_tensor_create(&update, DT_FLOAT32, 1, (int64_t[]){1}, NULL));
    DT_SCOPE(strategy) {
        expect_ok(v, "variable", dt_variable_create(&variable, t, &o));
        s = dt_variable_scatter(variable, how, index, update);
    }
    if (c->error) expect_error(v, s);
    else expect_ok(v, "scatter", s);
    dt_tensor_unref(t);
    dt_tensor_unref(index);
    dt_tensor_unref(update);
    dt_variable_unref(variable);
    dt_strategy_unref(strategy);
}

static void run_other_strategy(const golden_case *c, verdict *v) {
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy")),
                *other = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_variable *variable = NULL;
    dt_tensor *t = NULL;
    dt_status *s = NULL;

    expect_ok(v, "tensor", dt_tensor_create(&t, DT_FLOAT32, 0, NULL, NULL));
    DT_SCOPE(strategy)
    expect_ok(v, "variable", dt_variable_create(&variable, t, NULL));
    DT_SCOPE(other)
    s = dt_variable_set(variable, DT_ASSIGN, t);
    expect_error(v, s);
    dt_tensor_unref(t);
    dt_variable_unref(variable);
    dt_strategy_unref(strategy);
    dt_strategy_unref(other);
}

/* "v created outside scope; S.run(v.assign_add(1.0))" */
static void run_plain(const golden_case *c, verdict *v) {
    const char *program = text_at(c->in, "program"), *call = strstr(program, ".assign"),
               *number = call ? strchr(call, '(') : NULL;
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    writing w = {.number = true,
                 .method = !call                                   ? DT_ASSIGN_ADD
                           : strncmp(call, ".assign_add", 11) == 0 ? DT_ASSIGN_ADD
                           : strncmp(call, ".assign_sub", 11) == 0 ? DT_ASSIGN_SUB
                                                                   : DT_ASSIGN,
                 .value = number ? strtod(number + 1, NULL) : 1};
    dt_tensor *t = NULL, *now = NULL;

    if (!call)
        differs(v, "unknown wording '%s': expected v.assign, v.assign_add or v.assign_sub in run",
                program);
    if (!strategy) return;
    expect_ok(v, "tensor", dt_tensor_create(&t, DT_FLOAT32, 0, NULL, &(float){1}));
    expect_ok(v, "variable", dt_variable_create(&w.v, t, NULL));
    expect_ok(v, "run", run_step(strategy, &w, NULL, NULL));
    expect_ok(v, "value", dt_variable_value(w.v, &now));
    expect_tensor(v, "value", json_object_get(c->out, "value"), now, ELEMENTWISE);
    dt_tensor_unref(t);
    dt_tensor_unref(now);
    dt_variable_unref(w.v);
    dt_strategy_unref(strategy);
}

const golden_op variables_ops[] = {
    {"variable", run_variable, NULL},
    {"variable_sync_none", run_sync_none, NULL},
    {"variable_trainable", run_trainable, NULL},
    {"variable_scatter", run_scatter, NULL},
    {"variable_other_strategy", run_other_strategy, NULL},
    {"variable_plain_in_run", run_plain, NULL},
    {0},
};
