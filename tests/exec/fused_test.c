/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fused steps against the interpreter, bit for bit: sums, differences, products, quotients, roots
 * and choices are rounded once by both. Operands lie in memory as a whole, repeat along rows, stand
 * for a row each, are numbers, bools and integers; rows are shorter and longer than a strip, and
 * pieces begin within one.
 */
#include "kit.h"

#include "base/sanitizer.h"
#include "exec/strip_program.h"
#include "op/cells.h"

typedef struct setting {
    dt_trace *t;
    /* (B,n) (B,n) (n) (B) () uint8 (B,n) int32 (B) */
    dt_value x, y, row, each, number, byte, count;
    dt_value weight; /* a variable (n) */
    dt_variable *variable;
} setting;

typedef dt_value (*maker)(setting *s);

static dt_value whole(setting *s) { return dt_add(dt_multiply(s->x, s->y), s->x); }
static dt_value bias(setting *s) { return dt_maximum(dt_add(s->x, s->row), dt_like(s->x, 0)); }
static dt_value bias_of_variable(setting *s) {
    return dt_subtract(dt_divide(s->x, s->y), s->weight);
}
static dt_value two_biases(setting *s) { return dt_multiply(dt_add(s->x, s->row), s->weight); }
static dt_value rows_each(setting *s) {
    return dt_multiply(s->x, dt_broadcast_rows(s->each, &dt_node_of(s->x)->type));
}
static dt_value everything(setting *s) {
    return dt_add(dt_multiply(dt_add(rows_each(s), s->row), s->number), s->y);
}
static dt_value bytes(setting *s) {
    return dt_multiply(dt_convert(s->byte, DT_FLOAT32), dt_constant(s->t, 1.0 / 255));
}
static dt_value counts(setting *s) {
    dt_value n = dt_convert(s->count, DT_FLOAT32);
    return dt_add(s->x, dt_broadcast_rows(dt_multiply(n, n), &dt_node_of(s->x)->type));
}
static dt_value choices(setting *s) {
    dt_value mask = dt_compare(s->x, s->y, DT_GT);
    dt_return(s->t, "mask", mask); /* stored as bool, and used */
    return dt_select(mask, dt_add(s->x, s->row), dt_multiply(s->y, s->number));
}
static dt_value choices_by_what_is_stored(setting *s) {
    dt_value mask = dt_compare(s->x, s->y, DT_LE), other = dt_reduce(s->x, DT_REDUCE_MAX, 1);
    dt_value again = dt_select(mask, dt_add(s->x, other), s->y); /* other is of a later segment */
    return dt_add(again, dt_convert(mask, DT_FLOAT32));
}
static dt_value several_results(setting *s) {
    dt_value a = dt_add(s->x, s->row), b = dt_multiply(a, a);
    dt_return(s->t, "a", a);
    dt_return(s->t, "b", b);
    return dt_subtract(b, dt_multiply(a, s->number));
}
static dt_value scalars(setting *s) {
    return dt_add(dt_multiply(s->number, s->number), dt_sqrt(dt_abs(s->number)));
}
static dt_value broadcast_alone(setting *s) {
    return dt_broadcast_to(s->row, &dt_node_of(s->x)->type);
}
static dt_value rows_alone(setting *s) {
    return dt_broadcast_rows(s->each, &dt_node_of(s->x)->type);
}
static dt_value number_alone(setting *s) {
    return dt_broadcast_to(s->number, &dt_node_of(s->x)->type);
}
static dt_value column(setting *s) {
    dt_value one = dt_reshape(s->each, 2, (int64_t[]){DT_BATCH, 1});
    /* (B) over (B, 1) */
    return dt_add(dt_multiply(one, s->number), dt_broadcast_rows(s->each, &dt_node_of(one)->type));
}
static dt_value long_chain(setting *s) {
    dt_value v = s->x;
    for (int i = 0; i < 30; i++)
        v = i % 3 == 0   ? dt_add(v, s->row)
            : i % 3 == 1 ? dt_multiply(v, dt_constant(s->t, 0.5))
                         : dt_subtract(s->y, v);
    return v;
}
/* (B, 9, n): rows that are several strips long, end within one, or begin within one */
static dt_value rows_inside(setting *s) {
    dt_type type = dt_node_of(s->x)->type;
    type.rank = 3;
    type.dim[2] = type.dim[1];
    type.dim[1] = 9;
    dt_value x = dt_broadcast_in_dim(s->x, &type, (int8_t[]){0, 2}),
             y = dt_broadcast_in_dim(s->y, &type, (int8_t[]){0, 2});
    return dt_add(dt_multiply(x, y), dt_broadcast_in_dim(s->each, &type, (int8_t[]){0}));
}
static dt_value updated(setting *s) {
    dt_value now = dt_subtract(
        s->weight, dt_multiply(dt_reduce(s->x, DT_REDUCE_MAX, 1), dt_constant(s->t, 0.25)));
    dt_assign(s->t, s->variable, now);
    return dt_add(s->y, s->weight); /* the old one */
}

static const maker makers[] = {
    whole,           bias,       bias_of_variable, two_biases, rows_each,
    everything,      bytes,      counts,           choices,    choices_by_what_is_stored,
    several_results, scalars,    broadcast_alone,  rows_alone, number_alone,
    column,          long_chain, rows_inside,      updated,
};

/* ---- running one ---- */

static dt_value declare(setting *s, const char *name, dt_dtype d, int rank, const int64_t *dim) {
    dt_type type = dt_type_of(d, rank, dim);
    return dt_trace_declare(s->t, name, &type);
}

static setting start(int64_t n) {
    setting s = {.t = dt_trace_create("fused")};
    dt_type type = dt_type_of(DT_FLOAT32, 1, &n);
    ok_for(dt_variable_alloc(&s.variable, "weight", &type, true), 0);
    s.weight = dt_read(s.t, s.variable);
    s.x = declare(&s, "x", DT_FLOAT32, 2, (int64_t[]){DT_BATCH, n});
    s.y = declare(&s, "y", DT_FLOAT32, 2, (int64_t[]){DT_BATCH, n});
    s.row = declare(&s, "row", DT_FLOAT32, 1, &n);
    s.each = declare(&s, "each", DT_FLOAT32, 1, (int64_t[]){DT_BATCH});
    s.number = declare(&s, "number", DT_FLOAT32, 0, NULL);
    s.byte = declare(&s, "byte", DT_UINT8, 2, (int64_t[]){DT_BATCH, n});
    s.count = declare(&s, "count", DT_INT32, 1, (int64_t[]){DT_BATCH});
    return s;
}

static void fill(dt_random *r, const dt_view *v) {
    for (int64_t i = 0; i < dt_type_elements(&v->type); i++)
        if (dt_dtype_is_float(v->type.dtype)) dt_cell_set_double(v, i, dt_random_normal(r));
        else dt_cell_set_int(v, i, (int64_t)dt_random_below(r, 256));
}

static dt_view *draw_arguments(const dt_graph *g, dt_random *r, int64_t batch) {
    dt_view *arg = calloc((size_t)g->n_args, sizeof *arg);
    for (int i = 0; i < g->n_args; i++) {
        dt_type type = dt_type_at(&g->node[g->arg[i].node].type, batch);
        arg[i] = (dt_view){type, calloc(1, bytes_of(&type) + 1)};
        fill(r, &arg[i]);
    }
    return arg;
}

static void expect_same_bits(const char *what, int which, int64_t batch, int64_t n,
                             const dt_view *is, const dt_view *ought) {
    if (!views_identical(is, ought))
        fail_msg("maker %d, (%lld, %lld): %s differs by %g", which, (long long)batch, (long long)n,
                 what, views_difference(is, ought));
}

static void run_one(dt_engine *e, const dt_graph *g, int which, dt_random *r, int64_t batch,
                    int64_t n) {
    dt_arena *arena = dt_arena_create();
    dt_view *arg = draw_arguments(g, r, batch), result[4];
    dt_env env = {.batch = batch, .replicas = 1};
    dt_exec *x = NULL;
    dt_interpretation oracle;
    fill(r, &(dt_view){g->state[0].variable->type, g->state[0].variable->host_data});
    ok_for(dt_interpret(g, NULL, 1, &batch, arg, &oracle), 0);
    ok_for(dt_exec_compile(
               &x, e,
               dt_partition((dt_graph *)g,
                            &(dt_partition_options){.batch = batch, .can_split = dt_exec_can_split},
                            arena)),
           0);
    ok_for(dt_exec_run(x, &env, arg, result), 0);
    for (int i = 0; i < g->n_results; i++)
        expect_same_bits(g->result[i].name, which, batch, n, &result[i], &oracle.result[i]);
    if (oracle.update[0].data)
        expect_same_bits("the variable", which, batch, n,
                         &(dt_view){g->state[0].variable->type, g->state[0].variable->host_data},
                         &oracle.update[0]);
    dt_exec_destroy(x);
    dt_interpretation_release(&oracle);
    views_release(arg, g->n_args);
    dt_arena_destroy(arena);
}

/* The widest rows take most of the time, and are divided among threads as others are: the thread
 * sanitizer does not see them. */
static void test_layouts(void **state) {
    (void)state;
    enum { WIDEST = DT_TSAN ? 600 : 3000 };
    static const int64_t columns[] = {1, 3, 7, 10, 100, 513, 1000, 1025, 3000},
                         batches[] = {1, 2, 5, 64, 300, 0};
    dt_engine *e = engine_with(2, DT_KERNELS_OPENBLAS);
    dt_random r = dt_random_stream(40, "fused", 0);
    for (size_t c = 0; c < sizeof columns / sizeof *columns && columns[c] <= WIDEST; c++)
        for (int m = 0; m < (int)(sizeof makers / sizeof *makers); m++) {
            setting s = start(columns[c]);
            dt_graph *g = NULL;
            dt_return(s.t, "result", makers[m](&s));
            ok_for(dt_trace_end(s.t, &g), 0);
            for (size_t b = 0; b < sizeof batches / sizeof *batches; b++)
                run_one(e, g, m, &r, batches[b], columns[c]);
            dt_graph_destroy(g);
            dt_variable_unref(s.variable);
        }
    dt_engine_close(e);
}

/* ---- static shapes, cut into slices: updates of large tables ---- */

static void test_updates_in_slices(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{784, 128}, {1000, 333}, {3, 70000}, {128, 10}, {400000, 1}};
    dt_engine *e = engine_with(3, DT_KERNELS_OPENBLAS);
    dt_random r = dt_random_stream(41, "slices", 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        dt_trace *t = dt_trace_create("update");
        dt_type type = dt_type_of(DT_FLOAT32, 2, sizes[i]), scalar = dt_scalar_type(DT_FLOAT32),
                row = dt_type_of(DT_FLOAT32, 1, &sizes[i][1]);
        dt_variable *v = NULL;
        ok_for(dt_variable_alloc(&v, "w", &type, true), 0);
        dt_value w = dt_read(t, v), rate = dt_trace_declare(t, "rate", &scalar),
                 g = dt_trace_declare(t, "g", &type);
        dt_value decay = dt_trace_declare(t, "decay", &row);
        dt_assign(
            t, v,
            dt_subtract(dt_multiply(w, decay),
                        dt_multiply(dt_divide(g, dt_add(dt_abs(g), dt_constant(t, 1))), rate)));
        dt_graph *graph = NULL;
        ok_for(dt_trace_end(t, &graph), 0);
        run_one(e, graph, (int)i, &r, sizes[i][0], sizes[i][1]);
        dt_graph_destroy(graph);
        dt_variable_unref(v);
    }
    dt_engine_close(e);
}

/* ---- updates of several variables ---- */

enum { SLICE = 300 };
typedef struct update_setting {
    dt_trace *t;
    dt_variable *v[3];
    dt_value w, m, u, g, scale, rate, wide; /* (300); scale, rate (); wide (300) */
} update_setting;

static dt_value lerp(dt_value a, dt_value b, dt_value share) {
    return dt_add(a, dt_multiply(dt_subtract(b, a), dt_broadcast_to(share, &dt_node_of(a)->type)));
}

static dt_value scaled_gradient(update_setting *s) { return dt_multiply(s->g, s->scale); }

static void assign_adam(update_setting *s, dt_value g, dt_value alpha) {
    dt_value m = lerp(s->m, g, dt_constant(s->t, 0.1)),
             u = lerp(s->u, dt_multiply(g, g), dt_constant(s->t, 0.001));
    dt_assign(s->t, s->v[1], m);
    dt_assign(s->t, s->v[2], u);
    dt_assign(s->t, s->v[0],
              dt_subtract(s->w, dt_divide(dt_multiply(m, alpha),
                                          dt_add(dt_sqrt(u), dt_constant(s->t, 1e-7)))));
}

static void adam(update_setting *s) { assign_adam(s, scaled_gradient(s), s->rate); }
static void adam_with_a_rate_each(update_setting *s) {
    assign_adam(s, scaled_gradient(s), s->wide);
}
static void adam_with_the_gradient_shown(update_setting *s) {
    dt_value g = scaled_gradient(s);
    dt_return(s->t, "gradient", g);
    assign_adam(s, g, s->rate);
}
static void adam_with_new_values_shown(update_setting *s) {
    adam(s);
    dt_return(s->t, "m", dt_read(s->t, s->v[1]));
    dt_return(s->t, "change", dt_subtract(dt_read(s->t, s->v[0]), s->w));
}
static void adam_with_a_change_read(update_setting *s) {
    adam(s);
    dt_return(s->t, "double", dt_add(dt_read(s->t, s->v[2]), dt_read(s->t, s->v[2])));
}
static void momentum(update_setting *s) {
    dt_value m = dt_subtract(dt_multiply(s->m, dt_constant(s->t, 0.9)),
                             dt_multiply(scaled_gradient(s), s->rate));
    dt_assign(s->t, s->v[1], m);
    dt_assign(s->t, s->v[0], dt_add(s->w, m));
}
/* w by the old m, which is overwritten by what w was */
static void momentum_by_another(update_setting *s) {
    dt_value m = dt_subtract(dt_multiply(s->m, dt_constant(s->t, 0.9)),
                             dt_multiply(scaled_gradient(s), s->rate));
    dt_assign(s->t, s->v[1], dt_multiply(s->w, s->wide));
    dt_assign(s->t, s->v[0], dt_add(s->w, m));
}
static void sgd(update_setting *s) {
    dt_assign(s->t, s->v[0], dt_subtract(s->w, dt_multiply(scaled_gradient(s), s->rate)));
}
static void sgd_with_the_step_shown(update_setting *s) {
    dt_value step = dt_multiply(scaled_gradient(s), s->rate);
    dt_assign(s->t, s->v[0], dt_subtract(s->w, step));
    dt_return(s->t, "step", step);
}
static void sgd_of_the_gradient_itself(update_setting *s) {
    dt_value a = scaled_gradient(s);
    dt_assign(s->t, s->v[0], dt_subtract(a, dt_multiply(a, s->rate)));
}
static void mean(update_setting *s) { dt_assign(s->t, s->v[1], lerp(s->m, s->g, s->rate)); }
static void two_means(update_setting *s) {
    dt_assign(s->t, s->v[1], lerp(s->m, s->u, s->rate)); /* each by the other's old value */
    dt_assign(s->t, s->v[2], lerp(s->u, s->m, s->rate));
}

static void clipped(update_setting *s) {
    dt_value g =
        dt_minimum(dt_maximum(scaled_gradient(s), dt_constant(s->t, -0.5)), dt_constant(s->t, 0.5));
    dt_value most = dt_maximum(s->m, dt_abs(g));
    dt_assign(s->t, s->v[1], most);
    dt_assign(s->t, s->v[0],
              dt_subtract(s->w, dt_multiply(dt_divide(g, dt_sqrt(most)),
                                            dt_multiply(dt_sign(s->u), s->rate))));
}

typedef void (*update_maker)(update_setting *s);
static const update_maker updates[] = {
    adam,
    adam_with_a_rate_each,
    adam_with_the_gradient_shown,
    adam_with_new_values_shown,
    adam_with_a_change_read,
    momentum,
    momentum_by_another,
    sgd,
    sgd_with_the_step_shown,
    sgd_of_the_gradient_itself,
    mean,
    two_means,
    clipped,
};

/* Each fused step is one loop. */
static void expect_one_pass(const dt_exec *x, int which) {
    for (int i = 0; i < x->n_groups; i++)
        for (int k = 0; k < x->group[i].n_steps; k++) {
            const dt_strip_program *p = x->group[i].step[k].state;
            if (x->group[i].step[k].kernel == &dt_kernel_fused &&
                (p->n_passes != 1 || !p->pass[0].loop))
                fail_msg("update %d: %d passes", which, p->n_passes);
        }
}

static dt_graph *make_update(int which, dt_variable **v) {
    static const char *const names[] = {"w", "m", "u"};
    update_setting s = {.t = dt_trace_create("update")};
    dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){SLICE}),
            scalar = dt_scalar_type(DT_FLOAT32);
    dt_value *value[] = {&s.w, &s.m, &s.u};
    for (int i = 0; i < 3; i++) {
        ok_for(dt_variable_alloc(&v[i], names[i], &type, true), 0);
        s.v[i] = v[i];
        *value[i] = dt_read(s.t, v[i]);
    }
    s.g = dt_trace_declare(s.t, "g", &type);
    s.wide = dt_trace_declare(s.t, "wide", &type);
    s.scale = dt_trace_declare(s.t, "scale", &scalar);
    s.rate = dt_trace_declare(s.t, "rate", &scalar);
    updates[which](&s);
    dt_graph *g = NULL;
    ok_for(dt_trace_end(s.t, &g), 0);
    return g;
}

static void run_update(dt_engine *e, int which) {
    dt_variable *v[3] = {NULL};
    dt_graph *g = make_update(which, v);
    dt_arena *arena = dt_arena_create();
    dt_random r = dt_random_stream(42, "updates", (uint64_t)which);
    dt_view *arg = draw_arguments(g, &r, 1), result[4];
    dt_exec *x = NULL;
    dt_interpretation oracle;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < SLICE; k++)
            ((float *)v[i]->host_data)[k] = (float)dt_random_uniform(&r);
    ok_for(dt_exec_compile(
               &x, e,
               dt_partition(g, &(dt_partition_options){.batch = 1, .can_split = dt_exec_can_split},
                            arena)),
           0);
    for (int step = 0; step < 3; step++) {
        ok_for(dt_interpret(g, NULL, 1, &(int64_t){1}, arg, &oracle), 0);
        ok_for(dt_exec_run(x, &(dt_env){.batch = 1, .replicas = 1}, arg, result), 0);
        for (int i = 0; i < g->n_results; i++)
            expect_same_bits(g->result[i].name, which, step, SLICE, &result[i], &oracle.result[i]);
        for (int i = 0; i < g->n_states; i++)
            if (oracle.update[i].data)
                expect_same_bits(
                    g->state[i].variable->path, which, step, SLICE,
                    &(dt_view){g->state[i].variable->type, g->state[i].variable->host_data},
                    &oracle.update[i]);
        dt_interpretation_release(&oracle);
    }
    expect_one_pass(x, which);
    dt_exec_destroy(x);
    views_release(arg, g->n_args);
    dt_arena_destroy(arena);
    dt_graph_destroy(g);
    for (int i = 0; i < 3; i++) dt_variable_unref(v[i]);
}

static void test_updates(void **state) {
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    for (int s = dt_simd_list(list) - 1; s >= 0; s--) {
        dt_engine *e = NULL;
        ok_for(dt_engine_open(&e, &(dt_engine_options){.threads = 1,
                                                       .kernels = DT_KERNELS_OPENBLAS,
                                                       .isa = list[s]->name}),
               0);
        for (int i = 0; i < (int)(sizeof updates / sizeof *updates); i++) run_update(e, i);
        dt_engine_close(e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_updates_in_slices),
        cmocka_unit_test(test_updates),
    };
    return cmocka_run_group_tests_name("exec/fused", tests, NULL, NULL);
}
