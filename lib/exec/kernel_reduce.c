/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums, maxima and minima of floats over any set of dimensions, of all rows or of each segment;
 * also the index of the largest value, broadcasts of segments' values to their rows, and sums of
 * squared differences from the mean.
 *
 * Adjacent dimensions are joined to extents, which are kept (K) or reduced (R) alternately. The
 * first extents decide which method is used:
 *
 *     K ..         each element of K separately
 *     R            a row of numbers becomes one (simd/sum.h)
 *     R K          rows are combined to one (sums: exec/sums.h)
 *     R K R ..     rows of all other extents are combined, then K R ..; but if the last extent is
 *                  an R and long, its rows are reduced first, then R K ..
 *
 * The choice depends only on sizes, and an element of the result has the same bits whichever others
 * are computed with it.
 */
#include <math.h>
#include <string.h>

#include "exec/exec_impl.h"
#include "exec/sums.h"
#include "op/cells.h"
#include "op/segment.h"

/* An extent: adjacent dimensions that are all reduced or all kept, joined to one. Its size, and the
 * distance between its elements. */
typedef struct extent {
    int64_t size, stride;
    bool stays;
} extent;

typedef struct reduction {
    const dt_simd *simd;
    dt_reduce_kind kind;
    /* the instruction that converts elements to float; DT_S_COPY for float32; other types only if
     * reduction_loads is true */
    dt_strip_op load;
    int n;
    extent extent[DT_MAX_RANK];
} reduction;

/* a row of at least this many elements is summed alone as fast as several rows together */
enum { LONG_ROW = 64 };

/* ---- extents ---- */

/* Describes the reduction over the dimensions in the set `dims` of a type whose sizes are all
 * known. */
static reduction reduction_of_type(const dt_simd *simd, dt_reduce_kind kind, const dt_type *in,
                                   uint32_t dims) {
    reduction r = {.simd = simd, .kind = kind, .load = DT_S_COPY};
    int64_t stride = 1;
    for (int d = 0; d < in->rank; d++) {
        const bool stays = !(dims >> d & 1);
        if (r.n > 0 && r.extent[r.n - 1].stays == stays) r.extent[r.n - 1].size *= in->dim[d];
        else r.extent[r.n++] = (extent){.size = in->dim[d], .stays = stays};
    }
    for (int i = r.n - 1; i >= 0; stride *= r.extent[i--].size) r.extent[i].stride = stride;
    return r;
}

/* Restricts the reduction to entries [lo, hi) of the result's first dimension, which has `rows`
 * entries. Returns the index of the first element of the input that is read. */
static int64_t reduction_narrow(reduction *r, int64_t lo, int64_t hi, int64_t rows) {
    extent *e = &r->extent[r->extent[0].stays ? 0 : 1];
    const int64_t row = rows > 0 ? e->size / rows : 0;
    e->size = (hi - lo) * row;
    return lo * row * e->stride;
}

/* For extents whose first one is reduced: whether the last one is reduced first, each of its rows
 * to one number. That is so if it is to be reduced and long. */
static bool begins_at_the_end(const extent *e, int n) {
    return !e[n - 1].stays && e[n - 1].size >= LONG_ROW;
}

static bool reduction_loads(const reduction *r) {
    return r->kind == DT_REDUCE_SUM && r->n > 1 && !r->extent[0].stays &&
           !begins_at_the_end(r->extent, r->n);
}

static int64_t room_of(const extent *e, int n) {
    if (n <= 1 || (n == 2 && !e->stays)) return 0;
    if (e->stays) return room_of(e + 1, n - 1);
    if (begins_at_the_end(e, n)) return e->size * (e->stride / e[n - 1].size) + room_of(e, n - 1);
    return e->stride + room_of(e + 1, n - 1);
}

/* Returns the number of floats of working memory that reduction_run needs besides the result. */
static int64_t reduction_room(const reduction *r) { return room_of(r->extent, r->n); }

/* ---- steps, and the kernel reduce ---- */

/* The reduction that remains to be done, of the elements at `at` with the n extents e, which are
 * read by `load`. */
typedef struct part {
    const reduction *r;
    dt_strip_op load;
    const void *at;
    const extent *e;
    int n;
} part;

/* Returns the smallest element, or NaN if there is one. */
static float smallest(const float *a, int64_t n) {
    float least = INFINITY;
    for (int64_t i = 0; i < n && least == least; i++) least = a[i] >= least ? least : a[i];
    return least;
}

static float reduce_row(const reduction *r, const float *row, int64_t n) {
    return r->kind == DT_REDUCE_SUM   ? r->simd->sum(row, n)
           : r->kind == DT_REDUCE_MAX ? r->simd->max(row, n)
                                      : smallest(row, n);
}

/* Reduces the first extent, for the first n elements of each of its rows. to: [n] */
static void reduce_rows(const part *p, int64_t n, float *to) {
    const dt_simd *simd = p->r->simd;
    const bool max = p->r->kind == DT_REDUCE_MAX;
    const dt_sum_source rows = {
        .at = p->at, .load = p->load, .rows = p->e->size, .n = n, .stride = p->e->stride};

    if (p->r->kind == DT_REDUCE_SUM) {
        dt_sum_rows(simd, &rows, to);
        return;
    }
    simd->fill(to, max ? -INFINITY : INFINITY, n);
    for (int64_t i = 0; i < rows.rows; i++)
        simd->strip[max ? DT_S_maximum : DT_S_minimum](
            to, to, (const float *)p->at + i * rows.stride, NULL, n);
}

static void run_part(const part *p, float *to, float *room);

static int64_t elements_that_stay(const extent *e, int n) {
    int64_t all = 1;
    for (int i = 0; i < n; i++) all *= e[i].stays ? e[i].size : 1;
    return all;
}

static void run_each(const part *p, float *to, float *room) {
    const int64_t each = elements_that_stay(p->e + 1, p->n - 1);
    part step = {.r = p->r, .load = p->load, .e = p->e + 1, .n = p->n - 1};
    for (int64_t i = 0; i < p->e->size; i++) {
        step.at = (const float *)p->at + i * p->e->stride;
        run_part(&step, to + i * each, room);
    }
}

static void run_first(const part *p, float *to, float *room) {
    reduce_rows(p, p->e[1].size * p->e[1].stride, room);
    run_part(&(part){.r = p->r, .load = DT_S_COPY, .at = room, .e = p->e + 1, .n = p->n - 1}, to,
             room + p->e->stride);
}

/* Reduces the rows of the last extent, each to one number, and then the rest. The numbers are in
 * `room`, in the order of the rows. */
static void run_last(const part *p, float *to, float *room) {
    const int64_t row = p->e[p->n - 1].size, some = p->e[1].size * (p->e[1].stride / row);
    extent e[DT_MAX_RANK];

    memcpy(e, p->e, (size_t)(p->n - 1) * sizeof *e);
    for (int i = 0; i < p->n - 1; i++) e[i].stride /= row;
    for (int64_t i = 0; i < e[0].size; i++)
        for (int64_t k = i * e[0].stride; k < i * e[0].stride + some; k++)
            room[k] = reduce_row(p->r, (const float *)p->at + k * row, row);
    run_part(&(part){.r = p->r, .load = DT_S_COPY, .at = room, .e = e, .n = p->n - 1}, to,
             room + e[0].size * e[0].stride);
}

static void run_part(const part *p, float *to, float *room) {
    if (p->n == 0) *to = *(const float *)p->at;
    else if (p->e->stays) run_each(p, to, room);
    else if (p->n == 1) *to = reduce_row(p->r, p->at, p->e->size);
    else if (p->n == 2) reduce_rows(p, p->e[1].size, to);
    else if (begins_at_the_end(p->e, p->n)) run_last(p, to, room);
    else run_first(p, to, room);
}

/* Runs the reduction. at: the first element; to: receives the results, which are contiguous.
 * Without elements the results are 0 (sum), -INFINITY (maximum) or INFINITY (minimum). */
static void reduction_run(const reduction *r, const void *at, float *to, float *room) {
    run_part(&(part){.r = r, .load = r->load, .at = at, .e = r->extent, .n = r->n}, to, room);
}

static reduction reduction_of(const dt_exec *x, int node) {
    const dt_node *n = &x->g->node[node];
    const dt_reduce_attr *a = n->attr;
    return reduction_of_type(x->engine->simd, (dt_reduce_kind)a->kind, &x->type[n->in[0]], a->dims);
}

static bool fits(const dt_graph *g, int node) { return g->node[node].type.dtype == DT_FLOAT32; }

static void narrow(dt_exec *x, int node) {
    const int in = x->g->node[node].in[0];
    const reduction r = reduction_of(x, node);
    dt_store_wide(x, node);
    if (x->type[in].dtype != DT_BFLOAT16 || !reduction_loads(&r)) dt_store_wide(x, in);
}

static dt_status *prepare(dt_exec *x, dt_step *step) {
    const reduction r = reduction_of(x, step->node);
    step->scratch = (size_t)reduction_room(&r) * sizeof(float);
    return NULL;
}

static void run(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const int in = x->g->node[c->step->node].in[0];
    const dt_type *out = &x->type[c->step->node];
    reduction r = reduction_of(x, c->step->node);
    const int64_t from = out->rank > 0
                             ? reduction_narrow(&r, c->lo, c->hi,
                                                out->dim[0] * dt_steps_of(x, c->step->node))
                             : 0,
                  to = out->rank > 0 ? c->lo * dt_piece_elements(x, c->step->node) : 0;

    r.load = dt_strip_load(x->type[in].dtype);
    reduction_run(&r, (const char *)x->at[in] + from * dt_element_bytes(x, in),
                  dt_floats(x, c->step->node) + to, (float *)c->scratch);
}

const dt_kernel dt_kernel_reduce = {.name = "reduce",
                                    .op = &dt_op_reduce,
                                    .splits = DT_BY_ROWS | DT_BY_TIME,
                                    .fits = fits,
                                    .narrow = narrow,
                                    .prepare = prepare,
                                    .run = run};

/* ---- the best class ---- */

/* Returns the index of the largest value, the first one if several are equal, or the index of the
 * first NaN. */
#define BEST_OF(type)                                                                              \
    static int32_t best_##type(const void *array, int64_t from, int64_t n, int64_t stride) {       \
        const type *a = (const type *)array + from;                                                \
        int64_t best = 0;                                                                          \
        for (int64_t i = 1; i < n && a[best * stride] == a[best * stride]; i++)                    \
            if (!(a[i * stride] <= a[best * stride])) best = i;                                    \
        return (int32_t)best;                                                                      \
    }
BEST_OF(float)
BEST_OF(int32_t)
BEST_OF(int64_t)
BEST_OF(uint8_t)

typedef int32_t best_function(const void *array, int64_t from, int64_t n, int64_t stride);

static best_function *best_of(dt_dtype d) {
    return d == DT_FLOAT32 ? best_float
           : d == DT_INT32 ? best_int32_t
           : d == DT_INT64 ? best_int64_t
           : d == DT_UINT8 ? best_uint8_t
                           : NULL;
}

static bool fits_argmax(const dt_graph *g, int node) {
    const dt_type *in = &g->node[g->node[node].in[0]].type;
    return in->rank > 1 && best_of(in->dtype);
}

static void run_argmax(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const int in = x->g->node[c->step->node].in[0];
    const dt_type *t = &x->type[in];
    const int axis = (int)((const dt_axis_attr *)x->g->node[c->step->node].attr)->axis;
    const int64_t row = dt_piece_elements(x, c->step->node), n = t->dim[axis];
    best_function *best = best_of(t->dtype);
    int64_t stride[DT_MAX_RANK];
    int32_t *to = x->at[c->step->node];

    dt_strides(t, stride);
    for (int64_t i = c->lo * row; i < c->hi * row; i++)
        to[i] = best(x->at[in], i / stride[axis] * stride[axis] * n + i % stride[axis], n,
                     stride[axis]);
}

const dt_kernel dt_kernel_argmax = {.name = "argmax",
                                    .op = &dt_op_argmax,
                                    .splits = DT_BY_ROWS | DT_BY_TIME,
                                    .fits = fits_argmax,
                                    .run = run_argmax};

/* ---- for each segment ---- */

/*
 * Ops over the segments of a batch, which are the replicas folded into it, shards or tiles: sums,
 * maxima and minima over the rows of each segment, and the broadcast of a segment's value to its
 * rows. BatchNormalization over each replica's own rows consists of these. A segment gets the same
 * bits as its rows would get in a separate batch.
 */

/* Returns the number of rows of `node` before segment s of op n. `node` has the same number of rows
 * for each example. */
static int64_t border(const dt_exec *x, const dt_node *n, int node, int s) {
    const dt_call call = {.node = n, .env = x->env};
    const int64_t examples = dt_segment_border(&call, dt_segment_count(n));
    return examples > 0 ? x->type[node].dim[0] / examples * dt_segment_border(&call, s) : 0;
}

static int64_t elements_of_entry(const dt_exec *x, int node) {
    const dt_type *t = &x->type[node];
    int64_t n = 1;
    for (int d = 1; d < t->rank; d++) n *= t->dim[d];
    return n;
}

/* ---- sums, maxima and minima ---- */

/* Describes the reduction by which segment op `node` reduces a segment of `rows` rows. */
static reduction reduction_of_segment(const dt_exec *x, int node, int64_t rows) {
    const dt_segment_attr *a = x->g->node[node].attr;
    dt_type in = x->type[x->g->node[node].in[0]];
    in.dim[0] = rows;
    return reduction_of_type(x->engine->simd, (dt_reduce_kind)a->reduce.kind, &in, a->reduce.dims);
}

static reduction largest_segment(const dt_exec *x, int node) {
    return reduction_of_segment(x, node, x->type[x->g->node[node].in[0]].dim[0]);
}

static bool fits_reduce(const dt_graph *g, int node) {
    const dt_segment_attr *a = g->node[node].attr;
    return g->node[node].type.dtype == DT_FLOAT32 && a->reduce.dims & 1;
}

static void narrow_reduce(dt_exec *x, int node) {
    const int in = x->g->node[node].in[0];
    const reduction r = largest_segment(x, node);
    dt_store_wide(x, node);
    if (x->type[in].dtype != DT_BFLOAT16 || !reduction_loads(&r)) dt_store_wide(x, in);
}

static dt_status *prepare_reduce(dt_exec *x, dt_step *step) {
    const reduction r = largest_segment(x, step->node);
    step->scratch = (size_t)reduction_room(&r) * sizeof(float);
    return NULL;
}

static void run_reduce(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    const int in = n->in[0];
    const int64_t each = elements_of_entry(x, c->step->node),
                  row = elements_of_entry(x, in) * dt_element_bytes(x, in);

    for (int64_t s = c->lo; s < c->hi; s++) {
        const int64_t from = border(x, n, in, (int)s), to = border(x, n, in, (int)s + 1);
        reduction r = reduction_of_segment(x, c->step->node, to - from);
        r.load = dt_strip_load(x->type[in].dtype);
        reduction_run(&r, (const char *)x->at[in] + from * row,
                      dt_floats(x, c->step->node) + s * each, (float *)c->scratch);
    }
}

const dt_kernel dt_kernel_segment_reduce = {
    .name = "segment_reduce",
    .op = &dt_op_segment_reduce,
    .splits = true,
    .fits = fits_reduce,
    .narrow = narrow_reduce,
    .prepare = prepare_reduce,
    .run = run_reduce,
};

/* ---- copies ---- */

static void run_repeat(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    const size_t bytes =
        (size_t)(elements_of_entry(x, c->step->node) * dt_element_bytes(x, c->step->node));
    const char *from = x->at[n->in[0]];
    char *to = x->at[c->step->node];

    for (int s = 0; s < dt_segment_count(n); s++, from += bytes)
        for (int64_t i = border(x, n, c->step->node, s), end = border(x, n, c->step->node, s + 1);
             i < end && bytes; i++)
            memcpy(to + (size_t)i * bytes, from, bytes);
}

const dt_kernel dt_kernel_segment_repeat = {.name = "segment_repeat",
                                            .op = &dt_op_segment_broadcast,
                                            .narrow = dt_narrow_alike,
                                            .run = run_repeat};

/* ---- sums of squared differences from the mean ---- */

/*
 * Sums of squared differences from the mean over all dimensions but the last (the channels), in
 * float32, for each tile of the batch. The tile was computed just before and is in the cache, so
 * reading it twice, for the mean and for the differences, is cheap.
 */

static bool fits_deviations(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_type *in = &g->node[n->in[0]].type;
    const dt_segment_attr *a = n->attr;

    return in->dtype == DT_FLOAT32 && in->rank > 1 && a->cut == DT_CUT_TILES &&
           a->reduce.dims == (1u << (in->rank - 1)) - 1;
}

static void narrow_deviations(dt_exec *x, int node) { dt_store_wide(x, node); }

static int64_t channels_of(const dt_exec *x, int node) {
    const dt_type *t = &x->type[node];
    return t->dim[t->rank - 1];
}

/* Reserves scratch memory for the mean of each channel. */
static dt_status *prepare_deviations(dt_exec *x, dt_step *step) {
    step->scratch = (size_t)channels_of(x, step->node) * sizeof(float);
    return NULL;
}

static void run_deviations(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const int in = x->g->node[c->step->node].in[0];
    const int64_t channels = channels_of(x, c->step->node), batch = x->p->batch;
    const int64_t rows_each =
        batch && channels ? dt_type_elements(&x->type[in]) / batch / channels : 0;
    float *mean = (float *)c->scratch;

    for (int64_t s = c->lo; s < c->hi && channels; s++) {
        int64_t lo, hi;
        dt_segment_piece(batch, dt_segment_count(&x->g->node[c->step->node]), (int)s, &lo, &hi);
        const int64_t rows = (hi - lo) * rows_each;
        dt_sum_source from = {.at = (const char *)x->at[in] +
                                    lo * rows_each * channels * dt_element_bytes(x, in),
                              .load = dt_strip_load(x->type[in].dtype),
                              .rows = rows,
                              .n = channels,
                              .stride = channels};
        dt_sum_rows(x->engine->simd, &from, mean);
        for (int64_t j = 0; j < channels; j++) mean[j] /= (float)rows;
        from.mean = mean;
        dt_sum_rows(x->engine->simd, &from, dt_floats(x, c->step->node) + s * channels);
    }
}

const dt_kernel dt_kernel_deviations = {
    .name = "deviations",
    .op = &dt_op_segment_deviations,
    .splits = true,
    .fits = fits_deviations,
    .narrow = narrow_deviations,
    .prepare = prepare_deviations,
    .run = run_deviations,
};
