/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules run on threads: every algorithm, on 1 to 9 ranks, over chunks that are uneven or empty,
 * gives exact sums of integers, and on every rank, in every run, the same bits of floats. Run it
 * with SAN=tsan too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/schedules.h"
#include "../support/sums.h"
#include "base/arena.h"
#include "base/random.h"
#include "base/thread.h"
#include "fabric/fabric.h"

enum { MOST_RANKS = 9, MOST_CHIPS = 16 };

/* One collective on all ranks of a pool. */
typedef struct trial {
    const dt_schedule *schedule;
    dt_team *team;
    dt_dtype dtype;
    int64_t n;
    void *data[MOST_CHIPS];
    dt_status *status[MOST_CHIPS];
    uint64_t dawdle; /* 0: nobody is held up, else a seed */
} trial;

static void dawdle(uint64_t seed, int rank) {
    dt_random r = dt_random_stream(seed, "dawdle", (uint64_t)rank);
    if (dt_random_below(&r, 2))
        nanosleep(&(struct timespec){.tv_nsec = (long)dt_random_below(&r, 300000)}, NULL);
    else sched_yield();
}

static void take_part(int rank, void *user) {
    trial *t = user;
    dt_member *m = NULL;
    if (t->dawdle) dawdle(t->dawdle, rank);
    t->status[rank] = dt_team_join(t->team, rank, 30, &m);
    if (!t->status[rank]) t->status[rank] = run_on(t->schedule, m, t->dtype, t->n, t->data[rank]);
    dt_member_leave(m);
}

static void run(trial *t, dt_pool *pool) {
    assert_null(dt_team_open(&t->team, &dt_fabric_local, t->schedule->ranks));
    dt_pool_run(pool, take_part, t);
    dt_team_close(t->team);
    for (int r = 0; r < t->schedule->ranks; r++)
        if (t->status[r]) fail_msg("rank %d: %s", r, dt_status_text(t->status[r]));
}

static dt_schedule *schedule_of(dt_collective c, const dt_algorithm *row, int ranks) {
    dt_schedule *s = NULL;
    if (row->powers_of_two_only && (ranks & (ranks - 1))) return NULL;
    assert_null(dt_schedule_create(&s, &(dt_schedule_spec){c, row, ranks, NULL}));
    return s;
}

/* ---- exact sums ---- */

/* Element i of rank r: large enough that a lost or doubled one shows. */
static int64_t value(int r, int64_t i) { return (int64_t)(r + 1) * 1000003 + i * (2 * r + 1); }

static int64_t sum(int ranks, int64_t i) {
    int64_t all = 0;
    for (int r = 0; r < ranks; r++) all += value(r, i);
    return all;
}

static void check_integers(const trial *t, int rank) {
    const dt_schedule *s = t->schedule;
    const int32_t *got = t->data[rank];
    for (int c = 0; c < s->chunks; c++) {
        if (s->collective == DT_REDUCE_SCATTER && s->owner[c] != rank) continue;
        if (s->collective == DT_ALL_TO_ALL && c % s->ranks != rank) continue;
        for (int64_t i = dt_chunk_begin(s, t->n, c); i < dt_chunk_begin(s, t->n, c + 1); i++) {
            bool whole = s->collective == DT_REDUCE_SCATTER || s->collective == DT_ALL_REDUCE;
            int64_t want = whole ? sum(s->ranks, i) : value(s->owner[c], i);
            if (got[i] != want)
                fail_msg("%s by %s, %d ranks, %lld elements: rank %d has %d at %lld, not %lld",
                         dt_collective_name(s->collective), s->name, s->ranks, (long long)t->n,
                         rank, got[i], (long long)i, (long long)want);
        }
    }
}

static void try_integers(const dt_schedule *s, int64_t n, dt_pool *pool) {
    trial t = {.schedule = s, .dtype = DT_INT32, .n = n, .dawdle = n == 5 ? 77 : 0};
    for (int r = 0; r < s->ranks; r++) {
        int32_t *v = dt_alloc(((size_t)n + 1) * sizeof *v);
        for (int64_t i = 0; i < n; i++) v[i] = (int32_t)value(r, i);
        v[n] = -4711; /* nothing is written behind the end */
        t.data[r] = v;
    }
    run(&t, pool);
    for (int r = 0; r < s->ranks; r++) {
        check_integers(&t, r);
        assert_int_equal(((int32_t *)t.data[r])[n], -4711);
        free(t.data[r]);
    }
}

static void test_every_schedule_sums_exactly(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 5, 7, 18, 64, 1037};
    int rows, tried = 0;
    const dt_algorithm *const *row = dt_algorithms(&rows);
    for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
        dt_pool *pool = NULL;
        assert_null(dt_pool_create(&pool, ranks));
        for (int i = 0; i < rows; i++)
            for (int c = DT_ALL_GATHER; c <= DT_ALL_REDUCE; c++) {
                dt_schedule *s = schedule_of((dt_collective)c, row[i], ranks);
                for (size_t k = 0; s && k < sizeof sizes / sizeof *sizes; k++, tried++)
                    try_integers(s, sizes[k], pool);
                dt_schedule_destroy(s);
            }
        dt_pool_destroy(pool);
    }
    assert_int_equal(tried, 3 * (3 * 9 + 4) * 8);
}

/* ---- on tori ---- */

static void try_on(const dt_schedule *s, dt_pool *pool) {
    try_integers(s, 1, pool);
    try_integers(s, s->chunks + 5, pool);
}

/* All ways to use a mesh, on all of its chips. */
static void try_mesh(const int chips[3], bool wrap) {
    const dt_slice slice = {.name = "mesh",
                            .chip = dt_chip_find("v4"),
                            .chips = {chips[0], chips[1], chips[2]},
                            .wrap = {wrap, wrap, wrap}};
    dt_topology *t = dt_topology_of_slice(&slice);
    int place[MOST_CHIPS][4], ranks = 0;
    dt_grid grid;
    dt_torus way[DT_TORUS_WAYS];
    dt_pool *pool = NULL;
    dt_schedule *s = NULL;
    for (int z = 0; z < chips[2]; z++)
        for (int y = 0; y < chips[1]; y++)
            for (int x = 0; x < chips[0]; x++)
                memcpy(place[ranks++], (int[4]){x, y, z, 0}, sizeof *place);
    assert_true(dt_grid_find(t, 1, ranks, place[0], &grid));
    assert_null(dt_pool_create(&pool, ranks));
    for (int n = dt_torus_ways(t, &grid, way); n-- > 0;)
        for (int c = DT_ALL_GATHER; c <= DT_ALL_REDUCE; c++) {
            assert_null(dt_torus_schedule(&s, &way[n], (dt_collective)c, place[0]));
            try_on(s, pool);
            dt_schedule_destroy(s);
        }
    assert_null(dt_direct_schedule(&s, DT_ALL_TO_ALL, ranks));
    try_on(s, pool);
    dt_schedule_destroy(s);
    dt_pool_destroy(pool);
    dt_topology_unref(t);
}

static void test_torus_schedules_sum_exactly(void **state) {
    (void)state;
    static const int meshes[][3] = {{2, 2, 1}, {4, 4, 1}, {3, 5, 1}, {2, 2, 4}};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
        for (int wrap = 0; wrap < 2; wrap++) try_mesh(meshes[i], wrap);
}

/* ---- floats ---- */

/* The all-reduce of numbers whose sum depends on the order; all ranks' results must be equal, and
 * are returned. */
static float *sum_floats(const dt_schedule *s, int64_t n, dt_pool *pool, uint64_t seed) {
    trial t = {.schedule = s, .dtype = DT_FLOAT32, .n = n, .dawdle = seed};
    for (int r = 0; r < s->ranks; r++) {
        float *v = dt_alloc((size_t)n * sizeof *v);
        dt_random random = dt_random_stream(20260801, "floats", (uint64_t)r);
        for (int64_t i = 0; i < n; i++)
            v[i] = (float)dt_random_normal(&random) * (i % 2 ? 1 : 1e4f);
        t.data[r] = v;
    }
    run(&t, pool);
    for (int r = 1; r < s->ranks; r++) {
        assert_memory_equal(t.data[0], t.data[r], (size_t)n * sizeof(float));
        free(t.data[r]);
    }
    return t.data[0];
}

static void test_timing_changes_no_bits(void **state) {
    (void)state;
    enum { N = 501 };
    int rows;
    const dt_algorithm *const *row = dt_algorithms(&rows);
    dt_pool *pool = NULL;
    assert_null(dt_pool_create(&pool, 8));
    for (int i = 0; i < rows; i++) {
        dt_schedule *s = schedule_of(DT_ALL_REDUCE, row[i], 8);
        float *first = sum_floats(s, N, pool, 0);
        for (uint64_t seed = 1; seed <= 10; seed++) {
            float *again = sum_floats(s, N, pool, seed);
            assert_memory_equal(first, again, N * sizeof *first);
            free(again);
        }
        free(first);
        dt_schedule_destroy(s);
    }
    dt_pool_destroy(pool);
}

/* ---- types ---- */

static void test_every_type_is_added_as_itself(void **state) {
    (void)state;
    /* little-endian x, and x + x + x */
    static const struct {
        dt_dtype dtype;
        unsigned char one[8], three[8];
    } rows[] = {
        {DT_UINT8, {0x60}, {0x20}},
        {DT_INT8, {0x7f}, {0x7d}},
        {DT_INT16, {0xff, 0x7f}, {0xfd, 0x7f}},
        {DT_INT32, {0xff, 0xff, 0xff, 0xff}, {0xfd, 0xff, 0xff, 0xff}},
        {DT_INT64, {0, 0, 0, 0, 0, 0, 0, 0x40}, {0, 0, 0, 0, 0, 0, 0, 0xc0}},
        {DT_FLOAT32, {0, 0, 0x80, 0x3f}, {0, 0, 0x40, 0x40}},
        {DT_FLOAT64, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, {0, 0, 0, 0, 0, 0, 0x08, 0x40}},
        /* the second sum lies between two numbers, and goes to the even one */
        {DT_FLOAT16, {0x01, 0x3c}, {0x02, 0x42}},
        {DT_BFLOAT16, {0x81, 0x3f}, {0x42, 0x40}},
    };
    dt_pool *pool = NULL;
    assert_null(dt_pool_create(&pool, 3));
    dt_schedule *s = schedule_of(DT_ALL_REDUCE, dt_algorithm_find("ring"), 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _Alignas(8) unsigned char data[3][8];
        trial t = {.schedule = s, .dtype = rows[i].dtype, .n = 1};
        for (int r = 0; r < 3; r++) {
            memcpy(data[r], rows[i].one, 8);
            t.data[r] = data[r];
        }
        run(&t, pool);
        for (int r = 0; r < 3; r++)
            assert_memory_equal(data[r], rows[i].three, dt_dtype_size(rows[i].dtype));
    }
    dt_schedule_destroy(s);
    dt_pool_destroy(pool);
}

static void test_bool_is_gathered_but_not_summed(void **state) {
    (void)state;
    bool bits[1] = {true};
    dt_team *team = NULL;
    dt_member *m = NULL;
    dt_schedule *sum = schedule_of(DT_ALL_REDUCE, dt_algorithm_find("ring"), 1),
                *gather = schedule_of(DT_ALL_GATHER, dt_algorithm_find("ring"), 1);
    assert_null(dt_team_open(&team, dt_fabric_find("local"), 1));
    assert_null(dt_team_join(team, 0, 1, &m));
    dt_status *s = run_on(sum, m, DT_BOOL, 1, bits);
    assert_int_equal(dt_status_number(s), 55);
    assert_string_equal(dt_status_text(s), "bool cannot be summed");
    dt_status_free(s);
    assert_null(run_on(gather, m, DT_BOOL, 1, bits));
    dt_member_leave(m);
    dt_team_close(team);
    dt_schedule_destroy(sum);
    dt_schedule_destroy(gather);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_schedule_sums_exactly),
        cmocka_unit_test(test_torus_schedules_sum_exactly),
        cmocka_unit_test(test_timing_changes_no_bits),
        cmocka_unit_test(test_every_type_is_added_as_itself),
        cmocka_unit_test(test_bool_is_gathered_but_not_summed),
    };
    return cmocka_run_group_tests_name("fabric/run", tests, NULL, NULL);
}
