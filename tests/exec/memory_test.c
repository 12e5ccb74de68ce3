/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena, and the room of tasks: values that live at the same time do not overlap, whoever reads
 * a value finds it alive, the size is known before the first step and refused when the system has
 * not so much. Over random steps, and for results that are old values of variables.
 */
#include "kit.h"

/* ---- the plan ---- */

static bool has_block(const dt_exec *x, int i) {
    return x->slot[i].kept || (x->slot[i].home == DT_HOME_ARENA && x->slot[i].owner == i);
}

static void check_block(const dt_exec *x, int i, uint64_t seed) {
    const dt_value_slot *s = &x->slot[i];
    if (s->offset % 64 || s->offset < 0 || s->offset + s->bytes > x->arena_bytes ||
        s->bytes < dt_type_bytes(&x->type[i]))
        fail_msg("seed %llu: %%%d lies outside of the arena", (unsigned long long)seed, i);
    for (int j = 0; j < i; j++) {
        const dt_value_slot *other = &x->slot[j];
        bool together = s->first <= other->last && other->first <= s->last;
        bool overlap =
            s->offset < other->offset + other->bytes && other->offset < s->offset + s->bytes;
        if (has_block(x, j) && together && overlap && s->bytes && other->bytes)
            fail_msg("seed %llu: %%%d and %%%d overlap", (unsigned long long)seed, i, j);
    }
}

/* Values of one task, and what else its group has. */
static void check_room(const dt_exec *x, int i, uint64_t seed) {
    const dt_value_slot *s = &x->slot[i];
    const dt_node_division *p = &x->p->piece[i];
    if (s->offset % 64 || s->offset < 0 || s->offset + s->bytes > x->group[p->group].own_bytes ||
        s->bytes * p->units < dt_type_bytes(&x->type[i]))
        fail_msg("seed %llu: %%%d lies outside of its task's room", (unsigned long long)seed, i);
    for (int j = 0; j < i; j++) {
        const dt_value_slot *other = &x->slot[j];
        bool together = other->home == DT_HOME_TASK && x->p->piece[j].group == p->group &&
                        s->first <= other->last && other->first <= s->last;
        if (together && s->offset < other->offset + other->bytes &&
            other->offset < s->offset + s->bytes && s->bytes && other->bytes)
            fail_msg("seed %llu: %%%d and %%%d overlap in their task", (unsigned long long)seed, i,
                     j);
    }
}

/* Node i is read in `segment`. */
static void expect_alive(const dt_exec *x, int i, int segment, uint64_t seed) {
    const dt_value_slot *s = &x->slot[x->slot[i].owner];
    if (s->home == DT_HOME_TASK && segment != x->p->piece[x->slot[i].owner].segment)
        fail_msg("seed %llu: %%%d is read in segment %d, but belongs to a task of another",
                 (unsigned long long)seed, i, segment);
    if (s->home == DT_HOME_ARENA && (segment < s->first || segment > s->last))
        fail_msg("seed %llu: %%%d is read in segment %d, but lives from %d to %d",
                 (unsigned long long)seed, i, segment, s->first, s->last);
}

/* A fused value has no memory, nor has what a tree absorbs: their readers read what they are made
 * of. */
static void check_reading(const dt_exec *x, int i, int segment, uint64_t seed) {
    for (int k = 0; k < x->g->node[i].n_in; k++) {
        int in = x->g->node[i].in[k];
        expect_alive(x, in, segment, seed);
        if (x->p->piece[in].absorbed) check_reading(x, in, segment, seed);
    }
}

static void check_plan(const dt_exec *x, uint64_t seed) {
    for (int i = 0; i < x->g->n_nodes; i++) {
        if (has_block(x, i)) check_block(x, i, seed);
        if (x->slot[i].home == DT_HOME_TASK) check_room(x, i, seed);
        if (x->p->piece[i].segment >= 0) {
            check_reading(x, i, x->p->piece[i].segment, seed);
            expect_alive(x, i, x->p->piece[i].segment, seed);
        }
    }
    for (int i = 0; i < x->g->n_results; i++)
        expect_alive(x, x->g->result[i].node, x->n_segments, seed);
}

static void test_random_plans(void **state) {
    (void)state;
    static const int64_t rows[] = {0, 1, 3, 64, 1000};
    dt_engine *e = engine_with(2, DT_KERNELS_OPENBLAS);
    print_message("seeds 9000 to 9099\n");
    for (uint64_t seed = 9000; seed < 9100; seed++) {
        lowered l = lower((random_kind)(seed % 2), seed, 2, seed % 3 ? 0 : 8);
        feed f = draw_feed(l.g, seed, 2, rows[seed % 5]);
        runnable r = compile(&l, e, &f);
        check_plan(r.exec, seed);
        assert_null(r.exec->memory);
        assert_true(dt_exec_arena_bytes(r.exec) >= r.exec->arena_bytes);
        runnable_release(&r);
        feed_release(&f);
        lowered_release(&l);
    }
    dt_engine_close(e);
}

/* Room for each lane's task, but never for more than all tasks. */
static void test_lanes_have_room_for_a_task(void **state) {
    (void)state;
    static const int lanes[] = {1, 2, 3, 64};
    int tried = 0;
    print_message("seeds 9000 to 9019\n");
    for (uint64_t seed = 9000; seed < 9020; seed++) {
        int64_t before = 0, all = 0;
        for (int i = 0; i < 4; i++) {
            dt_engine *e = engine_with(lanes[i], DT_KERNELS_OPENBLAS);
            lowered l = lower((random_kind)(seed % 2), seed, 2, 0);
            feed f = draw_feed(l.g, seed, 2, 1000);
            runnable r = compile(&l, e, &f);
            all = 0;
            for (int k = 0; k < r.exec->n_groups; k++)
                all += r.exec->group[k].own_bytes * r.exec->group[k].units;
            assert_true(r.exec->task_bytes >= before && r.exec->task_bytes <= all);
            before = r.exec->task_bytes;
            runnable_release(&r);
            feed_release(&f);
            lowered_release(&l);
            dt_engine_close(e);
        }
        tried += all > 0;
    }
    assert_true(tried > 0);
}

/* ---- results that lie elsewhere ---- */

typedef struct pair {
    dt_variable *v[2];
    dt_value w[2];
    dt_trace *t;
} pair;

static pair start(void) {
    pair p = {.t = dt_trace_create("pair")};
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 3});
    for (int i = 0; i < 2; i++) {
        ok_for(dt_variable_alloc(&p.v[i], i ? "b" : "a", &type, true), 0);
        for (int k = 0; k < 6; k++) ((float *)p.v[i]->host_data)[k] = (float)(10 * i + k);
        p.w[i] = dt_read(p.t, p.v[i]);
    }
    return p;
}

/* Runs the step of `p` and compares it with the interpreter. */
static void expect_like_oracle(pair *p) {
    dt_graph *g = NULL;
    dt_interpretation oracle;
    dt_view result[4];
    dt_exec *x = NULL;
    dt_arena *arena = dt_arena_create();
    dt_engine *e = engine_with(2, DT_KERNELS_OPENBLAS);
    dt_env env = {.batch = 1, .replicas = 1};
    ok_for(dt_trace_end(p->t, &g), 0);
    ok_for(dt_interpret(g, NULL, 1, &(int64_t){1}, NULL, &oracle), 0);
    ok_for(dt_exec_compile(
               &x, e,
               dt_partition(g, &(dt_partition_options){.batch = 1, .can_split = dt_exec_can_split},
                            arena)),
           0);
    ok_for(dt_exec_run(x, &env, NULL, result), 0);
    for (int i = 0; i < g->n_results; i++)
        if (!views_identical(&result[i], &oracle.result[i]))
            fail_msg("the result '%s' is another", g->result[i].name);
    for (int i = 0; i < g->n_states; i++)
        if (oracle.update[i].data)
            assert_memory_equal(g->state[i].variable->host_data, oracle.update[i].data, 24);
    check_plan(x, 0);
    dt_exec_destroy(x);
    dt_engine_close(e);
    dt_interpretation_release(&oracle);
    dt_arena_destroy(arena);
    dt_graph_destroy(g);
    for (int i = 0; i < 2; i++) dt_variable_unref(p->v[i]);
}

static dt_value twice(dt_value x) { return dt_add(x, x); }

static void test_old_values_are_kept(void **state) {
    (void)state;
    pair p = start();
    dt_return(p.t, "old", p.w[0]);
    dt_return(p.t, "line", dt_reshape(p.w[0], 1, (int64_t[]){6}));
    dt_assign(p.t, p.v[0], twice(p.w[0]));
    expect_like_oracle(&p);
}

static void test_variables_exchange_values(void **state) {
    (void)state;
    pair p = start();
    dt_assign(p.t, p.v[0], p.w[1]);
    dt_assign(p.t, p.v[1], p.w[0]);
    dt_return(p.t, "old", p.w[1]);
    expect_like_oracle(&p);
}

static void test_a_variable_keeps_another_s_old_value(void **state) {
    (void)state;
    pair p = start();
    dt_assign(p.t, p.v[0], twice(p.w[0]));
    dt_assign(p.t, p.v[1], dt_reshape(dt_reshape(p.w[0], 1, (int64_t[]){6}), 2, (int64_t[]){2, 3}));
    expect_like_oracle(&p);
    p = start();
    dt_assign(p.t, p.v[0], twice(p.w[0]));
    dt_assign(p.t, p.v[1], p.w[0]);
    expect_like_oracle(&p);
}

static void test_one_value_for_two_variables(void **state) {
    (void)state;
    pair p = start();
    dt_value both = twice(p.w[0]);
    dt_assign(p.t, p.v[0], both);
    dt_assign(p.t, p.v[1], both);
    dt_return(p.t, "both", both);
    expect_like_oracle(&p);
}

/* The new value is computed between the two concatenations, of which the inner one is not stored. */
static void test_concatenations_keep_old_values(void **state) {
    (void)state;
    for (int named = 0; named < 2; named++) {
        pair p = start();
        dt_value line = dt_reshape(p.w[0], 1, (int64_t[]){6}),
                 old = named ? dt_reshape(line, 2, (int64_t[]){3, 2}) : p.w[0],
                 inner = dt_concatenate((dt_value[]){old, old}, 2, 1), now = twice(p.w[0]),
                 other = named ? dt_transpose(dt_tanh(now), (int[]){1, 0}) : dt_tanh(now);
        dt_assign(p.t, p.v[0], now);
        dt_return(p.t, "all", dt_concatenate((dt_value[]){inner, other}, 2, 1));
        expect_like_oracle(&p);
    }
}

static void test_constants_and_unchanged_variables_as_results(void **state) {
    (void)state;
    pair p = start();
    dt_return(p.t, "constant", dt_like(p.w[0], 0.5));
    dt_return(p.t, "same", p.w[1]);
    dt_assign(p.t, p.v[0], dt_like(p.w[0], 7));
    expect_like_oracle(&p);
}

/* ---- too much ---- */

/* A step over so many rows that its arena cannot even be counted. */
static void test_too_large_arenas_are_refused(void **state) {
    (void)state;
    const int64_t columns = INT64_C(1) << 35, rows = 1 << 24; /* 2^61 bytes a value */
    dt_type wide = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, columns});
    dt_trace *t = dt_trace_create("wide");
    dt_type scalar = dt_scalar_type(DT_FLOAT32);
    dt_value x = dt_trace_declare(t, "x", &scalar);
    for (int i = 0; i < 6; i++) { /* each read as a whole by who makes a row of the next */
        char name[8] = {'y', (char)('0' + i), 0};
        dt_value y = dt_broadcast_to(dt_multiply(x, dt_constant(t, i + 2)), &wide);
        dt_return(t, name, y);
    }
    dt_graph *g = NULL;
    dt_exec *e_x = NULL;
    dt_arena *arena = dt_arena_create();
    dt_engine *e = engine_with(1, DT_KERNELS_OPENBLAS);
    dt_view result[8];
    float one = 1;
    dt_view arg = {scalar, &one};
    ok_for(dt_trace_end(t, &g), 0);
    ok_for(
        dt_exec_compile(
            &e_x, e,
            dt_partition(g, &(dt_partition_options){.batch = rows, .can_split = dt_exec_can_split},
                         arena)),
        0);
    assert_true(dt_exec_arena_bytes(e_x) == INT64_MAX);
    for (int again = 0; again < 2; again++) {
        dt_status *s = dt_exec_run(e_x, &(dt_env){.batch = rows, .replicas = 1}, &arg, result);
        assert_int_equal(dt_status_number(s), DT_E_NO_MEMORY);
        dt_status_free(s);
    }
    dt_exec_destroy(e_x);
    dt_engine_close(e);
    dt_arena_destroy(arena);
    dt_graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_plans),
        cmocka_unit_test(test_lanes_have_room_for_a_task),
        cmocka_unit_test(test_old_values_are_kept),
        cmocka_unit_test(test_variables_exchange_values),
        cmocka_unit_test(test_a_variable_keeps_another_s_old_value),
        cmocka_unit_test(test_one_value_for_two_variables),
        cmocka_unit_test(test_concatenations_keep_old_values),
        cmocka_unit_test(test_constants_and_unchanged_variables_as_results),
        cmocka_unit_test(test_too_large_arenas_are_refused),
    };
    return cmocka_run_group_tests_name("exec/memory", tests, NULL, NULL);
}
