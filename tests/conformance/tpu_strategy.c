/* SPDX-License-Identifier: Apache-2.0 */
/* TPUStrategy over a slice that is made up: names, hosts, replicas, and its values. */
#include "pipelines.h"
#include "placement.h"

#include <stdlib.h>
#include <string.h>

/* ---- properties ---- */

static json_t *logical_names(verdict *v, const dt_strategy *s, int replica) {
    json_t *list = json_array();

    for (int l = 0; l < dt_strategy_logical_devices(s); l++) {
        const char *name = "?";
        expect_ok(v, "a logical device", dt_strategy_logical_device(s, replica, l, &name));
        json_array_append_new(list, json_string(name));
    }
    return list;
}

static json_t *input_worker(const dt_strategy *s, int worker) {
    json_t *devices = json_array();

    for (int r = 0; r < dt_strategy_replicas(s); r++)
        if (dt_strategy_input_worker(s, r) == worker)
            json_array_append_new(devices, json_string(dt_strategy_device(s, r)));
    return json_pack("{s:s, s:o}", "host", dt_strategy_input_host(s, worker), "devices", devices);
}

static void run_properties(const golden_case *c, verdict *v) {
    dt_strategy *s = strategy_of(v, json_object_get(c->in, "strategy"));
    json_t *devices = json_array(), *logical = json_array(), *workers = json_array();

    for (int r = 0; s && r < dt_strategy_replicas(s); r++) {
        json_array_append_new(devices, json_string(dt_strategy_device(s, r)));
        json_array_append_new(logical, logical_names(v, s, r));
    }
    for (int w = 0; w < dt_strategy_input_workers(s); w++)
        json_array_append_new(workers, input_worker(s, w));
    expect_int(v, "num_replicas_in_sync", json_object_get(c->out, "num_replicas_in_sync"),
               s ? dt_strategy_replicas(s) : -1);
    expect_int(v, "num_hosts", json_object_get(c->out, "num_hosts"), dt_strategy_num_hosts(s));
    expect_int(v, "num_replicas_per_host", json_object_get(c->out, "num_replicas_per_host"),
               dt_strategy_replicas_per_host(s));
    expect_text(v, "host_device", json_object_get(c->out, "host_device"),
                dt_strategy_host_device(s));
    expect_json(v, "worker_devices", json_object_get(c->out, "worker_devices"),
                json_incref(devices), EXACT);
    expect_json(v, "parameter_devices", json_object_get(c->out, "parameter_devices"), devices,
                EXACT);
    expect_json(v, "logical devices",
                json_object_get(c->out, "tpu_devices_by_replica_and_logical_device"), logical,
                EXACT);
    expect_json(v, "input_workers", json_object_get(c->out, "input_workers"), workers, EXACT);
    /* a call of run is a step */
    expect_int(v, "steps_per_run", json_object_get(c->out, "steps_per_run"), 1);
    dt_strategy_unref(s);
}

/* ---- values ---- */

static dt_values *entry_of(verdict *v, const json_t *value) {
    int n = json_is_array(value) ? (int)json_array_size(value) : 1;
    dt_tensor **t = calloc((size_t)n + 1, sizeof *t);
    dt_values *values = NULL;

    for (int i = 0; i < n; i++)
        t[i] = tensor_of(v, json_is_array(value) ? json_array_get(value, (size_t)i) : value);
    expect_ok(v, "values", dt_values_create(&values));
    if (json_is_array(value)) expect_ok(v, "values", dt_values_set_per_replica(values, "x", t, n));
    else expect_ok(v, "values", dt_values_set(values, "x", t[0]));
    for (int i = 0; i < n; i++) dt_tensor_unref(t[i]);
    free(t);
    return values;
}

static int axis_of(const json_t *axis) {
    return json_is_integer(axis) ? (int)json_integer_value(axis) : DT_NO_AXIS;
}

/* The original cannot divide integers here; the documents promise a mean for all dtypes, and ours
 * is a true division everywhere. */
static bool is_mean_of_integers(const golden_case *c, dt_reduce_op op) {
    const json_t *value = json_object_get(c->in, "value"),
                 *first = json_is_array(value) ? json_array_get(value, 0) : value;
    const char *dtype = json_string_value(json_object_get(first, "dtype")),
               *kind = json_string_value(json_object_get(c->error, "type"));

    return op == DT_MEAN && dtype && strstr(dtype, "int") && kind && strcmp(kind, "TypeError") == 0;
}

static void expect_mean(const golden_case *c, verdict *v, const dt_tensor *got) {
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

static void run_reduce(const golden_case *c, verdict *v) {
    const char *name = json_string_value(json_object_get(c->in, "reduce_op"));
    dt_reduce_op op = name && strcmp(name, "MEAN") == 0 ? DT_MEAN : DT_SUM;
    dt_strategy *s = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_values *values = entry_of(v, json_object_get(c->in, "value"));
    dt_tensor *got = NULL;
    dt_status *bad =
        dt_strategy_reduce(s, op, values, "x", axis_of(json_object_get(c->in, "axis")), &got);

    if (c->error && !json_is_array(json_object_get(c->in, "value"))) {
        /* the original prints the tensor, ours names it */
        expect_error_of(v, bad, "ValueError", NULL, 0);
    } else if (c->error && !is_mean_of_integers(c, op)) {
        expect_error(v, bad);
    } else {
        expect_ok(v, "reduce", bad);
        if (got && c->error) expect_mean(c, v, got);
        else if (got)
            expect_tensor(v, "result", json_object_get(c->out, "result"), got, ELEMENTWISE);
    }
    dt_tensor_unref(got);
    dt_values_unref(values);
    dt_strategy_unref(s);
}

static void run_gather(const golden_case *c, verdict *v) {
    const json_t *value = json_object_get(c->in, "value"),
                 *shape = json_object_get(json_array_get(value, 0), "shape");
    int axis = (int)json_integer_value(json_object_get(c->in, "axis")),
        rank = (int)json_array_size(shape);
    dt_strategy *s = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_values *values = entry_of(v, value);
    dt_tensor *got = NULL;
    dt_status *bad = dt_strategy_gather(s, values, "x", axis, &got);

    if (axis < -rank || axis >= rank) /* our own check: see gather.c */
        expect_error_of(v, bad, "ValueError", (int[]){axis, rank}, 2);
    else if (c->error) expect_error_of(v, bad, "InvalidArgumentError", NULL, 0);
    else {
        expect_ok(v, "gather", bad);
        expect_tensor(v, "result", json_object_get(c->out, "result"), got, EXACT);
    }
    dt_tensor_unref(got);
    dt_values_unref(values);
    dt_strategy_unref(s);
}

/* ---- values from a function ---- */

typedef struct worded {
    verdict *v;
    const py *p;
} worded;

/* "[1..8][replica_id] * num_replicas_in_sync": an expression of the context; numbers are what
 * Python makes of them. */
static dt_status *value_of(const dt_value_context *context, dt_values *out, void *user) {
    const worded *w = user;
    const char *why;
    dt_status *s = NULL;
    array a;

    if (!array_eval(py_body(w->p), &(names){.vc = context}, &a, &why, &s)) {
        if (!s) differs(w->v, "unknown wording of a value_fn: %s", why);
        return s;
    }
    dt_tensor *t = array_tensor(&a);
    s = dt_values_set(out, "x", t);
    dt_tensor_unref(t);
    array_release(&a);
    return s;
}

static void run_values(const golden_case *c, verdict *v) {
    dt_strategy *s = strategy_of(v, json_object_get(c->in, "strategy"));
    const char *text = json_string_value(json_object_get(c->in, "value_fn")), *why = "no text";
    py *p = text ? py_read(text, &why) : NULL;
    dt_values *values = NULL;
    json_t *got = json_array();

    if (p)
        expect_ok(v, "values from a function",
                  dt_strategy_values_from_function(s, value_of, &(worded){v, p}, &values));
    else differs(v, "unknown wording of a value_fn, '%s': %s", text ? text : "?", why);
    for (int r = 0; values && r < dt_values_locals(values, "x"); r++)
        json_array_append_new(got, json_real(dt_tensor_item(dt_values_local(values, "x", r))));
    expect_text(v, "kind", json_object_get(c->out, "kind"),
                values && dt_values_is_per_replica(values, "x") ? "PerReplica" : "Tensor");
    expect_json(v, "local_results", json_object_get(c->out, "local_results"), got, EXACT);
    dt_values_unref(values);
    dt_strategy_unref(s);
    py_free(p);
}

/* ---- data sets ---- */

static dt_status *no_data(const dt_input_context *context, void *user, dt_dataset **out) {
    (void)context, (void)user;
    return dt_dataset_range(out, 0, 8, 1);
}

static void run_dataset_spec(const golden_case *c, verdict *v) {
    const char *text = json_string_value(json_object_get(c->in, "dataset"));
    dt_strategy *s = strategy_of(v, json_object_get(c->in, "strategy"));
    const dt_input_options each = {.replication_mode = DT_PER_REPLICA};
    dt_dataset *data = NULL;
    dt_dist_dataset *d = NULL;

    if (!strstr(text, "PER_REPLICA")) {
        v->skipped = "tensors are dense: there are no ragged or sparse ones to be refused";
    } else if (strstr(text, "function")) {
        expect_error(v, dt_strategy_distribute_datasets_from_function(s, no_data, NULL, &each, &d));
    } else {
        expect_ok(v, "a data set", dt_dataset_range(&data, 0, 8, 1));
        expect_error(v, dt_strategy_distribute_dataset(s, data, &each, &d));
    }
    dt_dist_dataset_unref(d);
    dt_dataset_unref(data);
    dt_strategy_unref(s);
}

/* ---- scope ---- */

static json_t *observed(const char *key, const json_t *want, dt_strategy *s) {
    dt_strategy *current = dt_get_strategy();

    if (strcmp(key, "get_strategy") == 0 && json_is_string(want) &&
        strncmp(json_string_value(want), "TPUStrategy", 11) == 0)
        return strcmp(dt_strategy_type(current), "tpu") == 0
                   ? json_deep_copy(want)
                   : json_string(dt_strategy_type(current));
    if (strcmp(key, "is_this_strategy") == 0) return json_boolean(current == s);
    if (strcmp(key, "has_strategy") == 0) return json_boolean(dt_has_strategy());
    if (strcmp(key, "in_cross_replica_context") == 0)
        return json_boolean(dt_in_cross_replica_context());
    if (strcmp(key, "num_replicas_in_sync") == 0)
        return json_integer(dt_strategy_replicas(current));
    if (strcmp(key, "get_replica_context") == 0 || strcmp(key, "replica_id") == 0)
        return current == s ? json_null() : json_integer(0);
    return NULL;
}

static void run_scope(const golden_case *c, verdict *v) {
    dt_strategy *s = strategy_of(v, json_object_get(c->in, "strategy"));
    const char *key;
    json_t *want;

    DT_SCOPE(s)
    json_object_foreach((json_t *)c->out, key, want)
        expect_json(v, key, want, observed(key, want, s), EXACT);
    dt_strategy_unref(s);
}

const golden_op tpu_strategy_ops[] = {
    {"tpu_strategy_properties", run_properties, NULL},
    {"tpu_reduce", run_reduce, NULL},
    {"tpu_reduce_single", run_reduce, NULL},
    {"tpu_gather", run_gather, NULL},
    {"tpu_values", run_values, NULL},
    {"tpu_dataset_spec", run_dataset_spec, NULL},
    {"tpu_scope", run_scope, NULL},
    {"tpu_run_eager", NULL,
     "a step function is always traced; there is none that would run eagerly"},
    {"tpu_run_arguments", NULL,
     "C functions have no signatures to bind: arguments of a step are named, variables are "
     "captured"},
    {NULL, NULL, NULL},
};
