/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of a product: some rows by some vectors of C, whose sums stay in registers while a block of
 * k is added. There is one function for each number of rows and of vectors, and for A stored row by
 * row or with k first, which is column by column.
 *
 * A tile sums a pass: up to PASS_BLOCKS blocks of k, each a chain from zero, by the tree of
 * exec/sums.h. The tree's buffers for the blocks of a pass are on the stack, in the first-level
 * cache; the caller provides those for passes.
 */
#ifndef DT_EXEC_SIMD_TILE_H
#define DT_EXEC_SIMD_TILE_H

#include "exec/simd/unroll.h"
#include "exec/simd/vec.h"
#include "exec/strip.h"

/* The number of blocks in a pass is a power of two, so that a pass is a whole subtree. */
enum { PASS_BLOCKS = 4, PASS_BUFFERS = 2 };

/* A matrix of sums: the address of its first element, and the distance of its rows in floats. */
typedef struct sums {
    float *at;
    int64_t ld;
} sums;

/* Memory that is needed soon: n pieces of two cache lines each, `step` bytes apart. */
typedef struct ahead {
    const char *at;
    int64_t step, n;
} ahead;
enum { AHEADS = 6, AHEAD_BYTES = 2 * 64 };
/* how many rows ahead of the one that it reads a packing tile prefetches B */
enum { ROWS_AHEAD = 6 };

typedef struct tile {
    const float *a, *b;
    /* distance of rows of A in floats; if A is stored with k first, distance of its columns */
    int64_t lda;
    int64_t ldb;  /* distance of rows of B, in floats */
    int64_t k;    /* number of columns of A, at most those of PASS_BLOCKS blocks */
    int64_t last; /* number of columns in the last vector */
    /* sums of earlier passes, the latest first, and C itself after the last pass if the product is
     * added to C; they are added one by one on the left */
    const sums *left;
    int n_left;
    sums to;
    float *pack; /* where a packing tile copies the rows of B, one after the other */
    ahead ahead[AHEADS];
} tile;

/* What is constant where a tile is called: its numbers of rows and vectors, whether A is stored
 * with k first, and whether the tile packs B. */
typedef struct kind {
    int rows, vectors;
    bool k_first, packs;
} kind;

/* A tile that is being computed. `first` has the addresses of rows 0, 4, 8 and 12 of A. */
typedef struct runner {
    vec sum[MOST_ROWS][4];
    const float *a, *b, *first[4];
    float *pack;
    int64_t lda, lda3, ldb;
    const ahead *next;
} runner;

/* Adds the products for one k, u after the k at which the runner's addresses of A are, and advances
 * the address of B to the next row. If A is stored with k first, its address is advanced, too, and
 * u is not used. */
static ALWAYS_INLINE void add_products(runner *r, const kind of, const int u) {
    vec row[4];
    UNROLL(4) for (int j = 0; j < of.vectors; j++) row[j] = LOAD(r->b + j * W);
    if (of.packs) {
        UNROLL(4) for (int j = 0; j < of.vectors; j++) {
            __builtin_prefetch(r->b + ROWS_AHEAD * r->ldb + j * W);
            STORE(r->pack + j * W, row[j]);
        }
        r->pack += of.vectors * W;
    }
    UNROLL(16) for (int i = 0; i < of.rows; i++) {
        const float *p = r->first[i / 4] + u;
        const vec x = ALL(of.k_first ? r->a[i] : i % 4 == 3 ? p[r->lda3] : p[(i % 4) * r->lda]);
        UNROLL(4) for (int j = 0; j < of.vectors; j++) ADD_PRODUCT(r->sum[i][j], x, row[j]);
    }
    KEEP_ORDER();
    r->b += r->ldb;
    HIDE(r->b);
    if (!of.k_first) return;
    r->a += r->lda;
    HIDE(r->a);
}

static ALWAYS_INLINE void go_on(runner *r, const kind of, int64_t k) {
    if (of.k_first) return;
    UNROLL(4) for (int i = 0; i < (of.rows + 3) / 4; i++) {
        r->first[i] += k;
        HIDE(r->first[i]);
    }
}

/* Adds the products for n groups of four k, and prefetches two cache lines for each group. */
static ALWAYS_INLINE void add_fours(runner *r, const kind of, ahead next, int64_t n) {
    for (; n > 0; n--) {
        __builtin_prefetch(next.at);
        __builtin_prefetch(next.at + 64);
        next.at += next.step;
        add_products(r, of, 0);
        add_products(r, of, 1);
        add_products(r, of, 2);
        add_products(r, of, 3);
        go_on(r, of, 4);
    }
}

/* Computes the sums of one block: from 0, adds the products of the next k columns of A, one after
 * the other. */
static ALWAYS_INLINE void make_block(runner *r, const kind of, const tile *t, int64_t k) {
    EACH_SUM(of) r->sum[i][j] = ALL(0.0f);
    while (k >= 4) {
        const bool fetches = r->next < t->ahead + AHEADS;
        ahead next = {(const char *)t, 0, k / 4}; /* there is nothing new to prefetch */
        if (fetches) next = *r->next++;
        next.n = next.n < k / 4 ? next.n : k / 4;
        k -= 4 * next.n;
        add_fours(r, of, next, next.n);
    }
    for (; k > 0; k--) {
        add_products(r, of, 0);
        go_on(r, of, 1);
    }
}

/* Adds the blocks of the pass by the tree of exec/sums.h. */
static ALWAYS_INLINE void make_pass_sums(runner *r, const kind of, const tile *t) {
    _Alignas(64) float buffer[PASS_BUFFERS][MOST_ROWS * 4 * W];
    int buffers = 0;

    for (int64_t from = 0, block = 0;; block++) {
        const int64_t left = t->k - from;
        const bool ends = left <= DT_PRODUCT_BLOCK;
        make_block(r, of, t, ends ? left : DT_PRODUCT_BLOCK);
        for (int64_t carry = block; buffers > 0 && (carry & 1 || ends); carry >>= 1) {
            const float *other = buffer[--buffers];
            EACH_SUM(of)
            r->sum[i][j] = ADD(LOAD(other + (i * of.vectors + j) * W), r->sum[i][j]);
        }
        if (ends) return;
        float *to = buffer[buffers++];
        EACH_SUM(of) STORE(to + (i * of.vectors + j) * W, r->sum[i][j]);
        from += DT_PRODUCT_BLOCK;
    }
}

TILE_FUNCTION run_tile(const tile *t, const kind of) {
    runner r = {.a = t->a,
                .b = t->b,
                .first = {t->a},
                .pack = t->pack,
                .lda = t->lda,
                .lda3 = 3 * t->lda,
                .ldb = t->ldb,
                .next = t->ahead};
    HIDE(r.lda3);
    UNROLL(4)
    for (int i = 1; i < 4; i++)
        r.first[i] = i < (of.rows + 3) / 4 ? r.first[i - 1] + 4 * r.lda : t->a;
    make_pass_sums(&r, of, t);
    for (int l = 0; l < t->n_left; l++) {
        const sums left = t->left[l];
        EACH_SUM(of)
        r.sum[i][j] =
            ADD(load_part(left.at + i * left.ld + j * W, j == of.vectors - 1 ? t->last : W),
                r.sum[i][j]);
    }
    EACH_SUM(of)
    store_part(t->to.at + i * t->to.ld + j * W, r.sum[i][j], j == of.vectors - 1 ? t->last : W);
}

typedef void (*tile_function)(const tile *t);

#define FUNCTION(name, r, v, k_first, packs)                                                       \
    static void name(const tile *t) {                                                              \
        kind of = {r, v, k_first, packs};                                                          \
        HIDE_SIZES(of);                                                                            \
        run_tile(t, of);                                                                           \
    }
#define TILE(r, v)                                                                                 \
    FUNCTION(tile_##r##_##v, r, v, false, false) FUNCTION(tile_k_##r##_##v, r, v, true, false)
#define PACKING_TILE(r, v)                                                                         \
    FUNCTION(pack_##r##_##v, r, v, false, true) FUNCTION(pack_k_##r##_##v, r, v, true, true)
EACH_TILE(TILE)
EACH_FULL_TILE(PACKING_TILE)

/* [vectors][rows][A is stored with k first] the function for each kind of tile */
#define ENTRY(r, v) [v][r] = {tile_##r##_##v, tile_k_##r##_##v},
static const tile_function tiles[5][MOST_ROWS + 1][2] = {EACH_TILE(ENTRY)};
/* [rows][A is stored with k first] tiles of WIDE vectors that copy the rows of B while they read
 * them */
#define PACKING_ENTRY(r, v) [r] = {pack_##r##_##v, pack_k_##r##_##v},
static const tile_function packing_tiles[MOST_ROWS + 1][2] = {EACH_FULL_TILE(PACKING_ENTRY)};

#endif
