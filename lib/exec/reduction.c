/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See reduction.h. Adjacent dimensions are joined to extents, which are kept (K) or reduced (R)
 * alternately. The first extents decide which method is used:
 *
 *     K ..         each element of K separately
 *     R            a row of numbers becomes one (simd/sum.h)
 *     R K          rows are added to one (exec/sums.h)
 *     R K R ..     rows of all other extents are added, then K R ..; if the last extent is long,
 *                  its rows are reduced first, then R K ..
 *
 * The choice depends only on sizes, and an element of the result has the same bits whichever others
 * are computed with it.
 */
#include "exec/reduction.h"

#include <math.h>
#include <string.h>

#include "exec/sums.h"

/* a row of at least this length is summed as fast as several rows together */
enum { LONG_ROW = 64 };

/* ---- extents ---- */

dt_reduction dt_reduction_of(const dt_simd *simd, dt_reduce_kind kind, const dt_type *in,
                             uint32_t dims) {
    dt_reduction r = {.simd = simd, .kind = kind, .load = DT_S_COPY};
    int64_t stride = 1;
    for (int d = 0; d < in->rank; d++) {
        const bool stays = !(dims >> d & 1);
        if (r.n > 0 && r.extent[r.n - 1].stays == stays) r.extent[r.n - 1].size *= in->dim[d];
        else r.extent[r.n++] = (dt_extent){.size = in->dim[d], .stays = stays};
    }
    for (int i = r.n - 1; i >= 0; stride *= r.extent[i--].size) r.extent[i].stride = stride;
    return r;
}

int64_t dt_reduction_narrow(dt_reduction *r, int64_t lo, int64_t hi, int64_t rows) {
    dt_extent *e = &r->extent[r->extent[0].stays ? 0 : 1];
    const int64_t row = rows > 0 ? e->size / rows : 0;
    e->size = (hi - lo) * row;
    return lo * row * e->stride;
}

/* Whether the order is R K ..: rows of the last extent are reduced first. */
static bool begins_at_the_end(const dt_extent *e, int n) {
    return !e[n - 1].stays && e[n - 1].size >= LONG_ROW;
}

bool dt_reduction_loads(const dt_reduction *r) {
    return r->kind == DT_REDUCE_SUM && r->n > 1 && !r->extent[0].stays &&
           !begins_at_the_end(r->extent, r->n);
}

static int64_t room_of(const dt_extent *e, int n) {
    if (n <= 1 || (n == 2 && !e->stays)) return 0;
    if (e->stays) return room_of(e + 1, n - 1);
    if (begins_at_the_end(e, n)) return e->size * (e->stride / e[n - 1].size) + room_of(e, n - 1);
    return e->stride + room_of(e + 1, n - 1);
}

int64_t dt_reduction_room(const dt_reduction *r) { return room_of(r->extent, r->n); }

/* ---- steps ---- */

/* The reduction that remains to be done for a part of the input. */
typedef struct part {
    const dt_reduction *r;
    dt_strip_op load;
    const void *at;
    const dt_extent *e;
    int n;
} part;

/* Returns the smallest element, or NaN if there is one. */
static float smallest(const float *a, int64_t n) {
    float least = INFINITY;
    for (int64_t i = 0; i < n && least == least; i++) least = a[i] >= least ? least : a[i];
    return least;
}

static float reduce_row(const dt_reduction *r, const float *row, int64_t n) {
    return r->kind == DT_REDUCE_SUM   ? r->simd->sum(row, n)
           : r->kind == DT_REDUCE_MAX ? r->simd->max(row, n)
                                      : smallest(row, n);
}

/* Reduces the first extent. n elements remain. */
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

static void run(const part *p, float *to, float *room);

static int64_t elements_that_stay(const dt_extent *e, int n) {
    int64_t all = 1;
    for (int i = 0; i < n; i++) all *= e[i].stays ? e[i].size : 1;
    return all;
}

static void run_each(const part *p, float *to, float *room) {
    const int64_t each = elements_that_stay(p->e + 1, p->n - 1);
    part step = {.r = p->r, .load = p->load, .e = p->e + 1, .n = p->n - 1};
    for (int64_t i = 0; i < p->e->size; i++) {
        step.at = (const float *)p->at + i * p->e->stride;
        run(&step, to + i * each, room);
    }
}

static void run_first(const part *p, float *to, float *room) {
    reduce_rows(p, p->e[1].size * p->e[1].stride, room);
    run(&(part){.r = p->r, .load = DT_S_COPY, .at = room, .e = p->e + 1, .n = p->n - 1}, to,
        room + p->e->stride);
}

/* Reduces each row to a number. In `room` the numbers have the same order as the rows in the
 * input. */
static void run_last(const part *p, float *to, float *room) {
    const int64_t row = p->e[p->n - 1].size, some = p->e[1].size * (p->e[1].stride / row);
    dt_extent e[DT_MAX_RANK];

    memcpy(e, p->e, (size_t)(p->n - 1) * sizeof *e);
    for (int i = 0; i < p->n - 1; i++) e[i].stride /= row;
    for (int64_t i = 0; i < e[0].size; i++)
        for (int64_t k = i * e[0].stride; k < i * e[0].stride + some; k++)
            room[k] = reduce_row(p->r, (const float *)p->at + k * row, row);
    run(&(part){.r = p->r, .load = DT_S_COPY, .at = room, .e = e, .n = p->n - 1}, to,
        room + e[0].size * e[0].stride);
}

static void run(const part *p, float *to, float *room) {
    if (p->n == 0) *to = *(const float *)p->at;
    else if (p->e->stays) run_each(p, to, room);
    else if (p->n == 1) *to = reduce_row(p->r, p->at, p->e->size);
    else if (p->n == 2) reduce_rows(p, p->e[1].size, to);
    else if (begins_at_the_end(p->e, p->n)) run_last(p, to, room);
    else run_first(p, to, room);
}

void dt_reduction_run(const dt_reduction *r, const void *at, float *to, float *room) {
    run(&(part){.r = r, .load = r->load, .at = at, .e = r->extent, .n = r->n}, to, room);
}
