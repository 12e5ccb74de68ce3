/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole training steps (model, loss, gradients, all-reduce, optimizer) in the reference
 * interpreter, against runs recorded from TensorFlow: the 784-128-10 network on generated digits,
 * on one and more replicas, even and uneven batches.
 */
#include "call.h"
#include "rig.h"

enum { ROWS = 256, FEATURES = 784, HIDDEN = 128, CLASSES = 10 };

/* ---- the generator of the records (splitmix64) ---- */

static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

/* [0, 1), exact in float32 */
static double uniform(uint64_t *state) { return (double)(draw(state) >> 48) / 65536; }

static void store(dt_variable *v, int64_t i, double x) {
    if (v->type.dtype == DT_FLOAT64) ((double *)v->host_data)[i] = x;
    else ((float *)v->host_data)[i] = (float)x;
}

static void draw_kernel(dt_variable *v, uint64_t seed, double width) {
    for (int64_t i = 0; i < dt_type_elements(&v->type); i++)
        store(v, i, (uniform(&seed) - 0.5) * width);
}

typedef struct digits {
    double x[ROWS][FEATURES];
    int label[ROWS];
} digits;

static digits *draw_digits(void) {
    digits *d = dt_alloc(sizeof *d);
    uint64_t state = 3;
    for (int i = 0; i < ROWS; i++) {
        d->label[i] = (int)(draw(&state) % CLASSES);
        for (int j = 0; j < FEATURES; j++)
            d->x[i][j] = uniform(&state) * 0.5 + (j % CLASSES == d->label[i] ? 0.5 : 0);
    }
    return d;
}

/* Rows first .. first + n - 1 as a replica's batch. */
static void fill_batch(const digits *d, int first, int n, dt_dtype dtype, bool sparse, dt_view *x,
                       dt_view *y) {
    x->type = dt_type_of(dtype, 2, (int64_t[]){n, FEATURES});
    y->type = sparse ? dt_type_of(DT_INT32, 1, (int64_t[]){n})
                     : dt_type_of(dtype, 2, (int64_t[]){n, CLASSES});
    dt_variable to_x = {.type = x->type,
                        .host_data = x->data = dt_alloc((size_t)(n * FEATURES + 1) * 8)};
    dt_variable to_y = {.type = y->type,
                        .host_data = y->data = dt_alloc((size_t)(n * CLASSES + 1) * 8)};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < FEATURES; j++) store(&to_x, i * FEATURES + j, d->x[first + i][j]);
        if (sparse) ((int32_t *)y->data)[i] = d->label[first + i];
        for (int j = 0; j < CLASSES && !sparse; j++)
            store(&to_y, i * CLASSES + j, d->label[first + i] == j);
    }
}

/* ---- the step ---- */

typedef struct setup {
    dt_model *model;
    dt_loss *loss;
    dt_optimizer *optimizer;
    dt_dtype dtype;
    bool sparse;
    int replicas;
    dt_graph *step;
    double hits, examples; /* of the accuracy so far */
} setup;

/* One number per example: 1 where the class is right. */
static dt_value emit_hits(bool sparse, dt_value y, dt_value p) {
    const dt_metric_row *row =
        sparse ? &dt_metric_sparse_categorical_accuracy : &dt_metric_categorical_accuracy;
    return row->update(&(dt_loss_call_args){NULL, y, p});
}

static void trace_step(setup *s, bool gradients) {
    dt_trace *t = dt_trace_create("step");
    dt_trace_set_replicas(t, s->replicas);
    dt_type x_type = dt_type_of(s->dtype, 2, (int64_t[]){DT_BATCH, FEATURES});
    dt_type y_type = s->sparse ? dt_type_of(DT_INT32, 1, (int64_t[]){DT_BATCH})
                               : dt_type_of(s->dtype, 2, (int64_t[]){DT_BATCH, CLASSES});
    dt_value x = dt_trace_declare(t, "x", &x_type), y = dt_trace_declare(t, "y", &y_type);
    dt_value p = call_model(s->model, x, DT_TRAINING);
    dt_value loss = dt_loss_call(s->loss, y, p);
    dt_gradients g = dt_gradient(loss, dt_model_trainable(s->model));
    dt_return(t, "loss", loss);
    dt_return(t, "hits", emit_hits(s->sparse, y, p));
    if (!gradients) {
        dt_optimizer_apply(s->optimizer, g);
    } else {
        dt_return(t, "p", p);
        for (int i = 0; i < g.variables->n; i++) dt_return(t, g.variables->v[i]->path, g.value[i]);
    }
    s->step = end_trace(t);
}

static setup make_setup(const char *dtype, const char *head, const char *loss) {
    setup s = {.replicas = 1, .sparse = strncmp(loss, "Sparse", 6) == 0};
    assert_true(dt_dtype_parse(dtype, &s.dtype));
    char layers[256];
    snprintf(layers, sizeof layers,
             "- Input: {shape: [784], dtype: %s}\n- Dense: {units: 128, activation: relu}\n- "
             "Dense: {units: 10, activation: %s}\n",
             dtype, strcmp(head, "softmax") == 0 ? "softmax" : "linear");
    s.model = model_of(layers, 0);
    draw_kernel(s.model->weight[0], 1, 0.125);
    draw_kernel(s.model->weight[2], 2, 0.25);
    ok(dt_loss_create(&s.loss, "%s", loss));
    /* as recorded, also where the rows are uneven */
    ok(dt_loss_set_average(s.loss, DT_REPLICA_AVERAGE));
    return s;
}

static void setup_free(setup *s) {
    dt_graph_destroy(s->step);
    dt_optimizer_unref(s->optimizer);
    dt_loss_unref(s->loss);
    model_free(s->model);
}

/* Sum, sum of squares and ends of a tensor, as the records have them. */
static void assert_checksum(const char *id, const dt_view *is, const json_t *recorded) {
    double sum = 0, squares = 0;
    int64_t n = dt_type_elements(&is->type);
    for (int64_t i = 0; i < n; i++) {
        sum += element(is, i);
        squares += element(is, i) * element(is, i);
    }
    assert_near(id, sum, number_of(json_object_get(recorded, "sum")), 1e-3, 1e-5);
    assert_near(id, squares, number_of(json_object_get(recorded, "sum_of_squares")), 1e-3, 0);
    for (int i = 0; i < 4; i++) {
        assert_near(id, element(is, i),
                    number_of(json_array_get(json_object_get(recorded, "first"), (size_t)i)), 1e-3,
                    1e-6);
        assert_near(id, element(is, n - 4 + i),
                    number_of(json_array_get(json_object_get(recorded, "last"), (size_t)i)), 1e-3,
                    1e-6);
    }
}

static const char *const parameter_names[] = {"W1", "b1", "W2", "b2"};

/* ---- the first batch ---- */

static void run_first_batch(const json_t *c, const digits *d) {
    const json_t *out = json_object_get(c, "out");
    setup s = make_setup("float32", "softmax", "CategoricalCrossentropy");
    trace_step(&s, true);
    dt_view x, y;
    fill_batch(d, 0, 32, s.dtype, false, &x, &y);
    outcome o = run_graph(s.step, 1, (feed[]){{"x", x}, {"y", y}}, 2);
    assert_near("loss", element(result_of(&o, 0, "loss"), 0),
                number_of(json_object_get(out, "loss")), 1e-6, 0);
    dt_view row = *result_of(&o, 0, "p");
    row.type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){CLASSES});
    assert_view("p", &row, json_object_get(out, "probabilities_row_0"), 1e-5, 1e-6);
    for (int i = 0; i < 4; i++)
        assert_checksum(parameter_names[i], result_of(&o, 0, s.model->weight[i]->path),
                        json_object_get(json_object_get(out, "gradients"), parameter_names[i]));
    finish(&o);
    setup_free(&s);
    free(x.data);
    free(y.data);
}

/* ---- runs ---- */

static void count_hits(setup *s, const dt_view *hits) {
    int64_t n = dt_type_elements(&hits->type);
    for (int64_t i = 0; i < n; i++) s->hits += element(hits, i);
    s->examples += (double)n;
}

/* One step over the records' batches of each replica; adds their sizes to *first. */
static void run_step(setup *s, const digits *d, int *first, const json_t *batch,
                     const json_t *losses, double tolerance) {
    feed feeds[2 * 8];
    for (int r = 0; r < s->replicas; r++) {
        int n = (int)json_integer_value(json_array_get(batch, (size_t)r));
        feeds[2 * r].name = "x";
        feeds[2 * r + 1].name = "y";
        fill_batch(d, *first, n, s->dtype, s->sparse, &feeds[2 * r].view, &feeds[2 * r + 1].view);
        *first += n;
    }
    outcome o = run_graph(s->step, s->replicas, feeds, 2);
    for (int r = 0; r < s->replicas; r++) {
        assert_near("loss", element(result_of(&o, r, "loss"), 0),
                    number_of(json_array_get(losses, (size_t)r)), tolerance, 0);
        count_hits(s, result_of(&o, r, "hits"));
    }
    finish(&o);
    for (int i = 0; i < 2 * s->replicas; i++) free(feeds[i].view.data);
}

static void run_training(const json_t *c, const digits *d) {
    const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out"),
                 *optimizer = json_object_get(in, "optimizer");
    const json_t *loss = json_object_get(in, "loss"),
                 *batches = json_object_get(out, "per_replica_batch"), *batch;
    char *loss_arguments = arguments_text(json_object_get(loss, "arguments")),
         *arguments = arguments_text(json_object_get(optimizer, "arguments"));
    char text[128];
    snprintf(text, sizeof text, "%s: %s", text_of(loss, "class"), loss_arguments);
    setup s = make_setup(text_of(in, "dtype"), text_of(in, "head"), text);
    ok(dt_optimizer_create(&s.optimizer, "%s: %s", text_of(optimizer, "class"), arguments));
    s.replicas = (int)json_integer_value(json_object_get(in, "num_replicas"));
    trace_step(&s, false);
    /* Keras rounds rate and betas to float32 even in float64; 1 - 0.999^t is 1.3e-5 off there. */
    double tolerance = s.dtype == DT_FLOAT64 ? 2e-5 : 1e-4;
    int first = 0;
    size_t i;
    json_array_foreach((json_t *)batches, i, batch) {
        run_step(&s, d, &first, batch, json_array_get(json_object_get(out, "per_replica_loss"), i),
                 tolerance);
        assert_near("accuracy", s.hits / s.examples,
                    number_of(json_array_get(json_object_get(out, "running_accuracy"), i)), 1e-6,
                    0);
        if (first >= ROWS) first = 0; /* the next epoch */
    }
    for (int k = 0; k < 4; k++) {
        dt_view w = {s.model->weight[k]->type, s.model->weight[k]->host_data};
        assert_checksum(parameter_names[k], &w,
                        json_object_get(json_object_get(out, "final"), parameter_names[k]));
    }
    setup_free(&s);
    free(arguments);
    free(loss_arguments);
}

/* ---- tests ---- */

static void run_cases(const char *op, void (*run)(const json_t *, const digits *)) {
    json_t *file, *cases = golden("train_mlp", &file), *c;
    digits *d = draw_digits();
    int done = 0;
    size_t i;
    json_array_foreach(cases, i, c) {
        if (strcmp(text_of(c, "op"), op) != 0) continue;
        print_message("%s\n", text_of(c, "id"));
        run(c, d);
        done++;
    }
    assert_true(done > 0);
    free(d);
    json_decref(file);
}

static void test_first_batch_is_that_recorded(void **state) {
    (void)state;
    run_cases("mlp_first_batch", run_first_batch);
}

static void test_training_is_that_recorded(void **state) {
    (void)state;
    run_cases("mlp_train", run_training);
}

/* The same in small, for where the records are not: loss falls, and two replicas do what one
 * does. */
static void test_two_replicas_train_as_one(void **state) {
    (void)state;
    digits *d = draw_digits();
    double last[2];
    for (int replicas = 1; replicas <= 2; replicas++) {
        setup s =
            make_setup("float64", "logits", "SparseCategoricalCrossentropy: {from_logits: true}");
        ok(dt_optimizer_create(&s.optimizer, "SGD: {learning_rate: 0.05}"));
        s.replicas = replicas;
        trace_step(&s, false);
        for (int step = 0; step < 3; step++) {
            feed feeds[4];
            double loss = 0;
            for (int r = 0; r < replicas; r++) {
                feeds[2 * r].name = "x";
                feeds[2 * r + 1].name = "y";
                fill_batch(d, r * 8 / replicas, 8 / replicas, s.dtype, true, &feeds[2 * r].view,
                           &feeds[2 * r + 1].view);
            }
            outcome o = run_graph(s.step, replicas, feeds, 2);
            for (int r = 0; r < replicas; r++) loss += element(result_of(&o, r, "loss"), 0);
            finish(&o);
            for (int i = 0; i < 2 * replicas; i++) free(feeds[i].view.data);
            assert_true(step == 0 || loss < last[replicas - 1]);
            last[replicas - 1] = loss;
        }
        setup_free(&s);
    }
    assert_near("loss", last[1], last[0], 1e-12, 0);
    free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_batch_is_that_recorded),
        cmocka_unit_test(test_training_is_that_recorded),
        cmocka_unit_test(test_two_replicas_train_as_one),
    };
    return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
