/* SPDX-License-Identifier: Apache-2.0 */
/* strategy.reduce over values of all kinds. */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

/* "SUM", "mEaN", or the enum itself, "ReduceOp.SUM". */
dt_status *reduce_op_of(const char *name, dt_reduce_op *op)
{
    static const char prefix[] = "ReduceOp.";
    return dt_reduce_op_named(name && strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name, op);
}

/* null, a number, or several. */
static const dt_axes *axes_of(const json_t *axis, dt_axes *out)
{
    if (json_is_integer(axis)) {
        *out = (dt_axes){ 1, { (int)json_integer_value(axis) } };
        return out;
    }
    if (!json_is_array(axis))
        return NULL;
    *out = (dt_axes){ .n = (int)json_array_size(axis) };
    for (int i = 0; i < out->n && i < 8; i++)
        out->axis[i] = (int)json_integer_value(json_array_get(axis, (size_t)i));
    return out;
}

static dt_status *reduce(const golden_case *c, dt_strategy *s, const dt_values *values, dt_tensor **result)
{
    dt_reduce_op op = DT_SUM;
    dt_axes axes;
    dt_status *bad = reduce_op_of(json_string_value(json_object_get(c->in, "reduce_op")), &op);

    return bad ? bad : dt_strategy_reduce_axes(s, op, values, "x", axes_of(json_object_get(c->in, "axis"), &axes), result);
}

/* A list instead of a tuple is refused because Python cannot hash it. An array of C is the tuple: it reduces. */
static bool is_unhashable(const golden_case *c)
{
    const char *type = json_string_value(json_object_get(c->in, "axis_python_type"));
    return c->error && type && strcmp(type, "list") == 0;
}

static void judge(const golden_case *c, verdict *v, dt_status *s, const dt_tensor *result)
{
    if (is_unhashable(c)) {
        expect_ok(v, "reduce along a list of axes", s);
    } else if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, "reduce", s);
        expect_tensor(v, "result", json_object_get(c->out, "result"), result, ELEMENTWISE);
    }
}

static void run_reduce(const golden_case *c, verdict *v)
{
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_values *values = NULL;
    dt_tensor *result = NULL;

    expect_ok(v, "values", dt_values_create(&values));
    if (strategy && set_value(v, values, "x", json_object_get(c->in, "value"))) {
        dt_status *s = reduce(c, strategy, values, &result);
        judge(c, v, s, result);
    }
    dt_tensor_unref(result);
    dt_values_unref(values);
    dt_strategy_unref(strategy);
}

/* ---- "reduce('MEAN', 1.5, axis=None)" ---- */

/* A number, or zeros of the result's shape. */
static dt_tensor *python_value(const golden_case *c, verdict *v, const char *text)
{
    const json_t *result = json_object_get(c->out, "result");
    double x = strtod(text, NULL);
    dt_tensor *t = NULL;

    if (strncmp(text, "np.zeros", 8) == 0 && result)
        return tensor_of(v, result);
    if (strpbrk(text, ".") && strpbrk(text, ".") < strpbrk(text, ","))
        expect_ok(v, "value", dt_tensor_create(&t, DT_FLOAT64, 0, NULL, &x));
    else
        expect_ok(v, "value", dt_tensor_create(&t, DT_INT64, 0, NULL, &(int64_t){ (int64_t)x }));
    return t;
}

static void run_python_value(const golden_case *c, verdict *v)
{
    const char *text = json_string_value(json_object_get(c->in, "expression")), *value = text ? strchr(text, ',') : NULL;
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_values *values = NULL;
    dt_tensor *result = NULL, *x = value ? python_value(c, v, value + 2) : NULL;

    expect_ok(v, "values", dt_values_create(&values));
    if (!x || !strategy) {
        differs(v, "cannot read the expression '%s'", text ? text : "");
    } else {
        expect_ok(v, "values", dt_values_set(values, "x", x));
        dt_status *s = dt_strategy_reduce(strategy, strstr(text, "MEAN") ? DT_MEAN : DT_SUM, values, "x", DT_NO_AXIS, &result);
        if (c->error && dt_tensor_item(x) == 0)
            expect_ok(v, "the sum of zeros", s); /* recorded: an int without a shape; zero is the sum of zeros */
        else
            judge(c, v, s, result);
    }
    dt_tensor_unref(x);
    dt_tensor_unref(result);
    dt_values_unref(values);
    dt_strategy_unref(strategy);
}

/* ---- where results lie ---- */

static void step(dt_trace *t, void *user)
{
    (void)user;
    dt_return(t, "result", dt_replica_id(t));
}

static void run_device(const golden_case *c, verdict *v)
{
    const json_t *locals = json_object_get(c->out, "local_result_devices");
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_function *f = NULL;
    dt_values *values = NULL;
    dt_tensor *result = NULL;

    if (!strategy)
        return;
    expect_ok(v, "function", dt_function_create(&f, step, NULL));
    expect_ok(v, "run", dt_strategy_run(strategy, f, NULL, &values));
    expect_ok(v, "reduce", dt_strategy_reduce(strategy, DT_SUM, values, "result", DT_NO_AXIS, &result));
    expect_text(v, "device", json_object_get(c->out, "device"), dt_tensor_device(result));
    for (size_t i = 0; i < json_array_size(locals); i++)
        expect_text(v, "device of a local result", json_array_get(locals, i), dt_tensor_device(dt_values_local(values, "result", (int)i)));
    dt_tensor_unref(result);
    dt_values_unref(values);
    dt_function_unref(f);
    dt_strategy_unref(strategy);
}

const golden_op reduce_ops[] = {
    { "reduce", run_reduce, NULL },
    { "reduce_python_value", run_python_value, NULL },
    { "reduce_device", run_device, NULL },
    { 0 },
};
