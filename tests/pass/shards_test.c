/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reproducible shards: the same numbers as before, and the same bits for every way to deal the same
 * rows out to replicas.
 */
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

enum { MOST_SHARDS = 9 };

/* Random borders; some shards are empty. */
static void draw_borders(dt_random *r, int64_t rows, int shards, int32_t border[MOST_SHARDS + 1]) {
    border[0] = 0;
    for (int i = 1; i < shards; i++)
        border[i] =
            border[i - 1] + (int32_t)dt_random_below(r, (uint64_t)(rows - border[i - 1] + 1));
    border[shards] = (int32_t)rows;
}

typedef struct sharded {
    dt_folded folded;
    dt_graph *graph;
} sharded;

static sharded shard(const random_graph *g, int replicas, int shards) {
    sharded s;
    dt_status *bad = dt_fold(g->graph, g->distributed, replicas, &s.folded);
    if (!bad) bad = dt_shards(s.folded.graph, shards, &s.graph);
    if (bad) fail_msg("seed %llu: %s", (unsigned long long)g->seed, dt_status_text(bad));
    return s;
}

static void sharded_release(sharded *s) {
    dt_graph_destroy(s->graph);
    dt_graph_destroy(s->folded.graph);
}

static dt_interpretation run(const random_graph *g, const feed *f, const sharded *s,
                             const int32_t *border, int shards) {
    dt_view *arg = feed_folded(f, &s->folded);
    dt_env env = feed_env(f);
    dt_interpretation out;
    env.shards = border;
    env.n_shards = shards;
    dt_status *bad = dt_interpret(s->graph, &env, 1, &f->total, arg, &out);
    if (bad) fail_msg("seed %llu: %s", (unsigned long long)g->seed, dt_status_text(bad));
    views_release(arg, f->n_args);
    return out;
}

static void test_numbers_stay(void **state) {
    (void)state;
    int incomparable = 0;
    print_message("seeds 2000 to 2299\n");
    for (uint64_t seed = 2000; seed < 2300; seed++) {
        dt_random r = dt_random_stream(seed, "shards", 0);
        random_graph *g = random_graph_draw(seed % 2 ? RANDOM_FIT : RANDOM_SOUP, seed);
        int64_t batch[2];
        batch[0] = (int64_t)dt_random_below(&r, 7);
        batch[1] = (int64_t)dt_random_below(&r, 7);
        int shards = 1 + (int)dt_random_below(&r, MOST_SHARDS);
        int32_t border[MOST_SHARDS + 1];
        feed f = feed_make(g, seed, 2, batch);
        sharded s = shard(g, 2, shards);
        draw_borders(&r, f.total, shards, border);
        dt_interpretation oracle = oracle_run(g, &f), out = run(g, &f, &s, border, shards);
        incomparable += !expect_outcome(g, &f, &oracle,
                                        &(outcome){out.result, out.update, s.folded.result}, 1e-4);
        dt_interpretation_release(&oracle);
        dt_interpretation_release(&out);
        sharded_release(&s);
        feed_release(&f);
        random_graph_destroy(g);
    }
    assert_in_range(incomparable, 0, 6);
}

/* Updates of `a` and `b` have the same bits. */
static void expect_same_updates(const random_graph *g, const dt_interpretation *a,
                                const dt_interpretation *b, int replicas) {
    for (int i = 0; i < a->n_states; i++)
        if (a->update[i].data && !views_identical(&a->update[i], &b->update[i]))
            fail_msg("seed %llu: %d replicas give other bits for '%s'", (unsigned long long)g->seed,
                     replicas, g->graph->state[i].variable->path);
}

static void compare_dealings(const random_graph *g, int shards) {
    static const int64_t dealt[][4] = {{12}, {6, 6}, {12, 0}, {1, 11}, {3, 3, 3, 3}, {0, 5, 0, 7}};
    static const int replicas[] = {1, 2, 2, 2, 4, 4};
    int32_t border[MOST_SHARDS + 1] = {0, 3, 5, 8, 12};
    feed all = feed_make(g, g->seed, 1, dealt[0]);
    sharded s = shard(g, 1, shards);
    dt_interpretation first = run(g, &all, &s, border, shards);
    for (size_t i = 1; i < sizeof replicas / sizeof *replicas; i++) {
        feed f = feed_deal(g, &all, replicas[i], dealt[i]);
        sharded other = shard(g, replicas[i], shards);
        dt_interpretation out = run(g, &f, &other, border, shards);
        expect_same_updates(g, &first, &out, replicas[i]);
        dt_interpretation_release(&out);
        sharded_release(&other);
        feed_release(&f);
    }
    dt_interpretation_release(&first);
    sharded_release(&s);
    feed_release(&all);
}

static void test_bits_do_not_depend_on_replicas(void **state) {
    (void)state;
    print_message("seeds 3000 to 3149\n");
    for (uint64_t seed = 3000; seed < 3150; seed++) {
        random_graph *g = random_graph_draw(RANDOM_FIT, seed);
        compare_dealings(g, 4);
        random_graph_destroy(g);
    }
}

static const char golden[] =
    "graph one(x: f32[B,3])\n"
    "%0 = parameter x                              : f32[B,3]\n"
    "%1 = segment_dot_general(%0, %0) shards 8 contracting [0]x[0] : f32[8,3,3]\n"
    "%2 = tree_sum(%1)                             : f32[3,3]\n"
    "%3 = reduce(%0) max dims=[0]                  : f32[3]\n"
    "%4 = reduce(%0) sum dims=[1]                  : f32[B]\n"
    "%5 = segment_reduce(%0) shards 8 sum dims=[0] : f32[8,3]\n"
    "%6 = tree_sum(%5)                             : f32[3]\n"
    "%7 = reduce(%6) sum dims=[0]                  : f32[]\n"
    "return gram = %2\n"
    "return top = %3\n"
    "return each = %4\n"
    "return all = %7\n";

/* Sums over the batch become trees; maxima, and sums of what has no rows, do not. */
static void test_text(void **state) {
    (void)state;
    dt_type rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3});
    dt_trace *t = dt_trace_create("one");
    dt_value x = dt_trace_declare(t, "x", &rows);
    dt_dot_attr gram = {.n_contract = 1};
    dt_return(t, "gram", dt_dot_general(x, x, &gram));
    dt_return(t, "top", dt_reduce(x, DT_REDUCE_MAX, 1));
    dt_return(t, "each", dt_reduce_sum(x, 1));
    dt_return(t, "all", dt_reduce_sum(dt_reduce_sum(x, 0), 0));
    dt_graph *g = NULL, *out = NULL;
    dt_str text = {0};
    assert_null(dt_trace_end(t, &g));
    assert_null(dt_shards(g, 8, &out));
    dt_graph_print(out, &text);
    assert_string_equal(dt_str_text(&text), golden);
    dt_str_release(&text);
    dt_graph_destroy(g);
    dt_graph_destroy(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_stay),
        cmocka_unit_test(test_bits_do_not_depend_on_replicas),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests_name("pass/shards", tests, NULL, NULL);
}
