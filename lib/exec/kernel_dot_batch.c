/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dot_general with batch dimensions in any position: one matrix product for each of their indices.
 * One use is the heads of attention: (B, T, N, H) by (B, S, N, H) over H is a product for each
 * example and head, with rows that are N * H elements apart.
 *
 * Another use is experts: (B, C, E, D) by (E, D, F) over D is a product for each example and
 * expert, with rows that are E * D apart and results that are E * F apart. Here the examples are
 * another batch dimension, and all examples share the second operand.
 *
 * The kernel fits if the free dimensions of each operand can be joined to one, the contracted ones
 * too, and one of the two is contiguous in memory. Pieces are ranges of the result's first
 * dimension, which is the first batch dimension.
 */
#include <stdlib.h>

#include "exec/exec_impl.h"
#include "op/cells.h"
#include "op/dot_general.h"

/* Adjacent dimensions joined to one: its size, and the distance between its elements. */
typedef struct flat {
    int64_t size, stride;
} flat;

typedef struct operand {
    flat free, contracted;
} operand;

static bool flatten(const dt_type *t, const int64_t *stride, const int8_t *dims, int n, flat *f) {
    *f = (flat){.size = 1, .stride = 1};
    for (int i = n - 1; i >= 0; i--) {
        if (t->dim[dims[i]] == 1) continue;
        if (f->size != 1 && stride[dims[i]] != f->size * f->stride) return false;
        f->stride = f->size == 1 ? stride[dims[i]] : f->stride;
        f->size *= t->dim[dims[i]];
    }
    return true;
}

/* A batch dimension, by its index in each operand. rhs -1: the second operand does not have it. */
typedef struct batch {
    int8_t lhs, rhs;
} batch;

/* Lists the batch dimensions, first that of the result's first dimension. Returns their number. */
static int list_batches(const dt_dot_attr *a, batch list[DT_MAX_RANK]) {
    int n = 0, first = -1;
    for (int i = 0; i < a->n_batch; i++)
        if (a->lhs_batch[i] == 0) first = i;
    if (a->in_order && first < 0) list[n++] = (batch){0, -1};
    if (a->in_order && first > 0) list[n++] = (batch){0, a->rhs_batch[first]};
    for (int i = 0; i < a->n_batch && n < DT_MAX_RANK; i++)
        if (!a->in_order || first <= 0 || i != first)
            list[n++] = (batch){a->lhs_batch[i], a->rhs_batch[i]};
    return n;
}

/* Lists the free dimensions of an operand, without those that count as batch dimensions here.
 * Returns their number. */
static int list_free(const dt_type *t, const dt_dot_attr *a, bool is_rhs,
                     int8_t list[DT_MAX_RANK]) {
    int n = dt_dot_free(t, a, is_rhs, list);
    if (is_rhs || !a->in_order || n == 0 || list[0] != 0) return n;
    for (int i = 1; i < n; i++) list[i - 1] = list[i];
    return n - 1;
}

static bool read_operand(const dt_type *t, const dt_dot_attr *a, bool is_rhs, operand *o) {
    int64_t stride[DT_MAX_RANK];
    int8_t list[DT_MAX_RANK];
    int n = list_free(t, a, is_rhs, list);
    dt_strides(t, stride);
    return flatten(t, stride, list, n, &o->free) &&
           flatten(t, stride, is_rhs ? a->rhs_contract : a->lhs_contract, a->n_contract,
                   &o->contracted) &&
           (o->free.stride == 1 || o->contracted.stride == 1);
}

/* Returns the distance in memory between the rows of a product in the result, in elements; -1: it
 * is not the same for all rows. */
static int64_t row_of_result(const dt_type *ta, const dt_type *tb, const dt_type *ty,
                             const dt_dot_attr *a) {
    const dt_dot_places at = dt_dot_places_of(ta, tb, a);
    int64_t stride[DT_MAX_RANK];
    int8_t list[DT_MAX_RANK];
    flat rows;
    int n = list_free(ta, a, false, list);
    dt_strides(ty, stride);
    for (int i = 0; i < n; i++) list[i] = at.lhs[list[i]];
    return flatten(ty, stride, list, n, &rows) ? rows.stride : -1;
}

static bool has(const int8_t *dims, int n, int8_t d) {
    for (int i = 0; i < n; i++)
        if (dims[i] == d) return true;
    return false;
}

/* Whether operand k is float32 and can be read as matrices (read_operand), and its dimension 0 has
 * a fixed size, or is a batch dimension or contracted. */
static bool has_numbers(const dt_graph *g, int node, const dt_dot_attr *a, int k) {
    const dt_type *t = &g->node[g->node[node].in[k]].type;
    dt_type at = dt_type_at(t, 2);
    operand o;
    return t->dtype == DT_FLOAT32 &&
           (t->dim[0] >= 0 || (k == 0 && a->in_order) ||
            has(k ? a->rhs_batch : a->lhs_batch, a->n_batch, 0) ||
            has(k ? a->rhs_contract : a->lhs_contract, a->n_contract, 0)) &&
           read_operand(&at, a, k == 1, &o);
}

static bool fits(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_dot_attr *a = n->attr;
    if (a->n_batch == 0 || a->n_contract == 0 || !has_numbers(g, node, a, 0) ||
        !has_numbers(g, node, a, 1))
        return false;
    const dt_type ta = dt_type_at(&g->node[n->in[0]].type, 2),
                  tb = dt_type_at(&g->node[n->in[1]].type, 2), ty = dt_type_at(&n->type, 2);
    return !a->in_order || row_of_result(&ta, &tb, &ty, a) >= 0;
}

/* The least rows of A, and columns of B, for which operands in 16 bits save time. With fewer,
 * converting takes more time than reading less memory saves. */
enum { LEAST_FOR_TILES = 16 };

static void narrow(dt_exec *x, int node) {
    const dt_node *n = &x->g->node[node];
    const dt_dtype in = x->type[n->in[0]].dtype;
    operand a, b;

    if (in != DT_FLOAT32 && in == x->type[n->in[1]].dtype &&
        read_operand(&x->type[n->in[0]], n->attr, false, &a) &&
        read_operand(&x->type[n->in[1]], n->attr, true, &b) && a.free.size >= LEAST_FOR_TILES &&
        b.free.size >= LEAST_FOR_TILES)
        return;
    for (int k = 0; k < 2; k++) dt_store_wide(x, n->in[k]);
    dt_store_wide(x, node);
}

typedef struct dot_batch {
    int units;
    /* [units] a plan for each piece, because only one thread may run a plan at a time */
    dt_product *product;
    /* walk over all batch dimensions except the first: offsets in a and b, and in the result */
    dt_walk batch, result;
    int64_t step_a, step_b, step_c; /* distances along the first batch dimension, in elements */
} dot_batch;

static void release(void *state) {
    dot_batch *d = state;
    for (int u = 0; d && u < d->units; u++) dt_product_release(&d->product[u]);
}

/* Describes one product. row: the distance between its rows in the result, in elements. */
static dt_gemm product_of(const operand *a, const operand *b, int64_t row) {
    bool trans_a = a->contracted.stride != 1, trans_b = b->free.stride != 1;
    int64_t lda = trans_a ? a->contracted.stride : a->free.stride,
            ldb = trans_b ? b->free.stride : b->contracted.stride;
    int64_t least_a = trans_a ? a->free.size : a->contracted.size,
            least_b = trans_b ? b->contracted.size : b->free.size;
    return (dt_gemm){.m = a->free.size,
                     .n = b->free.size,
                     .k = a->contracted.size,
                     .trans_a = trans_a,
                     .trans_b = trans_b,
                     .lda = lda < least_a ? least_a : lda,
                     .ldb = ldb < least_b ? least_b : ldb,
                     .ldc = row < b->free.size ? b->free.size : row};
}

static void find_steps(const dt_type *ta, const dt_type *tb, const dt_type *ty,
                       const dt_dot_attr *a, dot_batch *d) {
    const dt_dot_places at = dt_dot_places_of(ta, tb, a);
    int64_t stride_a[DT_MAX_RANK], stride_b[DT_MAX_RANK], stride_y[DT_MAX_RANK];
    batch list[DT_MAX_RANK];
    const int n = list_batches(a, list);
    dt_strides(ta, stride_a);
    dt_strides(tb, stride_b);
    dt_strides(ty, stride_y);
    for (int i = 0; i < n; i++) {
        const int64_t step_a = stride_a[list[i].lhs], step_y = stride_y[at.lhs[list[i].lhs]],
                      step_b = list[i].rhs < 0 ? 0 : stride_b[list[i].rhs];
        if (i == 0) {
            d->step_a = step_a;
            d->step_b = step_b;
            d->step_c = step_y;
        } else {
            dt_walk_add(&d->batch, ta->dim[list[i].lhs], step_a, step_b);
            dt_walk_add(&d->result, ta->dim[list[i].lhs], step_y, 0);
        }
    }
}

static dt_status *prepare(dt_exec *x, dt_step *step) {
    const dt_node *n = &x->g->node[step->node];
    const dt_dot_attr *attr = n->attr;
    const dt_type *ta = &x->type[n->in[0]], *tb = &x->type[n->in[1]], *ty = &x->type[step->node];
    operand a, b;
    dot_batch *d = dt_arena_new(x->arena, dot_batch);

    step->state = d;
    read_operand(ta, attr, false, &a);
    read_operand(tb, attr, true, &b);
    find_steps(ta, tb, ty, attr, d);
    d->units = dt_type_elements(ty) == 0 ? 0 : x->p->piece[step->node].units;
    d->product = dt_arena_array(x->arena, dt_product, d->units + 1);
    dt_gemm g = product_of(&a, &b, row_of_result(ta, tb, ty, attr));
    for (int k = 0; k < 2; k++) g.in[k] = dt_gemm_float_of(x->type[n->in[k]].dtype);
    g.out = dt_gemm_float_of(x->type[step->node].dtype);
    for (int u = 0; u < d->units; u++) {
        DT_TRY(dt_product_plan(x->engine, &g, &d->product[u]));
        step->scratch = d->product[u].scratch; /* this is the same for all pieces */
    }
    return NULL;
}

static void run(const dt_kernel_call *c) {
    const dot_batch *d = c->step->state;
    const dt_node *n = &c->x->g->node[c->step->node];
    const char *a = c->x->at[n->in[0]], *b = c->x->at[n->in[1]];
    int64_t each = dt_walk_count(&d->batch), a_bytes = dt_element_bytes(c->x, n->in[0]),
            b_bytes = dt_element_bytes(c->x, n->in[1]),
            y_bytes = dt_element_bytes(c->x, c->step->node);
    char *y = c->x->at[c->step->node];

    for (int64_t i = c->lo; i < c->hi && d->units > 0; i++) {
        dt_walk w = d->batch, to = d->result;
        for (int64_t k = 0; k < each; k++, dt_walk_next(&w), dt_walk_next(&to))
            dt_product_run(&d->product[c->unit], a + (i * d->step_a + w.at[0]) * a_bytes,
                           b + (i * d->step_b + w.at[1]) * b_bytes,
                           y + (i * d->step_c + to.at[0]) * y_bytes, c->scratch);
    }
}

const dt_kernel dt_kernel_dot_batch = {
    .name = "dot_batch",
    .op = &dt_op_dot_general,
    .splits = true,
    .fits = fits,
    .narrow = narrow,
    .prepare = prepare,
    .run = run,
    .release = release,
};
