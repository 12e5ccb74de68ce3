/* SPDX-License-Identifier: Apache-2.0 */
/* strategy.reduce over values of all kinds. */
#include "pipelines.h"

#include <stdlib.h>
#include <string.h>

/* "SUM", "mEaN", or the enum itself, "ReduceOp.SUM". */
dt_status *reduce_op_of(const char *name, dt_reduce_op *op) {
    static const char prefix[] = "ReduceOp.";
    return dt_reduce_op_named(
        name && strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name,
        op);
}

/* null, a number, or several. */
static const dt_axes *axes_of(const json_t *axis, dt_axes *out) {
    if (json_is_integer(axis)) {
        *out = (dt_axes){1, {(int)json_integer_value(axis)}};
        return out;
    }
    if (!json_is_array(axis)) return NULL;
    *out = (dt_axes){.n = (int)json_array_size(axis)};
    for (int i = 0; i < out->n && i < 8; i++)
        out->axis[i] = (int)json_integer_value(json_array_get(axis, (size_t)i));
    return out;
}

static dt_status *reduce(const golden_case *c, dt_strategy *s, const dt_values *values,
                         dt_tensor **result) {
    dt_reduce_op op = DT_SUM;
    dt_axes axes;
    dt_status *bad = reduce_op_of(json_string_value(json_object_get(c->in, "reduce_op")), &op);

    return bad ? bad
               : dt_strategy_reduce_axes(s, op, values, "x",
                                         axes_of(json_object_get(c->in, "axis"), &axes), result);
}

/* A list instead of a tuple is refused because Python cannot hash it. An array of C is the tuple:
 * it reduces. */
static bool is_unhashable(const golden_case *c) {
    const char *type = json_string_value(json_object_get(c->in, "axis_python_type"));
    return c->error && type && strcmp(type, "list") == 0;
}

/* A plain value that cannot be summed: the original prints the value, ours names it. */
static bool prints_its_value(const golden_case *c) {
    const char *message = json_string_value(json_object_get(c->error, "message"));
    return message && strncmp(message, "A non-DistributedValues value ", 30) == 0;
}

static void judge(const golden_case *c, verdict *v, dt_status *s, const dt_tensor *result) {
    if (is_unhashable(c)) {
        expect_ok(v, "reduce along a list of axes", s);
    } else if (prints_its_value(c)) {
        expect_error_of(v, s, "ValueError", NULL, 0);
    } else if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, "reduce", s);
        expect_tensor(v, "result", json_object_get(c->out, "result"), result, ELEMENTWISE);
    }
}

static void run_reduce(const golden_case *c, verdict *v) {
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_values *values = NULL;
    dt_tensor *result = NULL;

    expect_ok(v, "values", dt_values_create(&values));
    if (strategy && set_case_value(v, values, "x", c->in)) {
        dt_status *s = reduce(c, strategy, values, &result);
        judge(c, v, s, result);
    }
    dt_tensor_unref(result);
    dt_values_unref(values);
    dt_strategy_unref(strategy);
}

/* ---- "reduce('MEAN', 1.5, axis=None)" ---- */

/* Zeros are the only arrays that the original treats in a way of their own: it looks at the
 * numbers, but not at those of its tensors. */
static void judge_python(const golden_case *c, verdict *v, const dt_tensor *x, dt_status *s,
                         const dt_tensor *result) {
    const json_t *data = json_object_get(json_object_get(c->out, "result"), "data");
    const char *type = json_string_value(json_object_get(c->error, "type"));

    if (type && strcmp(type, "AttributeError") == 0) {
        expect_error_of(v, s, "ValueError", NULL, 0); /* a Python int has no shape: an accident */
    } else if (c->error) {
        judge(c, v, s, result);
    } else if (s && dt_tensor_rank(x) > 0) {
        v->skipped = "NumPy arrays are tensors here, and one tensor for all replicas cannot be "
                     "summed, of zeros neither";
        dt_status_free(s);
    } else if (dt_tensor_rank(x) > 0) {
        judge(c, v, s, result);
    } else { /* a number has no dtype until something gives it one */
        expect_ok(v, "reduce", s);
        if (result)
            expect_double(v, "result", json_array_get(data, 0), dt_tensor_item(result),
                          ELEMENTWISE);
    }
}

static void run_python_value(const golden_case *c, verdict *v) {
    const char *text = json_string_value(json_object_get(c->in, "expression")), *why = "no text";
    py *p = text ? py_read(text, &why) : NULL;
    const py *op_word = p ? py_argument(p, 0, "reduce_op") : NULL,
             *value = p ? py_argument(p, 1, "value") : NULL;
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_values *values = NULL;
    dt_tensor *result = NULL, *x = NULL;
    dt_reduce_op op = DT_SUM;
    dt_status *s = NULL;

    expect_ok(v, "values", dt_values_create(&values));
    if (!op_word || !value || strcmp(py_called(p), "reduce") != 0) {
        differs(v, "unknown wording '%s': expected reduce(OP, VALUE, axis=None)%s%s",
                text ? text : "", p ? "" : "; ", p ? "" : why);
    } else if (strategy && (x = tensor_of_words(v, value, &s)) != NULL) {
        expect_ok(v, "values", dt_values_set(values, "x", x));
        s = reduce_op_of(op_word->kind == PY_STRING ? op_word->text : py_name(op_word), &op);
        if (!s) s = dt_strategy_reduce_axes(strategy, op, values, "x", NULL, &result);
        judge_python(c, v, x, s, result);
    }
    py_free(p);
    dt_tensor_unref(x);
    dt_tensor_unref(result);
    dt_values_unref(values);
    dt_strategy_unref(strategy);
}

/* ---- where results lie ---- */

static void step(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "result", dt_replica_id(t));
}

static void run_device(const golden_case *c, verdict *v) {
    const json_t *locals = json_object_get(c->out, "local_result_devices");
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_function *f = NULL;
    dt_values *values = NULL;
    dt_tensor *result = NULL;

    if (!strategy) return;
    expect_ok(v, "function", dt_function_create(&f, step, NULL));
    expect_ok(v, "run", dt_strategy_run(strategy, f, NULL, &values));
    expect_ok(v, "reduce",
              dt_strategy_reduce(strategy, DT_SUM, values, "result", DT_NO_AXIS, &result));
    expect_text(v, "device", json_object_get(c->out, "device"), dt_tensor_device(result));
    for (size_t i = 0; i < json_array_size(locals); i++)
        expect_text(v, "device of a local result", json_array_get(locals, i),
                    dt_tensor_device(dt_values_local(values, "result", (int)i)));
    dt_tensor_unref(result);
    dt_values_unref(values);
    dt_function_unref(f);
    dt_strategy_unref(strategy);
}

const golden_op reduce_ops[] = {
    {"reduce", run_reduce, NULL},
    {"reduce_python_value", run_python_value, NULL},
    {"reduce_device", run_device, NULL},
    {0},
};
