/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small models under Keras' mixed policies: what they predict, the gradients of the first batch,
 * the losses of some steps of fit, and the weights that these end with.
 *
 * Tolerances. Keras' kernels round where ours do, after every op, but add up in another order, and
 * take softmax, attention and the steps of recurrent layers apart into more ops, each rounded. So a
 * number may be several units of its last place off, of the largest numbers that it is a sum of:
 * errors are held against the largest number of a tensor, in units of the dtype's last digit, 2^-8
 * or 2^-11. Some gradients are sums that cancel (that of a key's bias is 0 but for roundings): they
 * are held against an eighth of the largest of all gradients if that is more.
 */
#include "conformance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Units that predictions, gradients, losses and weights after some steps may be off. */
enum { PREDICTION = 6, GRADIENT = 8, LOSS = 4, WEIGHT = 8 };

typedef struct mixed {
    const golden_case *c;
    verdict *v;
    dt_model *model;
    dt_loss *loss;
    double unit;  /* of the compute dtype */
    double scale; /* of the loss, while gradients are taken */
} mixed;

static const json_t *input(const mixed *m, const char *key) {
    return json_object_get(m->c->in, key);
}

static const json_t *output(const mixed *m, const char *key) {
    return json_object_get(m->c->out, key);
}

/* ---- the model ---- */

static bool names_inputs(const json_t *layers) {
    const json_t *layer, *args;
    const char *class_name;
    size_t i;
    json_array_foreach(layers, i, layer) json_object_foreach(
        (json_t *)layer, class_name, args) if (json_object_get(args, "inputs")) return true;
    return false;
}

static dt_status *make_model(mixed *m) {
    const json_t *layers = input(m, "layers");
    char *text = json_dumps(layers, JSON_COMPACT);
    dt_status *s = dt_model_create(&m->model, "{type: %s, layers: %s}",
                                   names_inputs(layers) ? "functional" : "sequential", text);
    free(text);
    return s;
}

static dt_status *compile(mixed *m) {
    char *loss = json_dumps(input(m, "loss"), JSON_COMPACT),
         *optimizer = json_dumps(input(m, "optimizer"), JSON_COMPACT);
    const json_t *scale = input(m, "initial_scale");
    char moves[128] = "";
    if (json_is_number(scale))
        snprintf(moves, sizeof moves, ", loss_scale: {initial_scale: %g, dynamic_growth_steps: %d}",
                 json_number_value(scale),
                 (int)json_integer_value(input(m, "dynamic_growth_steps")));
    dt_status *s = dt_model_compile(m->model, "{optimizer: %s, loss: %s, precision: %s%s}",
                                    optimizer, loss, json_string_value(input(m, "policy")), moves);
    if (!s) s = dt_loss_create(&m->loss, "%s", loss);
    free(loss);
    free(optimizer);
    return s;
}

static void set_weights(mixed *m) {
    const json_t *w;
    size_t i;
    json_array_foreach(input(m, "weights"), i, w) {
        const char *path = json_string_value(json_object_get(w, "path"));
        dt_tensor *t = tensor_of(m->v, json_object_get(w, "value"));
        expect_ok(m->v, path, t ? dt_model_set_weight(m->model, path, t) : NULL);
        dt_tensor_unref(t);
    }
}

/* ---- what is compared ---- */

static double largest(const json_t *tensor) {
    double most = 0;
    const json_t *x;
    size_t i;
    json_array_foreach(json_object_get(tensor, "data"), i, x) most =
        fmax(most, fabs(json_double(x)));
    return most;
}

/* Within so many units of the largest number that is expected, or of `least`. */
static void expect_near(const mixed *m, const char *what, const json_t *want, const dt_tensor *got,
                        double units, double least) {
    expect_tensor(m->v, what, want, got,
                  (tolerance){0, units * m->unit * fmax(least, largest(want))});
}

static void forward(dt_trace *t, void *user) {
    const mixed *m = user;
    dt_value y = dt_model_call(m->model, dt_arg(t, "x"), DT_INFERENCE);
    dt_return(t, "y", y);
    dt_return(t, "prediction", dt_convert(y, DT_FLOAT32));
}

static void backward(dt_trace *t, void *user) {
    const mixed *m = user;
    const dt_variables *weights = dt_model_trainable(m->model);
    dt_value loss =
        dt_loss_call(m->loss, dt_arg(t, "y"), dt_model_call(m->model, dt_arg(t, "x"), DT_TRAINING));
    dt_value scale = dt_constant(t, m->scale);
    dt_gradients g = dt_gradient(dt_multiply(loss, scale), weights);
    for (int i = 0; i < dt_variables_count(weights); i++)
        if (g.value && g.value[i].trace)
            dt_return(t, dt_variables_path(weights, i), dt_divide(g.value[i], scale));
}

static dt_values *run_step(mixed *m, void (*step)(dt_trace *t, void *user), const json_t *batch) {
    dt_strategy *strategy = NULL;
    dt_function *f = NULL;
    dt_values *args = NULL, *results = NULL;
    const char *name;
    json_t *tensor;
    expect_ok(m->v, "the default strategy", dt_default_strategy(&strategy));
    expect_ok(m->v, "the step", dt_function_create(&f, step, m));
    expect_ok(m->v, "arguments", dt_values_create(&args));
    json_object_foreach((json_t *)batch, name, tensor) {
        dt_tensor *t = tensor_of(m->v, tensor);
        expect_ok(m->v, name, dt_values_set_per_replica(args, name, &t, 1));
        dt_tensor_unref(t);
    }
    expect_ok(m->v, "a run", dt_strategy_run(strategy, f, args, &results));
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(strategy);
    return results;
}

static void expect_forward(mixed *m, const json_t *batch) {
    dt_values *r = run_step(m, forward, batch);
    if (r) {
        expect_text(m->v, "dtype", output(m, "dtype"),
                    dtype_name(dt_tensor_dtype(dt_values_local(r, "y", 0))));
        expect_near(m, "prediction", output(m, "prediction"), dt_values_local(r, "prediction", 0),
                    PREDICTION, 0);
    }
    dt_values_unref(r);
}

static void expect_backward(mixed *m, const json_t *batch) {
    dt_values *r = run_step(m, backward, batch);
    const json_t *g;
    double most = 0;
    size_t i;
    json_array_foreach(output(m, "gradients"), i, g) most =
        fmax(most, largest(json_object_get(g, "value")));
    json_array_foreach(output(m, "gradients"), i, g) {
        const char *path = json_string_value(json_object_get(g, "path"));
        expect_near(m, path, json_object_get(g, "value"), r ? dt_values_local(r, path, 0) : NULL,
                    GRADIENT, most / 8);
    }
    dt_values_unref(r);
}

/* ---- fit ---- */

static dt_dataset *data_of(mixed *m, const json_t *batch) {
    dt_values *values = NULL;
    dt_dataset *data = NULL;
    const char *name;
    json_t *tensor;
    expect_ok(m->v, "values", dt_values_create(&values));
    json_object_foreach((json_t *)batch, name, tensor) {
        dt_tensor *t = tensor_of(m->v, tensor);
        expect_ok(m->v, name, dt_values_set(values, name, t));
        dt_tensor_unref(t);
    }
    expect_ok(m->v, "the data", dt_dataset_from_values(&data, values, "{global_batch_size: 64}"));
    dt_values_unref(values);
    return data;
}

static void expect_steps(mixed *m) {
    const json_t *batch, *losses = output(m, "losses");
    size_t i;
    json_array_foreach(input(m, "batches"), i, batch) {
        dt_dataset *data = data_of(m, batch);
        dt_history *h = NULL;
        expect_ok(m->v, "a step of fit",
                  data ? dt_model_fit(m->model, data, &h, "{steps: 1}") : NULL);
        expect_double(m->v, "loss", json_array_get(losses, i), dt_history_last(h, "loss"),
                      (tolerance){LOSS * m->unit, 0});
        dt_history_unref(h);
        dt_dataset_unref(data);
    }
}

static void expect_weights(mixed *m) {
    const json_t *w;
    size_t i;
    json_array_foreach(output(m, "weights"), i, w) {
        const char *path = json_string_value(json_object_get(w, "path"));
        dt_tensor *t = NULL;
        expect_ok(m->v, path, dt_model_get_weight(m->model, path, &t));
        expect_near(m, path, json_object_get(w, "value"), t, WEIGHT, 0);
        dt_tensor_unref(t);
    }
}

static void run_mixed(const golden_case *c, verdict *v) {
    mixed m = {.c = c, .v = v, .scale = json_double(json_object_get(c->in, "loss_scale"))};
    const json_t *first = json_array_get(json_object_get(c->in, "batches"), 0);
    m.unit = strcmp(json_string_value(json_object_get(c->in, "policy")), "mixed_float16") == 0
                 ? 0x1p-11
                 : 0x1p-8;
    expect_ok(v, "the model", make_model(&m));
    expect_ok(v, "compile", m.model ? compile(&m) : NULL);
    if (m.model && m.loss) {
        set_weights(&m);
        expect_forward(&m, first);
        expect_backward(&m, first);
        set_weights(&m);
        expect_steps(&m);
        expect_weights(&m);
    }
    dt_loss_unref(m.loss);
    dt_model_unref(m.model);
}

const golden_op mixed_precision_ops[] = {
    {"mixed_precision", run_mixed, NULL},
    {0},
};
