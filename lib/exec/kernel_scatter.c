/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter_add of float32: sums by row number. Rows are added as they come, each to its row of the
 * result, and have the sums of sums.h: a row's chain is in the result; when it is full, it goes
 * into the row's tree, a stack of buffers from a pool. Most rows of a batch have no full chain and
 * no tree.
 */
#include <string.h>

#include "exec/exec_impl.h"
#include "exec/sums.h"

typedef struct tree {
    int64_t row;
    uint32_t top; /* the buffer of the last sum, 1 + its number; 0: none */
    uint32_t blocks;
} tree;

typedef struct row_state {
    uint32_t chain : 5; /* rows that were added since the last block */
    uint32_t tree : 27; /* 1 + its number; 0: none */
} row_state;

typedef struct scatter {
    const dt_simd *simd;
    int64_t width;
    float *to;        /* (rows, width) */
    row_state *state; /* (rows) */
    tree *tree;
    uint32_t *below; /* of each buffer, the one under it or the next free one, as `top` */
    float *buffer;   /* (most blocks, width) */
    uint32_t trees, buffers, free;
} scatter;

static bool fits(const dt_graph *g, int node) {
    dt_dtype index = g->node[g->node[node].in[1]].type.dtype;
    return g->node[node].type.dtype == DT_FLOAT32 && (index == DT_INT32 || index == DT_INT64);
}

/* A row with a tree of b buffers was named more than DT_SUM_ROWS b times. */
static int64_t most_buffers(int64_t n) { return n / (DT_SUM_ROWS + 1); }

static dt_status *prepare(dt_exec *x, dt_step *step) {
    const dt_node *node = &x->g->node[step->node];
    const int64_t n = dt_type_elements(&x->type[node->in[1]]), rows = x->type[step->node].dim[0];
    const size_t width = (size_t)dt_row_elements(x, step->node);
    if (n >= INT32_MAX)
        return dt_fail(DT_E_NO_MEMORY, NULL,
                       "a step cannot look up %lld rows of one table; make the batch "
                       "smaller",
                       (long long)n);
    const size_t each = sizeof(tree) + sizeof(uint32_t) + width * sizeof(float);
    step->scratch = (size_t)most_buffers(n) * each + (size_t)rows * sizeof(row_state);
    return NULL;
}

static scatter open_scatter(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const int64_t most = most_buffers(dt_type_elements(&x->type[x->g->node[c->step->node].in[1]]));
    scatter s = {.simd = x->engine->simd,
                 .width = dt_row_elements(x, c->step->node),
                 .to = dt_floats(x, c->step->node),
                 .tree = (tree *)(void *)c->scratch};
    const int64_t rows = x->type[c->step->node].dim[0];
    s.buffer = (float *)(void *)(s.tree + most);
    s.below = (uint32_t *)(void *)(s.buffer + most * s.width);
    s.state = (row_state *)(void *)(s.below + most);
    memset(s.to, 0, (size_t)(rows * s.width) * sizeof *s.to);
    memset(s.state, 0, (size_t)rows * sizeof *s.state);
    return s;
}

/* to = the last sum of the tree + to. */
static void add_last(scatter *s, tree *t, float *to) {
    const uint32_t last = t->top;
    s->simd->strip[DT_S_add](to, s->buffer + (last - 1) * s->width, to, NULL, s->width);
    t->top = s->below[last - 1];
    s->below[last - 1] = s->free;
    s->free = last;
}

/* The row's chain is a block of its tree; a new chain begins. */
static void push_chain(scatter *s, int64_t row, float *to) {
    row_state *state = &s->state[row];
    if (!state->tree) {
        s->tree[s->trees] = (tree){.row = row};
        state->tree = ++s->trees & 0x7ffffff;
    }
    tree *t = &s->tree[state->tree - 1];
    for (uint32_t carry = t->blocks++; carry & 1; carry >>= 1) add_last(s, t, to);

    const uint32_t taken = s->free ? s->free : ++s->buffers;
    s->free = s->free ? s->below[taken - 1] : 0;
    s->below[taken - 1] = t->top;
    t->top = taken;
    memcpy(s->buffer + (taken - 1) * s->width, to, (size_t)s->width * sizeof *to);
    memset(to, 0, (size_t)s->width * sizeof *to);
    state->chain = 0;
}

static void run(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const int *in = x->g->node[c->step->node].in;
    const int64_t n = dt_type_elements(&x->type[in[1]]), rows = x->type[c->step->node].dim[0];
    const bool wide = x->type[in[1]].dtype == DT_INT64;
    const float *from = dt_floats(x, in[0]);
    scatter s = open_scatter(c);

    for (int64_t i = 0; i < n; i++) {
        const int64_t row =
            wide ? ((const int64_t *)x->at[in[1]])[i] : ((const int32_t *)x->at[in[1]])[i];
        if (row < 0 || row >= rows) continue;
        if (s.state[row].chain == DT_SUM_ROWS) push_chain(&s, row, s.to + row * s.width);
        s.state[row].chain++;
        s.simd->rows->add(s.to + row * s.width, from + i * s.width, s.width);
    }
    for (uint32_t k = 0; k < s.trees; k++)
        while (s.tree[k].top) add_last(&s, &s.tree[k], s.to + s.tree[k].row * s.width);
}

const dt_kernel dt_kernel_scatter_add = {
    .name = "scatter_add",
    .op = &dt_op_scatter_add,
    .fits = fits,
    .prepare = prepare,
    .run = run,
};
