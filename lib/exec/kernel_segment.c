/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops over the replicas that were folded into one batch, for arrays with channels last: sums,
 * maxima and minima over the rows of each replica, and the broadcast of a replica's value to its
 * rows. BatchNormalization over each replica's own rows consists of these. A segment gets the same
 * bits as its rows would get in a separate batch.
 */
#include <string.h>

#include "exec/reduction.h"
#include "op/segment.h"

/* Returns the number of rows of `node`, which has some for each example, that come before segment s
 * of `n`. */
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

/* ---- sums, maxima and minima ---- */

/* Describes the reduction of `rows` rows of the input. */
static dt_reduction reduction_of(const dt_exec *x, int node, int64_t rows) {
    const dt_segment_attr *a = x->g->node[node].attr;
    dt_type in = x->type[x->g->node[node].in[0]];
    in.dim[0] = rows;
    return dt_reduction_of(x->engine->simd, (dt_reduce_kind)a->reduce.kind, &in, a->reduce.dims);
}

static dt_reduction largest(const dt_exec *x, int node) {
    return reduction_of(x, node, x->type[x->g->node[node].in[0]].dim[0]);
}

static bool fits_reduce(const dt_graph *g, int node) {
    const dt_segment_attr *a = g->node[node].attr;
    return g->node[node].type.dtype == DT_FLOAT32 && a->reduce.dims & 1;
}

static void narrow_reduce(dt_exec *x, int node) {
    const int in = x->g->node[node].in[0];
    const dt_reduction r = largest(x, node);
    dt_store_wide(x, node);
    if (x->type[in].dtype != DT_BFLOAT16 || !dt_reduction_loads(&r)) dt_store_wide(x, in);
}

static dt_status *prepare_reduce(dt_exec *x, dt_step *step) {
    const dt_reduction r = largest(x, step->node);
    step->scratch = (size_t)dt_reduction_room(&r) * sizeof(float);
    return NULL;
}

static void run_reduce(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    const int in = n->in[0];
    const int64_t each = elements_of_entry(x, c->step->node),
                  row = elements_of_entry(x, in) * dt_element_bytes(x, in);

    for (int64_t s = c->lo; s < c->hi; s++) {
        const int64_t from = border(x, n, in, (int)s), to = border(x, n, in, (int)s + 1);
        dt_reduction r = reduction_of(x, c->step->node, to - from);
        r.load = dt_strip_load(x->type[in].dtype);
        dt_reduction_run(&r, (const char *)x->at[in] + from * row,
                         dt_floats(x, c->step->node) + s * each, (float *)c->scratch);
    }
}

const dt_kernel dt_kernel_segment_reduce = {
    .name = "segment_reduce",
    .op = &dt_op_segment_reduce,
    .splits = true,
    .fits = fits_reduce,
    .narrow = narrow_reduce,
    .prepare = prepare_reduce,
    .run = run_reduce,
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
