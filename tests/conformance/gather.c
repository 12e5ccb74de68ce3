/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strategy.gather. The original does not check its axis: whatever op stumbles over it first
 * complains, in its own words, and some dtypes have no such op. Here there is one error for an axis
 * outside the value, one for parts that do not fit, and all dtypes can be gathered.
 */
#include "conformance.h"

#include <string.h>

static int rank_of(const json_t *value) {
    const json_t *first = json_is_array(value) ? json_array_get(value, 0) : value;
    int rank = 0;
    if (json_object_get(first, "shape"))
        return (int)json_array_size(json_object_get(first, "shape"));
    for (; json_is_array(first); first = json_array_get(first, 0)) /* an array written as such */
        rank++;
    return rank;
}

/* dtypes that no collective of the original takes: the parts must come out one after the other. */
static void expect_joined(verdict *v, const json_t *value, const dt_tensor *got) {
    int64_t elements = 0;
    const json_t *part;
    size_t i;

    json_array_foreach(value, i, part) elements +=
        (int64_t)json_array_size(json_object_get(part, "data"));
    if (dt_tensor_elements(got) != elements)
        differs(v, "%lld elements gathered of %lld", (long long)dt_tensor_elements(got),
                (long long)elements);
}

static void judge(const golden_case *c, verdict *v, dt_status *s, const dt_tensor *result) {
    const json_t *value = json_object_get(c->in, "value");
    const char *type = json_string_value(json_object_get(c->error, "type"));
    int axis = (int)json_integer_value(json_object_get(c->in, "axis")), rank = rank_of(value);

    if (axis < -rank || axis >= rank) {
        expect_error_of(v, s, "ValueError", (int[]){axis, rank}, 2);
    } else if (type && strcmp(type, "TypeError") == 0) {
        expect_ok(v, "gather", s);
        expect_joined(v, value, result);
    } else if (c->error) {
        expect_error_of(v, s, "InvalidArgumentError", NULL, 0);
    } else {
        expect_ok(v, "gather", s);
        expect_tensor(v, "result", json_object_get(c->out, "result"), result, EXACT);
    }
}

static void run_gather(const golden_case *c, verdict *v) {
    const json_t *axis = json_object_get(c->in, "axis");
    dt_strategy *strategy = strategy_of(v, json_object_get(c->in, "strategy"));
    dt_values *values = NULL;
    dt_tensor *result = NULL;

    expect_ok(v, "values", dt_values_create(&values));
    if (strategy && set_case_value(v, values, "x", c->in)) {
        dt_status *s =
            dt_strategy_gather(strategy, values, "x", (int)json_integer_value(axis), &result);
        judge(c, v, s, result);
    }
    dt_tensor_unref(result);
    dt_values_unref(values);
    dt_strategy_unref(strategy);
}

const golden_op gather_ops[] = {
    {"gather", run_gather, NULL},
    {"gather_indexed_slices", NULL,
     "IndexedSlices are objects of Python; here every tensor is dense"},
    {0},
};
