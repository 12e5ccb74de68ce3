/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The products of convolutions (exec/conv_loops.h), compiled once per instruction set, with the
 * same bits on all of them. The loops, from the outermost to the innermost:
 *
 *     blocks     rows of A whose part of the image stays in the second-level cache
 *     panels     one or two vectors of columns of B
 *     tiles      rows of a block whose sums are kept in registers
 *     spans      columns of A at equal distances; sums of earlier columns wait on the stack
 *
 * There are too few registers for the address of each row, so two rows of a tile share one, except
 * in tiles of SINGLE rows. If lines have an even number of rows, a tile may contain rows of several
 * lines.
 */
#include "base/size.h"
#include "exec/conv_loops.h"
#include "exec/simd/unroll.h"
#include "exec/simd/vec.h"
#include "exec/strip.h"

enum {
    PAIRS = (MOST_ROWS + 1) / 2,
    /* the most addresses of a tile: one for each pair of rows, or for each row if `single` is
     * set */
    POINTERS = 9,
    BLOCK_A = 1 << 15, /* number of floats of A that stay in the second-level cache */
    LINE = 64          /* bytes of a cache line */
};

/* ---- tiles ---- */

typedef struct tile {
    const dt_conv_product *p;
    const float *a[POINTERS], *b;
    float *c[POINTERS];
    uint64_t tap[POINTERS],
        /* for SINGLE: tap[i] is the bit of row i in dt_conv_span.taps, which neighbouring rows may
         * share; `taps` has the bits of all rows */
        taps;
    /* ldb: floats from a row of B to the next; last: number of columns in the last vector */
    int64_t ldb, last;
    const char *ahead; /* rows of A that the next tile reads, to be prefetched */
    float *buffer;     /* sums of blocks, as an array (DT_CONV_LEVELS, rows, vectors, W) */
} tile;

/* Which values of A are known to be adjacent in memory: the columns of a row, the two rows of a
 * pair, or none. */
typedef enum order { BY_ROW, BY_K, SINGLE, ORDERS } order;

/* The properties of a tile that are constants where it is compiled. */
typedef struct kind {
    int rows, vectors;
    order is;
} kind;

typedef struct runner {
    vec sum[MOST_ROWS][2];
    const float *a[POINTERS], *b;
    int64_t at, row_step, k_step, ldb;
    const char *ahead;
    int64_t ahead_step;
} runner;

/* Returns the index of the address that row i uses. */
static ALWAYS_INLINE int pointer_of(const kind of, int i) { return of.is == SINGLE ? i : i / 2; }

static ALWAYS_INLINE const float *a_of(const runner *r, const kind of, int i, int u) {
    const float *a = r->a[pointer_of(of, i)];
    return of.is == BY_ROW ? a + i % 2 * r->row_step + u : a + r->at + (of.is == BY_K ? i % 2 : 0);
}

static ALWAYS_INLINE void next_k(runner *r, const kind of) {
    r->b += r->ldb;
    HIDE(r->b);
    if (of.is == BY_ROW) return;
    r->at += r->k_step;
    HIDE(r->at);
}

static ALWAYS_INLINE void add_products(runner *r, const kind of, const int u) {
    vec row[2];
    UNROLL(2) for (int j = 0; j < of.vectors; j++) row[j] = LOAD(r->b + j * W);
    UNROLL(16) for (int i = 0; i < of.rows; i++) {
        const vec x = ALL(*a_of(r, of, i, u));
        UNROLL(2) for (int j = 0; j < of.vectors; j++) ADD_PRODUCT(r->sum[i][j], x, row[j]);
    }
    KEEP_ORDER();
    next_k(r, of);
}

static ALWAYS_INLINE void go_on(runner *r, const kind of, int64_t k) {
    if (of.is != BY_ROW) return;
    UNROLL(8) for (int i = 0; i < (of.rows + 1) / 2; i++) {
        r->a[i] += k;
        HIDE(r->a[i]);
    }
}

/* Adds the products of a span that only some rows of the tile have (s->taps) to the sums of these
 * rows. */
static ALWAYS_INLINE void add_some(runner *r, const kind of, const tile *t, const dt_conv_span *s) {
    for (int64_t k = s->n; k > 0; k--) {
        vec row[2];
        UNROLL(2) for (int j = 0; j < of.vectors; j++) row[j] = LOAD(r->b + j * W);
        UNROLL(16) for (int i = 0; i < of.rows; i++) {
            if (!(s->taps & t->tap[i])) continue;
            const vec x = ALL(*a_of(r, of, i, 0));
            UNROLL(2) for (int j = 0; j < of.vectors; j++) ADD_PRODUCT(r->sum[i][j], x, row[j]);
        }
        next_k(r, of);
    }
}

static ALWAYS_INLINE void add_span(runner *r, const kind of, const tile *t, const dt_conv_span *s) {
    int64_t k = s->n;
    r->at = s->at;
    r->b = t->b + s->k * t->ldb;
    if (of.is == SINGLE && (s->taps & t->taps) != t->taps) {
        add_some(r, of, t, s);
        return;
    }
    UNROLL(9)
    for (int i = 0; i <= pointer_of(of, of.rows - 1); i++)
        r->a[i] = t->a[i] + (of.is == BY_ROW ? s->at : 0);
    for (; k >= 4; k -= 4) {
        if (of.is == BY_ROW) {
            __builtin_prefetch(r->ahead);
            __builtin_prefetch(r->ahead + LINE);
            r->ahead += r->ahead_step;
        }
        add_products(r, of, 0);
        add_products(r, of, 1);
        add_products(r, of, 2);
        add_products(r, of, 3);
        go_on(r, of, 4);
    }
    if (k & 2) {
        add_products(r, of, 0);
        add_products(r, of, 1);
        go_on(r, of, 2);
    }
    if (k & 1) {
        add_products(r, of, 0);
        go_on(r, of, 1);
    }
}

/* Stores the sums of a tile. Addresses are read before the first store: for the compiler, storing a
 * vector may change any memory, so it would read them again after each. */
static ALWAYS_INLINE void store_sums(const runner *r, const kind of, const tile *t) {
    const int64_t ldc = of.is == SINGLE ? 0 : t->p->ldc, last = t->last;
    float *c[POINTERS];
    UNROLL(9) for (int i = 0; i < POINTERS; i++) c[i] = t->c[i];
    if (last == W) {
        EACH_SUM(of) STORE(c[pointer_of(of, i)] + i % 2 * ldc + j * W, r->sum[i][j]);
        return;
    }
    EACH_SUM(of)
    store_part(c[pointer_of(of, i)] + i % 2 * ldc + j * W, r->sum[i][j],
               j == of.vectors - 1 ? last : W);
}

TILE_FUNCTION run_tile(const tile *t, const kind of) {
    const dt_conv_product *p = t->p;
    const int64_t sums = (int64_t)of.rows * of.vectors * W;
    /* With several spans, neighbouring tiles read overlapping rows, which are in the cache already,
     * so nothing is prefetched. */
    runner r = {.row_step = p->row_step,
                .k_step = p->k_step,
                .ldb = t->ldb,
                .ahead = t->ahead,
                .ahead_step = p->spans == 1 ? 2 * LINE : 0};
    float *top = t->buffer;

    UNROLL(9) for (int i = 0; i < POINTERS; i++) r.a[i] = t->a[i];
    EACH_SUM(of)
    if (j * W % 16 == 0) /* a cache line has 16 floats */
        __builtin_prefetch(t->c[pointer_of(of, i)] + (of.is == SINGLE ? 0 : i % 2 * p->ldc) + j * W,
                           1);
    EACH_SUM(of) r.sum[i][j] = ALL(0.0f);
    for (const dt_conv_span *s = p->span, *end = s + p->spans; s < end; s++) {
        add_span(&r, of, t, s);
        for (int joins = s->joins; joins > 0; joins--) {
            const float *other = top -= sums;
            EACH_SUM(of)
            r.sum[i][j] = ADD(LOAD(other + (i * of.vectors + j) * W), r.sum[i][j]);
        }
        if (s->joins < 0 || s + 1 == end) continue;
        EACH_SUM(of) STORE(top + (i * of.vectors + j) * W, r.sum[i][j]);
        top += sums;
        EACH_SUM(of) r.sum[i][j] = ALL(0.0f);
    }
    store_sums(&r, of, t);
}

typedef void (*tile_function)(const tile *t);

#define FUNCTION(name, r, v, is)                                                                   \
    static void name(const tile *t) {                                                              \
        kind of = {r, v, is};                                                                      \
        HIDE_SIZES(of);                                                                            \
        run_tile(t, of);                                                                           \
    }
#define TILE(r, v)                                                                                 \
    FUNCTION(tile_##r##_##v, r, v, BY_ROW)                                                         \
    FUNCTION(tile_k_##r##_##v, r, v, BY_K)
#define TILE_OF_SINGLES(r, v) FUNCTION(tile_s_##r##_##v, r, v, SINGLE)
#define TILES(F, r) F(r, 1) F(r, 2)
#define TILES_TO_4(F) TILES(F, 1) TILES(F, 2) TILES(F, 3) TILES(F, 4)
#define TILES_TO_6(F) TILES_TO_4(F) TILES(F, 5) TILES(F, 6)
#define TILES_TO_8(F) TILES_TO_6(F) TILES(F, 7) TILES(F, 8)
#if defined(__AVX512F__)
#define EVERY_TILE(F)                                                                              \
    TILES_TO_8(F)                                                                                  \
    TILES(F, 9) TILES(F, 10) TILES(F, 11) TILES(F, 12) TILES(F, 13) TILES(F, 14)
enum { ROWS = 14 };
#elif defined(__FMA__)
#define EVERY_TILE TILES_TO_6
enum { ROWS = 6 };
#elif defined(__aarch64__)
#define EVERY_TILE TILES_TO_8
enum { ROWS = 8 };
#else
#define EVERY_TILE TILES_TO_4
enum { ROWS = 4 };
#endif
#if defined(__AVX512F__)
#define EVERY_SINGLE(F) TILES_TO_8(F) TILES(F, 9)
enum { SINGLES = 9 };
#else
#define EVERY_SINGLE EVERY_TILE
enum { SINGLES = ROWS };
#endif
EVERY_TILE(TILE)
EVERY_SINGLE(TILE_OF_SINGLES)

/* [order][vectors][rows] the function for each kind of tile */
#define ENTRY(r, v) [BY_ROW][v][r] = tile_##r##_##v, [BY_K][v][r] = tile_k_##r##_##v,
#define ENTRY_OF_SINGLES(r, v) [SINGLE][v][r] = tile_s_##r##_##v,
static const tile_function functions[ORDERS][3][ROWS + 1] = {EVERY_TILE(ENTRY)
                                                                 EVERY_SINGLE(ENTRY_OF_SINGLES)};

/* ---- a product ---- */

static int64_t ceil_of(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* How the rows are divided into tiles: by units of one row or of a pair of rows. */
typedef struct cut {
    /* lines: number of lines, or 1 if tiles may contain rows of several lines; each, tiles: number
     * of units and of tiles of a line; unit: rows of a unit, 1 or 2 */
    int64_t lines, each, tiles, unit;
} cut;

static cut cut_of(const dt_conv_product *p) {
    if (p->single) return (cut){1, p->lines, ceil_of(p->lines, SINGLES), 1};
    const int64_t rows = p->lines * p->each, whole = ceil_of(rows, ROWS),
                  apart = p->lines * ceil_of(p->each, ROWS);
    if (p->each % 2 == 0 && whole < apart) return (cut){1, rows / 2, whole, 2};
    return (cut){p->lines, p->each, ceil_of(p->each, ROWS), 1};
}

/* A row, given by its line and its index in the line. */
typedef struct cursor {
    int64_t line, row;
} cursor;

/* Sets the addresses a and c of a tile to those of each pair of n rows, beginning with *at, and
 * with column `column` of C. Sets *at to the row after them. */
static ALWAYS_INLINE void find_rows(const dt_conv_product *p, cursor *at, int64_t n, int64_t column,
                                    tile *t) {
    const dt_conv_line *l = &p->line[at->line];
    const int64_t step = 2 * p->row_step, ldc = 2 * p->ldc;
    const float *a = p->a + l->a + at->row * p->row_step;
    float *c = p->c + l->c + at->row * p->ldc + column;
    for (int64_t i = 0; i < n; i += 2, a += step, c += ldc) {
        if (at->row + i >= p->each) {
            at->line++;
            at->row -= p->each;
            l++;
            a = p->a + l->a + (at->row + i) * p->row_step;
            c = p->c + l->c + (at->row + i) * p->ldc + column;
        }
        t->a[i / 2] = a;
        t->c[i / 2] = c;
    }
    at->row += n;
    if (at->row < p->each) return;
    at->line++;
    at->row -= p->each;
}

/* Like find_rows, for products whose dt_conv_product.single is not 0: sets the addresses a and c,
 * and the taps, of each of n rows, beginning with row `first`, and with column `column` of C. */
static void find_singles(const dt_conv_product *p, int64_t first, int64_t n, int64_t column,
                         tile *t) {
    t->taps = 0;
    for (int64_t i = 0; i < n; i++) {
        const dt_conv_line *l = &p->line[first + i];
        t->a[i] = p->a + l->a;
        t->c[i] = p->c + l->c + column;
        t->taps |= t->tap[i] = (uint64_t)1 << (first + i) / p->single;
    }
}

/* Computes the tiles [range[0], range[1]) of C for one panel of B, whose first column is `column`.
 * The numbers of units in the tiles of a line differ by at most one, and tiles with more units come
 * first. */
static void run_panel(const dt_conv_product *p, const cut *c, const int64_t range[2], int vectors,
                      tile *t, int64_t column) {
    const int64_t least = c->each / c->tiles, larger = c->each % c->tiles;
    int64_t place = range[0] % c->tiles,
            row = (range[0] / c->tiles * c->each + place * least + dt_min(place, larger)) * c->unit;
    const order is = p->single ? SINGLE : p->row_step == 1 ? BY_K : BY_ROW;
    cursor at = {row / p->each, row % p->each};
    for (int64_t i = range[0]; i < range[1]; i++) {
        const int64_t rows = (least + (place < larger)) * c->unit;
        if (is == SINGLE) find_singles(p, row, rows, column, t);
        else find_rows(p, &at, rows, column, t);
        t->ahead = (const char *)(t->a[0] + rows * p->row_step);
        functions[is][vectors][rows](t);
        row += rows;
        if (++place == c->tiles) place = 0;
    }
}

#if defined(__FMA__) && !defined(__AVX512F__)
/* ---- products of few columns of A, and all products ---- */

/* With at most so many columns of A, setting up a tile takes as long as its products, so run_few is
 * used where it can be. */
enum { FEW = 32 };

/* The n columns of A. Column i is a[i] floats behind the beginning of a row; it is multiplied by
 * the row of B that begins at offset b[i]. */
typedef struct few {
    const dt_conv_product *p;
    int64_t n, a[FEW], b[FEW];
    int64_t last; /* number of columns in the last vector */
} few;

/* Computes of.rows neighbouring rows of a line of C. The columns of A are a single block. */
TILE_FUNCTION run_few(const few *f, const float *a, const float *b, float *c, const kind of) {
    const int64_t step = f->p->row_step, ldc = f->p->ldc;
    const float *row[MOST_ROWS];
    vec sum[MOST_ROWS][2];
    UNROLL(16) for (int i = 0; i < of.rows; i++) row[i] = a + i * step;
    EACH_SUM(of) sum[i][j] = ALL(0.0f);
    for (int64_t k = 0; k < f->n; k++) {
        vec y[2];
        UNROLL(2) for (int j = 0; j < of.vectors; j++) y[j] = LOAD(b + f->b[k] + j * W);
        UNROLL(16) for (int i = 0; i < of.rows; i++) {
            const vec x = ALL(row[i][f->a[k]]);
            UNROLL(2) for (int j = 0; j < of.vectors; j++) ADD_PRODUCT(sum[i][j], x, y[j]);
        }
    }
    EACH_SUM(of)
    store_part(c + i * ldc + j * W, sum[i][j], j == of.vectors - 1 ? f->last : W);
}

typedef void (*few_function)(const few *f, const float *a, const float *b, float *c);
#define TILE_OF_FEW(r, v)                                                                          \
    static void few_##r##_##v(const few *f, const float *a, const float *b, float *c) {            \
        kind of = {r, v, BY_ROW};                                                                  \
        HIDE_SIZES(of);                                                                            \
        run_few(f, a, b, c, of);                                                                   \
    }
TILES_TO_6(TILE_OF_FEW)
#define ENTRY_OF_FEW(r, v) [v][r] = few_##r##_##v,
static const few_function few_functions[3][ROWS + 1] = {TILES_TO_6(ENTRY_OF_FEW)};

static void run_lines_of_few(const few *f, int vectors, const float *b, int64_t column) {
    const dt_conv_product *p = f->p;
    const int64_t tiles = ceil_of(p->each, ROWS);
    for (const dt_conv_line *l = p->line, *end = l + p->lines; l < end; l++)
        for (int64_t i = 0; i < tiles; i++) {
            const int64_t from = p->each * i / tiles, rows = p->each * (i + 1) / tiles - from;
            few_functions[vectors][rows](f, p->a + l->a + from * p->row_step, b,
                                         p->c + l->c + from * p->ldc + column);
        }
}

static void run_few_columns(const dt_conv_product *p) {
    for (int64_t j = 0; j < p->columns; j += 2 * W) {
        const int64_t columns = dt_min(2 * W, p->columns - j);
        const int vectors = columns > W ? 2 : 1;
        few f = {.p = p, .last = columns - (vectors - 1) * W};
        for (const dt_conv_span *s = p->span, *end = s + p->spans; s < end; s++)
            for (int64_t k = 0; k < s->n; k++, f.n++) {
                f.a[f.n] = s->at + k * p->k_step;
                f.b[f.n] = (s->k + k) * vectors * W;
            }
        run_lines_of_few(&f, vectors, p->b + j * p->k, j);
    }
}
#endif

static void run(const dt_conv_product *p) {
#if defined(__FMA__) && !defined(__AVX512F__)
    if (p->k <= FEW && !p->single && p->ldb == 0) {
        run_few_columns(p);
        return;
    }
#endif
    _Alignas(64) float buffer[DT_CONV_LEVELS * ROWS * 2 * W];
    const cut c = cut_of(p);
    const int64_t all = c.lines * c.tiles,
                  some = dt_max(4, BLOCK_A / ROWS / dt_max(p->row_step, p->k));
    for (int64_t from = 0; from < all; from += some) {
        const int64_t range[2] = {from, dt_min(all, from + some)};
        for (int64_t j = 0; j < p->columns; j += 2 * W) {
            const int64_t columns = dt_min(2 * W, p->columns - j);
            const int vectors = columns > W ? 2 : 1;
            tile t = {.p = p,
                      .b = p->b + j * (p->ldb ? 1 : p->k),
                      .ldb = p->ldb ? p->ldb : vectors * W,
                      .last = columns - (vectors - 1) * W,
                      .buffer = buffer};
            run_panel(p, &c, range, vectors, &t, j);
        }
    }
}

/* ---- packing B, and the table of loops ---- */

static int64_t room(int64_t k, int64_t columns) { return k * (ceil_of(columns, W) * W); }

static void pack_row(float *to, const float *from, int64_t columns) {
    const int64_t wide = ceil_of(columns, W) * W;
    if (columns == 2 * W) {
        memcpy(to, from, 2 * W * sizeof *to);
        return;
    }
    memcpy(to, from, (size_t)columns * sizeof *to);
    memset(to + columns, 0, (size_t)(wide - columns) * sizeof *to);
}

/* Packs B. The rows of a panel follow one another, each filled with zeros to whole vectors, and the
 * panels follow one another. A few rows are written to all panels before the next rows are read, so
 * that B is read from front to back. */
static void pack(const dt_conv_product *p, float *to) {
    for (int64_t from = 0; from < p->k; from += MOST_ROWS)
        for (int64_t j = 0; j < p->columns; j += 2 * W) {
            const int64_t columns = dt_min(2 * W, p->columns - j), wide = ceil_of(columns, W) * W,
                          end = dt_min(from + MOST_ROWS, p->k);
            float *panel = to + j * p->k;
            for (int64_t k = from; k < end; k++)
                pack_row(panel + k * wide, p->b + k * p->ldb + j, columns);
        }
}

/* Defined in depthwise.c. */
extern void JOIN(dt_depthwise_, DT_ISA)(const dt_conv_product *p);
extern void JOIN(dt_depthwise_gradient_, DT_ISA)(const dt_conv_product *p);
extern const dt_conv_loops JOIN(dt_conv_loops_, DT_ISA);
const dt_conv_loops JOIN(dt_conv_loops_,
                         DT_ISA) = {.room = room,
                                    .pack = pack,
                                    .run = run,
                                    .depthwise = JOIN(dt_depthwise_, DT_ISA),
                                    .depthwise_gradient = JOIN(dt_depthwise_gradient_, DT_ISA)};
