/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One layer at a time: a model of it alone is given the recorded weights, and a step function
 * returns y, and the gradients of sum(y * cotangent) with respect to the input and the weights;
 * what the layer keeps of the batches it saw is read afterwards.
 *
 * A case may have a list of `layers` instead of one `class`: weights then have their whole paths.
 *
 * Cases of refused layers record no configuration, but their messages name it ("`rate=1.5`",
 * "kernel shape=(5, 5, 1, 1)"): that is read back from there.
 */
#include "conformance.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct layer_case {
    const golden_case *c;
    verdict *v;
    dt_model *model;
    bool training, mixed; /* mixed: once more, computing in bfloat16 */
} layer_case;

/* ---- the configuration of a refused layer, from its message ---- */

/* A Python literal as JSON: (5, 5) and [1 1] are lists, True is true; anything else a word. */
static json_t *literal(const char *text, size_t n) {
    char *copy = malloc(2 * n + 8), *p = copy;
    bool list = text[0] == '(' || text[0] == '[';
    for (size_t i = 0; i < n; i++) {
        bool gap = list && text[i] == ' ' && i > 0 && isdigit((unsigned char)text[i - 1]) &&
                   isdigit((unsigned char)text[i + 1]);
        *p++ = text[i] == '('    ? '['
               : text[i] == ')'  ? ']'
               : gap             ? ','
               : text[i] == '\'' ? '"'
                                 : text[i];
    }
    while (p > copy && (p[-1] == '.' || p[-1] == ',')) p--;
    *p = '\0';
    if (list && p - copy > 2 && p[-1] == ']' && p[-2] == ',') memcpy(p - 2, "]", 2);
    json_t *j = strcmp(copy, "True") == 0    ? json_true()
                : strcmp(copy, "False") == 0 ? json_false()
                                             : json_loads(copy, JSON_DECODE_ANY, NULL);
    if (!j) j = json_string(copy);
    free(copy);
    return j;
}

static size_t literal_length(const char *text) {
    int depth = 0;
    size_t n = 0;
    for (; text[n] && text[n] != '`' && text[n] != '\n'; n++) {
        depth += text[n] == '(' || text[n] == '[';
        depth -= text[n] == ')' || text[n] == ']';
        if (depth < 0 || (depth == 0 && (text[n] == ' ' || (text[n] == ',' && n > 0)))) break;
    }
    return n;
}

/* Every "name=value" of the message. */
static json_t *message_config(const char *text) {
    json_t *config = json_object();
    for (const char *p = strchr(text, '='); p; p = strchr(p + 1, '=')) {
        const char *start = p;
        while (start > text && (isalnum((unsigned char)start[-1]) || start[-1] == '_')) start--;
        size_t n = literal_length(p + 1);
        if (start == p || n == 0) continue;
        char *key = strndup(start, (size_t)(p - start));
        bool of_kernel =
            strcmp(key, "shape") == 0 && start - text > 7 && strncmp(start - 7, "kernel ", 7) == 0;
        json_object_set_new(config, of_kernel ? "kernel shape" : key, literal(p + 1, n));
        free(key);
    }
    json_object_del(config, "shape");
    return config;
}

/* "kernel shape": window ..., inputs, filters */
static void spell_kernel(json_t *config) {
    json_t *kernel = json_object_get(config, "kernel shape"), *window = json_array();
    size_t n = json_array_size(kernel);
    for (size_t i = 0; i + 2 < n; i++) json_array_append(window, json_array_get(kernel, i));
    if (n > 2) {
        json_object_set(config, "kernel_size", window);
        json_object_set(config, "filters", json_array_get(kernel, n - 1));
    }
    json_decref(window);
    json_object_del(config, "kernel shape");
}

/* "... is not in [0, 5)": a table of 5 rows, of any length. */
static void spell_rows(json_t *config, const char *message) {
    const char *range = message ? strstr(message, "is not in [0, ") : NULL;
    if (!range || json_object_get(config, "input_dim")) return;
    json_object_set_new(config, "input_dim", json_integer(strtoll(range + 14, NULL, 10)));
    json_object_set_new(config, "output_dim", json_integer(1));
}

static json_t *config_of(const golden_case *c) {
    const char *message = json_string_value(json_object_get(c->error, "message"));
    json_t *given = json_object_get(c->in, "config"), *config = given     ? json_copy(given)
                                                                : message ? message_config(message)
                                                                          : json_object();
    if (json_is_true(json_object_get(c->in, "use_causal_mask")))
        json_object_set_new(config, "use_causal_mask", json_true());
    spell_kernel(config);
    spell_rows(config, message);
    json_object_set_new(config, "name", json_string("layer"));
    return config;
}

/* ---- the model ---- */

static json_t *input_of(const json_t *x) {
    json_t *shape = json_array();
    const json_t *given = json_object_get(x, "shape");
    for (size_t i = 1; i < json_array_size(given); i++)
        json_array_append(shape, json_array_get(given, i));
    return json_pack("{s:{s:s,s:o,s:O}}", "Input", "name", "x", "shape", shape, "dtype",
                     json_object_get(x, "dtype"));
}

static dt_status *make_whole(layer_case *l, const json_t *layers) {
    char *text = json_dumps(layers, JSON_COMPACT);
    dt_status *s = dt_model_create(&l->model, "%s", text);
    free(text);
    return s;
}

static dt_status *make_model(layer_case *l) {
    const json_t *layers = json_object_get(l->c->in, "layers");
    if (layers) return make_whole(l, layers);
    const json_t *x = json_object_get(l->c->in, "x");
    const char *class_name = json_string_value(json_object_get(l->c->in, "class"));
    json_t *config = config_of(l->c), *input = input_of(x);
    char *layer = fragment_of(class_name, config), *first = json_dumps(input, JSON_COMPACT);
    dt_status *s = dt_model_create(&l->model, "[%s, {%s}]", first, layer);
    free(layer);
    free(first);
    json_decref(config);
    json_decref(input);
    return s;
}

static void weight_path(const layer_case *l, char *path, size_t size, const json_t *weight) {
    bool whole = json_object_get(l->c->in, "layers") != NULL;
    snprintf(path, size, "%s%s", whole ? "" : "layer/",
             json_string_value(json_object_get(weight, "path")));
}

static void set_weights(layer_case *l) {
    const json_t *weights = json_object_get(l->c->in, "weights"), *w;
    size_t i;
    json_array_foreach(weights, i, w) {
        char path[256];
        weight_path(l, path, sizeof path, w);
        dt_tensor *t = tensor_of(l->v, json_object_get(w, "value"));
        expect_ok(l->v, path, t ? dt_model_set_weight(l->model, path, t) : NULL);
        dt_tensor_unref(t);
    }
}

/* ---- the step ---- */

static bool is_float(const json_t *tensor) {
    const char *dtype = json_string_value(json_object_get(tensor, "dtype"));
    return dtype && strncmp(dtype, "float", 5) == 0;
}

static void return_gradients(layer_case *l, dt_trace *t, dt_value loss) {
    const dt_variables *weights = dt_model_trainable(l->model);
    if (json_object_get(l->c->out, "dx") && is_float(json_object_get(l->c->in, "x"))) {
        dt_value x = dt_arg(t, "x"), dx;
        dt_gradient_values(loss, &x, 1, &dx);
        dt_return(t, "dx", dx);
    }
    if (json_array_size(json_object_get(l->c->out, "dweights")) == 0) return;
    dt_gradients g = dt_gradient(loss, weights);
    for (int i = 0; i < dt_variables_count(weights); i++)
        if (g.value && g.value[i].trace) dt_return(t, dt_variables_path(weights, i), g.value[i]);
}

static void step(dt_trace *t, void *user) {
    layer_case *l = user;
    dt_value y = dt_model_call(l->model, dt_arg(t, "x"), l->training);
    if (l->mixed) y = dt_convert(y, DT_FLOAT32);
    dt_return(t, "y", y);
    if (json_object_get(l->c->out, "cotangent"))
        return_gradients(l, t, dt_reduce_sum(dt_multiply(y, dt_arg(t, "cotangent")), DT_NO_AXIS));
}

static void add_argument(layer_case *l, dt_values *args, const char *name, const json_t *tensor) {
    dt_tensor *t = tensor ? tensor_of(l->v, tensor) : NULL;
    if (t) expect_ok(l->v, name, dt_values_set_per_replica(args, name, &t, 1));
    dt_tensor_unref(t);
}

static dt_status *run_step(layer_case *l, dt_values **results) {
    dt_strategy *strategy = NULL;
    dt_function *f = NULL;
    dt_values *args = NULL;
    expect_ok(l->v, "the default strategy", dt_default_strategy(&strategy));
    expect_ok(l->v, "the step", dt_function_create(&f, step, l));
    expect_ok(l->v, "arguments", dt_values_create(&args));
    add_argument(l, args, "x", json_object_get(l->c->in, "x"));
    add_argument(l, args, "cotangent", json_object_get(l->c->out, "cotangent"));
    dt_status *s = dt_strategy_run(strategy, f, args, results);
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(strategy);
    return s;
}

/* ---- what came ---- */

static double largest(const json_t *tensor) {
    double most = 0;
    const json_t *x;
    size_t i;
    json_array_foreach(json_object_get(tensor, "data"), i, x) most =
        fmax(most, fabs(json_double(x)));
    return most;
}

/* Gradients are sums of many products; where those cancel, what is left is as large as the rounding
 * of one of them. A gradient that is 0 by its formula, as of a key's bias, is nothing else. */
static tolerance gradient_tolerance(const layer_case *l) {
    const json_t *dx = json_object_get(l->c->out, "dx"), *w;
    double most = dx ? largest(dx) : 0;
    size_t i;
    json_array_foreach(json_object_get(l->c->out, "dweights"), i, w) most =
        fmax(most, largest(json_object_get(w, "value")));
    return (tolerance){1e-5, fmax(2e-6, 4 * FLT_EPSILON * most)};
}

static void expect_gradients(layer_case *l, const dt_values *results) {
    const json_t *list = json_object_get(l->c->out, "dweights"), *w;
    const tolerance gradients = gradient_tolerance(l);
    size_t i;
    if (json_object_get(l->c->out, "dx"))
        expect_tensor(l->v, "dx", json_object_get(l->c->out, "dx"),
                      dt_values_local(results, "dx", 0), gradients);
    json_array_foreach(list, i, w) {
        char path[256];
        weight_path(l, path, sizeof path, w);
        expect_tensor(l->v, path, json_object_get(w, "value"), dt_values_local(results, path, 0),
                      gradients);
    }
}

static void expect_state(layer_case *l) {
    const json_t *list = json_object_get(l->c->out, "non_trainable_after"), *w;
    size_t i;
    json_array_foreach(list, i, w) {
        char path[256];
        dt_tensor *t = NULL;
        weight_path(l, path, sizeof path, w);
        expect_ok(l->v, path, dt_model_get_weight(l->model, path, &t));
        expect_tensor(l->v, path, json_object_get(w, "value"), t, PRODUCTS);
        dt_tensor_unref(t);
    }
}

/*
 * The layer under mixed_bfloat16: every layer converts what it has to, forwards and backwards, and
 * gives about what was recorded in float32. How near Keras is, mixed_precision.c tells.
 */
static void run_mixed(layer_case *l) {
    const json_t *y = json_object_get(l->c->out, "y");
    dt_values *results = NULL;
    if (strcmp(json_string_value(json_object_get(y, "dtype")), "float32") != 0) return;
    l->mixed = true;
    set_weights(l);
    expect_ok(l->v, "compile",
              dt_model_compile(
                  l->model, "{optimizer: SGD, loss: MeanSquaredError, precision: mixed_bfloat16}"));
    expect_ok(l->v, "in bfloat16", run_step(l, &results));
    if (results)
        expect_tensor(l->v, "y in bfloat16", y, dt_values_local(results, "y", 0),
                      (tolerance){0, largest(y) / 16});
    dt_values_unref(results);
}

static void run_layer(const golden_case *c, verdict *v) {
    layer_case l = {.c = c, .v = v, .training = json_is_true(json_object_get(c->in, "training"))};
    dt_values *results = NULL;
    dt_status *s = make_model(&l);
    if (!s) {
        set_weights(&l);
        s = run_step(&l, &results);
    }
    if (c->error) {
        expect_error(v, s);
    } else if (s) {
        expect_ok(v, "the layer", s);
    } else {
        expect_tensor(v, "y", json_object_get(c->out, "y"), dt_values_local(results, "y", 0),
                      PRODUCTS);
        expect_gradients(&l, results);
        expect_state(&l);
        run_mixed(&l);
    }
    dt_values_unref(results);
    dt_model_unref(l.model);
}

const golden_op layers_ops[] = {
    {"layer", run_layer, NULL},
    {0},
};
