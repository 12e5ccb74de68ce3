/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code inside run sees: its id, all_reduce, all_gather, merge_call, arguments and results of
 * all shapes. A step is recorded once and runs on every replica; what the original does eagerly and
 * in a tf.function is the same here.
 */
#include "traced.h"

#include <stdlib.h>
#include <string.h>

/* One case: the step reads what it needs of `in`. */
typedef struct stepping {
    const golden_case *c;
    verdict *v;
    const char *fn;
} stepping;

typedef void step_fn(dt_trace *t, void *user);

/* Runs `step` with the entries x (per replica) as arguments. */
static dt_status *run(const golden_case *c, verdict *v, step_fn *step, dt_values **out) {
    const json_t *value = json_object_get(c->in, "value");
    const char *fn = json_string_value(json_object_get(c->in, "fn"));
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    stepping user = {c, v, fn ? fn : ""};
    dt_function *f = NULL;
    dt_values *args = NULL;
    dt_status *s = NULL;

    expect_ok(v, "arguments", dt_values_create(&args));
    expect_ok(v, "function", dt_function_create(&f, step, &user));
    if (json_is_array(value)) set_value(v, args, "x", value);
    else if (json_is_object(value))
        for (void *i = json_object_iter((json_t *)value); i;
             i = json_object_iter_next((json_t *)value, i))
            set_value(v, args, json_object_iter_key(i), json_object_iter_value(i));
    if (strategy) s = dt_strategy_run(strategy, f, args, out);
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(strategy);
    return s;
}

static void run_and_compare(const golden_case *c, verdict *v, step_fn *step) {
    dt_values *out = NULL;
    dt_status *s = run(c, v, step, &out);

    if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, "run", s);
        expect_value(v, &(value_at){"returned", out, "", result_name, -1},
                     json_object_get(c->out, "returned"));
    }
    dt_values_unref(out);
}

#define CASE(name)                                                                                 \
    static void run_##name(const golden_case *c, verdict *v) { run_and_compare(c, v, name); }

/* ---- who am I ---- */

static void replica_id(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "result", dt_replica_id(t));
}
CASE(replica_id)

static void num_replicas(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "result", dt_num_replicas(t));
}
CASE(num_replicas)

/* The dtype is the result's own. */
static void run_replica_id_dtype(const golden_case *c, verdict *v) {
    const json_t *returned = json_object_get(c->out, "returned"),
                 *first = json_array_get(json_object_get(returned, "values"), 0);
    dt_values *out = NULL;

    expect_ok(v, "run", run(c, v, replica_id, &out));
    expect_text(v, "dtype", json_object_get(first ? first : returned, "value"),
                dtype_name(dt_tensor_dtype(dt_values_local(out, "result", 0))));
    dt_values_unref(out);
}

/* ---- all_reduce ---- */

static dt_value reduced(const stepping *s, dt_value x) {
    static const char prefix[] = "ReduceOp.";
    const char *op = json_string_value(json_object_get(s->c->in, "reduce_op"));

    if (op && strcmp(op, "ReduceOp.SUM") == 0) return dt_all_reduce(DT_SUM, x);
    if (op && strcmp(op, "ReduceOp.MEAN") == 0) return dt_all_reduce(DT_MEAN, x);
    return dt_all_reduce_named(op && strncmp(op, prefix, sizeof prefix - 1) == 0
                                   ? op + sizeof prefix - 1
                               : op ? op
                                    : "",
                               x);
}

static void all_reduce(dt_trace *t, void *user) {
    dt_return(t, "result", reduced(user, dt_arg(t, "x")));
}
CASE(all_reduce)

/* Recorded with {"a": x, "b": [2 * x]}, the argument under both names. */
static void all_reduce_nested(dt_trace *t, void *user) {
    dt_value b = dt_arg(t, "b");
    dt_return(t, "a", reduced(user, dt_arg(t, "a")));
    dt_return(t, "b/0", reduced(user, dt_add(b, b)));
}
CASE(all_reduce_nested)

/* A number is a tensor of each replica here: summed it counts once for each, its mean is itself. */
static void all_reduce_constant(dt_trace *t, void *user) {
    const stepping *s = user;
    dt_return(t, "result",
              reduced(s, dt_constant(t, json_number_value(json_object_get(s->c->in, "value")))));
}
CASE(all_reduce_constant)

/* "sum(square(all_reduce(op, x*x)))" where the case does not say otherwise. */
static void all_reduce_gradient(dt_trace *t, void *user) {
    const stepping *s = user;
    const char *function = json_string_value(json_object_get(s->c->in, "function")),
               *op = json_string_value(json_object_get(s->c->in, "reduce_op"));
    dt_value x = dt_arg(t, "x"), dx;
    traced_words w = {.v = s->v,
                      .trace = t,
                      .x = x,
                      .dtype = words_dtype(json_object_get(s->c->in, "value")),
                      .op = op};

    dt_gradient_values(words_value(&w, function ? function : "sum(square(all_reduce(op, x*x)))"),
                       &x, 1, &dx);
    dt_return(t, "result", dx);
}
CASE(all_reduce_gradient)

/* ---- all_gather ---- */

static int axis_of(const stepping *s) {
    return (int)json_integer_value(json_object_get(s->c->in, "axis"));
}

static void all_gather(dt_trace *t, void *user) {
    dt_return(t, "result", dt_all_gather(dt_arg(t, "x"), axis_of(user)));
}

/* Axes that do not exist: the original says so by whatever op stumbles first. */
static void run_all_gather(const golden_case *c, verdict *v) {
    const json_t *value = json_object_get(c->in, "value");
    int axis = (int)json_integer_value(json_object_get(c->in, "axis"));
    int rank = (int)json_array_size(json_object_get(json_array_get(value, 0), "shape"));
    dt_values *out = NULL;

    if (c->error && (axis < -rank || axis >= rank))
        expect_error_of(v, run(c, v, all_gather, &out), "ValueError", (int[]){axis, rank}, 2);
    else run_and_compare(c, v, all_gather);
    dt_values_unref(out);
}

static void all_gather_nested(dt_trace *t, void *user) {
    dt_value x = dt_arg(t, "x");
    dt_return(t, "a", dt_all_gather(x, axis_of(user)));
    dt_return(t, "b", dt_all_gather(dt_add(x, dt_constant(t, 1)), axis_of(user)));
}
CASE(all_gather_nested)

/* "sum(square(all_gather(x * x, axis)))" where the case does not say otherwise. */
static void all_gather_gradient(dt_trace *t, void *user) {
    const stepping *s = user;
    const char *function = json_string_value(json_object_get(s->c->in, "function"));
    dt_value x = dt_arg(t, "x"), dx;
    traced_words w = {.v = s->v,
                      .trace = t,
                      .x = x,
                      .dtype = words_dtype(json_object_get(s->c->in, "value")),
                      .axis = axis_of(user)};

    dt_gradient_values(
        words_value(&w, function ? function : "sum(square(all_gather(x * x, axis)))"), &x, 1, &dx);
    dt_return(t, "result", dx);
}
CASE(all_gather_gradient)

/* ---- merge_call ---- */

static const py *call_of(const py *p, const char *name) {
    if (!p || strcmp(py_called(p), name) == 0) return p;
    for (int i = 0; i < p->n; i++)
        if (call_of(p->in[i], name)) return call_of(p->in[i], name);
    return NULL;
}

/* "strategy.reduce(SUM, value, axis=None)", or a lambda of it: the operation, and the axis. */
static void merge(const dt_merge *m) {
    const stepping *s = m->user;
    const char *fn = json_string_value(json_object_get(s->c->in, "merge_fn")), *why = "no text";
    py *p = fn ? py_read(fn, &why) : NULL;
    const py *reduce = call_of(p, "reduce"),
             *op = reduce ? py_argument(reduce, 0, "reduce_op") : NULL,
             *axis = reduce ? py_argument(reduce, 2, "axis") : NULL;
    dt_reduce_op how = DT_SUM;

    if (!op)
        differs(s->v, "unknown wording of a merge_fn, '%s': %s", fn ? fn : "?",
                p ? "it reduces nothing" : why);
    else
        expect_ok(s->v, "merge_fn",
                  reduce_op_of(op->kind == PY_STRING ? op->text : py_name(op), &how));
    m->out[0] = dt_merge_reduce(how, m->in[0],
                                !axis || py_is(axis, "None") ? DT_NO_AXIS
                                : axis->kind == PY_UNARY     ? -(int)axis->in[0]->number
                                                             : (int)axis->number);
    py_free(p);
}

static void merge_call(dt_trace *t, void *user) {
    dt_value x = dt_arg(t, "x"), y;

    dt_merge_call(&(dt_merge){.trace = t, .n_in = 1, .in = &x, .n_out = 1, .out = &y, .user = user},
                  merge);
    dt_return(t, "result", y);
}
CASE(merge_call)

/* A function within a function: run within a step. The recorded text is about tf.function, the kind
 * is ours too. */
static void inner(dt_trace *t, void *user) { (void)t, (void)user; }

static void nested_run(dt_trace *t, void *user) {
    dt_function *f = NULL;
    dt_status *s = dt_function_create(&f, inner, user);

    if (!s) s = dt_strategy_run(dt_get_strategy(), f, NULL, NULL);
    dt_function_unref(f);
    dt_trace_fail(t, s);
}

static void run_nested_function(const golden_case *c, verdict *v) {
    expect_error_of(v, run(c, v, nested_run, NULL), "RuntimeError", NULL, 0);
}

/* ---- arguments and results ---- */

/* The function in words, for the argument x: "x * 2", "{'a': x, 'b': (x, [3.0])}", "constant 7
 * (same tensor object)", "returns None". */
static void identity_of(dt_trace *t, void *user) {
    const stepping *s = user;
    traced_words w = {.v = s->v,
                      .trace = t,
                      .x = dt_arg(t, "x"),
                      .dtype = words_dtype(json_object_get(s->c->in, "value"))};
    words_return(&w, s->fn);
}
CASE(identity_of)

/* Documented: each replica's value is the number of replicas. In the original equal Python ints
 * collapse into a single one; here what was computed by each replica is a value per replica. */
static dt_status *replicas(const dt_value_context *context, dt_values *out, void *user) {
    int32_t n = context->num_replicas_in_sync;
    dt_tensor *t = NULL;
    dt_status *s = dt_tensor_create(&t, DT_INT32, 0, NULL, &n);

    (void)user;
    if (!s) s = dt_values_set(out, "x", t);
    dt_tensor_unref(t);
    return s;
}

static void times_2(dt_trace *t, void *user) {
    const stepping *s = user;
    traced_words w = {.v = s->v, .trace = t, .x = dt_arg_at(t, 0), .dtype = DT_INT32};
    words_return(&w, *s->fn ? s->fn : "input * 2");
}

static void run_value_times_2(const golden_case *c, verdict *v) {
    const json_t *value = json_object_get(json_object_get(c->out, "returned"), "value");
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    const char *fn = json_string_value(json_object_get(c->in, "fn"));
    stepping user = {c, v, fn ? fn : ""};
    dt_values *args = NULL, *out = NULL;
    dt_function *f = NULL;

    if (!strategy) return;
    expect_ok(v, "values", dt_strategy_values_from_function(strategy, replicas, NULL, &args));
    expect_ok(v, "function", dt_function_create(&f, times_2, &user));
    expect_ok(v, "run", dt_strategy_run(strategy, f, args, &out));
    if (dt_values_locals(out, "result") != dt_strategy_replicas(strategy))
        differs(v, "%d values", dt_values_locals(out, "result"));
    for (int r = 0; r < dt_values_locals(out, "result"); r++)
        if (json_is_object(value))
            expect_tensor(v, "result", value, dt_values_local(out, "result", r), EXACT);
        else
            expect_double(v, "result", value, dt_tensor_item(dt_values_local(out, "result", r)),
                          EXACT);
    dt_values_unref(args);
    dt_values_unref(out);
    dt_function_unref(f);
    dt_strategy_unref(strategy);
}

enum { VALUE_ERROR = 17 };

/* "raise ValueError('boom')" */
static void raises(dt_trace *t, void *user) {
    const stepping *s = user;
    const char *text = json_string_value(json_object_get(s->c->error, "message"));
    dt_trace_fail(t, dt_status_create(VALUE_ERROR, "%s", text ? text : "boom"));
}
CASE(raises)

const golden_op replica_context_ops[] = {
    {"replica_id_in_sync_group", run_replica_id, NULL},
    {"num_replicas_in_sync", run_num_replicas, NULL},
    {"replica_id_dtype", run_replica_id_dtype, NULL},
    {"all_reduce", run_all_reduce, NULL},
    {"all_reduce_nested", run_all_reduce_nested, NULL},
    {"all_reduce_constant", run_all_reduce_constant, NULL},
    {"all_reduce_gradient", run_all_reduce_gradient, NULL},
    {"all_gather", run_all_gather, NULL},
    {"all_gather_nested", run_all_gather_nested, NULL},
    {"all_gather_gradient", run_all_gather_gradient, NULL},
    {"merge_call", run_merge_call, NULL},
    {"merge_call_nested_function", run_nested_function, NULL},
    {"merge_call_unequal", NULL,
     "a step is recorded once for all replicas, which therefore make the same calls"},
    {"merge_call_in_cond", NULL,
     "tf.cond traces its branches as functions of Python; a step here has C's own control flow, "
     "while it is recorded"},
    {"run_identity", run_identity_of, NULL},
    {"run_value_times_2", run_value_times_2, NULL},
    {"run_args_not_tuple", NULL, "arguments are dt_values: C's compiler refuses anything else"},
    {"run_fn_raises", run_raises, NULL},
    {0},
};
