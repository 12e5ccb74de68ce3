/* SPDX-License-Identifier: Apache-2.0 */
/* The price of schedules: the textbook's formulas on rings and lines, and published worked
 * problems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "../support/schedules.h"
#include "base/arena.h"

static const double w = 45e9, h = 1e-6; /* a link, one way; a hop */

/* A row of n chips with one rank each. */
typedef struct row {
    dt_slice slice;
    dt_topology *topology;
    int *place;
    dt_wires wires;
} row;

static void make_row(row *r, int n, bool wrap) {
    r->slice = (dt_slice){"row", dt_chip_find("v3"), {n, 1, 1}, {wrap, false, false}, false};
    r->topology = dt_topology_of_slice(&r->slice);
    r->place = dt_alloc((size_t)n * 4 * sizeof *r->place);
    for (int i = 0; i < n; i++) r->place[4 * i] = i;
    r->wires = (dt_wires){.topology = r->topology, .place = r->place, .link_Bps = w, .hop_s = h};
}

static void drop_row(row *r) {
    free(r->place);
    dt_topology_unref(r->topology);
}

static dt_wire_price price(dt_collective c, const char *algorithm, int ranks, double bytes,
                           const dt_wires *wires) {
    dt_schedule *s = dt_schedule_create(&(dt_schedule_spec){c, algorithm, ranks, NULL});
    dt_wire_price p = dt_schedule_cost(s, bytes, wires);
    dt_schedule_destroy(s);
    return p;
}

static void assert_close(double got, double want) {
    if (fabs(got - want) > 1e-9 * want) fail_msg("%.12g instead of %.12g", got, want);
}

static double larger(double a, double b) { return a > b ? a : b; }

/* V: bytes of the full array; N ranks. */
static void test_rings_cost_what_the_textbook_says(void **state) {
    (void)state;
    for (int N = 2; N <= 32; N++) {
        row ring, line;
        make_row(&ring, N, true);
        make_row(&line, N, false);
        for (double V = 1e3; V < 1e10; V *= 100) {
            double gather = price(DT_ALL_GATHER, "ring", N, V, &ring.wires).seconds;
            assert_close(gather, (N - 1) * larger(h, V / N / w));
            assert_close(price(DT_REDUCE_SCATTER, "ring", N, V, &ring.wires).seconds, gather);
            assert_close(price(DT_ALL_REDUCE, "ring", N, V, &ring.wires).seconds, 2 * gather);
            assert_close(price(DT_ALL_GATHER, "line", N, V, &line.wires).seconds,
                         (N - 1) * larger(h, V / N / w));
        }
        const double large = 1e10, W = 2 * w;
        if (N > 2) /* with two chips wrapping adds no link */
            assert_close(price(DT_ALL_GATHER, "two_way_ring", N, large, &ring.wires).seconds,
                         large * (N - 1) / N / W);
        assert_close(price(DT_ALL_GATHER, "two_way_ring", N, 1, &ring.wires).seconds, N / 2 * h);
        /* reduce-scatter and all-gather go opposite ways, except between two */
        const int ways = N == 2 ? 2 : 1;
        assert_close(price(DT_ALL_REDUCE, "ring", N, large, &ring.wires).busiest_link,
                     ways * large * (N - 1) / N);
        drop_row(&ring);
        drop_row(&line);
    }
}

/* "How to Scale Your Model": an axis of 4 without wraparound on v5e, shards of 8 MiB: 560 us; a
 * ring of 4 both ways, small: 2 hops. */
static void test_worked_problems_of_the_book(void **state) {
    (void)state;
    row ring, line;
    make_row(&ring, 4, true);
    make_row(&line, 4, false);
    assert_close(price(DT_ALL_GATHER, "line", 4, 4.0 * 8388608, &line.wires).seconds,
                 3 * 8388608 / w);
    assert_close(price(DT_ALL_GATHER, "two_way_ring", 4, 1024, &ring.wires).seconds, 2e-6);
    drop_row(&ring);
    drop_row(&line);
}

/* Far partners of recursive halving share links; the ring never does. */
static void test_shared_links_are_counted_together(void **state) {
    (void)state;
    row line;
    make_row(&line, 8, false);
    const double V = 8e9;
    /* distances 1, 2, 4 with 1, 2, 4 chunks: the middle link carries 4 messages of 4 chunks */
    assert_close(price(DT_ALL_GATHER, "halving", 8, V, &line.wires).seconds,
                 (1 * 1 + 2 * 2 + 4 * 4) * V / 8 / w);
    assert_close(price(DT_ALL_GATHER, "halving", 8, 8, &line.wires).seconds, (1 + 2 + 4) * h);
    drop_row(&line);
}

/* On v3-8 with a replica per core, half of the ring's messages stay in a chip. */
static void test_cores_of_a_chip_use_no_link(void **state) {
    (void)state;
    int order[8];
    dt_slice slice;
    assert_null(dt_slice_find("v3-8", DT_E_UNKNOWN_SLICE, NULL, &slice));
    dt_topology *t = dt_topology_of_slice(&slice);
    dt_assignment *a = dt_assignment_each_core(t);
    dt_assignment_ring(a, t, order);
    dt_wires wires = dt_wires_of(t, a->core[0]);
    assert_true(wires.link_Bps == 82e9 && wires.chip_Bps == 450e9);
    dt_schedule *s = dt_schedule_create(&(dt_schedule_spec){DT_ALL_REDUCE, "ring", 8, order}),
                *plain = dt_schedule_create(&(dt_schedule_spec){DT_ALL_REDUCE, "ring", 8, NULL});
    dt_wire_price ring = dt_schedule_cost(s, 8e8, &wires),
                  by_number = dt_schedule_cost(plain, 8e8, &wires);
    assert_close(ring.seconds, 14 * 1e8 / 82e9);
    assert_close(ring.busiest_link, 7 * 1e8); /* reduce-scatter one way, all-gather the other */
    assert_true(by_number.seconds >= ring.seconds);
    dt_schedule_destroy(s);
    dt_schedule_destroy(plain);
    const int chip[8] = {0, 0, 0, 0, 0, 0, 0, 1};
    wires.place = chip;
    assert_close(price(DT_ALL_REDUCE, "ring", 2, 8e8, &wires).seconds, 2 * 2 * 4e8 / 450e9);
    assert_true(price(DT_ALL_REDUCE, "ring", 2, 8e8, &wires).busiest_link == 0);
    assert_true(price(DT_ALL_REDUCE, "ring", 1, 8e8, &wires).seconds == 0);
    dt_device_assignment_unref(a);
    dt_topology_unref(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rings_cost_what_the_textbook_says),
        cmocka_unit_test(test_worked_problems_of_the_book),
        cmocka_unit_test(test_shared_links_are_counted_together),
        cmocka_unit_test(test_cores_of_a_chip_use_no_link),
    };
    return cmocka_run_group_tests_name("coll/cost", tests, NULL, NULL);
}
