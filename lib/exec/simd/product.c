/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products in one fixed order, built once per instruction set, with the same bits on all
 * (engine.c). An element of C is the sum of blocks of at most DT_PRODUCT_BLOCK values of k, added
 * by the tree of exec/sums.h, so a long k loses no digits. A block is one chain,
 *
 *     c = fma(a[k], b[k], c)    k ascending, from 0
 *
 * so rows, columns and stretches of whole subtrees of k can be cut in the fastest way, and no cut
 * changes a bit. From the outside in:
 *
 *     columns    as many as fit into `room` with all of their k: B is packed once for all rows
 *     rows       a part whose rows of A stay in the second-level cache
 *     passes     up to PASS_BLOCKS blocks of k
 *     panels     up to 4 vectors of columns: B is packed, row after row, or read in place; or it
 *                has been packed by another product (dt_panels)
 *     tiles      (tile.h) rows of the part whose sums are in registers
 */
#include "base/size.h"
#include "exec/gemm.h"
#include "exec/simd/tile.h"

/* These numbers were measured on AVX-512 (Zen 4). No bit of a result depends on them. */
enum {
    MOST_PACKED = 1 << 21, /* about the most floats of B that a product packs for itself */
    BLOCK_A = 1 << 16,     /* number of floats of A that stay in the second-level cache */
    /* largest number of floats of A, instead of BLOCK_A, if all rows are then one part */
    MOST_OF_A = 1 << 17,
    /* A is packed if B has at least this many panels: PANELS_BADLY if the rows of A lie badly
     * (cut_of), else PANELS_WELL. */
    PANELS_WELL = 16,
    PANELS_BADLY = 4,
    /* B is packed if it is transposed, or if there are more rows than this: ROWS_BADLY if the rows
     * of B lie badly (lies_badly) and B has more than BLOCK_A floats, else ROWS_WELL. Panels that
     * products share are packed at any number of rows. */
    ROWS_WELL = 140,
    ROWS_BADLY = 42,
    /* most columns of a part (and at most a vector more), if B is packed anew for each part, or is
     * read from shared panels and k takes several passes */
    MOST_COLUMNS = 512,
    LEVELS = 64
};

/* How a product is divided. No bit of the result depends on it. */
typedef struct cut {
    /* vectors: number of vectors of a panel; height: number of rows of a tile */
    int vectors, height;
    /* rows, columns: rows and columns of C in a part; depth: values of k in a pass */
    int64_t rows, columns, depth;
    bool packs_a, packs_b, keeps_b;
} cut;

static int64_t ceil_of(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* Whether rows that are ld floats apart, of B or of a transposed A, share few sets of the
 * first-level cache (ld is a multiple of 512), or are each in another page. */
static bool lies_badly(int64_t ld) { return ld % 512 == 0 || ld > 2048; }

/* Returns the number of values of k in a pass. */
static int64_t depth_of(int64_t k) {
    const int64_t most = PASS_BLOCKS * DT_PRODUCT_BLOCK;
    return k <= most ? k : most / 2;
}

static int vectors_for(const dt_gemm *g) {
    if (W == 8 && g->m <= ROWS_3) return g->m <= ROWS_4 ? 4 : 3;
    return WIDE;
}

static bool packing_pays(const dt_gemm *g, int64_t rows) {
    const bool is_bad = lies_badly(g->ldb) && g->k * g->n > BLOCK_A;
    return g->trans_b || rows > (is_bad ? ROWS_BADLY : ROWS_WELL);
}

/* Returns the rows of a part: all, or so many that parts have about as many as fit into BLOCK_A. */
static int64_t rows_of_part(const dt_gemm *g, const cut *c) {
    const int64_t fitting = dt_max(4, BLOCK_A / c->depth / c->height) * c->height;
    if (g->m <= dt_max(fitting, MOST_OF_A / c->depth)) return g->m;
    const int64_t parts = (g->m + fitting / 2) / fitting;
    return ceil_of(ceil_of(g->m, parts), c->height) * c->height;
}

/* Decides how a product is divided. kept: B is read from panels that products share. */
static cut cut_of(const dt_gemm *g, bool kept) {
    cut c = {.vectors = vectors_for(g), .columns = g->n, .depth = depth_of(g->k)};
    c.height = most_rows(c.vectors);
    const int64_t panel = c.vectors * W;
    /* rows of A that are multiples of 4 KiB apart share one set of the first-level cache */
    const bool a_lies_badly = g->trans_a ? lies_badly(g->lda) : g->lda % 1024 == 0;

    c.rows = rows_of_part(g, &c);
    c.packs_b = kept ? g->trans_b : packing_pays(g, g->m);
    c.packs_a = ceil_of(g->n, panel) >= (a_lies_badly ? PANELS_BADLY : PANELS_WELL);
    if (kept && c.depth < g->k) c.columns = dt_min(g->n, MOST_COLUMNS / panel * panel);
    /* without keeps_b, a panel is packed into the memory of the one before it */
    if (kept || !c.packs_b || c.rows == g->m) return c;
    c.keeps_b = MOST_PACKED / g->k >= dt_min(g->n, 2 * panel);
    const int64_t most = c.keeps_b ? MOST_PACKED / g->k : MOST_COLUMNS;
    if (most < g->n) c.columns = most / panel * panel;
    return c;
}

/* ---- working memory and panels ---- */

static int64_t padded(int64_t n) { return ceil_of(n, W) * W; }

/* Returns the distance of rows of a packed A, in floats. It makes neighbouring rows begin in
 * different sets of the cache. */
static int64_t packed_ld(int64_t k) { return (k + 31) / 32 * 32 + 16; }

/* Returns the number of columns of the part that begins at column j: c->columns, or all that are
 * left if there would be at most one vector more. */
static int64_t columns_of(const dt_gemm *g, const cut *c, int64_t j) {
    return g->n - j <= c->columns + W ? g->n - j : c->columns;
}

static int64_t most_columns(const dt_gemm *g, const cut *c) {
    return padded(dt_min(g->n, c->columns + W));
}

static int64_t room_of_b(const dt_gemm *g, const cut *c) {
    return c->keeps_b ? most_columns(g, c) * g->k : c->depth * 4 * W;
}

static int64_t room_of_a(const cut *c) { return c->packs_a ? c->rows * packed_ld(c->depth) : 0; }

/* Returns how many buffers the sums of passes need. One fewer is needed if C itself can hold the
 * first sum. */
static int64_t levels_of(const dt_gemm *g, const cut *c) {
    int64_t levels = 0;
    for (int64_t passes = ceil_of(g->k, c->depth); passes > 1; passes = (passes + 1) / 2) levels++;
    return levels - (levels > 0 && !g->adds);
}

static int64_t room_of_cut(const dt_gemm *g, bool kept) {
    const cut c = cut_of(g, kept);
    return room_of_b(g, &c) + room_of_a(&c) + levels_of(g, &c) * c.rows * most_columns(g, &c);
}

static int64_t room_of(const dt_gemm *g) {
    if (g->m == 0 || g->n == 0 || g->k == 0) return 0;
    return dt_max(room_of_cut(g, false), g->panels ? room_of_cut(g, true) : 0);
}

/* Returns the number of floats in the room of shared panels: for the packed panels of all passes,
 * their states, and the count of products (states_of). */
static int64_t panels_of(const dt_gemm *g) {
    return padded(g->n) * g->k + ceil_of(g->k, depth_of(g->k)) * ceil_of(g->n, W) + 1;
}

static int width_of(const dt_gemm *g) { return vectors_for(g) * W; }

static bool keeps_panels(const dt_gemm *g) { return g->panels && g->panels->version; }

/* A product that runs. */
typedef struct work {
    const dt_gemm *g;
    cut cut;
    const float *a, *b;
    float *c, *room_b, *room_a, *levels;
    /* if products share panels: where among the columns of a part this one begins, in 2^-32 of
     * their number */
    uint32_t begin;
} work;

/* Some rows and columns of C, and the pass that adds the products for k values from `from` on. */
typedef struct part {
    int64_t i, j, rows, columns, from, k, pass;
} part;

/* ---- packing ---- */

/* Returns the number of vectors in the next panel of B. The last vectors are one panel, unless that
 * is too wide. If a panel may have more than 2, no vector is left alone, because the sums of a
 * single vector are few in comparison with what is read. */
static int vectors_of(const cut *c, int64_t columns) {
    const int64_t left = ceil_of(columns, W);
    if (left <= c->vectors) return (int)left;
    return left == c->vectors + 1 && c->vectors > 2 ? c->vectors - 1 : c->vectors;
}

/* Rows of memory that are prefetched, each `bytes` long. each: how many of them are prefetched
 * while one row of a part is computed, in 2^-32. */
typedef struct fetched {
    ahead rows;
    int64_t bytes, each;
} fetched;

/* Some rows (values of k) of some columns of B. The columns are at most 4 vectors. */
typedef struct panel {
    const float *b;
    int64_t ldb, k, columns;
    int vectors;
    bool turned; /* B is transposed: its columns are rows in memory */
    float *pack; /* where the first tile copies the panel, for the other tiles; NULL: nowhere */
    /* memory that is prefetched while this panel is used: that of the next panel, and a part of the
     * rows of A that the next pass reads */
    fetched next[2];
} panel;

/* Packs the columns j .. j + W - 1 of a transposed B, which are rows in memory: W floats for each
 * k. Missing columns are 0. */
static void turn_vector(const panel *p, int64_t j, float *to) {
    const float *b = p->b + j * p->ldb;
    const int64_t ldb = p->ldb, step = p->vectors * W, columns = p->columns - j;
    int64_t k = 0;
#if defined(__SSE2__) || defined(__aarch64__)
    for (; columns >= W && k + 4 <= p->k; k += 4) {
        vec row[4];
        UNROLL(4) for (int i = 0; i < 4; i++) row[i] = load_fours(b + i * ldb + k, 4 * ldb);
        const vec x = LO(row[0], row[1]), y = HI(row[0], row[1]), z = LO(row[2], row[3]),
                  w = HI(row[2], row[3]);
        STORE(to + k * step, LO2(x, z));
        STORE(to + (k + 1) * step, HI2(x, z));
        STORE(to + (k + 2) * step, LO2(y, w));
        STORE(to + (k + 3) * step, HI2(y, w));
    }
#endif
    for (; k < p->k; k++)
        for (int64_t i = 0; i < W; i++) to[k * step + i] = i < columns ? b[i * ldb + k] : 0;
}

/* Packs a panel: for each k, p->vectors vectors. */
static void pack_panel(const panel *p, float *to) {
    for (int64_t j = 0; p->turned && j < p->vectors * W; j += W) turn_vector(p, j, to + j);
    for (int64_t k = 0; !p->turned && k < p->k; k++) {
        const float *b = p->b + k * p->ldb;
        for (int64_t j = 0; j < p->columns; j += 16) __builtin_prefetch(b + 8 * p->ldb + j);
        for (int64_t j = 0; j < p->vectors * W; j += W, to += W)
            STORE(to, load_part(b + j, dt_min(W, p->columns - j)));
    }
}

/* Copies n floats: by whole vectors if all floats of these are among the `there` floats that can be
 * read, else one by one. The floats that are too many are overwritten by what is copied next. `to`
 * has room for one vector more. */
static ALWAYS_INLINE void copy(const float *from, int64_t n, int64_t there, float *to) {
    if (padded(n) <= there)
        for (int64_t i = 0; i < n; i += W) STORE(to + i, LOAD(from + i));
    else
        for (int64_t i = 0; i < n; i++) to[i] = from[i];
}

/* The rows of a part in groups of `each` rows. Groups that begin before row `more` have one row
 * more. */
typedef struct groups {
    int64_t each, more;
} groups;

static groups groups_of(int64_t rows, int height) {
    const int64_t n = ceil_of(rows, height), each = rows / n;
    return (groups){each, rows % n * (each + 1)};
}

static int64_t rows_of_group(groups g, int64_t i) { return i < g.more ? g.each + 1 : g.each; }

static const float *a_at(const work *w, const part *p) {
    const dt_gemm *g = w->g;
    return w->a + (g->trans_a ? p->from * g->lda + p->i : p->i * g->lda + p->from);
}

/* Packs the rows of A of a part: row after row, packed_ld floats apart; or, if A is transposed,
 * group after group, in which the rows of the group are adjacent for each k. */
static void pack_a(const work *w, const part *p) {
    const dt_gemm *g = w->g;
    const float *a = a_at(w, p);
    const int64_t ld = packed_ld(p->k);
    const groups all = groups_of(p->rows, w->cut.height);
    for (int64_t i = 0; !g->trans_a && i < p->rows; i++)
        memcpy(w->room_a + i * ld, a + i * g->lda, (size_t)p->k * sizeof *a);
    for (int64_t k = 0; g->trans_a && k < p->k; k++, a += g->lda) {
        for (int64_t i = 0; i < p->rows; i += 16) __builtin_prefetch(a + 12 * g->lda + i);
        for (int64_t i = 0, rows; i < p->rows; i += rows) {
            rows = rows_of_group(all, i);
            copy(a + i, rows, k + 1 < p->k ? g->m - p->i - i : rows, w->room_a + i * ld + k * rows);
        }
    }
}

/* ---- a pass over a part ---- */

/* Returns buffer n of the tree of sums over passes. The first buffer is C itself, unless the
 * product is added to C. */
static sums buffer(const work *w, const part *p, int n) {
    const dt_gemm *g = w->g;
    if (n == 0 && !g->adds) return (sums){w->c + p->i * g->ldc + p->j, g->ldc};
    const int64_t ld = most_columns(g, &w->cut);
    return (sums){w->levels + (g->adds ? n : n - 1) * w->cut.rows * ld, ld};
}

/* The sums that a pass adds to, and where it stores its own. */
typedef struct tree {
    sums left[LEVELS], to;
    int n;
} tree;

/* Finds the sums that a pass combines, in the order of dt_sum_push and dt_sum_end. */
static void find_sums(const work *w, const part *p, tree *t) {
    const dt_gemm *g = w->g;
    const bool ends = p->from + p->k == g->k;
    int buffers = __builtin_popcountll((unsigned long long)p->pass);
    t->n = 0;
    for (int64_t carry = p->pass; buffers > 0 && (carry & 1 || ends); carry >>= 1)
        t->left[t->n++] = buffer(w, p, --buffers);
    t->to = buffer(w, p, buffers);
    if (!ends || !g->adds) return;
    t->to = (sums){w->c + p->i * g->ldc + p->j, g->ldc};
    t->left[t->n++] = t->to;
}

/* Adds memory to a list of what to prefetch: `rows` describes rows, each `bytes` long. Returns the
 * list's new end. */
static ahead *look_ahead(ahead *list, ahead rows, int64_t bytes) {
    for (; bytes > 0; bytes -= AHEAD_BYTES, rows.at += AHEAD_BYTES) *list++ = rows;
    return list;
}

/* Sets t->ahead, the memory to prefetch during a tile of n rows from row i on: that of its sums,
 * and a part of b->next. */
static void find_ahead(tile *t, const panel *b, int64_t i, int64_t n) {
    const ahead c = {(const char *)t->to.at, t->to.ld * (int64_t)sizeof(float), n};
    ahead *list = look_ahead(t->ahead, c, b->columns * (int64_t)sizeof(float));
    for (const fetched *f = b->next; f < b->next + 2; f++) {
        const int64_t from = i * f->each >> 32, to = ((i + n) * f->each >> 32) + 1;
        if (f->rows.n == 0) continue;
        const ahead rows = {f->rows.at + from * f->rows.step, f->rows.step, to - from};
        list = look_ahead(list, rows, f->bytes);
    }
}

/* Computes the tiles of rows [i, i + rows) of a part, for panel b, which begins at column j. at: i,
 * rows and j. */
static void make_tiles(const work *w, const part *p, const tree *sums_, const panel *b,
                       const int64_t at[3]) {
    const dt_gemm *g = w->g;
    const int64_t i = at[0], rows = at[1], j = at[2];
    const bool packed = w->cut.packs_a;
    const int64_t ld = !packed ? g->lda : g->trans_a ? rows : packed_ld(p->k);
    const float *a =
        packed ? w->room_a + i * packed_ld(p->k) : a_at(w, p) + i * (g->trans_a ? 1 : g->lda);
    const int most = most_rows(b->vectors);
    const groups all = rows <= most ? (groups){rows, 0} : groups_of(rows, most);
    sums left[LEVELS];
    tile t = {.lda = ld,
              .k = p->k,
              .last = b->columns - (b->vectors - 1) * W,
              .left = left,
              .n_left = sums_->n,
              .to.ld = sums_->to.ld};
    for (int64_t r = 0, n; r < rows; r += n) {
        n = rows_of_group(all, r);
        t.a = a + r * (g->trans_a ? 1 : ld);
        t.to.at = sums_->to.at + (i + r) * sums_->to.ld + j;
        for (int l = 0; l < sums_->n; l++)
            left[l] =
                (sums){sums_->left[l].at + (i + r) * sums_->left[l].ld + j, sums_->left[l].ld};
        find_ahead(&t, b, i + r, n);
        const bool packs = b->pack && i + r == 0, is_packed = b->pack && !packs;
        t.pack = b->pack;
        t.b = is_packed ? b->pack : b->b;
        t.ldb = is_packed ? b->vectors * W : b->ldb;
        (packs ? packing_tiles[n] : tiles[b->vectors][n])[g->trans_a](&t);
    }
}

/* Describes the panel of B at column j, in place: not packed. */
static panel panel_at(const work *w, const part *p, int64_t j) {
    const dt_gemm *g = w->g;
    const int64_t column = p->j + j;
    panel b = {.b = w->b + (g->trans_b ? column * g->ldb + p->from : p->from * g->ldb + column),
               .ldb = g->ldb,
               .k = p->k,
               .vectors = vectors_of(&w->cut, p->columns - j),
               .turned = g->trans_b};
    b.columns = dt_min(b.vectors * W, p->columns - j);
    return b;
}

/* Returns where the panel of a part at column j is packed. */
static float *packed_at(const work *w, const part *p, int64_t j) {
    if (keeps_panels(w->g))
        return w->g->panels->room + p->from * padded(w->g->n) + (p->j + j) * p->k;
    return w->room_b + (w->cut.keeps_b ? p->from * padded(p->columns) + j * p->k : 0);
}

/* Returns the memory that the panel of a part at column j is read from; nothing if it is packed
 * anew from a transposed B. */
static fetched memory_of_panel(const work *w, const part *p, int64_t j) {
    const panel b = panel_at(w, p, j);
    const int64_t bytes = b.k * b.vectors * W * (int64_t)sizeof(float);
    if (keeps_panels(w->g) || (w->cut.keeps_b && p->i > 0))
        return (fetched){
            {(const char *)packed_at(w, p, j), AHEAD_BYTES, bytes / AHEAD_BYTES}, AHEAD_BYTES, 0};
    if (b.turned) return (fetched){{0}, 0, 0};
    return (fetched){{(const char *)b.b, b.ldb * (int64_t)sizeof(float), b.k},
                     b.columns * (int64_t)sizeof(float),
                     0};
}

/* Returns the memory of a part's rows of A from number `from` of their floats on, as many as a
 * panel has columns at most; nothing if `from` is less than 0 or behind their end. */
static fetched memory_of_a(const work *w, const part *p, int64_t from) {
    const bool k_first = w->g->trans_a;
    const int64_t rows = k_first ? p->k : p->rows, floats = k_first ? p->rows : p->k,
                  width = w->cut.vectors * W;
    if (from < 0 || from >= floats) return (fetched){{0}, 0, 0};
    return (fetched){{(const char *)(a_at(w, p) + from), w->g->lda * (int64_t)sizeof(float), rows},
                     dt_min(width, floats - from) * (int64_t)sizeof(float),
                     0};
}

static void find_each(fetched *f, const part *p) { f->each = (f->rows.n << 32) / p->rows; }

/* ---- panels that products share, and the product ---- */

/* Returns an array in the room of the panels: element 0 counts the products that have begun, and
 * the others are the states of the panels. */
static dt_panel_state *states_of(const dt_gemm *g) {
    return (dt_panel_state *)(void *)(g->panels->room + padded(g->n) * g->k);
}

/* Returns where a product begins among the columns, in 2^-32 of them: 0, 1/2, 1/4, 3/4, 1/8, ...
 * for one product after the other. So products that run at the same time begin at different panels,
 * and each packs some of them. */
static uint32_t find_begin(const dt_gemm *g) {
    uint32_t n = atomic_fetch_add_explicit(states_of(g), 1, memory_order_relaxed), begin = 0;
    for (int i = 0; i < 32; i++, n >>= 1) begin = begin << 1 | (n & 1);
    return begin;
}

/* Returns the first column of a pass over a part: w->begin, rounded down to the beginning of a
 * panel. */
static int64_t first_column(const work *w, const part *p) {
    const int64_t width = w->cut.vectors * W;
    return (int64_t)((uint64_t)w->begin * (uint64_t)(p->columns / width) >> 32) * width;
}

/* Returns the shared panel at column j of a part, and packs it first if no product has done so.
 * NULL: another product is packing it at the moment. */
static const float *take_panel(const work *w, const part *p, int64_t j, const panel *b) {
    const dt_gemm *g = w->g;
    const uint32_t version = g->panels->version;
    dt_panel_state *state = states_of(g) + 1 + p->pass * ceil_of(g->n, W) + (p->j + j) / W;
    const dt_panel_claim claim = dt_panel_take(state, version);
    float *at = packed_at(w, p, j);

    if (claim == DT_PANEL_BUSY) return NULL;
    if (claim == DT_PANEL_PACKED) return at;
    pack_panel(b, at);
    dt_panel_ready(state, version);
    return at;
}

/* Returns the panel of B at column j of a part: a shared one, packed now or before; in place, if B
 * is not packed and the panel has whole vectors; or packed in this product's own room, by the first
 * tile if the panel has WIDE whole vectors that are rows in memory. */
static panel find_panel(const work *w, const part *p, int64_t j) {
    panel b = panel_at(w, p, j);
    const float *shared = keeps_panels(w->g) ? take_panel(w, p, j, &b) : NULL;
    if (shared) {
        b.b = shared;
        b.ldb = b.vectors * W;
        return b;
    }
    const bool is_whole = b.columns == b.vectors * W, is_new = !w->cut.keeps_b || p->i == 0;
    if (!w->cut.packs_b && is_whole) return b;
    float *to = keeps_panels(w->g) ? w->room_b : packed_at(w, p, j);
    if (is_new && is_whole && b.vectors == WIDE && !b.turned) {
        b.pack = to;
        return b;
    }
    if (is_new) pack_panel(&b, to);
    b.b = to;
    b.ldb = b.vectors * W;
    return b;
}

/* The pass that is being computed, and the one after it. more: whether there is one after it. */
typedef struct walk {
    part now, next;
    bool more;
} walk;

/* Sets the memory that is prefetched while panel b, at column j, is used. left: the columns of the
 * pass after those of b. The panels at the end of the pass share the rows of A of the next one. */
static void find_next(const work *w, const walk *t, int64_t j, int64_t left, panel *b) {
    const part *p = &t->now, *next = &t->next;
    const int64_t of_a = w->g->trans_a ? next->rows : next->k, width = w->cut.vectors * W,
                  panels = ceil_of(left, width), of_row = ceil_of(of_a, width);
    if (left > 0)
        b->next[0] = memory_of_panel(w, p, j + b->columns < p->columns ? j + b->columns : 0);
    else if (t->more) b->next[0] = memory_of_panel(w, next, first_column(w, next));
    if (t->more) b->next[1] = memory_of_a(w, next, (of_row - 1 - panels) * width);
    for (int i = 0; i < 2; i++) find_each(&b->next[i], p);
}

static void make_pass(const work *w, const walk *place) {
    const part *p = &place->now;
    const groups all = groups_of(p->rows, w->cut.height);
    tree t;
    find_sums(w, p, &t);
    if (w->cut.packs_a) pack_a(w, p);
    for (int64_t j = first_column(w, p), left = p->columns; left > 0;) {
        panel b = find_panel(w, p, j);
        left -= b.columns;
        find_next(w, place, j, left, &b);
        for (int64_t i = 0, rows; i < p->rows; i += rows) {
            rows = rows_of_group(all, i);
            const int64_t at[3] = {i, rows, j};
            make_tiles(w, p, &t, &b, at);
        }
        j = j + b.columns < p->columns ? j + b.columns : 0;
    }
}

/* Sets the sizes of the part that begins at p->i, p->j and p->from. */
static void find_sizes(const work *w, part *p) {
    p->rows = dt_min(w->cut.rows, w->g->m - p->i);
    p->columns = columns_of(w->g, &w->cut, p->j);
    p->k = dt_min(w->cut.depth, w->g->k - p->from);
}

/* Advances to the next pass: of the same rows, of the next ones, or of the next columns. Returns
 * false after the last one. */
static bool advance(const work *w, part *p) {
    p->from += p->k;
    p->pass++;
    if (p->from == w->g->k) {
        p->from = p->pass = 0;
        p->i += p->rows;
    }
    if (p->i == w->g->m) {
        p->i = 0;
        p->j += p->columns;
    }
    if (p->j < w->g->n) find_sizes(w, p);
    return p->j < w->g->n;
}

static void product(const dt_gemm *g, const float *a, const float *b, float *c, float *room) {
    if (g->m == 0 || g->n == 0 || g->k == 0) return;
    work w = {.g = g, .cut = cut_of(g, keeps_panels(g)), .a = a, .b = b, .c = c, .room_b = room};
    w.room_a = room + room_of_b(g, &w.cut);
    w.levels = w.room_a + room_of_a(&w.cut);
    if (keeps_panels(g)) w.begin = find_begin(g);
    walk t = {.more = true};
    for (find_sizes(&w, &t.next); t.more;) {
        t.now = t.next;
        t.more = advance(&w, &t.next);
        make_pass(&w, &t);
    }
}

extern const dt_product_functions JOIN(dt_product_, DT_ISA);
const dt_product_functions JOIN(dt_product_, DT_ISA) = {
    .room = room_of,
    .panels = panels_of,
    .width = width_of,
    .pays = packing_pays,
    .run = product,
};
