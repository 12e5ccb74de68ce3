/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of both libraries against plain loops: all transpositions, sizes of one and none,
 * rows longer than the matrix, memory that must not be read or written; and the bits of a plan do
 * not depend on who runs it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/half.h"
#include "base/random.h"
#include "base/sanitizer.h"
#include "base/size.h"
#include "base/thread.h"
#include "exec/dot_bf16.h"
#include "exec/gemm.h"
#include "exec/strip.h"

typedef dt_status *(*opener)(dt_gemm_library *l);
static const opener openers[] = {dt_gemm_open_openblas, dt_gemm_open_onednn};

static void open_or_skip(int which, dt_gemm_library *l) {
    dt_status *s = openers[which](l);
    if (!s) return;
    print_message("%s\n", dt_status_text(s));
    dt_status_free(s);
    skip();
}

/* ---- matrices ---- */

typedef struct matrices {
    dt_gemm g;
    float *a, *b, *c;
    size_t a_size, b_size, c_size;
} matrices;

static float *draw(dt_random *r, size_t n) {
    float *x = dt_try_alloc(n * sizeof *x + 64);
    for (size_t i = 0; i < n; i++) x[i] = (float)dt_random_normal(r);
    return x;
}

/* Stored rows of `rows` x `columns`, each ld long. */
static size_t stored(int64_t rows, int64_t ld) { return (size_t)(rows * ld); }

static matrices matrices_make(dt_random *r, const dt_gemm *g) {
    matrices m = {.g = *g};
    m.a_size = stored(g->trans_a ? g->k : g->m, g->lda);
    m.b_size = stored(g->trans_b ? g->n : g->k, g->ldb);
    m.c_size = stored(g->m, g->ldc);
    m.a = draw(r, m.a_size);
    m.b = draw(r, m.b_size);
    m.c = draw(r, m.c_size);
    for (size_t i = 0; i < m.c_size; i++) m.c[i] = NAN; /* what was there must not count */
    return m;
}

static void matrices_release(matrices *m) {
    free(m->a);
    free(m->b);
    free(m->c);
}

static double exact(const matrices *m, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < m->g.k; k++)
        sum += (double)m->a[m->g.trans_a ? k * m->g.lda + i : i * m->g.lda + k] *
               (double)m->b[m->g.trans_b ? j * m->g.ldb + k : k * m->g.ldb + j];
    return sum;
}

static void expect_product(const char *library, const matrices *m) {
    const dt_gemm *g = &m->g;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->ldc; j++) {
            float is = m->c[i * g->ldc + j];
            if (j >= g->n ? !isnan(is)
                          : !(fabs((double)is - exact(m, i, j)) <= 1e-5 * (1 + sqrt((double)g->k))))
                fail_msg("%s, %lld x %lld x %lld%s%s: element %lld, %lld is %g", library,
                         (long long)g->m, (long long)g->n, (long long)g->k,
                         g->trans_a ? ", A transposed" : "", g->trans_b ? ", B transposed" : "",
                         (long long)i, (long long)j, (double)is);
        }
}

/* Runs a plan with the working memory that it asks for, and no more. */
static void run_plan(const dt_gemm_library *l, const void *plan, const matrices *m, float *c) {
    void *scratch = dt_alloc(dt_gemm_scratch(l, plan));
    l->run(plan, m->a, m->b, c, scratch);
    free(scratch);
}

static void multiply(const dt_gemm_library *l, dt_random *r, const dt_gemm *g) {
    void *plan = NULL;
    matrices m = matrices_make(r, g);
    dt_status *s = l->plan(l, g, &plan);
    if (s) fail_msg("%s: %s", l->name, dt_status_text(s));
    run_plan(l, plan, &m, m.c);
    expect_product(l->name, &m);
    l->release(plan);
    matrices_release(&m);
}

static const int64_t sizes[][3] = {
    {1, 1, 1},      {1, 10, 128},   {64, 10, 128}, {32, 128, 784}, {5, 7, 3},
    {100, 37, 301}, {392, 128, 64}, {10, 1, 1},    {1, 1, 300},    {0, 4, 4},
    {4, 0, 4},      {4, 5, 0},      {0, 0, 0},
};

static void multiply_all(int which) {
    dt_gemm_library l;
    dt_random r = dt_random_stream(20, "gemm", 0);
    open_or_skip(which, &l);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int how = 0; how < 8; how++) {
            const int64_t *s = sizes[i], more = how & 4 ? 3 : 0; /* longer rows */
            bool ta = how & 1, tb = how & 2;
            dt_gemm g = {.m = s[0],
                         .n = s[1],
                         .k = s[2],
                         .trans_a = ta,
                         .trans_b = tb,
                         .lda = (ta ? s[0] : s[2]) + more,
                         .ldb = (tb ? s[2] : s[1]) + more,
                         .ldc = s[1] + more};
            multiply(&l, &r, &g);
        }
    l.close(&l);
}

static void test_openblas(void **state) {
    (void)state;
    multiply_all(0);
}

static void test_onednn(void **state) {
    (void)state;
    multiply_all(1);
}

/* ---- threads ---- */

enum { PLANS = 8 };
typedef struct group {
    dt_gemm_library *l;
    matrices m;
    void *plan[PLANS];
    float *c[PLANS];
    int lanes;
} group;

static void work(int lane, void *user) {
    const group *t = user;
    t->l->enter_thread(t->l);
    for (int round = 0; round < 20; round++)
        for (int i = lane; i < PLANS; i += t->lanes) run_plan(t->l, t->plan[i], &t->m, t->c[i]);
}

/* The same product by plans of their own, at once, on threads that have not made them. */
static void run_on_threads(int which, const dt_gemm *g) {
    dt_gemm_library l;
    dt_random r = dt_random_stream(21, "gemm", 0);
    dt_pool *pool = NULL;
    open_or_skip(which, &l);
    group t = {.l = &l, .m = matrices_make(&r, g), .lanes = 4};
    assert_null(dt_pool_create(&pool, t.lanes));
    for (int i = 0; i < PLANS; i++) {
        assert_null(l.plan(&l, g, &t.plan[i]));
        t.c[i] = draw(&r, t.m.c_size);
    }
    dt_pool_run(pool, work, &t);
    memcpy(t.m.c, t.c[0], t.m.c_size * sizeof(float));
    expect_product(l.name, &t.m);
    for (int i = 0; i < PLANS; i++) {
        if (memcmp(t.c[i], t.m.c, t.m.c_size * sizeof(float)) != 0)
            fail_msg("%s: plan %d gives other bits than plan 0", l.name, i);
        l.release(t.plan[i]);
        free(t.c[i]);
    }
    dt_pool_destroy(pool);
    matrices_release(&t.m);
    l.close(&l);
}

static const dt_gemm shared_products[] = {
    {.m = 32, .n = 128, .k = 784, .lda = 784, .ldb = 128, .ldc = 128},
    {.m = 392, .n = 128, .k = 64, .trans_a = true, .lda = 784, .ldb = 128, .ldc = 128},
    {.m = 32, .n = 128, .k = 10, .trans_b = true, .lda = 10, .ldb = 10, .ldc = 128},
};

static void test_openblas_on_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shared_products / sizeof *shared_products; i++)
        run_on_threads(0, &shared_products[i]);
}

static void test_onednn_on_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shared_products / sizeof *shared_products; i++)
        run_on_threads(1, &shared_products[i]);
}

static void test_sizes_beyond_32_bits_are_refused(void **state) {
    (void)state;
    dt_gemm_library l;
    void *plan = NULL;
    const int64_t large = INT64_C(1) << 32;
    assert_null(dt_gemm_open_openblas(&l));
    dt_status *s =
        l.plan(&l, &(dt_gemm){.m = large, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1}, &plan);
    assert_int_equal(dt_status_number(s), DT_E_KERNELS);
    assert_null(plan);
    dt_status_free(s);
    l.close(&l);
}

/* ---- our own: chains of fmaf over blocks of k, and a tree over the blocks ---- */

enum { MOST = 90 };

/* Of any size, with zeros, denormals and numbers whose products overflow among them. */
static float draw_any(dt_random *r) {
    const uint32_t bits = dt_random_u32(r);
    const float x = (float)dt_random_normal(r);
    return bits % 97 == 0   ? 0.0f
           : bits % 89 == 0 ? ldexpf(x, -140)
           : bits % 83 == 0 ? ldexpf(x, 70)
                            : ldexpf(x, (int)(bits % 40) - 20);
}

/* The sum over blocks [from, end): the left half of the tree is the largest power of two of blocks
 * that leaves some for the right one. */
static float tree(const matrices *m, int64_t i, int64_t j, int64_t from, int64_t end) {
    const dt_gemm *g = &m->g;
    if (end - from > 1) {
        int64_t half = 1;
        while (2 * half < end - from) half *= 2;
        return tree(m, i, j, from, from + half) + tree(m, i, j, from + half, end);
    }
    float sum = 0;
    for (int64_t k = from * DT_PRODUCT_BLOCK; k < g->k && k < end * DT_PRODUCT_BLOCK; k++)
        sum = fmaf(m->a[g->trans_a ? k * g->lda + i : i * g->lda + k],
                   m->b[g->trans_b ? j * g->ldb + k : k * g->ldb + j], sum);
    return sum;
}

static float element(const matrices *m, int64_t i, int64_t j, float was) {
    const int64_t blocks = (m->g.k + DT_PRODUCT_BLOCK - 1) / DT_PRODUCT_BLOCK;
    const float sum = blocks ? tree(m, i, j, 0, blocks) : 0;
    return m->g.adds ? was + sum : sum;
}

static void expect_elements(const dt_simd *simd, const matrices *m, const float *before,
                            uint64_t seed) {
    const dt_gemm *g = &m->g;
    dt_gemm_library l;
    void *plan = NULL;
    dt_gemm_open_own(&l, simd);
    assert_null(l.plan(&l, g, &plan));
    memcpy(m->c, before, m->c_size * sizeof *before);
    run_plan(&l, plan, m, m->c);
    l.release(plan);
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->ldc; j++) {
            const float was = before[i * g->ldc + j], got = m->c[i * g->ldc + j];
            const float wanted = j >= g->n ? was : element(m, i, j, was);
            if (memcmp(&wanted, &got, sizeof got) != 0 && !(isnan(wanted) && isnan(got)))
                fail_msg("seed %llu, %s: %lld x %lld x %lld at %lld, %lld: %a, not %a",
                         (unsigned long long)seed, simd->name, (long long)g->m, (long long)g->n,
                         (long long)g->k, (long long)i, (long long)j, (double)got, (double)wanted);
        }
}

/* Drawn products run on one thread each, where the thread sanitizer has little to find. */
enum { EVERY = DT_TSAN ? 7 : 1 };

static void test_own_products_have_one_order_on_every_set(void **state) {
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    const int n = dt_simd_list(list);
    print_message("seeds 1 to 120\n");
    for (uint64_t seed = 1; seed <= 120; seed += EVERY) {
        dt_random r = dt_random_stream(seed, "own products", 0);
        const int64_t m = (int64_t)(dt_random_u32(&r) % MOST),
                      columns = (int64_t)(dt_random_u32(&r) % MOST),
                      k = (int64_t)(dt_random_u32(&r) % (seed % 4   ? 40
                                                         : seed % 8 ? 600
                                                                    : 9 * DT_PRODUCT_BLOCK)),
                      more = (int64_t)(dt_random_u32(&r) % 3);
        const bool trans_a = seed & 1, trans_b = seed & 2;
        const dt_gemm g = {.m = m,
                           .n = columns,
                           .k = k,
                           .trans_a = trans_a,
                           .trans_b = trans_b,
                           .adds = seed % 5 == 0,
                           .lda = (trans_a ? m : k) + more,
                           .ldb = (trans_b ? k : columns) + more,
                           .ldc = columns + more};
        matrices x = matrices_make(&r, &g);
        for (size_t i = 0; i < x.a_size; i++) x.a[i] = draw_any(&r);
        for (size_t i = 0; i < x.b_size; i++) x.b[i] = draw_any(&r);
        float *before = draw(&r, x.c_size);
        for (int s = 0; s < n; s++) expect_elements(list[s], &x, before, seed);
        free(before);
        matrices_release(&x);
    }
}

/*
 * Sizes at which a product is cut in every way: into passes over k, parts of rows, groups of
 * columns, panels at the edge; with B and A packed or not, rows that fall into the same sets of a cache; and
 * k of a million.
 */
static const int64_t cuts[][3] = {
    {1, 1, 1},      {1, 700, 40},     {300, 1, 1100},  {3, 1300, 257},  {9, 49, 1030},
    {13, 45, 2600}, {64, 10, 128},    {150, 65, 600},  {40, 512, 300},  {7, 33, 8200},
    {7, 2100, 70},  {513, 97, 60},    {1, 2, 1000003}, {4, 1024, 2100}, {100, 31, 1030},
    {64, 512, 128}, {264, 514, 1030},
};

/* Memory that ends where the matrix does: a sanitizer reports reads beyond it. */
static float *draw_exactly(dt_random *r, float **memory, size_t n, size_t shift) {
    *memory = malloc((n + shift) * sizeof **memory + 1);
    for (size_t i = 0; i < n + shift; i++) (*memory)[i] = (float)dt_random_u32(r) / 0x1p31f - 1;
    return *memory + shift;
}

static void expect_some(const matrices *m, const float *before, dt_random *r, const char *what) {
    const dt_gemm *g = &m->g;
    const int64_t all = g->m * g->ldc, tried = dt_min(all, dt_max(20, 200000 / g->k));
    for (int64_t n = 0; n < tried; n++) {
        const int64_t at = n < 8 ? (n & 1 ? all - 1 - n / 2 : n / 2) : dt_random_u32(r) % all,
                      i = at / g->ldc, j = at % g->ldc;
        const float got = m->c[at], wanted = j < g->n ? element(m, i, j, before[at]) : before[at];
        if (memcmp(&got, &wanted, sizeof got) != 0)
            fail_msg("%s at %lld, %lld: %a, not %a", what, (long long)i, (long long)j, (double)got,
                     (double)wanted);
        double sum = g->adds ? before[at] : 0, size = fabs(sum);
        for (int64_t k = 0; k < g->k && j < g->n; k++) {
            const double one = (double)m->a[g->trans_a ? k * g->lda + i : i * g->lda + k] *
                               (double)m->b[g->trans_b ? j * g->ldb + k : k * g->ldb + j];
            sum += one;
            size += fabs(one);
        }
        if (j < g->n && fabs(got - sum) > 1e-6 * size)
            fail_msg("%s at %lld, %lld: %g, not %g", what, (long long)i, (long long)j, (double)got,
                     sum);
    }
}

/*
 * Products that share the panels of B have the bits of those that pack them: the first, which packs
 * them, one that finds them packed, one that finds other values of B, and one that finds all of
 * them being packed by others.
 */
static void try_panels(const dt_gemm_library *l, const dt_simd *simd, const matrices *x,
                       const float *before, dt_random *r) {
    enum { FIRST, AGAIN, CHANGED, BUSY, PRODUCTS };
    const int64_t floats = simd->product->panels(&x->g);
    dt_panels panels = {.room = dt_try_alloc((size_t)floats * sizeof(float)), .version = 2};
    dt_gemm g = x->g;
    void *plan = NULL;
    memset(panels.room, 0, (size_t)floats * sizeof(float));
    g.panels = &panels;
    assert_null(l->plan(l, &g, &plan));
    for (int i = FIRST; i < PRODUCTS; i++) {
        panels.version = i >= CHANGED ? 4 : 2;
        if (i == CHANGED)
            for (int64_t at = 0; at < (g.trans_b ? g.n : g.k); at++) x->b[at * g.ldb] += 1;
        for (int64_t at = 0; i == BUSY && at < floats; at++)
            memcpy(panels.room + at, &(uint32_t){5}, sizeof(uint32_t));
        memcpy(x->c, before, x->c_size * sizeof *before);
        run_plan(l, plan, x, x->c);
        const char *const what[] = {"panels", "packed panels", "changed panels", "busy panels"};
        expect_some(x, before, r, what[i]);
    }
    l->release(plan);
    free(panels.room);
}

static void try_cut(const dt_simd *simd, const int64_t size[3], uint64_t seed) {
    dt_random r = dt_random_stream(seed, "cuts", 0);
    const bool ta = seed & 1, tb = seed & 2;
    const int64_t more = (int64_t)(dt_random_u32(&r) % 4), m = size[0], n = size[1], k = size[2];
    dt_gemm g = {.m = m, .n = n, .k = k, .trans_a = ta, .trans_b = tb, .adds = seed & 4};
    g.lda = (ta ? m : k) + more;
    g.ldb = (tb ? k : n) + more / 2;
    g.ldc = n + more / 3;
    matrices x = {.g = g, .c_size = stored(m, g.ldc)};
    float *memory[3];
    /* rows but the last have what lies between rows behind them */
    x.a = draw_exactly(&r, &memory[0], stored((ta ? k : m) - 1, g.lda) + (size_t)(ta ? m : k),
                       dt_random_u32(&r) % 3);
    x.b = draw_exactly(&r, &memory[1], stored((tb ? n : k) - 1, g.ldb) + (size_t)(tb ? k : n),
                       dt_random_u32(&r) % 3);
    x.c = draw_exactly(&r, &memory[2], x.c_size, dt_random_u32(&r) % 3);
    float *before = dt_alloc(x.c_size * sizeof *before);
    memcpy(before, x.c, x.c_size * sizeof *before);
    dt_gemm_library l;
    void *plan = NULL;
    char what[96];
    snprintf(what, sizeof what, "seed %llu, %s: %lld x %lld x %lld", (unsigned long long)seed,
             simd->name, (long long)m, (long long)n, (long long)k);
    dt_gemm_open_own(&l, simd);
    assert_null(l.plan(&l, &g, &plan));
    run_plan(&l, plan, &x, x.c);
    l.release(plan);
    expect_some(&x, before, &r, what);
    try_panels(&l, simd, &x, before, &r);
    free(before);
    for (int i = 0; i < 3; i++) free(memory[i]);
}

static void test_own_products_do_not_depend_on_cuts(void **state) {
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    const int sets = dt_simd_list(list), products = 8 * (int)(sizeof cuts / sizeof *cuts);
    print_message("seeds 1 to %d\n", products);
    for (int i = 0; i < products; i += EVERY)
        for (int s = 0; s < sets; s++) try_cut(list[s], cuts[i / 8], (uint64_t)i + 1);
}

/* ---- bfloat16 as it is ---- */

static uint16_t *draw_bf16(dt_random *r, size_t n) {
    uint16_t *x = dt_alloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = dt_bfloat_of(dt_random_normal(r));
    return x;
}

/* Every element against a sum in double precision; none outside is written. */
static void expect_sums(const dt_dot_bf16 *t, const uint16_t *a, const uint16_t *b,
                        const float *before, const float *c, uint64_t seed) {
    for (int64_t i = 0; i < t->m; i++)
        for (int64_t j = 0; j < t->ldc; j++) {
            double wanted = j >= t->n || t->adds ? before[i * t->ldc + j] : 0, size = fabs(wanted);
            for (int64_t k = 0; k < t->k && j < t->n; k++) {
                const double one =
                    dt_bfloat_to_double(a[t->trans_a ? k * t->lda + i : i * t->lda + k]) *
                    dt_bfloat_to_double(b[t->trans_b ? j * t->ldb + k : k * t->ldb + j]);
                wanted += one;
                size += fabs(one);
            }
            if (fabs(c[i * t->ldc + j] - wanted) > (j < t->n ? 1e-5 * size : 0))
                fail_msg("seed %llu: %lld x %lld x %lld at %lld, %lld: %g, not %g",
                         (unsigned long long)seed, (long long)t->m, (long long)t->n,
                         (long long)t->k, (long long)i, (long long)j, (double)c[i * t->ldc + j],
                         wanted);
        }
}

static void test_bfloat16_is_multiplied_as_it_is(void **state) {
    (void)state;
    if (!dt_dot_bf16_is_here()) {
        print_message("no AVX512_BF16\n");
        skip();
    }
    print_message("seeds 1 to 200\n");
    for (uint64_t seed = 1; seed <= 200; seed += EVERY) {
        dt_random r = dt_random_stream(seed, "bfloat16", 0);
        const int64_t m = 1 + (int64_t)(dt_random_u32(&r) % 40),
                      n = 1 + (int64_t)(dt_random_u32(&r) % 150),
                      k = 2 + 2 * (int64_t)(dt_random_u32(&r) % (seed % 3 ? 40 : 300)),
                      more = (int64_t)(dt_random_u32(&r) % 3);
        const bool trans_a = seed & 1, trans_b = seed & 2;
        const dt_dot_bf16 t = {.m = m,
                               .n = n,
                               .k = k,
                               .trans_a = trans_a,
                               .trans_b = trans_b,
                               .adds = seed % 5 == 0,
                               .lda = (trans_a ? m : k) + more,
                               .ldb = (trans_b ? k : n) + more,
                               .ldc = n + more};
        uint16_t *a = draw_bf16(&r, stored(trans_a ? k : m, t.lda)),
                 *b = draw_bf16(&r, stored(trans_b ? n : k, t.ldb));
        float *before = draw(&r, stored(m, t.ldc)), *c = dt_alloc(stored(m, t.ldc) * sizeof *c);
        uint32_t *room_a = dt_alloc((size_t)(dt_dot_bf16_room_a(&t) + 1) * sizeof *room_a),
                 *room_b = dt_alloc((size_t)dt_dot_bf16_room_b(&t) * sizeof *room_b);
        memcpy(c, before, stored(m, t.ldc) * sizeof *c);
        dt_dot_bf16_pack_a(&t, a, room_a);
        dt_dot_bf16_pack_b(&t, b, room_b);
        dt_dot_bf16_run(&t, a, room_a, room_b, c);
        expect_sums(&t, a, b, before, c, seed);
        free(a);
        free(b);
        free(before);
        free(c);
        free(room_a);
        free(room_b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openblas),
        cmocka_unit_test(test_onednn),
        cmocka_unit_test(test_openblas_on_threads),
        cmocka_unit_test(test_onednn_on_threads),
        cmocka_unit_test(test_sizes_beyond_32_bits_are_refused),
        cmocka_unit_test(test_own_products_have_one_order_on_every_set),
        cmocka_unit_test(test_own_products_do_not_depend_on_cuts),
        cmocka_unit_test(test_bfloat16_is_multiplied_as_it_is),
    };
    return cmocka_run_group_tests_name("exec/gemm", tests, NULL, NULL);
}
