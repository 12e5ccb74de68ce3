/* Softmax and cross-entropy over rows of class scores, float32. Labels of any integer dtype are read as int32. */
#include "exec/exec_impl.h"

static int64_t classes(const dt_exec *x, int node)
{
    const dt_type *t = &x->type[node];
    return t->dim[t->rank - 1];
}

/* Rows of scores in one row of dimension 0, and the first one of this piece. */
static int64_t score_rows(const dt_exec *x, int scores, int64_t n)
{
    int64_t c = classes(x, scores);
    return c ? n * dt_row_elements(x, scores) / c : 0;
}

/* ---- softmax ---- */

static bool fits_softmax(const dt_graph *g, int node)
{
    return g->node[node].type.dtype == DT_FLOAT32 && g->node[node].type.rank > 1;
}

static void run_softmax(const dt_kernel_call *c)
{
    const dt_exec *x = c->x;
    int in = x->g->node[c->step->node].in[0];
    int64_t at = c->lo * dt_row_elements(x, in);

    x->engine->simd->softmax(dt_floats(x, c->step->node) + at, dt_floats(x, in) + at, score_rows(x, in, c->hi - c->lo), classes(x, in));
}

const dt_kernel dt_kernel_softmax = { .name = "softmax", .op = &dt_op_softmax, .splits = true, .fits = fits_softmax, .run = run_softmax };

/* ---- cross-entropy ---- */

static bool fits_entropy(const dt_graph *g, int node)
{
    const dt_node *n = &g->node[node];
    return g->node[n->in[0]].type.dtype == DT_FLOAT32 && g->node[n->in[0]].type.rank == 2 &&
           (!dt_dtype_is_float(g->node[n->in[1]].type.dtype) || g->node[n->in[1]].type.dtype == DT_FLOAT32);
}

/* Room for the piece's labels as int32. */
static dt_status *prepare_entropy(dt_exec *x, dt_step *step)
{
    step->scratch = (size_t)x->type[x->g->node[step->node].in[0]].dim[0] * sizeof(int32_t);
    return NULL;
}

static int64_t label_at(dt_dtype d, const void *p, int64_t i)
{
    switch (d) {
    case DT_BOOL: case DT_UINT8: return ((const uint8_t *)p)[i];
    case DT_INT8: return ((const int8_t *)p)[i];
    case DT_INT16: return ((const int16_t *)p)[i];
    case DT_INT32: return ((const int32_t *)p)[i];
    case DT_INT64: return ((const int64_t *)p)[i];
    default: return -1;
    }
}

static const int32_t *labels(const dt_kernel_call *c, int node)
{
    dt_dtype d = c->x->type[node].dtype;
    int32_t *to = (int32_t *)c->scratch;

    if (d == DT_INT32)
        return (const int32_t *)c->x->at[node] + c->lo;
    for (int64_t i = c->lo; i < c->hi; i++) {
        int64_t label = label_at(d, c->x->at[node], i);
        to[i - c->lo] = label >= 0 && label <= INT32_MAX ? (int32_t)label : -1;
    }
    return to;
}

static void run_entropy(const dt_kernel_call *c)
{
    const dt_exec *x = c->x;
    const dt_simd *simd = x->engine->simd;
    const int *in = x->g->node[c->step->node].in;
    int64_t n = classes(x, in[0]), at = c->lo * n, rows = c->hi - c->lo;
    float *loss = dt_floats(x, c->step->node) + c->lo;

    if (dt_dtype_is_float(x->type[in[1]].dtype))
        simd->entropy(loss, dt_floats(x, in[0]) + at, dt_floats(x, in[1]) + at, rows, n);
    else
        simd->sparse_entropy(loss, dt_floats(x, in[0]) + at, labels(c, in[1]), rows, n);
}

const dt_kernel dt_kernel_entropy = {
    .name = "entropy", .op = &dt_op_softmax_cross_entropy, .splits = true, .fits = fits_entropy, .prepare = prepare_entropy, .run = run_entropy,
};

static void run_entropy_grad(const dt_kernel_call *c)
{
    const dt_exec *x = c->x;
    const dt_simd *simd = x->engine->simd;
    const int *in = x->g->node[c->step->node].in;
    int64_t n = classes(x, in[0]), at = c->lo * n, rows = c->hi - c->lo;
    float *to = dt_floats(x, c->step->node) + at;
    const float *dy = dt_floats(x, in[2]) + c->lo;

    if (dt_dtype_is_float(x->type[in[1]].dtype))
        simd->entropy_grad(to, dt_floats(x, in[0]) + at, dt_floats(x, in[1]) + at, dy, rows, n);
    else
        simd->sparse_entropy_grad(to, dt_floats(x, in[0]) + at, labels(c, in[1]), dy, rows, n);
}

const dt_kernel dt_kernel_entropy_grad = {
    .name = "entropy_grad", .op = &dt_op_softmax_cross_entropy_grad, .splits = true, .fits = fits_entropy, .prepare = prepare_entropy,
    .run = run_entropy_grad,
};
