/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training recorded from TensorFlow and Keras (tests/golden/train_mlp.json), done again through the
 * public API: custom loops over run, and fit. Everything is computed by the compiled engine.
 */
#define HERE "build/tmp/train-golden"
#include "golden_kit.h"

enum { ROWS = 256, FEATURES = 784, HIDDEN = 128, CLASSES = 10 };

/* "{\"learning_rate\": 0.05}" of a recorded mapping; free() it. */
static char *arguments_of(const json_t *object) {
    return json_dumps(json_object_get(object, "arguments"), JSON_REAL_PRECISION(17));
}

/* ---- the generator of the records (splitmix64) ---- */

static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

/* [0, 1), exact in float32 */
static double uniform(uint64_t *state) { return (double)(draw(state) >> 48) / 65536; }

static double x[ROWS][FEATURES];
static int label[ROWS];

static int draw_rows(void **state) {
    uint64_t s = 3;

    for (int i = 0; i < ROWS; i++) {
        label[i] = (int)(draw(&s) % CLASSES);
        for (int j = 0; j < FEATURES; j++)
            x[i][j] = uniform(&s) * 0.5 + (j % CLASSES == label[i] ? 0.5 : 0);
    }
    return clean_folder(state);
}

/* n rows from `first`, images (n, 784) or labels: (n) class numbers or (n, 10) one-hot. */
static dt_tensor *rows_of(const char *what, int first, int n, dt_dtype dtype) {
    bool image = strcmp(what, "image") == 0, sparse = strcmp(what, "class") == 0;
    const int64_t shape[2] = {n, image ? FEATURES : CLASSES};
    dt_tensor *t = NULL;

    OK(dt_tensor_create(&t, sparse ? DT_INT32 : dtype, sparse ? 1 : 2, shape, NULL));
    void *data = (void *)(uintptr_t)dt_tensor_data(t);
    for (int i = 0; i < n; i++) {
        for (int j = 0; image && j < FEATURES; j++)
            put(data, dtype, i * FEATURES + j, x[first + i][j]);
        for (int j = 0; !image && !sparse && j < CLASSES; j++)
            put(data, dtype, i * CLASSES + j, label[first + i] == j);
        if (sparse) put(data, DT_INT32, i, label[first + i]);
    }
    return t;
}

/* ---- the network ---- */

static void draw_weight(dt_model *m, const char *path, uint64_t seed, double width) {
    dt_tensor *t = NULL;

    OK(dt_model_get_weight(m, path, &t));
    for (int64_t i = 0; i < dt_tensor_elements(t); i++)
        put((void *)(uintptr_t)dt_tensor_data(t), dt_tensor_dtype(t), i,
            (uniform(&seed) - 0.5) * width);
    OK(dt_model_set_weight(m, path, t));
    dt_tensor_unref(t);
}

static dt_model *make_model(const char *dtype, bool softmax) {
    dt_model *m = NULL;

    OK(dt_model_create(
        &m,
        "- Input: {name: image, shape: [784], dtype: %s}\n- Dense: {units: 128, activation: relu}\n"
        "- Dense: {units: 10, activation: %s}\n",
        dtype, softmax ? "softmax" : "linear"));
    draw_weight(m, "dense/kernel", 1, 0.125);
    draw_weight(m, "dense_1/kernel", 2, 0.25);
    return m;
}

static void network_make(network *n, const json_t *in) {
    const json_t *loss = json_object_get(in, "loss"), *optimizer = json_object_get(in, "optimizer");
    char *loss_arguments = arguments_of(loss), *arguments = arguments_of(optimizer);

    *n = (network){.replicas = (int)json_integer_value(json_object_get(in, "num_replicas")),
                   .sparse = strcmp(text_at(loss, "class"), "SparseCategoricalCrossentropy") == 0};
    assert_true(dt_dtype_parse(text_at(in, "dtype"), &n->dtype));
    n->strategy = strategy_of(&(setup){.replicas = n->replicas});
    DT_SCOPE(n->strategy) {
        n->model = make_model(text_at(in, "dtype"), strcmp(text_at(in, "head"), "softmax") == 0);
        OK(dt_loss_create(&n->loss, "%s: %s", text_at(loss, "class"), loss_arguments));
        /* as recorded, also where the rows are uneven */
        OK(dt_loss_set_average(n->loss, DT_REPLICA_AVERAGE));
        OK(dt_optimizer_create(&n->optimizer, "%s: %s", text_at(optimizer, "class"), arguments));
    }
    free(loss_arguments);
    free(arguments);
}

/* Sum, sum of squares and ends, as the records have them. */
static void check_tensor(const char *id, const char *name, const dt_tensor *t,
                         const json_t *recorded) {
    int64_t n = dt_tensor_elements(t);
    double sum = 0, squares = 0;

    for (int64_t i = 0; i < n; i++) {
        sum += element(t, i);
        squares += element(t, i) * element(t, i);
    }
    near(id, name, sum, json_number_value(json_object_get(recorded, "sum")), 1e-3, 1e-5);
    near(id, name, squares, json_number_value(json_object_get(recorded, "sum_of_squares")), 1e-3,
         0);
    for (int i = 0; i < 4; i++) {
        near(id, name, element(t, i), number_at(json_object_get(recorded, "first"), i), 1e-3, 1e-6);
        near(id, name, element(t, n - 4 + i), number_at(json_object_get(recorded, "last"), i), 1e-3,
             1e-6);
    }
}

static const char *const weights[][2] = {
    {"dense/kernel", "W1"}, {"dense/bias", "b1"}, {"dense_1/kernel", "W2"}, {"dense_1/bias", "b2"}};

static void check_weights(const char *id, dt_model *m, const json_t *recorded) {
    for (int i = 0; i < 4; i++) {
        dt_tensor *t = NULL;
        OK(dt_model_get_weight(m, weights[i][0], &t));
        check_tensor(id, weights[i][0], t, json_object_get(recorded, weights[i][1]));
        dt_tensor_unref(t);
    }
}

/* ---- the first batch ---- */

static void gradients_step(dt_trace *t, void *user) {
    network *n = user;
    dt_value p = dt_model_call(n->model, dt_arg(t, "image"), DT_TRAINING),
             loss = dt_loss_call(n->loss, dt_arg(t, "label"), p);
    dt_gradients g = dt_gradient(loss, dt_model_trainable(n->model));

    dt_return(t, "loss", loss);
    dt_return(t, "p", p);
    for (int i = 0; i < 4; i++) dt_return(t, weights[i][1], g.value[i]);
}

static void run_first_batch(const json_t *c) {
    const json_t *out = json_object_get(c, "out"),
                 *row = json_object_get(json_object_get(out, "probabilities_row_0"), "data");
    network n = {
        .strategy = strategy_of(&(setup){0}), .model = make_model("float32", true), .replicas = 1};
    dt_function *f = NULL;
    dt_values *args = NULL, *r = NULL;
    dt_tensor *image = rows_of("image", 0, 32, DT_FLOAT32),
              *one_hot = rows_of("one-hot", 0, 32, DT_FLOAT32);

    OK(dt_loss_create(&n.loss, "CategoricalCrossentropy"));
    OK(dt_function_create(&f, gradients_step, &n));
    OK(dt_values_create(&args));
    OK(dt_values_set_per_replica(args, "image", &image, 1));
    OK(dt_values_set_per_replica(args, "label", &one_hot, 1));
    OK(dt_strategy_run(n.strategy, f, args, &r));
    near(text_at(c, "id"), "loss", dt_tensor_item(dt_values_local(r, "loss", 0)),
         json_number_value(json_object_get(out, "loss")), 1e-6, 0);
    for (int k = 0; k < CLASSES; k++)
        near(text_at(c, "id"), "p", element(dt_values_local(r, "p", 0), k), number_at(row, k), 1e-5,
             1e-6);
    for (int i = 0; i < 4; i++)
        check_tensor(text_at(c, "id"), weights[i][1], dt_values_local(r, weights[i][1], 0),
                     json_object_get(json_object_get(out, "gradients"), weights[i][1]));
    dt_tensor_unref(image);
    dt_tensor_unref(one_hot);
    dt_values_unref(args);
    dt_values_unref(r);
    dt_function_unref(f);
    network_free(&n);
}

static void test_first_batch(void **state) {
    (void)state;
    for_each_case("mlp_first_batch", run_first_batch);
}

/* ---- custom loops ---- */

static void train_step(dt_trace *t, void *user) {
    network *n = user;
    const dt_metric_row *hits =
        n->sparse ? &dt_metric_sparse_categorical_accuracy : &dt_metric_categorical_accuracy;
    dt_value y = dt_arg(t, "label"), p = dt_model_call(n->model, dt_arg(t, "image"), DT_TRAINING),
             loss = dt_loss_call(n->loss, y, p);

    dt_optimizer_apply(n->optimizer, dt_gradient(loss, dt_model_trainable(n->model)));
    dt_return(t, "loss", loss);
    dt_return(t, "hits", hits->update(&(dt_loss_call_args){NULL, y, p})); /* (B) */
}

/* Each replica's recorded number of rows from *first on. */
static dt_values *recorded_batch(const network *n, const json_t *sizes, int *first) {
    dt_tensor *image[8], *y[8];
    dt_values *v = NULL;

    OK(dt_values_create(&v));
    for (int r = 0; r < n->replicas; r++) {
        int rows = (int)json_integer_value(json_array_get(sizes, (size_t)r));
        image[r] = rows_of("image", *first, rows, n->dtype);
        y[r] = rows_of(n->sparse ? "class" : "one-hot", *first, rows, n->dtype);
        *first += rows;
    }
    OK(dt_values_set_per_replica(v, "image", image, n->replicas));
    OK(dt_values_set_per_replica(v, "label", y, n->replicas));
    for (int r = 0; r < n->replicas; r++) {
        dt_tensor_unref(image[r]);
        dt_tensor_unref(y[r]);
    }
    return v;
}

typedef struct tally {
    double hits, rows;
} tally;

static void check_step(const network *n, const json_t *c, const dt_values *r, size_t step,
                       tally *t) {
    /* Keras rounds rate and betas to float32 even in float64; 1 - 0.999^t is 1.3e-5 off there. */
    const double tolerance = n->dtype == DT_FLOAT64 ? 2e-5 : 1e-4;
    const json_t *out = json_object_get(c, "out"),
                 *losses = json_array_get(json_object_get(out, "per_replica_loss"), step);
    dt_tensor *sum = NULL;

    for (int i = 0; i < n->replicas; i++) {
        const dt_tensor *hits = dt_values_local(r, "hits", i);
        near(text_at(c, "id"), "loss", dt_tensor_item(dt_values_local(r, "loss", i)),
             number_at(losses, i), tolerance, 0);
        for (int64_t k = 0; k < dt_tensor_elements(hits); k++) t->hits += element(hits, k);
        t->rows += (double)dt_tensor_elements(hits);
    }
    OK(dt_strategy_reduce(n->strategy, DT_SUM, r, "loss", DT_NO_AXIS, &sum));
    near(text_at(c, "id"), "sum of losses", dt_tensor_item(sum),
         number_at(json_object_get(out, "reduced_sum_loss"), (int64_t)step), tolerance, 0);
    near(text_at(c, "id"), "accuracy", t->hits / t->rows,
         number_at(json_object_get(out, "running_accuracy"), (int64_t)step), 1e-6, 0);
    dt_tensor_unref(sum);
}

static void run_training(const json_t *c) {
    const json_t *sizes = json_object_get(json_object_get(c, "out"), "per_replica_batch");
    dt_function *f = NULL;
    dt_values *r = NULL;
    tally t = {0};
    int first = 0;
    network n;

    network_make(&n, json_object_get(c, "in"));
    OK(dt_function_create(&f, train_step, &n));
    for (size_t step = 0; step < json_array_size(sizes); step++) {
        dt_values *args = recorded_batch(&n, json_array_get(sizes, step), &first);
        OK(dt_strategy_run(n.strategy, f, args, &r));
        check_step(&n, c, r, step, &t);
        dt_values_unref(args);
        first = first >= ROWS ? 0 : first; /* the next epoch */
    }
    check_weights(text_at(c, "id"), n.model, json_object_get(json_object_get(c, "out"), "final"));
    dt_values_unref(r);
    dt_function_unref(f);
    network_free(&n);
}

static void test_custom_loops(void **state) {
    (void)state;
    for_each_case("mlp_train", run_training);
}

/* ---- fit ---- */

static void write_npy(const char *path, const dt_tensor *t) {
    char dictionary[118], shape[48];
    bool flat = dt_tensor_rank(t) == 1;

    snprintf(shape, sizeof shape, flat ? "(%lld,)" : "(%lld, %lld)", (long long)dt_tensor_dim(t, 0),
             (long long)dt_tensor_dim(t, 1));
    memset(dictionary, ' ', sizeof dictionary);
    dictionary[snprintf(dictionary, sizeof dictionary,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s}",
                        flat ? "<i4" : "<f4", shape)] = ' ';
    dictionary[sizeof dictionary - 1] = '\n';
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite("\x93NUMPY\x01\x00\x76", 1, 10, f), 10);
    assert_int_equal(fwrite(dictionary, 1, sizeof dictionary, f), sizeof dictionary);
    assert_int_equal(fwrite(dt_tensor_data(t), 4, (size_t)dt_tensor_elements(t), f),
                     dt_tensor_elements(t));
    assert_int_equal(fclose(f), 0);
}

/* All steps are one epoch of Keras': over rows that repeat, unless the steps are one pass. */
static dt_dataset *open_rows(const network *n, int64_t batch, int64_t steps) {
    int64_t repeat = steps <= (ROWS + batch - 1) / batch ? 1 : (steps * batch + ROWS - 1) / ROWS;
    dt_tensor *image = rows_of("image", 0, ROWS, DT_FLOAT32),
              *y = rows_of(n->sparse ? "class" : "one-hot", 0, ROWS, DT_FLOAT32);
    dt_dataset *d = NULL;

    write_npy(HERE "/x.npy", image);
    write_npy(HERE "/y.npy", y);
    dt_tensor_unref(image);
    dt_tensor_unref(y);
    OK(dt_dataset_open(&d,
                       "{format: npy, train: {image: " HERE "/x.npy, label: " HERE
                       "/y.npy}, repeat: %lld, global_batch_size: %lld}",
                       (long long)repeat, (long long)batch));
    return d;
}

/* Running means: what Keras prints during an epoch. */
typedef struct watcher {
    const json_t *c;
    double loss, examples;
    int64_t steps;
} watcher;

static void watch(const dt_event *e, void *user) {
    watcher *w = user;
    const json_t *epoch = json_object_get(json_object_get(w->c, "out"), "fit_running_logs");

    if (e->kind != DT_EVENT_STEP || w->steps >= (int64_t)json_array_size(epoch)) return;
    const json_t *log = json_array_get(epoch, (size_t)w->steps++);
    w->loss += e->metrics[0].value * (double)e->examples;
    w->examples += (double)e->examples;
    near(text_at(w->c, "id"), "running loss", w->loss / w->examples,
         json_number_value(json_object_get(log, "loss")), 1e-4, 0);
    near(text_at(w->c, "id"), "running accuracy", e->metrics[1].value,
         json_number_value(json_object_get(log, "accuracy")), 1e-6, 0);
}

/* dt_model_fit tells no steps: dt_fit below it does. */
static void fit_recorded(const json_t *c, network *n, dt_dataset *data, dt_history **history) {
    const dt_fit_spec fit = {
        .steps = json_integer_value(json_object_get(json_object_get(c, "in"), "steps"))};
    watcher w = {.c = c};
    const dt_run_options run = {.every_step = true, .event = watch, .user = &w};
    dt_trainer *trainer = NULL;

    *history = dt_history_create();
    OK(dt_trainer_create(&trainer, &(dt_trainer_options){.strategy = n->strategy,
                                                         .model = n->model,
                                                         .compile = &n->model->compile,
                                                         .optimizer = n->model->optimizer,
                                                         .data = data}));
    OK(dt_fit(&(dt_fit_request){
        .trainer = trainer, .fit = &fit, .name = "recorded", .run = &run, .history = *history}));
    assert_int_equal(
        w.steps, json_array_size(json_object_get(json_object_get(c, "out"), "fit_running_logs")));
    dt_trainer_destroy(trainer);
}

static void compile_recorded(const json_t *in, dt_model *m) {
    const json_t *loss = json_object_get(in, "loss"), *optimizer = json_object_get(in, "optimizer");
    char *loss_arguments = arguments_of(loss), *arguments = arguments_of(optimizer);

    OK(dt_model_compile(m, "{optimizer: {%s: %s}, loss: {%s: %s}, metrics: [accuracy]}",
                        text_at(optimizer, "class"), arguments, text_at(loss, "class"),
                        loss_arguments));
    free(loss_arguments);
    free(arguments);
}

static void run_fit(const json_t *c) {
    const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out"),
                 *recorded = json_object_get(out, "fit_history");
    const char *id = text_at(c, "id");
    dt_history *h = NULL;
    network n;

    network_make(&n, in);
    compile_recorded(in, n.model);
    dt_dataset *data = open_rows(&n, json_integer_value(json_object_get(in, "batch")),
                                 json_integer_value(json_object_get(in, "steps")));
    fit_recorded(c, &n, data, &h);
    for (int epoch = 0; epoch < (int)json_array_size(json_object_get(recorded, "loss")); epoch++) {
        near(id, "loss", dt_history_at(h, "loss", epoch),
             number_at(json_object_get(recorded, "loss"), epoch), 1e-4, 0);
        near(id, "accuracy", dt_history_at(h, "accuracy", epoch),
             number_at(json_object_get(recorded, "accuracy"), epoch), 1e-6, 0);
    }
    check_weights(id, n.model, json_object_get(out, "final"));
    OK(dt_model_evaluate(n.model, data, &h));
    recorded = json_object_get(out, "evaluate_after");
    near(id, "loss after", dt_history_last(h, "loss"),
         json_number_value(json_object_get(recorded, "loss")), 1e-4, 0);
    near(id, "accuracy after", dt_history_last(h, "accuracy"),
         json_number_value(json_object_get(recorded, "accuracy")), 1e-6, 0);
    dt_history_unref(h);
    dt_dataset_unref(data);
    network_free(&n);
}

static void test_fit(void **state) {
    (void)state;
    for_each_case("mlp_fit", run_fit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_batch),
        cmocka_unit_test(test_custom_loops),
        cmocka_unit_test(test_fit),
    };
    return cmocka_run_group_tests_name("train/golden", tests, draw_rows, NULL);
}
