/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the op `random` for float32, one row of the result at a time, with the numbers that
 * op/random.c defines. */
#include "exec/exec_impl.h"

static bool fits(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    dt_dtype example = g->node[n->in[1]].type.dtype;
    return n->type.dtype == DT_FLOAT32 && (example == DT_INT32 || example == DT_INT64);
}

static void run(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    const void *examples = x->at[n->in[1]];
    bool wide = x->type[n->in[1]].dtype == DT_INT64;
    const dt_random_attr *a = n->attr;
    const dt_random_functions *random = x->engine->simd->random;
    const dt_random_function draw = a->kind == DT_RANDOM_NORMAL ? random->normal : random->uniform;
    uint64_t step = (uint64_t) * (const int64_t *)x->at[n->in[0]] << 32;
    int64_t width = dt_row_elements(x, c->step->node);

    for (int64_t i = c->lo; i < c->hi; i++) {
        int64_t example = wide ? ((const int64_t *)examples)[i] : ((const int32_t *)examples)[i];
        draw(dt_floats(x, c->step->node) + i * width, a->key, step + (uint64_t)example, width);
    }
}

const dt_kernel dt_kernel_random = {
    .name = "random", .op = &dt_op_random, .splits = true, .fits = fits, .run = run};
