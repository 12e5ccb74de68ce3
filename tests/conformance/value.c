/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of the schema, of any kind and nested, against named values of the library. A nest is a
 * path: item 0 of the list 'b' is "b/0". What Python calls int, float64 or str is a scalar here, or
 * a row of bytes.
 */
#include "conformance.h"

#include <stdio.h>
#include <string.h>

static const char *text_at(const json_t *j, const char *key) {
    const char *text = json_string_value(json_object_get(j, key));
    return text ? text : "";
}

static bool is_one_of(const char *kind, const char *const *kinds) {
    for (; *kinds; kinds++)
        if (strcmp(kind, *kinds) == 0) return true;
    return false;
}

/* ---- one tensor ---- */

static void expect_bytes(verdict *v, const char *what, const char *want, const dt_tensor *got) {
    size_t n = got ? (size_t)dt_tensor_elements(got) : 0;

    if (!got || dt_tensor_dtype(got) != DT_UINT8 || n != strlen(want) ||
        memcmp(dt_tensor_data(got), want, n) != 0)
        differs(v, "%s: not the text '%s'", what, want);
}

static void expect_local(verdict *v, const char *what, const json_t *want, const dt_tensor *got) {
    static const char *const tensors[] = {"Tensor", "Variable", NULL};
    const json_t *value = json_object_get(want, "value");
    const char *kind = text_at(want, "kind");

    if (!got) differs(v, "%s: nothing, expected a value of kind %s", what, kind);
    else if (is_one_of(kind, tensors)) expect_tensor(v, what, value, got, ELEMENTWISE);
    else if (strcmp(kind, "str") == 0)
        expect_bytes(v, what, json_string_value(value) ? json_string_value(value) : "", got);
    else if (json_is_number(value) && dt_tensor_rank(got) == 0)
        expect_double(v, what, value, dt_tensor_item(got), ELEMENTWISE);
    else differs(v, "%s: a value of kind '%s' is not known", what, kind);
}

/* ---- nests ---- */

static void expect_item(verdict *v, const value_at *at, const char *key, const json_t *want) {
    char path[512], what[512];
    value_at item = *at;

    snprintf(path, sizeof path, "%s%s%s", at->path, *at->path ? "/" : "", key);
    snprintf(what, sizeof what, "%s/%s", at->what, key);
    item.path = path;
    item.what = what;
    expect_value(v, &item, want);
}

static void expect_items(verdict *v, const value_at *at, const json_t *items) {
    const char *key;
    const json_t *item;
    size_t i;

    if (json_is_array(items)) json_array_foreach(items, i, item) {
            char number[24];
            snprintf(number, sizeof number, "%zu", i);
            expect_item(v, at, number, item);
        }
    else json_object_foreach((json_t *)items, key, item) expect_item(v, at, key, item);
}

/* ---- distributed ---- */

static bool all_none(const json_t *values) {
    const json_t *value;
    size_t i;

    json_array_foreach(values, i,
                       value) if (strcmp(text_at(value, "kind"), "None") != 0) return false;
    return true;
}

static void expect_each(verdict *v, const value_at *at, const json_t *want) {
    const json_t *values = json_object_get(want, "values"), *value;
    const char *is = dt_values_kind(at->values, at->name(at->path)), *ought = text_at(want, "kind");
    size_t i;

    if (all_none(values) && !is) return; /* None of each replica: nothing was set */
    if (!is || strcmp(is, ought) != 0) {
        differs(v, "%s: %s, expected %s", at->what, is ? is : "nothing", ought);
        return;
    }
    if ((size_t)dt_values_locals(at->values, at->name(at->path)) != json_array_size(values))
        differs(v, "%s: %d values, expected %zu", at->what,
                dt_values_locals(at->values, at->name(at->path)), json_array_size(values));
    json_array_foreach(values, i, value)
        expect_local(v, at->what, value, dt_values_local(at->values, at->name(at->path), (int)i));
}

static void expect_single(verdict *v, const value_at *at, const json_t *want) {
    const char *name = at->name(at->path), *is = dt_values_kind(at->values, name);

    if (at->replica < 0 && is && dt_values_locals(at->values, name) > 1)
        differs(v, "%s: %s, expected a single %s", at->what, is, text_at(want, "kind"));
    expect_local(v, at->what, want,
                 dt_values_local(at->values, name, at->replica < 0 ? 0 : at->replica));
}

const char *result_name(const char *path) { return *path ? path : "result"; }

void expect_value(verdict *v, const value_at *at, const json_t *want) {
    static const char *const nests[] = {"tuple", "list", "dict", NULL};
    static const char *const distributed[] = {"PerReplica", "Mirrored", "MirroredVariable",
                                              "SyncOnReadVariable", NULL};
    const char *kind = text_at(want, "kind");

    if (is_one_of(kind, nests)) {
        expect_items(v, at, json_object_get(want, "items"));
    } else if (strcmp(kind, "None") == 0) {
        if (dt_values_kind(at->values, at->name(at->path)))
            differs(v, "%s: a value, expected None", at->what);
    } else if (is_one_of(kind, distributed)) {
        expect_each(v, at, want);
    } else {
        expect_single(v, at, want);
    }
}

void expect_locals(verdict *v, const char *what, const json_t *want, const dt_values *values) {
    const json_t *value;
    size_t i;

    json_array_foreach(want, i, value)
        expect_value(v, &(value_at){what, values, "", result_name, (int)i}, value);
}
