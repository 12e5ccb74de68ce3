/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products. MatMul needs operands (batch.., rows, contracted) and (batch.., contracted, columns).
 * Conv needs (batch, features, spatial..) and (outputs, inputs, spatial..). Transpose and Reshape
 * bring operands into this form, and the result back. Those that would change nothing are left out.
 */
#include "export/onnx/forms.h"
#include "op/dot_general.h"

#include <string.h>

/* ---- dot_general ---- */

/* An operand of a product: its dimensions in the order in which MatMul needs them, and how many of
 * them are batch, free and contracted. */
typedef struct operand {
    int8_t perm[DT_MAX_RANK];
    int n_batch, n_free, n_contract;
} operand;

static void add_free(operand *p, int rank, const int8_t *batch, const int8_t *contract) {
    for (int d = 0; d < rank; d++) {
        bool used = false;
        for (int i = 0; i < p->n_batch; i++) used |= batch[i] == d;
        for (int i = 0; i < p->n_contract; i++) used |= contract[i] == d;
        if (!used) p->perm[p->n_batch + p->n_free++] = (int8_t)d;
    }
}

/* Arranges the dimensions of an operand: batch, free, contracted for the left one; batch,
 * contracted, free for the right one. */
static operand operand_of(const dt_dot_attr *a, int rank, bool right) {
    const int8_t *batch = right ? a->rhs_batch : a->lhs_batch,
                 *contract = right ? a->rhs_contract : a->lhs_contract;
    operand p = {.n_batch = a->n_batch, .n_contract = a->n_contract};
    memcpy(p.perm, batch, (size_t)a->n_batch);
    add_free(&p, rank, batch, contract);
    if (right) memmove(p.perm + p.n_batch + p.n_contract, p.perm + p.n_batch, (size_t)p.n_free);
    memcpy(p.perm + p.n_batch + (right ? 0 : p.n_free), contract, (size_t)p.n_contract);
    return p;
}

static int64_t product_of(const int64_t *dim, int n) {
    int64_t p = 1;
    for (int i = 0; i < n; i++) p *= dim[i];
    return p;
}

/* Transposes x by p->perm, keeps the batch dimensions, joins the next n_first dimensions to one,
 * and all later ones to another: (batch.., n, m). */
static dt_onnx_value as_matrix(dt_onnx *o, const dt_onnx_value *x, const operand *p, int n_first) {
    dt_onnx_value y = dt_onnx_transpose(o, x, p->perm);
    dt_type t = y.type;
    t.rank = p->n_batch + 2;
    t.dim[p->n_batch] = product_of(y.type.dim + p->n_batch, n_first);
    t.dim[p->n_batch + 1] =
        product_of(y.type.dim + p->n_batch + n_first, y.type.rank - p->n_batch - n_first);
    memset(t.dim + t.rank, 0, (size_t)(DT_MAX_RANK - t.rank) * sizeof *t.dim);
    return dt_onnx_reshape(o, &y, &t);
}

static dt_type matrix_of(const dt_type *a, const dt_type *b) {
    dt_type t = *a;
    t.dim[t.rank - 1] = b->dim[b->rank - 1];
    return t;
}

dt_status *dt_onnx_dot(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_dot_attr *a = c->node->attr;
    dt_onnx *o = c->onnx;
    dt_onnx_value x = dt_onnx_whole(o, &c->in[0]), w = dt_onnx_whole(o, &c->in[1]);
    operand left = operand_of(a, x.type.rank, false), right = operand_of(a, w.type.rank, true);
    if (a->n_batch + 2 > DT_MAX_RANK)
        return dt_onnx_no_form(c->node, "%d dimensions in step are too many", a->n_batch);
    /* MatMul multiplies an operand (.., rows, contracted) by a single matrix, so the left operand
     * need not be reshaped */
    bool keeps_rows = a->n_batch == 0 && a->n_contract == 1 && left.n_free > 0;
    x = keeps_rows ? dt_onnx_transpose(o, &x, left.perm) : as_matrix(o, &x, &left, left.n_free);
    w = as_matrix(o, &w, &right, right.n_contract);
    dt_type t = matrix_of(&x.type, &w.type);
    dt_onnx_value y = dt_onnx_value_of(dt_onnx_put2(o, c->name, x.name, w.name), &t);
    if (!a->in_order) {
        *out = dt_onnx_reshape(o, &y, &c->node->type);
        return NULL;
    }
    int8_t perm[DT_MAX_RANK];
    const dt_type plain = dt_dot_plain(&c->in[0].type, &c->in[1].type, a, &c->node->type, perm);
    y = dt_onnx_reshape(o, &y, &plain);
    *out = dt_onnx_transpose(o, &y, perm);
    return NULL;
}

/* ---- convolution ---- */

static void set_perm(int8_t *perm, int first, int second, const int8_t *spatial, int n) {
    perm[0] = (int8_t)first;
    perm[1] = (int8_t)second;
    memcpy(perm + 2, spatial, (size_t)n);
}

/* Inverts a permutation of dimensions. */
static void undo(int8_t *perm, int n) {
    int8_t back[DT_MAX_RANK];
    for (int i = 0; i < n; i++) back[perm[i]] = (int8_t)i;
    memcpy(perm, back, (size_t)n);
}

/* Dilates the input, which Conv cannot do, and pads it along the dimensions where low or high is
 * negative, which Conv cannot do either. Along the others Conv pads: sets pads, [2 * n_spatial], to
 * the elements that it adds at the beginning of each spatial dimension, then at the ends. */
static dt_onnx_value prepare(dt_onnx *o, const dt_onnx_value *x, const dt_convolution_attr *a,
                             int64_t *pads) {
    int64_t low[DT_MAX_RANK] = {0}, high[DT_MAX_RANK] = {0};
    dt_onnx_value y = *x;
    for (int i = 0; i < a->n_spatial; i++) {
        const dt_window *w = &a->window[i];
        bool adds = w->low >= 0 && w->high >= 0;
        y = dt_onnx_spread(o, &y, 2 + i, w->base_dilation - 1, 0);
        low[2 + i] = adds ? 0 : w->low;
        high[2 + i] = adds ? 0 : w->high;
        pads[i] = adds ? w->low : 0;
        pads[a->n_spatial + i] = adds ? w->high : 0;
    }
    return dt_onnx_pad(o, &y, low, high, 0);
}

static const char *put_conv(const dt_onnx_call *c, const char *x, const char *w,
                            const int64_t *pads) {
    const dt_convolution_attr *a = c->node->attr;
    int64_t stride[DT_MAX_SPATIAL], dilation[DT_MAX_SPATIAL];
    int n = a->n_spatial;
    for (int i = 0; i < n; i++) {
        stride[i] = a->window[i].stride;
        dilation[i] = a->window[i].dilation;
    }
    return dt_onnx_put(c->onnx,
                       &(dt_onnx_node){.op = c->name,
                                       .in = {x, w},
                                       .attribute = {DT_ONNX_NUMBER("group", a->feature_groups),
                                                     dt_onnx_list("strides", stride, n),
                                                     dt_onnx_list("dilations", dilation, n),
                                                     dt_onnx_list("pads", pads, 2 * n)}});
}

dt_status *dt_onnx_convolution(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_convolution_attr *a = c->node->attr;
    int8_t of_x[DT_MAX_RANK], of_w[DT_MAX_RANK], of_y[DT_MAX_RANK];
    int64_t pads[2 * DT_MAX_SPATIAL];
    if (a->batch_groups > 1) return dt_onnx_no_form(c->node, "the batch falls into groups");
    set_perm(of_x, a->lhs_batch, a->lhs_feature, a->lhs_spatial, a->n_spatial);
    set_perm(of_w, a->rhs_out, a->rhs_in, a->rhs_spatial, a->n_spatial);
    set_perm(of_y, a->out_batch, a->out_feature, a->out_spatial, a->n_spatial);
    dt_onnx_value x = dt_onnx_whole(c->onnx, &c->in[0]), w = dt_onnx_whole(c->onnx, &c->in[1]);
    x = dt_onnx_transpose(c->onnx, &x, of_x);
    w = dt_onnx_transpose(c->onnx, &w, of_w);
    x = prepare(c->onnx, &x, a, pads);
    dt_type t = c->node->type;
    for (int i = 0; i < t.rank; i++) t.dim[i] = c->node->type.dim[of_y[i]];
    undo(of_y, t.rank);
    dt_onnx_value y = dt_onnx_value_of(put_conv(c, x.name, w.name, pads), &t);
    *out = dt_onnx_transpose(c->onnx, &y, of_y);
    return NULL;
}
