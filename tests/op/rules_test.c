/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes rely on in every row: parts computed along a factor of its rule join to the whole,
 * its linearity flags say what is true, and its folded forms compute what the op computes for each
 * replica.
 */
#include "table.h"

/* ---- parts join to the whole ---- */

/* One factor of a rule, cut in two: sizes are cut at `at` of `of`, proportionally. */
typedef struct cut {
    int factor;
    int64_t at, of;
} cut;

static dt_type part_type(const dt_type *t, const int8_t *factors, const cut *c, bool second) {
    dt_type out = *t;
    for (int d = 0; d < t->rank; d++)
        if (factors[d] == c->factor)
            out.dim[d] = t->dim[d] / c->of * (second ? c->of - c->at : c->at);
    return out;
}

/* Copies between a part and its place in the whole. */
static void move_part(const dt_view *part, const dt_view *whole, const int8_t *factors,
                      const cut *c, bool second, bool to_whole) {
    int64_t stride[DT_MAX_RANK], from = 0;
    dt_walk w = {0};
    dt_strides(&whole->type, stride);
    for (int d = 0; d < whole->type.rank; d++) {
        dt_walk_add(&w, part->type.dim[d], stride[d], 0);
        if (factors[d] == c->factor && second)
            from += whole->type.dim[d] / c->of * c->at * stride[d];
    }
    for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w))
        if (to_whole) dt_cell_copy(whole, from + w.at[0], part, i);
        else dt_cell_copy(part, i, whole, from + w.at[0]);
}

static bool names(const int8_t *factors, int rank, int factor) {
    for (int d = 0; d < rank; d++)
        if (factors[d] == factor) return true;
    return false;
}

/* Partial results of the two parts, joined: sums, or maxima for a reduce of that kind. */
static void join_partial(const sample *s, const dt_view *into, const dt_view *part) {
    int kind = s->op == &dt_op_reduce           ? s->attr.reduce.kind
               : s->op == &dt_op_segment_reduce ? s->attr.segment.reduce.kind
                                                : DT_REDUCE_SUM;
    for (int64_t i = 0, n = dt_type_elements(&into->type); i < n; i++) {
        double a = dt_cell_double(into, i), b = dt_cell_double(part, i);
        dt_cell_set_double(into, i,
                           kind == DT_REDUCE_SUM   ? a + b
                           : kind == DT_REDUCE_MAX ? fmax(a, b)
                                                   : fmin(a, b));
    }
}

/* An application of the op whose parts are looked at. */
typedef struct whole {
    sample *s;
    dt_env env;
    int n_in;
    dt_view in[DT_MAX_IN], out;
    dt_rule rule;
} whole;

static const int8_t *factors_of(const whole *w, int i) {
    return w->rule.in[w->s->op->traits.collective ? 0 : i];
}

static dt_view eval_part(const whole *w, const cut *c, bool second) {
    dt_view in[DT_MAX_IN];
    for (int i = 0; i < w->n_in; i++) {
        dt_type type = part_type(&w->in[i].type, factors_of(w, i), c, second);
        in[i] = view_create(&type);
        move_part(&in[i], &w->in[i], factors_of(w, i), c, second, false);
    }
    dt_type type = part_type(&w->out.type, w->rule.out, c, second);
    dt_view out = sample_eval(w->s, &w->env, in, &type);
    views_release(in, w->n_in);
    return out;
}

static void expect_join(const whole *w, const cut *c) {
    char what[96];
    dt_view part[2] = {eval_part(w, c, false), eval_part(w, c, true)},
            joined = view_create(&w->out.type);
    if (names(w->rule.out, w->out.type.rank, c->factor)) {
        for (int k = 0; k < 2; k++) move_part(&part[k], &joined, w->rule.out, c, k == 1, true);
    } else {
        move_part(&part[0], &joined, w->rule.out, c, false, true);
        join_partial(w->s, &joined, &part[1]);
    }
    snprintf(what, sizeof what, "%s split along factor %d at %d of %d", w->s->op->name, c->factor,
             (int)c->at, (int)c->of);
    expect_views(what, &joined, &w->out, 1e-12);
    views_release(part, 2);
    free(joined.data);
}

static int64_t common_divisor(int64_t a, int64_t b) {
    return b == 0 ? a : common_divisor(b, a % b);
}

static int64_t divisor_of_sizes(int64_t so_far, const dt_type *t, const int8_t *factors,
                                int factor) {
    for (int d = 0; d < t->rank; d++)
        if (factors[d] == factor) so_far = common_divisor(so_far, t->dim[d]);
    return so_far;
}

/* Into as many parts as all dimensions of a factor allow, cut in two at a random place. Factors
 * without dimensions have none. */
static int expect_joins(whole *w) {
    int joins = 0;
    for (int factor = 0; factor < 2 * DT_MAX_RANK; factor++) {
        cut c = {.factor = factor, .of = divisor_of_sizes(0, &w->out.type, w->rule.out, factor)};
        for (int i = 0; i < w->n_in; i++)
            c.of = divisor_of_sizes(c.of, &w->in[i].type, factors_of(w, i), factor);
        if (c.of < 2) continue;
        c.at = 1 + below(w->s, (int)c.of - 1);
        expect_join(w, &c);
        joins++;
    }
    return joins;
}

/* Rules of types with B and of types with a number in its place are both relied on. */
static int expect_rule(sample *s, int64_t batch, bool symbolic) {
    int32_t border[MOST_SEGMENTS + 1];
    whole w = {.s = s, .env = sample_env(s, batch, border)};
    dt_type in[DT_MAX_IN], out = dt_type_at(&s->out, batch);
    for (int i = 0; i < s->op->n_in; i++) in[i] = dt_type_at(&s->in[i], batch);
    w.n_in = sample_inputs(s, batch, w.in);
    w.out = sample_eval(s, &w.env, w.in, &out);
    s->op->rule(symbolic ? s->in : in, symbolic ? &s->out : &out, &s->attr, &w.rule);
    int joins = expect_joins(&w);
    views_release(w.in, w.n_in);
    free(w.out.data);
    return joins;
}

static void test_parts_join_to_the_whole(void **state) {
    (void)state;
    enum { TRIALS = 40 };
    int n;
    const dt_op *const *ops = all_ops(&n);
    print_message("seed %d\n", (int)seed);
    for (int i = 0; i < n; i++) {
        int joins = 0;
        for (int k = 0; k < TRIALS && ops[i]->eval; k++) {
            dt_random r;
            sample s = draw(ops[i], &r, "rule", i * TRIALS + k, true);
            joins += expect_rule(&s, batches[k % N_BATCHES], k % 2 == 0);
        }
        bool is_whole = !ops[i]->eval || ops[i] == &dt_op_replica_id ||
                        ops[i] == &dt_op_get_dimension_size || ops[i] == &dt_op_segment_sizes ||
                        ops[i] == &dt_op_example_id;
        assert_int_equal(joins == 0, is_whole);
    }
}

/* The factor of B is dimension 0 of everything that has rows: what fold and the threads of a
 * machine split. */
static void expect_rows_split(sample *s, int64_t batch) {
    (void)batch;
    dt_rule rule;
    if (s->op == &dt_op_iota || s->op == &dt_op_example_id || s->op == &dt_op_argmax ||
        s->op == &dt_op_segment_broadcast || !dt_type_has_batch(&s->out))
        return;
    s->op->rule(s->in, &s->out, &s->attr, &rule);
    assert_true(rule.out[0] >= 0);
    for (int i = 0; i < s->op->n_in; i++)
        if (dt_type_has_batch(&s->in[i])) assert_int_equal(rule.in[i][0], rule.out[0]);
}

static void test_rules_split_rows(void **state) {
    (void)state;
    for_samples("rows", 20, true, expect_rows_split);
}

/* ---- flags of linearity ---- */

static dt_view sum_of(const dt_view *a, const dt_view *b) {
    dt_view out = view_create(&a->type);
    for (int64_t i = 0, n = dt_type_elements(&a->type); i < n; i++)
        dt_cell_set_double(&out, i, dt_cell_double(a, i) + dt_cell_double(b, i));
    return out;
}

/* f(x + x') = f(x) + f(x'), where the inputs in `moving` change and the others stay. */
static void expect_sums(sample *s, int64_t batch, unsigned moving) {
    dt_view a[DT_MAX_IN], b[DT_MAX_IN], ab[DT_MAX_IN], out[3];
    dt_env env = {.batch = batch};
    dt_type type = dt_type_at(&s->out, batch);
    int n = sample_inputs(s, batch, a);
    for (int i = 0; i < n; i++) {
        b[i] = moving >> i & 1 ? view_fill(s, &a[i].type, FILL_NORMAL) : a[i];
        ab[i] = moving >> i & 1 ? sum_of(&a[i], &b[i]) : a[i];
    }
    out[0] = sample_eval(s, &env, a, &type);
    out[1] = sample_eval(s, &env, b, &type);
    out[2] = sample_eval(s, &env, ab, &type);
    dt_view sum = sum_of(&out[0], &out[1]);
    expect_views(s->op->name, &out[2], &sum, 1e-12);
    for (int i = 0; i < n; i++)
        if (moving >> i & 1) {
            free(b[i].data);
            free(ab[i].data);
        }
    views_release(a, n);
    views_release(out, 3);
    free(sum.data);
}

static void expect_linearity(sample *s, int64_t batch) {
    for (int i = 0; i < s->op->n_in; i++)
        if (s->op->linear >> i & 1) expect_sums(s, batch, 1u << i);
    if (s->op->traits.additive) expect_sums(s, batch, (1u << s->op->n_in) - 1);
}

static void test_linear_and_additive_flags(void **state) {
    (void)state;
    for_samples("linear", 12, true, expect_linearity);
    assert_int_equal(dt_op_multiply.linear, 3);
    assert_int_equal(dt_op_dot_general.linear, 3);
    assert_int_equal(dt_op_divide.linear, 1);
    assert_true(dt_op_add.traits.additive && dt_op_subtract.traits.additive);
}

/* ---- folded forms ---- */

/* Emits the folded form of s over arguments of types `in` and runs it on `arg`; the caller releases
 * *out. */
static void run_folded(const sample *s, bool segmented, const dt_type *in, const dt_env *env,
                       const dt_view *arg, dt_interpretation *out) {
    dt_trace *t = dt_trace_create("folded");
    dt_value x[DT_MAX_IN];
    dt_node node = sample_node(s);
    dt_graph *g = NULL;
    for (int i = 0; i < s->op->n_in; i++) x[i] = declare(t, "x", i, &in[i]);
    dt_fold_call call = {
        .trace = t, .node = &node, .in = x, .segments = MOST_SEGMENTS, .cut = DT_CUT_REPLICAS};
    dt_return(t, "out", segmented ? s->op->segment(&call) : s->op->stack(&call));
    check(dt_trace_end(t, &g), s->op->name);
    check(dt_interpret(g, env, 1, &env->batch, arg, out), s->op->name);
    dt_graph_destroy(g);
}

static dt_type stacked(const dt_type *t) {
    dt_type out = {.dtype = t->dtype, .rank = t->rank + 1, .dim = {MOST_SEGMENTS}};
    for (int d = 0; d < t->rank; d++) out.dim[d + 1] = t->dim[d];
    return out;
}

static void expect_stacked(sample *s, int64_t batch) {
    dt_type type[DT_MAX_IN], out_type = stacked(&s->out);
    dt_view in[DT_MAX_IN], entry[DT_MAX_IN];
    dt_env env = {.batch = batch, .replicas = 1};
    dt_interpretation out;
    if (!s->op->stack) return;
    for (int i = 0; i < s->op->n_in; i++) {
        type[i] = stacked(&s->in[i]);
        in[i] = view_fill(s, &type[i], s->fill[i]);
    }
    run_folded(s, false, type, &env, in, &out);
    assert_true(dt_type_equal(&out.result[0].type, &out_type));
    for (int k = 0; k < MOST_SEGMENTS; k++) {
        for (int i = 0; i < s->op->n_in; i++) entry[i] = dt_view_entry(&in[i], k);
        dt_view one = sample_eval(s, &env, entry, &s->out), is = dt_view_entry(&out.result[0], k);
        expect_views(s->op->name, &is, &one, 1e-12);
        free(one.data);
    }
    views_release(in, s->op->n_in);
    dt_interpretation_release(&out);
}

static void test_stacked_forms_compute_every_entry(void **state) {
    (void)state;
    for_samples("stack", 15, false, expect_stacked);
    assert_non_null(dt_op_dot_general.stack);
    assert_non_null(dt_op_broadcast_in_dim.stack);
}

/* Rows lo .. hi of examples of all inputs, in one segment's own batch. */
static void expect_segment(sample *s, const dt_view *in, const int32_t *border, int k,
                           const dt_view *is) {
    dt_view rows[DT_MAX_IN];
    dt_env env = {.batch = border[k + 1] - border[k], .replicas = 1};
    for (int i = 0; i < s->op->n_in; i++)
        rows[i] = dt_view_rows(&in[i], -s->in[i].dim[0] * border[k], -s->in[i].dim[0] * env.batch);
    dt_view one = sample_eval(s, &env, rows, &s->out);
    expect_views(s->op->name, is, &one, 1e-12);
    free(one.data);
}

static bool is_all_rows(const sample *s) {
    for (int i = 0; i < s->op->n_in; i++)
        if (!dt_type_has_batch(&s->in[i])) return false;
    return s->op->n_in > 0 && !dt_type_has_batch(&s->out);
}

static void expect_segmented(sample *s, int64_t batch) {
    int32_t border[MOST_SEGMENTS + 1];
    dt_env env = sample_env(s, batch, border);
    dt_view in[DT_MAX_IN];
    dt_interpretation out;
    if (!s->op->segment || !is_all_rows(s)) return;
    sample_inputs(s, batch, in);
    run_folded(s, true, s->in, &env, in, &out);
    for (int k = 0; k < MOST_SEGMENTS; k++) {
        dt_view is = dt_view_entry(&out.result[0], k);
        expect_segment(s, in, border, k, &is);
    }
    views_release(in, s->op->n_in);
    dt_interpretation_release(&out);
}

static void test_segmented_forms_compute_every_segment(void **state) {
    (void)state;
    for_samples("segment", 60, true, expect_segmented);
    assert_non_null(dt_op_dot_general.segment);
    assert_non_null(dt_op_reduce.segment);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_join_to_the_whole),
        cmocka_unit_test(test_rules_split_rows),
        cmocka_unit_test(test_linear_and_additive_flags),
        cmocka_unit_test(test_stacked_forms_compute_every_entry),
        cmocka_unit_test(test_segmented_forms_compute_every_segment),
    };
    return cmocka_run_group_tests_name("op rules", tests, NULL, NULL);
}
