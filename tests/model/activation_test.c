/* SPDX-License-Identifier: Apache-2.0 */
/* Activations against values and derivatives recorded from Keras, and at the corners against our
 * own. */
#include "rig.h"

/* The index of a name in dt_activations, or -1. */
static int find_activation(const char *name) {
    for (int i = 0; dt_activations[i]; i++)
        if (strcmp(dt_activations[i], name) == 0) return i;
    return -1;
}

/* y = activation(x) and dx = d sum(y * cotangent) / dx. */
static outcome run_activation(int activation, const dt_view *x, const dt_view *cotangent) {
    dt_trace *t = dt_trace_create("activation");
    dt_type type = batched(&x->type);
    dt_value in = dt_trace_declare(t, "x", &type), c = dt_trace_declare(t, "c", &type), dx;
    dt_value y = dt_activate(activation, in);
    dt_value loss = dt_reduce_sum(dt_multiply(y, c), DT_NO_AXIS);
    dt_gradients_of(loss, &in, 1, &dx);
    dt_return(t, "y", y);
    dt_return(t, "dx", dx);
    return run_graph(end_trace(t), 1, (feed[]){{"x", *x}, {"c", *cotangent}}, 2);
}

static void release(outcome *o) {
    finish(o);
    dt_graph_destroy(o->graph);
}

static dt_view ones_like(const dt_view *x) {
    int64_t n = dt_type_elements(&x->type);
    dt_view v = {x->type, dt_alloc((size_t)n * sizeof(float))};
    for (int64_t i = 0; i < n; i++) ((float *)v.data)[i] = 1;
    return v;
}

static void run_case(const json_t *c) {
    const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out");
    const json_t *given = json_object_get(out, "cotangent"), *dx = json_object_get(out, "dx");
    dt_view x = view_of(json_object_get(in, "x")),
            cotangent = given ? view_of(given) : ones_like(&x);
    outcome o = run_activation(find_activation(text_of(in, "name")), &x, &cotangent);
    assert_view(text_of(c, "id"), result_of(&o, 0, "y"), json_object_get(out, "y"), 1e-6, 1e-7);
    if (!dx) dx = json_object_get(out, "dy_dx");
    if (dx) assert_view(text_of(c, "id"), result_of(&o, 0, "dx"), dx, 1e-6, 2e-7);
    release(&o);
    free(x.data);
    free(cotangent.data);
}

static void test_activations_are_those_recorded(void **state) {
    (void)state;
    json_t *file, *cases = golden("activations", &file), *c;
    tally t = {0};
    size_t i;
    json_array_foreach(cases, i, c) {
        const json_t *in = json_object_get(c, "in");
        bool plain = json_object_size(json_object_get(in, "arguments")) == 0;
        if (!plain || find_activation(text_of(in, "name")) < 0) {
            tally_skip(&t, text_of(in, "name"));
            continue;
        }
        run_case(c);
        t.run++;
    }
    tally_end(&t, "activations");
    json_decref(file);
}

/* Where a formula has a corner or overflows, the derivative must still be a number. */
static void test_activations_have_finite_gradients(void **state) {
    (void)state;
    float x[] = {-200, -1, -0.5f, 0, 0.5f, 1, 6, 200}, one[] = {1, 1, 1, 1, 1, 1, 1, 1};
    int64_t dim[] = {2, 4};
    dt_view in = {dt_type_of(DT_FLOAT32, 2, dim), x}, c = {in.type, one};
    for (int a = 0; dt_activations[a]; a++) {
        if (strcmp(dt_activations[a], "exponential") == 0) continue; /* exp 200 is infinite */
        outcome o = run_activation(a, &in, &c);
        for (int i = 0; i < 8; i++)
            if (!isfinite(element(result_of(&o, 0, "dx"), i)) ||
                !isfinite(element(result_of(&o, 0, "y"), i)))
                fail_msg("%s is not finite at %g", dt_activations[a], (double)x[i]);
        release(&o);
    }
}

static void test_derivatives_at_corners(void **state) {
    (void)state;
    static const struct {
        const char *name;
        float x;
        double y, dx;
    } rows[] = {
        {"relu", 0, 0, 0},
        {"relu6", 6, 6, 0},
        {"leaky_relu", -1, -0.2, 0.2},
        {"hard_tanh", 1, 1, 1},
        {"softplus", 0, 0.69314718, 0.5},
        {"softplus", 200, 200, 1},
        {"elu", 0, 0, 1},
        {"softsign", -1, -0.5, 0.25},
        {"silu", 1, 0.73105858, 0.92767051},
        {"hard_sigmoid", 1, 0.66666667, 0.16666667},
        {"tanh", 0.5f, 0.46211716, 0.78644773},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float x = rows[i].x, one = 1;
        int64_t dim[] = {1};
        dt_view in = {dt_type_of(DT_FLOAT32, 1, dim), &x}, c = {in.type, &one};
        outcome o = run_activation(find_activation(rows[i].name), &in, &c);
        assert_near(rows[i].name, element(result_of(&o, 0, "y"), 0), rows[i].y, 1e-6, 1e-7);
        assert_near(rows[i].name, element(result_of(&o, 0, "dx"), 0), rows[i].dx, 1e-6, 1e-7);
        release(&o);
    }
}

/* As Keras: a repeated axis is an error, however it is written. */
static void test_softmax_refuses_axes(void **state) {
    (void)state;
    static const struct {
        const char *call, *fault;
    } rows[] = {
        {"softmax: {axis: [1, 1]}", "axis 1 is named twice"},
        {"softmax: {axis: [2, -1]}", "axis -1 is named twice"},
        {"log_softmax: {axis: [-2, 1]}", "axis 1 is named twice"},
        {"softmax: {axis: []}", "axis must name a dimension"},
        {"log_softmax: {axis: [1, 3]}", "axis must be in [-3, 3) for 3 dimensions, got 3"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const dt_type type = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 2, 3});
        dt_trace *t = dt_trace_create("axes");
        dt_graph *g = NULL;
        dt_return(t, "y", dt_activation_call(dt_trace_declare(t, "x", &type), "%s", rows[i].call));
        dt_status *s = dt_trace_end(t, &g);
        if (!s || !strstr(dt_status_text(s), rows[i].fault))
            fail_msg("%s: %s", rows[i].call, s ? dt_status_text(s) : "is taken");
        dt_status_free(s);
    }
}

static void test_unknown_activation_is_not_found(void **state) {
    (void)state;
    assert_int_equal(find_activation("linear"), 0);
    assert_int_equal(find_activation("reu"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations_are_those_recorded),
        cmocka_unit_test(test_activations_have_finite_gradients),
        cmocka_unit_test(test_derivatives_at_corners),
        cmocka_unit_test(test_softmax_refuses_axes),
        cmocka_unit_test(test_unknown_activation_is_not_found),
    };
    return cmocka_run_group_tests_name("activation", tests, NULL, NULL);
}
