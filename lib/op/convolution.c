/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convolution: rhs, the kernel, moves as a window over the spatial dimensions of lhs. For each
 * place p of the window
 *
 *     y[b, p.., o] =
 *         sum over k.., i of lhs[b, p * stride - low + k * dilation.., i] * rhs[k.., i, o]
 *
 * Every operand may have its dimensions in any order: the attribute says which dimension is the
 * batch, which is the feature, and which are spatial. So gradients are convolutions, too: for the
 * gradient of the kernel, features and batch exchange their roles. Before the window moves over
 * lhs, lhs may be stretched (base_dilation - 1 holes between neighbours) and padded; holes and
 * padding count as zero.
 *
 * Groups: with feature_groups = G, features of lhs and of y fall into G groups, and group g of y
 * depends only on group g of lhs. With batch_groups = G the batch of lhs falls into G groups
 * instead, and group g of y's features depends only on group g of the batch.
 *
 * (C1) lhs and rhs hold floats of one dtype, with one to three spatial dimensions.
 * (C2) The attribute names each dimension of lhs, rhs and y exactly once.
 * (C3) Groups are of equal size, and feature_groups or batch_groups is 1. lhs has feature_groups
 *      times as many features as rhs has inputs.
 * (C4) Strides and dilations are at least 1, and the window has at least one place.
 * (C5) The batch B can only be dimension 0 of the result; spatial and grouped dimensions have fixed
 * sizes.
 *
 * Splitting: if the batch is split, lhs and y are; if outputs are, rhs and y are; if inputs are,
 * lhs and rhs are, and each part computes partial sums. Dimensions with groups are not split.
 */
#include "op/convolution.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/cells.h"
#include "op/elementwise.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/stablehlo.h"
#include "op/window.h"

/* ---- the gradient ---- */

/*
 * The gradients of convolution are convolutions.
 *
 *     of lhs   dy, dilated by the stride, under the reversed kernel, with its inputs and outputs
 *              exchanged: each element of lhs gets a term from every window that covered it
 *     of rhs   dy moves as a window over lhs, with features and batch in exchanged roles: the sum
 *              runs over examples and places. Strides and dilations of the window are exchanged
 *
 * If lhs is dilated, as in a transposed convolution, and moves_lhs allows it, the gradient of rhs
 * moves lhs over dy instead and yields the gradient of the reversed kernel. This avoids products
 * with the zeros between elements.
 *
 * In the gradient of rhs, groups of features become groups of the batch, and vice versa. In the
 * gradient of lhs, the kernel's groups move from its outputs to its inputs.
 */

/* Moves the groups G from dimension `from` of x, of size G * n, to dimension `into`: the sizes
 * become n, and G times the size of `into`. Groups are the major part of both. */
static dt_value move_groups(dt_value x, int64_t groups, int from, int into) {
    dt_type t = dt_type_of_value(x), split = t, merged = t;
    int perm[DT_MAX_RANK], n = 0;
    if (groups == 1) return x;
    split.rank++;
    for (int d = t.rank; d > from; d--) split.dim[d] = t.dim[d - 1];
    split.dim[from] = groups;
    split.dim[from + 1] = merged.dim[from] = t.dim[from] / groups;
    merged.dim[into] = t.dim[into] * groups;
    for (int d = 0; d < t.rank; d++) {
        if (d == into) perm[n++] = from;
        perm[n++] = d < from ? d : d + 1;
    }
    return dt_reshape(dt_transpose(dt_reshape(x, split.rank, split.dim), perm), merged.rank,
                      merged.dim);
}

/* Reverses a kernel's spatial dimensions. Dimensions of one element need no reversal. */
static dt_value reverse_spatial(dt_value w, const dt_convolution_attr *a) {
    const dt_type t = dt_type_of_value(w);
    uint32_t spatial = 0;
    for (int i = 0; i < a->n_spatial; i++)
        if (t.dim[a->rhs_spatial[i]] != 1) spatial |= 1u << a->rhs_spatial[i];
    return dt_reverse(w, spatial);
}

/* Returns the kernel for the gradient of lhs: reversed along spatial dimensions, its groups moved
 * from outputs to inputs. */
static dt_value turn_round(const dt_grad *g, const dt_convolution_attr *a) {
    const int64_t groups = (int64_t)a->feature_groups * a->batch_groups;
    return reverse_spatial(move_groups(g->in[1], groups, a->rhs_out, a->rhs_in), a);
}

/* Transposes the kernel so that its inputs and outputs are exchanged in memory, too, and adapts the
 * attributes *b. For a kernel (k.., i, o), outputs are then the innermost dimension, for which
 * products are fastest. A kernel with the batch in its shape stays as it is. */
static dt_value exchange(dt_value w, dt_convolution_attr *b) {
    dt_type t = dt_type_of_value(w);
    int perm[DT_MAX_RANK];
    if (dt_type_has_batch(&t)) return w;
    for (int d = 0; d < t.rank; d++)
        perm[d] = d == b->rhs_in ? b->rhs_out : d == b->rhs_out ? b->rhs_in : d;
    int8_t in = b->rhs_in;
    b->rhs_in = b->rhs_out;
    b->rhs_out = in;
    return dt_transpose(w, perm);
}

static dt_value grad_lhs(const dt_grad *g, const dt_convolution_attr *a) {
    dt_type x = dt_type_of_value(g->in[0]), w = dt_type_of_value(g->in[1]), y = g->node->type;
    dt_convolution_attr b = *a;
    b.lhs_batch = a->out_batch;
    b.lhs_feature = a->out_feature;
    b.rhs_in = a->rhs_out;
    b.rhs_out = a->rhs_in;
    b.out_batch = a->lhs_batch;
    b.out_feature = a->lhs_feature;
    b.feature_groups = a->feature_groups * a->batch_groups;
    b.batch_groups = 1;
    for (int i = 0; i < a->n_spatial; i++) {
        const dt_window *v = &a->window[i];
        int64_t size = dt_dilated(w.dim[a->rhs_spatial[i]], v->dilation), low = size - 1 - v->low;
        b.lhs_spatial[i] = a->out_spatial[i];
        b.out_spatial[i] = a->lhs_spatial[i];
        b.window[i] = (dt_window){.stride = v->base_dilation,
                                  .base_dilation = v->stride,
                                  .dilation = v->dilation,
                                  .low = low};
        b.window[i].high = dt_dilated(x.dim[a->lhs_spatial[i]], v->base_dilation) + size - 1 -
                           dt_dilated(y.dim[a->out_spatial[i]], v->stride) - low;
    }
    dt_value turned = exchange(turn_round(g, a), &b);
    return move_groups(dt_convolution(g->dout, turned, &b), a->batch_groups, a->lhs_feature,
                       a->lhs_batch);
}

static dt_value grad_rhs(const dt_grad *g, const dt_convolution_attr *a) {
    dt_type x = dt_type_of_value(g->in[0]), w = dt_type_of_value(g->in[1]), y = g->node->type;
    dt_convolution_attr b = *a;
    b.lhs_batch = a->lhs_feature;
    b.lhs_feature = a->lhs_batch;
    b.rhs_in = a->out_batch;
    b.rhs_out = a->out_feature;
    b.out_batch = a->rhs_in;
    b.out_feature = a->rhs_out;
    b.feature_groups = a->batch_groups;
    b.batch_groups = a->feature_groups;
    for (int i = 0; i < a->n_spatial; i++) {
        const dt_window *v = &a->window[i];
        b.rhs_spatial[i] = a->out_spatial[i];
        b.out_spatial[i] = a->rhs_spatial[i];
        b.window[i] = (dt_window){.stride = v->dilation,
                                  .base_dilation = v->base_dilation,
                                  .dilation = v->stride,
                                  .low = v->low};
        b.window[i].high = dt_dilated(y.dim[a->out_spatial[i]], v->stride) +
                           dt_dilated(w.dim[a->rhs_spatial[i]], v->dilation) -
                           dt_dilated(x.dim[a->lhs_spatial[i]], v->base_dilation) - 1 - v->low;
    }
    return dt_convolution(g->in[0], g->dout, &b);
}

/* Whether the gradient of rhs moves lhs over dy: lhs is dilated, and there are neither strides nor
 * groups. False for a kernel with the batch in its shape: the batch must stay first, and this way
 * exchanges the gradient's dimensions. */
static bool moves_lhs(const dt_grad *g, const dt_convolution_attr *a) {
    const dt_type w = dt_type_of_value(g->in[1]);
    bool dilated = false, strides = dt_type_has_batch(&w);
    for (int i = 0; i < a->n_spatial; i++) {
        dilated |= a->window[i].base_dilation > 1;
        strides |= a->window[i].stride > 1;
    }
    return dilated && !strides && a->feature_groups == 1 && a->batch_groups == 1;
}

static dt_value grad_rhs_of_dilated(const dt_grad *g, const dt_convolution_attr *a) {
    dt_type x = dt_type_of_value(g->in[0]), w = dt_type_of_value(g->in[1]), y = g->node->type;
    dt_convolution_attr b = *a;
    int perm[DT_MAX_RANK];
    b.lhs_batch = a->out_feature;
    b.lhs_feature = a->out_batch;
    b.rhs_in = a->lhs_batch;
    b.rhs_out = a->lhs_feature;
    b.out_batch = a->rhs_in;
    b.out_feature = a->rhs_out;
    for (int i = 0; i < a->n_spatial; i++) {
        const dt_window *v = &a->window[i];
        int64_t size = dt_dilated(w.dim[a->rhs_spatial[i]], v->dilation), low = size - 1 - v->low;
        b.lhs_spatial[i] = a->out_spatial[i];
        b.rhs_spatial[i] = a->lhs_spatial[i];
        b.out_spatial[i] = a->rhs_spatial[i];
        b.window[i] = (dt_window){
            .stride = v->dilation, .base_dilation = 1, .dilation = v->base_dilation, .low = low};
        b.window[i].high = dt_dilated(x.dim[a->lhs_spatial[i]], v->base_dilation) + size -
                           y.dim[a->out_spatial[i]] - 1 - low;
    }
    for (int d = 0; d < w.rank; d++)
        perm[d] = d == a->rhs_in ? a->rhs_out : d == a->rhs_out ? a->rhs_in : d;
    return reverse_spatial(dt_transpose(dt_convolution(g->dout, g->in[0], &b), perm), a);
}

static void grad(dt_grad *g) {
    const dt_convolution_attr *a = g->node->attr;
    if (g->wants[0]) g->din[0] = grad_lhs(g, a);
    if (g->wants[1]) g->din[1] = moves_lhs(g, a) ? grad_rhs_of_dilated(g, a) : grad_rhs(g, a);
}

/* ---- shapes and splitting ---- */

static bool numbers_all(int rank, int a, int b, const int8_t *spatial) {
    uint32_t seen = 0;
    for (int i = 0; i < rank; i++) {
        int d = i == 0 ? a : i == 1 ? b : spatial[i - 2];
        if (d < 0 || d >= rank || seen >> d & 1) return false;
        seen |= 1u << d;
    }
    return true;
}

static dt_status *check_operands(const dt_infer *q, const dt_convolution_attr *a) {
    const dt_type *x = &q->in[0], *w = &q->in[1];
    int rank = a->n_spatial + 2;
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_FLOATS));
    if (x->dtype != w->dtype || a->n_spatial < 1 || a->n_spatial > DT_MAX_SPATIAL ||
        x->rank != rank || w->rank != rank)
        return dt_bad_shape(q, "(C1) cannot go over %s with %s in %d spatial dimensions",
                            dt_text_of(x).s, dt_text_of(w).s, a->n_spatial);
    if (!numbers_all(rank, a->lhs_batch, a->lhs_feature, a->lhs_spatial) ||
        !numbers_all(rank, a->rhs_in, a->rhs_out, a->rhs_spatial) ||
        !numbers_all(rank, a->out_batch, a->out_feature, a->out_spatial))
        return dt_bad_shape(q, "(C2) expected every dimension of %s and %s numbered once",
                            dt_text_of(x).s, dt_text_of(w).s);
    return NULL;
}

static dt_status *check_groups(const dt_infer *q, const dt_convolution_attr *a) {
    const dt_type *x = &q->in[0], *w = &q->in[1];
    int64_t groups = a->feature_groups, of_batch = a->batch_groups;
    int64_t features = x->dim[a->lhs_feature], taken = w->dim[a->rhs_in],
            outputs = w->dim[a->rhs_out], batch = x->dim[a->lhs_batch];
    bool none = groups == 1 && of_batch == 1;
    if (groups < 1 || of_batch < 1 || (groups > 1 && of_batch > 1))
        return dt_bad_shape(q, "(C3) cannot make %lld groups of features and %lld of the batch",
                            (long long)groups, (long long)of_batch);
    if (groups > 1 && (features < 0 || taken < 0))
        return dt_bad_shape(q, "(C5) cannot group the batch of %s as features", dt_text_of(x).s);
    if (!none && (outputs < 0 || outputs % (groups * of_batch) ||
                  (of_batch > 1 && (batch < 0 || batch % of_batch))))
        return dt_bad_shape(q, "(C3) cannot divide %s and %s into %lld groups", dt_text_of(x).s,
                            dt_text_of(w).s, (long long)(groups * of_batch));
    if (features % groups || features / groups != taken)
        return dt_bad_shape(q, "(C3) cannot give the features of %s, in %lld groups, to %s",
                            dt_text_of(x).s, (long long)groups, dt_text_of(w).s);
    return NULL;
}

static dt_status *infer(dt_infer *q) {
    const dt_convolution_attr *a = q->attr;
    dt_type *out = &q->out;
    const dt_type *x = &q->in[0], *w = &q->in[1];
    DT_TRY(check_operands(q, a));
    DT_TRY(check_groups(q, a));
    *out = *x;
    out->dim[a->out_batch] =
        a->batch_groups > 1 ? x->dim[a->lhs_batch] / a->batch_groups : x->dim[a->lhs_batch];
    out->dim[a->out_feature] = w->dim[a->rhs_out];
    for (int i = 0; i < a->n_spatial; i++) {
        int64_t in = x->dim[a->lhs_spatial[i]], size = w->dim[a->rhs_spatial[i]],
                *n = &out->dim[a->out_spatial[i]];
        if (in < 0 || size < 0)
            return dt_bad_shape(q, "(C5) cannot go over the batch of %s with %s", dt_text_of(x).s,
                                dt_text_of(w).s);
        if (!dt_window_count(&a->window[i], size, in, n) || *n == 0)
            return dt_bad_shape(q, "(C4) has no place for %s on %s in spatial dimension %d",
                                dt_text_of(w).s, dt_text_of(x).s, i);
    }
    return dt_check_result(q, 5);
}

void dt_convolution_rule(const dt_type *in, const dt_convolution_attr *a, dt_rule *rule) {
    bool feature_groups = a->feature_groups > 1, batch_groups = a->batch_groups > 1;
    (void)in;
    dt_rule_whole(rule);
    if (!batch_groups) rule->in[0][a->lhs_batch] = rule->out[a->out_batch] = 0;
    if (!feature_groups && !batch_groups) rule->in[1][a->rhs_out] = rule->out[a->out_feature] = 1;
    if (!feature_groups) rule->in[0][a->lhs_feature] = rule->in[1][a->rhs_in] = 2;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out;
    dt_convolution_rule(in, attr, rule);
}

/* ---- the definition: sums are formed in double, over k, then over the features of the group,
 * in order ---- */

/* Sizes of a convolution and distances between elements, by the meaning of dimensions. A missing
 * spatial dimension has size 1. */
typedef struct geometry {
    const dt_convolution_attr *a;
    const dt_view *lhs, *rhs, *out;
    dt_window window[DT_MAX_SPATIAL];
    /* sizes along the spatial dimensions: in of lhs, k of rhs, p of the result */
    int64_t in[DT_MAX_SPATIAL], k[DT_MAX_SPATIAL], p[DT_MAX_SPATIAL];
    int64_t lhs_step[DT_MAX_SPATIAL], rhs_step[DT_MAX_SPATIAL], out_step[DT_MAX_SPATIAL];
    /* sizes: batch of out, features of one group of lhs, features of one group of out */
    int64_t batch, features, outputs;
    /* Distances between neighbouring elements along a dimension, in elements. */
    int64_t lhs_batch, lhs_feature, rhs_in, rhs_out, out_batch, out_feature;
} geometry;

static void lay_out_space(geometry *g, const int64_t *lhs, const int64_t *rhs, const int64_t *out) {
    const dt_convolution_attr *a = g->a;
    for (int i = 0; i < DT_MAX_SPATIAL; i++) {
        bool there = i < a->n_spatial;
        g->window[i] = there ? a->window[i] : DT_WINDOW_ONE;
        g->in[i] = there ? g->lhs->type.dim[a->lhs_spatial[i]] : 1;
        g->k[i] = there ? g->rhs->type.dim[a->rhs_spatial[i]] : 1;
        g->p[i] = there ? g->out->type.dim[a->out_spatial[i]] : 1;
        g->lhs_step[i] = there ? lhs[a->lhs_spatial[i]] : 0;
        g->rhs_step[i] = there ? rhs[a->rhs_spatial[i]] : 0;
        g->out_step[i] = there ? out[a->out_spatial[i]] : 0;
    }
}

static geometry lay_out(const dt_convolution_attr *a, const dt_view *lhs, const dt_view *rhs,
                        const dt_view *out) {
    int64_t l[DT_MAX_RANK], r[DT_MAX_RANK], o[DT_MAX_RANK],
        groups = a->feature_groups * a->batch_groups;
    geometry g = {.a = a, .lhs = lhs, .rhs = rhs, .out = out};
    dt_strides(&lhs->type, l);
    dt_strides(&rhs->type, r);
    dt_strides(&out->type, o);
    lay_out_space(&g, l, r, o);
    g.batch = out->type.dim[a->out_batch];
    g.features = rhs->type.dim[a->rhs_in];
    g.outputs = rhs->type.dim[a->rhs_out] / groups;
    g.lhs_batch = l[a->lhs_batch];
    g.lhs_feature = l[a->lhs_feature];
    g.rhs_in = r[a->rhs_in];
    g.rhs_out = r[a->rhs_out];
    g.out_batch = o[a->out_batch];
    g.out_feature = o[a->out_feature];
    return g;
}

enum { BLOCK = 32 };

/* For each of n consecutive outputs o, adds to sum[o] the sum over all features of feature *
 * weight. at: offset in lhs of the first feature; from: offset in rhs of the weight from the first
 * feature to the first output. */
static void add_features(const geometry *g, int64_t at, int64_t from, int n, double *sum) {
    for (int64_t i = 0; i < g->features; i++, at += g->lhs_feature, from += g->rhs_in) {
        if (g->out->type.dtype == DT_FLOAT32) {
            const double x = (double)((const float *)g->lhs->data)[at];
            const float *w = (const float *)g->rhs->data + from;
            for (int o = 0; o < n; o++) sum[o] += x * (double)w[o * g->rhs_out];
        } else {
            const double x = ((const double *)g->lhs->data)[at];
            const double *w = (const double *)g->rhs->data + from;
            for (int o = 0; o < n; o++) sum[o] += x * w[o * g->rhs_out];
        }
    }
}

/* Adds to sum[n], for n consecutive outputs, the products of the window at position p. at: offset
 * in lhs of the first feature of the group, at the first position of the example; from: offset in
 * rhs of the first of these outputs. */
static void add_window(const geometry *g, const int64_t p[DT_MAX_SPATIAL], int64_t at, int64_t from,
                       int n, double *sum) {
    int64_t i[DT_MAX_SPATIAL], k[DT_MAX_SPATIAL];
    for (k[0] = 0; k[0] < g->k[0]; k[0]++) {
        if ((i[0] = dt_window_at(&g->window[0], p[0], k[0], g->in[0])) < 0) continue;
        for (k[1] = 0; k[1] < g->k[1]; k[1]++) {
            if ((i[1] = dt_window_at(&g->window[1], p[1], k[1], g->in[1])) < 0) continue;
            for (k[2] = 0; k[2] < g->k[2]; k[2]++) {
                if ((i[2] = dt_window_at(&g->window[2], p[2], k[2], g->in[2])) < 0) continue;
                int64_t x = at, w = from;
                for (int d = 0; d < DT_MAX_SPATIAL; d++) {
                    x += i[d] * g->lhs_step[d];
                    w += k[d] * g->rhs_step[d];
                }
                add_features(g, x, w, n, sum);
            }
        }
    }
}

/* Computes all outputs of one group at one place of one example. */
static void convolve_place(const geometry *g, int64_t group, int64_t b,
                           const int64_t p[DT_MAX_SPATIAL]) {
    bool by_batch = g->a->batch_groups > 1;
    int64_t at = (by_batch ? group * g->batch + b : b) * g->lhs_batch +
                 (by_batch ? 0 : group * g->features * g->lhs_feature);
    int64_t to = b * g->out_batch;
    for (int d = 0; d < DT_MAX_SPATIAL; d++) to += p[d] * g->out_step[d];
    for (int64_t done = 0; done < g->outputs; done += BLOCK) {
        int n = g->outputs - done < BLOCK ? (int)(g->outputs - done) : BLOCK;
        int64_t first = group * g->outputs + done;
        double sum[BLOCK] = {0};
        add_window(g, p, at, first * g->rhs_out, n, sum);
        for (int o = 0; o < n; o++)
            dt_cell_set_double(g->out, to + (first + o) * g->out_feature, sum[o]);
    }
}

void dt_convolution_eval(const dt_convolution_attr *a, const dt_view *lhs, const dt_view *rhs,
                         const dt_view *out) {
    const geometry g = lay_out(a, lhs, rhs, out);
    int64_t p[DT_MAX_SPATIAL];
    for (int64_t b = 0; b < g.batch; b++)
        for (int64_t group = 0; group < a->feature_groups * a->batch_groups; group++)
            for (p[0] = 0; p[0] < g.p[0]; p[0]++)
                for (p[1] = 0; p[1] < g.p[1]; p[1]++)
                    for (p[2] = 0; p[2] < g.p[2]; p[2]++) convolve_place(&g, group, b, p);
}

static void eval(const dt_call *c) {
    dt_convolution_eval(c->node->attr, &c->in[0], &c->in[1], &c->out);
}

/* ---- cost, text, the row ---- */

/* The convolution as a product of matrices: a row for each place of the window, a column for each
 * output; the sum runs over the elements under the window. The product counts padding, which matrix
 * units multiply as well, but not holes; cost->flops counts neither. */
static void cost(const dt_call *c, dt_cost *cost) {
    const dt_convolution_attr *a = c->node->attr;
    const dt_type *x = &c->in[0].type, *w = &c->in[1].type;
    int64_t groups = (int64_t)a->feature_groups * a->batch_groups;
    dt_matrix_work p = {.count = (double)groups,
                        .m = x->dim[a->lhs_batch] / a->batch_groups,
                        .n = w->dim[a->rhs_out] / groups};
    double taps = 1, real = 1;
    for (int i = 0; i < a->n_spatial; i++) {
        dt_window_taps t = dt_window_count_taps(&a->window[i], w->dim[a->rhs_spatial[i]],
                                                x->dim[a->lhs_spatial[i]]);
        p.m *= t.windows;
        taps *= t.windows > 0 ? t.all / (double)t.windows : 0;
        real *= t.all > 0 ? t.real / t.all : 0;
    }
    p.k = (int64_t)ceil(taps * (double)w->dim[a->rhs_in] - 1e-9);
    *cost = dt_cost_products(c, &p, 1);
    cost->flops = 2 * p.count * (double)p.m * (double)p.n * (double)w->dim[a->rhs_in] * taps * real;
}

/* Prints one letter or digit for each dimension, such as "b01f": b for the batch, f for features, i
 * and o for the features of inputs and outputs, and the number of a spatial dimension. */
static void print_order(const char *separator, const dt_convolution_attr *a, const int8_t *spatial,
                        int first, int second, const char *letters, dt_str *out) {
    char text[DT_MAX_SPATIAL + 3] = {0};
    text[first] = letters[0];
    text[second] = letters[1];
    for (int i = 0; i < a->n_spatial; i++) text[spatial[i]] = (char)('0' + i);
    dt_str_printf(out, "%s%s", separator, text);
}

static void print(const void *attr, dt_str *out) {
    const dt_convolution_attr *a = attr;
    print_order("", a, a->lhs_spatial, a->lhs_batch, a->lhs_feature, "bf", out);
    print_order(" x ", a, a->rhs_spatial, a->rhs_in, a->rhs_out, "io", out);
    print_order(" -> ", a, a->out_spatial, a->out_batch, a->out_feature, "bf", out);
    dt_window_print(a->window, NULL, a->n_spatial, out);
    if (a->feature_groups > 1) dt_str_printf(out, " feature_groups=%d", (int)a->feature_groups);
    if (a->batch_groups > 1) dt_str_printf(out, " batch_groups=%d", (int)a->batch_groups);
}

/* Returns the meaning of each dimension of an operand as text, such as "[b, 0, 1, f]". */
static dt_hlo_text dimensions(const int8_t *at, char a, char b, int n) {
    dt_hlo_text t;
    char names[DT_MAX_SPATIAL + 2];
    size_t used = 0;
    names[at[0]] = a;
    names[at[1]] = b;
    for (int i = 0; i < n; i++) names[at[2 + i]] = (char)('0' + i);
    for (int d = 0; d < n + 2; d++)
        used += (size_t)snprintf(t.s + used, sizeof t.s - used, "%s%c", d ? ", " : "[", names[d]);
    snprintf(t.s + used, sizeof t.s - used, "]");
    return t;
}

static dt_hlo_text operand(int8_t first, int8_t second, const int8_t *spatial, const char *names,
                           int n) {
    int8_t at[DT_MAX_SPATIAL + 2] = {first, second};
    memcpy(at + 2, spatial, (size_t)n);
    return dimensions(at, names[0], names[1], n);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_convolution_attr *a = c->node->attr;
    int n = a->n_spatial;
    dt_hlo_windows w = dt_hlo_windows_of(a->window, n);
    return dt_hlo_op(c->hlo, "convolution", c->in, 2, &c->type,
                     "dimension_numbers = #stablehlo.conv<%sx%s->%s>, window_strides = %s, padding "
                     "= %s, lhs_dilation = %s, rhs_dilation = %s, "
                     "feature_group_count = %d : i64, batch_group_count = %d : i64%s",
                     operand(a->lhs_batch, a->lhs_feature, a->lhs_spatial, "bf", n).s,
                     operand(a->rhs_in, a->rhs_out, a->rhs_spatial, "io", n).s,
                     operand(a->out_batch, a->out_feature, a->out_spatial, "bf", n).s, w.stride.s,
                     w.padding.s, w.base.s, w.dilation.s, a->feature_groups, a->batch_groups,
                     dt_hlo_precision(c->hlo).s);
}

const dt_convolution_attr *dt_convolution_of(const dt_node *n) {
    return n->op == &dt_op_convolution ? n->attr : NULL;
}

const dt_op dt_op_convolution = {
    .name = "convolution",
    .n_in = 2,
    .role = DT_ROLE_PRODUCT,
    .attr = {.size = sizeof(dt_convolution_attr), .print = print},
    .linear = 3,
    .multiplied = 3,
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .segment = dt_segment_each,
    .over_devices = &dt_convolution_over_devices,
    .forms.stablehlo = stablehlo,
};
