/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradients of convolution are convolutions.
 *
 *     of lhs   dy, stretched by the stride, goes under the kernel turned round (reversed, its
 *              inputs and outputs exchanged): every element of lhs meets all windows that lay over
 *              it
 *     of rhs   lhs is gone over by dy, features being taken for the batch and the batch for
 *              features: the sum runs over examples and places. Strides and dilations of the window
 *              change places
 *
 * Groups of features become groups of the batch in the second, and the other way round. In the
 * first, the kernel's groups move from its outputs to its inputs.
 */
#include "op/convolution.h"

#include "op/shapes.h"
#include "op/window.h"

/* Dimension `from` of x, (G, n), loses its major part G to dimension `into`, which becomes (G,
 * m). */
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

/* The kernel for the gradient of lhs: reversed, with inputs and outputs exchanged by the order
 * of dimensions where possible. */
static dt_value turn_round(const dt_grad *g, const dt_convolution_attr *a) {
    dt_value w =
        move_groups(g->in[1], (int64_t)a->feature_groups * a->batch_groups, a->rhs_out, a->rhs_in);
    uint32_t spatial = 0;
    for (int i = 0; i < a->n_spatial; i++) spatial |= 1u << a->rhs_spatial[i];
    return dt_reverse(w, spatial);
}

/* Inputs and outputs of the kernel change places in memory too, so that outputs stay where they
 * were: products like them last. */
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

void dt_convolution_grad(dt_grad *g) {
    const dt_convolution_attr *a = g->node->attr;
    if (g->wants[0]) g->din[0] = grad_lhs(g, a);
    if (g->wants[1]) g->din[1] = grad_rhs(g, a);
}
