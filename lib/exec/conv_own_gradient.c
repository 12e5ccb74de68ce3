/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a convolution's kernel, without a library. conv_own.c describes the order of
 * sums. Rows are elements of the kernel; columns are the positions of the window in all images, row
 * by row. Elements of the kernel that read padding at the same positions form a part. In two cases
 * up to DT_CONV_TAPS elements form a part, whatever they read: in a depthwise convolution, and if
 * there are few elements of few features each (FEW). Then each line is one row, and each span says
 * which elements of the kernel have it (dt_conv_span.taps).
 */
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "exec/conv_own.h"
#include "exec/sums.h"

enum {
    SPACE = DT_CONV_SPACE,
    /* if there are fewer features than this per element of the kernel, and 2 to DT_CONV_TAPS
     * elements, each line is one row, as in all depthwise convolutions */
    FEW = 8,
    /* y is packed, except in depthwise convolutions, if its rows have more than WIDE floats and a
     * group's gradient has at least MANY_ROWS rows, or if a group's columns do not fill whole
     * vectors */
    WIDE = 128,
    MANY_ROWS = 256,
    /* largest product of the numbers of positions and parts for an axis in dt_own.reads */
    MOST_READS = 1 << 22,
    LINE = 64 /* bytes of a cache line */
};

/* ---- the plan ---- */

static void split_tap(const dt_own *p, int64_t tap, int64_t t[SPACE]) {
    for (int i = SPACE - 1; i >= 0; i--) {
        t[i] = tap % p->a[i].k;
        tap /= p->a[i].k;
    }
}

/* Returns the first position that reads at or behind element `at` of the image; the number of
 * positions if there is none. */
static int64_t first_place(const dt_own_axis *a, int64_t t, int64_t at) {
    const int64_t from = at + a->low - t * a->dilation;
    return from <= 0 ? 0 : dt_min(a->places, (from + a->stride - 1) / a->stride);
}

/* Finds the positions [*low, *high) at which element t of the kernel reads the image, not padding.
 * Both are a->places if there are none. */
static void find_places(const dt_own_axis *a, int64_t t, int64_t *low, int64_t *high) {
    *low = first_place(a, t, 0);
    *high = first_place(a, t, a->size);
    if (*low == *high) *low = *high = a->places; /* no position uses this element of the kernel */
}

static void add_line(const dt_own *p, dt_own_part *q, int64_t a, const int64_t t[SPACE],
                     int64_t feature) {
    int64_t c = feature * p->c.w_in;
    for (int i = 0; i < SPACE; i++) c += t[i] * p->a[i].w;
    q->line[q->lines++] = (dt_conv_line){a + feature, c};
}

/* Returns the offset in the image of what element t of the kernel reads at the part's first
 * position. */
static int64_t begin_of(const dt_own *p, const dt_own_part *q, const int64_t t[SPACE]) {
    const dt_own_axis *a = p->a;
    int64_t at = 0;
    for (int i = 0; i < SPACE; i++)
        at += (q->low[i] * a[i].stride - a[i].low + t[i] * a[i].dilation) * a[i].pitch;
    return at;
}

static bool has_places(const dt_own_part *q, const dt_own_part *other) {
    return memcmp(q->low, other->low, sizeof q->low) == 0 &&
           memcmp(q->high, other->high, sizeof q->high) == 0;
}

static bool find_parts(dt_own *p) {
    int64_t t[SPACE];
    p->part = dt_alloc((size_t)p->taps * sizeof *p->part);
    for (int64_t tap = 0; tap < p->taps; tap++) {
        dt_own_part new = {.each = p->in, .row_step = 1, .ldc = p->c.w_in}, *q = NULL;
        split_tap(p, tap, t);
        for (int i = 0; i < SPACE; i++) find_places(&p->a[i], t[i], &new.low[i], &new.high[i]);
        for (int64_t i = 0; i < p->n_parts && !q; i++)
            if (has_places(&p->part[i], &new)) q = &p->part[i];
        if (!q) {
            if ((p->n_parts + 1) * (p->n_parts + 1) > DT_OWN_SPANS) return false;
            new.from = begin_of(p, &new, t);
            new.line = dt_alloc((size_t)p->taps * sizeof *new.line);
            q = &p->part[p->n_parts++];
            *q = new;
        }
        add_line(p, q, begin_of(p, q, t) - q->from, t, 0);
    }
    for (int64_t i = 0; i < p->n_parts; i++) {
        dt_own_part *q = &p->part[i];
        const int64_t n = p->a[2].k;
        dt_own_join_lines(q, q->lines % n == 0 ? n : q->lines);
        dt_own_join_lines(q, q->lines);
    }
    return true;
}

static int64_t taps_of_part(const dt_own *p, int64_t i) {
    return dt_min(DT_CONV_TAPS, p->taps - i * DT_CONV_TAPS);
}

/* Computes, for each position of axis i and each part, which elements of the kernel read the image
 * there, as bits. */
static void find_reads(dt_own *p, int i) {
    const int64_t places = p->a[i].places;
    int64_t t[SPACE], low, high;
    p->reads[i] = dt_alloc((size_t)(p->n_parts * places) * sizeof *p->reads[i]);
    for (int64_t tap = 0; tap < p->taps; tap++) {
        uint64_t *reads = p->reads[i] + tap / DT_CONV_TAPS * places;
        split_tap(p, tap, t);
        find_places(&p->a[i], t[i], &low, &high);
        for (int64_t m = low; m < high; m++) reads[m] |= (uint64_t)1 << tap % DT_CONV_TAPS;
    }
}

static bool find_singles(dt_own *p) {
    const int64_t features = p->one_by_one ? 1 : p->in,
                  parts = (p->taps + DT_CONV_TAPS - 1) / DT_CONV_TAPS;
    int64_t t[SPACE] = {0};
    for (int i = 0; i < SPACE; i++)
        if (parts > MOST_READS / p->a[i].places) return false;
    p->n_parts = parts;
    p->part = dt_alloc((size_t)p->n_parts * sizeof *p->part);
    for (int64_t i = 0; i < p->n_parts; i++) {
        dt_own_part *q = &p->part[i];
        *q = (dt_own_part){.each = 1, .row_step = 1, .ldc = p->c.w_in};
        split_tap(p, 0, t);
        q->from = begin_of(p, q, t);
        q->line = dt_alloc((size_t)(taps_of_part(p, i) * features) * sizeof *q->line);
        for (int64_t k = 0; k < taps_of_part(p, i); k++) {
            split_tap(p, i * DT_CONV_TAPS + k, t);
            for (int64_t f = 0; f < features; f++)
                add_line(p, q, begin_of(p, q, t) - q->from, t, f);
        }
    }
    for (int i = 0; i < SPACE; i++) find_reads(p, i);
    return true;
}

/* Returns the number of columns of the largest stretch. */
static int64_t k_of(const dt_own *p) { return dt_min(p->stretch, p->runs) * p->a[2].places; }

static int64_t spans_of(const dt_own *p) {
    return dt_own_most_spans(dt_min(p->stretch, p->runs) * p->classes[2], k_of(p), k_of(p));
}

static int64_t room_of_y(const dt_own *p) {
    return p->packs ? p->simd->conv->room(k_of(p), p->out) : 0;
}

static int64_t stretches_of(const dt_own *p) { return (p->runs + p->stretch - 1) / p->stretch; }

static int64_t elements_of(const dt_own *p) { return p->taps * p->in * p->others; }

/* Returns the bytes of n floats, rounded up to whole cache lines. */
static size_t bytes_of(int64_t n) { return ((size_t)n * sizeof(float) + LINE - 1) / LINE * LINE; }

static int64_t floats_of(const dt_own *p) {
    const int64_t levels = stretches_of(p) > 1 ? dt_sum_levels(stretches_of(p)) : 0;
    return room_of_y(p) + levels * elements_of(p);
}

bool dt_own_gradient_plan(dt_own *p, dt_conv_plan *out) {
    const dt_own_axis *a = p->a;
    const int64_t rows = p->c.groups > 1 ? DT_OWN_ROWS : p->taps * p->in;
    p->runs_each = a[0].places * a[1].places;
    p->runs = p->c.images * p->runs_each;
    p->stretch = dt_own_stretch(rows, a[2].places);
    p->single = p->one_by_one || (p->in < FEW && p->taps > 1 && p->taps <= DT_CONV_TAPS);
    p->packs = !p->one_by_one && ((p->others > WIDE && p->taps * p->in >= MANY_ROWS) ||
                                  p->simd->conv->room(k_of(p), p->out) != k_of(p) * p->out);
    if (!(p->single ? find_singles(p) : find_parts(p))) return false;
    out->scratch = bytes_of(floats_of(p)) + (size_t)spans_of(p) * sizeof(dt_conv_span);
    return true;
}

/* ---- running ---- */

/* The arrays and the working memory of one gradient. */
typedef struct work {
    const dt_own *p;
    const float *x, *y;
    float *packed, *levels;
    dt_conv_span *span;
} work;

/* A row of positions of the window, in one image. */
typedef struct run {
    /* at: the row's position in its image; from: what this row of positions adds to
     * dt_own_part.from, in floats */
    int64_t at[2], from;
} run;

static run run_of(const dt_own *p, int64_t r, const int64_t low[SPACE]) {
    const dt_own_axis *a = p->a;
    const int64_t place = r % p->runs_each;
    run it = {.at = {place / a[1].places, place % a[1].places},
              .from = r / p->runs_each * p->image};
    for (int i = 0; i < 2; i++) it.from += (it.at[i] - low[i]) * a[i].stride * a[i].pitch;
    return it;
}

/* Adds the spans of the runs [first, end) to s, for a part in which each line is one row. */
static void pass_singles(const dt_own *p, const dt_own_part *q, dt_own_spans *s, int64_t first,
                         int64_t end) {
    const dt_own_axis *a = p->a;
    const uint64_t *reads[SPACE];
    for (int i = 0; i < SPACE; i++) reads[i] = p->reads[i] + (q - p->part) * a[i].places;
    for (int64_t r = first; r < end; r++) {
        const run it = run_of(p, r, q->low);
        const uint64_t taps = reads[0][it.at[0]] & reads[1][it.at[1]];
        for (int64_t i = 0; i < p->classes[2]; i++) {
            const dt_own_places *c = &p->class[2][i];
            const uint64_t some = taps & reads[2][c->first];
            if (some)
                dt_own_pass(s, q->from + it.from + c->first * a[2].stride * a[2].pitch, c->n, some);
            else dt_own_skip(s, c->n);
        }
    }
}

static void pass_part(const dt_own *p, const dt_own_part *q, dt_own_spans *s, int64_t first,
                      int64_t end) {
    const int64_t places = p->a[2].places, n = q->high[2] - q->low[2];
    for (int64_t r = first; r < end; r++) {
        const run it = run_of(p, r, q->low);
        bool there = n > 0;
        for (int i = 0; i < 2; i++) there &= it.at[i] >= q->low[i] && it.at[i] < q->high[i];
        if (!there) {
            dt_own_skip(s, places);
            continue;
        }
        dt_own_skip(s, q->low[2]);
        dt_own_pass(s, q->from + it.from, n, 0);
        dt_own_skip(s, places - q->high[2]);
    }
}

static void run_part(const work *v, const dt_own_part *q, int64_t first, int64_t end, float *w) {
    const dt_own *p = v->p;
    const dt_conv_loops *loops = p->simd->conv;
    const int64_t k = (end - first) * p->a[2].places;
    dt_conv_product m = dt_own_product(p, q);
    dt_own_spans s = dt_own_spans_of(v->span, k, k, p->a[2].stride * p->a[2].pitch);
    if (p->single) pass_singles(p, q, &s, first, end);
    else pass_part(p, q, &s, first, end);
    m.span = v->span, m.spans = s.n;
    m.k = k, m.k_step = s.step;
    m.a = v->x, m.c = w;
    m.b = v->y + first * p->a[2].places * p->others, m.ldb = p->others;
    if (p->one_by_one) {
        m.columns = p->wide;
        loops->depthwise_gradient(&m);
        return;
    }
    m.single = p->single ? p->in : 0;
    if (p->packs) m.b = v->packed, m.ldb = 0;
    loops->run(&m);
}

/* Computes the part of the gradient w that belongs to one group of the convolution (to all groups
 * if it is depthwise), summed over the runs [first, end). */
static void run_group(work v, int64_t group, int64_t first, int64_t end, float *w) {
    const dt_own *p = v.p;
    v.x += group * p->in;
    v.y += group * p->out;
    if (p->packs) {
        const dt_conv_product b = {.b = v.y + first * p->a[2].places * p->others,
                                   .k = (end - first) * p->a[2].places,
                                   .columns = p->out,
                                   .ldb = p->others};
        p->simd->conv->pack(&b, v.packed);
    }
    for (int64_t i = 0; i < p->n_parts; i++)
        run_part(&v, &p->part[i], first, end, w + group * p->c.w_group);
}

static void run_stretch(const work *v, int64_t first, float *w) {
    const dt_own *p = v->p;
    const int64_t end = dt_min(p->runs, first + p->stretch),
                  groups = p->one_by_one ? 1 : p->c.groups;
    for (int64_t g = 0; g < groups; g++) run_group(*v, g, first, end, w);
}

void dt_own_gradient_run(const dt_own *p, const float *x, const float *y, float *w, char *scratch) {
    const int64_t n = elements_of(p);
    const bool one = stretches_of(p) == 1;
    float *room = (float *)(void *)scratch;
    const work v = {.p = p,
                    .x = x,
                    .y = y,
                    .packed = room,
                    .levels = room + room_of_y(p),
                    .span = (dt_conv_span *)(void *)(scratch + bytes_of(floats_of(p)))};
    dt_sum_tree t = {.level = v.levels, .stride = n, .n = n, .add = p->simd->strip[DT_S_add]};
    for (int64_t r = 0; r < p->runs; r += p->stretch) {
        run_stretch(&v, r, one ? w : dt_sum_next(&t));
        if (!one) dt_sum_push(&t);
    }
    if (one) return;
    dt_sum_end(&t);
    memcpy(w, t.level, (size_t)n * sizeof *w);
}
