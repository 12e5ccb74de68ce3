/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partition over devices: random steps with random notes over random numbers of devices give what
 * the reference interpreter says of the whole step, run both ways: the program of one device in
 * lockstep on all, and all devices' work as one graph.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "../support/cut.h"
#include "../support/notes.h"
#include "../support/outcome.h"
#include "../support/status.h"

/* ---- a step, cut ---- */

typedef struct drawn {
    char name[32];
    random_graph *g;
    dt_folded folded;
    dt_graph *noted;
    cut cut;
    feed f;
    dt_view *arg;
} drawn;

/* How a step is cut: with a place for each op, or all on all devices; in time as well. */
typedef struct way {
    bool places;
    int micro; /* micro-batches, at most */
} way;

static int draw_micro(uint64_t seed, int most) {
    dt_random r = dt_random_stream(seed, "micro", 0);
    return 1 + (int)dt_random_below(&r, (uint64_t)most);
}

/* Whether `t` without dimension `lacks` - 1, or all of it, is what `slot` is. */
static bool fits(const dt_type *slot, const dt_type *t, int lacks) {
    bool fits = slot->rank == t->rank - (lacks > 0);
    for (int d = 0; fits && d < slot->rank; d++)
        fits = slot->dim[d] == t->dim[d + (lacks > 0 && d >= lacks - 1)];
    return fits;
}

/* Every other variable is a slot, of the first that it could belong to. */
static void draw_slots(random_graph *g) {
    for (int i = 0; i < g->n_variables; i++) {
        dt_variable *v = g->variable[i];
        *(i % 2 ? &v->slot : &v->trainable) = true;
        for (int k = 0; v->slot && k < g->n_variables && !v->of; k += 2)
            for (int lacks = 0; lacks <= g->variable[k]->type.rank && !v->of; lacks++)
                if (fits(&v->type, &g->variable[k]->type, lacks)) {
                    v->of = g->variable[k];
                    v->lacks = lacks;
                }
    }
}

static void draw(way y, uint64_t seed, drawn *c) {
    static const random_kind kinds[] = {RANDOM_FIT, RANDOM_SOUP, RANDOM_IMAGES, RANDOM_SOUP};
    random_kind kind = kinds[seed % 4];
    static const int sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 2, 4, 8};
    static const int64_t rows[] = {4, 8, 12, 6, 16, 24, 5};
    dt_random r = dt_random_stream(seed, "devices", 0);
    int devices = sizes[dt_random_below(&r, 11)];
    int64_t batch[2] = {rows[dt_random_below(&r, 7)], 0};
    *c = (drawn){.g = random_graph_draw(kind, seed)};
    snprintf(c->name, sizeof c->name, "seed %llu", (unsigned long long)seed);
    int replicas = 1 + (int)dt_random_below(&r, 2);
    if (replicas == 2) batch[1] = batch[0];
    ok_for(dt_fold(c->g->graph, c->g->distributed, replicas, &c->folded), seed);
    c->f = feed_make(c->g, seed, replicas, batch);
    c->noted =
        (y.places ? notes_draw_places : notes_draw)(c->folded.graph, seed, c->f.total, devices);
    dt_spmd_options o = {.devices = devices,
                         .batch = c->f.total,
                         .places = y.places,
                         .micro = draw_micro(seed, y.micro)};
    if (devices <= 4 && dt_random_below(&r, 2) == 0) {
        static const int counts[] = {1, 2, 3, 4, 5, 6, 12};
        /* more axes: here all rows are one replica's */
        o.replicas = counts[dt_random_below(&r, devices <= 2 ? 7 : 6)];
        o.how.over_replicas = (dt_over_replicas)dt_random_below(&r, 3);
        draw_slots(c->g);
    }
    c->cut = cut_make(c->noted, &o, c->name);
    c->arg = feed_folded(&c->f, &c->folded);
}

static void release(drawn *c) {
    views_release(c->arg, c->f.n_args);
    feed_release(&c->f);
    cut_release(&c->cut);
    dt_graph_destroy(c->noted);
    dt_graph_destroy(c->folded.graph);
    random_graph_destroy(c->g);
}

/* Whether devices add up floats that one device would have added in one go. */
static bool adds_over_devices(const dt_graph *g) {
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *n = &g->node[i];
        bool joins = n->op == &dt_op_across_all_reduce || n->op == &dt_op_across_reduce_scatter;
        if (joins && dt_dtype_is_float(n->type.dtype) &&
            ((const dt_across_attr *)n->attr)->kind == DT_REDUCE_SUM)
            return true;
    }
    return false;
}

static void expect_bits(const drawn *c, const char *what, const dt_view *is, const dt_view *ought) {
    if (ought->data && !views_identical(is, ought))
        fail_msg("%s: the bits of %s are others than before the cut", c->name, what);
}

/* Rows, heads, columns of outputs: every number is computed as before, by somebody. */
static bool expect_the_same_bits(const drawn *c, const dt_env *env, const dt_interpretation *is) {
    const dt_graph *g = c->noted;
    dt_interpretation whole;
    if (adds_over_devices(c->cut.spmd->local)) return false;
    ok_for(dt_interpret(g, env, 1, &c->f.total, c->arg, &whole), c->g->seed);
    for (int i = 0; i < g->n_results; i++)
        expect_bits(c, g->result[i].name, &is->result[i], &whole.result[i]);
    for (int i = 0; i < g->n_states; i++)
        expect_bits(c, g->state[i].variable->path, &is->update[i], &whole.update[i]);
    dt_interpretation_release(&whole);
    return true;
}

/* All devices' work as one graph does as the reference does; the program in lockstep does as that
 * graph. True: even the bits are the same. */
static bool expect_the_same(const drawn *c) {
    dt_env env = feed_env(&c->f);
    dt_interpretation oracle = oracle_run(c->g, &c->f), is;
    ok_for(dt_interpret(c->cut.expanded, &env, 1, &c->f.total, c->arg, &is), c->g->seed);
    expect_outcome(c->g, &c->f, &oracle,
                   &(outcome){.result = is.result, .update = is.update, .spread = c->folded.result},
                   1e-4);
    cut_expect_lockstep(&c->cut, &env, c->arg, is.result, is.update, 1e-4);
    bool bits = expect_the_same_bits(c, &env, &is);
    dt_interpretation_release(&is);
    dt_interpretation_release(&oracle);
    return bits;
}

static void print_program(const drawn *c) {
    dt_str text = {0};
    dt_spmd_print(c->cut.spmd, &text);
    puts(dt_str_text(&text));
    dt_str_release(&text);
}

/* What the programs had: each of these is to be met often. */
typedef struct met {
    const dt_op *op;
    int least, times; /* in 1,000 programs */
} met;

/* SPMD_SEED=n runs that one; SPMD_COUNT=m: m seeds from it on; SPMD_PRINT=1 prints programs. */
static uint64_t from_environment(const char *name, uint64_t otherwise) {
    return getenv(name) ? strtoull(getenv(name), NULL, 10) : otherwise;
}

/* Whether the bits are those of the step before it was cut, and some value is cut at all. */
static bool run_seed(way y, uint64_t seed, met *list, int n) {
    drawn c;
    draw(y, seed, &c);
    if (getenv("SPMD_PRINT")) print_program(&c);
    bool bits = expect_the_same(&c) && cut_count(&c.cut, NULL) > 0;
    for (int k = 0; k < n; k++) list[k].times += cut_count(&c.cut, list[k].op);
    release(&c);
    return bits;
}

/* How many kept the bits. */
static int run_seeds(way y, uint64_t first, uint64_t count, met *list, int n_list) {
    uint64_t from = from_environment("SPMD_SEED", first),
             n = from_environment("SPMD_COUNT", getenv("SPMD_SEED") ? 1 : count);
    int exact = 0;
    for (uint64_t seed = from; seed < from + n; seed++) exact += run_seed(y, seed, list, n_list);
    print_message("seeds %llu to %llu, %d to the bit:", (unsigned long long)from,
                  (unsigned long long)(from + n - 1), exact);
    for (int k = 0; k < n_list; k++) print_message(" %d %s", list[k].times, list[k].op->name);
    print_message("\n");
    for (int k = 0; k < n_list && n == count; k++) assert_true(list[k].times >= list[k].least);
    return exact;
}

static void test_random_steps(void **state) {
    (void)state;
    met list[] = {
        {&dt_op_across_all_reduce, 1000, 0},    {&dt_op_across_all_gather, 1000, 0},
        {&dt_op_across_reduce_scatter, 100, 0}, {&dt_op_across_all_to_all, 100, 0},
        {&dt_op_across_own_part, 1000, 0},      {&dt_op_across_own_start, 100, 0},
        {&dt_op_across_gather_part, 10, 0},     {&dt_op_attention, 50, 0},
        {&dt_op_attention_grad, 50, 0},         {&dt_op_across_collective_permute, 100, 0}};
    int exact = run_seeds((way){.micro = 1}, 7000, 1000, list, sizeof list / sizeof *list);
    assert_true(getenv("SPMD_SEED") || exact >= 10);
}

static void test_random_places(void **state) {
    (void)state;
    met list[] = {{&dt_op_across_transfer, 5000, 0},
                  {&dt_op_across_all_gather, 100, 0},
                  {&dt_op_across_own_part, 100, 0}};
    int exact =
        run_seeds((way){.places = true, .micro = 1}, 17000, 500, list, sizeof list / sizeof *list);
    assert_true(getenv("SPMD_SEED") || exact >= 50);
}

static void test_random_micro_batches(void **state) {
    (void)state;
    met list[] = {{&dt_op_across_transfer, 2000, 0}, {&dt_op_across_all_reduce, 500, 0}};
    run_seeds((way){.places = true, .micro = 4}, 27000, 250, list, sizeof list / sizeof *list);
}

static void test_random_micro_batches_on_all_devices(void **state) {
    (void)state;
    met list[] = {{&dt_op_across_all_reduce, 200, 0}};
    run_seeds((way){.micro = 4}, 37000, 100, list, sizeof list / sizeof *list);
}

/* Seeds that were wrong once: a constant beside a sum under way. */
static void test_seeds_of_old_faults(void **state) {
    (void)state;
    static const uint64_t seeds[] = {308083};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        run_seed((way){.micro = 1}, seeds[i], NULL, 0);
}

/* A variable with a copy for each replica, which adds up what the replica has seen. */
static dt_graph *counting_step(dt_variable *seen) {
    dt_graph *g = NULL;
    dt_trace *t = dt_trace_create("counting");
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 8});
    dt_sharding_attr columns = {.kind = DT_SHARDING_OTHER, .rank = 2, .parts = {1, 4}};
    dt_value x = dt_annotate(dt_trace_declare(t, "x", &type), &columns), before = dt_read(t, seen);
    dt_assign(t, seen, dt_add(before, dt_reduce(x, DT_REDUCE_SUM, 1)));
    dt_return(t, "before", dt_multiply(before, dt_like(before, 2)));
    ok_for(dt_trace_end(t, &g), 0);
    return g;
}

static void test_copies_of_replicas_are_split(void **state) {
    (void)state;
    enum { REPLICAS = 2, ROWS = 6 };
    const bool distributed[] = {true};
    float data[ROWS * 8];
    int32_t offsets[] = {0, 2, 6};
    dt_variable *seen;
    dt_folded folded;
    dt_interpretation is;
    for (int i = 0; i < ROWS * 8; i++) data[i] = (float)(i % 7) - 3;
    ok_for(dt_variable_alloc(&seen, "seen", &(dt_type){.dtype = DT_FLOAT32, .rank = 1, .dim = {8}},
                             false),
           0);
    ok_for(dt_variable_diverge(seen, REPLICAS), 0);
    dt_graph *g = counting_step(seen);
    ok_for(dt_fold(g, distributed, REPLICAS, &folded), 0);
    cut c = cut_make(folded.graph, &(dt_spmd_options){.devices = 4, .batch = ROWS},
                     "a copy for each replica");
    dt_layout columns = {.axes = {0, 3}};
    assert_true(dt_layout_equal(&c.spmd->state[0], &columns));
    dt_view x = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){ROWS, 8}), data};
    dt_env env = {.offsets = offsets, .segments = REPLICAS};
    ok_for(dt_interpret(folded.graph, &env, 1, &(int64_t){ROWS}, &x, &is), 0);
    cut_expect_lockstep(&c, &env, &x, is.result, is.update, 1e-6);
    dt_interpretation_release(&is);
    cut_release(&c);
    dt_graph_destroy(folded.graph);
    dt_graph_destroy(g);
    dt_variable_unref(seen);
}

/* ---- a row that is not there ---- */

static dt_graph *looking_up(dt_variable *table) {
    dt_graph *g = NULL;
    dt_trace *t = dt_trace_create("looking up");
    dt_type type = dt_type_of(DT_INT32, 1, (int64_t[]){DT_BATCH});
    dt_sharding_attr rows = {.kind = DT_SHARDING_OTHER, .rank = 2, .parts = {4, 1}};
    dt_value token = dt_trace_declare(t, "token", &type);
    dt_return(t, "y", dt_gather(dt_annotate(dt_read(t, table), &rows), token));
    ok_for(dt_trace_end(t, &g), 0);
    return g;
}

/* Whoever splits a table still says what the whole one would have: the number, and how many rows
 * there are. */
static void test_a_split_table_refuses_as_a_whole_one(void **state) {
    (void)state;
    int32_t token[] = {3, 11, 12, 0};
    dt_variable *table;
    dt_interpretation is;
    dt_refusal refusal = {0};
    dt_env env = {.refusal = &refusal};
    ok_for(dt_variable_alloc(&table, "table",
                             &(dt_type){.dtype = DT_FLOAT32, .rank = 2, .dim = {12, 3}}, true),
           0);
    dt_graph *g = looking_up(table);
    cut c = cut_make(g, &(dt_spmd_options){.devices = 4, .batch = 4}, "a split table");
    assert_int_equal(cut_count(&c, &dt_op_across_gather_part), 1);
    dt_view x = {dt_type_of(DT_INT32, 1, (int64_t[]){4}), token};
    ok_for(dt_interpret(c.expanded, &env, 1, &(int64_t){4}, &x, &is), 0);
    dt_status *s = dt_refusal_status(&refusal);
    assert_non_null(s);
    assert_non_null(strstr(dt_status_text(s), "row number 12 at [2] is not in [0, 12)"));
    dt_status_free(s);
    dt_interpretation_release(&is);
    cut_release(&c);
    dt_graph_destroy(g);
    dt_variable_unref(table);
}

/* ---- replicas that are several axes ---- */

/* w (rows, columns) less the mean of what is read: an update. */
static dt_graph *update_of(dt_variable *v) {
    dt_graph *g = NULL;
    dt_trace *t = dt_trace_create("update");
    dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){DT_BATCH});
    dt_value mean = dt_reduce_mean(dt_trace_declare(t, "x", &type), DT_NO_AXIS);
    dt_assign(t, v, dt_subtract(dt_read(t, v), dt_broadcast_in_dim(mean, &v->type, (int8_t[]){0})));
    ok_for(dt_trace_end(t, &g), 0);
    return g;
}

static void test_divided_as_far_as_replicas_go(void **state) {
    (void)state;
    static const struct {
        int64_t rows, columns;
        int replicas;
        int64_t held;
    } rows[] = {
        {64, 48, 96, 32},
        {4096, 14, 192, 4096 * 14 / 64},
        {6, 10, 30, 2},
        {5, 7, 12, 35},
        {9, 9, 27, 3},
        {12, 1, 12, 1},
        {1 << 20, 1, 1 << 20, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_variable *v = dt_variable_declare(
            "w", &(dt_type){.dtype = DT_FLOAT32, .rank = 2, .dim = {rows[i].rows, rows[i].columns}},
            true);
        dt_graph *g = update_of(v);
        dt_spmd *s = NULL;
        ok_for(dt_spmd_create(&s, g,
                              &(dt_spmd_options){.devices = 1,
                                                 .batch = rows[i].replicas,
                                                 .replicas = rows[i].replicas,
                                                 .how.over_replicas = DT_OVER_WEIGHTS}),
               i);
        int64_t share = 4 * rows[i].rows * rows[i].columns / rows[i].replicas,
                held = dt_spmd_count_bytes(s).weights;
        assert_int_equal(held, 4 * rows[i].held);
        assert_int_equal(s->undivided.n, share != held);
        assert_int_equal(s->undivided.bytes, held - share);
        dt_spmd_destroy(s);
        dt_graph_destroy(g);
        dt_variable_unref(v);
    }
}

/* 192 replicas on 12 x 4 x 4 chips hold 4,096 rows in 64 parts, on blocks of 4 x 4 x 4 chips. */
static void test_divided_along_axes_of_the_slice(void **state) {
    (void)state;
    static const struct {
        int grid[4], rows;
        const char *mesh, *layout;
    } rows[] = {
        {{4, 4, 12, 1}, 4096, "[2,2,2,2,3,2,2]", "{0,1,2,3,5,6}"},
        {{1, 4, 3, 2}, 64, "[2,2,3,2]", "{0,1,3}"},
        {{1, 1, 1, 24}, 64, "[3,2,2,2]", "{1,2,3}"},
        {{4, 4, 4, 1}, 4096, "[64]", "{0}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int *g4 = rows[i].grid, replicas = g4[0] * g4[1] * g4[2] * g4[3];
        dt_variable *v = dt_variable_declare(
            "w", &(dt_type){.dtype = DT_FLOAT32, .rank = 2, .dim = {rows[i].rows, 1}}, true);
        dt_graph *g = update_of(v);
        dt_spmd *s = NULL;
        dt_str mesh = {0}, layout = {0};
        ok_for(dt_spmd_create(&s, g,
                              &(dt_spmd_options){.devices = 1,
                                                 .batch = replicas,
                                                 .replicas = replicas,
                                                 .grid = g4,
                                                 .how.over_replicas = DT_OVER_WEIGHTS}),
               i);
        for (int a = 0; a < s->mesh.n; a++)
            dt_str_printf(&mesh, "%s%d", a ? "," : "[", s->mesh.size[a]);
        dt_str_puts(&mesh, "]");
        dt_mesh_print_axes(s->state[0].axes[0], &layout);
        assert_string_equal(dt_str_text(&mesh), rows[i].mesh);
        assert_string_equal(dt_str_text(&layout), rows[i].layout);
        dt_str_release(&mesh);
        dt_str_release(&layout);
        dt_spmd_destroy(s);
        dt_graph_destroy(g);
        dt_variable_unref(v);
    }
}

/* 2 to the 21st power: a weight of 4 rows asks for 21 axes. */
static void test_a_mesh_has_room_for_so_many_axes(void **state) {
    (void)state;
    dt_variable *v =
        dt_variable_declare("w", &(dt_type){.dtype = DT_FLOAT32, .rank = 2, .dim = {4, 4}}, true);
    dt_graph *g = update_of(v);
    dt_spmd *s = NULL;
    dt_status *bad = dt_spmd_create(&s, g,
                                    &(dt_spmd_options){.devices = 1,
                                                       .batch = 1 << 21,
                                                       .replicas = 1 << 21,
                                                       .how.over_replicas = DT_OVER_WEIGHTS});
    assert_non_null(bad);
    assert_non_null(
        strstr(dt_status_text(bad),
               "2097152 replicas of 1 logical devices need a mesh of more than 20 axes"));
    dt_status_free(bad);
    dt_graph_destroy(g);
    dt_variable_unref(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_steps),
        cmocka_unit_test(test_random_places),
        cmocka_unit_test(test_random_micro_batches),
        cmocka_unit_test(test_random_micro_batches_on_all_devices),
        cmocka_unit_test(test_seeds_of_old_faults),
        cmocka_unit_test(test_copies_of_replicas_are_split),
        cmocka_unit_test(test_a_split_table_refuses_as_a_whole_one),
        cmocka_unit_test(test_divided_as_far_as_replicas_go),
        cmocka_unit_test(test_divided_along_axes_of_the_slice),
        cmocka_unit_test(test_a_mesh_has_room_for_so_many_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
