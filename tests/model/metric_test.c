/* Metrics against results recorded from Keras. A metric is sums over examples, so batches of any size and weights give the same. */
#include "rig.h"

static void read_metric(dt_arena *arena, const char *class_name, const char *arguments, dt_named *out)
{
    int n;
    const dt_kind *const *rows = dt_metrics(&n);
    dt_str text = { 0 };
    dt_str_printf(&text, "%s: %s", class_name, arguments);
    ok(dt_named_read(arena, rows, n, "metric", parse(arena, "metric", dt_str_text(&text)), out));
    dt_str_release(&text);
}

/* Values per example of one update. */
static outcome run_update(const dt_named *metric, const dt_view *y, const dt_view *p)
{
    const dt_metric_row *row = (const dt_metric_row *)metric->kind;
    dt_trace *t = dt_trace_create("metric");
    dt_type yt = batched(&y->type), pt = batched(&p->type);
    ok(row->check(metric->args, &yt, &pt));
    dt_loss_call_args c = { metric->args, dt_trace_declare(t, "y", &yt), dt_trace_declare(t, "p", &pt) };
    dt_return(t, "value", row->update(&c));
    return run_graph(end_trace(t), 1, (feed[]){ { "y", *y }, { "p", *p } }, 2);
}

/* Adds one update's values, by weight. */
static void add_update(const dt_named *metric, const json_t *update, double *sum, double *examples)
{
    const json_t *args = json_object_get(update, "args"), *weights = json_object_get(update, "sample_weight");
    dt_view y = view_of(json_array_get(args, 0)), p = view_of(json_array_get(args, 1));
    outcome o = run_update(metric, &y, &p);
    const dt_view *value = result_of(&o, 0, "value");
    for (int64_t i = 0; i < dt_type_elements(&value->type); i++) {
        double w = json_is_null(weights) ? 1 : number_of(json_array_get(json_object_get(weights, "data"), (size_t)i));
        *sum += w * element(value, i);
        *examples += w;
    }
    finish(&o);
    dt_graph_destroy(o.graph);
    free(y.data);
    free(p.data);
}

static void run_case(const json_t *c)
{
    const json_t *in = json_object_get(c, "in"), *updates = json_object_get(in, "updates"), *update;
    const json_t *results = json_object_get(json_object_get(c, "out"), "result_before_and_after_each_update");
    dt_arena *arena = dt_arena_create();
    dt_named metric;
    char *arguments = arguments_text(json_object_get(in, "arguments"));
    read_metric(arena, text_of(in, "class"), arguments, &metric);
    free(arguments);
    const dt_metric_row *row = (const dt_metric_row *)metric.kind;
    assert_int_equal(row->sums, 1);
    double sum = 0, examples = 0;
    size_t i;
    json_array_foreach(updates, i, update) {
        add_update(&metric, update, &sum, &examples);
        assert_near(text_of(c, "id"), row->result(metric.args, &sum, examples), number_of(json_array_get(json_array_get(results, i + 1), 0)), 1e-6, 1e-7);
    }
    dt_arena_destroy(arena);
}

static void test_metrics_are_those_recorded(void **state)
{
    (void)state;
    int n;
    const dt_kind *const *rows = dt_metrics(&n);
    json_t *file, *cases = golden("metrics", &file), *c;
    tally t = { 0 };
    size_t i;
    json_array_foreach(cases, i, c) {
        const char *class_name = text_of(json_object_get(c, "in"), "class");
        if (!is_known(rows, n, class_name) || strcmp(class_name, "Accuracy") == 0) { /* Keras' class of that name, unlike the word, is equality */
            tally_skip(&t, class_name);
            continue;
        }
        run_case(c);
        t.run++;
    }
    tally_end(&t, "metrics");
    json_decref(file);
}

/* The recorded cases in brief, for where the records are not. */
static void test_accuracies(void **state)
{
    (void)state;
    float p[] = { 0.7f, 0.2f, 0.1f, 0.4f, 0.4f, 0.2f }, hot[] = { 1, 0, 0, 0, 1, 0 };
    uint8_t numbers[] = { 0, 1 };
    dt_view pv = { dt_type_of(DT_FLOAT32, 2, (int64_t[]){ 2, 3 }), p }, hv = { pv.type, hot };
    dt_view nv = { dt_type_of(DT_UINT8, 1, (int64_t[]){ 2 }), numbers };
    const struct { const char *metric; dt_view y; double first, second; } rows[] = {
        { "CategoricalAccuracy", hv, 1, 0 }, /* of equals the first counts */
        { "SparseCategoricalAccuracy", nv, 1, 0 },
        { "BinaryAccuracy", hv, 1, 2.0 / 3 },
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

static void test_no_examples_is_no_number(void **state)
{
    (void)state;
    assert_true(isnan(dt_mean_of_sum(NULL, (double[]){ 0 }, 0)));
    assert_true(dt_mean_of_sum(NULL, (double[]){ 3 }, 4) == 0.75);
}

static void test_metrics_check_labels(void **state)
{
    (void)state;
    dt_type p = dt_type_of(DT_FLOAT32, 2, (int64_t[]){ DT_BATCH, 10 }), numbers = dt_type_of(DT_INT32, 1, (int64_t[]){ DT_BATCH });
    dt_status *s = dt_metric_categorical_accuracy.check(NULL, &numbers, &p);
    assert_int_equal(dt_status_number(s), DT_E_LABELS);
    dt_status_free(s);
    s = dt_metric_sparse_categorical_accuracy.check(NULL, &p, &p);
    assert_int_equal(dt_status_number(s), DT_E_LABELS);
    dt_status_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_are_those_recorded),
        cmocka_unit_test(test_accuracies),
        cmocka_unit_test(test_no_examples_is_no_number),
        cmocka_unit_test(test_metrics_check_labels),
    };
    return cmocka_run_group_tests_name("metric", tests, NULL, NULL);
}
