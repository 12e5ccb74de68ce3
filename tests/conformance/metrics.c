/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: the result before, after each update, after reset. */
#include "conformance.h"

#include <stdlib.h>

/* Sums of a few numbers, theirs in float32. */
#define SUMS ((tolerance){2e-6, 2e-7})

/* A list of numbers, [0.5] for a scalar. */
static void expect_result(verdict *v, const char *when, const json_t *want, const dt_meter *m) {
    dt_tensor *result = NULL;

    expect_ok(v, when, dt_meter_result(m, &result));
    if (!result) return;
    size_t n = (size_t)dt_tensor_elements(result);
    bool same = n == (json_is_array(want) ? json_array_size(want) : 1);
    if (!same) differs(v, "%s: %zu results, expected %zu", when, n, json_array_size(want));
    for (size_t i = 0; same && i < n; i++)
        expect_double(v, when, json_is_array(want) ? json_array_get(want, i) : want,
                      (double)((const float *)dt_tensor_data(result))[i], SUMS);
    dt_tensor_unref(result);
}

static dt_tensor *optional(verdict *v, const json_t *tensor) {
    return json_is_object(tensor) ? tensor_of(v, tensor) : NULL;
}

/* Two arguments are target and prediction, one is a value by itself. */
static dt_status *update(verdict *v, dt_meter *m, const json_t *u) {
    const json_t *args = json_object_get(u, "args");
    bool pair = json_array_size(args) > 1;
    dt_tensor *y = pair ? optional(v, json_array_get(args, 0)) : NULL,
              *p = optional(v, json_array_get(args, pair ? 1 : 0));
    dt_tensor *w = optional(v, json_object_get(u, "sample_weight"));
    dt_status *s = dt_meter_update(m, y, p, w);

    dt_tensor_unref(w);
    dt_tensor_unref(p);
    dt_tensor_unref(y);
    return s;
}

static void expect_updates(const golden_case *c, verdict *v, dt_meter *m) {
    const json_t *results = json_object_get(c->out, "result_before_and_after_each_update"), *u;
    size_t i;

    expect_result(v, "before", json_array_get(results, 0), m);
    json_array_foreach(json_object_get(c->in, "updates"), i, u) {
        char when[48];
        snprintf(when, sizeof when, "after update %zu", i + 1);
        expect_ok(v, when, update(v, m, u));
        expect_result(v, when, json_array_get(results, i + 1), m);
    }
    expect_ok(v, "reset", dt_meter_reset(m));
    expect_result(v, "after reset", json_object_get(c->out, "result_after_reset"), m);
}

static void expect_fault(const golden_case *c, verdict *v, dt_meter *m, dt_status *s) {
    const json_t *u;
    size_t i;

    json_array_foreach(json_object_get(c->in, "updates"), i, u) if (!s && m) s = update(v, m, u);
    expect_error(v, s);
}

static void run_metric(const golden_case *c, verdict *v) {
    char *fragment = fragment_of(json_string_value(json_object_get(c->in, "class")),
                                 json_object_get(c->in, "arguments"));
    dt_meter *m = NULL;
    dt_status *s = dt_meter_create(&m, "%s", fragment);

    if (c->error) {
        expect_fault(c, v, m, s);
    } else {
        expect_ok(v, fragment, s);
        if (m) expect_updates(c, v, m);
    }
    dt_meter_unref(m);
    free(fragment);
}

const golden_op metrics_ops[] = {
    {"metric", run_metric, NULL},
    {"metric_error", run_metric, NULL},
    {"metric_constructor", run_metric, NULL},
    {0},
};
