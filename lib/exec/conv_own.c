/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions without a library (simd/conv.c). Windows are read from the image itself; they are
 * not copied to a matrix first.
 *
 * Sums run over the columns of the matrix that im2col.c would make, in their order; k counts these.
 * A run is the columns of one element of the window, its features, or for a kernel's gradient one
 * row of positions. A stretch consists of a number of whole runs (dt_own_stretch), at least one:
 *
 *     stretches    the tree of exec/sums.h adds their sums
 *     blocks       DT_PRODUCT_BLOCK columns of a stretch; the same kind of tree adds their sums
 *     columns      are added one after the other, from 0
 *
 * Zeros are skipped: padding and, in the gradient of an image, the gaps that strides leave between
 * elements. They still count, so blocks end where they would if the zeros were added. Positions are
 * therefore divided into parts, each of which reads the same elements of the kernel: the middle,
 * each edge, and each remainder of the position divided by the stride. An image of few positions is
 * one part (has_few_places).
 */
#include "exec/conv_own.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "exec/sums.h"

enum { SPACE = DT_CONV_SPACE, FEW_PLACES = 4, SMALL_RESULT = 48 /* numbers of positions */ };
/* SMALL_IMAGE: the most floats of an image that fits into the second-level cache beside a panel.
 * LARGE_KERNEL: a kernel of more floats does not fit. */
enum { SMALL_IMAGE = 1 << 16, LARGE_KERNEL = 1 << 17 };

/* ---- blocks and spans ---- */

static int trailing_ones(int64_t n) { return __builtin_ctzll(~(unsigned long long)n); }

static int ones(int64_t n) { return __builtin_popcountll((unsigned long long)n); }

/* Returns the column at which the current block ends. */
static int64_t end_of_block(const dt_own_spans *s) {
    const int64_t begin = s->k / s->stretch * s->stretch,
                  block = begin + ((s->k - begin) / DT_PRODUCT_BLOCK + 1) * DT_PRODUCT_BLOCK;
    return dt_min(dt_min(block, begin + s->stretch), s->all);
}

/* Returns the number of sums of earlier blocks that are added when a block ends at column k. */
static int joins_at(const dt_own_spans *s, int64_t k) {
    const int64_t stretch = (k - 1) / s->stretch, begin = stretch * s->stretch,
                  block = (k - 1 - begin) / DT_PRODUCT_BLOCK;
    const bool ends = k == s->all;
    if (!ends && k - begin < s->stretch) return trailing_ones(block);
    return ones(block) + (ends ? ones(stretch) : trailing_ones(stretch));
}

dt_own_spans dt_own_spans_of(dt_conv_span *span, int64_t stretch, int64_t all, int64_t step) {
    dt_own_spans s = {.span = span, .stretch = stretch, .all = all, .step = step};
    s.end = end_of_block(&s);
    return s;
}

static void move(dt_own_spans *s, int64_t n) {
    s->k += n;
    if (s->k < s->end) return;
    s->span[s->n - 1].joins = joins_at(s, s->k);
    s->end = end_of_block(s);
}

void dt_own_pass(dt_own_spans *s, int64_t at, int64_t n, uint64_t taps) {
    for (int64_t some; n > 0; n -= some, at += some * s->step) {
        dt_conv_span *last = s->n ? &s->span[s->n - 1] : NULL;
        some = dt_min(n, s->end - s->k);
        if (last && last->joins < 0 && last->k + last->n == s->k && last->taps == taps &&
            last->at + last->n * s->step == at)
            last->n += (int32_t)some;
        else s->span[s->n++] = (dt_conv_span){at, taps, (int32_t)s->k, (int32_t)some, -1};
        move(s, some);
    }
}

void dt_own_skip(dt_own_spans *s, int64_t n) {
    for (int64_t some; n > 0; n -= some) {
        some = dt_min(n, s->end - s->k);
        if (s->k + some == s->end && (s->n == 0 || s->span[s->n - 1].joins >= 0))
            s->span[s->n++] =
                (dt_conv_span){0, ~(uint64_t)0, 0, 0, -1}; /* an empty block, whose sum is 0 */
        move(s, some);
    }
}

int64_t dt_own_most_spans(int64_t calls, int64_t k, int64_t stretch) {
    return calls + 2 * (k / DT_PRODUCT_BLOCK + k / stretch + 2);
}

int64_t dt_own_stretch(int64_t rows, int64_t n) {
    return dt_max(1, DT_OWN_STRETCH / dt_min(rows, DT_OWN_ROWS) / n);
}

/* ---- geometry ---- */

static int64_t floor_of(int64_t n, int64_t by) { return n >= 0 ? n / by : -((by - 1 - n) / by); }

/* Whether position rest + base * m of the result reads the image, not padding or a gap between its
 * elements, for element t of the kernel. Sets *element to the index in the image that it reads
 * along this axis; *element is not valid if the function returns false. */
static bool reads(const dt_own_axis *a, int64_t rest, int64_t m, int64_t t, int64_t *element) {
    const int64_t at = rest - a->low + t * a->dilation, from = floor_of(at, a->base);
    *element = m * a->stride + from;
    return from * a->base == at && *element >= 0 && *element < a->size;
}

/* Returns the first element of the kernel that lies on element `at` of the image or behind it, at
 * position rest + base * m of the result; a->k if there is none. */
static int64_t first_tap(const dt_own_axis *a, int64_t rest, int64_t m, int64_t at) {
    const int64_t from = (at - m * a->stride) * a->base - rest + a->low;
    return dt_max(0, dt_min(a->k, -floor_of(-from, a->dilation)));
}

/* Whether two positions read the same elements of the kernel. They may differ only in those that
 * read within the image from one of them and before its beginning or behind its end from the
 * other. */
static bool same(const dt_own_axis *a, int64_t rest, int64_t m, int64_t other) {
    bool all = true;
    int64_t at;
    for (int end = 0; end < 2; end++) {
        const int64_t one = first_tap(a, rest, m, end ? a->size : 0),
                      two = first_tap(a, rest, other, end ? a->size : 0);
        for (int64_t t = dt_min(one, two); t < dt_max(one, two) && all; t++)
            all = reads(a, rest, m, t, &at) == reads(a, rest, other, t, &at);
    }
    return all;
}

static void find_classes(dt_own *p, int i) {
    const dt_own_axis *a = &p->a[i];
    dt_own_places *all = p->class[i] = dt_alloc((size_t)(a->places + 1) * sizeof *all);
    int64_t n = 0;
    for (int64_t rest = 0; rest < dt_min(a->base, a->places); rest++)
        for (int64_t m = 0; m * a->base + rest < a->places; m++) {
            if (m > 0 && same(a, rest, m - 1, m)) all[n - 1].n++;
            else all[n++] = (dt_own_places){rest, m, 1};
        }
    p->classes[i] = n;
}

static void read_axis(dt_own *p, int i, int j) {
    const dt_conv *c = &p->c;
    dt_own_axis *a = &p->a[i];
    *a = (dt_own_axis){.size = c->x[j],
                       .places = c->y[j],
                       .k = c->k[j],
                       .stride = c->stride[j],
                       .dilation = c->dilation[j],
                       .low = c->low[j],
                       .base = 1,
                       .w = c->w_k[j]};
    if (c->kind != DT_CONV_DATA) return;
    a->size = c->y[j];
    a->places = c->x[j];
    a->stride = 1;
    a->low = (c->k[j] - 1) * c->dilation[j] - c->low[j];
    a->base = c->stride[j];
}

static void read_sizes(dt_own *p) {
    const dt_conv *c = &p->c;
    const bool data = c->kind == DT_CONV_DATA;
    p->in = data ? c->out : c->in;
    p->out = data ? c->in : c->out;
    p->wide = c->groups * p->in;
    p->others = c->groups * p->out;
    p->one_by_one = c->groups > 1 && c->in == 1 && c->out == 1;
    p->taps = 1;
    p->image = p->wide;
    for (int i = SPACE - 1; i >= 0; i--) {
        p->a[i] = (dt_own_axis){1, 1, 1, 1, 1, 0, 1, 0, 0};
        if (i >= SPACE - c->n) read_axis(p, i, i - (SPACE - c->n));
        p->taps *= p->a[i].k;
        p->a[i].pitch = p->image;
        p->image *= p->a[i].size;
    }
}

/* Returns the distance in w, in floats, from a feature that the sum runs over to the next. */
static int64_t inner_step(const dt_own *p) {
    return p->c.kind == DT_CONV_DATA ? p->c.w_out : p->c.w_in;
}

/* Whether the loops can run it: float32, no empty dimension, and a kernel that is a matrix (B or,
 * for its gradient, C) with rows at equal distances, adjacent columns and fewer than INT32_MAX / 2
 * rows. */
static bool is_plain(const dt_own *p) {
    const dt_conv *c = &p->c;
    int64_t step = inner_step(p) * p->in;
    bool plain = c->x_is == DT_GEMM_F32 && c->y_is == DT_GEMM_F32 && c->w_is == DT_GEMM_F32 &&
                 c->images > 0 && p->in > 0 && p->out > 0 && p->taps > 0 &&
                 (p->out == 1 || (c->kind == DT_CONV_DATA ? c->w_in : c->w_out) == 1);
    for (int i = SPACE - 1; i >= 0 && plain; i--) {
        plain = (p->a[i].k == 1 || p->a[i].w == step) && p->a[i].size > 0 && p->a[i].places > 0;
        step *= p->a[i].k;
    }
    return plain && p->taps * p->in < INT32_MAX / 2;
}

void dt_own_join_lines(dt_own_part *q, int64_t n) {
    bool ok = n > 1 && q->lines % n == 0;
    for (int64_t l = 0; l + 1 < q->lines && ok; l++)
        ok = l % n == n - 1 || (q->line[l + 1].a - q->line[l].a == q->each * q->row_step &&
                                q->line[l + 1].c - q->line[l].c == q->each * q->ldc);
    if (!ok) return;
    q->lines /= n;
    q->each *= n;
    for (int64_t l = 0; l < q->lines; l++) q->line[l] = q->line[l * n];
}

/* ---- the convolution, and the gradient of its image ---- */

/* Finds the spans of a part: the elements of the kernel that its positions read, and blocks of
 * zeros. */
static void find_spans(const dt_own *p, dt_own_part *q, const dt_own_places *at[SPACE]) {
    const int64_t k = p->taps * p->in, stretch = dt_own_stretch(DT_OWN_ROWS, p->in) * p->in;
    const dt_own_axis *a = p->a;
    int64_t t[SPACE], element[SPACE];
    q->span = dt_alloc((size_t)dt_own_most_spans(p->taps, k, stretch) * sizeof *q->span);
    dt_own_spans s = dt_own_spans_of(q->span, stretch, k, 1);
    for (t[0] = 0; t[0] < a[0].k; t[0]++)
        for (t[1] = 0; t[1] < a[1].k; t[1]++)
            for (t[2] = 0; t[2] < a[2].k; t[2]++) {
                int64_t from = 0;
                bool there = true;
                for (int i = 0; i < SPACE; i++) {
                    there &= reads(&a[i], at[i]->rest, at[i]->first, t[i], &element[i]);
                    from += element[i] * a[i].pitch;
                }
                if (there) dt_own_pass(&s, from, p->in, 0);
                else dt_own_skip(&s, p->in);
            }
    q->spans = s.n;
}

/* Finds the lines of a part. A line goes along the last spatial dimension, or along the one before
 * it if the last one has fewer than FEW_PLACES positions and the one before has more positions than
 * the last one. */
static void find_lines(const dt_own *p, dt_own_part *q, const dt_own_places *at[SPACE]) {
    const dt_own_axis *a = p->a;
    const int inner = at[2]->n < FEW_PLACES && at[1]->n > at[2]->n ? 1 : 2, outer = 3 - inner;
    const int64_t pitch[SPACE] = {a[1].places * a[2].places * p->others, a[2].places * p->others,
                                  p->others};
    int64_t begin = 0;
    for (int i = 0; i < SPACE; i++) begin += (at[i]->first * a[i].base + at[i]->rest) * pitch[i];
    q->each = at[inner]->n;
    q->row_step = a[inner].stride * a[inner].pitch;
    q->ldc = a[inner].base * pitch[inner];
    q->line = dt_alloc((size_t)(at[0]->n * at[outer]->n) * sizeof *q->line);
    for (int64_t i = 0; i < at[0]->n; i++)
        for (int64_t j = 0; j < at[outer]->n; j++)
            q->line[q->lines++] =
                (dt_conv_line){i * a[0].stride * a[0].pitch + j * a[outer].stride * a[outer].pitch,
                               begin + i * a[0].base * pitch[0] + j * a[outer].base * pitch[outer]};
    dt_own_join_lines(q, q->lines);
}

/* Whether the result has at most SMALL_RESULT positions, which do not all read the same elements of
 * the kernel, and the convolution is neither depthwise nor the gradient of one with strides. Then
 * each position is a row of one part, in which spans say which rows have them (dt_conv_span.taps).
 * Parts of one or two rows would read the whole kernel each. */
static bool has_few_places(const dt_own *p) {
    int64_t places = 1, classes = 1;
    bool plain = !p->one_by_one;
    for (int i = 0; i < SPACE; i++) {
        places *= p->a[i].places;
        classes *= p->classes[i];
        plain &= p->a[i].base == 1;
    }
    return plain && classes > 1 && places <= SMALL_RESULT;
}

/* Returns the set of positions at which element t of the kernel reads the image, not padding: bit i
 * for position i. */
static uint64_t readers(const dt_own *p, const int64_t t[SPACE]) {
    const dt_own_axis *a = p->a;
    uint64_t all = 0, bit = 1;
    int64_t element;
    for (int64_t i = 0; i < a[0].places; i++)
        for (int64_t j = 0; j < a[1].places; j++)
            for (int64_t k = 0; k < a[2].places; k++, bit <<= 1)
                if (reads(&a[0], 0, i, t[0], &element) && reads(&a[1], 0, j, t[1], &element) &&
                    reads(&a[2], 0, k, t[2], &element))
                    all |= bit;
    return all;
}

static void find_few_spans(const dt_own *p, dt_own_part *q) {
    const int64_t k = p->taps * p->in, stretch = dt_own_stretch(DT_OWN_ROWS, p->in) * p->in;
    const dt_own_axis *a = p->a;
    int64_t t[SPACE];
    q->span = dt_alloc((size_t)dt_own_most_spans(p->taps, k, stretch) * sizeof *q->span);
    dt_own_spans s = dt_own_spans_of(q->span, stretch, k, 1);
    for (t[0] = 0; t[0] < a[0].k; t[0]++)
        for (t[1] = 0; t[1] < a[1].k; t[1]++)
            for (t[2] = 0; t[2] < a[2].k; t[2]++) {
                const uint64_t rows = readers(p, t);
                int64_t from = 0;
                for (int i = 0; i < SPACE; i++)
                    from += (t[i] * a[i].dilation - a[i].low) * a[i].pitch;
                if (rows) dt_own_pass(&s, from, p->in, rows);
                else dt_own_skip(&s, p->in);
            }
    q->spans = s.n;
}

static void plan_few_places(dt_own *p) {
    const dt_own_axis *a = p->a;
    dt_own_part *q = p->part = dt_alloc(sizeof *q);
    *q = (dt_own_part){.each = 1, .row_step = a[2].stride * a[2].pitch, .ldc = p->others};
    q->line = dt_alloc((size_t)SMALL_RESULT * sizeof *q->line);
    for (int64_t i = 0; i < a[0].places; i++)
        for (int64_t j = 0; j < a[1].places; j++)
            for (int64_t k = 0; k < a[2].places; k++, q->lines++)
                q->line[q->lines] =
                    (dt_conv_line){i * a[0].stride * a[0].pitch + j * a[1].stride * a[1].pitch +
                                       k * a[2].stride * a[2].pitch,
                                   q->lines * p->others};
    find_few_spans(p, q);
    p->n_parts = 1;
    p->single = true;
}

/* Returns the number of floats in the result for one image. */
static int64_t result_of(const dt_own *p) {
    return p->a[0].places * p->a[1].places * p->a[2].places * p->others;
}

/* Makes p->part: n parts, one for each group of positions that read the same elements of the
 * kernel. Sets p->joined. */
static void plan_parts(dt_own *p, int64_t n) {
    p->part = dt_alloc((size_t)n * sizeof *p->part);
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = i / p->classes[2];
        const dt_own_places *at[SPACE] = {&p->class[0][j / p->classes[1]],
                                          &p -> class[1][j % p->classes[1]],
                                          &p -> class[2][i % p->classes[2]]};
        dt_own_part *q = &p->part[p->n_parts++];
        *q = (dt_own_part){0};
        find_lines(p, q, at);
        find_spans(p, q, at);
    }
    p->joined = n == 1 && p->part->lines == 1 && p->part->each * p->part->row_step == p->image &&
                p->part->each * p->part->ldc == result_of(p);
}

static bool plan_windows(dt_own *p, dt_conv_plan *out) {
    const int64_t n = p->classes[0] * p->classes[1] * p->classes[2], k = p->taps * p->in;
    if (n > (p->one_by_one ? DT_OWN_DEPTHWISE_SPANS : DT_OWN_SPANS) / p->taps) return false;
    if (has_few_places(p)) plan_few_places(p);
    else plan_parts(p, n);
    out->packed =
        (size_t)(p->one_by_one ? k * p->wide : p->c.groups * p->simd->conv->room(k, p->out)) *
        sizeof(float);
    return true;
}

dt_conv_product dt_own_product(const dt_own *p, const dt_own_part *q) {
    return (dt_conv_product){.line = q->line,
                             .span = q->span,
                             .lines = q->lines,
                             .each = q->each,
                             .spans = q->spans,
                             .row_step = q->row_step,
                             .k_step = 1,
                             .ldc = q->ldc,
                             .columns = p->out,
                             .k = p->taps * p->in};
}

static void pack(const dt_conv_plan *planned, const void *w, void *packed, void *scratch) {
    const dt_own *p = planned->state;
    const dt_conv *c = &p->c;
    const dt_conv_loops *loops = p->simd->conv;
    float *to = packed;
    (void)scratch;
    if (p->one_by_one) {
        for (int64_t t = 0; t < p->taps; t++)
            for (int64_t g = 0; g < p->wide; g++)
                *to++ = ((const float *)w)[t * inner_step(p) + g * c->w_group];
        return;
    }
    for (int64_t g = 0; g < c->groups; g++, to += loops->room(p->taps * p->in, p->out)) {
        const dt_conv_product b = {.b = (const float *)w + g * c->w_group,
                                   .k = p->taps * p->in,
                                   .columns = p->out,
                                   .ldb = inner_step(p)};
        loops->pack(&b, to);
    }
}

/* Computes the part of the result that m describes, for all groups of the convolution. x: the
 * image; w: the kernel as `pack` wrote it; y: the result. */
static void run_part(const dt_own *p, dt_conv_product m, const float *x, const float *w, float *y) {
    const dt_conv_loops *loops = p->simd->conv;
    if (p->one_by_one) {
        m.a = x, m.b = w, m.c = y;
        m.columns = m.ldb = p->wide;
        loops->depthwise(&m);
        return;
    }
    for (int64_t g = 0; g < p->c.groups; g++, w += loops->room(m.k, m.columns)) {
        m.a = x + g * p->in, m.b = w, m.c = y + g * p->out;
        loops->run(&m);
    }
}

/* Computes the first `columns` columns of each group's result, for all parts and all images. */
static void run_columns(const dt_own *p, const float *x, const float *w, float *y,
                        int64_t columns) {
    const int64_t images = p->joined ? 1 : p->c.images, result = result_of(p);
    for (int64_t i = 0; i < images; i++)
        for (int64_t j = 0; j < p->n_parts; j++) {
            dt_conv_product m = dt_own_product(p, &p->part[j]);
            if (p->joined) m.each *= p->c.images;
            m.single = p->single;
            m.columns = columns;
            run_part(p, m, x + i * p->image, w, y + i * result);
        }
}

/* Computes all columns of the result. If there is one group, images are not computed together
 * (joined), and the kernel is larger than the cache but an image is not, columns are computed panel
 * by panel: the parts of a small image have few rows, and each part would otherwise read the whole
 * kernel from memory. */
static void run_windows(const dt_own *p, const float *x, const float *w, float *y) {
    const dt_conv_loops *loops = p->simd->conv;
    const bool by_panels = p->c.groups == 1 && !p->joined && p->image <= SMALL_IMAGE &&
                           loops->room(p->taps * p->in, p->out) > LARGE_KERNEL;
    const int64_t panel = by_panels ? 2 * loops->room(1, 1) : p->out;
    for (int64_t at = 0; at < p->out; at += panel)
        run_columns(p, x, w + at * p->taps * p->in, y + at, dt_min(panel, p->out - at));
}

/* ---- plans and runs ---- */

static void release(dt_conv_plan *planned) {
    dt_own *p = planned->state;
    for (int64_t i = 0; p && i < p->n_parts; i++) {
        free(p->part[i].line);
        free(p->part[i].span);
    }
    for (int i = 0; p && i < SPACE; i++) {
        free(p->class[i]);
        free(p->reads[i]);
    }
    if (p) free(p->part);
    free(p);
    planned->state = NULL;
}

/* Whether at most DT_CONV_LEVELS sums of blocks wait to be added at a time. */
static bool has_levels(const dt_own *p) {
    const bool of_kernel = p->c.kind == DT_CONV_WEIGHTS;
    const int64_t run = of_kernel ? p->a[2].places : p->in, k = of_kernel ? run : p->taps * p->in,
                  stretch = dt_max(run, of_kernel ? DT_OWN_STRETCH : DT_OWN_STRETCH / DT_OWN_ROWS);
    return dt_sum_levels(stretch / DT_PRODUCT_BLOCK + 1) + dt_sum_levels(2 * (k / stretch + 1)) <=
           DT_CONV_LEVELS;
}

static bool make_plan(const dt_gemm_library *l, const dt_conv *c, dt_conv_plan *out) {
    dt_own *p = dt_alloc(sizeof *p);
    *p = (dt_own){.c = *c, .simd = l->state};
    *out = (dt_conv_plan){.state = p};
    read_sizes(p);
    bool ok = is_plain(p) && has_levels(p);
    for (int i = 0; i < SPACE && ok; i++) find_classes(p, i);
    if (ok) ok = c->kind == DT_CONV_WEIGHTS ? dt_own_gradient_plan(p, out) : plan_windows(p, out);
    if (!ok) release(out);
    return ok;
}

static void run(const dt_conv_plan *planned, const void *a, const void *b, void *c, void *scratch) {
    const dt_own *p = planned->state;
    if (p->c.kind == DT_CONV_WEIGHTS) dt_own_gradient_run(p, a, b, c, scratch);
    else run_windows(p, a, b, c);
}

const dt_conv_calls dt_conv_own = {
    .plan = make_plan, .pack = pack, .run = run, .release = release, .in_order = true};
