/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions as matrix products, which every library can compute. Every position of the window is
 * a row of a matrix A, whose columns are the elements under the window. The kernel, as it is
 * stored, is the other matrix:
 *
 *     lhs (B, h, w, i)   ->   A (B p q, k l i)  x  rhs (k l i, o)   =   y (B p q, o)
 *
 * Rows follow all dimensions of y except the last, and columns all dimensions of rhs except the
 * last, both in the order of memory. So the same code computes the gradients: for that of a kernel,
 * rows are the kernel's elements, and columns are examples and positions. A is made in tiles that
 * fit into the cache, one after the other in the same memory. If a row needs several tiles, the
 * tree of exec/sums.h adds their products. If rows are adjacent in lhs, as they are for a kernel's
 * gradient, and at least FEW follow each other, a tile is stored by columns.
 *
 * The sizes of tiles depend only on the sizes of arrays, so bits do not depend on threads. A
 * segment of a kernel's gradient uses a part of the columns.
 */
#include <string.h>

#include "exec/convolution.h"
#include "base/size.h"
#include "exec/sums.h"
#include "op/cells.h"
#include "op/segment.h"
#include "op/window.h"

enum {
    DIMS = DT_MAX_SPATIAL + 1,
    TILE = 1 << 16 /* the most elements of A in a tile (256 KiB), unless one run has more */,
    LEAST_ROWS = 64,
    FEW = 8
};

/* One dimension of the rows or columns of A. */
typedef struct axis {
    int64_t size;
    /* the spatial dimension of the window; -1: for rows the batch, for columns the features */
    int space;
} axis;

typedef struct tiling {
    int64_t first_run; /* index of the first run of each row of A that the piece uses */
    /* rows and runs of a full tile; rows and runs of the tiles at the end */
    int64_t rows, runs, last_rows, last_runs;
    int64_t n_rows, n_runs; /* number of tiles along the rows of A, and along its runs */
} tiling;

typedef struct convolution {
    const dt_gemm_library *library;
    /* number of dimensions of the rows, which is also that of the columns */
    int n_dims;
    axis row[DIMS], column[DIMS]; /* the last dimension of the columns is called a run */
    dt_window window[DT_MAX_SPATIAL];
    /* sizes of lhs in its spatial dimensions, and distances of adjacent positions, in elements */
    int64_t in[DT_MAX_SPATIAL], step[DT_MAX_SPATIAL];
    int64_t batch_step, feature_step;
    int64_t run, runs, outputs; /* columns of a run; runs in a row of A; columns of y */
    int64_t rows_each;          /* number of rows of A for each index of y's dimension 0 */
    /* tiles are stored by columns, because rows that follow each other in the last dimension are
     * adjacent in lhs */
    bool turned;
    /* number of floats of working memory that the plans need, at the start of scratch */
    int64_t for_library;
    int units;
    tiling *tiles; /* [units] how each piece is divided into tiles */
    /* [units][2][2] plans of products for tiles with full or last rows, and full or last runs;
     * NULL: no such tile */
    void **plan;
} convolution;

/* ---- sizes ---- */

/* Returns the spatial dimension that dimension d of an operand is; -1: it is not spatial. */
static int space_of(const int8_t *spatial, int n, int d) {
    for (int i = 0; i < n; i++)
        if (spatial[i] == d) return i;
    return -1;
}

static void read_sizes(convolution *v, const dt_convolution_attr *a, const dt_type *lhs,
                       const dt_type *rhs, const dt_type *out) {
    int64_t step[DT_MAX_RANK];
    dt_strides(lhs, step);
    v->n_dims = a->n_spatial + 1;
    v->batch_step = step[a->lhs_batch];
    v->feature_step = step[a->lhs_feature];
    v->outputs = out->dim[a->out_feature];
    v->runs = 1;
    for (int d = 0; d < v->n_dims; d++) {
        v->row[d] = (axis){out->dim[d], space_of(a->out_spatial, a->n_spatial, d)};
        v->column[d] = (axis){rhs->dim[d], space_of(a->rhs_spatial, a->n_spatial, d)};
        v->runs *= d == v->n_dims - 1 ? 1 : rhs->dim[d];
    }
    v->run = rhs->dim[v->n_dims - 1];
    v->rows_each = 1;
    for (int d = 1; d < v->n_dims; d++) v->rows_each *= out->dim[d];
    v->turned = v->row[v->n_dims - 1].space < 0 && v->batch_step == 1 &&
                v->row[v->n_dims - 1].size >= FEW && v->column[v->n_dims - 1].space >= 0;
    for (int i = 0; i < a->n_spatial; i++) {
        v->window[i] = a->window[i];
        v->in[i] = lhs->dim[a->lhs_spatial[i]];
        v->step[i] = step[a->lhs_spatial[i]];
    }
}

/* ---- tiles and plans ---- */

/* Divides rows of A, and runs first to first + runs - 1 of each, into tiles. */
static tiling tile(const convolution *v, int64_t rows, int64_t first, int64_t runs) {
    tiling t = {.first_run = first};
    if (rows == 0 || runs == 0 || v->run == 0) return t;
    t.runs = dt_min(runs, dt_max(1, TILE / dt_min(rows, LEAST_ROWS) / v->run));
    t.rows = dt_min(rows, dt_max(1, TILE / (t.runs * v->run)));
    t.n_rows = (rows + t.rows - 1) / t.rows;
    t.n_runs = (runs + t.runs - 1) / t.runs;
    t.last_rows = rows - (t.n_rows - 1) * t.rows;
    t.last_runs = runs - (t.n_runs - 1) * t.runs;
    return t;
}

/* Divides a piece into tiles. A piece of the result has some of the rows. A piece of a segment has
 * all rows, but only a part of the batch, which is the first dimension of the columns. */
static tiling tile_piece(const convolution *v, const dt_exec *x, int node, int unit) {
    int64_t lo, hi;
    if (dt_cut_of(&x->g->node[node]) != DT_CUT_TILES) {
        dt_piece_rows(x->p, node, unit, &lo, &hi);
        return tile(v, (hi - lo) * v->rows_each, 0, v->runs);
    }
    int64_t examples = v->column[0].size, each = examples ? v->runs / examples : 0;
    dt_convolution_piece(x, node, unit, &lo, &hi);
    return tile(v, v->rows_each * v->row[0].size, lo * each, (hi - lo) * each);
}

static dt_status *plan_tiles(convolution *v, int unit) {
    const tiling *t = &v->tiles[unit];
    for (int i = 0; i < 4 && t->n_rows > 0; i++) {
        bool last_rows = i & 2, last_runs = i & 1;
        int64_t k = (last_runs ? t->last_runs : t->runs) * v->run;
        const int64_t m = last_rows ? t->last_rows : t->rows;
        dt_gemm g = {.m = m,
                     .n = v->outputs,
                     .k = k,
                     .trans_a = v->turned,
                     .lda = v->turned ? m : k,
                     .ldb = v->outputs,
                     .ldc = v->outputs};
        bool there = (last_rows || t->n_rows > 1) && (last_runs || t->n_runs > 1);
        if (!there) continue;
        void **plan = &v->plan[4 * unit + i];
        DT_TRY(v->library->plan(v->library, &g, plan));
        v->for_library =
            dt_max(v->for_library, (int64_t)(dt_gemm_scratch(v->library, *plan) / sizeof(float)));
    }
    return NULL;
}

static size_t scratch_of(const convolution *v) {
    int64_t most = 0;
    for (int u = 0; u < v->units; u++) {
        const tiling *t = &v->tiles[u];
        int64_t a = t->rows * t->runs * v->run,
                sums = t->n_runs > 1 ? t->rows * v->outputs * dt_sum_levels(t->n_runs) : 0;
        most = dt_max(most, a + sums);
    }
    return (size_t)(most + v->for_library) * sizeof(float);
}

void dt_im2col_release(void *state) {
    convolution *v = state;
    for (int i = 0; v && v->plan && i < 4 * v->units; i++)
        if (v->plan[i]) v->library->release(v->plan[i]);
}

dt_status *dt_im2col_prepare(dt_exec *x, int node, dt_prepared *out) {
    const dt_node *n = &x->g->node[node];
    dt_type entry = dt_convolution_entry(x, node);
    convolution *v = dt_arena_new(x->arena, convolution);
    out->state = v;
    v->library = &x->engine->gemm;
    read_sizes(v, dt_convolution_attr_of(n), &x->type[n->in[0]], &x->type[n->in[1]], &entry);
    v->units = x->p->piece[node].units;
    v->tiles = dt_arena_array(x->arena, tiling, v->units);
    v->plan = dt_arena_array(x->arena, void *, 4 * v->units);
    for (int u = 0; u < v->units; u++) {
        v->tiles[u] = tile_piece(v, x, node, u);
        DT_TRY(plan_tiles(v, u));
    }
    out->scratch = scratch_of(v);
    return NULL;
}

/* ---- filling a tile ---- */

/* Converts a flat position in the rows or the columns to an index for each dimension. */
static void find(const axis *axes, int n, int64_t at, int64_t index[DIMS]) {
    for (int d = n - 1; d >= 0; d--) {
        index[d] = at % axes[d].size;
        at /= axes[d].size;
    }
}

static void advance(const axis *axes, int n, int64_t index[DIMS]) {
    for (int d = n - 1; d >= 0 && ++index[d] == axes[d].size; d--) index[d] = 0;
}

/* Returns the offset in lhs of the batch index of a row, in elements, and sets `place` to the
 * window's position in each spatial dimension. */
static int64_t begin_row(const convolution *v, const int64_t index[DIMS],
                         int64_t place[DT_MAX_SPATIAL]) {
    int64_t at = 0;
    for (int d = 0; d < v->n_dims; d++)
        if (v->row[d].space < 0) at = index[d] * v->batch_step;
        else place[v->row[d].space] = index[d];
    return at;
}

/* Returns the offset in lhs at which a run of the row begins, in elements; `at` and `place` are
 * from begin_row. Returns -1 if the run is in padding, or in a gap between elements, along one of
 * the other dimensions. */
static int64_t begin_run(const convolution *v, int64_t at, const int64_t index[DIMS],
                         const int64_t place[DT_MAX_SPATIAL]) {
    for (int d = 0; d < v->n_dims - 1; d++) {
        int s = v->column[d].space;
        int64_t i = s < 0 ? index[d] : dt_window_at(&v->window[s], place[s], index[d], v->in[s]);
        if (i < 0) return -1;
        at += i * (s < 0 ? v->feature_step : v->step[s]);
    }
    return at;
}

static int64_t within(int64_t x, int64_t least, int64_t most) {
    return x < least ? least : x > most ? most : x;
}

/* Fills `to` with a run over spatial dimension s: what the window at position `place` reads of x
 * along it. The elements in the image are at equal distances (the image is not dilated). Padding
 * becomes 0. */
static void fill_places(const convolution *v, int s, const float *x, int64_t place, float *to) {
    const dt_window *w = &v->window[s];
    const int64_t begin = place * w->stride - w->low, step = w->dilation * v->step[s],
                  left = v->in[s] - begin;
    const int64_t first =
        within(begin < 0 ? (w->dilation - 1 - begin) / w->dilation : 0, 0, v->run);
    const int64_t end =
        within(left > 0 ? (left + w->dilation - 1) / w->dilation : 0, first, v->run);

    memset(to, 0, (size_t)first * sizeof *to);
    for (int64_t k = first, at = begin * v->step[s] + first * step; k < end; k++, at += step)
        to[k] = x[at];
    memset(to + end, 0, (size_t)(v->run - end) * sizeof *to);
}

/* Fills a run. Features that are adjacent in memory are copied by memcpy, unless they are so few
 * that a loop is faster. */
static void fill_run(const convolution *v, const float *x, const int64_t place[DT_MAX_SPATIAL],
                     float *to) {
    int s = v->column[v->n_dims - 1].space;
    if (s < 0 && v->feature_step == 1 && v->run >= FEW) {
        memcpy(to, x, (size_t)v->run * sizeof *to);
        return;
    }
    if (s < 0) {
        for (int64_t k = 0; k < v->run; k++) to[k] = x[k * v->feature_step];
        return;
    }
    if (v->window[s].base_dilation == 1) {
        fill_places(v, s, x, place[s], to);
        return;
    }
    for (int64_t k = 0; k < v->run; k++) {
        int64_t i = dt_window_at(&v->window[s], place[s], k, v->in[s]);
        to[k] = i < 0 ? 0 : x[i * v->step[s]];
    }
}

/* Fills a tile, row by row, with rows from[0] .. from[0] + n[0] - 1 of A and runs from[1] ..
 * from[1] + n[1] - 1 of each. */
static void fill_tile(const convolution *v, const float *x, const int64_t from[2],
                      const int64_t n[2], float *to) {
    int64_t row[DIMS], first[DIMS], place[DT_MAX_SPATIAL] = {0};
    find(v->row, v->n_dims, from[0], row);
    find(v->column, v->n_dims - 1, from[1], first);
    for (int64_t r = 0; r < n[0]; r++, advance(v->row, v->n_dims, row)) {
        int64_t column[DIMS], base = begin_row(v, row, place);
        memcpy(column, first, sizeof column);
        for (int64_t k = 0; k < n[1];
             k++, advance(v->column, v->n_dims - 1, column), to += v->run) {
            int64_t at = begin_run(v, base, column, place);
            if (at < 0) memset(to, 0, (size_t)v->run * sizeof *to);
            else fill_run(v, x + at, place, to);
        }
    }
}

/* Fills rows from .. from + n - 1 of the column with index `column`, one after the other. */
static void fill_column(const convolution *v, const float *x, const int64_t column[DIMS],
                        int64_t from, int64_t n, float *to) {
    const int64_t size = v->row[v->n_dims - 1].size;
    int64_t row[DIMS], place[DT_MAX_SPATIAL] = {0};
    find(v->row, v->n_dims, from, row);
    for (int64_t done = 0, some; done < n;
         done += some, row[v->n_dims - 1] = 0, advance(v->row, v->n_dims - 1, row)) {
        const int s = v->column[v->n_dims - 1].space;
        const int64_t base = begin_row(v, row, place), at = begin_run(v, base, column, place);
        const int64_t last =
            at < 0 ? -1 : dt_window_at(&v->window[s], place[s], column[v->n_dims - 1], v->in[s]);
        some = dt_min(n - done, size - row[v->n_dims - 1]);
        if (last < 0) memset(to + done, 0, (size_t)some * sizeof *to);
        else memcpy(to + done, x + at + last * v->step[s], (size_t)some * sizeof *to);
    }
}

/* Fills the same tile as fill_tile, but column by column. */
static void fill_turned(const convolution *v, const float *x, const int64_t from[2],
                        const int64_t n[2], float *to) {
    int64_t column[DIMS];
    find(v->column, v->n_dims, from[1] * v->run, column);
    for (int64_t k = 0; k < n[1] * v->run; k++, advance(v->column, v->n_dims, column), to += n[0])
        fill_column(v, x, column, from[0], n[0], to);
}

/* ---- running ---- */

/* Computes block i of the piece's rows: multiplies its tiles and adds the products up in y. lo: the
 * piece's first row of A. */
static void run_rows(const convolution *v, const dt_kernel_call *c, int64_t lo, int64_t i,
                     const float *lhs, const float *rhs, float *y) {
    const tiling *t = &v->tiles[c->unit];
    bool last_rows = i == t->n_rows - 1;
    const int64_t rows = last_rows ? t->last_rows : t->rows, n = rows * v->outputs;
    float *room = (float *)(void *)c->scratch, *a = room + v->for_library;
    float *level = t->n_runs > 1 ? a + t->rows * t->runs * v->run : y;
    dt_sum_tree sums = {
        .level = level, .stride = n, .n = n, .add = c->x->engine->simd->strip[DT_S_add]};
    for (int64_t k = 0; k < t->n_runs; k++, dt_sum_push(&sums)) {
        bool last_runs = k == t->n_runs - 1;
        int64_t from[2] = {lo + i * t->rows, t->first_run + k * t->runs},
                count[2] = {rows, last_runs ? t->last_runs : t->runs};
        (v->turned ? fill_turned : fill_tile)(v, lhs, from, count, a);
        v->library->run(v->plan[4 * c->unit + 2 * last_rows + last_runs], a,
                        rhs + from[1] * v->run * v->outputs, dt_sum_next(&sums), room);
    }
    dt_sum_end(&sums);
    if (level != y) memcpy(y, level, (size_t)n * sizeof *y);
}

void dt_im2col_run(const dt_kernel_call *c, const void *state) {
    const convolution *v = state;
    const dt_node *n = &c->x->g->node[c->step->node];
    const tiling *t = &v->tiles[c->unit];
    bool segment = dt_cut_of(&c->x->g->node[c->step->node]) == DT_CUT_TILES;
    int64_t entry = v->rows_each * v->row[0].size, lo = segment ? 0 : c->lo * v->rows_each;
    int64_t rows = segment ? entry : (c->hi - c->lo) * v->rows_each;
    float *y = dt_floats(c->x, c->step->node) + (segment ? c->lo * entry : lo) * v->outputs;
    if (t->n_rows == 0 && rows > 0)
        memset(y, 0, (size_t)(rows * v->outputs) * sizeof *y); /* a sum without terms is 0 */
    for (int64_t i = 0; i < t->n_rows; i++, y += t->rows * v->outputs)
        run_rows(v, c, lo, i, dt_floats(c->x, n->in[0]), dt_floats(c->x, n->in[1]), y);
}
