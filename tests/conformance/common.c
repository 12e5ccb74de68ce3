/* SPDX-License-Identifier: Apache-2.0 */
/* What cases of several areas have in common: strategies, and fragments of job files from recorded
 * arguments. */
#include "conformance.h"
#include "placement.h"

#include <stdlib.h>
#include <string.h>

static dt_status *mirrored(dt_strategy **out, int n) {
    enum { MOST = 4096, NAME = 16 };
    int count = n < 0 || n > MOST ? MOST + 1 : n; /* refused by the library */
    char *names = calloc((size_t)count + 1, NAME);
    const char **devices = calloc((size_t)count + 1, sizeof *devices);

    for (int i = 0; i < count; i++) {
        snprintf(names + (size_t)i * NAME, NAME, "CPU:%d", i);
        devices[i] = names + (size_t)i * NAME;
    }
    dt_status *s = dt_mirrored_strategy(out, devices, count);
    free(devices);
    free(names);
    return s;
}

dt_strategy *strategy_of(verdict *v, const json_t *strategy) {
    const char *type = json_string_value(json_object_get(strategy, "type"));
    const json_t *n = json_object_get(strategy, "num_replicas");
    dt_strategy *s = NULL;

    if (type && strcmp(type, "MirroredStrategy") == 0)
        expect_ok(v, "making a MirroredStrategy", mirrored(&s, n ? (int)json_integer_value(n) : 1));
    else if (type && strcmp(type, "TPUStrategy") == 0) s = tpu_strategy_of(v, strategy);
    else if (type && strcmp(type, "OneDeviceStrategy") == 0)
        expect_ok(v, "making a OneDeviceStrategy", dt_one_device_strategy(&s, "CPU:0"));
    else if (type &&
             (strcmp(type, "default") == 0 || strcmp(type, "_DefaultDistributionStrategy") == 0))
        expect_ok(v, "making the default strategy", dt_default_strategy(&s));
    else differs(v, "unknown strategy '%s'", type ? type : "?");
    return s;
}

/* JSON is YAML, except that None is not a word of JSON: such arguments are left out. */
char *fragment_of(const char *name, const json_t *arguments) {
    json_t *given = json_object();
    const char *key;
    json_t *value;
    size_t n = strlen(name) + 8;

    json_object_foreach((json_t *)arguments, key, value) if (!json_is_null(value))
        json_object_set(given, key, value);
    char *text = json_dumps(given, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    char *fragment = malloc(n += strlen(text));
    snprintf(fragment, n, json_object_size(given) ? "%s: %s" : "%s", name, text);
    free(text);
    json_decref(given);
    return fragment;
}

bool set_case_value(verdict *v, dt_values *out, const char *name, const json_t *in) {
    const json_t *value = json_object_get(in, "value");
    const char *is = json_string_value(json_object_get(in, "value_is"));
    dt_tensor *t = NULL;

    if (!is || strcmp(is, "tensor") != 0 || !json_is_array(value))
        return set_value(v, out, name, value);
    t = tensor_of(v, value);
    if (t) expect_ok(v, name, dt_values_set(out, name, t));
    dt_tensor_unref(t);
    return t != NULL;
}

bool set_value(verdict *v, dt_values *out, const char *name, const json_t *value) {
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    dt_tensor **t = calloc(n + 1, sizeof *t);
    bool all = true;

    for (size_t i = 0; i < n; i++)
        all &=
            (t[i] = tensor_of(v, json_is_array(value) ? json_array_get(value, i) : value)) != NULL;
    if (all)
        expect_ok(v, name,
                  json_is_array(value) ? dt_values_set_per_replica(out, name, t, (int)n)
                                       : dt_values_set(out, name, t[0]));
    for (size_t i = 0; i < n; i++) dt_tensor_unref(t[i]);
    free(t);
    return all;
}
