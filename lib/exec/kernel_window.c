/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows over images with their channels last (pooling): all channels of a position at a time,
 * which are contiguous. A piece is a range of examples. The gradient of a maximum or minimum goes
 * to the first element of the window that equals it, channel by channel.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "exec/exec_impl.h"
#include "op/cells.h"
#include "op/window.h"

static bool fits(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_reduce_window_attr *a = n->attr;
    int last = n->type.rank - 1;
    return n->type.dtype == DT_FLOAT32 && last > 0 && dt_window_is_one(&a->window[0], a->size[0]) &&
           dt_window_is_one(&a->window[last], a->size[last]);
}

/* Returns a walk over the windows of examples c->lo .. c->hi - 1 of x (B, .., c), in which all
 * channels of a position count as one element. */
static dt_windows walk(const dt_kernel_call *c, const dt_type *x, const dt_type *y) {
    const dt_reduce_window_attr *a = c->x->g->node[c->step->node].attr;
    dt_type from = *x, to = *y;
    from.dim[0] = to.dim[0] = c->hi - c->lo;
    from.dim[from.rank - 1] = to.dim[to.rank - 1] = 1;
    return dt_windows_begin(a, &from, &to);
}

static const float *rows_from(const dt_kernel_call *c, int node) {
    return dt_floats(c->x, node) + c->lo * dt_row_elements(c->x, node);
}

/* Reserves scratch memory for the offsets of the elements of one window. */
static dt_status *prepare(dt_exec *x, dt_step *step) {
    const dt_node *n = &x->g->node[step->node];
    const dt_reduce_window_attr *a = n->attr;
    const dt_type *in = &x->type[n->in[0]];
    int64_t all = 1;
    for (int d = 1; d < in->rank - 1; d++) all *= dt_min(a->size[d], in->dim[d]);
    step->scratch = dt_size_mul((size_t)all, sizeof(int64_t));
    return NULL;
}

/* Whether no window reaches into padding or gaps. Then all windows have the same offsets relative
 * to their first element. */
static bool is_whole(const dt_windows *w) {
    bool whole = true;
    for (int i = 0; i < w->n_wide; i++) {
        const int d = w->wide[i];
        const dt_window *v = &w->a->window[d];
        whole &= v->base_dilation == 1 && v->low == 0 &&
                 (w->out[d] - 1) * v->stride + (w->a->size[d] - 1) * v->dilation < w->in[d];
    }
    return whole;
}

/* A pooling: the walk over windows, and the elements of the current window. */
typedef struct pool {
    dt_windows w;
    dt_window_elements e;
    int64_t *at; /* the array e.at, which may be written */
    /* whether all windows have the same offsets relative to their first element, so that `e` is set
     * only for the first window */
    bool whole;
} pool;

static pool pool_of(const dt_kernel_call *c, const dt_type *x, const dt_type *y) {
    pool p = {.w = walk(c, x, y), .at = (int64_t *)(void *)c->scratch};
    p.e = (dt_window_elements){.at = p.at, .channels = x->dim[x->rank - 1]};
    p.whole = is_whole(&p.w);
    return p;
}

/* Sets p->e to the offsets of the elements of the next window, relative to its first one, and
 * returns the offset of that one in x. e.n is 0 if the window is nothing but padding. If all
 * windows have the same offsets (`whole`), p->e is set only once. */
static int64_t next_window(pool *p) {
    int64_t at = dt_windows_first(&p->w), from = at * p->e.channels;
    if (!p->whole || p->e.n == 0) {
        for (p->e.n = 0; at >= 0; at = dt_windows_another(&p->w))
            p->at[p->e.n++] = at * p->e.channels - from;
    }
    dt_windows_next(&p->w);
    return from;
}

/* ---- reduce_window ---- */

static void run_reduce(const dt_kernel_call *c) {
    static const float nothing[] = {
        [DT_REDUCE_SUM] = 0, [DT_REDUCE_MAX] = -INFINITY, [DT_REDUCE_MIN] = INFINITY};
    const dt_node *n = &c->x->g->node[c->step->node];
    const dt_reduce_window_attr *a = n->attr;
    const dt_simd *simd = c->x->engine->simd;
    const float *x = rows_from(c, n->in[0]);
    float *y = dt_floats(c->x, c->step->node) + c->lo * dt_row_elements(c->x, c->step->node);
    pool p = pool_of(c, &c->x->type[n->in[0]], &c->x->type[c->step->node]);

    for (int64_t i = 0; i < p.w.n; i++, y += p.e.channels) {
        const int64_t from = next_window(&p);
        if (p.e.n == 0) simd->fill(y, nothing[a->kind], p.e.channels);
        else if (a->kind == DT_REDUCE_SUM) simd->window->sum(&p.e, x + from, y);
        else
            (a->kind == DT_REDUCE_MAX ? simd->window->most : simd->window->least)(&p.e, x + from,
                                                                                  y);
    }
}

const dt_kernel dt_kernel_reduce_window = {.name = "reduce_window",
                                           .op = &dt_op_reduce_window,
                                           .splits = true,
                                           .fits = fits,
                                           .prepare = prepare,
                                           .run = run_reduce};

/* ---- select_and_scatter ---- */

/* Whether each element of x is in exactly one window. */
static bool covers_once(const pool *p) {
    bool once = p->whole;
    for (int i = 0; i < p->w.n_wide; i++) {
        const int d = p->w.wide[i];
        const int64_t stride = p->w.a->window[d].stride;
        once &= stride == p->w.a->size[d] && p->w.a->window[d].dilation == 1 &&
                p->w.out[d] * stride == p->w.in[d];
    }
    return once;
}

static void run_select(const dt_kernel_call *c) {
    const dt_node *n = &c->x->g->node[c->step->node];
    const dt_window_loops *loops = c->x->engine->simd->window;
    const float *x = rows_from(c, n->in[0]), *dy = rows_from(c, n->in[1]);
    int64_t row = dt_row_elements(c->x, c->step->node);
    float *dx = dt_floats(c->x, c->step->node) + c->lo * row;
    pool p = pool_of(c, &c->x->type[n->in[0]], &c->x->type[n->in[1]]);
    const bool least = p.w.a->kind == DT_REDUCE_MIN;

    p.e.alone = covers_once(&p);
    if (!p.e.alone) memset(dx, 0, (size_t)((c->hi - c->lo) * row) * sizeof *dx);
    for (int64_t i = 0; i < p.w.n; i++, dy += p.e.channels) {
        const int64_t from = next_window(&p);
        if (p.e.n > 0)
            (least ? loops->give_least : loops->give_most)(&p.e, x + from, dy, dx + from);
    }
}

const dt_kernel dt_kernel_select_and_scatter = {
    .name = "select_and_scatter",
    .op = &dt_op_select_and_scatter,
    .splits = true,
    .fits = fits,
    .prepare = prepare,
    .run = run_select,
};
