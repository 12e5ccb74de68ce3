/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: each reduction with and without weights, and the gradient of the default one. */
#include "conformance.h"
#include "python.h"

#include <stdlib.h>
#include <string.h>

enum { FORMS = 6 };
static const char *const reductions[FORMS - 1] = {"none", "sum_over_batch_size", "sum", "mean",
                                                  "mean_with_sample_weight"};

/* Sums of a few numbers, in another order than TensorFlow's. */
#define SUMS ((tolerance){2e-6, 2e-7})
/* Circle's exponents are of the order of 200, recorded in float64. */
#define EXPONENTS ((tolerance){2e-5, 2e-7})

typedef struct traced {
    dt_loss *loss[FORMS]; /* the last has the default reduction */
    bool weighted;
    const char *activation; /* of the predictions; NULL: none */
} traced;

static void return_all(dt_trace *t, const traced *my, dt_value y, dt_value p) {
    char name[64];

    for (int i = 0; i < FORMS - 1; i++) {
        dt_return(t, reductions[i], dt_loss_call(my->loss[i], y, p));
        snprintf(name, sizeof name, "%s_weighted", reductions[i]);
        if (my->weighted)
            dt_return(t, name, dt_loss_call_weighted(my->loss[i], y, p, dt_arg(t, "w")));
    }
}

static void return_gradient(dt_trace *t, const char *name, dt_value loss, dt_value x) {
    dt_value gradient;

    dt_gradient_values(loss, &x, 1, &gradient);
    dt_return(t, name, gradient);
}

static void step(dt_trace *t, void *user) {
    const traced *my = user;
    dt_value y = dt_arg(t, "y"), x = dt_arg(t, "p");
    dt_value p = my->activation ? dt_activation_call(x, "%s", my->activation) : x;
    dt_value loss = dt_loss_call(my->loss[FORMS - 1], y, p);

    dt_return(t, "default", loss);
    dt_return(t, "prediction", p);
    if (my->loss[0]) return_all(t, my, y, p);
    return_gradient(t, "gradient_of_default", loss, x);
    if (my->weighted && !my->activation) {
        loss = dt_loss_call_weighted(my->loss[FORMS - 1], y, p, dt_arg(t, "w"));
        return_gradient(t, "gradient_of_default_weighted", loss, x);
    }
}

/* The loss by its default reduction, and if `all` by each. */
static dt_status *make_losses(traced *my, const char *class_name, const json_t *arguments,
                              bool all) {
    json_t *given = arguments ? json_deep_copy(arguments) : json_object();
    dt_status *s = NULL;

    for (int i = all ? 0 : FORMS - 1; !s && i < FORMS; i++) {
        if (i < FORMS - 1) json_object_set_new(given, "reduction", json_string(reductions[i]));
        else if (arguments && json_object_get(arguments, "reduction"))
            json_object_set(given, "reduction", json_object_get(arguments, "reduction"));
        else json_object_del(given, "reduction");
        char *fragment = fragment_of(class_name, given);
        s = dt_loss_create(&my->loss[i], "%s", fragment);
        free(fragment);
    }
    json_decref(given);
    return s;
}

static dt_status *run_once(traced *my, dt_tensor *y, dt_tensor *p, dt_tensor *w,
                           dt_values **results) {
    dt_values *args = NULL;
    dt_function *f = NULL;
    dt_status *s = NULL;

    my->weighted = w != NULL;
    DT_GO(s, dt_values_create(&args));
    DT_GO(s, dt_values_set(args, "y", y));
    DT_GO(s, dt_values_set(args, "p", p));
    if (w) DT_GO(s, dt_values_set(args, "w", w));
    DT_GO(s, dt_function_create(&f, step, my));
    DT_GO(s, dt_strategy_run(dt_get_strategy(), f, args, results));
out:
    dt_function_unref(f);
    dt_values_unref(args);
    return s;
}

static void traced_free(traced *my) {
    for (int i = 0; i < FORMS; i++) dt_loss_unref(my->loss[i]);
}

static dt_tensor *optional(verdict *v, const json_t *tensor) {
    return json_is_object(tensor) ? tensor_of(v, tensor) : NULL;
}

static bool is_one_of(const char *name, const char *const *names) {
    for (; name && *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

/*
 * Predictions of one dimension: one vector to Keras, whose loss is one number already; an example
 * each to the library (docs/coming-from-tensorflow.md). Of losses that are means over the last
 * dimension both give the same means.
 */
static bool is_vector(const golden_case *c) {
    return json_array_size(json_object_get(json_object_get(c->in, "y_pred"), "shape")) == 1;
}

static bool is_same_of_vectors(const golden_case *c, const char *key) {
    static const char *const no_means[] = {"KLDivergence", "CosineSimilarity", "CategoricalHinge",
                                           "Dice",         "Tversky",          NULL};
    static const char *const means[] = {"sum_over_batch_size",     "mean",
                                        "mean_with_sample_weight", "default",
                                        "gradient_of_default",     NULL};
    return !is_one_of(json_string_value(json_object_get(c->in, "class")), no_means) &&
           is_one_of(key, means);
}

static void expect_losses(const golden_case *c, verdict *v, const dt_values *results) {
    const char *key, *class_name = json_string_value(json_object_get(c->in, "class"));
    const tolerance off = strcmp(class_name ? class_name : "", "Circle") == 0 ? EXPONENTS : SUMS;
    const json_t *want;

    if (is_vector(c) && !is_same_of_vectors(c, "mean")) {
        v->skipped =
            "cannot be said in C: predictions of one dimension are examples, not one vector";
        return;
    }
    json_object_foreach((json_t *)c->out, key, want) {
        if (is_vector(c) && !is_same_of_vectors(c, key)) continue;
        expect_tensor(v, key, want, dt_values_local(results, key, 0), off);
    }
}

static void run_loss(const golden_case *c, verdict *v) {
    dt_tensor *y = tensor_of(v, json_object_get(c->in, "y_true")),
              *p = tensor_of(v, json_object_get(c->in, "y_pred"));
    dt_tensor *w = optional(v, json_object_get(c->in, "sample_weight"));
    dt_values *results = NULL;
    traced my = {0};
    dt_status *s = make_losses(&my, json_string_value(json_object_get(c->in, "class")),
                               json_object_get(c->in, "arguments"), !c->error);

    if (!s) s = run_once(&my, y, p, w, &results);
    if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, "loss", s);
        if (results) expect_losses(c, v, results);
    }
    traced_free(&my);
    dt_values_unref(results);
    dt_tensor_unref(w);
    dt_tensor_unref(p);
    dt_tensor_unref(y);
}

/* Shapes are known when a step is recorded, so that a misfit is always a ValueError here;
 * TensorFlow finds some when it runs. */
static void run_error(const golden_case *c, verdict *v) {
    dt_tensor *y = tensor_of(v, json_object_get(c->in, "y_true")),
              *p = tensor_of(v, json_object_get(c->in, "y_pred"));
    dt_values *results = NULL;
    traced my = {0};
    dt_status *s = make_losses(&my, json_string_value(json_object_get(c->in, "class")),
                               json_object_get(c->in, "arguments"), false);

    if (!s) s = run_once(&my, y, p, NULL, &results);
    expect_error_kind(v, s, "ValueError");
    traced_free(&my);
    dt_values_unref(results);
    dt_tensor_unref(p);
    dt_tensor_unref(y);
}

/* A softmax (or sigmoid) remembers its input; the same numbers fed as they are do not. */
static void run_activation(const golden_case *c, verdict *v) {
    dt_tensor *y = tensor_of(v, json_object_get(c->in, "y_true")),
              *logits = tensor_of(v, json_object_get(c->in, "logits"));
    const char *class_name = json_string_value(json_object_get(c->in, "class"));
    const json_t *from_logits = json_object_get(c->in, "from_logits");
    json_t *arguments = json_pack("{s:b}", "from_logits", json_is_true(from_logits));
    bool sparse = dt_tensor_rank(y) < dt_tensor_rank(logits) || strstr(c->id, "sparse");
    bool binary = strstr(c->id, "binary") || strstr(c->id, "sigmoid");
    traced my = {.activation = binary ? "sigmoid" : "softmax"};
    dt_values *results = NULL, *plain = NULL;

    class_name = class_name ? class_name
                 : binary   ? "BinaryCrossentropy"
                 : sparse   ? "SparseCategoricalCrossentropy"
                            : "CategoricalCrossentropy";
    expect_ok(v, "loss", make_losses(&my, class_name, arguments, false));
    expect_ok(v, "after the activation", run_once(&my, y, logits, NULL, &results));
    expect_tensor(v, "loss", json_object_get(c->out, "loss_of_softmax_activation"),
                  dt_values_local(results, "default", 0), SUMS);
    expect_tensor(v, "gradient", json_object_get(c->out, "gradient_of_logits"),
                  dt_values_local(results, "gradient_of_default", 0), SUMS);
    my.activation = NULL;
    if (json_object_get(c->out, "loss_of_plain_probabilities")) {
        expect_ok(
            v, "plain",
            run_once(&my, y, (dt_tensor *)dt_values_local(results, "prediction", 0), NULL, &plain));
        expect_tensor(v, "plain", json_object_get(c->out, "loss_of_plain_probabilities"),
                      dt_values_local(plain, "default", 0), SUMS);
    }
    traced_free(&my);
    json_decref(arguments);
    dt_values_unref(plain);
    dt_values_unref(results);
    dt_tensor_unref(logits);
    dt_tensor_unref(y);
}

/* ---- constructors ---- */

/* Cases name what was tried and give no arguments: these are of that kind. */
static const struct {
    const char *expression, *fragment;
} tried[] = {
    {"bad-reduction", "MeanSquaredError: {reduction: average}"},
    {"bad-smoothing", "CategoricalCrossentropy: {label_smoothing: 1.5}"},
    {"bad-class", "MeanSquareError"},
    {"unknown-loss", "MeanSquareError"},
    {"bad-argument", "MeanSquaredError: {foo: 1}"},
    {"unknown-argument", "MeanSquaredError: {foo: 1}"},
};

/* "losses.MeanSquaredError(reduction='average')" as a fragment of a job; NULL: it is no call. */
static char *fragment_in(const char *expression) {
    py *p = py_read(expression, NULL);
    json_t *arguments = json_object();
    char *out = NULL;

    for (int i = 1; p && p->kind == PY_CALL && i < p->n; i++) {
        const py *x = p->in[i], *value = x->kind == PY_KEYWORD ? x->in[0] : x;
        double sign = value->kind == PY_UNARY ? -1 : 1;
        value = value->kind == PY_UNARY ? value->in[0] : value;
        json_object_set_new(
            arguments, x->kind == PY_KEYWORD ? x->text : "reduction",
            value->kind == PY_NUMBER ? json_real(sign * value->number)
            : py_is(value, "True") || py_is(value, "False")
                ? json_boolean(py_is(value, "True"))
                : json_string(value->kind == PY_STRING ? value->text : py_name(value)));
    }
    if (p && p->kind == PY_CALL) out = fragment_of(py_called(p), arguments);
    json_decref(arguments);
    py_free(p);
    return out;
}

static void run_constructor(const golden_case *c, verdict *v) {
    const char *expression = json_string_value(json_object_get(c->in, "expression")),
               *fragment = NULL;
    dt_loss *l = NULL;

    for (size_t i = 0; expression && i < sizeof tried / sizeof *tried; i++)
        if (strcmp(tried[i].expression, expression) == 0) fragment = tried[i].fragment;
    char *written = fragment || !expression ? NULL : fragment_in(expression);
    fragment = fragment ? fragment : written;
    if (!fragment) {
        differs(v, "unknown wording of a constructor, '%s'", expression ? expression : "?");
        return;
    }
    dt_status *s = dt_loss_create(&l, "%s", fragment);
    if (c->error) expect_error(v, s);
    else expect_ok(v, fragment, s);
    free(written);
    dt_loss_unref(l);
}

const golden_op losses_ops[] = {
    {"loss", run_loss, NULL},
    {"loss_error", run_error, NULL},
    {"loss_softmax_activation", run_activation, NULL},
    {"loss_constructor_error", run_constructor, NULL},
    {0},
};
