/* SPDX-License-Identifier: Apache-2.0 */
/* Valid jobs: defaults, overrides, bases, what each purpose needs, and the resolved job with its
 * hash. */
#define HERE "build/tmp/job-open"
#include "open_kit.h"

static dt_job *open_text(const char *text) {
    dt_job *job;
    write_job("job.yaml", 0, text);
    ok(open_job(&job, &(opening){.name = "job.yaml"}));
    return job;
}

/* ---- defaults ---- */

static void test_defaults(void **state) {
    (void)state;
    dt_job *job = open_text(MINIMAL);
    assert_string_equal(job->name, "job");
    assert_string_equal(job->run_dir, "runs/job");
    assert_string_equal(job->data_directory, HERE);
    assert_string_equal(job->work_directory, "");
    assert_int_equal(job->seed, 0);
    assert_int_equal(job->how.shards, 0);
    assert_true(job->checkpoint.every_epoch);
    assert_int_equal(job->checkpoint.max_to_keep, 3);
    assert_int_equal(job->checkpoint.resume, DT_RESUME_AUTO);
    assert_int_equal(job->fit.epochs, 1);
    assert_int_equal(job->fit.steps, 0);
    assert_int_equal(job->fit.validation_freq, 0);
    assert_false(job->dataset.shuffle);
    dt_job_unref(job);
}

static void test_names_of_files(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"a.yaml", "a"}, {"b.yml", "b"}, {"c", "c"}, {"d.job.yaml", "d.job"}, {"e.json", "e.json"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_job *job;
        write_job(cases[i][0], 0, MINIMAL);
        ok(open_job(&job, &(opening){.name = cases[i][0]}));
        assert_string_equal(dt_job_name(job), cases[i][1]);
        dt_job_unref(job);
    }
    dt_job *job;
    write_job("my job.yaml", 0, MINIMAL);
    expect_fault(open_job(&job, &(opening){.name = "my job.yaml"}), DT_E_JOB_NAME,
                 "the file's name 'my job'", "my job.yaml:1:1");
}

static void test_null_is_absent(void **state) {
    (void)state;
    dt_job *job = open_text(MINIMAL "name: null\nseed:\noutput: ~\ncheckpoint: "
                                    "null\nbackend:\npartition:\nreproducible:\nextends: null\n");
    assert_string_equal(job->name, "job");
    assert_null(job->partition);
    assert_int_equal(job->how.shards, 0);
    dt_job_unref(job);
}

static void test_all_keys(void **state) {
    (void)state;
    dt_job *job = open_text(
        MINIMAL
        "name: all\nseed: 42\nbackend: {type: cpu}\nreproducible: {shards: 8, strict: false}\n"
        "partition: {x: {split: [1, 2]}, y: replicate, dense: {assign: 1}, weights: [{match: "
        "'dense/{kernel,bias}', replicate: true}]}\n"
        "checkpoint: {save_freq: 10m, max_to_keep: 2, resume: runs/a/ckpt/step-00000001}\n"
        "output: {dir: out, tensorboard: false, trace: none, report: none}\n");
    assert_string_equal(job->backend, "cpu");
    assert_int_equal(job->how.shards, 8);
    assert_non_null(job->partition);
    assert_int_equal(job->seed, 42);
    assert_true(job->checkpoint.every_seconds == 600);
    assert_false(job->checkpoint.every_epoch);
    assert_int_equal(job->checkpoint.resume, DT_RESUME_PATH);
    assert_string_equal(job->checkpoint.resume_path, "runs/a/ckpt/step-00000001");
    assert_string_equal(job->run_dir, "out");
    dt_job_unref(job);
}

static void test_save_freq(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool epoch;
        int64_t steps;
        double seconds;
    } cases[] = {{"epoch", true, 0, 0},
                 {"1", false, 1, 0},
                 {"1e3", false, 1000, 0},
                 {"30s", false, 0, 30},
                 {"1.5h", false, 0, 5400}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[64];
        snprintf(line, sizeof line, "checkpoint: {save_freq: %s}", cases[i].text);
        dt_job *job;
        write_job("job.yaml", 22, line);
        ok(open_job(&job, &(opening){.name = "job.yaml"}));
        assert_int_equal(job->checkpoint.every_epoch, cases[i].epoch);
        assert_int_equal(job->checkpoint.every_steps, cases[i].steps);
        assert_true(job->checkpoint.every_seconds == cases[i].seconds);
        dt_job_unref(job);
    }
}

/* Y19 */
static void test_byte_order_mark_and_crlf(void **state) {
    (void)state;
    dt_str text = {0};
    dt_str_puts(&text, "\xef\xbb\xbf");
    for (const char *p = tiny_job; *p; p++) dt_str_printf(&text, *p == '\n' ? "\r%c" : "%c", *p);
    dt_job *job = open_text(dt_str_text(&text));
    assert_string_equal(job->name, "tiny");
    dt_str_release(&text);
    dt_job_unref(job);
}

/* ---- purposes ---- */

static void test_what_each_purpose_needs(void **state) {
    (void)state;
    static const struct {
        dt_purpose purpose;
        int line;            /* that is left out */
        const char *missing; /* NULL: none */
    } cases[] = {
        {DT_FOR_FIT, 21, "required key 'fit' is missing"},
        {DT_FOR_EVALUATE, 21, NULL},
        {DT_FOR_TOPOLOGY, 21, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_job *job;
        write_job("job.yaml", cases[i].line, "");
        dt_status *s = open_job(&job, &(opening){.name = "job.yaml", .purpose = cases[i].purpose});
        if (cases[i].missing) expect_fault(s, DT_E_MISSING_KEY, cases[i].missing, "job.yaml:1:1");
        else ok(s);
        dt_job_unref(job);
    }
}

static void test_topology_needs_no_compile(void **state) {
    (void)state;
    dt_job *job;
    const opening o = {
        .name = "job.yaml", .purpose = DT_FOR_TOPOLOGY, .override = {"compile=", "fit="}};
    write_job("job.yaml", 2, "name: x");
    ok(open_job(&job, &o));
    assert_null(dt_job_metric(job, 0));
    dt_job_unref(job);
}

static void test_metrics(void **state) {
    (void)state;
    static const char *const names[] = {"loss",     "accuracy",     "acc2",
                                        "val_loss", "val_accuracy", "val_acc2"};
    dt_job *job;
    write_job("job.yaml", 20, "  metrics: [accuracy, SparseCategoricalAccuracy: {name: acc2}]");
    ok(open_job(&job, &(opening){.name = "job.yaml"}));
    for (int i = 0; i < 6; i++) assert_string_equal(dt_job_metric(job, i), names[i]);
    assert_null(dt_job_metric(job, 6));
    assert_null(dt_job_metric(job, -1));
    dt_job_unref(job);
    job = open_text(MINIMAL);
    assert_string_equal(dt_job_metric(job, 0), "loss");
    assert_null(dt_job_metric(job, 1));
    dt_job_unref(job);
}

/* ---- overrides ---- */

static void test_overrides(void **state) {
    (void)state;
    dt_job *job;
    write_job("job.yaml", 2, "name: x");
    ok(open_job(
        &job,
        &(opening){.name = "job.yaml",
                   .override = {"fit.epochs=7", "model.layers.1.Dense.units=64",
                                "strategy={type: tpu, cluster_resolver: {tpu: \"sim:v2-8\"}}"}}));
    assert_int_equal(job->fit.epochs, 7);
    assert_int_equal(job->model.layer[1].out.dim[1], 64);
    assert_string_equal(job->strategy.row->kind.name, "tpu");
    assert_string_equal(job->strategy.resolver->slice->name, "v2-8");
    dt_job_unref(job);
    ok(open_job(
        &job, &(opening){.name = "job.yaml", .override = {"seed=", "fit.epochs=", "fit.steps=5"}}));
    assert_int_equal(job->seed, 0);
    assert_int_equal(job->fit.steps, 5);
    dt_job_unref(job);
}

static void test_bad_overrides(void **state) {
    (void)state;
    static const struct {
        const char *override;
        int number;
        const char *text, *place;
    } cases[] = {
        {"fit.epochs=abc", DT_E_WRONG_TYPE, "epochs: expected an integer, got 'abc'",
         "override 1:1:12"},
        {"fit.epoch=1", DT_E_UNKNOWN_KEY, "unknown key 'epoch' in fit", "override 1:1:5"},
        {"model.layers.9.Dense.units=1", DT_E_BAD_OVERRIDE,
         "expected the number of an item, 0 to 2, got '9'", "override 1:1:14"},
        {"name.y=1", DT_E_BAD_OVERRIDE, "'name' is 'x', so it has no key 'y'", "override 1:1:6"},
        {"fit.epochs=[", DT_E_YAML_SYNTAX, "'[' opened at line 1 is never closed",
         "override 1:1:12"},
        {"extends=b.yaml", DT_E_BAD_OVERRIDE,
         "extends belongs in the job file and cannot be overridden", "override 1:1:1"},
        {"output.dir={x}/{y}", DT_E_YAML_SYNTAX, "", "override 1:1:15"},
        {"output.dir='{x}'", DT_E_SUBSTITUTION, "unknown substitution '{x}'", "override 1:1:12"},
    };
    write_job("job.yaml", 2, "name: x");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_job *job;
        expect_fault(
            open_job(&job, &(opening){.name = "job.yaml", .override = {cases[i].override}}),
            cases[i].number, cases[i].text, cases[i].place);
    }
}

/* ---- bases ---- */

static void test_a_job_extends_its_base(void **state) {
    (void)state;
    dt_job *job;
    write_job("base.yaml", 2, "name: base");
    write_job("job.yaml", 0,
              "extends: base.yaml\nname: mine\nstrategy: {type: tpu}\ncompile: {optimizer: {Adam: "
              "{learning_rate: 0.5}}}\n"
              "fit: {validation_freq: 2}\ncheckpoint: {save_freq: null, max_to_keep: 9}\n");
    ok(open_job(&job, &(opening){.name = "job.yaml", .override = {"fit.epochs=3"}}));
    assert_string_equal(job->name, "mine");
    assert_int_equal(job->seed, 7);
    /* another type: replicas are not inherited */
    assert_string_equal(job->strategy.row->kind.name, "tpu");
    /* another optimizer: SGD is gone */
    assert_string_equal(job->compile.optimizer.kind->name, "Adam");
    assert_int_equal(job->compile.n_metrics, 1);
    assert_int_equal(job->fit.epochs, 3);
    assert_int_equal(job->fit.validation_freq, 2);
    assert_int_equal(job->checkpoint.max_to_keep, 9);
    assert_true(job->checkpoint.every_epoch);
    assert_null(strstr(job->json, "extends"));
    dt_job_unref(job);
}

/* Nothing distributed on one process; keys of mirrored, and several processes, choose a
 * strategy. */
static void test_a_strategy_is_optional(void **state) {
    (void)state;
    static const struct {
        const char *override, *workers, *type;
    } rows[] = {
        {"strategy=null", "", "default"},
        {"strategy={}", "", "default"},
        {"strategy={type: null}", "", "default"},
        {"strategy={verify_replicas: true}", "", "default"},
        {"strategy={replicas: 2}", "", "mirrored"},
        {"strategy={devices: [\"CPU:0\"]}", "", "mirrored"},
        {"strategy=null", "0 - 9", "multi_worker_mirrored"},
        {"strategy={}", "0 - 9", "multi_worker_mirrored"},
        {"strategy={replicas: 2}", "0 - 9", "mirrored"},
        {"strategy={type: one_device, device: \"CPU:0\"}", "0 - 9", "one_device"},
    };
    write_job("job.yaml", 0, MINIMAL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_job *job;
        setenv("DTRAIN_WORKER", rows[i].workers, 1);
        ok(open_job(&job, &(opening){.name = "job.yaml", .override = {rows[i].override}}));
        unsetenv("DTRAIN_WORKER");
        assert_string_equal(job->strategy.row->kind.name, rows[i].type);
        char recorded[64];
        snprintf(recorded, sizeof recorded, "\"type\": \"%s\"", rows[i].type);
        assert_non_null(strstr(job->json, recorded));
        dt_job_unref(job);
    }
}

/* A mapping of the same type, and the same optimizer, are merged. */
static void test_same_kinds_are_merged(void **state) {
    (void)state;
    dt_job *job;
    write_job("base.yaml", 18, "  optimizer: {SGD: {learning_rate: 0.25, momentum: 0.5}}");
    write_job("job.yaml", 0,
              "extends: base.yaml\nstrategy: {type: mirrored}\ncompile: {optimizer: {SGD: "
              "{momentum: 0.75}}}\n");
    ok(open_job(&job, &(opening){.name = "job.yaml"}));
    assert_int_equal(job->strategy.replicas, 2);
    assert_non_null(strstr(job->json, "\"SGD\": {\"learning_rate\": 0.25, \"momentum\": 0.75}"));
    dt_job_unref(job);
}

static void test_faults_in_a_base_have_its_place(void **state) {
    (void)state;
    dt_job *job;
    write_job("base.yaml", 21, "fit: {epochs: ten}");
    write_job("job.yaml", 0, "extends: base.yaml\nname: mine\n");
    expect_fault(open_job(&job, &(opening){.name = "job.yaml"}), DT_E_WRONG_TYPE,
                 "epochs: expected an integer, got 'ten'", "base.yaml:21:15");
}

static void test_bad_bases(void **state) {
    (void)state;
    static const struct {
        const char *job;
        int number;
        const char *text, *place;
    } cases[] = {
        {"extends: none.yaml\n", DT_E_NO_INPUT, "none.yaml: no such file", "job.yaml:1:10"},
        {"name: x\nextends: middle.yaml\n", DT_E_EXTENDS,
         "'middle.yaml' extends another file itself (its line 1)", "job.yaml:2:10"},
        {"extends: job.yaml\n", DT_E_EXTENDS, "'job.yaml' extends another file itself",
         "job.yaml:1:10"},
        {"extends: [a]\n", DT_E_WRONG_TYPE, "extends: expected a string, got a list",
         "job.yaml:1:10"},
        {"extends: ''\n", DT_E_EXTENDS, "extends must name a file, got ''", "job.yaml:1:10"},
        {"extends: '-'\n", DT_E_EXTENDS, "extends must name a file, got '-'", "job.yaml:1:10"},
        {"extends: broken.yaml\n", DT_E_YAML_SYNTAX, "'[' opened at line 1 is never closed",
         "broken.yaml:1:4"},
    };
    write_job("base.yaml", 2, "name: base");
    write_job("middle.yaml", 0, "extends: base.yaml\n");
    write_job("broken.yaml", 0, "a: [1\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_job *job;
        write_job("job.yaml", 0, cases[i].job);
        expect_fault(open_job(&job, &(opening){.name = "job.yaml"}), cases[i].number, cases[i].text,
                     cases[i].place);
    }
}

/* Data files of a base lie beside the base, those of the job beside the job. */
static void test_paths_of_a_base(void **state) {
    (void)state;
    dt_job *job;
    ok(dt_dir_make(HERE "/bases"));
    write_job(
        "bases/base.yaml", 0,
        "version: 1\nstrategy: {type: default}\nmodel: {layers: [Input: {name: x, shape: [2]}, "
        "Dense: {units: 2}]}\n"
        "dataset: {format: npy, train: {x: data/x.npy, y: /abs/y.npy}, global_batch_size: 4}\n"
        "compile: {optimizer: Adam, loss: sparse_categorical_crossentropy}\nfit: {epochs: 1}\n");
    write_job("job.yaml", 0,
              "extends: bases/base.yaml\ndataset: {validation: {x: vx.npy, y: vy.npy}}\n");
    ok(open_job(&job, &(opening){.name = "job.yaml", .override = {"dataset.validation.y=w.npy"}}));
    assert_string_equal(dt_tree_get(job->dataset.part[DT_PART_TRAIN], "x")->text,
                        "bases/data/x.npy");
    assert_string_equal(dt_tree_get(job->dataset.part[DT_PART_TRAIN], "y")->text, "/abs/y.npy");
    assert_string_equal(dt_tree_get(job->dataset.part[DT_PART_VALIDATION], "x")->text, "vx.npy");
    assert_string_equal(dt_tree_get(job->dataset.part[DT_PART_VALIDATION], "y")->text, "w.npy");
    assert_string_equal(job->dataset.directory, HERE);
    dt_job_unref(job);
}

/* ---- the resolved job ---- */

static void test_the_hash_is_of_the_canonical_text(void **state) {
    (void)state;
    dt_job *job = open_text(MINIMAL);
    assert_string_equal(
        job->json,
        "{\"compile\": {\"loss\": \"sparse_categorical_crossentropy\", \"optimizer\": \"Adam\"}, "
        "\"dataset\": {\"element\": {\"x\": {\"shape\": [2]}, \"y\": {\"num_classes\": 2}}, "
        "\"examples\": 8, "
        "\"format\": \"synthetic\", \"global_batch_size\": 4}, \"fit\": {\"epochs\": 1}, "
        "\"model\": {\"layers\": [{\"Input\": {\"name\": \"x\", \"shape\": [2]}}, {\"Dense\": "
        "{\"units\": 2}}]}, "
        "\"strategy\": {\"type\": \"default\"}, \"version\": 1}");
    assert_string_equal(job->sha256.hex, dt_sha256_of(job->json, strlen(job->json)).hex);
    dt_job_unref(job);
}

/* Comments, layout, the order of keys, and whether a value comes from the file or the command line
 * change nothing. */
static void test_one_hash_for_one_job(void **state) {
    (void)state;
    dt_job *a, *b, *c;
    write_job("a.yaml", 2, "name: tiny");
    write_job("b.yaml", 1, "# another one");
    ok(open_job(&a, &(opening){.name = "a.yaml"}));
    ok(open_job(&b,
                &(opening){.name = "b.yaml",
                           .override = {"version=1", "compile.optimizer.SGD.learning_rate=5e-2"}}));
    ok(open_job(&c, &(opening){.name = "b.yaml", .override = {"version=1", "seed=8"}}));
    assert_string_equal(a->sha256.hex, b->sha256.hex);
    assert_string_not_equal(a->sha256.hex, c->sha256.hex);
    dt_job_unref(a);
    dt_job_unref(b);
    dt_job_unref(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_names_of_files),
        cmocka_unit_test(test_null_is_absent),
        cmocka_unit_test(test_all_keys),
        cmocka_unit_test(test_save_freq),
        cmocka_unit_test(test_byte_order_mark_and_crlf),
        cmocka_unit_test(test_what_each_purpose_needs),
        cmocka_unit_test(test_topology_needs_no_compile),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_bad_overrides),
        cmocka_unit_test(test_a_job_extends_its_base),
        cmocka_unit_test(test_a_strategy_is_optional),
        cmocka_unit_test(test_same_kinds_are_merged),
        cmocka_unit_test(test_faults_in_a_base_have_its_place),
        cmocka_unit_test(test_bad_bases),
        cmocka_unit_test(test_paths_of_a_base),
        cmocka_unit_test(test_the_hash_is_of_the_canonical_text),
        cmocka_unit_test(test_one_hash_for_one_job),
    };
    return cmocka_run_group_tests_name("job/open", tests, make_here, NULL);
}
