/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a job may resume from a checkpoint. Keys about where and how long to train may change.
 * Keys about what is trained may not, because the weights would then belong to neither job.
 */
#include <string.h>

#include "file/json_read.h"
#include "format/format.h"

/* Top-level keys of a job that may change between save and resume. `let` is among them, because
 * changes of its variables are visible in the keys that use them. */
static const char *const free_keys[] = {"fit",       "output",  "checkpoint", "strategy",
                                        "partition", "backend", "name",       "let"};

static bool is_free(const char *key) {
    for (size_t i = 0; i < sizeof free_keys / sizeof *free_keys; i++)
        if (strcmp(free_keys[i], key) == 0) return true;
    return false;
}

static bool differ(json_t *a, json_t *b, dt_str *path);

/* Compares two values of a key. If they differ, *path keeps this key appended; otherwise it is
 * unchanged. Null counts as absent. */
static bool member_differs(const char *key, json_t *a, json_t *b, dt_str *path) {
    size_t from = path->size;
    dt_str_printf(path, "%s%s", from > 0 ? "." : "", key);
    bool has_a = a && !json_is_null(a), has_b = b && !json_is_null(b);
    if (has_a != has_b || (has_a && differ(a, b, path))) return true;
    path->data[path->size = from] = '\0';
    return false;
}

static bool objects_differ(json_t *a, json_t *b, bool top, dt_str *path) {
    const char *key;
    json_t *value;
    json_object_foreach(
        a, key, value) if (!(top && is_free(key)) &&
                           member_differs(key, value, json_object_get(b, key), path)) return true;
    json_object_foreach(b, key, value) if (!(top && is_free(key)) && !json_object_get(a, key) &&
                                           member_differs(key, NULL, value, path)) return true;
    return false;
}

static bool lists_differ(json_t *a, json_t *b, dt_str *path) {
    size_t from = path->size, n = json_array_size(a);
    if (n != json_array_size(b)) return true;
    for (size_t i = 0; i < n; i++) {
        dt_str_printf(path, "[%zu]", i);
        if (differ(json_array_get(a, i), json_array_get(b, i), path)) return true;
        path->data[path->size = from] = '\0';
    }
    return false;
}

/* Whether two values differ. 1 and 1.0 are the same number. Recursion is bounded by
 * dt_json_parse. */
static bool differ(json_t *a, json_t *b, dt_str *path) {
    if (json_is_object(a) && json_is_object(b)) return objects_differ(a, b, false, path);
    if (json_is_array(a) && json_is_array(b)) return lists_differ(a, b, path);
    if (json_is_integer(a) && json_is_integer(b))
        return json_integer_value(a) != json_integer_value(b);
    if (json_is_number(a) && json_is_number(b)) return json_number_value(a) != json_number_value(b);
    return !json_equal(a, b);
}

/* Parses a job. NULL: the text is not a JSON object. */
static json_t *parse(const char *text) {
    json_t *root = NULL;
    if (!text) return NULL;
    dt_json_text t = {"job", "the text", "key", text, strlen(text), DT_E_CHECKPOINT};
    dt_status_free(dt_json_parse(&t, &root));
    return root;
}

const char *dt_job_difference(dt_arena *arena, const char *saved, const char *now) {
    dt_local_str path = {0};
    const char *key = NULL;
    json_t *a = parse(saved), *b = parse(now);
    if (!a || !b) key = "job";
    /* the path is empty if the key that differs is an empty text */
    else if (objects_differ(a, b, true, &path))
        key = path.size > 0 ? dt_arena_strdup(arena, dt_str_text(&path)) : "job";
    json_decref(a);
    json_decref(b);
    return key;
}
