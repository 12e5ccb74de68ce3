/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and cross-entropy over rows of class scores, float32. Labels of any integer dtype are
 * read as int32. */
#include "exec/exec_impl.h"

static int64_t classes(const dt_exec *x, int node) {
    const dt_type *t = &x->type[node];
    return t->dim[t->rank - 1];
}

/* Returns how many rows of class scores n elements of the node `scores` are; 0 if there are no
 * classes. */
static int64_t score_rows(const dt_exec *x, int scores, int64_t n) {
    int64_t c = classes(x, scores);
    return c ? n / c : 0;
}

/* ---- softmax ---- */

static bool fits_softmax(const dt_graph *g, int node) {
    return g->node[node].type.dtype == DT_FLOAT32 && g->node[node].type.rank > 1;
}

static void run_softmax(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    int in = x->g->node[c->step->node].in[0];
    const int64_t row = dt_piece_elements(x, c->step->node), at = c->lo * row;

    x->engine->simd->softmax(dt_floats(x, c->step->node) + at, dt_floats(x, in) + at,
                             score_rows(x, in, (c->hi - c->lo) * row), classes(x, in));
}

const dt_kernel dt_kernel_softmax = {.name = "softmax",
                                     .op = &dt_op_softmax,
                                     .splits = DT_BY_ROWS | DT_BY_TIME,
                                     .fits = fits_softmax,
                                     .run = run_softmax};

/* ---- cross-entropy ---- */

static bool fits_entropy(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    return g->node[n->in[0]].type.dtype == DT_FLOAT32 && g->node[n->in[0]].type.rank > 1 &&
           (!dt_dtype_is_float(g->node[n->in[1]].type.dtype) ||
            g->node[n->in[1]].type.dtype == DT_FLOAT32);
}

/* Reserves scratch memory in each lane for the labels of all rows as int32, which is enough for any
 * piece. */
static dt_status *prepare_entropy(dt_exec *x, dt_step *step) {
    int logits = x->g->node[step->node].in[0];
    step->scratch =
        (size_t)score_rows(x, logits, dt_type_elements(&x->type[logits])) * sizeof(int32_t);
    return NULL;
}

/* The rows of class scores that a piece computes. */
typedef struct part {
    /* index of the first row, number of rows, and number of classes in a row */
    int64_t first, rows, n;
    const float *scores;
} part;

static part part_of(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    int logits = x->g->node[c->step->node].in[0];
    const int64_t rows = x->type[logits].dim[0] * dt_steps_of(x, c->step->node),
                  each = rows ? dt_type_elements(&x->type[logits]) / rows : 0;
    part p = {.first = score_rows(x, logits, c->lo * each),
              .rows = score_rows(x, logits, (c->hi - c->lo) * each),
              .n = classes(x, logits)};

    p.scores = dt_floats(x, logits) + p.first * p.n;
    return p;
}

static int64_t label_at(dt_dtype d, const void *p, int64_t i) {
    switch (d) {
    case DT_BOOL:
    case DT_UINT8: return ((const uint8_t *)p)[i];
    case DT_INT8: return ((const int8_t *)p)[i];
    case DT_INT16: return ((const int16_t *)p)[i];
    case DT_UINT16: return ((const uint16_t *)p)[i];
    case DT_INT32: return ((const int32_t *)p)[i];
    case DT_UINT32: return ((const uint32_t *)p)[i];
    case DT_INT64:
    case DT_UINT64:
        /* a uint64 above INT64_MAX becomes negative here, which is an invalid class, too */
        return ((const int64_t *)p)[i];
    default: return -1;
    }
}

static const int32_t *labels(const dt_kernel_call *c, const part *p, int node) {
    dt_dtype d = c->x->type[node].dtype;
    int32_t *to = (int32_t *)c->scratch;

    if (d == DT_INT32) return (const int32_t *)c->x->at[node] + p->first;
    for (int64_t i = 0; i < p->rows; i++) {
        int64_t label = label_at(d, c->x->at[node], p->first + i);
        to[i] = label >= 0 && label <= INT32_MAX ? (int32_t)label : -1;
    }
    return to;
}

static void run_entropy(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_simd *simd = x->engine->simd;
    int target = x->g->node[c->step->node].in[1];
    part p = part_of(c);
    float *loss = dt_floats(x, c->step->node) + p.first;

    if (dt_dtype_is_float(x->type[target].dtype))
        simd->entropy(loss, p.scores, dt_floats(x, target) + p.first * p.n, p.rows, p.n);
    else simd->sparse_entropy(loss, p.scores, labels(c, &p, target), p.rows, p.n);
}

const dt_kernel dt_kernel_entropy = {
    .name = "entropy",
    .op = &dt_op_softmax_cross_entropy,
    .splits = DT_BY_ROWS | DT_BY_TIME,
    .fits = fits_entropy,
    .prepare = prepare_entropy,
    .run = run_entropy,
};

static void run_entropy_grad(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_simd *simd = x->engine->simd;
    const int *in = x->g->node[c->step->node].in;
    part p = part_of(c);
    float *to = dt_floats(x, c->step->node) + p.first * p.n;
    const float *dy = dt_floats(x, in[2]) + p.first;

    if (dt_dtype_is_float(x->type[in[1]].dtype))
        simd->entropy_grad(to, p.scores, dt_floats(x, in[1]) + p.first * p.n, dy, p.rows, p.n);
    else simd->sparse_entropy_grad(to, p.scores, labels(c, &p, in[1]), dy, p.rows, p.n);
}

const dt_kernel dt_kernel_entropy_grad = {
    .name = "entropy_grad",
    .op = &dt_op_softmax_cross_entropy_grad,
    .splits = DT_BY_ROWS | DT_BY_TIME,
    .fits = fits_entropy,
    .prepare = prepare_entropy,
    .run = run_entropy_grad,
};
