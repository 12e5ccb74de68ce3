/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes reduce_window as pooling. ONNX needs the pooled dimensions last, after exactly two others,
 * so inputs are transposed and reshaped to that, and results back.
 *
 *     maximum   MaxPool, which ignores padding
 *     minimum   the negated maximum of the negated elements
 *     sum       AveragePool with padding counted, times the number of elements of a window
 */
#include "export/onnx/forms.h"
#include "op/window.h"

enum { LEAD = 2, MOST_POOLED = 3 };

/* Lists the dimensions that are not pooled, then the pooled ones. Returns the number of pooled
 * ones. */
static int arrange(const dt_reduce_window_attr *a, int rank, int8_t *perm) {
    int pooled = 0, n = 0;
    for (int i = 0; i < rank; i++)
        if (dt_window_is_one(&a->window[i], a->size[i])) perm[n++] = (int8_t)i;
    for (int i = 0; i < rank; i++)
        if (!dt_window_is_one(&a->window[i], a->size[i])) {
            perm[n++] = (int8_t)i;
            pooled++;
        }
    return pooled;
}

/* Returns (.., pooled) as (n, m, pooled), with exactly two dimensions before the pooled ones. */
static dt_type with_two_leading(const dt_type *t, int pooled) {
    int lead = t->rank - pooled;
    dt_type y = {.dtype = t->dtype, .rank = LEAD + pooled, .dim = {1, 1}};
    for (int i = 0; i < lead; i++) y.dim[i == 0 ? 0 : 1] *= t->dim[i];
    for (int i = 0; i < pooled; i++) y.dim[LEAD + i] = t->dim[lead + i];
    return y;
}

typedef struct pooling {
    int n;
    int64_t size[MOST_POOLED], stride[MOST_POOLED], pads[2 * MOST_POOLED], dilation[MOST_POOLED],
        elements;
} pooling;

static dt_status *read_windows(const dt_onnx_call *c, const int8_t *pooled, pooling *p) {
    const dt_reduce_window_attr *a = c->node->attr;
    p->elements = 1;
    for (int i = 0; i < p->n; i++) {
        const dt_window *w = &a->window[pooled[i]];
        p->size[i] = a->size[pooled[i]];
        p->stride[i] = w->stride;
        p->dilation[i] = w->dilation;
        p->pads[i] = w->low;
        p->pads[p->n + i] = w->high;
        p->elements *= p->size[i];
        if (w->base_dilation > 1 || w->low < 0 || w->high < 0 ||
            (a->kind == DT_REDUCE_SUM && w->dilation > 1))
            return dt_onnx_no_form(c->node, "its windows go over holes or cut off ends");
        if (w->low >= dt_dilated(p->size[i], w->dilation) ||
            w->high >= dt_dilated(p->size[i], w->dilation))
            return dt_onnx_no_form(c->node, "there are windows of nothing but padding");
    }
    return NULL;
}

static const char *put_pool(const dt_onnx_call *c, const char *x, const pooling *p) {
    const dt_reduce_window_attr *a = c->node->attr;
    dt_onnx *o = c->onnx;
    bool sum = a->kind == DT_REDUCE_SUM;
    dt_onnx_attribute last =
        sum ? DT_ONNX_NUMBER("count_include_pad", 1) : dt_onnx_list("dilations", p->dilation, p->n);
    if (a->kind == DT_REDUCE_MIN) x = dt_onnx_put1(o, "Neg", x);
    const char *y = dt_onnx_put(
        o, &(dt_onnx_node){.op = sum ? "AveragePool" : "MaxPool",
                           .in = {x},
                           .attribute = {dt_onnx_list("kernel_shape", p->size, p->n),
                                         dt_onnx_list("strides", p->stride, p->n),
                                         dt_onnx_list("pads", p->pads, 2 * p->n), last}});
    if (a->kind == DT_REDUCE_MIN) y = dt_onnx_put1(o, "Neg", y);
    return sum ? dt_onnx_put2(o, "Mul", y,
                              dt_onnx_scalar(o, c->node->type.dtype, (double)p->elements))
               : y;
}

dt_status *dt_onnx_windows(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_type *t = &c->node->type;
    int8_t perm[DT_MAX_RANK], back[DT_MAX_RANK];
    pooling p = {.n = arrange(c->node->attr, t->rank, perm)};
    dt_onnx_value x = dt_onnx_whole(c->onnx, &c->in[0]);
    *out = x;
    if (p.n == 0) return NULL;
    if (p.n > MOST_POOLED)
        return dt_onnx_no_form(c->node, "%d dimensions are pooled, at most %d can be", p.n,
                               MOST_POOLED);
    DT_TRY(read_windows(c, perm + t->rank - p.n, &p));
    dt_type arranged = *t;
    for (int i = 0; i < t->rank; i++) {
        arranged.dim[i] = t->dim[perm[i]];
        back[perm[i]] = (int8_t)i;
    }
    x = dt_onnx_transpose(c->onnx, &x, perm);
    dt_type in = with_two_leading(&x.type, p.n), pooled = with_two_leading(&arranged, p.n);
    x = dt_onnx_reshape(c->onnx, &x, &in);
    dt_onnx_value y = dt_onnx_value_of(put_pool(c, x.name, &p), &pooled);
    y = dt_onnx_reshape(c->onnx, &y, &arranged);
    *out = dt_onnx_transpose(c->onnx, &y, back);
    return NULL;
}
