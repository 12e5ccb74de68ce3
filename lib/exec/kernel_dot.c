/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dot_general without batch dimensions, as one matrix product. That is possible if the contracted
 * dimensions of each operand are adjacent, at its front or at its end: all others then flatten to
 * rows and columns. If they are in the middle of the first operand, there is a product for each
 * index of the dimensions before them. Pieces are ranges of the result's first dimension, of its
 * time steps, or of its columns:
 *
 *     (B, k) x (k, n)      rows of A             activations of layers
 *     (B, m)' x (B, n)     columns of A          weight gradients: every piece sums over all rows
 *     (B, k, m)' x (k, n)  products              mixtures of the rows of an image
 */
#include <stdlib.h>

#include "exec/exec_impl.h"
#include "op/shapes.h"

typedef struct side {
    int64_t outer, free,
        /* products of sizes: `contracted` of the contracted dimensions; `outer` of the free
         * dimensions before these, if there are also free ones after them; `free` of the other free
         * dimensions */
        contracted;
    bool front; /* free dimensions follow the contracted ones; for b also if it has no free ones */
} side;

/* Whether the listed dimensions are adjacent and in order. */
static bool together(const int8_t *dims, int n) {
    for (int i = 1; i < n; i++)
        if (dims[i] != dims[0] + i) return false;
    return true;
}

static bool is_inside(const int8_t *dims, int n, int rank) {
    return dims[0] > 0 && dims[0] + n < rank;
}

static void read_side(const dt_type *t, const int8_t *dims, int n, side *s) {
    *s = (side){.outer = 1, .free = 1, .contracted = 1, .front = dims[0] + n < t->rank};
    for (int d = 0; d < t->rank; d++)
        *(d >= dims[0] && d < dims[0] + n ? &s->contracted
          : s->front && d < dims[0]       ? &s->outer
                                          : &s->free) *= t->dim[d];
}

static bool fits(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_dot_attr *a = n->attr;
    return n->type.dtype == DT_FLOAT32 && g->node[n->in[0]].type.dtype == DT_FLOAT32 &&
           g->node[n->in[1]].type.dtype == DT_FLOAT32 && a->n_batch == 0 && a->n_contract > 0 &&
           together(a->lhs_contract, a->n_contract) && together(a->rhs_contract, a->n_contract) &&
           !is_inside(a->rhs_contract, a->n_contract, g->node[n->in[1]].type.rank) &&
           g->node[n->in[0]].type.rank > a->n_contract;
}

typedef struct dot {
    side a, b;
    /* number of rows of the product, or of products, for each index of the result's dimension 0 or,
     * if the node is divided by time, for each time step */
    int64_t step;
    /* the contracted dimensions of A are in its middle, so there are a.outer products */
    bool many;
    bool by_columns;
    int units;
    dt_product *product; /* [units] the product of each piece */
} dot;

static bool is_many(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_dot_attr *a = n->attr;
    return is_inside(a->lhs_contract, a->n_contract, g->node[n->in[0]].type.rank);
}

/* The least rows of a piece for which storing operands in 16 bits saves time, since each piece
 * packs or converts the other matrix again. */
enum { LEAST_ROWS_FOR_LIBRARY = 16, LEAST_ROWS_FOR_TILES = 32 };

/* Decides how operands are stored. If each piece would convert the second operand, which is the
 * same for all rows, that one is stored as float32. Otherwise operands and result stay in 16 bits
 * only if both operands have one 16-bit type, a piece is a single product, and it has enough rows;
 * else all are stored as float32. */
static void narrow(dt_exec *x, int node) {
    const dt_node *n = &x->g->node[node];
    const int a = n->in[0], b = n->in[1];
    const dt_type *t = &x->type[node];
    const dt_dtype in = x->type[a].dtype;
    const dt_node_division *piece = &x->p->piece[node];
    const int64_t rows = t->rank > 1
                             ? dt_type_elements(t) / (t->dim[t->rank - 1] + !t->dim[t->rank - 1]) /
                                   (piece->by == DT_BY_COLUMNS ? 1 : piece->units)
                             : 0;

    const bool by_library = in == DT_BFLOAT16 && dt_engine_multiplies_bf16(x->engine);

    if (in != DT_FLOAT32 && !by_library && !is_many(x->g, node) &&
        !dt_is_batch(&x->g->node[b].type, 0)) {
        dt_store_wide(x, b);
        return;
    }
    if (in != DT_FLOAT32 && in == x->type[b].dtype && !is_many(x->g, node) &&
        rows >= (by_library ? LEAST_ROWS_FOR_LIBRARY : LEAST_ROWS_FOR_TILES))
        return;
    dt_store_wide(x, a);
    dt_store_wide(x, b);
    dt_store_wide(x, node);
}

static dt_gemm product(const dot *d, int64_t rows) {
    return (dt_gemm){.m = d->many ? d->a.free : rows * d->step,
                     .n = d->b.free,
                     .k = d->a.contracted,
                     .trans_a = d->a.front,
                     .trans_b = !d->b.front,
                     .lda = d->a.front ? d->a.free : d->a.contracted,
                     .ldb = d->b.front ? d->b.free : d->b.contracted,
                     .ldc = d->b.free};
}

static void release(void *state) {
    dot *d = state;

    if (!d) return;
    for (int u = 0; u < d->units; u++) dt_product_release(&d->product[u]);
}

static dt_status *prepare(dt_exec *x, dt_step *step) {
    const dt_node *n = &x->g->node[step->node];
    const dt_dot_attr *attr = n->attr;
    dot *d = dt_arena_new(x->arena, dot);

    step->state = d;
    read_side(&x->type[n->in[0]], attr->lhs_contract, attr->n_contract, &d->a);
    read_side(&x->type[n->in[1]], attr->rhs_contract, attr->n_contract, &d->b);
    /* a vector that is contracted completely is both at the front and at the end; as a column it is
     * contracted at the front */
    d->b.front |= x->type[n->in[1]].rank == attr->n_contract;
    d->units = x->p->piece[step->node].units;
    d->product = dt_arena_array(x->arena, dt_product, d->units);
    d->many = is_many(x->g, step->node);
    const int64_t all = x->type[step->node].dim[0] * dt_steps_of(x, step->node);
    d->step = all ? (d->many ? d->a.outer : d->a.free) / all : 0;
    d->by_columns = x->p->piece[step->node].by == DT_BY_COLUMNS;
    for (int u = 0; u < d->units; u++) {
        int64_t lo, hi;
        dt_piece_rows(x->p, step->node, u, &lo, &hi);
        dt_gemm g = product(d, d->by_columns ? all : hi - lo);
        if (d->by_columns) g.n = hi - lo;
        for (int k = 0; k < 2; k++) g.in[k] = dt_gemm_float_of(x->type[n->in[k]].dtype);
        g.out = dt_gemm_float_of(x->type[step->node].dtype);
        g.panels = dt_packed_for(x, n->in[1], d->by_columns ? lo : 0, &g,
                                 d->many ? (hi - lo) * d->step : 1);
        DT_TRY(dt_product_plan(x->engine, &g, &d->product[u]));
        step->scratch =
            d->product[u].scratch > step->scratch ? d->product[u].scratch : step->scratch;
    }
    return NULL;
}

static void run_many(const dt_kernel_call *c) {
    const dot *d = c->step->state;
    const dt_node *n = &c->x->g->node[c->step->node];
    const int64_t in = d->a.contracted * d->a.free, out = d->a.free * d->b.free;

    for (int64_t i = c->lo * d->step; i < c->hi * d->step; i++)
        dt_product_run(&d->product[c->unit], dt_floats(c->x, n->in[0]) + i * in, c->x->at[n->in[1]],
                       dt_floats(c->x, c->step->node) + i * out, c->scratch);
}

static void run(const dt_kernel_call *c) {
    const dot *d = c->step->state;
    if (d->many) {
        run_many(c);
        return;
    }
    const dt_node *n = &c->x->g->node[c->step->node];
    const int64_t row = d->by_columns ? 0 : c->lo * d->step, column = d->by_columns ? c->lo : 0;
    const char *a = c->x->at[n->in[0]], *b = c->x->at[n->in[1]];
    char *to = c->x->at[c->step->node];

    a += row * (d->a.front ? 1 : d->a.contracted) * dt_element_bytes(c->x, n->in[0]);
    b += column * (d->b.front ? 1 : d->b.contracted) * dt_element_bytes(c->x, n->in[1]);
    to += (row * d->b.free + column) * dt_element_bytes(c->x, c->step->node);
    dt_product_run(&d->product[c->unit], a, b, to, c->scratch);
}

const dt_kernel dt_kernel_dot = {
    .name = "dot",
    .op = &dt_op_dot_general,
    .splits = DT_BY_ROWS | DT_BY_TIME | DT_BY_COLUMNS,
    .fits = fits,
    .narrow = narrow,
    .prepare = prepare,
    .run = run,
    .release = release,
};
