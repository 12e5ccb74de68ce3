/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planned matrix products: by the engine's library, or by our own loops where they are the engine's
 * choice. Our own loops also compute products of float32 that the library rejects, unless the user
 * asked for the library by name.
 *
 * Matrices of 16 bits go to the library where it takes them. Otherwise, if both are bfloat16 and
 * the engine has packs_bf16, a tile of each is packed, and multiplied as it is (dot_bf16.c). In all
 * other cases, also if k is odd, a tile at a time is converted to float32 in scratch and multiplied
 * there. A tile of A serves a whole panel of C, so that A is converted once for each panel; a tile
 * of float32 is read in place:
 *
 *     for each panel of C
 *         for each stretch of k
 *             float(A tile)
 *             for each tile of the panel
 *                 C (f32) += float(A tile) float(B tile)
 *         then the panel is converted to the type of C and stored
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "exec/dot_bf16.h"
#include "exec/exec_impl.h"

enum { TILE_M = 256, TILE_N = 256, TILE_K = 512, PANEL_N = 2048 };

/* A product that is computed in tiles. The last tile along a dimension may be smaller than the
 * others. */
struct dt_tiles {
    dt_gemm g;
    const dt_simd *simd;
    bool packs; /* both operands are bfloat16 and multiplied without conversion */
    /* the library's plans for tiles. The first three indices say whether a tile is the smaller last
     * one along m, along n and along k, the fourth whether the product is added to C. NULL if there
     * is no such tile, or `packs` is set */
    void *plan[2][2][2][2];
    int64_t for_library; /* number of floats of working memory that the library's plans need */
};

typedef enum axis { M, N, K } axis;
typedef enum side { A, B } side;

/* ---- the library that computes a product ---- */

static dt_status *plan_by(dt_engine *e, const dt_gemm_library *l, const dt_gemm *g, void **out) {
    DT_TRY(l->plan(l, g, out));
    e->held += l->held ? l->held(*out) : 0;
    return NULL;
}

static dt_status *plan_plain(dt_engine *e, const dt_gemm *g, dt_product *out) {
    out->library = &e->gemm;
    dt_status *s = plan_by(e, out->library, g, &out->plan);
    if (!s || e->kernels != DT_KERNELS_LIBRARIES || dt_status_number(s) != DT_E_KERNELS) return s;
    dt_status_free(s);
    out->library = &e->own;
    return plan_by(e, out->library, g, &out->plan);
}

/* ---- tiles ---- */

static int64_t size_of(const dt_gemm *g, axis a) { return a == M ? g->m : a == N ? g->n : g->k; }

static int64_t tile_of(axis a) { return a == M ? TILE_M : a == N ? TILE_N : TILE_K; }

/* Returns the size of a full tile or, with `rest`, of the smaller last one; 0 if there is no such
 * tile. */
static int64_t extent(const dt_gemm *g, axis a, bool rest) {
    return rest ? size_of(g, a) % tile_of(a) : tile_of(a) <= size_of(g, a) ? tile_of(a) : 0;
}

static int64_t largest(const dt_gemm *g, axis a) { return dt_min(size_of(g, a), tile_of(a)); }

/* Describes the product of one tile. Operands that were converted are contiguous in scratch. */
static dt_gemm tile_product(const dt_gemm *g, int64_t m, int64_t n, int64_t k, bool adds) {
    return (dt_gemm){.m = m,
                     .n = n,
                     .k = k,
                     .trans_a = g->trans_a,
                     .trans_b = g->trans_b,
                     .adds = adds,
                     .lda = g->in[A] == DT_GEMM_F32 ? g->lda
                            : g->trans_a            ? m
                                                    : k,
                     .ldb = g->in[B] == DT_GEMM_F32 ? g->ldb
                            : g->trans_b            ? k
                                                    : n,
                     .ldc = g->out == DT_GEMM_F32 ? g->ldc : dt_min(g->n, PANEL_N)};
}

static dt_status *plan_tiles(dt_engine *e, const dt_gemm *g, const dt_gemm_library *library,
                             struct dt_tiles *t) {
    for (int i = 0; i < 16; i++) {
        int64_t m = extent(g, M, i & 8), n = extent(g, N, i & 4), k = extent(g, K, i & 2);
        bool adds = i & 1, first = i & 2 ? size_of(g, K) < TILE_K : true,
             later = i & 2 ? size_of(g, K) > TILE_K : size_of(g, K) >= 2 * TILE_K;
        dt_gemm tile = tile_product(g, m, n, k, adds);
        if (!m || !n || !k || !(adds ? g->adds || later : first && !g->adds)) continue;
        void **plan = &t->plan[i >> 3 & 1][i >> 2 & 1][i >> 1 & 1][i & 1];
        DT_TRY(plan_by(e, library, &tile, plan));
        t->for_library =
            dt_max(t->for_library, (int64_t)(dt_gemm_scratch(library, *plan) / sizeof(float)));
    }
    return NULL;
}

/* Describes the product of a tile of bfloat16 matrices. lda and ldb are those of the whole
 * matrices. The result is float32: C itself or a panel in scratch, whose distance of rows is
 * ldc. */
static dt_dot_bf16 packed_product(const dt_gemm *g, int64_t m, int64_t n, int64_t k, bool adds) {
    return (dt_dot_bf16){.m = m,
                         .n = n,
                         .k = k,
                         .trans_a = g->trans_a,
                         .trans_b = g->trans_b,
                         .adds = adds,
                         .lda = g->lda,
                         .ldb = g->ldb,
                         .ldc = g->out == DT_GEMM_F32 ? g->ldc : dt_min(g->n, PANEL_N)};
}

static dt_dot_bf16 largest_packed(const dt_gemm *g) {
    return packed_product(g, largest(g, M), largest(g, N), largest(g, K), false);
}

/* ---- tiles of bfloat16 that products share ---- */

bool dt_product_packs(const dt_engine *e, const dt_gemm *g) {
    return e->packs_bf16 && g->in[A] == DT_GEMM_BF16 && g->in[B] == DT_GEMM_BF16 && g->k % 2 == 0;
}

static int64_t room_of_tile(const dt_gemm *g) {
    const dt_dot_bf16 t = largest_packed(g);
    return dt_dot_bf16_room_b(&t);
}

static int64_t tiles_along(const dt_gemm *g, axis a) {
    return (size_of(g, a) + tile_of(a) - 1) / tile_of(a);
}

/* Returns the floats of the packed tiles of B, and of their states, one float each. */
int64_t dt_product_panels(const dt_gemm *g) {
    return tiles_along(g, K) * tiles_along(g, N) * (room_of_tile(g) + 1);
}

/* ---- working memory and plans ---- */

/* The functions room_of_* return the floats that parts of scratch take: for a tile of A, for one of
 * B, and for a panel of C. */
static int64_t room_of_a(const dt_gemm *g, bool packs) {
    if (packs) {
        const dt_dot_bf16 t = largest_packed(g);
        return dt_dot_bf16_room_a(&t);
    }
    return g->in[A] == DT_GEMM_F32 ? 0 : largest(g, M) * largest(g, K);
}

static int64_t room_of_b(const dt_gemm *g, bool packs) {
    if (packs) return room_of_tile(g);
    return g->in[B] == DT_GEMM_F32 ? 0 : largest(g, K) * largest(g, N);
}

static int64_t room_of_c(const dt_gemm *g) {
    return g->out == DT_GEMM_F32 ? 0 : largest(g, M) * dt_min(g->n, PANEL_N);
}

static dt_status *plan_in_tiles(dt_engine *e, const dt_gemm *g, dt_product *out) {
    const bool packs = dt_product_packs(e, g);

    out->library = &e->gemm;
    out->tiles = dt_alloc(sizeof *out->tiles);
    *out->tiles = (struct dt_tiles){.g = *g, .simd = e->simd, .packs = packs};
    if (!packs) DT_TRY(plan_tiles(e, g, out->library, out->tiles));
    out->scratch = (size_t)(room_of_a(g, packs) + room_of_b(g, packs) + room_of_c(g) +
                            out->tiles->for_library) *
                   sizeof(float);
    return NULL;
}

/* is_plain and is_bf16 return whether a product may be passed to a library without conversion.
 * is_plain: all matrices are float32. is_bf16: A and B are bfloat16, C is not float16, and the
 * library is faster with bfloat16 than with float32. */
static bool is_plain(const dt_gemm *g) {
    return g->in[A] == DT_GEMM_F32 && g->in[B] == DT_GEMM_F32 && g->out == DT_GEMM_F32;
}

static bool is_bf16(const dt_engine *e, const dt_gemm *g) {
    return e->gemm.bf16 && g->in[A] == DT_GEMM_BF16 && g->in[B] == DT_GEMM_BF16 &&
           g->out != DT_GEMM_F16;
}

dt_status *dt_product_plan(dt_engine *e, const dt_gemm *g, dt_product *out) {
    if (is_plain(g)) {
        DT_TRY(plan_plain(e, g, out));
        out->scratch = dt_gemm_scratch(out->library, out->plan);
        return NULL;
    }
    if (is_bf16(e, g)) {
        dt_status *s = plan_by(e, &e->gemm, g, &out->plan);
        out->library = &e->gemm;
        if (!s || dt_status_number(s) != DT_E_KERNELS) return s;
        dt_status_free(s);
    }
    return plan_in_tiles(e, g, out);
}

/* ---- running ---- */

static const dt_strip_op loads[] = {
    [DT_GEMM_F32] = DT_S_COPY, [DT_GEMM_BF16] = DT_S_FROM_BF16, [DT_GEMM_F16] = DT_S_FROM_F16};
static const dt_strip_op stores[] = {
    [DT_GEMM_F32] = DT_S_COPY, [DT_GEMM_BF16] = DT_S_TO_BF16, [DT_GEMM_F16] = DT_S_TO_F16};

static int64_t bytes_of(dt_gemm_float f) { return f == DT_GEMM_F32 ? 4 : 2; }

/* Where a tile begins, and its size. */
typedef struct tile {
    int64_t m, n, k, m_size, n_size, k_size;
} tile;

/* A product that is being computed: its matrices, and the parts of scratch: for a tile of A, for
 * one of B, for a panel of C, and for the library. */
typedef struct work {
    const dt_product *p;
    const char *in[2];
    char *c;
    float *room[4];
} work;

static bool is_by_k(const dt_gemm *g, side of) { return of == A ? g->trans_a : !g->trans_b; }

/* Returns the address at which a tile of an operand begins. */
static const char *begin_of(const work *w, side of, const tile *at) {
    const dt_gemm *g = &w->p->tiles->g;
    const int64_t ld = of == A ? g->lda : g->ldb, own = of == A ? at->m : at->n;
    return w->in[of] + (is_by_k(g, of) ? at->k * ld + own : own * ld + at->k) * bytes_of(g->in[of]);
}

/* Returns the address of a tile of an operand as floats: in place for float32, else converted into
 * contiguous rows in scratch. */
static const float *fetch(const work *w, side of, const tile *at) {
    const struct dt_tiles *t = w->p->tiles;
    const dt_gemm *g = &t->g;
    const int64_t ld = of == A ? g->lda : g->ldb, size = bytes_of(g->in[of]),
                  own_size = of == A ? at->m_size : at->n_size;
    const bool k_first = is_by_k(g, of);
    const char *from = begin_of(w, of, at);
    const int64_t rows = k_first ? at->k_size : own_size, columns = k_first ? own_size : at->k_size;

    if (g->in[of] == DT_GEMM_F32) return (const float *)(const void *)from;
    for (int64_t i = 0; i < rows; i++)
        t->simd->strip[loads[g->in[of]]](w->room[of] + i * columns, from + i * ld * size, NULL,
                                         NULL, columns);
    return w->room[of];
}

/* Returns tile `at` of B, packed: from the panels that products share, into which it is packed
 * first if no product has done so; or in this product's scratch if there are none or another
 * product is packing this tile at the moment. */
static const uint32_t *packed_tile(const work *w, const dt_dot_bf16 *one, const tile *at) {
    const dt_gemm *g = &w->p->tiles->g;
    const int64_t n = tiles_along(g, N), i = at->k / TILE_K * n + at->n / TILE_N,
                  room = room_of_tile(g);
    const dt_panels *shared = g->panels && g->panels->version ? g->panels : NULL;
    dt_panel_state *state =
        shared ? (dt_panel_state *)(void *)(shared->room + tiles_along(g, K) * n * room) + i : NULL;
    const dt_panel_claim claim = shared ? dt_panel_take(state, shared->version) : DT_PANEL_BUSY;
    uint32_t *to =
        (uint32_t *)(void *)(claim == DT_PANEL_BUSY ? w->room[B] : shared->room + i * room);

    if (claim == DT_PANEL_PACKED) return to;
    dt_dot_bf16_pack_b(one, (const uint16_t *)(const void *)begin_of(w, B, at), to);
    if (claim == DT_PANEL_NEW) dt_panel_ready(state, shared->version);
    return to;
}

/* Adds the products of one stretch of k to the panel of C at `to`, whose columns end at `end`; the
 * first stretch overwrites it, unless the product is added to C. For bfloat16 operands, which are
 * packed and not converted to float32. */
static void add_packed(const work *w, tile at, int64_t end, float *to) {
    const struct dt_tiles *t = w->p->tiles;
    const bool adds = t->g.adds || at.k > 0;
    const uint16_t *a = (const uint16_t *)(const void *)begin_of(w, A, &at);
    uint32_t *room = (uint32_t *)(void *)w->room[A];
    const dt_dot_bf16 left = packed_product(&t->g, at.m_size, 0, at.k_size, adds);

    dt_dot_bf16_pack_a(&left, a, room);
    for (const int64_t begin = at.n; at.n < end; at.n += TILE_N) {
        const dt_dot_bf16 one =
            packed_product(&t->g, at.m_size, dt_min(TILE_N, end - at.n), at.k_size, adds);
        dt_dot_bf16_run(&one, a, room, packed_tile(w, &one, &at), to + (at.n - begin));
    }
}

/* Like add_packed, for other operands. Operands of 16 bits are converted tile by tile. */
static void add_stretch(const work *w, tile at, int64_t end, float *to) {
    const struct dt_tiles *t = w->p->tiles;
    const float *left = fetch(w, A, &at);

    for (const int64_t begin = at.n; at.n < end; at.n += TILE_N) {
        at.n_size = dt_min(TILE_N, end - at.n);
        void *plan = t->plan[at.m_size < TILE_M][at.n_size < TILE_N][at.k_size < TILE_K]
                            [t->g.adds || at.k > 0];
        w->p->library->run(plan, left, fetch(w, B, &at), to + (at.n - begin), w->room[3]);
    }
}

static void make_panel(const work *w, tile at) {
    const struct dt_tiles *t = w->p->tiles;
    const dt_gemm *g = &t->g;
    const int64_t width = dt_min(PANEL_N, g->n - at.n), ld = dt_min(PANEL_N, g->n);
    char *to = w->c + (at.m * g->ldc + at.n) * bytes_of(g->out);
    float *sum = g->out == DT_GEMM_F32 ? (float *)(void *)to : w->room[2];

    at.m_size = dt_min(TILE_M, g->m - at.m);
    for (at.k = 0; at.k < g->k; at.k += TILE_K) {
        at.k_size = dt_min(TILE_K, g->k - at.k);
        (t->packs ? add_packed : add_stretch)(w, at, at.n + width, sum);
    }
    for (int64_t i = 0; g->out != DT_GEMM_F32 && i < at.m_size; i++)
        t->simd->strip[stores[g->out]](to + i * g->ldc * 2, sum + i * ld, NULL, NULL, width);
}

/* Sets C to 0, the sum without terms, unless the product is added to C. */
static void clear(const dt_gemm *g, char *c) {
    for (int64_t i = 0; i < g->m && !g->adds; i++)
        memset(c + i * g->ldc * bytes_of(g->out), 0, (size_t)(g->n * bytes_of(g->out)));
}

void dt_product_run(const dt_product *p, const void *a, const void *b, void *c, void *scratch) {
    if (!p->tiles) {
        p->library->run(p->plan, a, b, c, scratch);
        return;
    }
    const dt_gemm *g = &p->tiles->g;
    float *room = scratch;
    const int64_t b_at = room_of_a(g, p->tiles->packs), c_at = b_at + room_of_b(g, p->tiles->packs),
                  last = c_at + room_of_c(g);
    const work w = {p, {a, b}, c, {room, room + b_at, room + c_at, room + last}};
    if (g->k == 0) clear(g, c);
    for (tile at = {0}; g->k > 0 && at.m < g->m; at.m += TILE_M)
        for (at.n = 0; at.n < g->n; at.n += PANEL_N) make_panel(&w, at);
}

void dt_product_release(dt_product *p) {
    if (p->plan) p->library->release(p->plan);
    for (int i = 0; p->tiles && i < 16; i++)
        if (((void **)p->tiles->plan)[i]) p->library->release(((void **)p->tiles->plan)[i]);
    free(p->tiles);
    *p = (dt_product){0};
}
