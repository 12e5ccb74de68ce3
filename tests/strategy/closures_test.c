/* SPDX-License-Identifier: Apache-2.0 */
/* Closures of a parameter server: each number is applied once whichever workers are lost, and no
 * push is staler than allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "strategy/closures.h"
#include "strategy/strategy.h"

enum { WORKERS = 5, NUMBERS = 400 };

typedef struct simulation {
    dt_closures c;
    dt_closure out[WORKERS];
    bool busy[WORKERS], pulled[WORKERS];
    int times[NUMBERS]; /* applied */
    int64_t version[NUMBERS], update[NUMBERS];
    uint64_t random;
} simulation;

static unsigned next(simulation *s, unsigned n) {
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(s->random >> 33) % n;
}

static void apply_all(simulation *s) {
    const dt_closure *x;
    while ((x = dt_closures_ready(&s->c))) {
        const dt_closure done = *x;
        s->times[done.number]++;
        s->version[done.number] = done.version;
        s->update[done.number] = s->c.version;
        assert_int_equal(dt_closures_applied(&s->c, done.number),
                         s->update[done.number] - done.version);
    }
}

/* A worker asks, reads weights some time later, answers, dies or answers too late. */
static void act(simulation *s, int w, bool dies) {
    if (!s->busy[w]) {
        s->busy[w] = dt_closures_give(&s->c, w, &s->out[w]);
        s->pulled[w] = next(s, 2) == 0;
        return;
    }
    if (!s->pulled[w]) {
        const int64_t given = s->out[w].version;
        s->pulled[w] = true;
        assert_true(dt_closures_pull(&s->c, w, s->out[w].number, &s->out[w].version));
        assert_int_equal(s->out[w].version, s->c.in_order ? given : s->c.version);
        return;
    }
    const bool late = dies && next(s, 2);
    if (dies) dt_closures_lose(&s->c, w);
    if (late || !dies) assert_int_equal(dt_closures_push(&s->c, w, s->out[w].number), !dies);
    s->busy[w] = false;
}

static void run_to(simulation *s, int64_t end) {
    dt_closures_begin(&s->c, s->c.version, end);
    for (int turns = 0; !dt_closures_rest(&s->c); turns++) {
        assert_true(turns < 100000); /* it must not wait for ever */
        act(s, (int)next(s, WORKERS), next(s, 10) == 0);
        apply_all(s);
    }
}

static const int64_t bounds[] = {DT_ANY_STALENESS, 0, 1, 2, 3, 8, 1000};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

static void each_number_once(void **state) {
    (void)state;
    for (int i = 0; i < BOUNDS * 2 * 20; i++) {
        simulation s = {
            .c = {.staleness = bounds[i % BOUNDS], .in_order = i / BOUNDS % 2 && i % BOUNDS},
            .random = (uint64_t)i};
        const int64_t staleness = bounds[i % BOUNDS];
        run_to(&s, 150);
        run_to(&s, NUMBERS);
        int64_t updates = 0;
        for (int n = 0; n < NUMBERS; n++) {
            assert_int_equal(s.times[n], 1);
            assert_true(staleness == DT_ANY_STALENESS || s.update[n] - s.version[n] <= staleness);
            if (s.c.in_order) {
                const int64_t first = n < 150 ? 0 : 150,
                              wanted = n - staleness > first ? n - staleness : first;
                assert_int_equal(s.version[n], wanted);
                assert_int_equal(s.update[n], n);
            }
        }
        for (int k = 0; k < DT_STALENESS_BINS; k++) updates += s.c.stale[k];
        assert_int_equal(updates, NUMBERS);
        dt_closures_release(&s.c);
    }
}

static void drained(void **state) {
    (void)state;
    dt_closure x;
    dt_closures c = {.staleness = DT_ANY_STALENESS};
    dt_closures_begin(&c, 10, 100);
    assert_true(dt_closures_give(&c, 0, &x) && x.number == 10 && x.version == 10);
    assert_true(dt_closures_give(&c, 1, &x) && x.number == 11);
    dt_closures_drain(&c);
    assert_false(dt_closures_give(&c, 2, &x));
    assert_int_equal(dt_closures_lose(&c, 0), 1);
    assert_true(dt_closures_give(&c, 2, &x) && x.number == 10);
    int64_t version = 0;
    assert_false(dt_closures_pull(&c, 0, 10, &version));
    assert_true(dt_closures_pull(&c, 2, 10, &version) && version == 10);
    assert_false(dt_closures_push(&c, 0, 10));
    assert_true(dt_closures_push(&c, 2, 10) && dt_closures_push(&c, 1, 11));
    assert_false(dt_closures_push(&c, 1, 11));
    while (dt_closures_ready(&c)) dt_closures_applied(&c, dt_closures_ready(&c)->number);
    assert_true(dt_closures_rest(&c));
    assert_int_equal(c.version, 12);
    assert_int_equal(c.again, 1);
    assert_int_equal(c.dropped, 2);
    dt_closures_release(&c);
}

/* Shards as tf.distribute's partitioners count them. */
static void partitioners(void **state) {
    static const struct {
        dt_partitioner p;
        int64_t rows, row_bytes, shards;
    } rows[] = {
        {{.kind = DT_PARTITION_NONE}, 1000, 4096, 1},
        {{DT_PARTITION_FIXED, .shards = 3}, 10, 4, 3},
        {{DT_PARTITION_FIXED, .shards = 3}, 2, 4, 2},
        {{DT_PARTITION_FIXED, .shards = 3}, 1, 4, 1},
        {{DT_PARTITION_MIN_SIZE, .shards = 10, .bytes = 10 * 1024}, 6, 4, 1},
        {{DT_PARTITION_MIN_SIZE, .shards = 4, .bytes = 262144}, 784, 512, 1},
        {{DT_PARTITION_MIN_SIZE, .shards = 4, .bytes = 100000}, 784, 512, 4},
        {{DT_PARTITION_MIN_SIZE, .shards = 2, .bytes = 100000}, 784, 512, 2},
        {{DT_PARTITION_MAX_SIZE, .bytes = 8}, 6, 4, 3},
        {{DT_PARTITION_MAX_SIZE, .shards = 2, .bytes = 8}, 6, 4, 2},
        {{DT_PARTITION_MAX_SIZE, .bytes = 1024}, 6, 4, 1},
        {{DT_PARTITION_MAX_SIZE, .bytes = 2}, 6, 4, 6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(dt_partitioner_shards(&rows[i].p, rows[i].rows, rows[i].row_bytes),
                         rows[i].shards);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_number_once),
                                       cmocka_unit_test(drained), cmocka_unit_test(partitioners)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
