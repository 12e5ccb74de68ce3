/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planned matrix products. They use the engine's library. If that was chosen automatically (`auto`) and oneDNN rejects a product,
 * OpenBLAS computes that one. The choice depends on sizes alone, and so do the bits.
 *
 * Matrices of 16 bits go to the library where it takes them. Elsewhere a tile at a time is converted into scratch and multiplied there:
 *
 *     for each tile of C     for each stretch of k     C (f32) += float(A tile) float(B tile)     then C is stored as it is to be
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exec/exec_impl.h"

enum { TILE_M = 256, TILE_N = 256, TILE_K = 512 };

/* A product in tiles. Sizes of tiles: full, or what is left over. */
struct dt_tiles {
    dt_gemm g;
    const dt_simd *simd;
    void *plan[2][2][2][2]; /* [m is left over][n][k][adds]; NULL: not needed */
};

typedef enum axis { M, N, K } axis;

/* ---- who makes it ---- */

static dt_status *open_second(dt_engine *e)
{
    if (e->second.name)
        return NULL;
    DT_TRY(dt_gemm_open_openblas(&e->second));
    dt_status *s = dt_gemm_find_room(&e->second, dt_pool_lanes(e->pool));
    if (s) {
        e->second.close(&e->second);
        e->second = (dt_gemm_library){ 0 };
    }
    return s;
}

static dt_status *plan_by(dt_engine *e, const dt_gemm_library *l, const dt_gemm *g, void **out)
{
    DT_TRY(l->plan(l, g, out));
    e->held += l->held ? l->held(*out) : 0;
    return NULL;
}

static dt_status *plan_plain(dt_engine *e, const dt_gemm *g, dt_product *out)
{
    dt_status *s = plan_by(e, &e->gemm, g, &out->plan);

    out->library = &e->gemm;
    if (!s || e->kernels != DT_KERNELS_AUTO || dt_status_number(s) != DT_E_KERNELS)
        return s;
    dt_status_free(s);
    DT_TRY(open_second(e));
    out->library = &e->second;
    return plan_by(e, &e->second, g, &out->plan);
}

/* ---- tiles ---- */

static int64_t size_of(const dt_gemm *g, axis a)
{
    return a == M ? g->m : a == N ? g->n : g->k;
}

static int64_t tile_of(axis a)
{
    return a == M ? TILE_M : a == N ? TILE_N : TILE_K;
}

/* The size of a full tile, or of what is left over behind them. */
static int64_t extent(const dt_gemm *g, axis a, bool rest)
{
    return rest ? size_of(g, a) % tile_of(a) : tile_of(a) <= size_of(g, a) ? tile_of(a) : 0;
}

static int64_t largest(const dt_gemm *g, axis a)
{
    return size_of(g, a) < tile_of(a) ? size_of(g, a) : tile_of(a);
}

/* The product of one tile, which lies dense in scratch; C does where it is to be converted. */
static dt_gemm tile_product(const dt_gemm *g, int64_t m, int64_t n, int64_t k, bool adds)
{
    return (dt_gemm){ .m = m, .n = n, .k = k, .trans_a = g->trans_a, .trans_b = g->trans_b, .adds = adds, .lda = g->trans_a ? m : k,
                      .ldb = g->trans_b ? k : n, .ldc = g->out == DT_GEMM_F32 ? g->ldc : n };
}

static dt_status *plan_tiles(dt_engine *e, const dt_gemm *g, struct dt_tiles *t)
{
    for (int i = 0; i < 16; i++) {
        int64_t m = extent(g, M, i & 8), n = extent(g, N, i & 4), k = extent(g, K, i & 2);
        bool adds = i & 1, first = i & 2 ? size_of(g, K) < TILE_K : true, later = i & 2 ? size_of(g, K) > TILE_K : size_of(g, K) >= 2 * TILE_K;
        dt_gemm tile = tile_product(g, m, n, k, adds);
        if (m && n && k && (adds ? g->adds || later : first && !g->adds))
            DT_TRY(plan_by(e, &e->gemm, &tile, &t->plan[i >> 3 & 1][i >> 2 & 1][i >> 1 & 1][i & 1]));
    }
    return NULL;
}

static dt_status *plan_in_tiles(dt_engine *e, const dt_gemm *g, dt_product *out)
{
    out->library = &e->gemm;
    out->tiles = dt_alloc(sizeof *out->tiles);
    *out->tiles = (struct dt_tiles){ .g = *g, .simd = e->simd };
    return plan_tiles(e, g, out->tiles);
}

static bool is_for_library(const dt_engine *e, const dt_gemm *g)
{
    return (g->in == DT_GEMM_F32 && g->out == DT_GEMM_F32) || (e->gemm.bf16 && g->in == DT_GEMM_BF16 && g->out != DT_GEMM_F16);
}

dt_status *dt_product_plan(dt_engine *e, const dt_gemm *g, dt_product *out)
{
    return is_for_library(e, g) ? plan_plain(e, g, out) : plan_in_tiles(e, g, out);
}

size_t dt_product_scratch(const dt_engine *e, const dt_gemm *g)
{
    if (is_for_library(e, g))
        return 0;
    int64_t m = largest(g, M), n = largest(g, N), k = largest(g, K);
    return (size_t)(m * k + k * n + (g->out == DT_GEMM_F32 ? 0 : m * n)) * sizeof(float);
}

/* ---- running ---- */

static const dt_strip_op loads[] = { [DT_GEMM_F32] = DT_S_COPY, [DT_GEMM_BF16] = DT_S_FROM_BF16, [DT_GEMM_F16] = DT_S_FROM_F16 };
static const dt_strip_op stores[] = { [DT_GEMM_F32] = DT_S_COPY, [DT_GEMM_BF16] = DT_S_TO_BF16, [DT_GEMM_F16] = DT_S_TO_F16 };

static int64_t bytes_of(dt_gemm_float f)
{
    return f == DT_GEMM_F32 ? 4 : 2;
}

/* Rows of a stored matrix become rows that lie close together. */
static void load_tile(const struct dt_tiles *t, const char *from, int64_t ld, int64_t rows, int64_t columns, float *to)
{
    for (int64_t i = 0; i < rows; i++)
        t->simd->strip[loads[t->g.in]](to + i * columns, from + i * ld * bytes_of(t->g.in), NULL, NULL, columns);
}

typedef struct tile {
    int64_t m, n, k, m_size, n_size, k_size; /* where it begins; how large it is */
} tile;

static void multiply_tile(const dt_product *p, const tile *at, const char *a, const char *b, float *c, float *scratch)
{
    const dt_gemm *g = &p->tiles->g;
    float *a_tile = scratch, *b_tile = a_tile + largest(g, M) * largest(g, K);
    a += (g->trans_a ? at->k * g->lda + at->m : at->m * g->lda + at->k) * bytes_of(g->in);
    b += (g->trans_b ? at->n * g->ldb + at->k : at->k * g->ldb + at->n) * bytes_of(g->in);

    load_tile(p->tiles, a, g->lda, g->trans_a ? at->k_size : at->m_size, g->trans_a ? at->m_size : at->k_size, a_tile);
    load_tile(p->tiles, b, g->ldb, g->trans_b ? at->n_size : at->k_size, g->trans_b ? at->k_size : at->n_size, b_tile);
    p->library->run(p->tiles->plan[at->m_size < TILE_M][at->n_size < TILE_N][at->k_size < TILE_K][g->adds || at->k > 0], a_tile, b_tile, c);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void make_tile(const dt_product *p, tile *at, const char *a, const char *b, char *c, float *scratch)
{
    const struct dt_tiles *t = p->tiles;
    const dt_gemm *g = &t->g;
    char *to = c + (at->m * g->ldc + at->n) * bytes_of(g->out);
    float *sum = g->out == DT_GEMM_F32 ? (float *)(void *)to : scratch + largest(g, M) * largest(g, K) + largest(g, K) * largest(g, N);

    at->m_size = smaller(TILE_M, g->m - at->m);
    at->n_size = smaller(TILE_N, g->n - at->n);
    for (at->k = 0; at->k < g->k; at->k += TILE_K) {
        at->k_size = smaller(TILE_K, g->k - at->k);
        multiply_tile(p, at, a, b, sum, scratch);
    }
    for (int64_t i = 0; g->out != DT_GEMM_F32 && i < at->m_size; i++)
        t->simd->strip[stores[g->out]](to + i * g->ldc * 2, sum + i * at->n_size, NULL, NULL, at->n_size);
}

/* A sum of nothing is 0. */
static void clear(const dt_gemm *g, char *c)
{
    for (int64_t i = 0; i < g->m && !g->adds; i++)
        memset(c + i * g->ldc * bytes_of(g->out), 0, (size_t)(g->n * bytes_of(g->out)));
}

void dt_product_run(const dt_product *p, const void *a, const void *b, void *c, void *scratch)
{
    if (!p->tiles) {
        p->library->run(p->plan, a, b, c);
        return;
    }
    const dt_gemm *g = &p->tiles->g;
    if (g->k == 0)
        clear(g, c);
    for (tile at = { 0 }; g->k > 0 && at.m < g->m; at.m += TILE_M)
        for (at.n = 0; at.n < g->n; at.n += TILE_N)
            make_tile(p, &at, a, b, c, scratch);
}

void dt_product_release(dt_product *p)
{
    if (p->plan)
        p->library->release(p->plan);
    for (int i = 0; p->tiles && i < 16; i++)
        if (((void **)p->tiles->plan)[i])
            p->library->release(((void **)p->tiles->plan)[i]);
    free(p->tiles);
    *p = (dt_product){ 0 };
}
