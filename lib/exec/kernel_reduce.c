/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, maxima and minima of float32 over any dimensions (reduction.c), and the index of the
 * largest value. */
#include "exec/reduction.h"
#include "op/cells.h"

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
    const int64_t from = out->rank > 0
                             ? dt_reduction_narrow(&r, c->lo, c->hi,
                                                   out->dim[0] * dt_steps_of(x, c->step->node))
                             : 0,
                  to = out->rank > 0 ? c->lo * dt_piece_elements(x, c->step->node) : 0;

    r.load = dt_strip_load(x->type[in].dtype);
    dt_reduction_run(&r, (const char *)x->at[in] + from * dt_element_bytes(x, in),
                     dt_floats(x, c->step->node) + to, (float *)c->scratch);
}

const dt_kernel dt_kernel_reduce = {.name = "reduce",
                                    .op = &dt_op_reduce,
                                    .splits = DT_BY_ROWS | DT_BY_TIME,
                                    .fits = fits,
                                    .narrow = narrow,
                                    .prepare = prepare,
                                    .run = run};

/* ---- the best class ---- */

/* Returns the index of the largest value, the first one if several are equal, or the index of the
 * first NaN. */
#define BEST_OF(type)                                                                              \
    static int32_t best_##type(const void *array, int64_t from, int64_t n, int64_t stride) {       \
        const type *a = (const type *)array + from;                                                \
        int64_t best = 0;                                                                          \
        for (int64_t i = 1; i < n && a[best * stride] == a[best * stride]; i++)                    \
            if (!(a[i * stride] <= a[best * stride])) best = i;                                    \
        return (int32_t)best;                                                                      \
    }
BEST_OF(float)
BEST_OF(int32_t)
BEST_OF(int64_t)
BEST_OF(uint8_t)

typedef int32_t best_function(const void *array, int64_t from, int64_t n, int64_t stride);

static best_function *best_of(dt_dtype d) {
    return d == DT_FLOAT32 ? best_float
           : d == DT_INT32 ? best_int32_t
           : d == DT_INT64 ? best_int64_t
           : d == DT_UINT8 ? best_uint8_t
                           : NULL;
}

static bool fits_argmax(const dt_graph *g, int node) {
    const dt_type *in = &g->node[g->node[node].in[0]].type;
    return in->rank > 1 && best_of(in->dtype);
}

static void run_argmax(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const int in = x->g->node[c->step->node].in[0];
    const dt_type *t = &x->type[in];
    const int axis = (int)((const dt_axis_attr *)x->g->node[c->step->node].attr)->axis;
    const int64_t row = dt_piece_elements(x, c->step->node), n = t->dim[axis];
    best_function *best = best_of(t->dtype);
    int64_t stride[DT_MAX_RANK];
    int32_t *to = x->at[c->step->node];

    dt_strides(t, stride);
    for (int64_t i = c->lo * row; i < c->hi * row; i++)
        to[i] = best(x->at[in], i / stride[axis] * stride[axis] * n + i % stride[axis], n,
                     stride[axis]);
}

const dt_kernel dt_kernel_argmax = {.name = "argmax",
                                    .op = &dt_op_argmax,
                                    .splits = DT_BY_ROWS | DT_BY_TIME,
                                    .fits = fits_argmax,
                                    .run = run_argmax};
