/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor against the interpreter: random folded steps, batches from none to 257 rows, both
 * kernel libraries and our own loops, steps in a row. And against itself: the bits must not depend
 * on the number of threads, or on what ran before.
 */
#include "kit.h"

#include "base/sanitizer.h"
#include "pass/spmd.h"
#include "../support/notes.h"

static const dt_kernels libraries[] = {DT_KERNELS_OPENBLAS, DT_KERNELS_ONEDNN, DT_KERNELS_OWN};
static const char *const library_names[] = {"OpenBLAS", "oneDNN", "own"};
enum { STEPS = 2 };

/* Under a sanitizer a step takes ten to forty times as long: about one seed in EVERY is tried,
 * whatever else follows from its number. */
#if DT_ASAN || DT_TSAN
enum { EVERY = 4 };
#else
enum { EVERY = 1 };
#endif

static bool is_tried(uint64_t seed) { return (seed * 0x9E3779B97F4A7C15u >> 40) % EVERY == 0; }

/* ---- against the interpreter ---- */

/* What no update names keeps its bits. */
static void expect_others_unchanged(const runnable *r, const dt_interpretation *oracle,
                                    unsigned char *const *before) {
    for (int i = 0; i < oracle->n_states; i++) {
        const dt_variable *v = r->l->graph->state[i].variable;
        if (!oracle->update[i].data && memcmp(before[i], v->host_data, bytes_of(&v->type)) != 0)
            fail_msg("seed %llu: '%s' has changed", (unsigned long long)r->l->g->seed, v->path);
    }
}

static unsigned char **copy_variables(const dt_graph *g) {
    unsigned char **copy = calloc((size_t)g->n_states + 1, sizeof *copy);
    for (int i = 0; i < g->n_states; i++) {
        copy[i] = malloc(bytes_of(&g->state[i].variable->type));
        memcpy(copy[i], g->state[i].variable->host_data, bytes_of(&g->state[i].variable->type));
    }
    return copy;
}

static void free_copies(unsigned char **copy, int n) {
    for (int i = 0; i < n; i++) free(copy[i]);
    free(copy);
}

/* One step of both from the same variables. */
static bool step_like_oracle(runnable *r) {
    const dt_graph *g = r->l->graph;
    unsigned char **before = copy_variables(g);
    dt_view *now = calloc((size_t)g->n_states + 1, sizeof *now);
    dt_interpretation oracle = oracle_run(r->l->g, r->f);
    run_step(r);
    for (int i = 0; i < g->n_states; i++)
        now[i] = (dt_view){g->state[i].variable->type, g->state[i].variable->host_data};
    expect_others_unchanged(r, &oracle, before);
    bool comparable = true;
    difference d =
        outcome_difference(r->l->g, r->f, &oracle, &(outcome){r->result, now, r->l->folded.result});
    /* once more with the variables of before, for the oracle's own sensitivity */
    if (d.size > 2e-4) {
        dt_view *kept = calloc((size_t)g->n_states + 1, sizeof *kept);
        for (int i = 0; i < g->n_states; i++) {
            dt_variable *v = g->state[i].variable;
            kept[i] = (dt_view){v->type, malloc(bytes_of(&v->type))};
            memcpy(kept[i].data, v->host_data, bytes_of(&v->type));
            memcpy(v->host_data, before[i], bytes_of(&v->type));
        }
        comparable = expect_outcome(r->l->g, r->f, &oracle,
                                    &(outcome){r->result, kept, r->l->folded.result}, 2e-4);
        views_release(kept, g->n_states);
    }
    free_copies(before, g->n_states);
    free(now);
    dt_interpretation_release(&oracle);
    return comparable;
}

static bool compare_lowered(dt_engine *e, lowered *l, feed *f) {
    bool comparable = true;
    cut_shards(l, f->total);
    runnable r = compile(l, e, f);
    for (int s = 0; comparable && s < STEPS; s++) comparable = step_like_oracle(&r);
    runnable_release(&r);
    feed_release(f);
    lowered_release(l);
    return comparable;
}

static bool compare_steps(dt_engine *e, random_kind kind, uint64_t seed, int64_t rows) {
    int replicas = 1 + (int)(seed % 3), shards = seed % 4 ? 0 : 1 + (int)(seed % MOST_SHARDS);
    lowered l = lower(kind, seed, replicas, shards);
    feed f = draw_feed(l.g, seed, replicas, rows);
    return compare_lowered(e, &l, &f);
}

/* The step cut over logical devices, all of them as one graph. */
static bool compare_cut(dt_engine *e, uint64_t seed, int64_t rows, int devices) {
    lowered l = lower((random_kind)(seed % 2), seed, 1, 0);
    feed f = draw_feed(l.g, seed, 1, rows);
    dt_graph *noted = notes_draw(l.graph, seed, rows, devices), *unrolled = NULL;
    dt_spmd *spmd = NULL;
    ok_for(dt_spmd_create(&spmd, noted, &(dt_spmd_options){.devices = devices, .batch = rows}),
           seed);
    ok_for(dt_spmd_expand(spmd, &unrolled), seed);
    dt_graph_destroy(l.graph);
    ok_for(dt_simplify(unrolled, &l.graph), seed);
    dt_graph_destroy(unrolled);
    dt_spmd_destroy(spmd);
    dt_graph_destroy(noted);
    return compare_lowered(e, &l, &f);
}

static const struct {
    int64_t rows;
    int steps;
} sizes[] = {{0, 20}, {1, 60}, {3, 80}, {64, 60}, {257, 30}};

static void compare_library(int which) {
    dt_engine *e = engine_with(3, libraries[which]);
    int compared = 0, incomparable = 0;
    if (!e) {
        print_message("%s is not installed\n", library_names[which]);
        skip();
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int k = 0; k < sizes[i].steps; k++)
            if (is_tried((uint64_t)k) && ++compared)
                incomparable += !compare_steps(e, (random_kind)(k % 2),
                                               6000 + 100 * i + (uint64_t)k, sizes[i].rows);
    for (uint64_t seed = 6600; seed < 6620; seed++)
        if (is_tried(seed) && ++compared)
            incomparable += !compare_steps(e, RANDOM_WIDE, seed, 1 + (int64_t)(seed % 9));
    print_message("seeds from 6000 to 6620: %d steps, %d not comparable\n", compared, incomparable);
    assert_true(incomparable * 50 <= compared);
    dt_engine_close(e);
}

static void test_steps_cut_over_devices(void **state) {
    (void)state;
    static const int devices[] = {2, 3, 4, 6, 8, 12, 16};
    static const int64_t rows[] = {8, 12, 128, 24, 5};
    dt_engine *e = engine_with(2, DT_KERNELS_AUTO);
    int incomparable = 0;
    for (uint64_t seed = 9000; seed < 9250; seed++)
        if (is_tried(seed))
            incomparable += !compare_cut(e, seed, rows[seed % 5], devices[seed % 7]);
    print_message("seeds 9000 to 9249, about 1 in %d: %d not comparable\n", EVERY, incomparable);
    assert_true(incomparable <= 5);
    dt_engine_close(e);
}

static void test_openblas_against_the_interpreter(void **state) {
    (void)state;
    compare_library(0);
}

static void test_onednn_against_the_interpreter(void **state) {
    (void)state;
    compare_library(1);
}

static void test_own_loops_against_the_interpreter(void **state) {
    (void)state;
    compare_library(2);
}

/* ---- against itself ---- */

/* Results and variables of the last of some steps from fresh variables; runs of another feed
 * between do not matter. */
static unsigned char *run_fresh(const lowered *l, dt_engine *e, const feed *f, size_t *size) {
    runnable r = compile(l, e, f);
    run_step(&r);
    random_graph_reset(l->g);
    for (int s = 0; s < STEPS; s++) run_step(&r);
    unsigned char *bytes = outcome_bytes(&r, size);
    random_graph_reset(l->g);
    runnable_release(&r);
    return bytes;
}

static void expect_same_bits(dt_engine *const *engine, int n, random_kind kind, uint64_t seed,
                             int64_t rows) {
    lowered l = lower(kind, seed, 2, seed % 3 ? 0 : 8);
    feed f = draw_feed(l.g, seed, 2, rows);
    size_t size, first_size;
    cut_shards(&l, rows);
    unsigned char *first = run_fresh(&l, engine[0], &f, &first_size);
    for (int i = 0; i < n; i++) {
        unsigned char *other = run_fresh(&l, engine[i], &f, &size);
        if (size != first_size || memcmp(first, other, size) != 0)
            fail_msg("seed %llu, %lld rows: %d threads give other bits than one",
                     (unsigned long long)seed, (long long)rows, dt_engine_threads(engine[i]));
        free(other);
    }
    free(first);
    feed_release(&f);
    lowered_release(&l);
}

static void compare_threads(dt_kernels library) {
    static const int64_t rows[] = {1, 64, 257, 1030};
    dt_engine *engine[4] = {engine_with(1, library)};
    if (!engine[0]) skip();
    for (int i = 1; i < 4; i++) engine[i] = engine_with(i + 1, library);
    print_message("seeds 7000 to 7049, about 1 in %d\n", EVERY);
    for (uint64_t seed = 7000; seed < 7050; seed++)
        if (is_tried(seed))
            expect_same_bits(engine, 4, seed < 7040 ? (random_kind)(seed % 2) : RANDOM_WIDE, seed,
                             rows[seed % 4]);
    for (int i = 0; i < 4; i++) dt_engine_close(engine[i]);
}

static void test_threads_do_not_change_bits_openblas(void **state) {
    (void)state;
    compare_threads(DT_KERNELS_OPENBLAS);
}

static void test_threads_do_not_change_bits_onednn(void **state) {
    (void)state;
    compare_threads(DT_KERNELS_ONEDNN);
}

static void test_threads_do_not_change_bits_own(void **state) {
    (void)state;
    compare_threads(DT_KERNELS_OWN);
}

/* As if measurements changed the choice of lanes before each step. */
static unsigned char *run_by_turns(const lowered *l, dt_engine *e, const feed *f, size_t *size) {
    runnable r = compile(l, e, f);
    random_graph_reset(l->g);
    for (int s = 0; s < STEPS; s++) {
        r.exec->lanes = (dt_lane_choice){.alone = s % 2 == 0};
        run_step(&r);
        assert_int_equal(r.exec->alone, s % 2 == 0);
    }
    unsigned char *bytes = outcome_bytes(&r, size);
    random_graph_reset(l->g);
    runnable_release(&r);
    return bytes;
}

static void test_changing_lanes_does_not_change_bits(void **state) {
    (void)state;
    dt_engine *one = engine_with(1, DT_KERNELS_OWN), *three = engine_with(3, DT_KERNELS_OWN);
    for (uint64_t seed = 7100; seed < 7120; seed++) {
        lowered l = lower((random_kind)(seed % 2), seed, 2, seed % 3 ? 0 : 8);
        feed f = draw_feed(l.g, seed, 2, 257);
        size_t size, turns_size;
        cut_shards(&l, 257);
        unsigned char *first = run_fresh(&l, one, &f, &size),
                      *turns = run_by_turns(&l, three, &f, &turns_size);
        if (size != turns_size || memcmp(first, turns, size) != 0)
            fail_msg("seed %llu: other bits when lanes change between steps",
                     (unsigned long long)seed);
        free(first);
        free(turns);
        feed_release(&f);
        lowered_release(&l);
    }
    dt_engine_close(one);
    dt_engine_close(three);
}

/* An executable that is run again and again measures its lanes; one lane has no choice. */
static void test_runs_are_measured(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        dt_engine *e = engine_with(threads, DT_KERNELS_OWN);
        lowered l = lower((random_kind)0, 7101, 2, 0);
        feed f = draw_feed(l.g, 7101, 2, 257);
        runnable r = compile(&l, e, &f);
        for (int s = 0; s < 3; s++) run_step(&r);
        assert_true(r.exec->n_alone < r.exec->n_segments);
        assert_int_equal(r.exec->lanes.runs, threads > 1 ? 3 : 0);
        random_graph_reset(l.g);
        runnable_release(&r);
        feed_release(&f);
        lowered_release(&l);
        dt_engine_close(e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_cut_over_devices),
        cmocka_unit_test(test_threads_do_not_change_bits_own),
        cmocka_unit_test(test_openblas_against_the_interpreter),
        cmocka_unit_test(test_onednn_against_the_interpreter),
        cmocka_unit_test(test_own_loops_against_the_interpreter),
        cmocka_unit_test(test_threads_do_not_change_bits_openblas),
        cmocka_unit_test(test_threads_do_not_change_bits_onednn),
        cmocka_unit_test(test_changing_lanes_does_not_change_bits),
        cmocka_unit_test(test_runs_are_measured),
    };
    return cmocka_run_group_tests_name("exec/exec", tests, NULL, NULL);
}
