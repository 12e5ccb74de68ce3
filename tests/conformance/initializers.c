/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers: fans, limits and deviations, checked on draws; values of those that draw nothing;
 * defaults. */
#include "conformance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = 8 };

static dt_drawing drawing_of(const json_t *in, int64_t *shape) {
    const json_t *list = json_object_get(in, "shape");
    dt_drawing d = {.dtype = DT_FLOAT32, .rank = (int)json_array_size(list), .shape = shape};

    for (int i = 0; i < d.rank && i < MOST_AXES; i++)
        shape[i] = json_integer_value(json_array_get(list, (size_t)i));
    return d;
}

static char *initializer_fragment(const json_t *in) {
    const json_t *arguments = json_object_get(in, "config");
    json_t *none = json_object();
    char *fragment =
        fragment_of(json_string_value(json_object_get(in, "class")), arguments ? arguments : none);

    json_decref(none);
    return fragment;
}

/* ---- draws ---- */

static double number_at(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

/* Root of the mean of squares; *largest: the largest size. The mean is 0 in all distributions
 * here. */
static double deviation_of(const dt_tensor *t, double *largest) {
    const float *x = dt_tensor_data(t);
    double squares = 0;
    int64_t n = dt_tensor_elements(t);

    *largest = 0;
    for (int64_t i = 0; i < n; i++) {
        squares += (double)x[i] * (double)x[i];
        *largest = fmax(*largest, fabs((double)x[i]));
    }
    return n ? sqrt(squares / (double)n) : 0;
}

/* Nothing lies beyond the limit, and the deviation is what it should be, within five times what
 * chance allows for n draws. */
static void expect_draw(const golden_case *c, verdict *v, const dt_tensor *t) {
    double limit = number_at(c->out, "limit"), cut = number_at(c->out, "cut_at"),
           target = number_at(c->out, "target_stddev"), largest;
    double ought = limit > 0 ? limit / sqrt(3) : target, is = deviation_of(t, &largest),
           bound = limit > 0 ? limit : cut;
    double chance = 5 / sqrt((double)dt_tensor_elements(t) + 1);

    if (bound > 0 && largest > bound * (1 + 1e-6))
        differs(v, "a draw of %g is beyond %g", largest, bound);
    if (fabs(is - ought) > chance * ought)
        differs(v, "draws have deviation %g, expected %g", is, ought);
}

static void run_formula(const golden_case *c, verdict *v) {
    int64_t shape[MOST_AXES];
    dt_drawing d = drawing_of(c->in, shape);
    char *fragment = initializer_fragment(c->in), *facts = NULL;
    dt_tensor *t = NULL;

    expect_ok(v, "facts", dt_initializer_facts(&facts, &d, "%s", fragment));
    expect_json(v, "facts", c->out, json_loads(facts ? facts : "null", JSON_DECODE_ANY, NULL),
                (tolerance){1e-12, 0});
    expect_ok(v, "draw", dt_initializer_draw(&t, &d, "%s", fragment));
    if (t) expect_draw(c, v, t);
    dt_tensor_unref(t);
    free(facts);
    free(fragment);
}

/* ---- values ---- */

static void run_values(const golden_case *c, verdict *v) {
    int64_t shape[MOST_AXES];
    dt_drawing d = drawing_of(c->in, shape);
    char *fragment = initializer_fragment(c->in);
    dt_tensor *t = NULL;
    dt_status *s = dt_initializer_draw(&t, &d, "%s", fragment);

    if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, fragment, s);
        expect_tensor(v, "value", json_object_get(c->out, "value"), t, ELEMENTWISE);
    }
    dt_tensor_unref(t);
    free(fragment);
}

/* ---- defaults ---- */

static json_t *without_nulls(const json_t *object) {
    json_t *out = json_object(), *value;
    const char *key;
    json_object_foreach((json_t *)object, key, value) if (!json_is_null(value))
        json_object_set(out, key, value);
    return out;
}

/* What is null by default may be left out. */
static void run_defaults(const golden_case *c, verdict *v) {
    json_t *want = without_nulls(json_object_get(c->out, "config")), *is;
    char *config = NULL;

    expect_ok(
        v, "config",
        dt_initializer_config(&config, "%s", json_string_value(json_object_get(c->in, "class"))));
    is = json_loads(config ? config : "null", JSON_DECODE_ANY, NULL);
    expect_json(v, "config", want, without_nulls(is), EXACT);
    json_decref(is);
    json_decref(want);
    free(config);
}

const golden_op initializers_ops[] = {
    {"initializer_formula", run_formula, NULL},
    {"initializer_values", run_values, NULL},
    {"initializer_defaults", run_defaults, NULL},
    {0},
};
