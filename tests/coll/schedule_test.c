/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules: every algorithm, for every number of ranks, adds each contribution once and brings
 * every chunk to the ranks that need it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "../support/schedules.h"

enum { MOST = 17, CHUNKS = 2 * MOST };

/* Which ranks' values each chunk of each rank holds, as bits. */
typedef uint32_t board[MOST][CHUNKS];

static void start(const dt_schedule *s, board b) {
    for (int r = 0; r < s->ranks; r++)
        for (int c = 0; c < s->chunks; c++)
            b[r][c] = s->collective != DT_ALL_GATHER || s->owner[c] == r ? 1u << r : 0;
}

static void arrive(uint32_t *here, uint32_t what, bool add) {
    assert_true(what != 0);                     /* nothing is sent that is not there */
    if (add) assert_int_equal(*here & what, 0); /* nobody is counted twice */
    *here = add ? *here | what : what;
}

static void play_moves(const dt_schedule *s, board now) {
    board then;
    int round = -1;
    for (int i = 0; i < s->moves; i++) {
        const dt_schedule_move *m = &s->move[i];
        if (m->round != round) memcpy(then, now, sizeof then);
        round = m->round;
        assert_true(m->from != m->to && m->first >= 0 && m->chunks > 0 &&
                    m->first + m->chunks <= s->chunks);
        for (int c = m->first; c < m->first + m->chunks; c++)
            arrive(&now[m->to][c], then[m->from][c], m->add);
    }
    assert_int_equal(round + 1, s->rounds);
}

static void check_end(const dt_schedule *s, board b) {
    const uint32_t all = (1u << s->ranks) - 1;
    for (int r = 0; r < s->ranks; r++)
        for (int c = 0; c < s->chunks; c++)
            if (s->collective == DT_ALL_GATHER) assert_int_equal(b[r][c], 1u << s->owner[c]);
            else if (s->collective == DT_ALL_REDUCE || s->owner[c] == r)
                assert_int_equal(b[r][c], all);
}

static void check(const dt_schedule *s) {
    board b;
    start(s, b);
    play_moves(s, b);
    check_end(s, b);
}

static void check_all(const int *(*order)(int ranks, dt_random *random)) {
    static const char *const names[] = {"ring", "two_way_ring", "line", "halving"};
    const uint64_t seed = 20260801;
    dt_random random = dt_random_stream(seed, "coll", 0);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int ranks = 1; ranks <= MOST; ranks++)
            for (int c = DT_ALL_GATHER; c <= DT_ALL_REDUCE; c++) {
                if (strcmp(names[i], "halving") == 0 && (ranks & (ranks - 1))) continue;
                dt_schedule *s = dt_schedule_create(
                    &(dt_schedule_spec){(dt_collective)c, names[i], ranks, order(ranks, &random)});
                check(s);
                dt_schedule_destroy(s);
            }
}

static const int *in_order(int ranks, dt_random *random) {
    (void)ranks;
    (void)random;
    return NULL;
}

static const int *shuffled(int ranks, dt_random *random) {
    static int order[MOST];
    for (int i = 0; i < ranks; i++) {
        int j = (int)dt_random_below(random, (uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

static void test_every_contribution_arrives_once(void **state) {
    (void)state;
    check_all(in_order);
}

static void test_ranks_may_stand_in_any_order(void **state) {
    (void)state;
    check_all(shuffled);
}

static void test_rounds(void **state) {
    (void)state;
    static const struct {
        const char *algorithm;
        int ranks, rounds;
    } rows[] = {
        {"ring", 1, 0},         {"ring", 2, 1},         {"ring", 8, 7},
        {"two_way_ring", 2, 1}, {"two_way_ring", 8, 4}, {"two_way_ring", 9, 4},
        {"line", 8, 7},         {"halving", 1, 0},      {"halving", 16, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int c = DT_ALL_GATHER; c <= DT_ALL_REDUCE; c++) {
            dt_schedule *s = dt_schedule_create(
                &(dt_schedule_spec){(dt_collective)c, rows[i].algorithm, rows[i].ranks, NULL});
            assert_int_equal(s->rounds, c == DT_ALL_REDUCE ? 2 * rows[i].rounds : rows[i].rounds);
            dt_schedule_destroy(s);
        }
    assert_null(dt_algorithm_find("pony"));
}

static void test_chunks_cover_the_buffer(void **state) {
    (void)state;
    dt_schedule *s =
        dt_schedule_create(&(dt_schedule_spec){DT_ALL_REDUCE, "two_way_ring", 5, NULL});
    for (int64_t n = 0; n < 64; n++) {
        assert_int_equal(dt_chunk_begin(s, n, 0), 0);
        assert_int_equal(dt_chunk_begin(s, n, s->chunks), n);
        for (int c = 0; c < s->chunks; c++) {
            int64_t size = dt_chunk_begin(s, n, c + 1) - dt_chunk_begin(s, n, c);
            assert_true(size == n / s->chunks || size == n / s->chunks + 1);
        }
    }
    dt_schedule_destroy(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_contribution_arrives_once),
        cmocka_unit_test(test_ranks_may_stand_in_any_order),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_chunks_cover_the_buffer),
    };
    return cmocka_run_group_tests_name("coll/schedule", tests, NULL, NULL);
}
