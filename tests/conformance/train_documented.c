/* SPDX-License-Identifier: Apache-2.0 */
/* The custom loop of the documents, and what replicas make of losses and metrics. */
#include "mlp.h"

#include <string.h>

/* ---- the documented loop ---- */

typedef struct documented {
    int replicas;
    dt_strategy *strategy;
    dt_model *model;
    dt_loss *loss;
    dt_optimizer *optimizer;
    dt_function *step;
    int64_t at; /* the next example, of an endless repetition */
} documented;

/* Dense(2), SGD(0.1), one loss per example, as the document writes it. x (B, 5), y (B, 1) */
static void documented_step(dt_trace *t, void *user) {
    const documented *l = user;
    dt_value logits = dt_model_call(l->model, dt_arg(t, "x"), DT_TRAINING);
    dt_value loss = dt_loss_call(l->loss, dt_arg(t, "y"), logits); /* (B) */

    dt_optimizer_apply(l->optimizer, dt_gradient(loss, dt_model_trainable(l->model)));
    dt_return(t, "loss", loss);
}

static void set_weight(verdict *v, dt_model *model, const char *path, const json_t *value) {
    dt_tensor *t = tensor_of(v, value);
    if (t) expect_ok(v, path, dt_model_set_weight(model, path, t));
    dt_tensor_unref(t);
}

static bool open_documented(verdict *v, const golden_case *c, documented *l) {
    const json_t *inputs = json_object_get(c->out, "inputs");

    *l = (documented){.replicas = (int)json_integer_value(json_object_get(c->in, "num_replicas"))};
    l->strategy = mlp_mirrored(v, l->replicas);
    if (!l->strategy) return false;
    DT_SCOPE(l->strategy) {
        expect_ok(
            v, "the model",
            dt_model_create(&l->model, "- Input: {name: x, shape: [5]}\n- Dense: {units: 2}\n"));
        expect_ok(v, "the optimizer",
                  dt_optimizer_create(&l->optimizer, "SGD: {learning_rate: 0.1}"));
        expect_ok(v, "the loss",
                  dt_loss_create(
                      &l->loss, "SparseCategoricalCrossentropy: {from_logits: %s, reduction: none}",
                      json_is_true(json_object_get(c->in, "from_logits")) ? "true" : "false"));
    }
    if (v->differences) return false;
    set_weight(v, l->model, "dense/kernel", json_object_get(inputs, "kernel"));
    set_weight(v, l->model, "dense/bias", json_object_get(inputs, "bias"));
    expect_ok(v, "the step", dt_function_create(&l->step, documented_step, l));
    return v->differences == 0;
}

/* Row i of a tensor of rank 2. */
static dt_tensor *row_of(verdict *v, const dt_tensor *all, int64_t i) {
    dt_tensor *row = NULL;
    int64_t columns = dt_tensor_dim(all, 1);
    size_t bytes = (size_t)columns *
                   (dt_tensor_dtype(all) == DT_INT32 || dt_tensor_dtype(all) == DT_FLOAT32 ? 4 : 8);

    expect_ok(v, "a row",
              dt_tensor_create(&row, dt_tensor_dtype(all), 2, (int64_t[]){1, columns},
                               (const char *)dt_tensor_data(all) + (size_t)i * bytes));
    return row;
}

/* data.repeat().batch(1): every replica takes the next example. */
static void give_rows(verdict *v, documented *l, dt_values *batch, const char *name,
                      const dt_tensor *all) {
    dt_tensor *row[MOST_REPLICAS];

    for (int r = 0; r < l->replicas; r++)
        row[r] = row_of(v, all, (l->at + r) % dt_tensor_dim(all, 0));
    expect_ok(v, name, dt_values_set_per_replica(batch, name, row, l->replicas));
    for (int r = 0; r < l->replicas; r++) dt_tensor_unref(row[r]);
}

static void expect_weight(verdict *v, dt_model *model, const char *path, const json_t *want) {
    dt_tensor *t = NULL;
    expect_ok(v, path, dt_model_get_weight(model, path, &t));
    expect_tensor(v, path, want, t, PRODUCTS);
    dt_tensor_unref(t);
}

static void run_documented_step(verdict *v, documented *l, const dt_tensor *x, const dt_tensor *y,
                                const json_t *want) {
    dt_values *batch = NULL, *results = NULL;

    expect_ok(v, "a batch", dt_values_create(&batch));
    give_rows(v, l, batch, "x", x);
    give_rows(v, l, batch, "y", y);
    l->at += l->replicas;
    expect_ok(v, "a step", dt_strategy_run(l->strategy, l->step, batch, &results));
    for (int r = 0; results && r < l->replicas; r++)
        expect_tensor(v, "loss",
                      json_array_get(json_object_get(want, "per_replica_loss"), (size_t)r),
                      dt_values_local(results, "loss", r), PRODUCTS);
    expect_weight(v, l->model, "dense/kernel", json_object_get(want, "kernel"));
    expect_weight(v, l->model, "dense/bias", json_object_get(want, "bias"));
    dt_values_unref(results);
    dt_values_unref(batch);
}

static void run_documented(const golden_case *c, verdict *v) {
    const json_t *inputs = json_object_get(c->out, "inputs"), *step;
    dt_tensor *x = tensor_of(v, json_object_get(inputs, "x")),
              *y = tensor_of(v, json_object_get(inputs, "y"));
    size_t i;
    documented l;

    if (open_documented(v, c, &l) && x && y)
        json_array_foreach(json_object_get(c->out, "steps"), i, step) if (v->differences == 0)
            run_documented_step(v, &l, x, y, step);
    dt_tensor_unref(x);
    dt_tensor_unref(y);
    dt_function_unref(l.step);
    dt_optimizer_unref(l.optimizer);
    dt_loss_unref(l.loss);
    dt_model_unref(l.model);
    dt_strategy_unref(l.strategy);
}

/* ---- the scaling of losses ---- */

static void loss_step(dt_trace *t, void *user) {
    dt_value p = dt_arg(t, "p");
    dt_return(t, "loss", dt_loss_call(user, dt_multiply(p, dt_constant(t, 0)), p));
}

/* y_pred_by_replica[r] as (1, n) */
static dt_values *predictions(verdict *v, const json_t *by_replica, int replicas) {
    dt_tensor *p[MOST_REPLICAS] = {0};
    dt_values *values = NULL;

    for (int r = 0; r < replicas; r++) {
        const json_t *row = json_array_get(by_replica, (size_t)r);
        json_t *tensor = json_pack("{s:[i,i],s:s,s:O}", "shape", 1, (int)json_array_size(row),
                                   "dtype", "float32", "data", row);
        p[r] = tensor_of(v, tensor);
        json_decref(tensor);
    }
    expect_ok(v, "values", dt_values_create(&values));
    expect_ok(v, "values", dt_values_set_per_replica(values, "p", p, replicas));
    for (int r = 0; r < replicas; r++) dt_tensor_unref(p[r]);
    return values;
}

static void expect_scaled(verdict *v, dt_strategy *s, const dt_values *args, const char *reduction,
                          const json_t *want) {
    dt_values *results = NULL;
    dt_function *f = NULL;
    dt_loss *loss = NULL;

    expect_ok(v, reduction, dt_loss_create(&loss, "MeanSquaredError: {reduction: %s}", reduction));
    if (loss) {
        expect_ok(v, reduction, dt_function_create(&f, loss_step, loss));
        expect_ok(v, reduction, dt_strategy_run(s, f, args, &results));
    }
    for (int r = 0; results && r < dt_strategy_replicas(s); r++)
        expect_tensor(v, reduction, json_array_get(want, (size_t)r),
                      dt_values_local(results, "loss", r), ELEMENTWISE);
    dt_values_unref(results);
    dt_function_unref(f);
    dt_loss_unref(loss);
}

static void run_loss_scaling(const golden_case *c, verdict *v) {
    int replicas = (int)json_integer_value(json_object_get(c->in, "num_replicas"));
    const json_t *want = json_object_get(c->out, "loss_by_reduction"), *losses;
    dt_strategy *s = mlp_mirrored(v, replicas);
    dt_values *args = NULL;
    const char *reduction;

    if (s) args = predictions(v, json_object_get(c->out, "y_pred_by_replica"), replicas);
    if (args)
        json_object_foreach((json_t *)want, reduction, losses)
            expect_scaled(v, s, args, reduction, losses);
    dt_values_unref(args);
    dt_strategy_unref(s);
}

/* ---- the state of metrics ---- */

/* A mean's state: SyncOnReadVariables, whose copies are the replicas' own until the result is asked
 * for. */
typedef struct mean {
    dt_variable *total, *count;
} mean;

/* Replica r counts r + 1 values of r + 1. */
static void update_step(dt_trace *t, void *user) {
    const mean *m = user;
    dt_value n = dt_add(dt_convert(dt_replica_id(t), DT_FLOAT32), dt_constant(t, 1));

    dt_variable_assign_add(t, m->total, dt_multiply(n, n));
    dt_variable_assign_add(t, m->count, n);
}

static dt_variable *sum_over_replicas(verdict *v, const char *name) {
    dt_variable *x = NULL;
    const dt_variable_options options = {.name = name,
                                         .synchronization = DT_SYNC_ON_READ,
                                         .aggregation = DT_AGGREGATE_SUM,
                                         .dtype = DT_FLOAT32};
    expect_ok(v, name, dt_variable_create(&x, NULL, &options));
    return x;
}

static double value_of(verdict *v, dt_variable *x) {
    dt_tensor *t = NULL;
    expect_ok(v, "the value", dt_variable_value(x, &t));
    double value = t ? dt_tensor_item(t) : 0;
    dt_tensor_unref(t);
    return value;
}

static void expect_totals(verdict *v, dt_variable *total) {
    const json_t *want = json_object_get(v->c->out, "total_by_replica"), *x;
    size_t r;

    json_array_foreach(want, r, x) {
        dt_tensor *t = NULL;
        expect_ok(v, "a copy", dt_variable_local(total, (int)r, &t));
        if (t) expect_double(v, "total", x, dt_tensor_item(t), ELEMENTWISE);
        dt_tensor_unref(t);
    }
}

static void reset(verdict *v, dt_variable *x) {
    dt_tensor *zero = NULL;
    expect_ok(v, "zero", dt_tensor_create(&zero, DT_FLOAT32, 0, NULL, NULL));
    expect_ok(v, "reset", dt_variable_set(x, DT_ASSIGN, zero));
    dt_tensor_unref(zero);
}

static void expect_mean(verdict *v, dt_strategy *s, mean *m) {
    dt_function *f = NULL;

    expect_ok(v, "the step", dt_function_create(&f, update_step, m));
    expect_ok(v, "an update", dt_strategy_run(s, f, NULL, NULL));
    expect_text(v, "kind", json_object_get(v->c->out, "variable_kind"), dt_variable_kind(m->total));
    expect_totals(v, m->total);
    expect_double(v, "mean", json_object_get(v->c->out, "mean"),
                  value_of(v, m->total) / value_of(v, m->count), ELEMENTWISE);
    reset(v, m->total);
    expect_double(v, "after reset", json_object_get(v->c->out, "after_reset"),
                  value_of(v, m->total), ELEMENTWISE);
    dt_function_unref(f);
}

static void run_metric_sync(const golden_case *c, verdict *v) {
    dt_strategy *s =
        mlp_mirrored(v, (int)json_integer_value(json_object_get(c->in, "num_replicas")));
    mean m = {0};

    if (!s) return;
    DT_SCOPE(s) {
        m.total = sum_over_replicas(v, "total");
        m.count = sum_over_replicas(v, "count");
    }
    if (m.total && m.count) expect_mean(v, s, &m);
    dt_variable_unref(m.total);
    dt_variable_unref(m.count);
    dt_strategy_unref(s);
}

const golden_op train_documented_ops[] = {
    {"doc_training_loop", run_documented, NULL},
    {"loss_scaling", run_loss_scaling, NULL},
    {"metric_sync", run_metric_sync, NULL},
    {0},
};
