/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convolution, and the segment_convolution into which a pass has divided a kernel's gradient
 * (pass/tiles.c): computed by the engine's library or by our own loops (conv.h) if these are fast
 * for it, otherwise as matrix products or by the op's eval. A piece is a range of examples; a piece
 * of a kernel's gradient is the partial sum over a range of examples.
 *
 * Libraries and loops need kernels in packed form. In each run, each lane packs its own copy at its
 * first piece of a step, so no lane waits for another.
 */
#include <string.h>

#include "exec/convolution.h"
#include "op/cells.h"
#include "op/convolution.h"
#include "op/segment.h"

enum { HEADER = 64 };

/* The plans of a node. Arrays [2]: all pieces have at most two different numbers of images, and
 * there are plans for each. */
typedef struct by_library {
    const dt_conv_calls *calls;
    dt_conv_kind kind;
    int units, n_sizes;
    int64_t examples, images[2], lhs_row, rhs_row, out_row;
    dt_conv_plan plan[2];
    dt_conv_sum sum[2]; /* plans for the gradient of a kernel, used in place of `plan` */
    size_t packed_at[2];
} by_library;

typedef enum way { BY_EVAL, BY_PRODUCTS, BY_LIBRARY } way;

typedef struct convolution {
    way way;
    by_library library;
    void *products;
} convolution;

/* ---- nodes that these kernels compute ---- */

static bool has_products(const dt_convolution_attr *a) {
    int last = a->n_spatial + 1;
    return a->feature_groups == 1 && a->batch_groups == 1 && a->rhs_out == last &&
           a->out_feature == last;
}

static bool has_groups(const dt_convolution_attr *a) {
    return a->feature_groups > 1 || a->batch_groups > 1;
}

static bool fits(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_convolution_attr *a = dt_convolution_attr_of(n);
    int cut = dt_cut_of(n);
    return n->type.dtype == DT_FLOAT32 && (has_products(a) || has_groups(a)) &&
           (cut < 0 || cut == DT_CUT_TILES);
}

/* Whether `fits`, and examples are contiguous in lhs and in the result, so that a piece is a range
 * of them. */
static bool fits_rows(const dt_graph *g, int node) {
    const dt_convolution_attr *a = g->node[node].attr;
    return fits(g, node) && a->lhs_batch == 0 && a->out_batch == 0;
}

/* ---- by the library ---- */

static int64_t row_of(const dt_type *t) {
    int64_t n = 1;
    for (int d = 1; d < t->rank; d++) n *= t->dim[d];
    return n;
}

static void note_size(by_library *v, int64_t images) {
    if (v->n_sizes == 0 || (images != v->images[0] && v->n_sizes == 1))
        v->images[v->n_sizes++] = images;
}

/* Finds the examples that a piece reads. The gradient of a kernel as a whole is a single piece,
 * which reads all examples. */
static void piece_of(const dt_exec *x, int node, const by_library *v, int unit, int64_t *lo,
                     int64_t *hi) {
    *lo = 0;
    *hi = v->examples;
    if (v->units > 1 || v->kind != DT_CONV_WEIGHTS) dt_convolution_piece(x, node, unit, lo, hi);
}

static bool plan_size(by_library *v, const dt_exec *x, const dt_conv *c, int i) {
    if (v->kind == DT_CONV_WEIGHTS) return dt_conv_sum_plan(x, c, &v->sum[i]);
    return c->images == 0 || v->calls->plan(&x->engine->gemm, c, &v->plan[i]);
}

static void release_sizes(by_library *v) {
    for (int i = 0; i < v->n_sizes; i++) {
        v->calls->release(&v->plan[i]);
        dt_conv_sum_release(&v->sum[i]);
    }
}

static bool plan_sizes(by_library *v, const dt_exec *x, int node) {
    bool ok = true;
    for (int u = 0; u < v->units; u++) {
        int64_t lo, hi;
        piece_of(x, node, v, u, &lo, &hi);
        note_size(v, hi - lo);
    }
    for (int i = 0; i < v->n_sizes && ok; i++) {
        dt_conv c;
        ok = dt_conv_read(x, node, v->images[i], &c) && plan_size(v, x, &c, i);
    }
    if (!ok) release_sizes(v);
    return ok;
}

static bool plan_library(const dt_exec *x, int node, by_library *v) {
    const dt_node *n = &x->g->node[node];
    dt_conv c;
    v->calls = x->engine->gemm.conv;
    if (!v->calls || !dt_conv_read(x, node, 1, &c)) return false;
    v->kind = c.kind;
    v->units = x->p->piece[node].units;
    v->examples = x->type[n->in[0]].dim[0];
    v->lhs_row = row_of(&x->type[n->in[0]]);
    v->rhs_row = row_of(&x->type[n->in[1]]);
    v->out_row = row_of(&x->type[node]);
    return plan_sizes(v, x, node);
}

/* Leaves operands and result as they are stored if both operands are bfloat16 and the library can
 * compute the convolution with these. Otherwise stores all three as float32. */
static void narrow(dt_exec *x, int node) {
    const int *in = x->g->node[node].in;
    by_library v = {0};
    if (x->engine->gemm.bf16 && x->type[in[0]].dtype == DT_BFLOAT16 &&
        x->type[in[1]].dtype == DT_BFLOAT16 && plan_library(x, node, &v)) {
        release_sizes(&v);
        return;
    }
    dt_store_wide(x, in[0]);
    dt_store_wide(x, in[1]);
    dt_store_wide(x, node);
}

static bool prepare_library(const dt_exec *x, int node, by_library *v, dt_prepared *out) {
    if (!plan_library(x, node, v)) return false;
    out->kept = HEADER;
    for (int i = 0; i < v->n_sizes; i++) {
        v->packed_at[i] = out->kept;
        out->kept += v->plan[i].packed;
        const size_t scratch = v->plan[i].scratch + v->sum[i].scratch;
        out->scratch = scratch > out->scratch ? scratch : out->scratch;
    }
    return true;
}

/* Returns this lane's packed kernel for the plan `which`, and packs w first if the lane has not
 * done so in this run. The first bytes of c->kept are the numbers of the runs in which kernels were
 * packed. */
static const void *packed(const dt_kernel_call *c, const by_library *v, int which, const void *w) {
    uint32_t *run = (uint32_t *)c->kept + which;
    void *to = c->kept + v->packed_at[which];
    if (*run != c->x->run) v->calls->pack(&v->plan[which], w, to, c->scratch);
    *run = c->x->run;
    return to;
}

static char *row_at(const dt_exec *x, int node, int64_t element) {
    return (char *)x->at[node] + element * dt_element_bytes(x, node);
}

static void run_library(const dt_kernel_call *c, const by_library *v) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    bool gradient = v->kind == DT_CONV_WEIGHTS, part = dt_cut_of(n) >= 0;
    int64_t lo, hi;
    piece_of(x, c->step->node, v, c->unit, &lo, &hi);
    int which = hi - lo != v->images[0];
    const char *lhs = row_at(x, n->in[0], lo * v->lhs_row),
               *rhs = row_at(x, n->in[1], gradient ? lo * v->rhs_row : 0);
    char *y =
        row_at(x, c->step->node, gradient ? (part ? c->unit * v->out_row : 0) : lo * v->out_row);
    if (hi > lo && gradient) dt_conv_sum_run(&v->sum[which], lhs, rhs, y, c->scratch);
    else if (hi > lo) v->calls->run(&v->plan[which], lhs, packed(c, v, which, rhs), y, c->scratch);
    else if (gradient) /* a sum without terms is 0 */
        memset(y, 0,
               (size_t)((part ? v->out_row : dt_type_elements(&x->type[c->step->node])) *
                        dt_element_bytes(x, c->step->node)));
}

/* ---- by eval ---- */

static void run_eval(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    if (dt_cut_of(n) < 0) {
        dt_kernel_eval.run(c);
        return;
    }
    dt_view in[2], all = {x->type[c->step->node], x->at[c->step->node]},
                   y = dt_view_entry(&all, c->unit);
    int64_t lo, hi;
    for (int k = 0; k < 2; k++) {
        dt_view whole = {x->type[n->in[k]], x->at[n->in[k]]};
        dt_convolution_piece(x, c->step->node, c->unit, &lo, &hi);
        in[k] = dt_view_rows(&whole, lo, hi - lo);
    }
    dt_convolution_eval(dt_convolution_attr_of(n), &in[0], &in[1], &y);
}

/* ---- the kernels ---- */

static dt_status *prepare(dt_exec *x, dt_step *step) {
    convolution *v = dt_arena_new(x->arena, convolution);
    dt_prepared p = {0};
    step->state = v;
    if (prepare_library(x, step->node, &v->library, &p)) {
        v->way = BY_LIBRARY;
    } else if (x->type[x->g->node[step->node].in[0]].dtype == DT_BFLOAT16) {
        /* Operands are still bfloat16 only if oneDNN has planned this convolution before, so it can
         * fail now only for lack of memory. */
        return dt_fail(DT_E_KERNELS, NULL, "oneDNN rejects a convolution that it took before");
    } else if (has_products(dt_convolution_attr_of(&x->g->node[step->node]))) {
        v->way = BY_PRODUCTS;
        dt_status *s = dt_im2col_prepare(x, step->node, &p);
        v->products = p.state;
        DT_TRY(s);
    }
    step->scratch = p.scratch;
    step->kept = p.kept;
    return NULL;
}

static void run(const dt_kernel_call *c) {
    const convolution *v = c->step->state;
    if (v->way == BY_LIBRARY) run_library(c, &v->library);
    else if (v->way == BY_PRODUCTS) dt_im2col_run(c, v->products);
    else run_eval(c);
}

static void release(void *state) {
    convolution *v = state;
    dt_im2col_release(v->products);
    if (v->way == BY_LIBRARY) release_sizes(&v->library);
}

const dt_kernel dt_kernel_convolution = {
    .name = "convolution",
    .op = &dt_op_convolution,
    .splits = true,
    .fits = fits_rows,
    .narrow = narrow,
    .prepare = prepare,
    .run = run,
    .release = release,
};
const dt_kernel dt_kernel_kernel_gradient = {
    .name = "kernel_gradient",
    .op = &dt_op_convolution,
    .fits = fits,
    .narrow = narrow,
    .prepare = prepare,
    .run = run,
    .release = release,
};
const dt_kernel dt_kernel_kernel_gradient_part = {
    .name = "kernel_gradient_part",
    .op = &dt_op_segment_convolution,
    .splits = true,
    .fits = fits,
    .narrow = narrow,
    .prepare = prepare,
    .run = run,
    .release = release,
};
