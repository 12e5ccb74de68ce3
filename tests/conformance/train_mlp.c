/* Training runs: the 784-128-10 network in a custom loop and in fit, and the loop of the documents. */
#include "mlp.h"

#include <stdlib.h>
#include <string.h>

#define LOSSES ((tolerance){ 1e-4, 1e-6 }) /* golden/README.md */

enum { MOST_REPLICAS = 16 };

static dt_strategy *mirrored(verdict *v, int replicas)
{
    json_t *j = json_pack("{s:s,s:i}", "type", "MirroredStrategy", "num_replicas", replicas);
    dt_strategy *s = strategy_of(v, j);
    json_decref(j);
    return s;
}

/* ---- the custom loop ---- */

typedef struct loop {
    mlp_case c;
    dt_strategy *strategy;
    dt_model *model;
    dt_loss *loss;
    dt_optimizer *optimizer;
    dt_function *step;
    mlp_digits *digits;
    int at;                      /* the next row */
    double hits, examples;       /* of the running accuracy */
} loop;

/* x (B, 784), y (B) or (B, 10) */
static void train_step(dt_trace *t, void *user)
{
    const loop *l = user;
    dt_value p = dt_model_call(l->model, dt_arg(t, "x"), DT_TRAINING);
    dt_value loss = dt_loss_call(l->loss, dt_arg(t, "y"), p);

    dt_optimizer_apply(l->optimizer, dt_gradient(loss, dt_model_trainable(l->model)));
    dt_return(t, "loss", loss);
    dt_return(t, "p", p);
}

static void gradient_step(dt_trace *t, void *user)
{
    const loop *l = user;
    dt_value p = dt_model_call(l->model, dt_arg(t, "x"), DT_TRAINING);
    dt_value loss = dt_loss_call(l->loss, dt_arg(t, "y"), p);
    dt_gradients g = dt_gradient(loss, dt_model_trainable(l->model));

    for (int i = 0; g.value && i < dt_variables_count(g.variables); i++)
        dt_return(t, dt_variables_path(g.variables, i), g.value[i]);
    dt_return(t, "loss", loss);
    dt_return(t, "p", p);
}

static bool open_loop(verdict *v, const golden_case *c, void (*step)(dt_trace *t, void *user), loop *l)
{
    *l = (loop){ .c = mlp_read(c), .digits = mlp_draw() };
    if (l->c.replicas > MOST_REPLICAS) {
        differs(v, "%d replicas are more than the %d of this runner", l->c.replicas, MOST_REPLICAS);
        return false;
    }
    l->strategy = mirrored(v, l->c.replicas);
    DT_SCOPE(l->strategy) {
        l->model = mlp_model(v, &l->c);
        expect_ok(v, "the loss", dt_loss_create(&l->loss, "%s", l->c.loss));
        expect_ok(v, "the optimizer", dt_optimizer_create(&l->optimizer, "%s", l->c.optimizer));
    }
    expect_ok(v, "the step", dt_function_create(&l->step, step, l));
    return v->differences == 0;
}

static void close_loop(loop *l)
{
    dt_function_unref(l->step);
    dt_optimizer_unref(l->optimizer);
    dt_loss_unref(l->loss);
    dt_model_unref(l->model);
    dt_strategy_unref(l->strategy);
    free(l->digits);
    mlp_case_release(&l->c);
}

/* The next batch of data.batch(batch).repeat(), cut as the original cut it: every replica gets ceil(rows / replicas) rows while they last. */
static dt_values *next_batch(verdict *v, loop *l, int *rows)
{
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

static dt_values *run_step(verdict *v, loop *l, int *rows)
{
    dt_values *batch = next_batch(v, l, rows), *results = NULL;

    if (v->differences == 0)
        expect_ok(v, "a step", dt_strategy_run(l->strategy, l->step, batch, &results));
    dt_values_unref(batch);
    return results;
}

/* ---- what is compared after a step ---- */

static double element(const dt_tensor *t, int64_t i)
{
    const void *data = dt_tensor_data(t);
    return dt_tensor_dtype(t) == DT_FLOAT64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static int best_class(const dt_tensor *p, int row)
{
    int best = 0;
    for (int k = 1; k < MLP_CLASSES; k++)
        if (element(p, row * MLP_CLASSES + k) > element(p, row * MLP_CLASSES + best))
            best = k;
    return best;
}

/* `first` is the batch's first row. */
static void count_hits(loop *l, const dt_values *results, const int *rows, int first)
{
    for (int r = 0; r < l->c.replicas; r++) {
        const dt_tensor *p = dt_values_local(results, "p", r);
        for (int i = 0; i < rows[r]; i++)
            l->hits += best_class(p, i) == l->digits->label[first++];
        l->examples += rows[r];
    }
}

static void expect_step(verdict *v, loop *l, const dt_values *results, const int *rows, int step)
{
    const json_t *out = v->c->out;
    const json_t *losses = json_array_get(json_object_get(out, "per_replica_loss"), (size_t)step);
    const json_t *sizes = json_array_get(json_object_get(out, "per_replica_batch"), (size_t)step);
    dt_tensor *sum = NULL;
    char what[32];

    snprintf(what, sizeof what, "step %d", step);
    for (int r = 0; r < l->c.replicas; r++) {
        expect_double(v, what, json_array_get(losses, (size_t)r), dt_tensor_item(dt_values_local(results, "loss", r)), LOSSES);
        expect_int(v, what, json_array_get(sizes, (size_t)r), rows[r]);
    }
    expect_ok(v, what, dt_strategy_reduce(l->strategy, DT_SUM, results, "loss", DT_NO_AXIS, &sum));
    expect_double(v, what, json_array_get(json_object_get(out, "reduced_sum_loss"), (size_t)step), dt_tensor_item(sum), LOSSES);
    expect_double(v, what, json_array_get(json_object_get(out, "running_accuracy"), (size_t)step), l->hits / l->examples, LOSSES);
    dt_tensor_unref(sum);
}

static void run_mlp_train(const golden_case *c, verdict *v)
{
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
    if (open)
        mlp_expect_weights(v, json_object_get(c->out, "final"), l.model);
    close_loop(&l);
}

/* ---- the first batch, with its gradients ---- */

static void expect_generated(verdict *v, const json_t *want, const loop *l)
{
    const json_t *first = json_object_get(want, "labels_first_16"), *x;
    dt_tensor *all = mlp_images(v, l->digits, 0, MLP_ROWS, l->c.dtype);
    int64_t sum = 0;
    size_t i;

    json_array_foreach(first, i, x)
        expect_int(v, "label", x, l->digits->label[i]);
    for (i = 0; i < MLP_ROWS; i++)
        sum += l->digits->label[i];
    expect_int(v, "sum of labels", json_object_get(want, "labels_sum"), sum);
    mlp_expect_summary(v, "x", json_object_get(want, "x"), all);
    dt_tensor_unref(all);
    for (i = 0; i < MLP_WEIGHTS; i++) {
        const json_t *summary = json_object_get(want, mlp_names[i]);
        dt_tensor *w = NULL;
        expect_ok(v, mlp_paths[i], dt_model_get_weight(l->model, mlp_paths[i], &w));
        if (summary)
            mlp_expect_summary(v, mlp_names[i], summary, w);
        dt_tensor_unref(w);
    }
}

static void expect_first_batch(verdict *v, const dt_values *results)
{
    const json_t *gradients = json_object_get(v->c->out, "gradients"), *row = json_object_get(v->c->out, "probabilities_row_0");
    const dt_tensor *p = dt_values_local(results, "p", 0);

    expect_double(v, "loss", json_object_get(v->c->out, "loss"), dt_tensor_item(dt_values_local(results, "loss", 0)), LOSSES);
    for (size_t k = 0; k < MLP_CLASSES; k++)
        expect_double(v, "probability", json_array_get(json_object_get(row, "data"), k), element(p, (int64_t)k), PRODUCTS);
    for (int i = 0; i < MLP_WEIGHTS; i++)
        mlp_expect_summary(v, mlp_names[i], json_object_get(gradients, mlp_names[i]), dt_values_local(results, mlp_paths[i], 0));
}

static void run_first_batch(const golden_case *c, verdict *v)
{
    int rows[MOST_REPLICAS];
    loop l;

    if (open_loop(v, c, gradient_step, &l)) {
        expect_generated(v, json_object_get(c->out, "generated"), &l);
        dt_values *results = run_step(v, &l, rows);
        if (results)
            expect_first_batch(v, results);
        dt_values_unref(results);
    }
    close_loop(&l);
}

/* ---- the documented loop ---- */

/* Dense(2), SGD(0.1), one loss per example, as the document writes it. x (B, 5), y (B, 1) */
static void documented_step(dt_trace *t, void *user)
{
    const loop *l = user;
    dt_value logits = dt_model_call(l->model, dt_arg(t, "x"), DT_TRAINING);
    dt_value loss = dt_loss_call(l->loss, dt_arg(t, "y"), logits); /* (B) */

    dt_optimizer_apply(l->optimizer, dt_gradient(loss, dt_model_trainable(l->model)));
    dt_return(t, "loss", loss);
}

static void set_weight(verdict *v, dt_model *model, const char *path, const json_t *value)
{
    dt_tensor *t = tensor_of(v, value);
    if (t)
        expect_ok(v, path, dt_model_set_weight(model, path, t));
    dt_tensor_unref(t);
}

static bool open_documented(verdict *v, const golden_case *c, loop *l)
{
    const json_t *inputs = json_object_get(c->out, "inputs");

    *l = (loop){ .c.replicas = (int)json_integer_value(json_object_get(c->in, "num_replicas")) };
    l->strategy = mirrored(v, l->c.replicas);
    if (!l->strategy || l->c.replicas > MOST_REPLICAS)
        return false;
    DT_SCOPE(l->strategy) {
        expect_ok(v, "the model", dt_model_create(&l->model, "- Input: {name: x, shape: [5]}\n- Dense: {units: 2}\n"));
        expect_ok(v, "the optimizer", dt_optimizer_create(&l->optimizer, "SGD: {learning_rate: 0.1}"));
        expect_ok(v, "the loss", dt_loss_create(&l->loss, "SparseCategoricalCrossentropy: {from_logits: %s, reduction: none}",
                                                json_is_true(json_object_get(c->in, "from_logits")) ? "true" : "false"));
    }
    if (v->differences)
        return false;
    set_weight(v, l->model, "dense/kernel", json_object_get(inputs, "kernel"));
    set_weight(v, l->model, "dense/bias", json_object_get(inputs, "bias"));
    expect_ok(v, "the step", dt_function_create(&l->step, documented_step, l));
    return v->differences == 0;
}

/* Row i of a tensor of rank 2. */
static dt_tensor *row_of(verdict *v, const dt_tensor *all, int64_t i)
{
    dt_tensor *row = NULL;
    int64_t columns = dt_tensor_dim(all, 1);
    size_t bytes = (size_t)columns * (dt_tensor_dtype(all) == DT_INT32 || dt_tensor_dtype(all) == DT_FLOAT32 ? 4 : 8);

    expect_ok(v, "a row", dt_tensor_create(&row, dt_tensor_dtype(all), 2, (int64_t[]){ 1, columns },
                                           (const char *)dt_tensor_data(all) + (size_t)i * bytes));
    return row;
}

/* data.repeat().batch(1): every replica takes the next example. */
static void give_rows(verdict *v, loop *l, dt_values *batch, const char *name, const dt_tensor *all)
{
    dt_tensor *row[MOST_REPLICAS];

    for (int r = 0; r < l->c.replicas; r++)
        row[r] = row_of(v, all, (l->at + r) % dt_tensor_dim(all, 0));
    expect_ok(v, name, dt_values_set_per_replica(batch, name, row, l->c.replicas));
    for (int r = 0; r < l->c.replicas; r++)
        dt_tensor_unref(row[r]);
}

static void expect_weight(verdict *v, dt_model *model, const char *path, const json_t *want)
{
    dt_tensor *t = NULL;
    expect_ok(v, path, dt_model_get_weight(model, path, &t));
    expect_tensor(v, path, want, t, PRODUCTS);
    dt_tensor_unref(t);
}

static void run_documented_step(verdict *v, loop *l, const dt_tensor *x, const dt_tensor *y, const json_t *want)
{
    dt_values *batch = NULL, *results = NULL;

    expect_ok(v, "a batch", dt_values_create(&batch));
    give_rows(v, l, batch, "x", x);
    give_rows(v, l, batch, "y", y);
    l->at += l->c.replicas;
    expect_ok(v, "a step", dt_strategy_run(l->strategy, l->step, batch, &results));
    for (int r = 0; results && r < l->c.replicas; r++)
        expect_tensor(v, "loss", json_array_get(json_object_get(want, "per_replica_loss"), (size_t)r), dt_values_local(results, "loss", r),
                      PRODUCTS);
    expect_weight(v, l->model, "dense/kernel", json_object_get(want, "kernel"));
    expect_weight(v, l->model, "dense/bias", json_object_get(want, "bias"));
    dt_values_unref(results);
    dt_values_unref(batch);
}

static void run_documented(const golden_case *c, verdict *v)
{
    const json_t *inputs = json_object_get(c->out, "inputs"), *step;
    dt_tensor *x = tensor_of(v, json_object_get(inputs, "x")), *y = tensor_of(v, json_object_get(inputs, "y"));
    size_t i;
    loop l;

    if (open_documented(v, c, &l) && x && y)
        json_array_foreach(json_object_get(c->out, "steps"), i, step)
            if (v->differences == 0)
                run_documented_step(v, &l, x, y, step);
    dt_tensor_unref(x);
    dt_tensor_unref(y);
    close_loop(&l);
}

/* ---- the scaling of losses ---- */

static void loss_step(dt_trace *t, void *user)
{
    dt_value p = dt_arg(t, "p");
    dt_return(t, "loss", dt_loss_call(user, dt_multiply(p, dt_constant(t, 0)), p));
}

/* y_pred_by_replica[r] as (1, n) */
static dt_values *predictions(verdict *v, const json_t *by_replica, int replicas)
{
    dt_tensor *p[MOST_REPLICAS] = { 0 };
    dt_values *values = NULL;

    for (int r = 0; r < replicas; r++) {
        const json_t *row = json_array_get(by_replica, (size_t)r);
        json_t *tensor = json_pack("{s:[i,i],s:s,s:O}", "shape", 1, (int)json_array_size(row), "dtype", "float32", "data", row);
        p[r] = tensor_of(v, tensor);
        json_decref(tensor);
    }
    expect_ok(v, "values", dt_values_create(&values));
    expect_ok(v, "values", dt_values_set_per_replica(values, "p", p, replicas));
    for (int r = 0; r < replicas; r++)
        dt_tensor_unref(p[r]);
    return values;
}

static void expect_scaled(verdict *v, dt_strategy *s, const dt_values *args, const char *reduction, const json_t *want)
{
    dt_values *results = NULL;
    dt_function *f = NULL;
    dt_loss *loss = NULL;

    expect_ok(v, reduction, dt_loss_create(&loss, "MeanSquaredError: {reduction: %s}", reduction));
    if (loss) {
        expect_ok(v, reduction, dt_function_create(&f, loss_step, loss));
        expect_ok(v, reduction, dt_strategy_run(s, f, args, &results));
    }
    for (int r = 0; results && r < dt_strategy_replicas(s); r++)
        expect_tensor(v, reduction, json_array_get(want, (size_t)r), dt_values_local(results, "loss", r), ELEMENTWISE);
    dt_values_unref(results);
    dt_function_unref(f);
    dt_loss_unref(loss);
}

static void run_loss_scaling(const golden_case *c, verdict *v)
{
    int replicas = (int)json_integer_value(json_object_get(c->in, "num_replicas"));
    const json_t *want = json_object_get(c->out, "loss_by_reduction"), *losses;
    dt_strategy *s = mirrored(v, replicas);
    dt_values *args = NULL;
    const char *reduction;

    if (s && replicas <= MOST_REPLICAS)
        args = predictions(v, json_object_get(c->out, "y_pred_by_replica"), replicas);
    if (args)
        json_object_foreach((json_t *)want, reduction, losses)
            expect_scaled(v, s, args, reduction, losses);
    dt_values_unref(args);
    dt_strategy_unref(s);
}

const golden_op train_mlp_ops[] = {
    { "mlp_first_batch", run_first_batch, NULL },
    { "mlp_train", run_mlp_train, NULL },
    { "doc_training_loop", run_documented, NULL },
    { "loss_scaling", run_loss_scaling, NULL },
    { 0 },
};
