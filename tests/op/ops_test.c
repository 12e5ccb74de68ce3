/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row of the op table by itself: it is complete, empty batches and float32 are no special
 * cases, and gradients agree with differences. (What passes rely on: rules_test.c.)
 */
#include "table.h"

/* ---- the rows themselves ---- */

static void test_rows_are_complete(void **state) {
    (void)state;
    int n;
    const dt_op *const *ops = all_ops(&n);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        assert_true(ops[i]->name && *ops[i]->name);
        assert_true(ops[i]->n_in >= 0 && ops[i]->n_in <= DT_MAX_IN);
        assert_non_null(ops[i]->infer);
        assert_non_null(ops[i]->rule);
        assert_true((ops[i]->eval != NULL) ==
                    (ops[i]->role != DT_ROLE_ARGUMENT && ops[i]->role != DT_ROLE_STATE));
        assert_true(!ops[i]->attr.print || ops[i]->attr.size > 0);
        for (int k = 0; k < i; k++) assert_string_not_equal(ops[i]->name, ops[k]->name);
    }
}

/* What a role says of every op that has it; attributes where passes read them by the role. */
static void expect_role(const dt_op *op) {
    static const size_t attr_size[] = {
        [DT_ROLE_ARGUMENT] = sizeof(dt_index_attr),    [DT_ROLE_STATE] = sizeof(dt_index_attr),
        [DT_ROLE_CONSTANT] = sizeof(dt_constant_attr), [DT_ROLE_SIZE] = sizeof(dt_axis_attr),
        [DT_ROLE_NOTE] = sizeof(dt_sharding_attr),     [DT_ROLE_REPEAT] = sizeof(dt_broadcast_attr),
        [DT_ROLE_CONVERT] = sizeof(dt_convert_attr),   [DT_ROLE_ROW_SUMS] = sizeof(dt_rows_attr),
    };
    bool leaf = op->role >= DT_ROLE_ARGUMENT && op->role <= DT_ROLE_COUNTER,
         moves = op->role >= DT_ROLE_NOTE && op->role <= DT_ROLE_MOVE;
    if ((leaf && op->n_in > 0) || (moves && !op->traits.exact) ||
        (attr_size[op->role] && op->attr.size != attr_size[op->role]) ||
        (op->traits.read_through && (!op->traits.exact || op->n_in == 0)) ||
        (op->linear_when && op->n_in != 1))
        fail_msg("%s has another role than its row says", op->name);
}

static void test_roles_are_true(void **state) {
    (void)state;
    static const dt_op *const with_loops[] = {
#define DT_LOOP(name, y) &dt_op_##name,
#include "op/ops.h"
    };
    int n;
    const dt_op *const *ops = all_ops(&n);
    for (int i = 0; i < n; i++) expect_role(ops[i]);
    for (size_t i = 0; i < sizeof with_loops / sizeof *with_loops; i++)
        assert_true(dt_is_elementwise(with_loops[i]));
}

static void expect_flags(sample *s, int64_t batch) {
    (void)batch;
    dt_type bools = s->out;
    bools.dtype = s->in[0].dtype;
    for (int i = 0; dt_is_elementwise(s->op) && i < s->op->n_in; i++) {
        bools.dtype = s->in[i].dtype;
        assert_true(dt_type_equal(&s->in[i], &bools));
    }
    if (s->op->traits.varying) assert_false(dt_type_has_batch(&s->out));
}

static void test_elementwise_ops_keep_shapes(void **state) {
    (void)state;
    for_samples("flags", 6, true, expect_flags);
}

/* An empty batch is no special case. */
static void expect_empty_works(sample *s, int64_t batch) {
    (void)batch;
    int32_t border[MOST_SEGMENTS + 1];
    dt_env env = sample_env(s, 0, border);
    dt_view in[DT_MAX_IN];
    int n = sample_inputs(s, 0, in);
    dt_type type = dt_type_at(&s->out, 0);
    dt_view out = sample_eval(s, &env, in, &type);
    for (int64_t i = 0, cells = dt_type_elements(&out.type); i < cells; i++)
        assert_false(isnan(cell(&out, i)));
    views_release(in, n);
    free(out.data);
}

static void test_empty_batches(void **state) {
    (void)state;
    for_samples("empty", 12, true, expect_empty_works);
}

/* float32 is computed like float64 and rounded once. */
static void expect_float32_near(sample *s, int64_t batch) {
    int32_t border[MOST_SEGMENTS + 1];
    dt_env env = sample_env(s, batch, border);
    dt_view in[DT_MAX_IN], narrow[DT_MAX_IN];
    int n = sample_inputs(s, batch, in);
    for (int i = 0; i < n; i++) {
        bool is_float = dt_dtype_is_float(in[i].type.dtype);
        dt_type type = in[i].type;
        type.dtype = is_float ? DT_FLOAT32 : type.dtype;
        narrow[i] = view_create(&type);
        for (int64_t k = 0, cells = dt_type_elements(&type); k < cells; k++)
            if (is_float) {
                dt_cell_set_double(&narrow[i], k, dt_cell_double(&in[i], k));
                dt_cell_set_double(&in[i], k, dt_cell_double(&narrow[i], k));
            } else {
                dt_cell_copy(&narrow[i], k, &in[i], k);
            }
    }
    dt_type type = dt_type_at(&s->out, batch);
    dt_view wide = sample_eval(s, &env, in, &type);
    type.dtype = type.dtype == DT_FLOAT64 ? DT_FLOAT32 : type.dtype;
    dt_view out = sample_eval(s, &env, narrow, &type);
    for (int64_t i = 0, cells = dt_type_elements(&type); i < cells; i++)
        assert_true(near(cell(&out, i), cell(&wide, i), 2e-7));
    views_release(in, n);
    views_release(narrow, n);
    free(wide.data);
    free(out.data);
}

static void test_float32_is_float64_rounded(void **state) {
    (void)state;
    for_samples("float32", 9, true, expect_float32_near);
}

/* ---- gradients ---- */

/* loss = sum of weights * op(x0, x1, ...), and its gradients, as a graph with arguments x0, ...,
 * weights. */
typedef struct gradient_case {
    sample *s;
    dt_graph *graph;
    int n_arg;
    int result[DT_MAX_IN]; /* of the gradient of input i, -1: none */
    int replicas;
    int64_t batch[REPLICAS];
    dt_view arg[REPLICAS * (DT_MAX_IN + 1)];
} gradient_case;

static void trace_gradients(gradient_case *c) {
    sample *s = c->s;
    dt_trace *t = dt_trace_create("gradient");
    dt_value x[DT_MAX_IN], dx[DT_MAX_IN];
    char name[16];
    for (int i = 0; i < s->op->n_in; i++) x[i] = declare(t, "x", i, &s->in[i]);
    dt_value weights = declare(t, "weights", 0, &s->out);
    dt_value loss = dt_reduce_sum(dt_multiply(dt_emit(t, s->op, x, s->op->n_in, &s->attr), weights),
                                  DT_NO_AXIS);
    dt_return(t, "loss", loss);
    dt_gradients_of(loss, x, s->op->n_in, dx);
    int results = 1;
    for (int i = 0; i < s->op->n_in; i++) {
        c->result[i] = dx[i].trace ? results++ : -1;
        snprintf(name, sizeof name, "dx%d", i);
        if (dx[i].trace) dt_return(t, name, dx[i]);
    }
    check(dt_trace_end(t, &c->graph), s->op->name);
    c->n_arg = s->op->n_in + 1;
}

static void interpret(const gradient_case *c, dt_interpretation *out) {
    check(dt_interpret(c->graph, NULL, c->replicas, c->batch, c->arg, out), c->s->op->name);
}

/* The losses of all replicas together. */
static double total_loss(const gradient_case *c) {
    dt_interpretation out;
    double sum = 0;
    interpret(c, &out);
    for (int r = 0; r < c->replicas; r++) sum += dt_cell_double(&out.result[r * out.n_results], 0);
    dt_interpretation_release(&out);
    return sum;
}

static void expect_gradient(gradient_case *c, int replica, int i, const dt_view *dx) {
    const double step = 1e-5;
    dt_view *x = &c->arg[replica * c->n_arg + i];
    for (int64_t k = 0, n = dt_type_elements(&x->type); k < n; k++) {
        double kept = dt_cell_double(x, k);
        dt_cell_set_double(x, k, kept + step);
        double above = total_loss(c);
        dt_cell_set_double(x, k, kept - step);
        double below_it = total_loss(c), slope = (above - below_it) / (2 * step);
        dt_cell_set_double(x, k, kept);
        if (!near(dt_cell_double(dx, k), slope, 1e-6))
            fail_msg("%s: d loss / d input %d[%d] is %.10g, differences say %.10g (seed %d)",
                     c->s->op->name, i, (int)k, dt_cell_double(dx, k), slope, (int)seed);
    }
}

static void feed_gradients(gradient_case *c, int64_t batch) {
    sample *s = c->s;
    c->replicas = s->op->traits.collective ? REPLICAS : 1;
    for (int r = 0; r < c->replicas; r++) {
        c->batch[r] = batch;
        for (int i = 0; i < c->n_arg; i++) {
            dt_type type = dt_type_at(i < s->op->n_in ? &s->in[i] : &s->out, batch);
            c->arg[r * c->n_arg + i] =
                view_fill(s, &type, i < s->op->n_in ? s->fill[i] : FILL_NORMAL);
        }
    }
}

static void expect_gradients(sample *s, int64_t batch) {
    gradient_case c = {.s = s};
    dt_interpretation out;
    if (!s->op->grad) return;
    trace_gradients(&c);
    feed_gradients(&c, batch);
    interpret(&c, &out);
    for (int i = 0; i < s->op->n_in; i++) {
        bool flows = dt_dtype_is_float(s->in[i].dtype) && !(s->no_gradient >> i & 1);
        if (flows != (c.result[i] >= 0))
            fail_msg("%s: %s gradient to input %d", s->op->name, flows ? "no" : "an unexpected", i);
        for (int r = 0; flows && r < c.replicas; r++)
            expect_gradient(&c, r, i, &out.result[r * out.n_results + c.result[i]]);
    }
    dt_interpretation_release(&out);
    views_release(c.arg, c.replicas * c.n_arg);
    dt_graph_destroy(c.graph);
}

static void test_gradients_agree_with_differences(void **state) {
    (void)state;
    for_samples("gradient", 60, true, expect_gradients);
}

static void expect_empty_gradients(sample *s, int64_t batch) {
    (void)batch;
    gradient_case c = {.s = s};
    dt_interpretation out;
    if (!s->op->grad) return;
    trace_gradients(&c);
    feed_gradients(&c, 0);
    interpret(&c, &out);
    assert_true(c.result[0] >= 0 || c.result[s->op->n_in - 1] >= 0);
    dt_interpretation_release(&out);
    views_release(c.arg, c.replicas * c.n_arg);
    dt_graph_destroy(c.graph);
}

static void test_gradients_of_empty_batches(void **state) {
    (void)state;
    for_samples("gradient of nothing", 6, true, expect_empty_gradients);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_complete),
        cmocka_unit_test(test_roles_are_true),
        cmocka_unit_test(test_elementwise_ops_keep_shapes),
        cmocka_unit_test(test_empty_batches),
        cmocka_unit_test(test_float32_is_float64_rounded),
        cmocka_unit_test(test_gradients_agree_with_differences),
        cmocka_unit_test(test_gradients_of_empty_batches),
    };
    return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
