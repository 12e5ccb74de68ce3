/* SPDX-License-Identifier: Apache-2.0 */
/* Losses against values and gradients recorded from Keras, the softmax rule, and which labels are
 * refused. */
#include "rig.h"

static dt_loss *loss_of(const json_t *in) {
    char *arguments = arguments_text(json_object_get(in, "arguments"));
    dt_loss *l = NULL;
    ok(dt_loss_create(&l, "%s: %s", text_of(in, "class"), arguments));
    free(arguments);
    return l;
}

/* Per-example losses, their mean and its gradient. */
static dt_graph *trace_loss(dt_loss *l, const dt_type *y_type, const dt_type *p_type) {
    const dt_loss_row *row = (const dt_loss_row *)l->named.kind;
    dt_trace *t = dt_trace_create("loss");
    dt_type yt = batched(y_type), pt = batched(p_type);
    dt_value y = dt_trace_declare(t, "y", &yt), p = dt_trace_declare(t, "p", &pt), dp;
    dt_value loss = dt_loss_call(l, y, p);
    dt_gradients_of(loss, &p, 1, &dp);
    dt_return(t, "rows", row->rows(&(dt_loss_call_args){l->named.args, y, p}));
    dt_return(t, "loss", loss);
    dt_return(t, "dp", dp);
    return end_trace(t);
}

static void run_case(const json_t *c) {
    const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out");
    const char *id = text_of(c, "id");
    dt_loss *l = loss_of(in);
    dt_view y = view_of(json_object_get(in, "y_true")), p = view_of(json_object_get(in, "y_pred"));
    dt_graph *g = trace_loss(l, &y.type, &p.type);
    outcome o = run_graph(g, 1, (feed[]){{"y", y}, {"p", p}}, 2);
    assert_view(id, result_of(&o, 0, "rows"), json_object_get(out, "none"), 1e-6, 1e-7);
    assert_view(id, result_of(&o, 0, "loss"), json_object_get(out, "sum_over_batch_size"), 1e-6,
                1e-7);
    assert_view(id, result_of(&o, 0, "dp"), json_object_get(out, "gradient_of_default"), 1e-6,
                1e-7);
    finish(&o);
    dt_graph_destroy(g);
    dt_loss_unref(l);
    free(y.data);
    free(p.data);
}

/* Keras has words that we refuse by name. */
static bool is_offered(const json_t *in) {
    int n;
    const dt_kind *const *rows = dt_losses(&n);
    return is_known(rows, n, text_of(in, "class")) &&
           !json_object_get(json_object_get(in, "arguments"), "ignore_class");
}

static void test_losses_are_those_recorded(void **state) {
    (void)state;
    json_t *file, *cases = golden("losses", &file), *c;
    tally t = {0};
    size_t i;
    json_array_foreach(cases, i, c) {
        const json_t *in = json_object_get(c, "in");
        if (strcmp(text_of(c, "op"), "loss") != 0) continue; /* below */
        if (!is_offered(in) || json_object_get(c, "error")) {
            tally_skip(&t, text_of(in, "class"));
            continue;
        }
        run_case(c);
        t.run++;
    }
    tally_end(&t, "losses");
    json_decref(file);
}

/* Loss straight after a softmax, and of the same probabilities as plain numbers. */
static outcome run_after_softmax(dt_loss *l, dt_view logits, dt_view y, bool remembered) {
    dt_trace *t = dt_trace_create("softmax");
    dt_type zt = batched(&logits.type), yt = batched(&y.type);
    dt_value z = dt_trace_declare(t, "z", &zt), dz;
    dt_value p = dt_softmax(z);
    if (!remembered) p = dt_multiply(p, dt_like(p, 1));
    dt_value loss = dt_loss_call(l, dt_trace_declare(t, "y", &yt), p);
    dt_gradients_of(loss, &z, 1, &dz);
    dt_return(t, "loss", loss);
    dt_return(t, "dz", dz);
    return run_graph(end_trace(t), 1, (feed[]){{"z", logits}, {"y", y}}, 2);
}

static void release(outcome *o) {
    finish(o);
    dt_graph_destroy(o->graph);
}

static void test_softmax_remembers_its_logits(void **state) {
    (void)state;
    json_t *file, *cases = golden("losses", &file), *c;
    size_t i;
    int run = 0;
    json_array_foreach(cases, i, c) {
        if (strcmp(text_of(c, "op"), "loss_softmax_activation") != 0) continue;
        const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out");
        dt_loss *l = NULL;
        ok(dt_loss_create(&l, "categorical_crossentropy"));
        dt_view z = view_of(json_object_get(in, "logits")),
                y = view_of(json_object_get(in, "y_true"));
        outcome o = run_after_softmax(l, z, y, true), plain = run_after_softmax(l, z, y, false);
        assert_view("remembered", result_of(&o, 0, "loss"),
                    json_object_get(out, "loss_of_softmax_activation"), 1e-6, 1e-7);
        assert_view("gradient", result_of(&o, 0, "dz"), json_object_get(out, "gradient_of_logits"),
                    1e-6, 1e-7);
        assert_view("plain", result_of(&plain, 0, "loss"),
                    json_object_get(out, "loss_of_plain_probabilities"), 1e-6, 1e-7);
        release(&o);
        release(&plain);
        dt_loss_unref(l);
        free(z.data);
        free(y.data);
        run++;
    }
    assert_true(run > 0);
    json_decref(file);
}

/* A note on the probabilities, where they lie, is one on the logits too. */
/* Far from the boundary a loss is small, and is the same however its terms are added. */
static void test_small_losses_keep_their_digits(void **state) {
    (void)state;
    static const double at[] = {1, 5, 10, 17, 30, 60};
    for (size_t i = 0; i < 2 * sizeof at / sizeof *at; i++) {
        float y = i % 2, x = (float)(y ? at[i / 2] : -at[i / 2]), ones = y;
        dt_loss *l = NULL;
        ok(dt_loss_create(&l, "BinaryCrossentropy: {from_logits: true}"));
        dt_trace *t = dt_trace_create("loss");
        const dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 1});
        const dt_type row = dt_type_of(DT_FLOAT32, 2, (int64_t[]){1, 1});
        dt_value p = dt_trace_declare(t, "p", &type);
        dt_return(t, "loss", dt_loss_call(l, dt_trace_declare(t, "y", &type), p));
        dt_return(t, "log_sigmoid", dt_activation_call(y ? p : dt_negate(p), "log_sigmoid"));
        outcome o = run_graph(end_trace(t), 1, (feed[]){{"p", {row, &x}}, {"y", {row, &ones}}}, 2);
        const double exact = log1p(exp(-at[i / 2]));
        const double loss = element(result_of(&o, 0, "loss"), 0);
        if (!(fabs(loss - exact) <= 1e-6 * exact))
            fail_msg("the loss of %g, label %g, is %.9g, not %.9g", x, y, loss, exact);
        assert_true(fabs(element(result_of(&o, 0, "log_sigmoid"), 0) + exact) <= 1e-6 * exact);
        release(&o);
        dt_loss_unref(l);
    }
}

static void test_softmax_is_seen_through_notes(void **state) {
    (void)state;
    static const dt_sharding_attr said = {.kind = DT_SHARDING_OTHER, .rank = 2, .parts = {1, 2}};
    const dt_type type = dt_type_of(DT_FLOAT32, 2, (const int64_t[]){DT_BATCH, 4});
    dt_trace *t = dt_trace_create("notes");
    dt_value z = dt_trace_declare(t, "z", &type),
             logits = dt_logits_of(dt_annotate(dt_softmax(z), &said), &dt_op_softmax);

    assert_int_equal(logits.node, dt_annotate(z, &said).node);
    assert_int_equal(dt_annotate(logits, &said).node, logits.node);
    assert_null(dt_logits_of(dt_annotate(z, &said), &dt_op_softmax).trace);
    assert_null(dt_logits_of(dt_annotate(dt_softmax(z), &said), &dt_op_logistic).trace);
    dt_trace_destroy(t);
}

/* The recorded case in brief, for where the records are not: -log of 0.7, 0.8, 0.5, 0.05, and the
 * other forms of the same numbers. */
static void test_crossentropies_agree(void **state) {
    (void)state;
    float p[] = {0.7f, 0.2f, 0.1f, 0.1f, 0.8f, 0.1f, 0.25f, 0.25f, 0.5f, 0.05f, 0.05f, 0.9f};
    float one_hot[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0};
    int64_t numbers[] = {0, 1, 2, 1};
    dt_view pv = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){4, 3}), p}, hot = {pv.type, one_hot};
    dt_view sparse = {dt_type_of(DT_INT64, 2, (int64_t[]){4, 1}), numbers};
    static const struct {
        const char *loss;
        bool sparse;
        double mean;
    } rows[] = {
        {"CategoricalCrossentropy", false, 1.0671744},
        {"SparseCategoricalCrossentropy", true, 1.0671744},
        {"CategoricalCrossentropy: {from_logits: true}", false, 0.9661348},
        {"SparseCategoricalCrossentropy: {from_logits: true}", true, 0.9661348},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_loss *l = NULL;
        ok(dt_loss_create(&l, "%s", rows[i].loss));
        dt_view y = rows[i].sparse ? sparse : hot;
        dt_graph *g = trace_loss(l, &y.type, &pv.type);
        outcome o = run_graph(g, 1, (feed[]){{"y", y}, {"p", pv}}, 2);
        assert_near(rows[i].loss, element(result_of(&o, 0, "loss"), 0), rows[i].mean, 1e-6, 0);
        release(&o);
        dt_loss_unref(l);
    }
}

/* Probabilities are divided by their sum and then clipped, or clipped and then divided. */
static void test_order_of_clip_and_division(void **state) {
    (void)state;
    float p[] = {0, 0, 2}, one_hot[] = {0, 1, 0};
    int32_t number[] = {1};
    dt_view pv = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){1, 3}), p}, hot = {pv.type, one_hot};
    dt_view sparse = {dt_type_of(DT_INT32, 1, (int64_t[]){1}), number};
    const struct {
        const char *loss;
        dt_view y;
        double value;
    } rows[] = {
        {"CategoricalCrossentropy", hot, 16.118095},          /* -log 1e-7 */
        {"SparseCategoricalCrossentropy", sparse, 16.118095}, /* -log(1e-7 / (1 + 1e-7)) */
    };
    for (size_t i = 0; i < 2; i++) {
        dt_loss *l = NULL;
        ok(dt_loss_create(&l, "%s", rows[i].loss));
        dt_view y = rows[i].y;
        outcome o =
            run_graph(trace_loss(l, &y.type, &pv.type), 1, (feed[]){{"y", y}, {"p", pv}}, 2);
        assert_near(rows[i].loss, element(result_of(&o, 0, "loss"), 0), rows[i].value, 1e-6, 0);
        release(&o);
        dt_loss_unref(l);
    }
}

static void test_regressions(void **state) {
    (void)state;
    float p[] = {1, 2, 4}, y[] = {0, 0, 1};
    dt_view pv = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){3, 1}), p},
            yv = {dt_type_of(DT_FLOAT32, 1, (int64_t[]){3}), y};
    static const struct {
        const char *loss;
        double mean;
    } rows[] = {{"mse", 14.0 / 3}, {"mae", 2}, {"MeanSquaredError", 14.0 / 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_loss *l = NULL;
        ok(dt_loss_create(&l, "%s", rows[i].loss));
        outcome o =
            run_graph(trace_loss(l, &yv.type, &pv.type), 1, (feed[]){{"y", yv}, {"p", pv}}, 2);
        assert_near(rows[i].loss, element(result_of(&o, 0, "loss"), 0), rows[i].mean, 1e-6, 0);
        release(&o);
        dt_loss_unref(l);
    }
}

/* Keras scales by 1/num_replicas; a replica without examples has loss 0, not NaN. Recorded:
 * train_mlp/025. */
/* Replicas of 1, 1 and no examples. */
static void assert_scaled(dt_loss_average average, double first, double second) {
    dt_loss *l = NULL;
    ok(dt_loss_create(&l, "mean_squared_error"));
    ok(dt_loss_set_average(l, average));
    dt_trace *t = dt_trace_create("scaling");
    dt_trace_set_replicas(t, 3);
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 2});
    dt_value y = dt_trace_declare(t, "y", &type), p = dt_trace_declare(t, "p", &type);
    dt_return(t, "loss", dt_loss_call(l, y, p));
    float zero[2] = {0}, low[] = {1, 2}, high[] = {2, 4};
    dt_type one = dt_type_at(&type, 1), none = dt_type_at(&type, 0);
    const feed feeds[] = {
        {"y", {one, zero}}, {"p", {one, low}},   {"y", {one, zero}},
        {"p", {one, high}}, {"y", {none, zero}}, {"p", {none, zero}},
    };
    dt_graph *g = end_trace(t);
    outcome o = run_graph(g, 3, feeds, 2);
    assert_near("first", element(result_of(&o, 0, "loss"), 0), first, 1e-6, 0);
    assert_near("second", element(result_of(&o, 1, "loss"), 0), second, 1e-6, 0);
    assert_true(element(result_of(&o, 2, "loss"), 0) == 0);
    finish(&o);
    dt_graph_destroy(g);
    dt_loss_unref(l);
}

static void test_loss_is_scaled_by_replicas(void **state) {
    (void)state;
    assert_scaled(DT_GLOBAL_AVERAGE, 2.5 / 2, 10.0 / 2);
    assert_scaled(DT_REPLICA_AVERAGE, 2.5 / 3, 10.0 / 3);
}

/* ---- pairs ---- */

enum { EXAMPLES = 8, SIZE = 3, ROWS_AT_MOST = 11 };

static int64_t label[EXAMPLES] = {0, 1, 0, 2, 1, 2, 0, 5};

/* The loss over all replicas, which have consecutive rows, and if asked its gradient. */
static double circle_over(const dt_graph *g, int replicas, double *embedding, double *gradient) {
    feed feeds[3 * 2];
    double sum = 0;
    for (int r = 0; r < replicas; r++) {
        const int64_t from = r * EXAMPLES / replicas, n = (r + 1) * EXAMPLES / replicas - from;
        const dt_type y = dt_type_of(DT_INT64, 1, &n),
                      p = dt_type_of(DT_FLOAT64, 2, (int64_t[]){n, SIZE});
        feeds[2 * r] = (feed){"y", {y, label + from}};
        feeds[2 * r + 1] = (feed){"p", {p, embedding + from * SIZE}};
    }
    outcome o = run_graph((dt_graph *)g, replicas, feeds, 2);
    for (int r = 0, at = 0; r < replicas; r++) {
        const dt_view *dp = result_of(&o, r, "dp");
        sum += element(result_of(&o, r, "loss"), 0);
        for (int64_t i = 0; i < dt_type_elements(&dp->type); i++, at++)
            if (gradient) gradient[at] = element(dp, i);
    }
    finish(&o);
    return sum;
}

static dt_graph *trace_circle(dt_loss *l, int replicas) {
    const dt_type y_type = dt_type_of(DT_INT64, 1, (int64_t[]){DT_BATCH}),
                  p_type = dt_type_of(DT_FLOAT64, 2, (int64_t[]){DT_BATCH, SIZE});
    dt_trace *t = dt_trace_create("circle");
    dt_trace_set_replicas(t, replicas);
    dt_trace_set_rows(t, ROWS_AT_MOST);
    dt_value y = dt_trace_declare(t, "y", &y_type), p = dt_trace_declare(t, "p", &p_type), dp;
    dt_value loss = dt_loss_call(l, y, p);
    dt_gradients_of(loss, &p, 1, &dp);
    dt_return(t, "loss", loss);
    dt_return(t, "dp", dp);
    return end_trace(t);
}

/* In a batch smaller than the largest: one replica and three agree, and so do finite differences. */
static void test_circle_compares_the_examples_of_all_replicas(void **state) {
    (void)state;
    static const char *const losses[] = {"Circle: {gamma: 8}",
                                         "Circle: {gamma: 3, margin: 0.1, remove_diagonal: false}"};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        double x[EXAMPLES * SIZE], one[EXAMPLES * SIZE], three[EXAMPLES * SIZE];
        dt_loss *l = NULL;
        ok(dt_loss_create(&l, "%s", losses[i]));
        dt_graph *g = trace_circle(l, 1), *g3 = trace_circle(l, 3);
        for (int k = 0; k < EXAMPLES * SIZE; k++) x[k] = 0.6 * sin(1 + 5.0 * k);
        const double whole = circle_over(g, 1, x, one);
        assert_near("three replicas", circle_over(g3, 3, x, three), whole, 1e-14, 0);
        for (int k = 0; k < EXAMPLES * SIZE; k++) {
            const double step = 1e-5, at = x[k];
            assert_near("three replicas", three[k], one[k], 1e-12, 1e-14);
            x[k] = at + step;
            const double above = circle_over(g, 1, x, NULL);
            x[k] = at - step;
            assert_near("slope", one[k], (above - circle_over(g, 1, x, NULL)) / (2 * step), 1e-7,
                        1e-8);
            x[k] = at;
        }
        label[EXAMPLES - 1] = INT64_C(1) << 32; /* not the 0 that its lower half is */
        assert_near("a large label", circle_over(g, 1, x, NULL), whole, 1e-14, 0);
        label[EXAMPLES - 1] = 5;
        dt_graph_destroy(g);
        dt_graph_destroy(g3);
        dt_loss_unref(l);
    }
}

/* ---- refused ---- */

static void assert_refused(const char *loss, dt_type target, dt_type prediction, const char *text,
                           const char *fix) {
    dt_loss *l = NULL;
    ok(dt_loss_create(&l, "%s", loss));
    const dt_loss_row *row = (const dt_loss_row *)l->named.kind;
    dt_status *s = row->check(l->named.args, &target, &prediction);
    assert_non_null(s);
    assert_int_equal(dt_status_number(s), DT_E_LABELS);
    assert_string_equal(dt_status_text(s), text);
    if (fix) assert_string_equal(dt_status_suggestion(s), fix);
    else assert_null(dt_status_suggestion(s));
    dt_status_free(s);
    dt_loss_unref(l);
}

static void test_labels_that_do_not_fit_are_refused(void **state) {
    (void)state;
    dt_type p = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 10}),
            numbers = dt_type_of(DT_INT32, 1, (int64_t[]){DT_BATCH});
    dt_type bytes = dt_type_of(DT_UINT8, 2, (int64_t[]){DT_BATCH, 1}),
            truths = dt_type_of(DT_BOOL, 1, (int64_t[]){DT_BATCH});
    dt_type three = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3}),
            images = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 4, 4});
    assert_refused("CategoricalCrossentropy", numbers, p,
                   "labels are class indices; expected one-hot vectors: targets are i32[B], "
                   "predictions f32[B,10]",
                   "use the form with 'Sparse' in its name, or 'one_hot: CLASSES' in the map of "
                   "their element");
    assert_refused("CategoricalCrossentropy", bytes, p,
                   "labels are class indices; expected one-hot vectors: targets are ui8[B,1], "
                   "predictions f32[B,10]",
                   "use the form with 'Sparse' in its name, or 'one_hot: CLASSES' in the map of "
                   "their element");
    assert_refused("SparseCategoricalCrossentropy", p, p,
                   "labels are one-hot; expected class indices, with 1 dimension less: targets are "
                   "f32[B,10], predictions f32[B,10]",
                   "use the form without 'Sparse' in its name");
    assert_refused("SparseCategoricalCrossentropy", truths, p,
                   "labels must be numbers: targets are i1[B], predictions f32[B,10]",
                   "cast them: 'cast: int32' in the map of their element");
    assert_refused(
        "CategoricalCrossentropy", three, p,
        "labels must have the predictions' shape: targets are f32[B,3], predictions f32[B,10]",
        NULL);
    assert_refused("SparseCategoricalCrossentropy", numbers, images,
                   "labels must be one class index per example, with 1 dimension less than "
                   "predictions: targets are i32[B], predictions f32[B,4,4]",
                   NULL);
    assert_refused(
        "mse", three, p,
        "targets must have the predictions' shape: targets are f32[B,3], predictions f32[B,10]",
        NULL);
}

static void test_axes_of_dice_are_named_once(void **state) {
    (void)state;
    const dt_type p = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 2, 3});
    assert_refused("Dice: {axis: [1, -2]}", p, p,
                   "axis -2 is named twice for predictions of rank 3", NULL);
    assert_refused("Tversky: {axis: [3]}", p, p, "axis 3 is out of range for predictions of rank 3",
                   NULL);
}

/* At alpha, not at the loss. */
static void test_alpha_is_one_number_or_one_for_each_class(void **state) {
    (void)state;
    const dt_type p = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 2, 3});
    static const struct {
        const char *arguments;
        bool fits;
    } rows[] = {
        {"{}", true},
        {"{alpha: 0.5}", true},
        {"{alpha: [0.5]}", true},
        {"{alpha: [1, 2, 3]}", true},
        {"{alpha: [1, 2], axis: 1}", true},
        {"{alpha: [1, 2]}", false},
        {"{alpha: [1, 2, 3], axis: -2}", false},
        {"{alpha: [1, 2, 3, 4]}", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_loss *l = NULL;
        ok(dt_loss_create(&l, "CategoricalFocalCrossentropy: %s", rows[i].arguments));
        dt_status *s = dt_loss_categorical_focal_crossentropy.check(l->named.args, &p, &p);
        if (rows[i].fits != !s)
            fail_msg("%s: %s", rows[i].arguments, s ? dt_status_text(s) : "is taken");
        if (s) assert_int_equal(dt_status_column(s), 39);
        dt_status_free(s);
        dt_loss_unref(l);
    }
    assert_refused("CategoricalFocalCrossentropy: {alpha: [1, 2]}", p, p,
                   "alpha has 2 numbers for 3 classes: give one number, or one per class", NULL);
}

static void test_fragments_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *fragment;
        int number;
        const char *text, *suggestion;
    } rows[] = {
        {"softmax_crossentropy", DT_E_UNKNOWN_NAME, "unknown loss 'softmax_crossentropy'", NULL},
        {"sparse_categorical_crossentropi", DT_E_UNKNOWN_NAME,
         "unknown loss 'sparse_categorical_crossentropi'",
         "did you mean 'sparse_categorical_crossentropy'?"},
        {"no", DT_E_UNKNOWN_NAME, "unknown loss 'no'", NULL},
        {"CategoricalCrossentropy: {reduction: average}", DT_E_UNKNOWN_NAME,
         "unknown reduction 'average'", NULL},
        {"CategoricalFocalCrossentropy: {alpha: []}", DT_E_RANGE, "alpha must not be empty", NULL},
        {"[mse]", DT_E_WRONG_TYPE, "loss: expected a name or NAME: {...}, got a list", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_loss *l = NULL;
        dt_status *s = dt_loss_create(&l, "%s", rows[i].fragment);
        assert_non_null(s);
        assert_null(l);
        assert_int_equal(dt_status_number(s), rows[i].number);
        assert_string_equal(dt_status_text(s), rows[i].text);
        assert_string_equal(dt_status_file(s), "loss");
        if (rows[i].suggestion) assert_string_equal(dt_status_suggestion(s), rows[i].suggestion);
        dt_status_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_are_those_recorded),
        cmocka_unit_test(test_softmax_remembers_its_logits),
        cmocka_unit_test(test_softmax_is_seen_through_notes),
        cmocka_unit_test(test_small_losses_keep_their_digits),
        cmocka_unit_test(test_crossentropies_agree),
        cmocka_unit_test(test_order_of_clip_and_division),
        cmocka_unit_test(test_regressions),
        cmocka_unit_test(test_loss_is_scaled_by_replicas),
        cmocka_unit_test(test_circle_compares_the_examples_of_all_replicas),
        cmocka_unit_test(test_labels_that_do_not_fit_are_refused),
        cmocka_unit_test(test_axes_of_dice_are_named_once),
        cmocka_unit_test(test_alpha_is_one_number_or_one_for_each_class),
        cmocka_unit_test(test_fragments_that_are_refused),
    };
    return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
