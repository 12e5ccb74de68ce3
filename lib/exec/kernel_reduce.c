/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, maxima and minima of float32 over any dimensions (reduction.c); the best class of a row. */
#include "exec/reduction.h"

static dt_reduction reduction_of(const dt_exec *x, int node) {
    const dt_node *n = &x->g->node[node];
    const dt_reduce_attr *a = n->attr;
    return dt_reduction_of(x->engine->simd, (dt_reduce_kind)a->kind, &x->type[n->in[0]], a->dims);
}

static bool fits(const dt_graph *g, int node) { return g->node[node].type.dtype == DT_FLOAT32; }

static void narrow(dt_exec *x, int node) {
    const int in = x->g->node[node].in[0];
    const dt_reduction r = reduction_of(x, node);
    dt_store_wide(x, node);
    if (x->type[in].dtype != DT_BFLOAT16 || !dt_reduction_loads(&r)) dt_store_wide(x, in);
}

static dt_status *prepare(dt_exec *x, dt_step *step) {
    const dt_reduction r = reduction_of(x, step->node);
    step->scratch = (size_t)dt_reduction_room(&r) * sizeof(float);
    return NULL;
}

static void run(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const int in = x->g->node[c->step->node].in[0];
    const dt_type *out = &x->type[c->step->node];
    dt_reduction r = reduction_of(x, c->step->node);
    const int64_t from = out->rank > 0 ? dt_reduction_narrow(&r, c->lo, c->hi, out->dim[0]) : 0,
                  to = out->rank > 0 ? c->lo * dt_row_elements(x, c->step->node) : 0;

    r.load = dt_strip_load(x->type[in].dtype);
    dt_reduction_run(&r, (const char *)x->at[in] + from * dt_element_bytes(x, in),
                     dt_floats(x, c->step->node) + to, (float *)c->scratch);
}

const dt_kernel dt_kernel_reduce = {.name = "reduce",
                                    .op = &dt_op_reduce,
                                    .splits = true,
                                    .fits = fits,
                                    .narrow = narrow,
                                    .prepare = prepare,
                                    .run = run};

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
