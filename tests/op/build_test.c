/* SPDX-License-Identifier: Apache-2.0 */
/* Builders: what they broadcast, which types come out, which words a misfit gets; arguments,
 * variables and results of a trace. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support/ops.h"
#include "op/op.h"

#define B DT_BATCH

/* "f32[B,3]" as a type; dims are written as in graph text. */
static dt_type parse(const char *text) {
    static const struct {
        const char *name;
        dt_dtype dtype;
    } names[] = {{"f32", DT_FLOAT32}, {"i32", DT_INT32}, {"i8", DT_INT8}, {"f64", DT_FLOAT64}};
    const char *p = strchr(text, '[');
    dt_type t = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(text, names[i].name, (size_t)(p - text)) == 0 &&
            names[i].name[p - text] == '\0')
            t.dtype = names[i].dtype;
    for (p++; *p != ']' && *p; p += *p == ',') {
        if (*p != 'B') t.dim[t.rank++] = strtoll(p, (char **)&p, 10);
        else if (p[1] == '*') t.dim[t.rank++] = -strtoll(p + 2, (char **)&p, 10);
        else t.dim[t.rank++] = B, p++;
    }
    return t;
}

static dt_value arg_of(dt_trace *t, const char *name, const char *type) {
    dt_type parsed = parse(type);
    return dt_trace_declare(t, name, &parsed);
}

/* v has the type written in `text`; text NULL: its trace has failed. Destroys the trace. */
static void expect_type(dt_trace *t, dt_value v, const char *text) {
    dt_str got = {0};
    dt_type type = dt_type_of_value(v);
    if (dt_trace_error(t)) assert_int_equal(dt_status_number(dt_trace_error(t)), DT_E_MODEL_SHAPE);
    else dt_type_print(&type, &got);
    assert_string_equal(dt_str_text(&got), text ? text : "");
    dt_str_release(&got);
    dt_trace_destroy(t);
}

static void test_add_broadcasts_as_numpy(void **state) {
    (void)state;
    static const struct {
        const char *a, *b, *sum;
    } cases[] = {
        {"f32[B,3]", "f32[B,3]", "f32[B,3]"}, {"f32[B,3]", "f32[3]", "f32[B,3]"},
        {"f32[3]", "f32[B,3]", "f32[B,3]"},   {"f32[]", "f32[B,3]", "f32[B,3]"},
        {"f32[B,3]", "f32[B,1]", "f32[B,3]"}, {"f32[B,1]", "f32[3]", "f32[B,3]"},
        {"f32[1,3]", "f32[B,1]", "f32[B,3]"}, {"f32[4,1,3]", "f32[5,1]", "f32[4,5,3]"},
        {"f32[0]", "f32[1]", "f32[0]"},       {"f32[B*2,3]", "f32[3]", "f32[B*2,3]"},
        {"f32[B,3]", "f32[2,3]", NULL},       {"f32[B,3]", "f32[B*2,3]", NULL},
        {"f32[B,3]", "f32[4]", NULL},         {"f32[B,3]", "f32[B]", NULL},
        {"f32[B,3]", "i32[3]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_trace *t = dt_trace_create("test");
        dt_value a = arg_of(t, "a", cases[i].a), b = arg_of(t, "b", cases[i].b);
        expect_type(t, dt_add(a, b), cases[i].sum);
    }
}

static void test_equal_shapes_need_no_broadcast(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_value a = arg_of(t, "a", "f32[B,3]"), b = arg_of(t, "b", "f32[B,3]");
    dt_value sum = dt_add(a, b);
    assert_int_equal(dt_node_of(sum)->in[0], a.node);
    assert_int_equal(dt_node_of(sum)->in[1], b.node);
    assert_int_equal(dt_trace_count(t), 3);
    dt_trace_destroy(t);
}

static void test_misfits_are_named(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_trace_path(t, "dense");
    dt_add(arg_of(t, "a", "f32[B,784]"), arg_of(t, "b", "f32[10]"));
    assert_string_equal(dt_status_text(dt_trace_error(t)),
                        "add cannot combine f32[B,784] and f32[10]: shapes that do not broadcast");
    char *text = dt_status_format(dt_trace_error(t));
    assert_non_null(strstr(text, "in layer 'dense'"));
    free(text);
    dt_trace_destroy(t);

    t = dt_trace_create("test");
    dt_multiply(arg_of(t, "a", "f32[B,784]"), arg_of(t, "b", "i32[784]"));
    assert_string_equal(
        dt_status_text(dt_trace_error(t)),
        "multiply cannot combine f32[B,784] and i32[784]: different dtypes; convert one");
    dt_trace_destroy(t);
}

static void test_matmul_types(void **state) {
    (void)state;
    static const struct {
        const char *a, *b, *product;
    } cases[] = {
        {"f32[B,784]", "f32[784,10]", "f32[B,10]"}, {"f32[B,7,4]", "f32[4,3]", "f32[B,7,3]"},
        {"f32[2,3]", "f32[3,1]", "f32[2,1]"},       {"f32[B,784]", "f32[128,10]", NULL},
        {"f32[784]", "f32[784,10]", NULL},          {"f32[B,784]", "f32[784]", NULL},
        {"f32[B,784]", "f32[1,784,10]", NULL},      {"f32[B,784]", "f64[784,10]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_trace *t = dt_trace_create("test");
        dt_value a = arg_of(t, "a", cases[i].a), b = arg_of(t, "b", cases[i].b);
        expect_type(t, dt_matmul(a, b), cases[i].product);
    }
}

static void test_reductions_by_axis(void **state) {
    (void)state;
    static const struct {
        const char *x;
        int axis;
        const char *sum, *mean;
    } cases[] = {
        {"f32[B,3,4]", 0, "f32[3,4]", "f32[3,4]"},
        {"f32[B,3,4]", 2, "f32[B,3]", "f32[B,3]"},
        {"f32[B,3,4]", -1, "f32[B,3]", "f32[B,3]"},
        {"f32[B,3,4]", -3, "f32[3,4]", "f32[3,4]"},
        {"f32[B,3,4]", DT_NO_AXIS, "f32[]", "f32[]"},
        {"f32[]", DT_NO_AXIS, "f32[]", "f32[]"},
        {"i32[B]", 0, "i32[]", "f64[]"},
        {"i8[B]", 0, "i8[]", "f32[]"},
        {"f32[B,3,4]", 3, NULL, NULL},
        {"f32[B,3,4]", -4, NULL, NULL},
        {"f32[]", 0, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_trace *t = dt_trace_create("sum");
        expect_type(t, dt_reduce_sum(arg_of(t, "x", cases[i].x), cases[i].axis), cases[i].sum);
        t = dt_trace_create("mean");
        expect_type(t, dt_reduce_mean(arg_of(t, "x", cases[i].x), cases[i].axis), cases[i].mean);
    }
}

static void test_an_axis_that_is_not_there_is_named(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_reduce_sum(arg_of(t, "x", "f32[B,10]"), 2);
    assert_string_equal(dt_status_text(dt_trace_error(t)),
                        "axis 2 is out of range for a value of type f32[B,10]");
    dt_trace_destroy(t);
}

static void test_all_reduce_mean_of_integers_is_true_division(void **state) {
    (void)state;
    static const struct {
        const char *x, *sum, *mean;
    } cases[] = {
        {"f32[3]", "f32[3]", "f32[3]"},
        {"f64[3]", "f64[3]", "f64[3]"},
        {"i32[3]", "i32[3]", "f64[3]"},
        {"i8[3]", "i8[3]", "f32[3]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_trace *t = dt_trace_create("sum");
        expect_type(t, dt_all_reduce(DT_SUM, arg_of(t, "x", cases[i].x)), cases[i].sum);
        t = dt_trace_create("mean");
        expect_type(t, dt_all_reduce(DT_MEAN, arg_of(t, "x", cases[i].x)), cases[i].mean);
    }
}

static void test_sizes_of_dimensions(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_value x = arg_of(t, "x", "f32[B*2,3]");
    assert_int_equal(dt_dim(x, 0), -1);
    assert_int_equal(dt_dim(x, 1), 3);
    assert_int_equal(dt_dim(x, -2), -1);
    assert_ptr_equal(dt_node_of(dt_dim_value(x, -2))->op, &dt_op_get_dimension_size);
    dt_value three = dt_dim_value(x, 1);
    assert_ptr_equal(dt_node_of(three)->op, &dt_op_constant);
    assert_int_equal(dt_node_of(three)->type.dtype, DT_INT32);
    assert_null(dt_trace_error(t));
    assert_int_equal(dt_dim(x, 2), 0);
    assert_int_equal(dt_status_number(dt_trace_error(t)), DT_E_MODEL_SHAPE);
    dt_trace_destroy(t);
}

static void test_what_changes_nothing_emits_nothing(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_value x = arg_of(t, "x", "f32[B,3]");
    dt_type type = dt_type_of_value(x);
    assert_int_equal(dt_reshape(x, 2, (int64_t[]){B, 3}).node, x.node);
    assert_int_equal(dt_transpose(x, (int[]){0, 1}).node, x.node);
    assert_int_equal(dt_convert(x, DT_FLOAT32).node, x.node);
    assert_int_equal(dt_broadcast_to(x, &type).node, x.node);
    assert_int_equal(dt_reduce(x, DT_REDUCE_SUM, 0).node, x.node);
    assert_int_equal(dt_trace_count(t), 1);
    dt_trace_destroy(t);
}

static void test_broadcast_rows_aligns_at_the_front(void **state) {
    (void)state;
    dt_type rows = parse("f32[B,3]"), row = parse("f32[B]");
    dt_trace *t = dt_trace_create("test");
    expect_type(t, dt_broadcast_rows(arg_of(t, "x", "f32[B]"), &rows), "f32[B,3]");
    t = dt_trace_create("test");
    expect_type(t, dt_broadcast_rows(arg_of(t, "x", "f32[3]"), &rows), NULL);
    t = dt_trace_create("test");
    expect_type(t, dt_broadcast_rows(arg_of(t, "x", "f32[B,3]"), &row), NULL);
    t = dt_trace_create("test");
    expect_type(t, dt_broadcast_to(arg_of(t, "x", "f32[B,3]"), &row), NULL);
}

static void test_builders_survive_failed_values(void **state) {
    (void)state;
    const dt_value none = {0};
    const dt_type scalar = dt_scalar_type(DT_FLOAT32);
    assert_null(dt_add(none, none).trace);
    assert_null(dt_matmul(none, none).trace);
    assert_null(dt_reduce_mean(none, DT_NO_AXIS).trace);
    assert_null(dt_reduce_sum(none, 0).trace);
    assert_null(dt_all_reduce(DT_MEAN, none).trace);
    assert_null(dt_clamp(none, 0, 1).trace);
    assert_null(dt_select(none, none, none).trace);
    assert_null(dt_softmax_cross_entropy(none, none).trace);
    assert_null(dt_broadcast_to(none, &scalar).trace);
    assert_null(dt_convert(none, DT_INT32).trace);
    assert_null(dt_like(none, 1).trace);
    assert_null(dt_read(NULL, NULL).trace);
}

/* ---- arguments, variables, results ---- */

static void test_unknown_argument_lists_those_there_are(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_value image = arg_of(t, "image", "f32[B,784]");
    arg_of(t, "label", "i32[B]");
    assert_int_equal(dt_arg(t, "image").node, image.node);
    assert_null(dt_arg(t, "imge").trace);
    assert_int_equal(dt_status_number(dt_trace_error(t)), DT_E_NO_ARGUMENT);
    assert_string_equal(dt_status_text(dt_trace_error(t)),
                        "no argument 'imge'; the step takes image, label");
    assert_string_equal(dt_status_suggestion(dt_trace_error(t)), "did you mean 'image'?");
    dt_trace_destroy(t);

    t = dt_trace_create("test");
    assert_null(dt_arg(t, "image").trace);
    assert_string_equal(dt_status_text(dt_trace_error(t)),
                        "no argument 'image'; the step takes no arguments");
    dt_trace_destroy(t);
}

static void test_an_argument_is_declared_once(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_value x = arg_of(t, "x", "f32[B,3]");
    assert_int_equal(arg_of(t, "x", "f32[B,3]").node, x.node);
    assert_null(dt_trace_error(t));
    assert_null(arg_of(t, "x", "f32[B,4]").trace);
    assert_int_equal(dt_status_number(dt_trace_error(t)), DT_E_NAME_TAKEN);
    dt_trace_destroy(t);
}

static void test_arguments_of_one_type_are_not_one(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    assert_int_not_equal(arg_of(t, "a", "f32[B]").node, arg_of(t, "b", "f32[B]").node);
    dt_trace_destroy(t);
}

static dt_variable *variable_of(const char *path, const char *type) {
    dt_type parsed = parse(type);
    dt_variable *v = NULL;
    assert_null(dt_variable_alloc(&v, path, &parsed, true));
    return v;
}

static void test_reads_see_assignments(void **state) {
    (void)state;
    dt_variable *w = variable_of("w", "f32[3]"), *unused = variable_of("b", "f32[3]");
    dt_trace *t = dt_trace_create("test");
    dt_value before = dt_read(t, w), other = dt_read(t, unused);
    assert_int_equal(dt_read(t, w).node, before.node);
    assert_int_not_equal(before.node, other.node);
    dt_value after = dt_add(before, other);
    dt_assign(t, w, after);
    assert_int_equal(dt_read(t, w).node, after.node);
    dt_assign(t, unused, other); /* its own value: no update */
    dt_return(t, "w", dt_read(t, w));

    dt_graph *g = NULL;
    assert_null(dt_trace_end(t, &g));
    assert_int_equal(g->n_states, 2);
    assert_int_equal(g->state[0].node, before.node);
    assert_int_equal(g->state[0].update, after.node);
    assert_int_equal(g->state[1].update, -1);
    dt_graph_destroy(g);
    dt_variable_unref(w);
    dt_variable_unref(unused);
}

static void test_assignments_keep_the_type(void **state) {
    (void)state;
    dt_variable *w = variable_of("dense/kernel", "f32[3]");
    dt_trace *t = dt_trace_create("test");
    dt_assign(t, w, dt_constant(t, 1));
    assert_int_equal(dt_status_number(dt_trace_error(t)), DT_E_MODEL_SHAPE);
    assert_string_equal(dt_status_text(dt_trace_error(t)),
                        "cannot assign f32[] to the variable 'dense/kernel' of type f32[3]");
    dt_trace_destroy(t);
    dt_variable_unref(w);
}

static void test_results_are_named_once(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_return(t, "loss", dt_constant(t, 1));
    dt_return(t, "same", dt_constant(t, 1));
    assert_null(dt_trace_error(t));
    dt_return(t, "loss", dt_constant(t, 2));
    assert_int_equal(dt_status_number(dt_trace_error(t)), DT_E_NAME_TAKEN);
    dt_trace_destroy(t);

    t = dt_trace_create("test");
    dt_return(t, "loss", (dt_value){0});
    assert_int_equal(dt_status_number(dt_trace_error(t)), DT_E_TRACE_VALUE);
    dt_trace_destroy(t);
}

/* A pass that changes nothing: the copy prints like the original. */
static void test_import_and_export_copy_a_graph(void **state) {
    (void)state;
    dt_variable *w = variable_of("dense/kernel", "f32[3,2]");
    dt_trace *t = dt_trace_create("step");
    dt_value x = arg_of(t, "x", "f32[B,3]");
    const char *before = dt_trace_path(t, "dense");
    dt_value y = dt_matmul(x, dt_read(t, w));
    dt_trace_path(t, before);
    dt_return(t, "y", y);
    dt_assign(t, w, dt_multiply(dt_read(t, w), dt_constant(t, 0.5)));
    dt_graph *g = NULL, *copy = NULL;
    assert_null(dt_trace_end(t, &g));

    t = dt_trace_create(g->name);
    dt_value *map = dt_alloc((size_t)g->n_nodes * sizeof *map); /* zeroed */
    dt_trace_import(t, g, map);
    for (int i = 0; i < g->n_nodes; i++) {
        dt_value in[DT_MAX_IN];
        for (int k = 0; k < g->node[i].n_in; k++) in[k] = map[g->node[i].in[k]];
        if (!map[i].trace) map[i] = dt_emit_like(t, g, i, in);
    }
    dt_trace_export(t, g, map);
    assert_null(dt_trace_end(t, &copy));
    free(map);

    dt_str was = {0}, is = {0};
    dt_graph_print(g, &was);
    dt_graph_print(copy, &is);
    assert_string_equal(dt_str_text(&is), dt_str_text(&was));
    assert_non_null(strstr(dt_str_text(&is), " : f32[B,2]  // dense\n"));
    assert_non_null(strstr(dt_str_text(&is), "\nreturn y = %"));
    assert_non_null(strstr(dt_str_text(&is), "\nupdate dense/kernel = %"));
    dt_str_release(&was);
    dt_str_release(&is);
    dt_graph_destroy(copy);
    dt_graph_destroy(g);
    dt_variable_unref(w);
}

static void test_table_has_every_row_once(void **state) {
    (void)state;
    int n;
    const dt_op *const *row = all_ops(&n);
    assert_true(n >= 38);
    for (int i = 0; i < n; i++) {
        assert_true(row[i]->name && row[i]->infer && row[i]->n_in <= DT_MAX_IN);
        for (int k = 0; k < i; k++) assert_string_not_equal(row[i]->name, row[k]->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_broadcasts_as_numpy),
        cmocka_unit_test(test_equal_shapes_need_no_broadcast),
        cmocka_unit_test(test_misfits_are_named),
        cmocka_unit_test(test_matmul_types),
        cmocka_unit_test(test_reductions_by_axis),
        cmocka_unit_test(test_an_axis_that_is_not_there_is_named),
        cmocka_unit_test(test_all_reduce_mean_of_integers_is_true_division),
        cmocka_unit_test(test_sizes_of_dimensions),
        cmocka_unit_test(test_what_changes_nothing_emits_nothing),
        cmocka_unit_test(test_broadcast_rows_aligns_at_the_front),
        cmocka_unit_test(test_builders_survive_failed_values),
        cmocka_unit_test(test_unknown_argument_lists_those_there_are),
        cmocka_unit_test(test_an_argument_is_declared_once),
        cmocka_unit_test(test_arguments_of_one_type_are_not_one),
        cmocka_unit_test(test_reads_see_assignments),
        cmocka_unit_test(test_assignments_keep_the_type),
        cmocka_unit_test(test_results_are_named_once),
        cmocka_unit_test(test_import_and_export_copy_a_graph),
        cmocka_unit_test(test_table_has_every_row_once),
    };
    return cmocka_run_group_tests_name("op/build", tests, NULL, NULL);
}
