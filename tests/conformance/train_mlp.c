/* SPDX-License-Identifier: Apache-2.0 */
/* The 784-128-10 network in a custom loop. */
#include "mlp.h"

#include <stdlib.h>
#include <string.h>

/* ---- the custom loop ---- */

typedef struct loop {
    mlp_case c;
    dt_strategy *strategy;
    dt_model *model;
    dt_loss *loss;
    dt_optimizer *optimizer;
    dt_function *step;
    mlp_digits *digits;
    int at;                /* the next row */
    double hits, examples; /* of the running accuracy */
} loop;

/* x (B, 784), y (B) or (B, 10) */
static void train_step(dt_trace *t, void *user) {
    const loop *l = user;
    dt_value p = dt_model_call(l->model, dt_arg(t, "x"), DT_TRAINING);
    dt_value loss = dt_loss_call(l->loss, dt_arg(t, "y"), p);

    dt_optimizer_apply(l->optimizer, dt_gradient(loss, dt_model_trainable(l->model)));
    dt_return(t, "loss", loss);
    dt_return(t, "p", p);
}

static void gradient_step(dt_trace *t, void *user) {
    const loop *l = user;
    dt_value p = dt_model_call(l->model, dt_arg(t, "x"), DT_TRAINING);
    dt_value loss = dt_loss_call(l->loss, dt_arg(t, "y"), p);
    dt_gradients g = dt_gradient(loss, dt_model_trainable(l->model));

    for (int i = 0; g.value && i < dt_variables_count(g.variables); i++)
        dt_return(t, dt_variables_path(g.variables, i), g.value[i]);
    dt_return(t, "loss", loss);
    dt_return(t, "p", p);
}

static bool open_loop(verdict *v, const golden_case *c, void (*step)(dt_trace *t, void *user),
                      loop *l) {
    *l = (loop){.c = mlp_read(c), .digits = mlp_draw()};
    l->strategy = mlp_mirrored(v, l->c.replicas);
    if (!l->strategy) return false;
    DT_SCOPE(l->strategy) {
        l->model = mlp_model(v, &l->c);
        expect_ok(v, "the loss", dt_loss_create(&l->loss, "%s", l->c.loss));
        /* as recorded, also where the rows are uneven */
        expect_ok(v, "the loss", dt_loss_set_average(l->loss, DT_REPLICA_AVERAGE));
        expect_ok(v, "the optimizer", dt_optimizer_create(&l->optimizer, "%s", l->c.optimizer));
    }
    expect_ok(v, "the step", dt_function_create(&l->step, step, l));
    return v->differences == 0;
}

static void close_loop(loop *l) {
    dt_function_unref(l->step);
    dt_optimizer_unref(l->optimizer);
    dt_loss_unref(l->loss);
    dt_model_unref(l->model);
    dt_strategy_unref(l->strategy);
    free(l->digits);
    mlp_case_release(&l->c);
}

/* The next batch of data.batch(batch).repeat(), cut as the original cut it: every replica gets
 * ceil(rows / replicas) rows while they last. */
static dt_values *next_batch(verdict *v, loop *l, int *rows) {
    dt_tensor *x[MOST_REPLICAS], *y[MOST_REPLICAS];
    int total = MLP_ROWS - l->at < l->c.batch ? MLP_ROWS - l->at : l->c.batch;
    int each = (total + l->c.replicas - 1) / l->c.replicas;
    dt_values *batch = NULL;

    for (int r = 0; r < l->c.replicas; r++) {
        int left = total - r * each;
        rows[r] = left < 0 ? 0 : left < each ? left : each;
        x[r] = mlp_images(v, l->digits, l->at, rows[r], l->c.dtype);
        y[r] = mlp_labels(v, l->digits, l->at, rows[r], l->c.dtype, l->c.sparse);
        l->at += rows[r];
    }
    l->at %= MLP_ROWS;
    expect_ok(v, "a batch", dt_values_create(&batch));
    expect_ok(v, "a batch", dt_values_set_per_replica(batch, "x", x, l->c.replicas));
    expect_ok(v, "a batch", dt_values_set_per_replica(batch, "y", y, l->c.replicas));
    for (int r = 0; r < l->c.replicas; r++) {
        dt_tensor_unref(x[r]);
        dt_tensor_unref(y[r]);
    }
    return batch;
}

static dt_values *run_step(verdict *v, loop *l, int *rows) {
    dt_values *batch = next_batch(v, l, rows), *results = NULL;

    if (v->differences == 0)
        expect_ok(v, "a step", dt_strategy_run(l->strategy, l->step, batch, &results));
    dt_values_unref(batch);
    return results;
}

/* ---- what is compared after a step ---- */

static double element(const dt_tensor *t, int64_t i) {
    const void *data = dt_tensor_data(t);
    return dt_tensor_dtype(t) == DT_FLOAT64 ? ((const double *)data)[i]
                                            : (double)((const float *)data)[i];
}

static int best_class(const dt_tensor *p, int row) {
    int best = 0;
    for (int k = 1; k < MLP_CLASSES; k++)
        if (element(p, row * MLP_CLASSES + k) > element(p, row * MLP_CLASSES + best)) best = k;
    return best;
}

/* `first` is the batch's first row. */
static void count_hits(loop *l, const dt_values *results, const int *rows, int first) {
    for (int r = 0; r < l->c.replicas; r++) {
        const dt_tensor *p = dt_values_local(results, "p", r);
        for (int i = 0; i < rows[r]; i++) l->hits += best_class(p, i) == l->digits->label[first++];
        l->examples += rows[r];
    }
}

static void expect_step(verdict *v, loop *l, const dt_values *results, const int *rows, int step) {
    const json_t *out = v->c->out;
    const json_t *losses = json_array_get(json_object_get(out, "per_replica_loss"), (size_t)step);
    const json_t *sizes = json_array_get(json_object_get(out, "per_replica_batch"), (size_t)step);
    dt_tensor *sum = NULL;
    char what[32];

    snprintf(what, sizeof what, "step %d", step);
    for (int r = 0; r < l->c.replicas; r++) {
        expect_double(v, what, json_array_get(losses, (size_t)r),
                      dt_tensor_item(dt_values_local(results, "loss", r)), LOSSES);
        expect_int(v, what, json_array_get(sizes, (size_t)r), rows[r]);
    }
    expect_ok(v, what, dt_strategy_reduce(l->strategy, DT_SUM, results, "loss", DT_NO_AXIS, &sum));
    expect_double(v, what, json_array_get(json_object_get(out, "reduced_sum_loss"), (size_t)step),
                  dt_tensor_item(sum), LOSSES);
    expect_double(v, what, json_array_get(json_object_get(out, "running_accuracy"), (size_t)step),
                  l->hits / l->examples, LOSSES);
    dt_tensor_unref(sum);
}

static void run_mlp_train(const golden_case *c, verdict *v) {
    int rows[MOST_REPLICAS];
    loop l;

    bool open = open_loop(v, c, train_step, &l);
    for (int i = 0; open && i < l.c.steps && v->differences == 0; i++) {
        int first = l.at;
        dt_values *results = run_step(v, &l, rows);
        if (results) {
            count_hits(&l, results, rows, first);
            expect_step(v, &l, results, rows, i);
        }
        dt_values_unref(results);
    }
    if (open) mlp_expect_weights(v, json_object_get(c->out, "final"), l.model);
    close_loop(&l);
}

/* ---- the first batch, with its gradients ---- */

static void expect_generated(verdict *v, const json_t *want, const loop *l) {
    const json_t *first = json_object_get(want, "labels_first_16"), *x;
    dt_tensor *all = mlp_images(v, l->digits, 0, MLP_ROWS, l->c.dtype);
    int64_t sum = 0;
    size_t i;

    json_array_foreach(first, i, x) expect_int(v, "label", x, l->digits->label[i]);
    for (i = 0; i < MLP_ROWS; i++) sum += l->digits->label[i];
    expect_int(v, "sum of labels", json_object_get(want, "labels_sum"), sum);
    mlp_expect_summary(v, "x", json_object_get(want, "x"), all);
    dt_tensor_unref(all);
    for (i = 0; i < MLP_WEIGHTS; i++) {
        const json_t *summary = json_object_get(want, mlp_names[i]);
        dt_tensor *w = NULL;
        expect_ok(v, mlp_paths[i], dt_model_get_weight(l->model, mlp_paths[i], &w));
        if (summary) mlp_expect_summary(v, mlp_names[i], summary, w);
        dt_tensor_unref(w);
    }
}

static void expect_first_batch(verdict *v, const dt_values *results) {
    const json_t *gradients = json_object_get(v->c->out, "gradients"),
                 *row = json_object_get(v->c->out, "probabilities_row_0");
    const dt_tensor *p = dt_values_local(results, "p", 0);

    expect_double(v, "loss", json_object_get(v->c->out, "loss"),
                  dt_tensor_item(dt_values_local(results, "loss", 0)), LOSSES);
    for (size_t k = 0; k < MLP_CLASSES; k++)
        expect_double(v, "probability", json_array_get(json_object_get(row, "data"), k),
                      element(p, (int64_t)k), PRODUCTS);
    for (int i = 0; i < MLP_WEIGHTS; i++)
        mlp_expect_summary(v, mlp_names[i], json_object_get(gradients, mlp_names[i]),
                           dt_values_local(results, mlp_paths[i], 0));
}

static void run_first_batch(const golden_case *c, verdict *v) {
    int rows[MOST_REPLICAS];
    loop l;

    if (open_loop(v, c, gradient_step, &l)) {
        expect_generated(v, json_object_get(c->out, "generated"), &l);
        dt_values *results = run_step(v, &l, rows);
        if (results) expect_first_batch(v, results);
        dt_values_unref(results);
    }
    close_loop(&l);
}

const golden_op train_mlp_ops[] = {
    {"mlp_first_batch", run_first_batch, NULL},
    {"mlp_train", run_mlp_train, NULL},
    {0},
};
