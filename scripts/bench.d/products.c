/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products by oneDNN beside OpenBLAS, for the table of exec/product.c: time of oneDNN in times of OpenBLAS, one line a product, on one thread.
 * Calls take turns, and processor time is counted, so that neighbours on the machine disturb both alike; the least of all rounds counts.
 *
 *     products [ROUNDS]        by scripts/bench.d/products: DTRAIN_INSTRUCTIONS says for which instruction set
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "exec/gemm.h"

enum { LIBRARIES = 2 };

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void require(dt_status *s)
{
    if (!s)
        return;
    fprintf(stderr, "%s\n", dt_status_text(s));
    exit(1);
}

static float *fill(int64_t n)
{
    float *x = dt_alloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(i % 7) - 3;
    return x;
}

/* About 20 ms of calls a round. */
static void compare(const dt_gemm_library *l, const dt_gemm *g, int rounds)
{
    void *plan[LIBRARIES];
    float *a = fill(g->m * g->k), *b = fill(g->k * g->n), *c = fill(g->m * g->n);
    double least[LIBRARIES] = { 1e9, 1e9 };
    int calls = 1 + (int)(1e9 / (2.0 * (double)g->m * (double)g->n * (double)g->k));
    for (int i = 0; i < LIBRARIES; i++) {
        require(l[i].plan(&l[i], g, &plan[i]));
        l[i].run(plan[i], a, b, c, NULL); /* libraries need no working memory */
    }
    for (int r = 0; r < rounds * LIBRARIES; r++) {
        double begin = cpu_s();
        for (int k = 0; k < calls; k++)
            l[r % 2].run(plan[r % 2], a, b, c, NULL);
        double s = (cpu_s() - begin) / calls;
        least[r % 2] = s < least[r % 2] ? s : least[r % 2];
    }
    double work = 2e-9 * (double)g->m * (double)g->n * (double)g->k;
    printf("%5lld %5lld %5lld  %-2s %-2s  %6.1f %6.1f GFLOP/s  %5.2f\n", (long long)g->m, (long long)g->n, (long long)g->k, g->trans_a ? "A'" : "A",
           g->trans_b ? "B'" : "B", work / least[0], work / least[1], least[0] / least[1]);
    for (int i = 0; i < LIBRARIES; i++)
        l[i].release(plan[i]);
    free(a);
    free(b);
    free(c);
}

static void compare_ways(const dt_gemm_library *l, int64_t m, int64_t n, int64_t k, int rounds)
{
    for (int way = 0; way < 3; way++) {
        bool ta = way == 1, tb = way == 2;
        compare(l, &(dt_gemm){ .m = m, .n = n, .k = k, .trans_a = ta, .trans_b = tb, .lda = ta ? m : k, .ldb = tb ? k : n, .ldc = n }, rounds);
    }
}

int main(int n, char **word)
{
    static const int64_t rows[] = { 32, 256 }, columns[] = { 10, 128, 384, 512, 768, 1024, 1040, 1536, 2048, 4096 }, depth[] = { 64, 784, 1024 };
    dt_gemm_library l[LIBRARIES];
    require(dt_gemm_open_onednn(&l[0]));
    require(dt_gemm_open_openblas(&l[1]));
    for (int i = 0; i < LIBRARIES; i++)
        l[i].enter_thread(&l[i]);
    printf("oneDNN %s, OpenBLAS %s\n", l[0].about, l[1].about);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (size_t d = 0; d < sizeof depth / sizeof *depth; d++)
                compare_ways(l, rows[r], columns[c], depth[d], n > 1 ? atoi(word[1]) : 5);
    return 0;
}
