/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: values and derivatives. */
#include "conformance.h"

#include <stdlib.h>

/* A derivative is computed from a rounded value, of which 1 - y^2 keeps few digits; rows are
 * sums. */
#define SLOPES ((tolerance){2e-6, 2e-7})

typedef struct traced {
    const char *fragment;
    bool has_cotangent, has_gradient;
} traced;

/* y, and dx = d sum(y * c) / dx; c is 1 unless it is given. */
static void step(dt_trace *t, void *user) {
    const traced *my = user;
    dt_value x = dt_arg(t, "x"), y = dt_activation_call(x, "%s", my->fragment), dx;

    dt_return(t, "y", y);
    if (!my->has_gradient) return;
    dt_gradient_values(
        dt_reduce_sum(my->has_cotangent ? dt_multiply(y, dt_arg(t, "c")) : y, DT_NO_AXIS), &x, 1,
        &dx);
    dt_return(t, "dx", dx);
}

static dt_status *call(verdict *v, const golden_case *c, traced *my, dt_values **results) {
    const json_t *cotangent = json_object_get(c->out, "cotangent");
    dt_tensor *x = tensor_of(v, json_object_get(c->in, "x")),
              *w = cotangent ? tensor_of(v, cotangent) : NULL;
    dt_values *args = NULL;
    dt_function *f = NULL;
    dt_status *s = NULL;

    my->has_cotangent = w != NULL;
    DT_GO(s, dt_values_create(&args));
    DT_GO(s, dt_values_set(args, "x", x));
    if (w) DT_GO(s, dt_values_set(args, "c", w));
    DT_GO(s, dt_function_create(&f, step, my));
    DT_GO(s, dt_strategy_run(dt_get_strategy(), f, args, results));
out:
    dt_function_unref(f);
    dt_values_unref(args);
    dt_tensor_unref(w);
    dt_tensor_unref(x);
    return s;
}

static void run_activation(const golden_case *c, verdict *v) {
    const json_t *slope = json_object_get(c->out, "dy_dx");
    char *fragment = fragment_of(json_string_value(json_object_get(c->in, "name")),
                                 json_object_get(c->in, "arguments"));
    dt_values *results = NULL;
    traced my = {.fragment = fragment};

    slope = slope ? slope : json_object_get(c->out, "dx");
    my.has_gradient = slope != NULL;
    dt_status *s = call(v, c, &my, &results);
    if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, fragment, s);
        expect_tensor(v, "y", json_object_get(c->out, "y"), dt_values_local(results, "y", 0),
                      my.has_cotangent ? PRODUCTS : ELEMENTWISE);
        if (slope)
            expect_tensor(v, "dx", slope, dt_values_local(results, "dx", 0),
                          my.has_cotangent ? PRODUCTS : SLOPES);
    }
    dt_values_unref(results);
    free(fragment);
}

const golden_op activations_ops[] = {
    {"activation", run_activation, NULL},
    {"activation_rows", run_activation, NULL},
    {"activation_rows_forward", run_activation, NULL},
    {"activation_error", run_activation, NULL},
    {0},
};
