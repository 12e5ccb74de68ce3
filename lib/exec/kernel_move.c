/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that only move elements: slice, concatenate, pad, transpose, reverse, broadcasts that no
 * fused step can make, and parts and concatenations of a batch. The result consists of boxes, each
 * with a source:
 *
 *     concatenate(a, b)      [ box of a | box of b ]
 *     pad(x)                 a value everywhere, then the box of x
 *
 * A box is copied run by run: elements that are contiguous in both arrays are copied by one memcpy.
 * A piece consists of the same boxes, clipped to its rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec_impl.h"
#include "op/across.h"
#include "op/cells.h"

/* A box. Its element (i0, i1, ...), with i < size, is at `to` + the sum of i * to_step in the
 * result, and at `from` + the sum of i * from_step in the source. */
typedef struct box {
    int in;
    int rank;
    /* the rows of the result that the box fills are first + i0 * every, i0 = 0, 1, ... */
    int64_t first, every;
    int64_t size[DT_MAX_RANK], to_step[DT_MAX_RANK], from_step[DT_MAX_RANK];
    int64_t to, from;
} box;

typedef struct moves {
    int n;
    bool fills;
    double fill;
    box box[]; /* [n] copies from an input to a part of the result */
} moves;

static const dt_type *in_type(const dt_exec *x, int node, int k) {
    return &x->type[x->g->node[node].in[k]];
}

/* Describes the copy of all of input k to the start of the result. */
static box box_of(const dt_exec *x, int node, int k) {
    const dt_type *in = in_type(x, node, k);
    box b = {.in = x->g->node[node].in[k], .rank = in->rank, .every = 1};
    dt_strides(in, b.from_step);
    dt_strides(&x->type[node], b.to_step);
    memcpy(b.size, in->dim, sizeof b.size);
    return b;
}

/* Joins dimensions that are contiguous in both arrays, so that runs are long. Dimension 0 is not
 * joined, since pieces divide it. */
static void merge_dimensions(box *b) {
    for (int d = b->rank - 2; d >= 1; d--) {
        int next = d + 1;
        if (b->to_step[d] != b->to_step[next] * b->size[next] ||
            b->from_step[d] != b->from_step[next] * b->size[next])
            continue;
        b->size[d] *= b->size[next];
        b->to_step[d] = b->to_step[next];
        b->from_step[d] = b->from_step[next];
        for (int i = next; i < b->rank - 1; i++) {
            b->size[i] = b->size[i + 1];
            b->to_step[i] = b->to_step[i + 1];
            b->from_step[i] = b->from_step[i + 1];
        }
        b->rank--;
    }
}

static moves *make_moves(dt_step *step, const box *boxes, int n) {
    moves *m = dt_alloc(sizeof *m + dt_size_mul((size_t)n, sizeof *boxes));
    for (int i = 0; i < n; i++) {
        m->box[i] = boxes[i];
        merge_dimensions(&m->box[i]);
    }
    m->n = n;
    return step->state = m;
}

static dt_status *keep_one(dt_step *step, box b) {
    make_moves(step, &b, 1);
    return NULL;
}

/* ---- what each op moves ---- */

static dt_status *prepare_slice(dt_exec *x, dt_step *step) {
    const dt_slice_attr *a = x->g->node[step->node].attr;
    box b = box_of(x, step->node, 0);
    for (int d = 0; d < b.rank; d++) {
        b.from += a->dim[d].start * b.from_step[d];
        b.from_step[d] *= a->dim[d].stride;
        b.size[d] = x->type[step->node].dim[d];
    }
    return keep_one(step, b);
}

/* The inputs of a concatenation, in their order along the axis. An input that is an absorbed
 * concatenation is replaced by its own inputs. */
typedef struct parts {
    const dt_exec *x;
    int node, axis, n, cap;
    int64_t at; /* index along the axis at which the next input is copied */
    box *box;
} parts;

static void add_parts(parts *p, int node) {
    const dt_type *to = &p->x->type[p->node];
    for (int k = 0; k < 2; k++) {
        const int in = p->x->g->node[node].in[k];
        if (p->x->p->piece[in].absorbed) {
            add_parts(p, in);
            continue;
        }
        box b = box_of(p->x, node, k);
        dt_strides(to, b.to_step);
        b.to = p->at * b.to_step[p->axis];
        b.first = p->axis == 0 ? p->at : 0;
        p->at += b.size[p->axis];
        DT_GROW(p->box, p->cap, p->n + 1);
        p->box[p->n++] = b;
    }
}

static dt_status *side_by_side(dt_exec *x, dt_step *step, int axis) {
    parts p = {.x = x, .node = step->node, .axis = axis};
    add_parts(&p, step->node);
    make_moves(step, p.box, p.n);
    free(p.box);
    return NULL;
}

static dt_status *prepare_concatenate(dt_exec *x, dt_step *step) {
    const dt_axis_attr *a = x->g->node[step->node].attr;
    return side_by_side(x, step, (int)a->axis);
}

static dt_status *prepare_rows_join(dt_exec *x, dt_step *step) { return side_by_side(x, step, 0); }

static dt_status *prepare_rows_part(dt_exec *x, dt_step *step) {
    const dt_across_attr *a = x->g->node[step->node].attr;
    box b = box_of(x, step->node, 0);
    b.size[0] = x->type[step->node].dim[0];
    b.from = a->dim * b.size[0] * b.from_step[0];
    return keep_one(step, b);
}

static dt_status *prepare_transpose(dt_exec *x, dt_step *step) {
    const dt_transpose_attr *a = x->g->node[step->node].attr;
    box b = box_of(x, step->node, 0), of = b;
    for (int d = 0; d < b.rank; d++) {
        b.size[d] = of.size[a->perm[d]];
        b.from_step[d] = of.from_step[a->perm[d]];
    }
    return keep_one(step, b);
}

/* Makes the box of a broadcast. Along a repeated dimension the step in the source is 0. */
static dt_status *prepare_broadcast(dt_exec *x, dt_step *step) {
    const dt_node *n = &x->g->node[step->node];
    const dt_broadcast_attr *a = n->attr;
    const dt_type *to = &x->type[step->node];
    box b = box_of(x, step->node, 0), of = b;
    memset(b.from_step, 0, sizeof b.from_step);
    for (int d = 0; d < of.rank; d++)
        if (of.size[d] == to->dim[a->dims[d]]) b.from_step[a->dims[d]] = of.from_step[d];
    b.rank = to->rank;
    memcpy(b.size, to->dim, sizeof b.size);
    return keep_one(step, b);
}

static dt_status *prepare_reverse(dt_exec *x, dt_step *step) {
    const dt_reverse_attr *a = x->g->node[step->node].attr;
    box b = box_of(x, step->node, 0);
    for (int d = 0; d < b.rank; d++)
        if (a->dims >> d & 1) {
            b.from += (b.size[d] - 1) * b.from_step[d];
            b.from_step[d] = -b.from_step[d];
        }
    return keep_one(step, b);
}

/* Sets the box along dimension d: element i goes to low + i * (interior + 1), and is left out if
 * that is not within `size`. */
static void place_padded(box *b, int d, const dt_pad_attr *a, int64_t size) {
    int64_t low = a->dim[d].low, every = a->dim[d].interior + 1;
    int64_t skip = low < 0 ? (-low + every - 1) / every : 0, first = low + skip * every;
    int64_t fit = first < size ? (size - 1 - first) / every + 1 : 0;
    b->size[d] -= skip;
    b->size[d] = b->size[d] < 0 ? 0 : b->size[d] < fit ? b->size[d] : fit;
    b->from += skip * b->from_step[d];
    b->to += first * b->to_step[d];
    b->to_step[d] *= every;
    if (d == 0) {
        b->first = first;
        b->every = every;
    }
}

static dt_status *prepare_pad(dt_exec *x, dt_step *step) {
    const dt_pad_attr *a = x->g->node[step->node].attr;
    box b = box_of(x, step->node, 0);
    for (int d = 0; d < b.rank; d++) place_padded(&b, d, a, x->type[step->node].dim[d]);
    moves *m = make_moves(step, &b, 1);
    m->fills = true;
    m->fill = a->value;
    return NULL;
}

/* ---- moving, and the kernels ---- */

static void copy_strided(char *to, const char *from, const box *b, size_t size) {
    int d = b->rank - 1;
    for (int64_t i = 0; i < b->size[d]; i++)
        memcpy(to + i * b->to_step[d] * (int64_t)size, from + i * b->from_step[d] * (int64_t)size,
               size);
}

static void copy_floats(float *to, const float *from, const box *b) {
    int d = b->rank - 1;
    for (int64_t i = 0; i < b->size[d]; i++) to[i * b->to_step[d]] = from[i * b->from_step[d]];
}

static void copy_run(char *to, const char *from, const box *b, size_t size) {
    int d = b->rank - 1;
    if (b->to_step[d] == 1 && b->from_step[d] == 1) memcpy(to, from, (size_t)b->size[d] * size);
    else if (size == sizeof(float)) copy_floats((float *)to, (const float *)from, b);
    else copy_strided(to, from, b, size);
}

/* Whether dimension d of a copy repeats the same part of the source, which the dimensions after d
 * copy, in adjacent places of the result. */
static bool repeats(const box *b, int d) {
    int64_t item = 1;
    int k = b->rank - 1;
    for (; k > d && b->to_step[k] == item; k--) item *= b->size[k];
    return b->from_step[d] == 0 && k == d && b->to_step[d] == item;
}

/* Repeats the first item, of `bytes` bytes, n - 1 times after itself. Each copy doubles what is
 * there until it is more than MOST bytes. Later copies have a fixed size, so that their source
 * stays in the first-level cache. */
static void repeat(char *to, size_t bytes, int64_t n) {
    enum { MOST = 8192 };
    const size_t all = bytes * (size_t)n;
    for (size_t done = bytes, more = bytes; done < all; done += more) {
        if (done <= MOST) more = done;
        more = more < all - done ? more : all - done;
        memcpy(to + done, to, more);
    }
}

enum { SQUARE = 16 };

static inline void turn(float *to, const float *from, const box *b, int64_t rows, int64_t columns) {
    float square[SQUARE][SQUARE];
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++) square[r][c] = from[c * b->from_step[b->rank - 1] + r];
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + r * b->to_step[b->rank - 2], square[r], (size_t)columns * sizeof *to);
}

/* Transposes the last two dimensions: rows are contiguous in the source, and columns in the result.
 * Works in squares, so that each cache line is read and written only once, however far apart lines
 * are. */
static void turn_squares(float *to, const float *from, const box *b) {
    const int64_t rows = b->size[b->rank - 2], columns = b->size[b->rank - 1];
    for (int64_t r = 0; r < rows; r += SQUARE)
        for (int64_t c = 0; c < columns; c += SQUARE) {
            float *at = to + r * b->to_step[b->rank - 2] + c;
            const float *of = from + c * b->from_step[b->rank - 1] + r;
            if (rows - r >= SQUARE && columns - c >= SQUARE) turn(at, of, b, SQUARE, SQUARE);
            else
                turn(at, of, b, rows - r < SQUARE ? rows - r : SQUARE,
                     columns - c < SQUARE ? columns - c : SQUARE);
        }
}

/* Whether the box is a transposition that should be done in squares, because lines of the source
 * displace each other: they share few sets of the first-level cache, or are in too many pages.
 * Other sources stay in the cache while the rows of the result are written one by one, which is
 * faster. */
static bool turns(const box *b, size_t size) {
    const int last = b->rank - 1;
    if (last == 0 || size != sizeof(float) || b->to_step[last] != 1 || b->from_step[last - 1] != 1)
        return false;
    const int64_t step = b->from_step[last], columns = b->size[last];
    return step > 1 && b->size[last - 1] >= SQUARE && columns >= SQUARE &&
           (step % 256 == 0 || (step >= 512 && columns > 2048));
}

static void copy_runs(char *to, const char *from, const box *b, size_t size) {
    const int64_t n = b->size[b->rank - 2], to_step = b->to_step[b->rank - 2] * (int64_t)size,
                  from_step = b->from_step[b->rank - 2] * (int64_t)size;
    for (int64_t i = 0; i < n; i++) copy_run(to + i * to_step, from + i * from_step, b, size);
}

/* Copies dimensions d and higher of a box. */
static void copy_from(char *to, const char *from, const box *b, int d, size_t size) {
    const int last = b->rank - 1;
    if (d == last) {
        copy_run(to, from, b, size);
    } else if (d == last - 1 && turns(b, size)) {
        turn_squares((float *)to, (const float *)from, b);
    } else if (repeats(b, d)) {
        copy_from(to, from, b, d + 1, size);
        repeat(to, (size_t)b->to_step[d] * size, b->size[d]);
    } else if (d == last - 1) {
        copy_runs(to, from, b, size);
    } else {
        for (int64_t i = 0; i < b->size[d]; i++)
            copy_from(to + i * b->to_step[d] * (int64_t)size,
                      from + i * b->from_step[d] * (int64_t)size, b, d + 1, size);
    }
}

static void exchange(int64_t *of, int a, int b) {
    const int64_t kept = of[a];
    of[a] = of[b];
    of[b] = kept;
}

/* Orders the dimensions of a box, which can be copied in any order. If the last two will be
 * transposed, the dimension that is contiguous in the source comes second to last. */
static void order_dimensions(box *b, size_t size) {
    for (int d = 0; d < b->rank - 2; d++) {
        box of = *b;
        if (b->from_step[d] != 1 || b->from_step[b->rank - 2] == 1) continue;
        exchange(of.size, d, b->rank - 2);
        exchange(of.to_step, d, b->rank - 2);
        exchange(of.from_step, d, b->rank - 2);
        if (turns(&of, size)) *b = of;
    }
}

static void copy_box(char *to, const char *from, box b, size_t size) {
    for (int d = 0; d < b.rank; d++)
        if (b.size[d] == 0) return;
    if (b.from_step[b.rank - 1] != 1) order_dimensions(&b, size);
    copy_from(to, from, &b, 0, size);
}

/* Clips the box to rows lo .. hi - 1 of the result. */
static void clip(box *b, int64_t lo, int64_t hi) {
    int64_t skip = lo > b->first ? (lo - b->first + b->every - 1) / b->every : 0;
    int64_t end = hi > b->first ? (hi - b->first + b->every - 1) / b->every : 0;
    b->size[0] = (end < b->size[0] ? end : b->size[0]) - skip;
    b->size[0] = b->size[0] < 0 ? 0 : b->size[0];
    b->to += skip * b->to_step[0];
    b->from += skip * b->from_step[0];
}

static void fill_rows(const dt_kernel_call *c, double value) {
    const dt_exec *x = c->x;
    dt_view out = {.type = x->type[c->step->node], .data = x->at[c->step->node]};
    out = dt_view_rows(&out, c->lo, c->hi - c->lo);
    if (value == 0 && !signbit(value)) {
        memset(out.data, 0, (size_t)dt_type_bytes(&out.type));
        return;
    }
    for (int64_t i = 0, n = dt_type_elements(&out.type); i < n; i++)
        dt_cell_set_double(&out, i, value);
}

static void run_moves(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const moves *m = c->step->state;
    size_t size = dt_dtype_size(x->type[c->step->node].dtype);
    if (m->fills) fill_rows(c, m->fill);
    for (int i = 0; i < m->n; i++) {
        box b = m->box[i];
        clip(&b, c->lo, c->hi);
        copy_box((char *)x->at[c->step->node] + b.to * (int64_t)size,
                 (const char *)x->at[b.in] + b.from * (int64_t)size, b, size);
    }
}

static bool has_dimensions(const dt_graph *g, int node) { return g->node[node].type.rank > 0; }

#define MOVES(op_name, op_row)                                                                     \
    const dt_kernel dt_kernel_##op_name = {.name = #op_name,                                       \
                                           .op = &op_row,                                          \
                                           .splits = true,                                         \
                                           .fits = has_dimensions,                                 \
                                           .narrow = dt_narrow_alike,                              \
                                           .prepare = prepare_##op_name,                           \
                                           .run = run_moves,                                       \
                                           .release = free}

MOVES(slice, dt_op_slice);
MOVES(concatenate, dt_op_concatenate);
MOVES(pad, dt_op_pad);
MOVES(transpose, dt_op_transpose);
MOVES(reverse, dt_op_reverse);
MOVES(broadcast, dt_op_broadcast_in_dim);
MOVES(rows_part, dt_op_across_rows_part);
MOVES(rows_join, dt_op_across_rows_join);
