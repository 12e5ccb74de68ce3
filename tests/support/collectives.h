/* SPDX-License-Identifier: Apache-2.0 */
/* A table of every kind of collective, run on n floats, by at most four ranks. Behind the floats there is room for four times as many. */
#ifndef TESTS_SUPPORT_COLLECTIVES_H
#define TESTS_SUPPORT_COLLECTIVES_H

#include "sums.h"

static dt_status *scheduled(dt_member *m, int n, float *x, dt_collective collective, const char *algorithm)
{
    dt_schedule *s = NULL;
    dt_status *bad = dt_schedule_create(&s, &(dt_schedule_spec){.collective = collective, .algorithm = dt_algorithm_find(algorithm), .ranks = m->team->ranks});
    if (!bad)
        bad = run_on(s, m, DT_FLOAT32, n, x);
    dt_schedule_destroy(s);
    return bad;
}

static dt_status *ring(dt_member *m, int n, float *x)
{
    return scheduled(m, n, x, DT_ALL_REDUCE, "ring");
}

static dt_status *two_way(dt_member *m, int n, float *x)
{
    return scheduled(m, n, x, DT_ALL_REDUCE, "two_way_ring");
}

static dt_status *all_gather(dt_member *m, int n, float *x)
{
    return scheduled(m, n, x, DT_ALL_GATHER, "ring");
}

static dt_status *reduce_scatter(dt_member *m, int n, float *x)
{
    return scheduled(m, n, x, DT_REDUCE_SCATTER, "ring");
}

static dt_status *tree(dt_member *m, int n, float *x)
{
    return dt_tree_all_reduce(m, m->team->ranks, DT_FLOAT32, &(dt_tree_item){.parts = x, .sum = x + n, .rows = 1, .width = n}, 1);
}

static dt_status *rows(dt_member *m, int n, float *x)
{
    return dt_rows_all_gather(m, &(dt_rows_item){.own = x, .whole = x + n, .rows = n, .row_bytes = sizeof *x}, 1);
}

static dt_status *collect(dt_member *m, int n, float *x)
{
    return dt_member_collect(m, x, (const size_t[]){(size_t)n, (size_t)n, (size_t)n, (size_t)n}, x + n);
}

static dt_status *spread(dt_member *m, int n, float *x)
{
    return dt_member_spread(m, x, (const size_t[]){(size_t)n, (size_t)n, (size_t)n, (size_t)n}, x + n);
}

static dt_status *gather(dt_member *m, int n, float *x)
{
    return dt_member_gather(m, x, (size_t)n, x + n);
}

static const struct {
    const char *name;
    dt_status *(*run)(dt_member *m, int n, float *x);
} collectives[] = {
    {"ring", ring}, {"two_way", two_way}, {"all_gather", all_gather}, {"reduce_scatter", reduce_scatter}, {"tree", tree},
    {"rows", rows}, {"collect", collect}, {"spread", spread}, {"gather", gather},
};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

#endif
