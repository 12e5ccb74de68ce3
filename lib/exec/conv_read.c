/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines which of the libraries' three convolutions a node is. In a graph all three are
 * convolutions, which differ in their order of dimensions and their window.
 *
 *     b01f x 01io -> b01f              FORWARD; also the gradient of lhs where the stride is 1,
 *                                      with the kernel reversed
 *     the same, lhs with holes         DATA: the gradient of lhs of a convolution with strides
 *     f01b x b01o -> i01o              WEIGHTS: the features take the place of the batch, and the
 *                                      batch is summed over
 */
#include "exec/convolution.h"
#include "op/cells.h"
#include "op/segment.h"

const dt_convolution_attr *dt_convolution_attr_of(const dt_node *n) {
    return dt_cut_of(n) >= 0 ? &((const dt_segment_attr *)n->attr)->convolution : n->attr;
}

dt_type dt_convolution_entry(const dt_exec *x, int node) {
    dt_type t = x->type[node];
    return dt_cut_of(&x->g->node[node]) >= 0 ? dt_type_of(t.dtype, t.rank - 1, t.dim + 1) : t;
}

void dt_convolution_piece(const dt_exec *x, int node, int unit, int64_t *lo, int64_t *hi) {
    const dt_node *n = &x->g->node[node];
    int64_t rows = x->g->node[n->in[0]].type.dim[0];
    if (dt_cut_of(n) < 0) {
        dt_piece_rows(x->p, node, unit, lo, hi);
        return;
    }
    dt_segment_piece(x->p->batch, dt_segment_count(n), unit, lo, hi);
    *lo *= -rows; /* dimension 0 of the input is -k if it has k rows for each example */
    *hi *= -rows;
}

static bool in_order(const int8_t *spatial, int n) {
    bool all = true;
    for (int i = 0; i < n; i++) all &= spatial[i] == i + 1;
    return all;
}

typedef struct operands {
    const dt_convolution_attr *a;
    const dt_type *lhs, *rhs, *out;
} operands;

/* Describes a FORWARD convolution: lhs and out are images, and rhs is the kernel. */
static void read_forward(const operands *o, const int64_t *step, dt_conv *c) {
    const dt_convolution_attr *a = o->a;
    c->kind = DT_CONV_FORWARD;
    c->in = o->rhs->dim[a->rhs_in];
    c->out = o->rhs->dim[a->rhs_out] / c->groups;
    c->w_in = step[a->rhs_in];
    c->w_out = step[a->rhs_out];
    c->w_group = c->out * c->w_out;
    for (int i = 0; i < a->n_spatial; i++) {
        c->x[i] = o->lhs->dim[a->lhs_spatial[i]];
        c->y[i] = o->out->dim[a->out_spatial[i]];
        c->stride[i] = a->window[i].stride;
        c->low[i] = a->window[i].low;
    }
}

/* Describes a DATA convolution: out is the gradient of the image and lhs that of the result; rhs
 * has inputs and outputs exchanged, and its spatial dimensions are reversed. Returns false if the
 * window has strides, or if the spatial dimensions of rhs are not its first ones. */
static bool read_data(const operands *o, const int64_t *step, dt_conv *c) {
    const dt_convolution_attr *a = o->a;
    bool plain = true;
    c->kind = DT_CONV_DATA;
    c->turned = true;
    c->in = o->rhs->dim[a->rhs_out] / c->groups;
    c->out = o->rhs->dim[a->rhs_in];
    c->w_in = step[a->rhs_out];
    c->w_out = step[a->rhs_in];
    c->w_group = c->in * c->w_in;
    for (int i = 0; i < a->n_spatial; i++) {
        c->x[i] = o->out->dim[a->out_spatial[i]];
        c->y[i] = o->lhs->dim[a->lhs_spatial[i]];
        c->stride[i] = a->window[i].base_dilation;
        c->low[i] = (c->k[i] - 1) * c->dilation[i] - a->window[i].low;
        plain &= a->window[i].stride == 1 && a->rhs_spatial[i] == i;
    }
    return plain;
}

static bool read_images(const operands *o, dt_conv *c) {
    const dt_convolution_attr *a = o->a;
    int64_t step[DT_MAX_RANK];
    bool holes = false;
    if (a->lhs_batch != 0 || a->out_batch != 0 || a->lhs_feature != a->n_spatial + 1 ||
        a->out_feature != a->n_spatial + 1 || a->batch_groups != 1 ||
        !in_order(a->lhs_spatial, a->n_spatial) || !in_order(a->out_spatial, a->n_spatial))
        return false;
    dt_strides(o->rhs, step);
    c->groups = a->feature_groups;
    for (int i = 0; i < a->n_spatial; i++) {
        c->k[i] = o->rhs->dim[a->rhs_spatial[i]];
        c->w_k[i] = step[a->rhs_spatial[i]];
        c->dilation[i] = a->window[i].dilation;
        holes |= a->window[i].base_dilation > 1;
    }
    if (holes) return read_data(o, step, c);
    read_forward(o, step, c);
    return true;
}

static bool read_weights(const operands *o, dt_conv *c) {
    const dt_convolution_attr *a = o->a;
    int64_t step[DT_MAX_RANK];
    bool plain = a->lhs_feature == 0 && a->rhs_in == 0 && a->lhs_batch == a->n_spatial + 1 &&
                 a->rhs_out == a->n_spatial + 1 && a->feature_groups == 1 &&
                 in_order(a->lhs_spatial, a->n_spatial) && in_order(a->rhs_spatial, a->n_spatial);
    if (!plain) return false;
    dt_strides(o->out, step);
    c->kind = DT_CONV_WEIGHTS;
    c->groups = a->batch_groups;
    c->in = o->out->dim[a->out_batch];
    c->out = o->out->dim[a->out_feature] / c->groups;
    c->w_in = step[a->out_batch];
    c->w_out = step[a->out_feature];
    c->w_group = c->out * c->w_out;
    for (int i = 0; i < a->n_spatial; i++) {
        c->x[i] = o->lhs->dim[a->lhs_spatial[i]];
        c->y[i] = o->rhs->dim[a->rhs_spatial[i]];
        c->k[i] = o->out->dim[a->out_spatial[i]];
        c->w_k[i] = step[a->out_spatial[i]];
        c->stride[i] = a->window[i].dilation;
        c->dilation[i] = a->window[i].stride;
        c->low[i] = a->window[i].low;
        plain &= a->window[i].base_dilation == 1;
    }
    return plain;
}

static void note_elements(const operands *o, dt_conv *c) {
    const dt_gemm_float lhs = dt_gemm_float_of(o->lhs->dtype),
                        rhs = dt_gemm_float_of(o->rhs->dtype),
                        out = dt_gemm_float_of(o->out->dtype);
    c->x_is = c->kind == DT_CONV_DATA ? out : lhs;
    c->y_is = c->kind == DT_CONV_DATA ? lhs : c->kind == DT_CONV_WEIGHTS ? rhs : out;
    c->w_is = c->kind == DT_CONV_WEIGHTS ? out : rhs;
}

bool dt_conv_read(const dt_exec *x, int node, int64_t images, dt_conv *out) {
    const dt_node *n = &x->g->node[node];
    const dt_convolution_attr *a = dt_convolution_attr_of(n);
    dt_type entry = dt_convolution_entry(x, node);
    const operands o = {a, &x->type[n->in[0]], &x->type[n->in[1]], &entry};
    *out = (dt_conv){.n = a->n_spatial, .images = images};
    if (!read_images(&o, out) && !read_weights(&o, out)) return false;
    note_elements(&o, out);
    return true;
}
