/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, maxima and minima of float32: over the last dimensions (a value per row), over the first
 * ones (a sum of rows), over all; the best class. */
#include <math.h>

#include "exec/exec_impl.h"
#include "exec/sums.h"

static const dt_reduce_attr *attr_of(const dt_graph *g, int node) { return g->node[node].attr; }

static bool is_f32(const dt_graph *g, int node) { return g->node[node].type.dtype == DT_FLOAT32; }

static int input_rank(const dt_graph *g, int node) {
    return g->node[g->node[node].in[0]].type.rank;
}

/* Bits from .. rank-1 set, none below. */
static uint32_t last_dims(int from, int rank) { return (1u << rank) - (1u << from); }

/* A NaN, if there is one. */
static float smallest(const float *a, int64_t n) {
    float least = INFINITY;
    for (int64_t i = 0; i < n && least == least; i++) least = a[i] >= least ? least : a[i];
    return least;
}

float (*dt_reduction_of(const dt_simd *simd, dt_reduce_kind kind))(const float *, int64_t) {
    return kind == DT_REDUCE_SUM ? simd->sum : kind == DT_REDUCE_MAX ? simd->max : smallest;
}

/* ---- over the last dimensions ---- */

static bool fits_rows(const dt_graph *g, int node) {
    int kept = g->node[node].type.rank;
    return kept > 0 && is_f32(g, node) &&
           attr_of(g, node)->dims == last_dims(kept, input_rank(g, node));
}

static void run_rows(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    int in = x->g->node[c->step->node].in[0];
    int64_t row = dt_row_elements(x, c->step->node),
            outs = dt_type_elements(&x->type[c->step->node]);
    int64_t n = outs ? dt_type_elements(&x->type[in]) / outs : 0;
    float (*of)(const float *, int64_t) =
        dt_reduction_of(x->engine->simd, attr_of(x->g, c->step->node)->kind);

    for (int64_t i = c->lo * row; i < c->hi * row; i++)
        dt_floats(x, c->step->node)[i] = of(dt_floats(x, in) + i * n, n);
}

const dt_kernel dt_kernel_reduce_rows = {
    .name = "reduce_rows", .op = &dt_op_reduce, .splits = true, .fits = fits_rows, .run = run_rows};

/* ---- over the first dimensions ---- */

static bool fits_columns(const dt_graph *g, int node) {
    int gone = input_rank(g, node) - g->node[node].type.rank;
    return g->node[node].type.rank > 0 && gone > 0 && is_f32(g, node) &&
           attr_of(g, node)->kind == DT_REDUCE_SUM && attr_of(g, node)->dims == last_dims(0, gone);
}

static void narrow_columns(dt_exec *x, int node) {
    int in = x->g->node[node].in[0];
    dt_store_wide(x, node);
    if (x->type[in].dtype != DT_BFLOAT16) dt_store_wide(x, in);
}

static void run_columns(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    int in = x->g->node[c->step->node].in[0];
    int64_t row = dt_row_elements(x, c->step->node), n = dt_type_elements(&x->type[c->step->node]);
    int64_t rows = n ? dt_type_elements(&x->type[in]) / n : 0;
    const dt_sum_source s = {.at = (const char *)x->at[in] + c->lo * row * dt_element_bytes(x, in),
                             .load = dt_strip_load(x->type[in].dtype),
                             .rows = rows,
                             .n = (c->hi - c->lo) * row,
                             .stride = n};

    dt_sum_rows(x->engine->simd, &s, dt_floats(x, c->step->node) + c->lo * row);
}

const dt_kernel dt_kernel_reduce_columns = {.name = "reduce_columns",
                                            .op = &dt_op_reduce,
                                            .splits = true,
                                            .fits = fits_columns,
                                            .narrow = narrow_columns,
                                            .run = run_columns};

/* ---- over dimensions inside: of images, channels last ---- */

/* Dimensions lo .. lo + n - 1 go, some before and some behind them stay. */
static bool fits_inside(const dt_graph *g, int node) {
    uint32_t dims = attr_of(g, node)->dims;
    int rank = input_rank(g, node), lo = 0, n = 0;
    while (lo < rank && !(dims >> lo & 1)) lo++;
    while (lo + n < rank && dims >> (lo + n) & 1) n++;
    return lo > 0 && n > 0 && lo + n < rank && is_f32(g, node) && dims == last_dims(lo, lo + n);
}

static void run_inside(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    int in = x->g->node[c->step->node].in[0], lo = 0;
    const dt_type *from = &x->type[in];
    const dt_reduce_attr *a = attr_of(x->g, c->step->node);
    int64_t outer = c->hi - c->lo, middle = 1, inner = 1;
    for (; !(a->dims >> lo & 1); lo++) outer *= lo > 0 ? from->dim[lo] : 1;
    for (int d = lo; d < from->rank; d++) *(a->dims >> d & 1 ? &middle : &inner) *= from->dim[d];
    const float *at = dt_floats(x, in) + c->lo * dt_row_elements(x, in);
    float *to = dt_floats(x, c->step->node) + c->lo * dt_row_elements(x, c->step->node);
    const dt_simd *simd = x->engine->simd;
    for (int64_t i = 0; i < outer; i++, to += inner, at += middle * inner) {
        if (a->kind == DT_REDUCE_SUM) {
            dt_sum_rows(
                simd,
                &(dt_sum_source){
                    .at = at, .load = DT_S_COPY, .rows = middle, .n = inner, .stride = inner},
                to);
            continue;
        }
        const bool max = a->kind == DT_REDUCE_MAX;
        simd->fill(to, max ? -INFINITY : INFINITY, inner);
        for (int64_t m = 0; m < middle; m++)
            simd->strip[max ? DT_S_maximum : DT_S_minimum](to, to, at + m * inner, NULL, inner);
    }
}

const dt_kernel dt_kernel_reduce_inside = {.name = "reduce_inside",
                                           .op = &dt_op_reduce,
                                           .splits = true,
                                           .fits = fits_inside,
                                           .run = run_inside};

/* ---- over all ---- */

static bool fits_all(const dt_graph *g, int node) {
    return g->node[node].type.rank == 0 && is_f32(g, node);
}

static void run_all(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    int in = x->g->node[c->step->node].in[0];
    float (*of)(const float *, int64_t) =
        dt_reduction_of(x->engine->simd, attr_of(x->g, c->step->node)->kind);

    *dt_floats(x, c->step->node) = of(dt_floats(x, in), dt_type_elements(&x->type[in]));
}

const dt_kernel dt_kernel_reduce_all = {
    .name = "reduce_all", .op = &dt_op_reduce, .fits = fits_all, .run = run_all};

/* ---- the best class of a row ---- */

static bool fits_argmax(const dt_graph *g, int node) {
    const dt_type *in = &g->node[g->node[node].in[0]].type;
    return in->dtype == DT_FLOAT32 && in->rank > 1 &&
           ((const dt_axis_attr *)g->node[node].attr)->axis == in->rank - 1;
}

/* The first of equals; the first NaN, if there is one. */
static int32_t best_of(const float *a, int64_t n) {
    int32_t best = 0;
    for (int64_t i = 1; i < n && a[best] == a[best]; i++)
        if (!(a[i] <= a[best])) best = (int32_t)i;
    return best;
}

static void run_argmax(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_type *in = &x->type[x->g->node[c->step->node].in[0]];
    const float *a = dt_floats(x, x->g->node[c->step->node].in[0]);
    int64_t row = dt_row_elements(x, c->step->node), n = in->dim[in->rank - 1];
    int32_t *to = x->at[c->step->node];

    for (int64_t i = c->lo * row; i < c->hi * row; i++) to[i] = best_of(a + i * n, n);
}

const dt_kernel dt_kernel_argmax = {
    .name = "argmax", .op = &dt_op_argmax, .splits = true, .fits = fits_argmax, .run = run_argmax};
