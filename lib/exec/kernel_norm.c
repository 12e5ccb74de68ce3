/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation and its gradients for rows of features. Loops compute in float32; 16-bit
 * values are converted into scratch, a few rows at a time. */
#include <string.h>

#include "exec/exec_impl.h"
#include "exec/sums.h"

/* number of floats of an operand that are converted to float32 at a time; a single row may have
 * more. The gradient of gamma converts DT_SUM_ROWS rows at a time instead */
enum { SOME = 4096 };

static bool fits(const dt_graph *g, int node) {
    return g->node[g->node[node].in[0]].type.dtype == DT_FLOAT32 &&
           g->node[g->node[node].in[0]].type.rank > 1;
}

/* Stores gamma as float32, since it is read without conversion. */
static void narrow_grad(dt_exec *x, int node) { dt_store_wide(x, x->g->node[node].in[1]); }

/* Stores gamma and beta as float32, since both are read without conversion. */
static void narrow(dt_exec *x, int node) {
    narrow_grad(x, node);
    dt_store_wide(x, x->g->node[node].in[2]);
}

/* Stores the result, which is the gradient of gamma, as float32. */
static void narrow_scale_grad(dt_exec *x, int node) { dt_store_wide(x, node); }

static int64_t features_of(const dt_exec *x, int node) {
    const dt_type *t = &x->type[x->g->node[node].in[0]];
    return t->dim[t->rank - 1];
}

static int64_t rows_at_a_time(const dt_exec *x, int node) {
    int64_t n = features_of(x, node);
    return n > SOME || n == 0 ? 1 : SOME / n;
}

static dt_status *prepare(dt_exec *x, dt_step *step) {
    const dt_node *n = &x->g->node[step->node];
    bool any = dt_is_stored_narrow(x, step->node);
    for (int k = 0; k < n->n_in; k++) any |= dt_is_stored_narrow(x, n->in[k]);
    step->scratch = any ? (size_t)(3 * rows_at_a_time(x, step->node) * features_of(x, step->node)) *
                              sizeof(float)
                        : 0;
    return NULL;
}

/* Iterates over the rows [row, end) of features, at most `most` at a time; the current ones are row
 * .. row + some - 1. */
typedef struct walker {
    const dt_kernel_call *c;
    int64_t features, row, end, some, most;
} walker;

/* Returns the number of rows of features in the first `rows` rows of dimension 0, of `elements`
 * elements each. */
static int64_t rows_in(const dt_exec *x, int node, int64_t rows, int64_t elements) {
    const int64_t n = features_of(x, node);
    return n ? rows * elements / n : 0;
}

/* Returns a walker over the rows of features of this piece, at most `most` at a time. */
static walker walk(const dt_kernel_call *c, int64_t most) {
    const int64_t row = dt_piece_elements(c->x, c->step->node);
    return (walker){.c = c,
                    .features = features_of(c->x, c->step->node),
                    .row = rows_in(c->x, c->step->node, c->lo, row),
                    .end = rows_in(c->x, c->step->node, c->hi, row),
                    .most = most};
}

static bool next(walker *w) {
    w->row += w->some;
    w->some = w->end - w->row < w->most ? w->end - w->row : w->most;
    return w->some > 0;
}

/* Returns the address for the walker's current rows of a node's value as floats: in the value
 * itself if it is stored as float32, else buffer `at` of scratch, which has `most` rows. Does not
 * convert. */
static float *rows_as_floats(const walker *w, int node, int at) {
    if (!dt_is_stored_narrow(w->c->x, node)) return dt_floats(w->c->x, node) + w->row * w->features;
    return (float *)w->c->scratch + at * w->most * w->features;
}

static const float *fetch(const walker *w, int node, int at) {
    float *to = rows_as_floats(w, node, at);
    dt_fetch_floats(w->c->x, node, w->row * w->features, w->some * w->features, to);
    return to;
}

static void store(const walker *w, int node, const float *from) {
    dt_store_floats(w->c->x, node, w->row * w->features, w->some * w->features, from);
}

/* Returns the number of rows to work on at a time: all of them if nothing must be converted in
 * scratch memory. */
static int64_t most_rows(const dt_kernel_call *c) {
    return c->step->scratch ? rows_at_a_time(c->x, c->step->node) : INT64_MAX;
}

static dt_norm_args arguments(const walker *w, const dt_node *n) {
    return (dt_norm_args){.rows = w->some,
                          .n = w->features,
                          .epsilon = (float)((const dt_norm_attr *)n->attr)->epsilon,
                          .x = fetch(w, n->in[0], 0)};
}

static void run(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];

    for (walker w = walk(c, most_rows(c)); next(&w);) {
        dt_norm_args a = arguments(&w, n);
        a.gamma = dt_floats(x, n->in[1]);
        a.beta = dt_floats(x, n->in[2]);
        a.out = rows_as_floats(&w, c->step->node, 2);
        x->engine->simd->rows->norm(&a);
        store(&w, c->step->node, a.out);
    }
}

const dt_kernel dt_kernel_layer_norm = {
    .name = "layer_norm",
    .op = &dt_op_layer_norm,
    .splits = DT_BY_ROWS | DT_BY_TIME,
    .fits = fits,
    .narrow = narrow,
    .prepare = prepare,
    .run = run,
};

static void run_grad(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];

    for (walker w = walk(c, most_rows(c)); next(&w);) {
        dt_norm_args a = arguments(&w, n);
        a.gamma = dt_floats(x, n->in[1]);
        a.dy = fetch(&w, n->in[2], 1);
        a.out = rows_as_floats(&w, c->step->node, 2);
        x->engine->simd->rows->norm_grad(&a);
        store(&w, c->step->node, a.out);
    }
}

const dt_kernel dt_kernel_layer_norm_grad = {
    .name = "layer_norm_grad",
    .op = &dt_op_layer_norm_grad,
    .splits = DT_BY_ROWS | DT_BY_TIME,
    .fits = fits,
    .narrow = narrow_grad,
    .prepare = prepare,
    .run = run_grad,
};

/* Returns the number of buffers of the tree over blocks of rows. They are in scratch memory, after
 * the converted rows. */
static int64_t tree_buffers(const dt_exec *x, int node) {
    const int64_t elements = dt_type_elements(&x->type[x->g->node[node].in[0]]);
    return dt_sum_levels(rows_in(x, node, 1, elements) / DT_SUM_ROWS + 1);
}

static dt_status *prepare_scale_grad(dt_exec *x, dt_step *step) {
    const int64_t features = features_of(x, step->node);
    step->scratch =
        (size_t)((2 * DT_SUM_ROWS + tree_buffers(x, step->node)) * features) * sizeof(float);
    return NULL;
}

/* Computes the gradient of gamma. Rows are added in blocks, and blocks by the tree of
 * exec/sums.h. */
static void run_scale_grad(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    const int64_t features = features_of(x, c->step->node);
    float *to = dt_floats(x, c->step->node),
          *level = (float *)c->scratch + 2 * DT_SUM_ROWS * features;
    dt_sum_tree sums = {
        .level = level, .stride = features, .n = features, .add = x->engine->simd->strip[DT_S_add]};

    memset(level, 0, (size_t)features * sizeof *to);
    walker w = {.c = c,
                .features = features,
                .end = rows_in(x, c->step->node, 1, dt_type_elements(&x->type[n->in[0]])),
                .most = DT_SUM_ROWS};
    for (; next(&w); dt_sum_push(&sums)) {
        dt_norm_args a = arguments(&w, n);
        a.dy = fetch(&w, n->in[1], 1);
        a.out = dt_sum_next(&sums);
        memset(a.out, 0, (size_t)features * sizeof *to);
        x->engine->simd->rows->norm_scale_grad(&a);
    }
    dt_sum_end(&sums);
    memcpy(to, level, (size_t)features * sizeof *to);
}

const dt_kernel dt_kernel_layer_norm_scale_grad = {
    .name = "layer_norm_scale_grad",
    .op = &dt_op_layer_norm_scale_grad,
    .fits = fits,
    .narrow = narrow_scale_grad,
    .prepare = prepare_scale_grad,
    .run = run_scale_grad,
};
