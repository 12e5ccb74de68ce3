/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of configs/, on the sample digits: the quick start becomes as good as it promises, and
 * the two that have a program in examples/ end with the program's loss.
 */
#define HERE "build/tmp/job-examples"
#include <glob.h>
#include <math.h>

#include "kit.h"

#define DIGITS "../" HERE "/digits/" /* as seen from configs/ */
#define NPY_DIGITS "dataset.train={image: " DIGITS "x.npy, label: " DIGITS "y.npy}"

/* Metrics of the last epoch. */
typedef struct result {
    double loss, accuracy, val_accuracy;
} result;

static void listen(const dt_event *e, void *user) {
    result *r = user;
    for (int i = 0; e->kind == DT_EVENT_EPOCH && i < e->n_metrics; i++) {
        const dt_metric *m = &e->metrics[i];
        if (strcmp(m->name, "loss") == 0) r->loss = m->value;
        if (strcmp(m->name, "accuracy") == 0) r->accuracy = m->value;
        if (strcmp(m->name, "val_accuracy") == 0) r->val_accuracy = m->value;
    }
}

static result fit_config(const char *path, const char *const *overrides, int n) {
    result r = {NAN, NAN, NAN};
    dt_job *job = NULL;
    const dt_run_options options = {.resume = DT_RESUME_NEVER, .event = listen, .user = &r};
    ok(dt_job_open(&job,
                   &(dt_job_source){
                       .path = path, .directory = HERE, .overrides = overrides, .n_overrides = n}));
    ok(dt_job_fit(job, &options));
    dt_job_unref(job);
    return r;
}

static void test_all_configs_are_valid(void **state) {
    (void)state;
    glob_t found;
    assert_int_equal(glob("configs/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        dt_job *job = NULL;
        ok(dt_job_open(&job, &(dt_job_source){.path = found.gl_pathv[i]}));
        dt_job_unref(job);
    }
    assert_true(found.gl_pathc >= 3);
    globfree(&found);
}

static void test_quickstart_is_a_task_and_no_toy(void **state) {
    (void)state;
    static const char *const overrides[] = {
        "dataset.train={image: " DIGITS "train-images-idx3-ubyte, label: " DIGITS
        "train-labels-idx1-ubyte}",
        "dataset.validation={image: " DIGITS "t10k-images-idx3-ubyte, label: " DIGITS
        "t10k-labels-idx1-ubyte}",
    };
    result r = fit_config("configs/quickstart.yaml", overrides, 2);
    assert_true(r.val_accuracy >= 0.94 && r.val_accuracy <= 0.99);
}

/* ---- examples/mirrored_mlp.c ---- */

static dt_status *mirrored_mlp(double *loss) {
    dt_status *s = NULL;
    dt_strategy *strategy = NULL;
    dt_model *model = NULL;
    dt_dataset *digits = NULL;
    dt_history *history = NULL;

    DT_GO(s, dt_mirrored_strategy(&strategy, NULL, 0));
    DT_SCOPE(strategy) {
        DT_GO(s,
              dt_model_create(
                  &model,
                  "- Input: {name: image, shape: [784]}\n- Dense: {units: %d, activation: relu}\n"
                  "- Dense: {units: 10, activation: softmax}\n",
                  128));
        DT_GO(s,
              dt_model_compile(
                  model, "{optimizer: Adam, loss: CategoricalCrossentropy, metrics: [accuracy]}"));
    }
    DT_GO(s, dt_dataset_open(
                 &digits,
                 "{format: npy, train: {image: %s, label: %s}, take: 9984, global_batch_size: 64}",
                 HERE "/digits/x.npy", HERE "/digits/y.npy"));
    DT_GO(s, dt_model_fit(model, digits, &history, "{epochs: 5}"));
    *loss = dt_history_last(history, "loss");
out:
    dt_history_unref(history);
    dt_dataset_unref(digits);
    dt_model_unref(model);
    dt_strategy_unref(strategy);
    return s;
}

static void test_mirrored_mlp_ends_as_its_program(void **state) {
    (void)state;
    static const char *const overrides[] = {NPY_DIGITS, "dataset.take=9984"};
    double loss = NAN;
    ok(mirrored_mlp(&loss));
    result r = fit_config("configs/mirrored-mlp.yaml", overrides, 2);
    assert_true(fabs(r.loss - loss) <= 1e-5);
    assert_true(r.accuracy > 0.9);
}

/* ---- examples/tpu_loop.c ---- */

struct step {
    dt_model *model;
    dt_optimizer *optimizer;
    dt_loss *loss, *sum;
};

static void train_step(dt_trace *t, void *user) {
    const struct step *my = user;
    dt_value logits = dt_model_call(my->model, dt_arg(t, "image"), DT_TRAINING);
    dt_value loss = dt_loss_call(my->loss, dt_arg(t, "label"), logits);
    dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(my->model)));
    dt_return(t, "sum", dt_loss_call(my->sum, dt_arg(t, "label"), logits));
}

static dt_status *train_epoch(dt_strategy *strategy, dt_function *step, dt_dist_dataset *batches,
                              double *total) {
    dt_status *s = NULL;
    dt_iterator *it = NULL;
    dt_values *batch = NULL, *values = NULL;
    dt_tensor *sum = NULL;

    *total = 0;
    DT_GO(s, dt_iterator_create(&it, batches));
    for (;;) {
        DT_GO(s, dt_iterator_next(it, &batch));
        if (!batch) break;
        DT_GO(s, dt_strategy_run(strategy, step, batch, &values));
        DT_GO(s, dt_strategy_reduce(strategy, DT_SUM, values, "sum", DT_NO_AXIS, &sum));
        *total += dt_tensor_item(sum);
    }
out:
    dt_tensor_unref(sum);
    dt_values_unref(values);
    dt_values_unref(batch);
    dt_iterator_unref(it);
    return s;
}

/* The last epoch's loss. */
static dt_status *tpu_loop(const char *slice, int digits_taken, double *loss) {
    dt_status *s = NULL;
    dt_resolver *resolver = NULL;
    const dt_topology *topology;
    dt_strategy *strategy = NULL;
    struct step my = {0};
    dt_dataset *digits = NULL;
    dt_dist_dataset *batches = NULL;
    dt_function *step = NULL;

    DT_GO(s, dt_tpu_resolver(&resolver, slice));
    DT_GO(s, dt_tpu_initialize(resolver, &topology));
    DT_GO(s, dt_tpu_strategy(&strategy, resolver, NULL));
    DT_SCOPE(strategy) {
        DT_GO(s,
              dt_model_create(&my.model, "- Input: {name: image, shape: [784]}\n- Dense: {units: "
                                         "1024, activation: relu}\n- Dense: {units: 10}\n"));
        DT_GO(s, dt_optimizer_create(&my.optimizer, "Adam"));
        DT_GO(s, dt_loss_create(&my.loss, "CategoricalCrossentropy: {from_logits: true}"));
        DT_GO(s, dt_loss_create(&my.sum,
                                "CategoricalCrossentropy: {from_logits: true, reduction: sum}"));
    }
    DT_GO(s, dt_dataset_open(
                 &digits,
                 "{format: npy, train: {image: %s, label: %s}, take: %d, global_batch_size: 256}",
                 HERE "/digits/x.npy", HERE "/digits/y.npy", digits_taken));
    DT_GO(s, dt_strategy_distribute_dataset(strategy, digits, NULL, &batches));
    DT_GO(s, dt_function_create(&step, train_step, &my));
    for (int epoch = 0; epoch < 2; epoch++) DT_GO(s, train_epoch(strategy, step, batches, loss));
    *loss /= digits_taken;
out:
    dt_function_unref(step);
    dt_dist_dataset_unref(batches);
    dt_dataset_unref(digits);
    dt_loss_unref(my.sum);
    dt_loss_unref(my.loss);
    dt_optimizer_unref(my.optimizer);
    dt_model_unref(my.model);
    dt_strategy_unref(strategy);
    dt_resolver_unref(resolver);
    return s;
}

/* 16 rows are left of 2,064: cut for 8 replicas, the first have them all. */
static void test_tpu_loop_ends_as_its_program(void **state) {
    (void)state;
    static const char *const slices[] = {"sim:v5litepod-1", "sim:v2-2", "sim:v3-8"};
    static const int taken[] = {2048, 2064, 2051};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        char take[32];
        snprintf(take, sizeof take, "dataset.take=%d", taken[i]);
        const char *const overrides[] = {NPY_DIGITS, take, "fit.epochs=2"};
        result r = fit_config("configs/tpu-loop.yaml", overrides, 3);
        for (size_t k = 0; k < sizeof slices / sizeof *slices; k++) {
            double loss = NAN;
            ok(tpu_loop(slices[k], taken[i], &loss));
            if (!(fabs(r.loss - loss) <= 1e-5))
                fail_msg("%d digits: %.9g in C on %s, %.9g as a job", taken[i], loss, slices[k],
                         r.loss);
        }
    }
}

static int draw_digits(void **state) {
    dt_status *s = make_here(state) ? NULL : dt_data_synth("digits", HERE "/digits", 0);
    return dt_report(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_configs_are_valid),
        cmocka_unit_test(test_quickstart_is_a_task_and_no_toy),
        cmocka_unit_test(test_mirrored_mlp_ends_as_its_program),
        cmocka_unit_test(test_tpu_loop_ends_as_its_program),
    };
    return cmocka_run_group_tests_name("job/examples", tests, draw_digits, NULL);
}
