/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter_add of float32: sums by row number, in the order of sums.h. Rows are added, in their
 * order, to their rows of the result. A row of the result has the sum of the current chain. When a
 * chain is full, its sum is moved to the row's tree, a stack of buffers from a pool. Most rows of
 * the result need no tree. Every second chain is added to the top of the stack instead of being
 * copied, and the first row of each chain after the first one is copied instead of being added to
 * zeros. For narrow rows a function call would take longer than its additions, so these are
 * inlined.
 */
#include <string.h>

#include "exec/exec_impl.h"
#include "exec/sums.h"

/* The state of a row of the result, in one byte: CHAIN masks the number of rows added in a chain so
 * far; HAS_TREE says that earlier chains were added to a tree. */
enum { CHAIN = 0x7f, HAS_TREE = 0x80 };

/* the most floats of a row that is added by inlined loops and not by calls */
enum { NARROW = 16 };

/* A buffer that holds the sum of some blocks of 16 rows, in the tree of one row of the result. */
typedef struct buffer {
    /* 1 + the index of the buffer under this one in the row's stack or, for an unused buffer, of
     * the next unused one; 0: it is the last */
    uint32_t below;
    /* if the buffer is on top of its row's stack: the number of blocks in the whole tree */
    uint32_t blocks;
} buffer;

typedef struct scatter {
    const dt_simd *simd;
    int64_t width;
    float *to;   /* the result, (rows, width) */
    float *room; /* (buffers, width) the sums in the buffers */
    buffer *buffer;
    int64_t *grown; /* [n_grown] indices of the rows of the result that have a tree */
    /* (rows) for each row of the result with a tree: the index of the buffer on top */
    uint32_t *top;
    uint8_t *state; /* (rows) state of each row of the result (CHAIN, HAS_TREE) */
    int64_t n_grown;
    /* buffers: number of buffers taken from the pool so far; free: 1 + the index of the first
     * unused one of these, from which `below` leads to the other unused ones; 0: all are in use */
    uint32_t buffers, free;
} scatter;

static bool fits(const dt_graph *g, int node) {
    dt_dtype index = g->node[g->node[node].in[1]].type.dtype;
    return g->node[node].type.dtype == DT_FLOAT32 && (index == DT_INT32 || index == DT_INT64);
}

/* Returns the most buffers that adding n rows can need. A row of the result with b buffers has had
 * more than DT_SUM_ROWS * b rows added. */
static int64_t most_buffers(int64_t n) { return n / (DT_SUM_ROWS + 1); }

/* Returns the bytes of the sums, rounded up so that the memory after them is aligned. */
static size_t buffers_bytes(int64_t most, int64_t width) {
    return ((size_t)(most * width) * sizeof(float) + 63) / 64 * 64;
}

static dt_status *prepare(dt_exec *x, dt_step *step) {
    const dt_node *node = &x->g->node[step->node];
    const int64_t n = dt_type_elements(&x->type[node->in[1]]), rows = x->type[step->node].dim[0];
    if (n >= INT32_MAX)
        return dt_fail(DT_E_NO_MEMORY, NULL,
                       "a step cannot look up %lld rows of one table; make the batch "
                       "smaller",
                       (long long)n);
    const int64_t most = most_buffers(n);
    step->scratch = buffers_bytes(most, dt_row_elements(x, step->node)) +
                    (size_t)most * (sizeof(int64_t) + sizeof(buffer)) +
                    (size_t)rows * (sizeof(uint32_t) + sizeof(uint8_t));
    return NULL;
}

static scatter open_scatter(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const int64_t most = most_buffers(dt_type_elements(&x->type[x->g->node[c->step->node].in[1]])),
                  rows = x->type[c->step->node].dim[0];
    scatter s = {.simd = x->engine->simd,
                 .width = dt_row_elements(x, c->step->node),
                 .to = dt_floats(x, c->step->node),
                 .room = (float *)(void *)c->scratch};
    s.grown = (int64_t *)(void *)(c->scratch + buffers_bytes(most, s.width));
    s.buffer = (buffer *)(void *)(s.grown + most);
    s.top = (uint32_t *)(void *)(s.buffer + most);
    s.state = (uint8_t *)(s.top + rows);
    memset(s.to, 0, (size_t)(rows * s.width) * sizeof *s.to);
    memset(s.state, 0, (size_t)rows);
    return s;
}

static float *room_of(const scatter *s, uint32_t number) { return s->room + number * s->width; }

/* Adds four floats. All are read before one is written; otherwise the compiler would add them one
 * by one. */
static inline void add_four(float *to, const float *from) {
    float sum[4];
    memcpy(sum, to, sizeof sum);
    for (int j = 0; j < 4; j++) sum[j] += from[j];
    memcpy(to, sum, sizeof sum);
}

static inline void add(const scatter *s, float *to, const float *from, int64_t width) {
    const int64_t fours = width / 4 * 4;
    if (width > NARROW) {
        s->simd->rows->add(to, from, width);
        return;
    }
    for (int64_t j = 0; j < fours; j += 4) add_four(to + j, from + j);
    for (int64_t j = fours; j < width; j++) to[j] += from[j];
}

static inline void copy(const scatter *s, float *to, const float *from) {
    if (s->width > NARROW) s->simd->strip[DT_S_COPY](to, from, NULL, NULL, s->width);
    else
        for (int64_t j = 0; j < s->width; j++) to[j] = from[j];
}

/* Adds buffer `top`, the top of a row's stack, to `sum` and makes it unused. Returns 1 + the index
 * of the buffer below it; 0: there is none. */
static uint32_t join_top(scatter *s, uint32_t top, float *sum) {
    const uint32_t under = s->buffer[top].below;
    add(s, sum, room_of(s, top), s->width);
    s->buffer[top].below = s->free;
    s->free = top + 1;
    return under;
}

/* Moves the sum of the chain to a buffer, which becomes the top of the row's tree. */
static void push_chain(scatter *s, int64_t row, const float *chain, buffer is) {
    const uint32_t taken = s->free ? s->free - 1 : s->buffers++;
    s->free = s->free ? s->buffer[taken].below : 0;
    s->buffer[taken] = is;
    s->top[row] = taken;
    copy(s, room_of(s, taken), chain);
}

/* Called when the row's chain is full. The chain becomes a block of the row's tree, and a new chain
 * begins with x. */
static void begin_chain(scatter *s, int64_t row, float *chain, const float *x) {
    const bool first = !(s->state[row] & HAS_TREE);
    const uint32_t blocks = first ? 0 : s->buffer[s->top[row]].blocks;
    if (first) s->grown[s->n_grown++] = row;
    if (blocks & 1) {
        uint32_t top = s->top[row];
        add(s, room_of(s, top), chain, s->width);
        for (uint32_t carry = blocks >> 1; carry & 1; carry >>= 1)
            top = join_top(s, top, room_of(s, s->buffer[top].below - 1)) - 1;
        s->buffer[top].blocks = blocks + 1;
        s->top[row] = top;
    } else push_chain(s, row, chain, (buffer){first ? 0 : s->top[row] + 1, blocks + 1});
    s->state[row] = HAS_TREE | 1;
    copy(s, chain, x);
}

/* The rows of the result to which the rows of x are added. */
typedef struct lookup {
    const void *number; /* [n] row numbers: int64_t if `wide`, else int32_t */
    int64_t n, rows;
    bool wide;
} lookup;

/* Adds the rows at `from`, of `width` floats, to the rows of the result that l names; row numbers
 * out of range are skipped. It is inlined where the width is a constant, so that there is no loop
 * over a row. */
__attribute__((always_inline)) static inline void add_rows(scatter *s, const lookup *l,
                                                           const float *from, int64_t width) {
    /* local copies of l and s: for the compiler a written byte may be part of them, so that it
     * would read them again in each iteration */
    const lookup at = *l;
    uint8_t *state = s->state;
    float *to = s->to;

    for (int64_t i = 0; i < at.n; i++, from += width) {
        const int64_t row =
            at.wide ? ((const int64_t *)at.number)[i] : ((const int32_t *)at.number)[i];
        if (row < 0 || row >= at.rows) continue;
        const uint8_t row_state = state[row];
        if ((row_state & CHAIN) == DT_SUM_ROWS) {
            begin_chain(s, row, to + row * width, from);
            continue;
        }
        state[row] = (uint8_t)(row_state + 1);
        add(s, to + row * width, from, width);
    }
}

static void run(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const int *in = x->g->node[c->step->node].in;
    const lookup l = {x->at[in[1]], dt_type_elements(&x->type[in[1]]),
                      x->type[c->step->node].dim[0], x->type[in[1]].dtype == DT_INT64};
    const float *from = dt_floats(x, in[0]);
    scatter s = open_scatter(c);

    switch (s.width) {
    case 1: add_rows(&s, &l, from, 1); break;
    case 2: add_rows(&s, &l, from, 2); break;
    case 4: add_rows(&s, &l, from, 4); break;
    case 8: add_rows(&s, &l, from, 8); break;
    case 16: add_rows(&s, &l, from, 16); break;
    default: add_rows(&s, &l, from, s.width);
    }
    for (int64_t k = 0; k < s.n_grown; k++)
        for (uint32_t top = s.top[s.grown[k]] + 1; top;)
            top = join_top(&s, top - 1, s.to + s.grown[k] * s.width);
}

const dt_kernel dt_kernel_scatter_add = {
    .name = "scatter_add",
    .op = &dt_op_scatter_add,
    .fits = fits,
    .prepare = prepare,
    .run = run,
};
