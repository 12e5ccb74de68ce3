/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients where functions have corners, by hand: the conventions that training depends on, such
 * as relu'(0) = 0. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "types.h"

/* The gradients of the sum of f(a, b) with respect to a and b, at the given numbers. */
typedef struct corner {
    dt_value (*f)(dt_value a, dt_value b);
    const char *type;
    const double *a, *b;
    const double *da, *db; /* NULL: none */
} corner;

static void expect_result(const dt_interpretation *out, int *next, const double *ought) {
    if (!ought) return;
    const dt_view *v = &out->result[(*next)++];
    for (int64_t i = 0, n = dt_type_elements(&v->type); i < n; i++)
        if (!(dt_cell_double(v, i) == ought[i]))
            fail_msg("element %d of gradient %d is %g, not %g", (int)i, *next, dt_cell_double(v, i),
                     ought[i]);
}

static void run_corner(const corner *c) {
    dt_type type = type_of(c->type);
    dt_trace *t = dt_trace_create("corner");
    dt_value x[2] = {dt_trace_declare(t, "a", &type), dt_trace_declare(t, "b", &type)}, dx[2];
    dt_graph *g = NULL;
    dt_interpretation out;
    dt_view arg[2] = {view_from(c->type, c->a), view_from(c->type, c->b)};
    dt_gradients_of(dt_reduce_sum(c->f(x[0], x[1]), DT_NO_AXIS), x, 2, dx);
    for (int i = 0; i < 2; i++) {
        assert_true((dx[i].trace != NULL) == ((i ? c->db : c->da) != NULL));
        if (dx[i].trace) dt_return(t, i ? "db" : "da", dx[i]);
    }
    dt_status *s = dt_trace_end(t, &g);
    if (!s) s = dt_interpret(g, NULL, 1, &(int64_t){1}, arg, &out);
    if (s) fail_msg("%s", dt_status_text(s));
    int next = 0;
    expect_result(&out, &next, c->da);
    expect_result(&out, &next, c->db);
    dt_interpretation_release(&out);
    dt_graph_destroy(g);
    free(arg[0].data);
    free(arg[1].data);
}

static dt_value relu(dt_value a, dt_value b) {
    (void)b;
    return dt_maximum(a, dt_like(a, 0));
}

static dt_value absolute(dt_value a, dt_value b) {
    (void)b;
    return dt_abs(a);
}

static dt_value top(dt_value a, dt_value b) {
    (void)b;
    return dt_reduce(a, DT_REDUCE_MAX, 1);
}

static dt_value bottom(dt_value a, dt_value b) {
    (void)b;
    return dt_reduce(a, DT_REDUCE_MIN, 1);
}

static dt_value chosen(dt_value a, dt_value b) {
    return dt_select(dt_compare(a, b, DT_LT), dt_multiply(a, a), b);
}

static dt_value narrow(dt_value a, dt_value b) {
    (void)b;
    return dt_convert(dt_convert(a, DT_FLOAT32), DT_FLOAT64);
}

static dt_value through_integers(dt_value a, dt_value b) {
    return dt_add(dt_convert(dt_convert(a, DT_INT32), DT_FLOAT64), b);
}

static dt_value signs(dt_value a, dt_value b) { return dt_multiply(dt_sign(a), b); }

static void test_corners(void **state) {
    (void)state;
    const double *zeros = VALUES(0, 0, 0);
    const corner corners[] = {
        {relu, "f64[3]", VALUES(-1, 0, 2), zeros, VALUES(0, 0, 1), NULL},
        {dt_maximum, "f64[3]", VALUES(1, 2, 2), VALUES(2, 2, 1), VALUES(0, 0, 1), VALUES(1, 1, 0)},
        {dt_minimum, "f64[3]", VALUES(1, 2, 2), VALUES(2, 2, 1), VALUES(1, 0, 0), VALUES(0, 1, 1)},
        {absolute, "f64[3]", VALUES(-3, 0, 2), zeros, VALUES(-1, 0, 1), NULL},
        {top, "f64[3]", VALUES(5, 1, 5), zeros, VALUES(0.5, 0, 0.5), NULL},
        {bottom, "f64[3]", VALUES(5, 1, 5), zeros, VALUES(0, 1, 0), NULL},
        {bottom, "f64[2]", VALUES(-2, -2), zeros, VALUES(0.5, 0.5), NULL},
        {chosen, "f64[2]", VALUES(3, 5), VALUES(4, 5), VALUES(6, 0), VALUES(0, 1)},
        {narrow, "f64[2]", VALUES(3, 5), zeros, VALUES(1, 1), NULL},
        {through_integers, "f64[2]", VALUES(3, 5), zeros, NULL, VALUES(1, 1)},
        {signs, "f64[2]", VALUES(-3, 5), zeros, NULL, VALUES(-1, 1)},
        {dt_power, "f64[3]", VALUES(0, 0, -2), VALUES(0, 2, 2), VALUES(0, 0, -4), VALUES(0, 0, 0)},
    };
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) run_corner(&corners[i]);
}

/* Beside one finite target an infinite logit loses its say, not the row. */
static dt_value cross_entropy(dt_value logits, dt_value target) {
    return dt_softmax_cross_entropy(logits, target);
}

static void test_cross_entropy_of_certain_rows(void **state) {
    (void)state;
    const corner c = {cross_entropy,      "f64[2,2]",         VALUES(0, -INFINITY, 1000, 0),
                      VALUES(1, 0, 1, 0), VALUES(0, 0, 0, 0), NULL};
    run_corner(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corners),
        cmocka_unit_test(test_cross_entropy_of_certain_rows),
    };
    return cmocka_run_group_tests_name("op corners", tests, NULL, NULL);
}
