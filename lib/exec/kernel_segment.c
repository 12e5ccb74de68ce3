/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicas that were folded into one batch, channels last: a sum, maximum or minimum over the rows
 * of each, and a value of each for all of its rows. BatchNormalization over each replica's own rows
 * is made of these. A segment has the bits of the same rows alone, in a batch of their own.
 */
#include <math.h>
#include <string.h>

#include "exec/exec_impl.h"
#include "exec/sums.h"
#include "op/segment.h"

/* Rows of `node`, which has some for each example, that come before segment s of `n`. */
static int64_t border(const dt_exec *x, const dt_node *n, int node, int s) {
    const dt_call call = {.node = n, .env = x->env};
    const int64_t examples = dt_segment_border(&call, dt_segment_count(n));
    return examples > 0 ? x->type[node].dim[0] / examples * dt_segment_border(&call, s) : 0;
}

static int64_t elements_of_entry(const dt_exec *x, int node) {
    const dt_type *t = &x->type[node];
    int64_t n = 1;
    for (int d = 1; d < t->rank; d++) n *= t->dim[d];
    return n;
}

/* ---- sums ---- */

/* Of float32, over the first dimensions. */
static bool reduces_rows(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_type *in = &g->node[n->in[0]].type;
    const dt_segment_attr *a = n->attr;
    const int gone = in->rank - n->type.rank + 1;

    return in->dtype == DT_FLOAT32 && a->reduce.dims == (1u << gone) - 1;
}

static dt_reduce_kind kind_of(const dt_graph *g, int node) {
    return ((const dt_segment_attr *)g->node[node].attr)->reduce.kind;
}

static bool fits_sum(const dt_graph *g, int node) {
    return reduces_rows(g, node) && kind_of(g, node) == DT_REDUCE_SUM;
}

/* A segment's sum of all is that of a row of numbers, which are floats. */
static void narrow_sum(dt_exec *x, int node) {
    const int in = x->g->node[node].in[0];
    dt_store_wide(x, node);
    if (x->type[in].dtype != DT_BFLOAT16 || x->type[node].rank == 1) dt_store_wide(x, in);
}

static void run_sum(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    const int in = n->in[0];
    const int64_t columns = elements_of_entry(x, c->step->node), row = elements_of_entry(x, in);

    for (int64_t s = c->lo; s < c->hi && columns; s++) {
        const int64_t from = border(x, n, in, (int)s), to = border(x, n, in, (int)s + 1);
        if (x->type[c->step->node].rank == 1) {
            dt_floats(x, c->step->node)[s] =
                x->engine->simd->sum(dt_floats(x, in) + from * row, (to - from) * row);
            continue;
        }
        const dt_sum_source rows = {.at = (const char *)x->at[in] +
                                          from * row * dt_element_bytes(x, in),
                                    .load = dt_strip_load(x->type[in].dtype),
                                    .rows = (to - from) * row / columns,
                                    .n = columns,
                                    .stride = columns};
        dt_sum_rows(x->engine->simd, &rows, dt_floats(x, c->step->node) + s * columns);
    }
}

const dt_kernel dt_kernel_segment_sum = {
    .name = "segment_sum",
    .op = &dt_op_segment_reduce,
    .splits = true,
    .fits = fits_sum,
    .narrow = narrow_sum,
    .run = run_sum,
};

/* ---- maxima and minima ---- */

static bool fits_extreme(const dt_graph *g, int node) {
    return reduces_rows(g, node) && kind_of(g, node) != DT_REDUCE_SUM;
}

static void run_extreme(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    const int in = n->in[0];
    const dt_reduce_kind kind = kind_of(x->g, c->step->node);
    const dt_simd *simd = x->engine->simd;
    const int64_t columns = elements_of_entry(x, c->step->node), row = elements_of_entry(x, in);

    for (int64_t s = c->lo; s < c->hi && columns; s++) {
        const float *at = dt_floats(x, in) + border(x, n, in, (int)s) * row,
                    *end = dt_floats(x, in) + border(x, n, in, (int)s + 1) * row;
        float *to = dt_floats(x, c->step->node) + s * columns;
        if (columns == 1) {
            *to = dt_reduction_of(simd, kind)(at, end - at);
            continue;
        }
        simd->fill(to, kind == DT_REDUCE_MAX ? -INFINITY : INFINITY, columns);
        for (; at < end; at += columns)
            simd->strip[kind == DT_REDUCE_MAX ? DT_S_maximum : DT_S_minimum](to, to, at, NULL,
                                                                             columns);
    }
}

const dt_kernel dt_kernel_segment_extreme = {
    .name = "segment_extreme",
    .op = &dt_op_segment_reduce,
    .splits = true,
    .fits = fits_extreme,
    .run = run_extreme,
};

/* ---- copies ---- */

static void run_repeat(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    const size_t bytes =
        (size_t)(elements_of_entry(x, c->step->node) * dt_element_bytes(x, c->step->node));
    const char *from = x->at[n->in[0]];
    char *to = x->at[c->step->node];

    for (int s = 0; s < dt_segment_count(n); s++, from += bytes)
        for (int64_t i = border(x, n, c->step->node, s), end = border(x, n, c->step->node, s + 1);
             i < end && bytes; i++)
            memcpy(to + (size_t)i * bytes, from, bytes);
}

const dt_kernel dt_kernel_segment_repeat = {.name = "segment_repeat",
                                            .op = &dt_op_segment_broadcast,
                                            .narrow = dt_narrow_alike,
                                            .run = run_repeat};
