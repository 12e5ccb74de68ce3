/* SPDX-License-Identifier: Apache-2.0 */
/* What trainings recorded in tests/golden/train_mlp.json share: its cases, and a model with what
 * trains it. */
#ifndef TESTS_TRAIN_GOLDEN_KIT_H
#define TESTS_TRAIN_GOLDEN_KIT_H

#include <jansson.h>

#include "kit.h"

/* ---- recorded cases ---- */

KIT const char *text_at(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

KIT double number_at(const json_t *array, int64_t i) {
    return json_number_value(json_array_get(array, (size_t)i));
}

KIT void near(const char *id, const char *what, double is, double ought, double relative,
              double absolute) {
    if (!(fabs(is - ought) <= relative * fabs(ought) + absolute))
        fail_msg("%s: %s is %.9g, recorded %.9g", id, what, is, ought);
}

KIT double element(const dt_tensor *t, int64_t i) {
    const void *data = dt_tensor_data(t);
    return dt_tensor_dtype(t) == DT_FLOAT64 ? ((const double *)data)[i]
                                            : (double)((const float *)data)[i];
}

KIT void for_each_case(const char *op, void (*run)(const json_t *c)) {
    json_t *root = json_load_file("tests/golden/train_mlp.json", 0, NULL), *c;
    int done = 0;
    size_t i;

    if (!root) fail_msg("tests/golden/train_mlp.json cannot be read");
    json_array_foreach(json_object_get(root, "cases"), i,
                       c) if (strcmp(text_at(c, "op"), op) == 0) {
        run(c);
        done++;
    }
    json_decref(root);
    assert_true(done > 0);
}

KIT void put(void *data, dt_dtype dtype, int64_t i, double value) {
    if (dtype == DT_FLOAT64) ((double *)data)[i] = value;
    else if (dtype == DT_FLOAT32) ((float *)data)[i] = (float)value;
    else ((int32_t *)data)[i] = (int32_t)value;
}

typedef struct network {
    dt_strategy *strategy;
    dt_model *model;
    dt_loss *loss;
    dt_optimizer *optimizer;
    dt_dtype dtype;
    bool sparse;
    int replicas;
} network;

KIT void network_free(network *n) {
    dt_optimizer_unref(n->optimizer);
    dt_loss_unref(n->loss);
    dt_model_unref(n->model);
    dt_strategy_unref(n->strategy);
}

#endif
