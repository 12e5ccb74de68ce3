/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the workers beside MPI's own, in turn, in one run under mpirun: what a step with `reproducible` waits for, 407 kB (an MLP's gradients) and 40 MB; and the
 * numbers that workers exchange after each step to agree on what is due. Prints a line for each: bytes, microseconds of dtrain and of MPI_Allreduce
 * (medians over rounds, the slowest rank of each), and their ratio.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/fabric.h"

enum { ROUNDS = 15, MOST = 10000000 };

static float a[MOST], b[MOST], sum[MOST];

static int by_size(const void *x, const void *y) {
    const double p = *(const double *)x, q = *(const double *)y;
    return (p > q) - (p < q);
}

/* Of all ranks, the slowest. */
static double slowest(double us) {
    double most;
    MPI_Allreduce(&us, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static void check(dt_status *s) {
    if (!s) return;
    fprintf(stderr, "%s\n", dt_status_text(s));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double of_dtrain(dt_member *m, int64_t n, int times) {
    const dt_tree_item item = {.parts = a, .sum = sum, .rows = 1, .width = n};
    MPI_Barrier(MPI_COMM_WORLD);
    const int64_t since = dt_now_ns();
    for (int i = 0; i < times; i++)
        check(dt_tree_all_reduce(m, m->group->ranks, DT_FLOAT32, &item, 1));
    return slowest((double)(dt_now_ns() - since) * 1e-3 / times);
}

static double of_mpi(int64_t n, int times) {
    MPI_Barrier(MPI_COMM_WORLD);
    const int64_t since = dt_now_ns();
    for (int i = 0; i < times; i++) MPI_Allreduce(a, b, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return slowest((double)(dt_now_ns() - since) * 1e-3 / times);
}

static void compare(dt_member *m, int64_t n, int times) {
    double own[ROUNDS], theirs[ROUNDS], ratio[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        own[r] = of_dtrain(m, n, times);
        theirs[r] = of_mpi(n, times);
        ratio[r] = own[r] / theirs[r];
    }
    qsort(own, ROUNDS, sizeof *own, by_size);
    qsort(theirs, ROUNDS, sizeof *theirs, by_size);
    qsort(ratio, ROUNDS, sizeof *ratio, by_size);
    if (m->rank == 0)
        printf("all_reduce %lld %.1f %.1f %.3f\n", (long long)(n * 4), own[ROUNDS / 2],
               theirs[ROUNDS / 2], ratio[ROUNDS / 2]);
}

/* Three numbers from each to each. */
static void agree(dt_member *m) {
    double us[ROUNDS];
    int64_t own[3] = {0}, *all = malloc((size_t)m->group->ranks * sizeof own);
    for (int r = 0; r < ROUNDS; r++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const int64_t since = dt_now_ns();
        for (int i = 0; i < 200; i++) check(dt_member_gather(m, own, sizeof own, all));
        us[r] = slowest((double)(dt_now_ns() - since) * 1e-3 / 200);
    }
    qsort(us, ROUNDS, sizeof *us, by_size);
    if (m->rank == 0) printf("agree %d %.1f\n", (int)sizeof own, us[ROUNDS / 2]);
    free(all);
}

int main(int argc, char **argv) {
    int level;
    dt_process_group *group = NULL;
    dt_member *m = NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    check(dt_process_group_open(&group, &dt_fabric_mpi, 0));
    check(dt_process_group_join(group, group->own, 60, &m));
    for (int64_t i = 0; i < MOST; i++) a[i] = (float)(i % 97) * 0.01f;
    compare(m, 101770, 20);
    compare(m, MOST, 1);
    agree(m);
    dt_member_leave(m);
    dt_process_group_close(group);
    MPI_Finalize();
    return 0;
}
