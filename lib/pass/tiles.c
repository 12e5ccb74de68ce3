/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small tiles of a batch, for graphs that go over images. A row of theirs is tens of kilobytes, so a tile of the usual number of rows (partition.c)
 * is much larger than a core's cache. Cut finer, what a convolution writes is still there when batch normalisation and the next
 * convolution read it:
 *
 *     coarse   conv  conv  conv ... | relu relu relu ...          each value to memory and back
 *     fine     conv relu conv | conv relu conv | ...
 *
 * Sums over the batch of such values become a sum for each tile, made where the tile is, and a sum of these:
 *
 *     reduce(x)  ->  reduce(segment_reduce(x))        (B, h, w, c) -> (tiles, c) -> (c)
 *
 * and so do kernels' gradients. A variance needs the mean first. So that nobody waits for it, each tile adds the squares of what differs from its own mean
 * m(t); what is missing follows from the tiles' sums, n(t) being how many numbers are in tile t, and that for any number m (Chan, Golub and LeVeque, 1979):
 *
 *     reduce((x - m)^2)  ->  reduce(segment_deviations(x)) + reduce(n(t) (m(t) - m)^2)
 *
 * Each replica's own sums (segment_reduce) are made of those of its tiles in the same way, where all replicas have as many rows.
 *
 * How many tiles there are depends on sizes alone, so the bits do too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/convolution.h"
#include "op/segment.h"
#include "pass/pass.h"

enum { PIECE_BYTES = 512 << 10, MOST_PIECES = 16, IMAGE = 1024 /* elements of a row */, MOST_SUMS = 1024 };

/* ---- how many ---- */

static int64_t row_elements(const dt_type *t)
{
    return t->rank > 0 && t->dim[0] < 0 ? dt_type_elements(t) : 0; /* with B = 1 */
}

int dt_tiles_below(double x)
{
    int units = 1;
    while (units * 2 <= x && units < MOST_PIECES)
        units *= 2;
    return units;
}

/* Rows of a matrix product that one example makes: the steps of a sequence are rows, too. */
static int64_t product_rows(const dt_graph *g, const dt_node *n)
{
    const dt_type *in = n->n_in > 0 ? &g->node[n->in[0]].type : NULL;
    const dt_dot_attr *a = dt_dot_of(n);
    int64_t rows = 1;

    if (!a || !dt_type_has_batch(&n->type) || !dt_type_has_batch(in))
        return 1;
    for (int d = 0; d < in->rank - a->n_contract && a->n_batch == 0; d++)
        rows *= n->type.dim[d] < 0 ? -n->type.dim[d] : n->type.dim[d];
    return rows;
}

static int64_t most_product_rows(const dt_graph *g)
{
    int64_t most = 1;
    for (int i = 0; i < g->n_nodes; i++) {
        int64_t rows = product_rows(g, &g->node[i]);
        most = rows > most ? rows : most;
    }
    return most;
}

/*
 * 64 rows in 2, 512 in 4, 1,024 in 8, 4,096 in 16. A product rearranges all of the weights for each piece, so a piece has at least 128 rows
 * (with 64, a 784 x 1024 layer takes 3 to 4 % longer on one core), save where that would leave a second core without one.
 */
static int units_for_rows(int64_t rows)
{
    int units = dt_tiles_below(fmin(sqrt((double)rows / 16), (double)rows / 128));
    return units == 1 && rows >= 64 ? 2 : units;
}

/* All that has rows is cut alike. A piece has at least one example. */
int dt_row_units(const dt_graph *g, int64_t batch)
{
    int units = units_for_rows(batch * most_product_rows(g));
    while (units > 1 && units > batch)
        units /= 2;
    return units;
}

bool dt_is_image(const dt_node *n)
{
    return !dt_dot_of(n) && row_elements(&n->type) >= IMAGE;
}

static int64_t largest_row(const dt_graph *g)
{
    int64_t most = 0;
    bool convolves = false;
    for (int i = 0; i < g->n_nodes; i++) {
        int64_t n = row_elements(&g->node[i].type);
        convolves |= dt_convolution_of(&g->node[i]) && n > 0;
        most = n > most ? n : most;
    }
    return convolves ? most : 0;
}

/* Not more than rows. */
int dt_image_units(const dt_graph *g, int64_t rows)
{
    double bytes = (double)largest_row(g) * (double)rows * sizeof(float);
    int units = dt_tiles_below(fmin(bytes / PIECE_BYTES, (double)rows)), others = dt_row_units(g, rows);
    return units > others ? units : others;
}

/* ---- sums ---- */

typedef struct tiling {
    int units;    /* tiles */
    int replicas; /* that have as many rows each; 0: they may have any */
} tiling;

static bool is_image_sum(const dt_graph *g, const dt_node *n)
{
    const dt_reduce_attr *a = dt_reduce_of(n);
    return a && n->type.dtype == DT_FLOAT32 && a->kind == DT_REDUCE_SUM && (a->dims & 1) && dt_is_image(&g->node[n->in[0]]) &&
           dt_type_elements(&n->type) <= MOST_SUMS;
}

/* The parts of large kernels would be more to read than images are. */
static bool is_kernel_gradient(const dt_graph *g, const dt_node *n)
{
    const dt_convolution_attr *a = dt_convolution_of(n);
    if (!a || n->type.dtype != DT_FLOAT32 || a->lhs_feature != 0 || a->rhs_in != 0)
        return false;
    const dt_node *lhs = &g->node[n->in[0]], *rhs = &g->node[n->in[1]];
    return dt_is_image(lhs) && dt_is_image(rhs) && dt_type_elements(&n->type) <= 4 * row_elements(&lhs->type) + 4 * row_elements(&rhs->type);
}

/* Of each replica's rows, whose borders are borders of tiles. */
static bool is_replica_sum(const dt_graph *g, const dt_node *n, const tiling *t)
{
    if (n->op->role != DT_ROLE_REDUCE || dt_cut_of(n) != DT_CUT_REPLICAS)
        return false;
    const dt_segment_attr *a = n->attr;
    return t->replicas > 0 && a->count == t->replicas && t->units % t->replicas == 0 && n->type.dtype == DT_FLOAT32 &&
           a->reduce.kind == DT_REDUCE_SUM && dt_is_image(&g->node[n->in[0]]) && dt_type_elements(&n->type) / a->count <= MOST_SUMS;
}

/* (tiles, ...) -> (replicas, tiles of each, ...) -> (replicas, ...) */
static dt_value emit_replica_sums(dt_trace *trace, const dt_node *n, const dt_value *in, const tiling *t)
{
    dt_segment_attr a = *(const dt_segment_attr *)n->attr;
    a.cut = DT_CUT_TILES;
    a.count = t->units;
    const dt_value parts = dt_emit(trace, &dt_op_segment_reduce, in, 1, &a);
    int64_t dim[DT_MAX_RANK + 1] = { t->replicas, t->units / t->replicas };
    memcpy(dim + 2, n->type.dim + 1, (size_t)(n->type.rank - 1) * sizeof *dim);
    return dt_reduce(dt_reshape(parts, n->type.rank + 1, dim), DT_REDUCE_SUM, 2u);
}

static dt_value emit_parts(dt_trace *t, const dt_node *n, const dt_value *in, int units)
{
    dt_value parts = n->op->segment(&(dt_fold_call){ .trace = t, .node = n, .in = in, .segments = units, .cut = DT_CUT_TILES });
    return dt_reduce(parts, DT_REDUCE_SUM, 1u);
}

/* ---- variances ---- */

static const dt_node *input(const dt_graph *g, const dt_node *n, int k)
{
    return &g->node[n->in[k]];
}

/* The node x - m of a sum of (x - m) (x - m), m being the same for all that is summed; -1: the sum is another one. */
static int difference_in(const dt_graph *g, const dt_node *sum)
{
    const dt_node *square = input(g, sum, 0), *difference = square->n_in > 0 ? input(g, square, 0) : square;
    if (square->op != &dt_op_multiply || square->in[0] != square->in[1] || difference->op != &dt_op_subtract)
        return -1;
    const dt_node *m = input(g, difference, 1);
    const dt_broadcast_attr *to = m->attr;
    if (m->op->role != DT_ROLE_REPEAT || !dt_type_equal(&input(g, m, 0)->type, &sum->type))
        return -1;
    for (int d = 0, kept = 0; d < difference->type.rank; d++)
        if (!(dt_reduce_of(sum)->dims >> d & 1) && to->dims[kept++] != d)
            return -1;
    return square->in[0];
}

/* in: (x, m) */
static dt_value emit_deviations(dt_trace *t, const dt_node *sum, const dt_value *in, int units)
{
    dt_segment_attr a = dt_segment_attr_of(&(dt_fold_call){ .segments = units, .cut = DT_CUT_TILES });
    const dt_value rows = dt_emit(t, &dt_op_segment_sizes, NULL, 0, &a);
    a.reduce = *dt_reduce_of(sum);
    const dt_value own = dt_emit(t, &dt_op_segment_deviations, in, 1, &a), sums = dt_emit(t, &dt_op_segment_reduce, in, 1, &a);
    const dt_type *parts = &dt_node_of(own)->type, *x = &dt_node_of(in[0])->type;
    double each = (double)-x->dim[0]; /* what an example adds to one sum */

    for (int d = 1; d < x->rank; d++)
        each *= a.reduce.dims >> d & 1 ? (double)x->dim[d] : 1;
    const dt_value floats = dt_convert(rows, DT_FLOAT32), n = dt_broadcast_in_dim(dt_multiply(floats, dt_like(floats, each)), parts, (int8_t[DT_MAX_RANK]){ 0 });
    const dt_value m = dt_broadcast_to(in[1], parts), between = dt_subtract(dt_divide(sums, n), m);
    return dt_add(dt_reduce(own, DT_REDUCE_SUM, 1u), dt_reduce(dt_multiply(n, dt_multiply(between, between)), DT_REDUCE_SUM, 1u));
}

static bool any_sums(const dt_graph *g, const tiling *t)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (is_image_sum(g, &g->node[i]) || is_kernel_gradient(g, &g->node[i]) || is_replica_sum(g, &g->node[i], t))
            return true;
    return false;
}

static dt_value add_by_pieces(const dt_rewrite_call *c)
{
    const tiling *t = c->user;
    const dt_node *n = &c->graph->node[c->node];
    bool is_sum = is_image_sum(c->graph, n) || is_kernel_gradient(c->graph, n);
    const int difference = is_sum && dt_reduce_of(n) ? difference_in(c->graph, n) : -1;
    if (difference >= 0) {
        const dt_node *d = &c->graph->node[difference];
        return emit_deviations(c->trace, n, (dt_value[]){ c->map[d->in[0]], c->map[input(c->graph, d, 1)->in[0]] }, t->units);
    }
    if (is_replica_sum(c->graph, n, t))
        return emit_replica_sums(c->trace, n, c->in, t);
    return is_sum ? emit_parts(c->trace, n, c->in, t->units) : dt_emit_like(c->trace, c->graph, c->node, c->in);
}

dt_status *dt_tile_batch(const dt_graph *g, int64_t rows, int replicas, dt_graph **out)
{
    tiling t = { .units = largest_row(g) > 0 && g->batch_parts == 1 ? dt_image_units(g, rows) : 1, .replicas = replicas };
    *out = NULL;
    return t.units > 1 && any_sums(g, &t) ? dt_rewrite(g, add_by_pieces, &t, out) : NULL;
}
