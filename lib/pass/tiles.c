/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small tiles of a batch, for graphs of images. An image has tens of kilobytes, so a tile with the
 * usual number of rows of a batch (dt_row_units) is much larger than a core's cache. With smaller
 * tiles the output of a convolution is still in the cache when batch normalization and the next
 * convolution read it:
 *
 *     coarse   conv  conv  conv ... | relu relu relu ...          each value to memory and back
 *     fine     conv relu conv | conv relu conv | ...
 *
 * Sums over the batch of such values become a sum for each tile, computed with the tile, and a sum
 * of these:
 *
 *     reduce(x)  ->  reduce(segment_reduce(x))        (B, h, w, c) -> (tiles, c) -> (c)
 *
 * and so do kernels' gradients. A variance needs the mean first. To avoid waiting for it, each tile
 * adds the squares of the differences from its own mean m(t). The rest follows from the tiles'
 * sums, for any number m; n(t) is the number of elements of tile t (Chan, Golub and LeVeque, 1979):
 *
 *     reduce((x - m)^2)  ->  reduce(segment_deviations(x)) + reduce(n(t) (m(t) - m)^2)
 *
 * Sums of each replica (segment_reduce) are computed from the sums of its tiles in the same way, if
 * all replicas have equally many rows and tiles.
 *
 * The number of tiles depends on sizes alone, and so do the bits of results.
 */
#include <math.h>
#include <string.h>

#include "op/convolution.h"
#include "op/segment.h"
#include "pass/pass.h"

enum {
    PIECE_BYTES = 512 << 10,
    MOST_PIECES = 16,
    IMAGE = 1024 /* an example with at least this many elements is an image */,
    MOST_SUMS = 1024
};

/* ---- the number of pieces ---- */

static int64_t row_elements(const dt_type *t) {
    /* returns the elements of one example; 0 for a value without rows */
    return t->rank > 0 && t->dim[0] < 0 ? dt_type_elements(t) : 0;
}

int dt_tiles_below(double x) {
    int units = 1;
    while (units * 2 <= x && units < MOST_PIECES) units *= 2;
    return units;
}

/* Returns the rows of a matrix product that belong to one example. The steps of a sequence are
 * rows, too. Returns 1 for another node, and for a product without rows or with batch
 * dimensions. */
static int64_t product_rows(const dt_graph *g, const dt_node *n) {
    const dt_type *in = n->n_in > 0 ? &g->node[n->in[0]].type : NULL;
    const dt_dot_attr *a = dt_dot_of(n);
    int64_t rows = 1;

    if (!a || !dt_type_has_batch(&n->type) || !dt_type_has_batch(in)) return 1;
    for (int d = 0; d < in->rank - a->n_contract && a->n_batch == 0; d++)
        rows *= n->type.dim[d] < 0 ? -n->type.dim[d] : n->type.dim[d];
    return rows;
}

static int64_t most_product_rows(const dt_graph *g) {
    int64_t most = 1;
    for (int i = 0; i < g->n_nodes; i++) {
        int64_t rows = product_rows(g, &g->node[i]);
        most = rows > most ? rows : most;
    }
    return most;
}

/* Returns the number of multiplications of a product for one example; 0 for another node, and for a
 * product without rows or with batch dimensions. */
static double product_work(const dt_graph *g, const dt_node *n) {
    const dt_dot_attr *a = dt_dot_of(n);
    /* `work` starts as the number of elements that one example has in the result */
    double work = (double)dt_type_elements(&n->type);
    for (int d = 0; a && d < a->n_contract; d++)
        work *= (double)g->node[n->in[0]].type.dim[a->lhs_contract[d]];
    return a && a->n_batch == 0 && dt_type_has_batch(&n->type) ? work : 0;
}

/*
 * Returns the rows per example of the products that have the fewest rows and together do a quarter
 * of the work. In a recurrent layer these are the products of one step, one row each, although the
 * product with the input has a row for every step.
 */
static int64_t fewest_product_rows(const dt_graph *g) {
    /* work of products, summed by the base-2 logarithm of their rows */
    double work[64] = {0}, all = 0;
    int64_t rows[64] = {0};
    int k = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        const int64_t r = product_rows(g, &g->node[i]);
        const double w = product_work(g, &g->node[i]);
        const int at = r > 0 ? ilogb((double)r) : 0;
        work[at] += w;
        all += w;
        rows[at] = r > rows[at] ? r : rows[at];
    }
    for (double sum = work[0]; k < 63 && (rows[k] == 0 || sum * 4 < all); sum += work[++k])
        continue;
    return rows[k];
}

/*
 * Returns the number of pieces for so many rows: 64 rows in 2, 512 in 4, 1,024 in 8, 4,096 in 16. A
 * product rearranges all of the weights for each piece, so a piece has at least 128 rows (with 64,
 * a 784 x 1024 layer takes 3 to 4 % longer on one core), unless a second core would then have no
 * work.
 */
static int units_for_rows(int64_t rows) {
    int units = dt_tiles_below(fmin(sqrt((double)rows / 16), (double)rows / 128));
    return units == 1 && rows >= 64 ? 2 : units;
}

/* A piece has at least one example. More than 2 pieces are made only if each has at least 32 rows
 * of the products with the fewest rows, those of a recurrent layer's step. */
int dt_row_units(const dt_graph *g, int64_t batch) {
    int units = units_for_rows(batch * most_product_rows(g));
    const int64_t few = batch * fewest_product_rows(g);
    while (units > 2 && units * 32 > few) units /= 2;
    while (units > 1 && units > batch) units /= 2;
    return units;
}

static int64_t largest_row(const dt_graph *g) {
    int64_t most = 0;
    bool convolves = false;
    for (int i = 0; i < g->n_nodes; i++) {
        int64_t n = row_elements(&g->node[i].type);
        convolves |= dt_convolution_of(&g->node[i]) && n > 0;
        most = n > most ? n : most;
    }
    return convolves ? most : 0;
}

/* The number of time steps is the largest number of rows that one example has in a matrix product.
 * Time steps are divided only if the graph has no convolution of values with rows, and if the
 * products with fewer rows per example do less than a quarter of the work of all products. */
int dt_time_units(const dt_graph *g, int64_t batch, int64_t *steps) {
    const int units = units_for_rows(batch * most_product_rows(g));
    *steps = most_product_rows(g);
    return *steps > 1 && units > 1 && batch < units && fewest_product_rows(g) >= *steps &&
                   largest_row(g) == 0
               ? units
               : 0;
}

bool dt_is_image(const dt_node *n) { return !dt_dot_of(n) && row_elements(&n->type) >= IMAGE; }

int dt_image_units(const dt_graph *g, int64_t rows) {
    double bytes = (double)largest_row(g) * (double)rows * sizeof(float);
    int units = dt_tiles_below(fmin(bytes / PIECE_BYTES, (double)rows)),
        others = dt_row_units(g, rows);
    return units > others ? units : others;
}

/* ---- sums ---- */

typedef struct tiling {
    int units; /* number of tiles of the batch */
    /* number of replicas if all have the same number of rows; 0: rows may differ */
    int replicas;
} tiling;

static bool is_image_sum(const dt_graph *g, const dt_node *n) {
    const dt_reduce_attr *a = dt_reduce_of(n);
    return a && n->type.dtype == DT_FLOAT32 && a->kind == DT_REDUCE_SUM && (a->dims & 1) &&
           dt_is_image(&g->node[n->in[0]]) && dt_type_elements(&n->type) <= MOST_SUMS;
}

/* Whether the node is the gradient of a kernel that is computed for each tile: in float32, from two
 * images, and with at most 4 elements for each element of an example of both. For a larger kernel,
 * reading the tiles' gradients again would cost more than reading the images. */
static bool is_kernel_gradient(const dt_graph *g, const dt_node *n) {
    const dt_convolution_attr *a = dt_convolution_of(n);
    if (!a || n->type.dtype != DT_FLOAT32 || a->lhs_feature != 0 || a->rhs_in != 0) return false;
    const dt_node *lhs = &g->node[n->in[0]], *rhs = &g->node[n->in[1]];
    return dt_is_image(lhs) && dt_is_image(rhs) &&
           dt_type_elements(&n->type) <=
               4 * row_elements(&lhs->type) + 4 * row_elements(&rhs->type);
}

/* Whether the node sums the rows of each replica, in float32, over images, into at most MOST_SUMS
 * numbers for each replica, and each border of a replica is also the border of a tile. */
static bool is_replica_sum(const dt_graph *g, const dt_node *n, const tiling *t) {
    if (n->op->role != DT_ROLE_REDUCE || dt_cut_of(n) != DT_CUT_REPLICAS) return false;
    const dt_segment_attr *a = n->attr;
    return t->replicas > 0 && a->count == t->replicas && t->units % t->replicas == 0 &&
           n->type.dtype == DT_FLOAT32 && a->reduce.kind == DT_REDUCE_SUM &&
           dt_is_image(&g->node[n->in[0]]) && dt_type_elements(&n->type) / a->count <= MOST_SUMS;
}

/* Adds the results of all tiles, (tiles, ...) -> (...), or of each replica's tiles, (tiles, ...) ->
 * (replicas, ...). */
static dt_value sum_of_parts(dt_value parts, bool of_replicas, const tiling *t) {
    const dt_type *type = &dt_node_of(parts)->type;
    int64_t dim[DT_MAX_RANK + 1] = {t->replicas, of_replicas ? t->units / t->replicas : 0};

    if (!of_replicas) return dt_reduce(parts, DT_REDUCE_SUM, 1u);
    memcpy(dim + 2, type->dim + 1, (size_t)(type->rank - 1) * sizeof *dim);
    return dt_reduce(dt_reshape(parts, type->rank + 1, dim), DT_REDUCE_SUM, 2u);
}

static dt_value emit_replica_sums(dt_trace *trace, const dt_node *n, const dt_value *in,
                                  const tiling *t) {
    dt_segment_attr a = *(const dt_segment_attr *)n->attr;
    a.cut = DT_CUT_TILES;
    a.count = t->units;
    return sum_of_parts(dt_emit(trace, &dt_op_segment_reduce, in, 1, &a), true, t);
}

static dt_value emit_parts(dt_trace *t, const dt_node *n, const dt_value *in, int units) {
    dt_value parts = n->op->segment(
        &(dt_fold_call){.trace = t, .node = n, .in = in, .segments = units, .cut = DT_CUT_TILES});
    return dt_reduce(parts, DT_REDUCE_SUM, 1u);
}

/* ---- variances, and the pass ---- */

static const dt_node *input(const dt_graph *g, const dt_node *n, int k) {
    return &g->node[n->in[k]];
}

static const dt_reduce_attr *reduce_of(const dt_node *n, bool of_replicas) {
    return of_replicas ? &((const dt_segment_attr *)n->attr)->reduce : dt_reduce_of(n);
}

/* Returns the node of the means that `repeat` repeats for all rows: one mean, or each replica's
 * mean for its rows; -1: `repeat` is another kind of node. */
static int mean_in(const dt_graph *g, const dt_node *repeat, const dt_node *sum, bool of_replicas) {
    const dt_broadcast_attr *to = repeat->attr;
    const dt_reduce_attr *a = reduce_of(sum, of_replicas);
    int kept = 0;

    if (repeat->op->role != DT_ROLE_REPEAT || (of_replicas && to->dims[kept++] != 0)) return -1;
    for (int d = 0; d < repeat->type.rank; d++)
        if (!(a->dims >> d & 1) && to->dims[kept++] != d) return -1;
    /* of all segment ops only segment_broadcast has rows as result */
    const dt_node *segments = input(g, repeat, 0);
    if (of_replicas &&
        (dt_cut_of(segments) != DT_CUT_REPLICAS || !dt_type_has_batch(&segments->type)))
        return -1;
    const int mean = of_replicas ? segments->in[0] : repeat->in[0];
    return dt_type_equal(&g->node[mean].type, &sum->type) ? mean : -1;
}

/* x and m of a sum of (x - m)^2, where m is the same for all elements that are added to one number.
 * x is -1 for another sum. */
typedef struct squares {
    int x, m;
} squares;

static squares squares_in(const dt_graph *g, const dt_node *sum, bool of_replicas) {
    const dt_node *square = input(g, sum, 0),
                  *difference = square->n_in > 0 ? input(g, square, 0) : square;
    if (square->op != &dt_op_multiply || square->in[0] != square->in[1] ||
        difference->op != &dt_op_subtract)
        return (squares){-1, -1};
    const int m = mean_in(g, input(g, difference, 1), sum, of_replicas);
    return (squares){m < 0 ? -1 : difference->in[0], m};
}

/* Repeats the mean m for each tile, so that each tile can subtract it. of_replicas: m has one mean
 * for each replica, and a tile gets that of its replica. parts: the type of the result. */
static dt_value mean_of_parts(dt_value m, const dt_type *parts, bool of_replicas, const tiling *t) {
    if (!of_replicas) return dt_broadcast_to(m, parts);
    int64_t dim[DT_MAX_RANK + 1] = {t->replicas, t->units / t->replicas};
    int8_t dims[DT_MAX_RANK] = {0};
    memcpy(dim + 2, parts->dim + 1, (size_t)(parts->rank - 1) * sizeof *dim);
    for (int d = 1; d < parts->rank; d++) dims[d] = (int8_t)(d + 1);
    const dt_type each = dt_type_of(parts->dtype, parts->rank + 1, dim);
    return dt_reshape(dt_broadcast_in_dim(m, &each, dims), parts->rank, parts->dim);
}

/* Emits a sum of (x - m)^2 from the sums and deviations of tiles, by the formula at the top of this
 * file. in: the values of x and m. */
static dt_value emit_deviations(dt_trace *trace, const dt_node *sum, const dt_value *in,
                                const tiling *t) {
    const bool of_replicas = !dt_reduce_of(sum);
    dt_segment_attr a = dt_segment_attr_of(DT_CUT_TILES, t->units);
    const dt_value rows = dt_emit(trace, &dt_op_segment_sizes, NULL, 0, &a);
    a.reduce = *reduce_of(sum, of_replicas);
    const dt_value own = dt_emit(trace, &dt_op_segment_deviations, in, 1, &a),
                   sums = dt_emit(trace, &dt_op_segment_reduce, in, 1, &a);
    const dt_type *parts = &dt_node_of(own)->type, *x = &dt_node_of(in[0])->type;
    /* number of elements of an example that are added to one sum */
    double each = (double)-x->dim[0];

    for (int d = 1; d < x->rank; d++) each *= a.reduce.dims >> d & 1 ? (double)x->dim[d] : 1;
    const dt_value floats = dt_convert(rows, DT_FLOAT32);
    const dt_value n = dt_broadcast_in_dim(dt_multiply(floats, dt_like(floats, each)), parts,
                                           (int8_t[DT_MAX_RANK]){0});
    const dt_value between =
        dt_subtract(dt_divide(sums, n), mean_of_parts(in[1], parts, of_replicas, t));
    return dt_add(sum_of_parts(own, of_replicas, t),
                  sum_of_parts(dt_multiply(n, dt_multiply(between, between)), of_replicas, t));
}

static bool any_sums(const dt_graph *g, const tiling *t) {
    for (int i = 0; i < g->n_nodes; i++)
        if (is_image_sum(g, &g->node[i]) || is_kernel_gradient(g, &g->node[i]) ||
            is_replica_sum(g, &g->node[i], t))
            return true;
    return false;
}

static dt_value add_by_pieces(const dt_rewrite_call *c) {
    const tiling *t = c->user;
    const dt_node *n = &c->graph->node[c->node];
    const bool of_replicas = is_replica_sum(c->graph, n, t), is_sum = is_image_sum(c->graph, n);
    const squares of =
        is_sum || of_replicas ? squares_in(c->graph, n, of_replicas) : (squares){-1, -1};
    if (of.x >= 0) return emit_deviations(c->trace, n, (dt_value[]){c->map[of.x], c->map[of.m]}, t);
    if (of_replicas) return emit_replica_sums(c->trace, n, c->in, t);
    return is_sum || is_kernel_gradient(c->graph, n)
               ? emit_parts(c->trace, n, c->in, t->units)
               : dt_emit_like(c->trace, c->graph, c->node, c->in);
}

dt_status *dt_tile_batch(const dt_graph *g, int64_t rows, int replicas, dt_graph **out) {
    tiling t = {.units = largest_row(g) > 0 && g->batch_parts == 1 ? dt_image_units(g, rows) : 1,
                .replicas = replicas};
    *out = NULL;
    return t.units > 1 && any_sums(g, &t) ? dt_rewrite(g, add_by_pieces, &t, out) : NULL;
}
