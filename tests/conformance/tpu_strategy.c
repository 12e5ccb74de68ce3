/* TPUStrategy over a slice that is made up: names, hosts, replicas, and its values. */
#include "placement.h"

#include <stdlib.h>
#include <string.h>

/* ---- properties ---- */

static json_t *logical_names(verdict *v, const dt_strategy *s, int replica)
{
    json_t *list = json_array();

    for (int l = 0; l < dt_strategy_logical_devices(s); l++) {
        const char *name = "?";
        expect_ok(v, "a logical device", dt_strategy_logical_device(s, replica, l, &name));
        json_array_append_new(list, json_string(name));
    }
    return list;
}

static json_t *input_worker(const dt_strategy *s, int worker)
{
    json_t *devices = json_array();

    for (int r = 0; r < dt_strategy_replicas(s); r++)
        if (dt_strategy_input_worker(s, r) == worker)
            json_array_append_new(devices, json_string(dt_strategy_device(s, r)));
    return json_pack("{s:s, s:o}", "host", dt_strategy_input_host(s, worker), "devices", devices);
}

static void run_properties(const golden_case *c, verdict *v)
{
    dt_strategy *s = strategy_of(v, json_object_get(c->in, "strategy"));
    json_t *devices = json_array(), *logical = json_array(), *workers = json_array();

    for (int r = 0; s && r < dt_strategy_replicas(s); r++) {
        json_array_append_new(devices, json_string(dt_strategy_device(s, r)));
        json_array_append_new(logical, logical_names(v, s, r));
    }
    for (int w = 0; w < dt_strategy_input_workers(s); w++)
        json_array_append_new(workers, input_worker(s, w));
    expect_int(v, "num_replicas_in_sync", json_object_get(c->out, "num_replicas_in_sync"), s ? dt_strategy_replicas(s) : -1);
    expect_int(v, "num_hosts", json_object_get(c->out, "num_hosts"), dt_strategy_num_hosts(s));
    expect_int(v, "num_replicas_per_host", json_object_get(c->out, "num_replicas_per_host"), dt_strategy_replicas_per_host(s));
    expect_text(v, "host_device", json_object_get(c->out, "host_device"), dt_strategy_host_device(s));
    expect_json(v, "worker_devices", json_object_get(c->out, "worker_devices"), json_incref(devices), EXACT);
    expect_json(v, "parameter_devices", json_object_get(c->out, "parameter_devices"), devices, EXACT);
    expect_json(v, "logical devices", json_object_get(c->out, "tpu_devices_by_replica_and_logical_device"), logical, EXACT);
    expect_json(v, "input_workers", json_object_get(c->out, "input_workers"), workers, EXACT);
    expect_int(v, "steps_per_run", json_object_get(c->out, "steps_per_run"), 1); /* a call of run is a step */
    dt_strategy_unref(s);
}

/* ---- values ---- */

static dt_values *entry_of(verdict *v, const json_t *value)
{
    int n = json_is_array(value) ? (int)json_array_size(value) : 1;
    dt_tensor **t = calloc((size_t)n + 1, sizeof *t);
    dt_values *values = NULL;

    for (int i = 0; i < n; i++)
        t[i] = tensor_of(v, json_is_array(value) ? json_array_get(value, (size_t)i) : value);
    expect_ok(v, "values", dt_values_create(&values));
    if (json_is_array(value))
        expect_ok(v, "values", dt_values_set_per_replica(values, "x", t, n));
    else
        expect_ok(v, "values", dt_values_set(values, "x", t[0]));
    for (int i = 0; i < n; i++)
        dt_tensor_unref(t[i]);
    free(t);
    return values;
}

static int axis_of(const json_t *axis)
{
    return json_is_integer(axis) ? (int)json_integer_value(axis) : DT_NO_AXIS;
}

/* The original cannot divide integers here; the documents promise a mean for all dtypes, and ours is a true division everywhere. */
static bool is_mean_of_integers(const golden_case *c, dt_reduce_op op)
{
    const json_t *value = json_object_get(c->in, "value"), *first = json_is_array(value) ? json_array_get(value, 0) : value;
    const char *dtype = json_string_value(json_object_get(first, "dtype")), *kind = json_string_value(json_object_get(c->error, "type"));

    return op == DT_MEAN && dtype && strstr(dtype, "int") && kind && strcmp(kind, "TypeError") == 0;
}

static void expect_mean(const golden_case *c, verdict *v, const dt_tensor *got)
{
    const json_t *value = json_object_get(c->in, "value");
    size_t n = json_array_size(value);
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += json_double(json_array_get(json_object_get(json_array_get(value, i), "data"), 0));
    if (dt_tensor_dtype(got) != DT_FLOAT64 && dt_tensor_dtype(got) != DT_FLOAT32)
        differs(v, "the mean of integers is %s", dtype_name(dt_tensor_dtype(got)));
    else if (dt_tensor_dtype(got) == DT_FLOAT64 && json_is_null(json_object_get(c->in, "axis"))) {
        json_t *want = json_real(sum / (double)n);
        expect_double(v, "the first mean", want, *(const double *)dt_tensor_data(got), ELEMENTWISE);
        json_decref(want);
    }
}

static void run_reduce(const golden_case *c, verdict *v)
{
    const char *name = json_string_value(json_object_get(c->in, "reduce_op"));
    dt_reduce_op op = name && strcmp(name, "MEAN") == 0 ? DT_MEAN : DT_SUM;
    dt_strategy *s = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_values *values = entry_of(v, json_object_get(c->in, "value"));
    dt_tensor *got = NULL;
    dt_status *bad = dt_strategy_reduce(s, op, values, "x", axis_of(json_object_get(c->in, "axis")), &got);

    if (c->error && !is_mean_of_integers(c, op)) {
        expect_error(v, bad);
    } else {
        expect_ok(v, "reduce", bad);
        if (got && c->error)
            expect_mean(c, v, got);
        else if (got)
            expect_tensor(v, "result", json_object_get(c->out, "result"), got, ELEMENTWISE);
    }
    dt_tensor_unref(got);
    dt_values_unref(values);
    dt_strategy_unref(s);
}

const golden_op tpu_strategy_ops[] = {
    { "tpu_strategy_properties", run_properties, NULL },
    { "tpu_reduce", run_reduce, NULL },
    { "tpu_reduce_single", run_reduce, NULL },
    { "tpu_run_eager", NULL, "a step function is always traced; there is none that would run eagerly" },
    { "tpu_run_arguments", NULL, "C functions have no signatures to bind: arguments of a step are named, variables are captured" },
    { NULL, NULL, NULL },
};
