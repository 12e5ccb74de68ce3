/* SPDX-License-Identifier: Apache-2.0 */
/*
 * configs/resnet20.yaml against Keras 3.15.1: weights and pictures are formulas, so that both begin
 * with the same numbers, and the losses of five steps, of an evaluation with the moving statistics
 * behind them, and the accuracies are recorded below, in float64.
 *
 *     mix(k, i)    a number in [0, 1) of the whole numbers k, i
 *     kernels      (2 mix(k, i) - 1) sqrt(6 / fan in), element i of weight k, as float32; all
 *                  others as they begin
 *     pictures     2 mix(1000, i) - 1, as float32; label of picture b: (7 b + 3) mod 10
 *
 * float64 follows to the last digits. In float32 one of a million ReLUs sees the other side of 0
 * now and then, which the first layers' gradients feel to a percent; losses follow to some
 * thousandths, and the weights end the same for any number of replicas.
 */
#define HERE "build/tmp/train-resnet"
#include "kit.h"

enum { PICTURES = 8, PICTURE = 32 * 32 * 3, STEPS = 5 };

static const double recorded_loss[STEPS] = {2.919158714985, 2.282343724771, 1.580664453669,
                                            1.081370355384, 0.7410763680191};
static const double recorded_accuracy[STEPS] = {0.125, 0.125, 0.5, 0.75, 0.875};
static const double recorded_evaluation = 3.858585025355;

static double mix(uint64_t k, uint64_t i) {
    uint32_t x = (uint32_t)(i * 2654435761u + k * 40503u + 12345u);
    x ^= x >> 16;
    x *= 0x45d9f3bu;
    x ^= x >> 16;
    return (x >> 8) / 16777216.0;
}

static void put(dt_dtype dtype, void *to, int64_t i, double value) {
    if (dtype == DT_FLOAT64) ((double *)to)[i] = (float)value;
    else ((float *)to)[i] = (float)value;
}

/* The `model` of the config, with an Input of that type. */
static dt_model *create_model(dt_dtype dtype) {
    dt_arena *arena = dt_arena_create();
    const dt_source *source;
    dt_tree *job = NULL;
    dt_str text = {0};
    dt_model *m = NULL;

    OK(dt_tree_read(arena, "configs/resnet20.yaml", &source, &job));
    OK(dt_tree_override(arena, job, 1,
                        dtype == DT_FLOAT64 ? "model.layers.0.Input.dtype=float64"
                                            : "model.layers.0.Input.dtype=float32"));
    dt_tree_print(dt_tree_get(job, "model"), &text);
    OK(dt_model_create(&m, "%s", dt_str_text(&text)));
    dt_str_release(&text);
    dt_arena_destroy(arena);
    return m;
}

static dt_model *compiled_model(dt_dtype dtype) {
    dt_model *m = create_model(dtype);
    OK(dt_model_compile(
        m, "{optimizer: {SGD: {learning_rate: 0.01, momentum: 0.9}}, metrics: [accuracy], "
           "loss: {SparseCategoricalCrossentropy: {from_logits: true}}}"));
    for (int k = 0; k < m->n_weights; k++) {
        const dt_type *t = &m->weight[k]->type;
        int64_t n = dt_type_elements(t), fan_in = n / t->dim[t->rank - 1];
        for (int64_t i = 0; t->rank > 1 && i < n; i++)
            put(dtype, m->weight[k]->host_data, i,
                (2 * mix((uint64_t)k, (uint64_t)i) - 1) * sqrt(6.0 / (double)fan_in));
    }
    return m;
}

static dt_dataset *pictures(dt_dtype dtype) {
    static double image[PICTURES * PICTURE]; /* room for either type */
    int32_t label[PICTURES];
    for (int64_t i = 0; i < PICTURES * PICTURE; i++)
        put(dtype, image, i, 2 * mix(1000, (uint64_t)i) - 1);
    for (int b = 0; b < PICTURES; b++) label[b] = (b * 7 + 3) % 10;
    dt_dataset *d = NULL;
    dt_tensor *images = NULL, *labels = NULL;
    dt_values *v = NULL;
    OK(dt_tensor_create(&images, dtype, 4, (int64_t[]){PICTURES, 32, 32, 3}, image));
    OK(dt_tensor_create(&labels, DT_INT32, 1, (int64_t[]){PICTURES}, label));
    OK(dt_values_create(&v));
    OK(dt_values_set(v, "image", images));
    OK(dt_values_set(v, "label", labels));
    OK(dt_dataset_from_values(&d, v, "{global_batch_size: %d}", PICTURES));
    dt_values_unref(v);
    dt_tensor_unref(images);
    dt_tensor_unref(labels);
    return d;
}

typedef struct run {
    dt_dtype dtype;
    int replicas, steps;
    double relative; /* tolerance */
    char sha[65];    /* of the weights that come of it */
} run;

static void assert_near(const run *r, const char *what, int step, double is, double ought) {
    if (!(fabs(is - ought) <= r->relative * fabs(ought)))
        fail_msg("%s, %d replicas: %s %d: %.12g, recorded %.12g", dt_dtype_name(r->dtype),
                 r->replicas, what, step, is, ought);
}

static void train(run *r) {
    dt_strategy *s = strategy_of(&(setup){.replicas = r->replicas});
    dt_dataset *d = pictures(r->dtype);
    dt_history *h = NULL;
    dt_model *m = NULL;

    DT_SCOPE(s)
    m = compiled_model(r->dtype);
    assert_int_equal(dt_model_parameters(m), 274042);
    OK(dt_model_fit(m, d, &h, "{epochs: %d}", r->steps));
    for (int step = 0; step < r->steps; step++) {
        assert_near(r, "loss of step", step + 1, dt_history_at(h, "loss", step),
                    recorded_loss[step]);
        assert_near(r, "accuracy of step", step + 1, dt_history_at(h, "accuracy", step),
                    recorded_accuracy[step]);
    }
    if (r->steps == STEPS) {
        OK(dt_model_evaluate(m, d, &h));
        assert_near(r, "evaluation after step", STEPS, dt_history_last(h, "loss"),
                    recorded_evaluation);
    }
    snprintf(r->sha, sizeof r->sha, "%s", dt_model_weights_sha256(m));
    dt_history_unref(h);
    dt_model_unref(m);
    dt_dataset_unref(d);
    dt_strategy_unref(s);
}

static void test_losses_are_those_of_keras(void **state) {
    (void)state;
    train(&(run){.dtype = DT_FLOAT64, .replicas = 1, .steps = 2, .relative = 1e-9});
}

static void test_any_number_of_replicas_ends_with_the_same_weights(void **state) {
    (void)state;
    run one = {.dtype = DT_FLOAT32, .replicas = 1, .steps = STEPS, .relative = 5e-3}, four = one;
    four.replicas = 4;
    train(&one);
    train(&four);
    assert_string_equal(one.sha, four.sha);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_are_those_of_keras),
        cmocka_unit_test(test_any_number_of_replicas_ends_with_the_same_weights),
    };
    return cmocka_run_group_tests(tests, clean_folder, NULL);
}
