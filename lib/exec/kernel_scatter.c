/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_add of float32: sums by row number, in the order of the numbers. */
#include <string.h>

#include "exec/exec_impl.h"

static bool fits(const dt_graph *g, int node)
{
    dt_dtype index = g->node[g->node[node].in[1]].type.dtype;
    return g->node[node].type.dtype == DT_FLOAT32 && (index == DT_INT32 || index == DT_INT64);
}

static void run(const dt_kernel_call *c)
{
    const dt_exec *x = c->x;
    const int *in = x->g->node[c->step->node].in;
    int64_t rows = x->type[c->step->node].dim[0], width = dt_row_elements(x, c->step->node), n = dt_type_elements(&x->type[in[1]]);
    bool wide = x->type[in[1]].dtype == DT_INT64;
    const float *from = dt_floats(x, in[0]);
    float *to = dt_floats(x, c->step->node);

    memset(to, 0, (size_t)(rows * width) * sizeof *to);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = wide ? ((const int64_t *)x->at[in[1]])[i] : ((const int32_t *)x->at[in[1]])[i];
        if (row >= 0 && row < rows)
            x->engine->simd->rows->add(to + row * width, from + i * width, width);
    }
}

const dt_kernel dt_kernel_scatter_add = { .name = "scatter_add", .op = &dt_op_scatter_add, .fits = fits, .run = run };
