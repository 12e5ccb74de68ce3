/* SPDX-License-Identifier: Apache-2.0 */
/* What comes out of data sets, in the recorded form: nests of lists of numbers. */
#include "pipelines.h"

#include <stdlib.h>
#include <string.h>

/* ---- tensors as lists ---- */

static json_t *nested(const json_t *data, const dt_tensor *t, int axis, size_t *at) {
    if (axis == dt_tensor_rank(t)) return json_incref(json_array_get(data, (*at)++));
    json_t *list = json_array();
    for (int64_t i = 0; i < dt_tensor_dim(t, axis); i++)
        json_array_append_new(list, nested(data, t, axis + 1, at));
    return list;
}

static json_t *lists_of(const dt_tensor *t) {
    json_t *flat = json_of_tensor(t);
    size_t at = 0;

    if (!t) return flat;
    json_t *out = nested(json_object_get(flat, "data"), t, 0, &at);
    json_decref(flat);
    return out;
}

/* ---- nests ---- */

static void put_path(json_t *tree, const char *path, json_t *leaf) {
    const char *slash = strchr(path, '/');

    if (!slash) {
        json_object_set_new(tree, path, leaf);
        return;
    }
    char *key = strndup(path, (size_t)(slash - path));
    json_t *inner = json_object_get(tree, key);
    if (!inner) json_object_set_new(tree, key, inner = json_object());
    put_path(inner, slash + 1, leaf);
    free(key);
}

/* Keys 0, 1, ... are a tuple; a lone "value" is no nest at all. */
static json_t *as_nest(json_t *tree) {
    size_t n = json_object_size(tree);
    json_t *list = json_array(), *only = json_object_get(tree, "value");
    char key[24];

    if (n == 1 && only) {
        json_incref(only);
        json_decref(tree);
        json_decref(list);
        return only;
    }
    for (size_t i = 0; i < n; i++) {
        snprintf(key, sizeof key, "%zu", i);
        json_t *x = json_object_get(tree, key);
        if (!x) {
            json_decref(list);
            return tree;
        }
        json_array_append(list, x);
    }
    json_decref(tree);
    return list;
}

static json_t *element_of(const dt_values *v, int replica) {
    json_t *tree = json_object();

    for (int i = 0; i < dt_values_count(v); i++) {
        const char *name = dt_values_name(v, i);
        put_path(tree, name, lists_of(dt_values_local(v, name, replica)));
    }
    return as_nest(tree);
}

/* ---- iterations ---- */

json_t *elements_of(dt_dataset *d, int most, dt_status **s) {
    json_t *list = json_array();
    dt_iterator *it = NULL;
    dt_values *v = NULL;

    *s = dt_dataset_iterate(&it, d);
    while (!*s && (most == 0 || (int)json_array_size(list) < most)) {
        *s = dt_iterator_next(it, &v);
        if (*s || !v) break;
        json_array_append_new(list, element_of(v, 0));
    }
    dt_values_unref(v);
    dt_iterator_unref(it);
    return list;
}

json_t *steps_of(dt_dist_dataset *d, int replicas, int most, dt_status **s) {
    json_t *steps = json_array();
    dt_iterator *it = NULL;
    dt_values *v = NULL;

    *s = dt_iterator_create(&it, d);
    while (!*s && (most == 0 || (int)json_array_size(steps) < most)) {
        json_t *step;
        *s = dt_iterator_next(it, &v);
        if (*s || !v) break;
        json_array_append_new(steps, step = json_array());
        for (int r = 0; r < replicas; r++) json_array_append_new(step, element_of(v, r));
    }
    dt_values_unref(v);
    dt_iterator_unref(it);
    return steps;
}

/* ---- specs ---- */

static json_t *one_spec(const dt_spec *s) {
    json_t *shape = json_array();

    for (int i = 0; i < s->rank; i++)
        json_array_append_new(shape, s->shape[i] < 0 ? json_null() : json_integer(s->shape[i]));
    return json_pack("{s:o,s:s}", "shape", shape, "dtype", dtype_name(s->dtype));
}

json_t *json_of_spec(const dt_dist_dataset *d, int replicas) {
    json_t *tree = json_object();
    dt_spec s;

    for (int i = 0; dt_dist_dataset_element_spec(d, i, &s); i++) {
        json_t *leaf = one_spec(&s), *all = json_array();
        for (int r = 0; r < replicas; r++) json_array_append(all, leaf);
        if (replicas > 1) {
            json_decref(leaf);
            leaf = json_pack("{s:o}", "per_replica", all);
        } else {
            json_decref(all);
        }
        put_path(tree, s.name, leaf);
    }
    return as_nest(tree);
}

void expect_data_error(verdict *v, dt_status *s) {
    const char *type = json_string_value(json_object_get(v->c->error, "type"));

    if (type && (strcmp(type, "IndexError") == 0 || strcmp(type, "AttributeError") == 0))
        expect_error_kind(v, s, "ValueError");
    else expect_error(v, s);
}
