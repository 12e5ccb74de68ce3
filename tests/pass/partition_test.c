/* SPDX-License-Identifier: Apache-2.0 */
/* Partition: what every program keeps, over random steps; the dangers of updating in place, one by
 * one; the text of a training step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "pass/pass.h"
#include "../support/outcome.h"
#include "../support/program_check.h"

/* ---- random steps ---- */

/* Some nodes cannot be split, the same in every call. */
static bool some_can_split(const dt_graph *g, int node, dt_division by) {
    return g->node[node].op->name[0] % 3 != 0 && by != DT_BY_HEADS;
}

static dt_graph *lowered(const random_graph *g, int replicas, int shards) {
    dt_folded folded;
    dt_graph *sharded = NULL, *out = NULL;
    dt_status *s = dt_fold(g->graph, g->distributed, replicas, &folded);
    if (!s && shards) s = dt_shards(folded.graph, shards, &sharded);
    if (!s) s = dt_simplify(shards ? sharded : folded.graph, &out);
    if (s) fail_msg("seed %llu: %s", (unsigned long long)g->seed, dt_status_text(s));
    if (sharded) dt_graph_destroy(sharded);
    dt_graph_destroy(folded.graph);
    return out;
}

static void check_one(uint64_t seed) {
    static const int64_t batches[] = {0, 1, 3, 64, 257, 5000};
    static const random_kind kinds[] = {RANDOM_FIT, RANDOM_SOUP, RANDOM_WIDE};
    random_graph *g = random_graph_draw(kinds[seed % 3], seed);
    dt_graph *low = lowered(g, 1 + (int)(seed % 4), seed % 3 ? 0 : 8);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        dt_partition_options o = {.batch = batches[i],
                                  .can_split = seed % 5 ? NULL : some_can_split};
        dt_arena *arena = dt_arena_create();
        program_check(dt_partition(low, &o, arena), seed);
        dt_arena_destroy(arena);
    }
    dt_graph_destroy(low);
    random_graph_destroy(g);
}

static void test_random_programs_keep_the_rules(void **state) {
    (void)state;
    print_message("seeds 5000 to 5399\n");
    for (uint64_t seed = 5000; seed < 5400; seed++) check_one(seed);
}

/* ---- updates in place ---- */

/* Large enough to be cut in pieces: (400, 400). */
typedef struct setting {
    dt_trace *trace;
    dt_variable *v[2];
    dt_value w[2], x; /* x (B, 400) */
} setting;

static setting start(int64_t rows) {
    setting s = {.trace = dt_trace_create("update")};
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){rows, 400}),
            batch = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 400});
    for (int i = 0; i < 2; i++) {
        assert_null(dt_variable_alloc(&s.v[i], i ? "b" : "a", &type, true));
        s.w[i] = dt_read(s.trace, s.v[i]);
    }
    s.x = dt_trace_declare(s.trace, "x", &batch);
    return s;
}

typedef struct finished {
    dt_graph *g;
    dt_arena *arena;
    dt_program *p;
} finished;

static finished finish(setting *s, int64_t batch) {
    finished f = {.arena = dt_arena_create()};
    assert_null(dt_trace_end(s->trace, &f.g));
    f.p = dt_partition(f.g, &(dt_partition_options){.batch = batch}, f.arena);
    program_check(f.p, 0);
    return f;
}

static void release(setting *s, finished *f) {
    dt_arena_destroy(f->arena);
    dt_graph_destroy(f->g);
    for (int i = 0; i < 2; i++) dt_variable_unref(s->v[i]);
}

/* x' x / 1000: (400, 400), made in a later segment than anything of the rows */
static dt_value late(setting *s) {
    dt_dot_attr gram = {.n_contract = 1};
    return dt_dot_general(dt_tanh(s->x), s->x, &gram);
}

static bool copied(const finished *f, int state) { return f->p->copy_back[state]; }

static void test_plain_updates_are_in_place(void **state) {
    (void)state;
    setting s = start(400);
    dt_assign(s.trace, s.v[0], dt_subtract(s.w[0], late(&s)));
    finished f = finish(&s, 64);
    assert_false(copied(&f, 0));
    assert_true(f.p->piece[f.g->state[0].update].units > 1);
    release(&s, &f);
}

/* Who reads the same piece of the old value, but later than the update could be made, holds it
 * back. */
static void test_late_readers_hold_updates_back(void **state) {
    (void)state;
    setting s = start(400);
    dt_assign(s.trace, s.v[0], dt_multiply(s.w[0], dt_like(s.w[0], 0.5)));
    dt_assign(s.trace, s.v[1], dt_add(s.w[1], dt_multiply(s.w[0], late(&s))));
    finished f = finish(&s, 64);
    release(&s, &f);
}

/* A broadcast waits for its reader, but not beyond the update of what it reads. */
static void test_broadcasts_do_not_sink_below_updates(void **state) {
    (void)state;
    setting s = start(400);
    dt_type row = dt_type_of(DT_FLOAT32, 1, (int64_t[]){400});
    dt_variable *bias = NULL;
    assert_null(dt_variable_alloc(&bias, "bias", &row, true));
    dt_value b = dt_read(s.trace, bias), wide = dt_broadcast_to(b, &dt_node_of(s.w[0])->type);
    dt_assign(s.trace, bias, dt_multiply(b, dt_like(b, 0.5)));
    dt_assign(s.trace, s.v[0], dt_subtract(s.w[0], dt_multiply(late(&s), wide)));
    finished f = finish(&s, 64);
    release(&s, &f);
    dt_variable_unref(bias);
}

/* Lion's mean: what is made of a slot alone is made with the update that reads it, not stored until
 * the gradient is there. */
static void test_shares_of_slots_wait_for_the_gradient(void **state) {
    (void)state;
    setting s = start(400);
    dt_value share = dt_multiply(s.w[0], dt_like(s.w[0], 0.9));
    dt_assign(s.trace, s.v[0], dt_add(share, late(&s)));
    finished f = finish(&s, 64);
    int update = f.g->state[0].update, made = f.g->node[update].in[0];
    assert_ptr_equal(f.g->node[made].op, &dt_op_multiply);
    assert_false(copied(&f, 0));
    assert_int_equal(f.p->piece[made].segment, f.p->piece[update].segment);
    assert_int_equal(f.p->piece[made].group, f.p->piece[update].group);
    release(&s, &f);
}

/* An update that depends on a sum over the gradient is computed behind that, from the gradient. */
static void test_updates_wait_for_a_number_of_the_gradient(void **state) {
    (void)state;
    setting s = start(400);
    dt_value made = late(&s), all = dt_reduce_sum(made, DT_NO_AXIS);
    dt_value next = dt_add(s.w[0], dt_multiply(made, dt_like(made, 0.1)));
    dt_value good = dt_compare(all, dt_like(all, 0), DT_LT);
    dt_assign(
        s.trace, s.v[0],
        dt_select(dt_broadcast_to(good, &(dt_type){.dtype = DT_BOOL, .rank = 2, .dim = {400, 400}}),
                  next, s.w[0]));
    finished f = finish(&s, 64);
    const int update = f.g->state[0].update, sum = f.g->node[update].in[1];
    assert_ptr_equal(f.g->node[sum].op, &dt_op_add);
    assert_int_equal(f.p->piece[sum].segment, f.p->piece[update].segment);
    assert_int_equal(f.p->piece[f.g->node[sum].in[1]].segment, f.p->piece[update].segment);
    release(&s, &f);
}

/* A reshape is another name for the same memory. */
static void test_reshapes_read_what_they_name(void **state) {
    (void)state;
    setting s = start(400);
    dt_value line = dt_reshape(s.w[0], 1, (int64_t[]){160000});
    dt_value late_line = dt_reshape(late(&s), 1, (int64_t[]){160000});
    dt_assign(s.trace, s.v[0], dt_multiply(s.w[0], dt_like(s.w[0], 0.5)));
    dt_return(s.trace, "sum", dt_reduce_sum(dt_multiply(line, late_line), 0));
    finished f = finish(&s, 64);
    release(&s, &f);
}

/* The old value is read by what needs the new one: then the new one waits in memory of its own. */
static void test_readers_behind_the_update_make_a_copy(void **state) {
    (void)state;
    setting s = start(400);
    dt_value now = dt_multiply(s.w[0], dt_like(s.w[0], 0.5));
    dt_assign(s.trace, s.v[0], now);
    dt_return(s.trace, "change", dt_subtract(dt_exponential(now), s.w[0]));
    finished f = finish(&s, 64);
    assert_true(copied(&f, 0));
    release(&s, &f);
}

static void test_results_and_shared_updates_are_copied(void **state) {
    (void)state;
    setting s = start(400);
    dt_value now = dt_multiply(s.w[0], dt_like(s.w[0], 0.5));
    dt_assign(s.trace, s.v[0], now);
    dt_assign(s.trace, s.v[1], now);
    finished f = finish(&s, 64);
    assert_int_equal(copied(&f, 0) + copied(&f, 1), 1);
    release(&s, &f);
    s = start(400);
    now = dt_multiply(s.w[0], dt_like(s.w[0], 0.5));
    dt_assign(s.trace, s.v[0], now);
    dt_return(s.trace, "now", now);
    f = finish(&s, 64);
    assert_true(copied(&f, 0));
    release(&s, &f);
}

static void test_exchanged_variables_are_copied(void **state) {
    (void)state;
    setting s = start(400);
    dt_assign(s.trace, s.v[0], s.w[1]);
    dt_assign(s.trace, s.v[1], s.w[0]);
    finished f = finish(&s, 64);
    assert_true(copied(&f, 0) && copied(&f, 1));
    release(&s, &f);
}

/* What is made of a table as a whole, read while its pieces are overwritten. */
static void test_whole_readers_come_a_segment_before(void **state) {
    (void)state;
    setting s = start(400);
    dt_assign(s.trace, s.v[0], dt_multiply(s.w[0], dt_like(s.w[0], 0.5)));
    dt_return(s.trace, "norm", dt_reduce_sum(dt_multiply(s.w[0], s.w[0]), DT_NO_AXIS));
    dt_return(s.trace, "turned", dt_transpose(s.w[0], (int[]){1, 0}));
    dt_return(s.trace, "y", dt_matmul(s.x, s.w[0]));
    finished f = finish(&s, 64);
    release(&s, &f);
}

/*
 * A gradient that is made as a whole, in a segment in which one thread works, goes to the next,
 * where pieces keep all threads busy, and takes its update along; not if rows want it there.
 */
static void test_whole_gradients_go_beside_pieces(void **state) {
    (void)state;
    for (int wanted = 0; wanted < 2; wanted++) {
        setting s = start(10);
        const dt_type few = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 10});
        dt_dot_attr by_rows = {.n_contract = 1};
        dt_value h = dt_tanh(s.x), sum = dt_reduce_sum(h, 0),
                 gradient = dt_dot_general(dt_trace_declare(s.trace, "y", &few), h, &by_rows);
        dt_assign(s.trace, s.v[0], dt_subtract(s.w[0], gradient));
        if (wanted) sum = dt_add(sum, dt_reduce_sum(gradient, 0));
        dt_return(s.trace, "rows", dt_subtract(h, dt_broadcast_to(sum, &dt_node_of(h)->type)));
        finished f = finish(&s, 64);
        const int update = f.g->state[0].update, made = f.g->node[update].in[1],
                  rows = f.g->result[0].node;
        assert_true(f.p->piece[made].units == 1 && f.p->piece[rows].units == 2);
        assert_int_equal(f.p->piece[made].segment, f.p->piece[rows].segment - wanted);
        if (!wanted) assert_int_equal(f.p->piece[update].group, f.p->piece[made].group);
        assert_false(copied(&f, 0));
        release(&s, &f);
    }
}

/* Two gradients, which share the rate, wait for rows alone: two threads may make them. Sums of rows
 * go with one of them. */
static void test_whole_gradients_are_tasks_of_their_own(void **state) {
    (void)state;
    setting s = start(10);
    const dt_type few = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 10}),
                  number = dt_type_of(DT_FLOAT32, 0, NULL);
    dt_dot_attr by_rows = {.n_contract = 1};
    dt_value y = dt_trace_declare(s.trace, "y", &few),
             rate = dt_negate(dt_trace_declare(s.trace, "rate", &number)), h = dt_tanh(s.x);
    dt_value of[] = {dt_dot_general(y, h, &by_rows), dt_dot_general(y, dt_tanh(h), &by_rows)};
    for (int k = 0; k < 2; k++)
        dt_assign(s.trace, s.v[k],
                  dt_subtract(s.w[k],
                              dt_multiply(of[k], dt_broadcast_to(rate, &dt_node_of(of[k])->type))));
    dt_return(s.trace, "sum", dt_reduce_sum(h, 0));
    finished f = finish(&s, 64);
    const dt_node_division *made[2];
    for (int k = 0; k < 2; k++) {
        const dt_node_division *update = &f.p->piece[f.g->state[k].update];
        made[k] = &f.p->piece[f.g->node[f.g->node[f.g->state[k].update].in[1]].in[0]];
        assert_true(made[k]->units == 1 && made[k]->group == update->group &&
                    made[k]->segment == update->segment);
    }
    assert_int_equal(made[0]->segment, made[1]->segment);
    assert_int_not_equal(made[0]->group, made[1]->group);
    const int sum = f.p->piece[f.g->result[0].node].group;
    assert_true(sum == made[0]->group || sum == made[1]->group);
    release(&s, &f);
}

/* ---- the number of pieces ---- */

static int pieces_of(int64_t rows, int64_t batch) {
    setting s = start(rows);
    dt_return(s.trace, "y", rows ? dt_tanh(s.w[0]) : dt_tanh(s.x));
    finished f = finish(&s, batch);
    int units = f.p->piece[f.g->result[0].node].units;
    release(&s, &f);
    return units;
}

static void test_pieces_follow_sizes(void **state) {
    (void)state;
    static const struct {
        int64_t rows, batch;
        int pieces;
    } sizes[] = {
        {0, 0, 1},    {0, 1, 1},    {0, 63, 1},    {0, 64, 2},       {0, 511, 2},
        {0, 512, 4},  {0, 1024, 8}, {0, 2048, 8},  {0, 1 << 20, 16}, {1, 64, 1},
        {240, 64, 1}, {400, 64, 2}, {2000, 64, 4}, {100000, 64, 16},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (pieces_of(sizes[i].rows, sizes[i].batch) != sizes[i].pieces)
            fail_msg("(%lld, 400), B = %lld: %d pieces, not %d", (long long)sizes[i].rows,
                     (long long)sizes[i].batch, pieces_of(sizes[i].rows, sizes[i].batch),
                     sizes[i].pieces);
}

/* A product with all 50 steps of a sequence, and `n` products of a step. */
static int units_of_steps(int n, int64_t batch) {
    dt_type rows = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 50, 32}),
            square = dt_type_of(DT_FLOAT32, 2, (int64_t[]){32, 32});
    dt_trace *t = dt_trace_create("steps");
    dt_graph *g = NULL;
    dt_value x = dt_trace_declare(t, "x", &rows), w = dt_iota(t, &square, 0), all = dt_matmul(x, w),
             y = dt_reduce(x, DT_REDUCE_SUM, 2u);
    for (int i = 0; i < n; i++) y = dt_matmul(y, w);
    dt_return(t, "all", all);
    dt_return(t, "y", y);
    assert_null(dt_trace_end(t, &g));
    const int units = dt_row_units(g, batch);
    dt_graph_destroy(g);
    return units;
}

/* Steps of a recurrent layer are products of few rows, which small pieces would slow down. One
 * such product of many changes nothing. */
static void test_pieces_have_rows_of_a_step(void **state) {
    (void)state;
    assert_int_equal(units_of_steps(1, 64), 8);
    assert_int_equal(units_of_steps(50, 64), 2);
    assert_int_equal(units_of_steps(50, 16), 2);
    assert_int_equal(units_of_steps(50, 1), 1);
    assert_int_equal(units_of_steps(1, 1024), 16);
    assert_int_equal(units_of_steps(50, 256), 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_have_rows_of_a_step),
        cmocka_unit_test(test_pieces_follow_sizes),
        cmocka_unit_test(test_plain_updates_are_in_place),
        cmocka_unit_test(test_late_readers_hold_updates_back),
        cmocka_unit_test(test_broadcasts_do_not_sink_below_updates),
        cmocka_unit_test(test_shares_of_slots_wait_for_the_gradient),
        cmocka_unit_test(test_updates_wait_for_a_number_of_the_gradient),
        cmocka_unit_test(test_reshapes_read_what_they_name),
        cmocka_unit_test(test_readers_behind_the_update_make_a_copy),
        cmocka_unit_test(test_results_and_shared_updates_are_copied),
        cmocka_unit_test(test_exchanged_variables_are_copied),
        cmocka_unit_test(test_whole_readers_come_a_segment_before),
        cmocka_unit_test(test_whole_gradients_go_beside_pieces),
        cmocka_unit_test(test_whole_gradients_are_tasks_of_their_own),
        cmocka_unit_test(test_random_programs_keep_the_rules),
    };
    return cmocka_run_group_tests_name("pass/partition", tests, NULL, NULL);
}
