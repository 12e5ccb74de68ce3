/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules: every algorithm, for every number of ranks, adds each contribution once and brings
 * every chunk where it belongs; the two forms of a schedule (moves, and actions by rank) say the
 * same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "coll/coll.h"

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
        const dt_move *m = &s->move[i];
        if (m->round != round) memcpy(then, now, sizeof then);
        round = m->round;
        assert_true(m->from != m->to && m->first >= 0 && m->chunks > 0 &&
                    m->first + m->chunks <= s->chunks);
        for (int c = m->first; c < m->first + m->chunks; c++)
            arrive(&now[m->to][c], then[m->from][c], m->add);
    }
    assert_int_equal(round + 1, s->rounds);
}

/* A message under way from a rank to another. */
typedef struct message {
    dt_action as;
    uint32_t what[CHUNKS];
} message;
typedef struct post {
    message *at;
    int sent, taken;
} post;

/* One action; false if it must wait for a message. */
static bool act(const dt_schedule *s, int rank, const dt_action *a, board now, post *posts) {
    post *p = a->kind == DT_ACTION_SEND ? &posts[rank * s->ranks + a->peer]
                                        : &posts[a->peer * s->ranks + rank];
    if (a->kind == DT_ACTION_SEND) {
        p->at = realloc(p->at, (size_t)(p->sent + 1) * sizeof *p->at);
        p->at[p->sent].as = *a;
        memcpy(p->at[p->sent++].what, now[rank], sizeof p->at->what);
        return true;
    }
    if (p->taken == p->sent) return false;
    const message *m = &p->at[p->taken++];
    assert_int_equal(m->as.round, a->round);
    assert_int_equal(m->as.first, a->first);
    assert_int_equal(m->as.chunks, a->chunks);
    for (int c = a->first; c < a->first + a->chunks; c++)
        arrive(&now[rank][c], m->what[c], a->kind == DT_ACTION_REDUCE);
    return true;
}

/* Ranks at random speed, messages in order; ends when nobody can go on. */
static void play_actions(const dt_schedule *s, board now, dt_random *random) {
    int next[MOST], left = s->begin[s->ranks], stuck = 0;
    post *posts = calloc((size_t)(s->ranks * s->ranks), sizeof *posts);
    memcpy(next, s->begin, (size_t)s->ranks * sizeof *next);
    while (left > 0) {
        int r = (int)dt_random_below(random, (uint64_t)s->ranks);
        if (next[r] < s->begin[r + 1] && act(s, r, &s->action[next[r]], now, posts)) {
            next[r]++;
            left--;
            stuck = 0;
        } else if (stuck++ > 1000 * s->ranks) {
            fail_msg("%s by %s hangs with %d ranks", dt_collective_name(s->collective), s->name,
                     s->ranks);
        }
    }
    for (int i = 0; i < s->ranks * s->ranks; i++) {
        assert_int_equal(posts[i].sent, posts[i].taken);
        free(posts[i].at);
    }
    free(posts);
}

static void check_end(const dt_schedule *s, board b) {
    const uint32_t all = (1u << s->ranks) - 1;
    for (int r = 0; r < s->ranks; r++)
        for (int c = 0; c < s->chunks; c++)
            if (s->collective == DT_ALL_GATHER) assert_int_equal(b[r][c], 1u << s->owner[c]);
            else if (s->collective == DT_ALL_REDUCE || s->owner[c] == r)
                assert_int_equal(b[r][c], all);
}

static void check(const dt_schedule *s, dt_random *random) {
    board b;
    start(s, b);
    play_moves(s, b);
    check_end(s, b);
    start(s, b);
    play_actions(s, b, random);
    check_end(s, b);
}

static void for_all(void (*body)(const dt_schedule *s, dt_random *random),
                    const int *(*order)(int ranks, dt_random *random)) {
    const uint64_t seed = 20260801;
    dt_random random = dt_random_stream(seed, "coll", 0);
    print_message("seed %llu\n", (unsigned long long)seed);
    int n, made = 0;
    const dt_algorithm *const *rows = dt_algorithms(&n);
    for (int i = 0; i < n; i++)
        for (int ranks = 1; ranks <= MOST; ranks++)
            for (int c = DT_ALL_GATHER; c <= DT_ALL_REDUCE; c++) {
                if (rows[i]->powers_of_two_only && (ranks & (ranks - 1))) continue;
                dt_schedule *s = NULL;
                assert_null(
                    dt_schedule_create(&s, &(dt_schedule_spec){(dt_collective)c, rows[i], ranks,
                                                               order(ranks, &random)}));
                body(s, &random);
                dt_schedule_destroy(s);
                made++;
            }
    assert_int_equal(made, 3 * (3 * MOST + 5));
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
    for_all(check, in_order);
}

static void test_ranks_may_stand_in_any_order(void **state) {
    (void)state;
    for_all(check, shuffled);
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
            dt_schedule *s = NULL;
            assert_null(dt_schedule_create(
                &s, &(dt_schedule_spec){(dt_collective)c, dt_algorithm_find(rows[i].algorithm),
                                        rows[i].ranks, NULL}));
            assert_int_equal(s->rounds, c == DT_ALL_REDUCE ? 2 * rows[i].rounds : rows[i].rounds);
            dt_schedule_destroy(s);
        }
    assert_null(dt_algorithm_find("pony"));
}

static void test_impossible_schedules_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *algorithm;
        int ranks;
        const char *text;
    } rows[] = {
        {"halving", 6, "halving needs a power of two, got 6 ranks"},
        {"ring", 0, "a schedule has 1 to 1024 ranks, got 0"},
        {"ring", 1025, "a schedule has 1 to 1024 ranks, got 1025"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_schedule *made = NULL;
        dt_status *s = dt_schedule_create(
            &made, &(dt_schedule_spec){DT_ALL_REDUCE, dt_algorithm_find(rows[i].algorithm),
                                       rows[i].ranks, NULL});
        assert_int_equal(dt_status_number(s), 55);
        assert_string_equal(dt_status_text(s), rows[i].text);
        assert_null(made);
        dt_status_free(s);
    }
    dt_schedule_destroy(NULL);
}

static void test_chunks_cover_the_buffer(void **state) {
    (void)state;
    dt_schedule *s = NULL;
    assert_null(dt_schedule_create(
        &s, &(dt_schedule_spec){DT_ALL_REDUCE, dt_algorithm_find("two_way_ring"), 5, NULL}));
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
        cmocka_unit_test(test_impossible_schedules_are_refused),
        cmocka_unit_test(test_chunks_cover_the_buffer),
    };
    return cmocka_run_group_tests_name("coll/schedule", tests, NULL, NULL);
}
