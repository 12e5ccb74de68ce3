/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by oneDNN, single-threaded. Activations keep their layout (channels last); the
 * library chooses the layout of the kernel, so each convolution has a reorder: from the plain
 * kernel into that layout, or back for a kernel's gradient. The caller provides the scratch memory,
 * since the library's own belongs to the thread that created the primitive.
 *
 * Convolutions with an empty dimension or a negative padding are refused, and three further kinds:
 * those for which oneDNN has only its slow reference code, those of bfloat16 that it does not
 * compute by the matrix unit, and those for which it writes beyond the end of its scratch memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "exec/conv.h"
#include "exec/onednn.h"

enum {
    FORWARD = 64,
    DIRECT = 1,
    IMPL_NAME = 8,
    WEIGHTS_DESC = 131,
    DIFF_WEIGHTS_DESC = 132,
    SCRATCHPAD_DESC = 136,
    RANK = DT_CONV_SPACE + 3,
    MOST_VECTOR = 16 /* number of floats in a vector of AVX-512 */
};

typedef struct plan {
    const dt_dnnl_api *dnnl;
    dt_conv c;
    dt_dnnl desc, primitive, reorder;
    dt_dnnl_desc x, y, plain; /* plain describes w in the caller's layout */
    /* bytes of scratch for a copy of w with its spatial dimensions reversed; 0: no copy */
    size_t turned_bytes;
} plan;

/* ---- shapes ---- */

static int64_t span(const dt_conv *c, int i) { return (c->k[i] - 1) * c->dilation[i] + 1; }

/* Returns the number of padding elements that the last window needs behind the end of spatial
 * dimension i of x. */
static int64_t high(const dt_conv *c, int i) {
    int64_t missing = (c->y[i] - 1) * c->stride[i] + span(c, i) - c->x[i] - c->low[i];
    return missing > 0 ? missing : 0;
}

static bool is_plain(const dt_conv *c) {
    bool plain = c->images > 0 && c->in > 0 && c->out > 0;
    for (int i = 0; i < c->n; i++)
        plain &= c->low[i] >= 0 && c->x[i] > 0 && c->y[i] > 0 && c->k[i] > 0 &&
                 (c->x[i] + c->low[i] + high(c, i) - span(c, i)) / c->stride[i] + 1 == c->y[i];
    return plain;
}

/* Whether oneDNN 2.6 writes beyond the end of its scratchpad. For gradients of 1x1 kernels with
 * strides and fewer input channels than a vector has floats, it copies whole vectors into an array
 * of `in` channels. */
static bool overflows(const dt_conv *c) {
    bool one = c->kind == DT_CONV_WEIGHTS && c->in < MOST_VECTOR, strides = false;
    for (int i = 0; i < c->n; i++) {
        one &= c->k[i] == 1;
        strides |= c->stride[i] > 1;
    }
    return one && strides;
}

static int type_of(dt_gemm_float f) { return f == DT_GEMM_BF16 ? DT_DNNL_BF16 : DT_DNNL_F32; }

static bool is_bf16(const dt_conv *c) { return c->x_is == DT_GEMM_BF16 || c->y_is == DT_GEMM_BF16; }

/* Describes x if `of_x` is set, else y, as (images, channels, space...). In memory channels are
 * last. */
static bool describe_image(const dt_dnnl_api *a, const dt_conv *c, bool of_x, dt_dnnl_desc *out) {
    const int64_t channels = c->groups * (of_x ? c->in : c->out), *size = of_x ? c->x : c->y;
    int64_t dims[RANK] = {c->images, channels}, strides[RANK] = {0, 1}, step = channels;
    for (int i = c->n - 1; i >= 0; i--) {
        dims[2 + i] = size[i];
        strides[2 + i] = step;
        step *= size[i];
    }
    strides[0] = step;
    return dt_dnnl_describe(a, type_of(of_x ? c->x_is : c->y_is), c->n + 2, dims, strides, out);
}

/* Descriptions of a kernel, which has the dimensions groups (if there are several), outputs, inputs
 * and space: in the caller's layout; packed for reading, which is bfloat16 if the other operand is;
 * or packed as a gradient, which is float32. */
typedef enum form { AS_IT_LIES, PACKED_READ, PACKED_GRADIENT } form;

static bool describe_kernel(const dt_dnnl_api *a, const dt_conv *c, form f, dt_dnnl_desc *out) {
    int64_t dims[RANK], strides[RANK];
    int n = 0;
    if (c->groups > 1) {
        dims[n] = c->groups;
        strides[n++] = c->w_group;
    }
    dims[n] = c->out, strides[n++] = c->w_out;
    dims[n] = c->in, strides[n++] = c->w_in;
    for (int i = 0; i < c->n; i++) dims[n] = c->k[i], strides[n++] = c->w_k[i];
    const int type = f == AS_IT_LIES                  ? type_of(c->w_is)
                     : f == PACKED_READ && is_bf16(c) ? DT_DNNL_BF16
                                                      : DT_DNNL_F32;
    return dt_dnnl_describe(a, type, n, dims, f == AS_IT_LIES ? strides : NULL, out);
}

/* ---- primitives ---- */

typedef struct geometry {
    int64_t stride[DT_CONV_SPACE], holes[DT_CONV_SPACE], low[DT_CONV_SPACE], high[DT_CONV_SPACE];
} geometry;

static geometry geometry_of(const dt_conv *c) {
    geometry g = {0};
    for (int i = 0; i < c->n; i++) {
        g.stride[i] = c->stride[i];
        g.holes[i] = c->dilation[i] - 1;
        g.low[i] = c->low[i];
        g.high[i] = high(c, i);
    }
    return g;
}

static bool describe_forward(const plan *p, const dt_dnnl_desc *w, const geometry *g,
                             dt_dnnl *out) {
    const dt_dnnl_api *a = p->dnnl;
    if (a->forward_3)
        return !a->forward_3(out, a->engine, FORWARD, DIRECT, p->x.h, w->h, NULL, p->y.h, g->stride,
                             g->holes, g->low, g->high, a->own_scratchpad);
    dt_dnnl_op *op = dt_alloc(sizeof *op);
    bool ok = !a->forward_2(op->bytes, FORWARD, DIRECT, p->x.bytes, w->bytes, NULL, p->y.bytes,
                            g->stride, g->holes, g->low, g->high) &&
              !a->primitive_desc_2(out, op->bytes, a->own_scratchpad, a->engine, NULL);
    free(op);
    return ok;
}

static bool describe_data(const plan *p, const dt_dnnl_desc *w, const geometry *g, dt_dnnl hint,
                          dt_dnnl *out) {
    const dt_dnnl_api *a = p->dnnl;
    if (a->data_3)
        return !a->data_3(out, a->engine, DIRECT, p->x.h, w->h, p->y.h, g->stride, g->holes, g->low,
                          g->high, hint, a->own_scratchpad);
    dt_dnnl_op *op = dt_alloc(sizeof *op);
    bool ok = !a->data_2(op->bytes, DIRECT, p->x.bytes, w->bytes, p->y.bytes, g->stride, g->holes,
                         g->low, g->high) &&
              !a->primitive_desc_2(out, op->bytes, a->own_scratchpad, a->engine, hint);
    free(op);
    return ok;
}

static bool describe_weights(const plan *p, const dt_dnnl_desc *w, const geometry *g, dt_dnnl hint,
                             dt_dnnl *out) {
    const dt_dnnl_api *a = p->dnnl;
    if (a->weights_3)
        return !a->weights_3(out, a->engine, DIRECT, p->x.h, w->h, NULL, p->y.h, g->stride,
                             g->holes, g->low, g->high, hint, a->own_scratchpad);
    dt_dnnl_op *op = dt_alloc(sizeof *op);
    bool ok = !a->weights_2(op->bytes, DIRECT, p->x.bytes, w->bytes, NULL, p->y.bytes, g->stride,
                            g->holes, g->low, g->high) &&
              !a->primitive_desc_2(out, op->bytes, a->own_scratchpad, a->engine, hint);
    free(op);
    return ok;
}

static bool is_fast(const plan *p) {
    const char *name = "";
    if (p->dnnl->query(p->desc, IMPL_NAME, 0, &name)) return false;
    return is_bf16(&p->c) ? strstr(name, "amx") != NULL : strstr(name, "ref") == NULL;
}

/* Describes and creates p->primitive. Returns false if oneDNN refuses it or has no fast code for
 * it. oneDNN needs a description of the forward primitive to describe a backward one. */
static bool describe_primitive(plan *p) {
    const geometry g = geometry_of(&p->c);
    dt_dnnl_desc w, gradient;
    dt_dnnl hint = NULL;
    bool ok = describe_kernel(p->dnnl, &p->c, PACKED_READ, &w) &&
              describe_kernel(p->dnnl, &p->c, PACKED_GRADIENT, &gradient) &&
              describe_forward(p, &w, &g, p->c.kind == DT_CONV_FORWARD ? &p->desc : &hint);

    if (ok && p->c.kind == DT_CONV_DATA) ok = describe_data(p, &w, &g, hint, &p->desc);
    if (ok && p->c.kind == DT_CONV_WEIGHTS) ok = describe_weights(p, &gradient, &g, hint, &p->desc);
    if (hint) p->dnnl->primitive_desc_destroy(hint);
    dt_dnnl_forget(p->dnnl, &w);
    dt_dnnl_forget(p->dnnl, &gradient);
    return ok && is_fast(p) && !p->dnnl->primitive_create(&p->primitive, p->desc);
}

static const void *packed_desc(const plan *p) {
    return p->dnnl->query_desc(p->desc,
                               p->c.kind == DT_CONV_WEIGHTS ? DIFF_WEIGHTS_DESC : WEIGHTS_DESC, 0);
}

static bool make_reorder(plan *p) {
    const dt_dnnl_api *a = p->dnnl;
    const void *plain = dt_dnnl_pointer(a, &p->plain), *packed = packed_desc(p);
    bool back = p->c.kind == DT_CONV_WEIGHTS;
    dt_dnnl desc = NULL;
    bool ok = !a->reorder_desc(&desc, back ? packed : plain, a->engine, back ? plain : packed,
                               a->engine, a->own_scratchpad) &&
              !a->primitive_create(&p->reorder, desc);
    if (desc) a->primitive_desc_destroy(desc);
    return ok;
}

/* ---- plans ---- */

static void release(dt_conv_plan *out) {
    plan *p = out->state;

    if (!p) return;
    if (p->reorder) p->dnnl->primitive_destroy(p->reorder);
    if (p->primitive) p->dnnl->primitive_destroy(p->primitive);
    if (p->desc) p->dnnl->primitive_desc_destroy(p->desc);
    dt_dnnl_forget(p->dnnl, &p->x);
    dt_dnnl_forget(p->dnnl, &p->y);
    dt_dnnl_forget(p->dnnl, &p->plain);
    free(p);
    out->state = NULL;
}

static size_t scratchpad_bytes(const plan *p) {
    size_t bytes = p->dnnl->desc_size(p->dnnl->query_desc(p->desc, SCRATCHPAD_DESC, 0));
    return (size_t)dt_aligned((int64_t)bytes);
}

static size_t element_bytes(const dt_conv *c) {
    return c->w_is == DT_GEMM_BF16 ? sizeof(uint16_t) : sizeof(float);
}

static size_t kernel_bytes(const dt_conv *c) {
    int64_t n = c->groups * c->in * c->out;
    for (int i = 0; i < c->n; i++) n *= c->k[i];
    return (size_t)n * element_bytes(c);
}

static bool make_plan(const dt_gemm_library *l, const dt_conv *c, dt_conv_plan *out) {
    plan *p = dt_alloc(sizeof *p);

    p->dnnl = l->state;
    p->c = *c;
    *out = (dt_conv_plan){.state = p};
    if (!is_plain(c) || overflows(c) || !describe_image(p->dnnl, c, true, &p->x) ||
        !describe_image(p->dnnl, c, false, &p->y) ||
        !describe_kernel(p->dnnl, c, AS_IT_LIES, &p->plain) || !describe_primitive(p) ||
        !make_reorder(p)) {
        release(out);
        return false;
    }
    size_t packed = (size_t)dt_aligned((int64_t)p->dnnl->desc_size(packed_desc(p))),
           turned = c->turned ? (size_t)dt_aligned((int64_t)kernel_bytes(c)) : 0;
    p->turned_bytes = turned;
    out->packed = c->kind == DT_CONV_WEIGHTS ? 0 : packed;
    out->scratch = scratchpad_bytes(p) + (c->kind == DT_CONV_WEIGHTS ? packed : turned);
    return true;
}

/* ---- running ---- */

static void execute(const plan *p, dt_dnnl primitive, dt_dnnl_arg *arg, int n) {
    p->dnnl->execute(primitive, p->dnnl->stream, n, arg);
    for (int i = 0; i < n; i++) p->dnnl->memory_destroy(arg[i].memory);
}

/* Returns a memory object of oneDNN for the data. It is made for each run, because many threads run
 * a plan at a time. */
static dt_dnnl memory(const plan *p, const void *desc, const void *data) {
    dt_dnnl m = NULL;
    p->dnnl->memory_create(&m, desc, p->dnnl->engine, (void *)data);
    return m;
}

static void reorder(const plan *p, const void *from, void *to) {
    const void *plain = dt_dnnl_pointer(p->dnnl, &p->plain), *packed = packed_desc(p);
    bool back = p->c.kind == DT_CONV_WEIGHTS;
    dt_dnnl_arg arg[2] = {{DT_DNNL_SRC, memory(p, back ? packed : plain, from)},
                          {DT_DNNL_DST, memory(p, back ? plain : packed, to)}};
    execute(p, p->reorder, arg, 2);
}

/* Copies a kernel with its spatial dimensions reversed. They come first in memory, so this reverses
 * the order of the (in, out) matrices. */
static void turn(const dt_conv *c, const char *w, char *to) {
    int64_t matrix = c->in * c->out * c->groups * (int64_t)element_bytes(c), n = 1;
    for (int i = 0; i < c->n; i++) n *= c->k[i];
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * matrix, w + (n - 1 - i) * matrix, (size_t)matrix);
}

static void pack(const dt_conv_plan *q, const void *w, void *packed, void *scratch) {
    const plan *p = q->state;
    if (p->c.turned) {
        turn(&p->c, w, scratch);
        w = scratch;
    }
    reorder(p, w, packed);
}

static void run(const dt_conv_plan *q, const void *a, const void *b, void *c, void *scratch) {
    static const int what[3][3] = {
        [DT_CONV_FORWARD] = {DT_DNNL_SRC, DT_DNNL_WEIGHTS, DT_DNNL_DST},
        [DT_CONV_DATA] = {DT_DNNL_DIFF_DST, DT_DNNL_WEIGHTS, DT_DNNL_DIFF_SRC},
        [DT_CONV_WEIGHTS] = {DT_DNNL_SRC, DT_DNNL_DIFF_DST, DT_DNNL_DIFF_WEIGHTS},
    };
    const plan *p = q->state;
    const void *x = dt_dnnl_pointer(p->dnnl, &p->x), *y = dt_dnnl_pointer(p->dnnl, &p->y),
               *w = packed_desc(p);
    const void *desc[3][3] = {{x, w, y}, {y, w, x}, {x, y, w}};
    bool gradient = p->c.kind == DT_CONV_WEIGHTS;
    void *pad = gradient ? (char *)scratch + (q->scratch - scratchpad_bytes(p)) : scratch,
         *to = gradient ? scratch : c;
    dt_dnnl_arg arg[4] = {[3] = {DT_DNNL_SCRATCHPAD,
                                 memory(p, p->dnnl->query_desc(p->desc, SCRATCHPAD_DESC, 0), pad)}};

    for (int i = 0; i < 3; i++)
        arg[i] = (dt_dnnl_arg){what[p->c.kind][i],
                               memory(p, desc[p->c.kind][i], (const void *[]){a, b, to}[i])};
    execute(p, p->primitive, arg, 4);
    if (gradient) reorder(p, scratch, c);
}

const dt_conv_calls dt_conv_onednn = {
    .plan = make_plan, .pack = pack, .run = run, .release = release};
