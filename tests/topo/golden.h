/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the recorded cases of tests/golden. */
#ifndef TESTS_TOPO_GOLDEN_H
#define TESTS_TOPO_GOLDEN_H

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "topo/topo.h"

/* The list of cases of a file, kept alive by *root. */
static inline json_t *golden_cases(const char *name, json_t **root) {
    char path[256];
    json_error_t error;
    snprintf(path, sizeof path, "tests/golden/%s", name);
    *root = json_load_file(path, 0, &error);
    if (!*root) fail_msg("%s: %s", path, error.text);
    return json_object_get(*root, "cases");
}

static inline const char *golden_text(const json_t *j, const char *key) {
    return json_string_value(json_object_get(j, key));
}

/* All integers below j, in order, nested lists flattened; the caller frees them. */
static inline int64_t *golden_ints(const json_t *j, int *n, int64_t *into) {
    int64_t *v = into;
    if (json_is_integer(j)) {
        v = realloc(v, sizeof *v * (size_t)(*n + 1));
        v[(*n)++] = json_integer_value(j);
    }
    for (size_t i = 0; json_is_array(j) && i < json_array_size(j); i++)
        v = golden_ints(json_array_get(j, i), n, v);
    return v;
}

/* The topology of a case ({"mesh_shape", "device_coordinates": [task][device][4]}). */
static inline dt_status *golden_topology(const json_t *j, dt_topology **out) {
    const json_t *tasks = json_object_get(j, "device_coordinates");
    int rank = 0, n = 0;
    int64_t *mesh = golden_ints(json_object_get(j, "mesh_shape"), &rank, NULL),
            *coordinates = golden_ints(tasks, &n, NULL);
    const int64_t shape[3] = {(int64_t)json_array_size(tasks),
                              (int64_t)json_array_size(json_array_get(tasks, 0)), 4};
    dt_status *s = dt_topology_create(out, &(dt_topology_options){.mesh_shape = mesh,
                                                                  .mesh_rank = rank,
                                                                  .device_coordinates = coordinates,
                                                                  .coordinates_shape = shape,
                                                                  .coordinates_rank = 3});
    free(mesh);
    free(coordinates);
    return s;
}

/* An error of ours says at least what the recorded one says: the same kind, and every number of its
 * text. */
static inline void golden_check_error(dt_status *s, const json_t *want, const char *id) {
    if (!s) fail_msg("%s: no error, expected %s", id, golden_text(want, "message"));
    assert_string_equal(dt_status_kind(s), golden_text(want, "type"));
    const char *text = dt_status_text(s), *message = golden_text(want, "message");
    for (const char *p = message; *p;) {
        size_t digits = strspn(p, "0123456789");
        if (digits && !isalpha((unsigned char)p[digits])) { /* not "3D" */
            char number[32];
            snprintf(number, sizeof number, "%.*s", (int)digits, p);
            if (!strstr(text, number))
                fail_msg("%s: '%s' lacks %s of '%s'", id, text, number, message);
        }
        p += digits ? digits : 1;
    }
    dt_status_free(s);
}

/* The topology of a slice of that name. */
static inline dt_topology *golden_slice(const char *name) {
    dt_slice s;
    assert_null(dt_slice_find(name, DT_E_UNKNOWN_SLICE, NULL, &s));
    return dt_topology_of_slice(&s);
}

#endif
