/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_sum and tree_part over a segment op that no other node reads. In the fast forms, the partial
 * results of the shards are never stored all at once: the task of a piece computes them one after
 * the other and adds them by the tree of exec/sums.h, with shards as blocks.
 *
 * These forms are fast: a product contracted over the batch (weight gradients), a sum of rows or of
 * their pixels (bias gradients), and a sum of all elements (losses). All other forms are computed
 * by the ops' eval, in one task. If possible, a library or our own loops compute the partial
 * results of the gradient of a convolution's kernel in that task.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/convolution.h"
#include "exec/sums.h"
#include "op/cells.h"
#include "op/convolution.h"
#include "op/segment.h"
#include "op/workers.h"

typedef enum form { FORM_EVAL, FORM_PRODUCT, FORM_ROWS, FORM_TOTAL } form;

typedef struct tree {
    form form;
    /* index of the segment op's node. The tree computes that node's sums over segments itself */
    int inner;
    int shards; /* number of shards of this worker's batch, which are added */
    int units;  /* number of pieces in which the result is computed */
    /* [nodes] the sums to compute, as nodes of the tree over all shards of the batch: for tree_sum
     * only the root; for tree_part the largest subtrees whose shards this worker has */
    dt_tree_node node[DT_TREE_NODES];
    int nodes;
    dt_shard_range range; /* the shards of the batch that this worker has */
    /* number of elements of one tree node's sum for each index of the result's dimension 0; 1 for
     * sums that are scalars */
    int64_t columns;
    /* for inputs whose dimension 0 is k * B: k, the number of rows for each example */
    int64_t k_scale;
    /* for FORM_ROWS: the rows to add for each index of the input's dimension 0, such as the pixels
     * of an image; else 1 */
    int64_t inner_rows;
    dt_product *product; /* [units][2] products for shards of size[0] and of size[1] examples */
    int64_t size[2];
    int64_t m, n; /* rows and columns of the result, in all pieces together */
    /* bytes of the largest piece of a tree node's sum, rounded up to a multiple of 64 */
    size_t piece_bytes;
    /* a library or our own loops compute the gradient of a convolution's kernel; false: eval
     * does */
    bool by_library;
    /* plans of sums over the images of a shard, for shards of size[0] and of size[1] examples */
    dt_conv_sum conv[2];
    /* bytes of the partial results; the library's scratch memory follows them */
    size_t stack_bytes;
} tree;

/* ---- the form of a sum ---- */

/* Returns the number of summed dimensions if these are the first ones but not all, as for a bias
 * (batch and pixels), and none is 0; else 0. */
static int leading_dims(const dt_reduce_attr *a, const dt_type *in) {
    int n = 0;
    while (n < in->rank && a->dims & 1u << n && in->dim[n]) n++;
    return n < in->rank && a->dims == (1u << n) - 1 ? n : 0;
}

static form form_of(const dt_graph *g, int inner) {
    const dt_node *n = &g->node[inner];
    const dt_segment_attr *a = n->attr;
    const dt_type *in = &g->node[n->in[0]].type;

    if (n->type.dtype != DT_FLOAT32 || a->cut != DT_CUT_SHARDS) return FORM_EVAL;
    if (n->op == &dt_op_segment_dot_general && in->rank == 2 && g->node[n->in[1]].type.rank == 2 &&
        a->dot.n_contract == 1 && a->dot.n_batch == 0 && in->dtype == DT_FLOAT32 &&
        g->node[n->in[1]].type.dtype == DT_FLOAT32)
        return FORM_PRODUCT;
    if (n->op->role == DT_ROLE_REDUCE && a->reduce.kind == DT_REDUCE_SUM &&
        leading_dims(&a->reduce, in))
        return FORM_ROWS;
    if (n->op->role == DT_ROLE_REDUCE && a->reduce.kind == DT_REDUCE_SUM &&
        a->reduce.dims == (1u << in->rank) - 1)
        return FORM_TOTAL;
    return FORM_EVAL;
}

/* Whether only this tree reads the segment op, which the partition requires for absorbing it. */
static bool is_absorbed(const dt_graph *g, int inner) {
    int uses = 0;

    for (int i = inner + 1; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) uses += g->node[i].in[k] == inner;
    for (int i = 0; i < g->n_results; i++) uses += g->result[i].node == inner;
    for (int i = 0; i < g->n_states; i++) uses += g->state[i].update == inner;
    return uses == 1 && g->node[inner].n_in > 0;
}

static bool fits_fast(const dt_graph *g, int node) {
    int inner = g->node[node].in[0];
    return dt_cut_of(&g->node[inner]) >= 0 && is_absorbed(g, inner) &&
           form_of(g, inner) != FORM_EVAL;
}

static bool fits_any(const dt_graph *g, int node) { return is_absorbed(g, g->node[node].in[0]); }

/* ---- preparing ---- */

static void release(void *state) {
    tree *t = state;

    for (int i = 0; t && t->product && i < 2 * t->units; i++) dt_product_release(&t->product[i]);
    for (int i = 0; t && i < 2; i++) dt_conv_sum_release(&t->conv[i]);
}

/* Sets t->shards, t->k_scale and t->size. The two sizes are the numbers of examples in the larger
 * and in the smaller shards if the batch is divided as evenly as possible. */
static void find_sizes(const dt_exec *x, const dt_node *inner, tree *t) {
    t->shards = ((const dt_segment_attr *)inner->attr)->count;
    t->k_scale = -x->g->node[inner->in[0]].type.dim[0];
    t->size[0] = (x->p->batch + t->shards - 1) / t->shards;
    t->size[1] = x->p->batch / t->shards;
}

static void plan_convolution(dt_exec *x, dt_step *step, tree *t) {
    const dt_node *inner = &x->g->node[t->inner];
    const dt_conv_calls *calls = x->engine->gemm.conv;
    const dt_segment_attr *a = inner->attr;
    bool ok = calls && inner->op == &dt_op_segment_convolution && a->cut == DT_CUT_SHARDS &&
              inner->type.dtype == DT_FLOAT32;

    t->stack_bytes = step->scratch = ((size_t)dt_type_bytes(&x->type[t->inner]) + 63) & ~(size_t)63;
    if (!ok) return;
    find_sizes(x, inner, t);
    for (int i = 0; i < 2 && ok; i++) {
        dt_conv c;
        ok = dt_conv_read(x, t->inner, t->size[i] * t->k_scale, &c) && c.kind == DT_CONV_WEIGHTS &&
             dt_conv_sum_plan(x, &c, &t->conv[i]);
        step->scratch = ok && t->stack_bytes + t->conv[i].scratch > step->scratch
                            ? t->stack_bytes + t->conv[i].scratch
                            : step->scratch;
    }
    t->by_library = ok;
}

static dt_status *plan_products(dt_exec *x, dt_step *step, tree *t) {
    const dt_node *inner = &x->g->node[t->inner];

    t->m = x->type[inner->in[0]].dim[1];
    t->n = x->type[inner->in[1]].dim[1];
    t->product = dt_arena_array(x->arena, dt_product, 2 * t->units);
    for (int u = 0; u < t->units; u++)
        for (int which = 0; which < 2; which++) {
            int64_t lo, hi;
            dt_piece_rows(x->p, step->node, u, &lo, &hi);
            dt_gemm g = {.m = hi - lo,
                         .n = t->n,
                         .k = t->size[which] * t->k_scale,
                         .trans_a = true,
                         .lda = t->m,
                         .ldb = t->n,
                         .ldc = t->n};
            dt_product *product = &t->product[2 * u + which];
            DT_TRY(dt_product_plan(x->engine, &g, product));
            const size_t scratch = t->stack_bytes + product->scratch;
            step->scratch = scratch > step->scratch ? scratch : step->scratch;
        }
    return NULL;
}

static int64_t largest_piece(const dt_exec *x, int node) {
    int64_t most = 0, lo, hi;

    for (int u = 0; u < x->p->piece[node].units; u++) {
        dt_piece_rows(x->p, node, u, &lo, &hi);
        most = hi - lo > most ? hi - lo : most;
    }
    return most;
}

/* Returns tree.columns: the elements of one tree node's sum for each index of the result's
 * dimension 0. If sums are scalars, dimension 0 counts the tree nodes, and it is 1. */
static int64_t columns_of_node(const dt_exec *x, int node, int nodes) {
    return x->type[x->g->node[node].in[0]].rank > 1 ? dt_row_elements(x, node) / nodes : 1;
}

static dt_status *prepare(dt_exec *x, dt_step *step) {
    tree *t = dt_arena_new(x->arena, tree);
    const dt_node *inner;

    step->state = t;
    t->inner = x->g->node[step->node].in[0];
    inner = &x->g->node[t->inner];
    t->form = fits_fast(x->g, step->node) ? form_of(x->g, t->inner) : FORM_EVAL;
    if (t->form == FORM_EVAL) {
        plan_convolution(x, step, t);
        return NULL;
    }
    find_sizes(x, inner, t);
    t->units = x->p->piece[step->node].units;
    t->range = (dt_shard_range){.shards = t->shards, .count = t->shards};
    if (dt_shard_range_of(&x->g->node[step->node]))
        t->range = *dt_shard_range_of(&x->g->node[step->node]);
    t->nodes = dt_tree_nodes(&t->range, t->node);
    t->columns = columns_of_node(x, step->node, t->nodes);
    t->inner_rows = 1;
    for (int d = 1;
         t->form == FORM_ROWS &&
         d < leading_dims(&((const dt_segment_attr *)inner->attr)->reduce, &x->type[inner->in[0]]);
         d++)
        t->inner_rows *= x->type[inner->in[0]].dim[d];
    t->piece_bytes =
        ((size_t)(largest_piece(x, step->node) * t->columns) * sizeof(float) + 63) & ~(size_t)63;
    t->stack_bytes = step->scratch = t->piece_bytes * (size_t)dt_sum_levels(t->shards);
    return t->form == FORM_PRODUCT ? plan_products(x, step, t) : NULL;
}

/* ---- running ---- */

/* Computes rows c->lo .. c->hi - 1 of a' b into `to` with simple loops, for a shard of a size that
 * no product was planned for. a (rows, m) and b (rows, n) are the shard's rows. */
static void multiply_plainly(const dt_kernel_call *c, const tree *t, const float *a, const float *b,
                             int64_t rows, float *to) {
    for (int64_t i = c->lo; i < c->hi; i++)
        for (int64_t j = 0; j < t->n; j++) {
            double sum = 0;
            for (int64_t r = 0; r < rows; r++)
                sum += (double)a[r * t->m + i] * (double)b[r * t->n + j];
            *to++ = (float)sum;
        }
}

/* Computes the sum over one shard into `to`. */
static void partial(const dt_kernel_call *c, const tree *t, int shard, float *to) {
    const dt_exec *x = c->x;
    const dt_node *inner = &x->g->node[t->inner];
    int64_t from = x->env->shards[shard] * t->k_scale,
            rows = x->env->shards[shard + 1] * t->k_scale - from;
    int64_t width = t->form == FORM_PRODUCT ? t->m : dt_row_elements(x, inner->in[0]);
    const float *a = dt_floats(x, inner->in[0]) + from * width;
    int64_t n = (c->hi - c->lo) * t->columns;

    if (t->form == FORM_TOTAL) {
        *to = x->engine->simd->sum(a, rows * width);
    } else if (t->form == FORM_ROWS) {
        const dt_sum_source s = {.at = a + c->lo * t->columns,
                                 .load = DT_S_COPY,
                                 .rows = rows * t->inner_rows,
                                 .n = n,
                                 .stride = width / t->inner_rows};
        dt_sum_rows(x->engine->simd, &s, to);
    } else {
        const float *b = dt_floats(x, inner->in[1]) + from * t->n;
        int which = rows == t->size[0] * t->k_scale ? 0 : 1;
        if (rows == t->size[which] * t->k_scale)
            dt_product_run(&t->product[2 * c->unit + which], a + c->lo, b, to,
                           c->scratch + t->stack_bytes);
        else multiply_plainly(c, t, a, b, rows, to);
    }
}

/* Computes the gradient of a convolution's kernel for each shard of the batch. */
static void convolve(const dt_kernel_call *c, const tree *t, const dt_view in[2],
                     const dt_view *stack) {
    const int32_t *shards = c->x->env->shards;
    const dt_convolution_attr *a = dt_convolution_attr_of(&c->x->g->node[t->inner]);

    for (int s = 0; s < t->shards; s++) {
        const int64_t rows = (shards[s + 1] - shards[s]) * t->k_scale;
        const dt_view lhs = dt_view_rows(&in[0], shards[s] * t->k_scale, rows),
                      rhs = dt_view_rows(&in[1], shards[s] * t->k_scale, rows);
        const int which = rows == t->size[0] * t->k_scale ? 0 : 1;
        dt_view y = dt_view_entry(stack, s);
        if (rows > 0 && rows == t->size[which] * t->k_scale)
            dt_conv_sum_run(&t->conv[which], lhs.data, rhs.data, y.data,
                            c->scratch + t->stack_bytes);
        else dt_convolution_eval(a, &lhs, &rhs, &y);
    }
}

static void run_eval(const dt_kernel_call *c, const tree *t) {
    const dt_exec *x = c->x;
    const dt_node *inner = &x->g->node[t->inner], *n = &x->g->node[c->step->node];
    dt_view in[DT_MAX_IN], middle = {.type = x->type[t->inner], .data = c->scratch};
    dt_node concrete = *inner, last = *n;

    for (int k = 0; k < inner->n_in; k++)
        in[k] = (dt_view){.type = x->type[inner->in[k]], .data = x->at[inner->in[k]]};
    concrete.type = middle.type;
    last.type = x->type[c->step->node];
    if (t->by_library) convolve(c, t, in, &middle);
    else inner->op->eval(&(dt_call){.node = &concrete, .env = x->env, .in = in, .out = middle});
    n->op->eval(&(dt_call){.node = &last,
                           .env = x->env,
                           .in = &middle,
                           .out = {.type = last.type, .data = x->at[c->step->node]}});
}

/* Computes tree node k, the sum of a range of this worker's shards, in c->scratch, and copies it to
 * the result. n: its number of elements in this piece. */
static void run_node(const dt_kernel_call *c, const tree *t, int k, int64_t n) {
    const int64_t stride = (int64_t)(t->piece_bytes / sizeof(float));
    dt_sum_tree sums = {.level = (float *)c->scratch,
                        .stride = stride,
                        .n = n,
                        .add = c->x->engine->simd->strip[DT_S_add]};
    int32_t from, end;

    dt_tree_leaves(t->range.shards, t->node[k], &from, &end);
    for (int s = from - t->range.first; s < end - t->range.first; s++) {
        partial(c, t, s, dt_sum_next(&sums));
        dt_sum_push(&sums);
    }
    dt_sum_end(&sums);
    float *to = dt_floats(c->x, c->step->node) + c->lo * t->columns * t->nodes + k * t->columns;
    for (int64_t row = 0; row * t->columns < n; row++)
        memcpy(to + row * t->columns * t->nodes, sums.level + row * t->columns,
               (size_t)t->columns * sizeof *to);
}

static void run(const dt_kernel_call *c) {
    const tree *t = c->step->state;
    int64_t n = t->form == FORM_TOTAL ? 1 : (c->hi - c->lo) * t->columns;

    if (t->form == FORM_EVAL) run_eval(c, t);
    for (int k = 0; t->form != FORM_EVAL && n > 0 && k < t->nodes; k++) run_node(c, t, k, n);
}

const dt_kernel dt_kernel_tree = {
    .name = "tree",
    .op = &dt_op_tree_sum,
    .splits = true,
    .fits = fits_fast,
    .prepare = prepare,
    .run = run,
    .release = release,
};
const dt_kernel dt_kernel_tree_by_eval = {
    .name = "tree_by_eval",
    .op = &dt_op_tree_sum,
    .fits = fits_any,
    .prepare = prepare,
    .run = run,
    .release = release,
};
const dt_kernel dt_kernel_tree_part = {
    .name = "tree_part",
    .op = &dt_op_tree_part,
    .splits = true,
    .fits = fits_fast,
    .prepare = prepare,
    .run = run,
    .release = release,
};
const dt_kernel dt_kernel_tree_part_by_eval = {
    .name = "tree_part_by_eval",
    .op = &dt_op_tree_part,
    .fits = fits_any,
    .prepare = prepare,
    .run = run,
    .release = release,
};
