/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs from end to end: those of tests/jobs trained, evaluated, lowered; the same weights however
 * they are placed. */
#define HERE "build/tmp/job-run"
#include <math.h>

#include "kit.h"

/* What a run told. */
typedef struct told {
    int events[DT_EVENT_WAITING + 1]; /* by kind */
    dt_event start;
    char sha[65], checkpoint[512], warning[256];
    double loss; /* of the last epoch or evaluation */
    int64_t step, examples;
} told;

static void listen(const dt_event *e, void *user) {
    told *t = user;
    t->events[e->kind]++;
    if (e->kind == DT_EVENT_START) t->start = *e;
    if (e->kind == DT_EVENT_WARNING) snprintf(t->warning, sizeof t->warning, "%s", e->text);
    if (e->kind == DT_EVENT_END) {
        snprintf(t->sha, sizeof t->sha, "%s", e->weights_sha256);
        snprintf(t->checkpoint, sizeof t->checkpoint, "%s", e->checkpoint ? e->checkpoint : "");
    }
    if (e->kind == DT_EVENT_EPOCH || e->kind == DT_EVENT_EVAL) {
        t->loss = e->metrics[0].value;
        t->examples = e->examples;
    }
    t->step = e->step ? e->step : t->step;
}

/* A job of tests/jobs/, its output below HERE. */
typedef struct request {
    const char *job, *output;
    const char *override[3];
    int threads;
    bool dry_run;
} request;

static dt_job *open_request(const request *q) {
    char path[256], output[256];
    const char *overrides[4] = {output};
    dt_job_source source = {
        .path = path, .directory = HERE, .overrides = overrides, .n_overrides = 1};
    dt_job *job = NULL;
    snprintf(path, sizeof path, "tests/jobs/%s.yaml", q->job);
    snprintf(output, sizeof output, "output.dir=%s", q->output);
    while (source.n_overrides < 4 && q->override[source.n_overrides - 1]) {
        overrides[source.n_overrides] = q->override[source.n_overrides - 1];
        source.n_overrides++;
    }
    ok(dt_job_open(&job, &source));
    return job;
}

static told fit(const request *q) {
    told t = {0};
    dt_job *job = open_request(q);
    const dt_run_options options = {.threads = q->threads,
                                    .resume = DT_RESUME_NEVER,
                                    .dry_run = q->dry_run,
                                    .event = listen,
                                    .user = &t};
    ok(dt_job_fit(job, &options));
    dt_job_unref(job);
    return t;
}

static dt_status *evaluate(const request *q, const char *checkpoint, const char *split, told *t) {
    const dt_run_options options = {.threads = q->threads, .event = listen, .user = t};
    *t = (told){0};
    dt_job *job = open_request(q);
    dt_status *s = dt_job_evaluate(job, checkpoint, split, &options);
    dt_job_unref(job);
    return s;
}

/* ---- fit ---- */

static void test_jobs_train(void **state) {
    (void)state;
    static const struct {
        const char *job;
        int epochs, replicas;
        int64_t steps;
        const char *backend, *device;
    } cases[] = {
        {"default", 3, 1, 12, "cpu", "CPU"},  {"mirrored", 2, 4, 18, "cpu", "4 x CPU"},
        {"tpu", 2, 8, 18, "sim", "sim:v2-8"}, {"shards", 2, 4, 18, "cpu", "4 x CPU"},
        {"steps", 2, 3, 9, "cpu", "3 x CPU"}, {"sequence", 2, 4, 6, "cpu", "4 x CPU"},
        {"conv", 2, 4, 12, "cpu", "4 x CPU"}, {"functional", 2, 4, 8, "cpu", "4 x CPU"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        told t = fit(&(request){.job = cases[i].job, .output = cases[i].job});
        assert_int_equal(t.events[DT_EVENT_START], 1);
        assert_int_equal(t.events[DT_EVENT_EPOCH], cases[i].epochs);
        assert_int_equal(t.events[DT_EVENT_END], 1);
        assert_int_equal(t.step, cases[i].steps);
        assert_int_equal(t.start.replicas, cases[i].replicas);
        assert_int_equal(t.start.logical_devices, 1);
        assert_true(isfinite(t.loss));
        assert_int_equal(strlen(t.sha), 64);
        assert_int_equal(strncmp(t.checkpoint, HERE, strlen(HERE)), 0);
    }
}

static void test_training_learns(void **state) {
    (void)state;
    told first = fit(&(request){.job = "default", .output = "learn", .override = {"fit.epochs=1"}});
    told last = fit(&(request){.job = "default", .output = "learn", .override = {"fit.epochs=20"}});
    assert_true(last.loss < 0.5 * first.loss);
}

/* Replicas, threads and back ends are placement. */
static void expect_one_hash(const request *cases, size_t n) {
    told expected = fit(&cases[0]);
    for (size_t i = 1; i < n; i++) {
        told t = fit(&cases[i]);
        assert_string_equal(t.sha, expected.sha);
    }
}

static void test_one_hash_for_all_placements(void **state) {
    (void)state;
    static const request cases[] = {
        {.job = "mirrored", .output = "same", .override = {"strategy={type: default}"}},
        {.job = "mirrored", .output = "same", .threads = 1},
        {.job = "mirrored", .output = "same", .threads = 3},
        {.job = "mirrored",
         .output = "same",
         .override = {"strategy={type: mirrored, devices: [\"CPU:3\", \"CPU:1\"]}"}},
        {.job = "mirrored",
         .output = "same",
         .override = {"strategy={type: one_device, device: \"CPU:0\"}"}},
        {.job = "mirrored",
         .output = "same",
         .override = {"strategy={type: multi_worker_mirrored, workers: 2, replicas: 2}"}},
        {.job = "tpu", .output = "same"},
        {.job = "tpu",
         .output = "same",
         .override = {"strategy.device_assignment={num_replicas: 3}"}},
        {.job = "tpu",
         .output = "same",
         .override =
             {"strategy.device_assignment={computation_shape: [1, 1, 1, 2], num_replicas: 4}"}},
        {.job = "tpu",
         .output = "same",
         .override = {"strategy.device_assignment={num_replicas: 4, computation_stride: [1, 1, 1, "
                      "2], device_order_mode: mesh}"}},
        {.job = "mirrored", .output = "same", .override = {"partition={x: {split: [1, 2]}}"}},
    };
    expect_one_hash(cases, sizeof cases / sizeof *cases);
}

static void test_one_hash_for_all_placements_of_convolutions(void **state) {
    (void)state;
    static const request cases[] = {
        {.job = "conv", .output = "conv", .override = {"strategy={type: default}"}},
        {.job = "conv", .output = "conv", .override = {"strategy.replicas=1"}, .threads = 1},
        {.job = "conv", .output = "conv", .threads = 1},
        {.job = "conv", .output = "conv", .threads = 3},
        {.job = "conv",
         .output = "conv",
         .override = {"strategy={type: tpu, cluster_resolver: {tpu: \"sim:v2-8\"}}"}},
    };
    static const request shards[] = {
        {.job = "conv",
         .output = "conv",
         .override = {"reproducible={shards: 8}", "strategy.replicas=1"}},
        {.job = "conv", .output = "conv", .override = {"reproducible={shards: 8}"}, .threads = 3},
    };
    expect_one_hash(cases, sizeof cases / sizeof *cases);
    expect_one_hash(shards, sizeof shards / sizeof *shards);
}

static void test_one_hash_for_all_placements_of_shards(void **state) {
    (void)state;
    static const request cases[] = {
        {.job = "shards", .output = "shards", .override = {"strategy={type: default}"}},
        {.job = "shards", .output = "shards", .threads = 1},
        {.job = "shards", .output = "shards", .threads = 3},
        {.job = "tpu", .output = "shards", .override = {"reproducible.shards=8"}},
        {.job = "tpu",
         .output = "shards",
         .override =
             {"reproducible.shards=8",
              "strategy.device_assignment={computation_shape: [1, 1, 1, 2], num_replicas: 4}",
              "partition={x: {split: [1, 2]}, y: replicate, dense: {assign: 1}}"}},
    };
    expect_one_hash(cases, sizeof cases / sizeof *cases);
}

/* Embedding, Dropout, attention, LayerNormalization, GRU. */
static void test_one_hash_for_layers_of_sequences(void **state) {
    (void)state;
    static const request cases[] = {
        {.job = "sequence", .output = "sequence"},
        {.job = "sequence", .output = "sequence", .threads = 3},
        {.job = "sequence", .output = "sequence", .override = {"strategy={type: default}"}},
        {.job = "sequence",
         .output = "sequence",
         .override = {"strategy={type: tpu, cluster_resolver: {tpu: sim:v2-8}}"}},
    };
    expect_one_hash(cases, sizeof cases / sizeof *cases);
}

/* Two inputs, branches that join: Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate,
 * Dot. */
static void test_one_hash_for_functional_models(void **state) {
    (void)state;
    static const request cases[] = {
        {.job = "functional", .output = "functional"},
        {.job = "functional", .output = "functional", .threads = 3},
        {.job = "functional", .output = "functional", .override = {"strategy={type: default}"}},
        {.job = "functional",
         .output = "functional",
         .override = {"strategy={type: tpu, cluster_resolver: {tpu: sim:v2-8}}"}},
    };
    static const request shards[] = {
        {.job = "functional",
         .output = "functional",
         .override = {"reproducible={shards: 8}", "strategy.replicas=1"}},
        {.job = "functional",
         .output = "functional",
         .override = {"reproducible={shards: 8}"},
         .threads = 3},
    };
    expect_one_hash(cases, sizeof cases / sizeof *cases);
    expect_one_hash(shards, sizeof shards / sizeof *shards);
}

static void test_partition_is_told_to_have_no_effect(void **state) {
    (void)state;
    told t = fit(
        &(request){.job = "mirrored",
                   .output = "partition",
                   .override = {"partition={x: {split: [1, 2]}}", "dataset.validation_split="}});
    assert_string_equal(t.warning,
                        "partition is without effect: each replica has one logical device");
    t = fit(&(request){
        .job = "mirrored", .output = "partition", .override = {"dataset.validation_split="}});
    assert_int_equal(t.events[DT_EVENT_WARNING], 0);
}

/* A slice that was not asked for by name is told to be simulated, and why. */
static void test_a_simulated_slice_is_told(void **state) {
    (void)state;
    unsetenv("TPU_NAME");
    unsetenv("TPU_ACCELERATOR_TYPE");
    told t = fit(&(request){
        .job = "tpu",
        .output = "told",
        .override = {"strategy.cluster_resolver.tpu=\"\"", "dataset.validation_split="}});
    assert_non_null(strstr(t.warning, "simulated: this machine has no TPU"));
    assert_int_equal(t.start.replicas, 8);
}

static void test_a_dry_run_writes_nothing(void **state) {
    (void)state;
    struct stat st;
    told t = fit(&(request){.job = "mirrored", .output = "dry", .dry_run = true});
    assert_int_equal(t.events[DT_EVENT_START], 1);
    assert_int_equal(t.events[DT_EVENT_EPOCH], 0);
    assert_int_not_equal(stat(HERE "/dry", &st), 0);
}

/* ---- evaluate ---- */

static void test_evaluate_gives_the_numbers_of_fit(void **state) {
    (void)state;
    const request q = {.job = "mirrored", .output = "evaluate"};
    told t, trained = fit(&q);
    ok(evaluate(&q, NULL, "validation", &t));
    assert_string_equal(t.sha, trained.sha);
    assert_string_equal(t.checkpoint, trained.checkpoint);
    assert_int_equal(t.examples, 7);
    assert_int_equal(t.step, 18);
    assert_int_equal(t.events[DT_EVENT_EVAL], 1);
    ok(evaluate(&q, NULL, "train", &t));
    assert_int_equal(t.examples, 59);
    ok(evaluate(&q, HERE "/evaluate/ckpt/step-00000015", "validation", &t));
    assert_string_not_equal(t.sha, trained.sha);
}

static void test_evaluate_refuses_unknown_scores(void **state) {
    (void)state;
    const request q = {.job = "mirrored", .output = "evaluate"};
    dt_job *job = open_request(&q);
    dt_status *s = dt_job_evaluate(job, NULL, "validation",
                                   &(dt_run_options){.threshold_for = (dt_threshold_score)99});
    assert_non_null(s);
    assert_non_null(strstr(dt_status_text(s), "threshold_for 99"));
    dt_status_free(s);
    dt_job_unref(job);
}

/* Rows of an image (6, 6, 2) and a side (5): in order as CSV, by name as JSON lines; the same
 * outputs. */
static void predict_rows_of_two_inputs(dt_job *job) {
    dt_str csv = {0}, lines = {0};
    dt_tensor *by_order = NULL, *by_name = NULL;
    for (int row = 0; row < 3; row++) {
        dt_str_puts(&lines, "{\"side\": [1, 2, 3, 4, 5], \"image\": [");
        for (int i = 0; i < 72; i++) {
            dt_str_printf(&csv, "%d,", (row * 7 + i * 3) % 11);
            dt_str_printf(&lines, "%s%d", i ? ", " : "", (row * 7 + i * 3) % 11);
        }
        dt_str_puts(&csv, "1,2,3,4,5\n");
        dt_str_puts(&lines, "]}\n");
    }
    write_file("rows.csv", dt_str_text(&csv), csv.size);
    write_file("rows.jsonl", dt_str_text(&lines), lines.size);
    ok(dt_job_predict(job, &(dt_predict_request){.input = HERE "/rows.csv"}, NULL, &by_order));
    ok(dt_job_predict(job, &(dt_predict_request){.input = HERE "/rows.jsonl"}, NULL, &by_name));
    assert_int_equal(dt_tensor_dim(by_order, 0), 3);
    assert_int_equal(dt_tensor_dim(by_name, 0), 3);
    assert_memory_equal(dt_tensor_data(by_order), dt_tensor_data(by_name), 9 * sizeof(float));
    dt_tensor_unref(by_order);
    dt_tensor_unref(by_name);
    dt_str_release(&csv);
    dt_str_release(&lines);
}

/* What a run of several inputs leaves can be evaluated, predicted from, gone on with, and loaded as
 * a model. */
static void test_functional_models_come_back(void **state) {
    (void)state;
    const request q = {.job = "functional", .output = "come-back"};
    dt_model *m = NULL;
    dt_tensor *y = NULL;
    told t, trained = fit(&q);
    ok(evaluate(&q, NULL, "validation", &t));
    assert_string_equal(t.sha, trained.sha);
    dt_job *job = open_request(&q);
    ok(dt_job_predict(job, &(dt_predict_request){.split = "train"}, NULL, &y));
    assert_int_equal(dt_tensor_dim(y, 0), 59);
    assert_int_equal(dt_tensor_dim(y, 1), 3);
    predict_rows_of_two_inputs(job);
    ok(dt_model_load(&m, trained.checkpoint));
    assert_string_equal(dt_model_weights_sha256(m), trained.sha);
    dt_model_unref(m);
    dt_tensor_unref(y);
    dt_job_unref(job);
}

static void test_resumed_functional_model_ends_the_same(void **state) {
    (void)state;
    told whole = fit(&(request){.job = "functional", .output = "whole"});
    fit(&(request){.job = "functional", .output = "parts", .override = {"fit={epochs: 1}"}});
    told t = {0};
    dt_job *job = open_request(&(request){.job = "functional", .output = "parts"});
    ok(dt_job_fit(job, &(dt_run_options){.resume = DT_RESUME_MUST, .event = listen, .user = &t}));
    dt_job_unref(job);
    assert_string_equal(t.sha, whole.sha);
}

static void test_what_cannot_be_evaluated(void **state) {
    (void)state;
    static const struct {
        const char *output, *checkpoint, *split;
        int code;
        const char *text;
    } cases[] = {
        {"nothing", NULL, "validation", 66, "there is no checkpoint below " HERE "/nothing"},
        {"evaluate", HERE "/none", "validation", 66, "none"},
        {"evaluate", NULL, "test", 78, "the data set has no 'test' part"},
        {"evaluate", NULL, "tset", 78, "unknown split 'tset'"},
    };
    fit(&(request){.job = "mirrored", .output = "evaluate"});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        told t;
        dt_status *s = evaluate(&(request){.job = "mirrored", .output = cases[i].output},
                                cases[i].checkpoint, cases[i].split, &t);
        assert_int_equal(dt_status_code(s), cases[i].code);
        assert_non_null(strstr(dt_status_text(s), cases[i].text));
        dt_status_free(s);
    }
}

static void test_another_model_does_not_take_the_weights(void **state) {
    (void)state;
    told t;
    fit(&(request){.job = "mirrored", .output = "other"});
    dt_status *s = evaluate(&(request){.job = "mirrored",
                                       .output = "other",
                                       .override = {"model.layers.1.Dense.units=6"}},
                            NULL, "validation", &t);
    assert_int_equal(dt_status_code(s), 65);
    assert_int_equal(dt_status_number(s), DT_E_CHECKPOINT_MODEL);
    dt_status_free(s);
}

/* ---- logical devices ---- */

static void test_partition_is_checked_against_logical_devices(void **state) {
    (void)state;
    static const struct {
        const char *partition;
        int number;
        const char *text;
    } cases[] = {
        {"partition={x: {split: [1, 4]}, y: replicate}", DT_E_SPLIT,
         "split makes 4 parts, but a replica has 2 logical devices"},
        {"partition={x: {assign: 0}, y: replicate}", DT_E_LOGICAL_DEVICE,
         "with spmd_partitioning no value is assigned"},
        {"partition={x: replicate}", DT_E_NOT_PARTITIONED,
         "input 'y' is neither split nor replicated"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const overrides[] = {
            "strategy.device_assignment={computation_shape: [1, 1, 1, 2], num_replicas: 4}",
            "strategy.spmd_partitioning=true", cases[i].partition};
        dt_job *job = NULL;
        dt_status *s = dt_job_open(&job, &(dt_job_source){.path = "tests/jobs/tpu.yaml",
                                                          .overrides = overrides,
                                                          .n_overrides = 3});
        assert_int_equal(dt_status_number(s), cases[i].number);
        assert_non_null(strstr(dt_status_text(s), cases[i].text));
        dt_status_free(s);
        dt_job_unref(job);
    }
}

/* ---- data ---- */

static void test_data_against_model(void **state) {
    (void)state;
    static const struct {
        const char *override;
        int code;
        const char *text;
    } cases[] = {
        {"model.layers.0.Input.shape=[5]", 78,
         "the model takes 'x' as (B, 5), the data set has (B, 6)"},
        {"model.layers.2.Dense.units=2", 65, "synthetic data: label 2 at row 3 is outside [0, 2)"},
        {"compile.loss=CategoricalCrossentropy", 78,
         "labels are class indices; expected one-hot vectors"},
        {"dataset.map={y: [cast: float32]}", 0, NULL},
        {"dataset.map={y: [cast: bool]}", 78, "labels must be numbers"},
        {"seed=12", 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_job *job = open_request(
            &(request){.job = "mirrored", .output = "data", .override = {cases[i].override}});
        dt_status *s = dt_job_check_data(job);
        assert_int_equal(dt_status_code(s), cases[i].code);
        if (cases[i].text) assert_non_null(strstr(dt_status_text(s), cases[i].text));
        if (s) assert_non_null(dt_status_file(s));
        dt_status_free(s);
        dt_job_unref(job);
    }
}

/* Files are looked for when the job is right, and relative to it. */
static void test_missing_files(void **state) {
    (void)state;
    dt_job *job;
    write_job(
        "files.yaml", 0,
        "version: 1\nstrategy: {type: default}\ndataset: {format: npy, train: {x: x.npy, y: "
        "y.npy}, global_batch_size: 4}\n"
        "model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 2}]}\n"
        "compile: {optimizer: Adam, loss: sparse_categorical_crossentropy}\nfit: {epochs: 1}\n");
    ok(open_job(&job, &(opening){.name = "files.yaml"}));
    dt_status *s = dt_job_check_data(job);
    assert_int_equal(dt_status_code(s), 66);
    assert_int_equal(dt_status_line(s), 3);
    assert_non_null(strstr(dt_status_text(s), HERE "/x.npy: no such file"));
    dt_status_free(s);
    const dt_run_options options = {0};
    s = dt_job_fit(job, &options);
    assert_int_equal(dt_status_code(s), 66);
    dt_status_free(s);
    dt_job_unref(job);
}

/* ---- looking ---- */

static void test_lower_prints_every_stage(void **state) {
    (void)state;
    static const char *const stages[][2] = {
        {"graph", "graph forward(x: f32[B,6], y: i32[B])"},
        {"gradient", "graph train(x: f32[B,6], y: i32[B])"},
        {"folded", "dense"},
        {"program", "program for B = 7"},
        {"executable", "executable for B = 7"},
    };
    char *text[5] = {0};
    dt_job *job = open_request(&(request){.job = "mirrored", .output = "lower"});
    const dt_run_options options = {.threads = 1};
    for (int i = 0; i < 5; i++) {
        ok(dt_job_lower(job, stages[i][0], &options, &text[i]));
        assert_non_null(strstr(text[i], stages[i][1]));
        for (int k = 0; k < i; k++) assert_string_not_equal(text[i], text[k]);
    }
    for (int i = 0; i < 5; i++) free(text[i]);
    dt_job_unref(job);
}

static void test_topology(void **state) {
    (void)state;
    char *text = NULL;
    dt_job *job = open_request(&(request){.job = "tpu", .output = "x"});
    ok(dt_topology_text(&(dt_topology_request){.job = job}, &text));
    assert_int_equal(strncmp(text, "v2-8 ", 5), 0);
    assert_non_null(strstr(text, "[ r0 | r1 ] -- [ r2 | r3 ]"));
    free(text);
    ok(dt_topology_text(&(dt_topology_request){.job = job, .tpu = "v3-8", .json = true}, &text));
    assert_non_null(strstr(text, "\"type\": \"v3-8\""));
    assert_non_null(strstr(text, "\"replicas\": [[0], [1]"));
    free(text);
    dt_job_unref(job);
    ok(dt_topology_text(&(dt_topology_request){.tpu = "sim:v3-8"}, &text));
    assert_null(strstr(text, "r0"));
    free(text);
}

static void test_topologies_that_cannot_be_drawn(void **state) {
    (void)state;
    char *text = NULL;
    dt_job *job = open_request(&(request){.job = "mirrored", .output = "x"});
    dt_status *s = dt_topology_text(&(dt_topology_request){.job = job, .tpu = "v3-8"}, &text);
    assert_int_equal(dt_status_code(s), 78);
    assert_string_equal(dt_status_text(s),
                        "strategy mirrored has no slice to draw its replicas on; only tpu has");
    dt_status_free(s);
    dt_job_unref(job);
    s = dt_topology_text(&(dt_topology_request){.tpu = "v9-8"}, &text);
    assert_int_equal(dt_status_code(s), 64);
    dt_status_free(s);
    s = dt_topology_text(&(dt_topology_request){0}, &text);
    assert_int_equal(dt_status_code(s), 78);
    dt_status_free(s);
    assert_null(text);
}

static void test_devices(void **state) {
    (void)state;
    static const char *const words[] = {"cpu ",
                                        "openblas",
                                        "onednn",
                                        "sim ",
                                        "pjrt      devices that a PJRT plug-in drives",
                                        "sim:v3-2 to v3-2048"};
    static const char *const keys[] = {
        "{\"cores\": ", "\"instructions\": ", "\"name\": \"openblas\", \"found\": true",
        "\"name\": \"pjrt\", \"found\": true", "\"slices\": [\"v2-2\", \"v2-8\""};
    char *text = NULL;
    ok(dt_devices_text(false, &text));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_non_null(strstr(text, words[i]));
    free(text);
    ok(dt_devices_text(true, &text));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_non_null(strstr(text, keys[i]));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_train),
        cmocka_unit_test(test_training_learns),
        cmocka_unit_test(test_partition_is_checked_against_logical_devices),
        cmocka_unit_test(test_one_hash_for_all_placements),
        cmocka_unit_test(test_one_hash_for_all_placements_of_convolutions),
        cmocka_unit_test(test_one_hash_for_all_placements_of_shards),
        cmocka_unit_test(test_one_hash_for_layers_of_sequences),
        cmocka_unit_test(test_one_hash_for_functional_models),
        cmocka_unit_test(test_partition_is_told_to_have_no_effect),
        cmocka_unit_test(test_a_simulated_slice_is_told),
        cmocka_unit_test(test_a_dry_run_writes_nothing),
        cmocka_unit_test(test_evaluate_gives_the_numbers_of_fit),
        cmocka_unit_test(test_evaluate_refuses_unknown_scores),
        cmocka_unit_test(test_functional_models_come_back),
        cmocka_unit_test(test_resumed_functional_model_ends_the_same),
        cmocka_unit_test(test_what_cannot_be_evaluated),
        cmocka_unit_test(test_another_model_does_not_take_the_weights),
        cmocka_unit_test(test_data_against_model),
        cmocka_unit_test(test_missing_files),
        cmocka_unit_test(test_lower_prints_every_stage),
        cmocka_unit_test(test_topology),
        cmocka_unit_test(test_topologies_that_cannot_be_drawn),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests_name("job/run", tests, make_here, NULL);
}
