/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers: a few steps on fixed parameters and gradients, through variables and a step function
 * that is fed the gradients. Then the state, whose paths are Keras': "adam_7/p0_momentum" is our
 * "p0/momentum".
 */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

typedef struct bench {
    const golden_case *c;
    verdict *v;
    dt_optimizer *optimizer;
    dt_function *step;
    dt_variables *all;
    dt_variable *p[MOST];
    int n;
} bench;

/* ---- the optimizer ---- */

/* An argument that is an object of Keras' ({"class_name", "config"}) as a fragment: {"CosineDecay":
 * {...}}. */
static json_t *without_nulls(const json_t *object) {
    json_t *out = json_object();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) if (!json_is_null(value))
        json_object_set(out, key, value);
    return out;
}

/* The arguments; a schedule stands in the configuration alone. */
static char *optimizer_fragment(const json_t *in) {
    json_t *arguments = json_copy(json_object_get(in, "arguments"));
    const json_t *rate = json_object_get(json_object_get(in, "config"), "learning_rate");

    arguments = arguments ? arguments : json_object();
    if (json_is_object(rate))
        json_object_set_new(arguments, "learning_rate",
                            json_pack("{s:o}",
                                      json_string_value(json_object_get(rate, "class_name")),
                                      without_nulls(json_object_get(rate, "config"))));
    char *fragment = fragment_of(json_string_value(json_object_get(in, "class")), arguments);
    json_decref(arguments);
    return fragment;
}

/* All but the name, which numbers the optimizers of a process. */
static void expect_config(bench *b) {
    const json_t *config = json_object_get(b->c->in, "config");
    char *text = NULL;

    if (!config) return;
    expect_ok(b->v, "config", dt_optimizer_config(b->optimizer, &text));
    json_t *want = json_copy((json_t *)config);
    json_object_del(want, "name");
    expect_json(b->v, "config", want, json_loads(text ? text : "null", JSON_DECODE_ANY, NULL),
                ELEMENTWISE);
    json_decref(want);
    free(text);
}

/* ---- steps ---- */

static void step(dt_trace *t, void *user) {
    const bench *b = user;
    dt_value gradient[MOST];
    const json_t *first = json_array_get(json_object_get(b->c->in, "gradients_by_step"), 0);
    char name[16];

    for (int i = 0; i < b->n; i++) {
        snprintf(name, sizeof name, "g%d", i);
        gradient[i] =
            json_is_null(json_array_get(first, (size_t)i)) ? (dt_value){0} : dt_arg(t, name);
    }
    dt_optimizer_apply(b->optimizer,
                       (dt_gradients){.trace = t, .variables = b->all, .value = gradient});
}

static dt_status *make_parameters(bench *b) {
    const json_t *list = json_object_get(b->c->in, "parameters");
    dt_status *s = NULL;

    for (b->n = 0; !s && b->n < MOST && b->n < (int)json_array_size(list); b->n++) {
        dt_tensor *value = tensor_of(b->v, json_array_get(list, (size_t)b->n));
        char name[16];
        snprintf(name, sizeof name, "p%d", b->n);
        s = dt_variable_create(&b->p[b->n], value, &(dt_variable_options){.name = name});
        dt_tensor_unref(value);
    }
    return s ? s : dt_variables_create(&b->all, b->p, b->n);
}

static dt_status *run_step(bench *b, const json_t *gradients) {
    dt_values *args = NULL;
    dt_status *s = dt_values_create(&args);

    for (int i = 0; !s && i < b->n; i++) {
        const json_t *gradient = json_array_get(gradients, (size_t)i);
        if (json_is_null(gradient)) continue;
        dt_tensor *t = tensor_of(b->v, gradient);
        char name[16];
        snprintf(name, sizeof name, "g%d", i);
        s = dt_values_set(args, name, t);
        dt_tensor_unref(t);
    }
    if (!s) s = dt_strategy_run(dt_get_strategy(), b->step, args, NULL);
    dt_values_unref(args);
    return s;
}

/* Steps add up their rounding, some of it in another order than Keras has. */
#define STEPS ((tolerance){2e-6, 2e-7})

static void expect_parameters(bench *b, const char *when, const json_t *want) {
    for (int i = 0; i < b->n; i++) {
        dt_tensor *value = NULL;
        char what[64];
        snprintf(what, sizeof what, "%s: parameter %d", when, i);
        expect_ok(b->v, what, dt_variable_value(b->p[i], &value));
        expect_tensor(b->v, what, json_array_get(want, (size_t)i), value, STEPS);
        dt_tensor_unref(value);
    }
}

/* ---- state ---- */

/* Ours for Keras' path of a variable; how often the path came before tells rows from columns. NULL:
 * a placeholder of Keras'. */
static const char *slot_name(const json_t *variable, int before, char *buffer, size_t size) {
    const char *path = json_string_value(json_object_get(variable, "path")),
               *slash = strchr(path, '/');
    const char *own = slash ? slash + 1 : path, *underline = strchr(own, '_');

    if (strncmp(own, "variable", 8) == 0) return "p0/u_product";
    if (strcmp(own, "iteration") == 0 || strcmp(own, "learning_rate") == 0) return own;
    if (!underline &&
        json_array_size(json_object_get(json_object_get(variable, "value"), "shape")) == 0)
        return NULL; /* a vector's row and column */
    if (underline) snprintf(buffer, size, "%.*s/%s", (int)(underline - own), own, underline + 1);
    else snprintf(buffer, size, "%s/%s", own, before ? "column" : "row");
    return buffer;
}

static int times_before(const json_t *list, size_t i) {
    const char *path = json_string_value(json_object_get(json_array_get(list, i), "path"));
    int n = 0;

    for (size_t k = 0; k < i; k++)
        n += strcmp(path, json_string_value(json_object_get(json_array_get(list, k), "path"))) == 0;
    return n;
}

static void expect_slots(bench *b) {
    const json_t *list = json_object_get(b->c->out, "optimizer_variables"), *variable;
    char buffer[128];
    size_t i;

    json_array_foreach(list, i, variable) {
        const char *name = slot_name(variable, times_before(list, i), buffer, sizeof buffer);
        dt_tensor *value = NULL;
        if (!name) continue;
        expect_ok(b->v, name, dt_optimizer_get_slot(b->optimizer, name, &value));
        expect_tensor(b->v, name, json_object_get(variable, "value"), value, STEPS);
        dt_tensor_unref(value);
    }
}

/* ---- a case ---- */

static void run_steps(bench *b) {
    const json_t *steps = json_object_get(b->c->in, "gradients_by_step"), *gradients;
    size_t i;

    json_array_foreach(steps, i, gradients) {
        char when[32];
        snprintf(when, sizeof when, "after step %zu", i + 1);
        expect_ok(b->v, when, run_step(b, gradients));
        expect_parameters(b, when, json_array_get(json_object_get(b->c->out, "after_step"), i));
    }
    expect_slots(b);
    if (json_object_get(b->c->out, "finalized")) {
        expect_ok(b->v, "finalize", dt_optimizer_finalize(b->optimizer, b->all));
        expect_parameters(b, "finalized", json_object_get(b->c->out, "finalized"));
    }
}

static void bench_free(bench *b) {
    dt_function_unref(b->step);
    dt_optimizer_unref(b->optimizer);
    dt_variables_unref(b->all);
    for (int i = 0; i < b->n; i++) dt_variable_unref(b->p[i]);
}

static void run_optimizer(const golden_case *c, verdict *v) {
    bench b = {.c = c, .v = v};
    char *fragment = optimizer_fragment(c->in);
    dt_status *s = dt_optimizer_create(&b.optimizer, "%s", fragment);

    if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, fragment, s);
        expect_ok(v, "parameters", make_parameters(&b));
        expect_ok(v, "step function", dt_function_create(&b.step, step, &b));
        if (b.optimizer && b.step) {
            expect_config(&b);
            run_steps(&b);
        }
    }
    bench_free(&b);
    free(fragment);
}

/* Keras takes it, or says why not; the name it gives is its own count of optimizers. */
static void run_constructor(const golden_case *c, verdict *v) {
    char *fragment = optimizer_fragment(c->in);
    dt_optimizer *o = NULL;
    dt_status *s = dt_optimizer_create(&o, "%s", fragment);

    if (c->error) expect_error(v, s);
    else expect_ok(v, fragment, s);
    dt_optimizer_unref(o);
    free(fragment);
}

/* ---- variables that the loss does not depend on ---- */

typedef struct partial {
    bench b;
    bool none; /* of the loss's gradients */
} partial;

/* loss = sum of p0, or a constant; p1 is never in it */
static void step_of_partial(dt_trace *t, void *user) {
    const partial *my = user;
    dt_value w = dt_variable_read(t, my->b.p[0]);
    dt_value loss = my->none ? dt_constant(t, 1) : dt_reduce_sum(w, DT_NO_AXIS);
    dt_optimizer_apply(my->b.optimizer, dt_gradient(loss, my->b.all));
}

/* The recorded case gives no numbers: w and v begin at (-0.375, 0.25), the gradient is 1, the rate
 * 0.1. */
static void run_none_gradient(const golden_case *c, verdict *v) {
    partial my = {.b = {.c = c, .v = v, .n = 2}, .none = c->error != NULL};
    dt_tensor *initial = NULL, *value = NULL;
    const char *name = json_string_value(json_object_get(c->in, "class"));

    expect_ok(v, "initial value",
              dt_tensor_create(&initial, DT_FLOAT32, 1, (int64_t[]){2}, (float[]){-0.375f, 0.25f}));
    for (int i = 0; i < 2; i++)
        expect_ok(v, "variable", dt_variable_create(&my.b.p[i], initial, NULL));
    expect_ok(v, "variables", dt_variables_create(&my.b.all, my.b.p, 2));
    expect_ok(v, "optimizer",
              dt_optimizer_create(&my.b.optimizer, "%s: {learning_rate: 0.1}", name));
    expect_ok(v, "step function", dt_function_create(&my.b.step, step_of_partial, &my));
    dt_status *s = dt_strategy_run(dt_get_strategy(), my.b.step, NULL, NULL);
    if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, "step", s);
        expect_ok(v, "w", dt_variable_value(my.b.p[0], &value));
        expect_tensor(v, "w", json_object_get(c->out, "w"), value, STEPS);
        expect_ok(v, "v", dt_variable_value(my.b.p[1], &value));
        expect_tensor(v, "v", json_object_get(c->out, "v"), value, STEPS);
    }
    dt_tensor_unref(value);
    dt_tensor_unref(initial);
    bench_free(&my.b);
}

const golden_op optimizers_ops[] = {
    {"optimizer", run_optimizer, NULL},
    {"optimizer_constructor", run_constructor, NULL},
    {"optimizer_none_gradient", run_none_gradient, NULL},
    {0},
};
