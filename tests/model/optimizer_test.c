/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers against numbers worked out by hand, and what happens to gradients on the way. Recorded
 * steps are tests/conformance's. */
#include "call.h"
#include "rig.h"

enum { MAX_PARAMETERS = 4 };

/* Variables p0, p1, ... and an optimizer over them. */
typedef struct bench {
    dt_optimizer *o;
    int n;
    dt_variable *p[MAX_PARAMETERS];
    dt_variables all;
    dt_graph *step;
} bench;

static const char *const gradient_names[MAX_PARAMETERS] = {"g0", "g1", "g2", "g3"};

static dt_variable *parameter(int i, const dt_type *type, const void *value) {
    char path[16];
    dt_variable *v = NULL;
    snprintf(path, sizeof path, "p%d", i);
    ok(dt_variable_alloc(&v, path, type, true));
    memcpy(v->host_data, value, (size_t)dt_type_bytes(type));
    return v;
}

/* One step that applies gradients g0, g1, ... as they are fed. */
static void trace_step(bench *b) {
    dt_trace *t = dt_trace_create("step");
    dt_value g[MAX_PARAMETERS];
    for (int i = 0; i < b->n; i++) g[i] = dt_trace_declare(t, gradient_names[i], &b->p[i]->type);
    b->all = (dt_variables){b->n, b->p};
    dt_optimizer_apply(b->o, (dt_gradients){.variables = &b->all, .value = g});
    b->step = end_trace(t);
}

static void run_step(bench *b, const dt_view *gradient) {
    feed feeds[MAX_PARAMETERS];
    for (int i = 0; i < b->n; i++) feeds[i] = (feed){gradient_names[i], gradient[i]};
    outcome o = run_graph(b->step, 1, feeds, b->n);
    finish(&o);
}

static void bench_free(bench *b) {
    dt_graph_destroy(b->step);
    dt_optimizer_unref(b->o);
    for (int i = 0; i < b->n; i++) dt_variable_unref(b->p[i]);
}

/* ---- our own numbers ---- */

/* p = (-0.375, 0.25), g = (0.3, -0.4), two steps; worked out from the formulas in double. */
static void test_steps(void **state) {
    (void)state;
    static const struct {
        const char *optimizer;
        double after[2];
    } rows[] = {
        {"sgd", {-0.375 - 2 * 0.003, 0.25 + 2 * 0.004}},
        {"SGD: {learning_rate: 0.1, momentum: 0.9}", {-0.375 - 0.03 - 0.057, 0.25 + 0.04 + 0.076}},
        {"SGD: {learning_rate: 0.1, clipvalue: 0.1}", {-0.375 - 0.02, 0.25 + 0.02}},
        {"SGD: {learning_rate: 0.1, clipnorm: 0.25}", {-0.375 - 0.03, 0.25 + 0.04}},
        {"SGD: {learning_rate: 0.1, global_clipnorm: 0.25}", {-0.375 - 0.03, 0.25 + 0.04}},
        {"SGD: {learning_rate: 0.1, global_clipnorm: 10}", {-0.375 - 0.06, 0.25 + 0.08}},
        {"SGD: {learning_rate: 0.1, weight_decay: 0.5}",
         {(-0.375 * 0.95 - 0.03) * 0.95 - 0.03, (0.25 * 0.95 + 0.04) * 0.95 + 0.04}},
        {"SGD: {learning_rate: 0.1, clipnorm: -1}", {-0.375 - 0.06, 0.25 + 0.08}},
        {"SGD: {learning_rate: 0.1, loss_scale_factor: 2}", {-0.375 - 0.03, 0.25 + 0.04}},
        {"SGD: {learning_rate: 0.1, gradient_accumulation_steps: 2}", {-0.375 - 0.03, 0.25 + 0.04}},
        {"SGD: {learning_rate: 0.1, gradient_accumulation_steps: 3}", {-0.375, 0.25}},
        {"SGD: {learning_rate: 0.1, use_ema: true, ema_momentum: 0.5, ema_overwrite_frequency: 2}",
         {-0.375 - 0.045, 0.25 + 0.06}},
        {"SGD: {learning_rate: {PiecewiseConstantDecay: {boundaries: [0], values: [0.1, 0.2]}}}",
         {-0.375 - 0.09, 0.25 + 0.12}},
        {"Adam: {learning_rate: 0.01}", {-0.375 - 0.02, 0.25 + 0.02}},
    };
    float p[] = {-0.375f, 0.25f}, g[] = {0.3f, -0.4f};
    dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){2});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b = {.n = 1, .p = {parameter(0, &type, p)}};
        ok(dt_optimizer_create(&b.o, "%s", rows[i].optimizer));
        trace_step(&b);
        dt_view gv = {type, g};
        run_step(&b, &gv);
        run_step(&b, &gv);
        for (int k = 0; k < 2; k++)
            assert_near(rows[i].optimizer, (double)((float *)b.p[0]->host_data)[k],
                        rows[i].after[k], 1e-5, 0);
        assert_int_equal(*(int64_t *)b.o->iteration->host_data, 2);
        bench_free(&b);
    }
}

/* Every operation of Adam on elements, counted: it is the hot loop of training. */
static void test_adam_is_one_chain(void **state) {
    (void)state;
    float p[64] = {0};
    dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){64});
    bench b = {.n = 2, .p = {parameter(0, &type, p), parameter(1, &type, p)}};
    ok(dt_optimizer_create(&b.o, "Adam"));
    trace_step(&b);
    int wide = 0, narrow = 0;
    for (int i = 0; i < b.step->n_nodes; i++) {
        const dt_node *n = &b.step->node[i];
        if (dt_is_elementwise(n->op) && n->n_in > 0) n->type.rank ? wide++ : narrow++;
    }
    assert_int_equal(wide, 2 * 12);
    assert_true(narrow <= 9); /* alpha, once for all variables, and the iteration */
    bench_free(&b);
}

static void test_gradients_are_summed_over_replicas(void **state) {
    (void)state;
    float p[] = {1}, g[3] = {1, 2, 4};
    dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){1});
    bench b = {.n = 1, .p = {parameter(0, &type, p)}};
    ok(dt_optimizer_create(&b.o, "SGD: {learning_rate: 0.5}"));
    trace_step(&b);
    const feed feeds[] = {{"g0", {type, &g[0]}}, {"g0", {type, &g[1]}}, {"g0", {type, &g[2]}}};
    outcome o = run_graph(b.step, 3, feeds, 1);
    finish(&o);
    assert_true(*(float *)b.p[0]->host_data == 1 - 3.5f);
    bench_free(&b);
}

/* ---- missing gradients ---- */

/* loss = 10 w . w of the first of two variables. */
static dt_trace *trace_loss(dt_variable *w, dt_value *loss) {
    dt_trace *t = dt_trace_create("missing");
    dt_value x = dt_read(t, w);
    *loss = dt_reduce_sum(dt_multiply(dt_multiply(x, x), dt_like(x, 10)), DT_NO_AXIS);
    return t;
}

static void test_variable_without_gradient_stays(void **state) {
    (void)state;
    float p[] = {0.5f};
    dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){1});
    bench b = {.n = 2, .p = {parameter(0, &type, p), parameter(1, &type, p)}};
    ok(dt_optimizer_create(&b.o, "SGD: {learning_rate: 0.01, weight_decay: 0.5}"));
    dt_value loss;
    dt_trace *t = trace_loss(b.p[0], &loss);
    b.all = (dt_variables){2, b.p};
    dt_gradients g = dt_gradient(loss, &b.all);
    assert_null(g.value[1].trace);
    dt_optimizer_apply(b.o, g);
    b.step = end_trace(t);
    outcome o = run_graph(b.step, 1, NULL, 0);
    finish(&o);
    assert_near("trained", (double)*(float *)b.p[0]->host_data, 0.5 * (1 - 0.005) - 0.1, 1e-6, 0);
    assert_true(*(float *)b.p[1]->host_data == 0.5f);
    bench_free(&b);
}

static void test_no_gradient_at_all_is_an_error(void **state) {
    (void)state;
    float p[] = {0.5f};
    dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){1});
    dt_variable *used = parameter(0, &type, p), *unused = parameter(1, &type, p);
    dt_variables v = {1, &unused};
    dt_optimizer *o = NULL;
    ok(dt_optimizer_create(&o, "adam"));
    dt_value loss;
    dt_trace *t = trace_loss(used, &loss);
    dt_optimizer_apply(o, dt_gradient(loss, &v));
    dt_status *s = dt_trace_error(t);
    assert_int_equal(dt_status_number(s), DT_E_NO_GRADIENT);
    assert_string_equal(dt_status_kind(s), "ValueError");
    assert_string_equal(
        dt_status_text(s),
        "no gradients provided for any variable: the loss depends on none of the 1");
    dt_trace_destroy(t);
    dt_optimizer_unref(o);
    dt_variable_unref(used);
    dt_variable_unref(unused);
}

/* A failed trace takes everything and keeps its first error. */
static void test_failed_traces_stay_failed(void **state) {
    (void)state;
    dt_model *m = model_of(
        "- Input: {name: x, shape: [4]}\n- Dense: {units: 2, activation: log_softmax}\n- Softmax",
        0);
    dt_optimizer *o = NULL;
    dt_loss *l = NULL;
    ok(dt_optimizer_create(&o, "Adam: {global_clipnorm: 1, weight_decay: 0.1}"));
    ok(dt_loss_create(&l, "CategoricalCrossentropy"));
    dt_type good = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 4}),
            label = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 2});
    for (int late = 0; late < 2; late++) {
        dt_trace *t = dt_trace_create("failed");
        dt_value x = dt_trace_declare(t, "x", &good), y = dt_trace_declare(t, "y", &label);
        if (!late) dt_trace_fail(t, dt_fail(DT_E_INTERNAL, NULL, "early"));
        dt_value loss = dt_loss_call(l, y, call_model(m, x, DT_TRAINING));
        dt_gradients g = dt_gradient(loss, dt_model_trainable(m));
        if (late) dt_trace_fail(t, dt_fail(DT_E_INTERNAL, NULL, "late"));
        dt_optimizer_apply(o, g);
        assert_string_equal(dt_status_text(dt_trace_error(t)), late ? "late" : "early");
        dt_trace_destroy(t);
    }
    dt_optimizer_unref(o);
    dt_loss_unref(l);
    model_free(m);
}

/* ---- state ---- */

static void test_variables_come_in_a_fixed_order(void **state) {
    (void)state;
    static const char *const paths[] = {"optimizer/iteration",      "optimizer/p0/momentum",
                                        "optimizer/p0/velocity",    "optimizer/p0/velocity_hat",
                                        "optimizer/p1/momentum",    "optimizer/p1/velocity",
                                        "optimizer/p1/velocity_hat"};
    float p[] = {0};
    dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){1});
    dt_variable *v[] = {parameter(0, &type, p), parameter(1, &type, p)};
    dt_arena *arena = dt_arena_create();
    dt_optimizer *o = NULL;
    int n;
    ok(dt_optimizer_create(&o, "Adam: {amsgrad: true}"));
    dt_optimizer_variables(o, arena, &n);
    assert_int_equal(n, 0);
    ok(dt_optimizer_prepare(o, &(dt_variables){1, v}));
    ok(dt_optimizer_prepare(o, &(dt_variables){2, v})); /* makes only what is missing */
    dt_variable **all = dt_optimizer_variables(o, arena, &n);
    assert_int_equal(n, 7);
    for (int i = 0; i < n; i++) {
        assert_string_equal(all[i]->path, paths[i]);
        assert_true(all[i]->slot && !all[i]->trainable);
    }
    dt_optimizer_unref(o);
    dt_variable_unref(v[0]);
    dt_variable_unref(v[1]);
    dt_arena_destroy(arena);
}

/* ---- refused ---- */

static void test_arguments_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *fragment;
        int number;
        const char *text, *suggestion;
    } rows[] = {
        {"adm", DT_E_UNKNOWN_NAME, "unknown optimizer 'adm'", "did you mean 'adam'?"},
        {"Adam: {learning_rate: -0.1}", DT_E_RANGE, "learning_rate must be at least 0, got -0.1",
         NULL},
        {"Adam: {learning_rate: fast}", DT_E_WRONG_TYPE,
         "learning_rate: expected a number, got 'fast'", NULL},
        {"Adam: {learning_rate: .nan}", DT_E_RANGE, NULL, NULL},
        {"Adam: {learning_rate: {CosineDecay: {decay_steps: 10}}}", DT_E_MISSING_KEY,
         "required key 'initial_learning_rate' is missing in CosineDecay", NULL},
        {"Adam: {learning_rate: {CosinDecay: {}}}", DT_E_UNKNOWN_NAME,
         "unknown learning rate schedule 'CosinDecay'", "did you mean 'CosineDecay'?"},
        {"Adam: {learnig_rate: 1}", DT_E_UNKNOWN_KEY, "unknown key 'learnig_rate' in Adam",
         "did you mean 'learning_rate'?"},
        {"Adam: {lr: 1}", DT_E_UNKNOWN_KEY, "unknown key 'lr' in Adam", "write 'learning_rate'"},
        {"Adam: {use_ema: true, ema_momentum: 2}", DT_E_RANGE,
         "ema_momentum must be in [0, 1], got 2", NULL},
        {"Adam: {use_ema: true, ema_overwrite_frequency: -1}", DT_E_RANGE,
         "ema_overwrite_frequency must be at least 1, got -1", NULL},
        {"Adam: {gradient_accumulation_steps: 1}", DT_E_RANGE,
         "gradient_accumulation_steps must be at least 2, got 1", NULL},
        {"Ftrl: {learning_rate_power: 0.5}", DT_E_RANGE,
         "learning_rate_power must be at most 0, got 0.5", NULL},
        {"Lion: {beta_1: 0}", DT_E_RANGE, "beta_1 must be in (0, 1], got 0", NULL},
        {"Adam: {beta_2: 1.0}", DT_E_RANGE, "beta_2 must be in [0, 1), got 1.0", NULL},
        {"Adam: {epsilon: 0}", DT_E_RANGE, "epsilon must be greater than 0, got 0", NULL},
        {"SGD: {momentum: 2.0}", DT_E_RANGE, "momentum must be in [0, 1], got 2.0", NULL},
        {"SGD: {weight_decay: -1}", DT_E_RANGE, "weight_decay must be at least 0, got -1", NULL},
        {"SGD: {clipnorm: 1, global_clipnorm: 1}", DT_E_RANGE,
         "only one of clipnorm, clipvalue and global_clipnorm can be set, got clipnorm 1, "
         "global_clipnorm 1",
         NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_optimizer *o = NULL;
        dt_status *s = dt_optimizer_create(&o, "%s", rows[i].fragment);
        assert_null(o);
        if (!s) fail_msg("'%s' was taken", rows[i].fragment);
        assert_int_equal(dt_status_code(s), 78);
        assert_int_equal(dt_status_number(s), rows[i].number);
        if (rows[i].text) assert_string_equal(dt_status_text(s), rows[i].text);
        if (rows[i].suggestion) assert_string_equal(dt_status_suggestion(s), rows[i].suggestion);
        dt_status_free(s);
    }
}

static void test_a_rate_of_0_is_one(void **state) {
    (void)state;
    int n;
    const dt_kind *const *rows = dt_optimizers(&n);
    for (int i = 0; i < n; i++) {
        dt_optimizer *o = NULL;
        ok(dt_optimizer_create(&o, "%s: {learning_rate: 0}", rows[i]->name));
        dt_optimizer_unref(o);
    }
    assert_true(n > 5);
}

static void test_create_replaces_a_handle(void **state) {
    (void)state;
    dt_optimizer *o = NULL;
    ok(dt_optimizer_create(&o, "Adam"));
    ok(dt_optimizer_create(&o, "SGD: {learning_rate: %g}", 0.5));
    assert_ptr_equal(o->named.kind, &dt_optimizer_sgd.kind);
    assert_true(((const dt_optimizer_head *)o->named.args)->rate == 0.5);
    dt_optimizer_unref(o);
    dt_optimizer_unref(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_adam_is_one_chain),
        cmocka_unit_test(test_gradients_are_summed_over_replicas),
        cmocka_unit_test(test_variable_without_gradient_stays),
        cmocka_unit_test(test_no_gradient_at_all_is_an_error),
        cmocka_unit_test(test_failed_traces_stay_failed),
        cmocka_unit_test(test_variables_come_in_a_fixed_order),
        cmocka_unit_test(test_arguments_that_are_refused),
        cmocka_unit_test(test_a_rate_of_0_is_one),
        cmocka_unit_test(test_create_replaces_a_handle),
    };
    return cmocka_run_group_tests_name("optimizer", tests, NULL, NULL);
}
