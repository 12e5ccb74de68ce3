/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation and its gradients, float32: rows of features. */
#include <string.h>

#include "exec/exec_impl.h"

static bool fits(const dt_graph *g, int node)
{
    return g->node[g->node[node].in[0]].type.dtype == DT_FLOAT32 && g->node[g->node[node].in[0]].type.rank > 1;
}

/* Rows lo .. hi of dimension 0 of x. */
static dt_norm_args arguments(const dt_kernel_call *c, int64_t lo, int64_t hi)
{
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    const dt_type *t = &x->type[n->in[0]];
    int64_t features = t->dim[t->rank - 1], row = dt_row_elements(x, n->in[0]);

    return (dt_norm_args){ .rows = (hi - lo) * row / features, .n = features, .epsilon = (float)((const dt_norm_attr *)n->attr)->epsilon,
                           .x = dt_floats(x, n->in[0]) + lo * row };
}

static void run(const dt_kernel_call *c)
{
    const dt_exec *x = c->x;
    const int *in = x->g->node[c->step->node].in;
    dt_norm_args a = arguments(c, c->lo, c->hi);

    a.gamma = dt_floats(x, in[1]);
    a.beta = dt_floats(x, in[2]);
    a.out = dt_floats(x, c->step->node) + c->lo * dt_row_elements(x, in[0]);
    x->engine->simd->rows->norm(&a);
}

const dt_kernel dt_kernel_layer_norm = { .name = "layer_norm", .op = &dt_op_layer_norm, .splits = true, .fits = fits, .run = run };

static void run_grad(const dt_kernel_call *c)
{
    const dt_exec *x = c->x;
    const int *in = x->g->node[c->step->node].in;
    dt_norm_args a = arguments(c, c->lo, c->hi);

    a.gamma = dt_floats(x, in[1]);
    a.dy = dt_floats(x, in[2]) + c->lo * dt_row_elements(x, in[0]);
    a.out = dt_floats(x, c->step->node) + c->lo * dt_row_elements(x, in[0]);
    x->engine->simd->rows->norm_grad(&a);
}

const dt_kernel dt_kernel_layer_norm_grad = {
    .name = "layer_norm_grad", .op = &dt_op_layer_norm_grad, .splits = true, .fits = fits, .run = run_grad,
};

static void run_scale_grad(const dt_kernel_call *c)
{
    const dt_exec *x = c->x;
    const int *in = x->g->node[c->step->node].in;
    dt_norm_args a = arguments(c, 0, x->type[in[0]].dim[0]);

    a.dy = dt_floats(x, in[1]);
    a.out = dt_floats(x, c->step->node);
    memset(a.out, 0, (size_t)a.n * sizeof *a.out);
    x->engine->simd->rows->norm_scale_grad(&a);
}

const dt_kernel dt_kernel_layer_norm_scale_grad = {
    .name = "layer_norm_scale_grad", .op = &dt_op_layer_norm_scale_grad, .fits = fits, .run = run_scale_grad,
};
