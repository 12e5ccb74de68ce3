/* SPDX-License-Identifier: Apache-2.0 */
/* Substitutions in a job: predefined names, environment variables in paths, words of let, and the
 * variables of Repeat, which are left to the model. */
#define HERE "build/tmp/job-substitution"
#include "open_kit.h"

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
        cmocka_unit_test(test_substitutions),
        cmocka_unit_test(test_variables_are_recorded_as_written),
        cmocka_unit_test(test_variables_are_replaced_in_paths_only),
        cmocka_unit_test(test_repeats_have_variables),
        cmocka_unit_test(test_words_of_let),
        cmocka_unit_test(test_overrides_may_leave_words_idle),
        cmocka_unit_test(test_bad_words_of_let),
        cmocka_unit_test(test_bad_substitutions),
        cmocka_unit_test(test_substitutions_are_bounded),
    };
    return cmocka_run_group_tests_name("job/substitution", tests, prepare, NULL);
}
