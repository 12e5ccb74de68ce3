/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole trainings recorded from Keras' fit, done again by ours: chosen ones (tests/golden/fit.json:
 * losses, metrics and weights by name for several outputs, metrics that are no means, weights of
 * samples and classes, penalties, masks of padded sequences), mixtures of experts (expert_fit.json)
 * and some drawn at random (random.json;
 * record_random.py draws as many as one likes, and their files are named as arguments). Each on
 * several numbers of replicas, which must agree to the last bit. Where DTRAIN_PJRT_PLUGIN names a
 * plug-in, on two of its devices, too, whose bits are its own: within 1e-4.
 */
#include <jansson.h>

#define HERE "build/tmp/train-fit-golden"
#include "kit.h"

/* ---- recorded cases ---- */

static char *text_of(const json_t *value) {
    return json_dumps(value, JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY);
}

static dt_tensor *tensor_of(const json_t *t) {
    const json_t *shape = json_object_get(t, "shape"), *data = json_object_get(t, "data");
    bool is_float = strcmp(json_string_value(json_object_get(t, "dtype")), "float32") == 0;
    int64_t dim[DT_MAX_RANK] = {0};
    size_t n = json_array_size(data);
    float *x = calloc(n + 1, sizeof *x); /* as wide as an int32 */
    dt_tensor *out = NULL;
    for (size_t i = 0; i < json_array_size(shape); i++)
        dim[i] = json_integer_value(json_array_get(shape, i));
    for (size_t i = 0; i < n; i++)
        if (is_float) x[i] = (float)json_number_value(json_array_get(data, i));
        else ((int32_t *)(void *)x)[i] = (int32_t)json_integer_value(json_array_get(data, i));
    OK(dt_tensor_create(&out, is_float ? DT_FLOAT32 : DT_INT32, (int)json_array_size(shape), dim,
                        x));
    free(x);
    return out;
}

static dt_dataset *data_of(const json_t *in) {
    dt_values *values = NULL;
    dt_dataset *data = NULL;
    const char *name;
    json_t *t;
    OK(dt_values_create(&values));
    json_object_foreach(json_object_get(in, "data"), name, t) {
        dt_tensor *x = tensor_of(t);
        OK(dt_values_set(values, name, x));
        dt_tensor_unref(x);
    }
    OK(dt_dataset_from_values(&data, values, "{global_batch_size: %d, validation_split: %g}",
                              (int)json_integer_value(json_object_get(in, "batch")),
                              json_number_value(json_object_get(in, "validation_split"))));
    dt_values_unref(values);
    return data;
}

static dt_model *model_of(const json_t *in, dt_strategy *s) {
    char *model = text_of(json_object_get(in, "model")),
         *compile = text_of(json_object_get(in, "compile"));
    dt_model *m = NULL;
    dt_status *refused = NULL;
    const char *path;
    json_t *t;
    DT_SCOPE(s) {
        refused = dt_model_create(&m, "%s", model);
        if (!refused) refused = dt_model_compile(m, "%s", compile);
    }
    OK(refused);
    json_object_foreach(json_object_get(in, "weights"), path, t) {
        dt_tensor *w = tensor_of(t);
        OK(dt_model_set_weight(m, path, w));
        dt_tensor_unref(w);
    }
    free(model);
    free(compile);
    return m;
}

/* ---- comparing ---- */

static double recorded(const json_t *value) {
    return json_is_string(value) ? (double)NAN : json_number_value(value);
}

/* What is compared: a case, and how near it has to be. */
typedef struct compared {
    const char *id;
    double within;
} compared;

static void near(const compared *c, const char *what, double is, double ought) {
    if (!(fabs(is - ought) <= c->within * fabs(ought) + c->within / 10))
        fail_msg("%s: %s is %.9g, recorded %.9g", c->id, what, is, ought);
}

static void compare_history(const compared *c, const json_t *out, const dt_history *h) {
    const char *key;
    json_t *values;
    json_object_foreach(json_object_get(out, "history"), key,
                        values) for (int epoch = 0; epoch < dt_history_epochs(h); epoch++)
        near(c, key, dt_history_at(h, key, epoch), recorded(json_array_get(values, (size_t)epoch)));
}

/* Where it is recorded. */
static void compare_evaluation(const compared *c, const json_t *out, dt_model *m,
                               dt_dataset *data) {
    const char *key;
    json_t *value, *evaluated = json_object_get(out, "evaluated");
    dt_history *h = NULL;
    if (!evaluated) return;
    OK(dt_model_evaluate(m, data, &h));
    json_object_foreach(evaluated, key, value)
        near(c, key, dt_history_at(h, key, 0), recorded(value));
    dt_history_unref(h);
}

static void compare_weights(const compared *c, const json_t *out, dt_model *m) {
    const char *path;
    json_t *t;
    json_object_foreach(json_object_get(out, "weights"), path, t) {
        dt_tensor *is = NULL, *ought = tensor_of(t);
        OK(dt_model_get_weight(m, path, &is));
        for (int64_t i = 0; i < dt_tensor_elements(ought); i++)
            near(c, path, (double)((const float *)dt_tensor_data(is))[i],
                 (double)((const float *)dt_tensor_data(ought))[i]);
        dt_tensor_unref(is);
        dt_tensor_unref(ought);
    }
}

/* ---- the run ---- */

/* plugin NULL: on cpu, where all end with the same weights. */
static void run_case(const json_t *c, int replicas, const char *plugin, char sha[65]) {
    const compared compare = {json_string_value(json_object_get(c, "id")), plugin ? 1e-4 : 2e-5};
    const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out");
    dt_strategy *s = strategy_of(&(setup){.replicas = replicas});
    if (plugin) OK(dt_strategy_set_backend(s, "pjrt", plugin));
    dt_dataset *data = data_of(in);
    dt_model *m = model_of(in, s);
    dt_history *h = NULL;
    char *fit = text_of(json_object_get(in, "fit"));
    OK(dt_model_fit(m, data, &h, "%s", fit));
    compare_history(&compare, out, h);
    compare_weights(&compare, out, m);
    compare_evaluation(&compare, out, m, data);
    if (*sha && !plugin && strcmp(sha, dt_model_weights_sha256(m)) != 0)
        fail_msg("%s: %d replicas end with other weights than one", compare.id, replicas);
    snprintf(sha, 65, "%s", dt_model_weights_sha256(m));
    free(fit);
    dt_history_unref(h);
    dt_model_unref(m);
    dt_dataset_unref(data);
    dt_strategy_unref(s);
}

static void test_fit_as_keras_does(void **state) {
    static const int replicas[] = {1, 2, 5};
    const char *plugin = getenv("DTRAIN_PJRT_PLUGIN");
    char sha[65] = "";
    for (size_t r = 0; r < sizeof replicas / sizeof *replicas; r++)
        run_case(*state, replicas[r], NULL, sha);
    if (plugin) run_case(*state, 2, plugin, sha);
}

/* Every case of the files is a test of its own; how many there are. */
static size_t cases_of(json_t *const *root, int n_files, struct CMUnitTest *tests) {
    size_t n = 0, i;
    json_t *c;
    for (int f = 0; f < n_files; f++) json_array_foreach(json_object_get(root[f], "cases"), i, c) {
            if (tests)
                tests[n] = (struct CMUnitTest){json_string_value(json_object_get(c, "id")),
                                               test_fit_as_keras_does, NULL, NULL, c};
            n++;
        }
    return n;
}

static int run_files(char *const *path, int n_files) {
    json_t **root = calloc((size_t)n_files, sizeof *root);
    struct CMUnitTest *tests;
    size_t n;
    int failed;
    for (int f = 0; f < n_files; f++)
        if (!(root[f] = json_load_file(path[f], 0, NULL)))
            return fprintf(stderr, "%s cannot be read as JSON\n", path[f]), 1;
    n = cases_of(root, n_files, NULL);
    tests = calloc(n + 1, sizeof *tests);
    cases_of(root, n_files, tests);
    failed = n ? _cmocka_run_group_tests("train/fit_golden", tests, n, clean_folder, NULL) : 1;
    for (int f = 0; f < n_files; f++) json_decref(root[f]);
    free(tests);
    free(root);
    return failed != 0;
}

int main(int argc, char **argv) {
    char *recorded_files[] = {"tests/golden/fit.json", "tests/golden/random.json",
                              "tests/golden/expert_fit.json"};
    return argc > 1 ? run_files(argv + 1, argc - 1) : run_files(recorded_files, 3);
}
