/* SPDX-License-Identifier: Apache-2.0 */
/* The 784-128-10 network in fit and evaluate. */
#include "mlp.h"

#include <stdlib.h>
#include <string.h>

/* Rows [first, first + n), `passes` times. */
static dt_dataset *examples(verdict *v, const mlp_digits *d, const mlp_case *m, int first, int n,
                            int passes) {
    dt_tensor *x = mlp_images(v, d, first, n, m->dtype),
              *y = mlp_labels(v, d, first, n, m->dtype, m->sparse);
    dt_values *values = NULL;
    dt_dataset *data = NULL;

    expect_ok(v, "values", dt_values_create(&values));
    expect_ok(v, "values", dt_values_set(values, "x", x));
    expect_ok(v, "values", dt_values_set(values, "y", y));
    expect_ok(v, "the data",
              dt_dataset_from_values(&data, values, "{global_batch_size: %d, repeat: %d}", m->batch,
                                     passes));
    dt_values_unref(values);
    dt_tensor_unref(x);
    dt_tensor_unref(y);
    return data;
}

static dt_model *compiled(verdict *v, const mlp_case *m, dt_strategy *s) {
    dt_model *model = NULL;

    DT_SCOPE(s) {
        model = mlp_model(v, m);
        if (model)
            expect_ok(v, "compile",
                      dt_model_compile(model,
                                       "{optimizer: {%s%s}, loss: {%s%s}, metrics: [accuracy]}",
                                       m->optimizer, strchr(m->optimizer, ':') ? "" : ": {}",
                                       m->loss, strchr(m->loss, ':') ? "" : ": {}"));
    }
    return model;
}

/* A run's loss and accuracy so far, weighted by examples as fit does. */
typedef struct running {
    double examples, loss, accuracy;
} running;

static void expect_logs(verdict *v, const char *what, const json_t *want, const running *r) {
    expect_double(v, what, json_object_get(want, "loss"), r->loss / r->examples, LOSSES);
    expect_double(v, what, json_object_get(want, "accuracy"), r->accuracy / r->examples, LOSSES);
}

/* One step of fit over the rows of the batch alone: the history does not have the running logs,
 * but their parts are. */
static void fit_step(verdict *v, const mlp_digits *d, const mlp_case *m, dt_model *model, int *at,
                     running *r) {
    int rows = MLP_ROWS - *at < m->batch ? MLP_ROWS - *at : m->batch;
    dt_dataset *data = examples(v, d, m, *at, rows, 1);
    dt_history *h = NULL;

    if (data) expect_ok(v, "a step of fit", dt_model_fit(model, data, &h, "{steps: 1}"));
    r->examples += rows;
    r->loss += rows * dt_history_last(h, "loss");
    r->accuracy += rows * dt_history_last(h, "accuracy");
    *at = (*at + rows) % MLP_ROWS;
    dt_history_unref(h);
    dt_dataset_unref(data);
}

static void expect_evaluation(verdict *v, const json_t *want, const mlp_digits *d,
                              const mlp_case *m, dt_model *model) {
    dt_dataset *data = examples(v, d, m, 0, MLP_ROWS, 1);
    dt_history *h = NULL;

    if (data) expect_ok(v, "evaluate", dt_model_evaluate(model, data, &h));
    expect_logs(v, "evaluate", want,
                &(running){1, dt_history_last(h, "loss"), dt_history_last(h, "accuracy")});
    dt_history_unref(h);
    dt_dataset_unref(data);
}

static void fit_stepwise(verdict *v, const golden_case *c, const mlp_digits *d, const mlp_case *m,
                         dt_strategy *s) {
    const json_t *logs = json_object_get(c->out, "fit_running_logs");
    dt_model *model = compiled(v, m, s);
    running r = {0};
    int at = 0;

    for (int i = 0; model && i < m->steps && v->differences == 0; i++) {
        fit_step(v, d, m, model, &at, &r);
        expect_logs(v, "running logs", json_array_get(logs, (size_t)i), &r);
    }
    if (model && v->differences == 0) {
        expect_evaluation(v, json_object_get(c->out, "evaluate_after"), d, m, model);
        mlp_expect_weights(v, json_object_get(c->out, "final"), model);
    }
    dt_model_unref(model);
}

/* All steps in one call, as one epoch. */
static void fit_at_once(verdict *v, const golden_case *c, const mlp_digits *d, const mlp_case *m,
                        dt_strategy *s) {
    const json_t *history = json_object_get(c->out, "fit_history");
    dt_model *model = compiled(v, m, s);
    int passes = MLP_ROWS % m->batch == 0 ? (m->steps * m->batch + MLP_ROWS - 1) / MLP_ROWS : 1;
    dt_dataset *data = examples(v, d, m, 0, MLP_ROWS, passes);
    dt_history *h = NULL;

    if (model && data) {
        expect_ok(v, "fit", dt_model_fit(model, data, &h, "{steps: %d}", m->steps));
        expect_double(v, "fit's loss", json_array_get(json_object_get(history, "loss"), 0),
                      dt_history_last(h, "loss"), LOSSES);
        expect_double(v, "fit's accuracy", json_array_get(json_object_get(history, "accuracy"), 0),
                      dt_history_last(h, "accuracy"), LOSSES);
        mlp_expect_weights(v, json_object_get(c->out, "final"), model);
    }
    dt_history_unref(h);
    dt_dataset_unref(data);
    dt_model_unref(model);
}

/* Keras cannot fit where the first global batch divides unevenly. That is a defect of its own: here
 * it only has to work. */
static void fit_without_record(verdict *v, const mlp_digits *d, const mlp_case *m, dt_strategy *s) {
    dt_model *model = compiled(v, m, s);
    dt_dataset *data = examples(v, d, m, 0, MLP_ROWS, 1);

    if (model && data)
        expect_ok(v, "fit", dt_model_fit(model, data, NULL, "{steps: %d}", m->steps));
    dt_dataset_unref(data);
    dt_model_unref(model);
}

static void run_mlp_fit(const golden_case *c, verdict *v) {
    mlp_case m = mlp_read(c);
    mlp_digits *d = mlp_draw();
    dt_strategy *s = mlp_mirrored(v, m.replicas);

    if (s && c->error) fit_without_record(v, d, &m, s);
    else if (s) fit_stepwise(v, c, d, &m, s);
    /* else a batch goes over the end, where the original's ends */
    if (s && c->out && (MLP_ROWS % m.batch == 0 || m.steps <= MLP_ROWS / m.batch + 1))
        fit_at_once(v, c, d, &m, s);
    dt_strategy_unref(s);
    free(d);
    mlp_case_release(&m);
}

const golden_op train_fit_ops[] = {
    {"mlp_fit", run_mlp_fit, NULL},
    {0},
};
