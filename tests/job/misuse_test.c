/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong use of the public calls about jobs and of those that print: NULL where something is needed,
 * and an error that waits. As tests/train/misuse_test.c for models and data.
 */
#define HERE "build/tmp/job-misuse"
#include "kit.h"

static void test_null_where_something_is_needed(void **state) {
    (void)state;
    char *text = NULL;
    dt_job *job = NULL;

    REFUSED(dt_job_open(NULL, &(dt_job_source){.path = "x"}));
    REFUSED(dt_job_open(&job, NULL));
    REFUSED(dt_job_open(&job, &(dt_job_source){.path = NULL}));
    REFUSED(dt_job_open(&job, &(dt_job_source){.path = "x", .n_overrides = 1}));
    REFUSED(dt_job_check_data(NULL));
    REFUSED(dt_job_check_examples(NULL));
    REFUSED(dt_job_partition_text(NULL, &text));
    REFUSED(dt_job_warnings(NULL, &text));
    REFUSED(dt_job_fit(NULL, &(dt_run_options){0}));
    REFUSED(dt_job_evaluate(NULL, NULL, "validation", &(dt_run_options){0}));
    REFUSED(dt_job_lower(NULL, "graph", &(dt_run_options){0}, &text));
    REFUSED(dt_topology_text(NULL, &text));
    REFUSED(dt_topology_text(&(dt_topology_request){.tpu = "v3-8"}, NULL));
    REFUSED(dt_devices_text(false, NULL));
    assert_null(text);
    assert_null(job);
    assert_null(dt_job_name(NULL));
    assert_null(dt_job_metric(NULL, 0));
    assert_int_equal(dt_job_resume(NULL), DT_RESUME_AUTO);
    dt_job_unref(NULL);
}

static void test_null_in_a_list(void **state) {
    (void)state;
    const char *const none[] = {NULL}, *const second[] = {"nan@step=1", NULL};
    const dt_job_source source = {.path = "tests/jobs/tiny_mlp.yaml"};
    dt_job *job = NULL, *two[2] = {NULL};
    char *text = NULL;

    assert_null(dt_job_open(&job, &source));
    two[0] = job;
    assert_null(dt_job_open(&two[1], &source));
    REFUSED(dt_run_report(&(dt_run_report_request){.runs = none, .n_runs = 1}, &text));
    REFUSED(dt_run_metric("run", "loss", NULL));
    REFUSED(
        dt_plan_text(&(dt_plan_request){.jobs = two, .labels = second, .n_jobs = 2}, &text, NULL));
    REFUSED(dt_plan_text(&(dt_plan_request){.jobs = (dt_job *[]){job, NULL},
                                            .labels = (const char *[]){"a", "b"},
                                            .n_jobs = 2},
                         &text, NULL));
    REFUSED(dt_plan_search(
        &(dt_search_request){.source = &(dt_job_source){.path = source.path, .n_overrides = 1}},
        &text, NULL));
    REFUSED(dt_plan_search(
        &(dt_search_request){.source = &(dt_job_source){.path = source.path, .n_overrides = -1}},
        &text, NULL));
    assert_null(text);
    dt_job_unref(two[1]);
    /* released */
    REFUSED(dt_plan_text(
        &(dt_plan_request){.jobs = two, .labels = (const char *[]){"a", "b"}, .n_jobs = 2}, &text,
        NULL));
    dt_job_unref(job);
}

/* What several calls share is named instead of the call. */
#define REFUSED_AS(name, call) refused((call), name "(")

static void test_null_in_a_list_that_calls_share(void **state) {
    (void)state;
    const char *const none[] = {NULL};
    dt_job *job = NULL;
    char *text = NULL;

    REFUSED_AS("a request for data",
               dt_data_inspect(&(dt_data_request){.files = none, .n_files = 1}, 1, &text));
    REFUSED_AS("a request for data",
               dt_data_shards(&(dt_data_request){.n_files = 2}, 2, NULL, &text));
    assert_null(dt_job_open(&job, &(dt_job_source){.path = "tests/jobs/tiny_mlp.yaml"}));
    REFUSED_AS("dt_run_options",
               dt_job_fit(job, &(dt_run_options){.inject = none, .n_inject = 1, .dry_run = true}));
    REFUSED_AS("dt_run_options",
               dt_job_fit(job, &(dt_run_options){.n_inject = -7, .dry_run = true}));
    dt_job_unref(job);
}

#define WAITS(call) (dt_scope_enter(NULL), waits((call), #call))
static void waits(dt_status *s, const char *call) {
    if (dt_status_number(s) != DT_E_SCOPE)
        fail_msg("%s: %s", call, s ? dt_status_text(s) : "no error");
    dt_status_free(s);
}

static void test_waiting_errors_come_first(void **state) {
    (void)state;
    const dt_job_source source = {.path = "tests/jobs/tiny_mlp.yaml"};
    dt_job *job = NULL;
    char *text = NULL;

    WAITS(dt_job_open(&job, &source));
    WAITS(dt_topology_text(&(dt_topology_request){.tpu = "v3-8"}, &text));
    WAITS(dt_devices_text(false, &text));
    assert_null(dt_job_open(&job, &source));
    REFUSED(dt_job_partition_text(job, NULL));
    REFUSED(dt_job_warnings(job, NULL));
    WAITS(dt_job_check_data(job));
    WAITS(dt_job_check_examples(job));
    WAITS(dt_job_partition_text(job, &text));
    WAITS(dt_job_fit(job, NULL));
    WAITS(dt_job_evaluate(job, NULL, "validation", NULL));
    WAITS(dt_job_lower(job, "graph", NULL, &text));
    assert_null(text);
    assert_null(dt_job_lower(job, "graph", NULL, &text)); /* no options are all defaults */
    free(text);
    text = NULL;
    dt_status *s = dt_job_lower(job, "nosuch", NULL, &text);
    assert_non_null(s);
    assert_string_equal(dt_status_text(s), "unknown stage 'nosuch'");
    dt_status_free(s);
    assert_null(text);
    dt_job_unref(job);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_where_something_is_needed),
        cmocka_unit_test(test_null_in_a_list),
        cmocka_unit_test(test_null_in_a_list_that_calls_share),
        cmocka_unit_test(test_waiting_errors_come_first),
    };
    return cmocka_run_group_tests_name("job/misuse", tests, NULL, NULL);
}
