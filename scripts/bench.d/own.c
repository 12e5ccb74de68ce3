/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own matrix products beside oneDNN and OpenBLAS as steps call them, on one thread, operands in
 * the cache: floating-point operations per clock cycle, and our rate in times of the faster
 * library's. Packed: B was packed by an earlier product, as steps keep weights (exec/packed.c). For
 * a gradient of weights (A is transposed) B is the gradient of the output, which each product packs
 * itself. cycles.h says how time is taken.
 *
 *     own [ROUNDS [SHAPE...]]       by scripts/bench.d/own; shapes by their numbers, from 0
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "exec/gemm.h"
#include "exec/instructions.h"

#include "cycles.h"

enum { OWN, PACKED, ONEDNN, BLAS, CONTENDERS, OURS = ONEDNN, ROUND_NS = 4000000 };

typedef struct shape {
    char name[8];
    int64_t m, n, k;
    char transposed; /* 'A', 'B', or '-': none */
} shape;

static const shape shapes[] = {
    {"W1", 64, 128, 784, '-'},         {"W1", 32, 128, 784, '-'},
    {"W1 dW", 784, 128, 64, 'A'},      {"W1 out", 64, 10, 128, '-'},
    {"W2", 256, 1024, 784, '-'},       {"W2 dW", 784, 1024, 256, 'A'},
    {"dX", 256, 784, 1024, 'B'},       {"W5 up", 4096, 1536, 384, '-'},
    {"W5 down", 4096, 384, 1536, '-'}, {"W5 dW", 1536, 384, 4096, 'A'},
    {"W5 proj", 4096, 384, 384, '-'},  {"W5 dX", 4096, 384, 1536, 'B'},
    {"W5 out", 4096, 65, 384, '-'},    {"LSTM", 64, 512, 128, '-'},
    {"LSTM", 32, 512, 128, '-'},       {"LSTM", 4, 512, 128, '-'},
    {"LSTM dX", 32, 128, 512, 'B'},    {"MLP", 256, 2048, 2048, '-'},
    {"MLP dW", 2048, 2048, 256, 'A'},  {"cube", 1024, 1024, 1024, '-'},
    {"conv", 8192, 64, 576, '-'},      {"piece", 512, 1536, 384, '-'},
    {"piece", 512, 384, 1536, '-'},    {"piece", 512, 384, 384, '-'},
    {"piece", 1536, 384, 512, 'A'},    {"W2", 16, 1024, 784, '-'},
    {"W1", 4, 128, 784, '-'},          {"W1", 8, 128, 784, '-'},
    {"W2", 128, 1024, 784, '-'},       {"W2 dW", 392, 1024, 256, 'A'},
    {"W2 dW", 49, 1024, 256, 'A'},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- products ---- */

typedef struct contender {
    const dt_gemm_library *library;
    void *plan, *scratch;
    double cycles; /* the least of a call */
} contender;

typedef struct matrices {
    const float *a, *b;
    float *c;
} matrices;

static float *fill(int64_t n) {
    float *x = dt_alloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i % 7) - 3;
    return x;
}

static void call(const void *contender_, const void *matrices_) {
    const contender *c = contender_;
    const matrices *m = matrices_;
    c->library->run(c->plan, m->a, m->b, m->c, c->scratch);
}

/* Plans the product for a contender, and runs it once; PACKED packs B thereby. */
static void prepare(contender *c, const dt_gemm *g, const matrices *m) {
    require(c->library->plan(c->library, g, &c->plan));
    c->scratch = dt_alloc(dt_gemm_scratch(c->library, c->plan));
    call(c, m);
}

static void release(contender *c) {
    c->library->release(c->plan);
    free(c->scratch);
}

/* Prints a line, and sets ratio[OWN], ratio[PACKED]: our rates in times of the faster library's. 0:
 * disturbed. */
static void compare(const dt_gemm_library *const l[CONTENDERS], const shape *s, int rounds,
                    double ratio[OURS]) {
    const bool ta = s->transposed == 'A', tb = s->transposed == 'B';
    const dt_gemm g = {.m = s->m,
                       .n = s->n,
                       .k = s->k,
                       .trans_a = ta,
                       .trans_b = tb,
                       .lda = ta ? s->m : s->k,
                       .ldb = tb ? s->k : s->n,
                       .ldc = s->n};
    const dt_simd *simd = l[OWN]->state;
    dt_panels panels = {.room = dt_alloc((size_t)simd->product->panels(&g) * sizeof(float)),
                        .version = 2};
    dt_gemm packed = g;
    packed.panels = &panels;
    contender c[CONTENDERS] = {{0}};
    float *a = fill(g.m * g.k), *b = fill(g.k * g.n), *to = fill(g.m * g.n);
    const matrices m = {a, b, to};
    for (int i = 0; i < CONTENDERS; i++) {
        c[i].library = l[i];
        prepare(&c[i], i == PACKED ? &packed : &g, &m);
    }
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < CONTENDERS; i++)
            sample(&(timed){call, &c[i], &m}, ROUND_NS, &c[i].cycles);
    const double work = 2.0 * (double)g.m * (double)g.n * (double)g.k,
                 better = fmin(c[ONEDNN].cycles, c[BLAS].cycles);
    printf("%-8s %5lld %5lld %5lld  %c ", s->name, (long long)g.m, (long long)g.n, (long long)g.k,
           s->transposed);
    for (int i = 0; i < CONTENDERS; i++) printf(" %6.1f", work / c[i].cycles);
    for (int i = 0; i < OURS; i++) {
        ratio[i] = c[i].cycles > 0 ? better / c[i].cycles : 0;
        printf("  %5.2f", ratio[i]);
    }
    printf("\n");
    fflush(stdout);
    for (int i = 0; i < CONTENDERS; i++) release(&c[i]);
    free(panels.room);
    free(a);
    free(b);
    free(to);
}

/* Ratios of all shapes. */
typedef struct result {
    double logs; /* the sum of their logarithms */
    int compared, fast;
} result;

static void add(result *r, double ratio) {
    if (ratio <= 0) return;
    r->compared++;
    r->fast += ratio >= 0.995;
    r->logs += log(ratio);
}

static void print(const char *name, const result *r) {
    if (r->compared > 0)
        printf("%s/better: geometric mean %.2f; %d of %d at least 1.0\n", name,
               exp(r->logs / r->compared), r->fast, r->compared);
}

int main(int n, char **word) {
    dt_gemm_library own, onednn, blas;
    const dt_gemm_library *const l[CONTENDERS] = {&own, &own, &onednn, &blas};
    const dt_simd *simd = NULL;
    result all[OURS + 1] = {{0}}; /* the last: packed, where B are weights */
    require(dt_instructions_choose(NULL, &simd));
    dt_gemm_open_own(&own, simd);
    require(dt_gemm_open_onednn(&onednn));
    require(dt_gemm_open_openblas(&blas));
    for (int i = 0; i < CONTENDERS; i++) l[i]->enter_thread(l[i]);
    printf("own %s, oneDNN %s, OpenBLAS %s, %.2f GHz\n", simd->name, onednn.about, blas.about,
           clock_ghz());
    printf("%-8s %5s %5s %5s  %c  %6s %6s %6s %6s  own/better, packed/better\n", "", "M", "N", "K",
           'T', "own", "packed", "oneDNN", "BLAS");
    for (int i = 0; i < SHAPES; i++) {
        double ratio[OURS];
        if (!is_wanted(i, n, word)) continue;
        compare(l, &shapes[i], n > 1 ? atoi(word[1]) : 5, ratio);
        for (int k = 0; k < OURS; k++) add(&all[k], ratio[k]);
        add(&all[OURS], ratio[shapes[i].transposed == 'A' ? OWN : PACKED]);
    }
    print("own", &all[OWN]);
    print("packed", &all[PACKED]);
    print("as steps run them (packed, but own where A is transposed)", &all[OURS]);
    return all[OWN].compared == 0;
}
