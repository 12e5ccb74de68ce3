/* SPDX-License-Identifier: Apache-2.0 */
/* distribute_values_from_function and local results. The function of a case is described by its
 * kind; here each kind is a few lines of C. */
#include "pipelines.h"

#include <stdlib.h>
#include <string.h>

/* ---- functions ---- */

typedef struct maker {
    verdict *v;
    const json_t *fn;
    const dt_strategy *strategy;
} maker;

static dt_status *set_int(dt_values *out, const char *name, int32_t x) {
    dt_tensor *t = NULL;
    dt_status *s = dt_tensor_create(&t, DT_INT32, 0, NULL, &x);

    if (!s) s = dt_values_set(out, name, t);
    dt_tensor_unref(t);
    return s;
}

static dt_status *set_float(dt_values *out, const char *name, float x) {
    dt_tensor *t = NULL;
    dt_status *s = dt_tensor_create(&t, DT_FLOAT32, 0, NULL, &x);

    if (!s) s = dt_values_set(out, name, t);
    dt_tensor_unref(t);
    return s;
}

static dt_status *replica_id(const maker *m, const dt_value_context *c, dt_values *out) {
    (void)m;
    return set_int(out, "result", c->replica_id_in_sync_group);
}

static dt_status *replicas(const maker *m, const dt_value_context *c, dt_values *out) {
    (void)m;
    return set_int(out, "result", c->num_replicas_in_sync);
}

static dt_status *constant(const maker *m, const dt_value_context *c, dt_values *out) {
    (void)c;
    set_value(m->v, out, "result", json_object_get(m->fn, "value"));
    return NULL;
}

static dt_status *placed(const maker *m, const dt_value_context *c, dt_values *out) {
    const json_t *values = json_object_get(m->fn, "values");
    const char *device = dt_strategy_device(m->strategy, c->replica_id_in_sync_group);

    expect_text(
        m->v, "device",
        json_array_get(json_object_get(m->fn, "devices"), (size_t)c->replica_id_in_sync_group),
        device);
    set_value(m->v, out, "result", json_array_get(values, (size_t)c->replica_id_in_sync_group));
    return NULL;
}

static dt_status *indexed(const maker *m, int index, dt_values *out) {
    const json_t *data = json_object_get(json_object_get(m->fn, "array"), "data");
    int size = (int)json_array_size(data);
    dt_tensor *t = NULL;
    double x;

    if (index >= size)
        return dt_status_create(INDEX_ERROR, "index %d is outside an array of %d along axis 0",
                                index, size);
    x = json_double(json_array_get(data, (size_t)index));
    dt_status *s = dt_tensor_create(&t, DT_FLOAT64, 0, NULL, &x);
    if (!s) s = dt_values_set(out, "result", t);
    dt_tensor_unref(t);
    return s;
}

static dt_status *by_id(const maker *m, const dt_value_context *c, dt_values *out) {
    return indexed(m, c->replica_id_in_sync_group, out);
}

static dt_status *by_id_plus_3(const maker *m, const dt_value_context *c, dt_values *out) {
    return indexed(m, c->replica_id_in_sync_group + 3, out);
}

static dt_status *count_to_id(const maker *m, const dt_value_context *c, dt_values *out) {
    int64_t n = c->replica_id_in_sync_group + 1;
    int32_t *x = calloc((size_t)n, sizeof *x);
    dt_tensor *t = NULL;

    (void)m;
    for (int32_t i = 0; i < n; i++) x[i] = i;
    dt_status *s = dt_tensor_create(&t, DT_INT32, 1, &n, x);
    if (!s) s = dt_values_set(out, "result", t);
    dt_tensor_unref(t);
    free(x);
    return s;
}

static dt_status *tuple(const maker *m, const dt_value_context *c, dt_values *out) {
    dt_status *s = set_int(out, "0", c->replica_id_in_sync_group);

    (void)m;
    return s ? s : set_int(out, "1", 2 * c->replica_id_in_sync_group);
}

static dt_status *tuple_of_length(const maker *m, const dt_value_context *c, dt_values *out) {
    dt_status *s = NULL;
    char name[16];

    (void)m;
    for (int i = 0; i <= c->replica_id_in_sync_group && !s; i++) {
        snprintf(name, sizeof name, "%d", i);
        s = set_int(out, name, c->replica_id_in_sync_group);
    }
    return s;
}

static dt_status *dict(const maker *m, const dt_value_context *c, dt_values *out) {
    dt_status *s = set_int(out, "a", c->replica_id_in_sync_group);

    (void)m;
    return s ? s : set_float(out, "b/0", 1.5f);
}

static dt_status *text(const maker *m, const dt_value_context *c, dt_values *out) {
    char name[16];
    int64_t n = snprintf(name, sizeof name, "r%d", c->replica_id_in_sync_group);
    dt_tensor *t = NULL;
    dt_status *s = dt_tensor_create(&t, DT_UINT8, 1, &n, name);

    (void)m;
    if (!s) s = dt_values_set(out, "result", t);
    dt_tensor_unref(t);
    return s;
}

static dt_status *nothing(const maker *m, const dt_value_context *c, dt_values *out) {
    (void)m, (void)c, (void)out;
    return NULL;
}

static const struct named {
    const char *kind;
    dt_status *(*make)(const maker *m, const dt_value_context *c, dt_values *out);
} functions[] = {
    {"constant_tensor", constant},
    {"same_tensor_object", constant},
    {"tensors_placed_on_worker_devices", placed},
    {"replica_id_in_sync_group", replica_id},
    {"num_replicas_in_sync", replicas},
    {"numpy_array_indexed_by_replica_id", by_id},
    {"numpy_array_indexed_by_replica_id_plus_3", by_id_plus_3},
    {"arange_of_id_plus_1", count_to_id},
    {"tuple_of_id_and_twice_id", tuple},
    {"tuple_length_id_plus_1", tuple_of_length},
    {"dict_a_id_b_list", dict},
    {"python_string", text},
    {"none", nothing},
};

/* ---- functions in words: an expression of the context, or a nest of them ---- */

static dt_status *set_evaluated(const maker *m, const dt_value_context *c, const char *name,
                                const py *p, dt_values *out) {
    const json_t *given = json_object_get(m->fn, "array");
    dt_tensor *t = given ? tensor_of(m->v, given) : NULL;
    array a = t ? array_of_tensor(t) : (array){0}, x;
    const names n = {.n = t ? 3 : 0,
                     .name = (const char *const[]){"array", "array_value", "values"},
                     .value = (const array *const[]){&a, &a, &a},
                     .vc = c};
    const char *why;
    dt_status *s = NULL;

    dt_tensor_unref(t);
    if (array_eval(p, &n, &x, &why, &s)) {
        t = array_tensor(&x);
        s = dt_values_set(out, name, t);
        dt_tensor_unref(t);
        array_release(&x);
    } else if (!s) {
        differs(m->v, "unknown wording of a value_fn: %s", why);
    }
    if (given) array_release(&a);
    return s;
}

static dt_status *set_nest(const maker *m, const dt_value_context *c, const char *path, const py *p,
                           dt_values *out) {
    char inner[128];
    dt_status *s = NULL;

    if (py_is(p, "None")) return NULL;
    if (p->kind == PY_STRING) {
        int64_t n = (int64_t)strlen(p->text);
        dt_tensor *t = NULL;
        s = dt_tensor_create(&t, DT_UINT8, 1, &n, p->text);
        if (!s) s = dt_values_set(out, *path ? path : "result", t);
        dt_tensor_unref(t);
        return s;
    }
    if (p->kind != PY_TUPLE && p->kind != PY_DICT && p->kind != PY_LIST)
        return set_evaluated(m, c, *path ? path : "result", p, out);
    for (int i = 0; i < p->n && !s; i++) {
        const py *x = p->in[i];
        if (x->kind == PY_KEYWORD)
            snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "/" : "", x->text);
        else snprintf(inner, sizeof inner, "%s%s%d", path, *path ? "/" : "", i);
        s = set_nest(m, c, inner, x->kind == PY_KEYWORD ? x->in[0] : x, out);
    }
    return s;
}

/* Kinds are words joined by underscores; those that no row has are read as words of an expression:
 * id_plus_1 is id + 1. */
static char *spelled_out(const char *kind) {
    static const char *const rows[][2] = {
        {"_plus_", " + "}, {"_minus_", " - "}, {"_times_", " * "},
        {"_over_", " / "}, {"twice_", "2 * "}, {"squared_", ""},
        {"constant ", ""}, {"return ", ""},    {"returns ", ""},
    };
    char *out = calloc(2 * strlen(kind) + 1, 1), *to = out;

    while (*kind) {
        size_t i = 0, n = sizeof rows / sizeof *rows;
        while (i < n && strncmp(rows[i][0], kind, strlen(rows[i][0])) != 0) i++;
        if (i == n) {
            *to++ = *kind++;
            continue;
        }
        to = stpcpy(to, rows[i][1]);
        kind += strlen(rows[i][0]);
    }
    return out;
}

static const char *kind_of(const json_t *fn) {
    static const char *const keys[] = {"kind", "expression", "fn", "text"};
    const char *text = json_string_value(fn);
    for (size_t i = 0; !text && i < sizeof keys / sizeof *keys; i++)
        text = json_string_value(json_object_get(fn, keys[i]));
    return text ? text : "?";
}

static dt_status *make(const dt_value_context *context, dt_values *out, void *user) {
    const maker *m = user;
    const char *kind = kind_of(m->fn), *why;

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].kind, kind) == 0) return functions[i].make(m, context, out);
    char *text = spelled_out(kind);
    py *p = py_read(text, &why);
    dt_status *s = p ? set_nest(m, context, "", py_body(p), out) : NULL;
    if (!p) differs(m->v, "unknown wording of a value_fn, '%s': %s", kind, why);
    py_free(p);
    free(text);
    return s;
}

static void run_from_function(const golden_case *c, verdict *v) {
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    maker m = {v, json_object_get(c->in, "value_fn"), strategy};
    dt_values *values = NULL;

    if (!strategy) return;
    dt_status *s = dt_strategy_values_from_function(strategy, make, &m, &values);
    if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, "values from a function", s);
        expect_value(v, &(value_at){"distributed", values, "", result_name, -1},
                     json_object_get(c->out, "distributed"));
        expect_locals(v, "local results", json_object_get(c->out, "local_results"), values);
    }
    dt_values_unref(values);
    dt_strategy_unref(strategy);
}

/* ---- in a step function ---- */

typedef struct inside {
    maker m;
    dt_status *s;
} inside;

static void step(dt_trace *t, void *user) {
    inside *in = user;
    dt_values *values = NULL;

    (void)t;
    in->s = dt_strategy_values_from_function((dt_strategy *)in->m.strategy, make, &in->m, &values);
    dt_values_unref(values);
}

static void run_in_replica_context(const golden_case *c, verdict *v) {
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    json_t *fn = json_pack("{s:s}", "kind", "num_replicas_in_sync");
    inside in = {{v, fn, strategy}, NULL};
    dt_function *f = NULL;

    if (strategy) {
        expect_ok(v, "function", dt_function_create(&f, step, &in));
        expect_ok(v, "run", dt_strategy_run(strategy, f, NULL, NULL));
        if (c->error) expect_error(v, in.s);
        else expect_ok(v, "values from a function", in.s);
    }
    json_decref(fn);
    dt_function_unref(f);
    dt_strategy_unref(strategy);
}

/* ---- what the function sees ---- */

typedef struct seen {
    verdict *v;
    const json_t *want;
} seen;

static dt_status *look(const dt_value_context *c, dt_values *out, void *user) {
    const seen *s = user;
    char text_of[64];

    (void)out;
    snprintf(text_of, sizeof text_of, "ValueContext %d/%d", c->replica_id_in_sync_group,
             c->num_replicas_in_sync);
    expect_text(
        s->v, "context",
        json_object_get(json_array_get(s->want, (size_t)c->replica_id_in_sync_group), "value"),
        text_of);
    return NULL;
}

static void run_context(const golden_case *c, verdict *v) {
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    seen s = {v, json_object_get(c->out, "seen")};
    dt_values *values = NULL;

    if (strategy)
        expect_ok(v, "values from a function",
                  dt_strategy_values_from_function(strategy, look, &s, &values));
    dt_values_unref(values);
    dt_strategy_unref(strategy);
}

/* ---- local results ---- */

static void set_variable(verdict *v, dt_strategy *strategy, const json_t *value, dt_values *out) {
    /* recorded: the initial value as float32 */
    json_t *as_float = json_deep_copy(json_object_get(value, "value"));
    dt_variable *variable = NULL;

    json_object_set_new(as_float, "dtype", json_string("float32"));
    dt_tensor *t = tensor_of(v, as_float);
    DT_SCOPE(strategy)
    expect_ok(v, "variable", dt_variable_create(&variable, t, NULL));
    expect_ok(v, "values", dt_values_set_variable(out, "result", variable));
    dt_variable_unref(variable);
    dt_tensor_unref(t);
    json_decref(as_float);
}

static void run_local_results(const golden_case *c, verdict *v) {
    const json_t *value = json_object_get(c->in, "value"),
                 *items = json_object_get(value, "values");
    const char *kind = json_string_value(json_object_get(value, "kind"));
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_values *values = NULL;

    expect_ok(v, "values", dt_values_create(&values));
    if (!strategy || !kind) {
        differs(v, "no value of any kind");
    } else if (strstr(kind, "Variable")) {
        set_variable(v, strategy, value, values);
    } else if (items) {
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(items); i++)
            json_array_append(list, json_object_get(json_array_get(items, i), "value"));
        set_value(v, values, "result", list);
        json_decref(list);
    } else if (json_is_number(json_object_get(value, "value"))) {
        expect_ok(
            v, "values",
            set_float(values, "result", (float)json_number_value(json_object_get(value, "value"))));
    } else {
        set_value(v, values, "result", json_object_get(value, "value"));
    }
    expect_locals(v, "local results", json_object_get(c->out, "local_results"), values);
    if (dt_values_locals(values, "result") !=
        (int)json_array_size(json_object_get(c->out, "local_results")))
        differs(v, "%d local results", dt_values_locals(values, "result"));
    dt_values_unref(values);
    dt_strategy_unref(strategy);
}

const golden_op values_ops[] = {
    {"distribute_values_from_function", run_from_function, NULL},
    {"distribute_values_from_function_in_replica_context", run_in_replica_context, NULL},
    {"value_context", run_context, NULL},
    {"experimental_local_results", run_local_results, NULL},
    {0},
};
