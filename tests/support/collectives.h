/* SPDX-License-Identifier: Apache-2.0 */
/* A table of every kind of collective, run on n floats, by at most four ranks. Behind the floats
 * there is room for four times as many. And faults in the middle of each: when the last rank is
 * about to send. */
#ifndef TESTS_SUPPORT_COLLECTIVES_H
#define TESTS_SUPPORT_COLLECTIVES_H

#include <signal.h>
#include <string.h>

#include "base/arena.h"
#include "net/fabric.h"

/* The sum over all ranks of n floats, in place. */
static inline dt_status *sum_floats(dt_member *m, int n, float *x) {
    return dt_tree_all_reduce(m, m->group->ranks, DT_FLOAT32,
                              &(dt_tree_item){.parts = x, .sum = x, .rows = 1, .width = n}, 1);
}

static dt_status *tree(dt_member *m, int n, float *x) {
    return dt_tree_all_reduce(m, m->group->ranks, DT_FLOAT32,
                              &(dt_tree_item){.parts = x, .sum = x + n, .rows = 1, .width = n}, 1);
}

static dt_status *rows(dt_member *m, int n, float *x) {
    return dt_rows_all_gather(
        m, &(dt_rows_item){.own = x, .whole = x + n, .rows = n, .row_bytes = sizeof *x}, 1);
}

static dt_status *collect(dt_member *m, int n, float *x) {
    return dt_member_collect(m, x, (const size_t[]){(size_t)n, (size_t)n, (size_t)n, (size_t)n},
                             x + n);
}

static dt_status *spread(dt_member *m, int n, float *x) {
    return dt_member_spread(m, x, (const size_t[]){(size_t)n, (size_t)n, (size_t)n, (size_t)n},
                            x + n);
}

static dt_status *gather(dt_member *m, int n, float *x) {
    return dt_member_gather(m, x, (size_t)n, x + n);
}

static const struct {
    const char *name;
    dt_status *(*run)(dt_member *m, int n, float *x);
} collectives[] = {
    {"tree", tree}, {"rows", rows}, {"collect", collect}, {"spread", spread}, {"gather", gather},
};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

/* ---- faults ---- */

static struct {
    dt_fabric row;
    int signal;
} failpoint; /* of this process alone */

static inline dt_status *fail_at_send(dt_member *m, int to, const dt_tag *tag, const void *bytes,
                                      size_t n) {
    (void)m, (void)to, (void)tag, (void)bytes, (void)n;
    raise(failpoint.signal);
    return dt_fail(DT_E_INTERNAL, NULL, "the last rank was let go");
}

static inline void fail_when_sending(dt_process_group *t, int signal) {
    failpoint.row = *t->fabric;
    failpoint.row.send = fail_at_send;
    failpoint.signal = signal;
    t->fabric = &failpoint.row;
}

/* "dies in tree", "stops in rows", "skips in ring": the second time, for what another rank calls
 * dense/kernel in step 3. `sum` before, and after it, so that those hear of it, too, who wait for
 * nobody in that collective. */
static inline dt_status *fault_in(dt_member *m, const char *what, int n,
                                  dt_status *(*sum)(dt_member *m, float *x)) {
    float *x = calloc(5 * (size_t)n, sizeof *x);
    const char *name = strstr(what, " in ") + 4;
    int c = 0;
    while (strcmp(collectives[c].name, name) != 0) c++;
    dt_status *s = sum(m, x);
    m->step = 3;
    m->of = "dense/kernel";
    if (!s) s = collectives[c].run(m, n, x); /* whole */
    if (m->rank == m->group->ranks - 1) {
        if (strncmp(what, "skips", 5) == 0) m->of = "dense/bias";
        else fail_when_sending(m->group, strncmp(what, "dies", 4) == 0 ? SIGKILL : SIGSTOP);
    }
    if (!s) s = collectives[c].run(m, n, x);
    if (!s) s = sum(m, x);
    free(x);
    return s;
}

#endif
