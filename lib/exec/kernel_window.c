/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows over images with channels last (pooling). All channels of a position, which are
 * contiguous, are computed at a time. A piece is a range of examples. The maximum's gradient takes
 * two passes over the window: the first finds, for each channel, the first element that equals the
 * maximum; the second gives each element its gradient.
 */
#include <math.h>
#include <string.h>

#include "exec/exec_impl.h"
#include "op/cells.h"
#include "op/reduce_window.h"
#include "op/window.h"

static bool fits(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_reduce_window_attr *a = n->attr;
    int last = n->type.rank - 1;
    return n->type.dtype == DT_FLOAT32 && last > 0 && dt_window_is_one(&a->window[0], a->size[0]) &&
           dt_window_is_one(&a->window[last], a->size[last]);
}

/* Returns a walk over the positions of examples lo .. hi - 1 of x (B, .., c). All channels of a
 * position count as one element. */
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

/* ---- reduce_window ---- */

static void run_reduce(const dt_kernel_call *c) {
    static const dt_strip_op ops[] = {
        [DT_REDUCE_SUM] = DT_S_add, [DT_REDUCE_MAX] = DT_S_maximum, [DT_REDUCE_MIN] = DT_S_minimum};
    static const float nothing[] = {
        [DT_REDUCE_SUM] = 0, [DT_REDUCE_MAX] = -INFINITY, [DT_REDUCE_MIN] = INFINITY};
    const dt_node *n = &c->x->g->node[c->step->node];
    const dt_reduce_window_attr *a = n->attr;
    const dt_simd *simd = c->x->engine->simd;
    const float *x = rows_from(c, n->in[0]);
    float *y = dt_floats(c->x, c->step->node) + c->lo * dt_row_elements(c->x, c->step->node);
    int64_t channels = c->x->type[c->step->node].dim[n->type.rank - 1];
    dt_windows w = walk(c, &c->x->type[n->in[0]], &c->x->type[c->step->node]);

    for (int64_t i = 0; i < w.n; i++, y += channels, dt_windows_next(&w)) {
        int64_t at = dt_windows_first(&w);
        if (at < 0) simd->fill(y, nothing[a->kind], channels);
        else memcpy(y, x + at * channels, (size_t)channels * sizeof *y);
        for (; at >= 0 && (at = dt_windows_another(&w)) >= 0;)
            simd->strip[ops[a->kind]](y, y, x + at * channels, NULL, channels);
    }
}

const dt_kernel dt_kernel_reduce_window = {.name = "reduce_window",
                                           .op = &dt_op_reduce_window,
                                           .splits = true,
                                           .fits = fits,
                                           .run = run_reduce};

/* ---- select_and_scatter ---- */

/* Reserves scratch memory for the best value of each channel, and for the index of its element in
 * the window. */
static dt_status *prepare_select(dt_exec *x, dt_step *step) {
    const dt_type *t = &x->type[step->node];
    step->scratch = (size_t)t->dim[t->rank - 1] * (sizeof(float) + sizeof(int32_t));
    return NULL;
}

typedef struct selection {
    const dt_window_loops *loops;
    int64_t channels;
    const float *x;
    float *best, *dx;
    int32_t *which;
} selection;

/* Adds dy to the first maximum, or minimum, of one window, channel by channel. */
static void select_window(const selection *s, dt_windows *w, const float *dy) {
    int32_t k = 0;
    int64_t at = dt_windows_first(w);
    if (at < 0) return;
    memcpy(s->best, s->x + at * s->channels, (size_t)s->channels * sizeof *s->best);
    memset(s->which, 0, (size_t)s->channels * sizeof *s->which);
    while ((at = dt_windows_another(w)) >= 0)
        (w->a->kind == DT_REDUCE_MIN ? s->loops->least : s->loops->most)(
            s->best, s->which, s->x + at * s->channels, ++k, s->channels);
    k = 0;
    for (at = dt_windows_first(w); at >= 0; at = dt_windows_another(w))
        s->loops->give(s->dx + at * s->channels, dy, s->which, k++, s->channels);
}

static void run_select(const dt_kernel_call *c) {
    const dt_node *n = &c->x->g->node[c->step->node];
    const float *dy = rows_from(c, n->in[1]);
    int64_t row = dt_row_elements(c->x, c->step->node),
            channels = c->x->type[c->step->node].dim[n->type.rank - 1];
    const selection s = {.loops = c->x->engine->simd->window,
                         .channels = channels,
                         .x = rows_from(c, n->in[0]),
                         .best = (float *)c->scratch,
                         .dx = dt_floats(c->x, c->step->node) + c->lo * row,
                         .which = (int32_t *)c->scratch + channels};
    dt_windows w = walk(c, &c->x->type[n->in[0]], &c->x->type[n->in[1]]);

    memset(s.dx, 0, (size_t)((c->hi - c->lo) * row) * sizeof *s.dx);
    for (int64_t i = 0; i < w.n; i++, dy += channels, dt_windows_next(&w))
        select_window(&s, &w, dy);
}

const dt_kernel dt_kernel_select_and_scatter = {
    .name = "select_and_scatter",
    .op = &dt_op_select_and_scatter,
    .splits = true,
    .fits = fits,
    .prepare = prepare_select,
    .run = run_select,
};
