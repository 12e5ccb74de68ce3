/* SPDX-License-Identifier: Apache-2.0 */
/* Reading `compile`: what `accuracy` means, keys in the history, and what is refused. */
#include "rig.h"

static dt_status *read_compile(dt_arena *arena, const char *text, int outputs,
                               dt_compile_spec *out) {
    dt_location at = {0};
    const dt_output_spec output = {
        .name = "scores", .type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, outputs})};
    const dt_model_spec model = {.n_outputs = 1, .output = &output};
    return dt_compile_read(arena, parse(arena, "job.yaml", text), &at, outputs ? &model : NULL,
                           out);
}

static void test_whole_compile(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_compile_spec c;
    ok(read_compile(arena,
                    "optimizer: {Adam: {learning_rate: 0.01}}\n"
                    "loss: {SparseCategoricalCrossentropy: {from_logits: true}}\n"
                    "metrics: [accuracy, {BinaryAccuracy: {threshold: 0.7, name: hits}}, "
                    "SparseCategoricalAccuracy]\n"
                    "precision: float32\n"
                    "target: label\n",
                    10, &c));
    assert_ptr_equal(c.optimizer.kind, &dt_optimizer_adam.kind);
    assert_true(((const dt_optimizer_head *)c.optimizer.args)->rate == 0.01);
    assert_ptr_equal(c.output[0].loss.kind, &dt_loss_sparse_categorical_crossentropy.kind);
    assert_int_equal(c.n_metrics, 3);
    assert_string_equal(c.metric[0].key, "accuracy");
    assert_string_equal(c.metric[1].key, "hits");
    assert_string_equal(c.metric[2].key, "sparse_categorical_accuracy");
    assert_string_equal(c.output[0].target, "label");
    assert_int_equal(c.output[0].target_at.line, 5);
    dt_arena_destroy(arena);
}

static void test_keras_defaults(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_compile_spec c;
    ok(read_compile(arena, "{optimizer: sgd, loss: mse}", 1, &c));
    assert_true(((const dt_optimizer_head *)c.optimizer.args)->rate == 0.01);
    assert_int_equal(c.n_metrics, 0);
    assert_null(c.output[0].target);
    ok(read_compile(arena, "{optimizer: Adam, loss: mae, metrics: null, precision: null}", 1, &c));
    assert_true(((const dt_optimizer_head *)c.optimizer.args)->rate == 0.001);
    dt_arena_destroy(arena);
}

/* Keras' rule, by the shapes of predictions and targets alone. last: the size of the last
 * dimension, 0: there is no more than the batch. */
typedef struct fitting {
    int outputs, target_rank, last;
    const dt_metric_row *accuracy;
    const dt_loss_row *crossentropy;
} fitting;

static const fitting fittings[] = {
    {10, 2, 10, &dt_metric_categorical_accuracy, &dt_loss_categorical_crossentropy},
    {10, 1, 0, &dt_metric_sparse_categorical_accuracy, &dt_loss_sparse_categorical_crossentropy},
    {10, 2, 1, &dt_metric_sparse_categorical_accuracy, &dt_loss_sparse_categorical_crossentropy},
    {1, 1, 0, &dt_metric_binary_accuracy, &dt_loss_binary_crossentropy},
    {1, 2, 1, &dt_metric_binary_accuracy, &dt_loss_binary_crossentropy},
};

static void see_targets(const dt_compile_spec *c, const fitting *f) {
    const dt_type y = dt_type_of(DT_INT32, f->target_rank, (int64_t[]){DT_BATCH, f->last});
    const dt_type p = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, f->outputs});
    dt_compile_see_targets(c, 0, &y, &p);
}

static void test_accuracy_fits_the_shapes(void **state) {
    (void)state;
    static const char *const losses[] = {"mse", "BinaryCrossentropy",
                                         "sparse_categorical_crossentropy", "ce"};
    static const char *const words[][2] = {
        {"accuracy", "accuracy"}, {"acc", "acc"}, {"Accuracy", "accuracy"}};
    for (size_t i = 0; i < 4 * sizeof fittings / sizeof *fittings; i++)
        for (size_t k = 0; k < 3; k++) {
            dt_arena *arena = dt_arena_create();
            dt_compile_spec c;
            char *text = dt_arena_printf(arena, "{optimizer: adam, loss: %s, metrics: [%s]}",
                                         losses[i % 4], words[k][0]);
            ok(read_compile(arena, text, fittings[i / 4].outputs, &c));
            see_targets(&c, &fittings[i / 4]);
            assert_ptr_equal(c.metric[0].row, fittings[i / 4].accuracy);
            assert_string_equal(c.metric[0].key, words[k][1]);
            dt_arena_destroy(arena);
        }
}

static void test_crossentropy_fits_the_shapes(void **state) {
    (void)state;
    static const char *const words[] = {"crossentropy", "ce", "CE", "[Crossentropy]"};
    for (size_t i = 0; i < 4 * sizeof fittings / sizeof *fittings; i++) {
        dt_arena *arena = dt_arena_create();
        dt_compile_spec c;
        const fitting *f = &fittings[i / 4];
        ok(read_compile(arena, dt_arena_printf(arena, "{optimizer: adam, loss: %s}", words[i % 4]),
                        f->outputs, &c));
        see_targets(&c, f);
        assert_ptr_equal(c.output[0].loss.kind, &f->crossentropy->kind);
        assert_false(dt_loss_takes_logits(&c.output[0].loss));
        see_targets(&c, &fittings[1]); /* what was decided stays */
        assert_ptr_equal(c.output[0].loss.kind, &f->crossentropy->kind);
        dt_arena_destroy(arena);
    }
}

/* Perplexity looks at the very crossentropy that is the loss, unless it is told otherwise. */
static void test_perplexity_follows_the_loss(void **state) {
    (void)state;
    static const struct {
        const char *logits, *metric;
        bool same;
    } rows[] = {
        {"true", "Perplexity", true},
        {"false", "perplexity", true},
        {"true", "{Perplexity: {from_logits: false}}", false},
        {"false", "{Perplexity: {from_logits: true, name: p}}", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        dt_compile_spec c;
        dt_graph *g = NULL;
        ok(read_compile(arena,
                        dt_arena_printf(arena,
                                        "{optimizer: adam, loss: {SparseCategoricalCrossentropy: "
                                        "{from_logits: %s}}, metrics: [%s]}",
                                        rows[i].logits, rows[i].metric),
                        3, &c));
        dt_trace *t = dt_trace_create("metric");
        dt_type label = dt_type_of(DT_INT32, 1, (int64_t[]){DT_BATCH}),
                scores = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3});
        dt_value y = dt_trace_declare(t, "y", &label), p = dt_trace_declare(t, "p", &scores);
        dt_value loss = ((const dt_loss_row *)c.output[0].loss.kind)
                            ->rows(&(dt_loss_call_args){c.output[0].loss.args, y, p});
        dt_value value = c.metric[0].row->update(&(dt_loss_call_args){c.metric[0].args, y, p});
        assert_int_equal(loss.node == value.node, rows[i].same);
        dt_return(t, "loss", loss);
        ok(dt_trace_end(t, &g));
        dt_graph_destroy(g);
        dt_arena_destroy(arena);
    }
}

static void test_bad_compiles_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int number, column;
        const char *fault, *suggestion;
    } rows[] = {
        {"{optimizer: adam}", DT_E_MISSING_KEY, 1, "required key 'loss' is missing in compile",
         NULL},
        {"{optimizer: adam, loss: {ce: {from_logits: true}}}", DT_E_UNKNOWN_NAME, 26,
         "unknown loss 'ce'", NULL}, /* as in Keras, a word alone */
        {"{optimizer: adam, loss: mse, metrics: [ce]}", DT_E_UNKNOWN_NAME, 40,
         "unknown metric 'ce'", NULL},
        {"{optimizer: adam, loss: mse, metrics: [accuacy]}", DT_E_UNKNOWN_NAME, 40,
         "unknown metric 'accuacy'", "did you mean 'accuracy'?"},
        {"{optimizer: adam, loss: mse, metrics: {accuracy: {}}}", DT_E_WRONG_TYPE, 39,
         "metrics: expected a list, got a mapping", NULL},
        {"{optimizer: adam, loss: mse, metrics: [acc, acc]}", DT_E_METRICS, 45,
         "'acc' is already the name of metrics[0]", NULL},
        {"{optimizer: adam, loss: mse, metrics: [{BinaryAccuracy: {name: loss}}]}", DT_E_METRICS,
         41, "metric name 'loss' is reserved: the history uses it", NULL},
        {"{optimizer: adam, loss: mse, metrics: [{BinaryAccuracy: {name: 'my share, now'}}]}",
         DT_E_METRICS, 41,
         "invalid metric name 'my share, now': --expect and logs need a single word",
         "write 'my_share__now'"},
        {"{optimizer: adam, loss: mse, metrics: [F1Score, {AUC: {name: f1_score_9}}]}",
         DT_E_METRICS, 50, "'f1_score_9' is already the name of metrics[0]", NULL},
        {"{optimizer: adam, loss: mse, precision: bf16-mixed}", DT_E_UNKNOWN_NAME, 41,
         "unknown precision 'bf16-mixed'", NULL},
        {"{optimizer: adam, loss: mse, precision: float31}", DT_E_UNKNOWN_NAME, 41,
         "unknown precision 'float31'", "use float32, mixed_bfloat16 or mixed_float16"},
        {"{optimizer: adam, loss: mse, run_eagerly: true}", DT_E_UNKNOWN_KEY, 30,
         "key 'run_eagerly' in compile is not implemented yet",
         "only its default, false, is accepted"},
        {"{optimizer: adam, loss: mse, metric: [acc]}", DT_E_UNKNOWN_KEY, 30,
         "unknown key 'metric' in compile", "did you mean 'metrics'?"},
        {"[adam]", DT_E_WRONG_TYPE, 1, "compile: expected a mapping, got a list", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        dt_compile_spec c;
        dt_status *s = read_compile(arena, rows[i].text, 10, &c);
        if (!s) fail_msg("taken: %s", rows[i].text);
        assert_string_equal(dt_status_text(s), rows[i].fault);
        assert_int_equal(dt_status_number(s), rows[i].number);
        assert_int_equal(dt_status_column(s), rows[i].column);
        if (rows[i].suggestion) assert_string_equal(dt_status_suggestion(s), rows[i].suggestion);
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

/* Else going on would take a metric for the step of a line, and programs for another number. */
static void test_no_metric_has_the_name_of_a_field(void **state) {
    (void)state;
    static const char *const names[] = {"epoch",     "step",
                                        "event",     "t",
                                        "steps",     "examples",
                                        "split",     "wall_s",
                                        "virtual_s", "examples_per_s",
                                        "waited_s",  "idle",
                                        "idle_map",  "peak_rss_bytes",
                                        "loss_min",  "learning_rate",
                                        "batch",     "steps_per_second"};
    static const char form[] =
        "{optimizer: adam, loss: mse, metrics: [{MeanAbsoluteError: {name: %s%s}}]}";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        dt_arena *arena = dt_arena_create();
        dt_compile_spec c;
        dt_status *s = read_compile(arena, dt_arena_printf(arena, form, names[i], ""), 10, &c);
        if (!s) fail_msg("taken: %s", names[i]);
        assert_int_equal(dt_status_number(s), DT_E_METRICS);
        assert_non_null(strstr(dt_status_text(s), "a field of the run's log has that name"));
        dt_status_free(s);
        ok(read_compile(arena, dt_arena_printf(arena, form, names[i], "_"), 10, &c));
        dt_arena_destroy(arena);
    }
}

/* Keras has an array in the history; here each number has a key. */
static void test_metrics_of_several_numbers(void **state) {
    (void)state;
    static const struct {
        const char *metric;
        int n;
        const char *first, *last;
    } rows[] = {
        {"F1Score", 10, "f1_score_0", "f1_score_9"},
        {"{F1Score: {average: macro}}", 1, "f1_score", "f1_score"},
        {"{Precision: {thresholds: [0.1, 0.5], name: p}}", 2, "p_0", "p_1"},
        {"{Recall: {thresholds: [0.1]}}", 1, "recall", "recall"},
        {"{R2Score: {class_aggregation: none}}", 10, "r2_score_0", "r2_score_9"},
        {"{AUC: {multi_label: true}}", 1, "auc", "auc"},
        {"{MeanIoU: {num_classes: 10, sparse_y_pred: false}}", 1, "mean_io_u", "mean_io_u"},
        {"mean_io_u: {num_classes: 3}", 1, "mean_io_u", "mean_io_u"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        const char *key[DT_MAX_KEYS];
        dt_compile_spec c;
        ok(read_compile(
            arena,
            dt_arena_printf(arena, "{optimizer: adam, loss: mse, metrics: [%s]}", rows[i].metric),
            10, &c));
        assert_int_equal(dt_compile_keys(&c, key), 1 + rows[i].n);
        assert_string_equal(key[1], rows[i].first);
        assert_string_equal(key[rows[i].n], rows[i].last);
        dt_arena_destroy(arena);
    }
}

static void test_history_has_so_much_room(void **state) {
    (void)state;
    static const int classes[] = {255, 256};
    for (int i = 0; i < 2; i++) {
        dt_arena *arena = dt_arena_create();
        dt_compile_spec c;
        dt_status *s = read_compile(
            arena, "{optimizer: adam, loss: mse, metrics: [accuracy, F1Score]}", classes[i], &c);
        assert_int_equal(dt_status_number(s), i ? DT_E_METRICS : 0);
        if (s)
            assert_string_equal(
                dt_status_text(s),
                "F1Score returns 256 numbers; all metrics together may return at most 256");
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

static void test_all_faults_come_at_once(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_compile_spec c;
    dt_status *s = read_compile(arena,
                                "{optimizer: {Adam: {beta_1: 1}}, loss: mze, metrics: [x, "
                                "accuracy, y], precision: float64, tarket: a}",
                                10, &c);
    assert_int_equal(dt_status_count(s), 6);
    assert_int_equal(c.n_metrics, 1);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_compile),
        cmocka_unit_test(test_keras_defaults),
        cmocka_unit_test(test_accuracy_fits_the_shapes),
        cmocka_unit_test(test_crossentropy_fits_the_shapes),
        cmocka_unit_test(test_perplexity_follows_the_loss),
        cmocka_unit_test(test_bad_compiles_are_refused),
        cmocka_unit_test(test_no_metric_has_the_name_of_a_field),
        cmocka_unit_test(test_metrics_of_several_numbers),
        cmocka_unit_test(test_history_has_so_much_room),
        cmocka_unit_test(test_all_faults_come_at_once),
    };
    return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
