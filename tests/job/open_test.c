/* SPDX-License-Identifier: Apache-2.0 */
/* Valid jobs: defaults, overrides, substitutions, bases, what each purpose needs, and the resolved
 * job with its hash. */
#define HERE "build/tmp/job-open"
#include "kit.h"

static dt_job *open_text(const char *text) {
    dt_job *job;
    write_job("job.yaml", 0, text);
    ok(open_job(&job, &(opening){.name = "job.yaml"}));
    return job;
}

/* Exactly one fault of this number whose text has this piece; its place is given as
 * "FILE:LINE:COL", file below HERE. */
static void expect_fault(dt_status *s, int number, const char *piece, const char *place) {
    char at[512];
    snprintf(at, sizeof at, "%s:%d:%d", dt_status_file(s) ? dt_status_file(s) : "",
             dt_status_line(s), dt_status_column(s));
    bool here = strncmp(at, HERE "/", strlen(HERE "/")) == 0;
    if (!s || dt_status_number(s) != number || !strstr(dt_status_text(s), piece) ||
        strcmp(here ? at + strlen(HERE "/") : at, place) != 0) {
        char *text = dt_status_format(s);
        fail_msg("expected DT%03d '%s' at %s, got\n%s", number, piece, place,
                 s ? text : "no error");
    }
    dt_status_free(s);
}

#define MINIMAL                                                                                    \
    "version: 1\nstrategy: {type: default}\ndataset: {format: synthetic, examples: 8, element: "   \
    "{x: {shape: [2]}, y: {num_classes: 2}},"                                                      \
    " global_batch_size: 4}\nmodel: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 2}]}\n" \
    "compile: {optimizer: Adam, loss: sparse_categorical_crossentropy}\nfit: {epochs: 1}\n"

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

/* ---- substitution ---- */

static void test_substitutions(void **state) {
    (void)state;
    static const struct {
        const char *text, *dir;
    } cases[] = {
        {"runs/{name}", "runs/tiny"},
        {"'{name}-{name}'", "tiny-tiny"},
        {"${JOB_TEST_SET}/{name}", "here/tiny"},
        {"${JOB_TEST_UNSET:-there}/x", "there/x"},
        {"${JOB_TEST_EMPTY:-there}/x", "there/x"},
        {"a${JOB_TEST_EMPTY}b", "ab"},
        {"${JOB_TEST_UNSET:-${JOB_TEST_SET}}", "here"},
        {"${JOB_TEST_UNSET:-runs/{name}}", "runs/tiny"},
        {"${JOB_TEST_BRACES}", "{nmae}"}, /* what is substituted is not looked at again */
        {"a{1}{", "a{1}{"},
        {"a$b", "a$b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[128];
        dt_job *job;
        snprintf(line, sizeof line, "output:\n  dir: %s", cases[i].text);
        write_job("job.yaml", 23, line);
        ok(open_job(&job, &(opening){.name = "job.yaml"}));
        assert_string_equal(job->run_dir, cases[i].dir);
        const bool varies = strstr(cases[i].text, "${") != NULL;
        assert_int_equal(strstr(job->json, "${") != NULL, varies); /* recorded as written */
        assert_true(!varies || !strstr(job->json, "here/"));
        dt_job_unref(job);
    }
}

/* Not recorded, nor hashed: the same job on another machine has the same hash. */
static void test_variables_are_recorded_as_written(void **state) {
    (void)state;
    char sha[65] = "";
    static const char *const values[] = {"one", "another/place", "3"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        dt_job *job;
        char *shown = NULL;
        setenv("JOB_TEST_PLACE", values[i], 1);
        write_job("job.yaml", 23,
                  "let: {place: \"${JOB_TEST_PLACE}\"}\noutput:\n  dir: "
                  "\"{place}/{name}-${JOB_TEST_PLACE}\"");
        ok(open_job(&job, &(opening){.name = "job.yaml"}));
        assert_string_equal(job->run_dir,
                            dt_arena_printf(job->arena, "%s/tiny-%s", values[i], values[i]));
        assert_non_null(strstr(job->json, "${JOB_TEST_PLACE}/tiny-${JOB_TEST_PLACE}"));
        ok(dt_job_config_text(job, true, &shown));
        assert_non_null(strstr(shown, "\"${JOB_TEST_PLACE}/tiny-${JOB_TEST_PLACE}\""));
        assert_null(strstr(shown, "another"));
        assert_int_equal(job->n_variables, 1);
        assert_string_equal(job->variable[0].value, values[i]);
        if (i > 0) assert_string_equal(job->sha256.hex, sha);
        memcpy(sha, job->sha256.hex, sizeof sha);
        free(shown);
        dt_job_unref(job);
    }
}

static void test_variables_are_replaced_in_paths_only(void **state) {
    (void)state;
    static const struct {
        const char *override, *second, *place;
    } cases[] = {
        {"fit.epochs=${JOB_TEST_SET}", NULL, "override 1:1:12"},
        {"fit.epochs=${JOB_TEST_UNSET:-12}", NULL, "override 1:1:12"},
        {"name=${JOB_TEST_SET}", NULL, "override 1:1:6"},
        {"dataset.element.image.dtype=${JOB_TEST_SET}", NULL, "override 1:1:29"},
        {"model.layers.2.Dense.name=${JOB_TEST_SET}", NULL, "override 1:1:27"},
        {"let.n=${JOB_TEST_SET}", "model.layers.2.Dense.name='{n}'", "override 2:1:27"},
        {"let.n=${JOB_TEST_SET}", "model.layers.2.Dense.name='a{n}'", "override 2:1:27"},
        {"output.dir=${JOB_TEST_SET}", "model.layers.2.Dense.name='{run_dir}'", "override 2:1:27"},
    };
    write_job("job.yaml", 1, "version: 1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_job *job;
        expect_fault(open_job(&job, &(opening){.name = "job.yaml",
                                               .override = {cases[i].override, cases[i].second}}),
                     DT_E_SUBSTITUTION, "${VARIABLE} is replaced in paths only", cases[i].place);
    }
}

/* The variables of a Repeat are left to the model, in its layers alone. */
static void test_repeats_have_variables(void **state) {
    (void)state;
    dt_job *job;
    write_job("job.yaml", 15,
              "    - Repeat: {for: {i: [0, 1], units: [5, 6]}, layers: [{Dense: {name: "
              "\"{name}_{i}\", units: \"{units}\"}}]}");
    ok(open_job(&job, &(opening){.name = "job.yaml"}));
    assert_int_equal(job->model.n_layers, 4);
    assert_string_equal(job->model.layer[2].name, "tiny_1");
    assert_int_equal(job->model.layer[2].out.dim[1], 6);
    dt_job_unref(job);
    ok(open_job(
        &job, &(opening){.name = "job.yaml", .override = {"model.layers.1.Repeat.for.units.1=9"}}));
    assert_int_equal(job->model.layer[2].out.dim[1], 9);
    dt_job_unref(job);
    write_job("job.yaml", 15, "    - Repeat: {for: {i: [0]}, layers: [{ReLU: {name: \"{j}\"}}]}");
    expect_fault(open_job(&job, &(opening){.name = "job.yaml"}), DT_E_SUBSTITUTION,
                 "unknown substitution '{j}'", "job.yaml:15:54");
    write_job("job.yaml", 16, "    - Dense: {units: 3, name: \"d_{i}\"}");
    expect_fault(open_job(&job, &(opening){.name = "job.yaml"}), DT_E_SUBSTITUTION,
                 "unknown substitution '{i}'", "job.yaml:16:31");
}

/* Words of let have the job's own values, of any kind, and one override changes all that uses
 * them. */
static void test_words_of_let(void **state) {
    (void)state;
    dt_job *job;
    write_job("job.yaml", 23,
              "let: {width: 6, turns: 2, wide: \"{width}0\", dir: \"${JOB_TEST_SET}\", sizes: [1, "
              "\"{width}\"], none: null}\noutput: {dir: \"{dir}/{wide}\"}");
    expect_fault(open_job(&job, &(opening){.name = "job.yaml"}), DT_E_SUBSTITUTION,
                 "nothing uses '{turns}'", "job.yaml:23:17");
    write_job("job.yaml", 15,
              "    - Repeat: {for: {i: \"{turns}\"}, layers: [{Dense: {name: \"d{wide}_{i}\", "
              "units: \"{width}\"}}]}\n"
              "    - Reshape: {target_shape: \"{sizes}\"}\n    - Flatten");
    ok(open_job(
        &job,
        &(opening){
            .name = "job.yaml",
            .override = {"let={width: 6, turns: 2, wide: '{width}0', sizes: [1, '{width}']}"}}));
    assert_int_equal(job->model.n_layers, 6);
    assert_string_equal(job->model.layer[2].name, "d60_1");
    assert_int_equal(job->model.layer[3].out.dim[2], 6);
    dt_job_unref(job);
    ok(open_job(
        &job,
        &(opening){.name = "job.yaml",
                   .override = {"let={width: 6, turns: 2, wide: '{width}0', sizes: [1, '{width}']}",
                                "let.width=9", "let.turns=1"}}));
    assert_string_equal(job->model.layer[1].name, "d90_0");
    assert_int_equal(job->model.layer[2].out.dim[2], 9);
    dt_job_unref(job);
}

/* Who overrides the only use of a word need not know the word; but one that is misspelt, or changes
 * nothing, is told. */
static void test_overrides_may_leave_words_idle(void **state) {
    (void)state;
    static const struct {
        const char *override[3], *place; /* NULL: it is right */
    } cases[] = {
        {{"dataset.global_batch_size=4"}, NULL},
        {{"let.batch=4"}, NULL}, /* `more` stays idle */
        {{NULL}, "job.yaml:11:17"},
        {{"dataset.global_batch_size=4", "let.batch=2"}, "job.yaml:11:7"},
        {{"dataset.global_batch_size=4", "let.bach=2"}, "override 2:1:5"},
    };
    write_job("job.yaml", 10, "  global_batch_size: \"{batch}\"\nlet: {batch: 8, more: 1}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_job *job;
        const opening o = {.name = "job.yaml",
                           .override = {cases[i].override[0], cases[i].override[1]}};
        if (cases[i].place) {
            expect_fault(open_job(&job, &o), DT_E_SUBSTITUTION, "nothing uses", cases[i].place);
            continue;
        }
        ok(open_job(&job, &o));
        dt_job_unref(job);
    }
}

static void test_bad_words_of_let(void **state) {
    (void)state;
    static const struct {
        const char *let, *text, *place;
    } cases[] = {
        {"{widht: 6}", "unknown substitution '{width}'", "job.yaml:15:22"},
        {"{width: 6, wdth: 7}", "nothing uses '{wdth}'", "override 1:1:16"},
        {"{width: 6, name: x}", "'{name}' is a predefined name; choose another name in 'let'",
         "override 1:1:16"},
        {"{width: 6, 1a: x}", "'1a' cannot be a name in 'let'", "override 1:1:16"},
        {"{width: '{w}', w: 6}", "unknown substitution '{w}'", "override 1:1:13"},
        {"{width: '{width}'}", "unknown substitution '{width}'", "override 1:1:13"},
        {"{width: 6, i: 0}", "'{i}' is a word of 'let'; give the variable another name",
         "job.yaml:16:22"},
        {"{width: 6, list: [1], word: 'a{list}'}",
         "'{list}' is a list and cannot be part of a text", "override 1:1:33"},
    };
    write_job("job.yaml", 15,
              "    - Dense: {units: \"{width}\"}\n    - Repeat: {for: {i: [0]}, layers: [{ReLU: "
              "{name: \"r{i}\"}}]}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char let[128];
        dt_job *job;
        snprintf(let, sizeof let, "let=%s", cases[i].let);
        expect_fault(open_job(&job, &(opening){.name = "job.yaml", .override = {let}}),
                     DT_E_SUBSTITUTION, cases[i].text, cases[i].place);
    }
}

static void test_bad_substitutions(void **state) {
    (void)state;
    static const struct {
        const char *line;
        const char *text, *place;
    } cases[] = {
        {"name: \"{name}\"", "'{name}' cannot be used in name", "job.yaml:2:7"},
        {"name: x\noutput: {dir: \"{run_dir}\"}", "'{run_dir}' cannot be used in output.dir",
         "job.yaml:3:15"},
        {"output:\n  dir: ${JOB_TEST_UNSET}", "the environment has no variable 'JOB_TEST_UNSET'",
         "job.yaml:3:8"},
        {"output:\n  dir: \"${JOB_TEST_UNSET\"", "'${' is never closed", "job.yaml:3:8"},
        {"output:\n  dir: \"${}\"", "write ${VARIABLE} or ${VARIABLE:-default}, got '${}'",
         "job.yaml:3:8"},
        {"output:\n  dir: \"${1}\"", "write ${VARIABLE} or ${VARIABLE:-default}, got '${1}'",
         "job.yaml:3:8"},
        {"output:\n  dir: \"${A-b}\"", "write ${VARIABLE} or ${VARIABLE:-default}, got '${A-b}'",
         "job.yaml:3:8"},
        {"output:\n  dir: \"${JOB_TEST_BYTES}\"",
         "the value of ${JOB_TEST_BYTES} is not plain UTF-8 text", "job.yaml:3:8"},
        {"output:\n  dir: \"${A:-${A:-${A:-${A:-${A:-${A:-${A:-${A:-${A:-${A:-x}}}}}}}}}}\"",
         "deeper than 8 levels", "job.yaml:3:8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_job *job;
        dt_str text = {0};
        dt_str_printf(&text, "version: 1\n%s\n%s", cases[i].line, strstr(MINIMAL, "strategy:"));
        write_job("job.yaml", 0, dt_str_text(&text));
        expect_fault(open_job(&job, &(opening){.name = "job.yaml"}), DT_E_SUBSTITUTION,
                     cases[i].text, cases[i].place);
        dt_str_release(&text);
    }
}

/* Ten thousand uses of a large variable stay within the size of a job file. */
static void test_substitutions_are_bounded(void **state) {
    (void)state;
    dt_str text = {0};
    char *large = dt_alloc(100001);
    memset(large, 'a', 100000);
    setenv("JOB_TEST_LARGE", large, 1);
    dt_str_puts(&text, MINIMAL "output:\n  dir: ");
    for (int i = 0; i < 10000; i++) dt_str_puts(&text, "${JOB_TEST_LARGE}");
    dt_str_putc(&text, '\n');
    dt_job *job;
    write_job("job.yaml", 0, dt_str_text(&text));
    expect_fault(open_job(&job, &(opening){.name = "job.yaml"}), DT_E_JOB_LIMIT,
                 "substitutions make the job larger than 1 MiB", "job.yaml:8:8");
    dt_str_release(&text);
    free(large);
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

static int prepare(void **state) {
    setenv("JOB_TEST_SET", "here", 1);
    setenv("JOB_TEST_EMPTY", "", 1);
    setenv("JOB_TEST_BRACES", "{nmae}", 1);
    setenv("JOB_TEST_BYTES", "\xff\x1b", 1);
    unsetenv("JOB_TEST_UNSET");
    unsetenv("A");
    return make_here(state);
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
        cmocka_unit_test(test_substitutions),
        cmocka_unit_test(test_variables_are_recorded_as_written),
        cmocka_unit_test(test_variables_are_replaced_in_paths_only),
        cmocka_unit_test(test_repeats_have_variables),
        cmocka_unit_test(test_words_of_let),
        cmocka_unit_test(test_overrides_may_leave_words_idle),
        cmocka_unit_test(test_bad_words_of_let),
        cmocka_unit_test(test_bad_substitutions),
        cmocka_unit_test(test_substitutions_are_bounded),
        cmocka_unit_test(test_a_job_extends_its_base),
        cmocka_unit_test(test_a_strategy_is_optional),
        cmocka_unit_test(test_same_kinds_are_merged),
        cmocka_unit_test(test_faults_in_a_base_have_its_place),
        cmocka_unit_test(test_bad_bases),
        cmocka_unit_test(test_paths_of_a_base),
        cmocka_unit_test(test_the_hash_is_of_the_canonical_text),
        cmocka_unit_test(test_one_hash_for_one_job),
    };
    return cmocka_run_group_tests_name("job/open", tests, prepare, NULL);
}
