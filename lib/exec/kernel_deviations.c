/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of squared differences from the mean, for each tile of the batch; channels last. The tile
 * was computed just before and is in the cache, so reading it twice is cheap.
 */
#include "exec/exec_impl.h"
#include "exec/sums.h"
#include "op/segment.h"

static bool fits(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_type *in = &g->node[n->in[0]].type;
    const dt_segment_attr *a = n->attr;

    return in->dtype == DT_FLOAT32 && in->rank > 1 && a->cut == DT_CUT_TILES &&
           a->reduce.dims == (1u << (in->rank - 1)) - 1;
}

static void narrow(dt_exec *x, int node) { dt_store_wide(x, node); }

static int64_t channels_of(const dt_exec *x, int node) {
    const dt_type *t = &x->type[node];
    return t->dim[t->rank - 1];
}

/* Reserves scratch memory for the means. */
static dt_status *prepare(dt_exec *x, dt_step *step) {
    step->scratch = (size_t)channels_of(x, step->node) * sizeof(float);
    return NULL;
}

static void run(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const int in = x->g->node[c->step->node].in[0];
    const int64_t channels = channels_of(x, c->step->node), batch = x->p->batch;
    const int64_t rows_each =
        batch && channels ? dt_type_elements(&x->type[in]) / batch / channels : 0;
    float *mean = (float *)c->scratch;

    for (int64_t s = c->lo; s < c->hi && channels; s++) {
        int64_t lo, hi;
        dt_segment_piece(batch, dt_segment_count(&x->g->node[c->step->node]), (int)s, &lo, &hi);
        const int64_t rows = (hi - lo) * rows_each;
        dt_sum_source from = {.at = (const char *)x->at[in] +
                                    lo * rows_each * channels * dt_element_bytes(x, in),
                              .load = dt_strip_load(x->type[in].dtype),
                              .rows = rows,
                              .n = channels,
                              .stride = channels};
        dt_sum_rows(x->engine->simd, &from, mean);
        for (int64_t j = 0; j < channels; j++) mean[j] /= (float)rows;
        from.mean = mean;
        dt_sum_rows(x->engine->simd, &from, dt_floats(x, c->step->node) + s * channels);
    }
}

const dt_kernel dt_kernel_deviations = {
    .name = "deviations",
    .op = &dt_op_segment_deviations,
    .splits = true,
    .fits = fits,
    .narrow = narrow,
    .prepare = prepare,
    .run = run,
};
