/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics that fit adds up: values per example. Recorded results are tests/conformance's. */
#include "rig.h"

static void read_metric(dt_arena *arena, const char *class_name, const char *arguments,
                        dt_named *out) {
    int n;
    const dt_kind *const *rows = dt_metrics(&n);
    dt_str text = {0};
    dt_str_printf(&text, "%s: %s", class_name, arguments);
    ok(dt_named_read(arena, rows, n, "metric", parse(arena, "metric", dt_str_text(&text)), out));
    dt_str_release(&text);
}

/* Values per example of one update. */
static outcome run_update(const dt_named *metric, const dt_view *y, const dt_view *p) {
    const dt_metric_row *row = (const dt_metric_row *)metric->kind;
    dt_trace *t = dt_trace_create("metric");
    dt_type yt = batched(&y->type), pt = batched(&p->type);
    ok(row->check(metric->args, &yt, &pt));
    dt_loss_call_args c = {metric->args, dt_trace_declare(t, "y", &yt),
                           dt_trace_declare(t, "p", &pt)};
    dt_return(t, "value", dt_mean_per_example(row->update(&c)));
    return run_graph(end_trace(t), 1, (feed[]){{"y", *y}, {"p", *p}}, 2);
}

static void test_accuracies(void **state) {
    (void)state;
    float p[] = {0.7f, 0.2f, 0.1f, 0.4f, 0.4f, 0.2f}, hot[] = {1, 0, 0, 0, 1, 0};
    uint8_t numbers[] = {0, 1};
    dt_view pv = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 3}), p}, hv = {pv.type, hot};
    dt_view nv = {dt_type_of(DT_UINT8, 1, (int64_t[]){2}), numbers};
    const struct {
        const char *metric;
        dt_view y;
        double first, second;
    } rows[] = {
        {"CategoricalAccuracy", hv, 1, 0}, /* of equals the first counts */
        {"SparseCategoricalAccuracy", nv, 1, 0},
        {"BinaryAccuracy", hv, 1, 2.0 / 3},
    };
    for (size_t i = 0; i < 3; i++) {
        dt_arena *arena = dt_arena_create();
        dt_named metric;
        read_metric(arena, rows[i].metric, "", &metric);
        outcome o = run_update(&metric, &rows[i].y, &pv);
        assert_near(rows[i].metric, element(result_of(&o, 0, "value"), 0), rows[i].first, 1e-6, 0);
        assert_near(rows[i].metric, element(result_of(&o, 0, "value"), 1), rows[i].second, 1e-6, 0);
        finish(&o);
        dt_graph_destroy(o.graph);
        dt_arena_destroy(arena);
    }
}

static void test_no_examples_is_0(void **state) {
    (void)state;
    assert_true(dt_mean_of_sum(NULL, (double[]){0}, 0) == 0);
    assert_true(dt_mean_of_sum(NULL, (double[]){3}, 4) == 0.75);
}

static void test_metrics_check_labels(void **state) {
    (void)state;
    dt_type p = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 10}),
            numbers = dt_type_of(DT_INT32, 1, (int64_t[]){DT_BATCH});
    dt_status *s = dt_metric_categorical_accuracy.check(NULL, &numbers, &p);
    assert_int_equal(dt_status_number(s), DT_E_LABELS);
    dt_status_free(s);
    s = dt_metric_sparse_categorical_accuracy.check(NULL, &p, &p);
    assert_int_equal(dt_status_number(s), DT_E_LABELS);
    dt_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracies),
        cmocka_unit_test(test_no_examples_is_0),
        cmocka_unit_test(test_metrics_check_labels),
    };
    return cmocka_run_group_tests_name("metric", tests, NULL, NULL);
}
