/* strategy.reduce over values of all kinds. */
#include "conformance.h"

#include <string.h>

static dt_values *values_of(verdict *v, const json_t *list)
{
    dt_values *values = NULL;
    dt_tensor *t[64] = { 0 };
    int n = (int)json_array_size(list);

    for (int i = 0; i < n && i < 64; i++)
        t[i] = tensor_of(v, json_array_get(list, (size_t)i));
    expect_ok(v, "values", dt_values_create(&values));
    expect_ok(v, "values", dt_values_set_per_replica(values, "x", t, n));
    for (int i = 0; i < n && i < 64; i++)
        dt_tensor_unref(t[i]);
    return values;
}

static void run_reduce(const golden_case *c, verdict *v)
{
    const json_t *axis = json_object_get(c->in, "axis");
    const char *op = json_string_value(json_object_get(c->in, "reduce_op"));
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_values *values = values_of(v, json_object_get(c->in, "value"));
    dt_tensor *result = NULL;
    dt_status *s = dt_strategy_reduce(strategy, op && strstr(op, "MEAN") ? DT_MEAN : DT_SUM, values, "x",
                                      json_is_integer(axis) ? (int)json_integer_value(axis) : DT_NO_AXIS, &result);
    if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, "reduce", s);
        expect_tensor(v, "result", json_object_get(c->out, "result"), result, ELEMENTWISE);
    }
    dt_tensor_unref(result);
    dt_values_unref(values);
    dt_strategy_unref(strategy);
}

const golden_op reduce_ops[] = {
    { "reduce", run_reduce, NULL },
    { 0 },
};
