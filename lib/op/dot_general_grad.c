/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of dot_general: for each operand a product of dy with the other operand, over the
 * other one's free dimensions.
 *
 *     y[batch, free x, free o] = sum over k of x[batch, free x, k] * o[batch, free o, k]
 *     dx = dy . o contracted over free o: [batch, free x, k], put into x's order by a transpose
 *
 * B can only be dimension 0 of a value, on the way too, so two forms differ from this one. Where
 * x's dimension 0 is B and contracted, or where that spares the transpose, the factors change
 * places: [batch, k, free x]. Where there are batch dimensions besides, no product can have B in
 * front, and dx is formed by broadcasting both factors over all dimensions, multiplying and
 * summing.
 */
#include "op/dot_general.h"

#include "op/shapes.h"

/* A product seen from one operand, x; o is the other operand. */
typedef struct side {
    dt_value dy, o;
    dt_type x, o_type;
    int n_batch, n_contract, n_x_free, n_o_free;
    const int8_t *x_batch, *x_contract, *o_batch, *o_contract;
    int8_t x_free[DT_MAX_RANK], o_free[DT_MAX_RANK];
    int x_at, o_at; /* the first free dimension of x, and of o, in dy */
} side;

static side side_of(const dt_grad *g, bool is_rhs) {
    const dt_dot_attr *d = g->node->attr;
    side s = {
        .dy = g->dout,
        .o = g->in[!is_rhs],
        .x = dt_type_of_value(g->in[is_rhs]),
        .o_type = dt_type_of_value(g->in[!is_rhs]),
        .n_batch = d->n_batch,
        .n_contract = d->n_contract,
        .x_batch = is_rhs ? d->rhs_batch : d->lhs_batch,
        .o_batch = is_rhs ? d->lhs_batch : d->rhs_batch,
        .x_contract = is_rhs ? d->rhs_contract : d->lhs_contract,
        .o_contract = is_rhs ? d->lhs_contract : d->rhs_contract,
    };
    s.n_x_free = dt_dot_free(&s.x, d, is_rhs, s.x_free);
    s.n_o_free = dt_dot_free(&s.o_type, d, !is_rhs, s.o_free);
    s.x_at = s.n_batch + (is_rhs ? s.n_o_free : 0);
    s.o_at = s.n_batch + (is_rhs ? 0 : s.n_x_free);
    return s;
}

static bool contracts_batch(const side *s) {
    for (int i = 0; i < s->n_contract; i++)
        if (dt_is_batch(&s->x, s->x_contract[i])) return true;
    return false;
}

/* The position of pair i among the contracted dimensions of o, in o's order. */
static int contract_place(const side *s, int i) {
    int before = 0;
    for (int j = 0; j < s->n_contract; j++) before += s->o_contract[j] < s->o_contract[i];
    return before;
}

/* perm[dimension of x] = dimension of the product, where x's free ones begin at `free_at`,
 * contracted ones at `k_at`. */
static void back_to_x(const side *s, int free_at, int k_at, int perm[DT_MAX_RANK]) {
    for (int i = 0; i < s->n_batch; i++) perm[s->x_batch[i]] = i;
    for (int i = 0; i < s->n_x_free; i++) perm[s->x_free[i]] = free_at + i;
    for (int i = 0; i < s->n_contract; i++) perm[s->x_contract[i]] = k_at + contract_place(s, i);
}

static void order_of_product(const side *s, bool o_first, int perm[DT_MAX_RANK]) {
    if (o_first) back_to_x(s, s->n_batch + s->n_contract, s->n_batch, perm);
    else back_to_x(s, s->n_batch, s->n_batch + s->n_x_free, perm);
}

/* Whether the product with o as the first operand has x's dimension order, so that no transpose
 * is needed, as for a kernel (k, n) contracted over k. */
static bool o_first_fits(const side *s) {
    int perm[DT_MAX_RANK];
    bool same = !dt_type_has_batch(&s->x);

    order_of_product(s, true, perm);
    for (int i = 0; i < s->x.rank; i++) same &= perm[i] == i;
    return same;
}

static dt_value by_product(const side *s, bool o_first) {
    dt_dot_attr d = {.n_batch = (int8_t)s->n_batch, .n_contract = (int8_t)s->n_o_free};
    int8_t *dy_batch = o_first ? d.rhs_batch : d.lhs_batch,
           *dy_contract = o_first ? d.rhs_contract : d.lhs_contract;
    int8_t *o_batch = o_first ? d.lhs_batch : d.rhs_batch,
           *o_contract = o_first ? d.lhs_contract : d.rhs_contract;
    for (int i = 0; i < s->n_batch; i++) {
        dy_batch[i] = (int8_t)i;
        o_batch[i] = s->o_batch[i];
    }
    for (int i = 0; i < s->n_o_free; i++) {
        dy_contract[i] = (int8_t)(s->o_at + i);
        o_contract[i] = s->o_free[i];
    }
    int perm[DT_MAX_RANK];
    order_of_product(s, o_first, perm);
    dt_value product = o_first ? dt_dot_general(s->o, s->dy, &d) : dt_dot_general(s->dy, s->o, &d);
    return dt_transpose(product, perm);
}

/* Over the dimensions of x, then the free ones of o. */
static dt_value by_broadcast(const side *s) {
    dt_type all = s->x;
    int8_t from_dy[DT_MAX_RANK] = {0}, from_o[DT_MAX_RANK] = {0};
    for (int i = 0; i < s->n_batch; i++) from_dy[i] = from_o[s->o_batch[i]] = s->x_batch[i];
    for (int i = 0; i < s->n_x_free; i++) from_dy[s->x_at + i] = s->x_free[i];
    for (int i = 0; i < s->n_contract; i++) from_o[s->o_contract[i]] = s->x_contract[i];
    for (int i = 0; i < s->n_o_free && all.rank < DT_MAX_RANK; i++) {
        from_dy[s->o_at + i] = from_o[s->o_free[i]] = (int8_t)all.rank;
        all.dim[all.rank++] = s->o_type.dim[s->o_free[i]];
    }
    dt_value product = dt_multiply(dt_broadcast_in_dim(s->dy, &all, from_dy),
                                   dt_broadcast_in_dim(s->o, &all, from_o));
    return dt_reduce(product, DT_REDUCE_SUM, dt_all_dims(all.rank) & ~dt_all_dims(s->x.rank));
}

static dt_value grad_of(const dt_grad *g, bool is_rhs) {
    side s = side_of(g, is_rhs);
    bool b_is_summed = contracts_batch(&s);
    return b_is_summed && s.n_batch > 0 ? by_broadcast(&s)
                                        : by_product(&s, b_is_summed || o_first_fits(&s));
}

void dt_dot_grad(dt_grad *g) {
    for (int i = 0; i < 2; i++)
        if (g->wants[i]) g->din[i] = grad_of(g, i == 1);
}
