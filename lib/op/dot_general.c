/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dot_general: the product of a and b, summed over pairs of contracted dimensions, for each index
 * of the pairs of batch dimensions:
 *
 *     y[batch.., free of a.., free of b..] = sum over k.. of a[batch, free, k] * b[batch, free, k]
 *
 * With `in_order` the result keeps the order of a: first the dimensions of a that are not
 * contracted, then the free ones of b. So the rows of the data's batch stay in front even if
 * another dimension, such as that of experts, is the batch dimension of the product: (B, C, E, D),
 * (E, D, F) -> (B, C, E, F).
 *
 * A matrix product contracts dimension 1 of a with dimension 0 of b: (m, k), (k, n) -> (m, n).
 * ("Batch dimension" of a product is StableHLO's term; the batch of the data is B.)
 *
 * (C1) a and b hold numbers of one dtype.
 * (C2) Batch and contracted dimensions exist, and none is listed twice.
 * (C3) Paired dimensions have equal sizes: B with B.
 * (C4) The result has at most 8 dimensions, and B can only be its dimension 0.
 * (C5) With in_order, dimension 0 of a is not contracted.
 *
 * call: dt_value dt_matmul(dt_value a, dt_value b)
 * computes: The matrix product.
 * shape: (.., m, k) and (k, n) to (.., m, n)
 * expects: a and b have these shapes and one dtype of numbers
 * gradient: da = dy b^T, db = a^T dy
 *
 * Splitting: a batch dimension splits a, b and y; a free one its operand and y; a contracted one a
 * and b, and leaves partial sums.
 */
#include "op/dot_general.h"

#include <string.h>

#include "op/cells.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

/* ---- the gradient ---- */

/*
 * The gradient of dot_general: for each operand a product of dy with the other operand, over the
 * other one's free dimensions.
 *
 *     y[batch, free x, free o] = sum over k of x[batch, free x, k] * o[batch, free o, k]
 *     dx = dy . o contracted over free o: [batch, free x, k], put into x's order by a transpose
 *
 * B must be dimension 0 of every value, intermediate ones included, so two cases differ. If x's
 * dimension 0 is B and contracted, or if it saves the transpose, the factors are exchanged: [batch,
 * k, free x]. If B is contracted and there are batch dimensions, no product has B in front; then dx
 * is formed by broadcasting both factors over all dimensions, multiplying and summing.
 */

/* A product seen from one operand, x, whose gradient is computed; o is the other operand. */
typedef struct side {
    dt_value dy, o;
    dt_type x, o_type;
    int n_batch, n_contract, n_x_free, n_o_free;
    const int8_t *x_batch, *x_contract, *o_batch, *o_contract;
    int8_t x_free[DT_MAX_RANK], o_free[DT_MAX_RANK];
    /* indices of the dimensions of dy at which the free dimensions of x and of o begin */
    int x_at, o_at;
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

/* Returns the position of pair i among the contracted dimensions of o, counted in o's order. */
static int contract_place(const side *s, int i) {
    int before = 0;
    for (int j = 0; j < s->n_contract; j++) before += s->o_contract[j] < s->o_contract[i];
    return before;
}

/* Sets perm[d] to the dimension of the product that is dimension d of x. In the product, batch
 * dimensions come first, x's free dimensions begin at `free_at` and contracted ones at `k_at`. */
static void back_to_x(const side *s, int free_at, int k_at, int perm[DT_MAX_RANK]) {
    for (int i = 0; i < s->n_batch; i++) perm[s->x_batch[i]] = i;
    for (int i = 0; i < s->n_x_free; i++) perm[s->x_free[i]] = free_at + i;
    for (int i = 0; i < s->n_contract; i++) perm[s->x_contract[i]] = k_at + contract_place(s, i);
}

static void order_of_product(const side *s, bool o_first, int perm[DT_MAX_RANK]) {
    if (o_first) back_to_x(s, s->n_batch + s->n_contract, s->n_batch, perm);
    else back_to_x(s, s->n_batch, s->n_batch + s->n_x_free, perm);
}

/* Whether the product with o as first operand has the order of x's dimensions, so that no transpose
 * is needed, as for a kernel (k, n) contracted over k. False if x has the batch in its shape. */
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

/* Computes dx by broadcasting, multiplying and summing. The dimensions of the product are those of
 * x, then the free ones of o. */
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

/* ---- the gradient of a product in order, and that of any ---- */

/* Returns how many of the n dimensions in `dims` are less than d. */
static int before(const int8_t *dims, int n, int8_t d) {
    int less = 0;
    for (int i = 0; i < n; i++) less += dims[i] < d;
    return less;
}

/* Emits da: the product of dy and b over the free dimensions of b, transposed. The product is
 * in_order, too: the dimensions of a that are in y come first, then the contracted ones. */
static dt_value lhs_in_order(const dt_grad *g, const dt_type *a, const dt_type *b) {
    const dt_dot_attr *d = g->node->attr;
    const dt_dot_places at = dt_dot_places_of(a, b, d);
    dt_dot_attr r = {.in_order = 1, .n_batch = d->n_batch};
    int perm[DT_MAX_RANK] = {0}, kept = a->rank - d->n_contract;
    r.n_contract = (int8_t)dt_dot_free(b, d, true, r.rhs_contract);
    for (int i = 0; i < r.n_contract; i++) r.lhs_contract[i] = at.rhs[r.rhs_contract[i]];
    for (int i = 0; i < d->n_batch; i++) {
        r.lhs_batch[i] = at.lhs[d->lhs_batch[i]];
        r.rhs_batch[i] = d->rhs_batch[i];
    }
    for (int i = 0; i < a->rank; i++)
        if (at.lhs[i] >= 0) perm[i] = at.lhs[i];
    for (int i = 0; i < d->n_contract; i++)
        perm[d->lhs_contract[i]] =
            kept + before(d->rhs_contract, d->n_contract, d->rhs_contract[i]);
    return dt_transpose(dt_dot_general(g->dout, g->in[1], &r), perm);
}

/* Emits db: the product of a and dy over the free dimensions of a, transposed. The product has
 * batch dimensions first, then contracted ones, then the free ones of b. */
static dt_value rhs_in_order(const dt_grad *g, const dt_type *a, const dt_type *b) {
    const dt_dot_attr *d = g->node->attr;
    const dt_dot_places at = dt_dot_places_of(a, b, d);
    dt_dot_attr r = {.n_batch = d->n_batch};
    int perm[DT_MAX_RANK] = {0};
    int8_t free[DT_MAX_RANK];
    const int n_free = dt_dot_free(b, d, true, free);
    r.n_contract = (int8_t)dt_dot_free(a, d, false, r.lhs_contract);
    for (int i = 0; i < r.n_contract; i++) r.rhs_contract[i] = at.lhs[r.lhs_contract[i]];
    for (int i = 0; i < d->n_batch; i++) {
        r.lhs_batch[i] = d->lhs_batch[i];
        r.rhs_batch[i] = at.lhs[d->lhs_batch[i]];
        perm[d->rhs_batch[i]] = i;
    }
    for (int i = 0; i < d->n_contract; i++)
        perm[d->rhs_contract[i]] =
            d->n_batch + before(d->lhs_contract, d->n_contract, d->lhs_contract[i]);
    for (int i = 0; i < n_free; i++) perm[free[i]] = d->n_batch + d->n_contract + i;
    return dt_transpose(dt_dot_general(g->in[0], g->dout, &r), perm);
}

static void grad(dt_grad *g) {
    const dt_dot_attr *d = g->node->attr;
    const dt_type a = dt_type_of_value(g->in[0]), b = dt_type_of_value(g->in[1]);
    for (int i = 0; i < 2; i++)
        if (g->wants[i])
            g->din[i] = !d->in_order ? grad_of(g, i == 1)
                        : i == 1     ? rhs_in_order(g, &a, &b)
                                     : lhs_in_order(g, &a, &b);
}

/* ---- shapes and splitting ---- */

static dt_status *check_list(const dt_infer *q, int operand, const int8_t *dims, int n,
                             uint32_t *seen) {
    const dt_type *t = &q->in[operand];
    if (n < 0 || n > t->rank)
        return dt_bad_shape(q, "(C2) cannot take %d dimensions of %s", n, dt_text_of(t).s);
    for (int i = 0; i < n; i++) {
        if (dims[i] < 0 || dims[i] >= t->rank || *seen >> dims[i] & 1)
            return dt_bad_shape(q, "(C2) cannot take dimension %d of %s, or not again", dims[i],
                                dt_text_of(t).s);
        *seen |= 1u << dims[i];
    }
    return NULL;
}

static dt_status *check_lists(const dt_infer *q, const dt_dot_attr *d) {
    uint32_t lhs = 0, rhs = 0;
    DT_TRY(check_list(q, 0, d->lhs_batch, d->n_batch, &lhs));
    DT_TRY(check_list(q, 0, d->lhs_contract, d->n_contract, &lhs));
    DT_TRY(check_list(q, 1, d->rhs_batch, d->n_batch, &rhs));
    return check_list(q, 1, d->rhs_contract, d->n_contract, &rhs);
}

static dt_status *check_pairs(const dt_infer *q, const int8_t *lhs, const int8_t *rhs, int n) {
    const dt_type *a = &q->in[0], *b = &q->in[1];
    for (int i = 0; i < n; i++)
        if (a->dim[lhs[i]] != b->dim[rhs[i]])
            return dt_bad_shape(q, "(C3) cannot join dimension %d of %s with dimension %d of %s",
                                lhs[i], dt_text_of(a).s, rhs[i], dt_text_of(b).s);
    return NULL;
}

static uint32_t listed(const int8_t *dims, int n) {
    uint32_t set = 0;
    for (int i = 0; i < n; i++) set |= 1u << dims[i];
    return set;
}

int dt_dot_free(const dt_type *t, const dt_dot_attr *d, bool is_rhs, int8_t list[DT_MAX_RANK]) {
    uint32_t taken =
        is_rhs ? listed(d->rhs_batch, d->n_batch) | listed(d->rhs_contract, d->n_contract)
               : listed(d->lhs_batch, d->n_batch) | listed(d->lhs_contract, d->n_contract);
    int n = 0;
    for (int i = 0; i < t->rank; i++)
        if (!(taken >> i & 1)) list[n++] = (int8_t)i;
    return n;
}

dt_dot_places dt_dot_places_of(const dt_type *a, const dt_type *b, const dt_dot_attr *d) {
    dt_dot_places at;
    int8_t lhs[DT_MAX_RANK], rhs[DT_MAX_RANK], n = 0;
    const int n_lhs = dt_dot_free(a, d, false, lhs), n_rhs = dt_dot_free(b, d, true, rhs);
    memset(&at, -1, sizeof at);
    for (int i = 0; i < a->rank && d->in_order; i++) at.lhs[i] = 0;
    for (int i = 0; i < d->n_contract; i++) at.lhs[d->lhs_contract[i]] = -1;
    for (int i = 0; i < a->rank && d->in_order; i++)
        if (at.lhs[i] >= 0) at.lhs[i] = n++;
    for (int i = 0; i < d->n_batch && !d->in_order; i++) at.lhs[d->lhs_batch[i]] = n++;
    for (int i = 0; i < n_lhs && !d->in_order; i++) at.lhs[lhs[i]] = n++;
    for (int i = 0; i < d->n_batch; i++) at.rhs[d->rhs_batch[i]] = at.lhs[d->lhs_batch[i]];
    for (int i = 0; i < n_rhs; i++) at.rhs[rhs[i]] = n++;
    return at;
}

dt_type dt_dot_plain(const dt_type *a, const dt_type *b, const dt_dot_attr *d, const dt_type *out,
                     int8_t perm[DT_MAX_RANK]) {
    dt_dot_attr plain = *d;
    plain.in_order = 0;
    const dt_dot_places from = dt_dot_places_of(a, b, &plain), to = dt_dot_places_of(a, b, d);
    for (int i = 0; i < a->rank; i++)
        if (to.lhs[i] >= 0) perm[to.lhs[i]] = from.lhs[i];
    for (int i = 0; i < b->rank; i++)
        if (to.rhs[i] >= 0) perm[to.rhs[i]] = from.rhs[i];
    dt_type t = *out;
    for (int i = 0; i < out->rank; i++) t.dim[perm[i]] = out->dim[i];
    return t;
}

static dt_status *infer(dt_infer *q) {
    const dt_dot_attr *d = q->attr;
    dt_type *out = &q->out;
    const dt_type *a = &q->in[0], *b = &q->in[1];
    if (a->dtype != b->dtype || a->dtype == DT_BOOL)
        return dt_bad_shape(q, "(C1) expected numbers of one dtype, got %s and %s", dt_text_of(a).s,
                            dt_text_of(b).s);
    DT_TRY(check_lists(q, d));
    DT_TRY(check_pairs(q, d->lhs_batch, d->rhs_batch, d->n_batch));
    DT_TRY(check_pairs(q, d->lhs_contract, d->rhs_contract, d->n_contract));
    for (int i = 0; d->in_order && i < d->n_contract; i++)
        if (d->lhs_contract[i] == 0)
            return dt_bad_shape(q, "(C5) cannot contract dimension 0 of %s in order",
                                dt_text_of(a).s);
    *out = dt_scalar_type(a->dtype);
    out->rank = a->rank + b->rank - 2 * d->n_contract - d->n_batch;
    if (out->rank > DT_MAX_RANK) return dt_check_result(q, 4);
    const dt_dot_places at = dt_dot_places_of(a, b, d);
    for (int i = 0; i < b->rank; i++)
        if (at.rhs[i] >= 0) out->dim[at.rhs[i]] = b->dim[i];
    for (int i = 0; i < a->rank; i++)
        if (at.lhs[i] >= 0) out->dim[at.lhs[i]] = a->dim[i];
    return dt_check_result(q, 4);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_dot_attr *d = attr;
    const dt_dot_places at = dt_dot_places_of(&in[0], &in[1], d);
    dt_rule_whole(rule);
    for (int i = 0; i < out->rank; i++) rule->out[i] = (int8_t)i;
    for (int i = 0; i < in[0].rank; i++) rule->in[0][i] = at.lhs[i];
    for (int i = 0; i < in[1].rank; i++) rule->in[1][i] = at.rhs[i];
    for (int i = 0; i < d->n_contract; i++)
        rule->in[0][d->lhs_contract[i]] = rule->in[1][d->rhs_contract[i]] = (int8_t)(out->rank + i);
}

/* ---- the definition: sums run over k in order; floats in double, integers wrap ---- */

/* The sum over contracted dimensions for an element of y. `outer` walks over all of them but the
 * last of the list, which has n elements, step_a and step_b apart in a and b. */
typedef struct dot_sum {
    const dt_view *a, *b;
    dt_walk outer;
    int64_t n, step_a, step_b;
} dot_sum;

static double add_row(const dot_sum *s, int64_t i, int64_t j, double sum) {
    if (s->a->type.dtype == DT_FLOAT32) {
        const float *a = s->a->data, *b = s->b->data;
        for (int64_t k = 0; k < s->n; k++)
            sum += (double)a[i + k * s->step_a] * (double)b[j + k * s->step_b];
    } else {
        const double *a = s->a->data, *b = s->b->data;
        for (int64_t k = 0; k < s->n; k++) sum += a[i + k * s->step_a] * b[j + k * s->step_b];
    }
    return sum;
}

static int64_t add_int_row(const dot_sum *s, int64_t i, int64_t j, int64_t sum) {
    for (int64_t k = 0; k < s->n; k++)
        sum = dt_int_add(sum, dt_int_multiply(dt_cell_int(s->a, i + k * s->step_a),
                                              dt_cell_int(s->b, j + k * s->step_b)));
    return sum;
}

/* Computes cell `at` of y. i and j: the offsets in a and b at which its sum begins. */
static void dot_one(dot_sum *s, int64_t i, int64_t j, const dt_view *y, int64_t at) {
    double sum = 0;
    int64_t ints = 0;
    bool is_float = dt_dtype_is_float(y->type.dtype);
    for (int64_t k = dt_walk_count(&s->outer); k > 0; k--, dt_walk_next(&s->outer))
        if (is_float) sum = add_row(s, i + s->outer.at[0], j + s->outer.at[1], sum);
        else ints = add_int_row(s, i + s->outer.at[0], j + s->outer.at[1], ints);
    if (is_float) dt_cell_set_double(y, at, sum);
    else dt_cell_set_int(y, at, ints);
}

static dot_sum make_sum(const dt_dot_attr *d, const dt_view *a, const dt_view *b) {
    dot_sum s = {.a = a, .b = b, .n = 1};
    int64_t step_a[DT_MAX_RANK], step_b[DT_MAX_RANK];
    dt_strides(&a->type, step_a);
    dt_strides(&b->type, step_b);
    int last = d->n_contract - 1;
    for (int i = 0; i < last; i++)
        dt_walk_add(&s.outer, a->type.dim[d->lhs_contract[i]], step_a[d->lhs_contract[i]],
                    step_b[d->rhs_contract[i]]);
    if (last >= 0) {
        s.n = a->type.dim[d->lhs_contract[last]];
        s.step_a = step_a[d->lhs_contract[last]];
        s.step_b = step_b[d->rhs_contract[last]];
    }
    return s;
}

/* Returns a walk over y in row-major order. It visits the offsets in a and b at which the sum of
 * each element begins. */
static dt_walk walk_result(const dt_dot_attr *d, const dt_type *a, const dt_type *b,
                           const dt_type *y) {
    dt_walk w = {0};
    int64_t of_a[DT_MAX_RANK], of_b[DT_MAX_RANK], step_a[DT_MAX_RANK] = {0},
                                                  step_b[DT_MAX_RANK] = {0};
    const dt_dot_places at = dt_dot_places_of(a, b, d);
    dt_strides(a, of_a);
    dt_strides(b, of_b);
    for (int i = 0; i < a->rank; i++)
        if (at.lhs[i] >= 0) step_a[at.lhs[i]] = of_a[i];
    for (int i = 0; i < b->rank; i++)
        if (at.rhs[i] >= 0) step_b[at.rhs[i]] = of_b[i];
    for (int i = 0; i < y->rank; i++) dt_walk_add(&w, y->dim[i], step_a[i], step_b[i]);
    return w;
}

static void eval(const dt_call *c) {
    const dt_dot_attr *d = c->node->attr;
    const dt_view *a = &c->in[0], *b = &c->in[1];
    dot_sum sum = make_sum(d, a, b);
    dt_walk w = walk_result(d, &a->type, &b->type, &c->out.type);
    for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w))
        dot_one(&sum, w.at[0], w.at[1], &c->out, i);
}

/* ---- folded: the leading dimension of stacked values is one more batch dimension ---- */

static void shift(int8_t *dims, int n, bool prepend) {
    for (int i = n - 1; i >= 0; i--)
        if (i + prepend < DT_MAX_RANK) dims[i + prepend] = (int8_t)(dims[i] + 1);
    if (prepend) dims[0] = 0;
}

static dt_value stack(const dt_fold_call *c) {
    dt_dot_attr d = *(const dt_dot_attr *)c->node->attr;
    shift(d.lhs_batch, d.n_batch, true);
    shift(d.rhs_batch, d.n_batch, true);
    shift(d.lhs_contract, d.n_contract, false);
    shift(d.rhs_contract, d.n_contract, false);
    d.n_batch++;
    return dt_dot_general(c->in[0], c->in[1], &d);
}

/* ---- cost, text, the row ---- */

static int64_t sizes_of(const dt_type *t, const int8_t *dims, int n) {
    int64_t product = 1;
    for (int i = 0; i < n; i++) product *= t->dim[dims[i]];
    return product;
}

static void cost(const dt_call *c, dt_cost *cost) {
    const dt_dot_attr *d = c->node->attr;
    const dt_type *a = &c->in[0].type, *b = &c->in[1].type;
    dt_matrix_work p = {.count = (double)sizes_of(a, d->lhs_batch, d->n_batch),
                        .k = sizes_of(a, d->lhs_contract, d->n_contract)};
    int8_t free[DT_MAX_RANK];
    p.m = sizes_of(a, free, dt_dot_free(a, d, false, free));
    p.n = sizes_of(b, free, dt_dot_free(b, d, true, free));
    *cost = dt_cost_products(c, &p, 1);
}

static void print(const void *attr, dt_str *out) {
    const dt_dot_attr *d = attr;
    if (d->n_batch > 0) {
        dt_print_dims(out, "batch ", d->lhs_batch, d->n_batch);
        dt_print_dims(out, "x", d->rhs_batch, d->n_batch);
        dt_str_putc(out, ' ');
    }
    dt_print_dims(out, "contracting ", d->lhs_contract, d->n_contract);
    dt_print_dims(out, "x", d->rhs_contract, d->n_contract);
    if (d->in_order) dt_str_puts(out, " in order");
}

const dt_dot_attr *dt_dot_of(const dt_node *n) {
    return n->op == &dt_op_dot_general ? n->attr : NULL;
}

const dt_op dt_op_dot_general = {
    .name = "dot_general",
    .n_in = 2,
    .role = DT_ROLE_PRODUCT,
    .attr = {.size = sizeof(dt_dot_attr), .print = print},
    .linear = 3,
    .multiplied = 3,
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = stack,
    .segment = dt_segment_each,
    .forms.stablehlo = dt_dot_stablehlo,
};
